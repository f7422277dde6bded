"""The commands that make solutions, from what the solutions record."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from omdt.limits import Limits
from omdt.rules import FALLBACK, Rules
from omdt.rules.statement import EVERY
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
    if solution.stated_rules is not None:
        words += rule_flags(solution.stated_rules)
    if output is not None:
        words += ["--output", str(output)]
    return printable(shlex.join(words) + _in_python(solution))


def learn_command(solution: Solution, *, output: Path | None = None) -> str:
    """The `omdt learn` that makes a learned solution.

    If a time limit or Ctrl-C ended the run, the tree need not be the same again.

    Args:
        solution: the solution, which was learned.
        output: the file that the solution was written to.
    """
    experience = solution.experience
    assert experience is not None
    words = ["omdt", "learn", experience.source]
    for flag, number in (("--depth", solution.max_depth), ("--leaves", solution.max_leaf_nodes)):
        words += [] if number is None else [flag, str(number)]
    for name, setting in experience.settings:
        words += [f"--{name.replace('_', '-')}", repr(setting)]
    words += ["--discount", repr(solution.discount), "--seed", str(solution.seed)]
    if solution.source is not None:
        words += ["--model", solution.source.spelled()]
    if output is not None:
        words += ["--output", str(output)]
    return printable(shlex.join(words))


def rule_flags(rules: Rules) -> list[str]:
    """The flags that state some rules, apart from a kept tree, which is in a file."""
    words: list[str] = []
    for flag, names in (("--features", rules.features), ("--without", rules.without), ("--order", rules.order)):
        words += [flag, ",".join(names)] if names else []
    words += ["--categorical", ",".join(rules.categorical)] if rules.categorical else []
    for flag, number in (
        ("--max-features", rules.max_features),
        ("--root", rules.root),
        ("--min-share", rules.min_share),
    ):
        words += [] if number is None else [flag, str(number)]
    for flag, numbers in (
        ("--price", rules.prices),
        ("--price-once", rules.prices_once),
        ("--leaves-per-action", rules.max_leaves),
    ):
        for name, price in numbers.items():
            words += [flag, str(price) if name == EVERY else f"{name}={price}"]
    for flag, texts in (
        ("--forbid", rules.forbid),
        ("--require", rules.require),
        ("--monotone", rules.monotone),
        ("--at-most", rules.at_most),
    ):
        for text in texts:
            words += [flag, text]
    return words


def _in_python(solution: Solution) -> str:
    """A comment about what has no flags."""
    rules, told = solution.stated_rules, ""
    if solution.questions is not None and (rules is None or not rules.about_questions):
        told += f"  # with splits that ask only for {solution.questions.words()}"
    if rules is not None and rules.keep is not None:
        told += "  # with --keep and the tree that stated_rules has"
    return told


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
