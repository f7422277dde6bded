"""Coverage: how much of what a tree does a log has seen.

On the estimated model the tree spends discounted time x(s) in each state (`omdt.planning.occupancies`). Time in a state
whose action the tree takes and the log has tried is covered. The rest, and all time in the UNKNOWN that follows it, is
not. The END does not count as time.
"""

import numpy as np

from omdt.counting import listed
from omdt.errors import warn_input
from omdt.learning.estimating import Estimate
from omdt.learning.steps import Steps
from omdt.mdp import Bools, Floats, Ints
from omdt.planning import occupancies
from omdt.solution import Coverage, LeafCoverage
from omdt.tree import LEAF, TreePolicy
from omdt.watch import Watch

ENOUGH_COVERED = 0.99
"""The share of covered time below which a warning says what the log does not cover."""

NOTICED = 1e-3
"""The part of a tree's discounted time from which on a state counts as one where the tree spends time."""

MOST_LEAVES = 3
"""Maximum number of leaves that a warning names."""


def coverage(tree: TreePolicy, steps: Steps, estimate: Estimate, watch: Watch | None = None) -> Coverage:
    """What a log has seen of what a tree does.

    Args:
        tree: over the features of the log.
        steps: the log.
        estimate: its estimated model.
        watch: ends the computation early.
    """
    mdp, S = estimate.mdp, estimate.n_states
    actions = tree.actions(mdp.features)
    time = np.maximum(occupancies(mdp, actions, watch).value, 0.0)
    tried = estimate.visits[np.arange(S), actions[:S]]
    total = float(time[:S].sum() + time[S + 1])
    share = time[:S] / total
    spent = share > NOTICED
    return Coverage(
        share=float(share[tried > 0].sum()),
        least=int(tried[spent].min()) if spent.any() else 0,
        leaves=_leaves(tree, steps, tree.leaves(mdp.features[:S]), share),
    )


def _leaves(tree: TreePolicy, steps: Steps, leaf_of: Ints, share: Floats) -> tuple[LeafCoverage, ...]:
    """The coverage of each leaf, from left to right.

    Args:
        tree: the tree.
        steps: the log.
        leaf_of: [S] the leaf that each state reaches.
        share: [S] the part of the tree's time in each state.
    """
    spent = np.bincount(leaf_of, share, minlength=tree.n_nodes)
    reached = tree.leaves(steps.observations)
    alike: Bools = steps.actions == tree.action[reached]
    known = np.bincount(reached[alike], minlength=tree.n_nodes)
    return tuple(LeafCoverage(words, float(spent[leaf]), int(known[leaf])) for leaf, words in _paths(tree))


def _paths(tree: TreePolicy) -> list[tuple[int, str]]:
    """Every leaf from left to right, with the questions that lead to it and its action in words."""
    found: list[tuple[int, str]] = []
    stack: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while stack:
        node, asked = stack.pop()
        if tree.feature[node] == LEAF:
            action = tree.action_names[tree.action[node]]
            found.append((node, f"{' and '.join(asked) or 'always'}: {action}"))
            continue
        yes = tree.question(node)
        stack.append((int(tree.right[node]), (*asked, _denied(yes))))
        stack.append((int(tree.left[node]), (*asked, yes)))
    return found


def _denied(question: str) -> str:
    """The opposite of a question as `TreePolicy.question` words it."""
    if question.startswith("not "):
        return question.removeprefix("not ")
    for sign, opposite in ((" ≤ ", " > "), (" = ", " ≠ ")):
        if sign in question:
            name, number = question.rsplit(sign, 1)
            return f"{name}{opposite}{number}"
    raise AssertionError(question)


def warn_about_gaps(name: str, found: Coverage) -> None:
    """Warn where the log does not cover what the tree does.

    Args:
        name: of the log.
        found: the coverage of the tree.
    """
    if found.share >= ENOUGH_COVERED:
        return
    blind = [one for one in found.leaves if one.share > NOTICED and one.steps == 0]
    said = f"{name}: the log covers {found.share:.0%} of the time that the tree is on its way"
    if blind:
        told = [f"'{one.leaf}'" for one in sorted(blind, key=lambda one: -one.share)[:MOST_LEAVES]]
        said += f", and has no step like {listed(told, 'or')}"
    warn_input(f"{said}; in the rest of the time nothing is known of what the tree earns, and the worst is assumed")
