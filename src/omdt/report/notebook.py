"""What a notebook shows of a solution: its numbers and its tree, without any extra."""

from html import escape

from omdt.export.svg import to_svg
from omdt.report.words import normalised, number, sentence, verdict
from omdt.solution import Solution
from omdt.tree import printable


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
        f"<p><b>{escape(printable(solution.problem))}</b>: {found.headline.lower()}. {escape(found.sentence)}</p>\n"
        f"<table><thead><tr>{heads}</tr></thead><tbody><tr>{cells}</tr></tbody></table>\n"
        f"{played}"
        f'<div style="overflow:auto;max-height:40em">\n{to_svg(solution.tree)}</div>\n'
    )
