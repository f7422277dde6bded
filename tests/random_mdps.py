"""One family of random MDPs for all tests: a seeded generator, and knobs for every shape that can make a difference.

    random_model(np.random.default_rng(7), states=5, dynamics="acyclic", unavailable=0.4).mdp()

Numbers are drawn in a fixed order (transitions, rewards, absorbing states, twins, first states, features, available
actions), and a knob that is off draws nothing. So a seed means the same model as long as its knobs stay the same.

The functions at the end draw an MDP of a certain kind: small ones, symmetric ones, games, and ones of every shape.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import numpy as np
from scipy import sparse

from omdt.mdp import MDP

DYNAMICS = ("deterministic", "stochastic", "absorbing", "acyclic")
"""What property tests draw from; `transition_array` knows more."""

REWARDS = ("few values", "zero", "negative", "normal", "huge", "tiny")
"""What property tests draw from; `reward_array` knows more."""

OBSERVATIONS = ("distinct", "repeated", "real", "constant")
"""What property tests draw from; `feature_array` knows more."""

SCALES = ("few values", "zero", "negative", "normal", "huge", "tiny", "mixed")
DISCOUNTS = (0.01, 0.3, 0.5, 0.9, 0.99, 0.999, 0.9999)
MOST_POLICIES = 5000
"""Largest number of deterministic policies per problem of the fuzzer, so that brute force takes little time."""


@dataclass(frozen=True)
class Model:
    """The parts of an MDP as dense arrays.

    Attributes:
        P: [S, A, S] transition probabilities, which may be 0.
        R: [S, A] expected rewards, or [S, A, S] rewards per transition.
        p0: [S] distribution of the first state.
        X: [S, F] features.
        discount: γ.
        available: [S, A] the available actions, None if all are.
    """

    P: np.ndarray
    R: np.ndarray
    p0: np.ndarray
    X: np.ndarray
    discount: float
    available: np.ndarray | None = None

    @property
    def r(self) -> np.ndarray:
        """[S, A] expected rewards."""
        return self.R if self.R.ndim == 2 else (self.P * self.R).sum(axis=2)

    def mdp(self, **rest: Any) -> MDP:
        """The MDP with every entry of P stored, those of probability 0 too."""
        S, A, _ = self.P.shape
        rows, columns = np.divmod(np.arange(S * A * S), S)
        stored = sparse.csr_array((self.P.ravel(), (rows, columns)), shape=(S * A, S))
        if self.available is not None:
            rest = {"available": self.available, **rest}
        return MDP(stored, self.r, self.p0, self.X, discount=self.discount, **rest)


def random_model(
    rng: np.random.Generator,
    *,
    states: int = 6,
    actions: int = 2,
    features: int = 2,
    dynamics: str = "stochastic",
    rewards: str = "normal",
    reward_axes: str = "SAS",
    observations: str = "distinct",
    levels: int = 3,
    starts: str = "ties",
    absorbing: float = 0.0,
    twin_actions: float = 0.0,
    twin_states: float = 0.0,
    unavailable: float = 0.0,
    discount: float = 0.9,
) -> Model:
    """A random model.

    Args:
        rng: the source of all numbers.
        states: S.
        actions: A.
        features: F.
        dynamics: what transitions look like; see `transition_array`.
        rewards: how large rewards are, and whether they tie; see `reward_array`.
        reward_axes: "SAS" for rewards per transition, "SA" for expected rewards.
        observations: what features look like, and whether states look alike; see `feature_array`.
        levels: number of values per feature where observations are "levels".
        starts: which states can be the first; see `start_array`.
        absorbing: probability of each state to be never left and to earn nothing.
        twin_actions: probability of each state that its last action does what its first does.
        twin_states: probability of each state but the first to have the rows and rewards of the state before it.
        unavailable: probability of each action in each state not to be available; every state keeps one.
        discount: γ.
    """
    S, A = states, actions
    P = transition_array(rng, S, A, dynamics)
    R = reward_array(rng, (S, A, S) if reward_axes == "SAS" else (S, A), rewards)
    if dynamics == "absorbing":
        R[P[np.arange(S), :, np.arange(S)].min(axis=1) == 1] = 0
    for s in _chosen(rng, S, absorbing):
        P[s], R[s] = np.eye(S)[s], 0.0
    for s in _chosen(rng, S, twin_actions):
        P[s, -1], R[s, -1] = P[s, 0], R[s, 0]
    for s in _chosen(rng, S, twin_states):
        P[s], R[s] = P[max(s - 1, 0)], R[max(s - 1, 0)]
    p0 = start_array(rng, S, starts)
    X = feature_array(rng, S, features, observations, levels=levels)
    available = availability(rng, S, A, share=1 - unavailable) if unavailable else None
    return Model(P, R, p0, X, discount, available)


def _chosen(rng: np.random.Generator, size: int, probability: float) -> np.ndarray:
    """Places that are chosen independently; nothing is drawn if the probability is 0."""
    return np.flatnonzero(rng.random(size) < probability) if probability else np.array([], dtype=np.int64)


def distribution(rng: np.random.Generator, size: int) -> np.ndarray:
    """Weights on some of the places, often with ties; they sum to 1."""
    weights = rng.integers(0, 4, size) if rng.random() < 0.5 else rng.exponential(size=size) * rng.integers(0, 2, size)
    if not weights.any():
        weights[rng.integers(size)] = 1
    return weights / weights.sum()


def transition_array(rng: np.random.Generator, S: int, A: int, dynamics: str) -> np.ndarray:
    """[S, A, S] transition probabilities: one of `DYNAMICS`, "ergodic" (no zeros) or "thinned" (half of them zeros)."""
    if dynamics == "thinned":
        P = rng.dirichlet(np.ones(S), size=(S, A)) * (rng.random((S, A, S)) < 0.5)
        # A row that lost all its entries leads to state 0.
        P[..., 0] += P.sum(axis=2) == 0
        return P / P.sum(axis=2, keepdims=True)
    row: Callable[[int], np.ndarray] = {
        "deterministic": lambda s: np.eye(S)[rng.integers(S)],
        "stochastic": lambda s: distribution(rng, S),
        "absorbing": lambda s: distribution(rng, S),
        "acyclic": lambda s: np.concatenate([np.zeros(s + 1), distribution(rng, S - 1 - s)]),
        "ergodic": lambda s: rng.dirichlet(np.ones(S)),
    }[dynamics]
    P = np.zeros((S, A, S))
    for s in range(S):
        final = (dynamics == "acyclic" and s == S - 1) or (dynamics == "absorbing" and rng.random() < 0.4)
        for a in range(A):
            P[s, a] = np.eye(S)[s] if final else row(s)
    return P


def reward_array(rng: np.random.Generator, shape: tuple[int, ...], rewards: str) -> np.ndarray:
    """Rewards of a kind: one of `REWARDS`, "zero or one", which tie often, or "large" (about a million)."""
    if rewards == "few values":
        return rng.integers(-2, 3, shape).astype(float)
    if rewards == "zero or one":
        return rng.integers(0, 2, shape).astype(float)
    normal = rng.normal(size=shape)
    return {
        "zero": np.zeros(shape),
        "negative": -np.abs(normal) - 0.1,
        "normal": normal,
        "large": 1e6 * normal,
        "huge": 1e9 * normal,
        "tiny": 1e-9 * normal,
    }[rewards]


def start_array(rng: np.random.Generator, S: int, starts: str) -> np.ndarray:
    """[S] the distribution of the first state: "one", "uniform", "some", or "ties", that of `distribution`."""
    if starts == "one":
        return np.eye(S)[rng.integers(S)]
    if starts == "uniform":
        return np.full(S, 1 / S)
    if starts == "ties":
        return distribution(rng, S)
    assert starts == "some", starts
    p0 = rng.dirichlet(np.ones(S)) * (rng.random(S) < 0.7)
    return p0 / p0.sum() if p0.sum() else np.full(S, 1 / S)


def feature_array(rng: np.random.Generator, S: int, F: int, observations: str, *, levels: int = 3) -> np.ndarray:
    """[S, F] features of a kind: one of `OBSERVATIONS`, or "levels", whole numbers below `levels`."""
    if observations == "levels":
        return rng.integers(0, levels, (S, F)).astype(float)
    if observations == "constant":
        return np.full((S, F), 3.0)
    if observations == "repeated":
        X = rng.integers(-1, 2, (S, F)).astype(float)
        return np.where(rng.random((S, F)) < 0.3, -X, X)
    X = rng.normal(size=(S, F)) if observations == "real" else rng.integers(-3, 4, (S, F)).astype(float)
    if observations == "distinct":
        X[:, rng.integers(F)] = rng.permutation(S)
    return X


def availability(rng: np.random.Generator, S: int, A: int, share: float = 0.6) -> np.ndarray:
    """[S, A] a mask that leaves at least one action in every state."""
    available = rng.random((S, A)) < share
    available[np.arange(S), rng.integers(A, size=S)] = True
    return available


def sparse_rows(rng: np.random.Generator, rows: int, S: int, successors: int) -> sparse.csr_array:
    """[rows, S] distributions over a few of many states, for models too large for dense arrays."""
    columns = rng.integers(S, size=(rows, successors))
    probabilities = rng.dirichlet(np.ones(successors), rows)
    places = np.repeat(np.arange(rows), successors), columns.ravel()
    return sparse.csr_array((probabilities.ravel(), places), shape=(rows, S))


def random_mdp(rng: np.random.Generator) -> MDP:
    """An MDP of up to nine states."""
    S, A, F = int(rng.integers(1, 10)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    P = rng.dirichlet(np.full(S, 0.3), size=(S, A))
    kind = rng.integers(5)
    if kind == 0:
        P = np.eye(S)[rng.integers(S, size=(S, A))]
    elif kind == 1:
        P = np.triu(np.ones((S, S)), 1)[:, None, :] * rng.random((S, A, S)) + np.eye(S)[:, None, :] * 0.1
        P /= P.sum(axis=2, keepdims=True)
    elif kind == 2:
        P[S // 2] = np.eye(S)[S // 2]
    scale = 10.0 ** rng.integers(-9, 10) if rng.random() < 0.3 else 1.0
    rewards = rng.integers(-1, 2, size=(S, A)) if rng.random() < 0.3 else rng.normal(size=(S, A)) - rng.integers(3)
    X = rng.integers(0, 4, size=(S, F)) if rng.random() < 0.7 else rng.random((S, F))
    p0 = np.eye(S)[0] if rng.random() < 0.5 else rng.dirichlet(np.ones(S))
    return MDP.from_dense(P, rewards * scale, p0, X, discount=float(rng.choice([0.3, 0.9, 0.99, 0.9999])))


def symmetric_mdp(rng: np.random.Generator) -> MDP:
    """States are bits, and action i treats bit i as action j treats bit j; in a last state nothing matters."""
    n = int(rng.integers(2, 4))
    bits = np.array(list(product((0, 1), repeat=n)))
    number = {tuple(row): s for s, row in enumerate(bits.tolist())}
    S = len(bits) + 1
    P, rewards, p0 = np.zeros((S, n, S)), np.zeros((S, n)), np.zeros(S)
    some_P, some_rewards, some_p0 = rng.dirichlet(np.full(S, 0.3), (S, n)), rng.normal(size=(S, n)), rng.random(S)
    for order in permutations(range(n)):
        states = np.array([*(number[tuple(row)] for row in bits[:, order].tolist()), S - 1])
        actions = np.argsort(order)
        P += some_P[np.ix_(states, actions, states)]
        rewards += some_rewards[np.ix_(states, actions)]
        p0 += some_p0[states]
    P[-1], rewards[-1] = np.eye(S)[-1], rng.normal()
    X = np.vstack([bits, rng.integers(0, 2, n)])
    return MDP.from_dense(P / P.sum(axis=2, keepdims=True), rewards, p0 / p0.sum(), X, discount=0.9)


def game(rng: np.random.Generator) -> MDP:
    """An MDP that begins in one state, ends, and never comes back to a state before that."""
    S, A = int(rng.integers(3, 10)), int(rng.integers(2, 4))
    P = np.zeros((S, A, S))
    for s in range(S - 1):
        for a in range(A):
            after = rng.choice(np.arange(s + 1, S), min(S - 1 - s, int(rng.integers(1, 4))), replace=False)
            P[s, a, after] = rng.dirichlet(np.ones(len(after)))
    P[-1, :, -1] = 1.0
    rewards = rng.integers(-1, 2, size=(S, A)) if rng.random() < 0.5 else rng.normal(size=(S, A))
    X = rng.integers(0, 2, size=(S, int(rng.integers(1, 5))))
    return MDP.from_dense(P, rewards, np.eye(S)[0], X, discount=float(rng.choice([0.5, 0.99])))


def symmetric_game(rng: np.random.Generator) -> MDP:
    """A board of cells that may be exchanged: the player marks one, the opponent marks another one by chance."""
    n = int(rng.integers(3, 5))
    states: list[tuple[int, ...]] = [(0,) * n]
    moves: dict[tuple[int, int], dict[int, float]] = {}
    for s, board in enumerate(states):
        for a in range(n):
            after = [*board[:a], 1, *board[a + 1 :]]
            # A cell that is not empty cannot be marked, which ends the game, as a full board does.
            free = [i for i in range(n) if after[i] == 0] if board[a] == 0 else []
            moves[s, a] = {}
            for i in free:
                nxt = (*after[:i], 2, *after[i + 1 :])
                states += [] if nxt in states else [nxt]
                moves[s, a][states.index(nxt)] = 1 / len(free)
    S = len(states) + 1
    P, rewards, worth = np.zeros((S, n, S)), np.zeros((S, n)), rng.normal(size=(n + 1, n + 1, 3))
    for (s, a), successors in moves.items():
        board = states[s]
        P[s, a, list(successors) or [S - 1]] = [*successors.values()] or [1.0]
        rewards[s, a] = worth[board.count(1), board.count(2), board[a]]
    P[-1, :, -1] = 1.0
    X = np.array(
        [[*(it == 1 for it in board), *(it == 2 for it in board)] for board in [*states, (0,) * n]], dtype=float
    )
    return MDP.from_dense(P, rewards, np.eye(S)[0], X, discount=0.9)


def any_mdp(rng: np.random.Generator) -> MDP:
    """An MDP that may have symmetries."""
    return symmetric_mdp(rng) if rng.random() < 0.15 else random_mdp(rng)


def shaped_mdp(rng: np.random.Generator) -> MDP:
    """An MDP of one of many shapes: every kind of dynamics, rewards and observations, ties, twins and useless parts."""
    S, F = int(rng.integers(1, 10)), int(rng.integers(1, 4))
    A = int(rng.integers(1, 6))
    while A**S > MOST_POLICIES:
        A -= 1
    P = transition_array(rng, S, A, str(rng.choice([*DYNAMICS, "ergodic"])))
    rewards = _rewards(rng, S, A)
    available = availability(rng, S, A) if rng.random() < 0.2 else np.ones((S, A), dtype=np.bool_)
    fallback = f"action_{rng.integers(A)}" if rng.random() < 0.5 else None
    if rng.random() < 0.2 and A > 1:
        P[:, -1], rewards[:, -1] = P[:, 0], rewards[:, 0]
    if rng.random() < 0.2 and S > 1:
        P[-1], rewards[-1] = P[0], rewards[0]
    X = feature_array(rng, S, F, str(rng.choice(OBSERVATIONS)))
    if rng.random() < 0.2:
        X[:, rng.integers(F)] = 7.0
    discount = float(rng.choice(DISCOUNTS)) if rng.random() < 0.7 else float(rng.uniform(0.01, 0.9999))
    limits = {"available": available, "fallback": fallback}
    return MDP.from_dense(P, rewards, distribution(rng, S), X, discount=discount, **limits)


def _rewards(rng: np.random.Generator, S: int, A: int) -> np.ndarray:
    kind = str(rng.choice(SCALES))
    if kind == "mixed":
        return rng.normal(size=(S, A)) * 10.0 ** rng.integers(-9, 10, size=(S, A))
    return reward_array(rng, (S, A), kind)
