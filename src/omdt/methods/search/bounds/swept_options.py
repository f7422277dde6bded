"""Options by sweeps over the states, from a vector above V̄.

If V ≥ V̄, then T V ≥ V̄: from the parent's vector every sweep gives a bound for the child. Where no state can be visited
twice, one sweep in reverse topological order gives V̄ itself.

**Rounding.** In a sweep every state adds at most e = (n + 8) ε max(|r|, |V|, |W|) / (1 − γ) to the errors of its
successors, which are discounted, so however many sweeps there are, all together add at most e / (1 − γ).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from omdt.mdp import EPSILON, Floats, Ints
from omdt.methods.search.bounds.option_values import OptionValue, product_from_above
from omdt.methods.search.boxes import Boxes
from omdt.methods.search.model import Model
from omdt.methods.search.sweeps import forward, staying
from omdt.watch import Watch

SWEPT_AT_ONCE = 5_000_000
"""Transitions that are looked at between two looks at the clock: some hundredths of a second."""


class Links(NamedTuple):
    """Where states, boxes and transitions meet.

    Pairs of a state and a box around it are numbered by states.

    Attributes:
        first: [S + 1] the first pair of every state.
        place: [pairs + 1] where the transitions of a pair begin in `successors`.
        successors: per transition of the state, action by action, the pair of the successor and the same box, or
            −1 − t if the transition leaves the box for t.
    """

    first: Ints
    place: Ints
    successors: Ints


class SweptOptions:
    """Sweeps over the states; in reverse topological order one is enough.

    Args:
        model: the model.
        boxes: the boxes.
        order: [S] states, each after most of its successors.
        acyclic: whether after all of them.
    """

    def __init__(self, model: Model, boxes: Boxes, order: Ints, *, acyclic: bool) -> None:
        self.model, self.mdp, self.boxes, self.order, self.acyclic = model, model.mdp, boxes, order, acyclic
        P = model.mdp.transitions
        longest = int(np.diff(P.indptr).max())
        self._unit = (longest + 8) * EPSILON / model.norms.contraction**2
        self._transitions_of = np.diff(P.indptr[:: model.mdp.n_actions])
        self._leave = 1 - model.mdp.discount * staying(model.mdp)
        self._largest_reward = float(np.abs(model.mdp.rewards).max())

    def price(self, active: Ints) -> float:
        """As in `OptionSolver`."""
        transitions = float(self._transitions_of[np.concatenate([self.boxes.states[b] for b in active])].sum())
        return np.inf if transitions > self.model.settings.max_box_transitions else transitions

    def value(self, leaf_action: Ints, active: Ints, start: Floats, target: float, watch: Watch) -> OptionValue:
        """As in `OptionSolver`."""
        arrays, settings = self.model.arrays, self.model.settings
        boxes = [self.boxes.states[b] for b in active]
        starts = np.concatenate([[0], np.cumsum([len(box) for box in boxes])])
        members = np.concatenate(boxes) if boxes else np.zeros(0, dtype=np.int64)
        links = Links(*_linked(arrays, starts, members))
        V, action = start.copy(), leaf_action.copy()
        W = np.full((len(members), self.mdp.n_actions), np.inf)
        largest = max(self._largest_reward, _largest(start))
        bound, left = np.inf, 1 if self.acyclic else settings.option_sweeps
        at_once = max(1, SWEPT_AT_ONCE // max(1, len(links.successors)))
        while left > 0:
            watch.check()
            sweeps = min(at_once, left)
            settled = _sweep_options(
                arrays,
                self._leave,
                self.order,
                leaf_action,
                links,
                V,
                W,
                action,
                sweeps,
                target,
                settings.settled_sweep,
            )
            vector = np.minimum(V + self._unit * max(largest, _largest(V), _largest(W)), start)
            bound = product_from_above(self.mdp.initial, vector)
            left = 0 if bound <= target or settled else left - sweeps
        if bound <= target:
            return OptionValue(bound, vector, np.zeros(0))
        sweeps = 1 if self.acyclic else settings.visit_sweeps
        return OptionValue(bound, vector, forward(arrays, self.order[::-1], action, sweeps))


def _largest(values: Floats) -> float:
    """The largest absolute value."""
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


@njit(cache=True)
def _linked(arrays, starts, members):  # type: ignore[no-untyped-def]
    """The fields of `Links` for boxes whose states are members[starts[b] : starts[b + 1]]."""
    indptr, indices = arrays.indptr, arrays.indices
    S, A = arrays.rewards.shape
    first = np.zeros(S + 1, dtype=np.int64)
    for s in members:
        first[s + 1] += 1
    for s in range(S):
        first[s + 1] += first[s]
    place = np.zeros(len(members) + 1, dtype=np.int64)
    for s in range(S):
        for i in range(first[s], first[s + 1]):
            place[i + 1] = place[i] + indptr[(s + 1) * A] - indptr[s * A]
    successors = np.empty(place[-1], dtype=np.int32)
    filled = first.copy()
    pair = np.full(S, -1, dtype=np.int32)
    for b in range(len(starts) - 1):
        for i in range(starts[b], starts[b + 1]):
            s = members[i]
            pair[s] = filled[s]
            filled[s] += 1
        for i in range(starts[b], starts[b + 1]):
            s = members[i]
            at = place[pair[s]]
            for k in range(indptr[s * A], indptr[(s + 1) * A]):
                t = indices[k]
                successors[at] = pair[t] if pair[t] >= 0 else -1 - t
                at += 1
        for i in range(starts[b], starts[b + 1]):
            pair[members[i]] = -1
    return first, place, successors


@njit(cache=True)
def _sweep_options(  # type: ignore[no-untyped-def]
    arrays, leave, order, leaf_action, links, V, W, action, sweeps, target, settled
):
    """Lower V [S] and W [pairs, A], both above the truth, to what their successors allow; return whether they settled.

    They end early when p0·V is below the target, up to rounding, or when one of them takes it less than a part
    `settled` of the way there; more of them would not help then. Where W is not known yet, it is infinite, and V counts
    instead.
    """
    indptr, indices, discounted, rewards = arrays.indptr, arrays.indices, arrays.discounted, arrays.rewards
    A = rewards.shape[1]
    before = np.inf
    for _ in range(sweeps):
        for s in order:
            start = indptr[s * A]
            if leaf_action[s] >= 0:
                a = leaf_action[s]
                ahead = rewards[s, a]
                for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                    if indices[k] != s:
                        ahead += discounted[k] * V[indices[k]]
                V[s] = min(V[s], ahead / leave[s, a])
                continue
            best = -np.inf
            for i in range(links.first[s], links.first[s + 1]):
                for a in range(A):
                    ahead = rewards[s, a]
                    for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                        pair = links.successors[links.place[i] + k - start]
                        if pair < 0:
                            ahead += discounted[k] * V[-1 - pair]
                        elif pair != i:
                            ahead += discounted[k] * min(W[pair, a], V[indices[k]])
                    W[i, a] = min(W[i, a], ahead / leave[s, a])
                    if W[i, a] > best:
                        best = W[i, a]
                        action[s] = a
            V[s] = min(V[s], best)
        value = 0.0
        for s in order:
            value += arrays.initial[s] * V[s]
        if before - value <= settled * (value - target):
            return True
        if value <= target:
            return False
        before = value
    return False
