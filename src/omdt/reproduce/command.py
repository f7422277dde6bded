"""The command `omdt reproduce`: parse, call, print."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omdt.counting import counted
from omdt.reproduce.pieces import NAMES
from omdt.terminal import console, cores

if TYPE_CHECKING:
    from omdt.reproduce.engines import Engine
    from omdt.reproduce.making import Made


What = Annotated[str, typer.Argument(metavar="WHAT", help=f"What to make: {', '.join(NAMES)}.", show_default=False)]
Budget = Annotated[
    float, typer.Option(metavar="SECONDS", help="For each run of search and milp; the paper's had 300 and 7200.")
]
Seeds = Annotated[
    int, typer.Option(metavar="N", help="Runs of search and of milp in each cell; viper always has three.")
]
Output = Annotated[Path, typer.Option(metavar="DIR", help="For the finished runs and all that is made of them.")]
Environments = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this environment; repeatable.", show_default=False)
]
Processes = Annotated[
    int | None, typer.Option(metavar="N", help="Runs at the same time; one per core by default.", show_default=False)
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster of this scheduler.", show_default=False)
]


def reproduce(
    what: What,
    budget: Budget = 60.0,
    seeds: Seeds = 3,
    output: Output = Path("reproduction"),
    environment: Environments = None,
    processes: Processes = None,
    scheduler: Scheduler = None,
) -> None:
    """The paper's tables and figures with our solver beside the published figures; continues where it stopped."""
    from omdt.environments import PAPER
    from omdt.errors import InputError
    from omdt.reproduce.grid import Grid
    from omdt.reproduce.making import reproduce as make
    from omdt.tree import printable

    if scheduler is not None and processes is not None:
        raise InputError("--scheduler and --processes exclude each other: a cluster has workers of its own")
    made = make(
        what,
        Grid(tuple(dict.fromkeys(environment or PAPER)), seeds, budget),
        output,
        lambda: _engine(scheduler, processes),
        console(stderr=True),
        command=printable(shlex.join(["omdt", *sys.argv[1:]])),
    )
    _summarise(made)
    if made.interrupted:
        raise typer.Exit(130)
    if made.missing:
        raise typer.Exit(1)


def _engine(scheduler: str | None, processes: int | None) -> "Engine":
    from omdt.reproduce.engines import DaskCluster, LocalProcesses

    if scheduler is not None:
        return DaskCluster(scheduler)
    return LocalProcesses(cores() if processes is None else processes)


def _summarise(made: "Made") -> None:
    from omdt.reproduce.summary import verdict_lines

    lines = [
        f"{counted(made.done, 'run')} done now, {made.kept:,} kept from before, {made.missing:,} missing",
        *(f"failed: {failure.run}: {failure.reason}" for failure in made.results.failures),
        *verdict_lines(made.results),
        str(made.page),
    ]
    out = console()
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)
