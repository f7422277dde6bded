"""Records: every line comes after all it rests on, once, and what has no evidence is an error."""

import gzip
import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import omdt
from certificate_parts import Proof
from certificates import read
from omdt import check
from omdt.errors import FalseClaimError
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.evidence.grounds import Ground
from omdt.methods.search.evidence.measures import Measures
from omdt.methods.search.evidence.recorder import prove
from omdt.methods.search.evidence.records import Records
from omdt.methods.search.evidence.steps import ProvenLoss, RegionClaim, Step
from omdt.watch import Watch
from random_mdps import any_mdp
from strategies import environment


def begun(target: float = 0.4) -> tuple[BytesIO, Proof, Measures, Records, Ground]:
    """The records of a certificate in which nothing is written but its head and first context."""
    proof = Proof.of(environment("frozenlake_4x4"), 2)
    measures, stream = proof.measures(target), BytesIO()
    bases = proof.knowledge.bases
    records = Records(stream, measures, proof.mdp.discount, bases.losses, 0)
    basis = Basis(bases.undecided, bases.losses, bases.tables(bases.losses, measures.budget, Watch()))
    context = measures.context(bases.losses.values, np.full(16, -1))
    ground = Ground(measures, basis, context, records.next_number("context"), Watch())
    records.context(ground, basis.losses.values, None)
    return stream, proof, measures, records, ground


def lines(stream: BytesIO) -> list[list[object]]:
    """All lines but the vectors between them."""
    stream.seek(0)
    with gzip.open(stream) as content:
        found = []
        while line := content.readline():
            found.append(json.loads(line))
            if isinstance(found[-1][-1], int):
                content.read(found[-1][-1])
    return found


def test_the_head_says_what_the_proof_is_about() -> None:
    stream, proof, _, records, _ = begun()
    records.end()
    head, context, end = lines(stream)
    policy = proof.solution.tree.actions(proof.mdp.features)
    assert head[0] == check.FORMAT
    assert head[1] == {
        "states": 16,
        "actions": 4,
        "questions": 6,
        "depth": 2,
        "leaves": 4,
        "discount": proof.mdp.discount,
        "policy": check.policy_digest(policy),
    }
    assert context == ["context", None, 8 * 16]
    assert end[0] == "end"


def test_numbers_count_records_of_a_kind() -> None:
    _, _, _, records, _ = begun()
    assert [records.next_number(kind) for kind in ("case", "case", "claim", "case", "claim")] == [0, 1, 0, 2, 1]
    assert records.next_number("context") == 1


def test_closures_and_branches_are_single_lines() -> None:
    stream, _, _, records, ground = begun()
    records.branch(ground, 0, 0, {("action", 3): 1, ("question", 2): 0})
    records.close_by_value(1, ground)
    records.close_by_options(2, np.zeros(16))
    records.close(3, ground, Step("b", place=4))
    records.symmetry(check.Renaming(np.arange(16), np.arange(4)))
    records.end()
    assert lines(stream)[2:-1] == [
        ["branch", 0, 0, [["action", 3, 1], ["question", 2, 0]], 0],
        ["close", 1, 0, ["value"], 0],
        ["close", 2, 0, ["options"], 8 * 16],
        ["close", 3, 0, ["b", 4], 0],
        ["symmetry", 4 * 20],
    ]


def test_what_a_step_rests_on_is_written_before_it_and_once() -> None:
    stream, _, measures, records, ground = begun()
    case = measures.origins.children((((), 0, -1),), 0, measures.size)[-1][1]
    regions = [region for _, region, _ in case]
    losses = [ProvenLoss(((region, 0),), None, np.zeros(16, dtype="<f4").tobytes(), np.inf) for region in regions]
    claim = RegionClaim(regions[0], check.Size(1, 2), [Step("b"), Step("s", losses=(losses[0],))], 0.5)
    halves = Step("h", claims=(claim, None))
    for _ in range(2):
        records.close(0, ground, halves)
        records.close(1, ground, Step("s", losses=tuple(losses), claims=(claim,)))
    records.end()
    assert [line[0] for line in lines(stream)[2:-1]] == [
        *("region", "loss", "claim", "close", "region", "loss", "close"),
        *("close", "close"),
    ]
    written = {str(line[0]): line for line in lines(stream)[2:-1]}
    assert written["claim"] == ["claim", 0, 1, 1, 2, [["b", 0], ["s", [0], []]], 0]
    assert written["close"] == ["close", 1, 0, ["s", [0, 1], [0]], 0]
    assert (claim.number, claim.steps, losses[1].number) == (0, [], 1)


def test_actions_are_left_out_once_and_only_with_evidence() -> None:
    stream, proof, measures, records, ground = begun(0.53)
    losses = proof.knowledge.bases.losses
    without = np.isinf(losses.within(measures.budget, Watch()).delta)
    s, a = (int(it) for it in np.argwhere(without)[0])
    measures.leave_out(without)
    for _ in range(2):
        records.close(0, ground, Step("x", without=(s, a)))
    records.end()
    assert [line[0] for line in lines(stream)[2:-1]] == ["without", "close", "close"]
    best = int(losses.policy[0])
    with pytest.raises(FalseClaimError, match=f"leaving out action {best} in state 0"):
        records.close(0, ground, Step("x", without=(0, best)))


def test_whole_certificates_refer_only_to_what_was_written(tmp_path: Path) -> None:
    """Regions come after their parents, and claims and closures after the losses and claims they add up."""
    kinds: set[str] = set()
    for seed in range(25):
        proof = Proof.of(any_mdp(np.random.default_rng(seed)), 2)
        prove(tmp_path / "c", proof.knowledge, proof.statement())
        count = {"region": 1, "loss": 0, "claim": 0, "context": 0}
        for record, _ in read(tmp_path / "c")[1:]:
            kind = str(record[0])
            kinds.add(kind)
            if kind == "region":
                assert record[1] < count["region"]
            if kind == "loss":
                assert record[1] < count["context"]
                assert all(region < count["region"] for region, _ in record[2])
            for step in record[5] if kind == "claim" else [record[3]] if kind == "close" else []:
                if step[0] == "s":
                    assert all(number < count["loss"] for number in step[1])
                    assert all(number < count["claim"] for number in step[2])
            if kind in count:
                count[kind] += 1
    assert {"context", "region", "loss", "claim", "branch", "close"} <= kinds


def test_questions_other_than_all_thresholds_are_stated(tmp_path: Path) -> None:
    mdp = environment("frozenlake_4x4")
    splits = omdt.Splits.of(mdp, features=mdp.feature_names[:1])
    solution = omdt.solve(mdp, max_depth=1, splits=splits, certificate=tmp_path / "c")
    assert solution.questions is not None
    head = read(tmp_path / "c")[0][0][1]
    assert check.Questions.read(head["asks"]) == solution.questions
