"""What the search is meant to reach on the paper's cells, beside what a run of `search.py` has reached."""

from typing import NamedTuple

from rich.table import Table

from best_trees import LEVEL, Cell, best_known

EASY_CELLS, EASY_SECONDS = 37, 40.0
"""The cells that the paper's solver proved within its two hours, and what they may take together on one core."""

OPEN_CELLS: tuple[Cell, ...] = (
    ("frozenlake_12x12", 4),
    ("system_administrator_1", 4),
    ("system_administrator_2", 3),
    ("system_administrator_2", 4),
    ("tiger_vs_antelope", 3),
    ("tiger_vs_antelope", 4),
    ("tictactoe_vs_random", 3),
    ("tictactoe_vs_random", 4),
)
OPEN_PROVEN = 4
"""How many of the cells that version 0.1 left open should be proven, with an hour on two cores each."""

BOUNDS: dict[Cell, tuple[float, float]] = {
    ("frozenlake_12x12", 4): (0.902, 1800),
    ("system_administrator_2", 3): (0.769, 1800),
    ("tiger_vs_antelope", 3): (0.959, 1800),
    ("tictactoe_vs_random", 3): (0.994, 1800),
    ("tictactoe_vs_random", 4): (0.9986, 300),
}
"""The normalised bounds of version 0.1, which should be lower now, and after how many seconds."""


class Reached(NamedTuple):
    """What a run has reached in a cell, with normalised returns."""

    value: float
    bound: float
    proven: bool
    seconds: float
    easy: bool


def table_of(reached: dict[Cell, Reached], limit: float) -> Table:
    """Targets beside what was reached in the cells that were run, with as many seconds each as the limit says."""
    table = Table("target", title="Targets")
    for heading in ("wanted", f"with {limit:g} s a cell", "met"):
        table.add_column(heading, justify="right")

    def add(target: str, wanted: str, found: str, met: bool) -> None:
        table.add_row(target, wanted, found, "yes" if met else "no")

    easy = [it for it in reached.values() if it.easy]
    if easy:
        seconds, proven = sum(it.seconds for it in easy), sum(it.proven for it in easy)
        what = f"{EASY_CELLS} cells that the paper's solver proved, together on one core"
        found = f"{proven} of {len(easy)} proven, {seconds:.0f} s"
        add(what, f"{EASY_SECONDS:g} s", found, seconds < EASY_SECONDS and proven == EASY_CELLS)
    tried = [cell for cell in OPEN_CELLS if cell in reached]
    if tried:
        proven = sum(reached[cell].proven for cell in tried)
        found = f"{proven} of {len(tried)}"
        add(f"proofs of {len(OPEN_CELLS)} open cells, an hour each", f"{OPEN_PROVEN}", found, proven >= OPEN_PROVEN)
    for cell, (bound, seconds) in BOUNDS.items():
        if cell in reached:
            what = f"bound of {cell[0]} depth {cell[1]} after {seconds / 60:g} min"
            found = reached[cell].bound
            add(what, f"below {bound}", f"{found:.5f}", found < bound)
    known = {cell: value for cell, value in best_known().items() if cell in reached}
    if known:
        short, cell = max((value - reached[cell].value, cell) for cell, value in known.items())
        what = f"shortfall from the best known tree, most in {cell[0]} depth {cell[1]}"
        add(what, f"at most {LEVEL}", f"{max(0.0, short):.4f}", short <= LEVEL)
    return table
