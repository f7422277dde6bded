"""Bases: the policies from which losses are counted, with the tables that belong to them.

Losses are counted from the best policy that plays the actions of some fixed leaves, the *basis*; at first there are
none. When a single region is left open, its partial tree becomes a basis of its own: tables that know what the rest of
the tree does are much sharper. Pinned states make a basis as well (`pins`).
"""

from dataclasses import dataclass, replace

import numpy as np

from omdt.mdp import EPSILON, Bools, Floats, Ints
from omdt.methods.search.bounds.losses import FINITE, Losses
from omdt.methods.search.bounds.news import Exchange, Exchanges
from omdt.methods.search.bounds.pins import SAFE_PRODUCT, first_state, followed, may_pin, pins_tell
from omdt.methods.search.bounds.tables import Tables
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Goal, Node, Pins
from omdt.methods.search.regions import Regions
from omdt.watch import Watch


@dataclass(frozen=True, eq=False)
class Basis:
    """What losses are counted from.

    Attributes:
        actions: [S] the actions of the leaves and single states that belong to it, −1 elsewhere.
        losses: relative to the best policy that plays them.
        tables: what regions lose at least.
        has_leaves: whether leaves belong to it.
        entered: [S] where states were pinned: the discounted first-hit frequency of states without an action.
        seen: [S] where states were pinned: which states are visited by policies within the budget.
    """

    actions: Ints
    losses: Losses
    tables: Tables
    has_leaves: bool = False
    entered: Floats | None = None
    seen: Bools | None = None

    @property
    def budget(self) -> float:
        """The loss of a tree that returns as much as the target, or a little more."""
        return self.tables.budget

    def during(self, watch: Watch) -> "Basis":
        """The same basis, whose computations another watch ends."""
        return replace(self, tables=self.tables.during(watch))


class Bases:
    """Makes bases; those that are used again and again are kept.

    Args:
        regions: of the same task with another size; None for new ones.

    Attributes:
        undecided: [S] −1, but 0 where it does not matter which action is taken.
        regions: of the states that matter; no question need tell the others apart.
        losses: relative to the best policy of any form.
        exchanges: what other processes tell and are told; None if there are none.
    """

    def __init__(
        self, model: Model, max_bytes: int, exchanges: Exchanges | None = None, regions: Regions | None = None
    ) -> None:
        self.model, self._max_bytes, self.exchanges = model, max_bytes, exchanges
        matters = model.decisive | ~model.allowed.all(axis=1)
        decisive = np.flatnonzero(matters) if matters.any() else None
        self.regions = Regions(model.sides, decisive) if regions is None else regions
        self.undecided: Ints = np.where(matters, -1, 0) if matters.any() else np.full(model.mdp.n_states, -1)
        self.losses = Losses(model, model.optimal.value, model.allowed)
        self._general: dict[bool, Basis] = {}
        self._pinned: dict[Pins, Basis] = {}

    def general(self, goal: Goal, watch: Watch) -> Basis:
        """The basis without leaves, for the budget of a goal; the last one of both kinds of targets is kept."""
        basis = self._general.get(goal.raised)
        if basis is None or basis.budget != goal.budget:
            exchange = None if self.exchanges is None else self.exchanges.about((goal.raised, goal.budget))
            losses = self._within(goal.budget, exchange, watch)
            basis = Basis(self.undecided, losses, self.tables(losses, goal.budget, watch, exchange=exchange))
            self._general[goal.raised] = basis
        return basis.during(watch)

    def worth_pinning(self, budget: float) -> bool:
        """Whether states may be pinned, and pins tell something within a budget."""
        start = first_state(self.model, self.undecided) if may_pin(self.model) else None
        return start is not None and pins_tell(self.model, self.losses.delta, budget, start)

    def pays(self, node: Node, general: Basis) -> bool:
        """Whether a node deserves a basis of its own: enough was decided since the present one, and more may grow."""
        decided = (node.actions >= 0) & (node.actions != general.actions)
        room = [min(o.depth, node.spare) for o in node.open]
        if general.entered is not None:
            part = self.model.settings.decided_visits
            enough = general.entered[decided].sum() > part * general.entered.sum() and max(room) > 0
        else:
            few = self.model.mdp.n_states <= self.model.settings.cheap_states
            enough = len(room) == 1 and not general.has_leaves and decided.any() and room[0] > (0 if few else 1)
        if not enough:
            return False
        # Leaves that no policy within the budget plays have no best policy to count losses from.
        fixed = np.flatnonzero(node.actions >= 0)
        return bool(np.isfinite(general.losses.delta[fixed, node.actions[fixed]]).all())

    def around(self, actions: Ints, general: Basis, target: float, watch: Watch) -> Basis:
        """The basis of fixed leaves, given the one without leaves.

        Without a positive budget no tree with these leaves returns more than the target.
        """
        if general.seen is not None:
            return replace(self._followed(actions, general, target, watch), has_leaves=True)
        losses = self._losses_around(actions, general.losses)
        tables = self.tables(losses, budget_of(losses.optimum, target), watch, general.tables.regions)
        return Basis(actions, losses, tables, has_leaves=True)

    def pinned(self, pins: Pins, general: Basis, watch: Watch) -> Basis | None:
        """The basis of pinned states, of which the last few are kept; None if one of the actions is beyond the budget.

        Without a positive budget no tree with these pins returns more than the target.
        """
        if any(np.isinf(general.losses.delta[pin]) for pin in pins):
            return None
        target = general.losses.optimum - general.budget
        basis = self._pinned.pop(pins, None)
        if basis is None or basis.budget != budget_of(basis.losses.optimum, target):
            actions = self.undecided.copy()
            actions[[state for state, _ in pins]] = [action for _, action in pins]
            basis = self._followed(actions, general, target, watch)
            if basis.budget <= 0:
                return basis
        settings, size = self.model.settings, 64 * self.model.mdp.rewards.size
        self._pinned[pins] = basis
        if len(self._pinned) > max(1, min(settings.max_pinned_bases, self._max_bytes // 8 // size)):
            del self._pinned[next(iter(self._pinned))]
        return basis.during(watch)

    def tables(
        self,
        losses: Losses,
        budget: float,
        watch: Watch,
        regions: Regions | None = None,
        *,
        shares: int = 1,
        certain: Floats | None = None,
        exchange: Exchange | None = None,
    ) -> Tables:
        """Empty tables, with one of several equal shares of their memory."""
        settings = self.model.settings
        entry = settings.bytes_per_entry + self.model.mdp.n_states // 4
        return Tables(
            losses,
            self.regions if regions is None else regions,
            budget,
            settings=settings,
            max_entries=max(settings.min_entries, self._max_bytes // 8 // shares // entry),
            watch=watch,
            certain=certain,
            exchange=exchange,
        )

    def _within(self, budget: float, exchange: Exchange | None, watch: Watch) -> Losses:
        """Losses without the actions that no policy within a budget takes."""
        if exchange is None:
            return self.losses.within(budget, watch)
        excluded = exchange.excluded(self.losses.delta.shape)
        if excluded is not None:
            return self.losses.without(excluded)
        losses = self.losses.within(budget, watch)
        exchange.add_excluded(np.isinf(losses.delta))
        return losses

    def _followed(self, actions: Ints, general: Basis, target: float, watch: Watch) -> Basis:
        """A new basis of pinned states, and of leaves, where no state is visited twice.

        Only what policies within the budget visit belongs to its regions: other states are told apart by nothing.
        Without a positive budget it is about nothing.
        """
        losses = self._losses_around(actions, general.losses)
        budget = budget_of(losses.optimum, target)
        if budget > 0:
            actions, entered, seen = followed(self.model, losses.delta, budget, actions)
            losses = self._losses_around(actions, general.losses)
            budget = budget_of(losses.optimum, target)
        if budget <= 0:
            return Basis(actions, losses, self.tables(losses, budget, watch))
        regions = self.regions.among(np.flatnonzero(seen & (self.undecided < 0)))
        certain = SAFE_PRODUCT * entered[:, None] * np.minimum(losses.delta, FINITE)
        shares = self.model.settings.max_pinned_bases
        tables = self.tables(losses.among(seen), budget, watch, regions, shares=shares, certain=certain)
        return Basis(actions, losses, tables, entered=entered, seen=seen)

    def _losses_around(self, actions: Ints, general: Losses) -> Losses:
        """Losses relative to the best policy with some actions fixed, given those with fewer."""
        cost = general.cheapest(actions).values
        fixed = actions[:, None] == np.arange(self.model.mdp.n_actions)
        allowed = np.where(actions[:, None] >= 0, fixed, np.isfinite(general.delta))
        return Losses(self.model, general.values - cost, allowed)


def budget_of(optimum: float, target: float) -> float:
    """The loss of a tree that returns as much as the target, rounded up."""
    return optimum - target + 4 * EPSILON * (abs(optimum) + abs(target))
