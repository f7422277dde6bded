"""The guide: a discounted stand-in whose values approach the totals, and which prefers trees that come to an end."""

import numpy as np

from omdt import MDP, planning
from omdt.guide import STEP, guide


def corridor(endless: float | None, reward: float) -> MDP:
    """Three cells; action 0 goes right with probability 1/2, action 1 stays. The last cell is the end."""
    P = np.zeros((3, 2, 3))
    for s in range(2):
        P[s, 0, s + 1] = P[s, 0, s] = 0.5
        P[s, 1, s] = 1.0
    P[2, :, 2] = 1.0
    r = np.full((3, 2), reward)
    r[2] = 0.0
    return MDP.from_dense(P, r, [1, 0, 0], [[0], [1], [2]], discount=1, endless=endless)


def test_a_problem_with_a_discount_guides_itself() -> None:
    mdp = corridor(None, 0.0)
    discounted = MDP(mdp.transitions, mdp.rewards, mdp.initial, mdp.features, 0.9)
    assert guide(discounted) is discounted


def test_values_of_the_guide_approach_the_totals() -> None:
    problem = corridor(-np.inf, -1.0)
    total = planning.optimal_values(problem).value
    far = np.abs(planning.optimal_values(guide(problem, 0.99)).value - total).max()
    near = np.abs(planning.optimal_values(guide(problem, 0.9999)).value - total).max()
    assert near < 0.02 * far


def test_going_on_without_a_cost_is_not_free_where_the_end_is_asked_for() -> None:
    stay, go = np.ones(3, dtype=int), np.zeros(3, dtype=int)
    problem = corridor(-np.inf, 0.0)
    assert planning.policy_return(problem, stay).value == -np.inf
    assert planning.policy_return(problem, go).value == 0.0
    stand_in = guide(problem)
    assert stand_in.rewards[:2].max() == -STEP
    assert planning.policy_return(stand_in, stay).value < planning.policy_return(stand_in, go).value < 0
    assert not guide(corridor(None, 0.0)).rewards.any()
