"""A missing extra is reported with the commands that install it, and a warning with the place in the user's program."""

from pathlib import Path

import pytest

import omdt
from omdt.errors import FalseClaimError, InputError, MissingExtraError, require


def test_a_module_that_is_there_is_not_missed():
    assert require("json", "basic", "reading") is None


def test_a_missing_module_names_the_extra():
    with pytest.raises(MissingExtraError) as caught:
        require("no_such_module_anywhere", "special", "drawing")
    message = str(caught.value)
    assert "drawing" in message
    assert "no_such_module_anywhere" in message
    assert "pip install 'omdt[special]'" in message
    assert "pip install '.[special]' in a clone" in message


def test_errors_belong_to_the_usual_families():
    assert issubclass(InputError, ValueError)
    assert issubclass(MissingExtraError, ImportError)
    assert not issubclass(FalseClaimError, ValueError)


def test_a_warning_points_at_the_line_that_called_the_package(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("x,action,next x\n0,go,1\n0,go,1\n1,stay,1\n1,go,0\n", encoding="utf-8")
    with pytest.warns(omdt.InputWarning) as caught:
        omdt.read(path)
    assert len(caught) == 3
    assert {Path(warning.filename) for warning in caught} == {Path(__file__)}


def test_no_other_code_warns_about_input():
    """Whoever counts the frames of the stack by hand points into the package as soon as a caller is added."""
    root = Path(omdt.__file__).parent
    sources = {path.relative_to(root): path.read_text(encoding="utf-8") for path in root.rglob("*.py")}
    assert {path for path, text in sources.items() if "stacklevel" in text} == {Path("errors.py")}
