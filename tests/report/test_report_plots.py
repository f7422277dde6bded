"""Figures and what a notebook shows: the right numbers in the right places, names as they are."""

import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from report_cases import hostile

import omdt
from omdt import InputError, errors
from omdt.errors import MissingExtraError
from omdt.report import plot_grid, plot_trace, plot_tree
from omdt.report.analysis import analyse
from omdt.tree import printable
from solutions import solution_of
from strategies import environment


@pytest.fixture(scope="module")
def lake():
    mdp = environment("frozenlake_4x4")
    return omdt.solve(mdp, max_depth=2, gap=0), mdp


@pytest.fixture
def pyplot():
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.mark.needs("matplotlib")
def test_a_plotted_tree_has_a_text_for_each_node(lake, pyplot):
    tree = lake[0].tree
    ax = plot_tree(tree)
    texts = [text.get_text() for text in ax.texts]
    assert len(texts) == tree.n_nodes + 2 * tree.n_decision_nodes
    assert tree.question(0) in texts


@pytest.mark.needs("matplotlib")
def test_a_tree_fits_into_given_axes_with_smaller_texts(lake, pyplot):
    tree = lake[0].tree
    figure, axes = pyplot.subplots(1, 2, figsize=(6, 2))
    assert plot_tree(tree, ax=axes[0]) is axes[0]
    figure.canvas.draw()
    frame = axes[0].get_window_extent()
    for text in axes[0].texts:
        assert text.get_fontsize() < 13
        box = text.get_window_extent()
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1


@pytest.mark.needs("matplotlib")
def test_a_plotted_trace_has_value_and_bound_at_their_seconds(lake, pyplot):
    solution = replace(lake[0], trace=((0.1, 0.1, 9.0), (0.2, 0.2, 0.5)), seconds=0.4, bound=0.4)
    lines = {line.get_label(): line for line in plot_trace(solution).get_lines()}
    assert lines["value"].get_xdata().tolist() == [0.1, 0.2, 0.4]
    assert lines["value"].get_ydata().tolist() == [0.1, 0.2, solution.value]
    assert lines["bound"].get_ydata().tolist() == [solution.optimal_return, 0.5, 0.4]
    _, ax = pyplot.subplots()
    assert plot_trace(solution, ax=ax) is ax


@pytest.mark.needs("matplotlib")
def test_a_plotted_grid_has_the_visits_of_every_cell(lake, pyplot):
    solution, mdp = lake
    ax = plot_grid(mdp, solution.tree, "Y", "X")
    (image,) = ax.get_images()
    expected = np.zeros((4, 4))
    np.add.at(expected, tuple(mdp.features.astype(int).T), 100 * analyse(solution, mdp).share)
    np.testing.assert_allclose(image.get_array(), expected, atol=1e-9)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Y", "X")
    with pytest.raises(InputError, match="no feature 'Z'; there are 'X', 'Y'"):
        plot_grid(mdp, solution.tree, "X", "Z")


@pytest.mark.needs("matplotlib")
def test_names_are_drawn_as_they_are(pyplot):
    mdp = replace(environment("frozenlake_4x4"), feature_names=("$x", "\\frac{"), action_names=("$", "$$", "^_", "\n"))
    solution = solution_of(mdp, omdt.TreePolicy.leaf(3, mdp.feature_names, mdp.action_names))
    ax = plot_grid(mdp, solution.tree, *mdp.feature_names)
    ax.figure.canvas.draw()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x", "\\frac{")
    tree_ax = plot_tree(solution.tree)
    tree_ax.figure.canvas.draw()
    assert [text.get_text() for text in tree_ax.texts] == ["\\n"]


def test_a_missing_extra_is_named(monkeypatch, lake):
    solution, mdp = lake
    monkeypatch.setattr(errors, "find_spec", lambda module: None)
    for plot in (
        lambda: plot_tree(solution.tree),
        lambda: plot_trace(solution),
        lambda: plot_grid(mdp, solution.tree, "X", "Y"),
    ):
        with pytest.raises(MissingExtraError, match=r"omdt\[plots\]"):
            plot()


def test_a_notebook_shows_the_figures_and_the_tree(lake):
    solution, _ = lake
    assert ElementTree.fromstring(solution.tree._repr_svg_()).tag.endswith("svg")
    assert solution._repr_svg_() == solution.tree._repr_svg_()
    shown = solution._repr_html_()
    assert solution.tree._repr_svg_() in shown
    assert f"<td>{solution.value:.9g}</td>" in shown
    assert "proven optimal. No tree of depth at most 2 returns more" in shown


def test_names_stay_in_their_places_in_a_notebook():
    solution, _ = hostile()
    shown = ElementTree.fromstring(f"<div>{solution._repr_html_()}</div>")
    assert shown.findtext("p/b") == printable(solution.problem)
    assert len(shown.findall(".//{*}rect")) == solution.tree.n_nodes


def test_a_notebook_needs_no_extra():
    code = """
import sys
for module in ("jinja2", "markupsafe", "matplotlib"):
    sys.modules[module] = None
import omdt
mdp = omdt.make("frozenlake_4x4")
solution = omdt.solve(mdp, method="copy")
print(len(solution._repr_html_()) > len(solution._repr_svg_()) > 1000)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
