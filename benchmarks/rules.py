"""What each rule does to the time of a proof: seconds under the rule per second without rules, in one run.

Run with `make bench-rules`; `--seconds` is the time limit of each solve, names can be chosen:

    python benchmarks/rules.py --seconds 20 --only frozenlake_8x8 --only blackjack

Every environment is solved without rules first. The rules are made from that solution so that they bind: the first
question is to be about another feature, the feature that it begins with may not be asked, its most frequent action is
limited, and so on. Times are CPU seconds, so that other programs on the machine do not count; compilation is over
before the first one. A sign `>` says that the proof was not complete within the time limit. In brackets is
what the rule costs, as a part of the way from the random policy to the best tree.
"""

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table

import omdt
from omdt import planning
from omdt.errors import InputError
from omdt.rules import Rules
from omdt.solution import Solution
from omdt.tree import LEAF

CELLS = (
    ("frozenlake_4x4", 3),
    ("frozenlake_8x8", 2),
    ("3d_navigation", 2),
    ("traffic_intersection", 2),
    ("blackjack", 2),
    ("tiger_vs_antelope", 2),
)
"""Environments and depths whose proofs without rules take seconds or less."""

COSTS = "uses"
"""The name of the further reward: how often the most frequent action is played."""


def counted(mdp: omdt.MDP, solution: Solution) -> tuple[omdt.MDP, int, float]:
    """The problem with the uses of the tree's most frequent action as a reward, that action, and its total."""
    policy = solution.tree.actions(mdp.features)
    visits = np.where(mdp.terminal, 0.0, planning.occupancies(mdp, policy).value)
    uses = np.bincount(policy, visits, mdp.n_actions)
    action = int(uses.argmax())
    costs = np.zeros(mdp.rewards.shape)
    costs[~mdp.terminal, action] = 1.0
    return replace(mdp, reward_models={COSTS: costs}), action, float(uses[action])


def rules_for(mdp: omdt.MDP, solution: Solution) -> Iterator[tuple[str, omdt.MDP, Rules]]:
    """Rules that bind, each with its name and the problem to solve under it."""
    tree, names = solution.tree, mdp.feature_names
    first = names[tree.feature[0]] if tree.feature[0] != LEAF else names[0]
    other = next((name for name in names if name != first), first)
    limited, action, total = counted(mdp, solution)
    played = mdp.action_names[action]
    above = float(np.quantile(mdp.features[:, names.index(first)], 0.75))
    price = 0.01 * (solution.value - solution.random_return) * (1 - mdp.discount)
    yield "without", mdp, Rules(without=[first] if other != first else [])
    yield "root", mdp, Rules(root=other)
    yield "max features", mdp, Rules(max_features=1)
    yield "price", mdp, Rules(prices={"every": price})
    yield "price once", mdp, Rules(prices_once={"every": price / (1 - mdp.discount)})
    yield "forbid", mdp, Rules(forbid=[f"{played}: {first} > {above!r}"])
    yield "leaves per action", mdp, Rules(max_leaves={"every": 1})
    yield "min share", mdp, Rules(min_share=0.15)
    yield "monotone", mdp, Rules(monotone=[first])
    yield "keep", mdp, Rules(keep=opened(tree.to_dict()))
    yield "at most", limited, Rules(at_most=[f"{COSTS} <= {0.8 * total!r}"])


def opened(tree: Any) -> dict[str, Any]:
    """A tree that may grow anew on its right side."""
    return {**tree, "right": {"open": True}} if "right" in tree else {"open": True}


def solved(mdp: omdt.MDP, depth: int, seconds: float, rules: Rules | None = None) -> tuple[Solution | None, float]:
    """The solution, None if no tree keeps the rules, and CPU seconds."""
    begin = time.process_time()
    found: Solution | None
    try:
        found = omdt.solve(mdp, max_depth=depth, time_limit=seconds, rules=Rules() if rules is None else rules)
    except InputError:
        found = None
    return found, time.process_time() - begin


def told(found: Solution | None, free: Solution, ratio: float) -> str:
    """A cell of the table."""
    if found is None:
        return f"{ratio:.1f} (no tree)"
    way = free.value - free.random_return
    lost = (free.value - found.value) / way if way > 0 else 0.0
    return f"{'' if found.proven else '> '}{ratio:.1f} (−{100 * max(0.0, lost):.1f} %)"


def measured(name: str, depth: int, seconds: float) -> tuple[str, dict[str, str], dict[str, float]]:
    """The heading of one environment, and by rule its cell and its ratio."""
    problem = omdt.make(name)
    free, base = solved(problem, depth, seconds)
    assert free is not None, "without rules there is always a tree"
    cells, ratios = {}, {}
    for rule, mdp, rules in rules_for(problem, free):
        found, taken = solved(mdp, depth, seconds, rules)
        ratios[rule] = taken / base
        cells[rule] = told(found, free, taken / base)
    return f"{name}\ndepth {depth}, {'' if free.proven else '> '}{base:.2f} s", cells, ratios


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of each solve")
    parser.add_argument("--only", action="append", help="the name of an environment, repeatable")
    chosen = parser.parse_args()
    small = omdt.make("frozenlake_4x4")
    for _, mdp, rules in rules_for(small, omdt.solve(small, max_depth=1)):
        solved(mdp, 1, chosen.seconds, rules)
    columns = [measured(*cell, chosen.seconds) for cell in CELLS if not chosen.only or cell[0] in chosen.only]
    table = Table("rule", *(heading for heading, _, _ in columns), "median")
    for rule in columns[0][1]:
        median = float(np.median([ratios[rule] for _, _, ratios in columns]))
        table.add_row(rule, *(cells[rule] for _, cells, _ in columns), f"{median:.1f}")
    Console(width=max(160, Console().width)).print(table)


if __name__ == "__main__":
    main()
