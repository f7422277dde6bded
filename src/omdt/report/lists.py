"""The lists of the page: the rules of the tree, the states in which it loses, and its return beside others."""

import math
from dataclasses import dataclass

import numpy as np

from omdt.export.palette import colour
from omdt.mdp import MDP, Floats
from omdt.report import words
from omdt.report.analysis import Analysis
from omdt.report.drawing import visits
from omdt.solution import Solution
from omdt.tree import LEAF, TreePolicy, printable

MOST_ROWS = 60
"""Maximum number of rows in a list; the last row sums up the rest, because nobody reads more."""


@dataclass(frozen=True)
class Rule:
    """A leaf as the page lists it: the conditions that lead to it, its action, and how often it is visited."""

    conditions: str
    action: str
    colour: str
    visits: str


@dataclass(frozen=True)
class Disagreement:
    """A state in which the tree loses, as the page lists it."""

    state: str
    number: int
    action: str
    colour: str
    best: str
    visits: str
    loss_per_visit: str
    cost: str


@dataclass(frozen=True)
class Bar:
    """A return as the page draws it; the length is a CSS width."""

    name: str
    value: str
    meaning: str
    length: str


def rules(tree: TreePolicy, analysis: Analysis, conditions: list[list[str]]) -> list[Rule]:
    """One rule per leaf, the most visited first; `conditions` has the phrases for each node."""
    leaves = np.flatnonzero(tree.feature == LEAF)
    leaves = leaves[np.argsort(-analysis.node_share[leaves], kind="stable")][:MOST_ROWS]
    return [
        Rule(
            conditions=" and ".join(conditions[i]),
            action=printable(tree.action_names[tree.action[i]]),
            colour=colour(int(tree.action[i])),
            visits=visits(float(analysis.node_share[i])),
        )
        for i in leaves
    ]


def other_rules(tree: TreePolicy, analysis: Analysis) -> tuple[int, float]:
    """The number of leaves that `rules` leaves out, and their share of visits."""
    return _rest(analysis.node_share[tree.feature == LEAF])


def disagreements(tree: TreePolicy, mdp: MDP, analysis: Analysis) -> list[Disagreement]:
    """The visited states in which the tree's action is not optimal, the most costly first."""
    states = np.flatnonzero(analysis.cost > 0)
    states = states[np.argsort(-analysis.cost[states], kind="stable")][:MOST_ROWS]
    marks = bool(np.isin(analysis.seen, (0, 1)).all())
    texts = words.states(tree.feature_names, analysis.observations[states], marks=marks)
    return [
        Disagreement(
            state=text,
            number=int(mdp.origin[s]),
            action=printable(tree.action_names[analysis.action[s]]),
            colour=colour(int(analysis.action[s])),
            best=printable(tree.action_names[analysis.best[s]]),
            visits=words.number(float(analysis.visits[s])),
            loss_per_visit=words.number(float(analysis.advantage_lost[s])),
            cost=words.number(float(analysis.cost[s])),
        )
        for s, text in zip(states, texts, strict=True)
    ]


def other_disagreements(analysis: Analysis) -> tuple[int, float]:
    """The number of states that `disagreements` leaves out, and their total cost."""
    return _rest(analysis.cost[analysis.cost > 0])


def bars(solution: Solution) -> list[Bar]:
    """The tree between the random and the optimal policy; the lowest figure has length 0, the highest has 100 %."""
    says = solution.wording
    returns = [
        ("random policy", solution.random_return, "every available action equally likely"),
        ("this tree", solution.value, f"its exact {printable(says.what)}"),
        ("bound", solution.shown_bound, f"no {words.size_limit(solution)} {says.better}"),
        ("optimal policy", solution.optimal_return, "the best policy of any form"),
    ]
    finite = [value for _, value, _ in returns if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return [
        Bar(name, words.number(value, 9), meaning, f"{_length(value, low, high):.2f}%")
        for name, value, meaning in returns
    ]


def _length(value: float, low: float, high: float) -> float:
    """The length of a bar in percent; infinite figures have the length of the nearer end."""
    if low == high and math.isfinite(value):
        return 100.0
    if math.isinf(value):
        return 100.0 if value > 0 else 0.0
    return 100 * (value - low) / (high - low)


def _rest(numbers: Floats) -> tuple[int, float]:
    """How many of the numbers are beyond the `MOST_ROWS` largest, and their sum."""
    decreasing = np.sort(numbers)[::-1]
    return max(0, len(decreasing) - MOST_ROWS), float(decreasing[MOST_ROWS:].sum())
