"""Splits: the questions that a tree may ask about a state, the paper's side(s, j, k).

A question is one of

- a threshold k on feature j: left if X(s, j) ≤ k, with one k midway between every two neighbouring values of X(·, j);
- an equality on a categorical feature j: left if X(s, j) = k, with one k per value;
- a predicate that the user gives for every state: left if it does not hold. Predicates are additional columns of 0 and
  1 after the features, so a tree over them is an ordinary tree with thresholds at ½.

If two questions divide the states into the same two sets, whichever set is left, only the first one is kept, unless
rules tell columns apart. A question with the same answer in every state is dropped.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from omdt.counting import counted, listed
from omdt.divisions import Asked, answers, distinct
from omdt.errors import InputError
from omdt.frames import frame_of
from omdt.mdp import MDP, Bools, Floats, Ints

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class Splits:
    """The candidate questions for the states of one MDP.

    Attributes:
        observations: [S, F'] what a tree reads in each state: the features, then one column per predicate.
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

    def __repr__(self) -> str:
        asked = listed([self.feature_names[f] for f in np.unique(self.feature)], "and")
        return f"<Splits: {counted(len(self), 'question')}{' about ' + asked if asked else ''}>"

    def _repr_html_(self) -> str:
        """The number of questions about each feature, for notebooks."""
        from omdt.printing.notebook import splits_html

        return splits_html(self)

    def to_frame(self) -> "pandas.DataFrame":
        """A table with one row per question (needs pandas)."""
        names = [self.feature_names[f] for f in self.feature]
        return frame_of({"feature": names, "threshold": self.threshold, "equality": self.equality})

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
        per_column: bool = False,
    ) -> "Splits":
        """All questions about the states of an MDP.

        Args:
            mdp: the problem.
            features: names of the features that may be asked about; by default all. Predicates are always asked.
            categorical: names of the features that are asked for equality instead of order.
            predicates: [S, P] whether each of P predicates holds in each state.
            labels: P names of the predicates.
            per_column: whether questions about different columns count as different also if they divide the states
                alike, as they must where rules are about columns.
        """
        asked = _asked_features(mdp, features, categorical)
        holds = _predicates(predicates, labels, mdp)
        observations = np.hstack([mdp.features, holds]) if holds.shape[1] else mdp.features
        columns = [*(mdp.feature_names.index(name) for name in asked), *range(mdp.n_features, observations.shape[1])]
        equalities = {mdp.feature_names.index(name) for name in categorical}
        candidates = [candidates_of(observations, j, j in equalities) for j in sorted(set(columns))]
        return cls.among(observations, (*mdp.feature_names, *labels), candidates, per_column)

    @classmethod
    def among(
        cls,
        observations: Floats,
        feature_names: tuple[str, ...],
        candidates: Sequence[Asked],
        per_column: bool = False,
    ) -> "Splits":
        """The given questions, in their order, without those that divide the states like an earlier one.

        Args:
            observations: [S, F'] what a tree reads in each state.
            feature_names: F' names of the columns.
            candidates: the questions, in groups of one column each.
            per_column: whether only earlier questions about the same column count.
        """
        if per_column:
            columns = dict.fromkeys(int(j) for group in candidates for j in group.feature)
            alone = [
                _together([group.chosen(np.flatnonzero(group.feature == j)) for group in candidates]) for j in columns
            ]
            return cls(observations, feature_names, *_together([distinct(observations, asked) for asked in alone]))
        return cls(observations, feature_names, *distinct(observations, _together(candidates)))


def _together(groups: Sequence[Asked]) -> Asked:
    """The questions of several groups, in their order."""
    feature, threshold, equality = (np.concatenate(parts) for parts in zip(*[Asked.listed([]), *groups], strict=True))
    return Asked(feature, threshold, equality)


def candidates_of(observations: Floats, j: int, equality: bool) -> Asked:
    """All questions about one column: a threshold between every two neighbouring values, or one equality per value."""
    values = np.unique(observations[:, j])
    numbers = values if equality else midpoints(values)
    return Asked(np.full(len(numbers), j), numbers, np.full(len(numbers), equality))


def _asked_features(mdp: MDP, features: Collection[str] | None, categorical: Collection[str]) -> Collection[str]:
    """The names of the features that may be asked about; raises if a name is unknown."""
    if isinstance(features, str):
        raise InputError(f"features must be a list of names, not the one string {features!r}")
    asked = mdp.feature_names if features is None else tuple(features)
    for what, chosen, among in (("", asked, mdp.feature_names), ("categorical ", categorical, asked)):
        for name in chosen:
            if name not in among:
                raise InputError(f"the {what}feature {name!r} is not one of {', '.join(among)}")
    return asked


def midpoints(values: Floats) -> Floats:
    """The thresholds midway between sorted distinct values.

    Rounding never moves a threshold below its lower neighbour or up to its upper neighbour.
    """
    lower, upper = values[:-1], values[1:]
    middle = lower / 2 + upper / 2
    return np.where((middle >= lower) & (middle < upper), middle, lower)


def _predicates(predicates: ArrayLike | None, labels: Sequence[str], mdp: MDP) -> Floats:
    """[S, P] the predicates as numbers; raises unless they fit the states and have labels that are distinct."""
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
