"""The command `omdt alternatives`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omdt.cli.arguments import AsJson, Depth, Discount, Fallback, Labels, Leaves, Problem, Property, Settings
from omdt.cli.asking import Named, load_asked
from omdt.cli.messages import naming_flags, saving, tell
from omdt.cli.ruling import with_rules
from omdt.printing import show_alternatives
from omdt.terminal import console

if TYPE_CHECKING:
    from omdt.rules import Rules


@with_rules
def alternatives(
    problem: Problem,
    depth: Depth = None,
    leaves: Leaves = None,
    within: Annotated[
        float,
        typer.Option(
            metavar="PART",
            help="How much worse than the best tree, as a part of its distance from the random policy.",
        ),
    ] = 0.01,
    absolute: Annotated[bool, typer.Option("--absolute", help="Let --within be a difference of values.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", help="At most N trees, the best ones.")] = 100,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop with the trees so far.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same trees.")] = 0,
    threads: Annotated[
        int | None,
        typer.Option(help="Cores for the search for the best tree, all by default.", show_default=False),
    ] = None,
    memory_limit: Annotated[int, typer.Option(metavar="MIB", help="Memory for what is still to be explored.")] = 2048,
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
) -> None:
    """Every tree that is about as good as the best one, and what they have in common."""
    from omdt.cli.progress import showing_progress
    from omdt.files import check_writable
    from omdt.progress.words import alternatives as known
    from omdt.tradeoffs.alternatives import alternatives as run
    from omdt.tradeoffs.alternatives import check_arguments
    from omdt.tradeoffs.alternatives_result import Ended

    with naming_flags():
        check_arguments(depth, leaves, within, limit)
    if output is not None:
        check_writable(output)
    mdp, objective = load_asked(Named(problem, settings, discount, fallback, asked, labels))
    first = f"looking for the best tree of {problem}"
    with naming_flags(), showing_progress(console(stderr=True), first) as status:
        found = run(
            mdp,
            max_depth=depth,
            max_leaf_nodes=leaves,
            within=within,
            absolute=absolute,
            limit=limit,
            time_limit=time_limit,
            seed=seed,
            threads=threads,
            memory_limit=memory_limit,
            unavailable=unavailable,
            rules=() if rules is None else rules,
            objective=objective,
            progress=lambda trees: status.update(*known(trees)),
        )
    with saving(found.save, output):
        if as_json:
            sys.stdout.write(found.to_json())
        else:
            show_alternatives(found, console())
    if found.ended is Ended.INTERRUPTED:
        tell("interrupted; these are the trees so far")
        raise typer.Exit(130)
