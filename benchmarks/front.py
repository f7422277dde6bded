"""The front beside one solve per size, to the same proofs, in one run.

Run with `make bench-front`; problems can be chosen by a part of their names:

    python benchmarks/front.py --repeat 3 --only size=4

Both sides prove every size of every problem here, so they are compared by the work for the same result; a row in which
a proof is missing on either side has no ratio. Both use one core; times are CPU seconds, the least of several runs, so
that other programs on the machine do not count.

The largest size takes the front about as long as it takes a single solve, so where it is far harder than all others,
nothing that the sizes share can bring the ratio below its share, which is shown beside it.
"""

import argparse
import os
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console
from rich.table import Table

import omdt


class Row(NamedTuple):
    """A problem and the largest number of leaves."""

    name: str
    leaves: int
    parameters: Mapping[str, int | str] = MappingProxyType({})

    @property
    def words(self) -> str:
        """The problem as the table shows it."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.parameters.items())])


ROWS = (
    Row("frozenlake_4x4", 8),
    Row("frozenlake", 8, {"size": 4, "seed": 1}),
    Row("frozenlake", 8, {"size": 4, "seed": 3}),
    Row("frozenlake", 8, {"size": 4, "seed": 5}),
    Row("system_administrator", 8, {"computers": 4, "topology": "ring"}),
    Row("frozenlake_8x8", 4),
    Row("frozenlake_12x12", 3),
    Row("blackjack", 3),
    Row("traffic_intersection", 3),
    Row("3d_navigation", 3),
    Row("system_administrator_1", 3),
)
"""Problems of which every size is proven within a minute: to eight leaves, and environments of the paper to as many as
can be proven."""

TIME_LIMIT = 120.0
"""Seconds after which a run counts as not proven."""


class Side(NamedTuple):
    """CPU seconds of one side, of its largest size alone where that is known, and whether all sizes were proven."""

    seconds: float
    largest: float
    proven: bool


def apart(mdp: omdt.MDP, leaves: int) -> Side:
    """One solve per size."""
    seconds, proven = [], True
    for n in range(1, leaves + 1):
        begin = time.process_time()
        proven &= omdt.solve(mdp, max_leaf_nodes=n, time_limit=TIME_LIMIT, threads=1).proven
        seconds.append(time.process_time() - begin)
    return Side(sum(seconds), max(seconds), proven)


def together(mdp: omdt.MDP, leaves: int) -> Side:
    """One front."""
    begin = time.process_time()
    front = omdt.front(mdp, max_leaf_nodes=leaves, time_limit=leaves * TIME_LIMIT, threads=1)
    seconds = time.process_time() - begin
    return Side(seconds, seconds, front.proven)


def compared(row: Row, repeat: int) -> tuple[str, ...]:
    """The cells of a row of the table."""
    mdp = omdt.make(row.name, **row.parameters)
    one, other = (min(side(mdp, row.leaves) for _ in range(repeat)) for side in (apart, together))
    cells = (row.words, f"{row.leaves}", f"{one.seconds:.2f}", f"{one.largest:.2f}", f"{other.seconds:.2f}")
    return *cells, f"{other.seconds / one.seconds:.2f}" if one.proven and other.proven else "not proven"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=2, help="runs of which the fastest counts")
    parser.add_argument("--only", default="", help="part of a problem's name")
    chosen = parser.parse_args()
    warm = omdt.make("frozenlake_4x4")
    omdt.front(warm, max_leaf_nodes=5)
    omdt.solve(warm, max_leaf_nodes=5)
    table = Table("problem", title="CPU seconds to the proof of every size, by one solve per size and by one front")
    for heading in ("leaves", "apart", "hardest size alone", "together", "ratio"):
        table.add_column(heading, justify="right")
    progress = Console(stderr=True)
    for row in (row for row in ROWS if chosen.only in row.words):
        progress.print(row.words, style="dim")
        table.add_row(*compared(row, chosen.repeat))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
