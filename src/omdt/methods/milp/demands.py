"""Demands: what rules ask of the full tree, before any row is written.

Rules about single nodes, leaves and states need no rows: they are upper bounds of 0 on columns b, c and π. A kept tree
lies in the full tree at its own place: a kept question is the only one that its node may ask, below a kept leaf nothing
is asked, and an open place limits what is asked below it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from omdt.divisions import Asked
from omdt.mdp import Bools, Ints
from omdt.methods.search.outcome import no_tree
from omdt.rules import Kept, KeptSplit, Open, Root
from omdt.rules.kept import KeptLeaf
from omdt.rules.outline import Path
from omdt.task import Task


class Place(NamedTuple):
    """A node of the full tree, and the maximum number of leaves of the subtree that begins there."""

    node: int
    leaves: int


@dataclass(frozen=True, eq=False)
class Demands:
    """What rules ask of the full tree.

    Attributes:
        task: the task whose rules they are.
        asks: [nodes, K] whether each node may ask each question, "no split" included.
        names: [leaves, A] whether each leaf may take each action.
        acts: [U, A] whether each kind of state may take each action.
        places: open places that limit their leaves.
    """

    task: Task
    asks: Bools
    names: Bools
    acts: Bools
    places: tuple[Place, ...]


def kept_questions(kept: Kept | None) -> Asked:
    """The questions of a kept tree, parents before their children."""
    nodes = [] if kept is None else [node for _, node in kept.nodes()]
    return Asked.listed([(it.column, it.threshold, it.equality) for it in nodes if isinstance(it, KeptSplit)])


def demands_of(task: Task, depth: int, column: Ints, acts: Bools) -> Demands:
    """The demands of a task on the full tree of some depth.

    Args:
        task: what is asked.
        depth: D.
        column: [K − 1] the column of each question without "no split"; those of the kept tree come last.
        acts: [U, A] whether each kind of state may take each action.

    Raises:
        InputError: if the kept tree is deeper than the full tree.
    """
    nodes, leaves, K = 2**depth - 1, 2**depth, 1 + len(column)
    own = len(kept_questions(task.kept).feature)
    asks: Bools = np.ones((nodes, K), dtype=np.bool_)
    asks[:, K - own :] = False
    names: Bools = np.ones((leaves, task.mdp.n_actions), dtype=np.bool_)
    places: list[Place] = []
    question = K - own
    for path, node in () if task.kept is None else task.kept.nodes():
        if len(path) > depth - isinstance(node, KeptSplit):
            raise no_tree(task, complete=True)
        m = _node_at(path)
        if isinstance(node, KeptSplit):
            asks[m] = np.arange(K) == question
            question += 1
        elif isinstance(node, KeptLeaf):
            asks[list(descendants(m, nodes)), 1:] = False
            names[_leftmost(m, nodes)] = np.arange(names.shape[1]) == node.action
        else:
            _limit(node, m, asks, places)
    for rule in task.shapes:
        if isinstance(rule, Root) and nodes:
            asks[0, 1:] &= column == rule.column
    return Demands(task, asks, names, acts, tuple(places))


def _limit(place: Open, m: int, asks: Bools, places: list[Place]) -> None:
    """Write down the limits of an open place at node m."""
    if place.depth is not None:
        deeper = [below for below in descendants(m, len(asks)) if _level(below) - _level(m) >= place.depth]
        asks[deeper, 1:] = False
    if place.leaves is not None:
        places.append(Place(m, place.leaves))


def descendants(m: int, n_nodes: int) -> Iterator[int]:
    """A node and all nodes below it."""
    if m < n_nodes:
        yield m
        yield from descendants(2 * m + 1, n_nodes)
        yield from descendants(2 * m + 2, n_nodes)


def ancestors(depth: int, t: int) -> tuple[Ints, Bools]:
    """The nodes above leaf t from the root down, and whether it lies on their right."""
    right = np.array([t >> (depth - 1 - level) & 1 for level in range(depth)], dtype=np.bool_)
    nodes = np.array([2**level - 1 + (t >> (depth - level)) for level in range(depth)], dtype=np.int64)
    return nodes, right


def way_to(m: int) -> tuple[Ints, Bools]:
    """The nodes above node m from the root down, and whether it lies on their right."""
    level = _level(m)
    return ancestors(level, m - (2**level - 1))


def last_right_turn(depth: int, t: int) -> int | None:
    """The lowest node that has leaf t on its right; None for the leftmost leaf."""
    nodes, right = ancestors(depth, t)
    turns: Sequence[int] = nodes[right].tolist()
    return turns[-1] if turns else None


def _node_at(path: Path) -> int:
    m = 0
    for step in path:
        m = 2 * m + 1 + step
    return m


def _leftmost(m: int, n_nodes: int) -> int:
    """The leftmost leaf below a node, or the leaf itself."""
    while m < n_nodes:
        m = 2 * m + 1
    return m - n_nodes


def _level(m: int) -> int:
    return (m + 1).bit_length() - 1
