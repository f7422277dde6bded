"""The command itself: killed at any moment it continues, on one machine and on a cluster, and does no run twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import omdt.cluster
from clusters import free_port, running_cluster
from conftest import without_progress
from thorough import sampled

pytestmark = [pytest.mark.needs(module) for module in ("matplotlib", "jinja2")]

SCRIPT = Path(sys.executable).with_name("omdt")
PATIENCE = 300
RUNS = 60
"""Runs of search at depth 2 on the small lake, one per seed: so many that no command ends before it is disturbed, and
so short that most of the time goes into starting and ending."""


def command(folder: Path, *more: str) -> list[str]:
    words = ["figure-example", "--environment", "frozenlake_4x4", "--seeds", str(RUNS), "--budget", "60"]
    return [str(SCRIPT), "reproduce", *words, "--output", str(folder), *more]


def finish(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(folder, *more), capture_output=True, text=True, check=False, timeout=PATIENCE)


def lines(folder: Path) -> int:
    path = folder / "runs.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]


def keys(folder: Path) -> Counter[str]:
    return Counter(record["key"] for record in records(folder))


def results(folder: Path) -> dict[str, tuple[object, ...]]:
    """What every run found, whatever time it took."""
    found = ("tree", "value", "bound", "proven")
    return {record["key"]: tuple(record["solution"][name] for name in found) for record in records(folder)}


def page(folder: Path) -> str:
    return (folder / "figure-example.html").read_text()


def until(condition, process: subprocess.Popen[bytes]) -> None:
    """Wait until a condition holds or a process has ended."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    done = finish(folder)
    assert done.returncode == 0, done.stderr
    assert without_progress(done.stderr) == ""
    assert f"{RUNS} runs done now, 0 kept from before, 0 missing" in done.stdout
    assert "runs are not finished" not in page(folder)
    return folder


def test_a_finished_reproduction_does_nothing_again(undisturbed):
    before = (undisturbed / "runs.jsonl").read_bytes()
    done = finish(undisturbed)
    assert done.returncode == 0
    assert f"0 runs done now, {RUNS} kept from before" in done.stdout
    assert (undisturbed / "runs.jsonl").read_bytes() == before


@pytest.mark.parametrize("kills", sampled([2, 10], 2))
def test_killed_at_random_moments_it_finds_the_same_and_does_no_run_twice(undisturbed, tmp_path, kills):
    draw = random.Random(kills)
    for attempt in range(kills):
        process = subprocess.Popen(command(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Half of the moments are anywhere in the start-up, the others shortly after another run has been kept.
        if attempt % 2:
            kept = lines(tmp_path)
            until(lambda kept=kept: lines(tmp_path) > kept, process)
            time.sleep(draw.uniform(0, 0.3))
        else:
            time.sleep(draw.uniform(0, 4))
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = finish(tmp_path)
    assert done.returncode == 0, done.stderr
    assert results(tmp_path) == results(undisturbed)
    assert "runs are not finished" not in page(tmp_path)
    assert len(keys(tmp_path)) == RUNS
    assert max(keys(tmp_path).values()) == 1
    assert keys(tmp_path) == keys(undisturbed)


def test_an_interrupt_keeps_what_is_finished_and_writes_the_report_of_it(tmp_path):
    process = subprocess.Popen(
        command(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until(lambda: lines(tmp_path) >= 2, process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "missing" in out
    assert 2 <= lines(tmp_path) < RUNS
    assert "runs are not finished" in page(tmp_path)


@pytest.fixture
def cluster():
    """The address of a scheduler, its process and those of two workers."""
    with running_cluster() as started:
        yield started


@pytest.mark.needs("distributed")
def test_a_cluster_that_loses_a_worker_finishes_with_the_same_results(undisturbed, cluster, tmp_path):
    address, (_, *workers) = cluster
    process = subprocess.Popen(
        command(tmp_path, "--scheduler", address), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until(lambda: lines(tmp_path) >= 4, process)
    workers[0].send_signal(signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out + err
    assert f"{RUNS} runs done now" in out
    assert keys(tmp_path) == keys(undisturbed)
    assert results(tmp_path) == results(undisturbed)
    assert workers[1].poll() is None


@pytest.mark.needs("distributed")
def test_a_cluster_that_loses_its_scheduler_is_said_to_be_gone_and_finished_runs_are_kept(cluster, tmp_path):
    address, (scheduler, *_) = cluster
    process = subprocess.Popen(
        command(tmp_path, "--scheduler", address), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until(lambda: lines(tmp_path) >= 2, process)
    scheduler.send_signal(signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, err
    assert f"the scheduler at {address} is gone" in err
    assert 2 <= lines(tmp_path) < RUNS


@pytest.mark.needs("distributed")
def test_a_scheduler_that_is_not_there_is_said_to_be_missing(run, monkeypatch, tmp_path):
    monkeypatch.setattr(omdt.cluster, "CONNECT_SECONDS", 1)
    _, *words = command(tmp_path, "--scheduler", f"tcp://127.0.0.1:{free_port()}")
    status, _, error = run(*words)
    assert status == 2
    assert "there is no scheduler at" in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table-of-contents"], "table-main"),
        (["all", "--budget", "0"], "the budget is 0.0"),
        (["all", "--environment", "chess"], "'chess' is no environment of the paper"),
        (["figure-paths", "--environment", "xor"], "figure-paths shows frozenlake_12x12"),
        (["all", "--processes", "0"], "processes is 0"),
        (["all", "--scheduler", "tcp://x:1", "--processes", "2"], "exclude each other"),
    ],
)
def test_bad_usage_is_refused(words, message, run, tmp_path):
    status, _, error = run("reproduce", *words, "--output", tmp_path)
    assert status == 2
    assert message in error
    assert "Traceback" not in error
