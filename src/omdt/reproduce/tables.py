"""The paper's tables with our numbers beside its own, and marks for better, equal and worse.

Returns are compared in two decimals, as the paper prints them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from omdt.reproduce import paper
from omdt.reproduce.grid import problem
from omdt.reproduce.pieces import DEPTHS
from omdt.reproduce.results import Results, Summary
from omdt.reproduce.sizes import milp_size, trees_exponent

DEPTH = 3
"""Depth of the trees of the main table."""

MISSING = "–"
"""What a cell shows when there is nothing to show."""


class Mark(StrEnum):
    """How a number of ours compares with the paper's."""

    NONE = ""
    BETTER = "better"
    EQUAL = "equal"
    WORSE = "worse"


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: what is shown.
        mark: how our number compares with the paper's.
        note: an explanation, shown on demand.
    """

    text: str
    mark: Mark = Mark.NONE
    note: str = ""


@dataclass(frozen=True)
class Column:
    """The heading of a column: a group of columns, such as whose numbers they are, and the name within the group."""

    group: str
    name: str

    @property
    def label(self) -> str:
        """Group and name in one text."""
        return f"{self.group}: {self.name}" if self.group else self.name


@dataclass(frozen=True)
class Table:
    """A table: every row has one cell per column, the first of which names the environment."""

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


def table_main(results: Results) -> Table:
    """Trees of depth 3 by every method, and the sizes of the problems."""
    columns = [
        ("", "environment"),
        ("size", "states"),
        ("size", "actions"),
        ("return, ours", "search"),
        ("return, ours", "bound"),
        ("return, ours", "milp"),
        ("return, ours", "viper"),
        ("return, paper", "OMDT 2 h"),
        ("return, paper", "OMDT 5 min"),
        ("return, paper", "VIPER"),
        ("MILP", "variables"),
        ("MILP", "constraints"),
        ("", "trees"),
        ("seconds, ours", "search to proof"),
        ("seconds, ours", "milp to proof"),
        ("seconds, ours", "viper"),
        ("seconds, paper", "OMDT to proof"),
        ("seconds, paper", "VIPER"),
    ]
    return Table(
        name="table-main",
        title="Trees of depth 3",
        caption="Normalised returns (0 is the random policy, 1 the best policy of any form), sizes and run times. "
        + _budget_note(results),
        columns=tuple(Column(*column) for column in columns),
        rows=tuple(_main_row(results, environment) for environment in results.grid.environments),
    )


def _main_row(results: Results, environment: str) -> tuple[Cell, ...]:
    mdp, published = problem(environment), paper.environments()[environment]
    cell = paper.cells()[environment, DEPTH]
    variables, constraints = milp_size(mdp, DEPTH)
    exponent = round(trees_exponent(mdp, DEPTH))
    return (
        Cell(environment),
        Cell(f"{mdp.n_states:,}"),
        Cell(f"{mdp.n_actions:,}"),
        *_returns(results, environment, DEPTH),
        Cell(_two(cell.omdt, cell.omdt_error)),
        Cell(MISSING if cell.omdt_five_minutes is None else _two(cell.omdt_five_minutes)),
        Cell(_two(cell.viper, cell.viper_error)),
        _same(f"{variables:,}", f"{published.milp_variables:,}"),
        _same(f"{constraints:,}", f"{published.milp_constraints:,}"),
        _same(f"10^{exponent}", f"10^{published.trees_exponent}"),
        *(_proof(results, environment, method, DEPTH) for method in ("search", "milp")),
        _shown(results, environment, "viper", DEPTH, lambda it: Cell(_seconds(it.seconds))),
        Cell(_published_proof(cell)),
        Cell(MISSING if cell.viper_seconds is None else f"{cell.viper_seconds:,.0f}"),
    )


def table_depths(results: Results) -> Table:
    """Returns at every depth."""
    columns = [
        ("", "environment"),
        ("", "depth"),
        ("ours", "search"),
        ("ours", "bound"),
        ("ours", "milp"),
        ("ours", "viper"),
        ("paper", "OMDT 2 h"),
        ("paper", "VIPER"),
    ]
    return Table(
        name="table-depths",
        title="Returns at every depth",
        caption="Normalised returns. " + _budget_note(results),
        columns=tuple(Column(*column) for column in columns),
        rows=tuple(
            (
                Cell(environment),
                Cell(str(depth)),
                *_returns(results, environment, depth),
                Cell(_two(cell.omdt, cell.omdt_error)),
                Cell(_two(cell.viper, cell.viper_error)),
            )
            for environment, depth, cell in _cells(results)
        ),
    )


def table_runtimes(results: Results) -> Table:
    """Seconds to a proof at every depth."""
    columns = [
        ("", "environment"),
        ("", "depth"),
        ("ours", "search to proof"),
        ("ours", "milp to proof"),
        ("ours", "viper"),
        ("paper", "OMDT to proof"),
    ]
    return Table(
        name="table-runtimes",
        title="Seconds to a proof at every depth",
        caption="Seconds until it is proven that no better tree of that depth exists (relative gap 0.0001); without a "
        "proof, the remaining gap as a share of the return. The machines differ: the paper's ran Gurobi on one "
        "core for at most two hours. " + _budget_note(results),
        columns=tuple(Column(*column) for column in columns),
        rows=tuple(
            (
                Cell(environment),
                Cell(str(depth)),
                *(_proof(results, environment, method, depth) for method in ("search", "milp")),
                _shown(results, environment, "viper", depth, lambda it: Cell(_seconds(it.seconds))),
                Cell(_published_proof(cell)),
            )
            for environment, depth, cell in _cells(results)
        ),
    )


TABLES: dict[str, Callable[[Results], Table]] = {
    "table-main": table_main,
    "table-depths": table_depths,
    "table-runtimes": table_runtimes,
}


def _cells(results: Results) -> Sequence[tuple[str, int, paper.PublishedCell]]:
    return [
        (environment, depth, paper.cells()[environment, depth])
        for environment in results.grid.environments
        for depth in DEPTHS
    ]


def _budget_note(results: Results) -> str:
    grid = results.grid
    seeds = "one seed" if grid.seeds == 1 else f"the mean of {grid.seeds} seeds"
    return (
        f"Ours: {grid.budget:g} s per run for search and milp ({seeds}), viper with three seeds to its end. "
        "The bound is that of the search and holds for every tree of that depth."
    )


def _returns(results: Results, environment: str, depth: int) -> tuple[Cell, Cell, Cell, Cell]:
    """Our returns: of the search with its bound, of the mixed-integer program and of VIPER."""
    cell = paper.cells()[environment, depth]

    def shown(method: str, reference: float, whose: str) -> Cell:
        def text(it: Summary) -> Cell:
            return Cell(_two(it.value, it.error), compared(it.value, reference), f"{whose}: {_two(reference)}")

        return _shown(results, environment, method, depth, text)

    def bound(it: Summary) -> Cell:
        return Cell("proven" if it.proven else f"≤ {_two(it.bound)}", note=f"no tree has more than {it.bound:.4f}")

    return (
        shown("search", cell.best, "the better of the paper's two"),
        _shown(results, environment, "search", depth, bound),
        shown("milp", cell.omdt, "the paper's OMDT after two hours"),
        shown("viper", cell.viper, "the paper's VIPER"),
    )


def compared(ours: float, theirs: float) -> Mark:
    """How a return of ours compares with a return of the paper, in two decimals."""
    difference = round(round(ours, 2) - theirs, 2)
    return Mark.BETTER if difference > 0 else Mark.WORSE if difference < 0 else Mark.EQUAL


def _proof(results: Results, environment: str, method: str, depth: int) -> Cell:
    """The seconds that a proof took, or the remaining gap."""
    theirs = paper.cells()[environment, depth].proof_seconds

    def shown(it: Summary) -> Cell:
        if it.proof_seconds is None:
            mark = Mark.EQUAL if theirs is None else Mark.WORSE
            return Cell(f"gap {_percent(it.best.gap)}", mark, f"no proof after {_seconds(it.seconds)} s")
        mark = Mark.BETTER if theirs is None or it.proof_seconds < theirs else Mark.WORSE
        return Cell(_seconds(it.proof_seconds), mark)

    return _shown(results, environment, method, depth, shown)


def _shown(results: Results, environment: str, method: str, depth: int, show: Callable[[Summary], Cell]) -> Cell:
    summary = results.summary(environment, method, depth)
    if summary is None:
        return Cell(MISSING, note=results.why_missing(environment, method, depth))
    return show(summary)


def _same(ours: str, theirs: str) -> Cell:
    """A size that must equal the paper's."""
    return Cell(ours, Mark.EQUAL) if ours == theirs else Cell(ours, Mark.WORSE, f"the paper says {theirs}")


def _published_proof(cell: paper.PublishedCell) -> str:
    return paper.TIMEOUT if cell.proof_seconds is None else f"{cell.proof_seconds:,.0f}"


def _two(value: float, error: float | None = None) -> str:
    # Adding zero turns what rounds to -0 into 0.
    text = f"{round(value, 2) + 0.0:.2f}"
    return text if error is None else f"{text} ± {error:.2f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:,.0f} %"
