"""The command `omdt envs`."""

import json
from typing import TYPE_CHECKING, TypedDict

import typer

from omdt.cli.arguments import AsJson
from omdt.printing import line
from omdt.terminal import console

if TYPE_CHECKING:
    from omdt.mdp import MDP


class Facts(TypedDict):
    """Sizes and returns of an MDP, as JSON has them."""

    problem: str
    states: int
    actions: int
    features: int
    discount: float
    optimal_return: float
    random_return: float


def envs(as_json: AsJson = False) -> None:
    """Every registered environment with its sizes and returns."""
    from omdt.environments import PAPER, listed, make, parameters, registered

    messages = console(stderr=True)
    rows = []
    with messages.status("building and planning") as status:
        for name in listed():
            status.update(f"building and planning {name}")
            rows.append(facts_of(make(name)))
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


def facts_of(mdp: "MDP") -> "Facts":
    """Sizes and returns of an MDP."""
    from omdt import planning

    optimal = planning.expected_return(mdp, planning.optimal_values(mdp))
    random = planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp)))
    return {
        "problem": mdp.name,
        "states": mdp.n_states,
        "actions": mdp.n_actions,
        "features": mdp.n_features,
        "discount": mdp.discount,
        "optimal_return": optimal.value,
        "random_return": random.value,
    }
