"""Planning agrees with dense linear algebra and brute force, and its certified intervals hold the exact fractions."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import splu

from omdt import MDP, InputError, TreePolicy, evaluate, make, planning
from omdt.environments import PAPER
from omdt.planning import Certified, optimal, scales
from omdt.systems import choice
from omdt.watch import Watch
from random_mdps import Model, sparse_rows
from strategies import DISCOUNTS, environment, mdps, models, random_tree, trees

REFERENCE = json.loads((Path(__file__).parent / "data" / "reference.json").read_text())["environments"]
HARD_DISCOUNTS = st.sampled_from([0.01, 0.5, 0.99, 0.9999])


def arrays(mdp: MDP) -> tuple[np.ndarray, np.ndarray]:
    """P [S, A, S] and r [S, A]."""
    S, A = mdp.rewards.shape
    return mdp.transitions.toarray().reshape(S, A, S), mdp.rewards


def chain(mdp: MDP, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    P, r = arrays(mdp)
    weights = np.eye(mdp.n_actions)[policy] if policy.ndim == 1 else policy
    return np.einsum("sa,sat->st", weights, P), (weights * r).sum(axis=1)


def dense_values(mdp: MDP, policy: np.ndarray) -> np.ndarray:
    P, r = chain(mdp, policy)
    return np.linalg.solve(np.eye(mdp.n_states) - mdp.discount * P, r)


def use_dense_states(patch: pytest.MonkeyPatch, states: int) -> None:
    """Plan with dense factors up to this number of states, and forget what was planned otherwise."""
    patch.setattr(choice, "DENSE_STATES", states)
    optimal._OPTIMA.clear()


def policies(mdp: MDP) -> list[np.ndarray]:
    return [np.array(choice) for choice in itertools.product(range(mdp.n_actions), repeat=mdp.n_states)]


def random_weights(seed: int, mdp: MDP) -> np.ndarray:
    weights = np.random.default_rng(seed).exponential(size=mdp.rewards.shape)
    return weights / weights.sum(axis=1, keepdims=True)


def solve_exactly(matrix: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """Gauss–Jordan elimination in fractions."""
    n = len(b)
    rows = [[*row, value] for row, value in zip(matrix, b, strict=True)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for k in range(n):
            if k != i and rows[k][i] != 0:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[n] for row in rows]


def exact_system(mdp: MDP, policy: np.ndarray) -> tuple[list[list[Fraction]], list[Fraction]]:
    """I − γ P_π and r_π of the stored floats, as fractions."""
    P, r = arrays(mdp)
    S, A = r.shape
    weights = (np.eye(A)[policy] if policy.ndim == 1 else policy).tolist()
    gamma = Fraction(mdp.discount)
    exact_P = [
        [sum(Fraction(weights[s][a]) * Fraction(P[s, a, t].item()) for a in range(A)) for t in range(S)]
        for s in range(S)
    ]
    matrix = [[(s == t) - gamma * exact_P[s][t] for t in range(S)] for s in range(S)]
    return matrix, [sum(Fraction(weights[s][a]) * Fraction(r[s, a].item()) for a in range(A)) for s in range(S)]


def exact_values(mdp: MDP, policy: np.ndarray) -> list[Fraction]:
    return solve_exactly(*exact_system(mdp, policy))


def exact_occupancies(mdp: MDP, policy: np.ndarray) -> list[Fraction]:
    matrix, _ = exact_system(mdp, policy)
    transposed = [list(column) for column in zip(*matrix, strict=True)]
    return solve_exactly(transposed, [Fraction(p) for p in mdp.initial.tolist()])


def assert_contains(certified: Certified, exact: list[Fraction]) -> None:
    for lower, upper, truth in zip(certified.lower.tolist(), certified.upper.tolist(), exact, strict=True):
        assert Fraction(lower) <= truth <= Fraction(upper)


def assert_sharp(certified: Certified, scale: float | None = None) -> None:
    """The promise of the issue: exact to 1e-9 relative to the largest value."""
    largest = np.abs(certified.value).max() if scale is None else scale
    assert certified.error <= 1e-9 * largest + 1e-290


def exact_return(mdp: MDP, values: list[Fraction]) -> Fraction:
    return sum((Fraction(p) * v for p, v in zip(mdp.initial.tolist(), values, strict=True)), Fraction(0))


tiny = models(max_states=3, max_actions=3, discounts=HARD_DISCOUNTS)


@given(tiny)
@settings(max_examples=80)
def test_optimal_and_worst_intervals_contain_the_exact_answer(model):
    mdp = model.mdp()
    exact = [exact_values(mdp, policy) for policy in policies(mdp)]
    best = [max(values[s] for values in exact) for s in range(mdp.n_states)]
    worst = [min(values[s] for values in exact) for s in range(mdp.n_states)]
    for certified, truth in ((planning.optimal_values(mdp), best), (planning.worst_values(mdp), worst)):
        assert_contains(certified, truth)
        assert_sharp(certified, max(float(max(abs(v) for values in exact for v in values)), 0.0))
        total = planning.expected_return(mdp, certified)
        assert Fraction(total.lower) <= exact_return(mdp, truth) <= Fraction(total.upper)


@given(tiny, st.integers(0, 1000))
@settings(max_examples=80)
def test_intervals_of_a_policy_contain_the_exact_answer(model, seed):
    mdp = model.mdp()
    rng = np.random.default_rng(seed)
    for policy in (
        rng.integers(mdp.n_actions, size=mdp.n_states),
        planning.random_policy(mdp),
        random_weights(seed, mdp),
    ):
        values = planning.policy_values(mdp, policy)
        exact = exact_values(mdp, policy)
        assert_contains(values, exact)
        assert_sharp(values)
        total = planning.expected_return(mdp, values)
        assert Fraction(total.lower) <= exact_return(mdp, exact) <= Fraction(total.upper)
        visits = planning.occupancies(mdp, policy)
        assert_contains(visits, exact_occupancies(mdp, policy))
        assert_sharp(visits, 1 / (1 - mdp.discount))


@given(tiny)
def test_intervals_of_q_values_contain_the_exact_answer(model):
    mdp = model.mdp()
    P, r = arrays(mdp)
    exact = [exact_values(mdp, policy) for policy in policies(mdp)]
    best = [max(values[s] for values in exact) for s in range(mdp.n_states)]
    q = planning.q_values(mdp, planning.optimal_values(mdp))
    assert q.value.shape == r.shape
    for s, a in np.ndindex(*r.shape):
        ahead = sum(Fraction(P[s, a, t].item()) * best[t] for t in range(mdp.n_states))
        truth = Fraction(r[s, a].item()) + Fraction(mdp.discount) * ahead
        assert Fraction(q.lower[s, a].item()) <= truth <= Fraction(q.upper[s, a].item())


@given(models(max_states=3, max_actions=2, discounts=HARD_DISCOUNTS))
@settings(max_examples=40)
def test_iterative_intervals_contain_the_exact_answer(model):
    mdp = model.mdp()
    exact = [exact_values(mdp, policy) for policy in policies(mdp)]
    with pytest.MonkeyPatch.context() as patch:
        use_dense_states(patch, 0)
        best = planning.optimal_values(mdp)
        random = planning.policy_values(mdp, planning.random_policy(mdp))
        visits = planning.occupancies(mdp, planning.random_policy(mdp))
    assert_contains(best, [max(values[s] for values in exact) for s in range(mdp.n_states)])
    assert_contains(random, exact_values(mdp, planning.random_policy(mdp)))
    assert_contains(visits, exact_occupancies(mdp, planning.random_policy(mdp)))
    assert_sharp(random)
    assert_sharp(visits, 1 / (1 - mdp.discount))


@given(mdps(max_states=4, max_actions=3))
def test_optimal_and_worst_values_are_those_of_the_best_and_worst_policies(mdp):
    values = np.array([dense_values(mdp, policy) for policy in policies(mdp)])
    tolerance = 1e-9 * np.abs(values).max()
    np.testing.assert_allclose(planning.optimal_values(mdp).value, values.max(axis=0), rtol=0, atol=tolerance)
    np.testing.assert_allclose(planning.worst_values(mdp).value, values.min(axis=0), rtol=0, atol=tolerance)


@given(mdps(), st.integers(0, 1000))
def test_policy_values_solve_the_linear_system(mdp, seed):
    actions = np.random.default_rng(seed).integers(mdp.n_actions, size=mdp.n_states)
    for policy in (actions, random_weights(seed, mdp)):
        expected = dense_values(mdp, policy)
        values = planning.policy_values(mdp, policy)
        np.testing.assert_allclose(values.value, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
        assert_sharp(values)


@given(mdps(), st.integers(0, 1000))
def test_occupancies_add_up_and_earn_the_return(mdp, seed):
    policy = random_weights(seed, mdp)
    P, r = chain(mdp, policy)
    visits = planning.occupancies(mdp, policy)
    horizon = 1 / (1 - mdp.discount)
    expected = np.linalg.solve(np.eye(mdp.n_states) - mdp.discount * P.T, mdp.initial)
    np.testing.assert_allclose(visits.value, expected, rtol=0, atol=1e-9 * horizon)
    assert visits.value.sum() == pytest.approx(horizon, rel=1e-9)
    total = planning.expected_return(mdp, planning.policy_values(mdp, policy)).value
    assert visits.value @ r == pytest.approx(total, rel=1e-9, abs=1e-9 * horizon * np.abs(r).max())


@given(mdps())
def test_worst_random_and_optimal_are_in_order(mdp):
    worst, random, optimal = (
        planning.worst_values(mdp),
        planning.policy_values(mdp, planning.random_policy(mdp)),
        planning.optimal_values(mdp),
    )
    assert (worst.lower <= random.upper).all()
    assert (random.lower <= optimal.upper).all()
    assert planning.expected_return(mdp, worst).lower <= planning.expected_return(mdp, optimal).upper


@given(mdps())
def test_the_greedy_policy_is_optimal(mdp):
    optimal = planning.optimal_values(mdp)
    policy = planning.greedy(planning.q_values(mdp, optimal))
    values = planning.policy_values(mdp, policy)
    assert np.abs(values.value - optimal.value).max() <= 1e-9 * np.abs(optimal.value).max()


@given(mdps())
def test_q_values_look_one_step_ahead(mdp):
    P, r = arrays(mdp)
    values = planning.optimal_values(mdp)
    q = planning.q_values(mdp, values)
    scale = np.abs(values.value).max() + np.abs(r).max()
    np.testing.assert_allclose(q.value, r + mdp.discount * P @ values.value, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(q.value.max(axis=1), values.value, rtol=0, atol=1e-9 * np.abs(values.value).max())


@given(mdps(), st.integers(0, 1000))
def test_the_iterative_path_agrees_with_the_dense_one(mdp, seed):
    policy = random_weights(seed, mdp)

    def results() -> list[Certified]:
        return [
            planning.optimal_values(mdp),
            planning.worst_values(mdp),
            planning.policy_values(mdp, policy),
            planning.occupancies(mdp, policy),
        ]

    dense = results()
    with pytest.MonkeyPatch.context() as patch:
        use_dense_states(patch, 0)
        iterative = results()
    for one, other in zip(dense, iterative, strict=True):
        assert np.abs(one.value - other.value).max() <= one.error + other.error
        np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-9 * np.abs(one.value).max())


@pytest.mark.parametrize("name", PAPER)
def test_both_paths_agree_on_the_environments_and_with_the_reference(name, monkeypatch):
    mdp = environment(name)
    random = planning.random_policy(mdp)
    for dense_states in (0, choice.DENSE_STATES):
        use_dense_states(monkeypatch, dense_states)
        values = {
            "optimal_return": planning.optimal_values(mdp),
            "worst_return": planning.worst_values(mdp),
            "random_return": planning.policy_values(mdp, random),
        }
        visits = planning.occupancies(mdp, random)
        scale = max(np.abs(certified.value).max() for certified in values.values())
        for key, certified in values.items():
            assert_sharp(certified, scale)
            if key in REFERENCE[name]:
                assert planning.expected_return(mdp, certified).value == pytest.approx(REFERENCE[name][key], abs=1e-6)
        assert_sharp(visits, 1 / (1 - mdp.discount))
        earned = visits.value @ (random * mdp.rewards).sum(axis=1)
        assert earned == pytest.approx(REFERENCE[name]["random_return"], abs=1e-6)


def one_state(*rewards: float, discount: float = 0.9) -> MDP:
    return MDP(np.ones((len(rewards), 1)), [list(rewards)], [1.0], [0.0], discount=discount)


@pytest.mark.parametrize("discount", [0.01, 0.5, 0.99, 0.9999])
@pytest.mark.parametrize("reward", [1e9, 1e-9, -3.0])
def test_one_state_and_one_action(reward, discount):
    mdp = one_state(reward, discount=discount)
    truth = Fraction(reward) / (1 - Fraction(discount))
    for certified in (
        planning.optimal_values(mdp),
        planning.worst_values(mdp),
        planning.policy_values(mdp, np.array([0])),
    ):
        assert_contains(certified, [truth])
        assert_sharp(certified)
    assert_contains(planning.occupancies(mdp, np.array([0])), [1 / (1 - Fraction(discount))])


@pytest.mark.parametrize("dense_states", [0, 1000])
def test_without_rewards_every_value_is_zero(dense_states, monkeypatch):
    use_dense_states(monkeypatch, dense_states)
    mdp = MDP.from_dense(np.full((3, 2, 3), 1 / 3), np.zeros(3), [1, 0, 0], [0, 1, 2], discount=0.9999)
    for certified in (
        planning.optimal_values(mdp),
        planning.worst_values(mdp),
        planning.policy_values(mdp, planning.random_policy(mdp)),
    ):
        assert certified.value.tolist() == [0.0, 0.0, 0.0]
        assert certified.error < 1e-250
    assert planning.greedy(planning.q_values(mdp, planning.optimal_values(mdp))).tolist() == [0, 0, 0]


def test_equally_good_actions_give_the_lowest_index():
    assert planning.greedy(planning.q_values(*with_optimal(one_state(1.0, 3.0, 3.0)))).tolist() == [1]
    assert planning.greedy(planning.q_values(*with_optimal(one_state(0.3, 0.1 + 0.2)))).tolist() == [0]
    assert planning.greedy(planning.q_values(*with_optimal(one_state(0.1 + 0.2, 0.3)))).tolist() == [0]
    assert planning.greedy(planning.q_values(*with_optimal(one_state(0.3, 0.3001)))).tolist() == [1]


def with_optimal(mdp: MDP) -> tuple[MDP, Certified]:
    return mdp, planning.optimal_values(mdp)


@pytest.mark.parametrize("dense_states", [0, 1000])
def test_a_forbidding_penalty_elsewhere_does_not_blur_the_choice(dense_states, monkeypatch):
    use_dense_states(monkeypatch, dense_states)
    mdp = one_state(1.5, 2.0, -1e9)
    values = planning.optimal_values(mdp)
    assert planning.greedy(planning.q_values(mdp, values)).tolist() == [1]
    assert_sharp(values)


def test_a_small_advantage_that_adds_up_decides():
    mdp = one_state(1 - 5e-6, 1.0, discount=0.9999)
    assert planning.greedy(planning.q_values(*with_optimal(mdp))).tolist() == [1]


def test_the_random_policy_is_uniform():
    np.testing.assert_array_equal(planning.random_policy(one_state(1.0, 2.0, 3.0, 4.0)), [[0.25] * 4])


@given(mdps(max_states=6, max_actions=3), st.data())
def test_evaluating_a_tree_is_evaluating_its_actions(mdp, data):
    tree = replace(
        data.draw(trees(F=mdp.n_features, A=mdp.n_actions)),
        feature_names=mdp.feature_names,
        action_names=mdp.action_names,
    )
    expected = mdp.initial @ dense_values(mdp, tree.actions(mdp.features))
    scale = np.abs(mdp.rewards).max() / (1 - mdp.discount)
    assert evaluate(mdp, tree) == pytest.approx(expected, rel=0, abs=1e-9 * scale)
    certified = planning.tree_return(mdp, tree)
    assert certified.lower <= evaluate(mdp, tree) <= certified.upper


def test_a_tree_may_read_other_observations():
    mdp = MDP(np.ones((2, 1)), [[1.0, 5.0]], [1.0], [0.0], discount=0.5)
    tree = TreePolicy.from_dict(
        {"feature": "seen", "threshold": 0.5, "left": {"action": "a"}, "right": {"action": "b"}},
        ("feature_0", "seen"),
        ("a", "b"),
    )
    assert evaluate(mdp, tree, np.array([[0.0, 0.0]])) == pytest.approx(2.0)
    assert evaluate(mdp, tree, np.array([[0.0, 1.0]])) == pytest.approx(10.0)


def test_a_tree_over_other_features_is_refused():
    with pytest.raises(InputError, match="observations must have shape"):
        evaluate(one_state(1.0), TreePolicy.leaf(0, ["x", "y"], ["a"]))


def test_a_tree_that_takes_an_unknown_action_is_refused():
    with pytest.raises(InputError, match="action"):
        evaluate(one_state(1.0, 2.0), TreePolicy.leaf(2, ["x"], ["a", "b", "c"]))


def test_as_many_observations_as_states_are_needed():
    with pytest.raises(InputError, match=r"observations|policy"):
        evaluate(one_state(1.0), TreePolicy.leaf(0, ["x"], ["a"]), np.zeros((2, 1)))


@pytest.mark.parametrize(
    "policy",
    [
        np.array([0, -1]),
        np.array([0, 2]),
        np.array([0]),
        np.array([[0.5, 0.5]]),
        np.array([[0.5, 0.6], [1.0, 0.0]]),
        np.array([[1.5, -0.5], [1.0, 0.0]]),
        np.array([[np.nan, 1.0], [1.0, 0.0]]),
    ],
    ids=["negative", "too large", "too few", "too few rows", "sum above 1", "negative weight", "nan"],
)
def test_a_malformed_policy_is_refused(policy):
    mdp = MDP.from_dense(np.full((2, 2, 2), 0.5), [[1.0, 2.0], [3.0, 4.0]], [1, 0], [0, 1])
    with pytest.raises(InputError, match="policy"):
        planning.policy_values(mdp, policy)


def test_intervals_of_numbers_and_arrays_enclose_the_value():
    number, array = Certified(1.0, 1e-30), Certified(np.array([1.0, -2.0]), 0.5)
    assert number.lower < 1.0 < number.upper
    exact, infinite = Certified(1.0, 0.0), Certified(-np.inf, 0.0)
    assert (exact.lower, exact.upper, infinite.lower, infinite.upper) == (1.0, 1.0, -np.inf, -np.inf)
    assert isinstance(number.lower, float)
    assert (array.lower <= [0.5, -2.5]).all()
    assert (array.upper >= [1.5, -1.5]).all()


@given(
    models(max_states=3, max_actions=2, rewards=("normal",), discounts=DISCOUNTS),
    st.sampled_from([1e-200, 1e-9, 1e9, 1e200]),
)
@example(Model(np.ones((1, 1, 1)), np.ones((1, 1, 1)), np.ones(1), np.ones((1, 1)), 0.9999), 1e200)
def test_values_scale_with_the_rewards(model, factor):
    mdp = model.mdp()
    scaled = replace(mdp, rewards=mdp.rewards * factor)
    for dense_states in (0, 1000):
        with pytest.MonkeyPatch.context() as patch:
            use_dense_states(patch, dense_states)
            values, larger = planning.optimal_values(mdp).value, planning.optimal_values(scaled)
        np.testing.assert_allclose(larger.value / factor, values, rtol=0, atol=1e-9 * np.abs(values).max())
        assert_sharp(larger)


def test_long_chains_are_planned_through_to_the_end():
    S = 3000
    P = np.stack([np.minimum(np.arange(S) + 1, S - 1), np.maximum(np.arange(S) - 1, 0)], axis=1)
    rows = np.zeros((S, 2))
    rows[S - 1, 0] = 1.0
    mdp = MDP.from_pairs(
        np.repeat(np.arange(S), 2),
        np.tile([0, 1], S),
        sparse.csr_array((np.ones(2 * S), P.ravel(), np.arange(2 * S + 1)), shape=(2 * S, S)),
        rows.ravel(),
        np.eye(1, S)[0],
        np.arange(S),
        discount=0.999,
    )
    values = planning.optimal_values(mdp)
    expected = 0.999 ** np.arange(S - 1, -1, -1) / 0.001
    assert_sharp(values)
    np.testing.assert_allclose(values.value, expected, rtol=0, atol=1e-9 * expected.max())


def test_gains_that_go_round_in_circles_are_not_taken_for_the_optimum():
    """Sweeps carry a gain around a circle, where policies look as good as the best one until they are evaluated."""
    longer = 0
    for seed in range(300):
        rng = np.random.default_rng(70_000 + seed)
        S, A = int(rng.integers(3, 7)), 2
        P = np.eye(S)[rng.integers(S, size=(S, A))]
        r = rng.choice([-1.0, 1.0], (S, A)) * 10.0 ** rng.uniform(-6, 5, (S, A))
        mdp = MDP.from_dense(
            P, r, np.full(S, 1 / S), np.arange(S), discount=float(rng.choice([0.999, 0.9999, 0.99999]))
        )
        best = np.full(S, -np.inf)
        for policy in np.array(list(itertools.product(range(A), repeat=S))):
            chain = np.eye(S) - mdp.discount * P[np.arange(S), policy]
            best = np.maximum(best, np.linalg.solve(chain, r[np.arange(S), policy]))
        values = planning.optimal_values(mdp)
        scale = np.abs(r).max() / (1 - mdp.discount)
        assert values.value == pytest.approx(best, rel=1e-9, abs=1e-9 * scale), seed
        assert np.max(values.errors) <= 1e-6 * scale, seed
        longer += np.abs(best).max() > 1e6
    assert longer > 100


def test_random_trees_are_worth_at_most_the_optimum():
    mdp = environment("frozenlake_4x4")
    optimum = planning.expected_return(mdp, planning.optimal_values(mdp)).upper
    worst = planning.expected_return(mdp, planning.worst_values(mdp)).lower
    rng = np.random.default_rng(0)
    for _ in range(50):
        tree = random_tree(rng, mdp.n_features, mdp.n_actions, 4)
        value = planning.tree_return(mdp, tree)
        assert worst <= value.upper
        assert value.lower <= optimum


def grid(side: int, discount: float) -> MDP:
    """Slippery moves on a square; its last corner is left for the first one."""
    states = np.arange(side * side)
    row, column = np.divmod(states, side)
    moves = [(0, -1), (1, 0), (0, 1), (-1, 0)]
    targets = np.stack(
        [np.clip(row + dr, 0, side - 1) * side + np.clip(column + dc, 0, side - 1) for dr, dc in moves], axis=1
    )
    rows, columns, data = [], [], []
    for a in range(4):
        for slip, p in ((0, 0.8), (1, 0.1), (3, 0.1)):
            rows.append(states * 4 + a)
            columns.append(np.where(states == states[-1], 0, targets[:, (a + slip) % 4]))
            data.append(np.full(len(states), p))
    P = sparse.csr_array(
        (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))), shape=(4 * len(states), len(states))
    )
    rewards = np.random.default_rng(0).random((len(states), 4))
    return MDP(P, rewards, np.eye(1, len(states))[0], np.stack([row, column], axis=1), discount=discount)


def mixing(states: int, discount: float) -> MDP:
    """Every state leads to a few random others, for which factors fill up."""
    rng = np.random.default_rng(1)
    P = sparse_rows(rng, 2 * states, states, successors=4)
    return MDP(P, rng.normal(size=(states, 2)), np.ones(states) / states, np.arange(states), discount=discount)


LARGE = {"grid": lambda discount: grid(40, discount), "mixing": lambda discount: mixing(1500, discount)}


@pytest.mark.parametrize("discount", [0.9, 0.99, 0.9999, 0.999999])
@pytest.mark.parametrize("kind", LARGE)
def test_many_states_agree_with_a_sparse_factorisation_at_any_discount(kind, discount):
    mdp = LARGE[kind](discount)
    assert mdp.n_states > choice.DENSE_STATES
    policy = np.random.default_rng(2).integers(mdp.n_actions, size=mdp.n_states)
    P, r = planning.markov_chain(mdp, policy)
    system = (sparse.eye_array(mdp.n_states) - discount * P).tocsc()
    values, visits = planning.policy_values(mdp, policy), planning.occupancies(mdp, policy)
    judge = splu(system)
    size = np.abs(values.value).max()
    np.testing.assert_allclose(values.value, judge.solve(r), rtol=0, atol=values.error + 1e-15 / (1 - discount) * size)
    np.testing.assert_allclose(visits.value, judge.solve(mdp.initial, trans="T"), rtol=0, atol=2 * visits.error)
    assert values.error <= 1e-11 * size + 1e-14 / (1 - discount) * size
    assert visits.error <= 1e-10 / (1 - discount) + 1e-14 / (1 - discount) ** 2


@pytest.mark.parametrize("kind", LARGE)
def test_what_a_watch_cuts_off_is_certified_and_gone_on_with(kind):
    mdp = LARGE[kind](0.9999)
    final = planning.optimal_values(LARGE[kind](0.9999))
    policy = np.zeros(mdp.n_states, dtype=np.int64)
    late = Watch(1.0)
    late.interrupt()
    for cut, whole in (
        (planning.optimal_values(mdp, late), final),
        (planning.policy_values(mdp, policy, late), planning.policy_values(mdp, policy)),
        (planning.occupancies(mdp, policy, late), planning.occupancies(mdp, policy)),
    ):
        assert np.all(np.abs(cut.value - whole.value) <= cut.error + whole.error)
        assert cut.error > 1e6 * whole.error
    again = planning.optimal_values(mdp)
    assert again.error <= 2 * final.error


@given(models(max_states=4, max_actions=2), st.integers(0, 1000))
def test_the_return_of_a_policy_contains_the_exact_one(model, seed):
    mdp = model.mdp()
    policy = np.random.default_rng(seed).integers(mdp.n_actions, size=mdp.n_states)
    returned = planning.policy_return(mdp, policy)
    exact = sum(Fraction(p) * v for p, v in zip(mdp.initial.tolist(), exact_values(mdp, policy), strict=True))
    assert Fraction(returned.lower) <= exact <= Fraction(returned.upper)
    assert returned.error <= 2 * planning.expected_return(mdp, planning.policy_values(mdp, policy)).error + 1e-290


def test_states_that_are_never_visited_do_not_blur_a_return():
    """The third state is worth 1e16, but nobody comes there."""
    P = np.zeros((3, 1, 3))
    P[0, :, 1] = P[1, :, 0] = P[2, :, 2] = 1
    mdp = MDP.from_dense(P, [[1], [0], [1e14]], [1, 0, 0], [[0], [1], [2]])
    values = planning.policy_values(mdp, np.zeros(3, dtype=np.int64))
    assert planning.expected_return(mdp, values).error > 1
    assert planning.policy_return(mdp, np.zeros(3, dtype=np.int64)).error < 1e-10


@given(mdps(), st.integers(0, 1000))
def test_visited_states_are_those_with_visits(mdp, seed):
    policy = np.random.default_rng(seed).integers(mdp.n_actions, size=mdp.n_states)
    P, _ = chain(mdp, policy)
    reached = mdp.initial > 0
    for _ in range(mdp.n_states):
        reached = reached | (P[reached] > 0).any(axis=0)
    np.testing.assert_array_equal(planning.visited(mdp, policy), reached)


def test_the_scale_is_computed_once_and_not_kept_when_it_was_cut_off(monkeypatch):
    mdp = make("mountain_car", size=20)
    planning.optimal_values(mdp)
    late = Watch(0.0)
    cut_off, exact = planning.scale(mdp, late), planning.scale(mdp)
    P, r = planning.markov_chain(mdp, planning.greedy(planning.q_values(mdp, planning.optimal_values(mdp))))
    visits = np.linalg.solve(np.eye(mdp.n_states) - mdp.discount * P.toarray().T, mdp.initial)
    assert exact == pytest.approx(visits @ np.abs(r))
    assert cut_off != pytest.approx(exact)
    monkeypatch.setattr(scales, "_earned", None)
    assert planning.scale(mdp) == planning.scale(mdp, late) == exact


def test_the_scale_counts_rewards_that_cancel():
    """A state that earns 1 and pays it back at once: the return is 0, the scale is not."""
    back = MDP.from_dense([[[0, 1]], [[1, 0]]], [[1.0], [-1 / 0.9]], [1, 0], [[0], [1]], discount=0.9)
    optimal = planning.optimal_values(back)
    assert abs(planning.expected_return(back, optimal).value) < 1e-12
    assert planning.scale(back) == pytest.approx((1 + 1) / (1 - 0.9**2))
    nothing = MDP.from_dense(np.ones((1, 1, 1)), [[0.0]], [1], [[0]])
    assert planning.scale(nothing) == 0


@given(models(max_states=3, max_actions=3, discounts=HARD_DISCOUNTS), st.integers(0, 1000))
def test_restricted_values_are_those_of_the_best_policy_among_the_choices(model, seed):
    mdp = model.mdp()
    rng, states = np.random.default_rng(seed), np.arange(mdp.n_states)
    choices = rng.random(mdp.rewards.shape) < 0.5
    choices[states, rng.integers(mdp.n_actions, size=mdp.n_states)] = True
    kept = [policy for policy in policies(mdp) if choices[states, policy].all()]
    exact = [exact_values(mdp, policy) for policy in kept]
    values = planning.restricted_values(mdp, choices, planning.optimal_values(mdp).value)
    assert_contains(values, [max(policy[s] for policy in exact) for s in range(mdp.n_states)])
    assert_sharp(values, max(float(max(abs(v) for policy in exact for v in policy)), 0.0))
    rough = planning.restricted_values(mdp, choices, planning.optimal_values(mdp).value, accuracy=1e9)
    assert_contains(rough, [max(policy[s] for policy in exact) for s in range(mdp.n_states)])
