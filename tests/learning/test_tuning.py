"""Tuning: better trees within size and budget, never worse ones on the last contest's seeds; and the moves it draws."""

import numpy as np
import pytest
from small_worlds import ShortWalk

from omdt.learning.episodes import Played, Player
from omdt.learning.moves import Mover
from omdt.learning.simulators import simulator
from omdt.learning.tuning import LEAST_FINAL, _Tuning, tuned
from omdt.task import Size
from omdt.tree import TreePolicy
from omdt.watch import OutOfTimeError, Watch

LINE = simulator(ShortWalk)
LEFT, RIGHT = {"action": "action_0"}, {"action": "action_1"}
FRESH = range(2_000_000_000, 2_000_000_200)


def tree_of(nested: object) -> TreePolicy:
    return TreePolicy.from_dict(nested, LINE.feature_names, LINE.action_names)


class Remembering(Player):
    """A player that knows which trees have played which seeds."""

    def __init__(self) -> None:
        super().__init__(LINE)
        self.plays: list[tuple[TreePolicy, list[int]]] = []

    def play(self, policy, seeds, **options) -> Played:
        self.plays.append((policy, list(seeds)))
        return super().play(policy, seeds, **options)


def test_a_bad_threshold_becomes_a_good_one() -> None:
    hesitant = tree_of({"feature": "x0", "threshold": 5.5, "left": RIGHT, "right": LEFT})
    with Player(LINE) as player:
        found = tuned(hesitant, player, 12_000, size=Size(1), seed=0)
        returns = [player.play(tree, FRESH).returns.mean() for tree in (hesitant, found, tree_of(RIGHT))]
    assert returns[0] < -30
    # To go right is the best policy there is.
    assert returns[1] == pytest.approx(returns[2])


@pytest.mark.parametrize("later", [LEFT, RIGHT, {"feature": "x0", "threshold": 3.5, "left": LEFT, "right": RIGHT}])
def test_the_returned_tree_is_not_worse_than_the_first_on_the_seeds_of_the_last_contest(later: object) -> None:
    first = tree_of({"feature": "x0", "threshold": 2.5, "left": LEFT, "right": RIGHT})
    with Remembering() as player:
        tuning = _Tuning(first, player, 20_000, Size(1), seed=0)
        tuning.champions.append(tree_of(later))
        found = tuning.winner()
        seeds = [seed for tree, seeds in player.plays if tree is first for seed in seeds]
        assert len(seeds) >= LEAST_FINAL
        means = {tree: float(player.play(tree, seeds).returns.mean()) for tree in tuning.champions}
    assert means[found] >= means[first]
    assert (found is first) == (later != RIGHT)


@pytest.mark.parametrize("budget", [0, 900, 8_000])
def test_the_budget_is_kept(budget: int) -> None:
    with Player(LINE) as player:
        player.play(tree_of(RIGHT), range(3))
        before = player.steps
        found = tuned(tree_of(LEFT), player, budget, size=Size(1), seed=0)
        assert player.steps - before <= budget
    if budget < 1000:
        assert found == tree_of(LEFT)


def test_the_same_seed_gives_the_same_tree_and_sizes_are_kept() -> None:
    found = []
    for size, seed in ((Size(2), 1), (Size(2), 1), (Size(None, 3), 1)):
        with Player(LINE) as player:
            found.append(tuned(tree_of(LEFT), player, 8_000, size=size, seed=seed))
    assert found[0].to_dict() == found[1].to_dict()
    assert found[0].depth <= 2
    assert found[2].n_leaves <= 3


def test_when_time_runs_out_the_champion_so_far_is_returned() -> None:
    watch = Watch(60)
    with Player(LINE, watch=watch) as player:
        watch.interrupt()
        with pytest.raises(OutOfTimeError):
            player.play(tree_of(LEFT), [0])
        assert tuned(tree_of(LEFT), player, 8_000, size=Size(1), seed=0) == tree_of(LEFT)


def test_neighbours_keep_the_size_act_otherwise_and_have_readable_thresholds() -> None:
    draws = np.random.default_rng(0)
    X = np.stack([draws.normal(size=500), draws.integers(0, 9, size=500)], axis=1)
    start = TreePolicy.from_dict(
        {"feature": "x", "threshold": 0.123456789, "left": {"action": "a"}, "right": {"action": "b"}},
        ("x", "n"),
        ("a", "b", "c"),
    )
    for size in (Size(2), Size(None, 3)):
        mover = Mover(draws, size, X, (False, True))
        neighbours = [mover.neighbour(start) for _ in range(200)]
        assert all((tree.actions(X) != start.actions(X)).any() for tree in neighbours)
        assert max(tree.depth for tree in neighbours) == 2
        assert max(tree.n_leaves for tree in neighbours) == (4 if size.max_leaf_nodes is None else 3)
        assert {action for tree in neighbours for action in tree.actions(X)} == {0, 1, 2}
        asked = [(j, t) for tree in neighbours for j, t in zip(tree.feature, tree.threshold, strict=True) if j >= 0]
        assert {t % 1 for j, t in asked if j == 1} == {0.5}
        digits = [len(f"{t}".lstrip("-0.").replace(".", "")) for j, t in asked if j == 0 and t != 0.123456789]
        assert np.mean(digits) < 3
        assert max(digits) <= 5


def test_a_single_action_has_neighbours_that_do_the_same() -> None:
    mover = Mover(np.random.default_rng(0), Size(1), np.arange(4.0)[:, None], (False,))
    assert (mover.neighbour(TreePolicy.leaf(0, ("x",), ("only",))).actions([[0.0], [3.0]]) == 0).all()
