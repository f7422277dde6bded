"""Jobs are done side by side, and neither Ctrl-C nor a process that dies makes anyone wait for ever."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial

import pytest

from omdt import InputError
from omdt.errors import LostWorkerError
from omdt.watch import Watch
from omdt.workers import side_by_side


def refuse() -> None:
    raise InputError("not this one")


def sleep_until_interrupted() -> str:
    watch = Watch()
    with watch.catching_interrupts():
        while not watch.interrupted:
            time.sleep(0.01)
    return "interrupted"


def test_every_job_is_done_once():
    jobs = [partial(pow, base, 2) for base in range(5)]
    assert sorted(side_by_side(jobs, 2, lambda: False)) == [(i, i * i) for i in range(5)]


def test_what_a_job_raises_is_raised_here():
    with pytest.raises(InputError, match="not this one"):
        list(side_by_side([refuse], 1, lambda: False))


def test_a_lost_process_ends_the_wait():
    with pytest.raises(LostWorkerError, match=r"lost \(exit status 7\)"):
        list(side_by_side([partial(os._exit, 7), sleep_until_interrupted], 2, lambda: False))


def test_after_an_interrupt_a_job_returns_what_it_has_and_no_other_begins():
    first, interrupted = [], False
    with closing(side_by_side([str, *[sleep_until_interrupted] * 9], 1, lambda: interrupted)) as results:
        first.append(next(results))
        interrupted = True
        rest = list(results)
    assert (first, rest) == ([(0, "")], [(1, "interrupted")])


def test_a_process_that_is_lost_after_an_interrupt_is_not_missed():
    interrupted = False
    with closing(side_by_side([str, partial(os._exit, 7)], 1, lambda: interrupted)) as results:
        assert next(results) == (0, "")
        interrupted = True
        assert list(results) == []


WHILE_STARTING = """
import multiprocessing, os, signal, threading, time
import omdt

def interrupt():
    while not multiprocessing.active_children():
        time.sleep(0.001)
    os.killpg(0, signal.SIGINT)
    print(time.monotonic(), flush=True)

if __name__ == "__main__":
    mdp = omdt.make("frozenlake_12x12")
    threading.Thread(target=interrupt, daemon=True).start()
    comparison = omdt.compare(mdp, max_depth=4, time_limit=300, processes=2)
    print(time.monotonic(), comparison.interrupted, *(row.method for row in comparison.rows))
"""


@pytest.mark.needs("sklearn")
def test_ctrl_c_while_processes_start_is_answered(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(WHILE_STARTING)
    # A group of its own, for a terminal's Ctrl-C goes to a whole group.
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert (process.returncode, err) == (0, "")
    came, answered, *rest = out.split()
    assert rest == ["True", "random", "optimal"]
    assert float(answered) - float(came) < 2
