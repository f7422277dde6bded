"""The command `omdt solve`."""

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omdt.cli.arguments import (
    AsJson,
    Depth,
    Discount,
    Fallback,
    Labels,
    Leaves,
    MethodName,
    Problem,
    Property,
    Settings,
    with_method_options,
)
from omdt.cli.asking import Named, load_asked
from omdt.cli.messages import naming_flags, saving, tell
from omdt.cli.ruling import with_rules
from omdt.errors import InputError
from omdt.printing import number, show
from omdt.terminal import console

if TYPE_CHECKING:
    from omdt.objective import Objective
    from omdt.rules import Rules
    from omdt.solution import Solution


@with_rules
@with_method_options
def solve(
    problem: Problem,
    depth: Depth = None,
    leaves: Leaves = None,
    method: MethodName = "search",
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop with the best tree so far.", show_default=False)
    ] = None,
    gap: Annotated[float, typer.Option(help="Relative gap between value and bound that counts as a proof.")] = 1e-4,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tree.")] = 0,
    threads: Annotated[
        int | None,
        typer.Option(help="Cores for search, all by default, or for the solver of milp.", show_default=False),
    ] = None,
    memory_limit: Annotated[
        int, typer.Option(metavar="MIB", help="Memory for what the search remembers; it forgets the rest.")
    ] = 2048,
    node_limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Stop after N partial trees; every run then gives the same file.", show_default=False
        ),
    ] = None,
    unavailable: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Where a leaf's action is not available: fallback plays another one, forbid allows no such leaf.",
        ),
    ] = "fallback",
    fallback: Fallback = None,
    settings: Settings = None,
    discount: Discount = None,
    asked: Property = None,
    labels: Labels = None,
    as_json: AsJson = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the JSON object into a file.", show_default=False)
    ] = None,
    rules: "Rules | None" = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """The best tree of a problem, drawn as text, with value, bound and proof."""
    from omdt.cli.progress import showing_progress
    from omdt.limits import Limits
    from omdt.methods.registry import method_named
    from omdt.solving import solve as run
    from omdt.task import Size

    with naming_flags():
        how = method_named(method)
        how.made_options(options)
        Size(depth, leaves)
        Limits(time_limit, gap, seed, 1 if threads is None else threads, memory_limit, node_limit)
    if options.get("scheduler") is not None and threads is not None:
        raise InputError("--scheduler and --threads exclude each other: a cluster has workers of its own")
    _check_files(output, options.get("certificate"))
    mdp, objective = load_asked(Named(problem, settings, discount, fallback, asked, labels))
    with naming_flags(), showing_progress(console(stderr=True), _first_line(objective, problem)) as line:
        solution = run(
            mdp,
            max_depth=depth,
            max_leaf_nodes=leaves,
            method=method,
            time_limit=time_limit,
            gap=gap,
            seed=seed,
            threads=threads,
            memory_limit=memory_limit,
            node_limit=node_limit,
            unavailable=unavailable,
            rules=() if rules is None else rules,
            objective=objective,
            progress=lambda point: line.update(progress_line(*point[1:], minimised=objective.minimised), point[1]),
            **options,
        )
    with saving(solution.save, output):
        if as_json:
            sys.stdout.write(solution.to_json())
        else:
            show(solution, console())
    _tell_of_early_end(solution)


def _check_files(output: Path | None, certificate: object) -> None:
    """Raise before long work starts if a result could not be written."""
    from omdt.files import check_writable

    if output is not None:
        check_writable(output)
    if isinstance(certificate, Path) and output is not None and output.resolve() == certificate.resolve():
        raise InputError(f"--output and --certificate are both {output}; name two files")


def _tell_of_early_end(solution: "Solution") -> None:
    """Say why the search ended early, and end with the status of an interrupt after one."""
    from omdt.solution import Stop

    if solution.stop is Stop.MEMORY:
        tell("there was not enough memory to go on; this is the best tree so far")
    if solution.stop is Stop.INTERRUPTED:
        tell("interrupted; this is the best tree so far")
        raise typer.Exit(130)


def _first_line(objective: "Objective", problem: str) -> str:
    """What is shown before anything is known."""
    from omdt.objective import DISCOUNTED_RETURN

    if objective == DISCOUNTED_RETURN:
        return f"solving {problem}"
    doing = "minimising" if objective.minimised else "maximising"
    return f"{doing} the {objective.words} of {problem}"


def progress_line(value: float, bound: float, *, minimised: bool = False) -> str:
    """What is shown while a search is under way."""
    known = f"value {number(value, 6)}   bound {number(bound, 6)}"
    room = value - bound if minimised else bound - value
    if not math.isfinite(room):
        return f"{known}   {'minimising' if minimised else 'maximising'}"
    return f"{known}   at most {max(0.0, room):.3g} {'less' if minimised else 'more'}"
