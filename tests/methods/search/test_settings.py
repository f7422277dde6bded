"""Settings: frozen numbers, each with a docstring; other values change the way but not the answer."""

import ast
from dataclasses import FrozenInstanceError, fields, replace
from itertools import pairwise
from pathlib import Path

import pytest

from omdt.methods.search import climbing_settings, settings
from omdt.methods.search.settings import DEFAULTS, SearchSettings


def documented() -> dict[str, str]:
    """The fields of the settings that are followed by a docstring, and the docstrings."""
    found = {}
    for part in (climbing_settings, settings):
        module = ast.parse(Path(part.__file__).read_text(encoding="utf-8"))
        body = next(node for node in module.body if isinstance(node, ast.ClassDef)).body
        for node, following in pairwise(body):
            if isinstance(node, ast.AnnAssign) and isinstance(following, ast.Expr):
                assert isinstance(node.target, ast.Name)
                found[node.target.id] = str(ast.literal_eval(following.value))
    return found


def test_every_setting_says_what_it_limits() -> None:
    names = [field.name for field in fields(SearchSettings)]
    docstrings = documented()
    assert list(docstrings) == names
    assert all(text.endswith(".") for text in docstrings.values())


def test_every_setting_is_a_number_of_its_type() -> None:
    for field in fields(SearchSettings):
        value = getattr(DEFAULTS, field.name)
        numbers = value if isinstance(value, tuple) else (value,)
        assert numbers
        assert all(type(number) in (int, float) for number in numbers), field.name
        assert all(number > 0 for number in numbers), field.name


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        DEFAULTS.mixing = 0.5  # type: ignore[misc]
    other = replace(DEFAULTS, mixing=0.5)
    assert (other.mixing, DEFAULTS.mixing) == (0.5, 0.02)
    assert SearchSettings() == DEFAULTS


def test_raised_levels_fall_towards_the_incumbent() -> None:
    levels = DEFAULTS.raised_levels
    assert list(levels) == sorted(levels, reverse=True)
    assert all(0 < level < 1 for level in levels)
