"""The report: every table and figure on a page that fits a desk and a phone and asks nobody for anything."""

import re
import shutil
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from reproduce_cases import made_up, made_up_records
from rich.console import Console

from browser import Browser
from omdt import planning
from omdt.reproduce.engines import LocalProcesses
from omdt.reproduce.figures import FIGURES
from omdt.reproduce.grid import Grid, Run, problem
from omdt.reproduce.lakes import walked
from omdt.reproduce.making import write
from omdt.reproduce.page import page_html
from omdt.reproduce.pieces import PIECES
from omdt.reproduce.progress import Display
from omdt.reproduce.results import Results
from omdt.reproduce.running import Failure

pytestmark = [pytest.mark.needs("jinja2"), pytest.mark.needs("matplotlib")]

GRID = Grid(seeds=1, budget=5.0)
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&lt;"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """All of a report on runs that did not take place, one of which fell short and one of which failed."""
    folder = tmp_path_factory.mktemp("report")
    gone, worse = Run("xor", "milp", 4, 0, 5.0), Run("xor", "search", 2, 0, 5.0)
    records = [made_up(worse, 0.5, 1.0) if it.run == worse else it for it in made_up_records(GRID) if it.run != gone]
    results = Results(GRID, records, [Failure(gone, HOSTILE)])
    page = write(results, "all", tuple(PIECES), folder, command=f"omdt reproduce {HOSTILE}", missing=1)
    assert page == folder / "index.html"
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(folder) -> str:
    return (folder / "index.html").read_text(encoding="utf-8")


def test_every_piece_is_on_the_page_and_in_files_of_its_own(folder, page):
    for piece in PIECES:
        assert f'<section id="{piece}">' in page
    assert len(list((folder / "figures").glob("figure-trees-*.svg"))) == 26
    for piece in PIECES:
        if piece.startswith("table"):
            assert (folder / "tables" / f"{piece}.csv").read_text().startswith("environment")
            assert r"\begin{tabular}" in (folder / "tables" / f"{piece}.tex").read_text()
    drawings = sorted((folder / "figures").glob("*.svg"))
    assert [path.with_suffix(".png").read_bytes()[:4] for path in drawings] == [b"\x89PNG"] * len(drawings)
    for path in drawings:
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_the_page_counts_and_names_what_falls_short(page):
    text = re.sub(r"\s+", " ", page)
    assert "51 of 52 cells" in text
    assert "25 of 52 cells" in text
    assert "37 of 52 cells" in text
    assert "xor depth 2 (0.50, paper 1.00)" in text
    assert "1 run is not finished" in text


def test_no_two_elements_share_an_identifier(page):
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r"url\(#([^)]+)\)", page)) | set(re.findall(r'href="#([^"]+)"', page)) <= set(identifiers)


def test_what_users_and_errors_say_is_text(page):
    assert HOSTILE not in page
    assert page.count("&lt;/script&gt;&lt;script&gt;document.title=&#39;owned&#39;") >= 3
    assert "<script" not in page


def test_no_cell_of_the_page_is_empty(page):
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page, re.S)
    assert len(cells) == 13 * 17 + 52 * 7 + 52 * 5
    assert all(re.sub("<[^>]*>", "", cell).strip() for cell in cells)


@pytest.mark.needs_program("chromium")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_its_window_and_needs_no_network(browser, folder, width, dark):
    browser.open(folder / "index.html", width=width, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == [(folder / "index.html").as_uri()]
    assert browser.run("document.title") == "Optimal decision tree policies: the paper, reproduced"
    assert browser.run("document.documentElement.scrollWidth") <= width
    # Tables and drawings that are wider than the window scroll by themselves.
    inside = browser.run(
        "[...document.querySelectorAll('.scroll, .drawing, figcaption, h3')]"
        ".every(box => box.getBoundingClientRect().right <= innerWidth && box.getBoundingClientRect().width > 250)"
    )
    assert inside
    assert browser.run("document.querySelectorAll('.drawing svg').length") == 26 + 4
    assert browser.run(
        "[...document.querySelectorAll('.drawing svg')].every(it => it.getBoundingClientRect().height > 90)"
    )


def test_a_page_without_runs_says_so():
    results = Results(Grid(("xor",), 1, 5.0), [])
    text = page_html(results, [], {}, command="omdt reproduce", missing=7)
    assert "7 runs are not finished" in text
    assert "cells</dd>" not in text


@pytest.mark.parametrize("piece", [name for name in FIGURES if name != "figure-topologies"])
def test_a_figure_whose_runs_are_missing_is_left_out(piece):
    assert FIGURES[piece](Results(GRID, [])) == []


def test_figures_are_the_same_every_time_and_whatever_matplotlib_is_set_to():
    from matplotlib import rc_context

    results = Results(GRID, made_up_records(GRID))
    before = FIGURES["figure-topologies"](results)
    with rc_context({"font.size": 30, "axes.facecolor": "red", "text.usetex": False}):
        assert FIGURES["figure-topologies"](results) == before


def test_walks_reach_the_goal_as_often_as_the_paper_says_of_the_optimal_policy():
    mdp = problem("frozenlake_12x12")
    success, steps = walked("frozenlake_12x12", planning.greedy(planning.q_values(mdp, planning.optimal_values(mdp))))
    assert 0.9 < success < 0.94
    for start, end in steps:
        assert np.abs(mdp.features[start] - mdp.features[end]).sum() == 1


def test_walks_that_are_expected_never_to_arrive_do_not():
    mdp = problem("frozenlake_4x4")
    success, steps = walked("frozenlake_4x4", np.full(mdp.n_states, mdp.action_names.index("Up")))
    assert 0 <= success < 0.05
    assert sum(steps.values()) > 0


def test_progress_shows_on_a_terminal_and_is_quiet_elsewhere(tmp_path):
    runs = [Run("xor", "search", depth, 0, 60.0) for depth in (1, 2)]
    keys = {run: str(run.depth) for run in runs}
    (tmp_path / "2").write_text("3.5 4.5")
    kept = [made_up(Run("xor", "viper", 1, seed, None), 1.0, 1.0) for seed in range(3)]
    engine = LocalProcesses(2)
    shutil.rmtree(engine.folder)
    engine.folder = str(tmp_path)
    shown = {}
    for terminal in (True, False):
        stream = StringIO()
        console = Console(file=stream, force_terminal=terminal, width=100, color_system=None)
        with Display(console, runs, kept, engine, keys) as display:
            display.under_way(runs)
            if terminal:
                display._live.refresh()
            display.finished(made_up(runs[0], 1.0, 1.0))
            display.under_way(runs[1:])
        shown[terminal] = stream.getvalue()
    assert shown[False] == ""
    assert "3/5" in shown[True]
    assert "4/5" in shown[True]
    assert "about 0:01:00 left" in shown[True]
    assert "about 0:00:01 left" in shown[True]
    assert "value 3.5   bound 4.5" in shown[True]
    assert "xor depth 1 search seed 0" in shown[True]
