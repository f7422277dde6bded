"""The command `omdt compare`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from omdt.cli.arguments import AsJson, Depth, Discount, Fallback, Labels, Leaves, Problem, Property, Settings
from omdt.cli.asking import Named, load_asked
from omdt.cli.messages import naming_flags, saving, tell
from omdt.errors import InputError
from omdt.printing import escape, show_comparison
from omdt.terminal import console, cores


def compare(
    problem: Problem,
    depth: Depth = None,
    leaves: Leaves = None,
    seeds: Annotated[int, typer.Option(help="Runs of VIPER, of which the mean is shown.")] = 3,
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="For each run of each method.")] = 30.0,
    processes: Annotated[
        int | None, typer.Option(metavar="N", help="Runs at the same time; one a core by default.", show_default=False)
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
) -> None:
    """Every method side by side, between the random policy and the best policy of any form."""
    from omdt.comparing import compare as run
    from omdt.files import check_writable

    if as_json and as_csv:
        raise InputError("--json and --csv exclude each other")
    if output is not None:
        check_writable(output)
    mdp, objective = load_asked(Named(problem, settings, discount, fallback, asked, labels))
    with naming_flags(), console(stderr=True).status(f"comparing on {escape(problem)}") as status:
        comparison = run(
            mdp,
            max_depth=depth,
            max_leaf_nodes=leaves,
            objective=objective,
            seeds=seeds,
            time_limit=time_limit,
            processes=cores() if processes is None else processes,
            progress=lambda done, total, last: status.update(f"{done} of {total} runs done, the last of {last}"),
        )
    with saving(comparison.save, output):
        if as_json:
            sys.stdout.write(comparison.to_json())
        elif as_csv:
            sys.stdout.write(comparison.to_csv())
        else:
            show_comparison(comparison, console())
    if comparison.interrupted:
        tell("interrupted; this is what there was so far")
        raise typer.Exit(130)
