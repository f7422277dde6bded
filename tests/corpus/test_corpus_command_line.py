"""From a shell: a property is solved, the tree is exported, and Storm finds its value in the composed model."""

import json
import shutil

import pytest
from corpus_cases import FOLDER, cases


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A folder with copies of the corpus, in which commands run."""
    for path in FOLDER.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lake", 'Pmax=? [F "goal"]'),
        ("election", 'R{"flips"}min=? [F "over"]'),
        ("resend", 'Pmin=? [F "lost"]'),
        ("power", 'R{"served"}max=? [Cdiscount=0.97]'),
    ],
)
def test_the_exported_module_has_the_printed_value_in_storm(corpus, run, name, text):
    from storm_witness import value_of_module

    status, _, error = run("solve", f"{name}.prism", "--property", text, "--depth", 1, "--output", "policy.json")
    assert status == 0, error
    status, _, error = run("export", "policy.json", "--to", "prism", "--output", "policy.prism")
    assert status == 0, error
    solution = json.loads((corpus / "policy.json").read_text(encoding="utf-8"))
    module = (corpus / "policy.prism").read_text(encoding="utf-8")
    assert (solution["objective"], solution["sense"]) == (text, "min" if "min" in text else "max")
    (corpus / "composed").mkdir()
    theirs = value_of_module(corpus / f"{name}.prism", text, module, corpus / "composed")
    assert solution["value"] == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("which", "text"), [("given_up", 'Pmin=? [F "lost"]'), ("3", 'Pmax=? ["fresh" U "done"]')])
def test_a_property_beside_the_model_is_asked_by_its_name_or_place(corpus, run, which, text):
    status, output, error = run("solve", "resend.drn", "--property", which, "--depth", 1, "--json")
    assert status == 0, error
    solution = json.loads(output)
    assert solution["objective"] == text
    assert solution["proven"]
    optimum = next(case.optimum for case in cases("drn") if (case.model, case.property) == ("resend", text))
    assert solution["optimal_return"] == pytest.approx(optimum, rel=1e-9, abs=1e-12)


def test_explicit_files_of_prism_have_labels(corpus, run):
    status, output, error = run("solve", "lake.tra", "--property", 'Pmin=? [F "hole"]', "--depth", 1)
    assert status == 0, error
    assert "minimising the probability to reach hole" in output
    status, output, error = run("solve", "lake.tra", "--property", 'Pmin=? [F "pit"]', "--depth", 1)
    assert (status, output) == (2, "")
    assert 'has no label "pit"' in error
