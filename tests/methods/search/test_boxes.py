"""Boxes: whatever a tree asks below a node, each of its leaves contains a box around each of its states."""

from itertools import product

import numpy as np
import pytest

from omdt.methods.search.boxes import Boxes
from omdt.methods.search.regions import Regions
from omdt.watch import OutOfTimeError, Watch


def test_boxes_contain_their_state_and_lie_in_every_leaf() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        sides = rng.random((int(rng.integers(1, 9)), int(rng.integers(1, 6)))) < 0.5
        regions = Regions(sides)
        boxes = Boxes(regions)
        region = regions.region(np.arange(len(sides)))
        k = int(rng.integers(0, 4))
        found = [set(boxes.states[b].tolist()) for b in boxes.of(region, k, Watch())]
        for s in range(len(sides)):
            for questions in product(range(sides.shape[1]), repeat=k):
                leaf = {t for t in range(len(sides)) if all(sides[t, q] == sides[s, q] for q in questions)}
                assert any(s in box and box <= leaf for box in found)


@pytest.mark.parametrize("seed", range(20))
def test_boxes_of_a_part_stay_inside_it_and_are_no_more_than_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    regions = Regions(rng.random((8, 6)) < 0.5)
    boxes = Boxes(regions)
    region = regions.region(np.flatnonzero(rng.random(8) < 0.7) if seed else np.array([3]))
    for k in range(4):
        counted = boxes.count(region, k)
        found = boxes.of(region, k, Watch())
        assert len(found) == len(set(found.tolist())) <= max(counted, 1)
        assert boxes.count(region, k) == len(found)
        assert all(set(boxes.states[b].tolist()) <= set(region.states.tolist()) for b in found)


def test_without_questions_the_region_itself_is_the_only_box() -> None:
    regions = Regions(np.array([[True, True], [True, True], [False, True]]))
    boxes = Boxes(regions)
    alike = regions.region(np.array([0, 1]))
    for k in (0, 1, 3):
        assert [boxes.states[b].tolist() for b in boxes.of(alike, k, Watch())] == [[0, 1]]
    assert [boxes.states[b].tolist() for b in boxes.of(regions.everything, 0, Watch())] == [[0, 1, 2]]


def test_on_a_line_one_question_leaves_at_most_two_boxes_per_state() -> None:
    """The smallest leaves around a state end just left or just right of it."""
    thresholds = np.arange(6)[:, None] > np.arange(5)[None, :]
    regions = Regions(thresholds)
    boxes = Boxes(regions)
    found = {tuple(boxes.states[b].tolist()) for b in boxes.of(regions.everything, 1, Watch())}
    assert found == {tuple(range(s + 1)) for s in range(5)} | {tuple(range(s, 6)) for s in range(1, 6)}
    few = {tuple(boxes.states[b].tolist()) for b in boxes.of(regions.everything, 2, Watch())}
    assert few == {(s,) for s in range(6)}


def test_the_same_states_are_the_same_box_and_time_ends_the_search_for_boxes() -> None:
    regions = Regions(np.eye(4, dtype=np.bool_))
    boxes = Boxes(regions)
    assert boxes.number_of(np.array([1, 3])) == boxes.number_of(np.array([1, 3]))
    assert boxes.number_of(np.array([1, 2])) != boxes.number_of(np.array([1, 3]))
    late = Watch()
    late.interrupt()
    with pytest.raises(OutOfTimeError):
        boxes.of(regions.everything, 2, late)
