"""What a notebook shows of a solution: its numbers and its tree, without any extra."""

from html import escape

from omdt.export.svg import to_svg
from omdt.printing.experiences import learned_from, world, world_figures
from omdt.printing.notebook import table_html
from omdt.report.learning_curve import learning_curve
from omdt.report.words import normalised, number, sentence, verdict
from omdt.solution import Solution
from omdt.tree import printable

WIDTH = 720.0
"""Width of a learning curve in pixels."""


def solution_html(solution: Solution) -> str:
    """The verdict, the returns and the drawn tree of a solution."""
    found = verdict(solution)
    figures = {
        "value": number(solution.value, 9),
        "bound": number(solution.shown_bound, 9),
        "optimal": number(solution.optimal_return, 9),
        "random": number(solution.random_return, 9),
        "normalised": normalised(solution),
    }
    heads = "".join(f"<th>{name}</th>" for name in figures)
    cells = "".join(f"<td>{text}</td>" for text in figures.values())
    played = "".join(f"<p>{escape(sentence(text))}</p>\n" for text in solution.replaced_words())
    return (
        f"{_world(solution)}"
        f"<p><b>{escape(printable(solution.problem))}</b>: {found.headline.lower()}. {escape(found.sentence)}</p>\n"
        f"<table><thead><tr>{heads}</tr></thead><tbody><tr>{cells}</tr></tbody></table>\n"
        f"{played}"
        f'<div style="overflow:auto;max-height:40em">\n{to_svg(solution.tree)}</div>\n'
    )


def _world(solution: Solution) -> str:
    """What is known of a learned tree in the world, which the other figures are not about; empty if it was solved."""
    if solution.experience is None:
        return ""
    rows = [(figure.name, figure.amount, figure.meaning) for figure in world_figures(solution)]
    title = f"{world(solution.experience)}: {learned_from(solution.experience)}"
    curve = learning_curve(solution.experience, WIDTH) if solution.experience.rounds else ""
    return table_html(f"{title[:1].upper()}{title[1:]}", ("", "", ""), rows) + curve
