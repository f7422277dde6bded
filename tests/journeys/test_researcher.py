"""A researcher with a method of their own: the page on comparisons, word by word."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import Page

import omdt

Run = Callable[..., tuple[int, str, str]]
pytestmark = [pytest.mark.needs("sklearn"), pytest.mark.needs("matplotlib")]


def test_ones_own_method_stands_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = Page("comparing.md", "Your own method").blocks("python")
    names: dict[str, object] = {}
    exec(example, names)
    title, table, meanings = capsys.readouterr().out.rstrip().split("\n\n")
    assert title == "frozenlake_4x4  trees of depth ≤ 2"
    assert max(map(len, table.splitlines())) <= 80
    assert [line.split("  ")[0] for line in table.splitlines()][-4:] == ["greedy", "stump", "always do…", "optimal"]
    assert [line.split("  ")[-1].strip() for line in meanings.splitlines()][-4:-1] == [
        "your own",
        "your own, mean of 3 seeds",
        "your own",
    ]

    comparison = names["comparison"]
    assert isinstance(comparison, omdt.comparing.Comparison)
    mdp = names["mdp"]
    down = omdt.TreePolicy.leaf(1, mdp.feature_names, mdp.action_names)
    assert comparison["always down"].value == pytest.approx(omdt.evaluate(mdp, down), rel=1e-9)


def test_a_saved_tree_is_compared_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    solve, compare = Page("comparing.md", "Your own method").commands
    monkeypatch.chdir(tmp_path)
    assert run(*solve)[0] == 0
    status, output, _ = run(*compare)
    assert status == 0, shlex.join(compare)
    lines = output.splitlines()
    (mine,) = (line for line in lines if line.startswith("mine ") and "your own" not in line)
    assert float(mine.split()[1]) == pytest.approx(omdt.load("policy.json").value, rel=1e-5)
    assert Path("comparison.svg").read_text(encoding="utf-8").count("<svg") == 1


def test_the_table_of_the_page_is_that_of_the_command(run: Run) -> None:
    page = Page("comparing.md")
    (shown,) = page.blocks("text")
    command = page.commands[0]
    assert command[:2] == ["compare", "frozenlake_12x12"]
    quick = [*command[:1], "frozenlake_4x4", "--depth", "2", "--time-limit", "10", "--processes", "1"]
    status, output, _ = run(*quick)
    assert status == 0
    columns, *rows = output.splitlines()[2:]
    assert columns.split() == shown.splitlines()[0].split()
    named = [line.split()[0] for line in rows if line]
    assert named == [line.split()[0] for line in shown.splitlines()[1:] if line]
