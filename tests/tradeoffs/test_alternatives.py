"""What alternatives say of themselves: words, JSON, the command line, limits, senses, and bad input."""

import json
import math
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import omdt
from omdt import MDP, InputError, Objective
from omdt.tradeoffs.alternatives_result import Alternatives, Ended
from omdt.tradeoffs.alternatives_words import Part, described
from random_mdps import shaped_mdp
from test_objective_problems import corridor


def lake() -> MDP:
    return omdt.make("frozenlake_4x4")


@pytest.fixture(scope="module")
def on_the_lake() -> Alternatives:
    return omdt.alternatives(lake(), max_depth=3, within=0.01)


def fork(names: tuple[str, str, str] = ("left", "right", "wait")) -> MDP:
    """Two rooms; leaving the first one earns 1 or 0.9, and waiting earns nothing. All may be done in the second."""
    P = np.zeros((3, 3, 3))
    P[0, :2, 1], P[0, 2, 2], P[1, :, 2], P[2, :, 2] = 1, 1, 1, 1
    rewards = np.array([[1.0, 0.9, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    features = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]])
    return MDP.from_dense(P, rewards, [1, 0, 0], features, action_names=names, feature_names=["room", "noise"])


def test_a_list_can_be_read_by_eye() -> None:
    found = omdt.alternatives(fork(), max_depth=1, within=0.2)
    assert found.words == "2 trees of depth ≤ 1 within 20 % of the best; there are no others"
    assert found.values == pytest.approx([1.495, 1.395])
    best, other = found.members
    assert (best.features, best.needed, best.visited, best.differences) == (("room",), ("room",), 2, ())
    assert [it.words(other.visited) for it in other.differences] == [
        "plays right instead of left where room ≤ 0: 1 of 2 visited states"
    ]
    assert found.needed_by_all == ("room",)
    assert found.needed_by_none == ("noise",)
    assert [it.words for it in found.forced] == ["wait where room > 0: 1 visited state"]
    assert found.summary() == [
        "features that all 2 trees need: room",
        "features that none of them needs: noise",
        "what all of them play that come there:",
        "     wait where room > 0: 1 visited state",
    ]
    assert (found.best, found.complete, found.ended, len(found)) == (found.values[0], True, Ended.COMPLETE, 2)
    assert "2 trees" in repr(found)


def test_states_in_which_nothing_matters_make_no_alternatives() -> None:
    found = omdt.alternatives(fork(), max_leaf_nodes=3, within=0.0)
    assert len(found) == 1
    assert found.trees[0].n_leaves == 2
    assert found.summary() == []


def test_the_tolerance_may_be_a_difference_of_values() -> None:
    assert len(omdt.alternatives(fork(), max_depth=1, within=0.11, absolute=True)) == 2
    assert len(omdt.alternatives(fork(), max_depth=1, within=0.09, absolute=True)) == 1
    assert omdt.alternatives(fork(), max_depth=1, within=0.11, absolute=True).least == pytest.approx(1.385)


def test_of_trees_that_do_the_same_the_smallest_is_listed(on_the_lake: Alternatives) -> None:
    assert on_the_lake.complete
    assert [tree.n_leaves for tree in on_the_lake.trees] == [6, 8, 8, 8, 8, 7, 8]
    assert on_the_lake.values == sorted(on_the_lake.values, reverse=True) or on_the_lake.values[0] == pytest.approx(
        on_the_lake.values[1], rel=1e-12
    )
    for tree, value in zip(on_the_lake.trees, on_the_lake.values, strict=True):
        assert omdt.evaluate(lake(), tree) == pytest.approx(value, rel=1e-9)
        assert tree.depth <= 3


def test_differences_are_those_of_the_trees() -> None:
    """Every visited state in which a tree plays another action than the best one is counted in one difference."""
    for seed in range(25):
        mdp = shaped_mdp(np.random.default_rng([26, seed]))
        found = omdt.alternatives(mdp, max_depth=2, within=0.5, limit=20)
        named = found.trees[0].actions(mdp.features)
        best = mdp.played[np.arange(mdp.n_states), named]
        for member in found.members:
            own = mdp.played[np.arange(mdp.n_states), member.tree.actions(mdp.features)]
            visited = visited_and_decisive(mdp, own)
            assert member.visited == visited.sum()
            counts: dict[tuple[str, str], int] = {}
            for s in np.flatnonzero(visited & (own != best)):
                pair = (mdp.action_names[own[s]], mdp.action_names[best[s]])
                counts[pair] = counts.get(pair, 0) + 1
            told: dict[tuple[str, str], int] = {}
            for it in member.differences:
                told[it.plays, it.instead_of] = told.get((it.plays, it.instead_of), 0) + it.states
            assert told == counts


def visited_and_decisive(mdp: MDP, policy: np.ndarray) -> np.ndarray:
    """[S] the states to which a policy comes and in which it matters what is played."""
    P = mdp.transitions.toarray().reshape(*mdp.rewards.shape, -1)
    visited = mdp.initial > 0
    for _ in range(mdp.n_states):
        visited = visited | (P[np.arange(mdp.n_states), policy][visited] > 0).any(axis=0)
    matters = (P != P[:, :1]).any(axis=(1, 2)) | (mdp.rewards != mdp.rewards[:, :1]).any(axis=1)
    return visited & matters


def test_conditions_have_no_more_parts_than_needed() -> None:
    tree = omdt.alternatives(fork(), max_depth=1).trees[0]
    X = np.array([[0.0, 1.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    parts = [Part(0, ">", 0.5), Part(0, ">", 1.5), Part(0, "≤", 2.5), Part(1, "≠", 1.0)]
    assert described(tree, parts, np.array([False, False, True, False]), X) == "1 < room ≤ 2"
    assert described(tree, parts[:1], np.ones(4, dtype=bool), X) == "everywhere"
    assert described(tree, parts[-1:], np.array([False, True, True, True]), X) == "noise ≠ 1"


def test_costs_are_to_be_small() -> None:
    objective = Objective.total("time", until="goal | x=0", maximise=False)
    found = omdt.alternatives(corridor(), max_depth=1, within=10.0, absolute=True, objective=objective)
    assert found.sense == "min"
    assert found.complete
    assert found.values == sorted(found.values)
    assert found.least == pytest.approx(found.best + 10)
    assert found.loss_words(found.members[-1]) == "4.88 more"
    assert found.to_dict()["objective"] == objective.property
    assert found.to_dict()["sense"] == "min"


def test_probabilities_have_alternatives() -> None:
    found = omdt.alternatives(corridor(), max_depth=2, within=1.0, objective=Objective.reach("goal"))
    assert found.complete
    assert all(0 <= value <= 1 for value in found.values)
    assert len(found) > 1


def test_an_infinite_random_policy_is_no_scale() -> None:
    P = np.array([[[0.0, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 1]]])
    mdp = MDP.from_dense(P, np.ones((3, 2)), [1, 0, 0], [[0], [1], [2]], labels={"goal": [False, False, True]})
    objective = Objective.total(until="goal", maximise=False)
    with pytest.raises(InputError, match="--absolute"):
        omdt.alternatives(mdp, max_depth=1, objective=objective)
    found = omdt.alternatives(mdp, max_depth=1, within=5.0, absolute=True, objective=objective)
    assert found.values == [1.0]
    assert found.to_dict()["random_return"] == "inf"


def test_a_run_that_is_out_of_time_says_so() -> None:
    found = omdt.alternatives(omdt.make("frozenlake_8x8"), max_depth=3, within=0.5, limit=10**6, time_limit=0.2)
    assert (found.complete, found.ended) == (False, Ended.TIME)
    assert "time was up" in found.words
    assert len(found) >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "need a size limit"),
        ({"max_depth": 1, "within": -0.1}, "within is -0.1"),
        ({"max_depth": 1, "within": math.nan}, "within is nan"),
        ({"max_depth": 1, "within": math.inf}, "within is inf"),
        ({"max_depth": 1, "within": True}, "within is True"),
        ({"max_depth": 1, "limit": 0}, "limit is 0"),
        ({"max_depth": 1, "limit": 1.5}, "limit is 1.5"),
        ({"max_depth": -1}, "max_depth is -1"),
        ({"max_depth": 1, "time_limit": 0}, "time_limit is 0"),
        ({"max_depth": 1, "unavailable": "maybe"}, "unavailable is 'maybe'"),
    ],
)
def test_bad_arguments_are_refused(arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        omdt.alternatives(fork(), **arguments)


def test_json_has_what_is_promised(on_the_lake: Alternatives, tmp_path) -> None:
    on_the_lake.save(tmp_path / "found.json")
    data = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert data["format"] == "omdt-alternatives-1"
    assert (data["within"], data["complete"], data["stop"]) == (0.01, True, "complete")
    assert data["best"] == data["trees"][0]["value"] == on_the_lake.best
    assert len(data["trees"]) == 7
    for entry, tree in zip(data["trees"], on_the_lake.trees, strict=True):
        again = omdt.TreePolicy.from_dict(entry["tree"], data["feature_names"], data["action_names"])
        assert again == tree
        assert entry["n_leaves"] == tree.n_leaves
    assert data["trees"][0]["differences"] == []
    assert set(data["trees"][1]["differences"][0]) == {"plays", "instead_of", "where", "states"}
    assert data["needed_by_all"] == ["X", "Y"]


def test_the_command_prints_the_list(run) -> None:
    status, out, err = run("alternatives", "frozenlake_4x4", "--depth", 3, "--within", 0.01)
    assert (status, err) == (0, "")
    assert "7 trees of depth ≤ 3 within 1 % of the best; there are no others" in out
    assert "plays Up instead of Left where X > 1 and Y ≤ 0: 2 of 11 visited states" in out
    assert "features that all 7 trees need: X, Y" in out


def test_the_page_shows_what_the_command_prints(run) -> None:
    page = (Path(__file__).parents[2] / "docs" / "alternatives.md").read_text(encoding="utf-8")
    command, shown = page.split("\n    omdt ")[1].split("\n", 1)
    status, out, _ = run(*command.split())
    assert status == 0
    printed = [line.rstrip() for line in out.splitlines()]
    assert printed.pop().endswith(" s)")
    assert "\n".join(f"    {line}".rstrip() for line in printed).strip() in shown


def test_the_command_prints_json_and_writes_the_same(run, tmp_path) -> None:
    output = tmp_path / "found.json"
    status, out, _ = run("alternatives", "frozenlake_4x4", "--depth", 2, "--json", "--output", output)
    assert status == 0
    assert json.loads(out)["format"] == "omdt-alternatives-1"
    written = json.loads(output.read_text(encoding="utf-8"))
    assert written["trees"] == json.loads(out)["trees"]


def test_a_cut_off_list_says_so_on_the_terminal(run) -> None:
    status, out, _ = run("alternatives", "frozenlake_4x4", "--depth", 3, "--within", 0.1, "--limit", 3)
    assert status == 0
    assert "3 trees of depth ≤ 3 within 10 % of the best; there are others: these are the best 3" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("frozenlake_4x4",), "need a size limit"),
        (("frozenlake_4x4", "--depth", 1, "--within", -1), "--within is -1"),
        (("frozenlake_4x4", "--depth", 1, "--limit", 0), "--limit is 0"),
        (("no_such_lake", "--depth", 1), "no_such_lake"),
        (("frozenlake_4x4", "--depth", 1, "--output", "/no/such/folder/file.json"), "/no/such/folder"),
    ],
)
def test_bad_input_ends_with_status_2(run, arguments, message) -> None:
    status, out, err = run("alternatives", *arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_names_cannot_forge_output(run, tmp_path) -> None:
    mdp = fork(("[bold]left[/bold]", "ri\nght", "wa\x1b[31mit"))
    omdt.write(mdp, tmp_path / "fork.npz")
    status, out, err = run("alternatives", tmp_path / "fork.npz", "--depth", 1, "--within", 0.2)
    assert (status, err) == (0, "")
    assert "plays ri\\nght instead of [bold]left[/bold] where room ≤ 0: 1 of 2 visited states" in out
    assert "\x1b" not in out
    status, out, _ = run("alternatives", tmp_path / "fork.npz", "--depth", 1, "--within", 0.2, "--json")
    assert json.loads(out)["trees"][1]["differences"][0]["plays"] == "ri\nght"


def test_progress_counts_trees() -> None:
    heard: list[int] = []
    omdt.alternatives(fork(), max_depth=1, within=0.2, progress=heard.append)
    assert heard == [1, 2]


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_returns_what_there_is() -> None:
    heard: list[int] = []

    def interrupt(found: int) -> None:
        heard.append(found)
        if found == 2:
            signal.raise_signal(signal.SIGINT)

    found = omdt.alternatives(lake(), max_depth=3, within=0.1, progress=interrupt)
    assert (found.ended, found.complete, len(found)) == (Ended.INTERRUPTED, False, heard[-1])
    assert "interrupted" in found.words
    assert found.values[0] == pytest.approx(omdt.solve(lake(), max_depth=3).value)


def test_an_interrupted_command_ends_with_130(run, monkeypatch: pytest.MonkeyPatch) -> None:
    from omdt.tradeoffs import alternatives as verb

    found = replace(omdt.alternatives(fork(), max_depth=1), ended=Ended.INTERRUPTED)
    monkeypatch.setattr(verb, "alternatives", lambda *arguments, **rest: found)
    status, out, err = run("alternatives", "frozenlake_4x4", "--depth", 1)
    assert status == 130
    assert "interrupted, so there may be others" in out
    assert "these are the trees so far" in err
