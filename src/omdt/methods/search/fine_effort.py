"""Effort of the fine search, estimated from its sizes and a few sampled regions, and never measured.

Two things take long before a node of the fine search is cheap. Actions that no policy within the budget takes are
excluded, which costs one cheapest policy per state and action. Then tables are filled: what a leaf loses is computed
for nearly every region that a leaf may have, and for every action that is not excluded in one of its states. With few
such actions, nearly all regions are pruned at once.

A region of depth k is the set of states that give certain answers to k questions. If one of the answers follows from
the others, the region is not as deep as that, so only irredundant sets of answers count: on scales of thresholds, no
other set describes the same region. There are (2K)^k / k! sets of answers to k of K questions; samples tell which part
of them is irredundant, how many actions remain there, and how many states such a region has.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np

from omdt.mdp import Bools, Ints
from omdt.methods.search.bounds.losses import Losses
from omdt.methods.search.model import Model
from omdt.methods.search.regions import Regions
from omdt.watch import Watch

SAMPLES = 300
"""Sets of answers sampled per depth: an estimate within a factor of two takes some ten milliseconds."""

SECONDS_PER_EXCLUSION, SECONDS_PER_EXCLUSION_TRANSITION = 2e-5, 1e-9
"""Estimated seconds per state and action to find out whether the action is within the budget: a constant, and seconds
per transition of the MDP."""

SECONDS_PER_LOSS, SECONDS_PER_LOSS_TRANSITION, SECONDS_PER_SWEPT_TRANSITION = 3e-5, 1e-8, 1e-7
"""Estimated seconds per loss of a leaf: a constant, and seconds per transition of the MDP, without and with sweeps. The
figures were measured on the environments of the paper and fit all of them within a factor of three."""

SOLVES_PER_LOSS = 10
"""Estimated linear systems per loss of a leaf, each as large as its region, where no sweeps are used."""

LOSSES_PER_NODE, MOST_SECONDS_PER_NODE = 5, 1e-3
"""Estimated number of losses per node of the fine search once its tables are filled, and seconds that these take at
most: large regions take long, but most children of a node are closed by what tables know of them. Measured on the
environments of the paper: 0.1 to 1.4 milliseconds per node."""


@dataclass(frozen=True)
class FineEffort:
    """What the fine search is estimated to cost.

    Attributes:
        tables: seconds to fill its tables.
        node: seconds per node afterwards.
    """

    tables: float
    node: float


def exclusion_seconds(model: Model) -> float:
    """Estimated seconds to exclude the actions that no policy within the budget takes."""
    transitions = int(model.mdp.transitions.nnz)
    return model.mdp.rewards.size * (SECONDS_PER_EXCLUSION + SECONDS_PER_EXCLUSION_TRANSITION * transitions)


def fine_effort(model: Model, regions: Regions, losses: Losses, watch: Watch) -> FineEffort:
    """The effort of the fine search.

    Args:
        model: the task.
        regions: of the states that matter.
        losses: infinite for excluded actions.
        watch: ends the computation by an `OutOfTimeError`.
    """
    rng, remaining = np.random.default_rng(0), np.isfinite(losses.delta)
    questions = len(regions.questions(regions.everything))
    seconds = count = 0.0
    for depth in range(1, model.size.depth + 1):
        watch.check()
        sets = (2 * questions) ** depth / factorial(depth)
        found = [_sampled(regions, depth, rng) for _ in range(SAMPLES if questions else 0)]
        inside = [states for states in found if states is not None]
        if not inside:
            break
        actions = np.array([remaining[states].all(axis=0).sum() for states in inside])
        each = np.array([_seconds_per_loss(model, len(states)) for states in inside])
        count += sets * float(actions.sum()) / SAMPLES
        seconds += sets * float(actions @ each) / SAMPLES
    per_loss = seconds / count if count > 0 else SECONDS_PER_LOSS
    return FineEffort(seconds, min(LOSSES_PER_NODE * per_loss, MOST_SECONDS_PER_NODE))


def _sampled(regions: Regions, depth: int, rng: np.random.Generator) -> Ints | None:
    """The states that give random answers to random questions; None if there are none, or if answers are redundant."""
    everything = regions.everything
    asked = rng.choice(regions.questions(everything), size=depth)
    wrong: Bools = regions.sides[np.ix_(everything.states, asked)] != rng.integers(2, size=depth).astype(np.bool_)
    mistakes = wrong.sum(axis=1)
    # An answer is needed if it alone keeps some state out.
    needed = wrong[mistakes == 1].any(axis=0).all()
    inside: Ints = everything.states[mistakes == 0]
    return inside if needed and len(inside) > 0 else None


def _seconds_per_loss(model: Model, states: int) -> float:
    """Estimated seconds to compute what a leaf with this many states loses."""
    swept, transitions = model.swept, int(model.mdp.transitions.nnz)
    per_transition = SECONDS_PER_SWEPT_TRANSITION if swept else SECONDS_PER_LOSS_TRANSITION
    solved = 0 if model.order is not None else SOLVES_PER_LOSS * model.settings.seconds_per_cube * states**3
    return SECONDS_PER_LOSS + per_transition * transitions + solved
