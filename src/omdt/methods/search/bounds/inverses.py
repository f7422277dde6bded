"""Inverses (I − γ P_BB^a)⁻¹ of boxes B and actions a, computed when they are asked for."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from omdt.mdp import EPSILON, Floats, Ints
from omdt.methods.search.boxes import Boxes
from omdt.methods.search.model import Model
from omdt.watch import Watch


class Stored(NamedTuple):
    """Inverses in flat arrays, as compiled kernels read them.

    Attributes:
        starts: [n + 1] where the states of each of n stored boxes begin.
        members: the states of all stored boxes.
        offsets: [n] where the A inverses of each box begin.
        entries: their entries, action by action and row by row.
    """

    starts: Ints
    members: Ints
    offsets: Ints
    entries: Floats


class Inverses:
    """The inverses of every box that was asked for; all are forgotten when memory is short.

    Attributes:
        stored: the inverses.
        norm: [n] the largest ‖N̂‖∞ of each stored box.
        defect: [n] the largest ‖I − M N̂‖∞ of each stored box.
    """

    def __init__(self, model: Model, boxes: Boxes, max_bytes: int) -> None:
        self.mdp, self.settings, self.boxes = model.mdp, model.settings, boxes
        self._max_entries = max_bytes // 8
        self._forget()

    def _forget(self) -> None:
        self._slot: dict[int, int] = {}
        self._used = 0
        self.norm, self.defect = np.zeros(0), np.zeros(0)
        nothing = np.zeros(0, dtype=np.int64)
        self.stored = Stored(np.zeros(1, dtype=np.int64), nothing, nothing, np.empty(1 << 16))

    def slots(self, active: Ints, watch: Watch) -> Ints:
        """Where the boxes of the given numbers are stored; missing ones are computed."""
        missing = [int(b) for b in active if int(b) not in self._slot]
        if missing:
            needed = sum(len(self.boxes.states[b]) ** 2 for b in missing) * self.mdp.n_actions
            if self._used + needed > self._max_entries:
                self._forget()
                missing = [int(b) for b in active]
            for some in self._chunks(missing):
                self._store(some, watch)
        return np.array([self._slot[int(b)] for b in active], dtype=np.int64)

    def _chunks(self, missing: list[int]) -> Iterator[list[int]]:
        """The boxes in portions; the portions that are stored remain when time runs out."""
        chunk: list[int] = []
        entries = 0
        for b in missing:
            chunk.append(b)
            entries += len(self.boxes.states[b]) ** 2 * self.mdp.n_actions
            if entries > self.settings.chunk_entries:
                yield chunk
                chunk, entries = [], 0
        if chunk:
            yield chunk

    def _store(self, missing: list[int], watch: Watch) -> None:
        starts, members, offsets, entries = self.stored
        boxes = [self.boxes.states[b] for b in missing]
        inverses, norms, defects = zip(*(self._inverse(states, watch) for states in boxes), strict=True)
        self.norm, self.defect = np.append(self.norm, norms), np.append(self.defect, defects)
        sizes = np.array([inverse.size for inverse in inverses])
        total = self._used + int(sizes.sum())
        if total > len(entries):
            larger = np.empty(min(2 * total, max(total, self._max_entries)))
            larger[: self._used] = entries[: self._used]
            entries = larger
        for b, inverse in zip(missing, inverses, strict=True):
            entries[self._used : self._used + inverse.size] = inverse.ravel()
            self._slot[b] = len(self._slot)
            self._used += inverse.size
        new_starts = starts[-1] + np.cumsum([len(states) for states in boxes])
        new_offsets = total - int(sizes.sum()) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.stored = Stored(
            np.concatenate([starts, new_starts]),
            np.concatenate([members, *boxes]),
            np.concatenate([offsets, new_offsets]),
            entries,
        )

    def _inverse(self, states: Ints, watch: Watch) -> tuple[Floats, float, float]:
        """[A, n, n] the inverses of a box, their largest norm and their largest defect."""
        watch.check()
        n, A = len(states), self.mdp.n_actions
        rows = (states[None, :] * A + np.arange(A)[:, None]).ravel()
        inside = self.mdp.transitions[rows][:, states].toarray().reshape(A, n, n)
        system = np.eye(n) - self.mdp.discount * inside
        inverse: Floats = np.linalg.inv(system)
        norm = float(np.abs(inverse).sum(axis=2).max()) * (1 + 1e-9)
        residual = float(np.abs(np.eye(n) - system @ inverse).sum(axis=2).max())
        return inverse, norm, 2 * (residual + n * EPSILON * norm)
