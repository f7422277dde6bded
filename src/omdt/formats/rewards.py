"""Which reward model of a file counts, and the warning that targets and properties do not unless they are asked for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from omdt.counting import counted
from omdt.errors import InputError, UnclearRewardError, warn_input
from omdt.formats.options import ReadOptions

PROPERTY_FILES = (".props", ".pctl", ".csl", ".ltl")
"""Endings of the files that hold a model's properties, beside the model and of the same name."""

NO_TARGETS = frozenset({"init", "deadlock"})
"""Labels that every tool sets by itself, so that they say nothing about targets."""

MOST_LABELS = 3
"""Maximum number of labels that a warning names."""

HOW_TO_ADD = {
    ".drn": "name a reward model below @reward_models and give every state its reward in brackets",
    ".tra": "put the rewards of states or transitions beside it, in a file that ends in .srew or .trew",
    ".jani": "give it a global transient variable of type real, whose values are the rewards",
}
"""How rewards are added to a file, by its ending; all other endings are those of the PRISM language."""

PROBABILITY, EXPECTATION = 'Pmax=? [F "goal"]', 'R{{"{}"}}min=? [F "goal"]'
"""Examples of properties."""

IN_PRISM = 'give it a block such as: rewards "reached" x=3 : 1; endrewards'


@dataclass(frozen=True)
class ChosenReward:
    """The reward model of a file that counts.

    Attributes:
        path: the file.
        name: of the reward model; it may be empty.
        column: its place among the reward models of the file.
        sign: 1 if it is maximised, −1 if it is minimised.
        asked: whether the user named it.
        silent: whether an objective says what counts, so that nothing has to be told.
        sum: what is maximised or minimised, a discounted sum or a sum.
    """

    path: Path
    name: str
    column: int
    sign: float
    asked: bool
    silent: bool = False
    sum: str = "discounted sum"

    def tell(self, amounts: Sequence[float], labels: Iterable[str], *, properties: int = 0) -> None:
        """Warn which reward counts and how, and that targets do not.

        There is no warning where the user has named the reward and the file has neither targets nor properties.

        Args:
            amounts: the rewards of all choices, times the sign.
            labels: those of the model's states.
            properties: how many properties the model's own file holds.
        """
        if self.silent:
            return
        reward = f"the reward {self.name!r}" if self.name else "the reward (it has no name)"
        here = self._ignored(labels, properties)
        if here or not self.asked:
            doing = "maximising" if self.sign > 0 else "minimising"
            shown = f" (here {' and '.join(here)})" if here else ""
            other = f"; for minimising it: cost={self.name} (on the command line --set cost={self.name})"
            if self.asked or not any(amount > 0 for amount in amounts):
                other = ""
            ask = "; objective=… (on the command line --property) asks for them" if here else ""
            warn_input(
                f"{self.path}: {doing} {reward}, its {self.sum} over all time; targets and properties are not looked "
                f"at{shown}{ask}{other}"
            )
        if not any(amounts):
            warn_input(f"{self.path}: {reward} is 0 in every state, so all trees return 0; is another one meant?")

    def _ignored(self, labels: Iterable[str], properties: int) -> list[str]:
        """The targets and properties of the model that are not looked at, in words."""
        found = [repr(label) for label in sorted(set(labels) - NO_TARGETS)]
        listed = ", ".join([*found[:MOST_LABELS], *(["…"] if len(found) > MOST_LABELS else [])])
        files = [self.path.with_suffix(ending) for ending in PROPERTY_FILES]
        return [
            *([f"the label{'s' if len(found) > 1 else ''} {listed}"] if found else []),
            *([f"{counted(properties, 'property', 'properties')} in the file"] if properties else []),
            *(str(file) for file in files if file.exists()),
        ]


def chosen_reward(path: Path, names: Sequence[str], options: ReadOptions) -> ChosenReward | None:
    """Which of a file's reward models counts: the one to maximise, or the one to minimise.

    Where an objective asks for a probability, none need count; the answer is then None if several might.
    """
    asked, name = options.objective, _named(path, options)
    probability = asked is not None and asked.is_probability
    if not names and not probability:
        what = "a discounted sum of nothing is 0" if asked is None else "a total of nothing is 0"
        raise UnclearRewardError(
            f"{path} has no rewards, and {what} whatever a tree does; {HOW_TO_ADD.get(path.suffix, IN_PRISM)}; or ask "
            f"for a probability, {_asked_by(PROBABILITY)}"
        )
    models = "reward model" if len(names) == 1 else "reward models"
    there_are = f"{path} has the {models} {', '.join(repr(name) for name in names)}"
    if name is not None and name not in names:
        raise InputError(f"{there_are}, but not {name!r}")
    if name is None and len(names) != 1:
        if probability:
            return None
        raise UnclearRewardError(
            f"{there_are}; choose one with reward=NAME (on the command line --set reward=NAME), or with cost=NAME to "
            f"keep it low; or say what is to be large or small, {_asked_by(EXPECTATION.format(names[0]))}"
        )
    column = 0 if name is None else list(names).index(name)
    sign = 1.0 if options.cost is None else -1.0
    total = "sum" if options.discount == 1 else "discounted sum"
    return ChosenReward(path, names[column], column, sign, name is not None, asked is not None, total)


def _named(path: Path, options: ReadOptions) -> str | None:
    """The name of the reward that the user has given, in one way or another."""
    reward, cost, asked = options.reward, options.cost, options.objective
    if reward is not None and cost is not None:
        raise InputError(f"{path}: give either reward={reward} or cost={cost}, not both")
    if asked is None:
        return reward if cost is None else cost
    if cost is not None:
        raise InputError(
            f"{path}: cost={cost} asks for a discounted sum, but {asked.property} for something else; leave one out"
        )
    if reward is not None and asked.reward not in (None, reward):
        raise InputError(f"{path}: reward={reward} and {asked.property} name different rewards; leave one out")
    return asked.reward if reward is None else reward


def _asked_by(example: str) -> str:
    """How an objective is given, in Python and on the command line."""
    return f"as in objective='{example}' (on the command line --property '{example}')"
