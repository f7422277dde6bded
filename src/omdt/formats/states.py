"""The states of an MDP as text files spell them: values of features, successors with their probabilities, labels."""

from collections.abc import Iterable, Iterator

import numpy as np

from omdt.mdp import MDP, Bools

INIT = "init"
"""The label of the possible first states in files."""


def values_of(mdp: MDP, s: int) -> list[str]:
    """The features of a state; truth values are spelled true and false."""
    truths = [name in mdp.truths for name in mdp.feature_names]
    pairs = zip(mdp.features[s], truths, strict=True)
    return [("true" if x else "false") if truth else number(x) for x, truth in pairs]


def successors(mdp: MDP, s: int, a: int) -> Iterator[tuple[int, float]]:
    """The states that an action can lead to, in their order, each with its probability."""
    P, row = mdp.transitions, s * mdp.n_actions + a
    entries = slice(P.indptr[row], P.indptr[row + 1])
    return zip(P.indices[entries].tolist(), P.data[entries].tolist(), strict=True)


def mask_of(states: Iterable[int], S: int) -> Bools:
    """[S] whether each state is one of those listed."""
    mask = np.zeros(S, dtype=np.bool_)
    mask[np.fromiter(states, dtype=np.int64)] = True
    return mask


def number(x: float) -> str:
    """A number to the last bit, and without a fraction where it is whole."""
    return str(int(x)) if x == int(x) and abs(x) < 2**53 else repr(float(x))
