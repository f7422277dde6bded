"""The verdict: whether a solution's tree has the value it claims, and whether a certificate proves its bound."""

import gzip
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from .cases import Problem
from .claimed import Claimed, Size, policy_digest
from .coarse import CoarseChecker
from .evaluation import Evaluation
from .fine import Checker
from .induction import Induction
from .intervals import Intervals, guaranteed
from .kept import Kept, read_nodes
from .ladders import Ladders
from .model import EPSILON, Model
from .obeying import check_obeys, net_return
from .questions import division
from .ranges import cuts
from .reading import (
    HEAD,
    Ints,
    Json,
    RejectedError,
    UnreadableError,
    counted,
    finite,
    readable,
    records,
    require,
    typed,
)
from .ruling import Ruling

RANGES = "ranges"  # what the head of a certificate calls a proof by ranges of questions; others are proofs by cases

MAX_PINS = 1000  # per case; what renamings may cost grows with them
GUARANTEED = "guaranteed discounted return"  # the objective of a solution of an interval MDP

Content: TypeAlias = Iterator[tuple[list[Json], bytes]]


@dataclass(frozen=True)
class Verdict:
    """What was verified."""

    value: float  # of the tree, recomputed
    bound: float | None  # that the certificate proves; None without one
    cases: int = 0  # in the proof, and likewise
    claims: int = 0
    losses: int = 0
    questions: str = ""  # what the trees may ask that the bound is about; empty for thresholds on every feature
    forbid: bool = False  # whether the tree was to name no unavailable action in a state that can be reached
    vectors: int = 0  # that close the nodes of a proof by ranges
    objective: str = ""  # what value and bound are figures of; empty for the discounted return
    minimised: bool = False  # whether these figures are to be small, so that the bound is a lower one
    rules: str = ""  # that the tree obeys, and all trees that the bound is about, as they are stated
    unread: int = 0  # rules that the solution has in words only, so that nothing is known about them
    guaranteed: float | None = None  # what the tree returns at least, recomputed; None if that was not checked


def check(model: Model, solution: Json, certificate: Path | None, *, exact: bool = False) -> Verdict:
    """Check a solution, given the content of its file, and its bound if there is a certificate.

    `exact` computes with rational numbers, which takes long. An `UnreadableError` says that a file is not what it
    should be, a `RejectedError` that something that is claimed is not proven.
    """
    claimed = Claimed(solution, model)
    asked = claimed.objective
    model = replace(model, rewards=asked.rewards, discount=asked.discount)
    told_apart = claimed.rules.about_columns
    ladders = Ladders(claimed.questions, model.features, model.feature_names, per_column=told_apart)
    ruling = None
    if claimed.ruled:
        ruling = Ruling(claimed.rules, model, asked, ladders, available_only=claimed.forbid)
    value = _check_tree(claimed, model, ruling, exact=exact)
    if certificate is not None or claimed.rules.about_questions:
        _check_asked(claimed, model, None if ruling is None else ruling.kept)
    verdict = Verdict(
        value,
        None,
        forbid=claimed.forbid,
        objective=asked.words,
        minimised=asked.sign < 0,
        rules=claimed.rules.words(),
        unread=claimed.unread,
    )
    if certificate is None:
        return verdict
    require(claimed.unread == 0, "the solution has rules in words only, which no certificate can be about")
    if claimed.limit is None:
        raise RejectedError("the solution has no limit on the size, so there is nothing to prove")
    verdict = replace(verdict, bound=claimed.bound, questions=claimed.questions.words())
    return _proven(certificate, _Proof(model, claimed, claimed.limit, ladders, ruling), verdict, exact=exact)


def check_guaranteed(worlds: Intervals, solution: Json, *, exact: bool = False) -> Verdict:
    """Check a solution of an interval MDP, given the content of its file: its value is a guaranteed return."""
    data = solution if isinstance(solution, dict) else {}
    readable(data.get("objective") == GUARANTEED, f"the solution is not about the {GUARANTEED}")
    claimed = Claimed({**data, "objective": None}, worlds.model)
    _check_size(claimed)
    low = _least(worlds, claimed, claimed.value, exact=exact)
    return Verdict(low, None, objective=GUARANTEED, guaranteed=low)


def check_learned(worlds: Intervals, solution: Json, verdict: Verdict, *, exact: bool = False) -> Verdict:
    """The verdict on a tree that was learned from a log, with what it guarantees in the worlds of the log."""
    data = solution if isinstance(solution, dict) else {}
    experience = typed(data.get("experience"), dict, "what the tree was learned from")
    stated = typed(experience.get("guarantee"), dict, "the guarantee")
    value = finite(stated.get("value"), "the guaranteed return")
    low = _least(worlds, Claimed(solution, worlds.model), value, exact=exact)
    return replace(verdict, guaranteed=low)


def _least(worlds: Intervals, claimed: Claimed, value: float, *, exact: bool) -> float:
    """What the tree of a solution returns at least; raises if the solution claims more."""
    low, high, largest = guaranteed(worlds, claimed.policy, exact=exact)
    tolerance = (high - low) + EPSILON * (4 * abs(value) + 16 * largest)
    promised = f"the tree is guaranteed {low!r}, but the solution claims {value!r}"
    require(value <= low + tolerance, promised)
    return low


def _proven(certificate: Path, proof: "_Proof", verdict: Verdict, *, exact: bool) -> Verdict:
    """The verdict on a bound, by the certificate of a file."""
    try:
        with open(certificate, "rb") as file:
            readable(file.read(len(HEAD)) == HEAD, f"{certificate} is no certificate: it does not begin like one")
            file.seek(0)
            content = records(gzip.GzipFile(fileobj=file), 8 * sum(proof.model.rewards.shape))
            return proof.followed(content, verdict, exact=exact)
    except OSError as error:
        raise UnreadableError(f"cannot read {certificate}: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise UnreadableError(f"{certificate} is damaged: {error}") from None


class _Proof(NamedTuple):
    """What a certificate has to be about."""

    model: Model
    claimed: Claimed
    size: Size
    ladders: Ladders
    ruling: Ruling | None

    def followed(self, content: Content, verdict: Verdict, *, exact: bool) -> Verdict:
        """The verdict with the counts of the proof, which is followed."""
        claimed, model = self.claimed, self.model
        record, _ = next(content)
        head = typed(record[1] if len(record) == 2 else None, dict, "the head of the certificate")
        target = claimed.objective.sign * claimed.bound
        _check_head(head, model, self.size, claimed)
        if head.get("proof") == RANGES:
            _check_questions(head, sum(len(ladder.numbers) for ladder in self.ladders.ladders))
            if target == math.inf:
                # There is nothing to prove; the file is only read to its end.
                return replace(verdict, cases=1, vectors=sum(record[0] == "close" for record, _ in content))
            induction = Induction(model, claimed.objective, exact=exact)
            ranges = CoarseChecker(induction, self.ladders, self.size, target, self.ruling)
            ranges.follow(content)
            return replace(verdict, cases=ranges.nodes, vectors=ranges.vectors)
        require(model.discount < 1 and math.isfinite(target), "a proof by cases needs a discount and a finite bound")
        require(self.ruling is None, "a proof by cases is about all trees, not about those that obey rules")
        problem = Problem(model, claimed.questions, exact=exact)
        _check_questions(head, problem.sides.shape[1])
        pins = typed(head.get("pins", 0), int, "the number of pins per case")
        readable(0 <= pins <= MAX_PINS, f"the certificate says that cases have up to {pins} pins")
        checker = Checker(problem, self.size, target, pins)
        checker.follow(content)
        return replace(verdict, cases=checker.cases, claims=len(checker.claims), losses=len(checker.losses))


def _check_tree(claimed: Claimed, model: Model, ruling: Ruling | None, *, exact: bool) -> float:
    """The figure of the solution's tree; raises unless its size, its actions and its value are as claimed."""
    _check_size(claimed)
    if claimed.forbid:
        _check_available(claimed.policy, model)
    evaluation = Evaluation(model, claimed.objective, claimed.policy, exact=exact)
    if ruling is None:
        low, high, largest = evaluation.returned(model.rewards)
    else:
        tree = read_nodes(claimed.tree, ruling.ladders.names, model.action_names).tree
        check_obeys(ruling, tree, evaluation)
        low, high, largest = net_return(ruling, tree, evaluation)
    low, high = sorted((claimed.objective.shown(low), claimed.objective.shown(high)))
    if math.isinf(low):
        require(claimed.value == low, f"the value of the tree is {low}, but the solution claims {claimed.value!r}")
        return float(low)
    # A solver that finds the values of all states together rounds a few times, relative to the largest of them.
    tolerance = (high - low) + EPSILON * (4 * abs(claimed.value) + 16 * largest)
    value = float(low + high) / 2
    right = low - tolerance <= claimed.value <= high + tolerance
    require(right, f"the tree returns {value!r}, but the solution claims {claimed.value!r}")
    return value


def _check_size(claimed: Claimed) -> None:
    """Raise if the tree is larger than the solution says that it may be."""
    shape = f"the tree has depth {claimed.size.depth} and {counted(claimed.size.leaves, 'leaf', 'leaves')}"
    require(claimed.limit is None or claimed.limit.covers(claimed.size), f"{shape}: too large")


def _check_available(policy: Ints, model: Model) -> None:
    """Raise if the tree names an action in a state that some policy reaches and that does not offer it."""
    if model.available is not None:
        reached = model.reached(np.ones(model.rewards.shape, dtype=np.bool_))
        missing = reached & ~model.available[np.arange(len(policy)), policy]
        s = int(missing.argmax())
        named = f"in state {s} the tree names {model.action_names[policy[s]]!r:.80}, which is not available there"
        require(not missing[s], f"the solution forbids unavailable actions, but {named}")


def _check_asked(claimed: Claimed, model: Model, kept: Kept | None) -> None:
    """Raise unless every node divides the states that come to it as a question does, whatever number it names.

    Questions that are kept need not be among those that may be asked.
    """
    fixed = set() if kept is None else {path for path, _ in cuts(kept.tree)}
    free = [node for node in claimed.asked if node.path not in fixed]
    if claimed.rules.about_questions:
        left = {(name, equality) for name, equality, _ in claimed.rules.groups(model.feature_names)}
        wrong = next((node.feature for node in free if (node.feature, node.equality) not in left), None)
        require(wrong is None, f"the tree asks about {wrong!r:.80}, which its rules do not allow")
    # Unless questions are listed, every threshold may be asked.
    doubtful = [node for node in free if claimed.questions.groups is not None or node.equality]
    if not doubtful:
        return
    sides = claimed.questions.sides(*claimed.questions.columns(model.features, model.feature_names))
    for _, feature, _, states, right in doubtful:
        if right.any() and not right.all():
            known = {division(side) for side in sides[states].T}
            unknown = f"the tree asks {feature!r:.80} a question that the solution does not name"
            require(division(right) in known, unknown)


def _check_head(head: dict[str, Json], model: Model, size: Size, claimed: Claimed) -> None:
    """Raise if a certificate says of itself that it is about something else than the solution."""
    other = "the certificate is about trees that may ask other questions than the solution says"
    require(head.get("asks") == claimed.stated, other)
    stated = (head.get("rules") or {}, head.get("unavailable", "fallback") == "forbid")
    others = "the certificate is about trees under other rules than the solution states"
    require(stated == (claimed.rules.content, claimed.forbid), others)
    objective = head.get("objective")
    require((objective or "") == claimed.objective.words, f"the certificate is about {objective!r:.80}")
    S, A = model.rewards.shape
    true = {"states": S, "actions": A, "depth": size.depth, "leaves": size.leaves, "discount": model.discount}
    for key, its in true.items():
        said = head.get(key)
        require(said == its, f"the certificate is about {said!r:.40} {key}, the problem has {its}")
    # A proof by ranges is written while trees are still improved; it is about all of them.
    own = head.get("proof") == RANGES or head.get("policy") == policy_digest(claimed.policy)
    require(own, "the certificate belongs to another tree")


def _check_questions(head: dict[str, Json], number: int) -> None:
    said = head.get("questions")
    require(said == number, f"the certificate is about {said!r:.40} questions, the problem has {number}")


def words(verdict: Verdict) -> str:
    """What was verified, in words."""
    names, what = "names no unavailable action", f" of {verdict.objective}" if verdict.objective else ""
    obeys = [*([names] if verdict.forbid else []), *(["obeys the rules"] if verdict.rules else [])]
    rules = f"; rules: {verdict.rules}" if verdict.rules else ""
    if verdict.objective == GUARANTEED:
        return f"{GUARANTEED} {verdict.value:.9g} VERIFIED; the bound was not checked"
    if verdict.guaranteed is not None:
        return (
            f"value {verdict.value:.9g} on the learned model VERIFIED; guaranteed return of at least "
            f"{verdict.guaranteed:.9g} VERIFIED in all worlds within the intervals of the file; that the log leaves "
            "no others, and the bounds, were not checked"
        )
    if verdict.bound is None:
        kept = f", and the tree {' and '.join(obeys)}" if obeys else ""
        said = f"value {verdict.value:.9g}{what} VERIFIED{kept}"
        return f"{said}; the bound was not checked, that takes --certificate{rules}"
    asked = [f"asks only for {verdict.questions}"] if verdict.questions else []
    trees = " and ".join(["tree within the limits", *asked, *obeys]).replace(" and ", " that ", 1)
    than = f"{'less' if verdict.minimised else 'more'} than {verdict.bound:.9g}"
    if verdict.objective:
        said = f"VERIFIED: the value{what} is {verdict.value:.9g} for the tree, and for no {trees} {than}"
    else:
        returns = " and ".join([*obeys, "returns"])
        more = f"returns {than}" if asked or obeys else than
        said = f"VERIFIED: the tree {returns} {verdict.value:.9g}, and no {trees} {more}"
    if verdict.vectors:
        counts = f"{counted(verdict.cases, 'node', 'nodes')}, {counted(verdict.vectors, 'vector', 'vectors')}"
    else:
        counts = (
            f"{counted(verdict.cases, 'case', 'cases')}, {counted(verdict.claims, 'claim', 'claims')}, "
            f"{counted(verdict.losses, 'loss', 'losses')}"
        )
    return f"{said} ({counts}){rules}"
