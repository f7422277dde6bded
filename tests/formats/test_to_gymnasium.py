"""Any MDP is a Gymnasium environment that keeps Gymnasium's own rules and the MDP's dynamics."""

import importlib
import sys

import numpy as np
import pytest

from omdt import MDP, errors
from omdt.environments import PAPER
from omdt.errors import MissingExtraError
from strategies import environment, good_arrays, mdp_from

needs_gymnasium = pytest.mark.needs("gymnasium")


def env_of(mdp: MDP):
    from omdt.formats.to_gymnasium import MDPEnv

    return MDPEnv(mdp)


def episode(mdp: MDP, seed: int, steps: int = 50) -> list[tuple]:
    env = env_of(mdp)
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    history = [(observation.tolist(), info["state"])]
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        history.append((observation.tolist(), reward, terminated, truncated, info["state"]))
        if terminated:
            break
    return history


@needs_gymnasium
@pytest.mark.parametrize("name", PAPER)
def test_gymnasium_accepts_every_environment(name):
    from gymnasium.utils.env_checker import check_env

    env = env_of(environment(name))
    check_env(env, skip_render_check=True)
    assert env.action_space.n == environment(name).n_actions
    assert env.observation_space.shape == (environment(name).n_features,)


@needs_gymnasium
@pytest.mark.parametrize("name", PAPER)
def test_steps_follow_the_mdp(name):
    mdp = environment(name)
    env = env_of(mdp)
    env.action_space.seed(1)
    observation, info = env.reset(seed=1)
    assert mdp.initial[info["state"]] > 0
    for _ in range(200):
        state, action = info["state"], env.action_space.sample()
        observation, reward, terminated, truncated, info = env.step(action)
        assert mdp.transitions[[state * mdp.n_actions + action], [info["state"]]] > 0
        assert reward == mdp.rewards[state, action]
        assert terminated is bool(mdp.terminal[info["state"]])
        assert truncated is False
        np.testing.assert_array_equal(observation, mdp.features[info["state"]])
        assert env.observation_space.contains(observation)
        if terminated:
            observation, info = env.reset()


@needs_gymnasium
@pytest.mark.parametrize("name", ["frozenlake_4x4", "inventory_management", "blackjack"])
def test_the_same_seed_gives_the_same_episode(name):
    mdp = environment(name)
    assert episode(mdp, 3) == episode(mdp, 3)
    assert len({str(episode(mdp, seed)) for seed in range(5)}) > 1


@needs_gymnasium
def test_a_reset_without_a_seed_goes_on_with_the_old_stream():
    env = env_of(environment("tictactoe_vs_random"))
    env.reset(seed=0)
    first = [env.reset()[1]["state"] for _ in range(20)]
    env.reset(seed=0)
    assert [env.reset()[1]["state"] for _ in range(20)] == first


@needs_gymnasium
def test_frequencies_are_those_of_the_mdp():
    P = np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    mdp = MDP(P, [[1.0], [1.0], [1.0]], [0.0, 0.25, 0.75], np.arange(3))
    env = env_of(mdp)
    _, info = env.reset(seed=0)
    counts = np.zeros((3, 3))
    for _ in range(6000):
        state = info["state"]
        *_, info = env.step(0)
        counts[state, info["state"]] += 1
    visits = counts.sum(axis=1, keepdims=True)
    assert (counts[P == 0] == 0).all()
    assert (np.abs(counts / visits - P) <= 5 * np.sqrt(P * (1 - P) / visits) + 1e-12).all()
    starts = np.bincount([env.reset()[1]["state"] for _ in range(4000)], minlength=3) / 4000
    assert starts[0] == 0
    assert abs(starts[1] - 0.25) <= 5 * np.sqrt(0.25 * 0.75 / 4000)


@needs_gymnasium
def test_observations_are_the_users_to_change():
    mdp = mdp_from(good_arrays())
    env = env_of(mdp)
    observation, _ = env.reset(seed=0)
    observation[:] = 99
    np.testing.assert_array_equal(mdp.features, good_arrays()["features"])


@needs_gymnasium
def test_a_step_before_the_first_reset_is_refused():
    import gymnasium

    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        env_of(mdp_from(good_arrays())).step(0)


@needs_gymnasium
@pytest.mark.parametrize("action", [2, -1, 0.5, "go", None])
def test_an_action_that_does_not_exist_is_refused(action):
    import gymnasium

    env = env_of(mdp_from(good_arrays()))
    env.reset(seed=0)
    with pytest.raises(gymnasium.error.InvalidAction, match="2 actions"):
        env.step(action)


@needs_gymnasium
def test_a_time_limit_can_be_wrapped_around():
    from gymnasium.wrappers import TimeLimit

    env = TimeLimit(env_of(MDP(np.eye(1), [[1.0]], [1.0], [0.0])), max_episode_steps=3)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_without_gymnasium_the_message_names_the_extra(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "omdt.formats.to_gymnasium", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'omdt\[gymnasium\]'"):
        importlib.import_module("omdt.formats.to_gymnasium")
