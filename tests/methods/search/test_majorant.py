"""Majorants: no policy returns less there than on the problem, and proofs with them agree with all trees."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from omdt import InputError, planning
from omdt.methods.search.majorant import DISCOUNT, losses_from_below, majorant
from omdt.watch import Watch
from total_tasks import KINDS, TotalTask
from total_values import exact_rows, exact_totals, random_total_mdp

FINE_AT_ONCE = {"coarse_first_nodes": 1, "leading_share": 0.0, "trailing_share": 0.0, "enumerated_seconds": 0.0}
"""Settings with which the fine search begins after one node and has all of the nodes, as long as it can go on."""


def discounted(mdp, policy: np.ndarray) -> Fraction:
    """The exact discounted return of a policy, from a series that is cut off where it is below any rounding."""
    values = planning.policy_values(mdp, policy)
    return Fraction(float(mdp.initial @ values.upper))


@pytest.mark.parametrize("seed", range(200))
def test_no_policy_returns_less_on_a_majorant(seed: int) -> None:
    problem = random_total_mdp(np.random.default_rng(seed), max_states=4)
    found = majorant(problem, Watch(10.0))
    S, A = problem.rewards.shape
    infinite = not np.isfinite(planning.optimal_values(problem).value).all()
    assert (found is None) == infinite
    if found is None:
        return
    for policy in map(np.array, product(range(A), repeat=S)):
        exact = exact_totals(problem, policy)
        total = sum(Fraction(p) * x for p, x in zip(problem.initial.tolist(), exact, strict=True) if p and x != -np.inf)
        if all(x != -np.inf for p, x in zip(problem.initial, exact, strict=True) if p):
            above = Fraction(found.constant) + discounted(found.mdp, policy)
            assert total <= above + Fraction(1, 10**11) * (1 + abs(total))


@pytest.mark.parametrize("seed", range(100))
def test_losses_are_rounded_down(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_total_mdp(rng)
    U = rng.choice([0.0, 1.0, 0.1, -3.7], size=problem.n_states)
    rows, losses = exact_rows(problem), losses_from_below(problem, U)
    for s, a in np.ndindex(*losses.shape):
        row = rows[s][a]
        exact = Fraction(float(U[s])) - Fraction(float(problem.rewards[s, a]))
        exact -= sum(p * Fraction(float(U[t])) for t, p in row.items())
        assert Fraction(float(losses[s, a])) <= exact
        assert float(exact) - losses[s, a] <= 1e-13 * (1 + abs(float(exact)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(25))
def test_the_fine_search_on_a_majorant_agrees_with_all_trees(seed: int, kind: str) -> None:
    task = TotalTask.random(np.random.default_rng(1000 + seed), kind)
    try:
        best = task.best
    except AssertionError:
        with pytest.raises(InputError, match="no total"):
            task.solve(settings=FINE_AT_ONCE)
        return
    solution = task.solve(settings=FINE_AT_ONCE)
    assert solution.proven
    if isinstance(best, float):
        assert solution.value == solution.bound == best
        return
    assert abs(Fraction(solution.value) - best) <= Fraction(2, 10**4) * (abs(best) + Fraction(1, 10**9))
    sign = 1 if task.maximise else -1
    assert sign * Fraction(solution.bound) >= sign * best
    assert sign * Fraction(solution.value) <= sign * best + Fraction(1, 10**12)


def test_the_discount_leaves_room_for_rounding() -> None:
    """Errors of the fine search grow like ε / (1 − γ)², and must stay far below the usual gap."""
    assert np.finfo(float).eps / (1 - DISCOUNT) ** 2 < 1e-5
