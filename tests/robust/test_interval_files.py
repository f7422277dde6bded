"""Interval MDPs in files: what is written is read again, and what is not one is refused with the reason."""

import numpy as np
import pytest
from interval_cases import random_intervals

import omdt
from omdt.errors import InputError


def test_what_is_saved_is_loaded_again(tmp_path):
    problem = random_intervals(3, states=5, actions=2)
    problem.save(tmp_path / "known.npz")
    again = omdt.IntervalMDP.load(tmp_path / "known.npz")
    for one, other in ((problem.lower, again.lower), (problem.upper, again.upper)):
        assert (one != other).nnz == 0
    for name in ("rewards", "initial_lower", "initial_upper", "features"):
        assert np.array_equal(getattr(problem, name), getattr(again, name))
    for name in ("discount", "feature_names", "action_names"):
        assert getattr(problem, name) == getattr(again, name)
    assert again.name == str(tmp_path / "known.npz")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lower": None}, "lacks the array 'lower'"),
        ({"rewards": np.zeros(3)}, "is not an interval MDP"),
        ({"indptr": np.zeros(3, dtype=int)}, "is not an interval MDP"),
        ({"discount": 1.5}, "discount"),
        ({"initial_upper": np.zeros(3)}, "initial_lower|initial probabilities|the probability of starting"),
    ],
)
def test_what_is_no_interval_mdp_is_refused(tmp_path, changes, said):
    path = tmp_path / "wrong.npz"
    random_intervals(3, states=3, actions=2).save(path)
    arrays = {**np.load(path), **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(InputError, match=said) as raised:
        omdt.IntervalMDP.load(path)
    assert str(path) in str(raised.value)


def test_who_reads_it_as_an_mdp_is_told_what_it_is(tmp_path):
    random_intervals(0).save(tmp_path / "known.npz")
    with pytest.raises(InputError, match=r"holds an interval MDP.*omdt\.IntervalMDP\.load"):
        omdt.read(tmp_path / "known.npz")


def test_the_name_of_the_file_says_what_it_is(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.npz"):
        random_intervals(0).save(tmp_path / "known.json")
