"""The grid: cuts on every feature that divide observations into finitely many cells, the states of a learned model.

Feature j has m cuts c_1 < … < c_m and therefore m + 1 bins: bin i holds the values x with c_i < x ≤ c_(i+1), where
c_0 = −∞ and c_(m+1) = ∞. A cell is one bin per feature, and only cells that were visited become states. Every bin is
represented by one number inside it, the same one in all cells, so a tree whose thresholds are cuts decides alike on an
observation and on what represents its cell. The search puts its thresholds midway between representatives; `at_cuts`
moves each of them to a cut between the same two, which are the observation's own units again.

A feature that takes few values keeps them all. The others are cut at quantiles, so that every bin has about as many
steps as any other; each of these cuts is the number with the fewest digits near its quantile.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from omdt.learning.estimating import Grouping
from omdt.learning.steps import Steps
from omdt.mdp import Floats, Ints
from omdt.splits import midpoints
from omdt.tree import LEAF, TreePolicy

KEPT_VALUES = 40
"""A feature of whole numbers with at most this many values keeps them all; any other one with at most `bins`."""

LOOSE = 0.2
"""How far a cut may lie from its quantile for the sake of few digits, as a part of the steps in a bin."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Cuts on every feature.

    Attributes:
        cuts: F arrays of ascending cuts, m_j on feature j.
        representatives: F arrays of the numbers that represent the bins, m_j + 1 on feature j.
        exact: whether every feature keeps all its values, so that different observations are in different cells.
    """

    cuts: tuple[Floats, ...]
    representatives: tuple[Floats, ...]
    exact: bool

    @classmethod
    def of(cls, observations: Floats, bins: int, trees: Sequence[TreePolicy] = ()) -> "Grid":
        """The grid of some observations.

        Args:
            observations: [n, F] at least one.
            bins: about how many bins a feature has that takes more values than that.
            trees: trees whose thresholds are cuts as well, exactly as they are.
        """
        cuts, exact = [], True
        for j in range(observations.shape[1]):
            values = np.unique(observations[:, j])
            kept = len(values) <= max(bins, KEPT_VALUES if (values == np.floor(values)).all() else 0)
            first = midpoints(values) if kept else _cuts_at(np.sort(observations[:, j]), np.arange(1, bins) / bins)
            own = [tree.threshold[tree.feature == j] for tree in trees]
            cuts.append(np.unique(np.concatenate([first, *own])))
            exact &= kept
        return cls._represented(tuple(cuts), observations, exact)

    def refined(self, observations: Floats, trees: Sequence[TreePolicy]) -> "Grid":
        """The grid with the bins on both sides of every threshold halved, where decisions change and cuts matter most.

        Args:
            observations: [n, F] by which the bins are halved.
            trees: trees whose thresholds are cuts of this grid.
        """
        cuts = list(self.cuts)
        for j in range(len(cuts)):
            asked = np.unique(np.concatenate([tree.threshold[tree.feature == j] for tree in trees]))
            bins = np.searchsorted(cuts[j], asked)
            halved = np.unique(np.append(bins, bins + 1)) if len(asked) else np.arange(0)
            at = np.searchsorted(cuts[j], observations[:, j])
            inside = [np.sort(observations[at == i, j]) for i in halved]
            added = [cut for values in inside if len(values) for cut in _cuts_at(values, np.array([0.5]))]
            cuts[j] = np.unique(np.append(cuts[j], added))
        return self._represented(tuple(cuts), observations, self.exact)

    @classmethod
    def _represented(cls, cuts: tuple[Floats, ...], observations: Floats, exact: bool) -> "Grid":
        return cls(cuts, tuple(_representatives(cuts[j], observations[:, j]) for j in range(len(cuts))), exact)

    def bins(self, observations: Floats) -> Ints:
        """[n, F] the bin of every feature of n observations [n, F]."""
        columns = [np.searchsorted(cuts, observations[:, j]) for j, cuts in enumerate(self.cuts)]
        return np.stack(columns, axis=1)

    def features(self, bins: Ints) -> Floats:
        """[n, F] what represents n cells, which are given by their bins [n, F]."""
        columns = [numbers[bins[:, j]] for j, numbers in enumerate(self.representatives)]
        return np.stack(columns, axis=1)

    def grouping(self, steps: Steps, starts: Floats | None = None) -> Grouping:
        """The visited cells as states, in the order of their bins.

        Args:
            steps: whose observations are grouped.
            starts: [m, F] what was observed when episodes began; by default, before the first steps.
        """
        begun = steps.observations[:0] if starts is None else starts
        bins = self.bins(np.concatenate([steps.observations, steps.next_observations, begun]))
        first, states = _distinct_rows(bins)
        n = len(steps)
        return Grouping(
            self.features(bins[first]), states[:n], states[n : 2 * n], None if starts is None else states[2 * n :]
        )

    def at_cuts(self, tree: TreePolicy) -> TreePolicy:
        """The tree with every threshold at a cut that divides the representatives as the threshold did."""
        threshold = tree.threshold.copy()
        for node in np.flatnonzero((tree.feature != LEAF) & ~tree.equality):
            cuts, numbers = self.cuts[tree.feature[node]], self.representatives[tree.feature[node]]
            below = int(np.searchsorted(numbers, threshold[node], side="right"))
            if 0 < below < len(numbers):
                threshold[node] = cuts[below - 1]
        return replace(tree, threshold=threshold)


def roundest(low: float, high: float) -> float:
    """The number with the fewest digits that is at least `low` and less than `high`; `low` itself if none is shorter.

    Among several with as few digits it is the one nearest to the middle.
    """
    middle = low / 2 + high / 2
    widest = max(abs(low), abs(high), high - low)
    if not 0 < widest < math.inf:
        return low
    for digits in range(-math.floor(math.log10(widest)) - 1, -math.floor(math.log10(widest)) + 15):
        short = round(middle, digits)
        if low <= short < high:
            return short + 0.0  # not −0
    return low


def _cuts_at(values: Floats, levels: Floats) -> Floats:
    """Cuts near the quantiles of sorted values at some levels; none where it would divide nothing."""
    spread = LOOSE / (len(levels) + 1)
    last = len(values) - 1
    ends = np.clip(np.stack([levels - spread, levels + spread]), 0, 1) * last
    low, high = values[np.floor(ends[0]).astype(int)], values[np.ceil(ends[1]).astype(int)]
    cuts = [roundest(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    return np.unique([cut for cut in cuts if values[0] <= cut < values[-1]])


def _representatives(cuts: Floats, column: Floats) -> Floats:
    """[m + 1] the median of the values in each bin; where none is, a number that belongs into the bin."""
    values = np.sort(column)
    ends = np.searchsorted(values, cuts, side="right")
    begin, end = np.append(0, ends), np.append(ends, len(values))
    empty = np.append(cuts, np.nextafter(cuts[-1], np.inf) if len(cuts) else 0.0)
    middle = np.minimum((begin + end - 1) // 2, len(values) - 1)
    return np.where(begin < end, values[middle], empty)


def _distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The index of the first of every group of equal rows [n, F], in lexicographic order; and [n] each row's group.

    Columns are taken one after another, so that numbers stay small with any number of them.
    """
    groups: Ints = np.zeros(len(rows), dtype=np.int64)
    first: Ints = np.zeros(1, dtype=np.int64)
    for j in range(rows.shape[1]):
        keys = groups * (int(rows[:, j].max()) + 1) + rows[:, j]
        _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
    return first, groups
