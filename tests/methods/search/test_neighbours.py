"""Neighbours: every tree that is proposed fits into the limits, and its policy is its own."""

from collections.abc import Iterable

import numpy as np
import pytest
from scipy import sparse

from omdt import MDP
from omdt.methods.search.fitting import Fitting, gains_around
from omdt.methods.search.low_rank import Dense
from omdt.methods.search.model import Model
from omdt.methods.search.neighbours import Candidate, Neighbours
from omdt.methods.search.partial_tree import Leaf, Split, Tree, count_leaves, replaced
from omdt.methods.search.ranks import Ranks
from omdt.watch import Watch
from random_mdps import random_mdp
from search_parts import model_of, random_splits
from strategies import environment

TREE = Split(3, Leaf(0), Split(9, Leaf(1), Leaf(2)))


def neighbours_of(model: Model, watch: Watch | None = None) -> Neighbours:
    watch, questions = Watch() if watch is None else watch, Ranks(model.task.splits)
    return Neighbours(model, questions, Fitting(model, questions, watch), watch)


def lake(depth: int | None = 2, leaves: int | None = None) -> Model:
    return model_of(environment("frozenlake_8x8"), depth, leaves)


def gains_of(model: Model, tree: Tree) -> np.ndarray:
    """The gains around a tree."""
    engine = Dense(model)
    engine.rebase(Ranks(model.task.splits).actions(tree, np.arange(model.mdp.n_states)))
    return gains_around(engine, model)


def depth_of(tree: Tree) -> int:
    return 1 + max(depth_of(tree.left), depth_of(tree.right)) if isinstance(tree, Split) else 0


def check_candidates(model: Model, candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates, each within the limits and with its own policy."""
    found, states = list(candidates), np.arange(model.mdp.n_states)
    for tree, policy in found:
        assert depth_of(tree) <= model.size.depth
        assert count_leaves(tree) <= model.size.leaves
        assert np.array_equal(policy, Ranks(model.task.splits).actions(tree, states))
    return found


def random_tree(rng: np.random.Generator, model: Model, depth: int, leaves: int) -> Tree:
    """A random complete tree within a depth and a number of leaves."""
    questions = len(model.task.splits)
    if depth == 0 or leaves == 1 or questions == 0 or rng.random() < 0.2:
        return Leaf(int(rng.integers(model.mdp.n_actions)))
    share = int(rng.integers(1, leaves))
    left, right = (random_tree(rng, model, depth - 1, n) for n in (share, leaves - share))
    return Split(int(rng.integers(questions)), left, right)


def test_places_are_all_nodes_with_their_states_and_room() -> None:
    model = lake(3, 5)
    places = list(neighbours_of(model).places(TREE))
    assert [place.path for place in places] == [(), (False,), (True,), (True, False), (True, True)]
    assert [place.subtree for place in places] == [TREE, TREE.left, TREE.right, Leaf(1), Leaf(2)]
    assert [place.depth for place in places] == [3, 2, 2, 1, 1]
    assert [place.leaves for place in places] == [5, 3, 4, 3, 3]
    for place in places:
        inside = np.ones(model.mdp.n_states, dtype=np.bool_)
        node: Tree = TREE
        for right in place.path:
            assert isinstance(node, Split)
            inside &= model.sides[:, node.question] == right
            node = node.right if right else node.left
        assert np.array_equal(place.states, np.flatnonzero(inside))


@pytest.mark.parametrize(("depth", "leaves"), [(0, None), (2, None), (None, 3), (3, 6)])
def test_promising_neighbours_fit_and_differ(depth: int | None, leaves: int | None) -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        model = model_of(mdp, depth, leaves, splits=random_splits(mdp, rng))
        tree = random_tree(rng, model, model.size.depth, model.size.leaves)
        found = check_candidates(model, neighbours_of(model).promising(tree, gains_of(model, tree)))
        policies = [policy.tobytes() for _, policy in found]
        policies.append(Ranks(model.task.splits).actions(tree, np.arange(mdp.n_states)).tobytes())
        assert len(set(policies)) == len(policies), seed


def test_promising_neighbours_have_every_kind_of_change() -> None:
    # The gains around this tree are far from 0, so that no choice between neighbours depends on rounding.
    model, tree = lake(3, 5), Split(10, Leaf(2), Split(3, Leaf(1), Leaf(2)))
    found = {other for other, _ in neighbours_of(model).promising(tree, gains_of(model, tree))}
    actions, questions = range(model.mdp.n_actions), range(len(model.task.splits))
    stumps = {Split(k, Leaf(a), Leaf(b)) for k in questions for a in actions for b in actions}
    kinds = {
        "a leaf for the root": {Leaf(a) for a in actions},
        "a side for the root": {tree.left, tree.right},
        "another question at the root": {Split(k, tree.left, tree.right) for k in questions},
        "exchanged sides": {Split(k, tree.right, tree.left) for k in questions},
        "a stump for a leaf": {replaced(tree, (True, True), stump) for stump in stumps},
        "a larger tree": {other for other in found if count_leaves(other) == 5},
    }
    for kind, trees in kinds.items():
        assert found & trees, kind


def test_fewer_candidates_are_the_most_promising_ones() -> None:
    mdp = environment("frozenlake_8x8")
    gains = gains_of(lake(), TREE)
    few, many = (
        [tree for tree, _ in neighbours_of(model_of(mdp, 2, candidates_per_node=n)).promising(TREE, gains)]
        for n in (2, 12)
    )
    assert 0 < len(few) < len(many)
    assert few[:2] == [Leaf(int(a)) for a in np.argsort(-gains.sum(axis=0), kind="stable")[:2]]


def test_the_highest_gain_per_changed_state_comes_first_and_fitted_subtrees_last() -> None:
    model = lake(3)
    around, gains, states = neighbours_of(model), gains_of(model, TREE), np.arange(model.mdp.n_states)
    current = Ranks(model.task.splits).actions(TREE, states)
    found = check_candidates(model, around.by_gain(TREE, gains))
    promising = check_candidates(model, around.promising(TREE, gains))
    assert {policy.tobytes() for _, policy in found} == {policy.tobytes() for _, policy in promising}
    keys = []
    for _, policy in found:
        gain = float((gains[states, policy] - gains[states, current]).sum())
        keys.append(gain / np.count_nonzero(policy != current) if gain > 0 else gain)
    falls = np.flatnonzero(np.diff(keys) > 1e-12)
    # Where the order begins anew, the fitted subtrees follow, at most one per node.
    assert len(falls) <= 1
    assert len(keys) - 1 - (falls[0] if len(falls) else len(keys) - 1) <= 5
    assert max(keys) > 0 > min(keys)


def test_neighbours_of_little_gain_are_left_out() -> None:
    model = lake(3)
    around, gains, states = neighbours_of(model), gains_of(model, TREE), np.arange(model.mdp.n_states)
    present = float(gains[states, Ranks(model.task.splits).actions(TREE, states)].sum())
    for order in (around.promising, around.by_gain):
        everything = [float(gains[states, policy].sum()) - present for _, policy in order(TREE, gains)]
        least = float(np.median(everything))
        kept = [float(gains[states, policy].sum()) - present for _, policy in order(TREE, gains, least)]
        assert 0 < len(kept) < len(everything)
        assert min(kept) >= least - 1e-12


def test_small_changes_are_all_of_them() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        splits = random_splits(mdp, rng)
        model = model_of(mdp, 2, splits=splits)
        tree = random_tree(rng, model, 2, 4)
        neighbours, states = neighbours_of(model), np.arange(mdp.n_states)
        current = neighbours.questions.actions(tree, states)
        expected = set()
        for place in neighbours.places(tree):
            subtree = place.subtree
            if isinstance(subtree, Split):
                alike = np.flatnonzero(splits.feature == splits.feature[subtree.question])
                others: list[Tree] = [Split(int(k), subtree.left, subtree.right) for k in alike]
            else:
                others = [Leaf(a) for a in range(mdp.n_actions)]
            expected |= {replaced(tree, place.path, other) for other in others}
        policies = {neighbours.questions.actions(it, states).tobytes() for it in expected}
        found = check_candidates(model, neighbours.small_changes(tree, gains_of(model, tree)))
        assert {it for it, _ in found} <= expected, seed
        assert sorted(policy.tobytes() for _, policy in found) == sorted(policies - {current.tobytes()}), seed


def fine_model(**fields: object) -> Model:
    """A walk over 3,000 numbers: many thresholds on one feature, and a second one."""
    S = 3000
    states = np.arange(S)
    following = np.stack([np.maximum(states - 1, 0), np.minimum(states + 1, S - 1)], axis=1).ravel()
    P = sparse.csr_array((np.ones(2 * S), following, np.arange(2 * S + 1)), shape=(2 * S, S))
    rewards = np.stack([np.sin(states / 400), np.cos(states / 300)], axis=1)
    mdp = MDP(P, rewards, np.ones(S) / S, np.stack([states, states % 7], axis=1), discount=0.9)
    return model_of(mdp, 2, **fields)  # type: ignore[arg-type]


def test_of_many_small_changes_the_promising_and_the_stepped_ones_are_tried() -> None:
    model = fine_model(step_seconds=0.0, min_evaluations=10)
    neighbours = neighbours_of(model)
    tree = Split(1000, Leaf(0), Leaf(1))
    gains = np.random.default_rng(0).normal(size=model.mdp.rewards.shape)
    found = check_candidates(model, neighbours.small_changes(tree, gains))
    asked = {it.question for it, _ in found if isinstance(it, Split) and it[1:] == tree[1:]}
    assert {1000 + sign * 2**i for sign in (-1, 1) for i in range(9)} <= asked
    straight = [gains[: k + 1, 0].sum() + gains[k + 1 :, 1].sum() for k in range(2999)]
    best = np.argsort(straight)[::-1][: model.settings.candidates_per_node]
    assert set(best.tolist()) - {1000} <= asked
    assert len(found) < 50
    everything = fine_model(step_seconds=1e9)
    assert len(list(neighbours_of(everything).small_changes(tree, gains))) == 2998 + 2


def test_with_many_states_the_most_promising_neighbours_come_first() -> None:
    model = fine_model(impatient_states=1, step_seconds=0.0, min_evaluations=15)
    tree = Split(1000, Leaf(0), Split(2000, Leaf(1), Leaf(0)))
    gains = gains_of(model, tree)
    found = check_candidates(model, neighbours_of(model).promising(tree, gains))
    scores = [float(gains[np.arange(3000), policy].sum()) for _, policy in found]
    assert 5 < len(scores) <= 15
    assert scores == pytest.approx(sorted(scores, reverse=True), abs=1e-9)
    patient = list(neighbours_of(fine_model()).promising(tree, gains))
    assert max(scores) == pytest.approx(max(float(gains[np.arange(3000), policy].sum()) for _, policy in patient))


def test_random_changes_fit_and_depend_on_the_seed_alone() -> None:
    model = lake(3, 6)
    neighbours, gains = neighbours_of(model), gains_of(model, TREE)
    found = set()
    for seed in range(80):
        first, again = (neighbours.perturbed(TREE, gains, np.random.default_rng(seed)) for _ in range(2))
        assert first == again
        assert depth_of(first) <= 3
        assert count_leaves(first) <= 6
        found.add(first)
    assert len(found) > 40
    assert any(isinstance(tree, Leaf) for tree in found)
    assert Split(TREE.question, TREE.right, TREE.left) in found
    assert any(count_leaves(tree) > 3 for tree in found)


def test_one_random_change_replaces_one_subtree() -> None:
    model = model_of(environment("frozenlake_8x8"), 3, max_random_changes=1)
    neighbours, gains = neighbours_of(model), gains_of(model, TREE)
    for seed in range(40):
        changed = neighbours.perturbed(TREE, gains, np.random.default_rng(seed))
        assert any(differs_below(TREE, changed, place.path) for place in neighbours.places(TREE))


def differs_below(tree: Tree, other: Tree, path: tuple[bool, ...]) -> bool:
    """Whether two trees are the same but for what is below a path."""
    if not path:
        return True
    if not (isinstance(tree, Split) and isinstance(other, Split)) or tree.question != other.question:
        return False
    if path[0]:
        return tree.left == other.left and differs_below(tree.right, other.right, path[1:])
    return tree.right == other.right and differs_below(tree.left, other.left, path[1:])


def test_only_leaves_are_random_where_nothing_may_grow() -> None:
    model = lake(None, 3)
    neighbours, gains = neighbours_of(model), gains_of(model, TREE)
    for seed in range(60):
        assert count_leaves(neighbours.perturbed(TREE, gains, np.random.default_rng(seed))) <= 3


def test_nothing_is_proposed_where_no_state_comes() -> None:
    """The second question repeats the first one, so that no state comes to one of its sides."""
    tree = Split(3, Leaf(0), Split(3, Leaf(1), Leaf(2)))
    model = lake(3)
    neighbours = neighbours_of(model)
    empty = next(place for place in neighbours.places(tree) if len(place.states) == 0)
    assert empty.path == (True, False)
    changes = [
        *neighbours.small_changes(tree, gains_of(model, tree)),
        *neighbours.promising(tree, gains_of(model, tree)),
    ]
    assert changes
    assert all(it != replaced(tree, empty.path, Leaf(a)) for it, _ in changes for a in (0, 2, 3))


def test_when_time_is_up_nothing_is_promising() -> None:
    watch = Watch()
    model = lake()
    watch.interrupt()
    assert list(neighbours_of(model, watch).promising(TREE, gains_of(model, TREE))) == []
