"""What is installed and works: packages, extras, methods, and compiled kernels that are kept on disk."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from omdt.mdp import MDP
from omdt.methods.options import BACKENDS
from omdt.solution import Solution
from omdt.solving import solve

ROOT = Path(__file__).parent

PACKAGES = ("numpy", "scipy", "numba", "cloudpickle", "threadpoolctl", "pyyaml", "typer", "rich")
"""The packages that every installation has."""

TRIAL_SECONDS = 60.0
"""Seconds after which a solver counts as hanging: a tiny problem takes milliseconds, and compiling some seconds."""


class State(StrEnum):
    """What is the matter with an extra."""

    WORKS = "works"
    MISSING = "not installed"
    OLD = "too old"
    BROKEN = "broken"


@dataclass(frozen=True)
class Extra:
    """Something optional that one package brings.

    Attributes:
        name: what `pip install 'omdt[name]'` calls it.
        package: the package, as pip calls it.
        module: what Python imports.
        minimum: the oldest version that is supported.
        purpose: what it is for.
    """

    name: str
    package: str
    module: str
    minimum: str
    purpose: str


EXTRAS = (
    Extra("gymnasium", "gymnasium", "gymnasium", "1.2", "problems gym:ENV_ID, and MDPs as environments"),
    Extra("highs", "highspy", "highspy", "1.15", "the method milp with the solver HiGHS"),
    Extra("scip", "pyscipopt", "pyscipopt", "6.3", "the method milp with the solver SCIP"),
    Extra("gurobi", "gurobipy", "gurobipy", "13", "the method milp with the solver Gurobi"),
    Extra("storm", "stormpy", "stormpy", "2.0", "models in the PRISM language and JANI"),
    Extra("sklearn", "scikit-learn", "sklearn", "1.3", "the method viper, comparisons, exported classifiers"),
    Extra("plots", "matplotlib", "matplotlib", "3.8", "trees as PNG and PDF, figures"),
    Extra("report", "jinja2", "jinja2", "3.1", "HTML reports"),
    Extra("onnx", "onnx", "onnx", "1.16", "trees as ONNX models"),
    Extra("pandas", "pandas", "pandas", "2.1", "results as data frames"),
    Extra("dataframe", "narwhals", "narwhals", "2", "tables that are neither of pandas nor of polars"),
    Extra("dask", "distributed", "distributed", "2026.8", "solve and reproduce on a Dask cluster"),
)
"""All extras with a package of their own."""


@dataclass(frozen=True)
class Finding:
    """What was found about an extra.

    Attributes:
        extra: the extra.
        version: the installed version; None if there is none.
        state: whether it works.
        problem: why it does not, if it is broken.
    """

    extra: Extra
    version: str | None
    state: State
    problem: str | None = None


@dataclass(frozen=True)
class Kernels:
    """Functions that numba compiles when they are first called, and keeps on disk.

    Attributes:
        kept: how many have been compiled and are kept.
        total: how many there are.
        folders: where they are kept.
    """

    kept: int
    total: int
    folders: tuple[Path, ...]


def installed_version(package: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def find_extras() -> Iterator[Finding]:
    """What is known about every extra; those that are installed are imported."""
    return map(find_extra, EXTRAS)


def find_extra(extra: Extra) -> Finding:
    """What is known about an extra; if it is installed, it is imported."""
    found = installed_version(extra.package)
    if found is None and find_spec(extra.module) is None:
        return Finding(extra, None, State.MISSING)
    if found is not None and _numbers(found) < _numbers(extra.minimum):
        return Finding(extra, found, State.OLD)
    problem = _failure(partial(import_module, extra.module))
    return Finding(extra, found, State.WORKS if problem is None else State.BROKEN, problem)


def _numbers(text: str) -> tuple[int, ...]:
    """A version for comparison; what comes after the numbers (such as rc1) does not count."""
    numbers = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, numbers[0].split("."))) if numbers else ()


def find_methods() -> Iterator[tuple[str, str | None]]:
    """The exact methods that can be tried, and for each why it failed on a tiny problem, or None."""
    problem = _tiny_problem()
    yield "search", _failure(partial(_prove_by_search, problem))
    for extra in EXTRAS:
        if extra.name in BACKENDS and find_spec(extra.module) is not None:
            yield f"milp, {extra.name}", _failure(partial(_prove_by_milp, problem, extra.name))


def _tiny_problem() -> MDP:
    """Three states, for which the best tree of depth 1 is worse than the best policy, so that solvers have work."""
    right = ("a", "b", "a")
    steps = [((x,), action, ((x + 1) % 3,), 1.0, float(action == right[x])) for x in range(3) for action in "ab"]
    return MDP.from_transitions(steps, initial=(0,), feature_names=("x",), discount=0.9)


def _prove_by_search(problem: MDP) -> None:
    _check_proof(solve(problem, max_depth=1, time_limit=TRIAL_SECONDS))


def _prove_by_milp(problem: MDP, backend: str) -> None:
    _check_proof(solve(problem, max_depth=1, time_limit=TRIAL_SECONDS, method="milp", backend=backend))


def _check_proof(solution: Solution) -> None:
    """Raise an error if a tiny problem was not solved with a proof."""
    if not solution.proven:
        raise RuntimeError(f"a tiny problem was not proven: the run ended with {solution.stop}")


def _failure(attempt: Callable[[], object]) -> str | None:
    """Why an attempt fails; None if it does not."""
    try:
        attempt()
    except Exception as error:  # Whatever a foreign package raises is what the user wants to know.
        return f"{type(error).__name__}: {error}"
    return None


def find_kernels() -> Kernels:
    """How many kernels are kept on disk, without compiling or importing any extra.

    A kept kernel is an index file named after module, function and line. One that is older than its source will be
    compiled again, so it does not count.
    """
    kept, total, folders = 0, 0, set()
    for source in sorted(ROOT.rglob("*.py")):
        compiled = _compiled_functions(source)
        if not compiled:
            continue
        module = import_module(".".join(["omdt", *source.relative_to(ROOT).with_suffix("").parts]))
        for name, line in compiled.items():
            folder = Path(getattr(module, name).stats.cache_path)
            indices = folder.glob(f"{source.stem}.{name}-{line}.py*.nbi")
            kept += any(index.stat().st_mtime >= source.stat().st_mtime for index in indices)
            total += 1
            folders.add(folder)
    return Kernels(kept, total, tuple(sorted(folders)))


def _compiled_functions(source: Path) -> dict[str, int]:
    """The functions of a module whose compiled code numba keeps, with the lines at which their decorators stand.

    Those that are inlined into others are not kept.
    """
    text = source.read_text(encoding="utf-8")
    if "@njit" not in text:
        return {}
    functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return {
        it.name: it.decorator_list[0].lineno
        for it in functions
        if any("cache=True" in ast.unparse(decorator) for decorator in it.decorator_list)
    }
