"""An interval MDP refuses what is no interval, names where, and keeps both ends on one pattern."""

import numpy as np
import pytest
from interval_cases import random_intervals

import omdt
from omdt.errors import InputError
from omdt.robust.interval_mdp import IntervalMDP

LOWER, UPPER = [[0.2, 0.5], [0.0, 1.0]], [[0.5, 0.8], [0.0, 1.0]]


def made(lower=LOWER, upper=UPPER, first=([1, 0], [1, 0]), **rest):
    return IntervalMDP(lower, upper, [[1.0], [0.0]], *first, [[0], [1]], **{"discount": 0.9, **rest})


def test_both_ends_are_stored_on_one_pattern():
    problem = made([[0.0, 0.5], [0.0, 1.0]])
    assert problem.lower.nnz == problem.upper.nnz == 3
    assert np.array_equal(problem.lower.indices, problem.upper.indices)
    assert problem.lower.toarray().tolist() == [[0.0, 0.5], [0.0, 1.0]]
    assert problem.upper.toarray().tolist() == UPPER
    assert not problem.lower.data.flags.writeable
    assert repr(problem) == ("<IntervalMDP 'interval MDP': 2 states, 1 action, 1 feature, 3 transitions, discount 0.9>")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lower": [[0.6, 0.5], [0.0, 1.0]]}, "moving from state 0, action 0 .'action_0'. to state 0 is between 0.6"),
        ({"lower": [[0.2, 0.5], [0.1, 0.9]]}, "state 1, action 0 .'action_0'. to state 0 is between 0.1 and 0"),
        ({"upper": [[0.5, 1.2], [0.0, 1.0]]}, "between 0.5 and 1.2"),
        ({"lower": [[-0.1, 0.5], [0.0, 1.0]]}, "between -0.1 and 0.5"),
        ({"lower": [[0.5, 0.6], [0.0, 1.0]]}, "the probabilities of state 0, action 0 .* sum to at least 1.1"),
        ({"upper": [[0.3, 0.6], [0.0, 1.0]]}, "the probabilities of state 0, action 0 .* sum to at most 0.9"),
        ({"first": ([1, 0], [1, 2])}, "the probability of starting in state 1 is between 0.0 and 2.0"),
        ({"first": ([0, 0], [0.4, 0.5])}, "the initial probabilities sum to at most 0.9"),
        ({"first": ([1], [1])}, "initial_lower must have shape .2., one probability per state"),
        ({"discount": 1.0}, "needs a discount below 1"),
    ],
)
def test_what_is_no_interval_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        made(**change)


def test_ends_that_miss_a_distribution_by_rounding_are_scaled():
    third = 1 / 3 + 1e-11
    problem = made([[third * 2, third], [0.0, 1.0]], [[third * 2, third], [0.0, 1.0]])
    assert problem.lower.toarray()[0].sum() == pytest.approx(1, abs=1e-15)
    assert problem.upper.toarray()[0].sum() == pytest.approx(1, abs=1e-10)


def test_an_interval_mdp_around_an_mdp():
    mdp = omdt.make("frozenlake_4x4")
    problem = omdt.IntervalMDP.around(mdp, 0.1)
    assert np.array_equal(problem.upper.indices, mdp.transitions.indices)
    assert np.allclose(problem.lower.data, np.maximum(mdp.transitions.data - 0.1, 0))
    assert np.allclose(problem.upper.data, np.minimum(mdp.transitions.data + 0.1, 1))
    assert (problem.name, problem.action_names) == (mdp.name, mdp.action_names)
    with pytest.raises(InputError, match="the radius is 2; it must be between 0 and 1"):
        omdt.IntervalMDP.around(mdp, 2)


def test_states_that_no_nature_reaches_are_known():
    assert made().reached.tolist() == [True, True]
    assert made([[1, 0], [0, 1]], [[1, 0], [0, 1]]).reached.tolist() == [True, False]
    assert made([[1, 0], [0, 1]], [[1, 0], [0, 1]], ([0, 0], [1, 0.1])).reached.tolist() == [True, True]


def test_the_mdp_of_one_nature():
    problem = random_intervals(3)
    p = problem.upper.data - 0.0
    rows = np.repeat(np.arange(10), np.diff(problem.upper.indptr))
    p /= np.bincount(rows, p)[rows]
    mdp = problem.mdp_of(p, np.full(5, 0.2))
    assert np.allclose(mdp.transitions.toarray()[rows, problem.upper.indices], p)
    assert mdp.initial.tolist() == [0.2] * 5
