"""A tree learns from any teacher in any Gymnasium environment with discrete actions."""

from typing import Any

import numpy as np
import pytest

import omdt
from omdt import InputError, imitate, planning
from omdt.imitating import Gym
from strategies import environment

pytestmark = [pytest.mark.needs("gymnasium"), pytest.mark.needs("sklearn")]

QUICK = {"iterations": 3, "episodes": 3, "test_episodes": 3}


class Balancer:
    """Pushes the cart to the side to which the pole falls."""

    def predict(self, observation: np.ndarray) -> tuple[int, None]:
        return int(observation[2] + 0.25 * observation[3] > 0), None


class Optimal:
    """The optimal policy of an MDP, asked by observation."""

    def __init__(self, mdp: omdt.MDP) -> None:
        self.q = planning.q_values(mdp, planning.optimal_values(mdp))
        self.actions = planning.greedy(self.q)
        self.rows = {tuple(x): s for s, x in enumerate(mdp.features)}
        self.asked: set[bool] = set()

    def predict(self, observation: Any, state: Any = None, deterministic: bool = False) -> tuple[np.int64, Any]:
        self.asked.add(deterministic)
        return self.actions[self.rows[tuple(observation)]], state

    def values(self, observation: Any) -> np.ndarray:
        return self.q.value[self.rows[tuple(observation)]]


def cart_pole() -> Any:
    import gymnasium

    return gymnasium.make("CartPole-v1")


def lake() -> Any:
    import gymnasium

    from omdt.formats.to_gymnasium import MDPEnv

    return gymnasium.wrappers.TimeLimit(MDPEnv(environment("frozenlake_4x4")), 200)


def mean_return(env: Any, policy: Any, episodes: int = 20) -> float:
    total = 0.0
    for episode in range(episodes):
        observation, _ = env.reset(seed=1000 + episode)
        over = False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(np.int64(policy.predict(observation)[0]))
            total += float(reward)
            over = terminated or truncated
    return total / episodes


def two_spaces(action_space: Any, observation: Any) -> Any:
    """An environment of one step."""
    import gymnasium

    class OneStep(gymnasium.Env):
        def __init__(self) -> None:
            self.action_space = action_space
            self.taken: list[int] = []

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            return observation, {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            self.taken.append(int(action))
            return observation, 1.0, True, False, {}

    return OneStep()


class Always:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def predict(self, observation: Any) -> Any:
        return self.answer


def test_a_small_tree_learns_to_balance_a_pole():
    names = ("position", "velocity", "angle", "angular_velocity")
    tree = imitate(
        cart_pole(), Balancer(), max_depth=3, feature_names=names, action_names=("left", "right"), seed=1, **QUICK
    )
    assert tree.depth <= 3
    assert tree.feature_names == names
    assert mean_return(cart_pole(), Balancer()) > 300
    assert mean_return(cart_pole(), tree) > 200
    constant = omdt.TreePolicy.leaf(0, tree.feature_names, tree.action_names)
    assert mean_return(cart_pole(), constant) < 20


@pytest.mark.parametrize("weighted", [False, True])
def test_without_a_model_it_finds_what_it_finds_with_one(weighted):
    mdp = environment("frozenlake_4x4")
    teacher = Optimal(mdp)
    q_values = teacher.values if weighted else None
    tree = imitate(lake(), teacher, max_depth=4, q_values=q_values, iterations=6, episodes=10, test_episodes=20)
    optimal = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    assert omdt.evaluate(mdp, tree) > 0.6 * optimal
    assert teacher.asked == {True}


def test_the_same_seed_gives_the_same_tree():
    one, two = (imitate(cart_pole(), Balancer(), max_leaf_nodes=4, seed=7, **QUICK) for _ in range(2))
    assert one == two
    assert one.n_leaves <= 4


def test_mistakes_count_by_what_they_cost():
    teacher = Optimal(environment("frozenlake_4x4"))
    world = Gym(lake(), teacher, teacher.values, 50, 0, (), ())
    rows = world.watch_teacher(3)
    assert rows.tolist() == list(range(len(world.actions)))
    expected = [np.ptp(teacher.values(x)) for x in world.observations]
    np.testing.assert_array_equal(world.importance, expected)
    student = omdt.TreePolicy.leaf(2, world.feature_names, world.action_names)
    later, _ = world.watch_student(student, 2)
    assert later[0] == rows[-1] + 1
    assert later[-1] == len(world.actions) - 1
    assert 0 <= world.score(student, 2) <= 1
    assert later[-1] == len(world.actions) - 1


def test_episodes_are_cut_after_the_longest_time():
    world = Gym(lake(), Optimal(environment("frozenlake_4x4")), None, 3, 0, (), ())
    assert len(world.watch_teacher(5)) <= 15
    np.testing.assert_array_equal(world.importance, 1.0)


def test_actions_may_start_anywhere():
    from gymnasium.spaces import Discrete

    env = two_spaces(Discrete(3, start=5), np.zeros(2))
    tree = imitate(env, Always((6, None)), max_depth=1, **QUICK)
    assert tree.to_dict() == {"action": "action_1"}
    assert set(env.taken) == {6}


@pytest.mark.parametrize("observation", [3, (1, 2), np.ones((2, 2)), [True, False]])
def test_observations_may_have_any_shape_of_numbers(observation):
    from gymnasium.spaces import Discrete

    tree = imitate(two_spaces(Discrete(2), observation), Always((np.array([1]), None)), max_depth=1, **QUICK)
    assert len(tree.feature_names) == np.size(observation)
    assert tree.to_dict() == {"action": "action_1"}


@pytest.mark.parametrize(
    ("answer", "arguments", "message"),
    [
        (1, {}, "must return .action, state."),
        ((np.zeros(2), None), {}, "must return .action, state."),
        ((2, None), {}, "takes action 2"),
        ((0.5, None), {}, "takes action 0.5"),
        ((0, None), {"q_values": lambda x: [1.0]}, "q_values must return 2"),
        ((0, None), {"q_values": lambda x: [1.0, np.nan]}, "q_values must return 2"),
        ((0, None), {"iterations": 0}, "iterations is 0"),
        ((0, None), {"max_steps": 0}, "max_steps is 0"),
        ((0, None), {"max_depth": -1}, "max_depth is -1"),
        ((0, None), {"feature_names": ["x"]}, "feature_names are 'x'; there must be 2"),
        ((0, None), {"action_names": ["a", "a"]}, "action_names"),
    ],
)
def test_what_does_not_fit_is_refused(answer, arguments, message):
    from gymnasium.spaces import Discrete

    with pytest.raises(InputError, match=message):
        imitate(two_spaces(Discrete(2), np.zeros(2)), Always(answer), **{"max_depth": 1, **arguments})


@pytest.mark.parametrize("observation", [{"x": 1.0}, np.array([np.inf]), np.zeros(0), "text"])
def test_observations_that_are_no_numbers_are_refused(observation):
    from gymnasium.spaces import Discrete

    with pytest.raises(InputError, match="observation"):
        imitate(two_spaces(Discrete(2), observation), Always((0, None)), max_depth=1)


def test_other_action_spaces_and_other_teachers_are_refused():
    from gymnasium.spaces import Box, Discrete, MultiBinary

    for space in (Box(0, 1), MultiBinary(2)):
        with pytest.raises(InputError, match="action space"):
            imitate(two_spaces(space, np.zeros(2)), Always((0, None)), max_depth=1)
    with pytest.raises(InputError, match="no method predict"):
        imitate(two_spaces(Discrete(2), np.zeros(2)), object(), max_depth=1)  # type: ignore[arg-type]
