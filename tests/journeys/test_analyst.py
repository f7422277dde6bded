"""An analyst with a CSV from a spreadsheet: the page on tables, word by word."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pages import Page

Run = Callable[..., tuple[int, str, str]]


def test_a_file_as_a_spreadsheet_writes_it_becomes_a_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    page = Page("tables.md", "Files as they are")
    (table,) = page.blocks("text")
    (command,) = page.commands
    told, refused = page.messages
    monkeypatch.chdir(tmp_path)
    Path(command[1]).write_text(table, encoding="utf-8")

    status, output, error = run(*command)
    assert status == 0
    assert "Weather" in output.split("\n\n")[1]
    assert "proven optimal" in output
    assert error.splitlines() == [told]

    Path("trips.csv").write_text("Weather,do,next_weather,prob\nsun,walk,sun,1\n", encoding="utf-8")
    status, output, error = run("solve", "trips.csv", "--depth", "1", "--discount", "0.9")
    assert (status, output) == (2, "")
    assert error.splitlines() == [refused]


def test_the_first_example_of_the_page_and_its_command_find_the_same_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Page("tables.md")
    monkeypatch.chdir(tmp_path)
    exec(page.blocks("python")[0], {})
    printed = capsys.readouterr().out.split("\n", 1)[1].strip()
    status, output, _ = run(*page.commands[0])
    assert status == 0
    assert printed in output
