"""Random small MDPs and trees for the property tests, and the catalogue of models that must be refused."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from scipy import sparse

import omdt
from omdt.errors import InputError
from omdt.mdp import MDP
from omdt.tree import TreePolicy

settings.register_profile(
    "omdt",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("omdt")

DISCOUNTS = st.one_of(
    st.sampled_from([0.01, 0.5, 0.9, 0.99, 0.9999]),
    st.floats(0.01, 0.9999, exclude_min=True, exclude_max=True),
)
DYNAMICS = ("deterministic", "stochastic", "absorbing", "acyclic")
REWARDS = ("few values", "zero", "negative", "normal", "huge", "tiny")
OBSERVATIONS = ("distinct", "repeated", "real", "constant")


def refusal(action: Callable[[], object]) -> InputError | None:
    """The error with which an action refuses its input, if it does."""
    try:
        action()
    except InputError as error:
        return error
    return None


@cache
def environment(name: str) -> MDP:
    """A registered environment, built once."""
    return omdt.make(name)


@dataclass(frozen=True)
class Model:
    """The parts of an MDP as dense arrays: P and R [S, A, S], p0 [S], X [S, F]."""

    P: np.ndarray
    R: np.ndarray
    p0: np.ndarray
    X: np.ndarray
    discount: float

    def mdp(self, **rest: Any) -> MDP:
        """The MDP with every entry of P stored, those of probability 0 too."""
        S, A, _ = self.P.shape
        rows, columns = np.divmod(np.arange(S * A * S), S)
        stored = sparse.csr_array((self.P.ravel(), (rows, columns)), shape=(S * A, S))
        return MDP(stored, (self.P * self.R).sum(axis=2), self.p0, self.X, discount=self.discount, **rest)


def distribution(rng: np.random.Generator, size: int) -> np.ndarray:
    """Weights on some of the places, often with ties; they sum to 1."""
    weights = rng.integers(0, 4, size) if rng.random() < 0.5 else rng.exponential(size=size) * rng.integers(0, 2, size)
    if not weights.any():
        weights[rng.integers(size)] = 1
    return weights / weights.sum()


def transition_array(rng: np.random.Generator, S: int, A: int, dynamics: str) -> np.ndarray:
    """[S, A, S] transition probabilities."""
    P = np.zeros((S, A, S))
    for s in range(S):
        absorbing = (dynamics == "acyclic" and s == S - 1) or (dynamics == "absorbing" and rng.random() < 0.4)
        for a in range(A):
            if absorbing:
                P[s, a, s] = 1
            elif dynamics == "acyclic":
                P[s, a, s + 1 :] = distribution(rng, S - 1 - s)
            elif dynamics == "deterministic":
                P[s, a, rng.integers(S)] = 1
            elif dynamics == "ergodic":
                P[s, a] = rng.dirichlet(np.ones(S))
            else:
                P[s, a] = distribution(rng, S)
    return P


def reward_array(rng: np.random.Generator, shape: tuple[int, ...], rewards: str) -> np.ndarray:
    """Rewards of the given kind."""
    if rewards == "few values":
        return rng.integers(-2, 3, shape).astype(float)
    normal = rng.normal(size=shape)
    return {
        "zero": np.zeros(shape),
        "negative": -np.abs(normal) - 0.1,
        "normal": normal,
        "huge": 1e9 * normal,
        "tiny": 1e-9 * normal,
    }[rewards]


def feature_array(rng: np.random.Generator, S: int, F: int, observations: str) -> np.ndarray:
    """[S, F] features of the given kind."""
    if observations == "constant":
        return np.full((S, F), 3.0)
    if observations == "repeated":
        X = rng.integers(-1, 2, (S, F)).astype(float)
        return np.where(rng.random((S, F)) < 0.3, -X, X)
    X = rng.normal(size=(S, F)) if observations == "real" else rng.integers(-3, 4, (S, F)).astype(float)
    if observations == "distinct":
        X[:, rng.integers(F)] = rng.permutation(S)
    return X


@st.composite
def models(
    draw: st.DrawFn,
    *,
    max_states: int = 9,
    max_actions: int = 4,
    rewards: tuple[str, ...] = REWARDS,
    observations: tuple[str, ...] = OBSERVATIONS,
    discounts: st.SearchStrategy[float] = DISCOUNTS,
) -> Model:
    """A random model of one of many shapes."""
    S, A = draw(st.integers(1, max_states)), draw(st.integers(1, max_actions))
    F = draw(st.integers(1, 3))
    dynamics = draw(st.sampled_from(DYNAMICS))
    kind = draw(st.sampled_from(rewards))
    look = draw(st.sampled_from(observations))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    P = transition_array(rng, S, A, dynamics)
    R = reward_array(rng, (S, A, S), kind)
    if dynamics == "absorbing":
        stays = P[np.arange(S), :, np.arange(S)].min(axis=1) == 1
        R[stays] = 0
    return Model(P, R, distribution(rng, S), feature_array(rng, S, F, look), draw(discounts))


def mdps(**shape: Any) -> st.SearchStrategy[MDP]:
    """A random MDP; arguments as in `models`."""
    return models(**shape).map(lambda model: model.mdp())


def availability(rng: np.random.Generator, S: int, A: int, share: float = 0.6) -> np.ndarray:
    """[S, A] a mask that leaves at least one action in every state."""
    available = rng.random((S, A)) < share
    available[np.arange(S), rng.integers(A, size=S)] = True
    return available


@st.composite
def restricted_mdps(draw: st.DrawFn, **shape: Any) -> MDP:
    """A random MDP in whose states some actions are not available, with or without a fallback; shape as in `models`."""
    mdp = draw(mdps(**shape))
    available = availability(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), *mdp.rewards.shape)
    return replace(mdp, available=available, fallback=draw(st.sampled_from([None, *mdp.action_names])))


def random_tree(rng: np.random.Generator, F: int, A: int, max_depth: int, *, equalities: bool = True) -> TreePolicy:
    """A random tree with thresholds on a coarse grid, so that useless and contradictory splits occur."""
    columns: dict[str, list[float]] = {
        key: [] for key in ("feature", "threshold", "left", "right", "action", "equality")
    }

    def grow(depth: int) -> int:
        index = len(columns["feature"])
        inner = depth < max_depth and rng.random() < 0.75
        row = {
            "feature": rng.integers(F) if inner else -1,
            "threshold": rng.integers(-2, 5) / 2 if inner else 0.0,
            "left": -1,
            "right": -1,
            "action": -1 if inner else rng.integers(A),
            "equality": bool(inner and equalities and rng.random() < 0.25),
        }
        for key, value in row.items():
            columns[key].append(value)
        if inner:
            columns["left"][index] = grow(depth + 1)
            columns["right"][index] = grow(depth + 1)
        return index

    grow(0)
    return TreePolicy(
        **{key: np.array(values) for key, values in columns.items()},
        feature_names=tuple(f"x{j}" for j in range(F)),
        action_names=tuple(f"a{a}" for a in range(A)),
    )


@st.composite
def trees(
    draw: st.DrawFn, *, F: int | None = None, A: int | None = None, max_depth: int = 4, equalities: bool = True
) -> TreePolicy:
    """A random tree over F features and A actions."""
    F = draw(st.integers(1, 3)) if F is None else F
    A = draw(st.integers(1, 3)) if A is None else A
    depth = draw(st.integers(0, max_depth))
    return random_tree(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), F, A, depth, equalities=equalities)


def good_arrays() -> dict[str, np.ndarray]:
    """The arrays of the npz of a small valid MDP: 3 states, 2 actions, 2 features."""
    return {
        "data": np.array([0.5, 0.5, 1.0, 0.25, 0.75, 1.0, 1.0, 1.0]),
        "indices": np.array([0, 1, 2, 0, 2, 1, 2, 2]),
        "indptr": np.array([0, 2, 3, 5, 6, 7, 8]),
        "rewards": np.array([[0.0, 1.0], [-1.0, 2.0], [0.0, 0.0]]),
        "initial": np.array([0.5, 0.5, 0.0]),
        "features": np.array([[0.0, 1.5], [1.0, 2.5], [2.0, 3.5]]),
        "discount": np.array(0.9),
        "feature_names": np.array(["x", "y"]),
        "action_names": np.array(["stay", "go"]),
    }


def mdp_from(arrays: dict[str, np.ndarray]) -> MDP:
    """The MDP of such arrays, through the main constructor."""
    S, A = arrays["rewards"].shape
    matrix = sparse.csr_array(
        (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(S * A, arrays["features"].shape[0])
    )
    return MDP(
        transitions=matrix,
        rewards=arrays["rewards"],
        initial=arrays["initial"],
        features=arrays["features"],
        discount=arrays["discount"].item(),
        feature_names=tuple(arrays["feature_names"].tolist()),
        action_names=tuple(arrays["action_names"].tolist()),
    )


def _changed(key: str, place: Any, value: float) -> np.ndarray:
    array = good_arrays()[key].astype(float)
    array[place] = value
    return array


BAD_MODELS: dict[str, tuple[dict[str, np.ndarray], list[str]]] = {
    "row sums to less than 1": (
        {"data": _changed("data", 4, 0.5)},
        ["state 1, action 0 ('stay')", "sum to 0.75"],
    ),
    "first of two bad rows": (
        {"data": _changed("data", [2, 5], 0.5)},
        ["state 0, action 1 ('go')", "sum to 0.5"],
    ),
    "row off by more than the tolerance": (
        {"data": _changed("data", 6, 1 + 1.1e-9)},
        ["state 2, action 0 ('stay')", "sum to 1.0000000011"],
    ),
    "negative probability": (
        {"data": _changed("data", [3, 4], [-0.25, 1.25])},
        ["state 1, action 0 ('stay')", "to state 0 is -0.25"],
    ),
    "NaN probability": ({"data": _changed("data", 5, np.nan)}, ["state 1, action 1 ('go')", "to state 1 is nan"]),
    "infinite probability": ({"data": _changed("data", 7, np.inf)}, ["state 2, action 1 ('go')", "is inf"]),
    "NaN reward": ({"rewards": _changed("rewards", (1, 1), np.nan)}, ["reward of state 1, action 1 ('go') is nan"]),
    "infinite reward": (
        {"rewards": _changed("rewards", ([0, 2], [1, 0]), [-np.inf, np.inf])},
        ["reward of state 0, action 1 ('go') is -inf"],
    ),
    "overflowing reward": ({"rewards": _changed("rewards", (0, 0), 1e300)}, ["1e+300", "overflow"]),
    "initial of wrong length": ({"initial": np.array([0.5, 0.5])}, ["initial", "[3]", "(2,)"]),
    "initial sums to less than 1": ({"initial": np.array([0.5, 0.25, 0.0])}, ["initial", "sum to 0.75"]),
    "negative initial": ({"initial": np.array([1.5, -0.5, 0.0])}, ["initial probability of state 1 is -0.5"]),
    "NaN initial": ({"initial": np.array([1.0, 0.0, np.nan])}, ["initial probability of state 2 is nan"]),
    "NaN feature": ({"features": _changed("features", (1, 1), np.nan)}, ["feature 'y' of state 1 is nan"]),
    "infinite feature": ({"features": _changed("features", (2, 0), np.inf)}, ["feature 'x' of state 2 is inf"]),
    "no features": (
        {"features": np.zeros((3, 0)), "feature_names": np.array([], dtype="U1")},
        ["features", "(3, 0)"],
    ),
    "duplicate feature names": ({"feature_names": np.array(["x", "x"])}, ["features 0 and 1", "'x'", "distinct"]),
    "duplicate action names": ({"action_names": np.array(["go", "go"])}, ["actions 0 and 1", "'go'", "distinct"]),
    "too many feature names": ({"feature_names": np.array(["x", "y", "z"])}, ["2 features", "3 feature names"]),
    "too few action names": ({"action_names": np.array(["go"])}, ["2 actions", "1 action name"]),
    "empty name": ({"action_names": np.array(["go", ""])}, ["name of action 1", "non-empty"]),
    **{
        f"discount {value}": ({"discount": np.array(value)}, ["discount is", "strictly between 0 and 1"])
        for value in (0.0, 1.0, -0.5, 1.5, np.nan, np.inf)
    },
}
"""Changes to `good_arrays` and what the message about them must say."""
