"""Which states of a graph can be reached."""

import numpy as np
import pytest

from omdt.graph import reached_from


def walked(first: np.ndarray, successors: list[list[int]]) -> np.ndarray:
    """The same by a walk over lists."""
    seen, todo = first.copy(), np.flatnonzero(first).tolist()
    while todo:
        for t in successors[todo.pop()]:
            if not seen[t]:
                seen[t] = True
                todo.append(t)
    return seen


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("seed", range(50))
def test_random_graphs_are_searched_like_by_a_walk(seed, kind):
    rng = np.random.default_rng(seed)
    S = int(rng.integers(1, 30))
    successors = [rng.integers(S, size=rng.integers(0, 4)).tolist() for _ in range(S)]
    first = rng.random(S) < 0.2
    starts = np.cumsum([0, *map(len, successors)]).astype(kind)
    listed = np.array([t for those in successors for t in those], dtype=kind)
    np.testing.assert_array_equal(reached_from(first, listed, starts), walked(first, successors))


def test_nothing_is_reached_from_nowhere():
    assert not reached_from(np.zeros(3, dtype=np.bool_), np.array([1, 2, 0]), np.arange(4)).any()


def test_a_long_chain_is_reached_to_its_end_and_not_behind_its_beginning():
    S = 200_000
    first = np.arange(S) == 1000
    reached = reached_from(first, np.minimum(np.arange(S) + 1, S - 1), np.arange(S + 1))
    assert not reached[:1000].any()
    assert reached[1000:].all()
