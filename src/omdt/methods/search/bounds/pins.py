"""Pins: actions of single states that are decided before the leaves they will belong to.

Where no state is visited twice, every leaf can be avoided, and tables tell nothing. There the action of a single state
may be *pinned*, that of the start first: a case per action. From there on some states are visited for sure, few
actions remain within the budget in them, and many states are visited by no policy within it at all. Pins pay for small
budgets, those of raised targets.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from omdt.mdp import EPSILON, Bools, Floats, Ints
from omdt.methods.search.bounds.losses import FINITE
from omdt.methods.search.model import Model

SAFE_PRODUCT = 1 - 1e-9
"""Factor by which a product of probabilities is lowered, so that rounding cannot make it too large."""


class Followed(NamedTuple):
    """Where policies go that take given actions and lose no more than a budget.

    Attributes:
        actions: [S] the given actions, and those that are the only one left in a state that is visited for sure.
        entered: [S] the discounted first-hit frequency of states without an action.
        seen: [S] which states are visited at all.
    """

    actions: Ints
    entered: Floats
    seen: Bools


def followed(model: Model, delta: Floats, budget: float, actions: Ints) -> Followed:
    """Where policies go; only where no state can be visited twice.

    Args:
        model: the model.
        delta: [S, A] losses of actions.
        budget: what policies lose at most.
        actions: [S] the given actions, −1 where none is given.
    """
    completed = actions.copy()
    entered, seen = _followed(model.arrays, model.topological, delta, budget, completed)
    return Followed(completed, entered, seen)


def may_pin(model: Model) -> bool:
    """Whether single states may be pinned."""
    # What is not decided where pinned policies never go may be filled in with actions that are not allowed.
    return model.acyclic and model.task.allowed is None


def first_state(model: Model, actions: Ints) -> int | None:
    """The state in which everything begins; None if there are several, or if its action is decided."""
    starts = np.flatnonzero(model.mdp.initial)
    return int(starts[0]) if len(starts) == 1 and actions[starts[0]] < 0 else None


def pins_tell(model: Model, delta: Floats, budget: float, start: int) -> bool:
    """Whether every first action leads to a state that is visited for sure and has an action beyond the budget.

    Args:
        model: the model.
        delta: [S, A] losses of actions.
        budget: what policies lose at most.
        start: the first state.
    """
    for action in np.flatnonzero(delta[start] <= budget):
        actions = np.full(len(delta), -1)
        actions[start] = action
        rest = budget - delta[start, action]
        found = followed(model, delta, rest, actions)
        beyond = SAFE_PRODUCT * found.entered[:, None] * np.minimum(delta, FINITE) > rest
        if not beyond.any() and np.array_equal(found.actions, actions):
            return False
    return True


def state_to_pin(entered: Floats, actions: Ints, within: Bools, part: float) -> int | None:
    """The state without an action that is visited for sure and has fewest actions within the budget.

    Args:
        entered: [S] first-hit frequencies.
        actions: [S] the actions that are decided, −1 elsewhere.
        within: [S, A] the actions within the budget.
        part: None is returned if more than this part of the state's actions is within the budget.
    """
    A = within.shape[1]
    survivors = np.where((entered > 0) & (actions < 0), within.sum(axis=1), A + 1)
    state = int(np.lexsort((-entered, survivors))[0])
    return None if survivors[state] > part * A else state


@njit(cache=True)
def _followed(arrays, order, delta, budget, actions):  # type: ignore[no-untyped-def]
    """The fields `entered` and `seen` of `Followed`; `actions` is completed.

    A policy that visits a state at all does so at least as often as the least likely way there has it, and not all
    actions can be afforded that often.
    """
    indptr, indices, data, discount = arrays.indptr, arrays.indices, arrays.probabilities, arrays.discount
    S, A = delta.shape
    least, entered = np.full(S, np.inf), arrays.initial.copy()
    least[arrays.initial > 0.0] = arrays.initial[arrays.initial > 0.0]
    for s in order:
        if least[s] == np.inf:
            continue
        if actions[s] < 0 and entered[s] > 0.0:
            left = 0
            for a in range(A):
                if SAFE_PRODUCT * entered[s] * delta[s, a] <= budget:
                    left += 1
                    last = a
            if left == 1:
                actions[s] = last
        for a in range(A):
            if SAFE_PRODUCT * least[s] * delta[s, a] > budget or (actions[s] >= 0 and a != actions[s]):
                continue
            stay = 0.0
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                if indices[k] == s:
                    stay += data[k]
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                t = indices[k]
                if t != s and data[k] > 0.0:
                    least[t] = min(least[t], discount * data[k] * least[s])
                    if actions[s] >= 0:
                        entered[t] += discount * data[k] * entered[s] / (1 - discount * stay + 4 * EPSILON)
        if actions[s] >= 0:
            entered[s] = 0.0
    return entered, least < np.inf
