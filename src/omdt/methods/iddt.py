"""iDDT: a differentiable tree, trained by gradient ascent and then made an ordinary tree.

In a soft tree of depth D every decision node i goes right with a probability that depends on all features, and every
leaf l has a distribution over the actions:

    φ_i(s) = σ(w_i·X(s) − c_i),   q_l = softmax(θ_l),   π(a | s) = Σ_l μ_l(s) q_l(a),

where μ_l(s) is the product of φ or 1 − φ along the path to leaf l. The model is known, so the gradient of the return J
needs no samples: with occupancies x and Q-values of π,

    ∂J/∂π(a | s) = G(s, a) = x(s) Q(s, a),

and the rest is the chain rule through the tree. Let h_i(s) be what the subtree of node i earns, q_l·G(s, ·) at a leaf
and (1 − φ_i) h_left + φ_i h_right above, and ρ_i(s) the probability of reaching node i. Then

    ∂J/∂(w_i·X(s) − c_i) = ρ_i φ_i (1 − φ_i) (h_right − h_left),
    ∂J/∂θ_l(a) = q_l(a) Σ_s μ_l(s) (G(s, a) − h_l(s)).

After training each node keeps the feature of largest weight and the threshold at which that feature alone decides
even, and each leaf its likeliest action. Nothing ensures that this tree is as good as the soft one; of several
restarts the best tree is returned. Without a discount, a discounted guide (`Task.guide`) is trained for.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from omdt import planning
from omdt.errors import InputError
from omdt.limits import Limits
from omdt.mdp import MDP, Floats
from omdt.methods.heuristic import why_stopped
from omdt.methods.options import IddtOptions
from omdt.methods.shrinking import shrunk
from omdt.solution import Claim
from omdt.splits import Splits
from omdt.task import Size, Task
from omdt.tree import Attach, Nodes, TreePolicy
from omdt.watch import Watch

RESTARTS = 3
STEPS = 150
LEARNING_RATE = 0.1
"""Adam's step; features are scaled to [−1, 1], so weights of a few units make sharp decisions."""

INITIAL_WEIGHT = 1.0
"""Deviation of the first weights and thresholds; leaves start near the uniform distribution."""

MAX_DEPTH = 10
"""A soft tree has every one of its 2^D leaves, and every state reaches all of them."""


@dataclass(frozen=True, eq=False)
class SoftTree:
    """A complete soft tree; node i has the children 2i + 1 and 2i + 2, and the leaves come last.

    Attributes:
        weights: [2^D − 1, F] w.
        offsets: [2^D − 1] c.
        preferences: [2^D, A] θ.
    """

    weights: Floats
    offsets: Floats
    preferences: Floats

    @classmethod
    def random(cls, depth: int, n_features: int, n_actions: int, rng: np.random.Generator) -> "SoftTree":
        """A tree to start from."""
        inner = 2**depth - 1
        return cls(
            rng.normal(scale=INITIAL_WEIGHT, size=(inner, n_features)),
            rng.normal(scale=INITIAL_WEIGHT, size=inner),
            rng.normal(scale=0.1, size=(inner + 1, n_actions)),
        )

    @property
    def parameters(self) -> tuple[Floats, Floats, Floats]:
        """All that is trained."""
        return self.weights, self.offsets, self.preferences

    def right(self, X: Floats) -> Floats:
        """[S, 2^D − 1] φ, the probability of going right at each decision node."""
        probability: Floats = expit(X @ self.weights.T - self.offsets)
        return probability

    def policy(self, X: Floats) -> Floats:
        """[S, A] π for observations [S, F]."""
        inner = len(self.offsets)
        pi: Floats = _reach(self.right(X))[:, inner:] @ softmax(self.preferences, axis=1)
        pi /= pi.sum(axis=1, keepdims=True)
        return pi

    def gradient(self, X: Floats, G: Floats) -> tuple[Floats, Floats, Floats]:
        """The derivatives of J by w, c and θ, given G [S, A]."""
        inner, q, right = len(self.offsets), softmax(self.preferences, axis=1), self.right(X)
        reach = _reach(right)
        earned = np.empty_like(reach)
        earned[:, inner:] = G @ q.T
        slope = np.empty_like(right)
        for i in reversed(range(inner)):
            left_earns, right_earns = earned[:, 2 * i + 1], earned[:, 2 * i + 2]
            earned[:, i] = left_earns + right[:, i] * (right_earns - left_earns)
            slope[:, i] = reach[:, i] * right[:, i] * (1 - right[:, i]) * (right_earns - left_earns)
        leaf_reach = reach[:, inner:]
        by_preference = q * (leaf_reach.T @ G - (leaf_reach * earned[:, inner:]).sum(axis=0)[:, None])
        return slope.T @ X, -slope.sum(axis=0), by_preference


def _reach(right: Floats) -> Floats:
    """[S, 2^(D+1) − 1] ρ, the probability of reaching each node, leaves included."""
    S, inner = right.shape
    reach = np.ones((S, 2 * inner + 1))
    for i in range(inner):
        reach[:, 2 * i + 1] = reach[:, i] * (1 - right[:, i])
        reach[:, 2 * i + 2] = reach[:, i] * right[:, i]
    return reach


def iddt(task: Task, limits: Limits, watch: Watch, options: IddtOptions) -> Claim:
    """The best discretised tree of several differentiable ones, over thresholds only."""
    mdp, guide, splits = task.problem, task.guide, task.splits
    depth = _depth(task.size)
    rng = np.random.default_rng(limits.seed)
    bound = planning.expected_return(mdp, planning.optimal_values(mdp)).upper
    best, value = TreePolicy.leaf(0, splits.feature_names, mdp.action_names), (-math.inf, -math.inf)
    with watch.catching_interrupts():
        for restart in range(RESTARTS):
            if restart > 0 and watch.remaining == 0:
                break
            soft = SoftTree.random(depth, len(splits.feature_names), mdp.n_actions, rng)
            tree = discretised(_trained(soft, guide, splits.observations, watch), splits, mdp.action_names)
            # Where trees are worth the same, be it −∞, the guide tells which one comes closer.
            earned = (
                planning.evaluate(mdp, tree, splits.observations),
                planning.evaluate(guide, tree, splits.observations),
            )
            if earned > value:
                best, value = tree, earned
                watch.report(value[0], max(bound, value[0]))
        best = shrunk(best, task, watch.closing())
    return Claim(best, bound, why_stopped(watch))


def _depth(size: Size) -> int:
    """The depth of the largest complete tree within a limited size."""
    by_leaves = math.inf if size.max_leaf_nodes is None else size.max_leaf_nodes.bit_length() - 1
    depth = by_leaves if size.max_depth is None else min(size.max_depth, by_leaves)
    if depth > MAX_DEPTH:
        raise InputError(f"the method iddt trains complete trees of depth {MAX_DEPTH} at most; {depth} was asked for")
    return int(depth)


def scaling(observations: Floats) -> tuple[Floats, Floats]:
    """[F] centre and [F] half the range of each feature, 1 for one that never varies."""
    low, high = observations.min(axis=0), observations.max(axis=0)
    half = high / 2 - low / 2
    return low + half, np.where(half > 0, half, 1.0)


def _trained(soft: SoftTree, mdp: MDP, observations: Floats, watch: Watch) -> SoftTree:
    """The soft tree after gradient ascent on the return, by Adam."""
    centre, half = scaling(observations)
    X = (observations - centre) / half
    first = [np.zeros_like(p) for p in soft.parameters]
    second = [np.zeros_like(p) for p in soft.parameters]
    for step in range(1, STEPS + 1):
        if watch.remaining == 0:
            break
        gradients = soft.gradient(X, return_gradient(mdp, soft.policy(X)))
        moved = []
        for p, g, m, v in zip(soft.parameters, gradients, first, second, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            size = np.sqrt(v / (1 - 0.999**step)) + 1e-12
            moved.append(p + LEARNING_RATE * m / (1 - 0.9**step) / size)
        soft = SoftTree(*moved)
    return soft


def return_gradient(mdp: MDP, policy: Floats) -> Floats:
    """[S, A] x(s) (Q(s, a) − V(s)); V is the same for every action and leaves the gradient of the tree as it is."""
    values = planning.policy_values(mdp, policy)
    advantage = planning.q_values(mdp, values).value - values.value[:, None]
    return planning.occupancies(mdp, policy).value[:, None] * advantage


def discretised(soft: SoftTree, splits: Splits, action_names: tuple[str, ...]) -> TreePolicy:
    """The tree with one feature a node and one action a leaf."""
    centre, half = scaling(splits.observations)
    inner, grown = len(soft.offsets), Nodes()
    stack: list[tuple[int, Attach | None]] = [(0, None)]
    while stack:
        i, attach = stack.pop()
        if i >= inner:
            grown.leaf(int(soft.preferences[i - inner].argmax()), attach)
            continue
        j = int(np.abs(soft.weights[i]).argmax())
        w = soft.weights[i, j]
        threshold = centre[j] + half[j] * np.clip(soft.offsets[i] / w, -2, 2) if w != 0 else centre[j]
        index = grown.split(j, float(threshold), False, attach)
        # A negative weight goes right where the feature is small.
        below, above = (2 * i + 1, 2 * i + 2) if w >= 0 else (2 * i + 2, 2 * i + 1)
        stack += [(above, (index, "right")), (below, (index, "left"))]
    return grown.tree(TreePolicy, splits.feature_names, action_names)
