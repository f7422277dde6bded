"""The cheapest policy: every solver agrees with all policies in turn, and its bound is never too high."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from omdt.methods.search.bounds.cheapest import (
    AcyclicSolver,
    Costs,
    DenseSolver,
    Prices,
    Solver,
    SweptSolver,
    no_memory,
    solver_for,
)
from omdt.methods.search.bounds.losses import Losses
from omdt.methods.search.model import Model
from random_mdps import game, random_mdp
from search_parts import all_policies, model_of
from strategies import environment
from tasks import dense

Make = Callable[[Model, Costs], Solver]


def swept(model: Model, costs: Costs) -> Solver:
    return SweptSolver(model, costs, np.arange(model.mdp.n_states)[::-1])


def acyclic(model: Model, costs: Costs) -> Solver:
    assert model.order is not None
    return AcyclicSolver(model, costs, model.order)


def costs_of(model: Model) -> Costs:
    return Losses(model, model.optimal.value, model.allowed)._costs


def lost(model: Model, delta: np.ndarray, policies: np.ndarray) -> np.ndarray:
    """[n, S] what each of n policies loses in each state: its discounted visits times δ."""
    P, _, initial, discount = dense(model.mdp)
    states = np.arange(model.mdp.n_states)
    systems = np.eye(len(states)) - discount * P[states, policies]
    visits = np.linalg.solve(np.swapaxes(systems, 1, 2), np.broadcast_to(initial[:, None], (*policies.shape, 1)))
    return visits[..., 0] * delta[states, policies]


def partly_forced(seeds: range) -> Iterator[tuple[int, Model, Costs, np.ndarray, np.ndarray]]:
    """Small random models with some actions forced: seed, model, costs, forced actions [S], all policies with these."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        model = model_of(random_mdp(rng))
        policies = all_policies(model.mdp)
        if len(policies) > 300 or model.mdp.discount > 0.995:
            continue
        inside = rng.random(model.mdp.n_states) < 0.5
        forced = np.where(inside, rng.integers(model.mdp.n_actions, size=model.mdp.n_states), -1)
        yield seed, model, costs_of(model), forced, policies[np.all((policies == forced) | ~inside, axis=1)]


@pytest.mark.parametrize("make", [DenseSolver, swept, acyclic])
def test_the_cheapest_policy_is_that_of_all_policies(make: Make) -> None:
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(40_000 + seed)
        model = model_of(game(rng) if make is acyclic else random_mdp(rng))
        policies = all_policies(model.mdp)
        if len(policies) > 300 or model.mdp.discount > 0.995:
            continue
        costs = costs_of(model)
        solver = make(model, costs)
        inside = rng.random(model.mdp.n_states) < 0.5
        forced = np.where(inside, rng.integers(model.mdp.n_actions, size=model.mdp.n_states), -1)
        allowed = policies[np.all((policies == forced) | ~inside, axis=1)]
        losses = lost(model, costs.delta, allowed)
        policy, memory = np.where(forced >= 0, forced, costs.base), no_memory(model.mdp.n_states)
        for price in (0.0, 1.0, float(rng.random() * 5)):
            prices = Prices(forced, 1.0 + price, 1.0 if price == 0 else price, -np.inf, 1e-12, 200)
            total = losses @ np.where(inside, prices.inside, prices.outside)
            found = solver.cheapest(costs, prices, policy, memory)
            size = max(float(np.abs(total).max()), 1e-300)
            assert found.bound <= total.min() * (1 + 1e-9) + 1e-13 * model.scale, seed
            assert found.bound >= total.min() - 1e-6 * size - 1e-9 * model.scale, seed
            best = np.flatnonzero(total <= total.min() + 1e-6 * size + 1e-9 * model.scale)
            everywhere, here = losses.sum(axis=1), losses[:, inside].sum(axis=1)
            near = np.abs(everywhere[best] - found.total) + np.abs(here[best] - found.loss)
            assert near.min() <= 1e-5 * size + 1e-8 * model.scale, seed
            # What it costs from the start is what the bound is about.
            assert model.mdp.initial @ found.values == pytest.approx(total.min(), rel=1e-5, abs=1e-8 * model.scale)
            checked += total.min() > 1e-6 * model.scale
    assert checked > 10


def test_a_cheap_policy_ends_the_search_and_is_one_of_all_policies() -> None:
    ended = 0
    for seed, model, costs, forced, policies in partly_forced(range(41_000, 41_120)):
        S, inside, solver = model.mdp.n_states, forced >= 0, DenseSolver(model, costs)
        # Losses elsewhere cost little, so it pays to avoid the states inside.
        prices = Prices(forced, 1.01, 0.01, -np.inf, 1e-12, 200)
        losses = lost(model, costs.delta, policies)
        total = losses @ np.where(inside, prices.inside, prices.outside)
        start = np.where(inside, forced, costs.base)
        first, least = 1.01 * float(lost(model, costs.delta, start[None, :]).sum()), float(total.min())
        rounding = 1e-7 * first + 1e-8 * model.scale
        for cheap in (first + rounding, (first + least) / 2 + rounding):
            found = solver.cheapest(costs, prices._replace(cheap=cheap), start.copy(), no_memory(S))
            assert found.bound <= least + rounding, seed
            assert found.loss + 0.01 * found.total <= cheap + rounding, seed
            near = np.abs(losses.sum(axis=1) - found.total) + np.abs(losses[:, inside].sum(axis=1) - found.loss)
            assert near.min() <= rounding, seed
            if cheap > first:
                assert (found.bound, found.total) == (0.0, pytest.approx(first / 1.01, abs=rounding)), seed
        ended += first > least + 100 * rounding
    assert ended > 10


def test_the_bound_holds_wherever_policy_iteration_ends() -> None:
    early = 0
    for seed, model, costs, forced, policies in partly_forced(range(42_000, 42_080)):
        S, inside, solver = model.mdp.n_states, forced >= 0, DenseSolver(model, costs)
        losses = lost(model, costs.delta, policies)
        least = float((losses @ np.where(inside, 1.01, 0.01)).min())
        bounds = []
        for iterations in (1, 2, 60):
            prices, policy = (
                Prices(forced, 1.01, 0.01, -np.inf, 1e-12, iterations),
                np.where(inside, forced, costs.base),
            )
            bounds.append(solver.cheapest(costs, prices, policy, no_memory(S)).bound)
            assert bounds[-1] <= least * (1 + 1e-9) + 1e-13 * model.scale, seed
        early += bounds[0] < bounds[2] * (1 - 1e-6)
    assert early > 5


@pytest.mark.parametrize("make", [DenseSolver, swept])
def test_only_one_pass_can_leave_states_out(make: Make) -> None:
    model = model_of(environment("frozenlake_4x4"))
    solver = make(model, costs_of(model))
    with pytest.raises(NotImplementedError, match="visited again"):
        solver.among(np.ones(model.mdp.n_states, dtype=np.bool_))


def test_nothing_is_lost_in_states_that_are_left_out() -> None:
    rng = np.random.default_rng(5)
    compared = 0
    for _ in range(40):
        model = model_of(game(rng))
        costs = costs_of(model)
        some = rng.random(model.mdp.n_states) < 0.7
        without = costs._replace(delta=np.where(some[:, None], costs.delta, 0.0))
        forced = rng.integers(model.mdp.n_actions, size=model.mdp.n_states)
        prices = Prices(forced, 1.0, 1.0, -np.inf, 0.0, 60)
        solver = acyclic(model, costs)
        found = solver.among(some).cheapest(costs, prices, forced.copy(), no_memory(len(forced)))
        # Costs do not flow through states that are left out, so at most what is lost in the others is counted.
        expected = solver.cheapest(without, prices, forced.copy(), no_memory(len(forced)))
        assert found.bound <= expected.bound * (1 + 1e-12)
        assert not found.values[~some].any()
        compared += found.bound > 0
    assert compared > 10


@pytest.mark.parametrize("make", [DenseSolver, swept, acyclic])
def test_visits_are_those_of_the_base_policy(make: Make) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = model_of(game(rng) if make is acyclic else random_mdp(rng), visit_sweeps=3000)
        if model.mdp.discount > 0.995:
            continue
        costs = costs_of(model)
        P, _, initial, discount = dense(model.mdp)
        chain = P[np.arange(len(initial)), costs.base]
        expected = np.linalg.solve(np.eye(len(initial)) - discount * chain.T, initial)
        assert make(model, costs).visits == pytest.approx(expected, rel=1e-6, abs=1e-9), seed


def test_the_solver_fits_the_shape_of_the_mdp() -> None:
    lake = environment("frozenlake_4x4")
    for model, kind in (
        (model_of(lake), DenseSolver),
        (model_of(lake, swept_states=0), SweptSolver),
        (model_of(game(np.random.default_rng(0))), AcyclicSolver),
    ):
        assert isinstance(solver_for(model, costs_of(model)), kind)


def test_dense_and_sparse_products_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(environment("frozenlake_4x4"))
    costs = costs_of(model)
    changes = []
    for density in (0.0, 2.0):
        monkeypatch.setattr("omdt.methods.search.bounds.cheapest.SPARSE", density)
        changes.append(DenseSolver(model, costs).around.changes)
    assert changes[0] == pytest.approx(changes[1])
    base = np.arange(model.mdp.n_states) * model.mdp.n_actions + costs.base
    assert changes[0][base] == pytest.approx(np.eye(model.mdp.n_states), abs=1e-12)
