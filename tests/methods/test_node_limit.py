"""With a limit on nodes every run gives the same solution, to the last byte of its file."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import omdt
from omdt.errors import InputError
from omdt.limits import Limits
from omdt.methods.options import SearchOptions
from omdt.methods.search.method import search
from omdt.methods.search.settings import SearchSettings
from omdt.report import report_html
from omdt.report.commands import solve_command
from omdt.solution import Stop
from omdt.task import Size, Task
from omdt.watch import Watch
from strategies import environment
from tasks import RandomTask

BEST_OF_LAKE = 0.392685
"""Return of the best tree of depth 3 for frozenlake_8x8."""


@pytest.mark.parametrize("memory", [1, 2048])
@pytest.mark.parametrize("nodes", [1, 300])
def test_threads_write_the_same_bytes(nodes: int, memory: int) -> None:
    mdp, at_once = environment("frozenlake_8x8"), SearchSettings(solo_seconds=0.0)
    limits = {"max_depth": 3, "node_limit": nodes, "memory_limit": memory, "seed": 7, "settings": at_once}
    alone, together = (omdt.solve(mdp, threads=threads, **limits).to_json() for threads in (1, 2))
    assert alone == together


def test_any_executor_writes_the_same_bytes() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for seed in range(20):
            task = RandomTask.random(np.random.default_rng(60_000 + seed))
            runs = [task.solve(seed=seed, node_limit=seed + 1, executor=it) for it in (None, None, processes)]
            assert len({run.to_json() for run in runs}) == 1, seed


def test_the_command_writes_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for threads in (1, 2):
        path = tmp_path / f"{len(written)}.json"
        words = ["solve", "frozenlake_8x8", "--depth", "3", "--node-limit", "500", "--threads", str(threads)]
        command = [sys.executable, "-c", "from omdt.cli import main; main()", *words, "--output", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
        assert "nodes)" in done.stdout
        written.append(path.read_bytes())
    assert written[0] == written[1]


def test_the_limit_ends_the_search_with_tree_and_bound() -> None:
    solution = omdt.solve(environment("frozenlake_8x8"), max_depth=3, node_limit=200)
    assert solution.stop is Stop.NODES
    assert not solution.proven
    assert solution.value <= BEST_OF_LAKE + 1e-6 <= solution.bound
    assert solution.seconds is None
    nodes, unit = solution.effort
    assert unit == "nodes"
    assert nodes >= 200
    assert [point[0] for point in solution.trace] == sorted(point[0] for point in solution.trace)


def test_more_nodes_give_a_lower_bound() -> None:
    mdp = environment("frozenlake_4x4")
    bounds = [omdt.solve(mdp, max_depth=3, node_limit=nodes).bound for nodes in (1, 10, 100_000)]
    assert bounds[0] >= bounds[1] >= bounds[2]
    assert bounds[0] > bounds[2]
    assert bounds[2] == pytest.approx(0.520125, rel=1e-4)


def test_a_search_that_needs_fewer_nodes_is_complete() -> None:
    solution = omdt.solve(environment("frozenlake_4x4"), max_depth=2, node_limit=10**9)
    assert solution.stop is Stop.COMPLETE
    assert solution.proven


def test_the_coarse_search_ends_after_the_round_that_reaches_the_limit() -> None:
    mdp, coarse = environment("frozenlake_8x8"), SearchSettings(dense_states=0)
    runs = [omdt.solve(mdp, max_depth=3, node_limit=4, settings=coarse) for _ in range(2)]
    assert runs[0].stop is Stop.NODES
    assert runs[0].to_json() == runs[1].to_json()
    watch = Watch(node_limit=4)
    search(Task.over_thresholds(mdp, Size(3)), Limits(node_limit=4), watch, SearchOptions(settings=coarse))
    assert 4 <= watch.nodes <= 4 + 8 * mdp.n_actions


def test_the_file_gives_the_solution_back(tmp_path: Path) -> None:
    solution = omdt.solve(environment("frozenlake_4x4"), max_depth=2, node_limit=5)
    solution.save(tmp_path / "policy.json")
    again = omdt.load(tmp_path / "policy.json")
    assert again.to_json() == solution.to_json()
    assert again.node_limit == 5


def test_a_file_without_the_limit_is_read_as_before() -> None:
    data = omdt.solve(environment("frozenlake_4x4"), max_depth=1).to_dict()
    del data["node_limit"]
    assert omdt.Solution.from_dict(data).node_limit is None


@pytest.mark.needs("jinja2")
def test_the_report_counts_nodes() -> None:
    mdp = environment("frozenlake_4x4")
    solution = omdt.solve(mdp, max_depth=2, node_limit=3)
    page = report_html(solution, mdp)
    assert "--node-limit 3" in solve_command(solution)
    assert f"{solution.effort[0]:.4g} nodes" in page
    assert ">nodes</text>" in page


@pytest.mark.parametrize("nodes", [0, -3, 1.5, True])
def test_a_wrong_limit_is_refused_by_name(nodes: float) -> None:
    with pytest.raises(InputError, match=r"node_limit is .* at least 1"):
        omdt.solve(environment("frozenlake_4x4"), max_depth=1, node_limit=nodes)


@pytest.mark.parametrize("method", ["milp", "viper", "iddt", "copy"])
def test_the_limit_is_for_search_alone(method: str) -> None:
    with pytest.raises(InputError, match=f"node_limit is for the method search; limit the time of {method}"):
        omdt.solve(environment("frozenlake_4x4"), max_depth=1, method=method, node_limit=10)
