"""Of the questions that divide the states alike, the first one is kept, however the columns are related."""

import numpy as np
import pytest

from omdt import divisions
from omdt.divisions import Asked, answers, distinct


def random_columns(rng: np.random.Generator, states: int) -> np.ndarray:
    """Columns that are partly copies, coarser copies, reversals and predicates of one another."""
    base = rng.integers(0, int(rng.integers(1, 9)), states).astype(float)
    made = [base, base // 2, -base, np.exp(-base), base == 1, rng.integers(0, 3, states), rng.permutation(base)]
    chosen = rng.choice(len(made), size=int(rng.integers(1, 6)))
    return np.array([made[i] for i in chosen], dtype=float).T


def random_questions(rng: np.random.Generator, columns: np.ndarray) -> Asked:
    """Questions in random order, some twice and some that divide nothing."""
    count = int(rng.integers(0, 30))
    feature = rng.integers(0, columns.shape[1], count)
    near = columns[rng.integers(0, len(columns), count), feature]
    return Asked(feature, near + rng.choice([0.0, 0.25, -9.0], count), rng.random(count) < 0.3)


def kept_by_comparing(columns: np.ndarray, asked: Asked) -> list[int]:
    """The same by comparing the answers of all states."""
    seen, kept = set(), []
    for k, (j, threshold, equality) in enumerate(zip(*asked, strict=True)):
        side = answers(columns[:, j], threshold, bool(equality))
        key = (side ^ side[0]).tobytes()
        if side.any() and not side.all() and key not in seen:
            kept.append(k)
        seen.add(key)
    return kept


def same(one: Asked, other: Asked) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("colliding", [False, True])
def test_the_first_question_of_every_division_is_kept(monkeypatch: pytest.MonkeyPatch, colliding: bool) -> None:
    """Also if questions that divide the states in different ways happen to have the same key."""
    if colliding:
        true_keys = divisions._keys

        def keys(columns: np.ndarray, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
            found, divides = true_keys(columns, asked)
            return found % 2, divides

        monkeypatch.setattr(divisions, "_keys", keys)
    dropped = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        columns = random_columns(rng, int(rng.integers(1, 12)))
        asked = random_questions(rng, columns)
        expected = asked.chosen(np.array(kept_by_comparing(columns, asked), dtype=np.int64))
        assert same(distinct(columns, asked), expected), seed
        dropped += len(asked.feature) - len(expected.feature)
    assert dropped > 1000


def test_many_thresholds_of_related_columns_are_compared_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy, a coarser copy and a reversal add nothing, and no two questions are compared one by one."""
    monkeypatch.setattr(divisions, "_alike", None)
    values = np.random.default_rng(0).integers(0, 5000, 20_000).astype(float)
    columns = np.stack([values, 3 * values, values // 10, -values], axis=1)
    parts = []
    for j in range(4):
        numbers = np.unique(columns[:, j])[:-1]
        parts.append((np.full(len(numbers), j), numbers, np.zeros(len(numbers), bool)))
    kept = distinct(columns, Asked(*(np.concatenate(part) for part in zip(*parts, strict=True))))
    assert np.all(kept.feature == 0)
    assert len(kept.feature) == len(np.unique(values)) - 1


def test_no_questions_remain_none() -> None:
    assert same(distinct(np.ones((3, 2)), Asked.listed([])), Asked.listed([]))
    assert same(distinct(np.ones((3, 2)), Asked.listed([(0, 1.0, True), (1, 0.5, False)])), Asked.listed([]))
