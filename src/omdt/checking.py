"""Checking: runs the independent checker on files, and reports bad files as the rest of the package does."""

from pathlib import Path
from typing import Any

from omdt import check
from omdt.certificate import model_of
from omdt.errors import InputError
from omdt.files import read_json
from omdt.mdp import MDP
from omdt.source import Source


def read_solution(path: Path) -> dict[str, Any]:
    """The content of a file that `omdt solve --output` wrote.

    Only the entries that are needed to find its problem again are checked here.

    Raises:
        InputError: if the file cannot be read, or is no solution.
    """
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != check.SOLUTION:
        raise InputError(f"{path}: this is not a solution: its format is not {check.SOLUTION!r}")
    if not isinstance(data.get("discount"), float):
        raise InputError(f"{path} is not a solution: it has no discount")
    for key, kinds in (("problem", str), ("fingerprint", str | None)):
        if not isinstance(data.get(key), kinds):
            raise InputError(f"{path} is not a solution: its {key} is {data.get(key)!r:.40}, not a text")
    return data


def source_of(data: dict[str, Any], path: Path) -> Source | None:
    """Where the problem of a solution came from, as its file records it; None if it records nothing."""
    try:
        return None if data.get("source") is None else Source.from_dict(data["source"], path.parent)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def verify_guaranteed(solution: dict[str, Any], path: Path, *, exact: bool = False) -> check.Verdict:
    """Check a solution of an interval MDP.

    Args:
        solution: what `read_solution` returned.
        path: the file of the interval MDP.
        exact: whether to compute with rational numbers, which is slow.

    Raises:
        InputError: if a file cannot be read.
        check.RejectedError: if the solution claims too much.
    """
    try:
        worlds = check.read_intervals(path)
        if worlds is None:
            raise InputError(f"{path} holds no interval MDP; name the file that IntervalMDP.save wrote")
        return check.check_guaranteed(worlds, solution, exact=exact)
    except check.UnreadableError as error:
        raise InputError(str(error)) from None


def with_guarantee(
    solution: dict[str, Any], verdict: check.Verdict, model: Path, *, exact: bool = False
) -> check.Verdict:
    """The verdict on a learned tree with what it guarantees, if its model's file has the worlds of a log.

    Args:
        solution: what `read_solution` returned.
        verdict: what `verify` returned.
        model: the file of the learned model.
        exact: whether to compute with rational numbers, which is slow.

    Raises:
        InputError: if the file cannot be read.
        check.RejectedError: if the solution promises too much.
    """
    try:
        worlds = check.read_intervals(model)
        return verdict if worlds is None else check.check_learned(worlds, solution, verdict, exact=exact)
    except check.UnreadableError as error:
        raise InputError(str(error)) from None


def verify(
    solution: dict[str, Any], mdp: MDP, certificate: Path | None = None, *, exact: bool = False
) -> check.Verdict:
    """Check a solution.

    Args:
        solution: what `read_solution` returned.
        mdp: the problem that was solved.
        certificate: a file that `omdt solve --certificate` wrote; without it the bound is not checked.
        exact: whether to compute with rational numbers, which is slow.

    Raises:
        InputError: if the solution or the certificate cannot be read.
        check.RejectedError: if something that the solution claims is not proven.
    """
    try:
        return check.check(model_of(mdp), solution, certificate, exact=exact)
    except check.UnreadableError as error:
        raise InputError(str(error)) from None
