"""The command `omdt info`."""

import json
from typing import TYPE_CHECKING, NotRequired, TypedDict

import typer

from omdt.cli.arguments import AsJson, Discount, Labels, Problem, Property, Settings
from omdt.cli.asking import Named, coming_with, load_asked
from omdt.cli.envs import Facts, facts_of
from omdt.cli.messages import tell
from omdt.errors import UnclearRewardError
from omdt.printing import escape, line, number
from omdt.terminal import console

if TYPE_CHECKING:
    from omdt.mdp import MDP
    from omdt.objective import Objective


class Details(TypedDict):
    """What JSON has about a problem beyond the facts of `omdt envs`."""

    worst_return: float | str | None
    terminal_states: int
    distinct_observations: int
    transitions: int
    memory_bytes: int
    candidate_splits: int
    feature_names: list[str]
    action_names: list[str]
    labels: dict[str, int]
    rewards: list[str]
    properties: list[str]
    objective: NotRequired[str]


class AllFacts(Facts, Details):
    """All that JSON has about a problem."""


def info(
    problem: Problem,
    settings: Settings = None,
    discount: Discount = None,
    asked: Property = None,
    labels: Labels = None,
    as_json: AsJson = False,
) -> None:
    """Sizes, labels, rewards, returns, candidate splits and memory of a problem."""
    named = Named(problem, settings, discount, None, asked, labels)
    objective: Objective | None
    try:
        mdp, objective = load_asked(named)
    except UnclearRewardError as unclear:
        # What there is to choose from is still worth showing; any probability needs no reward.
        mdp, objective = load_asked(named._replace(property="Pmax=? [F true]"))[0], None
        tell(str(unclear))
    facts: AllFacts = {**facts_of(mdp, objective), **_details(mdp, objective, problem)}
    if as_json:
        typer.echo(json.dumps(facts, allow_nan=False))
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
    if facts["labels"]:
        marked = tuple(f"{name} ({count:,})" for name, count in facts["labels"].items())
        table.add_row("labels", f"{len(marked):,}: {_some(marked)}")
    if facts["rewards"]:
        table.add_row(
            "rewards", f"{len(facts['rewards']):,}: {_some(tuple(name or '(no name)' for name in facts['rewards']))}"
        )
    for place, text in enumerate(facts["properties"], 1):
        table.add_row("properties" if place == 1 else "", f"{place}: {escape(printable(text))}")
    table.add_row("transitions", f"{facts['transitions']:,} of positive probability")
    table.add_row("memory", f"{facts['memory_bytes'] / 2**20:,.1f} MiB")
    table.add_row("candidate splits", f"{facts['candidate_splits']:,}")
    if "objective" in facts:
        table.add_row("objective", escape(printable(facts["objective"])))
    elif facts["optimal_return"] is not None:
        table.add_row("discount", f"{mdp.discount:.12g}")
    returns = {name: facts[f"{name}_return"] for name in ("optimal", "random", "worst")}  # type: ignore[literal-required]
    for name, value in returns.items():
        if value is not None:
            table.add_row(f"{name} return", number(float(value)))
    output.print(f"[bold]{escape(printable(mdp.name))}[/bold]")
    output.print(table)


def _details(mdp: "MDP", objective: "Objective | None", problem: str) -> Details:
    import numpy as np

    from omdt import planning
    from omdt.cli.envs import returned
    from omdt.splits import Splits

    details: Details = {
        "worst_return": None if objective is None else returned(mdp, objective, planning.worst_values),
        "terminal_states": int(mdp.terminal.sum()),
        "distinct_observations": len(np.unique(mdp.features, axis=0)),
        "transitions": int(mdp.transitions.nnz),
        "memory_bytes": mdp.nbytes,
        "candidate_splits": len(Splits.of(mdp)),
        "feature_names": list(mdp.feature_names),
        "action_names": list(mdp.action_names),
        "labels": {name: int(states.sum()) for name, states in mdp.labels.items()},
        "rewards": list(mdp.reward_models),
        "properties": [listed.spelled for listed in coming_with(problem).properties],
    }
    if objective is not None and not objective.by_default:
        details["objective"] = objective.property
    return details


def _some(names: tuple[str, ...], most: int = 10) -> str:
    from omdt.tree import printable

    shown = ", ".join(escape(printable(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names) - most} more)"
