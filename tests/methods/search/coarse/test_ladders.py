"""Ladders: a range of questions sends states exactly where one of its questions would."""

import numpy as np
import pytest

from omdt.methods.search.coarse.ladders import Ladders, Range, halves
from omdt.methods.search.ranks import Ranks
from random_mdps import random_mdp
from search_parts import random_splits


@pytest.mark.parametrize("seed", range(60))
def test_a_range_sends_states_where_one_of_its_questions_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    splits = random_splits(mdp, rng)
    ladders, sides = Ladders(Ranks(splits)), splits.sides()
    asked = [int(k) for ladder in ladders.ladders for k in ladder.questions]
    assert sorted(asked) == list(range(len(splits)))
    for i, ladder in enumerate(ladders.ladders):
        for low in range(len(ladder.questions)):
            for high in range(low + 1, len(ladder.questions) + 1):
                among = sides[:, ladder.questions[low:high]]
                left, right = ladders.may_go(Range(i, low, high))
                # More than one value of a category: every state may go right.
                assert np.array_equal(left, ~among.all(axis=1))
                assert np.array_equal(right, among.any(axis=1)) or (ladder.equality and right.all())


@pytest.mark.parametrize("seed", range(60))
def test_questions_that_are_left_out_divide_nothing_or_as_another_one_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    splits = random_splits(mdp, rng)
    ladders, sides = Ladders(Ranks(splits)), splits.sides()
    for i in range(len(ladders)):
        reached = rng.random(mdp.n_states) < 0.6
        whole = ladders.whole(i)
        kept = ladders.dividing(whole, reached)
        among = sides[reached][:, ladders.ladders[i].questions]
        divides = among.any(axis=0) & ~among.all(axis=0)
        if kept is None:
            assert not divides.any()
            continue
        assert divides[kept.low]
        left_out = np.flatnonzero(divides & ~np.isin(np.arange(whole.high), np.arange(kept.low, kept.high)))
        for k in left_out:
            assert kept.high == kept.low + 1
            assert np.array_equal(among[:, k], among[:, kept.low])


def test_halves_are_a_partition() -> None:
    assert halves(Range(1, 3, 8)) == (Range(1, 3, 5), Range(1, 5, 8))
    assert halves(Range(0, 0, 2)) == (Range(0, 0, 1), Range(0, 1, 2))
