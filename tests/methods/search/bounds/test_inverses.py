"""Inverses: each box has those of its actions, also when memory or time was short in between."""

from typing import Any

import numpy as np
import pytest

from omdt.methods.search.bounds.inverses import Inverses
from omdt.methods.search.boxes import Boxes
from omdt.methods.search.model import Model
from omdt.methods.search.regions import Regions
from omdt.watch import OutOfTimeError, Watch
from random_mdps import random_mdp
from search_parts import model_of
from strategies import environment
from tasks import dense


def inverses_of(model: Model, max_bytes: int = 1 << 24) -> Inverses:
    boxes = Boxes(Regions(model.sides))
    boxes.of(boxes.regions.everything, 2, Watch())
    boxes.of(boxes.regions.everything, 0, Watch())
    return Inverses(model, boxes, max_bytes)


def assert_right(inverses: Inverses, active: np.ndarray) -> None:
    """Where the inverses of boxes are said to be stored, there they are."""
    P, _, _, discount = dense(inverses.mdp)
    slots, stored = inverses.slots(active, Watch()), inverses.stored
    A = inverses.mdp.n_actions
    for b, slot in zip(active, slots, strict=True):
        states = inverses.boxes.states[int(b)]
        n = len(states)
        assert stored.members[stored.starts[slot] : stored.starts[slot + 1]].tolist() == states.tolist()
        found = stored.entries[stored.offsets[slot] : stored.offsets[slot] + A * n * n].reshape(A, n, n)
        for a in range(A):
            system = np.eye(n) - discount * P[:, a][np.ix_(states, states)]
            assert found[a] == pytest.approx(np.linalg.inv(system), rel=1e-7, abs=1e-9)
            assert np.abs(found[a]).sum(axis=1).max() <= inverses.norm[slot]
            assert np.abs(np.eye(n) - system @ found[a]).sum(axis=1).max() <= inverses.defect[slot]


@pytest.mark.parametrize("fields", [{}, {"chunk_entries": 1}])
def test_inverses_are_those_of_all_actions_inside_the_box(fields: dict[str, Any]) -> None:
    for seed in range(15):
        inverses = inverses_of(model_of(random_mdp(np.random.default_rng(seed)), **fields))
        numbers = np.arange(len(inverses.boxes.states))
        half = numbers[: len(numbers) // 2 + 1]
        assert_right(inverses, half)
        before = inverses.slots(half, Watch()).tolist()
        assert_right(inverses, numbers[::-1])
        assert inverses.slots(half, Watch()).tolist() == before


def test_with_little_memory_everything_is_forgotten_and_computed_again() -> None:
    model = model_of(environment("frozenlake_4x4"))
    inverses = inverses_of(model, max_bytes=8 * 4 * 16 * 16)
    whole = np.array([inverses.boxes.number_of(np.arange(16))])
    small = np.array([b for b, states in enumerate(inverses.boxes.states) if len(states) < 8])[:3]
    assert_right(inverses, small)
    assert_right(inverses, whole)
    assert len(inverses.norm) == 1
    assert_right(inverses, small)
    assert len(inverses.norm) == 3


def test_many_entries_make_the_store_grow() -> None:
    model = model_of(environment("frozenlake_8x8"))
    inverses = inverses_of(model)
    large = np.array([b for b, states in enumerate(inverses.boxes.states) if len(states) > 8])[:60]
    assert_right(inverses, large)
    assert len(inverses.stored.entries) > 1 << 16
    assert_right(inverses, large[:2])


def test_what_was_stored_before_time_ran_out_remains() -> None:
    inverses = inverses_of(model_of(environment("frozenlake_4x4"), chunk_entries=1))
    numbers = np.arange(len(inverses.boxes.states))[:6]

    class Short(Watch):
        left = 3

        def check(self) -> None:
            self.left -= 1
            if self.left < 0:
                raise OutOfTimeError

    with pytest.raises(OutOfTimeError):
        inverses.slots(numbers, Short())
    assert len(inverses.norm) == 3
    assert_right(inverses, numbers)
