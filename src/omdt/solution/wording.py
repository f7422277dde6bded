"""How results speak of an objective: what is done, what a better tree does, and by how much."""

import math
from dataclasses import dataclass

from omdt.errors import InputError
from omdt.objective import DISCOUNTED_RETURN, Objective
from omdt.properties import Kind
from omdt.solution.figures import MIN

GUARANTEED_RETURN = "guaranteed discounted return"
"""What is maximised where probabilities are known as intervals: the discounted return in the worst case."""


@dataclass(frozen=True)
class Wording:
    """The words for an objective.

    Attributes:
        what: what is maximised or minimised, as in `expected time until done`.
        minimised: whether it is to be small.
        verb: what a policy does with it, with and without an s: returns, needs, earns, has, guarantees.
        noun: what the verb needs to make sense, such as `a probability`; may be empty.
        target: what an infinite total misses; None if it cannot be infinite for that reason.
        default: whether it is the discounted return, of which nothing need be said.
        named: whether it is asked by a property, whose words are too long to be repeated.
    """

    what: str
    minimised: bool
    verb: tuple[str, str]
    noun: str = ""
    target: str | None = None
    default: bool = False
    named: bool = False

    @property
    def doing(self) -> str:
        """As in `minimising the expected time until done`."""
        return f"{'minimising' if self.minimised else 'maximising'} the {self.what}"

    @property
    def better(self) -> str:
        """What a better tree does, as in `needs less`."""
        if self.noun:
            return f"{self.verb[0]} a {'lower' if self.minimised else 'higher'} {self.noun}"
        return f"{self.verb[0]} {'less' if self.minimised else 'more'}"

    def room(self, excess: float, spelled: str) -> str:
        """By how much a better tree may be better, to be read after `a better tree may`."""
        up_to = "" if math.isinf(excess) else f" up to {spelled}"
        if self.noun:
            return f"{self.verb[1]} a {self.noun}{up_to} {'lower' if self.minimised else 'higher'}"
        return f"{self.verb[1]}{up_to or ' infinitely'} {'less' if self.minimised else 'more'}"


def wording(objective: str | None, sense: str) -> Wording:
    """The words for what a solution records as its objective."""
    minimised = sense == MIN
    if objective == GUARANTEED_RETURN:
        return Wording(objective, minimised, ("guarantees", "guarantee"))
    try:
        found = DISCOUNTED_RETURN if objective is None else Objective.parse(objective)
    except InputError:
        return Wording(str(objective), minimised, ("has", "have") if minimised else ("returns", "return"))
    if found == DISCOUNTED_RETURN:
        return Wording(found.words, minimised, ("returns", "return"), default=True)
    if found.is_probability:
        return Wording(found.words, minimised, ("has", "have"), "probability", named=True)
    verb = ("needs", "need") if minimised else ("earns", "earn")
    missed = found.words.partition(" until ")[2] if found.kind is Kind.TOTAL else ""
    return Wording(found.words, minimised, verb, target=missed or None, named=True)
