"""Whether the search still gives the same answers, to the last byte of its files.

With a limit on nodes, a solution file and its certificate are the same in every run. This script keeps these files for
the 52 cells of the paper and for random MDPs, and compares those of another version with them:

    python benchmarks/answers.py keep /tmp/answers            # in a clone of the old version
    python benchmarks/answers.py compare /tmp/answers         # in the new version

Certificates that were kept are also given to the checker of the version that compares. `--only` chooses by a part of
the name, `--processes` solves several problems at the same time.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table

import omdt
from omdt.checking import read_solution, verify
from omdt.environments import PAPER
from omdt.mdp import MDP
from omdt.splits import Splits

RANDOM = 500
REFUSED = "there is no such tree\n"
"""What is kept of a problem whose rules no tree of the size keeps."""

CELL_NODES, RANDOM_NODES = 300, 400
"""Limits on nodes: enough for every kind of step of the search, and for a few seconds per problem."""


def cell(name: str, depth: int, folder: Path) -> MDP:
    """Solve a cell of the paper."""
    mdp = omdt.make(name, **({"as_published": True} if name == "inventory_management" else {}))
    solution = omdt.solve(mdp, max_depth=depth, node_limit=CELL_NODES)
    solution.save(folder / f"{name}-{depth}.json")
    return mdp


def random_problem(number: int) -> tuple[MDP, Splits, dict[str, object]]:
    """A problem of one of several shapes, with its questions and limits."""
    rng = np.random.default_rng(number)
    shape = ("sparse", "acyclic", "dense", "symmetric", "symmetric")[number % 5]
    # Problems with enough states for sweeps take longer, so there are few of them.
    shape = "swept" if number % 50 == 4 else shape
    mdp = _symmetric(rng) if shape == "symmetric" else _random(rng, shape)
    categorical = mdp.feature_names[:1] if rng.random() < 0.2 else ()
    predicates = rng.random((mdp.n_states, 2)) < 0.5
    asked = {"predicates": predicates, "labels": ("p", "q")} if rng.random() < 0.2 else {}
    depth, leaves = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    size = [{"max_depth": depth}, {"max_leaf_nodes": leaves}, {"max_depth": depth, "max_leaf_nodes": leaves}]
    limits: dict[str, object] = {**size[int(rng.integers(3))], "gap": float(rng.choice([1e-6, 1e-4, 0.01]))}
    if not mdp.available.all() and rng.random() < 0.7:
        limits["unavailable"] = "forbid"
    return mdp, Splits.of(mdp, categorical=categorical, **asked), limits


def _random(rng: np.random.Generator, shape: str) -> MDP:
    S = 700 if shape == "swept" else int(rng.integers(8, 60))
    A, F = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    P = np.zeros((S, A, S))
    for s in range(S):
        for a in range(A):
            after = np.arange(s + 1, S) if shape == "acyclic" and s < S - 1 else np.arange(S)
            n = len(after) if shape == "dense" else min(len(after), int(rng.integers(1, 4)))
            P[s, a, rng.choice(after, n, replace=False)] = rng.dirichlet(np.ones(n))
    if shape == "acyclic":
        P[-1] = 0.0
        P[-1, :, -1] = 1.0
    rewards = rng.normal(size=(S, A)) if rng.random() < 0.7 else rng.integers(-1, 2, size=(S, A)).astype(float)
    available = np.ones((S, A), dtype=np.bool_)
    if rng.random() < 0.2:
        available = rng.random((S, A)) < 0.8
        available[np.arange(S), rng.integers(A, size=S)] = True
    X = rng.integers(0, 8, size=(S, F)).astype(float)
    initial = np.eye(S)[0] if rng.random() < 0.5 else rng.dirichlet(np.ones(S))
    discount = float(rng.choice([0.5, 0.9, 0.99, 0.999]))
    return MDP.from_dense(P, rewards, initial, X, discount=discount, available=available)


def _symmetric(rng: np.random.Generator) -> MDP:
    """Three components with the same dynamics; an action works on one of them."""
    n = 3
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    fail, repair, cost = rng.uniform(0.05, 0.5), rng.uniform(0.5, 1), rng.normal()
    P = np.zeros((2**n, n, 2**n))
    for s in range(2**n):
        for a in range(n):
            up = np.where(bits[s] == 1, 1 - fail, 0.1)
            up[a] = repair
            P[s, a] = np.prod(np.where(bits == 1, up, 1 - up), axis=1)
    rewards = np.repeat((bits.sum(axis=1) ** 2 - cost)[:, None], n, axis=1)
    return MDP.from_dense(P, rewards, np.ones(2**n) / 2**n, bits.astype(float), discount=0.95)


def random_case(number: int, folder: Path) -> MDP:
    """Solve a random problem; every second one that can have a certificate has one."""
    mdp, splits, limits = random_problem(number)
    name = f"random-{number:03d}"
    if number % 2 and "unavailable" not in limits:
        limits["certificate"] = folder / f"{name}.cert"
    solution = omdt.solve(mdp, splits=splits, node_limit=RANDOM_NODES, **limits)  # type: ignore[arg-type]
    solution.save(folder / f"{name}.json")
    return mdp


def problems(only: str) -> dict[str, Callable[[Path], MDP]]:
    """What is solved, by name."""
    every = {f"{name}-{depth}": partial(cell, name, depth) for name in PAPER for depth in (1, 2, 3, 4)}
    every |= {f"random-{number:03d}": partial(random_case, number) for number in range(RANDOM)}
    return {name: solve for name, solve in every.items() if only in name}


def compared(name: str, solve: Callable[[Path], MDP], kept: Path) -> str:
    """How the files of a problem differ from those that were kept; empty if they do not."""
    with tempfile.TemporaryDirectory() as made:
        try:
            mdp = solve(Path(made))
        except omdt.InputError:
            (Path(made) / f"{name}.json").write_text(REFUSED, encoding="utf-8")
        for path in sorted({file.name for folder in (kept, Path(made)) for file in folder.glob(f"{name}.*")}):
            before, after = kept / path, Path(made) / path
            if not (before.exists() and after.exists()):
                return f"{path} is only in one version"
            if before.read_bytes() != after.read_bytes():
                return f"{path} differs"
        certificate = kept / f"{name}.cert"
        if certificate.exists():
            verify(read_solution(kept / f"{name}.json"), mdp, certificate)
    return ""


def kept(name: str, solve: Callable[[Path], MDP], folder: Path) -> str:
    """Solve a problem and keep its files."""
    try:
        solve(folder)
    except omdt.InputError:
        (folder / f"{name}.json").write_text(REFUSED, encoding="utf-8")
    return ""


def main() -> None:
    """Keep answers, or compare with those that were kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["keep", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="part of a problem's name")
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    work = compared if chosen.what == "compare" else kept
    progress, different = Console(stderr=True), []
    chosen_problems = problems(chosen.only)
    with ProcessPoolExecutor(chosen.processes, mp_context=get_context("spawn")) as pool:
        jobs = {name: pool.submit(work, name, solve, chosen.folder) for name, solve in chosen_problems.items()}
        for done, (name, job) in enumerate(jobs.items(), 1):
            difference = job.result()
            different += [(name, difference)] if difference else []
            progress.print(f"{done} of {len(jobs)}: {name} {difference}", style="red" if difference else "dim")
    table = Table("", "solved", "the same" if chosen.what == "compare" else "kept", title=f"Answers in {chosen.folder}")
    for kind in ("the paper's cells", "random MDPs"):
        names = [name for name in jobs if name.startswith("random") == (kind == "random MDPs")]
        table.add_row(kind, str(len(names)), str(len(names) - sum(name in names for name, _ in different)))
    Console().print(table)
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
