"""The command `omdt learn`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omdt.cli.arguments import AsJson, Depth, Leaves
from omdt.cli.messages import hearing, naming_flags, saving, tell
from omdt.errors import InputError
from omdt.printing import show
from omdt.terminal import console

if TYPE_CHECKING:
    from omdt.learning.learned import Learned


def learn(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A simulator (gym:ENV_ID, or module:factory for a function that makes an environment) or a log (CSV).",
            show_default=False,
        ),
    ],
    depth: Depth = None,
    leaves: Leaves = None,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Steps that may be taken in the simulator; 200000 by default.", show_default=False
        ),
    ] = None,
    bins: Annotated[int, typer.Option(metavar="N", help="Bins per feature that takes many values.")] = 12,
    confidence: Annotated[float, typer.Option(metavar="P", help="Of the interval, or of the guarantee.")] = 0.95,
    episodes: Annotated[
        int | None,
        typer.Option(metavar="N", help="Fresh episodes in the simulator; 200 by default.", show_default=False),
    ] = None,
    discount: Annotated[float, typer.Option(metavar="GAMMA", help="Of the learned model.")] = 0.99,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop with the best tree so far.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tree.")] = 0,
    threads: Annotated[
        int | None, typer.Option(help="Processes that play in the simulator; 1 by default.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the JSON object into a file.", show_default=False)
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Write the learned model, which `omdt report` and `omdt check` need.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """A tree learned from a simulator or a log, where there is no model, and what is known of it."""
    from omdt.cli.progress import showing_progress
    from omdt.learning.learn import known
    from omdt.learning.learn import learn as run

    _check_files(output, model)
    with (
        naming_flags(),
        hearing() as doubts,
        showing_progress(console(stderr=True), f"learning from {source}") as line,
    ):
        learned = run(
            source,
            max_depth=depth,
            max_leaf_nodes=leaves,
            steps=steps,
            bins=bins,
            confidence=confidence,
            episodes=episodes,
            discount=discount,
            time_limit=time_limit,
            seed=seed,
            threads=threads,
            progress=lambda point: line.update(*known(point)),
        )
    for doubt in doubts:
        tell(str(doubt))
    learned = learned.with_model_file(model)
    with saving(learned.save, output):
        if as_json:
            sys.stdout.write(learned.solution.to_json())
        else:
            show(learned.solution, console())
    _tell_of_early_end(learned)


def _check_files(output: Path | None, model: Path | None) -> None:
    """Raise before long work starts if a result could not be written."""
    from omdt.files import check_writable

    if model is not None and model.suffix.lower() != ".npz":
        raise InputError(f"--model is {model}; its name must end in .npz")
    for path in (output, model):
        if path is not None:
            check_writable(path)
    if output is not None and model is not None and output.resolve() == model.resolve():
        raise InputError(f"--output and --model are both {output}; name two files")


def _tell_of_early_end(learned: "Learned") -> None:
    """Say that a search ended at its limit on nodes, and end with the status of an interrupt after one."""
    from omdt.solution import Stop

    if learned.guarantee is not None and learned.guarantee.stop is Stop.NODES:
        tell(
            "the search for the best guaranteed return ended at its limit on partial trees; with --time-limit SECONDS "
            "it uses that time instead"
        )
    if learned.solution.stop is Stop.INTERRUPTED:
        tell("interrupted; this is the best tree so far")
        raise typer.Exit(130)
