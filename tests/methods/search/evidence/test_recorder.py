"""The recorder: what it writes convinces the checker, it objects to what would not, and interrupts leave no file."""

import signal
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificate_parts import Proof
from certificates import read
from omdt import check
from omdt.errors import FalseClaimError
from omdt.methods.search.bounds.protocol import VectorEvidence
from omdt.methods.search.evidence import recorder
from omdt.methods.search.evidence.grounds import Ground, StoppedError
from omdt.methods.search.evidence.recorder import Recorder, prove
from omdt.methods.search.nodes import Node, Partial
from omdt.methods.search.partial_tree import HOLE
from random_mdps import any_mdp, game, symmetric_game, symmetric_mdp
from strategies import environment
from tasks import random_limits
from thorough import sampled


@pytest.mark.parametrize("block", range(2))
def test_what_is_written_convinces_the_checker(block: int, tmp_path: Path) -> None:
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng(seed)
        mdp = game(rng) if seed % 4 == 0 else any_mdp(rng)
        depth, leaves = random_limits(rng)
        fields = {"nodes_per_basis": int(rng.choice([3, 500])), "cheap_states": int(rng.choice([0, 150]))}
        proof = Proof.of(mdp, min(depth or 2, 3), min(leaves or 4, 4), **fields)
        bound = prove(tmp_path / "c", proof.knowledge, proof.statement())
        rounding = 1e-9 * max(abs(proof.best), proof.knowledge.model.scale)
        assert bound >= proof.best - rounding, seed
        assert bound <= proof.solution.value + proof.statement().room + rounding, seed
        assert proof.verdict(bound, tmp_path / "c").bound == bound, seed


def pinned_proof(seed: int) -> Proof:
    """The proof of a game, with settings that make all ways to pin common."""
    rng = np.random.default_rng(seed)
    mdp = symmetric_game(rng) if seed % 3 == 0 else game(rng)
    fields = {
        "max_pins": int(rng.choice([1, 2, 20])),
        "surviving_actions": float(rng.choice([0.5, 1.0])),
        "decided_visits": float(rng.choice([0.0, 0.1, 2.0])),
        "max_pinned_bases": int(rng.choice([1, 8])),
        "nodes_per_basis": int(rng.choice([1, 3, 500])),
    }
    depth = int(rng.integers(1, 3))
    fields |= {"max_conflicts": int(rng.choice([2, 4096])), "blame_attempts": int(rng.choice([0, 5, 48]))}
    return Proof.of(mdp, depth, **fields)


@pytest.mark.parametrize("block", sampled(range(10), 2))
def test_proofs_with_pins_convince_the_checker(block: int, tmp_path: Path) -> None:
    kinds: Counter[str] = Counter()
    renamed = most_pins = 0
    for seed in range(16 * block, 16 * block + 16):
        proof = pinned_proof(seed)
        for raised in (False, True):
            statement = proof.statement(raised=raised)
            bound = prove(tmp_path / "c", proof.knowledge, statement)
            rounding = 1e-9 * max(abs(proof.best), proof.knowledge.model.scale)
            assert proof.best - rounding <= bound <= proof.solution.value + statement.room + rounding, seed
            assert proof.verdict(bound, tmp_path / "c").bound == bound, seed
            if seed % 8 == 0:
                assert proof.verdict(bound, tmp_path / "c", exact=True).bound == bound, seed
            records = read(tmp_path / "c")
            most_pins = max(most_pins, records[0][0][1].get("pins", 0))
            kinds.update(record[0] for record, _ in records[1:])
            renamed += sum(record[0] == "pin" and len(record[4]) > 0 for record, _ in records)
    assert most_pins > 1
    assert renamed > 0
    assert all(kinds[kind] > 5 for kind in ("pin", "follow", "narrow", "part", "leave", "close", "conflict")), kinds


def lake() -> Proof:
    return Proof.of(environment("frozenlake_4x4"), 2)


def test_a_raised_target_is_proven_with_less(tmp_path: Path) -> None:
    proof = lake()
    low, high = (
        prove(tmp_path / str(raised), proof.knowledge, proof.statement(target, raised=raised))
        for target, raised in ((None, False), (0.5, True))
    )
    assert low < 0.4 < high
    assert proof.verdict(high, tmp_path / "True").bound == high
    assert len(read(tmp_path / "True")) < len(read(tmp_path / "False"))


def test_a_target_below_the_best_tree_is_not_proven(tmp_path: Path) -> None:
    """The tree that returns more is evaluated, and raises the bound."""
    proof = lake()
    bound = prove(tmp_path / "c", proof.knowledge, proof.statement(0.3))
    assert bound >= proof.best
    assert proof.verdict(bound, tmp_path / "c").bound == bound


def test_above_the_optimum_the_context_is_enough(tmp_path: Path) -> None:
    proof = lake()
    bound = prove(tmp_path / "c", proof.knowledge, proof.statement(0.6))
    assert bound >= proof.solution.optimal_return
    assert proof.verdict(bound, tmp_path / "c").bound == bound
    assert [record[0] for record, _ in read(tmp_path / "c")[1:]] == ["context", "close"]


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_symmetries_that_cost_too_much_are_not_used(
    margin: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "SYMMETRY_MARGIN", margin)
    proof = Proof.of(symmetric_mdp(np.random.default_rng(0)), 1)
    assert len(proof.knowledge.symmetries) > 0
    bound = prove(tmp_path / "c", proof.knowledge, proof.statement())
    assert proof.verdict(bound, tmp_path / "c").bound == bound
    kinds = {record[0] for record, _ in read(tmp_path / "c")[1:]}
    assert ("symmetry" in kinds) == (margin > 0)


def test_what_would_not_convince_the_checker_is_objected_to() -> None:
    proof = lake()
    listener = Recorder(BytesIO(), proof.knowledge, proof.statement())
    assert not listener.inherits_vectors
    root = Node(Partial(HOLE), np.full(16, -1), (), 3)
    assert not listener.closes(root.partial, None)
    # The optimal values are far above the target.
    assert not listener.closes(root.partial, VectorEvidence(proof.knowledge.model.optimal.upper))
    assert ((), HOLE) in listener._cases


def test_cases_without_evidence_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = lake()
    monkeypatch.setattr(Recorder, "_explore", lambda self: None)
    with pytest.raises(FalseClaimError, match="1 cases of the search were closed without evidence"):
        prove(tmp_path / "c", proof.knowledge, proof.statement())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = Ground._inside

    def interrupted(self: Ground, *arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return inside(self, *arguments)

    monkeypatch.setattr(Ground, "_inside", interrupted)
    proof = lake()
    with pytest.raises(StoppedError):
        prove(tmp_path / "c", proof.knowledge, proof.statement())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_between_two_losses_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explore = Recorder._explore

    def interrupted(self: Recorder) -> None:
        explore(self)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Recorder, "_explore", interrupted)
    proof = lake()
    with pytest.raises(StoppedError):
        prove(tmp_path / "c", proof.knowledge, proof.statement())
    assert list(tmp_path.iterdir()) == []


def test_a_false_bound_is_not_accepted_with_the_certificate_of_a_true_one(tmp_path: Path) -> None:
    proof = lake()
    bound = prove(tmp_path / "c", proof.knowledge, proof.statement())
    with pytest.raises(check.RejectedError):
        proof.verdict(proof.best * (1 - 1e-6), tmp_path / "c")
    assert proof.verdict(bound, tmp_path / "c").bound == bound
