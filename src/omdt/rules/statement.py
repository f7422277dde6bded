"""Rules as users state them, in Python, in a file or on the command line, and what they mean for one problem."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from omdt.errors import InputError
from omdt.limits import whole
from omdt.mdp import MDP, Floats
from omdt.rules.ceilings import Ceiling
from omdt.rules.grammar import comparison, on_action
from omdt.rules.kept import Kept, parsed_tree
from omdt.rules.leaf_rules import FORBID, UNAVAILABLE, AvailableOnly, Forbidden, Required, Rule
from omdt.rules.prices import Prices
from omdt.rules.shape_rules import FeatureCount, LeavesPerAction, Monotone, Root, ShapeRule
from omdt.rules.shares import LeastShare
from omdt.splits import Splits

AnyRule = Rule | ShapeRule | Prices | LeastShare | Ceiling | Kept
"""What a task may ask of trees beyond their size."""

EVERY = "every"
"""Stands for every feature in prices, and for every action in limits on leaves."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a tree must respect; without arguments nothing.

    Attributes:
        features: the features that may be asked about; None for all.
        without: features that may not be asked about.
        categorical: features that are asked about by `= value` instead of `≤ value`.
        max_features: maximum number of different features in the whole tree.
        prices: the price of a question about a feature, by its name, or "every" for all that are not named. It is
            subtracted from the return at every visit, discounted like rewards.
        prices_once: the price of asking about a feature anywhere in the tree, subtracted once.
        forbid: `ACTION: condition`, as in `drive: load > 3 and hour <= 6`: no leaf names the action in a state that can
            be reached and satisfies the condition.
        require: the same for an action that must be named in these states.
        root: the feature of the first question.
        min_share: the smallest share of the visits that a leaf may have, as in 0.05.
        max_leaves: maximum number of leaves that name an action, by its name, or "every" for all that are not named.
        monotone: features of which a larger value never means a lower action, as in `load`; or never a higher one, as
            in `load:down`. Only states that can be reached and differ in this feature alone are compared.
        order: all actions from low to high, for `monotone`; by default the order of the problem.
        keep: a tree as nested dictionaries that is kept, but for places marked `{"open": true}`, which may have a
            `depth` and a number of `leaves` as limits of their own.
        at_most: limits on the expected totals of other rewards of the problem, as in `energy <= 3.5` or `sold >= 2`.
        further: rules of your own (see `omdt.rules.Rule`); files do not have them.
    """

    features: Sequence[str] | None = None
    without: Sequence[str] = ()
    categorical: Sequence[str] = ()
    max_features: int | None = None
    prices: Mapping[str, float] = field(default_factory=dict)
    prices_once: Mapping[str, float] = field(default_factory=dict)
    forbid: Sequence[str] = ()
    require: Sequence[str] = ()
    root: str | None = None
    min_share: float | None = None
    max_leaves: Mapping[str, int] = field(default_factory=dict)
    monotone: Sequence[str] = ()
    order: Sequence[str] = ()
    keep: Mapping[str, Any] | None = None
    at_most: Sequence[str] = ()
    further: Sequence[Rule] = ()

    def __post_init__(self) -> None:
        for name in ("forbid", "require", "at_most"):
            object.__setattr__(self, name, _spelled(getattr(self, name), " <= " if name == "at_most" else ": "))
        for name in ("features", "without", "categorical", "forbid", "require", "monotone", "order", "at_most"):
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        if self.max_features is not None:
            object.__setattr__(self, "max_features", whole("max_features", self.max_features, 0))
        if self.min_share is not None and not (_is_number(self.min_share) and self.min_share <= 1):
            raise InputError(f"min_share is {self.min_share!r:.40}; it must be a share of the visits, from 0 to 1")
        for name in ("prices", "prices_once", "max_leaves"):
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        for rule in self.further:
            if not isinstance(rule, Rule):
                raise InputError(f"rules has {rule!r:.80}, which is not a rule: it lacks words, allowed or violation")

    @property
    def about_questions(self) -> bool:
        """Whether there are rules about which questions may be asked."""
        return self.features is not None or bool(self.without) or bool(self.categorical)

    @property
    def has_prices(self) -> bool:
        """Whether questions cost anything."""
        return any(self.prices.values()) or any(self.prices_once.values())

    @property
    def about_columns(self) -> bool:
        """Whether it matters which of two features is asked about, even if the questions divide the states alike."""
        return self.root is not None or self.max_features is not None or bool(self.prices) or bool(self.prices_once)

    def splits(self, mdp: MDP) -> Splits:
        """The questions that the rules leave.

        Raises:
            InputError: if a feature is unknown.
        """
        for name in self.without:
            _column(mdp.feature_names, name, "without")
        named = mdp.feature_names if self.features is None else tuple(self.features)
        return Splits.of(
            mdp,
            features=[name for name in named if name not in self.without],
            categorical=list(self.categorical),
            per_column=self.about_columns,
        )

    def on(self, mdp: MDP, splits: Splits) -> tuple[AnyRule, ...]:
        """What the rules mean for one problem, apart from the questions that may be asked and `further`.

        Args:
            mdp: the problem.
            splits: the questions that may be asked.

        Raises:
            InputError: if a rule names something that the problem does not have.
        """
        names, actions = splits.feature_names, mdp.action_names
        rules: list[AnyRule] = [Forbidden(*on_action(text, actions)) for text in self.forbid]
        rules += [Required(*on_action(text, actions)) for text in self.require]
        if self.root is not None:
            rules.append(Root(_column(names, self.root, "root"), self.root))
        if self.max_features is not None:
            rules.append(FeatureCount(self.max_features))
        if self.max_leaves:
            rules.append(LeavesPerAction(_by_place(self.max_leaves, actions, "max_leaves"), actions))
        rules += [self._monotone(text, mdp, splits) for text in self.monotone]
        if self.min_share:
            rules.append(LeastShare(self.min_share))
        if self.has_prices:
            rules.append(
                Prices(_vector(self.prices, names, "prices"), _vector(self.prices_once, names, "prices_once"), names)
            )
        rules += [_ceiling(text, mdp) for text in self.at_most]
        if self.keep is not None:
            rules.append(parsed_tree(self.keep, names, actions))
        return tuple(rules)

    def to_dict(self) -> dict[str, Any]:
        """The rules as a file has them: only what is asked."""
        stated = {it.name: getattr(self, it.name) for it in fields(self) if it.name != "further"}
        return {
            name: list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
            for name, value in stated.items()
            if value is not None and value != () and value != {}
        }

    @classmethod
    def from_dict(cls, data: object) -> "Rules":
        """The rules of a dictionary as `to_dict` makes it.

        Raises:
            InputError: if there is an entry that is none, or one has another type.
        """
        if not isinstance(data, dict):
            raise InputError(f"rules must be entries with names, not {data!r:.40}")
        known = [it.name for it in fields(cls) if it.name != "further"]
        for name in data:
            if name not in known:
                raise InputError(f"{name!r:.40} is no rule; there are {', '.join(known)}")
        return cls(**data)

    def _monotone(self, text: str, mdp: MDP, splits: Splits) -> Monotone:
        name, falling = text, False
        if text not in splits.feature_names:
            name, _, direction = text.rpartition(":")
            if direction not in ("up", "down") or name not in splits.feature_names:
                _column(splits.feature_names, text, "monotone")
            falling = direction == "down"
        order = self.order or mdp.action_names
        if sorted(order) != sorted(mdp.action_names):
            raise InputError(f"order must have every action once: {', '.join(mdp.action_names)}")
        rank = np.array([order.index(name) for name in mdp.action_names])
        return Monotone(mdp, splits.observations, splits.feature_names.index(name), name, rank, falling)


def rules_of(unavailable: str, stated: Iterable[AnyRule] = ()) -> tuple[AnyRule, ...]:
    """The rules that `unavailable` of `omdt.solve` stands for, and further ones.

    Raises:
        InputError: if `unavailable` is not one of `UNAVAILABLE`, or a further rule is none.
    """
    if unavailable not in UNAVAILABLE:
        raise InputError(f"unavailable is {unavailable!r}; it must be {' or '.join(UNAVAILABLE)}")
    rules = tuple(stated)
    for rule in rules:
        if not isinstance(rule, Rule | ShapeRule | Prices | LeastShare | Ceiling | Kept):
            raise InputError(f"rules has {rule!r:.80}, which is not a rule: it lacks words, allowed or violation")
    if unavailable == FORBID and AvailableOnly() not in rules:
        rules = (AvailableOnly(), *rules)
    return rules


def _texts(name: str, given: object) -> tuple[str, ...] | None:
    """A list of texts; one text stands for a list of one."""
    if given is None:
        if name != "features":
            raise InputError(f"{name} must be a list of texts, not nothing")
        return None
    texts = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"{name} has {text!r:.40}, which is not a text")
    return texts


def _spelled(given: object, sign: str) -> object:
    """Rules as texts; a mapping, which is what YAML makes of `drive: load > 3`, stands for one text per entry."""
    if isinstance(given, Mapping):
        return [f"{name}{sign}{value}" for name, value in given.items()]
    if isinstance(given, str) or not isinstance(given, Iterable):
        return given
    return [text for it in given for text in (_spelled(it, sign) if isinstance(it, Mapping) else [it])]  # type: ignore[attr-defined]


def _numbers(name: str, given: object) -> dict[str, float]:
    """Numbers by name; one number stands for every name."""
    numbers: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {EVERY: given}
    for key, value in numbers.items():
        fraction = name == "max_leaves" and not isinstance(value, int)
        if not isinstance(key, str) or fraction or not _is_number(value):
            kind = "whole number" if name == "max_leaves" else "number"
            raise InputError(f"{name} has {value!r:.40} for {key!r:.40}; it must be a {kind} from 0 on")
    return numbers


def _is_number(value: object) -> bool:
    """Whether something is a finite number that is not negative."""
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value)) and value >= 0


def _column(names: Sequence[str], name: str, rule: str) -> int:
    if name not in names:
        raise InputError(f"{rule} names the feature {name!r:.80}, which is not one of {', '.join(names)}")
    return [*names].index(name)


def _by_place(given: Mapping[str, Any], names: Sequence[str], rule: str) -> dict[int, Any]:
    """Numbers by place instead of name, where "every" stands for all that are not named."""
    for name in given:
        if name not in names and name != EVERY:
            raise InputError(f"{rule} names {name!r:.80}, which is not one of {', '.join(names)}")
    return {i: given.get(name, given.get(EVERY)) for i, name in enumerate(names) if name in given or EVERY in given}


def _vector(given: Mapping[str, float], names: Sequence[str], rule: str) -> Floats:
    vector = np.zeros(len(names))
    for place, price in _by_place(given, names, rule).items():
        vector[place] = price
    return vector


def _ceiling(text: str, mdp: MDP) -> Ceiling:
    costs = mdp.reward_models
    name, at_least, limit = comparison(text)
    if name not in costs:
        known = f"it has {', '.join(costs)}" if costs else "it has no further rewards"
        raise InputError(f"the limit {text!r:.80} is about {name!r:.40}, but {mdp.name} has no such rewards; {known}")
    return Ceiling(name, -costs[name] if at_least else costs[name], -limit if at_least else limit, at_least)
