"""Losses: what is said to be lost is lost by every policy within the budget, and nothing else is ruled out."""

from collections.abc import Callable

import numpy as np
import pytest

from omdt import planning
from omdt.methods.search.bounds.cheapest import AcyclicSolver, Costs, DenseSolver, Solver, SweptSolver
from omdt.methods.search.bounds.losses import Losses
from omdt.methods.search.model import Model
from omdt.methods.search.orders import topological_order
from omdt.watch import OutOfTimeError, Watch
from random_mdps import game, random_mdp
from search_parts import all_policies, model_of, returns_of
from strategies import environment


def everything(model: Model) -> np.ndarray:
    return np.ones(model.mdp.rewards.shape, dtype=np.bool_)


def in_order(kind: Callable[..., Solver], order: np.ndarray) -> Callable[[Model, Costs], Solver]:
    return lambda model, costs: kind(model, costs, order[::-1])


@pytest.mark.parametrize("kind", [DenseSolver, SweptSolver, AcyclicSolver])
def test_losses_hold_for_every_policy_within_the_budget(kind: Callable[..., Solver]) -> None:
    """ℓ(F) is at most what any policy loses inside F that plays the same actions there and stays within the budget."""
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(30_000 + seed)
        mdp = random_mdp(rng)
        order = topological_order(mdp) if kind is AcyclicSolver else rng.permutation(mdp.n_states)
        if mdp.n_actions**mdp.n_states > 300 or order is None:
            continue
        model = model_of(mdp)
        solver = kind if kind is DenseSolver else in_order(kind, order)
        losses = Losses(model, model.optimal.value, everything(model), solver)
        policies = all_policies(mdp)
        visits = np.array([planning.occupancies(mdp, policy).value for policy in policies])
        lost = visits * np.array([losses.delta[np.arange(mdp.n_states), policy] for policy in policies])
        total = lost.sum(axis=1)
        budget = float(rng.choice([np.median(total), total.max(), total.max() / 4])) + 1e-9 * np.abs(total).max()
        within = losses.within(budget, Watch())
        for trial in range(10):
            policy = policies[rng.integers(len(policies))]
            inside = rng.random(mdp.n_states) < rng.random()
            bound = (within if trial % 2 else losses).inside(np.where(inside, policy, -1), budget, np.inf).value
            alike = np.all((policies == policy) | ~inside, axis=1) & (total <= budget)
            least = lost[alike][:, inside].sum(axis=1).min(initial=np.inf)
            assert bound <= least + 1e-9 * np.abs(total).max(), seed
            checked += np.isfinite(least)
    assert checked > 50


@pytest.mark.parametrize("kind", [DenseSolver, SweptSolver])
def test_losses_are_close_to_the_best_that_multipliers_tell(kind: Callable[..., Solver]) -> None:
    """The maximum over λ of the least of all lines, one per policy, lies where two of them meet, or at 0."""
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(31_000 + seed)
        mdp = random_mdp(rng)
        if mdp.n_actions**mdp.n_states > 200 or mdp.discount > 0.995:
            continue
        model = model_of(mdp)
        solver = kind if kind is DenseSolver else in_order(kind, rng.permutation(mdp.n_states))
        losses = Losses(model, model.optimal.value, everything(model), solver)
        policies = all_policies(mdp)
        visits = np.array([planning.occupancies(mdp, policy).value for policy in policies])
        lost = visits * losses.delta[np.arange(mdp.n_states), policies]
        budget = float(np.quantile(lost.sum(axis=1), 0.3)) + 1e-9
        for _ in range(5):
            policy = policies[rng.integers(len(policies))]
            inside = rng.random(mdp.n_states) < 0.5
            alike = lost[np.all((policies == policy) | ~inside, axis=1)]
            here, beyond = alike[:, inside].sum(axis=1), alike.sum(axis=1) - budget
            found = losses.inside(np.where(inside, policy, -1), budget, np.inf).value
            if beyond.min() > 1e-6 * budget:
                assert found == np.inf, seed
            elif beyond.min() < -1e-6 * budget:
                with np.errstate(divide="ignore", invalid="ignore"):
                    meet = (here[:, None] - here) / (beyond - beyond[:, None])
                multipliers = np.append(meet[np.isfinite(meet) & (meet > 0)], 0.0)
                best = max(float((here + it * beyond).min()) for it in multipliers)
                assert best - 0.03 * (budget + best) <= found <= best + 1e-6 * (budget + best), seed
                checked += best > 0.05 * budget
    assert checked > 10


def test_the_optimum_minus_losses_is_the_return() -> None:
    for seed in range(40):
        mdp = random_mdp(np.random.default_rng(seed))
        model = model_of(mdp)
        policies = all_policies(mdp)
        if len(policies) > 300:
            continue
        losses = Losses(model, model.optimal.value, model.allowed)
        assert (losses.delta >= 0).all()
        assert (losses.delta[np.arange(mdp.n_states), losses.policy] == 0).all()
        visits = np.array([planning.occupancies(mdp, policy).value for policy in policies])
        lost = (visits * losses.delta[np.arange(mdp.n_states), policies]).sum(axis=1)
        returned = returns_of(mdp, policies)
        scale = model.scale + np.abs(returned).max()
        assert losses.optimum - lost == pytest.approx(returned, abs=1e-7 * scale), seed
        assert losses.optimum >= returned.max() - 1e-12 * scale, seed


def test_what_is_ruled_out_is_beyond_the_budget_and_nothing_else_is() -> None:
    ruled_out = 0
    for seed in range(40):
        rng = np.random.default_rng(500 + seed)
        mdp = random_mdp(rng)
        model = model_of(mdp)
        policies = all_policies(mdp)
        if len(policies) > 300:
            continue
        losses = Losses(model, model.optimal.value, model.allowed)
        total = losses.optimum - returns_of(mdp, policies)
        budget = float(np.quantile(total, 0.1)) + 1e-6 * model.scale
        within = losses.within(budget, Watch())
        for s in range(mdp.n_states):
            for a in range(mdp.n_actions):
                least = total[policies[:, s] == a].min()
                if np.isinf(within.delta[s, a]):
                    assert least > budget - 1e-9 * model.scale, seed
                    ruled_out += 1
                elif a != losses.policy[s]:
                    assert least < budget * (1 + 1e-3) + 1e-6 * model.scale, seed
        assert np.isfinite(losses.delta).all()
    assert ruled_out > 30


def test_an_action_that_is_not_allowed_loses_everything() -> None:
    mdp = environment("frozenlake_4x4")
    model = model_of(mdp)
    allowed = everything(model)
    allowed[0, 1:] = False
    losses = Losses(model, planning.policy_values(mdp, np.zeros(mdp.n_states, dtype=np.int64)).value, allowed)
    forced = np.full(mdp.n_states, -1)
    forced[0] = mdp.n_actions - 1
    lost = losses.inside(forced, 1.0, np.inf)
    assert (lost.value, lost.multiplier, lost.values) == (np.inf, None, None)
    assert losses.policy[0] == 0


def test_leaves_of_the_best_policy_lose_nothing_and_impossible_ones_exceed_the_budget() -> None:
    model = model_of(environment("frozenlake_4x4"))
    losses = Losses(model, model.optimal.value, model.allowed)
    nothing = losses.inside(losses.policy, 0.1, np.inf)
    assert (nothing.value, nothing.multiplier) == (0.0, None)
    worst = np.full(model.mdp.n_states, 3)
    beyond = losses.inside(worst, 1e-3, np.inf)
    assert beyond.value == np.inf
    assert beyond.multiplier == np.inf
    assert beyond.values is not None
    assert losses.cheapest(worst).bound > 1e-3
    # A leaf within the budget has a finite multiplier that shows what is lost there.
    forced = forced_in(model, [4, 5, 6], 2)
    budget = 1.01 * losses.cheapest(forced).bound
    some = losses.inside(forced, budget, np.inf)
    assert 0 < some.value <= budget
    assert some.multiplier is not None
    assert np.isfinite(some.multiplier)


def forced_in(model: Model, states: list[int], action: int) -> np.ndarray:
    forced = np.full(model.mdp.n_states, -1)
    forced[states] = action
    return forced


def test_a_bound_that_is_high_enough_ends_the_search_for_a_multiplier() -> None:
    model = model_of(environment("frozenlake_4x4"))
    losses = Losses(model, model.optimal.value, model.allowed)
    forced = forced_in(model, [4, 5, 6], 2)
    budget = 1.01 * losses.cheapest(forced).bound
    whole = losses.inside(forced, budget, np.inf).value
    assert 0 < losses.inside(forced, budget, whole / 100).value <= whole


def test_time_ends_the_search_for_actions_within_the_budget() -> None:
    model = model_of(environment("frozenlake_4x4"))
    late = Watch()
    late.interrupt()
    with pytest.raises(OutOfTimeError):
        Losses(model, model.optimal.value, model.allowed).within(0.1, late)


def test_where_nothing_can_be_visited_twice_other_states_can_be_left_out() -> None:
    rng = np.random.default_rng(8)
    less = 0
    for _ in range(30):
        model = model_of(game(rng))
        losses = Losses(model, model.optimal.value, model.allowed)
        states = rng.random(model.mdp.n_states) < 0.7
        forced = rng.integers(model.mdp.n_actions, size=model.mdp.n_states)
        budget = losses.optimum - returns_of(model.mdp, forced[None])[0] + 1e-9
        some, all_of_them = (it.cheapest(forced).bound for it in (losses.among(states), losses))
        assert some <= all_of_them * (1 + 1e-9) + 1e-12 * model.scale
        assert losses.among(states).inside(forced, budget, np.inf).value <= budget
        less += some < 0.99 * all_of_them
    assert less > 5
