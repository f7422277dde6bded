"""The clock of a run: compilation is free, time is kept back for the end, and an interrupt leaves a moment for it."""

import math
import signal
import time
from collections.abc import Callable

import numba
import numpy as np
import pytest

import omdt
from omdt import planning
from omdt.simulation import simulate
from omdt.systems import System
from omdt.watch import GRACE_SECONDS, GRACE_SHARE, INTERRUPT_SECONDS, LEAST_SECONDS, OutOfTimeError, Watch, one_thread
from strategies import environment


def test_the_clock_stands_still_while_numba_compiles() -> None:
    watch, begin = Watch(), time.perf_counter()
    compiled = numba.njit(lambda x: np.sort(x) @ x)
    assert compiled(np.array([1.0, 2.0])) == 5
    passed = time.perf_counter() - begin
    compiling = sum(stage for _, stage in _seconds(compiled))
    assert compiling > 0.05
    assert watch.elapsed <= passed - 0.9 * compiling


def _seconds(compiled: numba.core.dispatcher.Dispatcher) -> list[tuple[str, float]]:
    [result] = compiled.overloads.values()
    return [("compiler lock", result.metadata["timers"]["compiler_lock"])]


def test_compilation_is_not_charged_to_the_limit_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cold start with a short limit finds what a warm one finds: here every single evaluation compiles."""
    evaluate = planning.policy_values

    def compiling(*arguments: object, **rest: object) -> planning.Certified:
        numba.njit(lambda x: np.sort(x))(np.zeros(3))
        return evaluate(*arguments, **rest)

    monkeypatch.setattr(planning, "policy_values", compiling)
    solution = omdt.solve(environment("frozenlake_4x4"), max_depth=2, time_limit=3)
    assert solution.proven
    assert solution.value == pytest.approx(0.365166515)


def test_time_is_kept_back_but_never_more_than_half() -> None:
    watch = Watch(100.0)
    watch.reserve(30.0)
    assert 69 < watch.remaining <= 70
    watch.reserve(80.0)
    assert 49 < watch.remaining <= 50
    watch.reserve(1.0)
    assert 98 < watch.remaining <= 99
    unlimited = Watch()
    unlimited.reserve(30.0)
    assert unlimited.remaining == math.inf


def test_what_is_left_for_the_end() -> None:
    assert Watch().closing().remaining == math.inf
    assert 104 < Watch(100.0).closing().remaining <= (1 + GRACE_SHARE) * 100 + GRACE_SECONDS
    late = Watch(1.0)
    late.start -= 100
    assert 0 < late.closing().remaining <= LEAST_SECONDS
    interrupted = Watch(100.0)
    interrupted.interrupt()
    assert interrupted.remaining == 0
    assert 0 < interrupted.closing().remaining <= INTERRUPT_SECONDS


def test_a_part_ends_with_the_whole() -> None:
    watch = Watch(100.0)
    part = watch.part(50.0)
    part.check()
    watch.interrupt()
    with pytest.raises(OutOfTimeError):
        part.check()


def test_one_thread_at_most_inside_and_as_before_outside() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2):
        with one_thread():
            assert threads() == {1}
        assert threads() == {2}


def test_ctrl_c_in_a_part_of_a_part_ends_the_whole_run(ctrl_c: None) -> None:
    whole = Watch(100.0)
    part = whole.part(50.0)
    inner = part.part(10.0)
    with whole.catching_interrupts(), inner.catching_interrupts():
        signal.raise_signal(signal.SIGINT)
        # An impatient repetition counts as the first one.
        signal.raise_signal(signal.SIGINT)
    assert whole.interrupted
    assert part.interrupted
    assert inner.interrupted
    assert inner.remaining == part.remaining == whole.remaining == 0


@pytest.mark.parametrize("what", ["evaluate", "simulate", "solve"])
def test_users_calls_run_on_one_thread(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    seen: list[int] = []

    def watched(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **rest: object) -> object:
            seen.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
            return function(*arguments, **rest)

        return call

    mdp = environment("frozenlake_4x4")
    monkeypatch.setattr(System, "solve", watched(System.solve))
    monkeypatch.setattr("omdt.simulation.markov_chain", watched(planning.markov_chain))
    with threadpool_limits(2):
        if what == "solve":
            omdt.solve(mdp, max_depth=1)
        elif what == "simulate":
            simulate(mdp, np.zeros(mdp.n_states, dtype=np.int64), episodes=2)
        else:
            omdt.evaluate(mdp, omdt.TreePolicy.leaf(0, mdp.feature_names, mdp.action_names))
    assert set(seen) == {1}
