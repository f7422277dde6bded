"""The command `omdt info`."""

import json
from typing import TYPE_CHECKING, TypedDict

import typer

from omdt.cli.arguments import AsJson, Discount, Problem, Settings
from omdt.cli.envs import Facts, facts_of
from omdt.cli.problems import load_problem
from omdt.printing import escape, line
from omdt.terminal import console

if TYPE_CHECKING:
    from omdt.mdp import MDP


class Details(TypedDict):
    """What JSON has about a problem beyond the facts of `omdt envs`."""

    worst_return: float
    terminal_states: int
    distinct_observations: int
    transitions: int
    memory_bytes: int
    candidate_splits: int
    feature_names: list[str]
    action_names: list[str]


class AllFacts(Facts, Details):
    """All that JSON has about a problem."""


def info(problem: Problem, settings: Settings = None, discount: Discount = None, as_json: AsJson = False) -> None:
    """Sizes, returns, candidate splits and memory of a problem."""
    mdp = load_problem(problem, settings, discount)
    facts: AllFacts = {**facts_of(mdp), **_details(mdp)}
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        _print_facts(problem, mdp, facts)


def _print_facts(problem: str, mdp: "MDP", facts: AllFacts) -> None:
    from rich.table import Table

    from omdt.environments import describe, registered
    from omdt.tree import printable

    output = console()
    if problem in registered():
        line(output, describe(problem) + "\n")
    table = Table.grid(padding=(0, 2))
    table.add_row("states", f"{facts['states']:,} ({facts['terminal_states']:,} terminal)")
    table.add_row("observations", f"{facts['distinct_observations']:,} distinct")
    table.add_row("actions", f"{facts['actions']:,}: {_some(mdp.action_names)}")
    table.add_row("features", f"{facts['features']:,}: {_some(mdp.feature_names)}")
    table.add_row("transitions", f"{facts['transitions']:,} of positive probability")
    table.add_row("memory", f"{facts['memory_bytes'] / 2**20:,.1f} MiB")
    table.add_row("candidate splits", f"{facts['candidate_splits']:,}")
    table.add_row("discount", f"{mdp.discount:.12g}")
    table.add_row("optimal return", f"{facts['optimal_return']:.9g}")
    table.add_row("random return", f"{facts['random_return']:.9g}")
    table.add_row("worst return", f"{facts['worst_return']:.9g}")
    output.print(f"[bold]{escape(printable(mdp.name))}[/bold]")
    output.print(table)


def _details(mdp: "MDP") -> Details:
    import numpy as np

    from omdt import planning
    from omdt.splits import Splits

    return {
        "worst_return": planning.expected_return(mdp, planning.worst_values(mdp)).value,
        "terminal_states": int(mdp.terminal.sum()),
        "distinct_observations": len(np.unique(mdp.features, axis=0)),
        "transitions": int(mdp.transitions.nnz),
        "memory_bytes": mdp.nbytes,
        "candidate_splits": len(Splits.of(mdp)),
        "feature_names": list(mdp.feature_names),
        "action_names": list(mdp.action_names),
    }


def _some(names: tuple[str, ...], most: int = 10) -> str:
    from omdt.tree import printable

    shown = ", ".join(escape(printable(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names) - most} more)"
