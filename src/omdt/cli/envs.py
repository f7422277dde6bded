"""The command `omdt envs`."""

import json
from typing import TYPE_CHECKING, TypedDict

import typer

from omdt.cli.arguments import AsJson
from omdt.printing import line
from omdt.terminal import console

if TYPE_CHECKING:
    from collections.abc import Callable

    from omdt import planning
    from omdt.mdp import MDP, Floats
    from omdt.objective import Objective


class Facts(TypedDict):
    """Sizes and returns of an MDP, as JSON has them."""

    problem: str
    states: int
    actions: int
    features: int
    discount: float
    optimal_return: float | str | None
    random_return: float | str | None


def envs(as_json: AsJson = False) -> None:
    """Every registered environment with its sizes and returns."""
    from omdt.cli.progress import showing_progress
    from omdt.environments import PAPER, listed, make, parameters, registered
    from omdt.objective import DISCOUNTED_RETURN

    rows = []
    with showing_progress(console(stderr=True), "building and planning") as progress:
        for name in listed():
            progress.update(f"building and planning {name}")
            rows.append(facts_of(make(name), DISCOUNTED_RETURN))
    if as_json:
        typer.echo(json.dumps(rows))
        return
    _print_table(rows)
    families = [name for name in registered() if name not in PAPER]
    for name in families:
        line(console(), f"\n{name} builds others of its kind: --set " + ", --set ".join(parameters(name)))


def _print_table(rows: list[Facts]) -> None:
    from rich.measure import Measurement
    from rich.table import Table

    table = Table("environment", box=None, header_style="bold", pad_edge=False)
    for heading in ("states", "actions", "features", "optimal", "random"):
        table.add_column(heading, justify="right")
    for row in rows:
        sizes = (f"{size:,}" for size in (row["states"], row["actions"], row["features"]))
        table.add_row(row["problem"], *sizes, f"{row['optimal_return']:.6f}", f"{row['random_return']:.6f}")
    output = console()
    # On a terminal that is too narrow, rich would cut the names; the terminal itself folds the lines.
    whole = output.options.update(max_width=10_000)
    output.width = max(output.width, Measurement.get(output, whole, table).maximum)
    output.print(table)


def facts_of(mdp: "MDP", objective: "Objective | None") -> "Facts":
    """Sizes of an MDP, and its returns if it is known what is asked."""
    from omdt import planning

    def random_values(problem: "MDP") -> "planning.Certified[Floats]":
        return planning.policy_values(problem, planning.random_policy(problem))

    return {
        "problem": mdp.name,
        "states": mdp.n_states,
        "actions": mdp.n_actions,
        "features": mdp.n_features,
        "discount": mdp.discount,
        "optimal_return": None if objective is None else returned(mdp, objective, planning.optimal_values),
        "random_return": None if objective is None else returned(mdp, objective, random_values),
    }


def returned(
    mdp: "MDP", objective: "Objective", values: "Callable[[MDP], planning.Certified[Floats]]"
) -> float | str | None:
    """The figure that users see for the values of a policy, as JSON holds it."""
    from omdt import planning
    from omdt.solution import spelled
    from omdt.task import Size, Task

    task = Task.over_thresholds(mdp, Size(0), objective)
    return spelled(task.shown(planning.expected_return(task.problem, values(task.problem)).value))
