"""Tolls: what a visit of a state pays at least for questions, under all completions of a coarse tree."""

import numpy as np

from omdt.mdp import EPSILON, Bools, Floats
from omdt.methods.search.coarse.coarse_tree import CoarseTree, Cut
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.partial_tree import Leaf
from omdt.rules import Prices


def tolls(tree: CoarseTree, ladders: Ladders, prices: Prices, acting: Bools, actions: int) -> Floats:
    """[S, A] the smallest toll of an end that a state may reach and at which an action is possible, rounded down.

    A state pays for the questions on the way to its leaf, of which the coarse tree knows the first ones. Where an
    action is not possible, and in states in which nothing is decided, it is 0.

    Args:
        tree: the coarse tree.
        ladders: the questions.
        prices: of the questions.
        acting: [S] whether there is something to decide in a state.
        actions: the number of actions.
    """
    cheapest = np.full((len(acting), actions), np.inf)
    stack: list[tuple[CoarseTree, float, int, Bools]] = [(tree, 0.0, 0, acting)]
    while stack:
        node, paid, depth, reached = stack.pop()
        if isinstance(node, Cut):
            left, right = ladders.may_go(node.asked)
            paid += float(prices.per_use[ladders.column(node.asked)])
            stack.append((node.right, paid, depth + 1, reached & right))
            stack.append((node.left, paid, depth + 1, reached & left))
            continue
        toll = paid * (1 - 2 * depth * EPSILON)
        if isinstance(node, Leaf):
            column = cheapest[:, node.action]
            np.minimum(column, toll, out=column, where=reached)
        else:
            cheapest[reached] = np.minimum(cheapest[reached], toll)
    return np.where(np.isinf(cheapest), 0.0, cheapest)


def paid_once(tree: CoarseTree, ladders: Ladders, prices: Prices) -> float:
    """What all completions of a coarse tree pay once."""
    columns: set[int] = set()
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, Cut):
            columns.add(ladders.column(node.asked))
            stack += [node.left, node.right]
    return float(sum(prices.once[j] for j in sorted(columns)))
