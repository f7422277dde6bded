"""Coarse trees for the tests of the coarse search: random ones, and all trees that one stands for."""

from collections.abc import Iterator

import numpy as np

from omdt.methods.search.coarse.coarse_tree import CoarseTree, Cut, Undecided
from omdt.methods.search.coarse.ladders import Ladders, Range
from omdt.methods.search.partial_tree import Leaf, Split, Tree


def random_coarse_tree(ladders: Ladders, actions: int, depth: int, rng: np.random.Generator) -> CoarseTree:
    """A coarse tree with everything decided or left open at random."""
    kind = rng.random()
    if kind < 0.2:
        return Undecided(depth)
    if depth == 0 or len(ladders) == 0 or kind < 0.4:
        return Leaf(int(rng.integers(actions)))
    ladder = int(rng.integers(len(ladders)))
    low, high = np.sort(rng.choice(ladders.whole(ladder).high + 1, 2, replace=False))
    left = random_coarse_tree(ladders, actions, depth - 1, rng)
    return Cut(Range(ladder, int(low), int(high)), left, random_coarse_tree(ladders, actions, depth - 1, rng))


def completions(tree: CoarseTree, ladders: Ladders, actions: int) -> Iterator[Tree]:
    """All trees that a coarse tree stands for."""
    if isinstance(tree, Leaf):
        yield tree
    elif isinstance(tree, Cut):
        for k in ladders.ladders[tree.asked.ladder].questions[tree.asked.low : tree.asked.high]:
            for left in completions(tree.left, ladders, actions):
                for right in completions(tree.right, ladders, actions):
                    yield Split(int(k), left, right)
    else:
        yield from map(Leaf, range(actions))
        below = Undecided(tree.depth - 1)
        for ladder in range(len(ladders) if tree.depth > 0 else 0):
            yield from completions(Cut(ladders.whole(ladder), below, below), ladders, actions)
