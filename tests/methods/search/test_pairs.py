"""The best stumps on both sides of a question are those that trying all of them finds."""

import numpy as np
import pytest

from omdt import MDP, Splits
from omdt.methods.search.pairs import stump_pairs
from omdt.methods.search.ranks import Ranks
from random_mdps import any_mdp


def best_stump(splits: Splits, states: np.ndarray, gains: np.ndarray) -> float:
    """The gain of the best leaf or stump for some states."""
    best = gains.sum(axis=0).max()
    for k in range(len(splits)):
        right = splits.side(k)[states]
        best = max(best, gains[right].sum(axis=0).max() + gains[~right].sum(axis=0).max())
    return float(best)


def chosen_questions(rng: np.random.Generator, splits: Splits) -> np.ndarray:
    """Some of the thresholds by column and rank."""
    thresholds = np.flatnonzero(~splits.equality)
    chosen = thresholds[rng.random(len(thresholds)) < 0.6]
    return chosen[np.lexsort((splits.threshold[chosen], splits.feature[chosen]))]


def some_splits(mdp: MDP, rng: np.random.Generator) -> Splits:
    return Splits.of(mdp, categorical=mdp.feature_names[1:2] if rng.random() < 0.5 else ())


@pytest.mark.parametrize("seed", range(60))
def test_pairs_of_stumps_agree_with_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = any_mdp(rng)
    splits = some_splits(mdp, rng)
    chosen = chosen_questions(rng, splits)
    states = np.flatnonzero(rng.random(mdp.n_states) < 0.8)
    gains = rng.normal(size=(len(states), 3))
    if len(chosen) == 0:
        return
    expected = []
    for k in chosen:
        right = splits.side(k)[states]
        expected.append(
            best_stump(splits, states[right], gains[right]) + best_stump(splits, states[~right], gains[~right])
        )
    assert stump_pairs(Ranks(splits).columns, chosen, states, gains) == pytest.approx(np.array(expected))
