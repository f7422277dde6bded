"""Storm as a witness: optimal values, and values of Markov chains, computed without the package."""

import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import stormpy
from corpus_cases import FOLDER

# Exact values are fractions with thousands of digits, which pass from Storm to Python as text.
sys.set_int_max_str_digits(0)

PRECISION = stormpy.Rational("1/1000000000000")
"""Largest absolute error of a discounted total, which Storm cannot compute exactly."""


def parsed(text: str) -> Any:
    """A property as Storm reads it: `Rmin{"x"}=?`, which PRISM knows as well, is `R{"x"}min=?` there."""
    return stormpy.parse_property(re.sub(r'^R(min|max)\{("[^"]*")\}', r"R{\2}\1", text))


def options() -> Any:
    """What to build: every label, reward, name of a choice and variable."""
    return stormpy.BuilderOptions(build_full=True)


def built(path: Path, value_type: type = float) -> Any:
    """A model in the PRISM language with the probabilities as doubles or as fractions."""
    return stormpy.build_model[value_type](stormpy.parse_prism_program(str(path)), options=options())


def value(path: Path, text: str) -> float:
    """The optimal value of a property, the mean over all initial states; in a Markov chain it is the value."""
    if "discount" not in text:
        return _mean(built(path, stormpy.Rational), text)
    environment = stormpy.environments.sound()
    environment.solver().min_max().precision = PRECISION
    environment.solver().min_max().relative_termination_criterion = False
    return _mean(built(path), text, environment)


def value_in_drn(path: Path, text: str) -> float:
    """The same of a model in Storm's explicit format, with Storm's usual relative error of at most 10⁻⁶."""
    return _mean(stormpy.build_model_from_drn(str(path)), text)


def _mean(model: Any, text: str, environment: Any = None) -> float:
    result = stormpy.model_checking(model, parsed(text), environment=environment)
    values = [str(result.get_value(s)) for s in model.initial_states]
    if "inf" in values:
        return float("inf")
    return float(sum(map(Fraction, values)) / len(values))


def model_path(name: str) -> Path:
    """Where a model of the corpus is."""
    return FOLDER / f"{name}.prism"
