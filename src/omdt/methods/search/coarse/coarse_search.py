"""The coarse search: best-first branch and bound over coarse trees."""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from omdt.mdp import Floats
from omdt.methods.search.coarse.coarse_tree import (
    CoarseTree, Cut, Undecided, complete, count_ends, cuts, ends, narrowed, placed, within,
)
from omdt.methods.search.coarse.ladders import Ladders, halves
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Path
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.sweeps import forward
from omdt.watch import Watch


@dataclass
class Item:
    tree: CoarseTree
    values: Floats
    same: bool   # relaxation is that of the parent


class CoarseSearch:
    def __init__(self, model: Model, questions: Ranks, incumbent, consider, watch: Watch):
        self.model, self.questions, self.incumbent, self.consider, self.watch = model, questions, incumbent, consider, watch
        self.ladders = Ladders(questions)
        self.relax = Relaxation(model, self.ladders)
        self.counter = itertools.count()
        self.heap = []
        self.closed = -np.inf
        self.nodes = self.bounded = 0
        V = model.optimal.upper
        self.push(incumbent.unrestricted, Item(Undecided(model.size.depth), V, True))

    @property
    def bound(self):
        return max(self.closed, -self.heap[0][0] if self.heap else -np.inf)

    @property
    def done(self):
        return not self.heap or -self.heap[0][0] <= self.incumbent.target

    def push(self, bound, item):
        if bound <= self.incumbent.target:
            self.closed = max(self.closed, bound)
        else:
            heapq.heappush(self.heap, (-bound, next(self.counter), item))

    def run(self, nodes):
        for _ in range(nodes):
            if self.done or self.watch.remaining == 0: return
            negated, _, item = heapq.heappop(self.heap)
            self.nodes += 1
            bound = -negated
            tree = item.tree
            whole = complete(tree, self.ladders)
            if whole is not None:
                self.consider(whole)
                self.closed = max(self.closed, bound)
                continue
            for child, same in self.children(item):
                child = narrowed(child, self.ladders)
                if child is None: continue
                if same:
                    self.push(bound, Item(child, item.values, True))
                    continue
                self.bounded += 1
                r = self.relax.bound(child, item.values, self.incumbent.target, self.watch)
                self.push(min(bound, r.bound), Item(child, r.values, False))

    def children(self, item) -> Iterator[tuple[CoarseTree, bool]]:
        tree = item.tree
        weights = self.weights(item)
        best, choice = -1.0, None
        base = None
        spare = self.model.size.leaves - count_ends(tree)
        allends = list(ends(tree, self.ladders, self.relax.everywhere))
        count = sum(e.reached.astype(np.int8) for e in allends)
        for e in allends:
            if isinstance(e.node, Undecided):
                states = np.flatnonzero(e.reached & (count == 1))
                if e.node.depth == 0 or spare == 0:
                    score = weights[states].sum(axis=0).min() if len(states) else 0.0
                    if len(states) == 0: score = -0.5
                    kind = "leaf"
                else:
                    score = 0.5 * self.stump(states, weights) + 1e-12 * len(states)
                    kind = "expand"
                if score > best:
                    best, choice = score, (kind, e)
        base = self.potential(tree, weights)
        for path, cut in cuts(tree):
            if cut.asked.high - cut.asked.low == 1: continue
            kids = [placed(tree, path, cut._replace(asked=h)) for h in halves(cut.asked)]
            score = min(self.potential(k, weights) for k in kids) - base
            if score > best:
                best, choice = score, ("halve", (path, cut))
        kind, what = choice
        if kind == "halve":
            path, cut = what
            for h in halves(cut.asked):
                yield placed(tree, path, cut._replace(asked=h)), False
        elif kind == "leaf":
            for a in range(self.model.mdp.n_actions):
                yield placed(tree, what.path, Leaf(a)), False
        else:
            d = what.node.depth
            some = False
            for l in range(len(self.ladders)):
                r = within(tree, what.path, self.ladders.whole(l), self.ladders)
                if r.low < r.high:
                    some = True
                    yield placed(tree, what.path, Cut(r, Undecided(d - 1), Undecided(d - 1))), True
            if not some or self.model.size.leaves < 2 ** self.model.size.depth:
                yield placed(tree, what.path, Undecided(0)), True

    def weights(self, item):
        V = item.values
        choices = self.relax.choices(item.tree)
        q = self.model.look_ahead(V)
        delta = np.maximum(V[:, None] - q, 0.0)
        policy = np.where(choices, q, -np.inf).argmax(axis=1)
        x = self.relax.visits(policy)
        return x[:, None] * delta

    def stump(self, states, weights):
        if len(states) == 0: return 0.0
        left, right = self.questions.sums(states, weights[states])
        return float((left.min(axis=1) + right.min(axis=1)).min())

    def potential(self, tree, weights):
        allends = list(ends(tree, self.ladders, self.relax.everywhere))
        count = sum(e.reached.astype(np.int8) for e in allends)
        total = 0.0
        free = np.zeros(len(count), dtype=bool)
        cheapest = np.full(len(count), np.inf)
        for e in allends:
            if isinstance(e.node, Undecided):
                free |= e.reached
                states = np.flatnonzero(e.reached & (count == 1))
                if e.node.depth == 0:
                    total += weights[states].sum(axis=0).min() if len(states) else 0.0
                else:
                    total += self.stump(states, weights)
            else:
                cheapest = np.where(e.reached, np.minimum(cheapest, weights[:, e.node.action]), cheapest)
        return total + cheapest[~free].sum()
