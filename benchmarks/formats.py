"""Time and memory of reading a large model from each text format.

Run with `make bench-formats`. Peak memory is that of a process that reads one file and nothing else, less what the same
process needs for a tiny file; the non-zeros are the probabilities and column indices of the resulting MDP.
"""

import multiprocessing
import resource
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import omdt

SIZES = (100_000, 1_000_000)
ACTIONS, SUCCESSORS, SIDE = 4, 5, 100

Choice = tuple[int, int, list[int], list[float]]


def choices(transitions: int) -> Iterator[Choice]:
    """(state, choice, next states, probabilities) of a random model; every tenth state offers half of the actions."""
    rng = np.random.default_rng(0)
    S = n_states(transitions)
    for s in range(S):
        for c in range(ACTIONS // 2 if s % 10 == 9 else ACTIONS):
            weights = rng.exponential(size=SUCCESSORS)
            yield s, c, rng.integers(S, size=SUCCESSORS).tolist(), (weights / weights.sum()).tolist()


def n_states(transitions: int) -> int:
    return transitions * 10 // (9 * ACTIONS + ACTIONS // 2) // SUCCESSORS


def write_drn(path: Path, transitions: int) -> None:
    header = f"@type: MDP\n@parameters\n\n@reward_models\nr\n@nr_states\n{n_states(transitions)}\n@model\n"
    with open(path, "w") as stream:
        stream.write(header)
        for s, c, targets, probabilities in choices(transitions):
            if c == 0:
                stream.write(f"state {s} [0]{' init' if s == 0 else ''}\n//[x={s % SIDE} & y={s // SIDE}]\n")
            stream.write(f"\taction a{c} [{c}]\n")
            for t, p in zip(targets, probabilities, strict=True):
                stream.write(f"\t\t{t} : {p}\n")


def write_prism(path: Path, transitions: int) -> None:
    S, counts = n_states(transitions), [0, 0]
    rows = path.with_suffix(".rows")
    with open(rows, "w") as stream:
        for s, c, targets, probabilities in choices(transitions):
            counts[0] += 1
            for t, p in zip(targets, probabilities, strict=True):
                counts[1] += 1
                stream.write(f"{s} {c} {t} {p} a{c}\n")
    with open(path, "w") as stream, open(rows) as body:
        stream.write(f"{S} {counts[0]} {counts[1]}\n")
        stream.writelines(body)
    rows.unlink()
    states = "".join(f"{s}:({s % SIDE},{s // SIDE})\n" for s in range(S))
    path.with_suffix(".sta").write_text("(x,y)\n" + states)
    path.with_suffix(".srew").write_text(f"{S} {S}\n" + "".join(f"{s} {s % 3}\n" for s in range(S)))


def write_csv(path: Path, transitions: int) -> None:
    with open(path, "w") as stream:
        stream.write("x,y,action,next x,next y,probability,reward\n")
        for s, c, targets, probabilities in choices(transitions):
            for t, p in zip(targets, probabilities, strict=True):
                stream.write(f"{s % SIDE},{s // SIDE},a{c},{t % SIDE},{t // SIDE},{p},{c}\n")


WRITERS = {".drn": write_drn, ".tra": write_prism, ".csv": write_csv}


def peak_mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(path: Path, tiny: Path) -> tuple[int, float, float, float]:
    """Transitions, seconds, peak memory and that of the non-zeros in MiB."""
    warnings.simplefilter("ignore", omdt.InputWarning)
    omdt.read(tiny, discount=0.9)
    before = peak_mebibytes()
    start = time.perf_counter()
    mdp = omdt.read(path, discount=0.9)
    seconds = time.perf_counter() - start
    P = mdp.transitions
    return P.nnz, seconds, peak_mebibytes() - before, (P.data.nbytes + P.indices.nbytes) / 2**20


if __name__ == "__main__":
    table = Table(title="Reading a model (seconds, MiB)")
    for heading in ("format", "transitions", "file", "in the MDP", "seconds", "peak", "non-zeros", "ratio"):
        table.add_column(heading, justify="right")
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        for suffix, write in WRITERS.items():
            tiny = Path(folder) / f"tiny{suffix}"
            write(tiny, 1000)
            for size in SIZES:
                path = Path(folder) / f"model{suffix}"
                write(path, size)
                with context.Pool(1) as pool:
                    nnz, seconds, peak, own = pool.apply(measure, (path, tiny))
                megabytes = f"{path.stat().st_size / 2**20:,.0f}"
                figures = f"{seconds:.2f}", f"{peak:,.0f}", f"{own:,.0f}", f"{peak / own:.1f}"
                table.add_row(suffix, f"{size:,}", megabytes, f"{nnz:,}", *figures)
    Console(width=120).print(table)
