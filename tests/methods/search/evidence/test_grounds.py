"""Grounds: what is claimed of a region is lost by every tree within the budget, and an interrupt ends the work."""

from itertools import product

import numpy as np
import pytest

from certificate_parts import Proof
from omdt import check
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.evidence.grounds import Ground, StoppedError
from omdt.methods.search.evidence.measures import Measures
from omdt.methods.search.evidence.steps import ProvenLoss, RegionClaim, Step
from omdt.watch import Watch
from random_mdps import any_mdp, game
from search_parts import returns_of, tree_policies
from strategies import environment
from tasks import random_limits


def ground_of(proof: Proof, measures: Measures, watch: Watch | None = None) -> Ground:
    """What losses are counted from without any leaves."""
    bases, watch = proof.knowledge.bases, Watch() if watch is None else watch
    basis = Basis(bases.undecided, bases.losses, bases.tables(bases.losses, measures.budget, Watch()))
    context = measures.context(bases.losses.values, np.full(measures.problem.S, -1))
    return Ground(measures, basis, context, 0, watch)


def test_claims_hold_for_every_tree_within_the_budget() -> None:
    """Of the whole tree nothing more can be claimed than the best tree loses, and of each side no more than there."""
    claimed = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        mdp = game(rng) if seed % 3 == 0 else any_mdp(rng)
        depth, leaves = random_limits(rng)
        proof = Proof.of(mdp, min(depth or 2, 2), min(leaves or 3, 3))
        scale = proof.knowledge.model.scale
        target = proof.best - 0.1 * scale
        measures = proof.measures(target)
        ground = ground_of(proof, measures)
        policies = tree_policies(proof.knowledge.model)
        returned = returns_of(mdp, policies)
        within = policies[returned > target]
        optimum = proof.knowledge.bases.losses.optimum
        for goal in (0.3 * ground.budget, ground.budget):
            claim = ground.claim(0, measures.size, goal)
            if claim is not None:
                assert claim.value <= optimum - proof.best + 1e-9 * scale, seed
                assert claim.steps
                claimed += 1
            assert ground.claim(0, measures.size, 0.5 * goal) is claim
        assert len(within) > 0
    assert claimed > 5


def test_a_case_with_an_action_that_is_left_out_loses_everything() -> None:
    proof = Proof.of(environment("frozenlake_4x4"), 2)
    measures = proof.measures()
    ground = ground_of(proof, measures)
    without = np.zeros((16, 4), dtype=np.bool_)
    without[3, 2] = True
    measures.leave_out(without)
    case: check.Case = (((), 0, 2),)
    value, step = ground.lost(case, measures.size, 1.0)
    assert value == np.inf
    assert (step.kind, step.without) == ("x", (3, 2))


def test_leaves_lose_no_more_together_than_their_tree_does() -> None:
    """Whether leaves are first tried by themselves or not, what they are said to lose is lost by the whole tree."""
    proof = Proof.of(environment("frozenlake_4x4"), 2)
    target = -0.1
    measures = proof.measures(target)
    ground, optimum = ground_of(proof, measures), proof.knowledge.bases.losses.optimum
    positive = 0
    for k in measures.problem.regions.dividing(0):
        left, right = measures.problem.regions.split(0, k)
        for first, second in product(range(4), repeat=2):
            case: check.Case = (((0,), left, first), ((1,), right, second))
            policy = np.where(proof.knowledge.model.sides[:, k], second, first)
            lost = optimum - float(returns_of(proof.mdp, policy[None])[0])
            for before in (None, ()):
                value, step = ground.lost(case, measures.size, ground.budget, before)
                assert step.kind == "s"
                assert value <= lost + 1e-9
                assert sum(loss.value for loss in step.losses) == pytest.approx(value)
                positive += value > 0.01
    assert positive > 50


def test_what_was_written_is_not_kept() -> None:
    loss = ProvenLoss(((0, 1),), None, b"1234", 0.5)
    loss.written(7)
    assert (loss.number, loss.vector) == (7, b"")
    claim = RegionClaim(0, check.Size(1, 2), [Step("b")], 0.5)
    claim.written(3)
    assert (claim.number, claim.steps) == (3, [])


def test_an_interrupt_ends_the_work() -> None:
    proof = Proof.of(environment("frozenlake_4x4"), 2)
    watch = Watch()
    measures = proof.measures(0.3)
    ground = ground_of(proof, measures, watch)
    watch.interrupt()
    with pytest.raises(StoppedError):
        ground.lost((((), 0, 3),), measures.size, ground.budget)


def test_a_claim_that_is_needed_stronger_grows() -> None:
    proof = Proof.of(environment("frozenlake_4x4"), 2, negligible_loss=1e-6)
    measures = proof.measures(0.3)
    ground = ground_of(proof, measures)
    grown = 0
    for k in measures.problem.regions.dividing(0):
        for region in measures.problem.regions.split(0, k):
            size = check.Size(1, 2)
            values = []
            for part in (0.01, 0.1, 1.0):
                claim = ground.claim(region, size, part * ground.budget)
                values.append(0.0 if claim is None else claim.value)
            assert values == sorted(values)
            grown += values[0] < values[-1]
    assert grown > 0
