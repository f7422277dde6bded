"""No name breaks an export: the output still compiles, plays the same, and carries the name itself."""

import ctypes
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from players import PLAYERS, assert_plays_like, c_library, node, onnx_session, python_module
from test_exports_play import every_language

from omdt.export import EXPORTS, export_tree
from omdt.tree import TreePolicy, printable
from strategies import random_tree

NASTY = [
    *('"', "'", '"""', "'''", "\\", "\\\\", 'a\\"b', "\\n", "\n", "\r\n", "\t", "\x00", "\x1b[31m", "\x7f", "\u2028"),
    *("*/", "/*", "//", "/* */ int main(void);", "#", "?>", "<?php", "??/", "??'", "%s%n", "{}", "{0}", "${x}", "`"),
    *("</script><script>alert(1)</script>", "<!--", "-->", "]]>", "&amp;", "&lt;", "<b>", "\\N", "\\L", "a -> b"),
    *("", " ", "x y", "x_y", "x-y", "X_Y", "X Y", "_", "__", "1", "1x", "$", "$x^2$", "a" * 300, "x'y", "policy"),
    *("é", "größe", "行く", "😀", "e\u0301", "ﬁ", "\u202e", "half \ud800", "\udfff", "__proto__", "constructor"),
    *("int", "return", "class", "def", "if", "None", "true", "false", "init", "X", "module", "endmodule", "P"),
    *("observation", "FEATURES", "ACTIONS", "FEATURE_X", "ACTION_X", "NUMBER_0", "feature_0", "action_0"),
    *("main", "linux", "unix", "NULL"),
]
names = st.one_of(st.sampled_from(NASTY), st.text(max_size=12))


@st.composite
def named_trees(draw: st.DrawFn) -> TreePolicy:
    features = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    actions = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tree = random_tree(rng, len(features), len(actions), max_depth=3)
    return replace(tree, feature_names=tuple(features), action_names=tuple(actions))


def tree_of_all_nasty_names() -> TreePolicy:
    tree = random_tree(np.random.default_rng(2), len(NASTY), len(NASTY), max_depth=9)
    assert tree.n_leaves > 30
    return replace(tree, feature_names=tuple(NASTY), action_names=tuple(reversed(NASTY)))


def observations(tree: TreePolicy, count: int = 20) -> np.ndarray:
    return np.random.default_rng(0).integers(-3, 7, (count, len(tree.feature_names))) / 2


@every_language
@given(tree=named_trees())
@example(tree=tree_of_all_nasty_names())
@settings(max_examples=15)
def test_an_export_plays_the_same_under_any_names(tmp_path_factory, language, tree):
    assert_plays_like(language, tree, observations(tree), tmp_path_factory.mktemp("names"))


@given(tree=named_trees())
@example(tree=tree_of_all_nasty_names())
def test_every_text_is_utf_8(tree):
    for to in EXPORTS:
        if to not in ("png", "pdf", "onnx"):
            text = export_tree(tree, to)
            assert text.encode().decode() == text
            assert text.endswith("\n")


@given(tree=named_trees())
@example(tree=tree_of_all_nasty_names())
def test_python_has_the_names(tree):
    for to in ("python", "sklearn"):
        module = python_module(tree, to) if to == "python" else _names_of_script(tree)
        assert tuple(module["FEATURES"]) == tree.feature_names
        assert tuple(module["ACTIONS"]) == tree.action_names


def _names_of_script(tree: TreePolicy) -> dict:
    """The names of the script alone, so that this runs without scikit-learn."""
    head = export_tree(tree, "sklearn").split("\n\n\ndef ")[0].replace("import numpy as np", "")
    namespace: dict = {}
    exec(head, namespace)
    return namespace


@pytest.mark.needs_program("node")
def test_javascript_has_the_names(tmp_path):
    tree = tree_of_all_nasty_names()
    module = node(tree, observations(tree), tmp_path)
    assert tuple(module["FEATURES"]) == tree.feature_names
    assert tuple(module["ACTIONS"]) == tree.action_names


def test_javascript_can_stand_inside_a_page():
    text = export_tree(tree_of_all_nasty_names(), "javascript")
    assert text.isascii()
    assert "</" not in text
    assert "<!" not in text


@pytest.mark.needs_program("gcc")
def test_c_has_the_names_in_utf_8(tmp_path):
    tree = tree_of_all_nasty_names()
    library = c_library(tree, tmp_path)
    for symbol, expected in (("policy_features", tree.feature_names), ("policy_actions", tree.action_names)):
        found = (ctypes.c_char_p * len(expected)).in_dll(library, symbol)
        for text, name in zip(found, expected, strict=True):
            assert text == name.encode("utf-8", "backslashreplace").split(b"\x00")[0]


@pytest.mark.needs("onnxruntime")
def test_onnx_has_the_names():
    tree = tree_of_all_nasty_names()
    properties = onnx_session(tree).get_modelmeta().custom_metadata_map
    assert tuple(json.loads(properties["feature_names"])) == tree.feature_names
    assert tuple(json.loads(properties["action_names"])) == tree.action_names


@given(tree=named_trees())
@example(tree=tree_of_all_nasty_names())
def test_dot_has_the_tree_and_its_names(tree):
    """A reader of the subset of DOT that the export writes."""
    header, *lines, end, nothing = export_tree(tree, "dot").split("\n")
    assert (header, end, nothing) == ("digraph policy {", "}", "")
    label = r'\[label="((?:[^"\\]|\\["\\])*)"(?:, fillcolor="#[0-9a-f]{6}")?\];'
    nodes, edges = {}, {}
    for line in lines[2:]:
        if found := re.fullmatch(r"    n(\d+) " + label, line):
            nodes[int(found[1])] = re.sub(r"\\(.)", r"\1", found[2]).replace("&amp;", "&")
        else:
            found = re.fullmatch(r'    n(\d+) -> n(\d+) \[label="(yes|no)"\];', line)
            assert found, line
            edges[int(found[1]), found[3]] = int(found[2])
    for i in range(tree.n_nodes):
        if tree.feature[i] == -1:
            assert nodes[i] == printable(tree.action_names[tree.action[i]])
            assert (i, "yes") not in edges
        else:
            assert nodes[i] == tree.question(i)
            assert (edges[i, "yes"], edges[i, "no"]) == (tree.left[i], tree.right[i])
    assert len(nodes) == tree.n_nodes


@given(tree=named_trees())
@example(tree=tree_of_all_nasty_names())
def test_svg_has_the_names(tree):
    root = ElementTree.fromstring(export_tree(tree, "svg"))
    titles = [title.text or "" for title in root.iterfind("{*}g/{*}title")]
    expected = [
        printable(tree.action_names[tree.action[i]]) if tree.feature[i] == -1 else tree.question(i)
        for i in range(tree.n_nodes)
    ]
    assert titles == expected


@pytest.mark.needs("matplotlib")
def test_pictures_are_drawn_whatever_the_names():
    tree = tree_of_all_nasty_names()
    assert export_tree(tree, "pdf").startswith(b"%PDF")


def test_players_and_exports_are_the_same_languages():
    drawn = {"text", "dot", "svg", "png", "pdf"}
    assert {language.removesuffix(" script") for language in PLAYERS} == EXPORTS.keys() - drawn
