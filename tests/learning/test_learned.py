"""Learned: what it offers, and how its solution finds the learned model again."""

from dataclasses import replace

import numpy as np
import pytest

import omdt
from omdt.learning.learned import Learned
from omdt.solution import SIMULATOR, Experience, Interval


@pytest.fixture
def learned() -> Learned:
    mdp = omdt.make("xor")
    experience = Experience(
        origin=SIMULATOR, source="gym:Xor", steps=10, episodes=2, interval=Interval(1.0, 0.5, 1.5, 0.95, 20)
    )
    solution = omdt.solve(mdp, max_depth=1, threads=1)
    return Learned(replace(solution, experience=experience, source=None), mdp, np.ones((mdp.n_states, mdp.n_actions)))


def test_it_offers_the_parts_of_its_solution(learned):
    assert learned.tree is learned.solution.tree
    assert learned.interval == Interval(1.0, 0.5, 1.5, 0.95, 20)
    assert learned.guarantee is None
    assert "gym:Xor" in repr(learned)
    assert "on the learned model" in repr(learned)


def test_a_saved_solution_finds_its_model_in_the_file_beside_it(learned, tmp_path):
    learned.save(tmp_path / "alone.json")
    assert omdt.load(tmp_path / "alone.json").source is None
    learned.save(tmp_path / "tree.json", model=tmp_path / "model.npz")
    loaded = omdt.load(tmp_path / "tree.json")
    assert loaded.source.problem == tmp_path / "model.npz"
    assert loaded.experience == learned.experience
    assert omdt.evaluate(omdt.read(loaded.source.problem), loaded.tree) == pytest.approx(loaded.value)


def test_a_model_file_of_another_kind_is_refused(learned, tmp_path):
    with pytest.raises(omdt.InputError, match=r"model.txt: its name must end in"):
        learned.save(tmp_path / "tree.json", model=tmp_path / "model.txt")
    assert not (tmp_path / "tree.json").exists()
