"""Guaranteed returns are kept at least as often as promised; a smaller version of `make bench-coverage`."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import omdt

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "guarantees.py"


@pytest.fixture(scope="module")
def guarantees() -> ModuleType:
    spec = importlib.util.spec_from_file_location("guarantees", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "episodes", "logs"), [("maintenance", 20, 10), ("frozenlake_4x4", 100, 3)])
def test_guarantees_are_kept_as_often_as_promised(guarantees, name, episodes, logs):
    found = list(guarantees.outcomes(guarantees.PROBLEMS[name](), episodes, 0.5, logs, seed=1))
    assert len(found) == logs
    assert sum(outcome.kept for outcome in found) >= 0.5 * logs


def test_longer_logs_guarantee_more(guarantees):
    mdp = guarantees.PROBLEMS["maintenance"]()
    means = [np.mean([it.guarantee for it in guarantees.outcomes(mdp, n, 0.9, 2)]) for n in (20, 200, 1000)]
    assert means == sorted(means)
    assert means[0] < means[-1] < omdt.solve(mdp, max_depth=2).value


def test_higher_confidence_guarantees_less(guarantees):
    steps = guarantees.simulated_log(guarantees.PROBLEMS["maintenance"](), 200, np.random.default_rng(0))
    promised = [guarantees.learned(steps, 0.9, confidence)[1] for confidence in (0.5, 0.9, 0.999)]
    assert promised == sorted(promised, reverse=True)
    assert promised[0] > promised[-1]


def test_simulated_logs_follow_the_mdp(guarantees):
    mdp = guarantees.PROBLEMS["maintenance"]()
    steps = guarantees.simulated_log(mdp, 2000, np.random.default_rng(0))
    assert steps.n_episodes == 2000
    state, following = (found.ravel().astype(int) for found in (steps.observations, steps.next_observations))
    numbers = {float(x): s for s, x in enumerate(mdp.features[:, 0])}
    state, following = (np.array([numbers[x] for x in column]) for column in (state, following))
    P = mdp.transitions.toarray()
    for s, a in [(0, 0), (3, 0), (4, 1)]:
        here = (state == s) & (steps.actions == a)
        n = here.sum()
        assert n > 500
        shares = np.bincount(following[here], minlength=mdp.n_states) / n
        assert np.abs(shares - P[s * 2 + a]).max() < 4 / np.sqrt(n)
        spread = mdp.rewards.max() - mdp.rewards.min()
        assert abs(steps.rewards[here].mean() - mdp.rewards[s, a]) < 4 * spread / np.sqrt(n)
    starts = np.bincount(state[steps.first], minlength=mdp.n_states) / 2000
    assert np.abs(starts - mdp.initial).max() < 0.05
