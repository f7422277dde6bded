"""What the page says of a learned tree: the first sentences, and the section on what it was learned from."""

from omdt.printing.experiences import CHOSEN, ON_MODEL, Figure, share, span, world_figures
from omdt.report.amounts import Amounts
from omdt.report.learning_curve import learning_curve
from omdt.report.words import sentence
from omdt.solution import Experience, Solution
from omdt.tree import printable

WIDE, NARROW = 720.0, 350.0
"""Widths of the learning curve on a desktop screen and on a phone, in pixels."""


def learned_lead(solution: Solution, sentences: list[str], amounts: Amounts) -> list[str]:
    """The first sentences of the page: about the world, then those about the problem, which is the learned model.

    Args:
        solution: a learned one.
        sentences: what is said of the tree as the solution of a problem: what it achieves, what no tree does, and
            perhaps what is not known.
        amounts: how figures are written.
    """
    experience = solution.experience
    assert experience is not None
    achieved, limit, *_ = sentences
    told = [_world(experience, amounts), f"{_capital(ON_MODEL)}, {achieved[:1].lower()}{achieved[1:]}"]
    told.append(f"{limit.removesuffix('.')} there.")
    if not solution.proven:
        told.append(CHOSEN[experience.origin])
    return [text for text in told if text]


def _world(experience: Experience, amounts: Amounts) -> str:
    """The strongest statement about the world; empty if time was up before there was one."""
    interval, guarantee = experience.interval, experience.guarantee
    if interval is not None:
        return (
            f"In the simulator the tree returns {amounts.amount(interval.mean)} per episode on average, "
            f"{span(interval)}."
        )
    if guarantee is not None:
        alike = "" if guarantee.exact else ", as far as steps that start in the same cell of observations are alike"
        return (
            f"With {share(guarantee.confidence)} confidence, the tree's discounted return in the world is at least "
            f"{amounts.amount(guarantee.value)}{alike}."
        )
    return ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def learning_section(solution: Solution) -> dict[str, object] | None:
    """The variables of the template for the section on what a tree was learned from; None if it was not learned."""
    from markupsafe import Markup

    experience = solution.experience
    if experience is None:
        return None
    curves = {}
    if experience.rounds:
        curves = {"wide": learning_curve(experience, WIDE), "narrow": learning_curve(experience, NARROW)}
    return {
        "source": printable(experience.source),
        "steps": experience.steps,
        "episodes": experience.episodes,
        "figures": [_figure(figure) for figure in world_figures(solution)],
        "curves": {kind: Markup(svg) for kind, svg in curves.items()},
        "rounds": experience.rounds,
        "leaves": [] if experience.coverage is None else experience.coverage.leaves,
    }


def _figure(figure: Figure) -> Figure:
    """A figure as the page shows it, with a proper minus sign."""
    amount = figure.amount.replace("-", "−", 1) if figure.amount.startswith("-") else figure.amount
    return Figure(figure.name, amount, sentence(printable(figure.meaning)))
