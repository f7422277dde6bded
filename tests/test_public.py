"""The package offers the promised names, and importing it imports nothing heavy."""

import subprocess
import sys

import pytest

import omdt

PROMISED = {"MDP", "make", "read", "solve", "evaluate", "load", "Solution", "Splits", "TreePolicy", "simulate", "write"}
PROMISED |= {"alternatives", "compare", "imitate", "learn", "from_gymnasium", "from_quantecon", "from_pymdptoolbox"}


def test_promised_names_are_there():
    assert set(omdt.__all__) >= PROMISED
    for name in omdt.__all__:
        assert getattr(omdt, name).__name__ == name
        assert name in dir(omdt)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        omdt.no_such_name  # noqa: B018


@pytest.mark.parametrize("module", ["omdt", "omdt.cli", "omdt.errors", "omdt.export", "omdt.files"])
def test_importing_does_not_import_numpy(module):
    code = f"import sys, {module}; print(sorted({{'numpy', 'scipy', 'numba', 'rich.table'}} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
