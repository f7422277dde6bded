"""Telling: which steps tell the best tree from its rivals, and episodes that are chosen by their beginnings."""

import numpy as np
import pytest
from known_worlds import Cards, Corridor

from omdt.learning.episodes import Player
from omdt.learning.gathering import LOOKS, Gathering
from omdt.learning.modelling import Model
from omdt.learning.simulators import Simulator
from omdt.learning.telling import telling
from omdt.learning.wandering import Wandering
from omdt.task import Size
from omdt.tree import Nodes, TreePolicy

CARDS, CORRIDOR = Simulator("cards", Cards), Simulator("corridor", Corridor)


def stump(threshold: float, world: Simulator = CARDS, below: int = 0) -> TreePolicy:
    """One action up to a threshold, and the other one above it."""
    nodes = Nodes()
    root = nodes.split(0, threshold, False, None)
    nodes.leaf(below, (root, "left"))
    nodes.leaf(1 - below, (root, "right"))
    return nodes.tree(TreePolicy, world.feature_names, world.action_names)


def gathered(world: Simulator, player: Player, steps: int) -> Gathering:
    """Random steps."""
    gathering = Gathering(player, 100_000, seed=0)
    gathering.explore(stump(2, world), steps, Wandering(1.0))
    return gathering


def modelled(gathering: Gathering, world: Simulator = CARDS) -> Model:
    """The model of all steps."""
    steps, starts = gathering.steps, gathering.starts
    return Model.of(steps, starts, [stump(2, world)], Size(1), bins=12, discount=0.9, seed=0, name="world")


def test_only_where_the_trees_differ_is_a_step_worth_anything() -> None:
    with Player(CARDS) as player:
        model = modelled(gathered(CARDS, player, 3000))
    told = telling(model.grid, model.estimate, stump(2), [stump(2), stump(3)])
    assert told is not None
    starts = np.arange(6.0)[:, None]
    assert told.worth(starts).argmax() == 3, "the trees differ where the card is 3"
    assert told.policy(starts)[3] == model.estimate.visits[3].argmin(), "the action that was played less often"
    assert told.worth(np.array([[9.0]])).tolist() == [told.worth(starts)[5]], "it is in the last cell"


def test_where_all_rivals_play_alike_there_is_nothing_to_tell() -> None:
    with Player(CARDS) as player:
        model = modelled(gathered(CARDS, player, 500))
    assert telling(model.grid, model.estimate, stump(2), [stump(2), stump(2.5)]) is None


def test_the_telling_policy_walks_to_the_place_where_trees_differ() -> None:
    with Player(CORRIDOR) as player:
        gathering = gathered(CORRIDOR, player, 400)
        gathering.explore(lambda X: np.ones(len(X), int), 400)
        model = modelled(gathering, CORRIDOR)
    right = TreePolicy.leaf(1, CORRIDOR.feature_names, CORRIDOR.action_names)
    turning = stump(11, CORRIDOR, below=1)
    told = telling(model.grid, model.estimate, right, [turning])
    assert told is not None
    assert told.policy(np.arange(12.0)[:, None]).tolist() == [1] * 12


def test_episodes_that_are_worth_most_are_played_and_all_that_were_looked_at_count_as_starts() -> None:
    with Player(CARDS) as player:
        gathering = Gathering(player, 100_000, seed=0)
        gathering.explore(stump(2), 2000, worth=lambda X: X[:, 0])
        steps, starts, model = gathering.steps, gathering.starts, modelled(gathering)
    begun = steps.observations[steps.first, 0]
    assert len(starts) == LOOKS * len(begun)
    assert begun.mean() > 4.5
    assert starts.mean() == pytest.approx(2.5, abs=0.3)
    np.testing.assert_allclose(model.estimate.mdp.initial[:6], np.bincount(starts[:, 0].astype(int)) / len(starts))


def test_a_tree_plays_with_an_allowance_of_steps_none_of_which_is_kept() -> None:
    with Player(CARDS) as player:
        gathering = Gathering(player, 3000, seed=0)
        gathering.explore(stump(2), 100)
        before = player.steps
        returns = gathering.returns(stump(2), 1000)
        assert 1000 <= player.steps - before < 1100
        assert len(gathering.steps) == before
        assert len(gathering.returns(stump(2), 0)) == 1
        gathering.returns(stump(2), 10_000)
        assert 2000 < player.steps <= 3000
    assert returns.mean() == pytest.approx(10, abs=3), "nine of ten steps, which earn 1 each, are followed by another"


def test_looking_at_beginnings_takes_no_steps_and_shows_what_the_episodes_begin_with() -> None:
    with Player(CARDS) as player:
        starts = player.starts(range(150))
        assert (player.steps, player.episodes) == (0, 0)
        steps = player.play(stump(2), range(150), record=True).steps
    assert steps is not None
    np.testing.assert_array_equal(starts, steps.observations[steps.first])


def test_further_beginnings_count_as_starts_and_take_no_steps() -> None:
    with Player(CARDS) as player:
        gathering = gathered(CARDS, player, 100)
        taken, before = player.steps, len(gathering.starts)
        gathering.look(600)
        assert player.steps == taken
        assert len(gathering.starts) == before + 600
        initial = modelled(gathering).estimate.mdp.initial[:6]
    np.testing.assert_allclose(initial, np.full(6, 1 / 6), atol=0.05)


def test_drawn_models_spread_as_the_errors_of_frequencies_do() -> None:
    with Player(CARDS) as player:
        gathering = gathered(CARDS, player, 2000)
    model = modelled(gathering)
    rng = np.random.default_rng(0)
    drawn = [model.drawn(gathering.steps, gathering.starts, rng).estimate.mdp for _ in range(60)]
    ends = np.array([mdp.transitions[[0], [6]][0] for mdp in drawn])
    p, n = model.estimate.mdp.transitions[[0], [6]][0], model.estimate.visits[0, 0]
    assert ends.mean() == pytest.approx(p, abs=0.01)
    assert ends.std() == pytest.approx(np.sqrt(p * (1 - p) / n), rel=0.4)
    assert all(np.array_equal(mdp.rewards, model.estimate.mdp.rewards) for mdp in drawn), "these are certain"
