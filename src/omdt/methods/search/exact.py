"""Exact search: best-first branch and bound over partial trees.

A partial tree has fixed leaves and open regions. Two bounds hold for all trees that complete it, and the better one
counts: what its leaves and open regions lose at least (`losses`, `tables`), and what an agent with options could
return (`options`). Branching closes one open region, either as a leaf with each action or as a split on each question
that divides it.

Losses are counted from the best policy that plays the actions of some fixed leaves, the *basis*; at first there are
none. When a single region is left open, its partial tree becomes a basis of its own: tables that know what the rest of
the tree does are much sharper.

Where no state is visited twice, every leaf can be avoided, and tables tell nothing. There the action of a single state
may be *pinned*, of the start first: a case for each of its actions. From there on some states are visited for sure, a
few actions remain within the budget in them, and many states are visited by no policy within it at all. Pins pay for
small budgets, those of raised targets (`frontier`).

The frontier is worked in rounds: its best partial trees are explored apart from one another, each for a fixed number
of nodes, all with the same incumbent. So the outcome does not depend on who explores which, nor on how many do.
"""

import heapq
import itertools
from dataclasses import dataclass, replace

import numpy as np

from omdt import planning
from omdt.mdp import EPSILON, MDP, Bools, Floats, Ints
from omdt.methods.search.boxes import Region, Regions, decisive
from omdt.methods.search.evaluation import DENSE_STATES, LOWERED, followed, look_ahead, sweep_order, topological_order
from omdt.methods.search.local import Nested, Size, count_leaves, leaf_actions, replaced, sibling_action, side_sums
from omdt.methods.search.losses import AcyclicLosses, DenseLosses, Losses, SweptLosses
from omdt.methods.search.options import DenseOptions, OptionBound, SweptOptions
from omdt.methods.search.symmetry import Symmetries
from omdt.methods.search.tables import Tables
from omdt.planning import Certified
from omdt.rules import names_only
from omdt.watch import OutOfTimeError, Watch

BLIND = 3
"""After so many ancestors of which losses could tell something and options could not, options are let alone."""

TELL = 0.05
"""Losses tell something when they are more than this part of the budget."""

HELP = 0.01
"""A bound helps when it takes this part of the way to the target."""

MAX_BOXES = 50_000
"""Boxes of one partial tree; with more the option bound is not worth its time."""

MAX_PRICE = 1e10
"""Floating-point operations for the inverses of the boxes of one partial tree, some seconds' worth."""

NODES_A_BASIS = 500
"""How many nodes are looked at around a basis of its own."""

CHEAP_STATES = 150
"""Up to here a basis of its own pays for a single question, beyond only where more may follow."""

MAX_PINS = 20
"""Of one partial tree."""

MAX_PINNED = 8
"""Of so many sets of pins tables are kept."""

SURVIVORS = 0.5
"""A state is pinned when no more than this part of its actions may be within the budget."""

MIN_ENTRIES = 100
"""A table may have so many, however little memory there is."""

BYTES_A_REGION = 1000
"""Roughly what an entry of a table takes, with its region and its leaves."""


Pins = tuple[tuple[int, int], ...]
"""States with the actions they are to have, whatever leaves they will belong to."""


@dataclass(frozen=True, eq=False)
class Partial:
    """A partial tree.

    Attributes:
        tree: nested, with None at open places.
        vector: [S] a vector above the value of every completion; None for the optimal values.
        choice: the way to the open place to branch on; None until the tree is bounded by itself.
        blind: of how many ancestors in a row losses could tell something and options could not.
        by_options: whether the option bound is part of its bound.
        pins: what is decided about single states.
    """

    tree: Nested
    vector: Floats | None
    choice: tuple[bool, ...] | None = None
    blind: int = 0
    by_options: bool = False
    pins: Pins = ()


Case = tuple[float, Partial]
"""A bound and the partial tree it holds for."""


@dataclass(frozen=True)
class Incumbent:
    """What is known when a round begins.

    Attributes:
        value: the best return of any tree.
        target: partial trees bounded by this need not be looked at.
        budget: the loss of a tree that returns as much as the target, or a little more.
        raised: whether the target is higher than the proof needs.
        may_pin: whether single states may be pinned; only where no state is visited twice.
    """

    value: float
    target: float
    budget: float
    raised: bool = False
    may_pin: bool = False


@dataclass(frozen=True)
class Findings:
    """What came of exploring a partial tree.

    Attributes:
        open: the cases that remain.
        closed: the highest bound of all that was closed.
        tree: the best complete tree that was met, or None.
        value: its return.
        nodes: how many partial trees were looked at.
        late: whether time was up before as many were looked at as should be.
    """

    open: list[Case]
    closed: float
    tree: Nested
    value: float
    nodes: int = 0
    late: bool = False


@dataclass(frozen=True, eq=False)
class Open:
    """A region of a partial tree that is not decided yet: the way to it and how many questions may follow."""

    path: tuple[bool, ...]
    region: Region
    depth: int


@dataclass(frozen=True, eq=False)
class Basis:
    """What losses are counted from.

    Attributes:
        actions: [S] the actions of the leaves and single states that belong to it, −1 elsewhere.
        losses: relative to the best policy that plays them.
        tables: what regions lose at least.
        has_leaves: whether leaves belong to it.
        entered: [S] where states were pinned, how often, discounted, a state is the first one without an action.
        seen: [S] then also, which states are visited by policies within the budget.
    """

    actions: Ints
    losses: Losses
    tables: Tables
    has_leaves: bool = False
    entered: Floats | None = None
    seen: Bools | None = None


def can_search(mdp: MDP) -> bool:
    """Whether the MDP is of a size that exact search handles."""
    return mdp.n_states <= DENSE_STATES or topological_order(mdp) is not None


class Explorer:
    """Explores cases; what it learns about regions is kept from one case to the next, but never shows in a result."""

    def __init__(
        self,
        mdp: MDP,
        sides: Bools,
        size: Size,
        optimal: Certified[Floats],
        symmetries: Symmetries,
        allowed: Bools | None,
        max_bytes: int,
    ) -> None:
        self.mdp, self.size, self.symmetries, self.max_bytes = mdp, size, symmetries, max_bytes
        self.allowed: Bools = np.ones(mdp.rewards.shape, dtype=np.bool_) if allowed is None else allowed
        # Where it does not matter what is done, any action will do, and no question need tell states apart.
        matters = decisive(mdp) | ~self.allowed.all(axis=1)
        self.regions = Regions(sides, np.flatnonzero(matters) if matters.any() else None)
        self.nothing = np.where(matters, -1, 0) if matters.any() else np.full(mdp.n_states, -1)
        self.optimal, self.start = optimal.value, optimal.upper
        self.topological = topological_order(mdp)
        self.acyclic = self.topological is not None
        self.order = sweep_order(mdp, optimal) if self.topological is None else self.topological[::-1]
        self.swept = self.order is not None and not self.acyclic
        self.options: OptionBound = (
            DenseOptions(mdp, self.regions, max_bytes // 2)
            if self.order is None
            else SweptOptions(mdp, self.regions, self.order, acyclic=self.acyclic)
        )
        self.losses = self._losses(self.optimal, self.allowed)
        self.bases: dict[bool, Basis] = {}
        self.pinned_bases: dict[Pins, Basis] = {}
        self._returns: dict[bytes, Certified[float]] = {}

    def explore(self, case: Case, incumbent: Incumbent, nodes: int, watch: Watch) -> Findings:
        """Look at up to so many nodes below a partial tree, best first."""
        try:
            basis = self._basis(incumbent, watch)
        except OutOfTimeError:
            return Findings([case], -np.inf, None, -np.inf, late=True)
        if case[1].pins:
            pinned = self._pinned_basis(case[1].pins, basis, watch)
            if pinned is None:
                return Findings([], incumbent.target, None, -np.inf, 1)
            basis = pinned
        return Exploration(self, basis, incumbent, watch).run(case, nodes)

    def _basis(self, incumbent: Incumbent, watch: Watch) -> Basis:
        """The basis without leaves, with tables for a budget; the last ones of both kinds of targets are kept."""
        basis = self.bases.get(incumbent.raised)
        if basis is None or basis.tables.budget != incumbent.budget:
            losses = self.losses.within(incumbent.budget, watch)
            basis = Basis(self.nothing, losses, self.tables(losses, incumbent.budget, watch))
            self.bases[incumbent.raised] = basis
        basis.tables.watch = watch
        return basis

    def _pinned_basis(self, pins: Pins, general: Basis, watch: Watch) -> Basis | None:
        """The basis of pinned states, of which the last few are kept; None when no tree with these is of interest.

        Only what policies within the budget visit belongs to its regions: other states are told apart by nothing.
        """
        if any(np.isinf(general.losses.delta[pin]) for pin in pins):
            return None
        target = general.losses.optimum - general.tables.budget
        basis = self.pinned_bases.pop(pins, None)
        if basis is None or basis.tables.budget != budget_of(basis.losses.optimum, target):
            actions = self.nothing.copy()
            actions[[state for state, _ in pins]] = [action for _, action in pins]
            losses = self.losses_around(actions, general.losses)
            budget = budget_of(losses.optimum, target)
            if budget <= 0:
                return None
            P = self.mdp.transitions
            model = (P.indptr, P.indices, P.data, self.mdp.discount, self.topological, self.mdp.initial)
            entered, seen = followed(*model, losses.delta, budget, actions)
            losses = self.losses_around(actions, general.losses)
            budget = budget_of(losses.optimum, target)
            if budget <= 0:
                return None
            regions = self.regions.among(np.flatnonzero(seen & (self.nothing < 0)))
            tables = self.tables(losses.among(seen), budget, watch, regions, MAX_PINNED)
            tables.certain = LOWERED * entered[:, None] * np.minimum(losses.delta, 1e300)
            basis = Basis(actions, losses, tables, entered=entered, seen=seen)
        self.pinned_bases[pins] = basis
        if len(self.pinned_bases) > max(1, min(MAX_PINNED, self.max_bytes // 8 // (64 * self.mdp.rewards.size))):
            del self.pinned_bases[next(iter(self.pinned_bases))]
        basis.tables.watch = watch
        return basis

    def basis_of(self, actions: Ints, general: Basis, target: float, watch: Watch) -> Basis | None:
        """The basis of fixed leaves, given the one without leaves.

        None when no tree with these leaves returns more than the target.
        """
        losses = self.losses_around(actions, general.losses)
        budget = budget_of(losses.optimum, target)
        if budget <= 0:
            return None
        counted = losses if general.seen is None else losses.among(general.seen)
        tables = self.tables(counted, budget, watch, general.tables.regions)
        return Basis(actions, losses, tables, has_leaves=True, seen=general.seen)

    def losses_around(self, actions: Ints, general: Losses) -> Losses:
        """Losses relative to the best policy with some actions fixed, given those with fewer."""
        policy = np.where(actions >= 0, actions, general.policy)
        cost = general.cheapest(actions, 1.0, 1.0, policy)[3]
        fixed = actions[:, None] == np.arange(self.mdp.n_actions)
        return self._losses(general.values - cost, np.where(actions[:, None] >= 0, fixed, np.isfinite(general.delta)))

    def filled_in(self, tree: Nested) -> tuple[Nested, Ints]:
        """A tree with any actions in place of what is open, and what it does in every state."""
        policy = np.maximum(self.nothing, 0)

        def complete(node: Nested, region: Region) -> Nested:
            if isinstance(node, tuple):
                left, right = self.regions.split(region, node[0])
                return (node[0], complete(node[1], left), complete(node[2], right))
            policy[region.states] = node or 0
            return node or 0

        return complete(tree, self.regions.everything), policy

    def value(self, policy: Ints) -> Certified[float]:
        """The return of a policy, which many trees may have in common."""
        key = policy.astype(np.int16).tobytes()
        if key not in self._returns:
            if len(self._returns) * len(key) >= self.max_bytes // 8:
                self._returns.clear()
            self._returns[key] = planning.policy_return(self.mdp, policy)
        return self._returns[key]

    def _losses(self, values: Floats, allowed: Bools) -> Losses:
        if self.order is None:
            return DenseLosses(self.mdp, values, allowed)
        kind = AcyclicLosses if self.acyclic else SweptLosses
        return kind(self.mdp, values, allowed, self.order)

    def tables(
        self, losses: Losses, budget: float, watch: Watch, regions: Regions | None = None, shares: int = 1
    ) -> Tables:
        """Empty tables, with one of so many shares of their memory."""
        max_entries = self.max_bytes // 8 // shares // (BYTES_A_REGION + self.mdp.n_states // 4)
        return Tables(losses, regions or self.regions, budget, max_entries=max(MIN_ENTRIES, max_entries), watch=watch)


def budget_of(optimum: float, target: float) -> float:
    """The loss of a tree that returns as much as the target, rounded up."""
    return optimum - target + 4 * EPSILON * (abs(optimum) + abs(target))


class Exploration:
    """One case and what comes of it."""

    def __init__(self, explorer: Explorer, basis: Basis, incumbent: Incumbent, watch: Watch) -> None:
        self.explorer, self.basis, self.watch = explorer, basis, watch
        self.mdp, self.size, self.tables, self.regions = explorer.mdp, explorer.size, basis.tables, basis.tables.regions
        self.target, self.value = incumbent.target, incumbent.value
        self.may_pin, self.raised = incumbent.may_pin, incumbent.raised
        self.best, self.completed, self.late = None, False, False
        self.closed, self.nodes = -np.inf, 0
        self.with_more_pins: list[Case] = []
        self.counter = itertools.count()
        self.heap: list[tuple[float, int, Partial]] = []

    def run(self, case: Case, nodes: int) -> Findings:
        """Look at up to so many nodes."""
        self._push(*case)
        while self.heap and self.nodes < nodes and self.watch.remaining > 0:
            self.nodes += 1
            negated, _, partial = heapq.heappop(self.heap)
            try:
                if partial.choice is None:
                    self._bound(-negated, partial)
                else:
                    self._branch(-negated, partial)
            except OutOfTimeError:
                self._push(-negated, partial)
                self.late = True
        remaining = [(-negated, partial) for negated, _, partial in sorted(self.heap, key=lambda it: it[:2])]
        self.late |= bool(remaining) and self.nodes < nodes
        return Findings(remaining + self.with_more_pins, self.closed, self.best, self.value, self.nodes, self.late)

    def _push(self, bound: float, partial: Partial) -> None:
        if bound <= self.target:
            self.closed = max(self.closed, bound)
        else:
            heapq.heappush(self.heap, (-bound, next(self.counter), partial))

    def _walk(self, tree: Nested) -> tuple[Ints, list[Open], int]:
        """[S] the actions that are decided, −1 elsewhere; the open regions; how many leaves may be added."""
        actions = self.basis.actions.copy()
        opens: list[Open] = []
        leaves = 0
        stack: list[tuple[Nested, tuple[bool, ...], Region]] = [(tree, (), self.regions.everything)]
        while stack:
            node, path, region = stack.pop()
            if isinstance(node, tuple):
                left, right = self.regions.split(region, node[0])
                stack += [(node[2], (*path, True), right), (node[1], (*path, False), left)]
                continue
            leaves += 1
            if node is None and len(region.states):
                opens.append(Open(path, region, self.size.depth - len(path)))
            elif node is not None:
                actions[region.states] = node
        return actions, opens, self.size.leaves - leaves

    def _try_completion(self, tree: Nested, opens: list[Open], spare: int) -> None:
        """Meet the tree that completes a partial one as the tables suggest."""
        for o in opens:
            subtree = self.tables.subtree(o.region, o.depth, spare + 1)
            tree = replaced(tree, o.path, subtree)
            spare -= count_leaves(subtree) - 1
        self._meet(tree, self._walk(tree)[0])
        self.completed = True

    def _meet(self, tree: Nested, policy: Ints) -> float:
        """Evaluate a complete tree; an upper bound on its return, or the target if that is higher."""
        if self.basis.seen is not None:
            # Nothing was decided where policies within the budget do not go: whatever is done there, a tree either
            # returns the same or does not reach the target.
            tree, policy = self.explorer.filled_in(tree)
        value = self.explorer.value(policy)
        if value.value > self.value and names_only(self.explorer.allowed, policy):
            self.value, self.best = value.value, tree
        return value.upper if self.basis.seen is None else max(value.upper, self.target)

    def _bound(self, of_parent: float, partial: Partial) -> None:
        """Bound a partial tree by itself and put it back, unless it is not worth it.

        As long as no leaf is fixed, options are cheap and tables are not; later it is the other way round.
        """
        actions, opens, spare = self._walk(partial.tree)
        if not opens:
            self._complete(of_parent, partial.tree, actions)
            return
        if self.may_pin and partial.tree is None:
            self._pin_or_branch(of_parent, partial)
            return
        if self._prefers_options(partial, actions, opens):
            bound, vector, choice = self._option_bound(partial, actions, opens, spare)
            blind = 0 if self._helps(of_parent, bound) else 1
            # The root is branched at once: what its tables would tell, those of its children tell sooner.
            place = () if partial.tree is None else None
            bounded = replace(partial, vector=vector, choice=place, blind=blind, by_options=True)
            self._push(min(bound, of_parent), bounded)
            return
        by_losses = self._loss_bound(actions, opens, spare)
        bound = min(of_parent, by_losses)
        if bound > self.target and not self.completed:
            self._try_completion(partial.tree, opens, spare)
        if bound > self.target and self._deserves_basis(actions, opens, spare):
            self._explore_around(bound, partial, actions)
            return
        if bound > self.target and partial.pins and self._pin(bound, partial, actions):
            return
        vector, blind, choice = partial.vector, partial.blind, None
        if self.raised and not self._helps(of_parent, bound):
            # Where losses cannot tell either, options are asked again.
            blind = min(blind, BLIND - 1)
        # Options know nothing of pins.
        if bound > self.target and blind < BLIND and not partial.pins:
            by_options, vector, choice = self._option_bound(partial, actions, opens, spare)
            losses_tell = self.basis.losses.optimum - by_losses > TELL * self.tables.budget
            blind = 0 if self._helps(bound, by_options) else blind + losses_tell
            if blind > 0 and self.explorer.swept:
                choice = None
            bound = min(bound, by_options)
        if bound <= self.target:
            self.closed = max(self.closed, bound)
            return
        if choice is None:
            choice = self._costliest(opens, spare)
        self._push(bound, replace(partial, vector=vector, choice=choice, blind=blind, by_options=True))

    def _pin_or_branch(self, bound: float, partial: Partial) -> None:
        """Pin the state where all begins, if there is one; with it a first question is asked."""
        starts = np.flatnonzero(self.mdp.initial)
        if partial.pins or len(starts) > 1 or self.explorer.nothing[starts[0]] >= 0:
            self._push(bound, replace(partial, choice=()))
        else:
            self._pin_at(int(starts[0]), np.isfinite(self.basis.losses.delta[starts[0]]), bound, partial)

    def _pin(self, bound: float, partial: Partial, actions: Ints) -> bool:
        """Pin one more state that is visited for sure and has few actions within the budget, if there is one."""
        entered = self.basis.entered
        if not self.may_pin or entered is None or self.tables.certain is None or len(partial.pins) >= MAX_PINS:
            return False
        within = self.tables.certain < self.tables.budget
        survivors = np.where((entered > 0) & (actions < 0), within.sum(axis=1), self.mdp.n_actions + 1)
        state = int(np.lexsort((-entered, survivors))[0])
        if survivors[state] > SURVIVORS * self.mdp.n_actions:
            return False
        self._pin_at(state, within[state], bound, partial)
        return True

    def _pin_at(self, state: int, within: Bools, bound: float, partial: Partial) -> None:
        """Replace a partial tree by those in which a state has one of the actions within the budget."""
        actions, opens, _ = self._walk(partial.tree)
        alike = self._symmetries_of(partial, actions, opens)
        alike = alike[self.explorer.symmetries.states[alike, state] == state]
        for action in range(self.mdp.n_actions):
            if np.any(self.explorer.symmetries.actions[alike, action] < action):
                continue
            if within[action]:
                self.with_more_pins.append((bound, replace(partial, pins=(*partial.pins, (state, action)))))
            else:
                self.closed = max(self.closed, self.target)

    def _prefers_options(self, partial: Partial, actions: Ints, opens: list[Open]) -> bool:
        """Whether a partial tree is bounded by options alone, for now."""
        if partial.pins or partial.by_options or partial.blind > 0 or np.any(actions != self.explorer.nothing):
            return False
        return partial.tree is None or max(o.depth for o in opens) > 1

    def _helps(self, before: float, after: float) -> bool:
        return before - after > HELP * (before - self.target)

    def _option_bound(
        self, partial: Partial, actions: Ints, opens: list[Open], spare: int
    ) -> tuple[float, Floats | None, tuple[bool, ...] | None]:
        """The bound by options, its vector, and the way to the region that promises to cost most.

        To first order the cheapest leaf or stump in a region costs min Σ_s x(s) (V(s) − Q(s, a)), with V the vector and
        x the visits of the agent with options.
        """
        if sum(self.regions.count_boxes(o.region, min(o.depth, spare)) for o in opens) > MAX_BOXES:
            return np.inf, partial.vector, None
        # In this order, and not in that of their numbers, which depends on what was looked at before.
        active = np.concatenate([self.regions.boxes_of(o.region, min(o.depth, spare), self.watch) for o in opens])
        if self.explorer.options.price(active) > MAX_PRICE:
            return np.inf, partial.vector, None
        start = self.explorer.start if partial.vector is None else partial.vector
        bound, vector, visits = self.explorer.options.bound(actions, active, start, self.target, self.watch)
        if bound <= self.target:
            return bound, vector, None
        gains = visits[:, None] * (look_ahead(self.mdp, vector) - vector[:, None])
        place = min(opens, key=lambda o: self._most_to_gain(o, gains)).path
        # One pass needs no start, and many vectors need much memory.
        return bound, partial.vector if self.explorer.acyclic else vector, place

    def _costliest(self, opens: list[Open], spare: int) -> tuple[bool, ...]:
        """The way to the deepest open region, and of several to the one that loses most."""
        budget = self.tables.budget
        return min(opens, key=lambda o: (o.depth, -self.tables.loss(o.region, o.depth, spare + 1, budget))).path

    def _loss_bound(self, actions: Ints, opens: list[Open], spare: int) -> float:
        """An upper bound on the return from what leaves and open regions lose; the target if that is too much."""
        budget, loss = self.tables.budget, 0.0
        for o in opens:
            loss += self.tables.loss(o.region, o.depth, spare + 1, budget - loss)
            if loss >= budget:
                return self.target
        if np.any(actions != self.basis.actions):
            loss += self.tables.losses.inside(actions, budget, budget - loss)
            if loss >= budget:
                return self.target
        optimum = self.basis.losses.optimum
        return optimum - loss + 4 * EPSILON * (abs(optimum) + loss)

    def _deserves_basis(self, actions: Ints, opens: list[Open], spare: int) -> bool:
        """Whether a single region is open, more may grow there than pays without, and the leaves are new."""
        if len(opens) > 1 or self.basis.has_leaves or np.array_equal(actions, self.basis.actions):
            return False
        return min(opens[0].depth, spare) > (0 if self.mdp.n_states <= CHEAP_STATES else 1)

    def _explore_around(self, bound: float, partial: Partial, actions: Ints) -> None:
        """Explore a partial tree with its own leaves as basis."""
        basis = self.explorer.basis_of(actions, self.basis, self.target, self.watch)
        if basis is None:
            self.closed = max(self.closed, self.target)
            return
        incumbent = Incumbent(self.value, self.target, basis.tables.budget)
        findings = Exploration(self.explorer, basis, incumbent, self.watch).run((bound, partial), NODES_A_BASIS)
        self.nodes += findings.nodes
        self.late |= findings.late
        self.closed = max(self.closed, findings.closed)
        if findings.value > self.value:
            self.value, self.best = findings.value, findings.tree
        for case in findings.open:
            self._push(*case)

    def _most_to_gain(self, o: Open, gains: Floats) -> float:
        """First-order gain, at most 0, of the best leaf or stump in a region."""
        inside = gains[o.region.states]
        total = inside.sum(axis=0)
        if o.depth == 0:
            return float(total.max())
        left, right = side_sums(self.regions.weights[o.region.states], inside)
        return float((right.max(axis=1) + left.max(axis=1)).max(initial=total.max()))

    def _branch(self, bound: float, partial: Partial) -> None:
        """Replace a partial tree by those in which one more region is decided."""
        actions, opens, spare = self._walk(partial.tree)
        chosen = next((o for o in opens if o.path == partial.choice), None)
        if chosen is None:
            # With a smaller budget, nobody goes there any more.
            self._push(bound, replace(partial, choice=None))
            return
        # Two sibling leaves that act alike are one leaf, which was looked at before they were split.
        useless = sibling_action(partial.tree, chosen.path)
        alike = self._symmetries_of(partial, actions, opens)
        for action in range(self.mdp.n_actions):
            if action == useless or np.any(self.explorer.symmetries.actions[alike, action] < action):
                continue
            if not self.explorer.allowed[chosen.region.states, action].all():
                continue
            tree = replaced(partial.tree, chosen.path, action)
            if len(opens) > 1:
                self._push(bound, Partial(tree, partial.vector, blind=partial.blind, pins=partial.pins))
            else:
                actions[chosen.region.states] = action
                self._complete(bound, tree, actions)
        if min(chosen.depth, spare) == 0:
            return
        for k in self._different(chosen.region, alike):
            tree = replaced(partial.tree, chosen.path, (int(k), None, None))
            self._push(bound, Partial(tree, partial.vector, blind=partial.blind, pins=partial.pins))

    def _symmetries_of(self, partial: Partial, actions: Ints, opens: list[Open]) -> Ints:
        """The symmetries that turn a partial tree with its pins into itself."""
        labels = actions.copy()
        for i, o in enumerate(opens):
            labels[o.region.states] = -2 - i
        for i, (state, _) in enumerate(partial.pins):
            labels[state] = self.mdp.n_actions + i
        used = {action for _, action in partial.pins} | leaf_actions(partial.tree)
        return self.explorer.symmetries.fixing(labels, np.array(sorted(used), dtype=np.int64))

    def _different(self, region: Region, alike: Ints) -> Ints:
        """The questions that divide a region, one of those that symmetries turn into one another."""
        questions = self.regions.questions(region)
        if len(alike) == 0:
            return questions
        turned = self.regions.same(region)[self.explorer.symmetries.questions[np.ix_(alike, questions)]]
        return questions[np.all(turned >= questions, axis=0)]

    def _complete(self, bound: float, tree: Nested, policy: Ints) -> None:
        """Close a tree with nothing open; what is not known of its return counts for the bound."""
        bound = min(bound, self._loss_bound(policy, [], 0))
        if bound > self.target:
            bound = min(bound, self._meet(tree, policy))
        self.closed = max(self.closed, bound)
