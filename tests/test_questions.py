"""What a solution may ask is stated, kept in its file, and enough to read, report, check and export it again."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omdt
from omdt import check, questions
from omdt.errors import InputError
from omdt.export import EXPORTS, export_tree
from strategies import environment, mdps

NEEDED = {"png": "matplotlib", "pdf": "matplotlib", "onnx": "onnx"}


def diagonal(mdp: omdt.MDP) -> omdt.Splits:
    """Categories, and predicates with names that need care."""
    x, y = mdp.features.T
    holds = np.stack([x + y > 3, x == 2], axis=1)
    return omdt.Splits.of(mdp, features=["Y"], categorical=["Y"], predicates=holds, labels=['<"diagonal">', "p\n"])


@given(mdps(), st.integers(0, 2**32 - 1))
def test_a_statement_gives_the_same_questions_and_columns_back(mdp, seed):
    rng = np.random.default_rng(seed)
    names = [name for name in mdp.feature_names if rng.random() < 0.7]
    holds = rng.random((mdp.n_states, int(rng.integers(3)))) < 0.5
    splits = omdt.Splits.of(
        mdp,
        features=names,
        categorical=[name for name in names if rng.random() < 0.4],
        predicates=holds,
        labels=["p", "q"][: holds.shape[1]],
    )
    if rng.random() < 0.5:
        kept = rng.permutation(len(splits))[: int(rng.integers(len(splits) + 1))]
        splits = replace(
            splits, feature=splits.feature[kept], threshold=splits.threshold[kept], equality=splits.equality[kept]
        )
    stated = questions.questions_of(mdp, splits)
    statement = {} if stated is None else json.loads(json.dumps(questions.to_dict(stated)))
    again = questions.from_dict(statement)
    assert again == (check.Questions() if stated is None else stated)
    np.testing.assert_array_equal(questions.observations(stated, mdp), splits.observations)
    np.testing.assert_array_equal(again.sides(splits.observations, splits.feature_names), splits.sides())


def test_statements_are_short_where_they_can_be():
    mdp = environment("frozenlake_4x4")
    said = [
        questions.to_dict(stated)
        for splits in (
            omdt.Splits.of(mdp, features=["Y"]),
            omdt.Splits.of(mdp, categorical=["X"]),
            omdt.Splits.of(mdp, predicates=np.arange(16)[:, None] > 11, labels=["late"]),
        )
        if (stated := questions.questions_of(mdp, splits)) is not None
    ]
    assert said == [
        {"asked": [{"feature": "Y", "threshold": "all"}]},
        {"asked": [{"feature": "X", "equals": "all"}, {"feature": "Y", "threshold": "all"}]},
        {"predicates": {"states": 16, "holds": {"late": "AA8="}}},
    ]
    assert questions.questions_of(mdp, omdt.Splits.of(mdp)) is None


def test_splits_of_another_mdp_are_refused():
    mdp, splits = environment("frozenlake_4x4"), omdt.Splits.of(environment("frozenlake_8x8"))
    with pytest.raises(InputError, match="another MDP"):
        omdt.solve(mdp, max_depth=1, splits=splits)
    own = omdt.Splits.of(mdp, predicates=np.zeros((16, 1), dtype=bool), labels=["p"])
    for name, value, message in (("p", 0.5, "not a predicate"), ("", 0.0, "label"), ("\ud800", 0.0, "label")):
        columns = np.hstack([mdp.features, np.full((16, 1), value)])
        with pytest.raises(InputError, match=message):
            omdt.solve(
                mdp, max_depth=1, splits=replace(own, observations=columns, feature_names=(*mdp.feature_names, name))
            )


@pytest.mark.parametrize("method", ["viper", "iddt", "copy"])
def test_methods_that_would_ask_something_else_are_refused(method):
    mdp = environment("frozenlake_4x4")
    with pytest.raises(
        InputError, match=f"the method {method} asks thresholds on every feature; .* use search or milp"
    ):
        omdt.solve(mdp, max_depth=2, method=method, splits=omdt.Splits.of(mdp, features=["X"]))
    assert omdt.solve(mdp, method="copy", splits=omdt.Splits.of(mdp)).questions is None


def test_a_saved_solution_with_predicates_and_categories_is_read_again(tmp_path):
    mdp = environment("frozenlake_4x4")
    splits = diagonal(mdp)
    solution = omdt.solve(mdp, max_depth=3, splits=splits)
    assert {"Y", "p\n"} <= {solution.tree.feature_names[j] for j in solution.tree.feature if j >= 0}
    solution.save(tmp_path / "policy.json")
    loaded = omdt.load(tmp_path / "policy.json")
    assert loaded.questions == solution.questions
    np.testing.assert_array_equal(loaded.observations(mdp), splits.observations)
    assert omdt.evaluate(mdp, loaded.tree, loaded.observations(mdp)) == solution.value
    with pytest.raises(InputError, match=r"solution\.observations\(mdp\)"):
        omdt.evaluate(mdp, loaded.tree)
    with pytest.raises(InputError, match="about 16 states, the model has 64"):
        loaded.observations(environment("frozenlake_8x8"))


@pytest.mark.needs("jinja2")
def test_the_command_line_takes_solutions_with_predicates_and_categories(run, tmp_path):
    mdp = omdt.make("frozenlake_4x4")
    path, proof = tmp_path / "policy.json", tmp_path / "proof"
    omdt.solve(mdp, max_depth=3, splits=diagonal(mdp), certificate=proof).save(path)
    assert run("report", path) == (0, f"{path.with_suffix('.html')}\n", "")
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    assert "that asks only for values of &#39;Y&#39;, the predicate" in page
    assert "# with splits that ask only for" in page
    assert '<"diagonal">' not in page
    for problem in ((), ("frozenlake_4x4",)):
        for exact in ((), ("--exact",)):
            status, out, err = run("check", path, *problem, "--certificate", proof, *exact)
            assert (status, err) == (0, "")
            assert out.startswith("VERIFIED: the tree returns")
            assert "that asks only for values of 'Y', the predicate '<\"diagonal\">', the predicate 'p\\n'" in out
    omdt.write(mdp, tmp_path / "model.npz")
    alone = [sys.executable, "-m", "omdt.check", path, tmp_path / "model.npz", "--certificate", proof]
    assert subprocess.run(alone, capture_output=True, text=True, check=True).stdout == out
    status, out, err = run("check", path, "frozenlake_8x8")
    assert (status, out) == (2, "")
    assert "the predicates are about 16 states, the model has 64" in err


@cache
def of_predicates_and_categories() -> omdt.Solution:
    """A tree of frozenlake_4x4 that asks for values of one feature, and for predicates."""
    mdp = environment("frozenlake_4x4")
    return omdt.solve(mdp, max_depth=3, splits=diagonal(mdp))


@pytest.mark.parametrize(
    "to", [pytest.param(to, marks=pytest.mark.needs(NEEDED[to]) if to in NEEDED else ()) for to in EXPORTS]
)
def test_every_export_takes_a_saved_tree_with_predicates_and_categories(to, run, tmp_path):
    path, target = tmp_path / "policy.json", tmp_path / "exported"
    of_predicates_and_categories().save(path)
    assert run("export", path, "--to", to, "--output", target) == (0, "", "")
    exported = export_tree(omdt.load(path).tree, to)
    # The picture formats hold the time.
    assert to in ("png", "pdf") or target.read_bytes() == (
        exported if isinstance(exported, bytes) else exported.encode()
    )
    assert target.stat().st_size > 0
    if to == "python":
        namespace: dict[str, object] = {}
        exec(target.read_text(encoding="utf-8"), namespace)
        solution = omdt.load(path)
        seen = solution.observations(environment("frozenlake_4x4"))
        assert [namespace["policy"](x) for x in seen] == solution.tree.actions(seen).tolist()


def test_old_solutions_without_a_statement_are_checked_as_before(run, tmp_path):
    """A tree with equalities has its value checked; what it may ask is then not known, and not needed."""
    mdp = environment("frozenlake_4x4")
    data = omdt.solve(mdp, max_depth=2, splits=omdt.Splits.of(mdp, categorical=["Y"])).to_dict()
    old = {key: value for key, value in data.items() if key not in ("questions", "source", "fingerprint")}
    path = Path(tmp_path / "old.json")
    path.write_text(json.dumps(old), encoding="utf-8")
    assert omdt.load(path).questions is None
    for problem in ((), ("frozenlake_4x4",)):
        status, out, err = run("check", path, *problem)
        assert (status, err) == (0, "")
        assert "VERIFIED; the bound was not checked" in out
