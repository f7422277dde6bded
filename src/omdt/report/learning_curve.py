"""The learning curve as an SVG: mean return per episode in the simulator over the steps that were taken in it.

It has nothing about the learned model, whose returns are discounted: figures of the two kinds share no axis. Colours
and fonts stand in the drawing itself, so that it looks the same in a file, on a page and in a notebook.
"""

from html import escape

from omdt.printing.experiences import span
from omdt.report.curve import Scale
from omdt.report.words import number
from omdt.solution import Experience, Interval

HEIGHT = 280.0
"""Height of the drawing in pixels."""
LEFT, RIGHT, TOP, BOTTOM = 74.0, 34.0, 32.0, 46.0
"""Distances of the axes from the sides of the drawing in pixels; labels need most of the left and the bottom."""
PAPER, INK, GRID, MEAN, FRESH = "#ffffff", "#24292f", "#e4e7eb", "#1f5fa8", "#1a7f4b"
"""Colours of background, text, grid, the means of rounds, and the mean of the fresh episodes."""


def learning_curve(experience: Experience, width: float) -> str:
    """The best tree's mean return after every round, and beside the last one the interval from fresh episodes.

    Args:
        experience: that of a simulator, with at least one round.
        width: of the drawing in pixels.
    """
    steps = Scale(0.0, float(max(experience.steps, experience.rounds[-1].steps)), LEFT, width - RIGHT)
    means = _mean_scale(experience)
    corners = "L".join(f"{steps(point.steps):.1f} {means(point.mean):.1f}" for point in experience.rounds)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {HEIGHT:g}" width="{width:g}"'
        f' height="{HEIGHT:g}" role="img" aria-label="learning curve" font-family="system-ui, sans-serif"'
        f' font-size="12" fill="{INK}" style="max-width:100%;height:auto">',
        f'<rect width="{width:g}" height="{HEIGHT:g}" rx="6" fill="{PAPER}"/>',
        *(_horizontal(means(tick), number(tick, 6), width) for tick in means.ticks()),
        *(_vertical(steps(tick), f"{tick:,.0f}") for tick in steps.ticks()),
        f'<text x="{(LEFT + width - RIGHT) / 2:g}" y="{HEIGHT - 8:g}" text-anchor="middle">'
        "steps in the simulator</text>",
        f'<text x="8" y="{TOP - 14:g}">mean return per episode</text>',
        f'<path d="M{corners}" stroke="{MEAN}" stroke-width="2" fill="none" stroke-linejoin="round"/>',
        *(_point(steps(point.steps), means(point.mean), _told(point.steps, point.mean)) for point in experience.rounds),
        "" if experience.interval is None else _fresh(experience.interval, width - RIGHT / 2, means),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _mean_scale(experience: Experience) -> Scale:
    """The axis of returns per episode: all means and the interval are on it."""
    figures = [point.mean for point in experience.rounds]
    if experience.interval is not None:
        figures += [experience.interval.low, experience.interval.high]
    low, high = min(figures), max(figures)
    margin = max(0.06 * (high - low), 1e-6 * max(abs(low), abs(high)), 1e-9)
    return Scale(low - margin, high + margin, HEIGHT - BOTTOM, TOP)


def _told(steps: int, mean: float) -> str:
    return f"after {steps:,} steps: {number(mean)} per episode"


def _horizontal(y: float, label: str, width: float) -> str:
    return (
        f'<path d="M{LEFT:g} {y:.1f}H{width - RIGHT:g}" stroke="{GRID}"/>'
        f'<text x="{LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>'
    )


def _vertical(x: float, label: str) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 17:g}" text-anchor="middle">{escape(label)}</text>'


def _point(x: float, y: float, title: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{MEAN}"><title>{escape(title)}</title></circle>'


def _fresh(interval: Interval, x: float, means: Scale) -> str:
    """The mean of the fresh episodes with its interval, beside the end of the curve."""
    low, mean, high = means(interval.low), means(interval.mean), means(interval.high)
    title = f"{interval.n} fresh episodes: {number(interval.mean)} per episode, {span(interval)}"
    return (
        f'<g stroke="{FRESH}" stroke-width="2"><title>{escape(title)}</title>'
        f'<path d="M{x - 5:.1f} {low:.1f}h10M{x - 5:.1f} {high:.1f}h10M{x:.1f} {low:.1f}V{high:.1f}" fill="none"/>'
        f'<circle cx="{x:.1f}" cy="{mean:.1f}" r="4" fill="{FRESH}"/></g>'
    )
