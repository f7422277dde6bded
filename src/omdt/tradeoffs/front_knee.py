"""The knee of a front: the size from which on more questions gain little, and the sentence that says so.

The knee is the point that lies highest above the straight line from the first point to the last one, where a larger
tree is worth considering only if it is better than all smaller ones.
"""

import math

from omdt.counting import counted
from omdt.solution import MIN
from omdt.tradeoffs.front_points import DEPTH, Front, Point

ORDINALS = (
    *("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth"),
)
"""The words for small numbers; larger ones are written with digits."""

PERFECT = 0.99995
"""Share of the optimum from which on a percentage with two decimals would be 100 %."""


def knee(front: Front) -> Point | None:
    """The knee of a front; None if no value is finite."""
    better = [point for point in improving(front) if math.isfinite(point.value)]
    if not better:
        return None
    first, last = better[0], front.points[-1]
    run = front.size_of(last) - front.size_of(first)

    def height(point: Point) -> tuple[float, int]:
        along = (front.size_of(point) - front.size_of(first)) / run if run else 0.0
        line = maximised(front, first.value) * (1 - along) + maximised(front, last.value) * along
        return maximised(front, point.value) - line, front.size_of(point)

    return max(better, key=height)


def improving(front: Front) -> list[Point]:
    """The points that are better than all smaller ones."""
    found: list[Point] = []
    for point in front:
        if not found or maximised(front, point.value) > maximised(front, found[-1].value) + point.solution.rounding:
            found.append(point)
    return found


def maximised(front: Front, figure: float) -> float:
    """A figure as one that is to be large: its negative where the objective is to be small."""
    return -figure if front.largest.sense == MIN else figure


def share(point: Point) -> float | None:
    """What a point keeps of what the best policy gains over random; None if that is not known or infinite."""
    found = point.normalized_return
    if found is None or not math.isfinite(found) or point.solution.indifferent or not point.solution.planned:
        return None
    return found


def size_words(front: Front, point: Point) -> str:
    """The size of a point, as in `4 leaves` or `depth 2`."""
    size = front.size_of(point)
    return f"depth {size}" if front.by == DEPTH else counted(size, "leaf", "leaves")


def knee_sentence(front: Front) -> str:
    """What simplicity costs, in a sentence without a full stop; empty if no value is finite."""
    point = knee(front)
    if point is None:
        return ""
    many = front.by != DEPTH and point.n_leaves > 1
    return f"{size_words(front, point)} {_kept(point, many)}{_added(front, point)}"


def _kept(point: Point, many: bool) -> str:
    """What a size has reached."""
    kept = share(point)
    if point.solution.indifferent:
        return f"{'are' if many else 'is'} as good as the best policy of any form, and so is random"
    if kept is None:
        return f"{'have' if many else 'has'} the value {point.value:.6g}"
    if kept >= PERFECT:
        return f"{'are' if many else 'is'} as good as the best policy of any form"
    if kept < 0:
        return f"{'are' if many else 'is'} worse than the random policy"
    return f"{'keep' if many else 'keeps'} {_percent(kept)} of what the best policy gains over random"


def _added(front: Front, point: Point) -> str:
    """What the next size adds to that."""
    if point is front.points[-1] or (share(point) or 0.0) >= PERFECT or point.solution.indifferent:
        return ""
    if point is improving(front)[-1]:
        largest = size_words(front, front.points[-1])
        return f"; no tree of up to {largest} is {'better' if front.proven else 'known to be better'}"
    following = front.points[front.points.index(point) + 1]
    size = front.size_of(following)
    name = f"depth {size}" if front.by == DEPTH else f"the {ORDINALS[size] if size < len(ORDINALS) else f'{size}th'}"
    before, after = share(point), share(following)
    if maximised(front, following.value) <= maximised(front, point.value) + following.solution.rounding:
        return f"; {name} adds nothing"
    if before is None or after is None:
        return f"; {name} {'saves' if front.largest.sense == MIN else 'adds'} {abs(following.value - point.value):.3g}"
    return f"; {name} adds {_percent(after - before)}"


def _percent(part: float) -> str:
    """A share with one decimal, or with two significant digits if it is small."""
    return f"{100 * part:.1f} %" if part >= 0.001 else f"{100 * part:.2g} %"
