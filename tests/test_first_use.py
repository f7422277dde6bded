"""The first solve on a machine compiles few kernels, says so, and keeps them for the next one."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import without_progress
from omdt.cli.progress import COMPILING

MOST_KERNELS = 14
"""Kernels, counted once per signature, that the first solve of a small problem may compile, also those that others
call. A kernel takes 0.1 to 1.3 s of CPU; all of them together with Python and its packages should take at most 8 s, and
take about 7. To compile fewer or smaller ones: allocate and sort outside of kernels, copy by loops instead of slices,
solve systems by `omdt.lapack`, pass arrays of one type (`omdt.arrays.read_only`), and let what only one kernel calls be
`inline="always"`, or it is compiled twice. `make bench-first-use` shows the seconds of every kernel."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def solve(cache: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command with a cache of its own."""
    plain = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "GITHUB_ACTIONS")}
    return subprocess.run(
        [Path(sys.executable).with_name("omdt"), "solve", "frozenlake_4x4", "--depth", "2", "--threads", "1"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env=plain | {"NUMBA_CACHE_DIR": str(cache)},
    )


def compiled(cache: Path) -> Counter[str]:
    """How many versions of each kernel a cache has."""
    return Counter(path.name.split("-")[0] for path in cache.rglob("*.nbc"))


def kept(cache: Path) -> int:
    """How many kernels `omdt doctor` counts in a cache."""
    count = "from omdt.installation import find_kernels; print(find_kernels().kept)"
    environ = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    return int(subprocess.run([sys.executable, "-c", count], capture_output=True, check=True, env=environ).stdout)


def test_the_first_solve_compiles_few_kernels_and_says_so(cache: Path) -> None:
    first = solve(cache)
    assert "proven optimal" in first.stdout
    assert first.stderr.startswith(f"omdt: {COMPILING}\n")
    assert without_progress(first.stderr) == ""
    kernels = compiled(cache)
    assert 0 < kernels.total() <= MOST_KERNELS, kernels

    again = solve(cache)
    assert again.stdout.splitlines()[:-1] == first.stdout.splitlines()[:-1]
    assert again.stderr == ""
    assert compiled(cache) == kernels
    assert kept(cache) == len(kernels)
