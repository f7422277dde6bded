"""Simulators and what they show: every kind of source and of space, the known names, and what is refused."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from small_worlds import Motley, Uncopied, Walk, make_walk

import omdt
from omdt.errors import InputError, InputWarning
from omdt.learning.observing import observer
from omdt.learning.simulators import HORIZON, simulator


def test_every_kind_of_space_becomes_a_vector_with_names() -> None:
    found = observer(Motley())
    assert found.feature_names == (
        *("dials 0", "dials 1", "lamps 0", "lamps 1", "level", "pair 0", "pair 1", "place 0", "place 1"),
    )
    assert found.integer == (True,) * 7 + (False,) * 2
    assert found.read(Motley().reset()[0]).tolist() == [2, 3, 0, 1, 4, 1, 7, 0.25, -0.5]
    assert (found.action_names, found.first_action) == (("action_0", "action_1", "action_2"), 0)


def test_numbers_without_names_are_numbered_and_actions_may_start_above_0() -> None:
    found = observer(Walk())
    assert (found.feature_names, found.integer, found.first_action) == (("x0",), (False,), 1)


@pytest.mark.parametrize(
    ("env_id", "features", "actions"),
    [
        ("CartPole-v1", ("position", "velocity", "angle", "angular velocity"), ("push left", "push right")),
        ("MountainCar-v0", ("position", "velocity"), ("push left", "coast", "push right")),
        ("Blackjack-v1", ("player's sum", "dealer's card", "usable ace"), ("stick", "hit")),
    ],
)
def test_known_environments_have_names(env_id: str, features: tuple[str, ...], actions: tuple[str, ...]) -> None:
    found = simulator(f"gym:{env_id}")
    assert (found.feature_names, found.action_names) == (features, actions)


@pytest.mark.parametrize("env_id", ["Taxi-v4", "FrozenLake-v1", "CliffWalking-v1"])
def test_states_are_shown_as_in_the_exact_problem(env_id: str) -> None:
    env = gymnasium.make(env_id)
    mdp, found = omdt.from_gymnasium(env), observer(env)
    assert (found.feature_names, found.action_names) == (mdp.feature_names, mdp.action_names)
    shown = np.array([found.read(s) for s in range(env.observation_space.n)])
    np.testing.assert_array_equal(shown, mdp.features[: len(shown)])
    assert all(found.integer)


def test_a_simulator_is_made_from_a_name_a_factory_or_an_environment() -> None:
    sources: list[Any] = ["small_worlds:make_walk", "small_worlds:Walk", make_walk, Walk, Walk()]
    for source in sources:
        found = simulator(source)
        assert (found.feature_names, found.horizon, found.single) == (("x0",), HORIZON, False)
        assert found.make() is not found.make()
    assert simulator(Uncopied()).single
    assert simulator(gymnasium.make("CartPole-v1")).horizon == simulator("gym:CartPole-v1").horizon == 500
    assert simulator("gym:CartPole-v1", max_episode_steps=70).horizon == 70


def test_an_old_version_is_replaced_with_a_warning() -> None:
    with pytest.warns(InputWarning, match="Taxi-v4 is used instead"):
        assert simulator("gym:Taxi-v3").name == "gym:Taxi-v3"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("gym:NoSuch-v0", "gym:NoSuch-v0 cannot be made: NameNotFound"),
        ("no_such_module:make", "no_such_module:make: No module named"),
        ("small_worlds:no_such", "small_worlds:no_such: .*module:factory names a function"),
        ("small_worlds:np.pi", "small_worlds:np.pi is float; module:factory names a function"),
        ("small_worlds", "write gym:ENV_ID or module:factory"),
        ("builtins:dict", "builtins:dict has no reset"),
        (3, "3 is no simulator; expected gym:ENV_ID"),
        ("gym:Pendulum-v1", "PendulumEnv has the action space Box.*Discrete"),
    ],
)
def test_what_is_no_simulator_is_refused(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulator(source)


def test_parameters_reach_the_factory_and_nothing_else() -> None:
    assert simulator(make_walk, cost=1.0).name == "make_walk"
    with pytest.raises(InputError, match=r"make_walk cannot be made: TypeError: .*speed"):
        simulator(make_walk, speed=2)
    with pytest.raises(InputError, match=r"Walk is made already and takes no parameters \(cost\)"):
        simulator(Walk(), cost=1.0)


def test_observations_that_are_no_numbers_are_refused() -> None:
    env = Walk()
    env.observation_space = spaces.Text(5)  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"Walk has the observation space Text.*a tree asks about numbers"):
        observer(env)
