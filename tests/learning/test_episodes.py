"""Episodes: the same as a plain loop over the environment plays, in any number of processes, with the same luck."""

import gymnasium
import numpy as np
import pytest
from small_worlds import Motley, Uncopied, Walk

from omdt.errors import InputError
from omdt.learning.deciding import Decider
from omdt.learning.episodes import Player
from omdt.learning.simulators import simulator
from omdt.learning.wandering import Wandering
from omdt.mdp import Floats, Ints
from omdt.tree import TreePolicy
from omdt.watch import OutOfTimeError, Watch

CART = ("position", "velocity", "angle", "angular velocity"), ("push left", "push right")
LEFT, RIGHT = {"action": "push left"}, {"action": "push right"}
BALANCE = {"feature": "angular velocity", "threshold": 0.05, "left": LEFT, "right": RIGHT}


def always_right(observations: Floats) -> Ints:
    return np.ones(len(observations), dtype=np.int64)


def by_hand(env: gymnasium.Env, tree: TreePolicy, seed: int) -> float:
    """The return of one episode, played as Gymnasium's documentation shows it."""
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(int(tree.predict(observation)[0]))
        total += float(reward)
        over = terminated or truncated
    return total


def test_returns_are_those_of_a_plain_loop_over_the_environment() -> None:
    tree = TreePolicy.from_dict(BALANCE, *CART)
    seeds = [3, 99, 4, 7]
    with Player(simulator("gym:CartPole-v1")) as player:
        played = player.play(tree, seeds)
        assert player.steps == played.lengths.sum()
    env = gymnasium.make("CartPole-v1")
    assert played.returns.tolist() == [by_hand(env, tree, seed) for seed in seeds]
    assert played.returns.tolist() == played.lengths.tolist()
    assert played.steps is None


def test_an_episode_depends_on_its_seed_alone() -> None:
    with Player(simulator(Walk)) as player, Player(simulator(Uncopied())) as single:
        played = player.play(always_right, range(70), record=True, wandering=Wandering(0.3))
        some = player.play(always_right, [64, 5], record=True, wandering=Wandering(0.3))
        one_by_one = single.play(always_right, range(70), wandering=Wandering(0.3))
    assert played.returns[[64, 5]].tolist() == some.returns.tolist()
    assert played.returns.tolist() == one_by_one.returns.tolist()
    assert played.steps is not None
    assert some.steps is not None
    np.testing.assert_array_equal(
        played.steps.actions[played.steps.episodes == 5], some.steps.actions[some.steps.episodes == 1]
    )


def test_processes_play_the_same_episodes() -> None:
    with Player(simulator(Walk)) as here, Player(simulator(Walk), processes=2) as there:
        for wandering in (None, Wandering(0.5, 3)):
            one = here.play(always_right, range(9), record=True, wandering=wandering)
            two = there.play(always_right, range(9), record=True, wandering=wandering)
            assert one.returns.tolist() == two.returns.tolist()
            assert one.steps is not None
            assert two.steps is not None
            for column in ("observations", "actions", "rewards", "next_observations", "terminated", "episodes"):
                np.testing.assert_array_equal(getattr(one.steps, column), getattr(two.steps, column))
        assert here.steps == there.steps


def test_recorded_steps_tell_the_episodes() -> None:
    with Player(simulator(Walk)) as player:
        played = player.play(always_right, range(100), record=True)
    steps = played.steps
    assert steps is not None
    assert np.bincount(steps.episodes).tolist() == played.lengths.tolist()
    np.testing.assert_allclose(np.bincount(steps.episodes, steps.rewards), played.returns)
    within = ~steps.first[1:]
    np.testing.assert_array_equal(steps.next_observations[:-1][within], steps.observations[1:][within])
    assert set(steps.observations[steps.first].ravel()) == {2, 3, 4, 5, 6}
    assert (steps.terminated == (steps.next_observations[:, 0] == 9)).all()
    slipped = (steps.next_observations < steps.observations).mean()
    assert slipped == pytest.approx(0.2, abs=0.04)


def test_an_episode_without_end_is_cut_and_did_not_terminate() -> None:
    with Player(simulator(Motley)) as player:
        played = player.play(always_right, [0], record=True)
    assert played.returns.tolist() == [1000.0]
    assert played.steps is not None
    assert not played.steps.terminated.any()


def test_a_decider_decides_like_its_tree() -> None:
    draws = np.random.default_rng(0)
    X = draws.integers(0, 4, size=(200, 4)) / 2
    tree = TreePolicy.from_dict(
        {
            "feature": "position",
            "equals": 1.0,
            "left": LEFT,
            "right": {"feature": "angle", "threshold": 0.5, "left": BALANCE, "right": LEFT},
        },
        *CART,
    )
    np.testing.assert_array_equal(Decider(tree)(X), tree.actions(X))
    assert set(Decider(tree)(X)) == {0, 1}


def test_the_time_limit_ends_a_play() -> None:
    watch = Watch(60)
    with Player(simulator(Motley), watch=watch) as player:
        watch.interrupt()
        with pytest.raises(OutOfTimeError):
            player.play(always_right, [0])
    with Player(simulator(Motley), processes=2, watch=watch) as player, pytest.raises(OutOfTimeError):
        player.play(always_right, range(4))


class Broken(Walk):
    def step(self, action):
        return (np.array([np.nan]), *super().step(action)[1:])


def test_what_cannot_be_played_is_refused() -> None:
    with Player(simulator(Broken)) as player:
        with pytest.raises(InputError, match="Broken shows x0 = nan; a tree needs finite numbers"):
            player.play(always_right, [0])
        with pytest.raises(InputError, match="no seeds"):
            player.play(always_right, [])
