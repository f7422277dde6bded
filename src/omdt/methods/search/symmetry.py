"""Symmetry: renamings of states and actions that leave the problem and the set of questions as they are.

A renaming turns every tree into another one of the same size and return. So where a partial tree is turned into itself,
region by region, of the ways to continue it that renamings turn into one another only one needs to be looked at.

Candidates are found by colouring states. States of one colour look alike, as far as rewards and the colours of
successors tell; colours are refined until they no longer split. To find what turns one question into another, each is
marked in a copy of the problem; then further questions, and single states where none is left that tells states apart,
are marked in pairs until all colours differ.

**Rounding.** Transition probabilities that were computed in different order differ in their last bits, so a renaming
may change the problem a little. With rewards off by Δr, rows of P by ΔP and p0 by Δp, any tree's return is off by at
most (Δr + γ ΔP R) / (1 − γ) + Δp R, where R = max |r| / (1 − γ). Every renaming that is used was compared with the
problem entry by entry; what it is off by counts for the bound of the search (`Symmetries.error`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search.model import Model

DIGITS = 9
"""Decimals to which numbers must agree for states to look alike; more than that is rounding."""


@dataclass(frozen=True, eq=False)
class Symmetries:
    """Renamings other than the one that changes nothing.

    Attributes:
        states: [G, S] what the states are called instead.
        actions: [G, A] what the actions are called instead.
        questions: [G, K] what the questions are called instead, up to the names of their two sides.
        error: how much the return of a tree may change by any one of them.
    """

    states: Ints
    actions: Ints
    questions: Ints
    error: float

    @classmethod
    def none(cls, model: Model) -> "Symmetries":
        """No renamings at all."""
        S, A = model.mdp.rewards.shape
        states, actions, questions = (np.zeros((0, n), dtype=np.int64) for n in (S, A, len(model.task.splits)))
        return cls(states, actions, questions, 0.0)

    def __len__(self) -> int:
        return len(self.states)

    def fixing(self, labels: Ints, actions: Ints) -> Ints:
        """The renamings under which every region keeps its states and every leaf its action.

        Args:
            labels: [S] a number for the region of each state.
            actions: the actions of the leaves.
        """
        kept = np.all(labels[self.states] == labels, axis=1)
        return np.flatnonzero(kept & np.all(self.actions[:, actions] == actions, axis=1))


def find(model: Model) -> Symmetries:
    """Renamings of a task; not necessarily all there are."""
    if not model.decisive.any():
        return Symmetries.none(model)
    finder = _Finder(model)
    found: dict[bytes, Symmetries] = {}
    for first, second in finder.pairs():
        if any(np.any(renaming.questions[:, first] == second) for renaming in found.values()):
            continue
        renaming = finder.turning(first, second)
        if finder.exhausted:
            break
        if renaming is not None:
            _close(found, renaming, finder)
    together = [renaming for renaming in found.values() if finder.tells(renaming)]
    if not together:
        return Symmetries.none(model)
    states, actions, questions = (
        np.vstack([getattr(it, name) for it in together]) for name in ("states", "actions", "questions")
    )
    return Symmetries(states, actions, questions, max(it.error for it in together))


def _close(found: dict[bytes, Symmetries], new: Symmetries, finder: "_Finder") -> None:
    """Add a renaming and what it makes with those that were found before, as long as there are not too many."""
    fresh = [new]
    generators = [*found.values(), new]
    while fresh and len(found) < finder.settings.max_renamings:
        renaming = fresh.pop()
        found[renaming.states.tobytes()] = renaming
        for other in generators:
            states = renaming.states[0][other.states[0]]
            if states.tobytes() not in found and np.any(states != np.arange(len(states))):
                product = finder.verified(states)
                fresh += [] if product is None else [product]


class _Finder:
    """Looks for renamings; gives up when it has worked too much."""

    def __init__(self, model: Model) -> None:
        mdp, sides, decisive = model.mdp, model.sides, model.decisive
        self.model, self.settings = model, model.settings
        self.mdp, self.sides, self.decisive = mdp, sides, decisive
        self.work, self.tries = 0, 0
        self.number = {_packed(column): k for k, column in enumerate(sides[decisive].T)}
        self.by_action = [sparse.csr_array(mdp.transitions[a :: mdp.n_actions]) for a in range(mdp.n_actions)]
        self.reward_scale = float(np.abs(mdp.rewards).max()) or 1.0
        self.start = np.unique(np.round(mdp.initial, DIGITS), return_inverse=True)[1].ravel()

    @property
    def exhausted(self) -> bool:
        """Whether there was too much work to look for more renamings."""
        return self.work > self.settings.max_symmetry_work

    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of questions that may be turned into one another, as far as the colours of states tell."""
        colours = self._refined(np.concatenate([self.start, self.start]))
        if colours is None:
            return []
        S = len(self.sides)
        colours, sides = colours[:S][self.decisive], self.sides[self.decisive]
        kinds: dict[bytes, list[int]] = {}
        # Of questions that divide the states alike, one is enough.
        for k in sorted(self.number.values()):
            right = np.bincount(colours[sides[:, k]], minlength=colours.max() + 1)
            left = np.bincount(colours[~sides[:, k]], minlength=colours.max() + 1)
            kinds.setdefault(min(right.tobytes() + left.tobytes(), left.tobytes() + right.tobytes()), []).append(k)
        return [(ks[i], ks[j]) for ks in kinds.values() for j in range(len(ks)) for i in range(j)]

    def turning(self, first: int, second: int) -> Symmetries | None:
        """A renaming that turns one question into another."""
        self.tries = 0
        return self._search(self._marked(np.concatenate([self.start, self.start]), first, second))

    def tells(self, renaming: Symmetries) -> bool:
        """Whether a renaming turns any question or action into another one."""
        _, A = self.mdp.rewards.shape
        same = np.array([self.number[_packed(column)] for column in self.sides[self.decisive].T])
        return bool(np.any(renaming.questions != same) or np.any(renaming.actions != np.arange(A)))

    def _search(self, candidates: Iterable[Ints]) -> Symmetries | None:
        """A renaming under which the states of the first copy get the names of those of the second of the same colour.

        Args:
            candidates: colours [2 S] of both copies; the first that lead to a renaming count.
        """
        S = self.mdp.n_states
        for colours in candidates:
            self.tries += 1
            if self.tries > self.settings.max_colourings or self.exhausted:
                return None
            refined = self._refined(colours)
            if refined is None:
                continue
            if np.bincount(refined[:S]).max() > 1:
                renaming = self._search(self._marks(refined))
            else:
                renamed = np.empty(S, dtype=np.int64)
                renamed[np.argsort(refined[:S])] = np.argsort(refined[S:])
                renaming = self.verified(renamed)
            if renaming is not None:
                return renaming
        return None

    def _marks(self, colours: Ints) -> Iterator[Ints]:
        """Colours with one more mark in either copy: a question that tells states of one colour apart, or a state."""
        S, K = self.sides.shape
        count = np.bincount(colours[:S])
        for k in range(K):
            right = np.bincount(colours[:S][self.sides[:, k] & self.decisive], minlength=len(count))
            if np.any((right > 0) & (right < count)):
                for other in range(K):
                    yield from self._marked(colours, k, other)
                return
        colour = int(np.argmax(count > 1))
        first = int(np.flatnonzero(colours[:S] == colour)[0])
        for partner in np.flatnonzero(colours[S:] == colour):
            marked = colours.copy()
            marked[[first, S + partner]] = len(count)
            yield marked

    def _marked(self, colours: Ints, first: int, second: int) -> Iterator[Ints]:
        """Colours with one question marked in the first copy and another one in the second, if that can fit."""
        for other in (self.sides[:, second], ~self.sides[:, second]):
            marked = 2 * colours + np.concatenate([self.sides[:, first] & self.decisive, other & self.decisive])
            self.work += len(marked) + self.settings.symmetry_call
            if self.exhausted:
                return
            if _match(marked):
                yield marked

    def _refined(self, colours: Ints) -> Ints | None:
        """Colours [2 S] that no longer split; None when the copies do not match."""
        S = self.mdp.n_states
        while True:
            if not _match(colours):
                return None
            self.work += 2 * self.mdp.transitions.nnz + self.settings.symmetry_call
            n = int(colours.max()) + 1
            looks = np.concatenate([self._looks(colours[:S], n), self._looks(colours[S:], n)])
            _, refined = np.unique(colours + looks, return_inverse=True)
            if refined.max() + 1 == len(np.unique(colours)):
                return refined
            colours = refined

    def _looks(self, colours: Ints, n: int) -> Floats:
        """[S] a number below 1 for what actions earn and lead to, in no particular order of the actions."""
        weights = np.random.default_rng(0).random(n)
        ahead = (self.mdp.transitions @ weights[colours]).reshape(self.mdp.rewards.shape)
        looks = np.round(ahead + np.pi * self.mdp.rewards / self.reward_scale, DIGITS)
        mixed = np.sort(looks, axis=1) @ np.random.default_rng(1).random(looks.shape[1])
        return np.asarray(np.round(mixed, DIGITS - 2) % 1.0, dtype=np.float64)

    def verified(self, renamed: Ints) -> Symmetries | None:
        """The renaming s → renamed[s] of states, completed and compared with the problem; None if it does not fit."""
        # A renamed state answers a question as it did before under its old name.
        back = np.argsort(renamed)
        questions = [self.number.get(_packed(column), -1) for column in self.sides[back][self.decisive].T]
        actions = self._actions(renamed)
        if min(questions, default=0) < 0 or actions is None:
            return None
        error = self._error(renamed, actions)
        return None if error is None else Symmetries(renamed[None], actions[None], np.array([questions]), error)

    def _actions(self, renamed: Ints) -> Ints | None:
        """[A] what actions have to be called when states are renamed."""
        weights = np.random.default_rng(1).random(self.mdp.n_states)
        shape = self.mdp.rewards.shape
        before = (self.mdp.transitions @ weights).reshape(shape)
        after = (self.mdp.transitions @ weights[np.argsort(renamed)]).reshape(shape)[renamed]
        partners: list[int] = []
        for a in range(shape[1]):
            off = np.abs(after - before[:, [a]]).max(axis=0)
            off += np.abs(self.mdp.rewards[renamed] - self.mdp.rewards[:, [a]]).max(axis=0) / self.reward_scale
            off[partners] = np.inf
            if off.min() > 10.0**-DIGITS:
                return None
            partners.append(int(np.argmin(off)))
        return np.array(partners)

    def _error(self, renamed: Ints, actions: Ints) -> float | None:
        """How much the return of any tree may change, or None if that is more than rounding."""
        mdp = self.mdp
        self.work += mdp.transitions.nnz
        rows = 0.0
        for a, b in enumerate(actions):
            difference = abs(self.by_action[b][renamed][:, renamed] - self.by_action[a])
            rows = max(rows, float(difference.sum(axis=1).max()))
        rewards = float(np.abs(mdp.rewards[renamed][:, actions] - mdp.rewards).max())
        start = float(np.abs(mdp.initial[renamed] - mdp.initial).sum())
        contraction = self.model.norms.contraction
        largest = self.reward_scale / contraction
        if max(rows, start, rewards / self.reward_scale) > 10.0**-DIGITS:
            return None
        return 1.001 * ((rewards + mdp.discount * rows * largest) / contraction + start * largest)


def _match(colours: Ints) -> bool:
    """Whether there are as many states of each colour in both copies."""
    first, second = np.split(colours, 2)
    n = int(colours.max()) + 1
    return np.array_equal(np.bincount(first, minlength=n), np.bincount(second, minlength=n))


def _packed(column: Bools) -> bytes:
    """A question as a hashable, the same for its negation."""
    return np.packbits(column ^ column[0]).tobytes()
