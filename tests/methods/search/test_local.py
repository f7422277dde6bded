"""Local search: what it finds is locally best, and it ends when nothing is left to find."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import omdt
from omdt import MDP, Splits
from omdt.limits import Limits
from omdt.methods.search.climbing import local_search
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree, count_leaves, to_policy
from omdt.rules import AvailableOnly
from omdt.solution import Stop
from omdt.task import Size, Task
from omdt.watch import Watch
from random_mdps import any_mdp, availability, random_mdp
from search_parts import model_of, random_splits, returns_of, scale_of, started, tree_policies
from strategies import environment, restricted_mdps


def new_search(model: Model, seed: int = 0, watch: Watch | None = None) -> LocalSearch:
    watch = Watch() if watch is None else watch
    return LocalSearch(model, Incumbent(model, 1e-4, watch), seed, watch)


def small_changes(tree: Tree, splits: Splits, actions: int) -> list[Tree]:
    """All trees with another action in one leaf or another question about the same feature in one node."""
    if not isinstance(tree, Split):
        return [Leaf(a) for a in range(actions)]
    alike = np.flatnonzero(splits.feature == splits.feature[tree.question])
    return [
        *(Split(int(k), tree.left, tree.right) for k in alike),
        *(Split(tree.question, left, tree.right) for left in small_changes(tree.left, splits, actions)),
        *(Split(tree.question, tree.left, right) for right in small_changes(tree.right, splits, actions)),
    ]


def is_locally_best(search: LocalSearch) -> bool:
    """Whether no small change of the incumbent returns more, by dense linear algebra."""
    model, tree = search.model, search.incumbent.tree
    assert tree is not None
    changes = small_changes(tree, model.task.splits, model.mdp.n_actions)
    policies = np.array([search.policy(changed) for changed in changes])
    kept = model.allowed[np.arange(model.mdp.n_states), policies].all(axis=1)
    noise = 1e-9 * max(scale_of(model.mdp), abs(search.incumbent.value))
    return bool(np.all(returns_of(model.mdp, policies[kept]) <= search.incumbent.value + noise))


def test_what_is_found_is_locally_best() -> None:
    grown = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mdp = any_mdp(rng)
        model = model_of(mdp, int(rng.integers(1, 4)), splits=random_splits(mdp, rng))
        search = new_search(model, seed)
        search.start()
        search.climb(3)
        search.finish()
        assert is_locally_best(search), seed
        best = float(returns_of(mdp, tree_policies(model)).max()) if mdp.n_states < 6 else np.inf
        assert search.incumbent.value <= best + 1e-9 * scale_of(mdp), seed
        grown += search.best != Leaf(0) and count_leaves(search.best) > 1
    assert grown > 20


def test_what_is_found_under_rules_is_allowed_and_locally_best() -> None:
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        mdp = replace(mdp, available=availability(rng, *mdp.rewards.shape))
        model = model_of(mdp, 2, rules=[AvailableOnly()])
        search = new_search(model, seed)
        search.start()
        search.climb(12)
        search.finish()
        if search.incumbent.tree is None:
            assert search.best == Leaf(0)
            continue
        actions = search.policy(search.incumbent.tree)
        assert model.allowed[np.arange(mdp.n_states), actions].all(), seed
        assert is_locally_best(search), seed
        found += 1
    assert found > 20


@given(restricted_mdps(max_states=5, max_actions=3))
@settings(max_examples=30)
def test_a_first_tree_is_copied_from_the_rules_alone(mdp: MDP) -> None:
    """With a leaf per state, there is a tree whenever states that look alike have an action in common."""
    model = model_of(mdp, None, mdp.n_states, rules=[AvailableOnly()])
    search = started(model)
    groups: dict[bytes, np.ndarray] = {}
    for s in range(mdp.n_states):
        key = (mdp.features[s] + 0.0).tobytes()
        groups[key] = groups.get(key, np.ones(mdp.n_actions, dtype=np.bool_)) & model.allowed[s]
    assert (search.incumbent.tree is not None) == all(common.any() for common in groups.values())


def test_the_incumbent_has_the_value_of_its_tree() -> None:
    mdp = omdt.make("tictactoe_vs_random")
    search = new_search(model_of(mdp, 2))
    search.start()
    search.climb(5)
    tree = to_policy(search.best, search.model.task.splits, mdp)
    assert omdt.evaluate(mdp, tree) == pytest.approx(search.incumbent.value, rel=1e-9)


def test_every_improvement_is_reported() -> None:
    search = new_search(model_of(environment("frozenlake_8x8"), 3))
    search.start()
    search.climb(6)
    values = [value for _, value, _ in search.watch.trace]
    assert len(values) > 2
    assert values == sorted(set(values))
    assert values[-1] == search.incumbent.value
    assert {bound for _, _, bound in search.watch.trace} == {search.incumbent.bound}


def test_the_same_seed_finds_the_same() -> None:
    model = model_of(environment("frozenlake_8x8"), 3)
    trees, calls = [], []
    for seed in (5, 5, 6):
        search = new_search(model, seed)
        search.start()
        search.climb(14)
        trees.append(search.best)
        calls.append(search.random.bit_generator.state)
    assert trees[0] == trees[1]
    assert calls[0] == calls[1] != calls[2]


def test_an_improvement_from_elsewhere_is_climbed_from() -> None:
    """The exact search may find a better tree in the meantime."""
    model = model_of(environment("frozenlake_8x8"), 2)
    donor = new_search(model)
    donor.start()
    donor.climb(12)
    search = started(model)
    search.incumbent.improve(donor.best, donor.incumbent.value)
    search.climb(2)
    assert search.incumbent.value >= donor.incumbent.value
    search.finish()
    assert is_locally_best(search)


def test_without_questions_there_is_a_single_leaf() -> None:
    alike = MDP.from_dense(np.full((2, 2, 2), 0.5), [[1, 0], [0, 3]], [1, 0], np.zeros(2))
    for model in (model_of(alike, 3), model_of(environment("frozenlake_4x4"), 0)):
        search = started(model)
        assert search.single
        before = search.incumbent.tree
        search.climb(3)
        search.finish()
        assert isinstance(before, Leaf)
        assert search.incumbent.tree == before
    assert not started(model_of(environment("frozenlake_4x4"), 1)).single


def steps_of(search: LocalSearch) -> list[list[bool]]:
    """The next climb: per step, whether each evaluated neighbour was better than the tree before.

    What is evaluated before the first step are trees to begin with.
    """
    evaluate, rebase = search.engine.evaluate, search.engine.rebase
    better: list[bool] = []
    steps: list[list[bool]] = []

    def evaluated(policy: np.ndarray) -> float:
        value = float(evaluate(policy))
        better.append(value > search.engine.value + search.incumbent.noise)
        return value

    def rebased(policy: np.ndarray) -> None:
        steps.append(better.copy())
        better.clear()
        rebase(policy)

    search.engine.evaluate = evaluated  # type: ignore[method-assign]
    search.engine.rebase = rebased  # type: ignore[method-assign]
    search.climb(1)
    search.engine.evaluate, search.engine.rebase = evaluate, rebase  # type: ignore[method-assign]
    return [step for step in steps[1:] if step]


def is_quick(steps: list[list[bool]]) -> bool:
    """Whether every step took the first improvement."""
    return all(step.index(True) == len(step) - 1 for step in steps)


def test_steep_and_quick_climbs_take_turns() -> None:
    """A steep climb evaluates all neighbours per step, a quick one stops at the first that is better."""
    search = started(model_of(environment("frozenlake_8x8"), 3))
    kinds: dict[bool, list[list[list[bool]]]] = {False: [], True: []}
    for _ in range(30):
        steps = steps_of(search)
        kinds[search._beginnings.steep].append(steps)
    assert any(len(steps) > 1 for steps in kinds[True])
    assert not any(is_quick(steps) for steps in kinds[True] if steps)
    assert all(is_quick(steps) for steps in kinds[False])
    # Quick climbs take fewer evaluations, and both kinds have equal shares of these.
    assert len(kinds[False]) > len(kinds[True]) > 1


def test_with_many_states_all_climbs_are_quick() -> None:
    search = started(model_of(environment("frozenlake_8x8"), 2, impatient_states=1))
    assert all(is_quick(steps_of(search)) for _ in range(3))
    assert is_locally_best(search)


def large_lake(**fields: object) -> Model:
    """A lake that the settings below take for one of many states, so that everything for those is used."""
    many = {"impatient_states": 150, "coarse_states": 60, "coarsening": 4, **fields}
    return model_of(omdt.make("frozenlake", size=14, seed=1, hole_probability=0.1), 2, **many)  # type: ignore[arg-type]


def test_with_many_states_a_fitted_tree_comes_first() -> None:
    """No action is evaluated in all states, and the first tree is better than all of these leaves."""
    search = new_search(large_lake())
    considered: list[Tree] = []
    consider = search.consider

    def noted(tree: Tree) -> None:
        considered.append(tree)
        consider(tree)

    search.consider = noted  # type: ignore[method-assign]
    search.start()
    assert count_leaves(considered[0]) > 1
    leaves = np.array([search.policy(Leaf(a)) for a in range(4)])
    first = returns_of(search.model.mdp, search.policy(considered[0])[None])[0]
    assert first > returns_of(search.model.mdp, leaves).max()


def test_with_many_states_trees_of_a_coarse_model_are_taken_over() -> None:
    """With a coarse model, the first trees are better; what they return there is not what they return here."""
    values = []
    for states in (10**6, 90):
        fields = {"impatient_states": 900, "coarse_states": states, "coarse_seconds": 0.5}
        search = new_search(model_of(environment("admission"), 2, **fields))  # type: ignore[arg-type]
        search.start()
        values.append(search.incumbent.value)
        exact = returns_of(search.model.mdp, search.policy(search.best)[None])[0]
        assert search.incumbent.value == pytest.approx(float(exact))
        assert search.trail[-1] == search.incumbent.tree
    assert values[0] < values[1]


def test_with_many_states_the_same_seed_finds_the_same() -> None:
    trees = []
    for _ in range(2):
        search = new_search(large_lake(), 3)
        search.start()
        search.climb(3)
        trees.append(search.best)
    assert trees[0] == trees[1]


def test_a_search_of_few_evaluations_ends_after_them() -> None:
    model, watch = model_of(environment("frozenlake_8x8"), 3), Watch()
    search = LocalSearch(model, Incumbent(model, 1e-4, watch), 0, watch, max_evaluations=20)
    search.start()
    search.climb(100)
    assert 20 <= search.evaluations <= 22


def test_hopeless_trees_are_not_climbed_from() -> None:
    """Every random change of a good tree is evaluated; those that lose too much are given up."""
    climbs = []
    for shortfall in (0.0, 1e9):
        search = new_search(large_lake(hopeful_shortfall=shortfall, refitted_trees=0))
        search.start()
        search.climb(1)
        climbed: list[Tree] = []
        search.climb_from = climbed.append  # type: ignore[method-assign]
        search.climb(5)
        climbs.append(len(climbed))
    assert climbs[0] < climbs[1] == 5


def test_a_climb_ends_after_as_many_steps_as_are_allowed() -> None:
    mdp = environment("frozenlake_8x8")
    few, many = (started(model_of(mdp, 3, max_steps=steps)) for steps in (1, 1000))
    few.climb_from(Leaf(0))
    many.climb_from(Leaf(0))
    assert few.incumbent.value < many.incumbent.value


def test_time_that_was_kept_back_makes_the_last_tree_locally_best() -> None:
    watch = Watch(1000.0)
    search = started(model_of(environment("frozenlake_8x8"), 2), watch=watch)
    watch.reserve(500.0)
    watch.start -= 500.0
    assert watch.remaining == 0
    search.climb(1)
    assert isinstance(search.incumbent.tree, Leaf)
    search.finish()
    assert watch.remaining > 0
    assert count_leaves(search.best) > 1
    assert is_locally_best(search)


def test_a_polished_tree_is_not_climbed_from_again() -> None:
    search = started(model_of(environment("frozenlake_8x8"), 2))
    search.climb(3)
    search.finish()
    climbed: list[Tree] = []
    search.climb_from = climbed.append  # type: ignore[method-assign]
    search.finish()
    assert climbed == []
    assert is_locally_best(search)


def test_time_for_polishing_is_reserved_while_the_incumbent_is_new() -> None:
    watch = Watch(1000.0)
    search = new_search(model_of(environment("frozenlake_8x8"), 2, polishing_share=0.1), watch=watch)
    search.consider(Leaf(2))
    reserved = watch.reserved
    assert 0 < reserved <= 110
    search.climb_from(Leaf(2))
    assert watch.reserved < reserved


def test_an_interrupt_ends_start_climb_and_finish() -> None:
    watch = Watch()
    search = new_search(model_of(environment("frozenlake_8x8"), 2), watch=watch)
    watch.interrupt()
    search.start()
    assert search.incumbent.tree == Leaf(0)
    search.climb(5)
    search.finish()
    assert search.incumbent.tree == Leaf(0)


@pytest.mark.parametrize("seconds", [0.02, 0.05, 0.1])
def test_time_may_run_out_anywhere(seconds: float) -> None:
    """Also in the middle of the neighbours of a tree."""
    watch = Watch(seconds)
    search = started(model_of(environment("frozenlake_12x12"), 3), watch=watch)
    search.climb(1000)
    assert watch.remaining == 0
    assert search.incumbent.tree is not None
    assert returns_of(search.model.mdp, search.policy(search.best)[None])[0] == pytest.approx(search.incumbent.value)


@pytest.mark.parametrize("size", [Size(2), Size(None, 3), Size(3, 5)])
def test_local_search_alone_respects_limits(size: Size) -> None:
    mdp = environment("frozenlake_8x8")
    tree = local_search(Task.over_thresholds(mdp, size), Limits(), Watch(0.5))
    assert size.max_depth is None or tree.depth <= size.max_depth
    assert size.max_leaf_nodes is None or tree.n_leaves <= size.max_leaf_nodes
    assert omdt.evaluate(mdp, tree) > 0.2


def test_local_search_alone_ends_after_some_evaluations_and_more_of_them_do_no_harm() -> None:
    mdp = environment("frozenlake_8x8")
    trees = [local_search(Task.over_thresholds(mdp, Size(3)), Limits(), Watch(), count) for count in (1, 100, 1000)]
    returns = [omdt.evaluate(mdp, tree) for tree in trees]
    assert returns == sorted(returns)
    assert returns[-1] > 0.2


def test_local_search_alone_ends_when_nothing_is_left_to_find() -> None:
    mdp = environment("frozenlake_4x4")
    optimum = model_of(mdp).optimal_return.value
    tree = local_search(Task.over_thresholds(mdp, Size(9)), Limits(), Watch())
    assert omdt.evaluate(mdp, tree) == pytest.approx(optimum, rel=1e-4)
    assert local_search(Task.over_thresholds(mdp, Size(0)), Limits(), Watch()).n_leaves == 1


@pytest.mark.parametrize("limits", [{"max_depth": 50}, {"max_leaf_nodes": 40}, {"max_depth": 12, "max_leaf_nodes": 60}])
def test_a_copy_of_the_optimal_policy_that_fits_ends_the_run(limits: dict[str, int]) -> None:
    mdp = environment("frozenlake_8x8")
    search = started(model_of(mdp, limits.get("max_depth"), limits.get("max_leaf_nodes")))
    assert search.incumbent.optimal_reached
    before = search.incumbent.tree
    search.climb(3)
    assert search.incumbent.tree == before
    solution = omdt.solve(mdp, **limits)
    assert solution.proven
    assert solution.stop is Stop.COMPLETE
    assert solution.value == pytest.approx(solution.optimal_return)
    assert limits.get("max_depth", np.inf) >= solution.tree.depth
    assert limits.get("max_leaf_nodes", np.inf) >= solution.tree.n_leaves


def test_a_run_ends_when_value_and_optimum_meet_at_any_size() -> None:
    """One action is best in all of 2,500 states; there is no exact search for so many, and none is needed."""
    S = 2500
    states = np.arange(S)
    pairs = np.repeat(states, 2), np.tile([0, 1], S)
    following = np.stack([(states + 1) % S, (states + 2) % S], axis=1)
    P = np.zeros((2 * S, S), dtype=np.float32)
    P[np.arange(2 * S), following.ravel()] = 1
    mdp = MDP.from_pairs(*pairs, P, np.tile([1.0, 0.5], S), np.eye(1, S)[0], states)
    solution = omdt.solve(mdp, max_depth=3)
    assert solution.stop is Stop.COMPLETE
    assert solution.proven
    assert solution.tree.n_leaves == 1
    assert solution.value == pytest.approx(100)
