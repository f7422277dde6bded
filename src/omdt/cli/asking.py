"""What is asked of a problem on the command line: its objective, and the labels that it speaks of."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from omdt.cli.messages import tell
from omdt.cli.problems import from_outside, load_problem
from omdt.errors import InputError
from omdt.source import GYMNASIUM

if TYPE_CHECKING:
    from omdt.formats.beside import Beside
    from omdt.mdp import MDP
    from omdt.objective import Objective
    from omdt.properties import Condition


class Named(NamedTuple):
    """A problem as the flags of a command name it.

    Attributes:
        problem: PROBLEM.
        settings: those of `--set`.
        discount: that of `--discount`.
        fallback: that of `--fallback`.
        property: that of `--property`.
        labels: those of `--label`.
    """

    problem: str
    settings: Sequence[str] | None = None
    discount: float | None = None
    fallback: str | None = None
    property: str | None = None
    labels: Sequence[str] | None = None


@dataclass(frozen=True)
class Question:
    """What is asked of a problem that is not read yet.

    Attributes:
        objective: None for the discounted return.
        labels: further labels of the problem.
        further: labels from beside the model, which count only if the model has none of the same name.
    """

    objective: "Objective | None" = None
    labels: "dict[str, Condition]" = field(default_factory=dict)
    further: "dict[str, Condition]" = field(default_factory=dict)


def load_asked(named: Named) -> tuple["MDP", "Objective"]:
    """The MDP and the objective that the flags name; what was assumed goes to standard error."""
    from omdt.objective import DISCOUNTED_RETURN

    question = asked(named)
    objective = question.objective
    mdp = load_problem(named.problem, named.settings, named.discount, named.fallback, objective)
    mdp = with_labels(mdp, question)
    if objective is None:
        return mdp, DISCOUNTED_RETURN.on(mdp)
    if objective.target is not None and not objective.target.states(mdp).any():
        tell(f"no state of {mdp.name} satisfies {objective.target}")
    return mdp, objective


def with_labels(mdp: "MDP", question: Question) -> "MDP":
    """The MDP with the labels of a question."""
    from omdt.properties import labelled

    mdp = labelled(mdp, question.labels)
    return labelled(mdp, {name: states for name, states in question.further.items() if name not in mdp.labels})


def asked(named: Named) -> Question:
    """What the flags ask; a model with one property of its own is asked that, unless they say otherwise.

    Raises:
        InputError: if there is no such property, or it contradicts other flags.
    """
    from omdt.objective import Objective
    from omdt.properties import parsed_labels

    labels = parsed_labels(named.labels or [])
    if named.property is None:
        return _unasked(named, labels)
    text = named.property.strip()
    is_text = "[" in text or "?" in text
    around = coming_with(named.problem, jani=not is_text)
    if not is_text:
        listed = around.chosen(text)
        text = listed.text
        tell(f"asking for {text}")
    objective = Objective.parse(text)
    _check_discount(objective, named.discount)
    return Question(objective, labels, _labels_beside(around, objective))


def _unasked(named: Named, labels: "dict[str, Condition]") -> Question:
    """What is asked without --property."""
    from omdt.objective import Objective

    chosen = any(setting.startswith(("reward=", "cost=")) for setting in named.settings or [])
    if chosen or named.discount is not None:
        return Question(None, labels)
    around = coming_with(named.problem, jani=True)
    if len(around.properties) > 1:
        tell(f"{around.file} has {len(around.properties)} properties; --property with a number or name asks for one")
    if len(around.properties) != 1:
        return Question(None, labels)
    (listed,) = around.properties
    if listed.refusal is not None:
        tell(f"the property of {around.file} cannot be asked: {listed.refusal}")
        return Question(None, labels)
    tell(
        f"asking for {listed.text}, the property of {around.file}; --property asks for another one, --discount for a "
        "discounted return"
    )
    objective = Objective.parse(listed.text)
    return Question(objective, labels, _labels_beside(around, objective))


def coming_with(problem: str, *, jani: bool = True) -> "Beside":
    """The properties that come with a model; those of JANI only if asked for, since Storm must read the file."""
    from omdt.formats.beside import Beside, beside

    path = Path(problem)
    outside = from_outside(problem) and not problem.startswith(GYMNASIUM) and os.path.isfile(path)
    return beside(path) if outside and (jani or path.suffix != ".jani") else Beside()


def _labels_beside(around: "Beside", objective: "Objective") -> "dict[str, Condition]":
    return {**around.labels_for(objective.target), **around.labels_for(objective.staying)}


def _check_discount(objective: "Objective", discount: float | None) -> None:
    """Raise if --discount and --property contradict each other."""
    if discount is None:
        return
    asks = objective.discount if objective.is_discounted else 1.0
    if asks is not None and asks != discount:
        raise InputError(
            f"--discount is {discount}, but {objective.property} has "
            f"{'no discount' if asks == 1 else f'the discount {asks!r}'}; leave one out"
        )
