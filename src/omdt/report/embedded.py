"""The data that the script of the page reads: what each node shows when it is opened, and the map."""

from typing import TypedDict

import numpy as np

from omdt.report import words
from omdt.report.analysis import Analysis
from omdt.report.colours import action_colours
from omdt.report.drawing import runner_up, visits
from omdt.report.grid import axes
from omdt.report.visits import most_asked, through_nodes
from omdt.tree import LEAF, TreePolicy, printable

MOST_ENTRIES = 1_000_000
"""Maximum number of numbers in the map, one per entry and feature, so that the page has some megabytes at most."""


class NodeData(TypedDict):
    """A node: its title, its facts as pairs of name and text, its children, and the number of leaves below it."""

    title: str
    facts: list[tuple[str, str]]
    left: int
    right: int
    leaves: int
    share: float


class FeatureData(TypedDict):
    """A feature of the map: its name, the labels of its steps, and the step of each entry."""

    name: str
    labels: list[str]
    steps: list[int]


class MapData(TypedDict):
    """The map: features, and the action and the share of visits of each entry.

    `colours` has the colour of each action, `first` the features that are shown first, and `left_out` is the number of
    entries that are not in the map.
    """

    features: list[FeatureData]
    actions: list[str]
    colours: list[str]
    action: list[int]
    share: list[float]
    first: list[int]
    left_out: int


def node_data(tree: TreePolicy, analysis: Analysis, conditions: list[list[str]]) -> list[NodeData]:
    """[N] what the page shows of each node when it is opened, and what is below it."""
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


def map_data(tree: TreePolicy, analysis: Analysis) -> MapData:
    """The map; observations with the same step of every feature and the same action are one entry."""
    found = axes(analysis.seen)
    steps = np.column_stack([*(one.step for one in found), analysis.action[analysis.deciding]])
    entries, entry = np.unique(steps, axis=0, return_inverse=True)
    share = np.bincount(entry.ravel(), weights=analysis.share[analysis.deciding], minlength=len(entries))
    kept = np.argsort(-share, kind="stable")[: max(1, MOST_ENTRIES // entries.shape[1])]
    return {
        "features": [
            {"name": printable(name), "labels": one.labels, "steps": entries[kept, j].tolist()}
            for j, (name, one) in enumerate(zip(tree.feature_names, found, strict=True))
        ],
        "actions": [printable(name) for name in tree.action_names],
        "colours": action_colours(tree),
        "action": entries[kept, -1].tolist(),
        "share": [float(f"{x:.6g}") for x in share[kept]],
        "first": most_asked(tree, analysis.node_share),
        "left_out": len(entries) - len(kept),
    }
