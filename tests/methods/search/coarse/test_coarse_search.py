"""The coarse search: it agrees with brute force over all trees, whoever computes its bounds and whatever it forgets."""

from dataclasses import replace

import numpy as np
import pytest

import omdt
from brute_force import returns
from omdt.limits import Limits
from omdt.methods.search.coarse.coarse_search import CoarseSearch
from omdt.methods.search.settings import SearchSettings
from omdt.methods.search.turns import idle
from omdt.solution import Stop
from omdt.watch import Watch
from random_mdps import random_model
from search_parts import model_of, same_in_any_run, started
from strategies import environment
from tasks import RandomTask, dense, policies_of_trees
from thorough import sampled

COARSE = {"dense_states": 0, "first_climbs": 0, "enumerated_seconds": 0.0}


def small_task(rng: np.random.Generator, **settings: object) -> RandomTask:
    """A random task for the coarse search alone, of depth 2 or 4 leaves at most."""
    task = RandomTask.random(rng)
    depth, leaves = (
        None if limit is None else min(limit, most) for limit, most in ((task.max_depth, 2), (task.max_leaves, 4))
    )
    return replace(task, max_depth=depth, max_leaves=leaves, settings={**COARSE, **settings})


@pytest.mark.parametrize("block", sampled(range(10), 2))
def test_the_coarse_search_agrees_with_brute_force(block: int) -> None:
    for seed in range(30 * block, 30 * block + 30):
        rng = np.random.default_rng(seed)
        task = small_task(rng, coarse_sweeps=int(rng.choice([1, 5, 40])))
        solution = task.solve(seed=seed)
        best = task.best
        rounding = 1e-8 * max(abs(best), abs(solution.optimal_return))
        assert solution.stop is Stop.COMPLETE, seed
        assert solution.bound >= best - rounding, seed
        assert best - task.gap * abs(solution.value) - rounding <= solution.value <= best + rounding, seed


@pytest.mark.parametrize("seed", range(40))
def test_rules_are_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_model(rng, states=5, actions=3, unavailable=0.3).mdp()
    sides = model_of(mdp, 2).sides
    policies = policies_of_trees(mdp, sides, 2, 4)
    allowed = policies[mdp.available[np.arange(mdp.n_states), policies].all(axis=1)]
    if len(allowed) == 0:
        with pytest.raises(omdt.InputError, match="no tree of depth"):
            omdt.solve(mdp, max_depth=2, unavailable="forbid", settings=SearchSettings(**COARSE))
        return
    solution = omdt.solve(mdp, max_depth=2, unavailable="forbid", gap=1e-6, settings=SearchSettings(**COARSE))
    best = float(returns(*dense(mdp), allowed).max())
    assert solution.value == pytest.approx(best, rel=1e-5, abs=1e-5)
    assert solution.bound >= best - 1e-8 * abs(best)


def test_threads_and_memory_change_nothing_but_time() -> None:
    for seed in range(30):
        rng = np.random.default_rng(7000 + seed)
        task = small_task(rng, threaded_transitions=0)
        alone = same_in_any_run(task.solve(seed=seed))
        assert same_in_any_run(task.solve(seed=seed, threads=3)) == alone
    lake, limits = environment("frozenlake_8x8"), {"max_depth": 2, "settings": SearchSettings(**COARSE)}
    full = omdt.solve(lake, **limits)
    forgetful = omdt.solve(lake, **limits, memory_limit=1)
    assert full.proven
    assert forgetful.proven
    assert forgetful.value == pytest.approx(full.value)


def test_what_was_not_finished_in_time_remains() -> None:
    model = model_of(environment("frozenlake_8x8"), 2, coarse_nodes_per_round=1)
    local = started(model)
    watch = Watch()
    coarse = CoarseSearch(local.incumbent, local.questions, local.consider, Limits(), watch)
    for _ in range(5):
        coarse.round(idle)
    before, value = coarse.bound, local.incumbent.value
    watch.interrupt()
    for _ in range(3):
        coarse.round(idle)
    assert coarse.bound == before
    assert not coarse.done
    assert local.incumbent.value == value


def test_vectors_that_do_not_fit_into_memory_are_forgotten() -> None:
    model = model_of(environment("frozenlake_12x12"), 2, coarse_nodes_per_round=64)
    local = started(model)
    vectors = 2**20 // 3 // (8 * model.mdp.n_states)
    coarse = CoarseSearch(local.incumbent, local.questions, local.consider, Limits(memory_limit=1), local.watch)
    kept = []
    for _ in range(12):
        coarse.round(idle)
        kept.append(coarse.vectors)
        assert coarse.bound >= 0.11767
    assert vectors // 3 <= max(kept) <= vectors


def test_many_states_are_proven_too() -> None:
    """A lake with more states than the fine search takes."""
    solution = omdt.solve(omdt.make("frozenlake", size=40, seed=3), max_depth=1, time_limit=60)
    assert solution.proven
    assert solution.bound < solution.optimal_return
