"""Observers: they hear every step of an exploration, and what they object to is branched instead."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from omdt.mdp import Ints
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.bounds.protocol import Evidence
from omdt.methods.search.exploration import Exploration
from omdt.methods.search.nodes import Node, OpenRegion, Partial
from omdt.methods.search.observing import Observer, Unobserved
from omdt.methods.search.partial_tree import HOLE, Leaf, Split, Tree, leaf_actions, replaced
from omdt.watch import Watch
from random_mdps import any_mdp
from search_parts import basis_of, goal_of, knowledge_of, model_of, random_splits, returns_of, root_of, tree_policies
from tasks import random_limits


@dataclass
class Listener:
    """Keeps what it hears; it objects to every closure or to none."""

    objects: bool
    inherits_vectors: bool = True
    open: set[Tree] = field(default_factory=lambda: {HOLE})
    evaluations: int = 0
    closures: int = 0
    objections: int = 0
    bases: int = 0
    inside: list[Basis] = field(default_factory=list)

    def closes(self, partial: Partial, evidence: Evidence | None) -> bool:
        assert partial.tree in self.open
        if self.objects:
            self.objections += 1
            return False
        self.closures += 1
        self.open.remove(partial.tree)
        return True

    def evaluated(self, node: Node, basis: Basis) -> None:
        assert not node.open
        self.open.remove(node.tree)
        self.evaluations += 1

    def branched(self, node: Node, place: OpenRegion, alike: Ints, basis: Basis) -> None:
        assert place in node.open
        assert len(alike) == 0
        self.open.remove(node.tree)
        for action in range(3):
            self.open.add(replaced(node.tree, place.path, Leaf(action)))
        for k in range(40):
            self.open.add(replaced(node.tree, place.path, Split(k, HOLE, HOLE)))

    def pinned(self, node: Node, state: int, alike: Ints, basis: Basis) -> None:
        raise AssertionError("the goal does not let states be pinned")

    def based(self, partial: Partial, basis: Basis, within: Basis) -> None:
        assert partial.tree in self.open
        assert leaf_actions(partial.tree) <= set(basis.actions.tolist())
        assert not within.has_leaves
        self.bases += 1
        self.inside.append(basis)

    def left(self, basis: Basis) -> None:
        assert self.inside.pop() is basis


@pytest.mark.parametrize("objects", [False, True])
def test_every_step_is_heard_and_the_optimum_does_not_depend_on_objections(objects: bool) -> None:
    """Where nothing convinces, only complete trees are closed, by their own returns."""
    heard = {"evaluations": 0, "closures": 0, "objections": 0, "bases": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        mdp = any_mdp(rng)
        depth, leaves = random_limits(rng)
        if mdp.n_states > 6:
            continue
        fields = {"cheap_states": int(rng.choice([0, 150])), "nodes_per_basis": int(rng.choice([2, 500]))}
        model = model_of(mdp, depth, min(leaves or 3, 3), splits=random_splits(mdp, rng), **fields)
        knowledge = knowledge_of(model)
        found = returns_of(mdp, tree_policies(model))
        best, optimum = float(found.max()), knowledge.bases.losses.optimum
        rounding = 1e-9 * max(abs(best), model.scale)
        for target in (float(np.median(found)) - 1e-3 * model.scale, best - 1e-6 * model.scale):
            if target >= optimum:
                continue
            listener = Listener(objects, inherits_vectors=bool(rng.random() < 0.5))
            goal = goal_of(knowledge, target)
            basis = basis_of(knowledge, target)
            findings = Exploration(knowledge, basis, goal, Watch(), listener).run(root_of(knowledge), 1 << 40)
            assert findings.open == []
            assert findings.value == pytest.approx(best, abs=rounding), seed
            assert best - rounding <= findings.closed, seed
            for name in heard:
                heard[name] += getattr(listener, name)
    assert heard["evaluations"] > 100
    assert (heard["closures"] > 100, heard["objections"] > 100) == (not objects, objects)
    assert heard["bases"] > 5


def test_unobserved_is_an_observer_that_is_always_convinced() -> None:
    observer: Observer = Unobserved()
    model = model_of(any_mdp(np.random.default_rng(0)))
    knowledge = knowledge_of(model)
    basis = basis_of(knowledge, model.optimal_return.value - model.scale)
    exploration = Exploration(knowledge, basis, goal_of(knowledge, basis.losses.optimum - basis.budget), Watch())
    node = exploration._branching.node(root_of(knowledge).partial)
    assert observer.inherits_vectors
    assert observer.closes(node.partial, None)
    nothing = np.zeros(0, dtype=np.int64)
    assert [observer.evaluated(node, basis), observer.branched(node, node.open[0], nothing, basis)] == [None, None]
    assert [observer.pinned(node, 0, nothing, basis), observer.based(node.partial, basis, basis)] == [None, None]
    assert observer.left(basis) is None
