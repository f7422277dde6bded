"""A user with a data frame of pandas: the page on tables, word by word."""

import pytest
from pages import Page

pytestmark = pytest.mark.needs("pandas")


def test_a_data_frame_becomes_a_proven_tree(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = Page("tables.md", "Data frames").blocks("python")
    exec(example, {})
    printed = capsys.readouterr().out
    assert "not weather = rain" in printed or "not weather = sun" in printed
    assert {"bus", "walk"} <= set(printed.replace(":", " ").split())
