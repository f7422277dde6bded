"""Certificates under rules: all that the search writes are accepted, and no claim about other rules that is false."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omdt
from certificates import Certified, Records, read
from omdt import MDP, Rules, check, planning
from omdt.certificate import model_of
from omdt.check.chain import Chain
from omdt.check.evaluation import Evaluation
from omdt.check.induction import Induction
from omdt.errors import InputError
from rules.brute import Problem, plain
from rules.random_rules import KINDS, random_problem
from total_tasks import TotalTask

GAP = 1e-6

MOST_TREES = 3000
"""Maximum number of trees that are tried to see whether a claim is true."""


@dataclass(frozen=True)
class Ruled(Certified):
    """A problem under rules that was solved with a certificate."""

    problem: Problem

    @classmethod
    def of(cls, seed: int, path: Path, *kinds: str) -> "Ruled | None":
        """The solution of a random problem; None if no tree keeps its rules."""
        problem = random_problem(np.random.default_rng(seed), kinds or None)
        size = {"max_depth": problem.max_depth, "max_leaf_nodes": problem.max_leaves}
        rules = {"rules": problem.rules, "unavailable": problem.unavailable}
        try:
            solution = omdt.solve(problem.mdp, **size, **rules, gap=GAP, certificate=path)
        except InputError as error:
            if not str(error).startswith("no tree"):
                raise
            return None
        return cls(problem.mdp, solution, path, problem)

    @property
    def stated(self) -> dict[str, Any]:
        """The rules of the solution, as its file states them."""
        return json.loads(json.dumps(self.solution.to_dict().get("stated_rules", {})))

    @property
    def tolerance(self) -> float:
        """Differences of returns that are rounding."""
        return 1e-8 * max(1.0, self.problem.scale)

    def accepts_rules(self, stated: dict[str, Any], records: Records) -> bool:
        """Whether solution and certificate are accepted if both state other rules."""
        head = {name: value for name, value in records[0][0][1].items() if name != "rules"}
        head |= {"rules": stated} if stated else {}
        changed = [([records[0][0][0], head], b""), *records[1:]]
        count = check.Statement(stated).count
        return self.accepts(changed, stated_rules=stated, rules=["a rule"] * count)

    def is_true_under(self, stated: dict[str, Any]) -> bool:
        """Whether the tree keeps other rules with the same net value, and no tree that does returns more.

        Where there are too many trees, or rounding decides, nothing is known, and it counts as true.
        """
        size = {"max_depth": self.solution.max_depth, "max_leaves": self.solution.max_leaf_nodes}
        other = replace(self.problem, rules=Rules.from_dict(stated), **size)
        if sum(1 for _ in islice(other.trees(), MOST_TREES + 1)) > MOST_TREES:
            return True
        own = other.judged(plain(self.solution.tree))
        best = other.best
        doubtful = own.doubtful or best.doubtful
        same = abs(own.value - self.solution.value) <= self.tolerance
        most = -np.inf if best.value is None else best.value
        return doubtful or (not own.broken and same and most <= self.solution.bound + self.tolerance)


def check_accepted(ruled: Ruled, seed: int) -> None:
    """Assert that a certificate is accepted in both arithmetics, and that its bound is true."""
    best = ruled.problem.best
    assert ruled.path.exists(), seed
    for exact in (False, True):
        verdict = ruled.check(exact=exact)
        assert verdict.bound == ruled.solution.bound, seed
        assert verdict.unread == 0, seed
    if not best.doubtful:
        assert best.value is not None, seed
        assert ruled.solution.bound >= best.value - ruled.tolerance, seed


@pytest.mark.parametrize("kind", KINDS)
def test_certificates_under_every_rule_are_accepted(kind: str, tmp_path: Path) -> None:
    found = 0
    for seed in range(12):
        ruled = Ruled.of(seed, tmp_path / "c", kind)
        if ruled is not None:
            found += 1
            check_accepted(ruled, seed)
    assert found >= 3


@pytest.mark.parametrize("block", range(4))
def test_certificates_under_several_rules_are_accepted(block: int, tmp_path: Path) -> None:
    found = 0
    for seed in range(1000 + 40 * block, 1040 + 40 * block):
        ruled = Ruled.of(seed, tmp_path / "c")
        if ruled is not None:
            found += 1
            check_accepted(ruled, seed)
    assert found >= 20


def without_one(stated: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The statements in which one rule is missing; `order` says nothing alone."""
    for name, value in stated.items():
        rest = {key: it for key, it in stated.items() if key != name}
        if isinstance(value, list) and name not in ("features", "without", "categorical", "order") and len(value) > 1:
            for i in range(len(value)):
                yield {**rest, name: value[:i] + value[i + 1 :]}
        elif name != "order":
            yield rest


def relaxed(stated: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The statements in which a number or a node is another one."""
    for name in ("prices", "prices_once"):
        if any(stated.get(name, {}).values()):
            yield {**stated, name: {key: price / 2 for key, price in stated[name].items()}}
    if "max_leaves" in stated:
        yield {**stated, "max_leaves": {key: most + 1 for key, most in stated["max_leaves"].items()}}
    if "max_features" in stated:
        yield {**stated, "max_features": stated["max_features"] + 1}
    if stated.get("min_share"):
        yield {**stated, "min_share": stated["min_share"] / 2}
    for i, text in enumerate(stated.get("at_most", [])):
        name, sign, limit = text.split(" ")
        for step in (-0.5, 0.5):
            limits = [*stated["at_most"]]
            limits[i] = f"{name} {sign} {float(limit) + step!r}"
            yield {**stated, "at_most": limits}
    if "keep" in stated:
        yield {**stated, "keep": {"open": True}}
        for node in other_nodes(stated["keep"]):
            yield {**stated, "keep": node}


def other_nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A kept tree in which another number is asked, or a side is open."""
    if "feature" in node:
        number = "equals" if "equals" in node else "threshold"
        yield {**node, number: node[number] + 0.125}
        for side in ("left", "right"):
            if not node[side].get("open"):
                yield {**node, side: {"open": True}}


@pytest.mark.parametrize("block", range(3))
def test_a_claim_about_other_rules_is_rejected(block: int, tmp_path: Path) -> None:
    """A certificate is about its own rules; if it is changed as well, nothing false is accepted."""
    tried = false = 0
    for seed in range(2000 + 30 * block, 2030 + 30 * block):
        ruled = Ruled.of(seed, tmp_path / "c")
        if ruled is None:
            continue
        records, stated = read(ruled.path), ruled.stated
        for other in [*without_one(stated), *relaxed(stated)]:
            tried += 1
            words = ["a rule"] * check.Statement(other).count
            assert not ruled.accepts(records, stated_rules=other, rules=words), (seed, other)
            # What may be asked is also stated by the questions of the claim, which stay as they are.
            same_questions = all(stated.get(name) == other.get(name) for name in ("features", "without", "categorical"))
            if same_questions and not ruled.is_true_under(other):
                false += 1
                assert not ruled.accepts_rules(other, records), (seed, other)
        assert ruled.accepts(records), seed
    assert tried > 30
    assert false >= 3


def test_a_rule_that_is_dropped_from_the_statement_alone_is_missed(tmp_path: Path) -> None:
    """The solution has its rules in words, too."""
    for seed in range(6):
        ruled = Ruled.of(seed, tmp_path / "c", "root")
        assert ruled is not None
        with pytest.raises(check.RejectedError, match="rules in words only"):
            ruled.check(stated_rules={})
        with pytest.raises(check.UnreadableError, match="but has 0 in words"):
            ruled.check(rules=[])


def changed(records: Records, rng: np.random.Generator) -> Records:
    """A certificate in which a vector, its weights or a decision is another one."""
    records = [(json.loads(json.dumps(record)), raw) for record, raw in records]
    i = int(rng.integers(1, len(records)))
    record, raw = records[i]
    if rng.random() < 0.2 or record[0] == "decide":
        del records[i]
    elif len(record) == 5 and rng.random() < 0.6:
        weights = record[4]
        way = str(rng.choice(["earned", "ceilings", "shares"]))
        if way == "earned":
            weights["earned"] = 1 - weights["earned"]
        elif way == "ceilings":
            weights["ceilings"] = [float(factor * rng.choice([0.0, 0.5, -1.0])) for factor in weights["ceilings"]]
        else:
            weights["shares"] = [[path, 10 * factor] for path, factor in weights["shares"]]
    else:
        content = bytearray(raw)
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        records[i] = (record, bytes(content))
    return records


@pytest.mark.parametrize("kinds", [("at_most",), ("min_share",), ("prices", "keep"), ("monotone", "prices_once")])
def test_nothing_false_is_accepted(kinds: tuple[str, ...], tmp_path: Path) -> None:
    rng, tried = np.random.default_rng(0), 0
    for seed in range(3000, 3015):
        ruled = Ruled.of(seed, tmp_path / "c", *kinds)
        if ruled is None or ruled.problem.best.doubtful or ruled.problem.best.value is None:
            continue
        records, best = read(ruled.path), ruled.problem.best.value
        for part in (1e-5, 1e-2):
            false = best - part * max(1.0, ruled.problem.scale)
            for attempt in [records, *(changed(records, rng) for _ in range(4))]:
                tried += 1
                assert not ruled.accepts(attempt, bound=false), (seed, part)
    assert tried >= 40


def corridor() -> MDP:
    """Five places in a row; running is faster and takes more energy; the goal is the last one."""
    P, rewards, energy = np.zeros((5, 2, 5)), np.full((5, 2), -1.0), np.zeros((5, 2))
    for s in range(4):
        P[s, 0, s + 1] = 1.0
        P[s, 1, min(s + 2, 4)] = 1.0
        energy[s] = 1.0, 3.0
    P[4, :, 4], rewards[4] = 1.0, 0.0
    return MDP.from_dense(
        P,
        rewards,
        np.eye(5)[0],
        np.arange(5.0),
        feature_names=("x",),
        action_names=("walk", "run"),
        discount=0.9,
        labels={"late": np.arange(5) >= 2},
        reward_models={"energy": energy},
    )


def solved(path: Path, rules: Rules, **limits: Any) -> Certified:
    mdp = corridor()
    return Certified(mdp, omdt.solve(mdp, max_depth=1, rules=rules, certificate=path, **limits), path)


@pytest.mark.parametrize(
    ("tree", "most", "fragment"),
    [
        ({"action": "run"}, 5, "its action there is not allowed"),
        ({"action": "walk"}, 5, "the solution claims"),
        ({"feature": "x", "threshold": 0.5, "left": {"action": "run"}, "right": {"action": "walk"}}, 4, "is beyond"),
    ],
)
def test_the_tree_must_obey(tree: dict[str, Any], most: int, fragment: str, tmp_path: Path) -> None:
    rules = Rules(forbid=['run: "late" and x >= 3 or x = 3'], at_most=[f"energy <= {most}"])
    case = solved(tmp_path / "c", rules)
    assert case.check().rules == f"forbid: ['run: \"late\" and x >= 3 or x = 3']; at_most: ['energy <= {most}']"
    with pytest.raises(check.RejectedError, match=fragment):
        case.check(tree=tree)


@pytest.mark.parametrize(
    ("rules", "tree", "fragment"),
    [
        (
            Rules(max_leaves={"walk": 0}),
            {"feature": "x", "threshold": 1.5, "left": {"action": "run"}, "right": {"action": "walk"}},
            "too many leaves name 'walk'",
        ),
        (
            Rules(monotone=["x:down"]),
            {"feature": "x", "threshold": 1.5, "left": {"action": "walk"}, "right": {"action": "run"}},
            "its action there is not allowed",
        ),
        (
            Rules(min_share=0.4),
            {"feature": "x", "threshold": 2.5, "left": {"action": "run"}, "right": {"action": "walk"}},
            "the leaf tree.right has too small a share",
        ),
        (
            Rules(max_features=0),
            {"feature": "x", "threshold": 2.5, "left": {"action": "run"}, "right": {"action": "walk"}},
            "too many features",
        ),
        (
            Rules(keep={"feature": "x", "threshold": 2.5, "left": {"open": True}, "right": {"action": "walk"}}),
            {"feature": "x", "threshold": 2.25, "left": {"action": "run"}, "right": {"action": "walk"}},
            "does not keep the question at tree",
        ),
        (
            Rules(keep={"feature": "x", "threshold": 2.5, "left": {"open": True}, "right": {"action": "walk"}}),
            {"feature": "x", "threshold": 2.5, "left": {"action": "run"}, "right": {"action": "run"}},
            "does not keep tree.right",
        ),
    ],
)
def test_what_the_tree_breaks_is_named(rules: Rules, tree: dict[str, Any], fragment: str, tmp_path: Path) -> None:
    case = solved(tmp_path / "c", rules)
    assert case.check().bound == case.solution.bound
    with pytest.raises(check.RejectedError, match=fragment):
        case.check(tree=tree)


def test_questions_are_those_that_the_rules_leave(tmp_path: Path) -> None:
    mdp = omdt.make("frozenlake_4x4")
    solution = omdt.solve(mdp, max_depth=1, rules=Rules(without=["Y"]), certificate=tmp_path / "c")
    case = Certified(mdp, solution, tmp_path / "c")
    assert case.check().rules == "without: ['Y']"
    with pytest.raises(check.UnreadableError, match="are not those that its rules leave"):
        case.check(questions=None)
    asks = {"feature": "Y", "threshold": 1.5, "left": {"action": "Left"}, "right": {"action": "Left"}}
    with pytest.raises(check.RejectedError, match=r"the solution claims|its rules do not allow"):
        case.check(tree=asks)
    with pytest.raises(check.RejectedError, match="under other rules"):
        case.check(stated_rules={})


@pytest.mark.parametrize(
    ("stated", "fragment"),
    [
        ({"sides": 2}, "is no rule"),
        ({"forbid": ["fly: x > 1"]}, "is about no action"),
        ({"forbid": ["run: y > 1"]}, "no feature 'y'"),
        ({"forbid": ["run: x >"]}, "expected a name"),
        ({"root": "y"}, "unknown feature 'y'"),
        ({"prices": {"x": -1}}, "negative"),
        ({"prices": {"y": 1}}, "unknown 'y'"),
        ({"at_most": ["time <= 3"]}, "is about nothing known"),
        ({"at_most": ["energy = 3"]}, "says neither <= nor >="),
        ({"monotone": ["x:sideways"]}, "unknown feature"),
        ({"order": ["walk"], "monotone": ["x"]}, "every action once"),
        ({"min_share": 2}, "more than 1"),
        ({"keep": {"open": 1}}, "is no open place"),
        ({"keep": {"open": True, "depth": -1}}, "of an open place"),
        ({"max_leaves": {"fly": 1}}, "unknown 'fly'"),
    ],
)
def test_rules_that_mean_nothing_are_unreadable(stated: dict[str, Any], fragment: str, tmp_path: Path) -> None:
    case = solved(tmp_path / "c", Rules(root="x"))
    with pytest.raises(check.UnreadableError, match=fragment):
        case.check(stated_rules=stated, rules=["a rule"] * 5)


def test_probabilities_under_rules_are_certified(tmp_path: Path) -> None:
    mdp = omdt.make("frozenlake_4x4")
    mdp = replace(mdp, labels={"goal": np.arange(mdp.n_states) == mdp.n_states - 1})
    rules = Rules(max_features=1, prices={"X": 0.001}, monotone=["X"])
    limits = {"max_depth": 2, "objective": 'Pmax=? [F "goal"]', "rules": rules}
    solution = omdt.solve(mdp, **limits, certificate=tmp_path / "c", node_limit=3000)
    verdict = check.check(model_of(mdp), solution.to_dict(), tmp_path / "c")
    assert verdict.bound == solution.bound
    assert "obeys the rules" in check.words(verdict)


def test_visits_without_a_discount_are_those_of_the_package() -> None:
    """A state of a class that is never left counts as often as the class is entered there."""
    closed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        task = TotalTask.random(rng, "reach")
        mdp = replace(task.mdp, labels={"target": task.target})
        problem = omdt.Objective.reach("target").problem(mdp)
        model, policy = model_of(mdp), rng.integers(mdp.n_actions, size=mdp.n_states)
        evaluation = Evaluation(model, check.read_asked(model, 'Pmax=? [F "target"]', 1.0), policy, exact=False)
        visits = planning.occupancies(problem, policy).value
        for s in np.flatnonzero(~problem.terminal):
            total = evaluation.visits(1.0 * (np.arange(mdp.n_states) == s), problem.terminal)
            assert total.low == pytest.approx(visits[s], rel=1e-9, abs=1e-12), (seed, s)
        ended = Chain(Induction(model, evaluation.asked), policy).closed_classes(problem.terminal)
        closed += bool(ended.any())
    assert closed > 3


def test_the_command_tells_the_rules_that_were_verified(run, tmp_path: Path) -> None:
    solution, proof = tmp_path / "policy.json", tmp_path / "proof"
    asked = ("--depth", 2, "--forbid", "Left: X > 1", "--output", solution, "--certificate", proof)
    status, _, err = run("solve", "frozenlake_4x4", *asked)
    assert status == 0, err
    status, out, err = run("check", solution, "--certificate", proof)
    assert (status, err) == (0, "")
    assert "that obeys the rules" in " ".join(out.split())
    assert "forbid: ['Left: X > 1']" in " ".join(out.split())
    data = json.loads(solution.read_text())
    del data["stated_rules"], data["rules"]
    solution.write_text(json.dumps(data))
    status, out, _ = run("check", solution, "--certificate", proof)
    assert status == 1
    assert "under other rules" in " ".join(out.split())
