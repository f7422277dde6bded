"""Exploring: random trees of every allowed size, and the way to what the model does not know."""

import numpy as np
import pytest
from known_worlds import Corridor, Matching

from omdt.learning.episodes import Player
from omdt.learning.estimating import estimate
from omdt.learning.exploring import KNOWN, curious, random_tree
from omdt.learning.gathering import SEEDS, Gathering
from omdt.learning.grid import Grid
from omdt.learning.simulators import Simulator
from omdt.learning.wandering import Wandering
from omdt.task import Size
from omdt.tree import LEAF, TreePolicy

NAMES, ACTIONS = ("x", "y"), ("a", "b", "c")
CORRIDOR, MATCHING = Simulator("corridor", Corridor), Simulator("matching", Matching)


@pytest.mark.parametrize("size", [Size(0), Size(1), Size(3), Size(3, 5), Size(None, 4), Size(9, 3)])
def test_random_trees_have_every_size_that_is_allowed_and_no_other(size: Size) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    trees = [random_tree(rng, X, size, NAMES, ACTIONS) for _ in range(300)]
    most = min(2**size.max_depth if size.max_depth is not None else 99, size.max_leaf_nodes or 99)
    assert {tree.n_leaves for tree in trees} == set(range(min(2, most), most + 1))
    assert all(size.max_depth is None or tree.depth <= size.max_depth for tree in trees)
    assert {int(a) for tree in trees for a in tree.action[tree.feature == LEAF]} == {0, 1, 2}


def test_the_two_leaves_of_a_question_differ_and_the_question_divides_what_was_observed() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    for _ in range(100):
        tree = random_tree(rng, X, Size(1), NAMES, ACTIONS)
        assert len(np.unique(tree.actions(X))) == 2


def test_the_curious_policy_walks_straight_to_what_was_never_tried() -> None:
    with Player(CORRIDOR) as player:
        steps = player.play(TreePolicy.leaf(0, ("x0",), ("action_0", "action_1")), [0], record=True).steps
        further = player.play(lambda X: (X[:, 0] < 8).astype(int), range(6), record=True).steps
    assert steps is not None
    assert further is not None
    seen = type(steps).joined([steps, further])
    grid = Grid.of(seen.observations, 12)
    found = estimate(seen, grid.grouping(seen), 0.99, "corridor")
    lazy = TreePolicy.leaf(0, seen.feature_names, seen.action_names)
    policy = curious(grid, found, lazy)
    assert found.visits[:8, 1].min() >= KNOWN
    assert policy(np.arange(9.0)[:, None]).tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert policy(np.array([[15.0]])).tolist() == [1]


def test_where_all_is_known_the_least_tried_action_comes_first_and_elsewhere_the_tree_decides() -> None:
    with Player(MATCHING) as player:
        steps = player.play(
            TreePolicy.leaf(0, ("x0", "x1"), ("n", "y")), range(30), wandering=Wandering(0.3), record=True
        )
    assert steps.steps is not None
    grid = Grid.of(steps.steps.observations, 2)
    found = estimate(steps.steps, grid.grouping(steps.steps), 0.99, "matching")
    assert found.visits.min() >= KNOWN
    policy = curious(grid, found, TreePolicy.leaf(0, ("x0", "x1"), ("n", "y")))
    np.testing.assert_array_equal(policy(found.mdp.features[:4]), found.visits.argmin(axis=1))


def test_gathering_keeps_every_step_and_never_exceeds_its_limit() -> None:
    with Player(MATCHING) as player:
        gathering = Gathering(player, 1005, seed=3)
        idle = TreePolicy.leaf(0, ("x0", "x1"), ("n", "y"))
        gathering.explore(idle, 333, Wandering(1.0))
        assert 333 <= player.steps < 333 + 10
        gathering.explore(idle, 10_000)
        assert player.steps == len(gathering.steps) == 990
        assert player.episodes == 99
        assert gathering.affords(1)
        assert not gathering.affords(2)
        assert gathering.seeds(1000).max() < SEEDS
