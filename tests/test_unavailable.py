"""A solution says where its tree names an unavailable action and what is played; or no tree may name one."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import omdt
from fakes import fake
from omdt import MDP, InputError, InputWarning, Solution, TreePolicy, check, planning, solve, unavailable
from omdt.certificate import model_of
from omdt.errors import FalseClaimError
from omdt.exceptions import Exceptions
from omdt.methods.registry import METHODS
from omdt.planning import visited
from omdt.rules import AvailableOnly, rules_of
from omdt.solution import Claim, Stop
from omdt.unavailable import replacements, sentences, with_available_names, with_exceptions
from restricted import restricted
from strategies import environment, random_tree, refusal

MODELS = Path(__file__).parent / "data" / "models"
TRUCK = MODELS / "truck.csv"


def truck(**parameters) -> MDP:
    with pytest.warns(InputWarning, match="5 of 5 states offer some but not all of the 3 actions"):
        return omdt.read(TRUCK, discount=0.9, **parameters)


def random_policy_tree(mdp: MDP, seed: int) -> TreePolicy:
    tree = random_tree(np.random.default_rng(seed), mdp.n_features, mdp.n_actions, max_depth=3)
    return replace(tree, feature_names=mdp.feature_names, action_names=mdp.action_names)


@given(restricted(observations=("distinct", "repeated", "constant")), st.integers(0, 2**32 - 1))
def test_the_table_is_what_is_played_in_the_visited_states(problem, seed):
    mdp = problem.mdp
    tree = with_exceptions(mdp, random_policy_tree(mdp, seed), mdp.features)
    named = tree.actions(mdp.features)
    played = mdp.played[np.arange(mdp.n_states), named]
    seen = problem.visited(played)
    np.testing.assert_array_equal(visited(mdp, named), seen)
    counts: dict = {}
    needed: dict = {}
    for s in np.flatnonzero(seen):
        if named[s] != played[s]:
            pair = mdp.action_names[named[s]], mdp.action_names[played[s]]
            counts[pair] = counts.get(pair, 0) + 1
        if not (mdp.terminal[s] and mdp.available[s].all()):
            needed.setdefault(tuple(mdp.features[s] + 0.0), []).append((named[s], played[s]))
    entries = replacements(mdp, named)
    assert {(entry.action, entry.played): entry.states for entry in entries} == counts
    assert [entry.states for entry in entries] == sorted(counts.values(), reverse=True)
    exceptional = {x: {b for _, b in pairs} for x, pairs in needed.items() if any(a != b for a, b in pairs)}
    assert tree.exceptions.table == {x: next(iter(b)) for x, b in exceptional.items() if len(b) == 1}
    assert tree.exceptions.look_alikes == sum(len(needed[x]) for x, b in exceptional.items() if len(b) > 1)
    assert tree.exceptions.fallback == mdp.fallback


@given(restricted(observations=("distinct", "repeated", "constant")), st.integers(0, 2**32 - 1))
def test_leaves_named_by_what_is_played_do_the_same(problem, seed):
    mdp = problem.mdp
    before = random_policy_tree(mdp, seed)
    after = with_available_names(mdp, before, mdp.features)
    states = np.arange(mdp.n_states)
    named, renamed = before.actions(mdp.features), after.actions(mdp.features)
    seen = visited(mdp, named)
    ended = mdp.terminal & mdp.available.all(axis=1)
    same = mdp.played[states, named] == mdp.played[states, renamed]
    assert (same | ended)[seen].all()
    np.testing.assert_array_equal(visited(mdp, renamed), seen)
    assert planning.evaluate(mdp, after) == planning.evaluate(mdp, before)
    tables = [with_exceptions(mdp, tree, mdp.features).exceptions for tree in (before, after)]
    assert len(tables[1]) <= len(tables[0])
    assert tables[1].look_alikes <= tables[0].look_alikes
    leaves = before.leaves(mdp.features)
    for i in np.flatnonzero(before.feature < 0):
        inside = (leaves == i) & seen & ~ended
        played = set(mdp.played[states, named][inside].tolist())
        assert after.action[i] == (played.pop() if len(played) == 1 else before.action[i])
    forbidden = AvailableOnly().violation(mdp, named) is None
    assert not forbidden or after == before


def test_a_leaf_does_not_name_what_none_of_its_states_offers():
    """With an empty battery only charge exists; that an episode also ends in this leaf changes nothing."""
    P = np.zeros((4, 2, 4))
    P[0, 0, 1] = P[0, 1, 0] = P[1, :, 2] = P[2, :, 2] = P[3, :, 3] = 1
    available = [[1, 1], [0, 1], [1, 1], [1, 0]]
    names = {"action_names": ("drive", "charge"), "feature_names": ("battery",)}
    rewards = [[1, 0], [0, 0], [0, 0], [0, 0]]
    mdp = MDP.from_dense(P, rewards, [1, 0, 0, 0], [2, 0, 0, 1], discount=0.9, available=available, **names)
    nested = {"feature": "battery", "threshold": 1.5, "left": {"action": "drive"}, "right": {"action": "drive"}}
    tree = TreePolicy.from_dict(nested, ("battery",), ("drive", "charge"))
    renamed = with_available_names(mdp, tree, mdp.features)
    assert renamed.actions(mdp.features).tolist() == [0, 1, 1, 1]
    assert not with_exceptions(mdp, renamed, mdp.features).exceptions.table


@given(restricted(), st.integers(0, 2))
@settings(max_examples=20)
def test_a_solution_survives_its_file(tmp_path_factory, problem, depth):
    solution = solve(problem.mdp, max_depth=depth)
    path = tmp_path_factory.mktemp("solution") / "solution.json"
    solution.save(path)
    again = omdt.load(path)
    assert again.tree == solution.tree
    assert again.tree.exceptions.table == solution.tree.exceptions.table
    assert again.to_json() == solution.to_json()
    assert (again.replaced, again.fallback, again.unavailable) == (solution.replaced, solution.fallback, "fallback")
    assert again.replaced_words() == solution.replaced_words()


def test_files_from_before_still_load():
    data = solve(environment("frozenlake_4x4"), max_depth=1).to_dict()
    new = ("unavailable", "fallback", "replaced", "exceptions", "look_alike_states", "exceptions_left_out")
    for key in (*new, "forced_actions"):
        del data[key]
    solution = Solution.from_dict(data)
    assert (solution.unavailable, solution.fallback, solution.replaced) == ("fallback", None, ())
    assert not solution.tree.exceptions.matter


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"unavailable": "ignore"}, "'unavailable' is 'ignore'; it must be fallback or forbid"),
        ({"fallback": 3}, "'fallback' is 3"),
        ({"fallback": "fly"}, "the fallback 'fly' is not among the 3 actions"),
        ({"replaced": [{"action": "drive"}]}, "'replaced' holds"),
        ({"exceptions": "all"}, "'exceptions' is 'all'"),
        ({"exceptions": [{"observation": [1.0, 2.0], "action": "wait"}]}, "have 2 features, the tree has 1"),
        ({"exceptions": [{"observation": ["x"], "action": "wait"}]}, "it must hold an observation of numbers"),
        ({"exceptions": [{"observation": [10**400], "action": "wait"}]}, "it must hold an observation of numbers"),
        ({"exceptions": [{"observation": [], "action": "wait"}]}, "it must hold an observation of numbers"),
        ({"exceptions": [{"observation": [1.0], "action": "fly"}]}, "names the action 'fly'"),
        ({"exceptions": [{"observation": [1.0]}]}, "names the action None"),
        ({"exceptions": [3]}, "it must hold an observation of numbers"),
        ({"exceptions": [{"observation": [x], "action": "wait"} for x in (0.0, -0.0)]}, "listed twice"),
        ({"look_alike_states": -1}, "'look_alike_states' is -1"),
        ({"forced_actions": "Left"}, "'forced_actions' is 'Left'; it must be a list of names"),
        ({"forced_actions": ["Rest"]}, "the forced action 'Rest' is not among the 3 actions"),
        ({"exceptions_left_out": True}, "'exceptions_left_out' is True"),
    ],
)
def test_a_damaged_file_is_refused(change, fragment):
    data = solve(truck(), max_depth=1).to_dict() | change
    assert fragment in str(refusal(lambda: Solution.from_dict(data)))


@pytest.mark.parametrize(
    ("table", "fragment"),
    [
        ({"observations": [[1.0]], "actions": [0, 1]}, "1 exceptional observations but actions of shape"),
        ({"observations": [[np.nan]], "actions": [0]}, "not finite"),
        ({"observations": [[1.0]], "actions": [7]}, "not among the 2 named ones"),
        ({"observations": [[1.0, 2.0]], "actions": [0]}, "have 2 features, the tree has 1"),
        ({"fallback": "fly"}, "'fly' is not among the 2 actions"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table, fragment):
    tree = TreePolicy.leaf(0, ("x",), ("a", "b"))
    assert fragment in str(refusal(lambda: replace(tree, exceptions=Exceptions(**table))))


def test_leaves_name_and_predict_plays():
    tree = replace(TreePolicy.leaf(0, ("x",), ("a", "b")), exceptions=Exceptions([[1.0], [0.0]], [1, 1]))
    X = np.array([[1.0], [-0.0], [1.0 + 1e-15], [2.0]])
    assert tree.actions(X).tolist() == [0, 0, 0, 0]
    assert tree.predict(X)[0].tolist() == [1, 1, 0, 0]
    assert tree.predict([1])[0] == 1
    assert tree.predict([1.0], action_masks=[1, 0])[0] == 0
    assert tree.pruned(X).predict(X)[0].tolist() == [1, 1, 0, 0]
    assert tree != TreePolicy.leaf(0, ("x",), ("a", "b"))
    assert tree == replace(tree, exceptions=Exceptions([[0.0], [1.0]], [1, 1], fallback="b"))
    for masks in ([[1, 0, 1]], [[0, 0]]):
        assert "available must have shape" in str(refusal(lambda m=masks: tree.predict([1.0], action_masks=m)))


def test_a_long_table_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(unavailable, "MOST_EXCEPTIONS", 2)
    mdp = truck()
    waiting = with_exceptions(mdp, TreePolicy.leaf(2, mdp.feature_names, mdp.action_names), mdp.features)
    assert waiting.exceptions.table == {(0.0,): 0, (1.0,): 0}
    assert waiting.exceptions.left_out == 2
    told = sentences(replacements(mdp, waiting.actions(mdp.features)), waiting.exceptions)
    assert told == [
        "in 4 visited states wait is not available; drive is played",
        "exports list 2 exceptional observations and leave out 2",
    ]


def test_states_that_look_alike_but_differ_are_counted_and_told():
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, :, 2] = P[2, :, 0] = 1
    available = [[1, 1], [0, 1], [1, 1]]
    mdp = MDP.from_dense(P, [[1, 0]] * 3, [1, 0, 0], [[0], [0], [1]], discount=0.9, available=available)
    solution = solve(mdp, max_depth=0)
    assert solution.tree.exceptions.look_alikes == 2
    assert len(solution.tree.exceptions) == 0
    assert solution.replaced_words() == [
        "in 1 visited state action_0 is not available; action_1 is played",
        "2 visited states look alike but offer different actions; "
        "whoever plays the tree there must know which are available",
    ]


def test_an_ended_episode_contradicts_nobody():
    """The state that Gymnasium's tables lack looks like another one, but nothing depends on what is played in it."""
    P = np.zeros((2, 2, 2))
    P[:, :, 1] = 1
    mdp = MDP.from_dense(P, [[0, 1], [0, 0]], [1, 0], [[5], [5]], discount=0.9, available=[[0, 1], [1, 1]])
    tree = with_exceptions(mdp, TreePolicy.leaf(0, mdp.feature_names, mdp.action_names), mdp.features)
    assert tree.exceptions.table == {(5.0,): 1}
    assert tree.exceptions.look_alikes == 0


def test_many_pairs_of_actions_are_summed_up():
    entries = [unavailable.Replaced(f"a\n{i}", "b", 20 - i) for i in range(12)]
    told = sentences(entries, Exceptions())
    assert told[0] == r"in 20 visited states a\n0 is not available; b is played"
    assert len(told) == 11
    assert told[-1] == "in 19 more visited states, another action is played than the leaf names"


def test_a_truck_that_cannot_drive_with_a_full_load_unloads():
    solution = solve(truck(), max_depth=1)
    assert solution.proven
    assert solution.tree.to_text() == "drive"
    assert solution.replaced_words() == ["in 1 visited state drive is not available; unload is played"]
    assert solution.tree.predict([4.0])[0] == solution.tree.action_names.index("unload")


@pytest.mark.parametrize(("fallback", "played"), [(None, "unload"), ("wait", "wait")])
def test_the_user_names_the_fallback(fallback, played):
    mdp = truck(fallback=fallback)
    always = with_exceptions(mdp, TreePolicy.leaf(0, mdp.feature_names, mdp.action_names), mdp.features)
    assert always.exceptions.table == {(4.0,): mdp.action_names.index(played)}
    assert [entry.played for entry in replacements(mdp, always.actions(mdp.features))] == [played]
    assert (planning.evaluate(mdp, always) > 20) == (played == "unload")


# --- forbidden -------------------------------------------------------------------------------------------------------


def test_rules_have_names():
    assert "unavailable is 'never'; it must be fallback or forbid" in str(refusal(lambda: rules_of("never")))
    assert rules_of("fallback") == ()
    assert rules_of("forbid") == rules_of("forbid", [AvailableOnly()]) == (AvailableOnly(),)


def test_a_violation_is_told_for_states_that_can_be_reached_only():
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, :, 0] = P[2, :, 2] = 1
    mdp = MDP.from_dense(P, np.zeros(3), [1, 0, 0], np.arange(3.0), available=[[1, 1], [1, 0], [1, 0]])
    assert AvailableOnly().violation(mdp, np.array([1, 0, 1])) is None
    found = AvailableOnly().violation(mdp, np.array([1, 1, 1]))
    assert found == "names an unavailable action: 'action_1' is not available in state 1 (feature_0 = 1)"


def test_a_search_that_breaks_the_rule_is_found_out(monkeypatch):
    def careless(task):
        assert task.unavailable == "forbid"
        return Claim(TreePolicy.leaf(0, task.mdp.feature_names, task.mdp.action_names), 1e9, Stop.HEURISTIC)

    monkeypatch.setitem(METHODS, "search", fake(careless, keeps_rules=True))
    with pytest.raises(FalseClaimError, match="'drive' is not available in state 4"):
        solve(truck(), max_depth=0, unavailable="forbid")


@pytest.mark.needs("sklearn")
@pytest.mark.parametrize("method", ["viper", "iddt"])
def test_other_methods_refuse_a_tree_that_breaks_the_rule(method):
    with pytest.raises(InputError, match=rf"the tree of {method} names an unavailable action.*--method search"):
        solve(truck(), max_depth=0, method=method, unavailable="forbid", time_limit=10)


@given(restricted(), st.sampled_from(["lowest", "any"]))
def test_a_copy_of_the_optimal_policy_never_breaks_the_rule(problem, ties):
    solution = solve(problem.mdp, method="copy", ties=ties, unavailable="forbid")
    assert solution.value == pytest.approx(solution.optimal_return, rel=1e-9, abs=1e-9)
    assert solution.replaced == ()
    assert not solution.tree.exceptions.matter
    assert solution.to_dict()["unavailable"] == "forbid"


def test_a_certificate_is_about_the_trees_that_name_only_available_actions(tmp_path):
    path = tmp_path / "proof"
    solution = solve(truck(), max_depth=1, unavailable="forbid", certificate=path)
    verdict = check.check(model_of(truck()), solution.to_dict(), path)
    assert verdict.forbid
    assert verdict.bound == solution.bound
    assert "that names no unavailable action" in check.words(verdict)
    # A tree that may name everything returns more, so the same bound is not proven for all trees.
    with pytest.raises(check.RejectedError, match="under other rules"):
        check.check(model_of(truck()), solution.to_dict() | {"unavailable": "fallback"}, path)


@pytest.mark.parametrize("method", ["search", "copy"])
def test_where_everything_is_available_the_rule_changes_nothing(method):
    limits = {"max_depth": 2} if method == "search" else {}
    one, other = (
        solve(environment("frozenlake_4x4"), method=method, unavailable=rule, node_limit=None, **limits)
        for rule in ("fallback", "forbid")
    )
    assert one.tree == other.tree
    assert one.value == other.value


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_command_line_says_what_is_played(run, tmp_path):
    output = tmp_path / "truck.json"
    status, out, err = run("solve", TRUCK, "--depth", 0, "--discount", 0.9, "--fallback", "wait", "--output", output)
    assert status == 0
    assert "where a tree names an action that a state does not offer, wait is played" in err
    data = json.loads(output.read_text())
    assert data["fallback"] == "wait"
    assert data["unavailable"] == "fallback"
    for entry in data["replaced"]:
        states = "1 visited state" if entry["states"] == 1 else f"{entry['states']} visited states"
        assert f"in {states} {entry['action']} is not available; {entry['played']} is played" in out
    assert data["replaced"]
    assert {row["action"] for row in data["exceptions"]} == {entry["played"] for entry in data["replaced"]}


def test_check_and_report_use_the_fallback_of_the_solution(run, tmp_path):
    output, npz = tmp_path / "truck.json", tmp_path / "truck.npz"
    omdt.write(truck(), npz)
    always = ("solve", npz, "--depth", 0, "--fallback", "wait", "--output", output)
    status, _, err = run(*always)
    assert status == 0, err
    first = json.loads(output.read_text())
    assert first["value"] != solve(truck(), max_depth=0).value
    status, out, err = run("check", output, npz)
    assert (status, "VERIFIED" in out) == (0, True), err
    stand_alone = [sys.executable, "-m", "omdt.check", str(output), str(npz)]
    done = subprocess.run(stand_alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@given(restricted(), st.data())
def test_the_stand_alone_checker_fills_in_by_itself(tmp_path_factory, problem, data):
    mdp = problem.mdp
    path = tmp_path_factory.mktemp("check") / "model.npz"
    P = sparse.csr_array(np.nan_to_num(problem.P).reshape(-1, mdp.n_states))
    arrays = {"data": P.data, "indices": P.indices, "indptr": P.indptr, "rewards": problem.r, "initial": mdp.initial}
    names = {"feature_names": np.array(mdp.feature_names), "action_names": np.array(mdp.action_names)}
    rest = {"features": mdp.features, "discount": np.array(mdp.discount), "available": mdp.available}
    if mdp.fallback is not None:
        rest["fallback"] = np.array(mdp.fallback)
    np.savez(path, **arrays, **names, **rest)
    another = data.draw(st.sampled_from([None, *mdp.action_names]))
    model, expected = check.read_model(path, another), mdp if another is None else replace(mdp, fallback=another)
    found = sparse.csr_array((model.data, model.indices, model.indptr), shape=mdp.transitions.shape)
    np.testing.assert_allclose(found.toarray(), expected.transitions.toarray(), rtol=1e-14)
    np.testing.assert_array_equal(model.rewards, expected.rewards)


@pytest.mark.parametrize("mask", [np.ones((2, 2)), np.zeros((5, 3), dtype=bool), np.array("x")])
def test_the_stand_alone_checker_refuses_a_mask_that_does_not_fit(tmp_path, mask):
    omdt.write(truck(), tmp_path / "truck.npz")
    with np.load(tmp_path / "truck.npz") as archive:
        np.savez(tmp_path / "bad.npz", **{**archive, "available": mask})
    with pytest.raises(check.UnreadableError, match="available"):
        check.read_model(tmp_path / "bad.npz")


@pytest.mark.needs("jinja2")
def test_the_report_says_what_is_played_and_how_it_was_made(run, tmp_path):
    output = tmp_path / "truck.json"
    run("solve", TRUCK, "--depth", 0, "--discount", 0.9, "--fallback", "wait", "--output", output)
    status, _, err = run("report", output, TRUCK)
    assert status == 0, err
    page = output.with_suffix(".html").read_text(encoding="utf-8")
    words = omdt.load(output).replaced_words()
    assert words
    for text in words:
        assert f'<p class="facts">I{text[1:]}.</p>' in page
    assert "--fallback wait" in page
    assert f"<p>I{words[0][1:]}.</p>" in omdt.load(output)._repr_html_()


@pytest.mark.parametrize("to", ["dot", "dtcontrol", "sklearn", "python", "c", "text"])
def test_an_export_without_room_for_exceptions_says_so(run, tmp_path, to):
    output = tmp_path / "truck.json"
    run("solve", TRUCK, "--depth", 0, "--discount", 0.9, "--output", output)
    status, _, err = run("export", output, "--to", to)
    assert status == 0
    assert (f"{to} has only the actions of the leaves" in err) == (to in ("dot", "dtcontrol", "sklearn"))


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (("--unavailable", "never"), "it must be fallback or forbid"),
        (("--fallback", "fly"), "the fallback 'fly' is not an action; the actions are 'drive', 'unload', 'wait'"),
    ],
)
def test_what_is_wrong_ends_with_status_2(run, arguments, fragment):
    status, out, err = run("solve", TRUCK, "--depth", 1, "--discount", 0.9, *arguments)
    assert (status, out) == (2, "")
    assert fragment in err


def test_a_registered_environment_takes_a_fallback(run):
    status, out, err = run("solve", "frozenlake_4x4", "--depth", 1, "--fallback", "Down", "--json")
    assert status == 0, err
    assert json.loads(out)["fallback"] == "Down"
