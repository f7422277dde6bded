"""The page holds what it promises, and no name gets out of its place in it."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_cases import HOSTILE, hostile, tree_for

import omdt
from omdt import MDP, errors
from omdt.errors import MissingExtraError
from omdt.report import embedded, lists, report_html, write_report
from omdt.report.analysis import analyse
from omdt.report.drawing import drawn
from omdt.tree import printable
from solutions import solution_of
from strategies import environment, mdps

pytestmark = pytest.mark.needs("jinja2")


class Parsed(HTMLParser):
    """The tags and the text of a page; the text of scripts and styles apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.inside = "", ""
        self.scripts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.text += data

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    @property
    def data(self) -> dict:
        return json.loads(self.scripts[0])


@pytest.fixture(scope="module")
def lake():
    mdp = environment("frozenlake_4x4")
    return omdt.solve(mdp, max_depth=2, gap=0), mdp


def test_the_page_tells_what_it_promises(lake):
    solution, mdp = lake
    page = Parsed(report_html(solution, mdp))
    assert "Proven optimal. No tree of depth at most 2 returns more than this one." in page.words
    for value in (solution.value, solution.optimal_return, solution.random_return):
        assert f"{value:.9g}" in page.words
    assert "omdt solve frozenlake_4x4 --depth 2 --method search --discount 0.99 --gap 0 --seed 0" in page.words
    found = analyse(solution, mdp)
    for s in np.flatnonzero(found.cost > 0):
        x, y = mdp.features[s]
        assert f"X = {x:.0f}, Y = {y:.0f} #{s}" in page.words
        assert f"{found.cost[s]:.6g}" in page.words
    assert f"it falls short by {found.shortfall:.6g}." in page.words
    assert f"the costs add up to {found.shortfall:.6g}, which is all of it" in page.words
    for i, runner_up in found.runners_up.items():
        name = mdp.action_names[runner_up.action]
        loss = f"{name} loses {runner_up.loss:.6g}" if runner_up.loss else f"{name} is as good"
        worth = f"{runner_up.loss:.4g} compared with {name}" if runner_up.loss else f"nothing {name} is as good"
        assert worth in page.words
        assert ["Next best action", loss] in page.data["nodes"][i]["facts"]


def test_commands_are_shown_as_typed(lake):
    page = Parsed(report_html(*lake, commands=["omdt solve 'a b' <x>", "omdt report\nx"]))
    assert "omdt solve 'a b' <x>" in page.text
    assert "omdt report\\nx" in page.text


def test_the_page_forbids_itself_all_but_its_own_script(lake):
    page = Parsed(report_html(*lake))
    policy = next(attributes["content"] for tag, attributes in page.tags if attributes.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/=]{44}';", policy)
    for _, attributes in page.tags:
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,"


def test_the_map_adds_up_the_visits(lake):
    solution, mdp = lake
    found = analyse(solution, mdp)
    shown = Parsed(report_html(solution, mdp)).data["map"]
    total = np.zeros((4, 4))
    for x, y, share in zip(*(feature["steps"] for feature in shown["features"]), shown["share"], strict=True):
        total[int(shown["features"][0]["labels"][x]), int(shown["features"][1]["labels"][y])] += share
    expected = np.zeros((4, 4))
    np.add.at(expected, tuple(mdp.features.astype(int).T), found.share)
    np.testing.assert_allclose(total, expected, rtol=1e-5)


def test_a_map_of_too_many_states_keeps_the_most_visited(lake, monkeypatch):
    solution, mdp = lake
    monkeypatch.setattr(embedded, "MOST_ENTRIES", 15)
    whole = np.sort(analyse(solution, mdp).share)[::-1]
    shown = Parsed(report_html(solution, mdp)).data["map"]
    assert shown["share"] == pytest.approx(whole[:5], rel=1e-5)
    assert shown["left_out"] == (~mdp.terminal).sum() - 5


@pytest.mark.parametrize("most", [3, 60])
def test_long_lists_end_in_a_sum_of_the_rest(monkeypatch, most):
    mdp = environment("blackjack")
    tree = tree_for(mdp, seed=2, max_depth=5)
    monkeypatch.setattr(lists, "MOST_ROWS", most)
    solution = solution_of(mdp, tree)
    found = analyse(solution, mdp)
    costs = np.sort(found.cost[found.cost > 0])[::-1]
    assert len(costs) > 60
    words = Parsed(report_html(solution, mdp)).words
    assert f"{len(costs) - most:,} other states {costs[most:].sum():.6g}" in words
    assert (f"{tree.n_leaves - most} other rules" in words) == (tree.n_leaves > most)


@given(mdps(), st.integers(0, 1000))
@settings(max_examples=40)
def test_any_tree_on_any_mdp_has_a_page(mdp, seed):
    tree = tree_for(mdp, seed)
    page = Parsed(report_html(solution_of(mdp, tree, bound=1e300, trace=()), mdp))
    assert "nan" not in page.words
    assert len(page.data["nodes"]) == tree.n_nodes
    assert page.words.count("If ") >= tree.n_leaves - 1


@pytest.mark.parametrize("features", [1, 3])
def test_states_that_are_all_terminal_have_a_page(features):
    mdp = MDP(np.eye(2), np.zeros((2, 1)), [1.0, 0.0], np.arange(2 * features).reshape(2, features))
    solution = omdt.solve(mdp, max_depth=1)
    assert "100 % of visits" in Parsed(report_html(solution, mdp)).words


def test_a_drawing_is_xml_with_a_box_for_each_node():
    solution, mdp = hostile()
    root = ElementTree.fromstring(drawn(solution.tree, analyse(solution, mdp)))
    boxes = root.findall("{*}g")
    assert [int(box.get("data-node")) for box in boxes] == list(range(solution.tree.n_nodes))
    leads = [int(path.get("data-to")) for path in root.findall("{*}path")]
    assert sorted(leads) == list(range(1, solution.tree.n_nodes))
    width = float(root.get("width"))
    for box in boxes:
        x = float(re.match(r"translate\((\S+) ", box.get("transform"))[1])
        half = float(box.find("{*}rect").get("width")) / 2
        assert 0 <= x - half
        assert x + half <= width


def test_names_stay_in_their_places():
    solution, mdp = hostile()
    plain = replace(
        mdp,
        feature_names=tuple(f"f{j}" for j in range(mdp.n_features)),
        action_names=tuple(f"a{j}" for j in range(mdp.n_actions)),
        name="plain",
    )
    tree = replace(solution.tree, feature_names=plain.feature_names, action_names=plain.action_names)
    ours = Parsed(report_html(solution, mdp, commands=HOSTILE))
    usual = Parsed(
        report_html(replace(solution, tree=tree, problem="p", method="m"), plain, commands=["c"] * len(HOSTILE))
    )
    assert [tag for tag, _ in ours.tags] == [tag for tag, _ in usual.tags]
    assert [set(attributes) for _, attributes in ours.tags] == [set(attributes) for _, attributes in usual.tags]
    assert ours.scripts[1] == usual.scripts[1]
    shown = [feature["name"] for feature in ours.data["map"]["features"]]
    assert shown == [printable(name) for name in HOSTILE]
    assert ours.data["map"]["actions"] == [printable(name) for name in reversed(HOSTILE)]
    for name in HOSTILE:
        assert printable(name) in ours.text


def test_the_embedded_data_cannot_end_its_script():
    solution, mdp = hostile()
    embedded = re.search(r'id="data">(.*?)</script>', report_html(solution, mdp), re.S)[1]
    assert json.loads(embedded)["map"]["actions"]
    assert not re.search("[<>&\u2028\u2029]", embedded)


def test_the_file_is_utf_8(tmp_path):
    solution, mdp = hostile()
    write_report(solution, mdp, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == report_html(solution, mdp)


def test_a_missing_extra_is_named(monkeypatch, lake):
    monkeypatch.setattr(errors, "find_spec", lambda module: None)
    with pytest.raises(MissingExtraError, match=r"omdt\[report\]"):
        report_html(*lake)
