"""A search on a Dask cluster finds what one process finds, also if a worker is lost, and says what is wrong."""

import gc
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import omdt
from clusters import free_port, running_cluster
from conftest import without_progress
from omdt import InputError, cluster
from omdt.cluster import ClusterExecutor
from omdt.errors import LostWorkerError
from omdt.limits import Limits
from omdt.methods.options import SearchOptions
from omdt.methods.search.clustering import on_cluster
from search_parts import same_in_any_run
from worker_processes import PATIENCE, until

pytestmark = pytest.mark.needs("distributed")

Cluster = tuple[str, list[subprocess.Popen[bytes]]]
LAKE = ("solve", "frozenlake_8x8", "--depth", "3", "--json")


@pytest.fixture(scope="module")
def lasting() -> Iterator[Cluster]:
    """A cluster for all tests that leave it as it was."""
    with running_cluster() as started:
        yield started


@pytest.fixture
def passing() -> Iterator[Cluster]:
    """A cluster for a test that harms it."""
    with running_cluster() as started:
        yield started


def command(*words: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", "from omdt.cli import main; main()", *words]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def without_times(out: str) -> dict[str, object]:
    return {key: value for key, value in json.loads(out).items() if key not in ("seconds", "trace")}


@cache
def alone() -> omdt.Solution:
    """What one process finds."""
    return omdt.solve(omdt.make("frozenlake_8x8"), max_depth=3)


def test_a_cluster_finds_what_one_process_finds(lasting: Cluster) -> None:
    address, _ = lasting
    together = omdt.solve(omdt.make("frozenlake_8x8"), max_depth=3, scheduler=address)
    assert together.proven
    assert same_in_any_run(together) == same_in_any_run(alone())


def test_with_a_node_limit_a_cluster_writes_the_same_bytes(lasting: Cluster) -> None:
    address, _ = lasting
    mdp = omdt.make("frozenlake_8x8")
    one_process, together = (
        omdt.solve(mdp, max_depth=3, node_limit=300, **how).to_json() for how in ({}, {"scheduler": address})
    )
    assert together == one_process


def test_a_worker_that_is_killed_during_the_proof_costs_nothing_but_time(passing: Cluster) -> None:
    address, (_, *workers) = passing
    client = cluster.connected(address)
    try:
        client.wait_for_workers(2, timeout=PATIENCE)
        process = command(*LAKE, "--scheduler", address)
        # Both workers have explored something before one of them is killed.
        assert until(lambda: len(busy(client)) == 2 or process.poll() is not None)
        assert process.poll() is None
        workers[0].send_signal(signal.SIGKILL)
        code, together, err = ended(process)
    finally:
        client.close()
    assert (code, without_progress(err)) == (0, "")
    assert json.loads(together)["proven"]
    assert without_times(together) == without_times(alone().to_json())
    assert workers[1].poll() is None


def busy(client: Any) -> set[str]:
    """The workers that know the subject of a search."""

    def knows_a_subject() -> bool:
        from omdt.methods.search import subject

        return bool(subject._known)

    return {address for address, knows in client.run(knows_a_subject).items() if knows}


def test_a_scheduler_that_goes_away_leaves_the_search_to_this_process(passing: Cluster) -> None:
    address, (scheduler, *_) = passing
    process = command(*LAKE, "--scheduler", address)
    client = cluster.connected(address)
    assert until(lambda: busy(client) or process.poll() is not None)
    client.close()
    scheduler.send_signal(signal.SIGKILL)
    code, out, err = ended(process)
    assert code == 0, err
    assert "Traceback" not in err
    assert json.loads(out)["proven"]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{port}", "nowhere", "carrier-pigeon://home"])
def test_a_wrong_address_is_said_to_be_wrong(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    address = address.format(port=free_port())
    with pytest.raises(InputError, match=f"there is no scheduler at {address}: "):
        ClusterExecutor(address)


def test_a_client_that_cannot_connect_is_gone_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would close itself at any time, and block the start of the next one."""
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)

    def clients() -> int:
        return sum(type(it).__name__ == "Client" for it in gc.get_objects())

    gc.collect()
    before = clients()
    with pytest.raises(InputError):
        cluster.connected(f"tcp://127.0.0.1:{free_port()}")
    assert clients() <= before


def test_the_command_refuses_a_wrong_address_with_status_2(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    code, out, err = run(*LAKE, "--scheduler", f"tcp://127.0.0.1:{free_port()}")
    assert (code, out) == (2, "")
    assert "there is no scheduler at tcp://127.0.0.1" in err
    assert "Traceback" not in err


def test_the_command_refuses_a_cluster_and_cores() -> None:
    code, out, err = ended(command(*LAKE, "--scheduler", "tcp://127.0.0.1:1", "--threads", "2"))
    assert (code, out) == (2, "")
    assert err == "omdt: --scheduler and --threads exclude each other: a cluster has workers of its own\n"


def test_workers_of_another_version_are_refused(lasting: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    address, _ = lasting
    monkeypatch.setattr(cluster, "__version__", "0.0.1")
    client = cluster.connected(address)
    client.wait_for_workers(1, timeout=PATIENCE)
    client.close()
    with pytest.raises(InputError, match=f"a worker of {address} has omdt {omdt.__version__} instead of 0.0.1"):
        ClusterExecutor(address)


def test_workers_without_the_package_are_refused(lasting: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    address, _ = lasting

    def without_package() -> str:
        raise ModuleNotFoundError("No module named 'omdt'")

    monkeypatch.setattr(cluster, "_version", without_package)
    with pytest.raises(InputError, match=rf"a worker of {address} cannot run omdt \(.*No module named 'omdt'"):
        ClusterExecutor(address)


def test_what_a_job_raises_and_what_its_worker_loses_are_told_apart(lasting: Cluster) -> None:
    address, _ = lasting
    with on_cluster(SearchOptions(scheduler=address)) as options:
        assert options.scheduler is None
        assert options.executor is not None
        assert options.executor.submit(pow, 2, exp=3).result(PATIENCE) == 8
        with pytest.raises(InputError, match="time_limit"):
            options.executor.submit(Limits, -1.0).result(PATIENCE)
        with pytest.raises(LostWorkerError, match="a worker of the cluster was lost"):
            options.executor.submit(os.listdir, "/no such directory").result(PATIENCE)
    with on_cluster(SearchOptions()) as options:
        assert options.executor is None


def test_a_result_that_has_arrived_counts_although_its_worker_is_lost(
    lasting: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = cluster.connected(lasting[0])
    gathered = client._gather

    async def gathered_before_the_loss(futures: list[Any], *args: Any, **kwargs: Any) -> Any:
        results = await gathered(futures, *args, **kwargs)
        for future in futures:
            client._handle_lost_data(future.key)
        return results

    monkeypatch.setattr(client, "_gather", gathered_before_the_loss)
    try:
        assert cluster.ClientExecutor(client).submit(divmod, 17, 5).result(PATIENCE) == (3, 2)
    finally:
        client.close()


def test_a_job_that_is_cancelled_is_lost(lasting: Cluster) -> None:
    executor = ClusterExecutor(lasting[0])
    future = executor.submit(time.sleep, 5)
    executor.shutdown()
    with pytest.raises(LostWorkerError):
        future.result(PATIENCE)


def test_results_that_a_lost_worker_took_with_it_are_no_news(
    lasting: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.connected(lasting[0]).close()
    log = logging.getLogger("distributed.client")
    log.addHandler(caplog.handler)
    log.warning("Couldn't gather %s keys, rescheduling %s", 2, "explore")
    log.warning("something else")
    log.removeHandler(caplog.handler)
    assert set(caplog.messages) == {"something else"}
