"""Options by sweeps: every sweep gives a bound, and with time they find what policy iteration finds."""

import numpy as np
import pytest

from omdt.methods.search.bounds.dense_options import DenseOptions
from omdt.methods.search.bounds.swept_options import SweptOptions
from omdt.methods.search.boxes import Boxes
from omdt.methods.search.regions import Regions
from omdt.watch import OutOfTimeError, Watch
from random_mdps import game, random_mdp
from search_parts import model_of, options_value, scale_of
from strategies import environment


def test_sweeps_and_policy_iteration_find_the_same_option_bound() -> None:
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(70_000 + seed)
        mdp = random_mdp(rng)
        model = model_of(mdp)
        boxes = Boxes(Regions(model.sides))
        active = boxes.of(boxes.regions.everything, int(rng.integers(0, 3)), Watch())
        leaf = np.full(mdp.n_states, -1)
        start = model.optimal.upper
        dense = DenseOptions(model, boxes, 2**30).value(leaf, active, start, -np.inf, Watch()).bound
        solver = SweptOptions(model, boxes, rng.permutation(mdp.n_states), acyclic=False)
        swept = solver.value(leaf, active, start, dense - 1e-6 * abs(dense), Watch()).bound
        if mdp.discount < 0.98:
            assert swept == pytest.approx(dense, abs=1e-2 * scale_of(mdp)), seed
            checked += 1
    assert checked > 20


def test_where_nothing_is_visited_twice_one_sweep_is_enough() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        model = model_of(game(rng))
        boxes = Boxes(Regions(model.sides))
        regions = boxes.regions
        leaf, region = np.full(model.mdp.n_states, -1), regions.everything
        if len(regions.questions(region)) and rng.random() < 0.5:
            region, other = regions.split(region, int(regions.questions(region)[0]))
            leaf[other.states] = rng.integers(model.mdp.n_actions)
        active = boxes.of(region, int(rng.integers(0, 3)), Watch())
        start = model.optimal.upper
        assert model.order is not None
        swept = SweptOptions(model, boxes, model.order, acyclic=True).value(leaf, active, start, -np.inf, Watch())
        exact = float(model.mdp.initial @ options_value(model, leaf, [boxes.states[b] for b in active]))
        assert swept.bound == pytest.approx(exact, abs=1e-8 * model.scale), seed
        assert swept.bound >= exact - 1e-9 * model.scale, seed
        assert swept.visits.sum() > 0


@pytest.mark.parametrize("sweeps", [1, 3, 1000])
def test_however_few_sweeps_there_are_the_result_is_a_bound(sweeps: int) -> None:
    model = model_of(environment("frozenlake_4x4"), option_sweeps=sweeps, swept_states=0)
    boxes = Boxes(Regions(model.sides))
    active = boxes.of(boxes.regions.everything, 1, Watch())
    free, start = np.full(16, -1), model.optimal.upper
    exact = float(model.mdp.initial @ options_value(model, free, [boxes.states[b] for b in active]))
    assert model.order is not None
    found = SweptOptions(model, boxes, model.order, acyclic=False).value(free, active, start, exact - 1.0, Watch())
    assert exact - 1e-9 <= found.bound <= model.mdp.initial @ start + 1e-9
    assert (found.vector <= start).all()
    low_enough = SweptOptions(model, boxes, model.order, acyclic=False).value(free, active, start, 1.0, Watch())
    assert len(low_enough.visits) == 0


def test_boxes_have_a_price_and_too_many_transitions_an_infinite_one() -> None:
    model = model_of(environment("frozenlake_4x4"))
    boxes = Boxes(Regions(model.sides))
    active = boxes.of(boxes.regions.everything, 1, Watch())
    P = model.mdp.transitions
    of_state = [P.indptr[4 * (s + 1)] - P.indptr[4 * s] for s in range(16)]
    price = sum(of_state[s] for b in active for s in boxes.states[b])
    order = np.arange(16)
    assert SweptOptions(model, boxes, order, acyclic=False).price(active) == price
    few = model_of(environment("frozenlake_4x4"), max_box_transitions=price - 1)
    assert SweptOptions(few, boxes, order, acyclic=False).price(active) == np.inf


def test_time_ends_the_sweeps() -> None:
    model = model_of(environment("frozenlake_4x4"))
    boxes = Boxes(Regions(model.sides))
    active = boxes.of(boxes.regions.everything, 1, Watch())
    late = Watch()
    late.interrupt()
    with pytest.raises(OutOfTimeError):
        SweptOptions(model, boxes, np.arange(16), acyclic=False).value(
            np.full(16, -1), active, model.optimal.upper, -np.inf, late
        )


def test_a_tree_without_open_regions_has_its_own_value() -> None:
    model = model_of(game(np.random.default_rng(2)))
    boxes = Boxes(Regions(model.sides))
    leaf = np.zeros(model.mdp.n_states, dtype=np.int64)
    assert model.order is not None
    nothing, start = np.zeros(0, dtype=np.int64), model.optimal.upper
    found = SweptOptions(model, boxes, model.order, acyclic=True).value(leaf, nothing, start, -np.inf, Watch())
    exact = float(model.mdp.initial @ options_value(model, leaf, []))
    assert found.bound == pytest.approx(exact, abs=1e-9 * model.scale)
