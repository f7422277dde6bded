"""Domains: what is left to the states of a task while the trees that are about as good as the best are enumerated.

A state is *decisive* if it matters which action is played in it. Two trees do the same if they play the same actions in
all decisive states that they visit; where the named action is not available, what is played counts. So it is states
that are decided, one after another, beginning with the first ones. Every decision leaves fewer actions to other states,
because some tree within the size limits must still give all of them (`alternatives_consistency`).
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from omdt.mdp import Bools, Ints
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree
from omdt.methods.search.ranks import Columns, Ranks
from omdt.tradeoffs.alternatives_consistency import Consistency, Words
from omdt.watch import Watch

NOWHERE = -1
"""The cell of a state that no decision is about, and the action in a state in which none counts."""


@dataclass(frozen=True, eq=False)
class Walk:
    """Where the decisions so far lead.

    Attributes:
        plays: [S] what is played in each decisive state that is visited; −1 elsewhere.
        open: decisive states that are visited and have several actions left; without any, all that counts is decided.
    """

    plays: Ints
    open: Ints


class Domains:
    """The cells of a task, and how decisions about them add up.

    Attributes:
        root: [G, W] what is left to each cell before any decision: what the rules allow.
        steps: roughly the number of steps of compiled loops in which `supported` is computed.
    """

    def __init__(self, model: Model, questions: Ranks) -> None:
        self._mdp, self._model = model.mdp, model
        matters = model.decisive & model.mdp.reached
        relevant = np.flatnonzero(matters | ~model.allowed.all(axis=1))
        codes = questions.columns.codes[:, relevant]
        _, first, cells = np.unique(codes, axis=1, return_index=True, return_inverse=True)
        self._cell = np.full(model.mdp.n_states, NOWHERE)
        self._cell[relevant] = cells.ravel()
        self._decisive = matters
        allowed = np.ones((len(first), model.mdp.n_actions), dtype=np.bool_)
        np.logical_and.at(allowed, self._cell[relevant], model.allowed[relevant])
        self.root = packed(allowed)
        self._everything = packed(np.ones((1, model.mdp.n_actions), dtype=np.bool_))[0]
        self._columns, self._numbers = _asked(questions.columns._replace(codes=np.ascontiguousarray(codes[:, first])))
        size = model.size
        self._consistency = Consistency(self._columns, self.root.shape[1], size.depth, size.leaves)
        self.steps = self._consistency.steps

    @property
    def nbytes(self) -> int:
        """Memory of what is left to all cells."""
        return int(self.root.nbytes)

    def supported(self, domains: Words, watch: Watch) -> Words | None:
        """What is left to each cell if a tree is to give all of it; None if no tree does."""
        return self._consistency.supported(domains, watch)

    def decided(self, domains: Words, state: int) -> list[Words]:
        """The domains that take the place of others, one for each action that may be played in a state."""
        cell, played = self._cell[state], self._mdp.played[state]
        left = played[unpacked(domains[cell : cell + 1], self._mdp.n_actions)[0]]
        children = []
        for action in np.unique(left):
            child = domains.copy()
            child[cell] &= packed((played == action)[None])[0]
            children.append(child)
        return children

    def choices(self, domains: Words) -> Bools:
        """[S, A] the actions that may be taken in each state."""
        choices = np.ones(self._mdp.rewards.shape, dtype=np.bool_)
        relevant = self._cell != NOWHERE
        choices[relevant] = unpacked(domains, self._mdp.n_actions)[self._cell[relevant]]
        return choices

    def walk(self, choices: Bools) -> Walk:
        """Where the choices [S, A] lead from the first states, as far as they are decided."""
        mdp, P = self._mdp, self._mdp.transitions
        plays = np.full(mdp.n_states, NOWHERE)
        is_open = np.zeros(mdp.n_states, dtype=np.bool_)
        _walk(P.indptr, P.indices, mdp.initial, self._decisive, choices, mdp.played, plays, is_open)
        return Walk(plays, np.flatnonzero(is_open))

    def plays(self, policy: Ints) -> Ints:
        """[S] what a policy [S] plays in each decisive state that it visits; −1 elsewhere."""
        chosen = np.zeros(self._mdp.rewards.shape, dtype=np.bool_)
        chosen[np.arange(len(policy)), policy] = True
        return self.walk(chosen).plays

    def smallest_tree(self, plays: Ints) -> Tree:
        """The tree with fewest leaves that plays the given actions [S]; of several, the one with the first questions.

        Questions are compared from the root on, the left side before the right one.
        """
        domains, cells = self._needed(plays)
        names = np.zeros((len(domains), self._mdp.n_actions), dtype=np.int64)
        states = np.flatnonzero(plays != NOWHERE)
        np.add.at(names, self._cell[states], self._mdp.available[states].astype(np.int64))
        size = self._model.size
        return self._smallest(domains, names, cells, size.depth, size.leaves)

    def possible(self, plays: Ints) -> bool:
        """Whether a tree within the limits plays the given actions [S] and keeps the rules everywhere."""
        domains, cells = self._needed(plays)
        size = self._model.size
        return self._consistency.least_leaves(domains, cells, size.depth, size.leaves) <= size.leaves

    def possible_without(self, plays: Ints, column: int) -> bool:
        """Whether a tree within the limits plays the given actions [S] and asks nothing about a column."""
        domains, cells = self._needed(plays)
        others = self._columns.feature != column
        feature, rank, equality = (it[others] for it in self._columns[2:])
        columns = self._columns._replace(feature=feature, rank=rank, equality=equality)
        size = self._model.size
        consistency = Consistency(columns, domains.shape[1], size.depth, size.leaves)
        return consistency.least_leaves(domains, cells, size.depth, size.leaves) <= size.leaves

    def _needed(self, plays: Ints) -> tuple[Words, Ints]:
        """[G, W] what cells may have in a tree that plays the given actions [S]; the cells that may not have all."""
        domains, states = self.root.copy(), np.flatnonzero(plays != NOWHERE)
        wanted = packed(self._mdp.played[states] == plays[states, None])
        np.bitwise_and.at(domains, self._cell[states], wanted)
        return domains, np.flatnonzero((domains != self._everything).any(axis=1))

    def _smallest(self, domains: Words, names: Ints, cells: Ints, depth: int, most: int) -> Tree:
        """The smallest tree for some cells; a leaf names what is available in most of its visited states."""
        common = np.bitwise_and.reduce(domains[cells], axis=0) & self._everything
        if common.any():
            actions = np.flatnonzero(unpacked(common[None], self._mdp.n_actions)[0])
            return Leaf(int(actions[names[cells].sum(axis=0)[actions].argmax()]))
        least = self._consistency.least_leaves(domains, cells, depth, most)
        for k in range(len(self._numbers)):
            right = _goes_right(self._columns, cells, k)
            if not right.any() or right.all():
                continue
            on_left = self._consistency.least_leaves(domains, cells[~right], depth - 1, least - 1)
            if on_left >= least:
                continue
            on_right = self._consistency.least_leaves(domains, cells[right], depth - 1, least - on_left)
            if on_left + on_right == least:
                left = self._smallest(domains, names, cells[~right], depth - 1, on_left)
                return Split(
                    int(self._numbers[k]), left, self._smallest(domains, names, cells[right], depth - 1, on_right)
                )
        raise AssertionError("no tree plays these actions")


def packed(choices: Bools) -> Words:
    """[n, W] sets of actions as bits, from truth values [n, A]."""
    padded = np.zeros((len(choices), 64 * -(-choices.shape[1] // 64)), dtype=np.bool_)
    padded[:, : choices.shape[1]] = choices
    words: Words = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    return words


def unpacked(words: Words, n_actions: int) -> Bools:
    """[n, A] sets of actions as truth values, from bits [n, W]."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n_actions].astype(np.bool_)


def _goes_right(columns: Columns, cells: Ints, k: int) -> Bools:
    """[n] whether each of n cells goes to the right of a question."""
    codes = columns.codes[columns.feature[k]][cells]
    right: Bools = codes != columns.rank[k] if columns.equality[k] else codes > columns.rank[k]
    return right


def _asked(columns: Columns) -> tuple[Columns, Ints]:
    """The questions that divide the cells, without those that divide them like an earlier one, and their numbers."""
    cells, seen, kept = np.arange(columns.codes.shape[1]), set(), []
    for k in range(len(columns.feature)):
        right = _goes_right(columns, cells, k)
        if right.all() or not right.any():
            continue
        key = np.packbits(right ^ right[0]).tobytes()
        if key not in seen:
            seen.add(key)
            kept.append(k)
    numbers = np.array(kept, dtype=np.int64)
    feature, rank, equality = columns.feature[numbers], columns.rank[numbers], columns.equality[numbers]
    return columns._replace(feature=feature, rank=rank, equality=equality), numbers


@njit(cache=True, nogil=True)
def _walk(indptr, indices, initial, decisive, choices, played, plays, is_open):  # type: ignore[no-untyped-def]
    """Follow decided states from the first ones; note what they play, and which visited states are open."""
    S, A = choices.shape
    visited, waiting, count = np.zeros(S, dtype=np.bool_), np.empty(S, dtype=np.int64), 0
    for s in range(S):
        if initial[s] > 0:
            visited[s] = True
            waiting[count] = s
            count += 1
    while count > 0:
        count -= 1
        s = waiting[count]
        row = s * A
        if decisive[s]:
            action = -1
            for a in range(A):
                if choices[s, a]:
                    if action >= 0 and played[s, a] != action:
                        is_open[s] = True
                    action = played[s, a]
            if is_open[s]:
                continue
            plays[s] = action
            row += action
        for k in range(indptr[row], indptr[row + 1]):
            if not visited[indices[k]]:
                visited[indices[k]] = True
                waiting[count] = indices[k]
                count += 1
