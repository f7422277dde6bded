"""Measures: evidence is measured as the checker will measure it, and what is written shows no more than it proves."""

import numpy as np
import pytest

from certificate_parts import Proof
from omdt import check
from omdt.methods.search.evidence.measures import MARGIN
from random_mdps import any_mdp, game
from strategies import environment


def lake() -> Proof:
    return Proof.of(environment("frozenlake_4x4"), 2)


def test_the_bound_is_the_target_and_a_margin_until_a_tree_returns_more() -> None:
    proof = lake()
    measures = proof.measures(0.4)
    assert measures.bound == pytest.approx(0.4 + MARGIN * measures.statement.room)
    measures.raise_bound(0.39)
    assert measures.bound < 0.401
    measures.raise_bound(0.42)
    assert measures.bound == 0.42
    assert measures.budget == pytest.approx(proof.knowledge.bases.losses.optimum - 0.4)


def test_sizes_and_tolerances_are_those_of_the_task() -> None:
    measures = lake().measures()
    assert (measures.size.depth, measures.size.leaves) == (2, 4)
    small, large = (measures.tolerance(check.Size(2, leaves)) for leaves in (1, 4))
    assert 0 < small < large <= measures.statement.room * MARGIN
    assert not measures.without.any()
    without = np.ones_like(measures.without)
    measures.leave_out(without)
    assert measures.without is without


def test_what_is_enough_is_a_little_more_than_the_budget() -> None:
    proof = lake()
    measures = proof.measures()
    values = measures.problem.numbers(proof.knowledge.model.optimal.value)
    context = check.make_context(
        measures.problem, values, np.full(16, -1), np.zeros((16, 4), dtype=np.bool_), measures.bound
    )
    assert context.budget < measures.enough(context) <= context.budget * (1 + 1e-9)


def test_children_are_those_of_the_checker_and_their_regions_have_an_origin() -> None:
    measures = lake().measures()
    root: check.Case = (((), 0, -1),)
    children = measures.origins.children(root, 0, measures.size)
    assert children == measures.problem.regions.children(root, 0, measures.size)
    assert {label[0] for label, _ in children} == {"action", "question"}
    for (kind, k), case in children:
        if kind == "question":
            for side, (_, region, _) in enumerate(case):
                origin = measures.origins.of(region)
                assert isinstance(origin, tuple)
                parent, question, right = origin
                assert measures.problem.regions.split(parent, question)[right] == region
                assert measures.problem.regions.split(0, k)[side] == region


@pytest.mark.parametrize("acyclic", [False, True])
def test_what_is_written_shows_no_more_than_the_checker_finds(acyclic: bool) -> None:
    shown_losses = shorter = longer = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        proof = Proof.of(game(rng) if acyclic else any_mdp(rng), 1)
        measures, losses = proof.measures(), proof.knowledge.bases.losses
        if measures.budget <= 0:
            continue
        S, A = proof.mdp.rewards.shape
        values = measures.problem.numbers(losses.values)
        nothing = np.zeros((S, A), dtype=np.bool_)
        context = check.make_context(measures.problem, values, np.full(S, -1), nothing, measures.bound)
        for _ in range(5):
            forced = np.where(rng.random(S) < 0.6, rng.integers(A, size=S), -1)
            lost = losses.inside(forced, measures.budget, np.inf)
            if lost.values is None or lost.multiplier is None:
                continue
            multiplier = None if np.isinf(lost.multiplier) else lost.multiplier
            # As if the search had found more: then fewer digits are not enough where λ is finite.
            found_more = lost.value if rng.random() < 0.7 else np.inf
            vector, shown = measures.shortest(context, nothing, forced, multiplier, lost.values, found_more)
            single = len(vector) == 4 * S
            assert not single or multiplier is None or found_more < np.inf
            longer += not single
            W = np.frombuffer(vector, dtype="<f4" if single else "<f8").astype(np.float64)
            assert (W >= 0).all()
            (found,) = check.losses_of(
                measures.problem, context, nothing, [check.Pending(forced, multiplier, W, None, "")]
            )
            if multiplier is None:
                assert shown in (0.0, np.inf)
                assert shown == 0.0 or found >= measures.enough(context)
            else:
                assert shown <= found, seed
            shown_losses += shown > 0
            shorter += single
    assert shown_losses > 10
    assert shorter > 10
    assert longer > 5


def test_knowledge_and_checker_have_the_same_regions() -> None:
    proof = lake()
    measures, regions = proof.measures(), proof.knowledge.bases.regions
    for k in measures.problem.regions.dividing(0):
        mine = regions.split(regions.everything, k)
        theirs = measures.problem.regions.split(0, k)
        for region, number in zip(mine, theirs, strict=True):
            assert region.states.tolist() == np.asarray(measures.problem.regions.states[number]).tolist()
