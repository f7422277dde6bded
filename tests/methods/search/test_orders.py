"""Orders of the states: successors come later, or the end of an episode comes sooner."""

import numpy as np

import omdt
from omdt import MDP, planning
from omdt.methods.search.orders import order_by_steps, topological_order
from random_mdps import game, random_mdp


def comes_after(mdp: MDP, order: np.ndarray) -> bool:
    """Whether every successor other than the state itself comes after the state."""
    position = np.argsort(order)
    rows, columns = mdp.transitions.tocoo().coords
    rows = rows // mdp.n_actions
    return bool(np.all((position[rows] < position[columns]) | (rows == columns)))


def has_cycle(mdp: MDP) -> bool:
    """Whether some state, by leaving it, can be visited twice."""
    S = mdp.n_states
    steps = np.zeros((S, S), dtype=np.int64)
    rows, columns = mdp.transitions.tocoo().coords
    steps[rows // mdp.n_actions, columns] = 1
    np.fill_diagonal(steps, 0)
    reached = steps.copy()
    for _ in range(S):
        reached = np.minimum(1, reached + reached @ steps)
    return bool(np.diag(reached).any())


def test_topological_order_is_found_exactly_when_there_is_one() -> None:
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        mdp = game(rng) if seed % 2 else random_mdp(rng)
        order = topological_order(mdp)
        assert (order is None) == has_cycle(mdp), seed
        if order is not None:
            assert sorted(order.tolist()) == list(range(mdp.n_states)), seed
            assert comes_after(mdp, order), seed
            found += 1
    assert 100 <= found < 200


def test_topological_orders_of_environments() -> None:
    assert topological_order(omdt.make("frozenlake_4x4")) is None
    mdp = omdt.make("tictactoe_vs_random")
    order = topological_order(mdp)
    assert order is not None
    assert comes_after(mdp, order)


def test_states_near_the_end_come_first() -> None:
    """In a corridor the optimal policy goes right; the last cell ends the episode."""
    S = 6
    P = np.zeros((S, 2, S))
    P[np.arange(S), 0, np.maximum(np.arange(S) - 1, 0)] = 1
    P[np.arange(S), 1, np.minimum(np.arange(S) + 1, S - 1)] = 1
    P[S - 1] = np.eye(S)[S - 1]
    rewards = np.full((S, 2), -1.0)
    rewards[S - 1] = 0.0
    mdp = MDP.from_dense(P, rewards, np.eye(S)[0], np.arange(S), discount=0.9)
    order = order_by_steps(mdp, planning.optimal_values(mdp))
    assert order.tolist() == [5, 4, 3, 2, 1, 0]
