"""The command `omdt doctor`."""

import json
import platform
from typing import TYPE_CHECKING, TypedDict

import typer

from omdt.cli.arguments import AsJson
from omdt.printing import escape, line
from omdt.terminal import console, cores

if TYPE_CHECKING:
    from rich.console import Console

    from omdt.installation import Finding


class ExtraFacts(TypedDict):
    """What JSON has about an extra."""

    package: str
    version: str | None
    state: str
    problem: str | None
    purpose: str
    install: str


class KernelFacts(TypedDict):
    """What JSON has about compiled kernels."""

    kept: int
    total: int
    folders: list[str]


class Diagnosis(TypedDict):
    """All that JSON has about an installation. A method that works has null, any other what went wrong."""

    omdt: str
    python: str
    system: str
    cores: int
    packages: dict[str, str | None]
    kernels: KernelFacts
    methods: dict[str, str | None]
    extras: dict[str, ExtraFacts]


def doctor(as_json: AsJson = False) -> None:
    """What is installed and works: versions, cores, solvers, extras and compiled kernels."""
    from omdt.cli.progress import showing_progress

    with showing_progress(console(stderr=True), "trying what is installed"):
        found = _diagnosis()
    if as_json:
        typer.echo(json.dumps(found))
    else:
        _show(found, console())
    if any(found["methods"].values()) or any(extra["problem"] for extra in found["extras"].values()):
        raise typer.Exit(1)


def _diagnosis() -> Diagnosis:
    """All facts; the kernels come first, because trying the methods compiles some."""
    from omdt import __version__
    from omdt.installation import PACKAGES, find_extras, find_kernels, find_methods, installed_version

    kernels = find_kernels()
    return {
        "omdt": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": cores(),
        "packages": {package: installed_version(package) for package in PACKAGES},
        "kernels": {"kept": kernels.kept, "total": kernels.total, "folders": [str(path) for path in kernels.folders]},
        "methods": dict(find_methods()),
        "extras": {finding.extra.name: _facts(finding) for finding in find_extras()},
    }


def _facts(finding: "Finding") -> ExtraFacts:
    extra = finding.extra
    return {
        "package": extra.package,
        "version": finding.version,
        "state": finding.state.value,
        "problem": finding.problem,
        "purpose": extra.purpose,
        "install": f"pip install 'omdt[{extra.name}]'",
    }


def _show(found: Diagnosis, output: "Console") -> None:
    """Print the facts for people, and what to do about those that are not as they could be."""
    from rich.table import Table

    from omdt.tree import printable

    head = f"Python {found['python']} on {found['system']}"
    output.print(f"[bold]omdt {found['omdt']}[/bold]  {escape(printable(head))}, cores: {found['cores']}")
    line(
        output, ", ".join(f"{package} {version or '(not installed)'}" for package, version in found["packages"].items())
    )
    kept, total = found["kernels"]["kept"], found["kernels"]["total"]
    line(
        output, f"\ncompiled kernels: {kept} of {total} are kept on disk; any other is compiled when it is first needed"
    )
    table = Table("method", box=None, header_style="bold", pad_edge=False)
    table.add_column("state")
    for method, problem in found["methods"].items():
        table.add_row(method, "works" if problem is None else f"[red]{escape(printable(problem))}[/red]")
    output.print()
    output.print(table)
    _show_extras(found["extras"], output)


def _show_extras(extras: dict[str, ExtraFacts], output: "Console") -> None:
    """Print a table of the extras, and how to install those that are missing or too old."""
    from rich.table import Table

    from omdt.tree import printable

    table = Table("extra", box=None, header_style="bold", pad_edge=False)
    for heading in ("package", "state", "for"):
        table.add_column(heading)
    for name, facts in extras.items():
        state = facts["state"] if facts["problem"] is None else f"[red]{escape(printable(facts['problem']))}[/red]"
        table.add_row(name, f"{facts['package']} {facts['version'] or ''}".rstrip(), state, facts["purpose"])
    output.print()
    output.print(table)
    absent = [name for name, facts in extras.items() if facts["state"] != "works"]
    if absent:
        names = ",".join(absent)
        line(output, f"\nto add an extra by name: pip install 'omdt[{names}]'")
        line(output, f"in a clone of omdt:       make install EXTRAS={names}")
