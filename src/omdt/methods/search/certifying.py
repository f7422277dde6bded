"""Certifying: whether a bound can have a certificate, and the certificate of a bound that was reached."""

from pathlib import Path

from omdt.certificate import model_of
from omdt.check import Questions, UnreadableError, read_asked
from omdt.errors import FalseClaimError, InputError, warn_input
from omdt.files import check_writable
from omdt.methods.search.coarse.coarse_search import CoarseSearch
from omdt.methods.search.evidence.grounds import StoppedError
from omdt.methods.search.evidence.measures import MARGIN, Statement
from omdt.methods.search.evidence.ranges import RangeRecorder
from omdt.methods.search.evidence.recorder import prove
from omdt.methods.search.evidence.stakes import stated_rules
from omdt.methods.search.evidence.vectors import NoEvidenceError
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.model import Model
from omdt.methods.search.rounds import Rounds
from omdt.methods.search.turns import Proof
from omdt.solution import tolerated_excess
from omdt.tree import TreePolicy

NEARLY = 1e-3
"""The part of the gap by which the proof of an unfinished search may miss the bound that was reached."""

ERRORS = (8.0, 1e3, 1e5)
"""Margins of a certificate in errors of the optimal values; the next one is tried where evidence is missing."""


def check_certifiable(model: Model, path: Path) -> None:
    """Raise before long work starts if there can be no certificate."""
    splits, questions = model.task.splits, model.task.questions
    check_writable(path)
    try:
        read_asked(model_of(model.task.mdp), model.task.asked, model.mdp.discount)
    except UnreadableError as error:
        raise InputError(f"a certificate cannot state the objective: {error}; leave it out") from None
    stated = Questions() if questions is None else questions
    apart = model.task.stated is not None and model.task.stated.about_columns
    known = sum(1 for _ in stated.distinct(splits.observations, splits.feature_names, apart))
    if known != len(splits):
        raise InputError(
            f"{len(splits) - known} of the {len(splits)} questions divide the states as others do, or not at "
            "all; a certificate needs each question once, as Splits.of makes them"
        )


def certified(proof: Proof, incumbent: Incumbent, tree: TreePolicy, bound: float, path: Path) -> float:
    """Write the certificate of the bound that was reached; the bound that it proves, which is a little higher."""
    if isinstance(proof, CoarseSearch):
        return _by_ranges(proof, bound, path)
    assert isinstance(proof, Rounds), "there are two proofs that are recorded"
    return _by_cases(proof, incumbent, tree, bound, path)


def _by_ranges(search: CoarseSearch, bound: float, path: Path) -> float:
    """Finish the certificate that was written while the coarse search ran."""
    assert isinstance(search.observer, RangeRecorder), "the search was not recorded"
    try:
        return search.observer.finish(search, path)
    except StoppedError:
        warn_input(f"{path} was not written because of an interrupt")
        return bound
    except NoEvidenceError:
        warn_input(f"{path} was not written: no vector that a certificate can hold shows one of the bounds")
        return bound
    finally:
        search.observer.stop()


def _by_cases(rounds: Rounds, incumbent: Incumbent, tree: TreePolicy, bound: float, path: Path) -> float:
    """Explore once more, and write what closes every case."""
    model, value = incumbent.model, incumbent.value
    # A bound that was not lowered any further is reached again only approximately.
    unfinished = bound + NEARLY * (bound - value)
    policy = tree.actions(model.task.splits.observations)
    asked = tolerated_excess(value, incumbent.gap, model.scale)
    for errors in ERRORS:
        # Where the gap is next to nothing, the rounding of the values needs room, which the target makes for it.
        room = max(asked, errors * model.optimal.error / MARGIN)
        tight = value + max(0.5 * asked, asked - 1.01 * MARGIN * room)
        target = min(incumbent.target, tight) if rounds.done else unfinished
        task = model.task
        statement = Statement(
            policy, value, target, room, not rounds.done, task.questions, task.asked, stated_rules(task)
        )
        try:
            return prove(path, rounds.explorers.knowledge, statement)
        except StoppedError:
            warn_input(f"{path} was not written because of an interrupt")
            return bound
        except FalseClaimError:
            if errors == ERRORS[-1]:
                raise
    raise AssertionError("the last attempt returns or raises")
