"""Proofs by ranges: every certificate of the coarse search is accepted, and nothing that is false, however changed."""

import json
import math
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omdt
from brute_force import best_return
from certificates import Certified, Records, read, write
from omdt import check
from omdt.certificate import model_of
from omdt.errors import InputError, InputWarning
from omdt.mdp import MDP
from omdt.methods.search.evidence.ranges import RangeRecorder
from omdt.methods.search.settings import SearchSettings
from random_mdps import random_mdp
from tasks import policies_of_trees
from total_tasks import TotalTask

COARSE = SearchSettings(dense_states=0)
"""Settings with which the fine search takes no problem."""


@dataclass(frozen=True)
class Recorded(Certified):
    """A solved problem with its certificate, and the best figure of any tree within the limits."""

    best: Fraction | float

    @classmethod
    def discounted(cls, seed: int, path: Path) -> "Recorded":
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        depth, leaves = int(rng.integers(0, 4)), int(rng.integers(1, 6))
        gap = float(rng.choice([1e-6, 1e-4, 0.1]))
        size = {"max_depth": depth, "max_leaf_nodes": leaves}
        solution = omdt.solve(mdp, **size, gap=gap, certificate=path, settings=COARSE)
        P = mdp.transitions.toarray().reshape(*mdp.rewards.shape, mdp.n_states)
        arrays = (P, mdp.rewards, mdp.initial, mdp.features, mdp.discount)
        return cls(mdp, solution, path, best_return(*arrays, max_depth=depth, max_leaves=leaves))

    @classmethod
    def total(cls, seed: int, path: Path, **limits: Any) -> "Recorded":
        task = TotalTask.random(np.random.default_rng(seed))
        mdp = replace(task.mdp, labels={"target": task.target, "staying": task.staying})
        depth, leaves = task.size
        size = {"max_depth": depth, "max_leaf_nodes": leaves}
        solution = omdt.solve(mdp, splits=task.splits, objective=labelled(task), certificate=path, **size, **limits)
        return cls(mdp, solution, path, task.best)

    @property
    def minimised(self) -> bool:
        return self.solution.sense == "min"


def labelled(task: TotalTask) -> omdt.Objective:
    """The objective of a task, with labels instead of arrays."""
    if task.kind in ("reach", "until"):
        staying = "staying" if task.kind == "until" else None
        return omdt.Objective.reach("target", staying=staying, maximise=task.maximise)
    return omdt.Objective.total(until="target" if task.kind == "total until" else None, maximise=task.maximise)


@pytest.mark.parametrize("block", range(4))
def test_every_discounted_proof_is_accepted(block: int, tmp_path: Path) -> None:
    for seed in range(25 * block, 25 * block + 25):
        recorded = Recorded.discounted(seed, tmp_path / "c")
        best = float(recorded.best)
        scale = np.abs(recorded.mdp.rewards).max() / (1 - recorded.mdp.discount)
        assert recorded.solution.proven or abs(best) < 1e-6 * scale, seed
        assert recorded.solution.bound >= best - 1e-9 * abs(best), seed
        assert recorded.check().bound == recorded.solution.bound, seed
        assert recorded.check(exact=True).bound == recorded.solution.bound, seed


@pytest.mark.parametrize("block", range(6))
def test_every_proof_without_a_discount_is_accepted(block: int, tmp_path: Path) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(40 * block, 40 * block + 40):
        recorded = Recorded.total(seed, tmp_path / "c")
        solution = recorded.solution
        assert solution.proven, seed
        # Bounds are compared as rational numbers.
        assert solution.bound <= recorded.best if recorded.minimised else solution.bound >= recorded.best, seed
        for exact in (False, True):
            verdict = recorded.check(exact=exact)
            assert (verdict.bound, verdict.objective) == (solution.bound, solution.objective), seed
        kinds["infinite" if math.isinf(solution.bound) else "finite"] += 1
    assert kinds["infinite"] > 0
    assert kinds["finite"] > 10


def test_an_unfinished_search_has_a_certificate(tmp_path: Path) -> None:
    mdp, path = omdt.make("frozenlake_8x8"), tmp_path / "c"
    for nodes, memory in ((40, 2048), (400, 2048), (400, 1)):
        limits = {"max_depth": 3, "node_limit": nodes, "memory_limit": memory}
        solution = omdt.solve(mdp, **limits, certificate=path, settings=COARSE)
        assert not solution.proven
        without = omdt.solve(mdp, **limits, settings=COARSE)
        assert solution.bound == pytest.approx(without.bound, rel=1e-3)
        assert check.check(model_of(mdp), solution.to_dict(), path).bound == solution.bound


def changed(records: Records, rng: np.random.Generator) -> Records:
    """A certificate with one thing changed at random."""
    records = [(json.loads(json.dumps(record)), raw) for record, raw in records]
    i = int(rng.integers(1, len(records)))
    record, raw = records[i]
    way = int(rng.integers(6))
    if way == 0:
        del records[i]
    elif way == 1:
        records.insert(i, records[int(rng.integers(1, len(records)))])
    elif record[0] == "decide":
        if way < 4 and record[2]:
            record[2] = record[2][:-1] if rng.random() < 0.5 else [1 - record[2][0], *record[2][1:]]
        elif record[3] is not None:
            record[3] += int(rng.choice([-1, 1]))
        else:
            record[3] = 1
    elif way == 2:
        record[1] = record[1][:-1] if rng.random() < 0.5 else [*record[1], int(rng.integers(20))]
    elif way == 3:
        record[2] += int(rng.choice([-1, 1]))
    elif way == 4:
        record[3] = not record[3]
    else:
        content = bytearray(raw)
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        records[i] = (record, bytes(content))
    return records


@pytest.mark.parametrize("block", range(4))
def test_nothing_false_is_accepted(block: int, tmp_path: Path) -> None:
    rng, tried = np.random.default_rng(block), 0
    for seed in range(30 * block, 30 * block + 30):
        kind = Recorded.total if seed % 2 else Recorded.discounted
        recorded = kind(1000 + seed, tmp_path / "c")
        records, best = read(recorded.path), float(recorded.best)
        # The fine search takes problems without cycles, of any number of states.
        if math.isinf(best) or records[0][0][1].get("proof") != check.RANGES:
            continue
        size = abs(best) if abs(best) > 1e-6 else 1.0
        for part in (1e-6, 1e-3, 0.1):
            false = best + part * size if recorded.minimised else best - part * size
            for _ in range(4):
                tried += 1
                assert not recorded.accepts(changed(records, rng), bound=false), (seed, part)
    assert tried > 150


def test_no_record_is_superfluous(tmp_path: Path) -> None:
    """Every decision and every vector is needed."""
    for seed in (3, 8, 20, 21):
        recorded = Recorded.total(seed, tmp_path / "c")
        records = read(recorded.path)
        assert recorded.accepts(records)
        for i in range(1, len(records)):
            if not math.isinf(recorded.solution.bound):
                assert not recorded.accepts(records[:i] + records[i + 1 :]), (seed, i)


# ---- A problem whose certificate is short enough to change it by hand ------------------------------------------------


def crossing() -> MDP:
    """Four places in a row, then the goal; one falls less often by running on even places, by walking on odd ones."""
    P, rewards = np.zeros((6, 2, 6)), np.zeros((6, 2))
    for s in range(4):
        P[s, s % 2, [s + 1, 5]] = 0.9, 0.1
        P[s, 1 - s % 2, [s, s + 1, 5]] = 0.2, 0.6, 0.2
        rewards[s] = 1.0
    P[4, :, 4] = P[5, :, 5] = 1.0
    x = np.arange(6.0)
    return MDP.from_dense(
        P,
        rewards,
        np.eye(6)[0],
        x,
        feature_names=("x",),
        action_names=("run", "walk"),
        labels={"goal": x == 4, "down": x == 5, "up": x < 5},
        reward_models={"time": rewards},
    )


PROPERTIES = [
    'Pmax=? [F "goal"]',
    'Pmin=? [F "down"]',
    'Pmin=? ["up" U x>=4]',
    'Pmax=? [G !"down"]',
    "Pmin=? [G x<4]",
    'R{"time"}min=? [F "goal" | "down"]',
    'R{"time"}max=? [F x=4 | x=5]',
    'R{"time"}min=? [C]',
    'R{"time"}max=? [Cdiscount=0.5]',
    'R{"time"}min=? [F "goal"]',
]


def crossed(text: str, path: Path, **rest: Any) -> Recorded:
    mdp = crossing()
    solution = omdt.solve(mdp, max_depth=1, objective=omdt.Objective.parse(text), certificate=path, **rest)
    return Recorded(mdp, solution, path, solution.value)


@pytest.mark.parametrize("text", PROPERTIES)
def test_every_kind_of_property_is_proven_and_checked(text: str, tmp_path: Path) -> None:
    recorded = crossed(text, tmp_path / "c", settings=COARSE)
    assert recorded.solution.proven
    for exact in (False, True):
        assert recorded.check(exact=exact).objective == recorded.solution.objective
    assert check.words(recorded.check()).startswith(f"VERIFIED: the value of {recorded.solution.objective} is")
    for wrong in (1.0, 1e-9):
        if math.isfinite(recorded.solution.value):
            with pytest.raises(check.RejectedError, match="the solution claims"):
                recorded.check(value=recorded.solution.value + wrong)


@pytest.mark.parametrize("text", PROPERTIES)
def test_a_certificate_of_another_objective_is_refused(text: str, tmp_path: Path) -> None:
    """Neither a solution of another objective is accepted, nor with a certificate that is made to name it."""
    recorded = crossed(text, tmp_path / "c", settings=COARSE)
    records = read(recorded.path)
    for other in PROPERTIES:
        solution = omdt.solve(recorded.mdp, max_depth=1, objective=omdt.Objective.parse(other))
        if other == text or math.isinf(solution.value):
            continue
        false = solution.value * (1.001 if solution.sense == "min" else 0.999)
        told = {key: solution.to_dict()[key] for key in ("objective", "discount", "sense", "value")}
        assert not recorded.accepts(records, **told), other
        head = records[0][0][1] | {"objective": other, "discount": solution.discount}
        assert not recorded.accepts([([check.FORMAT, head], b""), *records[1:]], **told, bound=false), other


def tight(text: str, path: Path) -> tuple[Recorded, Records]:
    """A certificate whose bound is just what it shows."""
    recorded = crossed(text, path, settings=COARSE)
    return recorded, read(path)


def with_vector(records: Records, i: int, change: dict[int, float]) -> Records:
    """The certificate with other numbers, relative to the old ones, in one vector, and the same ones in all others."""
    vectors, previous = [], np.zeros(6)
    for record, raw in records[1:]:
        if record[0] == "close":
            previous = check.decoded(raw, record[2], previous)
            vectors.append(previous.copy())
    for state, amount in change.items():
        vectors[i][state] += amount
    again, number, previous = records[:1], 0, np.zeros(6)
    for record, raw in records[1:]:
        if record[0] == "close":
            exponent = min(record[2], -40)
            multiples = np.ldexp(vectors[number], -exponent).astype(np.int64) - check.based_on(previous, exponent)
            codes = (multiples << 1) ^ (multiples >> 63)
            raw = b"".join((codes >> (8 * plane)).astype(np.uint8).tobytes() for plane in range(7))
            record, previous, number = [*record[:2], exponent, record[3]], vectors[number], number + 1
        again.append((record, raw))
    return again


@pytest.mark.parametrize("text", ['Pmax=? [F "goal"]', 'R{"time"}min=? [F "goal" | "down"]', 'Pmin=? [F "down"]'])
def test_a_number_that_is_lowered_is_refused(text: str, tmp_path: Path) -> None:
    recorded, records = tight(text, tmp_path / "c")
    closing = [record for record, _ in records if record[0] == "close"]
    refused = 0
    for i in range(len(closing)):
        assert recorded.accepts(with_vector(records, i, {}))
        # In state 0 everything is counted from, so a lower number there is refused wherever it is tight at all.
        refused += not recorded.accepts(with_vector(records, i, {0: -0.25}))
        assert not recorded.accepts(with_vector(records, i, {4: -0.25, 5: -0.25}))
        assert not recorded.accepts(with_vector(records, i, {0: 2.0}))
    assert refused == len(closing)


def test_the_cover_must_be_complete(tmp_path: Path) -> None:
    recorded, records = tight('Pmax=? [F "goal"]', tmp_path / "c")
    decisions = [i for i, (record, _) in enumerate(records) if record[0] == "decide"]
    closings = [i for i, (record, _) in enumerate(records) if record[0] == "close"]
    assert len(decisions) > 3
    assert len(closings) > 3
    for i in closings:
        write(recorded.path, records[:i] + records[i + 1 :])
        with pytest.raises(check.RejectedError):
            recorded.check()
    for i, message in ((decisions[0], "not open"), (closings[0], "left open|is raised|not open|allows")):
        write(recorded.path, records[:i] + records[i + 1 :])
        with pytest.raises(check.RejectedError, match=message):
            recorded.check()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (["decide", 7, [], None, 0], "node 7 is not open"),
        (["decide", 0, [0], None, 0], "leads out of the tree"),
        (["decide", 0, [2], None, 0], "neither left"),
        (["decide", 0, [], 1, 0], "nothing to decide"),
        (["decide", 0, [0] * 200, None, 0], "too long|leads out"),
        (["decide", 0, [], 0], "neither a decision"),
        (["decide", "0", [], None, 0], "not a whole number"),
        (["close", [0], 0, 0, 0], "no truth value"),
        (["close", [0], 5000, False, 0], "cannot be of multiples"),
        (["close", 0, 0, False, 0], "not a list"),
        (["close", [0], 0, False, 7], "bytes"),
        (["close", [0], 0, False, 6], "is raised|is below|allows"),
        (["follow", 0], "neither a decision"),
        ([], "neither a decision|number of bytes"),
    ],
)
def test_records_that_are_wrong_are_refused(record: list[Any], message: str, tmp_path: Path) -> None:
    recorded, records = tight('Pmax=? [F "goal"]', tmp_path / "c")
    length = record[-1] if record and isinstance(record[-1], int) else 0
    body = record[:-1] if len(record) > 1 else record
    write(recorded.path, [records[0], (body, b"\0" * length)])
    with pytest.raises((check.RejectedError, check.UnreadableError), match=message):
        recorded.check()


def test_what_is_earned_in_the_limit_must_be_shown() -> None:
    """In a circle without costs every vector that is the same everywhere is kept by all choices, but proves nothing."""
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, 0, 0] = P[1, 1, 2] = P[2, :, 2] = 1.0
    mdp = MDP.from_dense(P, np.zeros((3, 2)), np.eye(3)[0], np.arange(3.0), labels={"end": np.arange(3) == 2})
    everything = np.ones((3, 2), dtype=np.bool_)

    def shown(text: str, V: list[float], *, exact: bool = False, reward: float = 0.0) -> float:
        model = replace(model_of(mdp), reward_models={"r": np.full((3, 2), reward)})
        induction = check.Induction(model, check.read_asked(model, text, 1.0), exact=exact)
        return float(induction.bound(induction.numbers(np.array(V)), everything, narrow=False))

    for exact in (False, True):
        # The largest probability to avoid the end is 1, so −1 is no bound on its negative, and 0 is.
        with pytest.raises(check.RejectedError, match="in the limit"):
            shown('Pmin=? [F "end"]', [-1.0, -1.0, -1.0], exact=exact)
        assert shown('Pmin=? [F "end"]', [0.0, 0.0, -1.0], exact=exact) == 0.0
        # Going to the end costs nothing, so it costs no less than 5.
        with pytest.raises(check.RejectedError, match="is raised"):
            shown('R{"r"}min=? [F "end"]', [-5.0, -5.0, 0.0], exact=exact)
        with pytest.raises(check.RejectedError, match="in the limit"):
            shown('R{"r"}max=? [F "end"]', [5.0, 5.0, 0.0], exact=exact)
        with pytest.raises(check.RejectedError, match="is raised"):
            shown('R{"r"}max=? [C]', [5.0, 5.0, 5.0], exact=exact, reward=1.0)
        with pytest.raises(check.RejectedError, match="below the final reward"):
            shown('Pmax=? [F "end"]', [0.5, 0.5, 0.5], exact=exact)


def test_every_tree_is_below_a_node() -> None:
    """Whatever is decided, and in whatever order, no policy of a tree is lost."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        task = TotalTask.random(rng)
        stated = omdt.questions.questions_of(task.mdp, task.splits) or check.Questions()
        ladders = check.Ladders(stated, task.mdp.features, task.mdp.feature_names)
        depth, leaves = task.size
        shape = task.mdp.rewards.shape
        growth = check.Growth(ladders, check.Size(min(depth, leaves - 1), leaves), *shape)
        found, waiting = set(), [growth.root]
        while waiting:
            tree = waiting.pop()
            ways = decisions(tree)
            if not ways:
                chosen = check.choices(tree, ladders, shape)
                assert (chosen.sum(axis=1) == 1).all()
                found.add(tuple(chosen.argmax(axis=1).tolist()))
                continue
            waiting += growth.children(tree, *ways[int(rng.integers(len(ways)))])
        everything = {
            tuple(int(a) for a in policy) for policy in policies_of_trees(task.mdp, task.splits.sides(), *task.size)
        }
        assert found == everything, seed


def decisions(tree: check.CoarseTree, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], int | None]]:
    """Everything that can be decided about a coarse tree."""
    if isinstance(tree, check.Undecided):
        return [(path, None)]
    if isinstance(tree, check.Leaf):
        return []
    own: list[tuple[tuple[int, ...], int | None]] = [(path, k) for k in range(tree.asked.low + 1, tree.asked.high)]
    return own + decisions(tree.left, (*path, 0)) + decisions(tree.right, (*path, 1))


# ---- Where certificates come from and go to --------------------------------------------------------------------------


def test_many_states_have_a_certificate(tmp_path: Path, run: Any) -> None:
    """A lake with more states than the fine search takes."""
    output, proof = tmp_path / "s.json", tmp_path / "c"
    words = ["frozenlake", "--set", "size=40", "--set", "seed=3", "--depth", "1"]
    assert run("solve", *words, "--output", output, "--certificate", proof)[0] == 0
    status, out, _ = run("check", output, "--certificate", proof)
    assert (status, out[:9]) == (0, "VERIFIED:")
    assert "nodes" in out
    assert "vectors" in out
    data = json.loads(output.read_text())
    output.write_text(json.dumps(data | {"bound": data["value"] * (1 + 1e-6)}))
    status, out, _ = run("check", output, "--certificate", proof)
    assert (status, out[:13]) == (1, "NOT VERIFIED:")


@pytest.mark.parametrize("text", PROPERTIES)
def test_the_checker_alone_reads_labels_and_rewards(text: str, tmp_path: Path) -> None:
    recorded = crossed(text, tmp_path / "c")
    recorded.solution.save(tmp_path / "s.json")
    omdt.write(recorded.mdp, tmp_path / "m.npz")
    words = [sys.executable, "-m", "omdt.check", "s.json", "m.npz", "--certificate", "c"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("VERIFIED")


def test_an_objective_that_no_file_states_has_no_certificate(tmp_path: Path) -> None:
    mdp = crossing()
    objective = omdt.Objective.reach(np.arange(6) == 4)
    with pytest.raises(InputError, match="a certificate cannot state the objective: the model has no label 'target'"):
        omdt.solve(mdp, max_depth=1, objective=objective, certificate=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_an_interrupt_at_the_end_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: RangeRecorder, *rest: object) -> None:
        raise omdt.watch.OutOfTimeError

    monkeypatch.setattr(RangeRecorder, "_close_together", interrupted)
    mdp = omdt.make("frozenlake_8x8")
    with pytest.warns(InputWarning, match="was not written because of an interrupt"):
        omdt.solve(mdp, max_depth=3, node_limit=100, certificate=tmp_path / "c", settings=COARSE)
    assert list(tmp_path.iterdir()) == []


def test_a_bound_without_evidence_has_no_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omdt.methods.search.evidence.vectors.raised", lambda *arguments: None)
    mdp = omdt.make("frozenlake_4x4")
    with pytest.warns(InputWarning, match="was not written: no vector that a certificate can hold"):
        solution = omdt.solve(mdp, max_depth=1, certificate=tmp_path / "c", settings=COARSE)
    assert solution.bound == pytest.approx(omdt.solve(mdp, max_depth=1).bound, rel=1e-4)
    assert list(tmp_path.iterdir()) == []
