"""Splits: the questions a tree may ask of a state, the paper's side(s, j, k).

A question is one of

- a threshold k on feature j: left when X(s, j) ≤ k, with one k midway between every two neighbouring values of X(·, j);
- an equality on a categorical feature j: left when X(s, j) = k, with one k for every value;
- a predicate given by the user for every state: left when it does not hold. Predicates are read as further columns of
  0 and 1 behind the features, so that a tree over them is an ordinary tree with thresholds at ½.

Two questions that divide the states into the same two sets, in either order, are one question; the first is kept.
A question with the same answer in every state is none.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from omdt.counting import counted
from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Splits:
    """The candidate questions for the states of one MDP.

    Attributes:
        observations: [S, F'] what a tree reads in each state: the features, then one column a predicate.
        feature_names: F' names of the columns.
        feature: [K] column of each question.
        threshold: [K] threshold, or the value of an equality.
        equality: [K] whether the question is an equality.
    """

    observations: Floats
    feature_names: tuple[str, ...]
    feature: Ints
    threshold: Floats
    equality: Bools

    def __len__(self) -> int:
        return len(self.feature)

    def side(self, k: int) -> Bools:
        """[S] whether each state goes to the right of question k."""
        return answers(self.observations[:, self.feature[k]], self.threshold[k], self.equality[k])

    def sides(self) -> Bools:
        """[S, K] whether each state goes to the right of each question."""
        sides = np.empty((len(self.observations), len(self)), dtype=np.bool_)
        for k in range(len(self)):
            sides[:, k] = self.side(k)
        return sides

    @classmethod
    def of(
        cls,
        mdp: MDP,
        *,
        features: Collection[str] | None = None,
        categorical: Collection[str] = (),
        predicates: ArrayLike | None = None,
        labels: Sequence[str] = (),
    ) -> "Splits":
        """All questions about the states of an MDP.

        Args:
            mdp: the problem.
            features: names of the features that may be asked about; by default all. Predicates are always asked.
            categorical: names of the features that are asked for equality instead of order.
            predicates: [S, P] whether each of P predicates holds in each state.
            labels: P names of the predicates.
        """
        if isinstance(features, str):
            raise InputError(f"features must be a list of names, not the one string {features!r}")
        asked = mdp.feature_names if features is None else tuple(features)
        for what, chosen, among in (("", asked, mdp.feature_names), ("categorical ", categorical, asked)):
            for name in chosen:
                if name not in among:
                    raise InputError(f"the {what}feature {name!r} is not one of {', '.join(among)}")
        holds = _predicates(predicates, labels, mdp)
        observations = np.hstack([mdp.features, holds])
        names = (*mdp.feature_names, *labels)

        candidates: list[tuple[int, float, bool]] = []
        for j, name in enumerate(names):
            if j < mdp.n_features and name not in asked:
                continue
            values = np.unique(observations[:, j])
            if name in categorical:
                candidates += [(j, float(value), True) for value in values]
            else:
                candidates += [(j, float(k), False) for k in midpoints(values)]
        kept = _distinct(observations, candidates)
        return cls(
            observations=observations,
            feature_names=names,
            feature=np.array([j for j, _, _ in kept], dtype=np.int64),
            threshold=np.array([k for _, k, _ in kept], dtype=np.float64),
            equality=np.array([equality for _, _, equality in kept], dtype=np.bool_),
        )


def answers(column: Floats, threshold: float, equality: bool) -> Bools:
    """Whether each value goes right: above the threshold, or different from it in an equality."""
    return column != threshold if equality else column > threshold


def midpoints(values: Floats) -> Floats:
    """The thresholds midway between sorted distinct values: at least the lower and less than the upper neighbour."""
    lower, upper = values[:-1], values[1:]
    middle = lower / 2 + upper / 2
    return np.where((middle >= lower) & (middle < upper), middle, lower)


def _predicates(predicates: ArrayLike | None, labels: Sequence[str], mdp: MDP) -> Floats:
    holds = np.zeros((mdp.n_states, 0)) if predicates is None else np.asarray(predicates)
    if holds.ndim != 2 or len(holds) != mdp.n_states:
        raise InputError(f"predicates must have shape [S, P] = [{mdp.n_states}, P] but have shape {holds.shape}")
    if predicates is not None and holds.dtype != np.bool_:
        raise InputError(f"predicates must be true or false in every state, but are of type {holds.dtype}")
    if holds.shape[1] != len(labels):
        there_are = "there is" if holds.shape[1] == 1 else "there are"
        raise InputError(f"{there_are} {counted(holds.shape[1], 'predicate')} but {counted(len(labels), 'label')}")
    names = [*mdp.feature_names, *labels]
    for i, label in enumerate(names):
        if names.index(label) < i:
            raise InputError(f"the label {label!r} is used twice; labels and feature names must be distinct")
    return holds.astype(np.float64)


def _distinct(observations: Floats, candidates: list[tuple[int, float, bool]]) -> list[tuple[int, float, bool]]:
    """The candidates without those that repeat the partition of an earlier one or divide nothing."""
    seen: dict[tuple[int, int], list[tuple[int, float, bool]]] = {}
    kept = []
    for candidate, key in zip(candidates, _keys(observations, candidates), strict=True):
        if key is None or any(_alike(observations, candidate, other) for other in seen.get(key, ())):
            continue
        seen.setdefault(key, []).append(candidate)
        kept.append(candidate)
    return kept


def _keys(observations: Floats, candidates: list[tuple[int, float, bool]]) -> Iterator[tuple[int, int] | None]:
    """A key per candidate, the same for the same partition; None where nothing is divided.

    Every state has two random weights, and the key is the weight of the side on which state 0 is not. So all
    thresholds of a feature are looked at in one pass over its sorted values.
    """
    weights = np.random.default_rng(0).integers(0, 2**64, size=(2, len(observations)), dtype=np.uint64)
    column = -1
    for j, k, equality in candidates:
        if j != column:
            column = j
            order = np.argsort(observations[:, j], kind="stable")
            values = observations[order, j]
            up_to = np.hstack([np.zeros((2, 1), np.uint64), np.cumsum(weights[:, order], axis=1)])
        first = np.searchsorted(values, k, side="left") if equality else 0
        last = np.searchsorted(values, k, side="right")
        left = up_to[:, last] - up_to[:, first]
        if last - first in (0, len(values)):
            yield None
            continue
        other = left if answers(observations[:1, j], k, equality)[0] else up_to[:, -1] - left
        yield int(other[0]), int(other[1])


def _alike(observations: Floats, one: tuple[int, float, bool], other: tuple[int, float, bool]) -> bool:
    """Whether two candidates divide the states into the same two sets."""
    first, second = (answers(observations[:, j], k, equality) for j, k, equality in (one, other))
    return np.array_equal(first ^ first[0], second ^ second[0])
