"""Consistency: which actions cells may still have if some tree within the size limits is to give them all.

A *cell* is a set of states that no question tells apart, so that every tree gives them the same action. Each cell has
a set of actions that are left to it, its *domain*: bits of W words. A tree is consistent with the domains if the action
of every leaf is in the domains of all cells in it. Two things are computed, both by trying all questions at every node:

- the least number of leaves of a consistent tree, which is that of a leaf if the domains have an action in common, and
  otherwise the least sum over both sides of a question;
- the actions of each cell that some consistent tree within the limits gives to it.

The loops are in `alternatives_kernels`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omdt.mdp import Ints
from omdt.methods.search.ranks import Columns
from omdt.tradeoffs.alternatives_kernels import least_leaves, support
from omdt.watch import Watch

Words = NDArray[np.uint64]
"""[G, W] sets of actions, one row of bits per cell."""

LONG = 2_000_000
"""Estimated steps of a compiled loop above which it is called once per first question, with a look at the clock in
between: some hundredths of a second."""

DEEP = 60
"""Depth beyond which estimates no longer grow: they are beyond every limit by then."""


class Scratch(NamedTuple):
    """Memory for compiled loops.

    Attributes:
        common: [depth + 1, 2, W] common actions of the two sides of a question, per level.
        buffer: [G] cells on the right while a region is divided.
        here: [V, W] common actions of all cells with each value of each column.
        upto: [V, W] the same of all cells with at most this value.
        beyond: [V, W] the same of all cells with a higher value.
        below: [V, W] actions that thresholds give to cells up to each value.
        above: [V, W] actions that thresholds give to cells beyond each value.
        frames: [depth + 1, 8] see `BEGIN`.
        further_frames: [depth + 1, 8] the same for a loop that calls another one.
    """

    common: NDArray[np.uint64]
    buffer: Ints
    here: Words
    upto: Words
    beyond: Words
    below: Words
    above: Words
    frames: Ints
    further_frames: Ints

    @classmethod
    def of(cls, columns: Columns, words: int, depth: int) -> "Scratch":
        """Memory for trees of some depth."""
        values = int(columns.offsets[-1])
        common = np.zeros((depth + 1, 2, words), dtype=np.uint64)
        here, upto, beyond, below, above = (np.zeros((values, words), dtype=np.uint64) for _ in range(5))
        buffer = np.zeros(columns.codes.shape[1], dtype=np.int64)
        frames, further = (np.zeros((depth + 1, 8), dtype=np.int64) for _ in range(2))
        return cls(common, buffer, here, upto, beyond, below, above, frames, further)


class Consistency:
    """Decides which domains some tree within the limits is consistent with.

    Args:
        columns: the questions, and the ranks [F', G] of the cells in every column.
        words: W.
        depth: maximum depth of a tree.
        leaves: maximum number of leaves.

    Attributes:
        steps: roughly the number of steps of compiled loops in which `supported` is computed.
    """

    def __init__(self, columns: Columns, words: int, depth: int, leaves: int) -> None:
        self._columns, self._depth, self._leaves = columns, depth, leaves
        self._scratch = Scratch.of(columns, words, depth)
        cells, questions = columns.codes.shape[1], len(columns.feature)
        passes = float(max(1, questions)) ** max(0, min(depth, DEEP) - 1)
        self.steps = 1.0 + passes * (cells + int(columns.offsets[-1])) * len(columns.codes)
        self._long = depth > 1 and self.steps > LONG

    def least_leaves(self, domains: Words, cells: Ints, depth: int, most: int) -> int:
        """The least number of leaves of a consistent tree for some cells; more than `most` if that does not suffice."""
        order = cells.copy()
        return int(least_leaves(self._columns, domains, order, 0, len(order), depth, most, self._scratch))

    def supported(self, domains: Words, watch: Watch) -> Words | None:
        """[G, W] the actions of every cell that some consistent tree gives to it; None if there is no such tree.

        Args:
            domains: [G, W] the actions that are left to every cell.
            watch: ends the computation by an `OutOfTimeError`.
        """
        found = np.zeros_like(domains)
        order = np.arange(len(domains))
        last = len(self._columns.feature)
        step = 1 if self._long else max(1, last)
        for k in range(0, max(1, last), step):
            watch.check()
            until = min(k + step, last)
            support(self._columns, domains, order, self._depth, self._leaves, found, k, until, self._scratch)
        return found if found.any(axis=1).all() else None
