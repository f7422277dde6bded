"""A Gymnasium environment with a table of transitions becomes the MDP that its episodes follow."""

from types import SimpleNamespace

import numpy as np
import pytest

import omdt
from omdt import InputError, InputWarning, planning
from strategies import environment, refusal

needs_gymnasium = pytest.mark.needs("gymnasium")


def newest(name: str) -> str:
    """The newest registered version of an environment; which one that is depends on Gymnasium's release."""
    import gymnasium

    versions = [spec.version for spec in gymnasium.registry.values() if spec.name == name]
    return f"{name}-v{max(versions)}"


def made(name: str, **parameters):
    import gymnasium

    return gymnasium.make(newest(name), **parameters)


def optimal(mdp: omdt.MDP) -> float:
    return planning.expected_return(mdp, planning.optimal_values(mdp)).value


def toy(P: object, **attributes: object) -> SimpleNamespace:
    """An environment made of nothing but its table."""
    env = SimpleNamespace(P=P, action_space=SimpleNamespace(n=2), spec=None, **attributes)
    env.unwrapped = env
    return env


TOY = {
    0: {0: [(0.5, 0, 1.0, False), (0.25, 1, 2.0, False), (0.25, 1, 6.0, True)], 1: [(1.0, 0, 0.0, False)]},
    1: {0: [(1.0, 1, 9.0, False)], 1: [(0.5, 0, 0.0, False), (0.5, 0, 4.0, False)]},
}


def test_outcomes_add_up_rewards_are_averaged_and_the_end_earns_nothing():
    mdp = omdt.from_gymnasium(toy(TOY, initial_state_distrib=[0.5, 0.5]), discount=0.9)
    P = mdp.transitions.toarray().reshape(3, 2, 3)
    np.testing.assert_array_equal(P[0], [[0.5, 0.25, 0.25], [1, 0, 0]])
    np.testing.assert_array_equal(P[1], [[0, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(P[2], [[0, 0, 1], [0, 0, 1]])
    np.testing.assert_array_equal(mdp.rewards, [[2.5, 0], [9, 2], [0, 0]])
    assert mdp.initial.tolist() == [0.5, 0.5, 0]
    assert mdp.terminal.tolist() == [False, False, True]
    assert mdp.features.ravel().tolist() == [0, 1, 1]
    assert mdp.feature_names == ("state",)
    assert mdp.action_names == ("action_0", "action_1")


def test_an_environment_without_an_end_gets_no_state_more():
    P = {0: {0: [(1.0, 0, 1.0, False)], 1: [(1.0, 0, 0.0, False)]}}
    assert omdt.from_gymnasium(toy(P, initial_state_distrib=[1.0])).n_states == 1


def test_features_initial_and_names_can_be_given():
    mdp = omdt.from_gymnasium(
        toy(TOY),
        lambda s: (s, 10 - s),
        initial=[0, 1],
        feature_names=("up", "down"),
        action_names=("wait", "go"),
    )
    assert mdp.features.tolist() == [[0, 10], [1, 9], [1, 9]]
    assert (mdp.feature_names, mdp.action_names) == (("up", "down"), ("wait", "go"))
    assert mdp.initial.tolist() == [0, 1, 0]


def test_a_state_without_actions_stays():
    P = {0: {0: [(1.0, 1, 1.0, False)]}, 1: {}, 2: {1: [(1.0, 0, 5.0, False)]}}
    with pytest.warns(InputWarning, match="2 of 3 states offer some but not all of the 2 actions"):
        mdp = omdt.from_gymnasium(toy(P, initial_state_distrib=[1, 0, 0]))
    assert mdp.terminal.tolist() == [False, True, False]
    assert mdp.available.tolist() == [[True, False], [True, True], [False, True]]


def test_an_action_that_a_state_lacks_keeps_its_number():
    P = {0: {1: [(1.0, 1, 1.0, False)]}, 1: {0: [(1.0, 1, 0.0, False)], 1: [(1.0, 0, 5.0, False)]}}
    with pytest.warns(InputWarning, match="1 of 2 states offers some but not all of the 2 actions"):
        mdp = omdt.from_gymnasium(toy(P, initial_state_distrib=[1, 0]))
    assert mdp.action_names == ("action_0", "action_1")
    assert mdp.rewards.tolist() == [[1, 1], [0, 5]]
    assert mdp.available.tolist() == [[False, True], [True, True]]


@pytest.mark.parametrize(
    ("env", "fragment"),
    [
        (toy(None), "no table of transitions"),
        (toy({}), "no table of transitions"),
        (toy({1: TOY[0], 2: TOY[1]}), "numbers its states otherwise"),
        (toy(TOY), "pass initial="),
        (toy(TOY, initial_state_distrib=[1.0]), "shape"),
        (toy(TOY, initial_state_distrib=[1.0, 0], fickle_passenger=True), "fickle"),
        (toy({0: {0: [(1.0, 0, 0.0)]}}), "P[0][0] is not a list"),
        (toy({0: {0: [(1.0, 0, "a", False)]}}), "P[0][0] is not a list"),
        (toy({0: {0: [(1.5, 0, 0.0, False)]}}), "P[0][0] has a probability"),
        (toy({0: {0: [(1.0, 0, float("nan"), False)]}}), "P[0][0] has a probability"),
        (toy({0: {0: [(1.0, 1, 0.0, False)]}}), "P[0][0] leads to a state"),
        (toy({0: {0: [(1.0, 0.5, 0.0, False)]}}), "P[0][0] leads to a state"),
        (toy({0: {2: [(1.0, 0, 0.0, False)]}}), "P[0][2]: the environment has 2 actions"),
        (toy({0: {0: [(0.5, 0, 0.0, False)]}}, initial_state_distrib=[1.0]), "state 0, action 'action_0' has prob"),
    ],
)
def test_what_is_wrong_with_an_environment_is_said(env, fragment):
    assert fragment in str(refusal(lambda: omdt.from_gymnasium(env)))


@pytest.mark.parametrize("features", [lambda s: "red", lambda s: [0] * s])
def test_features_that_are_no_vectors_are_refused(features):
    env = toy(TOY, initial_state_distrib=[1, 0])
    assert "features" in str(refusal(lambda: omdt.from_gymnasium(env, features)))


@needs_gymnasium
@pytest.mark.parametrize("map_name", ["4x4", "8x8"])
def test_frozenlake_is_the_registered_one(map_name):
    mdp = omdt.from_gymnasium(made("FrozenLake", map_name=map_name))
    ours = environment(f"frozenlake_{map_name}")
    assert optimal(mdp) == pytest.approx(optimal(ours), abs=1e-9)
    assert mdp.feature_names == ("row", "column")
    assert mdp.action_names == ("left", "down", "right", "up")
    size = int(map_name[0])
    np.testing.assert_array_equal(mdp.features[:-1], [divmod(s, size) for s in range(size**2)])


@needs_gymnasium
def test_cliffwalking_ends_at_its_goal():
    mdp = omdt.from_gymnasium(made("CliffWalking"), discount=0.9)
    # Thirteen steps of reward −1 along the cliff, and nothing after the goal.
    assert optimal(mdp) == pytest.approx(-(1 - 0.9**13) / 0.1, abs=1e-9)
    assert (mdp.n_states, mdp.feature_names) == (49, ("row", "column"))
    solution = omdt.solve(mdp, max_depth=3)
    assert solution.proven
    assert solution.value == pytest.approx(optimal(mdp), abs=1e-9)


@needs_gymnasium
def test_taxi_is_decoded_and_worth_what_its_episodes_earn():
    env = made("Taxi")
    mdp = omdt.from_gymnasium(env)
    assert (mdp.n_states, mdp.reachable().n_states) == (501, 401)
    assert mdp.feature_names == ("taxi row", "taxi column", "passenger", "destination")
    assert mdp.action_names == ("south", "north", "east", "west", "pickup", "dropoff")
    assert mdp.features[328].tolist() == [3, 1, 2, 0]
    solution = omdt.solve(mdp, method="copy")
    returns = [episode_return(env, mdp, solution.tree, seed) for seed in range(400)]
    error = 4 * np.std(returns) / np.sqrt(len(returns))
    assert abs(np.mean(returns) - solution.value) < error < 1


def episode_return(env, mdp: omdt.MDP, tree: omdt.TreePolicy, seed: int) -> float:
    """The discounted return of a tree in one episode of the environment itself."""
    state, _ = env.reset(seed=seed)
    total, weight = 0.0, 1.0
    while True:
        action, _ = tree.predict(mdp.features[state])
        state, reward, terminated, truncated, _ = env.step(int(action))
        total += weight * float(reward)
        weight *= mdp.discount
        if terminated or truncated:
            return total


@needs_gymnasium
def test_a_name_is_enough():
    mdp = omdt.read(f"gym:{newest('FrozenLake')}", discount=0.9, is_slippery=False)
    assert optimal(mdp) == pytest.approx(0.9**5)
    assert mdp.name == f"gym:{newest('FrozenLake')}"
    with pytest.warns(omdt.InputWarning, match=r"no discount of its own; 0\.99"):
        assert omdt.read(f"gym:{newest('CliffWalking')}").discount == 0.99


@needs_gymnasium
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("NoSuchEnv-v0", {}),
        ("FrozenLake-v1", {"no_such_parameter": 1}),
        ("no_such_module:Env-v0", {}),
        ("a b", {}),
        ("FrozenLake-v1", {"map_name": "9x9"}),
    ],
)
def test_what_gymnasium_cannot_make_is_refused(name, parameters):
    with pytest.raises(InputError, match="Gymnasium cannot make"):
        omdt.read(f"gym:{name}", discount=0.9, **parameters)


@needs_gymnasium
def test_a_version_that_gymnasium_replaced_gives_the_newest() -> None:
    newest_id = newest("Taxi")
    if newest_id == "Taxi-v3":
        assert omdt.read("gym:Taxi-v3", discount=0.9).n_actions == 6
        return
    with pytest.warns(InputWarning, match=f"no Taxi-v3; {newest_id} is used"):
        replaced = omdt.read("gym:Taxi-v3", discount=0.9)
    assert optimal(replaced) == optimal(omdt.read(f"gym:{newest_id}", discount=0.9))
