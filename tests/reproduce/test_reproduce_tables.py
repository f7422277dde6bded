"""The tables: the paper's own figures, ours beside them, marks that are right, and no empty cell."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reproduce_cases import made_up, made_up_records

from omdt.environments import PAPER
from omdt.methods.milp.formulation import formulate
from omdt.reproduce import paper
from omdt.reproduce.grid import Grid, Run, problem
from omdt.reproduce.results import Results, verdict
from omdt.reproduce.running import Failure
from omdt.reproduce.sizes import milp_size, trees_exponent
from omdt.reproduce.summary import summary_markdown
from omdt.reproduce.tables import TABLES, Cell, Column, Mark, Table, compared
from omdt.reproduce.writing import latex, to_csv, to_latex, to_markdown
from omdt.splits import Splits

GRID = Grid(seeds=1, budget=5.0)
FULL = Results(GRID, made_up_records(GRID))


def test_the_published_figures_are_complete():
    assert set(paper.environments()) == set(PAPER)
    assert set(paper.cells()) == {(name, depth) for name in PAPER for depth in (1, 2, 3, 4)}
    assert sum(cell.proof_seconds is not None for cell in paper.cells().values()) == 37
    assert all(paper.cells()[name, 3].omdt_five_minutes is not None for name in PAPER)
    assert paper.cells()["tictactoe_vs_random", 3].best == 0.8


@pytest.mark.parametrize("name", PAPER)
def test_sizes_are_those_of_the_paper(name):
    published = paper.environments()[name]
    assert milp_size(problem(name), 3) == (published.milp_variables, published.milp_constraints)
    assert round(trees_exponent(problem(name), 3)) == published.trees_exponent


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_sizes_are_those_of_the_program_that_is_built(depth):
    mdp = problem("frozenlake_4x4")
    rows, columns = formulate(mdp, Splits.of(mdp), max_depth=depth, form="paper").A.shape
    assert milp_size(mdp, depth) == (columns, rows)


@pytest.mark.parametrize("name", TABLES)
def test_no_cell_is_empty(name):
    table = TABLES[name](FULL)
    assert len(table.rows) == (13 if name == "table-main" else 52)
    for row in table.rows:
        assert len(row) == len(table.columns)
        assert all(cell.text for cell in row)
        assert not any(cell.text == "–" for cell in row)


def test_what_is_missing_is_a_dash_with_its_reason():
    failed = Run("xor", "milp", 2, 0, 5.0)
    results = Results(Grid(("xor",), 1, 5.0), [], [Failure(failed, "out of luck")])
    table = TABLES["table-depths"](results)
    notes = {
        (row[1].text, column.name): cell.note
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
    }
    assert notes["2", "milp"] == "out of luck"
    assert notes["1", "milp"] == "not run yet"
    assert all(cell.text for row in table.rows for cell in row)


def test_the_verdict_counts_and_names():
    found = verdict(FULL)
    assert (found.cells, found.level, found.short) == (52, 52, ())
    assert (found.proven, found.paper_proven) == (26, 37)
    records = made_up_records(GRID)
    worse = Run("xor", "search", 2, 0, 5.0)
    records = [made_up(worse, 0.98, 1.0) if record.run == worse else record for record in records]
    found = verdict(Results(GRID, records))
    assert (found.level, found.proven) == (51, 25)
    assert found.short == ("xor depth 2 (0.98, paper 1.00)",)


def test_means_and_errors_are_over_the_seeds_and_a_proof_of_one_is_a_proof():
    runs = [Run("xor", "search", 3, seed, 5.0) for seed in (0, 1)]
    results = Results(Grid(("xor",), 2, 5.0), [made_up(runs[0], 0.5, 0.9), made_up(runs[1], 0.7, 0.7)])
    summary = results.summary("xor", "search", 3)
    assert summary is not None
    assert summary.value == pytest.approx(0.6)
    assert summary.error == pytest.approx(0.1)
    assert summary.bound == pytest.approx(0.7)
    assert summary.proven
    assert summary.best.value == pytest.approx(70)


@given(st.floats(-1, 1), st.integers(-100, 100))
def test_marks_compare_what_is_printed(ours, hundredths):
    theirs = hundredths / 100
    printed = float(f"{ours:.2f}")
    expected = Mark.BETTER if printed > theirs else Mark.WORSE if printed < theirs else Mark.EQUAL
    assert compared(ours, theirs) is expected


@pytest.mark.parametrize("name", TABLES)
def test_csv_has_every_figure(name):
    table = TABLES[name](FULL)
    rows = list(csv.reader(io.StringIO(to_csv(table))))
    assert len(rows) == 1 + len(table.rows)
    assert len({len(row) for row in rows}) == 1
    for line, row in zip(rows[1:], table.rows, strict=True):
        assert [cell.text for cell in row] == [
            text for text, heading in zip(line, rows[0], strict=True) if not heading.endswith("(mark)")
        ]
    assert "better" in to_csv(table) or "equal" in to_csv(table)


@pytest.mark.parametrize("name", TABLES)
def test_latex_is_booktabs_with_as_many_columns_as_it_says(name):
    text = to_latex(TABLES[name](FULL))
    assert r"\toprule" in text
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    widths = set()
    for line in lines:
        spans = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", line))
        widths.add(len(re.findall(r"(?<!\\)&", line)) + 1 + spans)
    assert widths == {len(TABLES[name](FULL).columns)}
    assert not re.search(r"(?<!\\)_", text.split("\n", 1)[1])
    assert text.isascii()


def test_what_latex_would_read_as_a_command_is_escaped():
    hostile = Table("t", "t", "c", (Column("", "a_b"),), ((Cell(r"\input{x} 50 % & $1_2^3~#{}"),),))
    text = to_latex(hostile)
    assert r"\textbackslash{}input\{x\} 50 \% \& \$1\_2\textasciicircum{}3\textasciitilde{}\#\{\}" in text
    assert latex("10^14") == "$10^{14}$"


def test_markdown_has_the_counts_the_marks_and_every_row():
    tables = [make(FULL) for make in TABLES.values()]
    text = summary_markdown(FULL, tables, command="omdt reproduce all --budget 5")
    assert "    omdt reproduce all --budget 5\n" in text
    assert "- 52 of 52 cells at least as good as the better of the paper's two methods" in text
    assert "- 26 of 52 cells proven; the paper proved 37 of these" in text
    assert "| xor | 2 | 1.00 = | proven |" in text
    for table in tables:
        assert f"## {table.title}\n" in text
    bars = {line.count("|") for line in to_markdown(tables[1]).splitlines() if line.startswith("|")}
    assert bars == {len(tables[1].columns) + 1}
    assert "| a\\|b |" in to_markdown(Table("t", "t", "c", (Column("", "x"),), ((Cell("a|b"),),)))
