"""Statement: the rules of a solution as its file states them, and what they mean for the states of a model.

    forbid, require            ["ACTION: condition", …]     which action no leaf names, or every leaf names, where
    features, without, categorical   [name, …]              which questions are asked (the solution states them as well)
    root                       name                         of the column that the first question is about
    max_features               number                       of columns that the questions are about
    max_leaves                 {action: number, …}          of leaves that name an action
    monotone, order            ["NAME", "NAME:down", …]     a larger value never means a lower (higher) action
    keep                       nested nodes                 a tree that stays, but for places that are open
    prices, prices_once        {name: number, …}            of a question per use, and of asking about a column at all
    at_most                    ["NAME <= NUMBER", …]        limits on the totals of further rewards
    min_share                  number                       share of the visits that every leaf has at least

"every" stands for all names that are not mentioned. Conditions are about states that can be reached.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .conditions import Reader
from .model import Model
from .orders import Order
from .questions import Group
from .reading import Bools, Floats, Json, UnreadableError, finite, readable, typed

LISTS = ("features", "without", "categorical", "forbid", "require", "monotone", "order", "at_most")
NUMBERS = ("prices", "prices_once", "max_leaves")
KNOWN = (*LISTS, *NUMBERS, "max_features", "root", "min_share", "keep")
EVERY = "every"
TOLERANCE = 1e-9  # part of a limit, or of 1 if that is more, by which a total may exceed it; likewise shares of visits
SMALLEST_FACTOR = 1e-100  # smallest price, limit or multiplier that is not 0, so that no product underflows


@dataclass(frozen=True, eq=False)
class Ceiling:
    """A limit on the expected total of some costs."""

    name: str
    costs: Floats  # [S, A] per step
    limit: float  # with what rounding may do to an exact tie


class Statement:
    """The rules that a solution, or the head of a certificate, states; nothing states that there are none."""

    def __init__(self, content: Json) -> None:
        self.content = {} if content is None else typed(content, dict, "the statement of the rules")
        for name in self.content:
            readable(name in KNOWN, f"{name!r:.40} is no rule")
        self.texts = {name: _texts(self.content.get(name, []), name) for name in LISTS}
        self.numbers = {name: _numbers(self.content.get(name, {}), name) for name in NUMBERS}
        self.most_features = _limit(self.content.get("max_features"), "max_features")
        self.least = _limit(self.content.get("min_share"), "min_share") or 0.0
        readable(self.least <= 1, f"min_share is {self.least}, more than 1")
        root = self.content.get("root")
        self.root = None if root is None else typed(root, str, "root")
        self.keep = self.content.get("keep")

    @property
    def about_questions(self) -> bool:
        """Whether some rule says which questions may be asked."""
        return any(name in self.content for name in ("features", "without", "categorical"))

    @property
    def about_columns(self) -> bool:
        """Whether some rule tells columns apart, even where questions about them divide the states alike."""
        return any(name in self.content for name in ("root", "max_features", "prices", "prices_once"))

    def groups(self, names: tuple[str, ...]) -> tuple[Group, ...]:
        """The questions that the rules leave, by the columns that they are about."""
        for name in (*self.texts["features"], *self.texts["without"], *self.texts["categorical"]):
            readable(name in names, f"a rule names the unknown feature {name!r:.80}")
        only = self.texts["features"] if "features" in self.content else names
        asked = [name for name in names if name in only and name not in self.texts["without"]]
        return tuple((name, name in self.texts["categorical"], None) for name in asked)

    @property
    def count(self) -> int:
        """How many rules there are besides those about questions, each of which the solution has in words, too."""
        lists = sum(len(self.texts[name]) for name in ("forbid", "require", "monotone", "at_most"))
        prices = any(self.numbers["prices"].values()) or any(self.numbers["prices_once"].values())
        single = (self.root is not None, self.most_features is not None, self.keep is not None, self.least > 0)
        return lists + sum(single) + bool(self.numbers["max_leaves"]) + prices

    def words(self) -> str:
        """The rules as they are stated; empty without any."""
        return "; ".join(f"{name}: {value!r:.200}" for name, value in self.content.items() if value not in ([], {}))

    def allowed(self, model: Model, *, available_only: bool) -> Bools:
        """[S, A] what a leaf may name that a state comes to."""
        allowed = np.ones(model.rewards.shape, dtype=np.bool_)
        reached = model.reached(allowed)
        if available_only and model.available is not None:
            allowed &= model.available | ~reached[:, None]
        for text in self.texts["forbid"]:
            action, states = _on_action(text, model)
            allowed[reached & states, action] = False
        for text in self.texts["require"]:
            action, states = _on_action(text, model)
            allowed[reached & states, :action] = allowed[reached & states, action + 1 :] = False
        return allowed

    def orders(self, model: Model, columns: Floats, names: tuple[str, ...]) -> list[Order]:
        """What the rules about monotone actions compare."""
        order = self.texts["order"] or list(model.action_names)
        readable(sorted(order) == sorted(model.action_names), "order must have every action once")
        rank = np.array([order.index(name) for name in model.action_names])
        found = []
        for text in self.texts["monotone"]:
            name, _, direction = (text, "", "up") if text in names else text.rpartition(":")
            readable(name in names and direction in ("up", "down"), f"monotone names the unknown feature {text!r:.80}")
            reached = model.reached(np.ones(model.rewards.shape, dtype=np.bool_))
            signed = rank if direction == "up" else -rank
            found.append(Order(columns, names.index(name), reached, signed))
        return found

    def ceilings(self, model: Model, over: Bools) -> list[Ceiling]:
        """The limits on further totals, where nothing counts in states that are over [S]."""
        return [_ceiling(text, model, over) for text in self.texts["at_most"]]

    def by_place(self, rule: str, names: tuple[str, ...]) -> dict[int, float]:
        """The numbers of a rule by the places of its names."""
        stated = self.numbers[rule]
        for name in stated:
            readable(name in names or name == EVERY, f"{rule} names the unknown {name!r:.80}")
        numbers = ((i, stated.get(name, stated.get(EVERY))) for i, name in enumerate(names))
        return {i: number for i, number in numbers if number is not None}


def _texts(value: Json, name: str) -> list[str]:
    return [typed(text, str, f"an entry of {name}") for text in typed(value, list, name)]


def _numbers(value: Json, name: str) -> dict[str, float]:
    stated = typed(value, dict, name)
    return {key: _limit(number, f"{name} of {key!r:.40}") or 0.0 for key, number in stated.items()}


def _limit(value: Json, what: str) -> float | None:
    """A number that is not negative; None if there is none."""
    if value is None:
        return None
    number = finite(value, what, 1e100)
    readable(number == 0 or number >= SMALLEST_FACTOR, f"{what} is {number}, which is negative or too small")
    return number


def _first(spellings: Iterable[tuple[int, str]], text: str) -> tuple[int, str] | None:
    """The first spelling of an action that a text begins with before a colon, and what follows the colon."""
    for action, spelled in spellings:
        rest = text.removeprefix(spelled).lstrip()
        if text.startswith(spelled) and rest.startswith(":"):
            return action, rest[1:]
    return None


def _on_action(text: str, model: Model) -> tuple[int, Bools]:
    """An action and the states [S] that a rule about it means, from `ACTION: condition`."""
    longest = sorted(enumerate(model.action_names), key=lambda it: len(it[1]), reverse=True)
    found = _first(((a, it) for a, name in longest for it in (name, f'"{name}"', f"'{name}'")), text.strip())
    if found is None:
        raise UnreadableError(f"the rule {text!r:.80} is about no action of the model")
    action, condition = found
    return action, Reader(model, condition).states()


def _ceiling(text: str, model: Model, over: Bools) -> Ceiling:
    reader = Reader(model, text)
    readable(bool(reader.tokens) and reader.tokens[-1][0] in ("name", "text"), f"the limit {text!r:.80} has no name")
    name = reader.tokens.pop()[1]
    floor = reader.one_of("<=", ">=") == ">="
    sign = -1.0 if reader.taken("-") else 1.0
    limit = sign * float(reader.take("number"))
    reader.expect_end()
    readable(name in model.reward_models and np.isfinite(limit), f"the limit {text!r:.80} is about nothing known")
    costs = np.where(over[:, None], 0.0, model.reward_models[name])
    if floor:
        costs, limit = 0.0 - costs, 0.0 - limit
    return Ceiling(name, costs, limit + TOLERANCE * max(1.0, abs(limit)))
