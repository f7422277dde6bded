"""Objects print themselves: as the command line prints them, and as HTML in notebooks, with every name escaped."""

import subprocess
import sys
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import omdt
from data_frames import use_pandas
from omdt.printing import text_of
from omdt.printing.notebook import table_html
from strategies import environment

WICKED = '<script>alert("a&b")</script>\n\x1b[31m[bold]'


class Cells(HTMLParser):
    """The texts of HTML, and its tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def without_times(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if " s)" not in line]


@pytest.fixture(scope="module")
def solution() -> omdt.Solution:
    return omdt.solve(environment("frozenlake_4x4"), max_depth=2)


def wicked_mdp() -> omdt.MDP:
    mdp = environment("frozenlake_4x4")
    names = tuple(f"{WICKED}{f}" for f in range(mdp.n_features))
    actions = tuple(f"{WICKED}{a}" for a in range(mdp.n_actions))
    return replace(mdp, name=WICKED, feature_names=names, action_names=actions)


@pytest.mark.parametrize(
    ("command", "made"),
    [
        (("solve", "--depth", 2), lambda mdp: omdt.solve(mdp, max_depth=2)),
        (("front", "--leaves", 3), lambda mdp: omdt.front(mdp, max_leaf_nodes=3)),
        (("alternatives", "--depth", 1), lambda mdp: omdt.alternatives(mdp, max_depth=1)),
    ],
)
def test_print_shows_what_the_command_line_shows(run, monkeypatch, command, made):
    name, *flags = command
    status, output, _ = run(name, "frozenlake_4x4", *flags)
    assert status == 0
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    printed = str(made(environment("frozenlake_4x4")))
    assert without_times(printed) == without_times(output.rstrip())
    assert "\x1b" not in printed


def test_a_representation_is_one_line(solution):
    found = omdt.front(environment("frozenlake_4x4"), max_leaf_nodes=3)
    assert repr(solution) == (
        "<Solution of 'frozenlake_4x4': value 0.365167, bound 0.365167, proven; 3 decision nodes, depth 2>"
    )
    assert repr(found) == "<Front of 'frozenlake_4x4': the best trees of 1, 2 and 3 leaves>"
    assert repr(omdt.Splits.of(environment("frozenlake_4x4"))) == "<Splits: 6 questions about X and Y>"


@pytest.mark.parametrize("kind", ["mdp", "splits", "solution", "front", "alternatives"])
def test_names_are_escaped_in_notebooks(kind):
    mdp = wicked_mdp()
    made = {
        "mdp": lambda: mdp,
        "splits": lambda: omdt.Splits.of(mdp),
        "solution": lambda: omdt.solve(mdp, max_depth=2),
        "front": lambda: omdt.front(mdp, max_leaf_nodes=3),
        "alternatives": lambda: omdt.alternatives(mdp, max_depth=2),
    }[kind]()
    html = made._repr_html_()
    assert "<script" not in html
    assert "\x1b" not in html
    assert "script" not in Cells(html).tags
    assert "alert" in "".join(Cells(html).texts)


def test_an_mdp_shows_sizes_and_names():
    texts = Cells(environment("frozenlake_4x4")._repr_html_()).texts
    assert "frozenlake_4x4" in texts
    assert "16 (5 terminal)" in texts
    assert "2: X (0 to 3), Y (0 to 3)" in texts
    assert any(text.startswith("4: Left") for text in texts)


def test_splits_show_how_many_questions_each_feature_has():
    splits = omdt.Splits.of(environment("frozenlake_4x4"), categorical=["Y"])
    assert [text for text in Cells(splits._repr_html_()).texts if text.strip()] == [
        "Questions",
        ": 7",
        *("feature", "questions", "asked", "among"),
        *("X", "3", "at most", "0.5 to 2.5"),
        *("Y", "4", "equal to", "0 to 3"),
    ]


def test_a_long_table_is_cut_and_counted():
    html = table_html("rows: many", ("",), [(str(i),) for i in range(25)])
    assert "<td>19</td>" in html
    assert "<td>20</td>" not in html
    assert "… and 5 more" in html


def test_tables_become_data_frames(monkeypatch):
    columns_of, lake = use_pandas(monkeypatch), environment("frozenlake_4x4")
    splits, found = omdt.Splits.of(lake), omdt.alternatives(lake, max_depth=1)
    columns = columns_of(splits.to_frame())
    assert columns == {
        "feature": ["X"] * 3 + ["Y"] * 3,
        "threshold": [0.5, 1.5, 2.5] * 2,
        "equality": [False] * 6,
    }
    columns = columns_of(found.to_frame())
    assert columns["value"] == found.values
    assert columns["loss"][0] == 0
    assert columns["tree"] == found.trees


@pytest.mark.parametrize("name", ["frozenlake_4x4", "xor", "traffic_intersection"])
def test_the_table_of_an_mdp_is_read_as_the_same_mdp(monkeypatch, name):
    columns_of, mdp = use_pandas(monkeypatch), environment(name).reachable()
    again = omdt.MDP.from_dataframe(columns_of(mdp.to_frame()), discount=mdp.discount)
    order = [mdp.features.tolist().index(row) for row in again.features[:, -mdp.n_features :].tolist()]
    actions = [mdp.action_names.index(action) for action in again.action_names]
    A = mdp.n_actions
    np.testing.assert_allclose(again.initial, mdp.initial[order], rtol=1e-12)
    np.testing.assert_allclose(again.rewards, mdp.rewards[order][:, actions], rtol=1e-12, atol=1e-15)
    rows = (np.array(order)[:, None] * A + actions).ravel()
    np.testing.assert_allclose(again.transitions.toarray(), mdp.transitions[rows][:, order].toarray(), rtol=1e-12)


def test_states_that_look_alike_are_numbered_in_the_table(monkeypatch):
    columns_of = use_pandas(monkeypatch)
    P = np.zeros((2, 1, 2))
    P[0, 0, 1] = P[1, 0, 0] = 1
    mdp = omdt.MDP.from_dense(P, [[1], [2]], [1, 0], [[5], [5]])
    columns = columns_of(mdp.to_frame())
    assert (columns["state"], columns["next state"]) == ([0, 1], [1, 0])
    assert columns["feature_0"] == [5, 5]


def test_importing_the_printing_room_imports_nothing_heavy():
    code = "import sys, omdt.printing; print(sorted({'numpy', 'rich.table', 'scipy'} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_text_has_no_trailing_spaces_or_lines():
    assert text_of(lambda shown, console: console.print(f"{shown}  \n\n"), "a") == "a"


@pytest.mark.needs("sklearn")
def test_a_comparison_prints_and_escapes(run):
    mdp = wicked_mdp()
    mine = {f"mine{WICKED}": [0] * mdp.n_states}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = omdt.compare(mdp, max_depth=1, seeds=2, time_limit=5, extra=mine)
    html = found._repr_html_()
    assert "<script" not in html
    assert "\x1b" not in html + str(found)
    assert "your own" in Cells(html).texts
    assert repr(found).startswith("<Comparison on ")
