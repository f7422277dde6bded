"""The page of a front in a real browser: a click or a key on a point shows its tree, without any connection."""

from dataclasses import replace
from pathlib import Path

import pytest

import omdt
from browser import Browser
from omdt.report import write_plot
from omdt.tradeoffs.front_points import Front
from strategies import environment

pytestmark = pytest.mark.needs_program("chromium")

WIDTHS = [1280, 390]
"""A desk and a phone."""

HOSTILE = "<script>alert(1)</script>&\"'\x1b[31m"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def lake() -> Front:
    return omdt.front(environment("frozenlake_4x4"), max_leaf_nodes=7)


@pytest.fixture(scope="module")
def page(lake, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("front") / "front.html"
    write_plot(lake, path)
    return path


def shown(browser: Browser) -> list[int]:
    """The points whose trees can be seen."""
    return browser.run(
        "[...document.querySelectorAll('.tree')].filter(it => it.getClientRects().length)"
        ".map(it => Number(it.dataset.point))"
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_a_click_on_a_point_shows_its_tree(browser, page, width):
    browser.open(page, width=width)
    assert shown(browser) == [4]
    browser.click(f".{'wide' if width > 600 else 'narrow'} .point[data-point='2'] .dot")
    assert shown(browser) == [2]
    assert "3 leaves" in browser.run("document.querySelector('.tree:not([hidden]) h2').textContent")
    browser.click("td button[data-point='6']")
    assert shown(browser) == [6]
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]


def test_keys_go_from_point_to_point(browser, page):
    browser.open(page)
    browser.run("document.querySelector('.wide .point.chosen').focus()")
    browser.press("ArrowRight")
    assert shown(browser) == [5]
    browser.press("ArrowLeft")
    browser.press("ArrowLeft")
    assert shown(browser) == [3]
    assert browser.run("document.activeElement.dataset.point") == "3"


def test_names_are_text(browser, lake, tmp_path):
    def renamed(solution: omdt.Solution) -> omdt.Solution:
        tree = replace(
            solution.tree,
            feature_names=(HOSTILE, *solution.tree.feature_names[1:]),
            action_names=(HOSTILE, *solution.tree.action_names[1:]),
        )
        return replace(solution, problem=HOSTILE, tree=tree)

    hostile = Front("leaves", tuple(replace(point, solution=renamed(point.solution)) for point in lake))
    path = tmp_path / "hostile.html"
    write_plot(hostile, path)
    browser.open(path)
    assert browser.complaints() == []
    assert "<script>alert(1)</script>" in browser.run("document.querySelector('h1').textContent")
    assert browser.run("document.querySelectorAll('script').length") == 1


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.needs("jinja2")
def test_the_section_of_the_report_fits_the_page(browser, lake, tmp_path, width):
    from omdt.report import write_report

    mdp = environment("frozenlake_4x4")
    path = tmp_path / "report.html"
    write_report(omdt.solve(mdp, max_leaf_nodes=4), mdp, path, front=lake)
    browser.open(path, width=width)
    assert browser.complaints() == []
    assert browser.run("document.querySelectorAll('.wide .point').length") == 7
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
