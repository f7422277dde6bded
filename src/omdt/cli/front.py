"""The command `omdt front`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omdt.cli.arguments import AsJson, Depth, Discount, Fallback, Labels, Leaves, Problem, Property, Settings
from omdt.cli.asking import Named, load_asked
from omdt.cli.messages import naming_flags, saving, tell
from omdt.cli.ruling import with_rules
from omdt.errors import InputError
from omdt.printing import show_front
from omdt.terminal import console

if TYPE_CHECKING:
    from omdt.rules import Rules


@with_rules
def front(
    problem: Problem,
    leaves: Leaves = None,
    depth: Depth = None,
    by: Annotated[str, typer.Option(metavar="WHAT", help="What is counted: leaves or depth.")] = "leaves",
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="For all sizes together; then the best trees so far.", show_default=False),
    ] = None,
    gap: Annotated[float, typer.Option(help="Relative gap between value and bound that counts as a proof.")] = 1e-4,
    seed: Annotated[int, typer.Option(help="The same seed gives the same trees.")] = 0,
    threads: Annotated[
        int | None, typer.Option(help="Cores for the search, all by default.", show_default=False)
    ] = None,
    memory_limit: Annotated[
        int, typer.Option(metavar="MIB", help="Memory for what the search remembers; it forgets the rest.")
    ] = 2048,
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
    as_csv: Annotated[
        bool, typer.Option("--csv", help="A CSV table on standard output and nothing else there.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a file: CSV if its name ends in .csv, else JSON.", show_default=False),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw it: .svg, .png, or .html, where a click shows a tree.", show_default=False
        ),
    ] = None,
    rules: "Rules | None" = None,
) -> None:
    """The best tree of every size, each with value, bound and proof: what simplicity costs."""
    from omdt.cli.progress import showing_progress
    from omdt.progress.words import front as known
    from omdt.report.front import write_plot
    from omdt.tradeoffs.front import front as run

    if as_json and as_csv:
        raise InputError("--json and --csv exclude each other")
    _check_files(output, plot)
    mdp, objective = load_asked(Named(problem, settings, discount, fallback, asked, labels))
    with naming_flags(), showing_progress(console(stderr=True), f"front of {problem}") as progress:
        found = run(
            mdp,
            max_leaf_nodes=leaves,
            max_depth=depth,
            by=by,
            time_limit=time_limit,
            gap=gap,
            seed=seed,
            threads=threads,
            memory_limit=memory_limit,
            unavailable=unavailable,
            rules=() if rules is None else rules,
            objective=objective,
            progress=lambda size, point: progress.update(*known(size, point)),
        )
    with saving(found.save, output), saving(lambda path: write_plot(found, path), plot):
        if as_json:
            sys.stdout.write(found.to_json())
        elif as_csv:
            sys.stdout.write(found.to_csv())
        else:
            show_front(found, console())
    if found.interrupted:
        tell("interrupted; these are the best trees so far")
        raise typer.Exit(130)


def _check_files(output: Path | None, plot: Path | None) -> None:
    """Raise before long work starts if a result could not be written."""
    from omdt.files import check_writable
    from omdt.report.front import check_plot

    if plot is not None:
        check_plot(plot)
    for path in (output, plot):
        if path is not None:
            check_writable(path)
    if output is not None and plot is not None and output.resolve() == plot.resolve():
        raise InputError(f"--output and --plot are both {output}; name two files")
