"""Strategies for property tests: random small MDPs and trees; and the catalogue of models that must be refused."""

from collections.abc import Callable
from dataclasses import replace
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
from random_mdps import DYNAMICS, OBSERVATIONS, REWARDS, Model, random_model

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


@st.composite
def models(
    draw: st.DrawFn,
    *,
    max_states: int = 9,
    max_actions: int = 4,
    rewards: tuple[str, ...] = REWARDS,
    observations: tuple[str, ...] = OBSERVATIONS,
    discounts: st.SearchStrategy[float] = DISCOUNTS,
    unavailable: float = 0.0,
) -> Model:
    """A random model of one of many shapes; the last four arguments as in `random_model`."""
    knobs = {
        "states": draw(st.integers(1, max_states)),
        "actions": draw(st.integers(1, max_actions)),
        "features": draw(st.integers(1, 3)),
        "dynamics": draw(st.sampled_from(DYNAMICS)),
        "rewards": draw(st.sampled_from(rewards)),
        "observations": draw(st.sampled_from(observations)),
    }
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random_model(rng, **knobs, unavailable=unavailable, discount=draw(discounts))


def mdps(**shape: Any) -> st.SearchStrategy[MDP]:
    """A random MDP; arguments as in `models`."""
    return models(**shape).map(lambda model: model.mdp())


@st.composite
def restricted_mdps(draw: st.DrawFn, **shape: Any) -> MDP:
    """A random MDP in whose states some actions are not available, with or without a fallback; shape as in `models`."""
    mdp = draw(mdps(unavailable=0.4, **shape))
    return replace(mdp, fallback=draw(st.sampled_from([None, *mdp.action_names])))


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
        f"discount {value}": ({"discount": np.array(value)}, ["discount is", "above 0 and at most 1"])
        for value in (0.0, -0.5, 1.5, np.nan, np.inf)
    },
}
"""Changes to `good_arrays` and what the message about them must say."""
