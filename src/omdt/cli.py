"""The command line: parse, call, print. Results go to standard output, everything else to standard error."""

import io
import json
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omdt.errors import (
    AssumedDiscountWarning,
    InputError,
    InputWarning,
    LostWorkerError,
    MissingExtraError,
    OutputError,
)
from omdt.methods.options import UnknownOptionError
from omdt.printing import escape, line, show, show_comparison
from omdt.reproduce.command import reproduce
from omdt.terminal import console as _console
from omdt.terminal import cores as _cores

if TYPE_CHECKING:
    from omdt.mdp import MDP
    from omdt.source import Source

# The matrices here are small; a second thread for their linear algebra costs more than it brings.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

app = typer.Typer(
    help="The best small decision tree for a Markov decision process, with proof.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# What sets the parameters of `omdt.solve` and `omdt.compare`.
OPTIONS = {
    "max_depth": "--depth",
    "max_leaf_nodes": "--leaves",
    "time_limit": "--time-limit",
    "gap": "--gap",
    "seed": "--seed",
    "threads": "--threads",
    "memory_limit": "--memory-limit",
    "node_limit": "--node-limit",
    "seeds": "--seeds",
    "processes": "--processes",
    "discount": "--discount",
    "unavailable": "--unavailable",
    "backend": "--backend",
    "ties": "--ties",
    "certificate": "--certificate",
}

# The headings under which --help lists the commands.
PROBLEMS, TREES = "Problems", "Trees"

Problem = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="A registered environment (see `omdt envs`), a file (model.npz, .drn, .tra, .csv, .prism, .nm, "
        ".pm, .jani) or gym:ENV_ID.",
        show_default=False,
    ),
]
SolutionFile = Annotated[
    Path, typer.Argument(metavar="SOLUTION", help="A file that `omdt solve --output` wrote.", show_default=False)
]
SolvedProblem = Annotated[
    str | None,
    typer.Argument(
        metavar="PROBLEM",
        help="The problem that was solved; by default what the solution records.",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the problem, such as cost=time or constants=N=3,p=0.5; repeatable.",
        show_default=False,
    ),
]
Discount = Annotated[
    float | None, typer.Option(metavar="GAMMA", help="Overrides the problem's own discount.", show_default=False)
]
Fallback = Annotated[
    str | None,
    typer.Option(
        metavar="ACTION",
        help="What is played instead of an unavailable action; by default the first available one.",
        show_default=False,
    ),
]
Depth = Annotated[int | None, typer.Option(metavar="D", help="At most D questions on any path.", show_default=False)]
Leaves = Annotated[int | None, typer.Option(metavar="N", help="At most N leaves.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output and nothing else there.")]


@app.callback(invoke_without_command=True)
def _version(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from omdt import __version__

        typer.echo(f"omdt {__version__}")
        raise typer.Exit


@app.command(rich_help_panel=PROBLEMS)
def envs(as_json: AsJson = False) -> None:
    """Every registered environment with its sizes and returns."""
    from omdt.environments import PAPER, make, parameters, registered

    messages = _console(stderr=True)
    rows = []
    with messages.status("building and planning") as status:
        for name in PAPER:
            status.update(f"building and planning {name}")
            rows.append(_facts(make(name)))
    if as_json:
        typer.echo(json.dumps(rows))
        return
    from rich.measure import Measurement
    from rich.table import Table

    table = Table("environment", box=None, header_style="bold", pad_edge=False)
    for heading in ("states", "actions", "features", "optimal", "random"):
        table.add_column(heading, justify="right")
    for row in rows:
        sizes = (f"{row[key]:,}" for key in ("states", "actions", "features"))
        table.add_row(row["problem"], *sizes, f"{row['optimal_return']:.6f}", f"{row['random_return']:.6f}")
    console = _console()
    # Where a terminal is too narrow for the names, it shall fold the lines; rich would cut them.
    console.width = max(
        console.width, Measurement.get(console, console.options.update(max_width=10_000), table).maximum
    )
    console.print(table)
    families = [name for name in registered() if name not in PAPER]
    for name in families:
        line(console, f"\n{name} builds others of its kind: --set " + ", --set ".join(parameters(name)))


@app.command(rich_help_panel=PROBLEMS)
def info(problem: Problem, settings: Settings = None, discount: Discount = None, as_json: AsJson = False) -> None:
    """Sizes, returns, candidate splits and memory of a problem."""
    mdp = _load(problem, settings, discount)
    facts = _facts(mdp) | _details(mdp)
    if as_json:
        typer.echo(json.dumps(facts))
        return
    from rich.table import Table

    from omdt.environments import describe, registered
    from omdt.tree import printable

    console = _console()
    if problem in registered():
        line(console, describe(problem) + "\n")
    table = Table.grid(padding=(0, 2))
    table.add_row("states", f"{facts['states']:,} ({facts['terminal_states']:,} terminal)")
    table.add_row("observations", f"{facts['distinct_observations']:,} distinct")
    table.add_row("actions", f"{facts['actions']:,}: {_some(mdp.action_names)}")
    table.add_row("features", f"{facts['features']:,}: {_some(mdp.feature_names)}")
    table.add_row("transitions", f"{facts['transitions']:,} of positive probability")
    table.add_row("memory", f"{facts['memory_bytes'] / 2**20:,.1f} MiB")
    table.add_row("candidate splits", f"{facts['candidate_splits']:,}")
    table.add_row("discount", f"{mdp.discount:.12g}")
    for key in ("optimal_return", "random_return", "worst_return"):
        table.add_row(key.replace("_", " "), f"{facts[key]:.9g}")
    console.print(f"[bold]{escape(printable(mdp.name))}[/bold]")
    console.print(table)


@app.command(rich_help_panel=TREES)
def solve(
    problem: Problem,
    depth: Depth = None,
    leaves: Leaves = None,
    method: Annotated[str, typer.Option(help="How to find the tree: search, milp, viper, iddt or copy.")] = "search",
    backend: Annotated[
        str | None, typer.Option(help="Solver of milp: highs, scip or gurobi; highs by default.", show_default=False)
    ] = None,
    ties: Annotated[
        str | None,
        typer.Option(help="Optimal action of copy in a tie: lowest or any; lowest by default.", show_default=False),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop with the best tree so far.", show_default=False)
    ] = None,
    gap: Annotated[float, typer.Option(help="Relative gap between value and bound that counts as a proof.")] = 1e-4,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tree.")] = 0,
    threads: Annotated[
        int | None,
        typer.Option(help="Cores for search, all by default, or for the solver of milp.", show_default=False),
    ] = None,
    memory_limit: Annotated[
        int, typer.Option(metavar="MIB", help="Memory for what the search remembers; it forgets the rest.")
    ] = 2048,
    node_limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Stop after N partial trees; every run then gives the same file.", show_default=False
        ),
    ] = None,
    unavailable: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Where a leaf's action is not available: fallback plays another one, forbid allows no such leaf.",
        ),
    ] = "fallback",
    fallback: Fallback = None,
    settings: Settings = None,
    discount: Discount = None,
    as_json: AsJson = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the JSON object into a file.", show_default=False)
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the evidence for the bound, for `omdt check`.", show_default=False),
    ] = None,
) -> None:
    """The best tree of a problem, drawn as text, with value, bound and proof."""
    from omdt.files import check_writable
    from omdt.limits import Limits
    from omdt.methods.search.method import is_compiled
    from omdt.solution import Stop
    from omdt.solving import solve as run
    from omdt.task import Size

    with _naming_options():
        Size(depth, leaves)
        Limits(time_limit, gap, seed, 1 if threads is None else threads, memory_limit, node_limit)
    if output is not None:
        check_writable(output)
    if output is not None and certificate is not None and output.resolve() == certificate.resolve():
        raise InputError(f"--output and --certificate are both {output}; name two files")
    if certificate is not None and method != "search":
        raise InputError(f"the method {method} has no evidence for its bound; leave out --certificate, or use search")
    if certificate is not None and unavailable == "forbid":
        raise InputError("a certificate is about all trees; leave out --certificate, or use --unavailable fallback")
    mdp = _load(problem, settings, discount, fallback)
    chosen = {"backend": backend, "ties": ties, "certificate": certificate}
    options: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    if threads is None:
        threads = _cores() if method == "search" else 1
    doing = "solving" if is_compiled() else "compiling, once on this machine, and solving"
    with _naming_options(), _console(stderr=True).status(f"{doing} {escape(problem)}") as status:
        solution = run(
            mdp,
            max_depth=depth,
            max_leaf_nodes=leaves,
            method=method,
            time_limit=time_limit,
            gap=gap,
            seed=seed,
            threads=threads,
            memory_limit=memory_limit,
            node_limit=node_limit,
            unavailable=unavailable,
            progress=lambda point: status.update(_progress_line(*point)),
            **options,
        )
    with _saving(solution.save, output):
        if as_json:
            sys.stdout.write(solution.to_json())
        else:
            show(solution, _console())
    if solution.stop is Stop.MEMORY:
        _tell("there was not enough memory to go on; this is the best tree so far")
    if solution.stop is Stop.INTERRUPTED:
        _tell("interrupted; this is the best tree so far")
        raise typer.Exit(130)


@app.command(rich_help_panel=TREES)
def compare(
    problem: Problem,
    depth: Depth = None,
    leaves: Leaves = None,
    seeds: Annotated[int, typer.Option(help="Runs of VIPER, of which the mean is shown.")] = 3,
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="For each run of each method.")] = 30.0,
    processes: Annotated[
        int | None, typer.Option(metavar="N", help="Runs at the same time; one a core by default.", show_default=False)
    ] = None,
    fallback: Fallback = None,
    settings: Settings = None,
    discount: Discount = None,
    as_json: AsJson = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="A CSV table on standard output and nothing else there.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a file: CSV if its name ends in .csv, else JSON.", show_default=False),
    ] = None,
) -> None:
    """Every method side by side, between the random policy and the best policy of any form."""
    from omdt.comparing import compare as run
    from omdt.files import check_writable

    if as_json and as_csv:
        raise InputError("--json and --csv exclude each other")
    if output is not None:
        check_writable(output)
    mdp = _load(problem, settings, discount, fallback)
    with _naming_options(), _console(stderr=True).status(f"comparing on {escape(problem)}") as status:
        comparison = run(
            mdp,
            max_depth=depth,
            max_leaf_nodes=leaves,
            seeds=seeds,
            time_limit=time_limit,
            processes=_cores() if processes is None else processes,
            progress=lambda done, total, last: status.update(f"{done} of {total} runs done, the last of {last}"),
        )
    with _saving(comparison.save, output):
        if as_json:
            sys.stdout.write(comparison.to_json())
        elif as_csv:
            sys.stdout.write(comparison.to_csv())
        else:
            show_comparison(comparison, _console())
    if comparison.interrupted:
        _tell("interrupted; this is what there was so far")
        raise typer.Exit(130)


@contextmanager
def _naming_options() -> Iterator[None]:
    """Let an error about a parameter of `omdt.solve` or `omdt.compare` name the option that sets it."""
    try:
        yield
    except UnknownOptionError as error:
        known = [OPTIONS[name] for name in error.known if name in OPTIONS]
        raise InputError(error.message(OPTIONS.get(error.option, error.option), known)) from None
    except InputError as error:
        name, _, rest = str(error).partition(" is ")
        if name in OPTIONS:
            raise InputError(f"{OPTIONS[name]} is {rest}") from None
        raise


@contextmanager
def _saving(save: Callable[[Path], None], output: Path | None) -> Iterator[None]:
    """Save a result before it is printed; what cannot be saved is printed all the same, and then the error is told."""
    failure: Exception | None = None
    try:
        if output is not None:
            save(output)
    except (InputError, OutputError) as error:
        failure = error
    yield
    if failure is not None:
        raise OutputError(str(failure))


@app.command(rich_help_panel=TREES)
def export(
    solution: SolutionFile,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="text, json, dot, svg, png, pdf, python, c, javascript, onnx, sklearn, prism or dtcontrol.",
            show_default=False,
        ),
    ],
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write into a file.", show_default=False)] = None,
) -> None:
    """The tree of a solution as code, picture or model for other programs."""
    from omdt.export import export_tree, to_be_told
    from omdt.files import write_whole
    from omdt.solution import load

    tree = load(solution).tree
    exported = export_tree(tree, to)
    if output is None and isinstance(exported, bytes) and sys.stdout.isatty():
        raise InputError(f"{to} is not for a terminal; name a file with --output")
    # Programs expect UTF-8 in what they read, whatever the encoding of this terminal.
    content = exported if isinstance(exported, bytes) else exported.encode()
    if output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    else:
        write_whole(output, lambda stream: stream.write(content))
    if (message := to_be_told(tree, to)) is not None:
        _tell(message)


@app.command(rich_help_panel=TREES)
def report(
    solution: SolutionFile,
    problem: SolvedProblem = None,
    settings: Settings = None,
    discount: Annotated[
        float | None, typer.Option(metavar="GAMMA", help="By default that of the solution.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="By default SOLUTION with the ending .html.", show_default=False),
    ] = None,
) -> None:
    """One HTML page on a solution: its tree, its proof, where it goes and what it loses."""
    from omdt.files import check_writable
    from omdt.report import write_report
    from omdt.report.commands import solve_command
    from omdt.solution import load

    target = solution.with_suffix(".html") if output is None else output
    check_writable(target)
    if target.resolve() == solution.resolve():
        raise InputError(f"the page would overwrite {solution}; name another file with --output")
    solved = load(solution)
    again = partial(_command, "report", solution)
    name, its_settings = (problem, []) if problem is not None else _recorded(solved.problem, solved.source, again)
    chosen = settings or its_settings
    mdp = _load(name, chosen, solved.discount if discount is None else discount, solved.fallback)
    if mdp.discount == solved.discount:
        mdp = _recognised(mdp, solved.fingerprint, name, None if problem or settings else again(name, chosen))
    commands = [
        solve_command(solved, problem=name, settings=chosen, output=solution),
        shlex.join(["omdt", *sys.argv[1:]]),
    ]
    write_report(solved, mdp, target, commands=commands)
    typer.echo(target)


@app.command(rich_help_panel=TREES)
def check(
    solution: SolutionFile,
    problem: SolvedProblem = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file that `omdt solve --certificate` wrote.", show_default=False),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Compute with rational numbers; for small problems.")] = False,
    settings: Settings = None,
) -> None:
    """Whether a solution's tree returns what it says, and whether a certificate proves its bound."""
    from omdt.check import RejectedError, words
    from omdt.checking import read_solution, source_of, verify

    data = read_solution(solution)
    again, discount = partial(_command, "check", solution), data["discount"]
    if problem is None:
        name, its_settings = _recorded(data["problem"], source_of(data, solution), again)
        chosen = settings or its_settings
        mdp = _load(name, chosen, discount, data.get("fallback"))
    else:
        name, chosen = problem, settings or []
        mdp = _load_as_solved(problem, settings, discount, data.get("fallback"))
    mdp = _recognised(mdp, data.get("fingerprint"), name, None if problem or settings else again(name, chosen))
    try:
        verdict = verify(data, mdp, certificate, exact=exact)
    except RejectedError as error:
        typer.echo(f"NOT VERIFIED: {error}")
        raise typer.Exit(1) from None
    typer.echo(words(verdict))


app.command(rich_help_panel=TREES)(reproduce)


def _progress_line(seconds: float, value: float, bound: float) -> str:
    return f"value {value:.6g}   bound {bound:.6g}   at most {max(0.0, bound - value):.3g} more   {seconds:.0f} s"


def _load(problem: str, settings: list[str] | None, discount: float | None, fallback: str | None = None) -> "MDP":
    """The MDP that a PROBLEM argument names; what was assumed about it goes to standard error."""
    mdp, assumed = _loaded(problem, settings, discount, fallback)
    for warning in assumed:
        _tell(str(warning))
    return mdp


def _load_as_solved(problem: str, settings: list[str] | None, discount: float, fallback: str | None) -> "MDP":
    """The same with the discount of a solution, which is told where the problem has another one or none."""
    from dataclasses import replace

    mdp, assumed = _loaded(problem, settings, None, fallback)
    others = [warning for warning in assumed if not isinstance(warning, AssumedDiscountWarning)]
    for warning in others:
        _tell(str(warning))
    if mdp.discount == discount:
        return mdp
    has_its_own = len(others) == len(assumed)
    _tell(f"the discount is {discount!r}, as in the solution" + (f", not {mdp.discount!r}" if has_its_own else ""))
    return replace(mdp, discount=discount)


def _loaded(
    problem: str, settings: list[str] | None, discount: float | None, fallback: str | None
) -> tuple["MDP", list[InputWarning]]:
    """The MDP that a PROBLEM argument names, and what was assumed about it."""
    from dataclasses import replace

    from omdt.environments import make, parse_parameters, registered

    if problem in registered() or not _from_outside(problem):
        mdp = make(problem, **parse_parameters(problem, settings or []))
        changes = {"discount": discount, "fallback": fallback}
        with _naming_options():
            return replace(mdp, **{name: value for name, value in changes.items() if value is not None}), []  # type: ignore[arg-type]

    from omdt.formats import parse_parameters as parse_outside
    from omdt.formats import read

    with _naming_options(), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", InputWarning)
        mdp = read(problem, discount=discount, fallback=fallback, **parse_outside(problem, settings or []))
    for warning in heard:
        if not issubclass(warning.category, InputWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return mdp, [warning.message for warning in heard if isinstance(warning.message, InputWarning)]


def _command(name: str, solution: Path, problem: str, settings: Sequence[str] = ()) -> str:
    """The command that takes the problem of a solution from the user."""
    return shlex.join(["omdt", name, str(solution), problem, *(word for it in settings for word in ("--set", it))])


def _recorded(name: str, source: "Source | None", again: Callable[[str], str]) -> tuple[str, list[str]]:
    """What the problem of a solution is called on the command line, and its settings.

    Args:
        name: what the MDP was called.
        source: how it can be found again.
        again: the same command for a PROBLEM.
    """
    from omdt.environments import registered

    if source is None and name not in registered():
        raise InputError(
            f"the solution does not say where its problem {name!r} comes from; name it: {again('PROBLEM')}"
        )
    if source is None:
        return name, []
    problem = source.spelled()
    if isinstance(source.problem, Path) and not os.path.exists(source.problem):
        raise InputError(f"there is no file {problem} any more, which was solved; name the problem: {again('PROBLEM')}")
    if problem.startswith("gym:") and ":" in problem.removeprefix("gym:"):
        # Gymnasium would import the module, and a file may come from anyone.
        raise InputError(f"{problem} names a module to import; if you trust it, name it: {again(problem)}")
    return problem, list(source.settings)


def _recognised(mdp: "MDP", expected: str | None, problem: str, again: str | None) -> "MDP":
    """The MDP that was solved: this one, or the part of it that can be reached.

    Args:
        mdp: what PROBLEM names.
        expected: the fingerprint in the solution, if it has one.
        problem: the PROBLEM.
        again: the same command with the PROBLEM, where it was not the user who named that. Where it was, another MDP is
            mentioned, and the figures decide.
    """
    from omdt.fingerprint import fingerprint

    found = fingerprint(mdp)
    if expected is None or expected == found:
        return mdp
    if fingerprint(reachable := mdp.reachable()) == expected:
        return reachable
    differ = f"its fingerprint is {found}, the solution's is {expected}"
    if again is not None:
        raise InputError(
            f"{problem} has changed since it was solved: {differ}; solve it again, or name it to go on with it as it "
            f"is: {again}"
        )
    _tell(f"{problem} is not the problem that was solved, or it has changed since: {differ}")
    return mdp


def _from_outside(problem: str) -> bool:
    """Whether a PROBLEM is a file or an environment of another package."""
    return problem.startswith("gym:") or os.sep in problem or bool(Path(problem).suffix) or os.path.exists(problem)


def _facts(mdp: "MDP") -> dict[str, Any]:
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


def _details(mdp: "MDP") -> dict[str, Any]:
    import numpy as np

    from omdt import planning
    from omdt.splits import Splits

    return {
        "worst_return": planning.expected_return(mdp, planning.worst_values(mdp)).value,
        "terminal_states": int(mdp.terminal.sum()),
        "distinct_observations": len(np.unique(mdp.features, axis=0)),
        "transitions": int(mdp.transitions.nnz),
        "memory_bytes": mdp.nbytes,
        "candidate_splits": len(Splits.of(mdp)),
        "feature_names": list(mdp.feature_names),
        "action_names": list(mdp.action_names),
    }


def _some(names: tuple[str, ...], most: int = 10) -> str:
    from omdt.tree import printable

    shown = ", ".join(escape(printable(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names) - most} more)"


def _tell(message: str) -> None:
    """A message on standard error, with nothing in it that a terminal would obey."""
    from omdt.tree import printable

    typer.echo("omdt: " + "\n".join(map(printable, message.split("\n"))), err=True)


def main() -> None:
    """Run the command line.

    Bad input ends with status 2 and a message, Ctrl-C with 130, SIGTERM with 143, everything else that fails with 1.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with _heeding_termination():
            try:
                app()
            finally:
                sys.stdout.flush()
    except (InputError, MissingExtraError) as error:
        _tell(str(error))
        sys.exit(2)
    except (OutputError, LostWorkerError) as error:
        _tell(str(error))
        sys.exit(1)
    except MemoryError:
        _tell("there is not enough memory for this problem")
        sys.exit(1)
    except OSError as error:
        # Of a reader of our output that has left there is nobody to tell.
        if not isinstance(error, BrokenPipeError):
            _tell(f"cannot write the result: {error.strerror or error}")
        # What could not be written must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


@contextmanager
def _heeding_termination() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, with a status of its own."""
    came: list[int] = []

    def terminate(number: int, frame: Any) -> None:
        came.append(number)
        on_interrupt = signal.getsignal(signal.SIGINT)
        # A process in the background may have been told to ignore Ctrl-C, but not this.
        (on_interrupt if callable(on_interrupt) else signal.default_int_handler)(number, frame)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except SystemExit as end:
        if came and end.code == 130:
            sys.exit(143)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
