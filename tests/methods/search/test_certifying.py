"""Certifying: what can have no certificate is refused at once, and margins widen where evidence is missing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import omdt
from omdt import Splits
from omdt.errors import FalseClaimError, InputError, InputWarning
from omdt.methods.search import certifying
from omdt.methods.search.certifying import ERRORS, certified, check_certifiable
from omdt.methods.search.evidence.grounds import StoppedError
from omdt.methods.search.evidence.measures import Statement
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import to_policy
from omdt.methods.search.rounds import Rounds
from omdt.methods.search.settings import DEFAULTS, SearchSettings
from omdt.task import Size, Task
from omdt.tree import TreePolicy
from omdt.watch import Watch
from search_parts import model_of, rounds_of
from strategies import environment


def lake() -> Task:
    return Task.over_thresholds(environment("frozenlake_4x4"), Size(2))


def test_a_small_task_over_plain_questions_is_certifiable(tmp_path: Path) -> None:
    check_certifiable(Model.of(lake(), DEFAULTS, Watch()), tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_takes_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="directory"):
        check_certifiable(Model.of(lake(), DEFAULTS, Watch()), tmp_path / "nowhere" / "c")


def test_the_number_of_states_does_not_matter(tmp_path: Path) -> None:
    few = SearchSettings(dense_states=2)
    check_certifiable(Model.of(lake(), few, Watch()), tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_questions_that_divide_alike_are_refused(tmp_path: Path) -> None:
    mdp = environment("frozenlake_4x4")
    splits = Splits.of(mdp)
    twice = np.array([0, 0, 1])
    doubled = replace(
        splits, feature=splits.feature[twice], threshold=splits.threshold[twice], equality=splits.equality[twice]
    )
    with pytest.raises(InputError, match="1 of the 3 questions divide the states as others do"):
        check_certifiable(Model.of(Task(mdp, doubled, Size(1)), DEFAULTS, Watch()), tmp_path / "c")


@pytest.fixture
def proof() -> tuple[Rounds, TreePolicy]:
    """A finished search and its tree."""
    rounds = rounds_of(model_of(environment("frozenlake_4x4"), 1))
    while not rounds.done:
        rounds.round(lambda: None)
    incumbent = rounds._incumbent
    assert incumbent.tree is not None
    return rounds, to_policy(incumbent.tree, incumbent.model.task.splits, incumbent.model.mdp)


class Prover:
    """Stands for `prove`: fails some times, and remembers what it was to prove."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.statements = list(errors), list[Statement]()

    def __call__(self, path: Path, knowledge: Knowledge, statement: Statement) -> float:
        self.statements.append(statement)
        if self.errors:
            raise self.errors.pop(0)
        return 7.0


def test_the_certificate_proves_a_bound_within_the_gap(proof: tuple[Rounds, TreePolicy], tmp_path: Path) -> None:
    rounds, tree = proof
    bound = certified(rounds, rounds._incumbent, tree, rounds.bound, tmp_path / "c")
    value = rounds._incumbent.value
    assert value <= bound <= value + 1e-4 * abs(value)
    assert (tmp_path / "c").exists()


def test_margins_widen_until_the_evidence_is_enough(
    proof: tuple[Rounds, TreePolicy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds, tree = proof
    prover = Prover(*(FalseClaimError("no evidence") for _ in ERRORS[1:]))
    monkeypatch.setattr(certifying, "prove", prover)
    # With no gap at all the margin is the rounding of the optimal values.
    rounds._incumbent.gap = 0.0
    while not rounds.done:
        rounds.round(lambda: None)
    assert certified(rounds, rounds._incumbent, tree, rounds.bound, tmp_path / "c") == 7.0
    rooms = [statement.room for statement in prover.statements]
    assert len(rooms) == len(ERRORS)
    assert rooms == sorted(rooms)
    for statement in prover.statements:
        assert statement.target >= statement.value == rounds._incumbent.value
        assert not statement.raised


def test_evidence_that_is_missing_at_the_widest_margin_is_an_error(
    proof: tuple[Rounds, TreePolicy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds, tree = proof
    monkeypatch.setattr(certifying, "prove", Prover(*(FalseClaimError("no evidence") for _ in ERRORS)))
    with pytest.raises(FalseClaimError, match="no evidence"):
        certified(rounds, rounds._incumbent, tree, rounds.bound, tmp_path / "c")


def test_after_an_interrupt_the_bound_is_kept_and_the_missing_file_is_named(
    proof: tuple[Rounds, TreePolicy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds, tree = proof
    monkeypatch.setattr(certifying, "prove", Prover(StoppedError()))
    with pytest.warns(InputWarning, match="c was not written because of an interrupt"):
        assert certified(rounds, rounds._incumbent, tree, rounds.bound, tmp_path / "c") == rounds.bound


def test_the_bound_of_an_unfinished_search_is_proven_nearly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = rounds_of(model_of(omdt.make("frozenlake_8x8"), 2))
    rounds.round(lambda: None)
    assert not rounds.done
    prover = Prover()
    monkeypatch.setattr(certifying, "prove", prover)
    incumbent = rounds._incumbent
    assert incumbent.tree is not None
    tree = to_policy(incumbent.tree, incumbent.model.task.splits, incumbent.model.mdp)
    certified(rounds, incumbent, tree, rounds.bound, tmp_path / "c")
    (statement,) = prover.statements
    assert statement.raised
    assert statement.target == pytest.approx(rounds.bound, rel=1e-3)
    assert statement.target >= rounds.bound
