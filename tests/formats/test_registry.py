"""The registry of formats: one line per format says all that the command line and the documentation list."""

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

from omdt.errors import InputError
from omdt.formats import FORMATS, described, read, read_endings, write, written_endings
from omdt.formats.options import SHARED, ReadOptions
from strategies import good_arrays, mdp_from

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "src" / "omdt" / "formats"
OBJECTS = {"from_dataframe", "to_dataframe", "from_gymnasium", "to_gymnasium", "from_quantecon", "from_pymdptoolbox"}
"""Modules that convert objects of other packages, not files."""


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_a_format_has_its_modules(kind):
    reader = import_module(f"omdt.formats.from_{kind.name}")
    assert list(inspect.signature(reader.read).parameters) == ["path", "options"]
    assert (FOLDER / f"to_{kind.name}.py").exists() == kind.written
    if kind.written:
        assert list(inspect.signature(import_module(f"omdt.formats.to_{kind.name}").write).parameters) == [
            "mdp",
            "path",
        ]
    assert kind.help
    assert set(kind.parameters) <= {field.name for field in fields(ReadOptions)} - set(SHARED)


def test_every_module_with_a_direction_is_registered():
    found = {path.stem for path in FOLDER.glob("*.py") if path.stem.startswith(("from_", "to_"))}
    files = {f"from_{kind.name}" for kind in FORMATS} | {f"to_{kind.name}" for kind in FORMATS if kind.written}
    assert found == files | OBJECTS


def test_endings_are_distinct():
    assert len(set(read_endings())) == len(read_endings())
    assert set(written_endings()) < set(read_endings())


def test_the_description_names_every_ending_that_is_read():
    assert described().startswith("model.npz, .drn")
    assert tuple(described().removeprefix("model").split(", ")) == read_endings()


def test_the_documentation_lists_every_format_with_its_parameters():
    rows = re.findall(r"^\| (`model\..*?) \| \[(.*?)\].*?\| (.*)\|$", (ROOT / "docs/command-line.md").read_text(), re.M)
    listed = {tuple(re.findall(r"\.\w+", endings)): (words, parameters) for endings, words, parameters in rows}
    assert listed.keys() == {kind.endings for kind in FORMATS}
    for kind in FORMATS:
        words, parameters = listed[kind.endings]
        assert words == kind.help
        assert [name for name in kind.parameters if name not in ("reward", "cost") and name not in parameters] == []
        assert bool(parameters.strip()) == bool(kind.parameters)


def test_the_registry_is_read_without_numpy():
    code = "import sys; from omdt.formats import described; print(described(), 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{described()} False"


def test_unknown_endings_are_refused_with_those_that_are_known(tmp_path):
    with pytest.raises(InputError, match=re.escape("must end in " + " or ".join(read_endings()))):
        read(tmp_path / "model.txt")
    with pytest.raises(InputError, match=re.escape("must end in " + " or ".join(written_endings())) + "$"):
        write(mdp_from(good_arrays()), tmp_path / "model.csv")
