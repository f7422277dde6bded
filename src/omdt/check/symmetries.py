"""Symmetries: other names for states and actions that leave a problem as it is."""

from dataclasses import dataclass

import numpy as np

from .cases import Problem
from .claimed import Size
from .questions import division
from .reading import Ints, require


@dataclass(frozen=True, eq=False)
class Renaming:
    """Other names for states [S] and actions [A] under which problem and questions stay as they are."""

    states: Ints
    actions: Ints


def slack_of(problem: Problem, size: Size, renaming: Renaming, pins: int = 0) -> float:
    """How much more a tree may return than the one that symmetries turn it into; raises if this is no symmetry.

    A tree may be renamed once for every way to continue at each of its nodes, once for every action of each of its
    pins, and anew whenever two leaves that act alike become one.
    """
    g, h, decisive, m, S, A = renaming.states, renaming.actions, problem.decisive, problem.model, problem.S, problem.A
    permutes = np.array_equal(np.sort(g), np.arange(S)) and np.array_equal(np.sort(h), np.arange(A))
    require(permutes, "a symmetry is no permutation")
    kept = np.array_equal(decisive[g], decisive)
    require(kept, "a symmetry takes a state where actions do not differ to one where they do")
    known = {division(side[decisive]) for side in problem.sides.T}
    for k, side in enumerate(problem.sides[np.argsort(g)].T):
        require(division(side[decisive]) in known, f"a symmetry does not turn question {k} into a question")
    rows, data = np.repeat(np.arange(S * A), np.diff(m.indptr)), problem.numbers(m.data)
    renamed = (g[rows // A] * A + h[rows % A]) * S + g[m.indices]
    keys, entries = np.unique(np.concatenate([renamed, rows * S + m.indices]), return_inverse=True)
    differences, transitions = problem.numbers(np.zeros(len(keys))), problem.numbers(np.zeros(S * A))
    np.add.at(differences, entries, np.concatenate([data, -data]))
    np.add.at(transitions, keys // S, abs(differences))
    rewards = abs(problem.rewards[np.ix_(g, h)] - problem.rewards)
    start = abs(problem.initial[g] - problem.initial).sum()
    off = problem.error_of(rewards.max() + problem.discount * transitions.max() * problem.largest_return)
    steps = size.leaves * (2 * size.leaves * (A + problem.sides.shape[1]) + pins * A)
    slack: float = (off + start * problem.largest_return) * problem.mass * steps
    return slack * (1 + problem.rounding(8, 1.0))
