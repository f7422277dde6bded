"""Episodes: a player lets a policy play episodes of a simulator, many at once and each with a seed of its own.

A policy is a tree, or a function that turns observations [n, F] into actions [n] row by row. What happens in an episode
depends on its seed and the policy only, neither on the other episodes nor on the number of processes. Rival policies
that play the same seeds therefore meet the same luck (common random numbers): their difference is much less noisy than
their returns are.

    with Player(simulator("gym:CartPole-v1")) as player:
        played = player.play(tree, range(100))
        played.returns.mean()

To explore, a player can leave its policy now and then (`wandering`).
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from omdt.errors import InputError
from omdt.learning.deciding import Decider
from omdt.learning.simulators import Simulator
from omdt.learning.steps import Steps
from omdt.learning.wandering import Wanderers, Wandering
from omdt.mdp import Bools, Floats, Ints
from omdt.processes import POLL_SECONDS, Pool
from omdt.tree import TreePolicy
from omdt.watch import Watch

Policy = Callable[[Floats], Ints]
"""Actions [n] for observations [n, F], each row by itself."""

WIDTH = 64
"""Most episodes that one process plays at the same time: enough to make asking the policy cheap."""


@dataclass(frozen=True, eq=False)
class Played:
    """Episodes that were played.

    Attributes:
        returns: [k] undiscounted sum of the rewards of each episode.
        lengths: [k] number of its steps.
        steps: all steps, in the order of the episodes, if they were recorded.
    """

    returns: Floats
    lengths: Ints
    steps: Steps | None


class Player:
    """Plays episodes of a simulator; a context that closes its environments and ends its processes.

    Args:
        simulator: what is played.
        processes: number of processes that play at the same time; 1 is this process alone.
        watch: when its time is over, `play` raises `OutOfTimeError`.

    Attributes:
        simulator: what is played.
        steps: number of steps taken so far.
        episodes: number of episodes played so far.
    """

    def __init__(self, simulator: Simulator, *, processes: int = 1, watch: Watch | None = None) -> None:
        self.simulator, self.steps, self.episodes, self._watch = simulator, 0, 0, watch
        self._processes = 1 if simulator.single else processes
        self._table = _Table(simulator)
        self._pool = Pool(processes, partial(_sit_down, simulator)) if self._processes > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the environments and end the processes."""
        self._table.close()
        if self._pool is not None:
            self._pool.end()

    def play(
        self,
        policy: TreePolicy | Policy,
        seeds: Sequence[int] | Ints,
        *,
        record: bool = False,
        wandering: Wandering | None = None,
    ) -> Played:
        """Play one episode per seed.

        Args:
            policy: a tree, or a function from observations [n, F] to actions [n]. With several processes it is sent to
                them.
            seeds: [k] whole numbers of at least 0, each given to `reset` of the environment.
            record: whether to return all steps.
            wandering: how to leave the policy now and then; by default never.
        """
        if not len(seeds):
            raise InputError("there are no seeds, so there is no episode to play")
        act = Decider(policy) if isinstance(policy, TreePolicy) else policy
        share = min(self._table.width, math.ceil(len(seeds) / self._processes))
        jobs = [_Job(act, seeds[i : i + share], record, wandering) for i in range(0, len(seeds), share)]
        parts = self._done(jobs)
        self.episodes += len(seeds)
        self.steps += sum(int(part.lengths.sum()) for part in parts)
        steps = [part.steps for part in parts if part.steps is not None]
        return Played(
            np.concatenate([part.returns for part in parts]),
            np.concatenate([part.lengths for part in parts]),
            Steps.joined(steps) if steps else None,
        )

    def starts(self, seeds: Sequence[int] | Ints) -> Floats:
        """[k, F] what is observed when the episode of each seed begins; no step is taken."""
        width = self._table.width
        return np.concatenate([self._table.reset(seeds[i : i + width]) for i in range(0, len(seeds), width)])

    def _done(self, jobs: list["_Job"]) -> list[Played]:
        """What comes of the jobs, here or in the processes."""
        if self._pool is None:
            return [self._table.play(job, self._watch) for job in jobs]
        futures = [self._pool.submit(_at_table, job) for job in jobs]
        return [self._awaited(future) for future in futures]

    def _awaited(self, future: "Future[Played]") -> Played:
        while self._watch is not None and not future.done():
            self._watch.check()
            time.sleep(POLL_SECONDS / 10)
        return future.result()


@dataclass(frozen=True, eq=False)
class _Job:
    """Episodes for one process to play at the same time."""

    policy: Policy
    seeds: Sequence[int] | Ints
    record: bool
    wandering: Wandering | None


class _Table:
    """The environments of one process."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.width = 1 if simulator.single else WIDTH
        self._envs: list[Any] = []

    def close(self) -> None:
        """Close them, unless the only one is the user's."""
        if not self.simulator.single:
            for env in self._envs:
                env.close()
        self._envs.clear()

    def reset(self, seeds: Sequence[int] | Ints) -> Floats:
        """[k, F] what is observed when one episode per seed begins, all at the same time; at most `width` seeds."""
        while len(self._envs) < len(seeds):
            self._envs.append(self.simulator.make())
        read = self.simulator.observer.read
        X = np.array([read(env.reset(seed=int(seed))[0]) for env, seed in zip(self._envs, seeds, strict=False)])
        self._check(X)
        return X

    def play(self, job: _Job, watch: Watch | None = None) -> Played:
        """Play one episode per seed, all at the same time; at most `width` seeds."""
        k, X = len(job.seeds), self.reset(job.seeds)
        wanderers = self._wanderers(job)
        returns, lengths, alive = np.zeros(k), np.zeros(k, dtype=np.int64), np.arange(k)
        rows: list[_Rows] = []
        for t in range(self.simulator.horizon):
            if watch is not None:
                watch.check()
            before = X[alive]
            actions = job.policy(before)
            if wanderers is not None:
                actions = wanderers.actions(alive, t, actions)
            rewards, terminated, over = self._step(alive, actions, X)
            returns[alive] += rewards
            lengths[alive] += 1
            if job.record:
                rows.append((before, actions, rewards, X[alive], terminated, alive))
            alive = alive[~over]
            if not len(alive):
                break
        return Played(returns, lengths, self._recorded(rows) if job.record else None)

    def _step(self, alive: Ints, actions: Ints, X: Floats) -> tuple[Floats, Bools, Bools]:
        """Step the living environments; X [k, F] becomes what they show. Rewards, terminated, and over, all [n]."""
        observer = self.simulator.observer
        rewards, terminated, over = np.empty(len(alive)), np.empty(len(alive), bool), np.empty(len(alive), bool)
        pairs = zip(alive.tolist(), (actions + observer.first_action).tolist(), strict=True)
        for n, (i, action) in enumerate(pairs):
            observation, rewards[n], terminated[n], truncated, _ = self._envs[i].step(action)
            over[n] = terminated[n] or truncated
            X[i] = observer.read(observation)
        self._check(X)
        return rewards, terminated, over

    def _check(self, X: Floats) -> None:
        if not np.isfinite(X).all():
            i, j = np.argwhere(~np.isfinite(X))[0]
            name = self.simulator.feature_names[j]
            raise InputError(f"{self.simulator.name} shows {name} = {X[i, j]}; a tree needs finite numbers")

    def _wanderers(self, job: _Job) -> Wanderers | None:
        """How the episodes of a job leave the policy."""
        if job.wandering is None:
            return None
        return Wanderers(job.wandering, np.asarray(job.seeds), len(self.simulator.action_names))

    def _recorded(self, rows: list["_Rows"]) -> Steps:
        """The steps of all episodes, one episode after the other."""
        columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
        order = np.argsort(columns[-1], kind="stable")
        observations, actions, rewards, following, terminated, episodes = (column[order] for column in columns)
        names = self.simulator.feature_names, self.simulator.action_names
        return Steps(observations, actions, rewards, following, terminated, episodes, *names)


_Rows = tuple[Floats, Ints, Floats, Floats, Bools, Ints]
"""One step of the living episodes: observations, actions, rewards, next observations, terminated, their numbers."""

_TABLES: list[_Table] = []
"""In a worker process: its environments."""


def _sit_down(simulator: Simulator) -> None:
    """Prepare a worker process."""
    _TABLES.append(_Table(simulator))


def _at_table(job: _Job) -> Played:
    """Do a job in a worker process."""
    return _TABLES[0].play(job)
