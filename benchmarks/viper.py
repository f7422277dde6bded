"""VIPER beside the paper: thirteen environments at depths 1 to 4, and its speed beside a plain loop over steps.

Run with `make bench-viper`; seeds, names and depths can be chosen:

    python benchmarks/viper.py --seeds 3 --only frozenlake --depths 3

A cell is the mean normalised return over the seeds with its standard error; normalised as in the paper, by the random
return of its code, and inventory_management is as published. A cell agrees when the means differ by at most 0.03 or
two of the paper's standard errors.

The plain loop has the same settings and the same student, but steps a Gymnasium environment one episode at a time. On
the frozen lakes it asks the fitted estimator for every action, as implementations of VIPER do; on traffic_intersection,
where no episode ends early and that would take long, it only looks the action up in an array.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.tree import DecisionTreeClassifier

import omdt
from omdt import planning
from omdt.environments import PAPER
from omdt.formats.to_gymnasium import MDPEnv
from omdt.methods.viper import FITTED_SHARE, MAX_STEPS, SAMPLE, Schedule
from search import normalised, paper_results

FLOOR = 0.03

Act = Callable[[np.ndarray, int], np.int64]
"""The action for an observation, or for the state that it belongs to."""


def problem(name: str) -> omdt.MDP:
    return omdt.make(name, **({"as_published": True} if name == "inventory_management" else {}))


def standard_error(values: list[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def table_of_returns(names: list[str], depths: list[int], seeds: int, progress: Console) -> tuple[Table, str]:
    published = paper_results()
    table = Table("environment", title=f"VIPER, mean of {seeds} seeds")
    for heading in ("d", "ours", "± se", "paper", "± se", "difference", "seconds a run"):
        table.add_column(heading, justify="right")
    agreeing = count = 0
    for name in names:
        mdp = problem(name)
        for depth in depths:
            progress.print(f"{name} depth {depth}", style="dim")
            solutions = [omdt.solve(mdp, max_depth=depth, method="viper", seed=seed) for seed in range(seeds)]
            ours = [normalised(name, solution.value) for solution in solutions]
            theirs = published[name, depth]
            mean, their_mean, their_error = statistics.mean(ours), float(theirs["viper"]), float(theirs["viper_se"])
            agrees = abs(mean - their_mean) <= max(FLOOR, 2 * their_error) + 1e-9
            agreeing += agrees
            count += 1
            table.add_row(
                name,
                str(depth),
                f"{mean:.3f}",
                f"{standard_error(ours):.3f}",
                f"{their_mean:.2f}",
                f"{their_error:.2f}",
                f"{mean - their_mean:+.3f}" if agrees else f"[bold red]{mean - their_mean:+.3f}[/]",
                f"{statistics.mean(solution.seconds for solution in solutions):.2f}",
            )
    return table, f"{agreeing} of {count} cells within 0.03 or two of the paper's standard errors"


def asking(mdp: omdt.MDP, student: DecisionTreeClassifier) -> Act:
    return lambda observation, state: np.int64(student.predict(observation[None, :])[0])


def looking_up(mdp: omdt.MDP, student: DecisionTreeClassifier) -> Act:
    actions = student.predict(mdp.features)
    return lambda observation, state: actions[state]


def plain_loop(mdp: omdt.MDP, depth: int, seed: int, policy: Callable[[omdt.MDP, DecisionTreeClassifier], Act]) -> None:
    """VIPER one step at a time."""
    schedule, rng, env = Schedule(), np.random.default_rng(seed), MDPEnv(mdp)
    env.reset(seed=seed)
    q = planning.q_values(mdp, planning.optimal_values(mdp))
    actions, importance = planning.greedy(q), np.ptp(q.value, axis=1)

    def roll_out(act: Act, episodes: int) -> tuple[list[int], float]:
        visited, total = [], 0.0
        for _ in range(episodes):
            observation, info = env.reset()
            for _ in range(MAX_STEPS):
                if mdp.terminal[info["state"]]:
                    break
                visited.append(info["state"])
                observation, reward, _, _, info = env.step(act(observation, info["state"]))
                total += reward
        return visited, total / episodes

    pairs, _ = roll_out(lambda observation, state: actions[state], schedule.episodes)
    students = []
    for _ in range(schedule.iterations):
        weights = importance[pairs]
        size = min(SAMPLE, int((weights > 0).sum()))
        drawn = rng.choice(pairs, size=size, p=weights / weights.sum())[: int(FITTED_SHARE * size)]
        student = DecisionTreeClassifier(max_depth=depth, random_state=int(rng.integers(2**31)))
        student.fit(mdp.features[drawn], actions[drawn])
        visited, score = roll_out(policy(mdp, student), schedule.episodes)
        pairs += visited
        students.append((student, score))
    while len(students) > 1:
        students = sorted(students, key=lambda entry: -entry[1])[: (len(students) + 1) // 2]
        students = [(student, roll_out(policy(mdp, student), schedule.test_episodes)[1]) for student, _ in students]


def speed(name: str, policy: Callable[[omdt.MDP, DecisionTreeClassifier], Act]) -> str:
    mdp = problem(name)
    start = time.perf_counter()
    omdt.solve(mdp, max_depth=3, method="viper", seed=0)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    plain_loop(mdp, 3, 0, policy)
    plain = time.perf_counter() - start
    loop = f"one step at a time, {policy.__name__.replace('_', ' ')}"
    return f"{name} depth 3: {ours:.2f} s; {loop}: {plain:.1f} s, {plain / ours:.0f} times as long"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="part of an environment's name")
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 2, 3, 4])
    chosen = parser.parse_args()
    omdt.solve(omdt.make("frozenlake_4x4"), max_depth=1, method="viper")
    progress, output = Console(stderr=True), Console(width=110)
    names = [name for name in PAPER if chosen.only in name]
    table, verdict = table_of_returns(names, chosen.depths, chosen.seeds, progress)
    output.print(table)
    output.print(verdict)
    output.print(speed("frozenlake_4x4", asking))
    output.print(speed("frozenlake_12x12", asking))
    output.print(speed("traffic_intersection", looking_up))


if __name__ == "__main__":
    main()
