"""Random problems of many shapes with their true answers, for the tests of the search and for the fuzzer."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import omdt
from brute_force import returns, tree_policies
from omdt.mdp import MDP
from omdt.methods.search.settings import SearchSettings
from omdt.solution import Solution
from omdt.splits import Splits
from omdt.task import Size, Task
from random_mdps import any_mdp

FORMAT = "omdt-task-1"
LABELS = ("p", "q")
MEMORY = "memory_limit"
SETTINGS = {it.name for it in fields(SearchSettings)} | {MEMORY}


def rare_paths(rng: np.random.Generator) -> dict[str, Any]:
    """Settings of the search that make its rare paths common: no start tree, tiny rounds and tables, forced bases,
    sweeps over few states."""
    return {
        "first_climbs": int(rng.choice([0, 5])),
        "nodes_per_case": int(rng.choice([1, 8, 128])),
        "patience": float(rng.choice([0, 10])),
        "slice_seconds": float(rng.choice([0.01, 10])),
        "nodes_per_raised_case": int(rng.choice([1, 16])),
        "swept_states": int(rng.choice([0, 600])),
        "nodes_per_basis": int(rng.choice([3, 500])),
        "cheap_states": int(rng.choice([0, 150])),
        "bytes_per_entry": int(rng.choice([1000, 1 << 40])),
        "min_entries": int(rng.choice([2, 100])),
        "blind_ancestors": int(rng.choice([0, 1, 3])),
        "surviving_actions": float(rng.choice([0.5, 1.0])),
        "max_pins": int(rng.choice([1, 20])),
        "max_pinned_bases": int(rng.choice([1, 8])),
        "max_box_operations": float(rng.choice([0, 1e10], p=[0.2, 0.8])),
        "max_growing_subtrees": int(rng.choice([1, 5, 200])),
        MEMORY: int(rng.choice([1, 2048])),
        "coarse_first_nodes": int(rng.choice([0, 20, 1000])),
        "waiting_share": float(rng.choice([0.4, 100.0])),
        "leading_share": float(rng.choice([0.0, 3.0])),
        "trailing_share": float(rng.choice([0.0, 0.125, 3.0])),
        "hopeless_share": float(rng.choice([0.0, 3.0])),
        "first_chances": int(rng.choice([0, 3, 1000])),
        "decided_visits": float(rng.choice([0.0, 0.1, 2.0])),
        "max_conflicts": int(rng.choice([2, 4096])),
        "blame_attempts": int(rng.choice([0, 5, 48])),
    }


def random_limits(rng: np.random.Generator) -> tuple[int | None, int | None]:
    """A limit on the depth, on the leaves, or on both."""
    depth, leaves = int(rng.integers(0, 4)), int(rng.integers(1, 7))
    return [(depth, None), (None, min(leaves, 5)), (depth, leaves)][int(rng.integers(3))]  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class RandomTask:
    """A problem with its questions and its size limit.

    Attributes:
        mdp: the MDP.
        categorical: the features that are asked for equality.
        predicates: [S, n] questions of the user's own.
        max_depth: limit on the depth, or None.
        max_leaves: limit on the leaves, or None.
        gap: what counts as a proof.
        settings: fields of `SearchSettings` that differ from the defaults, by name, and the memory limit.
    """

    mdp: MDP
    categorical: tuple[str, ...]
    predicates: np.ndarray
    max_depth: int | None
    max_leaves: int | None
    gap: float
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def random(cls, rng: np.random.Generator, mdp_of: Callable[[np.random.Generator], MDP] = any_mdp) -> "RandomTask":
        """A random problem with random questions and limits."""
        mdp = mdp_of(rng)
        categorical, predicates = random_questions(mdp, rng)
        return cls(mdp, categorical, predicates, *random_limits(rng), float(rng.choice([1e-6, 1e-4, 0.1])))

    @cached_property
    def splits(self) -> Splits:
        """The questions a tree may ask."""
        labels = LABELS[: self.predicates.shape[1]]
        return Splits.of(self.mdp, categorical=self.categorical, predicates=self.predicates, labels=labels)

    @property
    def size(self) -> tuple[int, int]:
        """Depth and leaves of the largest tree within the limits."""
        leaves = self.max_leaves if self.max_leaves is not None else 2 ** (self.max_depth or 0)
        return (self.max_depth if self.max_depth is not None else leaves - 1), leaves

    @property
    def search_settings(self) -> SearchSettings:
        """The settings of the search."""
        return SearchSettings(**{name: value for name, value in self.settings.items() if name != MEMORY})

    @property
    def asked(self) -> Task:
        """What is asked of the search."""
        return Task(self.mdp, self.splits, Size(self.max_depth, self.max_leaves))

    def solve(self, **rest: Any) -> Solution:
        """What a method finds; the settings are for the method search."""
        limits: dict[str, Any] = {"max_depth": self.max_depth, "max_leaf_nodes": self.max_leaves}
        if MEMORY in self.settings:
            limits[MEMORY] = int(self.settings[MEMORY])
        if rest.get("method", "search") == "search":
            limits["settings"] = self.search_settings
        return omdt.solve(self.mdp, splits=self.splits, gap=self.gap, **limits, **rest)

    @cached_property
    def best_policy(self) -> np.ndarray:
        """[S] the actions of the best tree, by trying all trees."""
        policies = policies_of_trees(self.mdp, self.splits.sides(), *self.size)
        return np.asarray(policies[np.argmax(returns(*dense(self.mdp), policies))])

    @property
    def best(self) -> float:
        """The most that a tree within the limits returns."""
        return float(exact_return(self.mdp, self.best_policy))

    def to_json(self) -> str:
        """All of it, to the last bit."""
        P, rewards, initial, discount = dense(self.mdp)
        data = {
            "format": FORMAT,
            "transitions": P.tolist(),
            "rewards": rewards.tolist(),
            "initial": initial.tolist(),
            "features": self.mdp.features.tolist(),
            "discount": discount,
            "available": self.mdp.available.tolist(),
            "fallback": self.mdp.fallback,
            "categorical": list(self.categorical),
            "predicates": self.predicates.tolist(),
            "max_depth": self.max_depth,
            "max_leaves": self.max_leaves,
            "gap": self.gap,
            "settings": self.settings,
        }
        return json.dumps(data) + "\n"

    @classmethod
    def load(cls, path: Path) -> "RandomTask":
        """A task that was saved as JSON.

        Raises:
            ValueError: if a setting of the task is none of the search.
        """
        data = json.loads(path.read_text(encoding="utf-8"))
        assert data["format"] == FORMAT, path
        unknown = sorted(data["settings"].keys() - SETTINGS)
        if unknown:
            raise ValueError(f"{path}: {', '.join(unknown)}: no field of SearchSettings has this name")
        features = np.array(data["features"], dtype=float)
        rest = {name: data[name] for name in ("discount", "available", "fallback") if name in data}
        mdp = MDP.from_dense(data["transitions"], data["rewards"], data["initial"], features, **rest)
        predicates = np.array(data["predicates"], dtype=np.bool_).reshape(len(features), -1)
        limits = data["max_depth"], data["max_leaves"], data["gap"]
        return cls(mdp, tuple(data["categorical"]), predicates, *limits, data["settings"])


def random_questions(mdp: MDP, rng: np.random.Generator) -> tuple[tuple[str, ...], np.ndarray]:
    """The categorical features and the predicates [S, n] of a random problem."""
    categorical = (mdp.feature_names[0],) if rng.random() < 0.3 else ()
    n = 2 if rng.random() < 0.3 else 0
    return categorical, rng.random((mdp.n_states, n)) < 0.5


def dense(mdp: MDP) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """P [S, A, S], r [S, A], p0 [S] and the discount of an MDP."""
    P = mdp.transitions.toarray().reshape(*mdp.rewards.shape, mdp.n_states)
    return P, mdp.rewards, mdp.initial, mdp.discount


def policies_of_trees(mdp: MDP, sides: np.ndarray, depth: int, leaves: int) -> np.ndarray:
    """[n, S] every policy that a tree over the given questions has."""
    questions = {frozenset(np.flatnonzero(~column).tolist()) for column in sides.T}
    return tree_policies(questions, *mdp.rewards.shape, depth, leaves)


def best_return(mdp: MDP, sides: np.ndarray, depth: int, leaves: int) -> float:
    """The most that any tree over the given questions returns."""
    return float(returns(*dense(mdp), policies_of_trees(mdp, sides, depth, leaves)).max())


def exact_return(mdp: MDP, policy: np.ndarray) -> Fraction:
    """The return of a policy in rational arithmetic, in which there is no rounding."""
    P, r, initial, discount = dense(mdp)
    S, gamma = mdp.n_states, Fraction(discount)
    rows = [
        [Fraction(int(s == t)) - gamma * Fraction(float(P[s, policy[s], t])) for t in range(S)]
        + [Fraction(float(r[s, policy[s]]))]
        for s in range(S)
    ]
    for s in range(S):
        # Every leading submatrix of I − γP is invertible, so no pivot is 0.
        for below in rows[s + 1 :]:
            if below[s]:
                factor = below[s] / rows[s][s]
                for t in range(s, S + 1):
                    below[t] -= factor * rows[s][t]
    values = [Fraction(0)] * S
    for s in reversed(range(S)):
        rest = sum((rows[s][t] * values[t] for t in range(s + 1, S)), Fraction(0))
        values[s] = (rows[s][S] - rest) / rows[s][s]
    return sum((Fraction(float(p)) * v for p, v in zip(initial, values, strict=True)), Fraction(0))
