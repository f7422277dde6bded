"""The option bound: what an agent with options returns at most bounds every tree that completes a partial one.

Relax the tree: in a fixed leaf the agent plays the leaf's action; in an open region it picks, on entering a state s, a
box B ∋ s of the region (see `boxes`) and an action a, keeps a until it leaves B, and picks again. Every tree can be
played like this, hence the optimal value V̄ of this semi-Markov problem bounds the value of every tree:

    W_{B,a} = V + (I − γ P_BB^a)⁻¹ (Q_a − V)   on B,     Q_a = r_a + γ P_a V,
    (T V)(s) = max_{B ∋ s, a} W_{B,a}(s)       in open regions,     Q_a(s) in a leaf with action a,     V̄ = T V̄.

T is monotone and, since an option lasts at least one step, T(V + c) ≤ T V + γ c for c ≥ 0.

Where states have few successors, V̄ is approached from above by Gauss–Seidel sweeps over V and all W (`swept_options`);
otherwise policy iteration over options finds it (`dense_options`).
"""

import numpy as np

from omdt.mdp import Floats
from omdt.methods.search.bounds.dense_options import DenseOptions
from omdt.methods.search.bounds.option_values import OptionSolver
from omdt.methods.search.bounds.protocol import Bounded, VectorEvidence
from omdt.methods.search.bounds.swept_options import SweptOptions
from omdt.methods.search.boxes import Boxes
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Node, OpenRegion
from omdt.methods.search.regions import Regions
from omdt.watch import Watch


class OptionBound:
    """Bounds nodes by the value of an agent with options."""

    def __init__(self, model: Model, regions: Regions, max_bytes: int) -> None:
        self.model, self.regions, self.boxes = model, regions, Boxes(regions)
        self.solver: OptionSolver = (
            DenseOptions(model, self.boxes, max_bytes)
            if model.order is None
            else SweptOptions(model, self.boxes, model.order, acyclic=model.acyclic)
        )
        self._start = model.optimal.upper

    def bound(self, node: Node, target: float, watch: Watch) -> Bounded:
        """As in `Bound`; infinite where it would take too long.

        To first order the cheapest leaf or stump in a region costs min Σ_s x(s) (V(s) − Q(s, a)), with V the vector and
        x the visits of the agent with options. The place is the region where that costs most.
        """
        settings = self.model.settings
        sizes = [(o.region, min(o.depth, node.spare)) for o in node.open]
        if sum(self.boxes.count(*size) for size in sizes) > settings.max_boxes:
            return Bounded(np.inf)
        # In this order, and not in that of their numbers, which depends on what was examined before.
        active = np.concatenate([self.boxes.of(*size, watch) for size in sizes])
        if self.solver.price(active) > settings.max_box_operations:
            return Bounded(np.inf)
        start = self._start if node.partial.vector is None else node.partial.vector
        bound, vector, visits = self.solver.value(node.actions, active, start, target, watch)
        if bound <= target:
            return Bounded(bound, VectorEvidence(vector))
        gains = visits[:, None] * (self.model.look_ahead(vector) - vector[:, None])
        place = min(node.open, key=lambda o: self._most_to_gain(o, gains)).path
        return Bounded(bound, VectorEvidence(vector), place)

    def _most_to_gain(self, o: OpenRegion, gains: Floats) -> float:
        """First-order gain, at most 0, of the best leaf or stump in a region."""
        inside = gains[o.region.states]
        total = inside.sum(axis=0)
        if o.depth == 0:
            return float(total.max())
        left, right = self.regions.side_sums(o.region, inside)
        return float((right.max(axis=1) + left.max(axis=1)).max(initial=total.max()))
