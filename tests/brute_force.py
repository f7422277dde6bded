"""The best tree by trying all of them: nothing here is shared with the package but the MDP's arrays."""

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np

Policy = tuple[int, ...]
"""One action a state, −1 where a partial policy says nothing."""


def threshold_questions(features: np.ndarray) -> set[frozenset[int]]:
    """The states on the left of every threshold on every feature."""
    return {frozenset(np.flatnonzero(column <= value).tolist()) for column in features.T for value in np.unique(column)}


def tree_policies(
    questions: set[frozenset[int]], n_states: int, n_actions: int, max_depth: int, max_leaves: int
) -> np.ndarray:
    """[n, S] every policy that some tree within the limits has; a question is given by the states on its left."""

    @cache
    def of(region: frozenset[int], depth: int, leaves: int) -> frozenset[Policy]:
        found = {tuple(a if s in region else -1 for s in range(n_states)) for a in range(n_actions)}
        if depth and leaves > 1:
            most = 2 ** (depth - 1)
            for question in questions:
                left, right = region & question, region - question
                for share in range(1, leaves) if left and right else ():
                    lefts = of(left, depth - 1, min(share, most))
                    found.update(merged(lefts, of(right, depth - 1, min(leaves - share, most))))
        return frozenset(found)

    return np.array(sorted(of(frozenset(range(n_states)), max_depth, max_leaves)))


def merged(left: frozenset[Policy], right: frozenset[Policy]) -> Iterator[Policy]:
    for one, other in product(left, right):
        yield tuple(map(max, one, other))


def returns(P: np.ndarray, r: np.ndarray, initial: np.ndarray, discount: float, policies: np.ndarray) -> np.ndarray:
    """[n] the return of each of n policies [n, S], with dense P [S, A, S] and r [S, A]."""
    states = np.arange(len(initial))
    systems = np.eye(len(initial)) - discount * P[states, policies]
    values = np.linalg.solve(systems, r[states, policies][..., None])[..., 0]
    return values @ initial


def best_return(
    P: np.ndarray,
    r: np.ndarray,
    initial: np.ndarray,
    features: np.ndarray,
    discount: float,
    *,
    max_depth: int | None = None,
    max_leaves: int | None = None,
) -> float:
    """The most that a threshold tree within the limits returns."""
    leaves = max_leaves if max_leaves is not None else 2**max_depth  # type: ignore[operator]
    depth = max_depth if max_depth is not None else leaves - 1
    policies = tree_policies(threshold_questions(features), *r.shape, depth, leaves)
    return float(returns(P, r, initial, discount, policies).max())
