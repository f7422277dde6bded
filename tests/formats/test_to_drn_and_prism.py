"""DRN and PRISM explicit files hold the MDP to the last bit; `read` gives it back, and Storm finds the same optimum."""

import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from omdt import MDP, InputError, InputWarning, planning, read, solve, write
from omdt.environments import PAPER
from omdt.names import prism_identifiers
from strategies import environment, good_arrays, mdp_from, mdps


def parsed_drn(path: Path) -> dict:
    """A reader of the subset of DRN that is written: header, rewards, labels, observations and transitions."""
    header, body = path.read_text().split("@model\n")
    S = int(re.search(r"@nr_states\n(\d+)", header)[1])
    found = {
        "discount": float(re.search("// discount (.*)", header)[1]),
        "reward_models": re.search("@reward_models\n(.*)", header)[1].split(),
        "choices": int(re.search(r"@nr_choices\n(\d+)", header)[1]),
        "init": [],
        "initial": [],
        "features": [],
        "actions": [],
        "rewards": [],
        "entries": [],
    }
    for block in re.split("^state ", body, flags=re.M)[1:]:
        first, valuation, *lines = block.splitlines()
        index, rewards, init = re.fullmatch(r"(\d+)(?: \[0, (.*)\])?( init)?", first).groups()
        assert int(index) == len(found["features"])
        found["init"].append(init is not None)
        found["initial"].append(rewards)
        found["features"].append([float(x) for x in re.findall(r"=([^ \]]+)", valuation)])
        for line in lines:
            if action := re.fullmatch(r"\taction (\w+) \[([^,]*?)(?:, 0)?\]", line):
                found["actions"].append(action[1])
                found["rewards"].append(float(action[2]))
            else:
                target, probability = re.fullmatch(r"\t\t(\d+) : (.*)", line).groups()
                found["entries"].append((len(found["actions"]) - 1, int(target), float(probability)))
    assert len(found["features"]) == S
    return found


def matrix(entries: list[tuple[int, int, float]], mdp: MDP) -> sparse.csr_array:
    rows, columns, data = zip(*entries, strict=True)
    return sparse.csr_array((data, (rows, columns)), shape=mdp.transitions.shape)


def assert_same_transitions(entries: list[tuple[int, int, float]], mdp: MDP) -> None:
    assert len(entries) == mdp.transitions.nnz
    assert (matrix(entries, mdp) != mdp.transitions).nnz == 0


@given(mdps())
def test_a_drn_keeps_every_number(tmp_path_factory, mdp):
    path = tmp_path_factory.mktemp("drn") / "model.drn"
    write(mdp, path)
    found = parsed_drn(path)
    assert found["discount"] == mdp.discount
    assert found["choices"] == mdp.n_states * mdp.n_actions
    assert found["actions"] == list(mdp.action_names) * mdp.n_states
    np.testing.assert_array_equal(np.reshape(found["rewards"], mdp.rewards.shape), mdp.rewards)
    np.testing.assert_array_equal(found["features"], mdp.features)
    np.testing.assert_array_equal(found["init"], mdp.initial > 0)
    assert_same_transitions(found["entries"], mdp)
    if set(mdp.initial[mdp.initial > 0]) == {1 / np.count_nonzero(mdp.initial)}:
        assert found["reward_models"] == ["reward"]
    else:
        assert found["reward_models"] == ["reward", "initial"]
        np.testing.assert_array_equal([float(p) for p in found["initial"]], mdp.initial)


def assert_same(found: MDP, mdp: MDP) -> None:
    assert (found.transitions != mdp.transitions).nnz == 0
    for attribute in ("rewards", "initial", "features"):
        np.testing.assert_array_equal(getattr(found, attribute), getattr(mdp, attribute), err_msg=attribute)
    for attribute in ("discount", "feature_names", "action_names"):
        assert getattr(found, attribute) == getattr(mdp, attribute)


@given(mdps())
def test_reading_a_written_drn_gives_the_mdp_back_without_a_warning(tmp_path_factory, mdp):
    path = tmp_path_factory.mktemp("drn") / "model.drn"
    write(mdp, path)
    assert_same(read(path), mdp)


@pytest.mark.parametrize("name", PAPER)
def test_every_environment_survives_a_drn_file(tmp_path, name):
    write(environment(name), tmp_path / "model.drn")
    assert_same(read(tmp_path / "model.drn"), environment(name))


def test_a_drn_keeps_names_and_starts_that_the_format_cannot_express(tmp_path):
    names = {"feature_names": ("größe [", 'a\n"b\\'), "action_names": ("行く", "init ]")}
    mdp = mdp_from(good_arrays())
    mdp = replace(mdp, **names, initial=np.arange(mdp.n_states) / sum(range(mdp.n_states)), discount=0.1 + 0.2)
    write(mdp, tmp_path / "model.drn")
    assert_same(read(tmp_path / "model.drn"), mdp)
    assert read(tmp_path / "model.drn", discount=0.5).discount == 0.5


@pytest.mark.parametrize("name", ["blackjack", "frozenlake_4x4", "system_administrator_tree"])
def test_prism_files_keep_what_prism_knows(tmp_path, name):
    mdp = environment(name)
    write(mdp, tmp_path / "model.tra")
    with pytest.warns(InputWarning, match=r"0\.99 is assumed"):
        found = read(tmp_path / "model.tra", reward="")
    features, actions = prism_identifiers(mdp.feature_names, mdp.action_names)
    assert (found.feature_names, found.action_names) == (tuple(features), tuple(actions))
    assert (found.transitions != mdp.transitions).nnz == 0
    np.testing.assert_array_equal(found.features, mdp.features)
    np.testing.assert_allclose(found.rewards, mdp.rewards, rtol=1e-12)
    np.testing.assert_array_equal(found.initial > 0, mdp.initial > 0)


@pytest.mark.needs("stormpy")
@given(mdp=mdps(rewards=("normal", "few values")))
@settings(max_examples=15)
def test_storm_finds_the_same_optimum_in_a_drn(tmp_path_factory, mdp):
    mdp = replace(mdp, discount=min(mdp.discount, 0.99))
    assert_same_optimum_in_storm(mdp, tmp_path_factory.mktemp("storm") / "model.drn")


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("name", ["frozenlake_12x12", "system_administrator_tree", "tiger_vs_antelope"])
def test_storm_finds_the_optimum_of_an_environment(tmp_path, name):
    assert_same_optimum_in_storm(environment(name), tmp_path / "model.drn")


@pytest.mark.needs("stormpy")
def test_storm_reads_names_of_any_script(tmp_path):
    mdp = replace(mdp_from(good_arrays()), feature_names=("größe [", "a\nb"), action_names=("行く", "init ]"))
    assert_same_optimum_in_storm(mdp, tmp_path / "model.drn")


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("name", ["frozenlake_4x4", "blackjack", "tiger_vs_antelope"])
def test_storm_confirms_the_value_of_a_tree(tmp_path, name):
    mdp = environment(name)
    solution = solve(mdp, method="copy")
    states, actions = np.arange(mdp.n_states), solution.tree.actions(mdp.features)
    played = MDP(
        mdp.transitions[states * mdp.n_actions + actions],
        mdp.rewards[states, actions][:, None],
        mdp.initial,
        mdp.features,
        discount=mdp.discount,
    )
    values = optimum_in_storm(played, tmp_path / "model.drn")
    assert mdp.initial @ values == pytest.approx(solution.value, rel=1e-5, abs=1e-6)


def assert_same_optimum_in_storm(mdp: MDP, path: Path) -> None:
    np.testing.assert_allclose(optimum_in_storm(mdp, path), planning.optimal_values(mdp).value, rtol=1e-5, atol=1e-4)


def optimum_in_storm(mdp: MDP, path: Path) -> np.ndarray:
    """[S] the largest discounted return from each state, by Storm."""
    import stormpy

    write(mdp, path)
    model = stormpy.build_model_from_drn(str(path))
    assert (model.nr_states, model.nr_choices) == (mdp.n_states, mdp.n_states * mdp.n_actions)
    assert model.initial_states == np.flatnonzero(mdp.initial).tolist()
    prop = stormpy.parse_property(f'R{{"reward"}}max=? [ Cdiscount={mdp.discount!r} ]')
    result = stormpy.model_checking(model, prop)
    return np.array([result.get_value(s) for s in range(mdp.n_states)])


def rows(path: Path) -> list[list[str]]:
    return [line.split(" ") for line in path.read_text().splitlines()]


@given(mdps())
def test_prism_files_keep_every_number(tmp_path_factory, mdp):
    path = tmp_path_factory.mktemp("prism") / "model.tra"
    write(mdp, path)
    S, A = mdp.rewards.shape
    features, actions = prism_identifiers(mdp.feature_names, mdp.action_names)

    (*sizes,), *transitions = rows(path)
    assert [int(size) for size in sizes] == [S, S * A, mdp.transitions.nnz]
    assert_same_transitions([(int(s) * A + int(a), int(t), float(p)) for s, a, t, p, _ in transitions], mdp)
    assert all(actions[int(a)] == name for _, a, _, _, name in transitions)

    (*sizes,), *rewards = rows(path.with_suffix(".trew"))
    assert [int(size) for size in sizes] == [S, S * A, len(rewards)]
    expected = {(s, a, t): float(mdp.rewards[int(s), int(a)]) for s, a, t, _, _ in transitions}
    assert {(s, a, t): float(r) for s, a, t, r in rewards} == {key: r for key, r in expected.items() if r != 0}

    header, *states = path.with_suffix(".sta").read_text().splitlines()
    assert header == f"({','.join(features)})"
    for s, line in enumerate(states):
        index, values = re.fullmatch(r"(\d+):\((.*)\)", line).groups()
        assert int(index) == s
        assert [float(x) for x in values.split(",")] == mdp.features[s].tolist()

    header, *labels = path.with_suffix(".lab").read_text().splitlines()
    assert header == '0="init" 1="deadlock"'
    assert labels == [f"{s}: 0" for s in np.flatnonzero(mdp.initial)]
    assert sorted(file.suffix for file in path.parent.iterdir()) == [".lab", ".sta", ".tra", ".trew"]


@pytest.mark.parametrize("ending", ["npz", "drn", "tra"])
def test_truth_values_stay_truth_values(tmp_path, ending):
    mdp = MDP.from_dense(
        np.eye(2)[:, None, :], np.ones((2, 1)), [1, 0], [[0, 1], [1, 3]], feature_names=("up", "x"), truths=("up",)
    )
    path = tmp_path / f"model.{ending}"
    write(mdp, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        again = read(path, discount=0.9)
    assert again.truths == ("up",)
    np.testing.assert_array_equal(again.features, mdp.features)
    assert solve(again, max_depth=1).tree.truths == ("up",)


def test_a_truth_value_is_0_or_1():
    parts = (np.eye(2)[:, None, :], np.ones((2, 1)), [1, 0], [[0], [2]])
    with pytest.raises(InputError, match=r"feature 'up' of state 1 is 2\.0; a truth value must be 0 or 1"):
        MDP.from_dense(*parts, feature_names=("up",), truths=("up",))
    with pytest.raises(InputError, match="truths has the feature 'down'; there are up"):
        MDP.from_dense(*parts, feature_names=("up",), truths=("down",))
