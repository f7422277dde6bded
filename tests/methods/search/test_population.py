"""Population: the best tree per question at the root, good ones more often; kinds of climbs by their effort."""

import numpy as np

from omdt.methods.search.partial_tree import Leaf, Split, Tree, count_leaves
from omdt.methods.search.population import Beginnings, Population
from omdt.methods.search.settings import SearchSettings


def stump(k: int, action: int = 0) -> Split:
    return Split(k, Leaf(action), Leaf(1))


def test_the_best_tree_per_question_at_the_root_is_kept() -> None:
    population = Population(2, 0.5)
    assert population.chosen(np.random.default_rng(0)) is None
    for value, tree in [(1.0, stump(3)), (2.0, stump(3, 2)), (0.5, stump(3)), (1.5, stump(4)), (0.1, Leaf(0))]:
        population.add(value, tree)
    assert population.best == [(2.0, stump(3, 2)), (1.5, stump(4))]


def test_better_trees_are_chosen_more_often() -> None:
    population, random = Population(4, 0.3), np.random.default_rng(0)
    for k in range(6):
        population.add(float(k), stump(k))
    roots = []
    for _ in range(1000):
        tree = population.chosen(random)
        assert isinstance(tree, Split)
        roots.append(tree.question)
    counts = np.bincount(roots, minlength=6)
    assert counts[:2].sum() == 0
    assert counts[5] > counts[4] > counts[3] > 0
    # Everything beyond the third goes to the last one that is kept.
    assert counts[2] > 250


def test_the_kind_of_climb_with_fewer_evaluations_comes_next() -> None:
    trees: list[Tree] = [stump(k) for k in range(5)]
    beginnings = Beginnings(SearchSettings(), 8, iter(trees[:1]), iter(trees[1:3]))
    random, taken = np.random.default_rng(0), []
    for evaluations in (100, 40, 50, 20, 60):
        (tree,), new = beginnings.following(Leaf(7), random)
        taken.append((beginnings.steep, tree, new))
        beginnings.ended(evaluations, 1.0, trees[4])
    quick, steep = (False, trees[4], False), (True, Leaf(7), False)
    assert taken == [(True, trees[0], True), (False, trees[1], True), (False, trees[2], True), quick, steep]


def test_trees_that_are_not_allowed_are_not_kept() -> None:
    beginnings, random = Beginnings(SearchSettings(), 8, iter([]), iter([])), np.random.default_rng(0)
    beginnings.ended(1, -np.inf, stump(1))
    beginnings.ended(1, 0.0, None)
    assert beginnings.following(Leaf(7), random) == ([Leaf(7)], False)


def test_with_one_kind_of_climb_none_is_steep() -> None:
    beginnings, random = Beginnings(SearchSettings(), 8, iter([stump(1)]), None), np.random.default_rng(0)
    assert beginnings.following(Leaf(7), random) == ([stump(1)], True)
    beginnings.ended(5, 1.0, stump(2))
    assert beginnings.following(Leaf(7), random) == ([Leaf(7)], False)
    assert not beginnings.steep


def test_sides_of_the_best_trees_are_replaced_by_sides_of_all() -> None:
    population = Population(1, 0.5)
    assert list(population.crossings()) == []
    best, other = Split(1, stump(3), Leaf(0)), Split(2, Leaf(1), stump(4))
    assert population.add(2.0, best)
    assert population.add(1.0, other)
    assert not population.add(0.5, other)
    assert population.add(3.0, Leaf(2))
    replaced = [(side, best.right) for side in (best.left, best.right, other.left, other.right)]
    replaced += [(best.left, side) for side in (best.left, best.right, other.left, other.right)]
    assert set(population.crossings()) == {Split(1, *sides) for sides in replaced}


def test_trees_are_crossed_when_some_are_new_and_only_once() -> None:
    settings = SearchSettings(crossed_trees=2, population=4)
    trees = [Split(k, stump(k + 5), Leaf(k)) for k in range(6)]
    beginnings, random = Beginnings(settings, 3, iter([]), iter(trees)), np.random.default_rng(0)
    assert beginnings.following(Leaf(7), random) == ([Leaf(7)], False)
    beginnings.ended(100, -np.inf, None)
    seen: set[Tree] = set()
    numbers = []
    for tree in trees:
        following, new = beginnings.following(Leaf(7), random)
        while len(following) > 1:
            assert new
            assert not beginnings.steep
            # A tree of two stumps would have four leaves.
            assert all(count_leaves(it) <= 3 for it in following)
            assert seen.isdisjoint(following)
            seen.update(following)
            numbers.append(len(following))
            following, new = beginnings.following(Leaf(7), random)
        assert following == [tree]
        beginnings.ended(1, float(tree.question), tree)
    assert len(numbers) == 2
    assert min(numbers) > 3
