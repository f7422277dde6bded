"""Trees learned from simulators: what they return in fresh episodes, beside a teacher and a tree that imitates it.

Run with `make bench-learn`, which takes some 40 minutes by our estimate; environments and seeds can be chosen:

    python benchmarks/learn.py --seeds 2 --only CartPole Taxi
    python benchmarks/learn.py --first-seed 20 --seeds 10 --only Blackjack

What every run has found is told as it ends. Ctrl-C prints the rows that are complete.

Every run may take 200,000 steps on one core. "mean" is the mean over the seeds of the mean return of 200 fresh
episodes, "worst" that of the worst seed. "model" is the discounted return of the first seed's tree on its learned
model, "bound" what no tree of the depth exceeds there. The teacher is a linear policy that the cross-entropy method
trains with 5,760 episodes; for LunarLander it is the controller that Gymnasium brings along. "imitated" is the tree of
the same depth that imitates the teacher (VIPER without Q-values). LunarLander needs `gymnasium[box2d]` and is left out
without it.

Blackjack and Taxi have exact MDPs: the second table has the exact discounted returns there of the learned trees and of
the best tree of the depth that `omdt.solve` finds in a minute. What the worst of the learned ones lacks is given as a
part of the best tree's return, and as a part of what the best tree gains over the random policy.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

import omdt
from exact_blackjack import blackjack
from omdt.learning.episodes import Player
from omdt.learning.from_simulator import Request, learn_from_simulator
from omdt.learning.learned import Learned
from omdt.learning.simulators import Simulator, simulator
from omdt.learning.wandering import Wandering
from omdt.task import Size
from omdt.watch import Watch

STEPS, EPISODES = 200_000, 200
FRESH = 2_000_000_000
"""First seed of the episodes of teachers and of trees that imitate them."""

POPULATION, ELITE, ROUNDS, TRIALS = 48, 8, 20, 6
"""The cross-entropy method: policies per round, those that the next round is drawn from, and episodes of each."""


@dataclass(frozen=True)
class Case:
    """An environment, the depth of its trees, and the mean return that they should reach, if one is set."""

    env_id: str
    depth: int
    target: float | None = None

    @property
    def simulator(self) -> Simulator:
        """What is played."""
        return simulator(f"gym:{self.env_id}")


CASES = [
    Case("CartPole-v1", 3, 490),
    Case("MountainCar-v0", 3, -125),
    Case("Acrobot-v1", 3, -100),
    Case("LunarLander-v3", 4),
]
EXACT = [Case("Blackjack-v1", 2), Case("Blackjack-v1", 3), Case("Taxi-v4", 3), Case("Taxi-v4", 4)]


@dataclass(frozen=True, eq=False)
class Linear:
    """A policy that plays the action with the largest of A linear functions of the observation, W [A, F + 1]."""

    W: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """[n] actions for observations [n, F]."""
        return np.argmax(X @ self.W[:, :-1].T + self.W[:, -1], axis=1)

    def predict(self, observation: Any) -> tuple[np.int64, None]:
        """The action for one observation, as in Stable-Baselines3."""
        return self(np.asarray(observation, dtype=float)[None, :])[0], None


class Controller:
    """The controller of LunarLander that Gymnasium brings along."""

    def __init__(self) -> None:
        from gymnasium.envs.box2d.lunar_lander import heuristic

        self.env, self.heuristic = gymnasium.make("LunarLander-v3"), heuristic

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """[n] actions for observations [n, F]."""
        return np.array([self.heuristic(self.env.unwrapped, row) for row in X])

    def predict(self, observation: Any) -> tuple[np.int64, None]:
        """The action for one observation, as in Stable-Baselines3."""
        return np.int64(self.heuristic(self.env.unwrapped, observation)), None


def trained(world: Simulator) -> Linear:
    """The linear policy that the cross-entropy method finds."""
    rng = np.random.default_rng(0)
    F, A = len(world.feature_names), len(world.action_names)
    with Player(world) as player:
        # Every feature is measured in the standard deviations that it has under random actions.
        steps = player.play(lambda X: np.zeros(len(X), int), range(64), record=True, wandering=Wandering(1, 4)).steps
        scale = np.append(steps.observations.std(axis=0) + 1e-9, 1.0)
        mean, spread = np.zeros((A, F + 1)), np.ones((A, F + 1))
        for n in range(ROUNDS):
            drawn = mean + spread * rng.normal(size=(POPULATION, A, F + 1))
            seeds = rng.integers(FRESH, size=TRIALS)
            score = [player.play(Linear(W / scale), seeds).returns.mean() for W in drawn]
            best = drawn[np.argsort(score)[-ELITE:]]
            mean, spread = best.mean(axis=0), best.std(axis=0) + 0.3 / (n + 1)
    return Linear(mean / scale)


def learned(case: Case, seed: int) -> tuple[Learned, float]:
    """A learned tree, and the seconds of CPU that it took."""
    begin = time.process_time()
    request = Request(size=Size(case.depth), steps=STEPS, episodes=EPISODES, seed=seed)
    found = learn_from_simulator(case.simulator, request, Watch())
    return found, time.process_time() - begin


def mean_return(world: Simulator, policy: omdt.TreePolicy | Callable[[np.ndarray], np.ndarray]) -> float:
    with Player(world) as player:
        return float(player.play(policy, range(FRESH, FRESH + EPISODES)).returns.mean())


def imitated(case: Case, teacher: Linear | Controller) -> float:
    """The mean return of the tree that imitates a teacher."""
    env = gymnasium.make(case.env_id)
    settings = {"iterations": 20, "episodes": 5, "test_episodes": 20, "seed": 0}
    names = {"feature_names": case.simulator.feature_names, "action_names": case.simulator.action_names}
    return mean_return(case.simulator, omdt.imitate(env, teacher, max_depth=case.depth, **settings, **names))


def simulated(seeds: range) -> Table:
    """The table of environments that can only be played, without rows."""
    table = Table("environment", title=f"Learned from a simulator, {len(seeds)} seeds")
    for heading in ("d", "target", "mean", "worst", "steps", "CPU s", "model", "bound", "teacher", "imitated"):
        table.add_column(heading, justify="right")
    return table


def simulated_row(case: Case, seeds: range, progress: Console) -> list[str]:
    runs = []
    for seed in seeds:
        runs.append(learned(case, seed))
        found, seconds = runs[-1]
        progress.print(f"{case.env_id} seed {seed}: {found.interval.mean:.1f}, {seconds:.0f} s", style="dim")
    teacher = Controller() if case.env_id.startswith("LunarLander") else trained(case.simulator)
    means = [found.interval.mean for found, _ in runs]
    first = runs[0][0].solution
    numbers = [np.mean(means), min(means), max(found.solution.experience.steps for found, _ in runs)]
    numbers += [max(seconds for _, seconds in runs), first.value, first.bound]
    numbers += [mean_return(case.simulator, teacher), imitated(case, teacher)]
    target = "" if case.target is None else f"{case.target:g}"
    return [case.env_id, str(case.depth), target, *(f"{number:.1f}".removesuffix(".0") for number in numbers)]


def exact(seeds: range) -> Table:
    """The table of environments that have exact MDPs, without rows."""
    table = Table("environment", title=f"Beside the best tree on the exact MDP, {len(seeds)} seeds")
    for heading in ("d", "best tree", "proven", "learned, mean", "worst", "lacks", "of gain", "steps", "CPU s"):
        table.add_column(heading, justify="right")
    return table


def exact_row(case: Case, seeds: range, progress: Console) -> list[str]:
    name = case.env_id
    mdp = blackjack() if name.startswith("Blackjack") else omdt.from_gymnasium(gymnasium.make(name), discount=0.99)
    best = omdt.solve(mdp, max_depth=case.depth, time_limit=60, threads=1)
    runs, values = [], []
    for seed in seeds:
        runs.append(learned(case, seed))
        values.append(omdt.evaluate(mdp, runs[-1][0].tree))
        told = f"{name} depth {case.depth} seed {seed}: {values[-1]:.5f} of {best.value:.5f}, {runs[-1][1]:.0f} s"
        progress.print(told, style="dim")
    steps, seconds = max(it.solution.experience.steps for it, _ in runs), max(seconds for _, seconds in runs)
    lacking = best.value - min(values)
    parts = [f"{lacking / abs(best.value):.1%}", f"{lacking / (best.value - best.random_return):.1%}"]
    cells = [f"{best.value:.4f}", str(best.proven), f"{np.mean(values):.4f}", f"{min(values):.4f}"]
    return [name, str(case.depth), *cells, *parts, f"{steps}", f"{seconds:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (default: 5)")
    parser.add_argument("--first-seed", type=int, default=0, help="the first of them (default: 0)")
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of the environments' names (default: all)")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", omdt.InputWarning)
    progress, out = Console(stderr=True), Console(width=120)
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    for cases, table, row in ((CASES, simulated(seeds), simulated_row), (EXACT, exact(seeds), exact_row)):
        chosen = [case for case in cases if case.env_id.startswith(tuple(asked.only))]
        if find_spec("Box2D") is None:
            chosen = [case for case in chosen if not case.env_id.startswith("LunarLander")]
        try:
            for case in chosen:
                table.add_row(*row(case, seeds, progress))
        finally:
            if table.row_count:
                out.print(table)


if __name__ == "__main__":
    main()
