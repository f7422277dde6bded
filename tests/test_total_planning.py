"""Planning without a discount: values and errors hold against fractions, with traps, cycles and infinite totals."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from omdt import MDP, InputError, planning
from omdt.choice_graph import ChoiceGraph
from total_values import best_totals, exact_totals, random_total_mdp


def assert_holds(found: planning.Certified, exact: list, accuracy: float = 1e-6) -> None:
    lower, upper = np.broadcast_arrays(found.lower, found.upper)
    for s, truth in enumerate(exact):
        if isinstance(truth, float):
            assert found.value[s] == truth
        else:
            assert np.isfinite(found.value[s])
            assert Fraction(float(lower[s])) <= truth <= Fraction(float(upper[s]))
            assert upper[s] - lower[s] <= accuracy * max(1.0, abs(float(truth)))


@pytest.mark.parametrize("seed", range(300))
def test_values_hold_against_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_total_mdp(rng)
    policy = rng.integers(mdp.n_actions, size=mdp.n_states)
    exact = exact_totals(mdp, policy)
    assert_holds(planning.policy_values(mdp, policy), exact)
    assert_holds(planning.optimal_values(mdp), best_totals(mdp))
    choices = rng.random(mdp.rewards.shape) < 0.6
    choices[np.arange(mdp.n_states), policy] = True
    above = planning.optimal_values(mdp).upper
    assert_holds(planning.restricted_values(mdp, choices, above), best_totals(mdp, choices))
    returned, weights = planning.policy_return(mdp, policy), mdp.initial.tolist()
    total = sum((p if isinstance(x, float) else Fraction(p)) * x for p, x in zip(weights, exact, strict=True) if p)
    if isinstance(total, float):
        assert returned.value == total
    else:
        assert Fraction(returned.lower) <= total <= Fraction(returned.upper)


@pytest.mark.parametrize("seed", range(60))
def test_the_worst_policy_is_the_best_for_negated_rewards(seed: int) -> None:
    mdp = random_total_mdp(np.random.default_rng(seed))
    endless = None if mdp.endless is None else -mdp.endless
    negated = MDP(mdp.transitions, -mdp.rewards, mdp.initial, mdp.features, 1, endless=endless)
    assert_holds(planning.worst_values(mdp), [-x for x in best_totals(negated)])


@pytest.mark.parametrize("seed", range(60))
def test_the_longest_policy_bounds_all_durations(seed: int) -> None:
    mdp = random_total_mdp(np.random.default_rng(seed))
    steps = np.where(mdp.terminal[:, None], 0.0, np.ones_like(mdp.rewards))
    timed = MDP(mdp.transitions, steps, mdp.initial, mdp.features, 1, endless=np.inf)
    truth = max(best_totals(timed))
    found = planning.longest(mdp)
    if isinstance(truth, float):
        assert found == truth
    else:
        assert truth <= Fraction(found) <= truth * (1 + Fraction(1, 10**6)) + Fraction(1, 10**300)


def maze(n: int, endless: float | None, reward: float) -> MDP:
    """A slippery grid of n × n cells whose last cell is the goal, and whose cell (1, 1) is a trap."""
    S, A = n * n, 4
    moves = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    states, actions, rows, columns, data = [], [], [], [], []
    for s in range(S):
        for a in range(A):
            states.append(s)
            actions.append(a)
            for slip, p in ((0, 0.8), (1, 0.1), (3, 0.1)):
                x, y = np.array(divmod(s, n)) + moves[(a + slip) % 4]
                inside = 0 <= x < n and 0 <= y < n and s not in (S - 1, n + 1)
                rows.append(s * A + a)
                columns.append(int(x * n + y) if inside else s)
                data.append(p)
    P = sparse.csr_array((data, (rows, columns)), shape=(S * A, S))
    r = np.full((S, A), reward)
    r[S - 1] = 0.0
    if endless is not None:
        # A state that is never left is terminal if nothing is earned there; this one is not meant to be an end.
        r[n + 1] = np.sign(endless)
    features = np.array([divmod(s, n) for s in range(S)], dtype=float)
    return MDP(P, r, np.eye(S)[0], features, 1, endless=endless)


def test_a_maze_of_some_thousand_states_is_planned_accurately() -> None:
    mdp = maze(60, -np.inf, -1.0)
    optimal = planning.optimal_values(mdp)
    trap = 61
    assert optimal.value[trap] == -np.inf
    finite = np.isfinite(optimal.value)
    assert finite.sum() == mdp.n_states - 1
    assert optimal.error <= 1e-8
    q = mdp.rewards + (mdp.transitions @ optimal.value).reshape(mdp.rewards.shape)
    assert np.allclose(q.max(axis=1)[finite], optimal.value[finite], rtol=1e-10, atol=1e-9)
    assert planning.scale(mdp) == pytest.approx(-planning.expected_return(mdp, optimal).value)


def test_a_policy_that_never_ends_is_worth_what_is_said() -> None:
    stay = np.zeros(9, dtype=int) + 2
    assert planning.policy_return(maze(3, -np.inf, 0.0), np.zeros(9, dtype=int)).value == -np.inf
    assert planning.policy_return(maze(3, None, 0.0), stay).value == 0.0
    assert planning.policy_return(maze(3, None, -1.0), stay).value == -np.inf
    assert planning.policy_return(maze(3, None, 1.0), stay).value == np.inf


def test_rewards_without_a_total_are_refused() -> None:
    P = np.zeros((2, 2, 2))
    P[0, 0, 0] = P[0, 1, 1] = P[1, :, 1] = 1
    mixed = MDP.from_dense(P, [[1, -1], [0, 0]], [1, 0], [[0], [1]], discount=1)
    with pytest.raises(InputError, match="both signs where a policy may go on for ever, here from state 0"):
        planning.check_totals(mixed)
    P[0, 0] = [0.5, 0.5]
    ending = MDP.from_dense(P, [[1, -1], [0, 0]], [1, 0], [[0], [1]], discount=1)
    planning.check_totals(ending)
    assert planning.optimal_values(ending).value.tolist() == pytest.approx([2.0, 0.0])
    with pytest.raises(InputError, match="rewards of this sign"):
        planning.check_totals(MDP.from_dense(np.ones((1, 1, 1)), [[1.0]], [1], [[0]], discount=1, endless=-np.inf))


def test_end_components_of_a_known_graph() -> None:
    """0 and 1 form one component, 2 leads to it and to the end 3; 3 alone is one."""
    P = np.zeros((4, 2, 4))
    P[0, 0, 1] = P[1, 0, 0] = P[1, 1, 2] = P[2, 0, 3] = P[3, :, 3] = 1
    P[0, 1] = P[2, 1] = [0.5, 0, 0, 0.5]
    mdp = MDP.from_dense(P, np.zeros((4, 2)), [1, 0, 0, 0], [[0], [1], [2], [3]], discount=1)
    graph = ChoiceGraph(mdp.transitions, np.ones((4, 2), dtype=bool))
    label, stays = graph.end_components(np.ones(4, dtype=bool))
    assert label[0] == label[1] != label[3]
    assert label[2] == -1
    assert stays.tolist() == [[True, False], [True, False], [False, False], [True, True]]
    assert graph.almost_surely(np.arange(4) == 3).all()
    assert not graph.reaching(np.arange(4) == 0)[3]
