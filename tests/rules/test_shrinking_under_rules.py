"""A shrunk tree keeps the rules that the larger one keeps, and nets as much."""

import numpy as np

from omdt import Rules, TreePolicy, planning
from omdt.judging import net_return, violations
from omdt.methods.shrinking import shrunk
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
