"""Short sight: what its guides return, and the trees that they suggest."""

from itertools import islice

import numpy as np
import pytest

from omdt import planning
from omdt.mdp import Floats
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree
from omdt.methods.search.population import Beginnings
from omdt.methods.search.settings import SearchSettings
from omdt.methods.search.short_sight import short_sighted, short_sighted_ends
from omdt.task import Task
from omdt.watch import Watch
from random_mdps import random_mdp
from search_parts import model_of, returns_of, started
from strategies import environment


def advantages_of(model: Model) -> Floats:
    q = planning.q_values(model.mdp, model.optimal).value
    advantages: Floats = q - q.max(axis=1, keepdims=True)
    return advantages


def depth_of(tree: Tree) -> int:
    return 1 + max(depth_of(tree.left), depth_of(tree.right)) if isinstance(tree, Split) else 0


def test_a_guide_that_sees_as_far_as_the_task_counts_what_a_policy_loses() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = model_of(random_mdp(rng), 2, sights=(1.0,))
        policy = rng.integers(model.mdp.n_actions, size=model.mdp.n_states)
        lost = planning.policy_return(model.mdp, policy).value - model.optimal_return.value
        _, guide = short_sighted(model, advantages_of(model))
        assert planning.policy_return(guide, policy).value == pytest.approx(lost, rel=1e-6, abs=1e-9 * model.scale)


def test_guides_begin_in_all_states_alike_or_as_the_task_does() -> None:
    model = model_of(environment("frozenlake_4x4"), 2, sights=(0.5, 0.9))
    guides = list(short_sighted(model, advantages_of(model)))
    assert [guide.discount / model.mdp.discount for guide in guides] == pytest.approx([0.5, 0.5, 0.9, 0.9])
    assert np.ptp(guides[0].initial) == np.ptp(guides[2].initial) == 0
    assert np.array_equal(guides[1].initial, model.mdp.initial)


def test_guides_take_turns_and_their_trees_fit_the_limits() -> None:
    model = model_of(environment("frozenlake_4x4"), 2, sights=(0.5, 0.9))
    searches: list[LocalSearch] = []

    def begin(task: Task) -> LocalSearch:
        searches.append(started(Model.of(task, model.settings, Watch())))
        return searches[-1]

    trees = list(islice(short_sighted_ends(model, advantages_of(model), begin), 12))
    assert len(searches) == 4
    assert all(search.ended is not None for search in searches)
    assert all(depth_of(tree) <= 2 for tree in trees)


class LimitedSearch:
    """A search that ends some climbs with a leaf; then its time is up."""

    def __init__(self, climbs: int) -> None:
        self.climbs, self.ended = climbs, None if climbs == 0 else Leaf(0)

    def start(self) -> None:
        """There is nothing to prepare."""

    def climb(self, times: int) -> None:
        """Climb, as long as there is time."""
        self.climbs -= times
        if self.climbs < 0:
            self.ended = None


@pytest.mark.parametrize("climbs", [0, 1, 3])
def test_when_time_is_up_nothing_more_is_suggested(climbs: int) -> None:
    model = model_of(environment("frozenlake_4x4"), 2, sights=(0.5,))
    trees = list(short_sighted_ends(model, advantages_of(model), lambda _: LimitedSearch(climbs)))
    assert trees == [Leaf(0)] * (2 * climbs)


def test_without_guides_nothing_is_suggested() -> None:
    model = model_of(environment("frozenlake_4x4"), 2, sights=())
    assert list(short_sighted_ends(model, advantages_of(model), lambda _: started(model))) == []


def test_suggested_trees_have_a_share_of_their_own_after_the_first_quick_ones() -> None:
    quick, suggested = Split(1, Leaf(0), Leaf(1)), Split(2, Leaf(0), Leaf(1))
    beginnings = Beginnings(SearchSettings(), 8, iter([]), iter([quick]), iter([suggested] * 9))
    random, taken = np.random.default_rng(0), []
    for _ in range(9):
        (tree,), new = beginnings.following(Leaf(7), random)
        taken.append(tree if new else None)
        beginnings.ended(10, 1.0, None)
    assert taken.index(suggested) > taken.index(quick)
    assert taken.count(suggested) == 2


def test_evaluations_on_guides_count_and_the_same_seed_finds_the_same() -> None:
    found = []
    for _ in range(2):
        search = started(model_of(environment("frozenlake_8x8"), 2, root_starts=1))
        search.climb(40)
        found.append((search.evaluations, search.incumbent.tree))
        value = returns_of(search.model.mdp, search.policy(search.best)[None])[0]
        assert value == pytest.approx(search.incumbent.value)
    assert found[0] == found[1]
    fewer = started(model_of(environment("frozenlake_8x8"), 2, root_starts=1, sights=()))
    fewer.climb(40)
    assert fewer.evaluations != found[0][0]
