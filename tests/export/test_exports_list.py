"""The list of exports is complete, and the documentation agrees with it."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import omdt.export
from omdt.export import EXPORTS, export_names

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
FUNCTIONS = sorted({export.function for export in EXPORTS.values()} | {"sklearn.to_sklearn"})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_is_public_and_documented(function):
    module, name = function.split(".")
    found = getattr(omdt.export, name)
    assert found is getattr(import_module(f"omdt.export.{module}"), name)
    assert found.__doc__
    assert name in dir(omdt.export)
    assert f"::: omdt.export.{function}\n" in PAGE


def test_every_module_with_an_export_is_in_the_list():
    folder = Path(omdt.export.__file__).parent
    found = {
        f"{path.stem}.{name}"
        for path in folder.glob("*.py")
        for name in re.findall(r"^def (to_\w+)\(", path.read_text(encoding="utf-8"), re.M)
    }
    assert found - {"__init__.to_be_told"} == set(FUNCTIONS)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="to_cobol"):
        omdt.export.to_cobol  # noqa: B018


def test_help_names_every_format_once():
    assert export_names().replace(" or ", ", ").split(", ") == list(EXPORTS)


def test_the_table_of_the_documentation_is_the_list():
    rows = [
        f"| `{export.name}` | {export.help} | `{export.suffix}` | {export.needs + ' ' if export.needs else ''}|"
        for export in EXPORTS.values()
    ]
    assert "\n".join(["| format | what it is | ending | needs |", "|---|---|---|---|", *rows]) in PAGE
