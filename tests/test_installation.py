"""`omdt doctor` says what is installed, what works, and what to install."""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import omdt
from omdt import installation
from omdt.installation import EXTRAS, PACKAGES, State, find_extra, find_kernels

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GROUPS = {"all", "dev", "docs", "fuzz", "reproduce"}
"""Extras that only put others together, or that are for people who work on omdt."""


def test_the_packages_are_those_of_the_project() -> None:
    assert sorted(PACKAGES) == sorted(re.split("[><=]", line)[0] for line in PROJECT["dependencies"])


def test_the_extras_are_those_of_the_project() -> None:
    declared = PROJECT["optional-dependencies"]
    assert {extra.name for extra in EXTRAS} == declared.keys() - GROUPS
    for extra in EXTRAS:
        assert re.match(r"[\w-]+>=[\d.]+", declared[extra.name][0])[0] == f"{extra.package}>={extra.minimum}"
    assert {extra.name for extra in EXTRAS} == set(re.findall(r"\w+", declared["all"][0])) - {"omdt"}


def test_what_is_installed_works(run) -> None:
    status, out, err = run("doctor", "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["omdt"] == omdt.__version__
    assert found["cores"] >= 1
    assert all(found["packages"].values())
    assert 0 <= found["kernels"]["kept"] <= found["kernels"]["total"]
    solvers = {f"milp, {name}" for name in ("highs", "scip", "gurobi") if found["extras"][name]["state"] == "works"}
    assert found["methods"] == dict.fromkeys({"search"} | solvers)
    for name, extra in found["extras"].items():
        assert extra["state"] in ("works", "not installed")
        assert (extra["version"] is None) == (extra["state"] == "not installed")
        assert extra["install"] == f"pip install 'omdt[{name}]'"


def test_every_state_of_an_extra_is_told_apart(tmp_path, monkeypatch) -> None:
    (tmp_path / "broken_module.py").write_text("raise OSError('libbroken.so [1] is missing')")
    monkeypatch.syspath_prepend(tmp_path)
    numpy = replace(EXTRAS[0], package="numpy", module="numpy", minimum="1.26")
    assert find_extra(numpy).state is State.WORKS
    assert find_extra(replace(numpy, minimum="999.1")).state is State.OLD
    assert find_extra(replace(numpy, package="no-such-package", module="no_such_module")).state is State.MISSING
    broken = find_extra(replace(numpy, package="no-such-package", module="broken_module"))
    assert (broken.state, broken.problem) == (State.BROKEN, "OSError: libbroken.so [1] is missing")


def test_people_read_what_to_install_and_what_is_broken(run, tmp_path, monkeypatch) -> None:
    (tmp_path / "broken_module.py").write_text("raise OSError('libbroken.so [red] is missing')")
    monkeypatch.syspath_prepend(tmp_path)
    made_up = (
        replace(EXTRAS[0], name="absent", package="no-such-package", module="no_such_module"),
        replace(EXTRAS[0], name="torn", package="no-such-package", module="broken_module"),
        replace(EXTRAS[0], name="aged", package="numpy", module="numpy", minimum="999"),
    )
    monkeypatch.setattr(installation, "EXTRAS", made_up)
    status, out, _ = run("doctor")
    assert status == 1
    assert f"omdt {omdt.__version__}" in out
    assert re.search(r"compiled kernels: \d+ of \d+ are kept on disk", out)
    assert re.search(r"^search +works", out, re.M)
    assert re.search(r"^absent +no-such-package +not installed", out, re.M)
    assert re.search(r"^torn +no-such-package +OSError: libbroken.so \[red\] is missing", out, re.M)
    assert re.search(r"^aged +numpy [\d.]+ +too old", out, re.M)
    assert "pip install 'omdt[absent,torn,aged]'" in out
    assert "make install EXTRAS=absent,torn,aged" in out


def test_a_method_that_fails_is_named_with_its_error(run, monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no licence")

    monkeypatch.setattr(installation, "solve", fail)
    monkeypatch.setattr(installation, "EXTRAS", ())
    status, out, _ = run("doctor")
    assert status == 1
    assert re.search("^search +RuntimeError: no licence", out, re.M)


def test_every_kernel_that_is_kept_is_counted() -> None:
    sources = (path.read_text(encoding="utf-8") for path in Path(omdt.__file__).parent.rglob("*.py"))
    assert find_kernels().total == sum(text.count("\n@njit(cache=True") for text in sources)
