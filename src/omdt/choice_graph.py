"""The graph of an MDP with choices: what can be reached perhaps or surely, and where one can stay for ever.

Probabilities do not matter here, only which of them are positive.
"""

from functools import cached_property

import numpy as np
from numba import njit
from scipy import sparse

from omdt.arrays import Bools, Ints
from omdt.graph import components_of


class ChoiceGraph:
    """The graph of an MDP in which some actions may be taken.

    Args:
        transitions: [S·A, S]; only where its entries are counts.
        allowed: [S, A] the actions that may be taken.
    """

    def __init__(self, transitions: sparse.csr_array, allowed: Bools) -> None:
        self.transitions, self.allowed = transitions, allowed

    @cached_property
    def _backward(self) -> tuple[Ints, Ints]:
        """Where the predecessors of every state begin, and the rows that lead to it."""
        columns = self.transitions.tocsc()
        return columns.indptr, columns.indices

    @cached_property
    def _rows(self) -> Ints:
        """The row of every transition."""
        return np.repeat(np.arange(self.allowed.size), np.diff(self.transitions.indptr))

    def reaching(self, goal: Bools, allowed: Bools | None = None) -> Bools:
        """[S] whether some choices lead to a goal with positive probability; goals themselves do."""
        reached: Bools = self.layers(goal, self.allowed if allowed is None else allowed) >= 0
        return reached

    def layers(self, goal: Bools, allowed: Bools) -> Ints:
        """[S] the least number of steps in which a goal may be reached by allowed actions [S, A]; −1 if it cannot."""
        layers: Ints = _layers(*self._backward, allowed, goal)
        return layers

    def inside(self, states: Bools) -> Bools:
        """[S, A] the allowed actions that lead from one of the states to these states only."""
        stays: Bools = self.allowed & ~self._some_successor(~states) & states[:, None]
        return stays

    def remaining(self, states: Bools, allowed: Bools) -> tuple[Bools, Bools]:
        """The largest part [S] of the states in which one can stay for ever, and the actions [S, A] that do so."""
        stays = self.inside(states) & allowed
        kept: Bools = states & stays.any(axis=1)
        _remove(*self._backward, stays, kept, states & ~kept)
        return kept, stays & kept[:, None]

    def almost_surely(self, goal: Bools) -> Bools:
        """[S] whether some policy reaches a goal with probability 1."""
        found = np.ones(len(goal), dtype=np.bool_)
        while True:
            again = self.reaching(goal, self.inside(found))
            if np.array_equal(again, found):
                return found
            found = again

    def end_components(self, states: Bools) -> tuple[Ints, Bools]:
        """The maximal end components among the given states [S].

        An end component is a set of states in which some policy stays for ever and visits all of them again and again.

        Returns:
            The component of each state [S], −1 outside of all; and the actions [S, A] that stay in their component.
        """
        allowed, kept = self.allowed, states
        while True:
            kept, stays = self.remaining(kept, allowed)
            label = np.where(kept, components_of(_successors(self.transitions, stays)), -1)
            # An action that leads to another component cannot be taken again and again.
            rows = self._rows
            crossing = np.zeros(stays.size, dtype=np.bool_)
            crossing[rows[label[self.transitions.indices] != label[rows // stays.shape[1]]]] = True
            allowed = stays & ~crossing.reshape(stays.shape)
            if np.array_equal(allowed, stays):
                return label, stays

    def _some_successor(self, states: Bools) -> Bools:
        """[S, A] whether an action may lead to one of the states [S]."""
        found = np.zeros(self.allowed.size, dtype=np.bool_)
        found[self._rows[states[self.transitions.indices]]] = True
        return found.reshape(self.allowed.shape)


def _successors(transitions: sparse.csr_array, allowed: Bools) -> sparse.csr_array:
    """[S, S] a graph with an edge to every successor by an allowed action [S, A]."""
    S, A = allowed.shape
    rows = np.flatnonzero(allowed.ravel())
    taken = transitions[rows]
    first = np.searchsorted(rows, np.arange(0, S * A + 1, A))
    return sparse.csr_array((taken.data, taken.indices, taken.indptr[first]), shape=(S, S))


@njit(cache=True)
def _layers(first, rows, allowed, goal):  # type: ignore[no-untyped-def]
    """[S] steps to a goal, by a search backward from the goals."""
    S, A = allowed.shape
    layers = np.full(S, -1, dtype=np.int64)
    queue = np.empty(S, dtype=np.int64)
    count = 0
    for s in range(S):
        if goal[s]:
            layers[s] = 0
            queue[count] = s
            count += 1
    done = 0
    while done < count:
        t = queue[done]
        done += 1
        for k in range(first[t], first[t + 1]):
            s, a = divmod(rows[k], A)
            if layers[s] < 0 and allowed[s, a]:
                layers[s] = layers[t] + 1
                queue[count] = s
                count += 1
    return layers


@njit(cache=True)
def _remove(first, rows, stays, kept, removed):  # type: ignore[no-untyped-def]
    """Take actions out of `stays` [S, A] that lead to removed states, and states out of `kept` that have none left."""
    S, A = stays.shape
    queue = np.empty(S, dtype=np.int64)
    count = 0
    for s in range(S):
        if removed[s]:
            queue[count] = s
            count += 1
    done = 0
    while done < count:
        t = queue[done]
        done += 1
        for k in range(first[t], first[t + 1]):
            s, a = divmod(rows[k], A)
            if not kept[s] or not stays[s, a]:
                continue
            stays[s, a] = False
            left = False
            for b in range(A):
                left = left or stays[s, b]
            if not left:
                kept[s] = False
                queue[count] = s
                count += 1
