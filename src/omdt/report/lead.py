"""The first sentences of the report: what the rules achieve and what is proven about them, in plain words.

A percentage is given only where it means something: both figures are finite and have the same sign. Limits are rounded
so that the sentence stays true: what a better tree might reach is rounded away from what the rules reach. A share below
100 % is never rounded up to that.
"""

import math
from dataclasses import dataclass

from omdt.report.amounts import DOWN, NEAREST, UP, Amounts, percentage
from omdt.solution import Solution, Stop
from omdt.tree import printable

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""The words for the numbers from one on; larger ones are written with digits."""

LARGEST_SHARE = 10.0
"""Up to this multiple a difference is given in percent; amounts are easier to read if it is larger."""

ALMOST = 0.9995
"""Share from which on it would be rounded up to 100 %."""

LIMIT_DIGITS = 2
"""Significant digits of a limit in percent; more would pretend that the exact limit matters."""

REASONS = {
    Stop.TIME: "the run ended at its time limit",
    Stop.NODES: "the run ended at its node limit",
    Stop.MEMORY: "the run ended for lack of memory",
    Stop.INTERRUPTED: "the run was interrupted",
    Stop.HEURISTIC: "the method does not look for a proof",
}
"""Why a run ended without a proof."""


def lead(solution: Solution, shortfall: float, amounts: Amounts) -> list[str]:
    """What the rules achieve, what no tree of this size can do, and what is not known.

    Args:
        solution: the solution.
        shortfall: how far the tree is from the best policy of any form; 0 if they are equally good.
        amounts: how figures are written.
    """
    told = _Told(solution, shortfall, amounts)
    earned = solution.wording.default and math.isfinite(solution.value) and math.isfinite(solution.optimal_return)
    sentences = [told.earned(), told.earned_limit()] if earned else [told.reached(), told.reached_limit()]
    if solution.stated_rules is not None and solution.stated_rules.has_prices:
        sentences[0] = f"After the questions are paid, {sentences[0][:1].lower()}{sentences[0][1:]}"
    if not solution.proven:
        reason = REASONS.get(solution.stop)
        sentences.append(f"Whether there is a better tree of this size is not known{f': {reason}' if reason else ''}.")
    return sentences


def in_words(number: int, one: str, many: str = "") -> str:
    """A number with its noun, as in `four rules`."""
    spelled = NUMBERS[number - 1] if 0 < number <= len(NUMBERS) else f"{number:,}"
    return f"{spelled} {one if number == 1 else many or one + 's'}"


def trees_of_this_size(solution: Solution) -> str:
    """The trees that the bound is about, such as `tree with at most four rules`."""
    restriction = " under the same conditions" if len(solution.rules) > 1 else printable(solution.restriction)
    if solution.max_depth == 0:
        return "tree without questions" + restriction
    limits = []
    if solution.max_leaf_nodes is not None:
        limits.append(f"at most {in_words(solution.max_leaf_nodes, 'rule')}")
    if solution.max_depth is not None:
        limits.append(f"at most {in_words(solution.max_depth, 'question')} per decision")
    size = f"tree with {' and '.join(limits)}" if limits else "tree of any size"
    return size + restriction


def _share(share: float) -> str:
    """A share below 1 in percent."""
    return percentage(share, NEAREST if share < ALMOST else DOWN)


@dataclass(frozen=True)
class _Told:
    """The sentences about one solution; see `lead` for the attributes."""

    solution: Solution
    shortfall: float
    amounts: Amounts

    @property
    def _rules(self) -> str:
        return in_words(self.solution.tree.n_leaves, "rule")

    @property
    def _known(self) -> bool:
        """Whether value and optimum are known, and not only estimated because time was up."""
        return self.solution.planned and self.solution.is_rounding(self.solution.value_error)

    def earned(self) -> str:
        """What the rules earn beside the best possible policy, if the objective is the discounted return."""
        value, best = self.solution.value, self.solution.optimal_return
        rules = self._rules[:1].upper() + self._rules[1:]
        s = "s" if self.solution.tree.n_leaves == 1 else ""
        own = f"{rules} {self._gain(value, s)}"
        if not self._known:
            return f"{own}, as far as known: time was up before it was computed exactly."
        if self.shortfall == 0:
            return f"{rules} earn{s} as much as the best possible policy."
        if value > 0:
            return f"{rules} earn{s} {_share(value / best)} of what the best possible policy earns."
        if best < 0 and value / best - 1 <= LARGEST_SHARE:
            more = percentage(value / best - 1)
            return f"{rules} lose{s} {more} more than the best possible policy loses."
        return f"{own}, while the best possible policy {self._gain(best, 's')}."

    def _gain(self, value: float, s: str) -> str:
        """A return as `earns 3 €` or `loses 3 €`."""
        return f"lose{s} {self.amounts.amount(-value)}" if value < 0 else f"earn{s} {self.amounts.amount(value)}"

    def earned_limit(self) -> str:
        """What no tree of this size earns."""
        solution = self.solution
        trees, value, bound = f"No {trees_of_this_size(solution)}", solution.value, solution.shown_bound
        if solution.excess == 0:
            return "No policy of any kind earns more." if self._is_best else f"{trees} earns more."
        if value > 0 and solution.excess / value <= LARGEST_SHARE:
            return f"{trees} earns more than {percentage(solution.excess / value, UP, LIMIT_DIGITS)} more."
        if bound < 0:
            return f"{trees} loses less than {self.amounts.amount(-bound, DOWN)}."
        return f"{trees} earns more than {self.amounts.amount(bound, UP)}."

    @property
    def _is_best(self) -> bool:
        return self._known and self.shortfall == 0

    def reached(self) -> str:
        """The figure of the rules beside that of the best possible policy, for any objective."""
        says, value, best = self.solution.wording, self.solution.value, self.solution.optimal_return
        what = "expected return" if says.default else printable(says.what)
        own = f"With {self._rules} the {what} is {self._spelled(value)}"
        if math.isinf(value) and says.target is not None:
            own += f", because {printable(says.target)} may never be reached"
        if not self._known:
            return f"{own}, as far as known: time was up before it was computed exactly."
        if self.shortfall == 0:
            return f"{own}. The best possible policy does no better."
        if (
            not self.amounts.probability
            and 0 < min(value, best)
            and max(value, best) < LARGEST_SHARE * min(value, best)
        ):
            if says.minimised:
                return f"{own}, {percentage(value / best - 1)} more than with the best possible policy."
            return f"{own}, {_share(value / best)} of what the best possible policy reaches."
        return f"{own}; with the best possible policy it is {self._spelled(best)}."

    def _spelled(self, value: float) -> str:
        return "infinite" if math.isinf(value) and value > 0 else self.amounts.amount(value)

    def reached_limit(self) -> str:
        """The figure that no tree of this size improves on."""
        solution, trees = self.solution, f"No {trees_of_this_size(self.solution)}"
        better = "lower" if solution.wording.minimised else "higher"
        if solution.excess == 0:
            return f"No policy of any kind makes it {better}." if self._is_best else f"{trees} makes it {better}."
        if math.isinf(solution.shown_bound):
            return "Nothing is proven about better trees."
        limit = self.amounts.amount(solution.shown_bound, DOWN if solution.wording.minimised else UP)
        return f"{trees} makes it {better} than {limit}."
