"""The page and the notebook on a learned tree: what is about the world, and what is about the learned model."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from report_cases import HOSTILE

import omdt
from omdt.report import report_html
from omdt.report.amounts import Amounts
from omdt.report.commands import learn_command
from omdt.report.learning import learned_lead
from omdt.report.learning_curve import learning_curve
from omdt.report.words import verdict
from omdt.solution import Guarantee, Interval, Round
from omdt.source import Source
from solutions import LOGGED, SIMULATED, made_solution
from strategies import environment


@pytest.fixture(scope="module")
def lake() -> tuple[omdt.Solution, omdt.MDP]:
    mdp = environment("frozenlake_4x4")
    return omdt.solve(mdp, max_depth=2, threads=1), mdp


def flat(page: str) -> str:
    return " ".join(page.split())


def test_the_first_sentence_is_about_the_simulator_and_the_others_about_the_model():
    sentences = ["Three rules earn 67 % of what the best possible policy earns.", "No tree earns more."]
    told = learned_lead(made_solution(experience=SIMULATED), sentences, Amounts())
    assert told == [
        "In the simulator the tree returns 498.5 per episode on average, 496 to 500 with 95 % confidence.",
        "On the learned model, three rules earn 67 % of what the best possible policy earns.",
        "No tree earns more there.",
    ]
    open_ended = learned_lead(made_solution(experience=SIMULATED, bound=0.5), [*sentences, "Not known."], Amounts())
    assert open_ended[3:] == [
        "The tree was chosen by its episodes in the simulator, so another one may be better on the model."
    ]


def test_the_first_sentence_on_a_log_is_its_guarantee_with_the_confidence():
    told = learned_lead(made_solution(experience=LOGGED), ["Three rules earn 3.", "No tree earns more."], Amounts("€"))
    assert told[0] == "With 90 % confidence, the tree's discounted return in the world is at least −3.25\u00a0€."


def test_the_sentence_on_a_guarantee_over_cells_says_what_it_assumes():
    experience = replace(LOGGED, guarantee=Guarantee(1.0, 2.0, 0.9, exact=False))
    told = learned_lead(made_solution(experience=experience), ["A.", "B."], Amounts())
    assert told[0].endswith("at least 1, as far as steps that start in the same cell of observations are alike.")


def test_a_tree_without_fresh_episodes_has_no_sentence_about_the_world():
    told = learned_lead(made_solution(experience=replace(SIMULATED, interval=None)), ["A.", "B."], Amounts())
    assert told == ["On the learned model, a.", "B there."]


def test_a_proof_is_one_on_the_learned_model():
    found = verdict(made_solution(experience=SIMULATED))
    assert found.headline == "Proven optimal on the learned model"
    assert found.sentence.endswith("returns more than this one on the learned model.")
    found = verdict(made_solution(experience=SIMULATED, bound=0.5))
    assert "No tree of depth at most 2 returns more on the learned model than 0.5" in found.sentence


@pytest.mark.needs("jinja2")
def test_the_page_on_a_simulator_has_steps_episodes_rounds_and_the_learning_curve(lake):
    solution, mdp = lake
    page = flat(report_html(replace(solution, experience=SIMULATED), mdp))
    assert "learned from 20,000 steps in 310 episodes of gym:CartPole-v1" in page
    assert "from 200 fresh episodes (seeds 1000000 to 1000199) that had no part in choosing the tree" in page
    assert page.count('aria-label="learning curve"') == 2
    assert ">88</td>" in page
    assert "omdt learn gym:CartPole-v1 --depth 2 --steps 20000 --bins 12 --confidence 0.95 --discount 0.99" in page
    assert "What the log knows" not in page


@pytest.mark.needs("jinja2")
def test_the_page_on_a_log_has_its_coverage(lake):
    solution, mdp = lake
    page = flat(report_html(replace(solution, experience=LOGGED), mdp))
    assert "What the log knows of each rule" in page
    assert "X &lt;= 0: Left" in page
    assert ">120</td>" in page
    assert "learning curve" not in page


@pytest.mark.needs("jinja2")
def test_a_page_on_a_solved_problem_speaks_of_no_learning(lake):
    assert "learned" not in report_html(*lake).partition("<body>")[2].lower()


@pytest.mark.needs("jinja2")
@pytest.mark.parametrize("name", HOSTILE)
def test_the_name_of_a_source_stays_in_its_place(lake, name):
    solution, mdp = lake
    page = report_html(replace(solution, experience=replace(LOGGED, source=name)), mdp)
    assert page.count("<script") == 2
    assert "<img" not in page


def test_the_learning_curve_rises_where_the_mean_does_and_shows_the_interval():
    drawing = ElementTree.fromstring(learning_curve(SIMULATED, 720))
    named = {title.text: parent for parent in drawing.iter() for title in parent if title.tag.endswith("title")}
    first, last = (named[f"after {point.steps:,} steps: {point.mean:g} per episode"] for point in SIMULATED.rounds)
    assert float(first.get("cx")) < float(last.get("cx"))
    assert float(first.get("cy")) > float(last.get("cy"))
    assert "200 fresh episodes: 498.5 per episode, 496 to 500 with 95 % confidence" in named


def test_a_learning_curve_of_one_point_without_an_interval_can_be_drawn():
    experience = replace(SIMULATED, rounds=(Round(5, 1, 0.0, 0.0, -200.0),), steps=5, interval=None)
    assert ElementTree.fromstring(learning_curve(experience, 350)) is not None
    flat_line = replace(experience, interval=Interval(-200.0, -200.0, -200.0, 0.95, 3))
    assert "3 fresh episodes" in learning_curve(flat_line, 350)


def test_a_notebook_names_the_world_before_the_model():
    html = made_solution(experience=SIMULATED)._repr_html_()
    assert html.index("In the simulator") < html.index("498.5") < html.index("0.365")
    assert "proven optimal on the learned model" in html
    assert html.count('aria-label="learning curve"') == 1
    assert "learning curve" not in made_solution(experience=LOGGED)._repr_html_()
    assert "In the simulator" not in made_solution()._repr_html_()


def test_the_command_names_the_files_of_model_and_tree(tmp_path):
    solution = made_solution(experience=SIMULATED, source=Source(tmp_path / "model.npz"))
    words = learn_command(solution, output=tmp_path / "tree.json").split()
    assert words[:3] == ["omdt", "learn", "gym:CartPole-v1"]
    assert words[words.index("--model") + 1].endswith("model.npz")
    assert words[words.index("--output") + 1].endswith("tree.json")
