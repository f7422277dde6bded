"""The option bound: no completion returns more, and where it would take too long it says nothing."""

import numpy as np
import pytest

from omdt.limits import Limits
from omdt.methods.search.bounds.dense_options import DenseOptions
from omdt.methods.search.bounds.protocol import VectorEvidence
from omdt.methods.search.bounds.swept_options import SweptOptions
from omdt.methods.search.nodes import Node, Partial
from omdt.methods.search.partial_tree import HOLE, Split
from omdt.methods.search.rounds import Rounds
from omdt.watch import Watch
from random_mdps import any_mdp, game, random_mdp
from search_parts import (
    basis_of,
    completions,
    knowledge_of,
    model_of,
    node_of,
    random_partial,
    random_splits,
    returns_of,
    started,
)
from strategies import environment
from tasks import best_return, random_limits


@pytest.mark.parametrize("block", range(4))
def test_option_bound_holds_for_every_completion(block: int) -> None:
    """Root bounds without any branching are above the best tree, on cyclic and acyclic MDPs alike, by any solver."""
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng(10_000 + seed)
        mdp = random_mdp(rng)
        splits = random_splits(mdp, rng)
        depth = int(rng.integers(0, 3))
        local = started(model_of(mdp, depth, splits=splits, swept_states=0 if block % 2 else 600))
        local.climb(3)
        rounds = Rounds(local.incumbent, Limits(), local.watch)
        best = best_return(mdp, splits.sides(), depth, 2**depth)
        local.incumbent.value = best - 1e3
        for _ in range(int(rng.integers(1, 4))):
            rounds.round(lambda: None)
        assert rounds.bound >= best - 1e-12 * abs(best), seed


@pytest.mark.parametrize("swept", [False, True])
def test_the_bound_of_a_node_is_above_its_completions(swept: bool) -> None:
    lower = 0
    for seed in range(60):
        rng = np.random.default_rng(800 + seed)
        mdp = game(rng) if seed % 4 == 0 else any_mdp(rng)
        depth, leaves = random_limits(rng)
        fields = {"swept_states": 0, "few_successors": 100} if swept else {"swept_states": 10**9}
        model = model_of(mdp, min(depth or 2, 2), min(leaves or 3, 3), splits=random_splits(mdp, rng), **fields)
        knowledge = knowledge_of(model)
        optimum = knowledge.bases.losses.optimum
        basis = basis_of(knowledge, optimum - 10 * model.scale - 1.0)
        tree = random_partial(rng, model, model.size.depth, model.size.leaves)
        node = node_of(knowledge, basis, tree)
        if not node.open:
            continue
        best = float(returns_of(mdp, completions(model, tree)).max())
        rounding = 1e-10 * max(abs(best), model.scale)
        found = knowledge.options.bound(node, -np.inf, Watch())
        assert found.value >= best - rounding, seed
        assert isinstance(found.evidence, VectorEvidence)
        assert float(mdp.initial @ found.evidence.values) == pytest.approx(found.value, abs=1e-6 * model.scale)
        assert found.place in [o.path for o in node.open]
        lower += found.value < optimum - 1e-3 * model.scale
        # From the vector of this bound the children start, and their bounds hold as well.
        again = Node(Partial(tree, vector=found.evidence.values), node.actions, node.open, node.spare)
        assert best - rounding <= knowledge.options.bound(again, -np.inf, Watch()).value, seed
        enough = knowledge.options.bound(node, optimum + 1.0, Watch())
        assert enough.place is None
        assert enough.value <= optimum + 1.0
    assert lower > 10


def test_the_solver_fits_the_shape_of_the_mdp() -> None:
    lake = environment("frozenlake_4x4")
    for model, kind in (
        (model_of(lake), DenseOptions),
        (model_of(lake, swept_states=0), SweptOptions),
        (model_of(game(np.random.default_rng(0))), SweptOptions),
    ):
        assert isinstance(knowledge_of(model).options.solver, kind)


@pytest.mark.parametrize("fields", [{"max_boxes": 1}, {"max_box_operations": 0.0}])
def test_what_would_take_too_long_is_not_bounded(fields: dict[str, float]) -> None:
    model = model_of(environment("frozenlake_4x4"), **fields)
    knowledge = knowledge_of(model)
    node = node_of(knowledge, basis_of(knowledge, 0.3), HOLE)
    found = knowledge.options.bound(node, 0.3, Watch())
    assert (found.value, found.evidence, found.place) == (np.inf, None, None)


def test_the_place_is_the_region_where_the_best_stump_costs_most() -> None:
    model = model_of(environment("frozenlake_4x4"), 2)
    knowledge = knowledge_of(model)
    basis = basis_of(knowledge, 0.0)
    for k in range(model.sides.shape[1]):
        node = node_of(knowledge, basis, Split(k, HOLE, HOLE))
        active = np.concatenate([knowledge.options.boxes.of(o.region, 1, Watch()) for o in node.open])
        _, vector, visits = knowledge.options.solver.value(node.actions, active, model.optimal.upper, 0.0, Watch())
        gains = visits[:, None] * (model.look_ahead(vector) - vector[:, None])
        best = []
        for o in node.open:
            stumps = [gains[o.region.states].sum(axis=0).max()]
            for right in model.sides[o.region.states].T:
                inside = gains[o.region.states]
                stumps.append(inside[right].sum(axis=0).max() + inside[~right].sum(axis=0).max())
            best.append(max(stumps))
        assert knowledge.options.bound(node, 0.0, Watch()).place == node.open[int(np.argmin(best))].path
