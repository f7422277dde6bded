"""Labels and named rewards survive every format that has them, and an objective says which of them count."""

from dataclasses import replace

import numpy as np
import pytest
from choice_models import MODELS, read_quietly, read_with_warnings
from hypothesis import given, settings
from hypothesis import strategies as st

import omdt
from omdt import MDP, InputError, Objective
from omdt.properties import labelled, parsed_labels
from strategies import refusal, restricted_mdps

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)


@st.composite
def marked_mdps(draw: st.DrawFn, names: st.SearchStrategy[str]) -> MDP:
    """An MDP with labels and named rewards, of which its own rewards may be one."""
    mdp = draw(restricted_mdps(max_states=5, max_actions=3))
    S, A = mdp.rewards.shape
    masks = st.lists(st.booleans(), min_size=S, max_size=S).map(np.array)
    labels = draw(st.dictionaries(names, masks, max_size=3))
    models = draw(st.dictionaries(names, st.integers(0, 9).map(lambda seed: _amounts(seed, S, A)), max_size=3))
    if models and draw(st.booleans()):
        mdp = replace(mdp, rewards=next(iter(models.values())))
    return replace(mdp, labels=labels, reward_models=models)


def _amounts(seed: int, S: int, A: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 4, (S, A)) / 2


def assert_same(again: MDP, mdp: MDP, *, own: bool = True) -> None:
    assert list(again.labels) == list(mdp.labels)
    for name, states in mdp.labels.items():
        np.testing.assert_array_equal(again.labels[name], states)
    for name, rewards in mdp.reward_models.items():
        # The reward of a choice may stand at its transitions, whose average is rounded.
        np.testing.assert_allclose(again.reward_models[name], rewards, rtol=1e-12, atol=0)
    if own:
        np.testing.assert_array_equal(again.rewards, mdp.rewards)


@given(marked_mdps(NAMES))
@settings(max_examples=60)
def test_npz_keeps_everything(tmp_path_factory, mdp: MDP) -> None:
    path = tmp_path_factory.mktemp("npz") / "model.npz"
    omdt.write(mdp, path)
    again = read_quietly(path)
    assert_same(again, mdp)
    assert list(again.reward_models) == list(mdp.reward_models)


@given(marked_mdps(NAMES))
@settings(max_examples=100)
def test_drn_keeps_everything(tmp_path_factory, mdp: MDP) -> None:
    path = tmp_path_factory.mktemp("drn") / "model.drn"
    omdt.write(mdp, path)
    chosen = len(mdp.reward_models) < 2 or mdp.rewards.any()
    again = read_quietly(path, **({} if chosen else {"objective": "Pmax=? [F true]"}))
    # A label that no state carries stands in a comment, before those that some state carries.
    assert set(again.labels) == set(mdp.labels)
    again = replace(again, labels={name: again.labels[name] for name in mdp.labels})
    assert_same(again, mdp)
    # Without any name, the rewards are called after the reward model of the file.
    assert list(again.reward_models) == (list(mdp.reward_models) or ["reward"])


@given(marked_mdps(st.from_regex(r"[a-z]{1,4}", fullmatch=True).filter(lambda it: it not in ("init", "deadlock"))))
@settings(max_examples=60)
def test_prism_explicit_keeps_names_that_are_identifiers(tmp_path_factory, mdp: MDP) -> None:
    path = tmp_path_factory.mktemp("tra") / "model.tra"
    initial = np.zeros(mdp.n_states)
    initial[0] = 1
    # The files have no fallback, so where an action is missing, the first available one is played.
    mdp = replace(mdp, initial=initial, available=(), fallback=None)
    omdt.write(mdp, path)
    again = read_quietly(path, objective="Pmax=? [F true]")
    assert_same(replace(again, labels={name: again.labels[name] for name in mdp.labels}), mdp, own=False)
    assert set(again.labels) == {*mdp.labels, "deadlock"}
    if mdp.reward_models and mdp.rewards.any():
        assert any(np.allclose(rewards, mdp.rewards, 1e-12) for rewards in again.reward_models.values())


def test_what_storm_and_prism_write() -> None:
    drn = read_quietly(MODELS / "robot.drn", objective='R{"energy"}min=? [F "goal"]')
    tra = read_quietly(MODELS / "robot.tra", objective='R{"energy"}min=? [F "goal"]')
    for mdp in (drn, tra):
        assert {"goal", "wet"} <= set(mdp.labels)
        assert list(mdp.reward_models) == ["steps", "energy"]
        assert np.array_equal(mdp.rewards, mdp.reward_models["energy"])
        assert mdp.discount == 1
    assert np.array_equal(drn.labels["goal"], tra.labels["goal"])
    assert np.array_equal(drn.reward_models["steps"], tra.reward_models["steps"])


def test_an_objective_needs_no_warning_and_no_choice(tmp_path) -> None:
    for objective in ('Pmax=? [F "goal"]', 'R{"steps"}max=? [C]', Objective.total("energy", maximise=False)):
        _, messages = read_with_warnings(MODELS / "robot.drn", objective=objective)
        assert all("some but not all" in message for message in messages)
    lone = tmp_path / "lone.drn"
    model = "@model\nstate 0 init\n//[x=1]\n\taction a\n\t\t0 : 1\n"
    lone.write_text(f"@type: MDP\n@reward_models\n\n@nr_states\n1\n{model}")
    assert read_quietly(lone, objective="Pmax=? [F x=1]").rewards.tolist() == [[0.0]]
    error = refusal(lambda: omdt.read(lone, objective="Rmax=? [C]"))
    assert "has no rewards, and a total of nothing is 0" in str(error)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "'steps', 'energy'; choose one with reward=NAME"),
        ({}, '(on the command line --property \'R{"steps"}min=? [F "goal"]\')'),
        ({"objective": "Rmax=? [C]"}, "'steps', 'energy'; choose one"),
        ({"objective": 'R{"time"}max=? [C]'}, "but not 'time'"),
        ({"objective": 'Pmax=? [F "goal"]', "cost": "steps"}, "cost=steps asks for a discounted sum, but Pmax"),
        ({"objective": 'R{"steps"}max=? [C]', "reward": "energy"}, "name different rewards; leave one out"),
        ({"objective": "Pmax"}, "'Pmax', column 5"),
    ],
)
def test_what_is_unclear_is_asked_back(parameters, message) -> None:
    error = refusal(lambda: read_quietly(MODELS / "robot.drn", **parameters))
    assert message in str(error)


def test_a_named_reward_fits_an_objective_without_a_name() -> None:
    mdp = read_quietly(MODELS / "robot.drn", reward="energy", objective='Rmin=? [F "goal"]')
    assert np.array_equal(mdp.rewards, mdp.reward_models["energy"])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": np.zeros((1, 2), dtype=bool)}, "label_names must have one distinct name for each of the labels"),
        ({"labels": np.zeros((1, 3), dtype=bool), "label_names": np.array(["a"])}, "label 'a' must be an array of 2"),
        ({"labels": np.zeros((1, 2)), "label_names": np.array(["a"])}, "label 'a' must be an array of 2 truth"),
        ({"labels": np.zeros((2, 2), dtype=bool), "label_names": np.array(["a", "a"])}, "one distinct name"),
        ({"label_names": np.array(["a"])}, "one distinct name"),
        ({"reward_models": np.zeros((1, 1, 1)), "reward_names": np.array(["r"])}, "reward 'r' must have shape"),
        ({"reward_models": np.zeros((1, 2, 2)), "reward_names": np.array([3])}, "reward_names must be a list of"),
        ({"endless": np.array([1.0])}, "endless must be a single number"),
    ],
)
def test_broken_arrays_of_npz_are_refused(tmp_path, arrays, message) -> None:
    mdp = MDP.from_dense(np.full((2, 2, 2), 0.5), np.zeros((2, 2)), [1, 0], [[0], [1]])
    path = tmp_path / "model.npz"
    omdt.write(mdp, path)
    with np.load(path) as content:
        np.savez(path, **{**content, **arrays})
    with pytest.raises(InputError, match=message):
        omdt.read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('0="init"\n0: 0 7\n', "found label '7', which the first line does not name"),
        ('0="goal"\n0: 0\n', "no state is labelled init"),
    ],
)
def test_broken_files_of_labels_are_refused(tmp_path, content, message) -> None:
    (tmp_path / "m.tra").write_text("1 1 1\n0 0 0 1 a\n")
    (tmp_path / "m.lab").write_text(content)
    assert message in str(refusal(lambda: read_quietly(tmp_path / "m.tra", objective="Pmax=? [F true]")))


def test_labels_by_conditions() -> None:
    mdp = omdt.make("frozenlake_4x4")
    goal = labelled(mdp, {"goal": "X=3 & Y=3", "left": mdp.features[:, 0] == 0})
    assert goal.labels["goal"].sum() == 1
    assert goal.labels["left"].sum() == 4
    assert goal.source is None, "an array cannot be found again"
    again = labelled(labelled(mdp, {"goal": "X=3 & Y=3"}), parsed_labels(['far: !"goal" & X>2']))
    assert again.source is not None
    assert again.source.labels == ("goal: X=3 & Y=3", 'far: !"goal" & X>2')
    assert again.labels["far"].sum() == 3
    assert labelled(mdp, {}) is mdp
    with pytest.raises(InputError, match="has a label 'goal' already"):
        labelled(goal, {"goal": "X=1"})


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["goal"], "'goal' gives no label; write NAME: CONDITION"),
        ([": x=1"], "gives no label"),
        (["goal: x=1", "goal: x=2"], "the label 'goal' is given twice"),
        (["goal: x="], "'x=', column 3: expected a condition"),
    ],
)
def test_what_gives_no_label(texts, message) -> None:
    with pytest.raises(InputError) as found:
        parsed_labels(texts)
    assert message in str(found.value)
