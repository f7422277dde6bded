"""Storm as a witness: optimal values, and the value of a tree's policy, from what Storm itself builds.

The package has a part in it only by the decisions of a tree and by the PRISM module that it
exports. Exact fractions are used wherever Storm can.
"""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import stormpy
from corpus_cases import FOLDER

from omdt.tree import TreePolicy

PRECISION = stormpy.Rational("1/1000000000000")
"""Largest absolute error of a discounted total, which Storm cannot compute exactly."""


def parsed(text: str) -> Any:
    """A property as Storm reads it: `Rmin{"x"}=?`, which PRISM knows as well, is `R{"x"}min=?` there."""
    return stormpy.parse_property(re.sub(r'^R(min|max)\{("[^"]*")\}', r"R{\2}\1", text))


def options() -> Any:
    """What to build: every label, reward, name of a choice and variable."""
    return stormpy.BuilderOptions(build_full=True)


def built(path: Path, kind: type = float) -> Any:
    """A model in the PRISM language with the probabilities as doubles or as fractions."""
    return _built(path, path.stat().st_mtime_ns, kind)


@lru_cache(maxsize=8)
def _built(path: Path, changed: int, kind: type) -> Any:
    """The same, kept for the next tests; a file that has changed since is built anew."""
    return stormpy.build_model[kind](stormpy.parse_prism_program(str(path)), options=options())


def value(path: Path, text: str) -> float:
    """The optimal value of a property, the mean over all initial states; of a Markov chain its value."""
    return checked(built(path, value_type(text)), text)


def value_in_drn(path: Path, text: str) -> float:
    """The same of a model in Storm's explicit format, with Storm's usual relative error of at most 10⁻⁶."""
    return checked(stormpy.build_model_from_drn(str(path)), text)


def value_of_tree(path: Path, text: str, tree: TreePolicy) -> float:
    """The value of a property in the Markov chain that is left of a model if the tree decides."""
    kind = value_type(text)
    model = built(path, kind)
    scheduler = stormpy.model_checking(model, parsed('Pmax=? [F "init"]'), extract_scheduler=True).get_scheduler()
    for state, place in enumerate(played(model, tree)):
        scheduler.set_choice(stormpy.models.SchedulerChoice[kind](place), state)
    return checked(model.apply_scheduler(scheduler, drop_unreachable_states=False), text)


def value_of_module(path: Path, text: str, module: str, folder: Path) -> float:
    """The optimal value of a property in a model together with an exported module; only one policy should be left."""
    composed = folder / path.name
    composed.write_text(path.read_text(encoding="utf-8") + module, encoding="utf-8")
    return value(composed, text)


def played(model: Any, tree: TreePolicy) -> list[int]:
    """The place of the tree's choice among those of each state, with its exceptions.

    It is 0 where the state has no choice of this name: all choices are one there, or the tree never comes there.
    """
    states = [json.loads(str(model.state_valuations.to_json(s))) for s in range(model.nr_states)]
    observations = np.array([[float(state[name]) for name in tree.feature_names] for state in states])
    named = tree.exceptions.applied(observations, tree.actions(observations))
    places = []
    for s, action in enumerate(named):
        choices = range(model.get_choice_index(s, 0), model.get_choice_index(s, 0) + model.get_nr_available_actions(s))
        labels = [model.choice_labeling.get_labels_of_choice(choice) for choice in choices]
        places.append(next((i for i, here in enumerate(labels) if tree.action_names[action] in here), 0))
    return places


def value_type(text: str) -> type:
    """Fractions, but doubles for discounted totals, which Storm cannot compute exactly."""
    return float if "discount" in text else stormpy.Rational


def checked(model: Any, text: str) -> float:
    """The value of a property of a model, the mean over all initial states."""
    rewards = re.match(r'R.*?\{"([^"]*)"\}', text)
    if rewards and earns_nothing(model.reward_models[rewards[1]]):
        # Storm refuses to add nothing up; a total is infinite all the same if the target may be missed.
        target = re.search(r"\[F .*\]", text)
        return 0.0 if target is None or checked(model, f"Pmin=? {target[0]}") == 1 else float("inf")
    environment = stormpy.environments.default(model)
    if "discount" in text:
        environment.solver().min_max().precision = PRECISION
        environment.solver().min_max().relative_termination_criterion = False
    result = stormpy.model_checking(model, parsed(text), environment=environment)
    values = [str(result.get_value(s)) for s in model.initial_states]
    if "inf" in values:
        return float("inf")
    with long_numbers():
        return float(sum(map(Fraction, values)) / len(values))


@contextmanager
def long_numbers() -> Iterator[None]:
    """Exact values are fractions with thousands of digits, which pass from Storm to Python as text."""
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(most)


def earns_nothing(rewards: Any) -> bool:
    """Whether a reward is 0 everywhere."""
    earned = [rewards.state_rewards] if rewards.has_state_rewards else []
    earned += [rewards.state_action_rewards] if rewards.has_state_action_rewards else []
    return not any(any(amount != 0 for amount in amounts) for amounts in earned)


def model_path(name: str) -> Path:
    """Where a model of the corpus is."""
    return FOLDER / f"{name}.prism"
