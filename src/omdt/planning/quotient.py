"""Quotients: an MDP without discount in which every set of states that can be visited for ever is a single state.

The Bellman operator of total rewards has a single fixpoint only where every policy ends, or where policies that do not
end are worth −∞. What else there is, is found in the graph of the MDP (`omdt.choice_graph`) and taken out before:

- *Rewards ≥ 0.* A policy that stays in an end component with a positive reward is worth ∞, and so is every state from
  which one can be reached. In other end components nothing is earned, and one can go from each of their states to each
  other one: all have the same value, and become one state whose actions are those that leave the component. If it has
  none, its value is 0.
- *Rewards ≤ 0.* Where one can stay for ever without a cost, nothing better than staying exists: the value is 0. If
  policies that never end are worth −∞ (`MDP.endless`), staying is no way out, and such a component becomes one state as
  above. States from which no policy reaches the end almost surely are worth −∞. Of the other policies, those that never
  end pay for ever.
- *Policies that never end are worth ∞*: so is every state from which an end component can be reached.
- *Rewards of both signs* make sense only where every policy ends.

What remains has a row per state and action (`Quotient`), and optimal values that are the only fixpoint among those that
policy iteration can reach from a policy that ends.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from scipy import sparse

from omdt.choice_graph import ChoiceGraph
from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Quotient:
    """What is left of an MDP when everything that its graph decides is taken out.

    Attributes:
        known: [S] the values that the graph decides: 0, ∞ or −∞; NaN where it does not.
        member: [S] the state of the quotient that stands for each state; −1 where the value is known.
        owner: [rows] the state of the quotient to which a row belongs, in ascending order.
        first: [n] the first row of each state.
        matrix: [rows, n] probabilities of the next state; what is missing to 1 leads to states of value 0.
        rewards: [rows].
        ending: [n] a row of each state; they form a policy that ends almost surely.
    """

    known: Floats
    member: Ints
    owner: Ints
    first: Ints
    matrix: sparse.csr_array
    rewards: Floats
    ending: Ints

    def on_states(self, values: Floats, elsewhere: float | None = None) -> Floats:
        """[S] the values [n] of the states that stand for others; where values are known these, or another number."""
        inside = self.member >= 0
        found = self.known.copy() if elsewhere is None else np.full(len(inside), elsewhere)
        found[inside] = values[self.member[inside]]
        return found


def quotient(mdp: MDP, rewards: Floats, endless: float | None) -> Quotient:
    """The quotient of an MDP with other rewards [S, A], which are −∞ for actions that must not be played."""
    return _Reduction(mdp, rewards, endless).quotient()


def check_totals(mdp: MDP) -> None:
    """Raise if the rewards of an MDP without discount have no meaningful total."""
    if mdp.discount == 1:
        _Reduction(mdp, mdp.rewards, mdp.endless).check()


class _Reduction:
    """Takes out of an MDP what its graph decides."""

    def __init__(self, mdp: MDP, rewards: Floats, endless: float | None) -> None:
        self._mdp, self._rewards, self._endless = mdp, rewards, endless
        self._acting = ~mdp.terminal
        self._allowed: Bools = (rewards > -np.inf) & self._acting[:, None]
        self._graph = ChoiceGraph(mdp.transitions, self._allowed)
        self._known = np.where(self._acting, np.nan, 0.0)
        self._rows: Bools = self._allowed.copy()

    @cached_property
    def _components(self) -> tuple[Ints, Bools]:
        return self._graph.end_components(self._acting)

    def check(self) -> None:
        """Raise if rewards have both signs, or the one that has no meaning here, and some policy never ends."""
        lost = bool(np.any(self._rewards < 0, where=self._allowed))
        won = bool(np.any(self._rewards > 0, where=self._allowed))
        fits = not lost if self._endless == np.inf else not won if self._endless == -np.inf else not (lost and won)
        if fits or not np.any(self._components[0] >= 0):
            return
        s = int(np.argmax(self._components[0] >= 0))
        wrong = "rewards of both signs" if lost and won else "rewards of this sign"
        raise InputError(
            f"there is no total of {wrong} where a policy may go on for ever, here from state "
            f"{int(self._mdp.origin[s])}; use a discount below 1, or rewards of one sign"
        )

    def quotient(self) -> Quotient:
        """The quotient."""
        self.check()
        label = np.full(len(self._acting), -1, dtype=np.int64)
        if np.any(self._components[0] >= 0):
            label = self._without_end_components()
        return self._divided(label)

    def _without_end_components(self) -> Ints:
        """Decide the values and rows that end components decide; [S] the components that become one state, or −1."""
        label, stays = self._components
        zero = self._allowed & (self._rewards == 0)
        if self._endless == np.inf:
            self._know(self._graph.reaching(label >= 0), np.inf)
            return np.full_like(label, -1)
        if np.any(self._rewards > 0, where=self._allowed):
            earning = np.zeros(len(label) + 1, dtype=np.bool_)
            earning[label[(stays & ~zero).any(axis=1)]] = True
            self._know(self._graph.reaching((label >= 0) & earning[label]), np.inf)
            label = np.where(np.isnan(self._known), label, -1)
            self._rows &= ~stays
            self._know((label >= 0) & ~self._leaving(label), 0.0)
            return label
        label, stays = ChoiceGraph(self._mdp.transitions, zero).end_components(self._acting)
        if self._endless is None:
            self._know(label >= 0, 0.0)
            label = np.full_like(label, -1)
        else:
            self._rows &= ~stays
        self._know(~self._graph.almost_surely(self._known == 0.0), -np.inf)
        self._rows &= self._graph.inside(self._known != -np.inf)
        return label

    def _leaving(self, label: Ints) -> Bools:
        """[S] whether the component of a state has a row that leaves it."""
        leaving = np.zeros(len(label) + 1, dtype=np.bool_)
        leaving[label[self._rows.any(axis=1)]] = True
        found: Bools = leaving[label]
        return found

    def _know(self, states: Bools, value: float) -> None:
        """Decide the value of states that are not decided yet."""
        self._known[states & np.isnan(self._known)] = value

    def _divided(self, label: Ints) -> Quotient:
        """The quotient by components [S]; −1 for states that stand for themselves."""
        S, A = self._rewards.shape
        open_states = np.isnan(self._known)
        # Components and single states get numbers of their own, those of known states are not used.
        group = np.where(label >= 0, label, S + np.arange(S))
        numbers, member = np.unique(group[open_states], return_inverse=True)
        n = len(numbers)
        members = np.full(S, -1, dtype=np.int64)
        members[open_states] = member
        rows = np.flatnonzero((self._rows & open_states[:, None]).ravel())
        rows = rows[np.argsort(members[rows // A], kind="stable")]
        taken, owner = self._mdp.transitions[rows], members[rows // A]
        # A row that surely stays where it is leads nowhere: it costs something for ever, or it was left out before.
        of_entry = np.repeat(np.arange(len(rows)), np.diff(taken.indptr))
        moving = np.zeros(len(rows), dtype=np.bool_)
        moving[of_entry[members[taken.indices] != owner[of_entry]]] = True
        ends = np.zeros(len(rows), dtype=np.bool_)
        ends[of_entry[self._known[taken.indices] == 0.0]] = True
        inside = np.flatnonzero(open_states)
        onto = sparse.csr_array((np.ones(len(inside)), (inside, member)), shape=(S, n))
        matrix, owner = sparse.csr_array(taken[moving] @ onto), owner[moving]
        columns = matrix.tocsc()
        ending = _toward(columns.indptr, columns.indices, owner, ends[moving], n)
        first = np.searchsorted(owner, np.arange(n))
        return Quotient(self._known, members, owner, first, matrix, self._rewards.ravel()[rows[moving]], ending)


@njit(cache=True)
def _toward(first, rows, owner, ends, n):  # type: ignore[no-untyped-def]
    """[n] a row of each state that leads closer to the end with positive probability, by a search backward."""
    chosen = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    count = 0
    for row in range(len(owner)):
        if ends[row] and chosen[owner[row]] < 0:
            chosen[owner[row]] = row
            queue[count] = owner[row]
            count += 1
    done = 0
    while done < count:
        t = queue[done]
        done += 1
        for k in range(first[t], first[t + 1]):
            s = owner[rows[k]]
            if chosen[s] < 0:
                chosen[s] = rows[k]
                queue[count] = s
                count += 1
    return chosen
