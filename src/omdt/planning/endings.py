"""Endings: the values of a chain without discount, which depend on where it ends.

A chain ends in one of its closed classes: sets of states that are never left and whose states all reach one another.
What happens there decides whether a value is finite. In a terminal state nothing is earned any more. In another class
the chain goes on for ever, which is worth what `MDP.endless` says; without such a word its rewards count, and their sum
is 0, ∞ or −∞. A state that may end in a class of infinite value has this value too. All other states outside of closed
classes are transient, and their values solve x = r + P x, with errors as in `omdt.planning.durations`.
"""

import numpy as np
from scipy import sparse

from omdt.graph import components_of, reached_from
from omdt.mdp import EPSILON, Bools, Floats
from omdt.planning.certified import UNDERFLOW, Certified
from omdt.planning.elimination import eliminated
from omdt.systems import System, product
from omdt.watch import Watch, late

PRECISE = 1e-9
"""Relative error of values that is small enough. Beyond, the chain takes ages to end, and elimination without
subtractions tells more (`omdt.planning.elimination`)."""


class Chain:
    """A Markov chain without discount.

    Args:
        P: [n, n] its transitions.
        terminal: [n] the terminal states.
        terms: number of rows of the MDP of which a row of P is mixed.
    """

    def __init__(self, P: sparse.csr_array, terminal: Bools, terms: int = 1) -> None:
        self.P, self._terminal = P, terminal
        self._margin = 4 * (int(np.diff(P.indptr).max()) + 4 + terms) * EPSILON
        self._label = components_of(P)

    @property
    def closed(self) -> Bools:
        """[n] whether a state belongs to a class that is never left."""
        count = int(self._label.max()) + 1
        left = np.zeros(count, dtype=np.bool_)
        source = np.repeat(self._label, np.diff(self.P.indptr))
        left[source[source != self._label[self.P.indices]]] = True
        closed: Bools = ~left[self._label]
        return closed

    def values(self, r: Floats, endless: float | None, watch: Watch | None) -> Certified[Floats]:
        """[n] the total rewards r [n] from every state on; ∞ and −∞ where they are infinite."""
        closed = self.closed
        values = np.where(closed & ~self._terminal, self._of_class(r, closed, endless), 0.0)
        for infinite in (np.inf, -np.inf):
            values[self._leading_to(values == infinite)] = infinite
        transient = np.flatnonzero(~closed & np.isfinite(values))
        errors = np.zeros_like(values)
        if len(transient):
            found = self._solved(r[transient], transient, watch)
            values[transient], errors[transient] = found.value, found.errors
        return Certified(values, errors)

    def visits(self, p0: Floats, watch: Watch | None) -> Floats:
        """[n] about how often every state is visited; in closed classes, how often one of them is entered there."""
        transient = np.flatnonzero(~self.closed)
        rows = self.P[transient]
        inside = System(sparse.csr_array(rows[:, transient]), 0.0)
        often = np.maximum(inside.solve_transposed(p0[transient], watch=watch), 0.0)
        visits = p0 + rows.T @ often
        visits[transient] = often
        return np.asarray(visits)

    def _of_class(self, r: Floats, closed: Bools, endless: float | None) -> Floats:
        """[n] what it is worth to stay in the closed class of a state for ever."""
        if endless is not None:
            return np.full(len(r), endless)
        count = int(self._label.max()) + 1
        worth = np.zeros(count)
        worth[self._label[closed & (r < 0)]] = -np.inf
        worth[self._label[closed & (r > 0)]] = np.inf
        return worth[self._label]

    def _leading_to(self, states: Bools) -> Bools:
        """[n] whether one of the states may be reached."""
        if not states.any():
            return states
        backward = self.P.tocsc()
        return reached_from(states, backward.indices, backward.indptr)

    def _solved(self, r: Floats, states: np.ndarray, watch: Watch | None) -> Certified[Floats]:
        """The values of transient states, all of whose ends are worth 0."""
        M = self.P if len(states) == self.P.shape[0] else sparse.csr_array(self.P[states][:, states])
        system = System(M, 0.0)
        values = system.solve(r, watch=watch)
        h = np.maximum(system.solve(np.ones(len(r)), accuracy=0.1, watch=watch), 0.0)
        residual = np.abs(r + product(M, values) - values)
        residual += self._margin * (np.abs(r) + np.abs(values) + M @ np.abs(values)) + UNDERFLOW
        ahead = product(M, h)
        decrease = h - ahead - self._margin * (h + ahead + 1)
        least = float(decrease.min())
        known = np.isfinite(least) and least > 0
        errors = float(residual.max()) * h / least * (1 + 8 * EPSILON) if known else np.full_like(values, np.inf)
        if late(watch) or float(errors.max()) <= PRECISE * float(np.abs(values).max()):
            return Certified(values, errors)
        ending = np.asarray(self.P[states] @ self._outside(states))
        better = eliminated(M, ending, r, self._margin)
        return Certified(values, errors) if better is None else better

    def _outside(self, states: np.ndarray) -> Floats:
        """[n] 1 for all but some states."""
        outside = np.ones(self.P.shape[0])
        outside[states] = 0.0
        return outside
