"""Outlines of coarse trees: what all completions have in common, for the rules about shape."""

from collections.abc import Sequence

import numpy as np

from omdt.mdp import Bools, Ints
from omdt.methods.search.coarse.coarse_tree import CoarseTree, Undecided, cuts, ends
from omdt.methods.search.coarse.ladders import Ladders
from omdt.rules import OPEN, Outline, ShapeRule


def outline_of(tree: CoarseTree, ladders: Ladders, everywhere: Bools) -> Outline:
    """The outline of a coarse tree for the given states [S]."""
    all_ends = list(ends(tree, ladders, everywhere))
    asked = {path: ladders.column(cut.asked) for path, cut in cuts(tree)}
    named = {end.path: OPEN if isinstance(end.node, Undecided) else end.node.action for end in all_ends}

    def policy() -> Ints:
        found = np.full(len(everywhere), OPEN, dtype=np.int64)
        certain = np.ones(len(everywhere), dtype=np.bool_)
        for end in all_ends:
            action = named[end.path]
            certain[end.reached] &= (action != OPEN) & ((found[end.reached] == OPEN) | (found[end.reached] == action))
            found[end.reached] = action
        return np.where(certain, found, OPEN)

    return Outline(asked, named, policy)


def breaks(tree: CoarseTree, ladders: Ladders, everywhere: Bools, shapes: Sequence[ShapeRule]) -> bool:
    """Whether all completions of a coarse tree break a rule about shape."""
    if not shapes:
        return False
    outline = outline_of(tree, ladders, everywhere)
    return any(rule.broken_by(outline) is not None for rule in shapes)
