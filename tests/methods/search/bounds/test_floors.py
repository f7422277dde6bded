"""Floors: what is lost for sure is added up as slowly written loops add it up, and nothing else is in a floor."""

import numpy as np
import pytest

from omdt.mdp import Floats
from omdt.methods.search.bounds.floors import Floors
from omdt.methods.search.bounds.losses import FINITE, Losses
from omdt.methods.search.model import Model
from omdt.methods.search.regions import Region, Regions
from random_mdps import random_mdp
from search_parts import model_of


def losses_of(rng: np.random.Generator) -> tuple[Model, Losses]:
    """Losses of a random problem, of which some actions are left out."""
    model = model_of(random_mdp(rng))
    losses = Losses(model, model.optimal.value, model.allowed)
    excluded = rng.random(losses.delta.shape) < 0.1
    excluded[np.arange(len(excluded)), losses.policy] = False
    return model, losses.without(excluded)


def some_regions(rng: np.random.Generator, regions: Regions) -> list[Region]:
    S = len(regions.sides)
    return [regions.region(np.flatnonzero(rng.random(S) < part)) for part in (0.0, 0.3, 0.6, 1.0, 1.0)]


def floor(losses: Losses, certain: Floats, states: np.ndarray, action: int) -> float:
    return sum(FINITE if np.isinf(losses.delta[s, action]) else float(certain[s, action]) for s in states.tolist())


def test_floors_are_sums_over_states() -> None:
    compared = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model, losses = losses_of(rng)
        S, A = losses.delta.shape
        certain = rng.random((S, A)) * (rng.random(S) < 0.7)[:, None] * 10.0 ** rng.integers(-6, 6)
        regions = Regions(model.sides)
        floors = Floors(losses, regions, certain)
        for region in [it for it in some_regions(rng, regions) if len(it.states)]:
            found = floors.leaves(region)
            assert set(found) == set(range(A))
            for action in range(A):
                assert found[action] == pytest.approx(floor(losses, certain, region.states, action), rel=1e-12)
            questions, lost = floors.divided(region)
            assert sorted(questions.tolist()) == regions.questions(region).tolist()
            for question, least in zip(questions.tolist(), lost.tolist(), strict=True):
                sides = regions.split(region, question)
                expected = sum(min(floor(losses, certain, side.states, a) for a in range(A)) for side in sides)
                assert least == pytest.approx(expected, rel=1e-12), (seed, question)
                compared += expected > 0
    assert compared > 100


def test_nothing_is_certain_where_nothing_is_known() -> None:
    rng = np.random.default_rng(1)
    model, losses = losses_of(rng)
    regions = Regions(model.sides)
    floors = Floors(losses, regions, None)
    for action, least in floors.leaves(regions.everything).items():
        assert (least > 0) == np.isinf(losses.delta[:, action]).any()
        assert least in (0.0, pytest.approx(FINITE * np.isinf(losses.delta[:, action]).sum()))


def test_a_side_that_loses_little_is_exact_beside_one_that_loses_much() -> None:
    """The floor of a region minus that of one side would be nothing but rounding here."""
    compared = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model, losses = losses_of(rng)
        regions = Regions(model.sides)
        for k in regions.questions(regions.everything).tolist():
            left, right = regions.split(regions.everything, k)
            for much, little in ((left, right), (right, left)):
                certain = np.zeros(losses.delta.shape)
                certain[much.states, 1:], certain[little.states] = FINITE, 1e-3
                within = losses.without(np.zeros(losses.delta.shape, dtype=np.bool_))
                within.delta = np.zeros(losses.delta.shape)
                questions, lost = Floors(within, regions, certain).divided(regions.everything)
                assert lost[questions == k] == pytest.approx(1e-3 * len(little.states), rel=1e-12)
                compared += 1
    assert compared > 50


def test_what_promises_most_comes_first() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model, losses = losses_of(rng)
        regions = Regions(model.sides)
        floors = Floors(losses, regions, None)
        for region in [it for it in some_regions(rng, regions) if len(it.states)]:
            expected = losses.expected[region.states].sum(axis=0)
            assert np.all(np.diff(expected[list(floors.leaves(region))]) >= 0)
            promise = [
                sum(losses.expected[part.states].sum(axis=0).min() for part in regions.split(region, k))
                for k in floors.divided(region).questions.tolist()
            ]
            assert np.all(np.diff(promise) >= -1e-12 * (1 + np.abs(promise[1:])))


def test_what_is_forgotten_is_computed_again() -> None:
    rng = np.random.default_rng(2)
    model, losses = losses_of(rng)
    regions = Regions(model.sides)
    floors = Floors(losses, regions, rng.random(losses.delta.shape))
    before = floors.leaves(regions.everything), floors.divided(regions.everything)
    assert floors.leaves(regions.everything) is before[0]
    assert floors.divided(regions.everything) is before[1]
    floors.clear()
    assert floors.leaves(regions.everything) is not before[0]
    assert floors.leaves(regions.everything) == before[0]
    assert np.array_equal(floors.divided(regions.everything).floors, before[1].floors)
