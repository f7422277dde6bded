"""Boxes: the sets of states in which an agent keeps its action, and what it gains by that, for many boxes at once."""

import math
from itertools import combinations

import numpy as np

from .cases import Problem
from .reading import Bools, Floats, Ints, require
from .regions import Regions

MAX_BOXES = 200_000  # boxes per region; more would take hours
WIDEST = 128  # states of boxes that are dealt with together; larger ones are few, and take long by themselves
INVERSES = 1 << 25  # numbers in matrices that are kept for other cases, 256 MB


def boxes_of(regions: Regions, region: int, k: int) -> list[Ints]:
    """Sets of states, of which every leaf with at most k questions contains one around each of its states.

    An answer is tight at a state if no other answer that holds there leaves strictly fewer states of the region.
    A leaf around a state is cut out by at most k answers, and each can be replaced by a tight one.
    """
    states = regions.states[region]
    right = regions.sides[states][:, regions.dividing(region)]
    answers = np.hstack([~right, right]).T
    patterns = [np.flatnonzero(tight).tolist() for tight in np.unique(_tight(answers), axis=0)]
    number = sum(math.comb(len(conditions), min(k, len(conditions))) for conditions in patterns)
    require(number <= MAX_BOXES, f"a region has more than {MAX_BOXES:,} boxes")
    found: dict[bytes, Ints] = {}
    for conditions in patterns:
        for chosen in combinations(conditions, min(k, len(conditions))):
            box = states[answers[list(chosen)].all(axis=0)]
            found[box.tobytes()] = box
    return list(found.values())


def _tight(answers: Bools) -> Bools:
    """[n, C] whether each of C answers [C, n] is tight at each of n states."""
    numbers = answers.astype(np.float64)
    sizes = numbers.sum(axis=1)
    smaller = (numbers @ numbers.T == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    return np.asarray(answers.T & ~(numbers.T @ smaller.astype(np.float64) > 0))


class Group:
    """Boxes of about the same size, filled up with a state S in which nothing is gained.

    Attributes:
        boxes: the states of every box.
        width: how many states a box is filled up to.
        states: [m, width] those of every box with what fills it up.
        slots: [m, A] the place of the matrices of every box and action, −1 if they are not kept.
        epoch: when that was found out.
    """

    def __init__(self, boxes: list[Ints], width: int, problem: Problem) -> None:
        self.boxes, self.width = boxes, width
        self.states = np.full((len(boxes), width), problem.S)
        for i, box in enumerate(boxes):
            self.states[i, : len(box)] = box
        self.slots = np.full((len(boxes), problem.A), -1)
        self.epoch = -1


class Keeping:
    """What is gained by keeping an action until a box is left, by matrices that are kept for further cases.

    With D the gain from each state of a box on, D = b + γ P D. It is solved by an inverse, and the error follows from
    what is left of this equation, so nothing depends on how exact the inverse is.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self._epoch = problem, 0
        self._clear()

    def _clear(self) -> None:
        self._slots: dict[tuple[bytes, int], int] = {}
        self._used: dict[int, int] = {}
        self._inverses: dict[int, Floats] = {}
        self._moves: dict[int, Floats] = {}
        self._epoch += 1

    def groups(self, boxes: list[Ints]) -> list[Group]:
        """Boxes with similar numbers of states together."""
        by_width: dict[int, list[Ints]] = {}
        for box in boxes:
            by_width.setdefault(_width(len(box)), []).append(box)
        return [Group(its, width, self.problem) for width, its in by_width.items()]

    def most(self, group: Group, gain: Floats, excess: float) -> float:
        """The most that is gained in the boxes of a group, at least the given excess, with gains [S, A] per step."""
        problem = self.problem
        gains = np.vstack([gain, np.zeros((1, problem.A))])[group.states]
        # By being kept until the box is left, an action gains no more than its largest gain there in every step.
        boxes, actions = np.nonzero(problem.error_of(gains.max(axis=1)) > excess)
        if len(boxes) == 0:
            return excess
        slots = self._found(group, boxes, actions)
        b, moves = gains[boxes, :, actions][:, :, None], self._moves[group.width][slots]
        X = self._inverses[group.width][slots] @ b
        size = abs(b) + moves @ abs(X) + abs(X)
        off = abs(b + moves @ X - X) + problem.rounding(problem.terms, size)
        return max(excess, float((X.max(axis=(1, 2)) + problem.error_of(off.max(axis=(1, 2)))).max()))

    def _found(self, group: Group, boxes: Ints, actions: Ints) -> Ints:
        """The places of the matrices of some boxes and actions, which are made if they are not kept."""
        if group.epoch != self._epoch:
            group.slots[:], group.epoch = -1, self._epoch
        slots = group.slots[boxes, actions]
        if slots.min() >= 0:
            return slots
        if sum(2 * width**2 * n for width, n in self._used.items()) > INVERSES:
            self._clear()
            return self._found(group, boxes, actions)
        for j in np.flatnonzero(slots < 0).tolist():
            box, action = group.boxes[boxes[j]], int(actions[j])
            key = (box.tobytes(), action)
            if key not in self._slots:
                self._slots[key] = self._added(box, action, group.width)
            slots[j] = self._slots[key]
        group.slots[boxes, actions] = slots
        return slots

    def _added(self, states: Ints, action: int, width: int) -> int:
        """The place of new matrices."""
        slot = self._used.get(width, 0)
        if slot == len(self._moves.get(width, ())):
            more = np.zeros((max(16, slot), width, width))
            for kept in (self._moves, self._inverses):
                kept[width] = np.concatenate([kept[width], more]) if slot else more.copy()
        moves = self.problem.moves(states, action)
        n = len(states)
        self._moves[width][slot, :n, :n] = moves
        self._inverses[width][slot, :n, :n] = np.linalg.inv(np.eye(n) - moves)
        self._used[width] = slot + 1
        return slot


def _width(n: int) -> int:
    """The least power of 2, or three quarters of one, that is at least n."""
    power = 1 << (n - 1).bit_length()
    return 3 * power // 4 if n <= 3 * power // 4 else power
