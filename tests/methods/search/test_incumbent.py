"""The incumbent: what counts as better, and what is reported."""

import numpy as np
import pytest

from omdt import MDP, planning
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.partial_tree import Leaf
from omdt.rules import AvailableOnly
from omdt.watch import Watch
from search_parts import model_of
from strategies import environment


def test_without_a_tree_every_return_is_an_improvement() -> None:
    incumbent = Incumbent(model_of(environment("frozenlake_4x4")), 1e-4, Watch())
    assert incumbent.tree is None
    assert incumbent.value == incumbent.target == -np.inf
    assert not incumbent.optimal_reached
    incumbent.report()
    assert incumbent.watch.trace == []


@pytest.mark.parametrize("reward", [0.0, -3.0, 1e-9, 1e9])
def test_where_trees_are_forbidden_the_value_begins_below_every_return(reward: float) -> None:
    P = np.full((2, 2, 2), 0.5)
    available = [[True, False], [True, True]]
    mdp = MDP.from_dense(P, np.full((2, 2), reward), [1, 0], [[0], [1]], discount=0.5, available=available)
    incumbent = Incumbent(model_of(mdp, rules=[AvailableOnly()]), 1e-4, Watch())
    returned = planning.policy_return(mdp, np.zeros(2, dtype=np.int64)).value
    assert np.isfinite(incumbent.value)
    assert incumbent.value + incumbent.noise < returned
    assert incumbent.target == incumbent.value
    assert not incumbent.optimal_reached


def test_the_target_leaves_the_gap_open() -> None:
    model = model_of(environment("frozenlake_4x4"))
    incumbent = Incumbent(model, 0.1, Watch())
    incumbent.improve(Leaf(1), 0.3)
    assert 0.3 < incumbent.target < 0.33
    assert incumbent.target == pytest.approx(0.33, abs=1e-3)
    assert not incumbent.optimal_reached
    incumbent.improve(Leaf(2), model.optimal_return.value)
    assert incumbent.optimal_reached
    assert incumbent.tree == Leaf(2)


def test_reports_have_the_value_and_a_bound_that_is_never_below_it() -> None:
    model = model_of(environment("frozenlake_4x4"))
    incumbent = Incumbent(model, 1e-4, Watch())
    incumbent.improve(Leaf(1), 0.25)
    incumbent.report()
    incumbent.lower(0.3)
    incumbent.report()
    incumbent.lower(0.35)
    assert incumbent.bound == 0.3
    incumbent.lower(0.2)
    incumbent.report()
    assert [point[1:] for point in incumbent.watch.trace] == [
        (0.25, model.optimal_return.upper),
        (0.25, 0.3),
        (0.25, 0.25),
    ]


def test_noise_is_rounding_at_the_scale_of_the_returns() -> None:
    for factor in (1e-6, 1.0, 1e6):
        P = np.full((2, 2, 2), 0.5)
        mdp = MDP.from_dense(P, factor * np.array([[1.0, 0], [0, 1]]), [1, 0], [[0], [1]], discount=0.9)
        incumbent = Incumbent(model_of(mdp), 1e-4, Watch())
        assert incumbent.noise == pytest.approx(planning.ROUNDING * 10 * factor)
