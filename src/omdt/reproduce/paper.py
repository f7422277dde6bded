"""What the paper published: the numbers of its tables, with which ours are compared.

`paper_cells.csv` has the normalised returns of its two methods after two hours in every cell (an environment at a
depth), with standard errors, and the seconds to a proof; at depth 3 also the return after five minutes and the run time
of VIPER. Where its two tables of returns differ at depth 3, we use the table of all depths. `paper_environments.csv`
has the sizes of its mixed-integer programs at depth 3 and the random return by which its code normalised: that of
averaged transitions with averaged rewards, which for some environments is not the return of the random policy.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

TIMEOUT = "timeout"
"""What the table has where the paper's solver had no proof after two hours."""

SUCCESS = {"optimal": 0.92, "search": 0.66, "viper": 0.11}
"""Shares of 10,000 runs on frozenlake_12x12 that reached the goal; `search` is the paper's own method."""


@dataclass(frozen=True)
class PublishedCell:
    """An environment at a depth.

    Attributes:
        omdt: mean normalised return of the mixed-integer program after two hours.
        omdt_error: standard error of this mean.
        viper: mean normalised return of VIPER.
        viper_error: standard error of this mean.
        proof_seconds: seconds until the program's solver had a proof; None if it had none after two hours.
        omdt_five_minutes: return of the program after five minutes; None where the paper does not give it.
        viper_seconds: run time of VIPER; None where the paper does not give it.
    """

    omdt: float
    omdt_error: float
    viper: float
    viper_error: float
    proof_seconds: float | None
    omdt_five_minutes: float | None
    viper_seconds: float | None

    @property
    def best(self) -> float:
        """The return of the better of the paper's two methods."""
        return max(self.omdt, self.viper)


@dataclass(frozen=True)
class PublishedEnvironment:
    """An environment.

    Attributes:
        random_return: the return that is 0 on the paper's normalised scale.
        milp_variables: number of variables of the program for depth 3.
        milp_constraints: number of constraints of the program for depth 3.
        trees_exponent: k if there are about 10^k trees of depth 3.
    """

    random_return: float
    milp_variables: int
    milp_constraints: int
    trees_exponent: int


@cache
def cells() -> dict[tuple[str, int], PublishedCell]:
    """All cells, by environment and depth."""
    return {
        (row["mdp"], int(row["depth"])): PublishedCell(
            omdt=float(row["omdt_2h"]),
            omdt_error=float(row["omdt_2h_se"]),
            viper=float(row["viper"]),
            viper_error=float(row["viper_se"]),
            proof_seconds=None if row["omdt_seconds_to_proof"] == TIMEOUT else float(row["omdt_seconds_to_proof"]),
            omdt_five_minutes=_optional(row["omdt_5min"]),
            viper_seconds=_optional(row["viper_seconds"]),
        )
        for row in _rows("paper_cells.csv")
    }


@cache
def environments() -> dict[str, PublishedEnvironment]:
    """All environments, in the order of the paper's tables."""
    return {
        row["mdp"]: PublishedEnvironment(
            random_return=float(row["random_return"]),
            milp_variables=int(row["milp_variables"]),
            milp_constraints=int(row["milp_constraints"]),
            trees_exponent=int(row["trees_exponent"]),
        )
        for row in _rows("paper_environments.csv")
    }


def normalised(environment: str, value: float, optimal: float) -> float:
    """A return on the paper's scale: its random return is 0 and the optimal return is 1."""
    random = environments()[environment].random_return
    return (value - random) / (optimal - random)


def _rows(name: str) -> Iterator[dict[str, str]]:
    with files("omdt.reproduce").joinpath(name).open(encoding="utf-8") as stream:
        yield from csv.DictReader(stream)


def _optional(text: str) -> float | None:
    return float(text) if text else None
