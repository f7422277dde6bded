"""Options by policy iteration: the value of the agent is that of all its policies, and rounding is on the safe side."""

import numpy as np
import pytest

from omdt.methods.search.bounds.dense_options import DenseOptions
from omdt.methods.search.boxes import Boxes
from omdt.methods.search.model import Model
from omdt.methods.search.regions import Regions
from omdt.watch import OutOfTimeError, Watch
from random_mdps import random_mdp
from search_parts import model_of, options_value
from strategies import environment


def test_the_value_is_that_of_the_agent_with_options() -> None:
    checked = 0
    for seed in range(40):
        rng = np.random.default_rng(400 + seed)
        model = model_of(random_mdp(rng))
        if model.mdp.discount > 0.95:
            continue
        regions = Regions(model.sides)
        boxes = Boxes(regions)
        question = regions.questions(regions.everything)
        leaf, region = np.full(model.mdp.n_states, -1), regions.everything
        if len(question) and rng.random() < 0.7:
            region, other = regions.split(region, int(rng.choice(question)))
            leaf[other.states] = rng.integers(model.mdp.n_actions)
        active = boxes.of(region, int(rng.integers(0, 3)), Watch())
        solver = DenseOptions(model, boxes, 1 << 24)
        exact = options_value(model, leaf, [boxes.states[b] for b in active])
        size = max(np.abs(exact).max(), model.scale)
        target = float(model.mdp.initial @ exact) - 1e-8 * size
        found = solver.value(leaf, active, model.optimal.upper, target, Watch())
        assert found.bound >= model.mdp.initial @ exact - 1e-9 * size, seed
        assert found.bound == pytest.approx(float(model.mdp.initial @ exact), abs=1e-6 * size), seed
        assert (found.vector >= exact - 1e-9 * size).all(), seed
        assert found.visits.shape == (model.mdp.n_states,)
        assert solver.price(active) == model.mdp.n_actions * sum(len(boxes.states[b]) ** 3 for b in active)
        checked += 1
    assert checked > 15


def lake() -> tuple[Model, DenseOptions, np.ndarray]:
    model = model_of(environment("frozenlake_4x4"))
    boxes = Boxes(Regions(model.sides))
    return model, DenseOptions(model, boxes, 1 << 24), boxes.of(boxes.regions.everything, 1, Watch())


def test_a_bound_that_is_low_enough_ends_the_iteration() -> None:
    model, solver, active = lake()
    free = np.full(16, -1)
    start = model.optimal.upper
    low = float(model.mdp.initial @ options_value(model, free, [solver.inverses.boxes.states[b] for b in active]))
    found = solver.value(free, active, start, low + 1e-3, Watch())
    assert low <= found.bound <= low + 1e-3
    assert len(found.visits) == 0


def test_inverses_that_are_far_off_tell_nothing() -> None:
    model, solver, active = lake()
    solver.inverses.slots(active, Watch())
    solver.inverses.defect[:] = 0.5
    start = model.optimal.upper
    found = solver.value(np.full(16, -1), active, start, -np.inf, Watch())
    assert found.bound >= model.mdp.initial @ start
    assert np.array_equal(found.vector, start)
    assert np.array_equal(found.visits, model.mdp.initial)


def test_a_tree_of_leaves_has_its_own_value() -> None:
    model, solver, _ = lake()
    leaf = np.zeros(16, dtype=np.int64)
    value = float(model.mdp.initial @ options_value(model, leaf, []))
    found = solver.value(leaf, np.zeros(0, dtype=np.int64), model.optimal.upper, value - 1e-9, Watch())
    assert found.bound == pytest.approx(value, abs=1e-6)


def test_far_above_the_target_a_rough_bound_is_enough() -> None:
    """The bound is refined only as far as that could matter for the target."""
    model, solver, active = lake()
    free = np.full(16, -1)
    exact = float(model.mdp.initial @ options_value(model, free, [solver.inverses.boxes.states[b] for b in active]))
    rough, fine = (
        solver.value(free, active, model.optimal.upper, target, Watch()).bound for target in (-10.0, exact - 1e-6)
    )
    assert exact - 1e-9 <= fine <= rough
    assert fine == pytest.approx(exact, abs=1e-6)


def test_time_ends_the_iteration() -> None:
    model, solver, active = lake()
    solver.inverses.slots(active, Watch())
    late = Watch()
    late.interrupt()
    with pytest.raises(OutOfTimeError):
        solver.value(np.full(16, -1), active, model.optimal.upper, -np.inf, late)
