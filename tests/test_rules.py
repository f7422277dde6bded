"""Rules of the user's own: search finds the best tree that keeps them, other methods are found out."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omdt
from brute_force import returns, threshold_questions, tree_policies
from fakes import fake
from omdt import MDP, InputError, TreePolicy, solve
from omdt.errors import FalseClaimError
from omdt.mdp import Bools, Ints
from omdt.methods.registry import METHODS
from omdt.rules import AvailableOnly, Rule, allowed_by, rules_of
from omdt.solution import Claim, Stop
from restricted import Restricted, restricted
from strategies import environment, mdps
from tasks import dense

SIZES = st.sampled_from([(0, 1), (1, 2), (2, 3), (2, 4), (3, 4)])


@dataclass(frozen=True, eq=False)
class Mask:
    """A rule that allows what an array [S, A] says."""

    array: np.ndarray
    words: str = "keeps the mask"

    def allowed(self, mdp: MDP) -> Bools | None:
        return self.array

    def violation(self, mdp: MDP, policy: Ints) -> str | None:
        broken = ~self.array[np.arange(len(policy)), policy]
        return f"breaks the mask in state {int(np.argmax(broken))}" if broken.any() else None


def mask(mdp: MDP, seed: int) -> Mask:
    """A random mask that leaves an action in every state."""
    rng = np.random.default_rng(seed)
    array = rng.random(mdp.rewards.shape) < rng.choice([0.4, 0.7, 0.95])
    array[np.arange(mdp.n_states), rng.integers(mdp.n_actions, size=mdp.n_states)] = True
    return Mask(array)


def keeping(allowed: np.ndarray, named: np.ndarray) -> np.ndarray:
    """Those policies [n, S] that take only what an array [S, A] allows."""
    return named[allowed[np.arange(named.shape[1]), named].all(axis=1)]


def named_by_trees(mdp: MDP, depth: int, leaves: int) -> np.ndarray:
    return tree_policies(threshold_questions(mdp.features), *mdp.rewards.shape, depth, leaves)


@given(mdps(max_states=6, max_actions=3, observations=("distinct", "repeated")), SIZES, st.integers(0, 10**6))
@settings(max_examples=80)
def test_the_search_finds_the_best_tree_that_keeps_a_rule(mdp: MDP, size: tuple[int, int], seed: int) -> None:
    rule = mask(mdp, seed)
    named = keeping(rule.array, named_by_trees(mdp, *size))
    wanted = {"max_depth": size[0], "max_leaf_nodes": size[1], "gap": 1e-9, "rules": [rule]}
    if len(named) == 0:
        with pytest.raises(InputError, match="keeps the mask: states that such a tree cannot tell apart"):
            solve(mdp, **wanted)
        return
    solution = solve(mdp, **wanted)
    P, r, initial, discount = dense(mdp)
    best = returns(P, r, initial, discount, named).max()
    assert solution.stop is Stop.COMPLETE
    assert solution.proven
    assert solution.value == pytest.approx(best, rel=1e-8, abs=1e-8)
    assert rule.violation(mdp, solution.tree.actions(mdp.features)) is None
    assert solution.rules == ("keeps the mask",)


@given(restricted(max_states=5, max_actions=3, observations=("distinct", "repeated")), SIZES, st.integers(0, 10**6))
@settings(max_examples=60)
def test_several_rules_hold_together(problem: Restricted, size: tuple[int, int], seed: int) -> None:
    mdp, rule = problem.mdp, mask(problem.mdp, seed)
    both = rule.array & (mdp.available | ~mdp.reached[:, None])
    named = keeping(both, named_by_trees(mdp, *size))
    wanted = {"max_depth": size[0], "max_leaf_nodes": size[1], "gap": 1e-9}
    if len(named) == 0:
        with pytest.raises(InputError, match="names only available actions and keeps the mask"):
            solve(mdp, unavailable="forbid", rules=[rule], **wanted)
        return
    solution = solve(mdp, unavailable="forbid", rules=[rule], **wanted)
    best = max(problem.value(policy) for policy in mdp.played[np.arange(mdp.n_states), named])
    assert solution.value == pytest.approx(best, rel=1e-8, abs=1e-8)
    assert keeping(both, solution.tree.actions(mdp.features)[None, :]).shape[0] == 1
    assert (solution.unavailable, solution.rules) == ("forbid", ("keeps the mask",))


@given(restricted(max_states=5, max_actions=3, observations=("distinct", "repeated")), SIZES, st.integers(0, 10**6))
@settings(max_examples=60)
def test_a_rule_is_about_what_leaves_name_not_about_what_is_played(
    problem: Restricted, size: tuple[int, int], seed: int
) -> None:
    mdp, rule = problem.mdp, mask(problem.mdp, seed)
    named = keeping(rule.array, named_by_trees(mdp, *size))
    if len(named) == 0:
        return
    solution = solve(mdp, max_depth=size[0], max_leaf_nodes=size[1], gap=1e-9, rules=[rule])
    best = max(problem.value(policy) for policy in mdp.played[np.arange(mdp.n_states), named])
    assert solution.value == pytest.approx(best, rel=1e-8, abs=1e-8)
    assert rule.violation(mdp, solution.tree.actions(mdp.features)) is None


def never_left() -> tuple[MDP, Mask]:
    mdp = environment("frozenlake_4x4")
    array = np.ones(mdp.rewards.shape, dtype=np.bool_)
    array[:, mdp.action_names.index("Left")] = False
    return mdp, Mask(array, "never goes left")


@pytest.mark.needs("sklearn")
@pytest.mark.parametrize("method", ["viper", "iddt", "copy"])
def test_other_methods_refuse_a_tree_that_breaks_a_rule(method: str) -> None:
    mdp, _ = never_left()
    limits = {} if method == "copy" else {"max_depth": 1}
    tree = solve(mdp, method=method, time_limit=20, **limits).tree
    array = np.ones(mdp.rewards.shape, dtype=np.bool_)
    array[:, np.unique(tree.action[tree.feature < 0])] = False
    with pytest.raises(InputError, match=rf"the tree of {method} breaks the mask in state 0; use --method search"):
        solve(mdp, method=method, time_limit=20, rules=[Mask(array)], **limits)


def test_a_search_that_breaks_a_rule_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    mdp, rule = never_left()
    leaf = TreePolicy.leaf(mdp.action_names.index("Left"), mdp.feature_names, mdp.action_names)
    careless = fake(lambda task: Claim(leaf, 1e9, Stop.HEURISTIC), keeps_rules=True)
    monkeypatch.setitem(METHODS, "search", careless)
    with pytest.raises(FalseClaimError, match="breaks the mask in state 0"):
        solve(mdp, max_depth=1, rules=[rule])


def test_a_rule_that_contradicts_itself_is_found_out() -> None:
    """What it allows counts, also where it finds no violation."""

    class Silent(Mask):
        def violation(self, mdp: MDP, policy: Ints) -> str | None:
            return None

    mdp, rule = never_left()
    with pytest.raises(InputError, match="the tree of copy breaks the rule that it never goes left"):
        solve(mdp, method="copy", rules=[Silent(rule.array, rule.words)])


def test_the_file_has_the_words_of_a_rule_and_nothing_without_one(tmp_path) -> None:
    mdp, rule = never_left()
    ruled, free = solve(mdp, max_depth=2, rules=[rule]), solve(mdp, max_depth=2)
    ruled.save(tmp_path / "policy.json")
    again = omdt.load(tmp_path / "policy.json")
    assert again.rules == ("never goes left",)
    assert again.restriction == " that never goes left"
    assert ruled.to_dict()["rules"] == ["never goes left"]
    assert "rules" not in free.to_dict()
    assert ruled.value < free.value
    assert ruled.proven


def test_the_words_of_a_rule_are_printed(run, tmp_path) -> None:
    mdp, rule = never_left()
    path = tmp_path / "policy.json"
    solve(mdp, max_depth=2, rules=[Mask(rule.array, "never \x1b[31mgoes left")]).save(path)
    status, out, err = run("check", path)
    assert status == 0
    assert "it was not checked that the tree keeps them" in err
    status, _, err = run("report", path)
    assert status == 2
    assert "a tree that never" in err
    assert "\x1b" not in out + err


def test_there_is_no_certificate_under_a_rule_that_no_file_states(tmp_path) -> None:
    mdp, rule = never_left()
    with pytest.raises(InputError, match=r"as omdt\.Rules has them, so there is none for a tree that never goes left"):
        solve(mdp, max_depth=1, rules=[rule], certificate=tmp_path / "proof")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_rule_is_refused() -> None:
    mdp, rule = never_left()
    assert isinstance(rule, Rule)
    assert isinstance(AvailableOnly(), Rule)
    with pytest.raises(InputError, match="rules has 'forbid', which is not a rule"):
        rules_of("fallback", ["forbid"])  # type: ignore[list-item]
    for wrong in (np.ones((2, 2), dtype=np.bool_), np.ones(mdp.rewards.shape)):
        with pytest.raises(InputError, match=r"must be an array of truth values \[S, A\] = \[16, 4\]"):
            allowed_by([Mask(wrong)], mdp)
    nothing = rule.array.copy()
    nothing[3] = False
    with pytest.raises(InputError, match=r"no action is allowed in state 3 \(X = 3, Y = 0\); relax a rule"):
        solve(mdp, max_depth=1, rules=[Mask(nothing)])


def test_rules_that_allow_everything_are_none() -> None:
    mdp, rule = never_left()
    assert allowed_by([], mdp) is None
    assert allowed_by([AvailableOnly(), Mask(np.ones_like(rule.array))], mdp) is None
    assert np.array_equal(allowed_by([rule, AvailableOnly()], mdp), rule.array)
