"""The models of the corpus as the package reads them, and random trees for them."""

import warnings
from functools import cache
from pathlib import Path

import numpy as np

import omdt
from omdt.mdp import MDP
from omdt.objective import Objective
from omdt.planning import Certified
from omdt.tree import LEAF, TreePolicy
from omdt.unavailable import with_exceptions


@cache
def read(path: Path) -> MDP:
    """A model with all its labels and rewards; what is said about unavailable actions is not of interest here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omdt.InputWarning)
        return omdt.read(path, objective='Pmax=? [F "init"]')


def random_tree(mdp: MDP, rng: np.random.Generator) -> TreePolicy:
    """A tree of depth 2 over the values of the features, whose leaves name any action, available or not."""
    feature = np.array([*rng.integers(mdp.n_features, size=3), LEAF, LEAF, LEAF, LEAF])
    states = rng.integers(mdp.n_states, size=7)
    threshold = np.where(feature == LEAF, 0.0, mdp.features[states, feature] + 0.5 * rng.integers(0, 2, 7))
    tree = TreePolicy(
        feature=feature,
        threshold=threshold,
        left=np.array([1, 3, 5, -1, -1, -1, -1]),
        right=np.array([2, 4, 6, -1, -1, -1, -1]),
        action=np.where(feature == LEAF, rng.integers(mdp.n_actions, size=7), -1),
        equality=np.zeros(7, dtype=np.bool_),
        feature_names=mdp.feature_names,
        action_names=mdp.action_names,
        truths=mdp.truths,
    )
    return with_exceptions(mdp, tree, mdp.features)


def shown(objective: Objective, mdp: MDP, found: Certified[float]) -> float:
    """The figure that users see for a return of the objective's problem."""
    value = found.value + objective.offset(mdp)
    return -value if objective.minimised else value
