"""The page in a real browser: it opens nodes, folds trees, switches features, is printed, and asks for nothing."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_cases import hostile, tree_for

import omdt
from browser import Browser
from omdt.report import write_report
from omdt.report.analysis import analyse
from omdt.tree import TreePolicy
from solutions import solution_of
from strategies import environment

pytestmark = [pytest.mark.needs("jinja2"), pytest.mark.needs_program("chromium")]

WIDTHS = [1280, 390]
"""A desk and a phone."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def written(folder: Path, solution: omdt.Solution, mdp: omdt.MDP) -> Path:
    path = folder / "page.html"
    write_report(solution, mdp, path)
    return path


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    mdp = environment("frozenlake_4x4")
    solution = omdt.solve(mdp, max_depth=2)
    return solution, mdp, written(tmp_path_factory.mktemp("lake"), solution, mdp)


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A page with the 1,199 leaves of the copied optimal policy of tic-tac-toe."""
    mdp = environment("tictactoe_vs_random")
    solution = omdt.solve(mdp, method="copy")
    assert solution.tree.n_leaves > 500
    return solution.tree, written(tmp_path_factory.mktemp("copied"), solution, mdp)


def shown(browser: Browser) -> list[int]:
    """The nodes that can be seen."""
    return browser.run(
        "[...document.querySelectorAll('.node')].filter(box => box.getClientRects().length)"
        ".map(box => Number(box.dataset.node))"
    )


def text(browser: Browser, selector: str) -> str:
    return browser.run(f"document.querySelector('{selector}').textContent")


def choose(browser: Browser, menu: str, choice: str) -> None:
    browser.run(
        f"(menu => {{ menu.value = '{choice}'; menu.dispatchEvent(new Event('change')); }})"
        f"(document.getElementById('{menu}'))"
    )


def assert_quiet(browser: Browser, page: Path) -> None:
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]


def test_the_browser_hears_what_goes_wrong(browser, tmp_path):
    page = tmp_path / "wrong.html"
    page.write_text("<img src='http://127.0.0.1:9/x.png'><script>console.error('wrong'); throw Error('worse')</script>")
    browser.open(page)
    complaints = " ".join(browser.complaints())
    assert "wrong" in complaints
    assert "worse" in complaints
    assert browser.requests() == [page.as_uri(), "http://127.0.0.1:9/x.png"]


def test_the_page_runs_no_script_and_loads_no_picture_but_its_own(browser, lake, tmp_path):
    page = tmp_path / "tampered.html"
    foreign = "<script>document.title = 'owned'</script><img src='http://127.0.0.1:9/x.png'>"
    page.write_text(lake[-1].read_text(encoding="utf-8").replace("<header>", foreign + "<header>"), encoding="utf-8")
    browser.open(page)
    assert browser.run("document.title") == "frozenlake_4x4: a decision tree policy"
    assert "Content Security Policy" in " ".join(browser.complaints())
    assert browser.run("document.querySelectorAll('#map rect').length") > 0


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_its_window_and_asks_for_nothing(browser, lake, width, dark):
    *_, page = lake
    browser.open(page, width=width, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") != dark
    assert_quiet(browser, page)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_node_opens(browser, lake, width):
    solution, _, page = lake
    browser.open(page, width=width)
    assert browser.run("document.getElementById('node').hidden")
    tree = solution.tree
    for i in reversed(range(tree.n_nodes)):
        browser.click(f"[data-node='{i}']")
        title = tree.question(i) if tree.feature[i] >= 0 else tree.action_names[tree.action[i]]
        assert text(browser, "#node h3") == title
        assert browser.run("document.querySelector('.node.open').dataset.node") == str(i)
    assert not browser.run("document.getElementById('node').hidden")
    assert "100 % of visits" in text(browser, "#node")
    assert_quiet(browser, page)


def test_a_node_opens_and_folds_by_the_keyboard(browser, lake):
    solution, _, page = lake
    browser.open(page)
    browser.run("document.querySelector('[data-node=\"0\"]').focus()")
    browser.press("Enter")
    assert text(browser, "#node h3") == solution.tree.question(0)
    assert shown(browser) == list(range(solution.tree.n_nodes))
    browser.press("Enter")
    assert shown(browser) == [0]
    assert f"{solution.tree.n_leaves} leaves below" in text(browser, '[data-node="0"]')
    browser.press("Enter")
    assert shown(browser) == list(range(solution.tree.n_nodes))
    assert_quiet(browser, page)


def test_the_tree_zooms(browser, lake):
    *_, page = lake
    browser.open(page)
    width = "document.getElementById('drawing').getBoundingClientRect().width"
    before = browser.run(width)
    browser.click("#zoom-in")
    assert browser.run(width) == pytest.approx(1.25 * before, rel=1e-3)
    browser.click("#zoom-out")
    browser.click("#zoom-out")
    assert browser.run(width) == pytest.approx(0.8 * before, rel=1e-3)
    browser.click("#zoom-one")
    full = browser.run("document.getElementById('drawing').viewBox.baseVal.width")
    assert browser.run(width) == pytest.approx(full, rel=1e-3)


def test_the_mouse_drags_the_tree_without_opening_it(browser, lake):
    *_, page = lake
    browser.open(page)
    for _ in range(8):
        browser.click("#zoom-in")
    browser.run("document.querySelector('[data-node=\"0\"]').scrollIntoView({block: 'center', inline: 'center'})")
    before = browser.run("document.getElementById('tree').scrollLeft")
    browser.drag("[data-node='0']", -50, 0)
    assert browser.run("document.getElementById('tree').scrollLeft") == pytest.approx(before + 50, abs=2)
    assert browser.run("document.getElementById('node').hidden")
    browser.click("[data-node='0']")
    assert not browser.run("document.getElementById('node').hidden")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_features_of_the_map_switch(browser, tmp_path, width):
    mdp = environment("traffic_intersection")
    tree = TreePolicy.leaf(1, mdp.feature_names, mdp.action_names)
    solution = solution_of(mdp, tree)
    page = written(tmp_path, solution, mdp)
    browser.open(page, width=width)
    share = analyse(solution, mdp).share
    for x, y in ((1, 2), (3, 0), (2, "")):
        choose(browser, "map-x", str(x))
        choose(browser, "map-y", str(y))
        columns = mdp.features[:, [x] if y == "" else [x, y]]
        cells, cell = np.unique(columns, axis=0, return_inverse=True)
        assert browser.run("document.querySelectorAll('#map rect').length") == len(cells)
        most = np.bincount(cell.ravel(), weights=share).max()
        assert f"has {100 * most:.3g} % of visits" in text(browser, "#map-cell")
        browser.click("#map rect")
        assert f"{mdp.feature_names[x]} = " in text(browser, "#map-cell")
        assert text(browser, "#map-cell").endswith("; wait")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert_quiet(browser, page)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_huge_tree_starts_with_its_most_visited_part(browser, copied, width):
    tree, page = copied
    browser.open(page, width=width)
    assert 20 < len(shown(browser)) < 40
    folded = browser.run("Number(document.querySelector('.node.folded:not(.away)').dataset.node)")
    browser.click(f"[data-node='{folded}']")
    assert {int(tree.left[folded]), int(tree.right[folded])} <= set(shown(browser))
    browser.click("#unfold")
    assert len(shown(browser)) == tree.n_nodes
    assert_quiet(browser, page)


OVERLAPS = """(() => {
    const rows = new Map();
    for (const box of document.querySelectorAll(".node rect")) {
        const { left, right, top, width } = box.getBoundingClientRect();
        if (width) rows.set(Math.round(top), [...(rows.get(Math.round(top)) ?? []), [left, right]]);
    }
    let overlaps = 0;
    for (const row of rows.values()) {
        row.sort((one, other) => one[0] - other[0]);
        for (let i = 1; i < row.length; i++) overlaps += row[i][0] < row[i - 1][1];
    }
    return overlaps;
})()"""
OUTSIDE = """[...document.querySelectorAll(".node")].filter(node => {
    const box = node.querySelector("rect").getBoundingClientRect();
    return [...node.querySelectorAll("text")].some(text => {
        const { left, right, top, bottom, width } = text.getBoundingClientRect();
        return width && (left < box.left || right > box.right || top < box.top - 1 || bottom > box.bottom + 1);
    });
}).map(node => node.dataset.node)"""


@pytest.mark.parametrize("unfolded", [False, True])
def test_boxes_hold_their_texts_and_do_not_overlap(browser, copied, unfolded):
    _, page = copied
    browser.open(page)
    if unfolded:
        browser.click("#unfold")
    assert browser.run(OVERLAPS) == 0
    assert browser.run(OUTSIDE) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_stay_text(browser, tmp_path, width):
    solution, mdp = hostile()
    page = written(tmp_path, solution, mdp)
    browser.open(page, width=width)
    for i in range(solution.tree.n_nodes):
        browser.run(
            f"document.querySelector('[data-node=\"{i}\"]').dispatchEvent(new Event('click', {{bubbles: true}}))"
        )
    for j in range(mdp.n_features):
        choose(browser, "map-x", str(j))
        browser.run("document.querySelector('#map rect').dispatchEvent(new Event('click'))")
    assert "owned" not in browser.run("document.title").split(":")[-1]
    assert browser.run("document.querySelectorAll('img, script:not(#data)').length") == 1
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert_quiet(browser, page)


def test_jargon_is_folded_away_until_it_is_asked_for(browser, lake):
    *_, page = lake
    browser.open(page)
    shown = "document.body.innerText.toLowerCase()"
    for word in ("discount", "bound", "leaf", "leaves", "gap", "proven optimal", "state"):
        assert word not in browser.run(shown), word
    browser.click("summary")
    assert "proven optimal. no tree of depth at most 2 returns more" in browser.run(shown)
    assert browser.run("document.querySelector('.curve').getClientRects().length") == 1
    assert_quiet(browser, page)


@pytest.mark.parametrize("width", WIDTHS)
def test_both_maps_have_the_same_cells_and_point_at_one_another(browser, lake, width):
    solution, mdp, page = lake
    browser.open(page, width=width)
    cells = "[...document.querySelectorAll('#{} [data-cell]')].map(cell => cell.dataset.cell)"
    assert browser.run(cells.format("actions")) == browser.run(cells.format("map"))
    colours = browser.run("JSON.parse(document.getElementById('data').textContent).map.colours")
    actions = solution.tree.actions(mdp.features)
    for s in np.flatnonzero(~mdp.terminal):
        x, y = mdp.features[s].astype(int)
        fill = browser.run(f"document.querySelector('#actions [data-cell=\"{x} {y}\"] rect').getAttribute('fill')")
        assert fill == colours[actions[s]]
    browser.click("#actions [data-cell='1 0']")
    assert browser.run("[...document.querySelectorAll('.picked')].map(cell => cell.dataset.cell)") == ["1 0", "1 0"]
    assert text(browser, "#map-cell").startswith("X = 1, Y = 0: ")


def pages(pdf: bytes) -> int:
    assert pdf.startswith(b"%PDF")
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def test_the_main_part_is_printed_on_one_page(browser, lake, copied, tmp_path):
    assert pages_of(browser, lake[-1]) == 1
    assert pages_of(browser, copied[-1]) == 1
    mdp = environment("admission")
    many = solution_of(mdp, tree_for(mdp, seed=2, max_depth=5))
    assert many.tree.n_leaves > 8
    assert pages_of(browser, written(tmp_path, many, mdp)) == 1
    assert "other rules" in browser.run("document.querySelector('.on-paper').textContent")


def pages_of(browser: Browser, page: Path) -> int:
    browser.open(page)
    return pages(browser.pdf())


def test_opened_details_are_printed_after_the_main_part(browser, lake):
    *_, page = lake
    browser.open(page)
    browser.click("summary")
    assert pages(browser.pdf()) >= 2


def test_a_tree_of_one_leaf_has_a_page(browser, tmp_path):
    mdp = replace(environment("frozenlake_4x4"), name="one leaf")
    solution = solution_of(mdp, TreePolicy.leaf(2, mdp.feature_names, mdp.action_names), trace=())
    page = written(tmp_path, solution, mdp)
    browser.open(page)
    browser.click(".node")
    assert text(browser, "#node h3") == "Right"
    assert_quiet(browser, page)
