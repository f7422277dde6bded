"""How often guaranteed returns are kept: logs are simulated on known MDPs, and learned from as if these were unknown.

Run with `make bench-coverage`; what is simulated can be chosen:

    python benchmarks/guarantees.py --logs 500 --only frozenlake_4x4 --episodes 100 --confidence 0.9

From every log a tree is learned, with its guaranteed return. The guarantee is kept if it is at most the tree's
true discounted return, which the known MDP tells. Every row says how many of its logs kept theirs, beside how many the
confidence promises; the chance of so few, if the promise held exactly; the guarantee and the true return on average;
and the return of the best tree of this size on the true MDP. Confidence intervals of this kind are cautious: they
allow for every coincidence of a whole log at once, so nearly all guarantees are kept, and small logs guarantee little.

A guarantee holds whichever tree the searches choose, so they look at a few partial trees only, and nothing is estimated
beside it. The whole table takes ten minutes of one core; its rows are told as they are found.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple
from unittest.mock import patch

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binom

import omdt
from omdt import planning
from omdt.errors import InputWarning
from omdt.learning import from_log, off_policy
from omdt.learning.steps import Steps
from omdt.robust import scenarios

PROBLEMS = {
    "frozenlake_4x4": lambda: omdt.make("frozenlake_4x4", discount=0.9),
    "maintenance": lambda: omdt.make("maintenance", machines=1, levels=6, discount=0.9),
    "admission": lambda: omdt.make("admission", capacity=2, discount=0.9),
}
"""Known MDPs that are small enough for thousands of logs."""

DEPTH = 2
"""The trees that are learned."""

LENGTH = 50
"""Number of steps after which an episode is cut off."""

EPISODES = {"frozenlake_4x4": (2000,), "maintenance": (20, 200, 2000), "admission": (2000,)}
"""Numbers of episodes per log; shorter logs of the other two guarantee next to nothing."""

NODES, ROUNDS = 2, 1
"""Number of partial trees that each search looks at, and of scenarios that the robust one does."""

EXPLORING = 0.5
"""How often the logged policy plays any action, instead of the best one."""


def simulated_log(mdp: omdt.MDP, episodes: int, rng: np.random.Generator) -> Steps:
    """A log of episodes on a known MDP, in which half of the actions are the best ones and half are random.

    Every reward is one of two numbers, the least and the greatest of the MDP, with the right mean, so that means of
    rewards have to be learned like probabilities.

    Args:
        mdp: the MDP, whose features tell its states apart.
        episodes: their number; each ends in a terminal state or after `LENGTH` steps.
        rng: the source of all chance.
    """
    S, A = mdp.rewards.shape
    best = planning.greedy(planning.q_values(mdp, planning.optimal_values(mdp)))
    cumulative = np.cumsum(mdp.transitions.toarray(), axis=1).reshape(S, A, S)
    least, most = float(mdp.rewards.min()), float(mdp.rewards.max())
    state, number = rng.choice(S, size=episodes, p=mdp.initial), np.arange(episodes)
    rows: list[tuple[np.ndarray, ...]] = []
    while len(state) and len(rows) < LENGTH:
        action = np.where(rng.random(len(state)) < EXPLORING, rng.integers(A, size=len(state)), best[state])
        share = (mdp.rewards[state, action] - least) / max(most - least, 1e-300)
        reward = np.where(rng.random(len(state)) < share, most, least)
        drawn = rng.random((len(state), 1)) * cumulative[state, action, -1:]
        following = (cumulative[state, action] <= drawn).sum(axis=1)
        ended = mdp.terminal[following]
        rows.append((number, state, action, reward, following, ended))
        state, number = following[~ended], number[~ended]
    number, state, action, reward, following, ended = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.argsort(number, kind="stable")
    return Steps(
        mdp.features[state[order]],
        action[order],
        reward[order],
        mdp.features[following[order]],
        ended[order],
        number[order],
        mdp.feature_names,
        mdp.action_names,
    )


class Outcome(NamedTuple):
    """What was learned from one log.

    Attributes:
        guarantee: the return that is promised.
        true: the return of the same tree on the known MDP.
    """

    guarantee: float
    true: float

    @property
    def kept(self) -> bool:
        """Whether the promise is kept."""
        return self.guarantee <= self.true


def outcomes(mdp: omdt.MDP, episodes: int, confidence: float, logs: int, seed: int = 0) -> Iterator[Outcome]:
    """What is learned from each of several simulated logs.

    Args:
        mdp: the known MDP.
        episodes: their number per log.
        confidence: how often guarantees are to be kept, at least.
        logs: number of logs.
        seed: the same seed gives the same logs.
    """
    for rng in np.random.default_rng(seed).spawn(logs):
        tree, guarantee = learned(simulated_log(mdp, episodes, rng), mdp.discount, confidence)
        yield Outcome(guarantee, omdt.evaluate(mdp, tree))


def learned(steps: Steps, discount: float, confidence: float) -> tuple[omdt.TreePolicy, float]:
    """The tree that is learned from a log, and its guaranteed return."""
    with (
        patch.object(from_log, "NODES", NODES),
        patch.object(scenarios, "ROUNDS", ROUNDS),
        patch.object(off_policy, "SAMPLES", 1),
        warnings.catch_warnings(),
    ):
        # Short logs are warned about, and they are meant to be short here.
        warnings.simplefilter("ignore", InputWarning)
        found = omdt.learn(steps, max_depth=DEPTH, discount=discount, confidence=confidence)
    assert found.guarantee is not None
    return found.tree, found.guarantee.value


def row(name: str, episodes: int, confidence: float, logs: int) -> list[str]:
    """One row of the table."""
    mdp = PROBLEMS[name]()
    found = list(outcomes(mdp, episodes, confidence, logs))
    kept = sum(outcome.kept for outcome in found)
    chance = float(binom.cdf(kept, logs, confidence))
    guarantee, true = np.mean(found, axis=0)
    best = omdt.solve(mdp, max_depth=DEPTH, threads=1).value
    figures = [f"{kept / logs:.1%}", f"{confidence:.0%}", f"{chance:.2g}"]
    return [name, str(episodes), str(logs), *figures, f"{guarantee:.4f}", f"{true:.4f}", f"{best:.4f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=500, help="simulated logs per row")
    parser.add_argument("--only", action="append", choices=list(PROBLEMS), help="a problem; repeatable")
    parser.add_argument("--episodes", type=int, action="append", help="episodes per log; repeatable")
    parser.add_argument("--confidence", type=float, action="append", help="promised confidence; repeatable")
    given = parser.parse_args()
    headings = ["problem", "episodes", "logs", "kept", "promised", "chance", "guarantee", "true return", "best tree"]
    table = Table(*headings, title=f"guaranteed returns of trees of depth {DEPTH}, learned from simulated logs")
    for name in given.only or PROBLEMS:
        for episodes in given.episodes or EPISODES[name]:
            for confidence in given.confidence or (0.5, 0.95):
                table.add_row(*(found := row(name, episodes, confidence, given.logs)))
                print(*found, file=sys.stderr, flush=True)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
