"""The sizes of a problem: of the paper's mixed-integer program, and of the set of trees.

The size of the program is counted from its formulation. The number of trees of depth d over K thresholds and A actions
is K^(2^d − 1) A^(2^d): one question per decision node and one action per leaf.
"""

import math

import numpy as np

from omdt.mdp import MDP


def milp_size(mdp: MDP, depth: int) -> tuple[int, int]:
    """Number of variables and of constraints of the paper's mixed-integer program."""
    S, A = mdp.rewards.shape
    values = sum(len(np.unique(column)) for column in mdp.features.T)
    nodes, leaves = 2**depth - 1, 2**depth
    variables = 2 * S * A + S * nodes + nodes * values + leaves * A
    constraints = 2 * S + nodes + leaves + S * nodes + S * A * leaves + S * A
    return variables, constraints


def trees_exponent(mdp: MDP, depth: int) -> float:
    """The decimal logarithm of the number of trees."""
    thresholds = sum(len(np.unique(column)) - 1 for column in mdp.features.T)
    nodes: int = 2**depth - 1
    leaves: int = 2**depth
    return nodes * math.log10(thresholds) + leaves * math.log10(mdp.n_actions)
