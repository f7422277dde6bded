"""The command `omdt alternatives`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omdt.cli.arguments import AsJson, Depth, Discount, Fallback, Labels, Leaves, Problem, Property, Settings
from omdt.cli.asking import Named, load_asked
from omdt.cli.messages import naming_flags, saving, tell
from omdt.cli.ruling import with_rules
from omdt.printing import escape, line, number
from omdt.terminal import console, cores

if TYPE_CHECKING:
    from rich.console import Console

    from omdt.rules import Rules
    from omdt.tradeoffs.alternatives_result import Alternative, Alternatives

MOST_SHOWN = 20
"""Maximum number of trees that are described on the terminal; the JSON has all of them."""

MOST_DIFFERENCES = 5
"""Maximum number of differences from the best tree that are told of each tree on the terminal."""


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
    from omdt.counting import counted
    from omdt.files import check_writable
    from omdt.tradeoffs.alternatives import alternatives as run
    from omdt.tradeoffs.alternatives import check_arguments
    from omdt.tradeoffs.alternatives_result import Ended

    with naming_flags():
        check_arguments(depth, leaves, within, limit)
    if output is not None:
        check_writable(output)
    mdp, objective = load_asked(Named(problem, settings, discount, fallback, asked, labels))
    first = f"looking for the best tree of {escape(problem)}"
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
            threads=cores() if threads is None else threads,
            memory_limit=memory_limit,
            unavailable=unavailable,
            rules=() if rules is None else rules,
            objective=objective,
            progress=lambda trees: status.update(f"{counted(trees, 'tree')} so far"),
        )
    with saving(found.save, output):
        if as_json:
            sys.stdout.write(found.to_json())
        else:
            show_alternatives(found, console())
    if found.ended is Ended.INTERRUPTED:
        tell("interrupted; these are the trees so far")
        raise typer.Exit(130)


def show_alternatives(found: "Alternatives", console: "Console") -> None:
    """Print alternatives for people."""
    from omdt.tree import printable

    console.print(f"[bold]{escape(printable(found.problem))}[/bold]  {escape(found.words)}", soft_wrap=True)
    if not found.wording.default:
        line(console, printable(found.wording.doing))
    line(console, "")
    for position, member in enumerate(found.members[:MOST_SHOWN]):
        _show_member(found, member, position, console)
    if len(found) > MOST_SHOWN:
        line(console, f"… and {len(found) - MOST_SHOWN:,} more, which --json and --output list\n")
    _show_summary(found, console)
    console.print(f"\n[dim]({found.seconds:.2f} s)[/dim]")


def _show_member(found: "Alternatives", member: "Alternative", position: int, console: "Console") -> None:
    """Print one tree: the best one as it is, the others by how they differ from it."""
    from omdt.counting import counted
    from omdt.tree import printable

    asked = ", ".join(map(printable, member.features)) or "nothing"
    loss = "" if position == 0 else f", {found.loss_words(member)}"
    leaves = counted(member.tree.n_leaves, "leaf", "leaves")
    line(console, f"{position + 1:>3}  {number(member.value)}{loss}; {leaves}, asks about {asked}")
    if position == 0:
        line(console, "\n" + "\n".join(f"     {text}" for text in member.tree.to_text().split("\n")) + "\n")
        return
    for difference in member.differences[:MOST_DIFFERENCES]:
        line(console, f"     {difference.words(member.visited)}")
    if len(member.differences) > MOST_DIFFERENCES:
        line(console, f"     … and {len(member.differences) - MOST_DIFFERENCES:,} further differences")


def _show_summary(found: "Alternatives", console: "Console") -> None:
    """Print what all trees have in common."""
    for sentence in found.summary():
        line(console, sentence)
