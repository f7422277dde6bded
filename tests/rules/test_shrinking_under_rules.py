"""A shrunk tree keeps the rules that the larger one keeps, and nets as much."""

import numpy as np
import pytest

import omdt
from omdt import Rules, TreePolicy, planning
from omdt.judging import net_return, violations
from omdt.methods.shrinking import shrunk
from omdt.solving import task_of
from omdt.task import Size
from omdt.watch import Watch
from rules.brute import nested
from rules.climbs import problem_under, task_under
from rules.random_rules import random_problem

LEFT, RIGHT = {"action": "Left"}, {"action": "Right"}


def frozen(tree: dict[str, object], rules: Rules) -> TreePolicy:
    """A tree on the small lake, shrunk under rules."""
    task = problem_under("frozenlake_4x4", rules)
    policy = TreePolicy.from_dict(tree, task.mdp.feature_names, task.mdp.action_names)
    return shrunk(policy, task, Watch())


def test_a_needless_question_goes_unless_it_is_kept() -> None:
    tree = {"feature": "X", "threshold": 1.5, "left": LEFT, "right": LEFT}
    assert frozen(tree, Rules(root="X")).n_leaves == 1
    kept = {"feature": "X", "threshold": 1.5, "left": LEFT, "right": {"open": True}}
    assert frozen(tree, Rules(keep=kept)).n_leaves == 2


def test_a_tree_that_breaks_a_rule_stays_as_it_is() -> None:
    tree = {"feature": "X", "threshold": 1.5, "left": LEFT, "right": LEFT}
    assert frozen(tree, Rules(root="Y")).n_leaves == 2


def test_a_question_that_costs_more_than_it_earns_goes() -> None:
    tree = {"feature": "X", "threshold": 1.5, "left": LEFT, "right": RIGHT}
    assert frozen(tree, Rules(prices=10.0)).n_leaves == 1


def test_shrinking_keeps_rules_and_return() -> None:
    smaller = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 11])
        problem = random_problem(rng)
        trees = [tree for tree in problem.trees() if not problem.judged(tree).broken]
        task = task_under(problem) if trees else None
        for i in rng.integers(len(trees), size=4) if task is not None else ():
            names = (problem.mdp.feature_names, problem.mdp.action_names)
            tree = TreePolicy.from_dict(nested(trees[i], problem.mdp), *names)
            small = shrunk(tree, task, Watch())
            before, after = (net_return(task, it) for it in (tree, small))
            assert small.n_leaves <= tree.n_leaves
            assert list(violations(task, small)) == []
            assert after.upper >= before.lower - 2 * planning.ROUNDING * max(problem.scale, abs(before.value))
            smaller += small.n_leaves < tree.n_leaves
    assert smaller > 20


def endless() -> omdt.MDP:
    """Two states that are never left, where one action per state costs energy, and a goal that is never reached."""
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, :, 0] = P[2, :, 2] = 1.0
    energy = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    return omdt.MDP.from_dense(
        P,
        np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]),
        np.array([1.0, 0.0, 0.0]),
        np.array([[0.0], [1.0], [2.0]]),
        discount=1.0,
        labels={"goal": np.array([False, False, True])},
        reward_models={"energy": energy, "wear": np.where(energy > 0, 1.0, -1.0)},
    )


def test_a_tree_that_never_ends_stays_one_that_keeps_the_rules() -> None:
    mdp, objective = endless(), omdt.Objective.parse('Rmin=? [F "goal"]')
    rules = Rules(at_most="energy <= 1")
    task = task_of(mdp, Size(1), None, objective, "fallback", rules)
    asking = {
        "feature": mdp.feature_names[0],
        "threshold": 0.5,
        "left": {"action": mdp.action_names[0]},
        "right": {"action": mdp.action_names[1]},
    }
    tree = TreePolicy.from_dict(asking, mdp.feature_names, mdp.action_names)
    assert list(violations(task, shrunk(tree, task, Watch()))) == []
    solution = omdt.solve(mdp, max_depth=1, objective=objective, rules=rules)
    assert (solution.value, solution.tree.n_leaves) == (np.inf, 2)


def test_a_limit_on_totals_that_do_not_exist_is_refused() -> None:
    with pytest.raises(omdt.InputError, match="the limit on wear has no meaning: there is no total of rewards of both"):
        omdt.solve(endless(), max_depth=1, objective='Rmin=? [F "goal"]', rules=Rules(at_most="wear <= 1"))
