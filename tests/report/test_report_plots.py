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
from omdt.report import plot_regions, plot_trace, plot_tree, plot_visits
from omdt.report.analysis import analyse
from omdt.report.colours import action_colours
from omdt.tree import Nodes, TreePolicy, printable
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
def test_early_values_that_are_much_worse_are_outside_of_the_axis(lake, pyplot):
    solution = replace(lake[0], trace=((0.1, -1e6, 9.0), (0.2, 0.2, 0.5)), seconds=0.4)
    low, high = plot_trace(solution).get_ylim()
    assert -1 < low < solution.value < solution.optimal_return < high


@pytest.mark.needs("matplotlib")
def test_plotted_visits_are_those_of_every_cell(lake, pyplot):
    solution, mdp = lake
    expected = np.zeros((4, 4))
    np.add.at(expected, tuple(mdp.features.astype(int).T), 100 * analyse(solution, mdp).share)
    for policy in (solution, solution.tree):
        ax = plot_visits(policy, mdp, "Y", "X")
        (image,) = ax.get_images()
        np.testing.assert_allclose(image.get_array(), expected, atol=1e-9)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("Y", "X")
    by_default = plot_visits(solution, mdp)
    assert (by_default.get_xlabel(), by_default.get_ylabel()) == ("X", "Y")
    for plot in (plot_visits, plot_regions):
        with pytest.raises(InputError, match="no feature 'Z'; there are 'X', 'Y'"):
            plot(solution, mdp, "X", "Z")


@pytest.mark.needs("matplotlib")
def test_visits_of_another_objective_end_where_it_does(pyplot):
    mdp = environment("frozenlake_4x4")
    mdp = replace(mdp, labels={"home": mdp.features[:, 0] >= 2})
    solution = omdt.solve(mdp, max_depth=1, objective='Pmax=? [F "home"]')
    (image,) = plot_visits(solution, mdp).get_images()
    assert image.get_array().shape[1] == 2
    assert image.get_array().sum() == pytest.approx(100)


def colour_at(ax, x: float, y: float) -> str:
    """The colour of the cell of the plane in which a point lies."""
    from matplotlib.colors import to_hex

    (mesh,) = (found for found in ax.collections if hasattr(found, "get_coordinates"))
    corners = mesh.get_coordinates()
    column = np.searchsorted(corners[0, :, 0], x) - 1
    row = np.searchsorted(corners[:, 0, 1], y) - 1
    return to_hex(mesh.cmap(mesh.norm(mesh.get_array()[row, column])))


@pytest.mark.needs("matplotlib")
def test_plotted_regions_have_the_colour_of_the_action_in_every_state(lake, pyplot):
    solution, mdp = lake
    _, given = pyplot.subplots()
    ax = plot_regions(solution, mdp, ax=given)
    assert ax is given
    colours = action_colours(solution.tree)
    for (x, y), action in zip(mdp.features, solution.tree.actions(mdp.features), strict=True):
        assert colour_at(ax, x, y) == colours[action]
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"Left", "Up", "Down", "Right"}
    assert ax.get_ylim() == (3.5, -0.5)
    assert ax.get_title() == ""
    (lines,) = (found for found in ax.collections if not hasattr(found, "get_coordinates"))
    # X ≤ 0 over the whole height, Y ≤ 1 to the left of it, Y ≤ 2 to the right.
    points = np.concatenate(lines.get_segments())
    assert set(points[:, 0]) == {-0.5, 0.5, 3.5}
    assert set(points[:, 1]) == {-0.5, 1.5, 2.5, 3.5}


@pytest.mark.needs("matplotlib")
def test_other_features_of_the_plane_have_fixed_values(pyplot):
    mdp = environment("traffic_intersection")
    grown = Nodes()
    root = grown.split(0, 0.5, False)
    grown.leaf(0, (root, "left"))
    inner = grown.split(1, 3.0, True, (root, "right"))
    grown.leaf(1, (inner, "left"))
    grown.leaf(0, (inner, "right"))
    whole = tuple(bool(mark) for mark in (mdp.features == np.floor(mdp.features)).all(axis=0))
    tree = grown.tree(TreePolicy, mdp.feature_names, mdp.action_names, whole)
    colours = action_colours(tree)
    ax = plot_regions(tree, mdp, "cars_left", "cars_right", at={"green_side": 1})
    assert ax.get_title() == "where green_side = 1"
    for x in range(6):
        assert colour_at(ax, x, 0.0) == colours[1 if x == 3 else 0]
    other = plot_regions(tree, mdp, "cars_left", "cars_right", at={"green_side": 0})
    assert [text.get_text() for text in other.get_legend().get_texts()] == ["switch_light"]


@pytest.mark.needs("matplotlib")
def test_an_only_feature_is_drawn_as_a_row(pyplot):
    mdp = environment("inventory_management")
    solution = solution_of(mdp, omdt.TreePolicy.leaf(3, mdp.feature_names, mdp.action_names))
    for plot in (plot_regions, plot_visits):
        ax = plot(solution, mdp)
        ax.figure.canvas.draw()
        assert (ax.get_xlabel(), ax.get_ylabel(), list(ax.get_yticks())) == ("inventory", "", [])


@pytest.mark.needs("matplotlib")
def test_names_are_drawn_as_they_are(pyplot):
    mdp = replace(environment("frozenlake_4x4"), feature_names=("$x", "\\frac{"), action_names=("_$", "$$", "^_", "\n"))
    solution = solution_of(mdp, omdt.TreePolicy.leaf(3, mdp.feature_names, mdp.action_names))
    for plot in (plot_regions, plot_visits):
        ax = plot(solution.tree, mdp, *mdp.feature_names)
        ax.figure.canvas.draw()
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x", "\\frac{")
    first = omdt.TreePolicy.leaf(0, mdp.feature_names, mdp.action_names)
    assert [text.get_text() for text in plot_regions(first, mdp).get_legend().get_texts()] == ["_$"]
    tree_ax = plot_tree(solution.tree)
    tree_ax.figure.canvas.draw()
    assert [text.get_text() for text in tree_ax.texts] == ["\\n"]


def test_a_missing_extra_is_named(monkeypatch, lake):
    solution, mdp = lake
    monkeypatch.setattr(errors, "find_spec", lambda module: None)
    for plot in (
        lambda: plot_tree(solution.tree),
        lambda: plot_trace(solution),
        lambda: plot_visits(solution, mdp),
        lambda: plot_regions(solution, mdp),
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


@pytest.mark.needs("matplotlib")
def test_ticks_are_short(pyplot):
    mdp = environment("mountain_car")
    tree = omdt.TreePolicy.leaf(0, mdp.feature_names, mdp.action_names)
    ax = plot_visits(tree, mdp)
    labels = [text.get_text() for text in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    assert len(labels) > 10
    assert max(map(len, labels)) <= len("-0.00636")
