"""The best tree of depth 1 for a property of the corpus, by evaluating all of them.

Nothing here is shared with the package but the arrays and labels of an MDP: properties are read by regular expressions,
and Markov chains are evaluated by their graph and one linear system.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from corpus_cases import Case
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from omdt.mdp import MDP

PROBABILITY = re.compile(r'P(min|max)=\? \[(?:F|"(\w+)" U) "(\w+)"\]')
TOTAL = re.compile(r'R(?:\{"(\w+)"\}(?:min|max)|(?:min|max)\{"(\w+)"\})=\? \[(?:F "(\w+)"|C|Cdiscount=([0-9.]+))\]')


@dataclass(frozen=True)
class Question:
    """What a property asks of a chain: a probability if `reward` is None, otherwise a total."""

    reward: np.ndarray | None
    target: np.ndarray | None
    staying: np.ndarray | None
    discount: float


def question(case: Case, mdp: MDP) -> Question:
    """The property with its labels and rewards looked up."""
    if found := PROBABILITY.fullmatch(case.property):
        return Question(None, mdp.labels[found[3]], mdp.labels[found[2]] if found[2] else None, 1.0)
    found = TOTAL.fullmatch(case.property)
    assert found is not None, case.property
    target = mdp.labels[found[3]] if found[3] else None
    return Question(mdp.reward_models[found[1] or found[2]], target, None, float(found[4] or 1))


def stumps(mdp: MDP) -> Iterator[np.ndarray]:
    """[S] what every tree of depth at most 1 plays."""
    seen = set()
    for j in range(mdp.n_features):
        for threshold in np.unique(mdp.features[:, j]):
            for a, b in np.ndindex(mdp.n_actions, mdp.n_actions):
                named = np.where(mdp.features[:, j] <= threshold, a, b)
                policy = mdp.played[np.arange(mdp.n_states), named]
                if policy.tobytes() not in seen:
                    seen.add(policy.tobytes())
                    yield policy


def best_stump(case: Case, mdp: MDP) -> float:
    """The best value of any tree of depth at most 1."""
    asked = question(case, mdp)
    values = [value(mdp, asked, policy) for policy in stumps(mdp)]
    return min(values) if case.minimises else max(values)


def value(mdp: MDP, asked: Question, policy: np.ndarray) -> float:
    """The figure of a policy [S] for a question, averaged over the first states."""
    states = np.arange(mdp.n_states)
    P = mdp.transitions.toarray()[states * mdp.n_actions + policy]
    if asked.reward is None:
        values = reached(P, asked.target, asked.staying)
    elif asked.discount < 1:
        values = np.linalg.solve(np.eye(len(P)) - asked.discount * P, asked.reward[states, policy])
    else:
        values = totals(P, asked.reward[states, policy], asked.target)
    return float(mdp.initial[mdp.initial > 0] @ values[mdp.initial > 0])


def reached(P: np.ndarray, target: np.ndarray, staying: np.ndarray | None) -> np.ndarray:
    """[S] the probability to reach the target, through states in which to stay."""
    allowed = ~target if staying is None else staying & ~target
    edges = (P > 0) & allowed[:, None]
    unknown = backwards(edges, target) & ~target
    values = target.astype(float)
    inner = np.eye(unknown.sum()) - P[np.ix_(unknown, unknown)]
    values[unknown] = np.linalg.solve(inner, P[np.ix_(unknown, target)].sum(axis=1))
    return values


def totals(P: np.ndarray, r: np.ndarray, target: np.ndarray | None) -> np.ndarray:
    """[S] the total of non-negative rewards, until the target if there is one; ∞ where that may not be reached."""
    if target is not None:
        ended = target
        infinite = backwards((P > 0) & ~target[:, None], ~backwards(P > 0, target))
    else:
        recurrent = in_bottom_components(P)
        ended = recurrent & ~backwards(P > 0, recurrent & (r > 0))
        infinite = backwards(P > 0, recurrent & (r > 0))
    values = np.where(infinite, np.inf, 0.0)
    unknown = ~infinite & ~ended
    values[unknown] = np.linalg.solve(np.eye(unknown.sum()) - P[np.ix_(unknown, unknown)], r[unknown])
    return values


def backwards(edges: np.ndarray, states: np.ndarray) -> np.ndarray:
    """[S] the states from which some of the given states can be reached."""
    found = states.copy()
    while True:
        more = found | edges[:, found].any(axis=1)
        if (more == found).all():
            return found
        found = more


def in_bottom_components(P: np.ndarray) -> np.ndarray:
    """[S] the states of strongly connected components that are never left."""
    count, component = connected_components(csr_array(P > 0), connection="strong")
    left = np.zeros(count, dtype=bool)
    source, target = np.nonzero(P)
    left[component[source[component[source] != component[target]]]] = True
    return ~left[component]
