"""Teachers: what a given policy returns in the fresh episodes of a learned tree, and what a tree that imitates it does.

The tree that imitates comes from `omdt.imitate` and has the size limit of the learned one. Both play episodes with the
seeds of the learned tree's fresh episodes, in an environment of their own, because a teacher reads observations as the
environment gives them.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from omdt.imitating import Gym, Teacher, imitate
from omdt.learning.fresh import interval_of
from omdt.learning.simulators import Simulator
from omdt.solution import Experience, Rival
from omdt.task import Size
from omdt.watch import OutOfTimeError, Watch

LEAST = 2
"""Fewest episodes that an interval can be computed from."""


def check_teacher(simulator: Simulator, teacher: Teacher) -> None:
    """Raise before long work starts if the teacher cannot be asked, or cannot be imitated in this simulator.

    Raises:
        InputError: if it has no `predict`, if the observations are not arrays of numbers, or if the action that it
            takes on the first one does not exist.
    """
    env = simulator.make()
    classroom = Gym(env, teacher, None, 1, 0, (), ())
    classroom.label(env.reset(seed=0)[0])
    _close(simulator, env)


def _close(simulator: Simulator, env: Any) -> None:
    """Close an environment unless it is the user's own."""
    if not simulator.single:
        env.close()


def rivals(
    simulator: Simulator, teacher: Teacher, experience: Experience, size: Size, *, seed: int, time_limit: float | None
) -> tuple[Rival, ...]:
    """The teacher and the tree that imitates it, in episodes with the seeds of the fresh ones.

    Whoever has not played two episodes when time is up or Ctrl-C is pressed is left out.

    Args:
        simulator: what is played.
        teacher: what has `predict`, as in Stable-Baselines3.
        experience: that of the learned tree; without fresh episodes there is nothing to compare with.
        size: how large the tree may be that imitates.
        seed: makes imitating repeatable.
        time_limit: seconds for all of it, or None.
    """
    if experience.interval is None or experience.seeds is None:
        return ()
    watch, env = Watch(time_limit), simulator.make()
    seeds = range(experience.seeds[0], experience.seeds[1] + 1)
    confidence = experience.interval.confidence
    found = []
    try:
        for name, act in _policies(env, teacher, size, seed, watch):
            with watch.catching_interrupts():
                returns = _returns(env, act, seeds, simulator.horizon, watch)
            if len(returns) >= LEAST:
                found.append(Rival(name, interval_of(np.array(returns), confidence)))
    finally:
        _close(simulator, env)
    return tuple(found)


def _policies(
    env: Any, teacher: Teacher, size: Size, seed: int, watch: Watch
) -> Iterator[tuple[str, Callable[[Any], int]]]:
    """The teacher, then the tree that imitates it, as functions from observations to actions of the environment."""
    classroom = Gym(env, teacher, None, 1, seed, (), ())
    yield "teacher", lambda observation: classroom.first_action + classroom.label(observation)
    if watch.remaining == 0:
        return
    limit = None if np.isinf(watch.time_limit) else watch.remaining
    student = imitate(
        env, teacher, max_depth=size.max_depth, max_leaf_nodes=size.max_leaf_nodes, time_limit=limit, seed=seed
    )
    yield "VIPER", lambda observation: classroom.first_action + int(student.predict(np.ravel(observation))[0])


def _returns(env: Any, act: Callable[[Any], int], seeds: range, horizon: int, watch: Watch) -> list[float]:
    """The undiscounted return of one episode per seed, as far as time allows."""
    returns: list[float] = []
    with suppress(OutOfTimeError):
        for seed in seeds:
            observation, _ = env.reset(seed=seed)
            total = 0.0
            for _ in range(horizon):
                watch.check()
                observation, reward, terminated, truncated, _ = env.step(np.int64(act(observation)))
                total += float(reward)
                if terminated or truncated:
                    break
            returns.append(total)
    return returns
