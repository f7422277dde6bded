"""The front is what brute force finds for every size, and what separate solves find."""

from typing import Any

import numpy as np
import pytest

import omdt
from omdt.environments import PAPER
from omdt.limits import Limits
from omdt.methods.search.explorers import Explorers
from omdt.methods.search.jobs import Job
from omdt.methods.search.nodes import Findings
from omdt.methods.search.settings import SearchSettings
from omdt.methods.search.turns import USUAL
from omdt.tradeoffs.front import front
from omdt.tradeoffs.front_points import Front
from omdt.tradeoffs.front_size import Shared, SizeSearch
from omdt.watch import Watch
from random_mdps import any_mdp, game, shaped_mdp
from search_parts import model_of
from strategies import environment
from tasks import LABELS, best_return, random_questions, rare_paths
from thorough import sampled
from total_tasks import TotalTask

KINDS = (any_mdp, any_mdp, shaped_mdp, game)


def assert_right(found: Front, best: dict[int, float], scale: float, gap: float) -> None:
    """Values and bounds are those of brute force, proven, and better with every size."""
    assert [found.size_of(point) for point in found] == list(best)
    for point in found:
        size, rounding = found.size_of(point), 1e-9 * max(scale, abs(best[found.size_of(point)]))
        assert point.proven, size
        assert point.value <= best[size] + rounding, size
        assert point.bound >= best[size] - rounding, size
        assert point.value >= best[size] - gap * max(abs(point.value), 1e-5 * scale) - rounding, size
    values = [point.value for point in found]
    assert values == sorted(values)


@pytest.mark.parametrize("block", sampled(range(30), 5))
def test_by_leaves_it_is_what_brute_force_finds(block):
    for seed in range(10 * block, 10 * block + 10):
        rng = np.random.default_rng([19, seed])
        mdp = KINDS[seed % len(KINDS)](rng)
        categorical, predicates = random_questions(mdp, rng)
        labels = LABELS[: predicates.shape[1]]
        splits = omdt.Splits.of(mdp, categorical=categorical, predicates=predicates, labels=labels)
        leaves = int(rng.integers(2, 5))
        depth = int(rng.integers(1, 4)) if rng.random() < 0.5 else None
        most = leaves if depth is None else min(leaves, 2**depth)
        gap = float(rng.choice([0.0, 1e-4]))
        found = front(mdp, max_leaf_nodes=leaves, max_depth=depth, splits=splits, gap=gap, settings=settings_of(rng))
        best = {
            n: best_return(mdp, splits.sides(), n - 1 if depth is None else min(depth, n - 1), n)
            for n in range(1, most + 1)
        }
        assert_right(found, best, found.largest.scale, gap)
        for point in found:
            assert point.tree.n_leaves <= point.n_leaves
            assert depth is None or point.tree.depth <= depth


@pytest.mark.parametrize("block", sampled(range(10), 2))
def test_with_many_leaves_it_is_what_brute_force_finds(block):
    """Where many leaves may be added, bounds depend on how open regions share them."""
    for seed in range(10 * block, 10 * block + 10):
        rng = np.random.default_rng([193, seed])
        mdp = KINDS[seed % len(KINDS)](rng)
        while mdp.n_actions**mdp.n_states > 3000:
            mdp = KINDS[seed % len(KINDS)](rng)
        depth = int(rng.integers(3, 5)) if rng.random() < 0.3 else None
        found = front(mdp, max_leaf_nodes=7, max_depth=depth, settings=settings_of(rng))
        sides = omdt.Splits.of(mdp).sides()
        best = {n: best_return(mdp, sides, min(n - 1, 7 if depth is None else depth), n) for n in range(1, 8)}
        assert_right(found, best, found.largest.scale, 1e-4)


def settings_of(rng: np.random.Generator) -> SearchSettings:
    """Settings with which small problems are searched instead of enumerated, in most cases."""
    chosen: dict[str, Any] = rare_paths(rng) if rng.random() < 0.5 else {}
    chosen.pop("memory_limit", None)
    return SearchSettings(**chosen | {"enumerated_seconds": float(rng.choice([0.0, 0.0, 10.0]))})


@pytest.mark.parametrize("seed", range(10))
def test_by_depth_it_is_what_brute_force_finds(seed):
    rng = np.random.default_rng([191, seed])
    mdp = any_mdp(rng)
    found = front(mdp, max_depth=2, by="depth", gap=0.0, settings=settings_of(rng))
    sides = omdt.Splits.of(mdp).sides()
    best = {depth: best_return(mdp, sides, depth, 2**depth) for depth in range(3)}
    assert_right(found, best, found.largest.scale, 0.0)


@pytest.mark.parametrize("block", sampled(range(10), 2))
def test_without_a_discount_it_is_what_trying_all_trees_finds(block):
    for seed in range(5 * block, 5 * block + 5):
        rng = np.random.default_rng([192, seed])
        task = with_total(rng)
        depth, leaves = task.size
        found = front(
            task.mdp,
            max_leaf_nodes=max(leaves, 1),
            max_depth=depth,
            splits=task.splits,
            objective=task.objective,
            settings=settings_of(rng),
        )
        assert found.proven
        best = task.best
        assert found.largest.value == pytest.approx(best, rel=1e-4, abs=1e-9)
        values = [point.value if task.maximise else -point.value for point in found]
        assert values == sorted(values)


def with_total(rng: np.random.Generator) -> TotalTask:
    """A problem whose rewards have a total."""
    while True:
        task = TotalTask.random(rng)
        try:
            assert task.asked.problem.n_states == task.mdp.n_states
        except omdt.InputError:
            continue
        return task


LEAVES = {
    "3d_navigation": (2, 3),
    "blackjack": (2, 3),
    "frozenlake_4x4": (6, 8),
    "frozenlake_8x8": (3, 4),
    "frozenlake_12x12": (2, 3),
    "inventory_management": (1, 1),
    "system_administrator_1": (1, 2),
    "system_administrator_2": (1, 2),
    "system_administrator_tree": (1, 2),
    "tictactoe_vs_random": (1, 2),
    "tiger_vs_antelope": (1, 2),
    "traffic_intersection": (2, 3),
    "xor": (2, 2),
}
"""For every environment of the paper the leaves up to which every size is proven within a second, and within some."""


@pytest.mark.parametrize("longer", sampled([False, True], 2))
@pytest.mark.parametrize("name", LEAVES)
def test_it_is_what_separate_solves_find(name, longer):
    mdp = environment(name)
    found = front(mdp, max_leaf_nodes=LEAVES[name][longer])
    for point in found:
        alone = omdt.solve(mdp, max_leaf_nodes=point.n_leaves)
        assert (point.proven, alone.proven) == (True, True)
        assert point.value == pytest.approx(alone.value, rel=2e-4)
        assert point.bound == pytest.approx(alone.bound, rel=2e-4, abs=1e-12)


def test_every_environment_of_the_paper_is_compared():
    assert set(LEAVES) == set(PAPER)


def test_the_same_seed_gives_the_same_front():
    mdp = environment("frozenlake_4x4")
    one, other = (front(mdp, max_leaf_nodes=6, seed=3) for _ in range(2))
    assert [point.tree for point in one] == [point.tree for point in other]
    assert [(point.value, point.bound) for point in one] == [(point.value, point.bound) for point in other]


def chain(available: np.ndarray) -> omdt.MDP:
    """Four states in a row, of which each has actions of its own."""
    S, A = available.shape
    P = np.zeros((S, A, S))
    P[np.arange(S), :, (np.arange(S) + 1) % S] = 1.0
    rewards = np.arange(S * A, dtype=float).reshape(S, A) % 3
    X = np.arange(S, dtype=float)[:, None]
    return omdt.MDP.from_dense(P, rewards, np.eye(S)[0], X, discount=0.9, available=available)


def test_sizes_without_an_allowed_tree_are_missing():
    available = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.bool_)
    found = front(chain(available), max_leaf_nodes=3, unavailable="forbid")
    assert [point.n_leaves for point in found] == [2, 3]
    assert found[3].tree == found[2].tree
    with pytest.raises(KeyError):
        found[1]
    with pytest.raises(omdt.InputError, match="have no allowed action in common"):
        front(chain(available), max_leaf_nodes=1, unavailable="forbid")


def test_where_the_optimum_is_met_larger_sizes_have_the_same_tree():
    found = front(environment("xor"), max_leaf_nodes=12, max_depth=4, time_limit=30)
    assert found[4].proven
    assert all(found[n].tree == found[4].tree for n in range(5, 13))
    assert all(found[n].solution.stop == "complete" for n in range(4, 13))


def test_progress_tells_of_sizes_in_the_sense_of_the_user():
    heard: list[tuple[int | None, float, float]] = []
    mdp = environment("frozenlake_4x4")
    found = front(
        mdp,
        max_leaf_nodes=3,
        objective="Pmin=? [F X=1 & Y=1]",
        progress=lambda size, point: heard.append((size.max_leaf_nodes, *point[1:])),
    )
    assert {size for size, _, _ in heard} <= {1, 2, 3}
    assert all(bound <= value + 1e-9 for _, value, bound in heard)
    assert min(value for _, value, _ in heard) == pytest.approx(found[3].value, abs=1e-6)


def test_the_clock_of_a_size_counts_the_turns_of_others_apart():
    model = model_of(environment("frozenlake_4x4"), None, 4)
    search = SizeSearch(model, Limits(), Watch(), Shared())
    search.advance(USUAL)
    before = search.watch.worked
    search.watch.start -= 10.0
    search.advance(USUAL)
    assert search.watch.away >= 10
    assert before <= search.watch.worked <= search.watch.elapsed - 10


def test_threads_find_the_same_front_and_belong_to_the_size_that_has_its_turn(monkeypatch: pytest.MonkeyPatch):
    explorers, elsewhere = set[Explorers](), set[int]()
    before = Explorers.finish

    def finish(self: Explorers, job: Job) -> Findings:
        explorers.add(self)
        elsewhere.add(sum(len(them._processes) for them in explorers if them is not self))
        return before(self, job)

    monkeypatch.setattr(Explorers, "finish", finish)
    monkeypatch.setattr("omdt.tradeoffs.front_search.WAVE_SECONDS", 1e-3)
    mdp, settings = environment("frozenlake_4x4"), SearchSettings(solo_seconds=0.0, min_evaluations=1)
    one, two = (front(mdp, max_leaf_nodes=5, threads=threads, settings=settings) for threads in (1, 2))
    assert two.proven
    assert [point.tree for point in one] == [point.tree for point in two]
    assert [(point.value, point.bound) for point in one] == [(point.value, point.bound) for point in two]
    assert len(explorers) > 2
    assert elsewhere == {0}
