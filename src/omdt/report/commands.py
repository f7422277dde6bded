"""The command that makes a solution, from what the solution records."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from omdt.limits import Limits
from omdt.rules import FALLBACK
from omdt.solution import Solution, Stop
from omdt.source import Source
from omdt.tree import printable


def solve_command(
    solution: Solution,
    *,
    problem: str | None = None,
    settings: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    output: Path | None = None,
) -> str:
    """The `omdt solve` that makes this solution.

    A solution records neither the number of threads nor the backend of milp. If a time limit ended the run, the time
    that it took is given as the limit. Questions can be chosen in Python only, so a comment says what was chosen.

    Args:
        solution: the solution.
        problem: PROBLEM on the command line; by default what the solution records.
        settings: parameters of the environment, as NAME=VALUE; by default what the solution records.
        labels: further labels, as NAME: CONDITION; by default what the solution records.
        output: the file that the solution was written to.
    """
    source = solution.source or Source(solution.problem)
    words = ["omdt", "solve", source.spelled() if problem is None else problem]
    for setting in source.settings if settings is None else settings:
        words += ["--set", setting]
    for label in source.labels if labels is None else labels:
        words += ["--label", label]
    words += _options(solution)
    if output is not None:
        words += ["--output", str(output)]
    asked = "" if solution.questions is None else f"  # with splits that ask only for {solution.questions.words()}"
    return printable(shlex.join(words) + asked)


def _options(solution: Solution) -> list[str]:
    """The options that a solution records; those with default values are left out unless results depend on them."""
    words: list[str] = []
    if solution.max_depth is not None:
        words += ["--depth", str(solution.max_depth)]
    if solution.max_leaf_nodes is not None:
        words += ["--leaves", str(solution.max_leaf_nodes)]
    words += ["--method", solution.method]
    if solution.objective is None:
        words += ["--discount", repr(solution.discount)]
    else:
        words += ["--property", solution.objective]
    if solution.requested_gap != Limits.gap:
        words += ["--gap", repr(solution.requested_gap)]
    if solution.unavailable != FALLBACK:
        words += ["--unavailable", solution.unavailable]
    if solution.fallback is not None:
        words += ["--fallback", solution.fallback]
    if solution.stop is Stop.TIME and solution.seconds is not None:
        words += ["--time-limit", f"{solution.seconds:.4g}"]
    if solution.node_limit is not None:
        words += ["--node-limit", str(solution.node_limit)]
    return [*words, "--seed", str(solution.seed)]
