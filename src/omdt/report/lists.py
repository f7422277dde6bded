"""The lists of the page: the rules of the tree, the states in which it loses, and its return beside others."""

import math
from dataclasses import dataclass, replace

import numpy as np

from omdt.mdp import MDP, Floats
from omdt.report import words
from omdt.report.amounts import DOWN, UP, Amounts
from omdt.report.analysis import Analysis
from omdt.report.colours import action_colours
from omdt.report.drawing import visits
from omdt.solution import Solution
from omdt.tree import LEAF, TreePolicy, printable

MOST_ROWS = 60
"""Maximum number of rows in a list; the last row sums up the rest, because nobody reads more."""

PRINTED_RULES, PRINTED_LINES = 8, 10
"""Maximum number of rules on paper, and of their lines; with the tree and the maps they fill one page of A4."""

PRINTED_WIDTH, PRINTED_WORTH = 58, 36
"""Letters per printed line of a rule, and of what it is worth."""


@dataclass(frozen=True)
class Rule:
    """A leaf as the page lists it.

    Attributes:
        conditions: what leads to the leaf.
        action: what is done there.
        colour: the colour of the action.
        visits: how often the leaf is visited.
        worth: how much less the whole tree would be worth with the next best action here; a dash if not computed.
        instead: a remark on that action; may be empty.
        printed: whether the rule is on paper, too.
    """

    conditions: str
    action: str
    colour: str
    visits: str
    worth: str
    instead: str
    printed: bool = True

    @property
    def lines(self) -> int:
        """The estimated number of lines on paper; of a line, "If", "then" and the frame of the action need a part."""
        said = 1 + (len(self.conditions) + len(self.action) + 14) // PRINTED_WIDTH
        return max(said, 1 + (len(self.worth) + len(self.instead)) // PRINTED_WORTH)


@dataclass(frozen=True)
class Figure:
    """One of the main figures of the page, with what it is the figure of."""

    name: str
    amount: str


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


def figures(solution: Solution, amounts: Amounts) -> list[Figure]:
    """The tree beside what any tree of its size can reach, the best possible policy, and chance.

    What any tree can reach is rounded away from the value of the tree, so that it stays true.
    """
    minimised, value, best = solution.wording.minimised, solution.value, solution.optimal_return
    limit, away = solution.shown_bound, DOWN if minimised else UP
    if solution.excess > 0 and all(map(math.isfinite, (value, limit, best))):
        amounts = amounts.telling_apart(value, limit, best, away)

    def figure(name: str, value: float, error: float) -> Figure:
        about = "" if solution.is_rounding(error) else "about "
        return Figure(name, about + amounts.amount(value))

    shown = [figure("these rules", value, solution.value_error)]
    if solution.excess > 0 and not solution.bound_is_optimum:
        name = f"any tree of this size, at {'least' if minimised else 'most'}"
        shown += [one for one in [Figure(name, amounts.amount(limit, away))] if one.amount != shown[0].amount]
    shown.append(figure("best possible policy", best, solution.optimal_error))
    return [*shown, figure("choosing at random", solution.random_return, solution.random_error)]


def legend(tree: TreePolicy, analysis: Analysis) -> list[tuple[str, str]]:
    """The actions of the tree with their colours, the most frequent first."""
    colours = action_colours(tree)
    leaves = tree.feature == LEAF
    share = np.bincount(tree.action[leaves], weights=analysis.node_share[leaves], minlength=len(tree.action_names))
    used = np.unique(tree.action[leaves])
    used = used[np.argsort(-share[used], kind="stable")][:MOST_ROWS]
    return [(printable(tree.action_names[action]), colours[action]) for action in used]


def rules(tree: TreePolicy, analysis: Analysis, conditions: list[list[str]], amounts: Amounts) -> list[Rule]:
    """One rule per leaf, the most visited first; `conditions` has the phrases for each node."""
    colours = action_colours(tree)
    leaves = np.flatnonzero(tree.feature == LEAF)
    leaves = leaves[np.argsort(-analysis.node_share[leaves], kind="stable")][:MOST_ROWS]
    listed = [
        Rule(
            conditions=" and ".join(conditions[i]),
            action=printable(tree.action_names[tree.action[i]]),
            colour=colours[tree.action[i]],
            visits=visits(float(analysis.node_share[i])),
            worth=worth,
            instead=instead,
        )
        for i in leaves
        for worth, instead in [_worth(tree, analysis, int(i), amounts)]
    ]
    lines = np.cumsum([rule.lines for rule in listed])
    few = max(1, min(PRINTED_RULES, int(np.searchsorted(lines, PRINTED_LINES, side="right"))))
    return [replace(rule, printed=k < few) for k, rule in enumerate(listed)]


def _worth(tree: TreePolicy, analysis: Analysis, i: int, amounts: Amounts) -> tuple[str, str]:
    """How much less the whole tree would be worth with the next best action in a leaf, and a remark on that action."""
    found = analysis.runners_up.get(i)
    if found is None:
        return "–", ""
    other = printable(tree.action_names[found.action])
    if found.loss == 0:
        return "nothing", f"{other} is as good"
    remark = f"compared with {other}" if found.loss > 0 else f"{other} would be better"
    return amounts.difference(found.loss), remark


def other_rules(tree: TreePolicy, analysis: Analysis) -> tuple[int, float]:
    """The number of leaves that `rules` leaves out, and their share of visits."""
    return _rest(analysis.node_share[tree.feature == LEAF])


def disagreements(tree: TreePolicy, mdp: MDP, analysis: Analysis) -> list[Disagreement]:
    """The visited states in which the tree's action is not optimal, the most costly first."""
    states = np.flatnonzero(analysis.cost > 0)
    states = states[np.argsort(-analysis.cost[states], kind="stable")][:MOST_ROWS]
    marks = bool(np.isin(analysis.seen, (0, 1)).all())
    colours = action_colours(tree)
    texts = words.states(tree.feature_names, analysis.observations[states], marks=marks)
    return [
        Disagreement(
            state=text,
            number=int(mdp.origin[s]),
            action=printable(tree.action_names[analysis.action[s]]),
            colour=colours[analysis.action[s]],
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
