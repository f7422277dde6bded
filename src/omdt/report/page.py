"""The HTML report: one page that needs no network, made for the person who has to approve a policy.

Whatever a user may have named stands in the page as text only: names are first freed of control characters, the
template escapes them, and the data for the script is JSON in which no tag can begin. The page forbids itself every
connection and every script but its own.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from omdt.counting import counted
from omdt.errors import require
from omdt.export.palette import colour
from omdt.files import write_whole
from omdt.mdp import MDP, Floats
from omdt.report import words
from omdt.report.analysis import Analysis, analyse, through_nodes
from omdt.report.commands import solve_command
from omdt.report.curve import anytime_curve
from omdt.report.drawing import drawn, runner_up, visits
from omdt.report.grid import axis
from omdt.solution import Solution
from omdt.tree import LEAF, TreePolicy, printable

MOST_ROWS = 60
"""Rules and disagreements that are listed; the rest is summed up in one row."""
MOST_ENTRIES = 1_000_000
"""Numbers of the heat map that the page carries, one for each state and feature: some megabytes."""
WIDE, NARROW = 720.0, 350.0
"""Widths of the anytime curve on a desk and on a phone."""


@dataclass(frozen=True)
class Rule:
    """A leaf as the page lists it: what leads there, what it does, and how often."""

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
    each_loses: str
    cost: str


def report_html(
    solution: Solution,
    mdp: MDP,
    *,
    observations: ArrayLike | None = None,
    commands: Sequence[str] = (),
) -> str:
    """The report on a solution as one HTML page (needs the extra `report`).

    Args:
        solution: what `solve` returned for this MDP.
        mdp: the problem.
        observations: [S, F'] what the tree reads in each state; by default what the solution records: the features of
            the MDP and the predicates.
        commands: what was typed to get here; by default the `omdt solve` that makes the solution.
    """
    require("jinja2", "report", "a report")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    analysis = analyse(solution, mdp, observations)
    templates = Environment(
        loader=PackageLoader("omdt.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return templates.get_template("page.html").render(
        **_contents(solution, mdp, analysis),
        commands=[printable(command) for command in commands] or [solve_command(solution)],
    )


def write_report(
    solution: Solution,
    mdp: MDP,
    path: str | Path,
    *,
    observations: ArrayLike | None = None,
    commands: Sequence[str] = (),
) -> None:
    """Write the report on a solution into a file, whole or not at all; arguments as in `report_html`."""
    page = report_html(solution, mdp, observations=observations, commands=commands)
    write_whole(Path(path), lambda stream: stream.write(page.encode()))


def _contents(solution: Solution, mdp: MDP, analysis: Analysis) -> dict[str, Any]:
    """What the template shows."""
    from markupsafe import Markup

    tree = solution.tree
    conditions = words.conditions(tree, analysis.seen)
    script = _resource("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {
        "script_hash": f"sha256-{digest}",
        "script": Markup(script),
        "style": Markup(_resource("page.css")),
        "problem": printable(solution.problem),
        "method": printable(solution.method),
        "solution": solution,
        "mdp": mdp,
        "verdict": words.verdict(solution),
        "counted": counted,
        "replaced": [words.sentence(text) for text in solution.replaced_words()],
        "number": words.number,
        "normalised": words.normalised,
        "percent": words.percent,
        "bars": _bars(solution),
        "drawing": Markup(drawn(tree, analysis)),
        "rules": _rules(tree, analysis, conditions),
        "other_rules": _rest(np.sort(analysis.node_share[tree.feature == LEAF])[::-1]),
        "curves": {kind: Markup(svg) for kind, svg in _curves(solution).items()},
        "disagreements": _disagreements(tree, mdp, analysis),
        "other_disagreements": _rest(np.sort(analysis.cost[analysis.cost > 0])[::-1]),
        "total_cost": float(analysis.cost.sum()),
        "shortfall": analysis.shortfall,
        "data": {"nodes": _nodes(tree, analysis, conditions), "map": _map(tree, analysis)},
    }


def _resource(name: str) -> str:
    return files("omdt.report").joinpath("page", name).read_text(encoding="utf-8")


def _curves(solution: Solution) -> dict[str, str]:
    """The anytime curve for a desk and for a phone; none where the method reported only its result."""
    if len(solution.trace) < 2:
        return {}
    return {"wide": anytime_curve(solution, WIDE), "narrow": anytime_curve(solution, NARROW)}


def _bars(solution: Solution) -> list[dict[str, Any]]:
    """The tree between the random and the optimal policy; the shortest bar has no length, the optimum all of it."""
    returns = [
        ("random policy", solution.random_return, "every available action equally likely"),
        ("this tree", solution.value, "its exact discounted return"),
        ("bound", solution.shown_bound, f"no {words.size_limit(solution)} returns more"),
        ("optimal policy", solution.optimal_return, "the best policy of any form"),
    ]
    low = min(value for _, value, _ in returns)
    span = max(value for _, value, _ in returns) - low
    return [
        {
            "name": name,
            "value": words.number(value, 9),
            "meaning": meaning,
            "length": f"{100 * (value - low) / span if span > 0 else 100:.2f}%",
        }
        for name, value, meaning in returns
    ]


def _rest(decreasing: Floats) -> tuple[int, float]:
    """How many figures are beyond the rows that are listed, and their sum."""
    return max(0, len(decreasing) - MOST_ROWS), float(decreasing[MOST_ROWS:].sum())


def _rules(tree: TreePolicy, analysis: Analysis, conditions: list[list[str]]) -> list[Rule]:
    """One rule a leaf, the most visited first."""
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


def _disagreements(tree: TreePolicy, mdp: MDP, analysis: Analysis) -> list[Disagreement]:
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
            each_loses=words.number(float(analysis.advantage_lost[s])),
            cost=words.number(float(analysis.cost[s])),
        )
        for s, text in zip(states, texts, strict=True)
    ]


def _nodes(tree: TreePolicy, analysis: Analysis, conditions: list[list[str]]) -> list[dict[str, Any]]:
    """What the page tells of each node when it is opened, and what is below it."""
    leaves = through_nodes(tree, np.flatnonzero(tree.feature == LEAF), np.ones(tree.n_leaves))
    return [
        {
            "title": printable(tree.action_names[tree.action[i]]) if tree.feature[i] == LEAF else tree.question(i),
            "facts": _facts(tree, analysis, i, conditions[i]),
            "left": int(tree.left[i]),
            "right": int(tree.right[i]),
            "leaves": int(leaves[i]),
            "share": float(f"{analysis.node_share[i]:.6g}"),
        }
        for i in range(tree.n_nodes)
    ]


def _facts(tree: TreePolicy, analysis: Analysis, i: int, conditions: list[str]) -> list[tuple[str, str]]:
    facts = [
        ("When", " and ".join(conditions) or "always"),
        ("Visits", visits(float(analysis.node_share[i]))),
        ("States", f"{analysis.node_states[i]:,}"),
        ("Loss in these states", words.number(float(analysis.node_cost[i]))),
    ]
    if i in analysis.runners_up:
        facts.append(("Next best action", runner_up(tree, analysis.runners_up[i])))
    elif tree.feature[i] == LEAF and analysis.node_share[i] > 0 and len(tree.action_names) > 1:
        facts.append(("Next best action", "not computed; only for the most visited leaves"))
    return facts


def _map(tree: TreePolicy, analysis: Analysis) -> dict[str, Any]:
    """The heat map's data: observations that fall into the same steps of every feature and act alike are one entry."""
    axes = [axis(column) for column in analysis.seen.T]
    steps = np.column_stack([*(a.step for a in axes), analysis.action[analysis.deciding]])
    entries, entry = np.unique(steps, axis=0, return_inverse=True)
    share = np.bincount(entry.ravel(), weights=analysis.share[analysis.deciding], minlength=len(entries))
    kept = np.argsort(-share, kind="stable")[: max(1, MOST_ENTRIES // entries.shape[1])]
    return {
        "features": [
            {"name": printable(name), "labels": a.labels, "steps": entries[kept, j].tolist()}
            for j, (name, a) in enumerate(zip(tree.feature_names, axes, strict=True))
        ],
        "actions": [printable(name) for name in tree.action_names],
        "action": entries[kept, -1].tolist(),
        "share": [float(f"{x:.6g}") for x in share[kept]],
        "first": _first_features(tree, analysis),
        "left_out": len(entries) - len(kept),
    }


def _first_features(tree: TreePolicy, analysis: Analysis) -> list[int]:
    """The two features that the map opens with: those about which the tree is asked most, then those in order."""
    inner = tree.feature != LEAF
    asked = np.bincount(tree.feature[inner], weights=analysis.node_share[inner], minlength=len(tree.feature_names))
    return sorted(np.argsort(-asked, kind="stable")[:2].tolist())
