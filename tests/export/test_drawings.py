"""Drawn trees: boxes in rows without overlap, questions above their sides, everything within the picture."""

import re
import zlib
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omdt import errors
from omdt.errors import InputError, MissingExtraError
from omdt.export import export_tree, to_pdf, to_png, to_svg
from omdt.export.layout import GAP, PADDING, laid_out
from omdt.export.svg import text_width
from omdt.tree import Nodes, TreePolicy
from strategies import trees


def measured(seed: int):
    """Widths from nothing to far wider than everything else, the same for the same text."""
    return lambda text: float(zlib.crc32(f"{seed}{text}".encode()) % 300)


@given(trees(max_depth=7), st.integers(0, 100))
def test_boxes_keep_their_distance_and_stay_within_the_picture(tree, seed):
    layout = laid_out(tree, measured(seed))
    left, right = layout.x - layout.box_width / 2, layout.x + layout.box_width / 2
    assert left.min() == pytest.approx(PADDING)
    assert right.max() == pytest.approx(layout.width - PADDING)
    for level in range(tree.depth + 1):
        row = np.flatnonzero(layout.level == level)
        row = row[np.argsort(layout.x[row])]
        assert np.all(left[row[1:]] - right[row[:-1]] >= GAP - 1e-6)


@given(trees(max_depth=7), st.integers(0, 100))
def test_questions_stand_midway_above_yes_on_the_left_and_no_on_the_right(tree, seed):
    layout = laid_out(tree, measured(seed))
    inner = np.flatnonzero(tree.feature != -1)
    yes, no = tree.left[inner], tree.right[inner]
    np.testing.assert_allclose(layout.x[inner], (layout.x[yes] + layout.x[no]) / 2, atol=1e-6)
    assert np.all(layout.x[yes] < layout.x[no])
    assert np.all(layout.level[yes] == layout.level[inner] + 1)
    assert np.all(layout.level[no] == layout.level[inner] + 1)


@given(trees(max_depth=6))
def test_mirrored_trees_have_mirrored_drawings(tree):
    mirrored = replace(tree, left=tree.right, right=tree.left)
    one, other = laid_out(tree, measured(0)), laid_out(mirrored, measured(0))
    np.testing.assert_allclose(one.x, other.width - other.x, atol=1e-6)


def test_subtrees_stand_as_close_as_they_can():
    grown = Nodes()
    root = grown.split(0, 0.0, False)
    left = grown.split(0, -1.0, False, (root, "left"))
    for side in ("left", "right"):
        grown.leaf(0, (left, side))
    grown.leaf(1, (root, "right"))
    tree = grown.tree(TreePolicy, ("x",), ("a", "b"))
    layout = laid_out(tree, lambda text: 10.0)
    width = 10 + 2 * PADDING
    assert layout.x[4] - layout.x[1] == pytest.approx(width + GAP)
    assert layout.width == pytest.approx(2 * PADDING + width + 1.5 * (width + GAP))


def balanced(depth: int) -> TreePolicy:
    inner, nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    i = np.arange(nodes)
    return TreePolicy(
        feature=np.where(i < inner, 0, -1),
        threshold=np.where(i < inner, i, 0.0),
        left=np.where(i < inner, 2 * i + 1, -1),
        right=np.where(i < inner, 2 * i + 2, -1),
        action=np.where(i < inner, -1, i % 20),
        feature_names=("x",),
        action_names=tuple(f"a{a}" for a in range(20)),
    )


@given(trees(max_depth=5))
def test_an_svg_has_a_box_for_each_node_and_a_line_for_each_answer(tree):
    root = ElementTree.fromstring(to_svg(tree))
    assert len(root.findall("{*}g/{*}rect")) == tree.n_nodes
    assert len(root.findall("{*}g/{*}path")) == tree.n_nodes - 1
    answers = [text.text for text in root.findall("{*}g/{*}text") if text.text in ("yes", "no")]
    assert answers == ["yes"] * tree.n_decision_nodes + ["no"] * tree.n_decision_nodes
    width, height = float(root.get("width")), float(root.get("height"))
    for box in root.findall("{*}g/{*}rect"):
        assert 0 <= float(box.get("x")) <= width - float(box.get("width"))
        assert 0 <= float(box.get("y")) <= height - float(box.get("height"))


def test_leaves_of_an_action_have_a_colour_of_their_own():
    root = ElementTree.fromstring(to_svg(balanced(3)))
    fills = [box.get("fill") for box in root.findall("{*}g/{*}rect")]
    assert len(set(fills[7:])) == 8
    assert set(fills[:7]) == {"#ffffff"}


def test_a_huge_tree_is_drawn():
    text = to_svg(balanced(13))
    assert text.count("<rect") == 2**14 - 1


def test_long_names_are_cut_and_shown_whole_as_a_tooltip():
    tree = TreePolicy.leaf(0, ("x",), ("n" * 500,))
    root = ElementTree.fromstring(to_svg(tree))
    assert root.findtext("{*}g/{*}title") == "n" * 500
    assert root.findtext("{*}g/{*}text") == "n" * 20 + "…" + "n" * 20
    assert float(root.get("width")) < 600


def test_wide_characters_get_wider_boxes():
    assert text_width("行く") > text_width("ab") > text_width("il") > text_width("")
    assert text_width("e\u0301") == text_width("e")


@pytest.mark.needs("matplotlib")
def test_pictures_are_of_their_kind_and_the_same_every_time():
    tree = balanced(3)
    png, pdf = to_png(tree), to_pdf(tree)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert pdf.startswith(b"%PDF-")
    assert (to_png(tree), to_pdf(tree)) == (png, pdf)
    width, height = (int.from_bytes(png[i : i + 4]) for i in (16, 20))
    assert width > 400 < height


@pytest.mark.needs("matplotlib")
def test_a_png_too_large_to_open_is_refused():
    with pytest.raises(InputError, match=r"pixels; export it to svg or pdf"):
        to_png(balanced(10))


@pytest.mark.needs("matplotlib")
def test_drawing_leaves_no_figure_and_no_setting_behind():
    import matplotlib
    from matplotlib import _pylab_helpers

    before = dict(matplotlib.rcParams)
    export_tree(balanced(1), "png")
    assert dict(matplotlib.rcParams) == before
    assert _pylab_helpers.Gcf.get_num_fig_managers() == 0


@pytest.mark.parametrize(("to", "extra"), [("png", "plots"), ("pdf", "plots"), ("onnx", "onnx")])
def test_a_missing_extra_is_named(monkeypatch, to, extra):
    monkeypatch.setattr(errors, "find_spec", lambda module: None)
    with pytest.raises(MissingExtraError, match=rf"omdt\[{extra}\]"):
        export_tree(balanced(1), to)


def test_text_is_the_trees_own():
    tree = balanced(2)
    assert export_tree(tree, "text") == tree.to_text() + "\n"
    assert re.search(r"^└── no: ", export_tree(tree, "text"), re.M)


def test_an_unknown_format_lists_those_there_are():
    with pytest.raises(InputError, match=r"no export to 'cobol'; there are text, json, dot, svg, .*dtcontrol"):
        export_tree(balanced(1), "cobol")
