"""Comparison: what every method reached on one problem, as rows, with their JSON, CSV and table forms."""

import csv
import io
import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from omdt import planning
from omdt.files import write_whole
from omdt.frames import frame_of
from omdt.solution import MAX, MIN, Wording, discounted_return, spelled, wording

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

FORMAT = "omdt-comparison-1"

MEANING = {
    "random": "every available action equally likely",
    "viper": "imitates the optimal policy",
    "iddt": "soft tree by gradient ascent, made hard",
    "copy": "copies the optimal policy, size unlimited",
    "copy-any": "the same with any optimal action, size unlimited",
    "milp": "the best tree of this size by mixed-integer programming",
    "search": "looks for the best tree of this size",
    "optimal": "the best policy of any form",
}
"""The rows of a comparison, in order; those of the user's own policies stand before the last one."""

OWN = "your own"
"""What is said about a policy of the user's own."""


@dataclass(frozen=True)
class Row:
    """What one method reached.

    Attributes:
        method: a key of `MEANING`, or the name of a policy of the user's own.
        runs: number of seeds that the figures are means over.
        value: discounted return, or what else the objective says.
        value_error: standard error of its mean; None for one run.
        normalized_return: 0 is random, 1 is optimal; None where a return is infinite.
        normalized_error: standard error of its mean; None for one run.
        bound: the best bound that any run gave on the return of all trees of its size: the lowest upper bound, or the
            highest lower bound where the objective is to be small; None for a policy that came without one.
        proven: whether all runs proved their trees optimal; None for a policy that came without a bound.
        decision_nodes: mean number; None for a policy that is not a tree.
        seconds: mean time of a run.
        breaks: how a tree of the method breaks a rule, to be read after `the tree …`; None if all keep the rules.
    """

    method: str
    runs: int
    value: float
    value_error: float | None
    normalized_return: float | None
    normalized_error: float | None
    bound: float | None
    proven: bool | None
    decision_nodes: float | None
    seconds: float
    breaks: str | None = None


@dataclass(frozen=True, repr=False)
class Comparison:
    """All rows of one problem.

    Attributes:
        problem: name of the MDP.
        max_depth: limit on the depth, or None.
        max_leaf_nodes: limit on the number of leaves, or None.
        discount: γ.
        rows: in the order of `MEANING`; the user's own before the last one.
        interrupted: whether Ctrl-C ended it; rows may then be missing, or show runs that ended early.
        objective: what was asked, as in `Solution`; None for the discounted return.
        sense: whether the objective is to be large ("max") or small ("min").
    """

    problem: str
    max_depth: int | None
    max_leaf_nodes: int | None
    discount: float
    rows: tuple[Row, ...]
    interrupted: bool
    objective: str | None = None
    sense: str = MAX

    def __getitem__(self, method: str) -> Row:
        """The row of a method."""
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(method)

    @property
    def indifferent(self) -> bool:
        """Whether the random policy is optimal, so that there is nothing to compare."""
        random, optimal = self["random"].value, self["optimal"].value
        if not math.isfinite(optimal - random):
            return random == optimal
        better = random - optimal if self.sense == MIN else optimal - random
        return better <= planning.ROUNDING * max(abs(random), abs(optimal))

    def meaning(self, row: Row) -> str:
        """What a row is about, in a few words."""
        runs = f", mean of {row.runs} seeds" if row.runs > 1 else ""
        broken = "" if row.breaks is None else f"; breaks a rule: {row.breaks}"
        return MEANING.get(row.method, OWN) + runs + broken

    def __repr__(self) -> str:
        return f"<Comparison on {self.problem!r}: {', '.join(row.method for row in self.rows)}>"

    def __str__(self) -> str:
        """The table as the command line prints it."""
        from omdt.printing import show_comparison, text_of

        return text_of(show_comparison, self)

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        from omdt.printing.notebook import comparison_html

        return comparison_html(self)

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the returns between random and optimal, and return the Axes (needs the extra `plots`).

        Args:
            ax: where to draw; by default a new figure.
        """
        from omdt.report.comparison_plot import plot_comparison

        return plot_comparison(self, ax=ax)

    @property
    def wording(self) -> Wording:
        """How the objective is spoken of."""
        return wording(self.objective, self.sense)

    def to_json(self) -> str:
        """One JSON object."""
        data = asdict(self)
        for row in data["rows"]:
            row |= {key: spelled(row[key]) for key in ("value", "bound")}
        data["objective"] = discounted_return(self.discount) if self.objective is None else self.objective
        return json.dumps({"format": FORMAT, **data}, ensure_ascii=False, allow_nan=False) + "\n"

    def to_csv(self) -> str:
        """A header and one line per row."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["problem", *Row.__dataclass_fields__])
        table.writerows([self.problem, *asdict(row).values()] for row in self.rows)
        return text.getvalue()

    def to_frame(self) -> "pandas.DataFrame":
        """A table with one row per method (needs pandas)."""
        return frame_of({it.name: [getattr(row, it.name) for row in self.rows] for it in fields(Row)})

    def save(self, path: str | Path) -> None:
        """Write a file, whole or not at all: CSV if its name ends in .csv, else JSON."""
        text = self.to_csv() if Path(path).suffix.lower() == ".csv" else self.to_json()
        write_whole(Path(path), lambda stream: stream.write(text.encode()))
