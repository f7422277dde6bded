"""Local search under rules finds good trees, keeps every rule, and is the same in every run."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from omdt import MDP, Rules, judging, planning
from omdt.errors import InputError
from omdt.methods.search.partial_tree import to_policy
from omdt.methods.search.ruled.growing import Growing
from omdt.methods.search.ruled.keeping import Keeping, Questions
from omdt.methods.search.ruled.visits import Visits
from omdt.methods.search.ruled.worth import Slopes
from omdt.rules import outline_of
from omdt.task import Task
from omdt.watch import Watch
from random_mdps import random_model
from rules.brute import Problem
from rules.climbs import best_policy, climbed, climbing_for, problem_under, task_under
from rules.random_rules import KINDS, random_problem
from strategies import environment

SEEDS = 8
"""Random problems per kind of rule."""


def problems(kind: str) -> list[tuple[Problem, Task]]:
    """Random problems under rules of one kind, or of this and another one, that speak of more than leaves."""
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, list(KINDS).index(kind)])
        others = [str(rng.choice(list(KINDS)))] if seed % 2 else []
        problem = random_problem(rng, sorted({kind, *others}))
        try:
            task = task_under(problem)
            assert task.allowed is None or task.allowed.any()
        except InputError:
            assert problem.best.value is None
            continue
        if not task.only_leaf_rules and not problem.best.doubtful:
            found.append((problem, task))
    return found


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("features", "without", "categorical")])
def test_what_is_found_keeps_all_rules_and_is_mostly_the_best(kind: str) -> None:
    best = 0
    tried = problems(kind)
    for problem, task in tried:
        climbing = climbed(task, 4)
        tree, value = best_policy(climbing), climbing.incumbent.value
        if tree is None or problem.best.value is None:
            assert tree is None, "a tree was found although none keeps the rules"
            best += problem.best.value is None
            continue
        assert list(judging.violations(task, tree)) == []
        assert judging.net_return(task, tree).value == pytest.approx(value, rel=1e-9, abs=1e-9)
        assert value <= problem.best.value + 1e-9 * max(1.0, abs(value))
        best += value == pytest.approx(problem.best.value, rel=1e-9, abs=1e-9)
    assert best >= len(tried) - 1


RULES = [
    Rules(root="Y"),
    Rules(max_features=1),
    Rules(max_leaves=1),
    Rules(monotone=["X:down"]),
    Rules(prices=0.005),
    Rules(prices_once={"X": 0.1}),
    Rules(min_share=0.2),
    Rules(keep={"feature": "X", "threshold": 1.25, "left": {"open": True}, "right": {"action": "Down"}}),
]


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: next(iter(rules.to_dict())))
def test_the_same_seed_gives_the_same_tree(rules: Rules) -> None:
    task = problem_under("frozenlake_8x8", rules)
    one, other = (climbed(task, 3, seed=7) for _ in range(2))
    assert one.incumbent.tree is not None
    assert (one.incumbent.tree, one.incumbent.value) == (other.incumbent.tree, other.incumbent.value)
    assert one.evaluations == other.evaluations
    tree = best_policy(one)
    assert tree is not None
    assert list(judging.violations(task, tree)) == []


def test_a_climb_leads_from_an_expensive_tree_to_one_within_a_ceiling() -> None:
    mdp = environment("frozenlake_4x4")
    energy = np.where(mdp.terminal[:, None], 0.0, np.array([1.0, 2.0, 1.0, 3.0]))
    mdp = replace(mdp, reward_models={"energy": energy})
    rich = climbed(task_under(Problem(mdp, Rules(at_most=["energy <= 1000"]), 2)), 3)
    tree = best_policy(rich)
    assert tree is not None
    total = planning.tree_return(replace(mdp, rewards=energy), tree).value
    tight = task_under(Problem(mdp, Rules(at_most=[f"energy <= {0.8 * total!r}"]), 2))
    climbing = climbing_for(tight)
    assert rich.incumbent.tree is not None
    climbing.climb_from(rich.incumbent.tree)
    found = best_policy(climbing)
    assert found is not None
    assert list(judging.violations(tight, found)) == []
    assert climbing.incumbent.value < rich.incumbent.value


def test_kept_nodes_stay_literally_and_open_places_keep_their_limits() -> None:
    """Neither a question that divides nothing nor two leaves with the same action may go."""
    kept = {
        "feature": "X",
        "threshold": 99.0,
        "left": {"open": True, "depth": 1},
        "right": {"feature": "Y", "threshold": 0.3, "left": {"action": "Up"}, "right": {"action": "Up"}},
    }
    task = problem_under("frozenlake_4x4", Rules(keep=kept), 3)
    tree = best_policy(climbed(task, 3))
    assert tree is not None
    assert task.kept is not None
    assert task.kept.difference(tree) is None
    assert tree.n_leaves == 4, "the open place has a question of its own"


def test_nothing_is_found_if_the_kept_tree_is_too_large() -> None:
    kept = {"feature": "X", "threshold": 1.5, "left": {"action": "Up"}, "right": {"open": True}}
    climbing = climbed(problem_under("frozenlake_4x4", Rules(keep=kept), 0), 2)
    assert climbing.incumbent.tree is None
    assert climbing.evaluations == 0


def test_a_climb_ends_with_the_time() -> None:
    watch = Watch(60)
    climbing = climbing_for(problem_under("frozenlake_8x8", Rules(root="X")), watch=watch)
    watch.interrupt()
    climbing.start()
    climbing.climb(5)
    climbing.finish()
    assert climbing.incumbent.tree is None
    assert climbing.evaluations == 0


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: next(iter(rules.to_dict())))
def test_with_many_states_few_trees_are_evaluated_and_rules_are_kept(rules: Rules) -> None:
    """The path for many states, taken for few."""
    task = problem_under("frozenlake_8x8", rules)
    climbing = climbing_for(task, impatient_states=10)
    climbing.start()
    climbing.climb(2)
    climbing.finish()
    tree = best_policy(climbing)
    assert tree is not None
    assert list(judging.violations(task, tree)) == []


@pytest.mark.parametrize("states", [8, 40, 1500])
@pytest.mark.parametrize("acyclic", [False, True])
def test_visits_agree_with_planning(states: int, acyclic: bool) -> None:
    rng = np.random.default_rng(states)
    mdp = chain_mdp(rng, states, acyclic=acyclic)
    order = np.arange(states) if acyclic else None
    visits = Visits(mdp, order, Watch())
    base = rng.integers(mdp.n_actions, size=states)
    found, values = visits.rebase(base, mdp.rewards[np.arange(states), base])
    assert found == pytest.approx(planning.occupancies(mdp, base).value, abs=1e-8)
    assert values == pytest.approx(planning.policy_values(mdp, base).value, abs=1e-7)
    for changed in (0, 1, states // 4, states):
        policy = base.copy()
        policy[:changed] = rng.integers(mdp.n_actions, size=changed)
        assert visits.of(policy) == pytest.approx(planning.occupancies(mdp, policy).value, abs=1e-8)


def chain_mdp(rng: np.random.Generator, states: int, *, acyclic: bool) -> MDP:
    """An MDP whose states have two successors per action: later ones, or any."""
    A = 3
    begin = np.repeat(np.arange(states), A)
    first = np.minimum(begin + 1, states - 1) if acyclic else np.zeros_like(begin)
    ahead = np.concatenate([rng.integers(first, states) for _ in range(2)])
    pairs = (np.full(2 * states * A, 0.5), (np.tile(np.arange(states * A), 2), ahead))
    P = sparse.csr_array(pairs, shape=(states * A, states))
    return MDP(
        P, rng.normal(size=(states, A)), np.ones(states) / states, np.arange(states)[:, None] * 1.0, discount=0.9
    )


@pytest.mark.parametrize(
    "rules",
    [Rules(root="feature_1"), Rules(max_features=1), Rules(max_leaves=1), Rules(max_leaves={"action_0": 1})],
    ids=lambda rules: str(rules.to_dict()),
)
def test_grown_trees_keep_rules_about_shape(rules: Rules) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        mdp = random_model(rng, states=20, actions=3, features=2, observations="levels", levels=5).mdp()
        task = task_under(Problem(mdp, rules, 3))
        model = climbing_for(task).model
        growing = Growing(model, Keeping(model), Questions(model), Watch())
        gains = rng.normal(size=mdp.rewards.shape)
        tree = growing.grown(Slopes(gains, np.ones(mdp.n_states)))
        assert task.shapes
        outline = outline_of(to_policy(tree, model.splits, mdp), task.observations)
        assert [rule.broken_by(outline) for rule in task.shapes] == [None] * len(task.shapes)
