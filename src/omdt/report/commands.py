"""The command that makes a solution, from what the solution records."""

import shlex
from collections.abc import Sequence

from omdt.solution import Limits, Solution, Stop
from omdt.tree import printable


def solve_command(solution: Solution, *, problem: str | None = None, settings: Sequence[str] = ()) -> str:
    """The `omdt solve` that makes this solution.

    A solution records neither the threads nor the backend of milp. The time limit is taken to be the time that a run
    ended by it took.

    Args:
        solution: the solution.
        problem: what the command line calls the problem; by default the name in the solution.
        settings: parameters of the environment, as NAME=VALUE.
    """
    words = ["omdt", "solve", solution.problem if problem is None else problem]
    for setting in settings:
        words += ["--set", setting]
    if solution.max_depth is not None:
        words += ["--depth", str(solution.max_depth)]
    if solution.max_leaf_nodes is not None:
        words += ["--leaves", str(solution.max_leaf_nodes)]
    words += ["--method", solution.method, "--discount", repr(solution.discount)]
    if solution.requested_gap != Limits.gap:
        words += ["--gap", repr(solution.requested_gap)]
    if solution.unavailable != Limits.unavailable:
        words += ["--unavailable", solution.unavailable]
    if solution.fallback is not None:
        words += ["--fallback", solution.fallback]
    if solution.stop is Stop.TIME and solution.seconds is not None:
        words += ["--time-limit", f"{solution.seconds:.4g}"]
    if solution.node_limit is not None:
        words += ["--node-limit", str(solution.node_limit)]
    return printable(shlex.join([*words, "--seed", str(solution.seed)]))
