"""Climbing settings: every number of the local search that may be tuned, with its meaning and why it is what it is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ClimbingSettings:
    """How the local search goes about its work."""

    # Local search

    candidates_per_node: int = 12
    """Subtrees per node and kind of change that are evaluated exactly, the most promising first."""

    mixing: float = 0.02
    """Weight of all states alike in the occupancies that estimate gains: states that the present tree misses count."""

    quick_loss: float = 0.1
    """Quick climbs skip neighbours whose estimated loss exceeds this part of the shortfall from the unrestricted
    optimum. In thousands of steps hardly any of these was better, and they are most of the neighbours."""

    steep_loss: float = 0.5
    """The same for steep climbs, which look further."""

    root_starts: int = 32
    """Trees with different questions at the root from which quick climbs begin, per kind of weights."""

    population: int = 8
    """Trees with different questions at the root from whose random changes quick climbs begin. From more of them, the
    worst would be too far behind."""

    selection: float = 0.3
    """Probability that a quick climb begins with the best of these trees, and with the next one if not with that."""

    crossed_trees: int = 4
    """Trees that must be new among the kept ones before all of them are crossed again: crossings of a few new trees are
    some hundred evaluations."""

    sights: tuple[float, ...] = (0.5, 0.9)
    """Discounts of short-sighted guides, as parts of the discount of the task; no guides if empty. In ten seconds,
    either alone missed good trees on some models of Taxi, where most trees return the same."""

    climbing_share: float = 0.5
    """Estimated seconds of climbing before the fine search, per second that it is estimated to take for its tables."""

    max_climbing_seconds: float = 18.0
    """Most estimated seconds of climbing before the fine search: enough for a climb per question at the root and the
    crossings of what these end with, in all cells of the paper."""

    worthwhile_gain: float = 0.02
    """Where the unrestricted optimum is above the incumbent by less than this part of it, these seconds are fewer, in
    proportion: climbing can gain little there, and the proof is often near."""

    max_repeats: int = 10
    """Climbs in a row that end where an earlier one ended, after which there are no more before the fine search. In
    ten cells of the paper, better trees that such climbing found came after one of these in a row at most."""

    seconds_per_neighbour: float = 1e-4
    """Estimated seconds per neighbour of a tree, besides those that depend on the number of states."""

    seconds_per_neighbour_state: float = 1.5e-7
    """Estimated seconds per neighbour and state."""

    max_steps: int = 1000
    """Improvements per climb; only rounding could make a climb go round in circles."""

    impatient_states: int = 4000
    """From this many states on, climbs begin with fitted trees and those of coarse models: evaluations take long."""

    min_evaluations: int = 10
    """Minimum number of evaluations wherever their number is derived from estimated seconds."""

    step_seconds: float = 3.0
    """Estimated seconds of evaluations per step of a climb; beyond, only the most promising neighbours are tried."""

    resolution: int = 64
    """Evenly spread thresholds per column among which the most promising are chosen; else all would be neighbours."""

    pair_thresholds: int = 32
    """Thresholds per column for which the best stumps on both sides are found by one pass over many states."""

    pair_entries: int = 4_000_000
    """Entries of the histogram of that pass: 32 MB."""

    hopeful_shortfall: float = 2.0
    """From `impatient_states` on, climbs begin only with trees whose shortfall from the unrestricted optimum is at most
    this multiple of the incumbent's."""

    # Coarse models

    coarse_states: int = 400
    """Maximum number of states of the coarsest model: local search finds a good tree there within a second."""

    coarsening: int = 10
    """States per state of a coarse model, unless that would have fewer than `impatient_states`."""

    coarse_seconds: float = 5.0
    """Estimated seconds of evaluations on a coarse model."""

    coarse_trees: int = 4
    """Trees taken from a coarse model, the last incumbents there: several, because its returns are only estimates."""

    refitted_trees: int = 5
    """Trees that are fitted one after another, each to the gains around the one before; later ones hardly differ."""

    max_random_changes: int = 3
    """Random changes per restart; more of them would lose what makes the incumbent good."""

    forbidden_loss: float = 1e3
    """Estimated loss of a forbidden action per state, as a multiple of all other gains: any other loss is preferred."""

    polishing_share: float = 0.1
    """Largest part of the time limit that is kept back to evaluate all small changes of the last best tree."""
