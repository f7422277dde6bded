"""Conflicts: one is found whenever given actions contain one that is kept, here or in the outer contexts."""

import numpy as np
import pytest

from omdt import check
from omdt.certificate import model_of
from omdt.methods.search.evidence.conflicts import ANY, Conflict, Conflicts
from random_mdps import game

N_STATES, N_ACTIONS = 9, 3


@pytest.fixture(scope="module")
def context() -> check.Context:
    mdp = game(np.random.default_rng(1))
    nowhere = np.zeros(mdp.rewards.shape, dtype=np.bool_)
    values, free = np.zeros(mdp.n_states), np.full(mdp.n_states, -1)
    return check.make_context(check.Problem(model_of(mdp)), values, free, nowhere, 0.0)


def drawn(rng: np.random.Generator, context: check.Context) -> Conflict:
    states = np.flatnonzero(rng.random(N_STATES) < 0.3)
    return Conflict(context, 0, states, rng.integers(N_ACTIONS, size=len(states)), b"")


def test_what_is_found_is_contained_and_nothing_is_overlooked(context: check.Context) -> None:
    rng = np.random.default_rng(0)
    outer, kept = Conflicts(None, 1000), list[Conflict]()
    inner = Conflicts(outer, 1000)
    found = inherited = nothing = anything = 0
    for i in range(400):
        given = rng.choice([ANY, -1, 0, 1, 2], size=N_STATES, p=[0.1, 0.3, 0.2, 0.2, 0.2])
        contained = [it for it in kept if np.all((given[it.states] == it.actions) | (given[it.states] == ANY))]
        conflict = inner.inside(given)
        assert (conflict is None) == (not contained)
        assert conflict is None or conflict in contained
        found += conflict is not None
        inherited += conflict is not None and outer.inside(given) is conflict
        nothing += conflict is None
        anything += any((given[it.states] == ANY).any() for it in contained)
        if i % 8 == 0:
            kept.append(drawn(rng, context))
            if len(kept[-1].states) < 2:
                # One that nearly everything contains would leave nothing to find.
                kept.pop()
            else:
                (outer if i % 16 == 0 else inner).add(kept[-1])
    assert min(found, inherited, nothing, anything) > 20


def test_the_newer_half_stays_when_there_are_too_many(context: check.Context) -> None:
    conflicts = Conflicts(None, 4)
    kept = [Conflict(context, 0, np.array([s]), np.array([0]), b"") for s in range(6)]
    for it in kept:
        conflicts.add(it)
    alone = [np.where(np.arange(N_STATES) == s, 0, -1) for s in range(6)]
    assert [conflicts.inside(given) for given in alone] == [None, None, *kept[2:]]


def test_what_was_written_is_not_kept(context: check.Context) -> None:
    conflict = Conflict(context, 0, np.array([0]), np.array([1]), b"1234")
    conflict.written(5)
    assert (conflict.number, conflict.vector) == (5, b"")
