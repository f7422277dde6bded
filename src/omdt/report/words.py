"""Numbers, states, questions and proofs in plain words, for readers who do not know the mathematics."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omdt.counting import counted
from omdt.mdp import Floats
from omdt.printing.experiences import ON_MODEL
from omdt.solution import Solution, Stop, relative_gap
from omdt.tree import LEAF, Range, TreePolicy, printable

MOST_FEATURES = 8
"""Maximum number of features that a description of a state lists; with more features, those that are 0 are left out."""

STOPPED = {
    Stop.COMPLETE: "The search space is exhausted.",
    Stop.TIME: "The run ended at its time limit; more time may raise the value or lower the bound.",
    Stop.NODES: "The run ended at its node limit; more nodes may raise the value or lower the bound.",
    Stop.MEMORY: "The run ended for lack of memory.",
    Stop.INTERRUPTED: "The run was interrupted; more time may raise the value or lower the bound.",
    Stop.HEURISTIC: "The method does not look for a proof.",
}


def number(value: float, digits: int = 6) -> str:
    """A number with some significant digits and a proper minus sign."""
    text = f"{value:.{digits}g}".replace("inf", "∞")
    return text.replace("-", "−", 1) if text.startswith("-") else text


def percent(share: float) -> str:
    """A share or a gap with three significant digits."""
    if 0 < share < 1e-5:
        return "< 0.001 %"
    return f"{100 * share:,.0f} %" if 10 <= share < 1000 else f"{100 * share:.3g} %"


def normalised(solution: Solution) -> str:
    """The return on the scale from random (0) to optimal (1); a dash if there is no such scale."""
    share = solution.normalized_return
    return f"{share:.4f}" if share is not None and solution.planned and not solution.indifferent else "–"


def states(names: Sequence[str], observations: Floats, *, marks: bool) -> list[str]:
    """The observation in each of n states [n, F], as in `X = 2, Y = 0`.

    If there are many features, those that are 0 are left out. If these are only `marks`, which are 0 or 1, the name of
    a feature alone says that it is 1.
    """
    few = len(names) <= MOST_FEATURES
    shown = [printable(name) for name in names]

    def described(observation: Floats) -> str:
        seen = [(name, x) for name, x in zip(shown, observation, strict=True) if few or x != 0]
        return ", ".join(f"{name} = {x:.6g}" if few or not marks else name for name, x in seen) or "every feature is 0"

    return [described(observation) for observation in observations]


def sentence(text: str) -> str:
    """A clause as a sentence: with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


@dataclass(frozen=True)
class Verdict:
    """What is proven, in a headline and a sentence."""

    headline: str
    sentence: str


def size_limit(solution: Solution) -> str:
    """The trees that the bound is about, such as `tree of depth at most 2`."""
    limits = []
    if solution.max_depth is not None:
        limits.append(f"depth at most {solution.max_depth}")
    if solution.max_leaf_nodes is not None:
        limits.append(f"at most {counted(solution.max_leaf_nodes, 'leaf', 'leaves')}")
    tree = f"tree of {' and '.join(limits)}" if limits else "tree of any size"
    return tree + solution.restriction


def verdict(solution: Solution) -> Verdict:
    """Whether the tree is proven optimal, and what that means."""
    trees, says = size_limit(solution), solution.wording
    where = "" if solution.experience is None else f" {ON_MODEL}"
    if solution.excess == 0:
        return Verdict(f"Proven optimal{where}", f"No {trees} {says.better} than this one{where}.")
    room = f"No {trees} {says.better}{where} than {number(solution.shown_bound)}"
    if math.isfinite(solution.excess):
        room += f", which is {number(solution.excess)} {'below' if says.minimised else 'above'} this one"
    if solution.proven:
        gap = relative_gap(solution.value, solution.shown_bound, solution.scale)
        gaps = f"({percent(gap)}); a gap of {percent(solution.requested_gap)} was asked for."
        return Verdict(f"Proven optimal{where} within the gap", f"{room} {gaps}")
    share = solution.on_scale(solution.excess)
    way = "" if share is None or share > 10 else f" ({percent(share)} of the way from random to optimal)"
    reached = "returns" if says.default else "reaches"
    known = f" The bound is what the best policy of any form {reached}." if solution.bound_is_optimum else ""
    return Verdict("Not proven", f"{room}{way}.{known} {stopped(solution)}")


def stopped(solution: Solution) -> str:
    """Why the run ended; where something is minimised, value and bound move the other way."""
    text = STOPPED[solution.stop]
    if solution.wording.minimised:
        text = text.replace("raise the value or lower the bound", "lower the value or raise the bound")
    return text


def conditions(tree: TreePolicy, observations: Floats) -> list[list[str]]:
    """[N] the conditions under which an observation passes each node, one phrase per feature.

    Args:
        tree: the tree.
        observations: [n, F] all observations that can occur.
    """
    least, most = observations.min(axis=0), observations.max(axis=0)
    return [
        [
            f"{printable(tree.feature_names[j])} is {phrase(values, tree.integer[j], least[j], most[j])}"
            for j, values in known.items()
        ]
        for known in _paths(tree)
    ]


def _paths(tree: TreePolicy) -> list[dict[int, Range]]:
    """[N] the possible values of the features at each node, for the features that the path asks about."""
    known: list[dict[int, Range]] = [{} for _ in range(tree.n_nodes)]
    for i in np.flatnonzero(tree.feature != LEAF):
        j, threshold, equality = int(tree.feature[i]), float(tree.threshold[i]), bool(tree.equality[i])
        before = known[i].get(j, Range())
        known[tree.left[i]] = known[i] | {j: before.narrowed(threshold, equality, False)}
        known[tree.right[i]] = known[i] | {j: before.narrowed(threshold, equality, True)}
    return known


def phrase(values: Range, integer: bool, least: float, most: float) -> str:
    """The values of a feature that is never below `least` or above `most`, as in `at least 2 and at most 4`."""
    if values.only is not None:
        return f"{values.only:.6g}" if values.possible() else "impossible"
    above, below = bool(np.isfinite(values.lower)), bool(np.isfinite(values.upper))
    if integer:
        first = np.floor(values.lower) + 1 if above else least
        last = np.floor(values.upper) if below else most
        if first == last and not values.excluded:
            return f"{first:.0f}"
        lower, upper = f"at least {first:.0f}", f"at most {last:.0f}"
    else:
        lower, upper = f"more than {values.lower:.6g}", f"at most {values.upper:.6g}"
    excluded = " or ".join(f"{value:.6g}" for value in sorted(values.excluded))
    return " and ".join([*([lower] * above), *([upper] * below), *([f"not {excluded}"] if excluded else [])])
