"""The counts and the tables in Markdown, for a page of documentation."""

from collections.abc import Sequence

from omdt.counting import counted
from omdt.reproduce.results import Results, verdict
from omdt.reproduce.tables import Table
from omdt.reproduce.writing import to_markdown


def verdict_lines(results: Results) -> list[str]:
    """How the search compares with the paper, in sentences; empty if there is no cell to compare."""
    found = verdict(results)
    if not found.cells:
        return []
    return [
        f"{found.level} of {counted(found.cells, 'cell')} at least as good as the better of the paper's two methods",
        *(f"falls short: {cell}" for cell in found.short),
        f"{found.proven} of {counted(found.cells, 'cell')} proven; the paper proved {found.paper_proven} of these",
    ]


def summary_markdown(results: Results, tables: Sequence[Table], *, command: str) -> str:
    """The command, the machines, the counts and the tables.

    Args:
        results: the results of the runs.
        tables: the tables to show.
        command: the command that the user typed.
    """
    machines = {
        f"{facts['processor']}, {counted(int(facts['cores']), 'core')}; Python {facts['python']}, omdt {facts['omdt']}"
        for facts in (record.machine for record in results.records)
    }
    lines = [
        "# Reproduced results",
        "",
        "Made by",
        "",
        f"    {command}",
        "",
        *(f"on {machine}.\n" for machine in sorted(machines)),
        *(f"- {line}" for line in verdict_lines(results)),
        "",
        "▲ is better than the paper's figure, = equal in two decimals, ▼ worse; the search is compared with the better",
        "of the paper's two methods, milp with its OMDT, viper with its VIPER.",
        "",
    ]
    return "\n".join(lines) + "\n" + "\n".join(to_markdown(table) for table in tables)
