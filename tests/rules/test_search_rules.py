"""The search under rules: every kind and pairs of them against brute force, and what is said if no tree obeys."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import omdt
from fuzz_rules import WAYS, by, described
from omdt import MDP, InputError, Rules, judging
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree, to_policy
from omdt.methods.search.ruling import Ruling
from omdt.methods.search.settings import SearchSettings
from omdt.solution import Solution, Stop
from omdt.watch import Watch
from rules.random_rules import KINDS, random_problem
from rules.test_judging import task_for
from strategies import environment

ALONE = SearchSettings(first_climbs=0)
"""The proof has to find the tree."""


def lake(**reward_models: float) -> MDP:
    """A small lake, in which every step has the given rewards."""
    mdp = environment("frozenlake_4x4")
    return replace(mdp, reward_models={name: np.full(mdp.rewards.shape, x) for name, x in reward_models.items()})


def solved(mdp: MDP, depth: int = 2, leaves: int | None = None, **rules: Any) -> Solution:
    return omdt.solve(mdp, max_depth=depth, max_leaf_nodes=leaves, rules=Rules(**rules), gap=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_tree_under_every_kind_of_rule(kind: str) -> None:
    compared = 0
    for seed in range(12):
        problem = random_problem(np.random.default_rng([101, seed]), [kind])
        if problem.best.doubtful:
            continue
        compared += 1
        assert WAYS["search"](problem) is None, described(problem)
    assert compared > 6


@pytest.mark.parametrize("block", range(6))
def test_pairs_of_rules_without_a_first_tree(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        problem = random_problem(np.random.default_rng([102, seed]))
        if not problem.best.doubtful:
            assert by(settings=ALONE)(problem) is None, (seed, described(problem))


def random_tree(rng: np.random.Generator, questions: int, actions: int, depth: int) -> Tree:
    """A random tree of questions by their numbers."""
    if depth == 0 or questions == 0 or rng.random() < 0.2:
        return Leaf(int(rng.integers(actions)))
    left, right = (random_tree(rng, questions, actions, depth - 1) for _ in range(2))
    return Split(int(rng.integers(questions)), left, right)


@pytest.mark.parametrize("seed", range(40))
def test_the_ruling_of_the_search_agrees_with_judging(seed: int) -> None:
    rng = np.random.default_rng([103, seed])
    task = None
    while task is None:
        task = task_for(random_problem(rng))
    model = Model.of(task, ALONE, Watch())
    ruling = Ruling(model)
    for _ in range(30):
        tree = random_tree(rng, len(model.splits), task.mdp.n_actions, 2)
        policy, verdict = to_policy(tree, model.splits, task.mdp), ruling.verdict(tree, Watch())
        assert (verdict.broken is None) == (next(judging.violations(task, policy), None) is None)
        if verdict.broken is None:
            assert verdict.value.value == judging.net_return(task, policy).value


KEPT = {
    "feature": "X",
    "threshold": 0.3,
    "left": {"feature": "Y", "threshold": 0.7, "left": {"action": "Left"}, "right": {"open": True}},
    "right": {"open": True, "leaves": 2},
}


def test_a_kept_tree_stays_as_it_is_written() -> None:
    found = solved(lake(), 3, keep=KEPT).tree.to_dict()
    assert (found["feature"], found["threshold"]) == ("X", 0.3)
    assert (found["left"]["feature"], found["left"]["threshold"]) == ("Y", 0.7)
    assert found["left"]["left"] == {"action": "Left"}
    assert "left" not in found["right"]["left"]
    assert "left" not in found["right"]["right"]


def test_a_kept_question_that_divides_nothing_stays_and_its_dead_side_is_a_leaf() -> None:
    kept = {"feature": "X", "threshold": 7, "left": {"open": True}, "right": {"open": True}}
    found = solved(lake(), 2, keep=kept)
    assert found.tree.to_dict()["threshold"] == 7
    assert set(found.tree.to_dict()["right"]) == {"action"}
    assert found.value == pytest.approx(solved(lake(), 1).value)


@pytest.mark.parametrize(
    ("rules", "depth", "message"),
    [
        ({"at_most": ["steps <= 3"]}, 2, "even the best policy of any form has 100 steps; change the limit"),
        ({"at_most": ["steps >= 101"]}, 2, "even the best policy of any form has 100 steps"),
        ({"keep": KEPT}, 1, "the kept tree alone has depth 2; allow a larger tree"),
        ({"keep": KEPT, "max_features": 1}, 2, "the kept tree asks about 2 features, at most 1 may be; relax a rule"),
        ({"keep": KEPT, "root": "Y"}, 2, "the kept tree does not ask first about Y"),
        ({"max_leaves": 0}, 2, "no tree of this size keeps this rule; allow a larger tree, or relax a rule"),
        ({"max_leaves": 0, "root": "X"}, 2, "no tree of this size keeps all of these rules"),
    ],
)
def test_no_tree_keeps_the_rules(rules: dict[str, Any], depth: int, message: str) -> None:
    with pytest.raises(InputError, match="no tree of depth") as raised:
        solved(lake(steps=1.0), depth, **rules)
    assert message in str(raised.value)


def test_the_kept_tree_alone_may_have_too_many_leaves() -> None:
    with pytest.raises(InputError, match="the kept tree alone has 3 leaves"):
        solved(lake(), 2, 2, keep=KEPT)


def test_without_a_complete_search_nothing_is_said_about_all_trees() -> None:
    mdp = lake(steps=1.0)
    with pytest.raises(InputError, match="as far as was searched; allow more time"):
        omdt.solve(mdp, max_depth=3, rules=Rules(max_leaves=0), node_limit=1)


def test_a_limit_is_worth_what_its_best_tree_costs() -> None:
    """A limit at the total of the best tree changes nothing; one below it does."""
    mdp = lake()
    left = np.zeros(mdp.rewards.shape)
    left[:, mdp.action_names.index("Left")] = 1.0
    mdp = replace(mdp, reward_models={"left": left})
    free = solved(mdp)
    total = omdt.evaluate(replace(mdp, rewards=left), free.tree)
    same, less = solved(mdp, at_most=[f"left <= {total!r}"]), solved(mdp, at_most=[f"left <= {0.9 * total!r}"])
    assert same.value == pytest.approx(free.value)
    assert less.value < free.value
    assert less.stop is Stop.COMPLETE
    assert omdt.evaluate(replace(mdp, rewards=left), less.tree) <= 0.9 * total + 1e-9


def test_the_search_under_rules_is_the_same_in_every_run() -> None:
    mdp = lake(steps=1.0)
    rules: dict[str, Any] = {"prices": {"every": 1e-4}, "min_share": 0.05, "monotone": ["X"]}
    first, again = solved(mdp, **rules), solved(mdp, **rules)
    assert (first.value, first.bound, first.tree.to_dict()) == (again.value, again.bound, again.tree.to_dict())
    assert first.proven
