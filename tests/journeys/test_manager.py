"""An analyst makes the report of docs/report.md, command by command, and a manager reads and prints it."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from browser import Browser

pytestmark = [pytest.mark.needs("jinja2"), pytest.mark.needs_program("chromium")]

Run = Callable[..., tuple[int, str, str]]
PAGE = Path(__file__).parents[2] / "docs" / "report.md"
FIRST_PART = PAGE.read_text(encoding="utf-8").partition("## The problem of a solution")[0]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def follow(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Type every command of the first part of the page; return what each printed."""
    monkeypatch.chdir(folder)
    commands = [shlex.split(line) for line in FIRST_PART.splitlines() if line.startswith("    omdt ")]
    printed = []
    for command in commands:
        status, out, err = run(*command[1:])
        assert status == 0, (command, err)
        printed.append(out)
    return printed


def shown(browser: Browser, selector: str = "body") -> str:
    """What a reader sees of an element: hidden and folded parts are missing."""
    text: str = browser.run(f"document.querySelector({selector!r}).innerText")
    return " ".join(text.split())


def pages(browser: Browser) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", browser.pdf()))


def test_a_manager_reads_what_the_rules_earn(
    browser: Browser, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved, reported, front, again = follow(run, tmp_path, monkeypatch)
    assert "proven optimal" in solved
    assert (reported, again) == ("policy.html\n", "page.html\n")
    assert "leaves" in front
    (promised,) = re.findall(r"^```text\n(.*?)\n```", FIRST_PART, re.M | re.S)
    for width in (1280, 390):
        browser.open(tmp_path / "policy.html", width=width)
        assert shown(browser, "h1") == "Which machine does the crew repair?"
        assert shown(browser, ".lead") == promised
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.complaints() == []
    assert_everything_is_there(browser)
    assert pages(browser) == 1
    browser.open(tmp_path / "page.html")
    assert "What simplicity costs" in shown(browser)
    assert browser.run("document.querySelectorAll('.curve.wide .point').length") == 4
    assert "normalised" not in shown(browser)
    assert pages(browser) == 2


def assert_everything_is_there(browser: Browser) -> None:
    text = shown(browser)
    assert re.search(r"these rules 167\.1 €", text)
    assert re.search(r"best possible policy 168\.4 €", text)
    rules = browser.run("[...document.querySelectorAll('.rules .printed')].map(row => row.innerText)")
    assert len(rules) == 4
    for rule in rules:
        assert re.search(r"If wear_\d is .*, then (none|repair_1|repair_2).* % of visits.* €", " ".join(rule.split()))
    for place in ("actions", "map"):
        assert browser.run(f"document.querySelectorAll('#{place} rect').length") == 36
    for jargon in ("discount", "bound", "leaf", "leaves", "normalised", "MDP"):
        assert jargon not in text
    browser.click("summary")
    assert "Proven optimal within the gap" in shown(browser)
    browser.click("summary")
