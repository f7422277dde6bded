"""Check: whether a solution's tree has the value it claims, and whether a certificate proves its bound.

These files import numpy, one another, and nothing else of omdt: whoever doubts the search reads them instead. They run
by themselves, `python -m omdt.check SOLUTION MODEL.npz --certificate FILE`, or behind `omdt check`. The page "What
proven means here" of the documentation has the mathematics in full, and the format of a certificate.

To be shown is that no tree within the size limit returns more than the bound B. There are two kinds of proof.

**By ranges** (`coarse`). A node is a partial tree whose thresholds are ranges; node 0 stands for all trees. A node is
either decided, and others take its place (`ranges`), or closed by a vector V with V ≥ r + γ P V for all actions that
its trees may take (`induction`), and p0·V ≤ B. Without a discount there is only this kind of proof, and it has to be
shown as well what V is worth in the limit. What is asked (`asked`) may be any objective in PRISM's syntax.
Under rules (`statement`, `ruling`), nodes are left out whose trees all break one, r has the prices of questions
subtracted, and limits on other totals are weighed with r by multipliers; `obeying` looks at the tree itself.

**By cases** (`fine`). A *case* is a partial tree with fixed leaves and open places; case 0 is a single open place. A
case is either branched at an open place into every action as a leaf and every question that divides the place, or
closed, because no tree that completes it returns more than B:

- by *losses*. For a vector U let δ(s, a) = U(s) − r(s, a) − γ P(s, a)·U. A policy with discounted visits x returns
  p0·U − Σ x δ, so a policy that returns more than B loses less than the budget β = p0·U − B. A set F of leaves loses,
  inside F, at least p0·W − λ β, for every vector W with W ≤ (1 + λ) δ + γ P W on F and W ≤ λ δ + γ P W elsewhere. The
  losses of disjoint parts of a tree add up; when they reach the budget, the case is closed. What *every* subtree of a
  certain size loses in a region is a claim, proven by cases of its own.
- by *options*. V bounds all trees of the case if an agent gains nothing on V that plays the actions of fixed leaves and
  elsewhere keeps an action until it leaves a box: a set of states that every leaf around the present state contains.
- by its *value*, if no place is open.

**Where probabilities are intervals** (`intervals`), the return of the tree in the worst case is computed anew. There
are no certificates for the bounds then.

In a proof by cases, vectors need not be exact: one that violates its inequality by e proves e / (1 − γ) less
(`Arithmetic.error_of`). Every violation is computed with a bound on its own rounding error (`Arithmetic.rounding`),
which is zero with `--exact`.
"""

from .asked import Asked, read_asked
from .cases import Open, Pins, Problem
from .chain import Chain
from .claimed import Case, Size, policy_digest
from .coarse import CoarseChecker, based_on, decoded
from .fine import RECORD, STEP, Checker
from .following import Following
from .induction import Induction
from .intervals import Intervals, read_intervals
from .ladders import Ladders, Range, Single
from .losses import Context, Pending, losses_of, make_context
from .model import Model, read_model
from .options import Options
from .questions import Questions
from .ranges import CoarseTree, Cut, Growth, Leaf, Undecided, choices
from .reading import FORMAT, HEAD, MAX_LINE, SOLUTION, Json, RejectedError, UnreadableError, records
from .regions import Regions
from .ruling import Ruling, Weights
from .statement import Statement
from .symmetries import Renaming, slack_of
from .verdict import GUARANTEED, RANGES, Verdict, check, check_guaranteed, check_learned, words

__all__ = [
    "FORMAT",
    "GUARANTEED",
    "HEAD",
    "MAX_LINE",
    "RANGES",
    "RECORD",
    "SOLUTION",
    "STEP",
    "Asked",
    "Case",
    "Chain",
    "Checker",
    "CoarseChecker",
    "CoarseTree",
    "Context",
    "Cut",
    "Following",
    "Growth",
    "Induction",
    "Intervals",
    "Json",
    "Ladders",
    "Leaf",
    "Model",
    "Open",
    "Options",
    "Pending",
    "Pins",
    "Problem",
    "Questions",
    "Range",
    "Regions",
    "RejectedError",
    "Renaming",
    "Ruling",
    "Single",
    "Size",
    "Statement",
    "Undecided",
    "UnreadableError",
    "Verdict",
    "Weights",
    "based_on",
    "check",
    "check_guaranteed",
    "check_learned",
    "choices",
    "decoded",
    "losses_of",
    "make_context",
    "policy_digest",
    "read_asked",
    "read_intervals",
    "read_model",
    "records",
    "slack_of",
    "words",
]
