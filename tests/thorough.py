"""Random cases of which `make test` runs a sample and `make thorough` all."""

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet


def sampled(cases: Iterable[object], every: int) -> list[ParameterSet]:
    """The cases as parameters of a test; the sample is the first one of each group of `every`."""
    return [
        pytest.param(case, marks=pytest.mark.random_case(in_sample=place % every == 0), id=str(case))
        for place, case in enumerate(cases)
    ]
