"""The families of any size have about as many states as the benchmarks say, and are built in little memory."""

import runpy
import tracemalloc
from pathlib import Path

import pytest

from omdt.environments import make, parameters

SIZES = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "sizes.py"))["SIZES"]


@pytest.mark.parametrize("family", SIZES)
@pytest.mark.parametrize("states", [10**3, 10**4, 10**5])
def test_the_parameters_give_about_this_number_of_states(family: str, states: int) -> None:
    mdp = make(family, **SIZES[family][states])
    assert 0.95 < mdp.n_states / states < 1.25
    assert mdp.transitions.nnz < 30 * mdp.n_states


@pytest.mark.parametrize("family", SIZES)
def test_every_size_is_listed_and_the_smallest_is_the_default(family: str) -> None:
    assert list(SIZES[family]) == [10**3, 10**4, 10**5, 10**6]
    defaults = parameters(family)
    assert all(defaults[name].default == value for name, value in SIZES[family][10**3].items())


@pytest.mark.parametrize("family", SIZES)
def test_building_takes_memory_for_few_copies(family: str) -> None:
    make(family)  # imports what it needs
    tracemalloc.start()
    mdp = make(family, **SIZES[family][10**5])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * mdp.nbytes
