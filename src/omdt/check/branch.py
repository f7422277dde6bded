"""Branches: which ways to continue a case may be left out, because a symmetry turns them into earlier ones."""

from dataclasses import dataclass

import numpy as np

from .cases import Pins, Problem
from .claimed import Case
from .reading import Bools, Ints, require
from .regions import Label, Regions
from .symmetries import Renaming


@dataclass(frozen=True, eq=False)
class Branch:
    """A case that is branched at an open place, or at a state that is pinned.

    The regions may be those of a context, which has only the states [S] that are seen; the case is what it sees of it.
    """

    problem: Problem
    regions: Regions
    case: Case
    place: int | None  # None for a pin: the last one, whose action is −1
    pins: Pins = ()
    seen: Bools | None = None

    def check_symmetry(self, label: Label, renaming: Renaming, before: list[Label]) -> None:
        """Raise unless the case is turned into itself and one way to continue it into an earlier one."""
        labels, decisive = self._labels(), self.problem.decisive
        pinned, used = [state for state, _ in self.pins], sorted(self._used())
        same = np.array_equal(labels[renaming.states][decisive], labels[decisive])
        same = same and renaming.states[pinned].tolist() == pinned and renaming.actions[used].tolist() == used
        require(same, f"the symmetry for {label} does not turn the case into itself")
        turned = self._turned(label, renaming)
        require(turned in before, f"the symmetry turns {label} into {turned}, which does not come before it")

    def _labels(self) -> Ints:
        """[S] what must stay the same: which leaf or open place a state belongs to, and which pin."""
        labels = np.where(self.problem.decisive, -1, 0)
        for i, (_, region, action) in enumerate(self.case):
            labels[self.regions.states[region]] = -2 - i if action < 0 else action
        for i, (state, _) in enumerate(self.pins):
            labels[state] = self.problem.A + i
        return labels

    def _used(self) -> set[int]:
        """The actions of leaves and pins."""
        states = self.regions.states
        return {a for _, r, a in self.case if a >= 0 and len(states[r])} | {a for _, a in self.pins if a >= 0}

    def _turned(self, label: Label, renaming: Renaming) -> Label:
        """What a symmetry turns a way to continue into."""
        if label[0] == "action":
            return "action", int(renaming.actions[label[1]])
        assert self.place is not None, "only places are divided by questions"
        regions, region = self.regions, self.case[self.place][1]
        left = regions.states[regions.split(region, label[1])[0]]
        side = regions.number(np.sort(renaming.states[left]))
        return "question", next((k for k in regions.dividing(region) if side in regions.split(region, k)), -1)
