"""Tables as CSV, as LaTeX with the package booktabs, and as Markdown."""

import csv
import io
import re
from itertools import groupby

from omdt.reproduce.tables import Cell, Mark, Table

SYMBOLS = {Mark.NONE: "", Mark.BETTER: " ▲", Mark.EQUAL: " =", Mark.WORSE: " ▼"}
"""Marks in Markdown and HTML, to be put after a number."""

LATEX_MARKS = {Mark.BETTER: "$^{+}$", Mark.WORSE: "$^{-}$"}
"""Marks in LaTeX, to be put after a number."""

LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "±": r"$\pm$",
    "≤": r"$\le$",
    "–": "--",
}
"""How to write characters that have a meaning in LaTeX or that it does not know."""


def to_csv(table: Table) -> str:
    """A heading and one line per row; a column that is compared with the paper is followed by a column of its marks."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    marked = [any(row[j].mark for row in table.rows) for j in range(len(table.columns))]
    heading: list[str] = []
    for column, has_marks in zip(table.columns, marked, strict=True):
        heading += [column.label, f"{column.label} (mark)"] if has_marks else [column.label]
    lines.writerow(heading)
    for row in table.rows:
        fields: list[str] = []
        for cell, has_marks in zip(row, marked, strict=True):
            fields += [cell.text, str(cell.mark)] if has_marks else [cell.text]
        lines.writerow(fields)
    return text.getvalue()


def to_latex(table: Table) -> str:
    """A tabular environment; numbers that are better than the paper's have a plus, worse ones a minus."""
    groups = [(group, len(list(columns))) for group, columns in groupby(column.group for column in table.columns)]
    first = " & ".join(rf"\multicolumn{{{width}}}{{c}}{{{latex(group)}}}" for group, width in groups)
    second = " & ".join(latex(column.name) for column in table.columns)
    lines = [
        f"% {table.title}. {table.caption}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        r"\toprule",
        first + r" \\",
        second + r" \\",
        r"\midrule",
        *(" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def to_markdown(table: Table) -> str:
    """A heading of the second level, the caption and the table."""

    def line(fields: list[str]) -> str:
        return f"| {' | '.join(field.replace('|', chr(92) + '|') for field in fields)} |"

    lines = [
        f"## {table.title}",
        "",
        table.caption,
        "",
        line([column.label for column in table.columns]),
        "|---" + "|--:" * (len(table.columns) - 1) + "|",
        *(line([cell.text + SYMBOLS[cell.mark] for cell in row]) for row in table.rows),
    ]
    return "\n".join(lines) + "\n"


def _latex_cell(cell: Cell) -> str:
    return latex(cell.text) + LATEX_MARKS.get(cell.mark, "")


def latex(text: str) -> str:
    """A text escaped for LaTeX; powers of ten become formulas."""
    if power := re.fullmatch(r"10\^(\d+)", text):
        return f"$10^{{{power[1]}}}$"
    return "".join(LATEX.get(character, character) for character in text)
