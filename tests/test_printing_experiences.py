"""How a learned tree is printed: figures about the world and figures about the learned model, each named as such."""

from dataclasses import replace

import pytest

from omdt.printing.experiences import ON_MODEL, share
from omdt.solution import LOG, Experience, Guarantee, Interval, Judged
from solutions import LOGGED, SIMULATED, made_solution


def parts(experience: Experience, **fields: object) -> tuple[str, str]:
    """What is printed about the world, and what about the learned model."""
    text = str(made_solution(experience=experience, **fields))
    before, after = text.split("\n\nOn the learned model, discounted by 0.99:\n")
    return before.partition("\n\nLearned from ")[2], after


def test_the_mean_return_is_said_to_be_of_fresh_episodes_in_the_simulator():
    world, model = parts(SIMULATED)
    assert world.startswith("20,000 steps in 310 episodes of gym:CartPole-v1.\n\nIn the simulator:\n")
    assert "mean return  498.5  per episode, not discounted; 496 to 500 with 95 % confidence" in world
    assert "from 200 fresh episodes (seeds 1000000 to 1000199) that had no part in choosing the tree" in world
    assert "teacher        500  the teacher, in 200 episodes with the same seeds; 500 to 500 with 95 %" in world
    assert "0.365" not in world
    assert "498.5" not in model


def test_value_bound_and_proof_are_said_to_be_on_the_learned_model():
    _, model = parts(SIMULATED)
    assert f"exact discounted return of this tree {ON_MODEL}" in model
    assert f"no tree of depth ≤ 2 returns more {ON_MODEL}" in model
    assert f"proven optimal {ON_MODEL}" in model
    _, model = parts(SIMULATED, bound=0.4)
    assert f"not proven: {ON_MODEL} a better tree may return up to 0.035 more" in model
    assert model.endswith("chosen by its episodes in the simulator, so another one may be better on the model.")
    assert "better on the model" not in parts(SIMULATED)[1]


def test_a_log_guarantees_a_return_with_its_confidence():
    world, model = parts(LOGGED)
    assert "In the world that the log records:\n" in world
    assert "guaranteed  -3.25  with 90 % confidence, this tree's discounted return is at least this" in world
    assert "its bound       ∞  no tree of depth ≤ 2 has a higher guaranteed return from this log" in world
    assert "discounted return by weighted importance sampling; 0.5 to 2.5 with 90 % confidence" in world
    assert "worth 12.5 episodes played by the tree itself" in world
    assert "covered      97 %  of the tree's discounted time" in world
    assert "3 times at least" in world
    assert "guaranteed" not in model
    _, model = parts(LOGGED, bound=0.4)
    assert model.endswith("The guaranteed return comes first, so another tree may be better on the model.")


def test_a_guarantee_over_cells_says_what_it_assumes():
    guarantee = Guarantee(1.0, 2.0, 0.9, exact=False)
    world, _ = parts(replace(LOGGED, guarantee=guarantee))
    assert "at least this, as far as steps that start in the same cell of observations are alike" in world
    assert "alike" not in parts(LOGGED)[0]


def test_an_estimate_that_all_episodes_support_is_said_to_be_worth_no_fewer():
    whole = replace(LOGGED, judged=(Judged("estimated model", Interval(1.5, 0.5, 2.5, 0.9, 50), 50.0),))
    assert "discounted return by estimated model; 0.5 to 2.5 with 90 % confidence\n" in parts(whole)[0]


def test_a_solution_of_the_problem_itself_mentions_no_learned_model():
    assert "learned" not in str(made_solution()).lower()


def test_names_of_sources_cannot_reach_the_terminal_as_markup_or_control_characters():
    text = str(made_solution(experience=Experience(origin=LOG, source="[bold]\x1b[31m.csv", steps=1, episodes=1)))
    assert "Learned from 1 step in 1 episode of [bold]" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(("part", "text"), [(1.0, "100 %"), (0.95, "95 %"), (0.99999, "99.99 %"), (0.0, "0 %")])
def test_less_than_the_whole_is_never_written_as_the_whole(part, text):
    assert share(part) == text
