"""Whatever happens to a running command, what was found is kept, files are whole or absent, and it is said."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omdt
from conftest import without_progress
from worker_processes import PATIENCE, is_worker, until, workers_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, limits and /proc are those of Linux")

LONG = ("solve", "frozenlake_12x12", "--depth", "4", "--seed", "3")
SHORT = ("solve", "frozenlake_4x4", "--depth", "2")

TELL = """
import os, signal, sys
import importlib
from omdt import cli, solving
from omdt.methods.search import explorers
from omdt.methods.search.settings import SearchSettings

solve = solving.solve

def solve_in_processes_at_once(mdp, *, method, **rest):
    settings = dict(settings=SearchSettings(solo_seconds=0.0)) if method == "search" else dict()
    return solve(mdp, method=method, **rest, **settings)

solving.solve = solve_in_processes_at_once
command = importlib.import_module("omdt.cli.solve")
progress_line = command.progress_line

def tell(*point, **how):
    print("found", file=sys.stderr, flush=True)
    on_progress()
    return progress_line(*point, **how)

def on_progress():
    pass

command.progress_line = tell
{hook}
cli.main()
"""
"""Runs the command line, with worker processes from the start, and says on standard error whenever it finds
something."""


class Command:
    """A running command line."""

    def __init__(self, *words: Any, hook: str = "", before: Callable[[], object] = lambda: None) -> None:
        def prepare() -> None:
            # Where the tests run in the background, the command would inherit that Ctrl-C is ignored.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            before()

        self.process = subprocess.Popen(
            [sys.executable, "-c", TELL.format(hook=hook), *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=prepare,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )

    def wait_until_found(self, times: int = 1) -> "Command":
        """Wait until it has found something this many times."""
        assert self.process.stderr is not None
        found = 0
        while found < times:
            line = self.process.stderr.readline()
            assert line, "the command ended before it found anything"
            found += line == "found\n"
        return self

    def children(self) -> list[int]:
        """Its worker processes."""
        return workers_of(self.process.pid)

    def end(self) -> tuple[int, str, str]:
        """Status, standard output, and standard error without what `tell` said, and without progress."""
        out, err = self.process.communicate(timeout=5 * PATIENCE)
        return self.process.returncode, out, without_progress(err.replace("found\n", ""))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A directory in which no temporary file may be left behind."""
    yield tmp_path
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


def assert_kept(out: str, path: Path, stop: str) -> None:
    """The tree so far is on standard output and in the file, whole."""
    data = json.loads(out)
    assert data["stop"] == stop
    assert data["proven"] is False
    assert data["value"] <= data["bound"] <= data["optimal_return"] * (1 + 1e-9)
    assert path.read_text(encoding="utf-8") == out
    assert omdt.load(path).tree.depth <= 4


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_search_with_its_tree(folder: Path, number: int, status: int, threads: int) -> None:
    path = folder / "policy.json"
    command = Command(*LONG, "--threads", threads, "--json", "--output", path).wait_until_found(10)
    command.process.send_signal(number)
    code, out, err = command.end()
    assert code == status
    assert err == "omdt: interrupted; this is the best tree so far\n"
    assert_kept(out, path, "interrupted")


@pytest.mark.parametrize("method", ["search", pytest.param("milp", marks=pytest.mark.needs("highspy"))])
def test_termination_is_heard_in_the_background(folder: Path, method: str) -> None:
    """A shell lets what it starts in the background ignore Ctrl-C; SIGTERM counts all the same."""
    path = folder / "policy.json"
    ignore = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
    words = (*LONG, "--threads", 1, "--method", method, "--json", "--output", path)
    command = Command(*words, hook=ignore).wait_until_found(2)
    command.process.send_signal(signal.SIGTERM)
    code, out, _ = command.end()
    assert code == 143
    assert_kept(out, path, "interrupted")


@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_before_there_is_a_tree_ends_quietly(folder: Path, number: str, status: int) -> None:
    hook = f"command.load_asked = lambda *_: signal.raise_signal(signal.{number})"
    code, out, err = Command(*LONG, "--json", "--output", folder / "policy.json", hook=hook).end()
    assert (code, out) == (status, "")
    assert "Traceback" not in err
    assert list(folder.iterdir()) == []


def test_a_killed_search_leaves_the_old_file_and_no_workers(folder: Path) -> None:
    path = folder / "policy.json"
    path.write_text("old", encoding="utf-8")
    command = Command(*LONG, "--threads", 2, "--json", "--output", path).wait_until_found(10)
    workers = until(command.children)
    assert workers
    command.process.kill()
    assert command.end()[:2] == (-signal.SIGKILL, "")
    assert path.read_text(encoding="utf-8") == "old"
    assert until(lambda: not any(is_worker(pid) for pid in workers))


def test_a_kill_in_the_middle_of_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_text("old", encoding="utf-8")
    hook = "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)"
    assert Command(*SHORT, "--output", path, hook=hook).end()[0] == -signal.SIGKILL
    assert path.read_text(encoding="utf-8") == "old"
    assert Command(*SHORT, "--output", path).end()[0] == 0
    assert omdt.load(path).proven


def test_a_worker_that_dies_costs_nothing_but_time(folder: Path) -> None:
    words = ("solve", "frozenlake_8x8", "--depth", "3", "--json")
    alone = json.loads(Command(*words, "--threads", 1).end()[1])
    command = Command(*words, "--threads", 2).wait_until_found()
    workers = until(command.children)
    assert workers
    os.kill(workers[0], signal.SIGKILL)
    code, out, err = command.end()
    together = json.loads(out)
    assert code == 0
    assert "Traceback" not in err
    assert alone["proven"]
    times = ("seconds", "trace")
    assert {key: together[key] for key in together if key not in times} == {
        key: alone[key] for key in alone if key not in times
    }


def test_a_full_disk_leaves_the_tree_on_the_screen(folder: Path) -> None:
    """A limit on the size of files stands for the disk: the write fails midway, as on a disk that is full."""
    path = folder / "policy.json"
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # noqa: E731
    code, out, err = Command(*SHORT, "--json", "--output", path, before=limit).end()
    assert code == 1
    assert json.loads(out)["proven"] is True
    assert err == f"omdt: cannot write {path}: File too large\n"
    assert list(folder.iterdir()) == []


def test_a_screen_that_takes_no_more_leaves_the_tree_in_the_file(folder: Path) -> None:
    path = folder / "policy.json"
    hook = "os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"
    for words in (("--json",), ()):
        code, out, err = Command(*SHORT, *words, "--output", path, hook=hook).end()
        assert (code, out) == (1, "")
        assert err == "omdt: cannot write the result: No space left on device\n"
        assert omdt.load(path).proven


@pytest.mark.parametrize("command", [("solve", "xor", "--depth", "2"), ("compare", "xor", "--depth", "1")])
def test_a_directory_that_takes_no_files_is_refused_before_the_work(command: tuple[str, ...]) -> None:
    code, out, err = Command(*command, "--output", "/proc/policy.json").end()
    assert (code, out) == (2, "")
    assert err.startswith("omdt: cannot write /proc/policy.json: the directory /proc is not writable")


def test_a_read_only_directory_is_refused_before_the_work(folder: Path) -> None:
    if os.geteuid() == 0:
        # Permissions do not bind this user; another directory that takes no files stands in.
        path, reason = Path("/proc/self/policy.json"), "is not writable"
    else:
        path, reason = folder / "closed" / "policy.json", "Permission denied"
        path.parent.mkdir(mode=0o500)
    code, out, err = Command(*SHORT, "--output", path).end()
    assert (code, out) == (2, "")
    assert reason in err


def test_a_directory_that_vanishes_leaves_the_tree_on_the_screen(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    hook = f"def on_progress():\n    if os.path.isdir({str(folder)!r}): os.rmdir({str(folder)!r})"
    code, out, err = Command(*SHORT, "--json", "--output", folder / "policy.json", hook=hook).end()
    assert code == 1
    assert json.loads(out)["proven"] is True
    assert err == f"omdt: cannot write {folder / 'policy.json'}: there is no directory {folder}\n"


NO_MEMORY = """
explore = explorers.explore
calls = []

def explore_a_little(*arguments):
    calls.append(1)
    if len(calls) > 2:
        raise MemoryError
    return explore(*arguments)

explorers.explore = explore_a_little
"""


def test_without_memory_the_tree_so_far_is_printed(folder: Path) -> None:
    path = folder / "policy.json"
    code, out, err = Command(*LONG, "--threads", 1, "--json", "--output", path, hook=NO_MEMORY).end()
    assert code == 0
    assert err == "omdt: there was not enough memory to go on; this is the best tree so far\n"
    assert_kept(out, path, "memory")


def test_without_memory_for_the_problem_there_is_a_message(folder: Path) -> None:
    hook = "def no_memory(*_):\n    raise MemoryError\ncommand.load_asked = no_memory"
    code, out, err = Command(*LONG, "--json", "--output", folder / "policy.json", hook=hook).end()
    assert (code, out) == (1, "")
    assert err == "omdt: there is not enough memory for this problem\n"


def test_a_small_memory_limit_changes_nothing_but_the_time() -> None:
    words = ("solve", "frozenlake_4x4", "--depth", "3", "--json")
    much, little = (json.loads(Command(*words, "--memory-limit", mib).end()[1]) for mib in (2048, 1))
    assert much["proven"]
    assert {key: little[key] for key in ("tree", "value", "bound")} == {
        key: much[key] for key in ("tree", "value", "bound")
    }
