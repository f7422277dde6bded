"""The anytime curve as an SVG: value and bound over the seconds or nodes of a run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from omdt.report.words import number
from omdt.solution import Solution
from omdt.watch import TracePoint

HEIGHT = 260.0
"""Height of the drawing in pixels."""
LEFT, RIGHT, TOP, BOTTOM = 74.0, 14.0, 12.0, 44.0
"""Distances of the axes from the sides of the drawing in pixels; the labels need most of the left and the bottom."""
MOST_TICKS = 5
"""Maximum number of intervals between the ticks of a linear axis."""
DEEPEST = 4.0
"""How far the axis reaches below the last value, as a multiple of the distance from the last value to the optimum."""
LONG_RUN = 100.0
"""Ratio of the end of a run to its first report from which on the time axis is logarithmic."""


@dataclass(frozen=True)
class Scale:
    """Maps numbers from `low` to `high` to places from `start` to `end` on an axis."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The place of a number; a number outside of the range is moved to the nearer end."""
        low, high, value = (math.log(x) if self.logarithmic else x for x in (self.low, self.high, self._inside(value)))
        return self.start + (self.end - self.start) * ((value - low) / (high - low))

    def _inside(self, value: float) -> float:
        return min(max(value, self.low), self.high)

    def ticks(self) -> list[float]:
        """A few round numbers on the axis."""
        if self.logarithmic:
            exponents = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            return [10.0**exponent for exponent in exponents]
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / MOST_TICKS))
        step *= next(factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (factor * step) <= MOST_TICKS)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def anytime_curve(solution: Solution, width: float) -> str:
    """Value and bound as steps, with the area between them shaded; the optimum is a dashed line.

    Bounds above the return of the optimal policy are drawn at that return, because they say no more. Values of early
    trees that would compress the rest of the curve are drawn at the lower edge, or at the upper one where something is
    minimised; infinite figures as well.
    """
    trace = _drawable(solution)
    time = _time_scale([point[0] for point in trace], LEFT, width - RIGHT)
    returns = _return_scale(solution, [point[1] for point in trace], HEIGHT - BOTTOM, TOP)
    value = _steps(time, returns, [(point[0], point[1]) for point in trace])
    bound = _steps(time, returns, [(point[0], point[2]) for point in trace])
    y = f"{returns(solution.optimal_return):.1f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {HEIGHT:g}" role="img" font-size="12"'
        f' aria-label="value and bound over time" style="max-width:{width:g}px">',
        *(_vertical_tick(time(tick), f"{tick:.6g}") for tick in time.ticks()),
        *(_horizontal_tick(returns(tick), number(tick, 10), width) for tick in returns.ticks()),
        f'<text x="{(LEFT + width - RIGHT) / 2:g}" y="{HEIGHT - 6:g}" text-anchor="middle">{solution.effort[1]}</text>',
        f'<path class="room" d="M{_path(bound)}L{_path(value[::-1])}Z"/>',
        f'<path class="optimum" d="M{LEFT:g} {y}H{width - RIGHT:g}"/>',
        f'<path class="bound" d="M{_path(bound)}"/>',
        f'<path class="value" d="M{_path(value)}"/>',
        "</svg>",
    ]
    return "\n".join(parts)


def _drawable(solution: Solution) -> list[TracePoint]:
    """The trace in order of time up to the end of the run, with no bound above the optimum."""
    trace = [(max(point[0], 0.0), point[1], solution.useful(point[2])) for point in solution.trace]
    trace.sort(key=lambda point: point[0])
    end = max(solution.effort[0], trace[-1][0] if trace else 0.0)
    return [*trace, (end, solution.value, solution.useful(solution.bound))]


def _time_scale(seconds: Sequence[float], start: float, end: float) -> Scale:
    last = max(seconds[-1], 1e-3)
    first = max(seconds[0], 1e-3)
    if last / first >= LONG_RUN:
        return Scale(first, last, start, end, logarithmic=True)
    return Scale(0.0, last, start, end)


def _return_scale(solution: Solution, values: Sequence[float], start: float, end: float) -> Scale:
    return Scale(*return_range(solution, values), start, end)


def return_range(solution: Solution, values: Sequence[float]) -> tuple[float, float]:
    """The range of an axis of returns: up to the optimum, and not much further below the last value.

    Args:
        solution: the solution; its optimal return is finite.
        values: the values that the run had found at different times.
    """
    best, last = solution.optimal_return, solution.value
    worst = (max if solution.wording.minimised else min)(value for value in (*values, best) if math.isfinite(value))
    if math.isfinite(last) and best != last:
        farthest = last - DEEPEST * (best - last)
        worst = min(worst, farthest) if solution.wording.minimised else max(worst, farthest)
    low, high = min(best, worst), max(best, worst)
    # A narrower scale would need labels with more digits than fit.
    margin = max(0.06 * (high - low), 1e-6 * abs(high), 1e-9)
    return low - margin, high + margin


def _steps(time: Scale, returns: Scale, points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of a step function: each value holds until the next point."""
    corners: list[tuple[float, float]] = []
    for seconds, value in points:
        x, y = time(seconds), returns(value)
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return corners


def _path(corners: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)


def _vertical_tick(x: float, label: str) -> str:
    return (
        f'<path class="grid" d="M{x:.1f} {TOP:g}V{HEIGHT - BOTTOM:g}"/>'
        f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16:g}" text-anchor="middle">{escape(label)}</text>'
    )


def _horizontal_tick(y: float, label: str, width: float) -> str:
    return (
        f'<path class="grid" d="M{LEFT:g} {y:.1f}H{width - RIGHT:g}"/>'
        f'<text x="{LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>'
    )
