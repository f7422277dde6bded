"""Settings: every number of the search that may be tuned, with its meaning and the reason for its value.

Those of the local search are in `climbing_settings`.

None of them changes what is proven: other values make the search faster or slower, or end it with another gap.
Margins that keep bounds safe against rounding are no settings; they stand beside the arithmetic that needs them.
"""

from dataclasses import dataclass

from omdt.methods.search.climbing_settings import ClimbingSettings


@dataclass(frozen=True)
class SearchSettings(ClimbingSettings):
    """How the search goes about its work; the defaults were chosen by `make bench-search`."""

    # Turns of local and exact search

    first_climbs: int = 1
    """Climbs of the local search before the proof begins: easy proofs take less time than further climbs."""

    nodes_per_climb: int = 64
    """In its turn the local search climbs once, and once more per this many nodes of the round before."""

    swept_nodes_per_climb: int = 512
    """The same where nodes are bounded by sweeps: a climb takes as long as many more nodes there."""

    busy_rounds: int = 10
    """Rounds after the last improvement in which the local search has a turn each; later it has fewer."""

    quiet_factor: int = 4
    """Later, a climb comes after this many times as many nodes: a fifth of the time on networks, less elsewhere."""

    # Enumeration

    enumerated_seconds: float = 10.0
    """Estimated seconds up to which all trees are enumerated instead of searched."""

    enumerated_states: int = 400
    """With fewer states, `enumerated_seconds` shrinks with the cube of their number: exact search is faster then."""

    seconds_per_tree: float = 5e-4
    """Estimated seconds per evaluation of a tree, besides those per transition."""

    seconds_per_transition: float = 3e-7
    """Estimated seconds per transition of the evaluated policy."""

    # Linear algebra, chosen by the shape of the MDP

    dense_states: int = 1200
    """Maximum number of states, unless no state can be visited twice, for which the fine search is used at all."""

    evaluations_per_base: int = 100
    """Policies that the local search evaluates per base policy, on average: a dense inverse must pay within these."""

    seconds_per_cube: float = 1e-10
    """Estimated seconds of a dense inverse per cube of the number of states."""

    steps_per_evaluation: int = 10
    """Estimated steps of GMRES per policy that is evaluated by kept factors."""

    dense_entries: int = 50_000_000
    """Maximum number of entries of the dense array [S, A, S] that a dense inverse needs beside it."""

    swept_states: int = 600
    """From this many states on, bounds are computed by sweeps where states have few successors."""

    few_successors: int = 10
    """Average number of successors per state and action up to which they count as few: sweeps are faster than inverses
    then, and policies can avoid states."""

    visit_sweeps: int = 30
    """Sweeps that estimate how often states are visited, where visits only order the work."""

    # Losses

    loss_accuracy: float = 0.01
    """The search for the Lagrange multiplier ends when it can add no more than this part of budget and loss."""

    max_multipliers: int = 12
    """Lagrange multipliers tried per set of leaves."""

    loss_iterations: int = 60
    """Iterations of policy iteration per cheapest policy; the bound is valid wherever they end."""

    loss_tolerance: float = 1e-4
    """Sweeps end when no loss changes by more than this part of the budget."""

    loss_sweeps: int = 9
    """Sweeps between two improvements of a policy."""

    # Tables

    negligible_loss: float = 1e-3
    """A loss below this part of the budget counts as none: exploring its reasons would take longer than it helps."""

    max_growing_subtrees: int = 200
    """Growing subtrees examined per table entry; the entry is a valid bound also when these were not enough."""

    min_entries: int = 100
    """Minimum number of entries per table, however little memory there is."""

    bytes_per_entry: int = 1000
    """Rough size of a table entry with its region and its leaves."""

    # Options

    max_boxes: int = 50_000
    """Maximum number of boxes per partial tree; with more, the option bound takes longer than branching."""

    max_box_operations: float = 3e9
    """Maximum floating-point operations for the inverses of the boxes of one partial tree: a second or two. With more,
    losses have closed most partial trees before."""

    max_box_transitions: float = 3e7
    """Transitions within all boxes of one partial tree; with more, sweeps need too much memory."""

    option_iterations: int = 30
    """Iterations of policy iteration over options."""

    option_sweeps: int = 1000
    """Sweeps per option bound; every one gives a valid bound."""

    settled_sweep: float = 1e-3
    """Sweeps end when one takes the bound less than this part of its way to the target."""

    chunk_entries: int = 4_000_000
    """Entries of the inverses that are computed between two looks at the clock: less than a second."""

    # Which bound is asked

    blind_ancestors: int = 3
    """Options are skipped below this many ancestors in a row about which losses told something and options nothing."""

    first_chances: int = 3
    """Times per case that options are asked again, below these ancestors, where losses tell no more."""

    gained_chances: int = 3
    """Further times for each of them that tells something: a bound that helps is worth some that do not."""

    telling_loss: float = 0.05
    """Losses tell something when they exceed this part of the budget."""

    helping_step: float = 0.01
    """A bound helps when it takes the bound this part of its way to the target."""

    nodes_per_basis: int = 500
    """Nodes explored with the leaves of one partial tree as basis."""

    cheap_states: int = 150
    """Up to this many states a basis of its own pays for a single further question, beyond only for more of them."""

    # Pins

    max_pins: int = 20
    """Pinned states per partial tree."""

    max_pinned_bases: int = 8
    """Sets of pins whose tables are kept."""

    decided_visits: float = 0.1
    """With pins, leaves have a basis of their own when they decide this part of the visits that are certain."""

    max_conflicts: int = 4096
    """Conflicts that are kept per context of a certificate: to look through all of them takes some 20 µs."""

    blame_attempts: int = 48
    """Attempts to leave states out of a conflict in a certificate; all of them cost as much as one or two vectors."""

    surviving_actions: float = 0.5
    """A state is pinned when at most this part of its actions is within the budget."""

    # Rounds

    cases_per_round: int = 8
    """Cases whose findings are put together per round, between two turns of the local search."""

    cases_under_way: int = 32
    """Cases that are explored or wait for it, whatever the number of processes, so that results do not depend on it:
    four rounds of cases keep other processes busy while this one climbs; more would be for an old incumbent."""

    nodes_per_case: int = 128
    """Nodes per case and round; the first rounds explore fewer, so that a first bound comes soon."""

    fresh_budget: float = 0.9
    """Tables are made anew when the budget has shrunk to this part of the one they were made for."""

    solo_seconds: float = 1.0
    """Seconds of exploration, without compilation, before other processes are started, which takes about as long."""

    max_lost_workers: int = 5
    """After this many losses of a process, or of a job on its way to one, this process explores alone."""

    # Raised targets

    raised_levels: tuple[float, ...] = (
        *(0.999, 0.98, 0.95, 0.925, 0.9, 0.8, 0.6, 0.5),
        *(0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1),
    )
    """Raised targets, as parts of the way from the incumbent to the unrestricted optimum, easiest first. Bounds of the
    deepest cells stay longest between 0.95 and 0.9."""

    patience: float = 20.0
    """Seconds of the proof before the first target is raised."""

    telling_patience: float = 1.2
    """How many times as long this is where the proof's own bound tells anything: then it often ends by that time."""

    slice_seconds: float = 10.0
    """Seconds after which a round is cut off so that the other kind of target has its turn."""

    proof_share: float = 3.0
    """Seconds of the proof per second of raised targets, of all processes together."""

    leading_proof_share: float = 9.0
    """The same where the proof's own bound is the lower one, or tells anything after `raised_seconds`."""

    raised_seconds: float = 60.0
    """Seconds of all processes together that raised targets may take before a proof that tells something has nearly all
    of the time: what they tell soon, they tell by then, and proofs of minutes are not held up any longer."""

    nodes_per_raised_case: int = 16
    """Nodes per case and round with a raised target."""

    # Coarse search

    coarse_nodes_per_round: int = 8
    """Coarse trees decided about per round, whatever the number of threads, so that results do not depend on it."""

    coarse_first_nodes: int = 1000
    """Nodes of the coarse search that are estimated to take a second; 0 for the fine search alone."""

    coarse_first_transitions: float = 2e7
    """Transitions of all these nodes together, which limits their number where every state has many successors."""

    waiting_share: float = 0.4
    """The fine search waits until the coarse search has taken this part of the seconds that the fine one needs to fill
    its tables, both estimated. Below 1, because the fine search is more often the one that proves."""

    max_waiting_seconds: float = 20.0
    """Most estimated seconds of waiting: raised targets lower the bound long before all tables are filled."""

    max_hopeless_seconds: float = 8.0
    """The same while the bound of the coarse search is that of all policies. With binary features and deep trees it
    stays there for minutes. inventory_management at depth 1 is proven in its second round, each estimated at seven."""

    hopeless_climbing: float = 12.0
    """How many times as much is climbed beside the coarse search while that is so, as there is little to hope for but a
    good tree, until what is climbed before tables are filled is done."""

    hopeless_tables: float = 3.0
    """How many times as long it is taken to fill the tables then: the proof is far away, and good trees take climbs."""

    leading_share: float = 1.0
    """Estimated seconds of the coarse search per second of the fine search while the coarse one has the lower bound."""

    trailing_share: float = 0.04
    """The same while it has not."""

    hopeless_share: float = 0.01
    """The same while its bound is that of all policies."""

    coarse_sweeps: int = 40
    """Sweeps per bound of a coarse tree before policy iteration is tried; every one gives a valid bound."""

    coarse_settled: float = 1e-3
    """Sweeps end when none changes a value by more than this part of the bound's distance to the target."""

    threaded_transitions: int = 20_000
    """From this many transitions on, several threads bound coarse trees; with fewer they wait for one another."""

    # Symmetries

    max_renamings: int = 48
    """Renamings that are kept."""

    max_colourings: int = 200
    """Colourings of the states examined per pair of questions."""

    max_symmetry_work: int = 30_000_000
    """Transitions examined to find renamings: less than a second."""

    symmetry_call: int = 1000
    """Transitions that one short computation on arrays counts as."""

    # Certificates

    claim_surplus: float = 1.5
    """Factor by which a claim is made stronger than needed when it was needed stronger than before."""


DEFAULTS = SearchSettings()
