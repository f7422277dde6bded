"""Every format that knows which actions a state offers keeps that in both directions."""

import warnings
from dataclasses import replace

import choice_models
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omdt import MDP, InputWarning, TreePolicy, planning, read, solve, write
from omdt.names import prism_identifiers
from strategies import good_arrays, mdp_from, refusal, restricted_mdps

ENDINGS = ("npz", "drn")


def read_back(mdp: MDP, path, **parameters) -> MDP:
    write(mdp, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        return read(path, **parameters)


def assert_same(found: MDP, mdp: MDP) -> None:
    assert (found.transitions != mdp.transitions).nnz == 0
    for attribute in ("rewards", "initial", "features", "available", "played"):
        np.testing.assert_array_equal(getattr(found, attribute), getattr(mdp, attribute), err_msg=attribute)
    for attribute in ("discount", "feature_names", "action_names", "fallback"):
        assert getattr(found, attribute) == getattr(mdp, attribute)


@pytest.mark.parametrize("ending", ENDINGS)
@given(mdp=restricted_mdps())
def test_npz_and_drn_give_the_mdp_back(tmp_path_factory, ending, mdp):
    assert_same(read_back(mdp, tmp_path_factory.mktemp("back") / f"model.{ending}"), mdp)


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_that_are_no_identifiers_keep_their_order_and_their_fallback(tmp_path, ending):
    arrays = good_arrays() | {"action_names": np.array(["go up", "größe ["])}
    available = np.array([[False, True], [True, True], [True, True]])
    mdp = replace(mdp_from(arrays), available=available, fallback="größe [")
    found = read_back(mdp, tmp_path / f"model.{ending}")
    assert_same(found, mdp)


@pytest.mark.parametrize("ending", ["npz", "drn", "tra"])
def test_a_reader_takes_another_fallback(tmp_path, ending):
    mdp = replace(mdp_from(good_arrays()), available=[[1, 1], [1, 1], [1, 0]], fallback="stay")
    path = tmp_path / f"model.{ending}"
    found = read_back(mdp, path, fallback="go", discount=0.9)
    assert found.fallback == "go"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        assert "'fly' is not an action" in str(refusal(lambda: read(path, fallback="fly", discount=0.9)))


def test_an_npz_has_the_mask_only_where_something_is_missing(tmp_path):
    mdp = mdp_from(good_arrays())
    write(mdp, tmp_path / "all.npz")
    with np.load(tmp_path / "all.npz") as arrays:
        assert not {"available", "fallback"} & set(arrays)
    write(replace(mdp, available=[[1, 0]] * 3), tmp_path / "some.npz")
    with np.load(tmp_path / "some.npz") as arrays:
        assert arrays["available"].dtype == np.bool_
        assert "fallback" not in arrays


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"available": np.ones((3, 2))}, "available must be Boolean"),
        ({"available": np.ones((2, 2), dtype=bool)}, "available must have shape"),
        ({"available": np.array([[True, True], [False, False], [True, True]])}, "state 1 has no available action"),
        ({"fallback": np.array(["go"])}, "fallback must be one unicode string"),
        ({"fallback": np.array(1)}, "fallback must be one unicode string"),
        ({"fallback": np.array("fly")}, "'fly' is not an action"),
    ],
)
def test_an_npz_with_a_wrong_mask_is_refused(tmp_path, change, fragment):
    path = tmp_path / "model.npz"
    np.savez(path, **good_arrays(), **change)
    message = str(refusal(lambda: read(path)))
    assert str(path) in message
    assert fragment in message


def test_an_npz_may_leave_the_rows_of_unavailable_actions_empty(tmp_path):
    arrays = good_arrays() | {
        "data": np.array([0.5, 0.5, 0.25, 0.75, 1.0, 1.0, 1.0]),
        "indices": np.array([0, 1, 0, 2, 1, 2, 2]),
        "indptr": np.array([0, 2, 2, 4, 5, 6, 7]),
        "available": np.array([[True, False], [True, True], [True, True]]),
    }
    np.savez(tmp_path / "model.npz", **arrays)
    told = r"1 of 3 states offers some.* is played, unless unavailable='forbid' .*--unavailable forbid\) allows no such"
    with pytest.warns(InputWarning, match=told):
        mdp = read(tmp_path / "model.npz")
    assert mdp.transitions.toarray()[1].tolist() == [0.5, 0.5, 0]
    assert mdp.played[0].tolist() == [0, 0]


@given(restricted_mdps())
def test_prism_files_have_the_available_choices_and_no_others(tmp_path_factory, mdp):
    path = tmp_path_factory.mktemp("tra") / "model.tra"
    found = read_back(mdp, path, discount=mdp.discount)
    _, names = prism_identifiers(mdp.feature_names, mdp.action_names)
    used = np.flatnonzero(mdp.available.any(axis=0))
    assert {names[a] for a in used} == set(found.action_names)
    columns = [found.action_names.index(names[a]) for a in used]
    np.testing.assert_array_equal(found.available[:, columns], mdp.available[:, used])
    S = mdp.n_states
    P = mdp.transitions.toarray().reshape(S, -1, S)[:, used]
    Q = found.transitions.toarray().reshape(S, -1, S)[:, columns]
    np.testing.assert_array_equal(P[mdp.available[:, used]], Q[mdp.available[:, used]])
    r, q = mdp.rewards[:, used][mdp.available[:, used]], found.rewards[:, columns][mdp.available[:, used]]
    np.testing.assert_allclose(r, q, rtol=1e-12)


WRITTEN = {"drn": choice_models.write_drn, "tra": choice_models.write_prism, "csv": choice_models.write_csv}


@pytest.mark.parametrize("ending", [*WRITTEN, "npz"])
@given(model=choice_models.choice_models(), depth=st.integers(0, 1), named=st.booleans())
@settings(max_examples=15)
def test_a_tree_solved_from_a_file_plays_what_the_file_offers(tmp_path_factory, ending, model, depth, named):
    path = tmp_path_factory.mktemp("played") / f"model.{ending}"
    if ending == "npz":
        choice_models.write_drn(model, path.with_suffix(".drn"))
        write(choice_models.read_quietly(path.with_suffix(".drn"), discount=0.9), path)
    else:
        WRITTEN[ending](model, path)
    mdp = choice_models.read_quietly(path, discount=0.9, fallback=model.names[-1] if named else None)
    solution = solve(mdp, max_depth=depth)
    assert returned(model, solution.tree) == pytest.approx(solution.value, abs=1e-9)


def returned(model: choice_models.ChoiceModel, tree: TreePolicy) -> float:
    """What a tree returns that is played by the names of its actions in the states that it comes to."""
    seen = model.p0() > 0
    todo = np.flatnonzero(seen).tolist()
    P, r = np.zeros((len(seen), len(seen))), np.zeros(len(seen))
    while todo:
        s = todo.pop()
        name = tree.action_names[int(tree.predict(model.X[s])[0])]
        P[s], r[s] = model.choices[s][name]
        fresh = np.flatnonzero((P[s] > 0) & ~seen)
        seen[fresh] = True
        todo += fresh.tolist()
    return float(model.p0() @ np.linalg.solve(np.eye(len(seen)) - 0.9 * P, r))


@pytest.mark.needs("stormpy")
@given(mdp=restricted_mdps(rewards=("normal", "few values")))
@settings(max_examples=15)
def test_storm_sees_the_true_model_in_a_drn(tmp_path_factory, mdp):
    import stormpy

    path = tmp_path_factory.mktemp("storm") / "model.drn"
    discount = min(mdp.discount, 0.99)
    write(mdp, path)
    model = stormpy.build_model_from_drn(str(path))
    assert model.nr_choices == mdp.available.sum()
    result = stormpy.model_checking(model, stormpy.parse_property(f'R{{"reward"}}max=? [ Cdiscount={discount!r} ]'))
    values = [result.get_value(s) for s in range(mdp.n_states)]
    true = planning.optimal_values(read_back(mdp, path, discount=discount)).value
    np.testing.assert_allclose(values, true, rtol=1e-5, atol=1e-4)
