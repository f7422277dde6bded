"""Simulated episodes follow the chain of the policy and earn on average what planning says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omdt import MDP, InputError, planning, simulate
from random_mdps import random_model
from strategies import environment, mdps


def optimal_policy(mdp: MDP) -> np.ndarray:
    return planning.greedy(planning.q_values(mdp, planning.optimal_values(mdp)))


def random_policy(mdp: MDP) -> np.ndarray:
    return planning.random_policy(mdp)


def mixed_policy(mdp: MDP) -> np.ndarray:
    weights = np.random.default_rng(3).exponential(size=mdp.rewards.shape)
    return weights / weights.sum(axis=1, keepdims=True)


def constant_policy(mdp: MDP) -> np.ndarray:
    return np.zeros(mdp.n_states, dtype=np.int64)


POLICIES = [optimal_policy, random_policy, mixed_policy, constant_policy]
NAMES = ["traffic_intersection", "blackjack", "frozenlake_4x4", "frozenlake_12x12", "inventory_management", "xor"]


def chain(mdp: MDP, policy: np.ndarray) -> np.ndarray:
    """[S, S] transition probabilities under the policy."""
    S, A = mdp.rewards.shape
    P = mdp.transitions.toarray().reshape(S, A, S)
    weights = np.eye(A)[policy] if policy.ndim == 1 else policy
    return np.einsum("sa,sat->st", weights, P)


def deviation_of_returns(mdp: MDP, policy: np.ndarray) -> float:
    """Standard deviation of the discounted return, from the Bellman equation of its second moment."""
    P, gamma = chain(mdp, policy), mdp.discount
    weights = np.eye(mdp.n_actions)[policy] if policy.ndim == 1 else policy
    r = (weights * mdp.rewards).sum(axis=1)
    V = np.linalg.solve(np.eye(mdp.n_states) - gamma * P, r)
    second = np.linalg.solve(np.eye(mdp.n_states) - gamma**2 * P, r**2 + 2 * gamma * r * (P @ V))
    return float(np.sqrt(max(0.0, mdp.initial @ second - (mdp.initial @ V) ** 2)))


def discounted_visits(mdp: MDP, rollouts) -> np.ndarray:
    """[episodes, S] discounted visits to states in which an action was taken."""
    visits = np.zeros((len(rollouts.returns), mdp.n_states))
    for i in range(len(visits)):
        states = rollouts.episode(i)[:-1]
        np.add.at(visits[i], states, mdp.discount ** np.arange(len(states)))
    return visits


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", NAMES)
def test_the_mean_return_is_the_value(name, policy):
    mdp = environment(name)
    actions = policy(mdp)
    values = planning.policy_values(mdp, actions)
    steps = 1200
    rollouts = simulate(mdp, actions, episodes=1500, max_steps=steps, seed=11)
    error = deviation_of_returns(mdp, actions) / np.sqrt(1500)
    cut_off = mdp.discount**steps * np.abs(values.value).max()
    distance = abs(rollouts.discounted_returns.mean() - planning.expected_return(mdp, values).value)
    assert distance <= 5 * error + cut_off + 1e-9


@given(mdps(max_states=5), st.integers(0, 1000))
@settings(max_examples=30)
def test_every_simulated_transition_is_possible(mdp, seed):
    for policy in (random_policy(mdp), optimal_policy(mdp)):
        rollouts = simulate(mdp, policy, episodes=40, max_steps=15, seed=seed)
        P = chain(mdp, policy)
        for i in range(40):
            states = rollouts.episode(i)
            assert mdp.initial[states[0]] > 0
            assert (P[states[:-1], states[1:]] > 0).all()


@given(mdps(), st.integers(0, 1000), st.integers(1, 30))
@settings(max_examples=40)
def test_lengths_returns_and_ends_belong_together(mdp, seed, max_steps):
    policy = optimal_policy(mdp)
    rollouts = simulate(mdp, policy, episodes=30, max_steps=max_steps, seed=seed)
    r = mdp.rewards[np.arange(mdp.n_states), policy]
    assert rollouts.starts[0] == 0
    assert rollouts.starts[-1] == len(rollouts.states)
    assert len(rollouts.starts) == 31
    for i in range(30):
        states = rollouts.episode(i)
        assert rollouts.lengths[i] == len(states) - 1 <= max_steps
        assert not mdp.terminal[states[:-1]].any()
        assert mdp.terminal[states[-1]] or rollouts.lengths[i] == max_steps
        earned = r[states[:-1]]
        tolerance = 1e-12 * np.abs(mdp.rewards).max() * max_steps
        assert rollouts.returns[i] == pytest.approx(earned.sum(), abs=tolerance)
        weights = mdp.discount ** np.arange(len(earned))
        assert rollouts.discounted_returns[i] == pytest.approx(earned @ weights, abs=tolerance)


def test_the_same_seed_gives_the_same_episodes():
    mdp = environment("frozenlake_4x4")
    one, two, other = (simulate(mdp, random_policy(mdp), episodes=50, seed=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one.states, two.states)
    np.testing.assert_array_equal(one.starts, two.starts)
    np.testing.assert_array_equal(one.returns, two.returns)
    assert not np.array_equal(one.states, other.states)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dynamics", ["mixing", "ending"])
def test_visits_have_the_discounted_occupancies(dynamics, seed):
    rewards = "zero" if dynamics == "ending" else "normal"
    model = random_model(np.random.default_rng(seed), states=4, dynamics="ergodic", rewards=rewards, reward_axes="SA")
    if dynamics == "ending":
        model.P[3] = [0, 0, 0, 1]
    mdp = replace(model, p0=np.array([0.5, 0.25, 0.25, 0.0])).mdp()
    policy = mixed_policy(mdp)
    episodes = 4000
    visits = discounted_visits(mdp, simulate(mdp, policy, episodes=episodes, max_steps=300, seed=seed))
    expected = planning.occupancies(mdp, policy).value
    acting = ~mdp.terminal
    assert acting.sum() == (3 if dynamics == "ending" else 4)
    error = visits.std(axis=0, ddof=1) / np.sqrt(episodes)
    assert (np.abs(visits.mean(axis=0) - expected)[acting] <= 5 * error[acting]).all()
    assert (visits[:, ~acting] == 0).all()


def test_first_states_have_the_initial_distribution():
    p0 = np.array([0.1, 0.0, 0.6, 0.3])
    mdp = MDP(np.eye(4), np.ones((4, 1)), p0, np.arange(4))
    rollouts = simulate(mdp, np.zeros(4, dtype=np.int64), episodes=20_000, max_steps=1, seed=2)
    share = np.bincount(rollouts.states[rollouts.starts[:-1]], minlength=4) / 20_000
    assert share[1] == 0
    assert (np.abs(share - p0) <= 5 * np.sqrt(p0 * (1 - p0) / 20_000)).all()


def test_one_step():
    mdp = MDP(np.eye(2)[::-1], [[3.0], [5.0]], [1.0, 0.0], [0, 1], discount=0.5)
    rollouts = simulate(mdp, np.array([0, 0]), episodes=1, max_steps=1)
    assert rollouts.states.tolist() == [0, 1]
    assert rollouts.lengths.tolist() == [1]
    assert rollouts.returns.tolist() == [3.0]


def test_a_cycle_is_walked_to_the_last_step():
    mdp = MDP(np.eye(2)[::-1], [[3.0], [5.0]], [1.0, 0.0], [0, 1], discount=0.5)
    rollouts = simulate(mdp, np.array([0, 0]), episodes=2, max_steps=3)
    assert [rollouts.episode(i).tolist() for i in range(2)] == [[0, 1, 0, 1], [0, 1, 0, 1]]
    assert rollouts.returns.tolist() == [11.0, 11.0]
    assert rollouts.discounted_returns.tolist() == [6.25, 6.25]


def test_an_episode_that_starts_at_the_end_has_no_steps():
    mdp = MDP(np.eye(1), [[0.0]], [1.0], [0.0])
    rollouts = simulate(mdp, np.array([0]), episodes=3)
    assert rollouts.states.tolist() == [0, 0, 0]
    assert rollouts.lengths.tolist() == [0, 0, 0]
    assert rollouts.returns.tolist() == [0.0, 0.0, 0.0]


def test_an_absorbing_state_that_pays_is_not_an_end():
    mdp = MDP(np.eye(1), [[2.0]], [1.0], [0.0])
    assert simulate(mdp, np.array([0]), episodes=1, max_steps=7).returns.tolist() == [14.0]


def test_long_episodes_after_many_short_ones_fit():
    P = np.array([[0.999, 0.001], [0.0, 1.0]])
    mdp = MDP(P, [[1.0], [0.0]], [0.5, 0.5], [0, 1])
    rollouts = simulate(mdp, np.array([0, 0]), episodes=300, max_steps=5000, seed=1)
    assert rollouts.lengths.max() > 1000
    assert rollouts.lengths.min() == 0
    np.testing.assert_array_equal(rollouts.returns, rollouts.lengths)


@pytest.mark.parametrize(("episodes", "max_steps"), [(0, 10), (-1, 10), (10, 0)])
def test_numbers_below_one_are_refused(episodes, max_steps):
    mdp = MDP(np.eye(1), [[0.0]], [1.0], [0.0])
    with pytest.raises(InputError, match=f"episodes is {episodes} and max_steps is {max_steps}"):
        simulate(mdp, np.array([0]), episodes=episodes, max_steps=max_steps)


@pytest.mark.parametrize(
    "policy",
    [np.array([0, -1]), np.array([0, 2]), np.array([0]), np.array([[0.5, 0.5]]), np.array([[0.5, 0.6], [1, 0]])],
)
def test_a_malformed_policy_is_refused(policy):
    mdp = MDP.from_dense(np.full((2, 2, 2), 0.5), [[1.0, 2.0], [3.0, 4.0]], [1, 0], [0, 1])
    with pytest.raises(InputError, match="policy"):
        simulate(mdp, policy, episodes=1)
