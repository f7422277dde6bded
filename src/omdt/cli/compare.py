"""The command `omdt compare`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omdt.cli.arguments import AsJson, Depth, Discount, Fallback, Labels, Leaves, Problem, Property, Settings
from omdt.cli.asking import Named, load_asked
from omdt.cli.messages import naming_flags, saving, tell
from omdt.cli.ruling import with_rules
from omdt.errors import InputError
from omdt.printing import show_comparison
from omdt.terminal import console, cores

if TYPE_CHECKING:
    from omdt.rules import Rules
    from omdt.tree import TreePolicy


@with_rules
def compare(
    problem: Problem,
    depth: Depth = None,
    leaves: Leaves = None,
    seeds: Annotated[int, typer.Option(help="Runs of VIPER, of which the mean is shown.")] = 3,
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="For each run of each method.")] = 30.0,
    processes: Annotated[
        int | None,
        typer.Option(metavar="N", help="Runs at the same time; one per core by default.", show_default=False),
    ] = None,
    milp: Annotated[
        str | None,
        typer.Option(metavar="SOLVER", help="Let milp take part, on highs, scip or gurobi.", show_default=False),
    ] = None,
    extra: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE", help="A row for the tree of a solution in a file; repeatable.", show_default=False
        ),
    ] = None,
    fallback: Fallback = None,
    settings: Settings = None,
    discount: Discount = None,
    asked: Property = None,
    labels: Labels = None,
    as_json: AsJson = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="A CSV table on standard output and nothing else there.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a file: CSV if its name ends in .csv, else JSON.", show_default=False),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it: .svg, .png or .pdf.", show_default=False)
    ] = None,
    rules: "Rules | None" = None,
) -> None:
    """Every method side by side, between the random policy and the best policy of any form."""
    from omdt.cli.progress import showing_progress
    from omdt.comparing import compare as run
    from omdt.progress.words import comparing as known
    from omdt.report.comparison_plot import write_plot

    if as_json and as_csv:
        raise InputError("--json and --csv exclude each other")
    _check_files(output, plot)
    own = _own(extra or [])
    mdp, objective = load_asked(Named(problem, settings, discount, fallback, asked, labels))
    with naming_flags(), showing_progress(console(stderr=True), f"comparing on {problem}") as line:
        comparison = run(
            mdp,
            max_depth=depth,
            max_leaf_nodes=leaves,
            objective=objective,
            rules=rules,
            extra=own,
            milp=milp,
            seeds=seeds,
            time_limit=time_limit,
            processes=cores() if processes is None else processes,
            progress=lambda *news: line.update(*known(*news)),
        )
    with saving(comparison.save, output), saving(lambda path: write_plot(comparison, path), plot):
        if as_json:
            sys.stdout.write(comparison.to_json())
        elif as_csv:
            sys.stdout.write(comparison.to_csv())
        else:
            show_comparison(comparison, console())
    if comparison.interrupted:
        tell("interrupted; this is what there was so far")
        raise typer.Exit(130)


def _check_files(output: Path | None, plot: Path | None) -> None:
    """Raise before long work starts if a result could not be written."""
    from omdt.files import check_writable
    from omdt.report.comparison_plot import check_plot

    if plot is not None:
        check_plot(plot)
    for path in (output, plot):
        if path is not None:
            check_writable(path)
    if output is not None and plot is not None and output.resolve() == plot.resolve():
        raise InputError(f"--output and --plot are both {output}; name two files")


def _own(assignments: Sequence[str]) -> "dict[str, TreePolicy]":
    """The trees of the files that `--extra` names."""
    from omdt.solution import load

    own: dict[str, TreePolicy] = {}
    for assignment in assignments:
        name, equals, file = assignment.partition("=")
        if not name or not equals or not file:
            raise InputError(f"--extra is {assignment!r}; it must be NAME=FILE, as in mine=policy.json")
        if name in own:
            raise InputError(f"--extra has two rows {name!r}; name them differently")
        own[name] = load(file).tree
    return own
