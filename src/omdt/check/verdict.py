"""The verdict: whether a solution's tree has the value it claims, and whether a certificate proves its bound."""

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .cases import Problem
from .claimed import Claimed, Size, policy_digest
from .fine import Checker
from .model import EPSILON, Model
from .questions import division
from .reading import HEAD, Ints, Json, RejectedError, UnreadableError, counted, readable, records, require, typed


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


def check(model: Model, solution: Json, certificate: Path | None, *, exact: bool = False) -> Verdict:
    """Check a solution, given the content of its file, and its bound if there is a certificate.

    `exact` computes with rational numbers, which takes long. An `UnreadableError` says that a file is not what it
    should be, a `RejectedError` that something that is claimed is not proven.
    """
    claimed = Claimed(solution, model)
    problem = Problem(model, claimed.questions, exact=exact)
    value = _check_tree(claimed, problem)
    if certificate is None:
        return Verdict(value, None, forbid=claimed.forbid)
    if claimed.limit is None:
        raise RejectedError("the solution has no limit on the size, so there is nothing to prove")
    _check_asked(claimed, problem)
    checker = Checker(problem, claimed.limit, claimed.bound)
    try:
        with open(certificate, "rb") as file:
            readable(file.read(len(HEAD)) == HEAD, f"{certificate} is no certificate: it does not begin like one")
            file.seek(0)
            content = records(gzip.GzipFile(fileobj=file), 8 * (problem.S + problem.A))
            _check_head(next(content)[0], problem, claimed.limit, claimed)
            checker.follow(content)
    except OSError as error:
        raise UnreadableError(f"cannot read {certificate}: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise UnreadableError(f"{certificate} is damaged: {error}") from None
    counts = (checker.cases, len(checker.claims), len(checker.losses))
    return Verdict(value, claimed.bound, *counts, questions=claimed.questions.words(), forbid=claimed.forbid)


def _check_tree(claimed: Claimed, problem: Problem) -> float:
    """The return of the solution's tree; raises unless its size, its actions and its value are as claimed."""
    shape = f"the tree has depth {claimed.size.depth} and {counted(claimed.size.leaves, 'leaf', 'leaves')}"
    require(claimed.limit is None or claimed.limit.covers(claimed.size), f"{shape}: too large")
    if claimed.forbid:
        _check_available(claimed.policy, problem.model)
    low, high = problem.value(claimed.policy)
    # A solver that finds the values of all states together rounds a few times, relative to the largest of them.
    tolerance = (high - low) + EPSILON * (4 * abs(claimed.value) + 16 * float(problem.largest_return))
    value = float(low + high) / 2
    right = low - tolerance <= claimed.value <= high + tolerance
    require(right, f"the tree returns {value!r}, but the solution claims {claimed.value!r}")
    return value


def _check_available(policy: Ints, model: Model) -> None:
    """Raise if the tree names an action in a state that some policy reaches and that does not offer it."""
    if model.available is not None:
        every_row = np.arange(model.rewards.size).reshape(model.rewards.shape)
        missing = model.reached(every_row) & ~model.available[np.arange(len(policy)), policy]
        s = int(missing.argmax())
        named = f"in state {s} the tree names {model.action_names[policy[s]]!r:.80}, which is not available there"
        require(not missing[s], f"the solution forbids unavailable actions, but {named}")


def _check_asked(claimed: Claimed, problem: Problem) -> None:
    """Raise unless every node divides the states that come to it as a question does, whatever number it names."""
    for feature, equality, states, right in claimed.asked:
        # Unless questions are listed, every threshold may be asked.
        if (problem.questions.groups is not None or equality) and right.any() and not right.all():
            known = {division(side) for side in problem.sides[states].T}
            unknown = f"the tree asks {feature!r:.80} a question that the solution does not name"
            require(division(right) in known, unknown)


def _check_head(record: list[Json], problem: Problem, size: Size, claimed: Claimed) -> None:
    head = typed(record[1] if len(record) == 2 else None, dict, "the head of the certificate")
    other = "the certificate is about trees that may ask other questions than the solution says"
    require(head.get("asks") == claimed.stated, other)
    true = {"states": problem.S, "actions": problem.A, "questions": problem.sides.shape[1]}
    true |= {"depth": size.depth, "leaves": size.leaves, "discount": problem.model.discount}
    for key, its in true.items():
        said = head.get(key)
        require(said == its, f"the certificate is about {said!r:.40} {key}, the problem has {its}")
    require(head.get("policy") == policy_digest(claimed.policy), "the certificate belongs to another tree")


def words(verdict: Verdict) -> str:
    """What was verified, in words."""
    names = "names no unavailable action"
    if verdict.bound is None:
        kept = f", and the tree {names}" if verdict.forbid else ""
        return f"value {verdict.value:.9g} VERIFIED{kept}; the bound was not checked, that takes --certificate"
    returns = f"{names} and returns" if verdict.forbid else "returns"
    trees = "tree within the limits" + (f" that asks only for {verdict.questions}" if verdict.questions else "")
    return (
        f"VERIFIED: the tree {returns} {verdict.value:.9g}, and no {trees} more than {verdict.bound:.9g} "
        f"({counted(verdict.cases, 'case', 'cases')}, {counted(verdict.claims, 'claim', 'claims')}, "
        f"{counted(verdict.losses, 'loss', 'losses')})"
    )
