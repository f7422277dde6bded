"""A task is what was asked: it fits its MDP, and a solution leads back to it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omdt
from omdt import MDP, InputError, Splits
from omdt.norms import norms
from omdt.questions import questions_of, splits_of
from omdt.rules import AvailableOnly
from omdt.task import Size, Task
from strategies import environment, mdps
from tasks import LABELS, random_questions


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (Size(), ""),
        (Size(2), "depth ≤ 2"),
        (Size(None, 1), "at most 1 leaf"),
        (Size(3, 5), "depth ≤ 3 and at most 5 leaves"),
    ],
)
def test_a_size_in_words(size: Size, words: str) -> None:
    assert size.words == words
    assert size.limited == bool(words)


def test_numbers_of_any_integer_type_are_sizes() -> None:
    assert Size(np.int64(2), np.int32(3)) == Size(2, 3)
    assert type(Size(np.int64(2)).max_depth) is int


def test_splits_of_another_mdp_are_refused() -> None:
    other = Splits.of(environment("frozenlake_4x4"))
    with pytest.raises(InputError, match="the splits are of another MDP"):
        Task(environment("xor"), other, Size(1))


def test_what_is_shared_is_computed_once() -> None:
    mdp = environment("frozenlake_4x4")
    task = Task(mdp, Splits.of(mdp, categorical=mdp.feature_names[:1]), Size(1), rules=(AvailableOnly(),))
    assert task.sides is task.sides
    assert np.array_equal(task.sides, task.splits.sides())
    assert task.questions is task.questions
    assert task.questions == questions_of(mdp, task.splits)
    assert task.allowed is None
    assert (task.unavailable, task.further_rules) == ("forbid", ())
    assert task.norms is norms(mdp)
    assert task.observations is task.splits.observations


def test_thresholds_on_every_feature_need_no_statement() -> None:
    mdp = environment("frozenlake_4x4")
    assert Task.over_thresholds(mdp, Size(1)).questions is None
    assert Task(mdp, Splits.of(mdp), Size(1)).questions is None


@given(mdps(max_states=7, observations=("distinct", "repeated")), st.integers(0, 10**6))
@settings(max_examples=60)
def test_a_solution_leads_back_to_its_task(mdp: MDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    categorical, predicates = random_questions(mdp, rng)
    labels = LABELS[: predicates.shape[1]]
    asked = [name for name in mdp.feature_names if name in categorical or rng.random() < 0.7]
    splits = Splits.of(mdp, features=asked, categorical=categorical, predicates=predicates, labels=labels)
    solution = omdt.solve(mdp, max_depth=1, splits=splits, unavailable="forbid", node_limit=5)
    task = Task.of(mdp, solution)
    assert task.size == Size(1)
    assert task.rules == (AvailableOnly(),)
    assert task.questions == solution.questions
    assert np.array_equal(task.sides, splits.sides())
    assert np.array_equal(task.observations, splits.observations)


def test_questions_of_another_problem_are_refused() -> None:
    mdp, other = environment("frozenlake_4x4"), replace(environment("xor"), feature_names=("a", "b"))
    questions = questions_of(mdp, Splits.of(mdp, categorical=mdp.feature_names[:1]))
    with pytest.raises(InputError, match="this is not the problem that was solved: it has no feature"):
        splits_of(questions, other)
