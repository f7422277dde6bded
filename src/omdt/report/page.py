"""The HTML report: one page that needs no network, made for the person who has to approve a policy.

Names that a user may have chosen appear in the page as text only: control characters are spelled out, the template
escapes the names, and the data for the script is JSON in which no tag can begin. The page forbids itself every
connection and every script except its own.
"""

import base64
import hashlib
import math
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from numpy.typing import ArrayLike

from omdt.counting import counted
from omdt.errors import InputError, require
from omdt.files import write_whole
from omdt.mdp import MDP
from omdt.objective import Asked, recorded
from omdt.report import lists, words
from omdt.report.amounts import Amounts
from omdt.report.analysis import Analysis, analyse
from omdt.report.commands import learn_command, solve_command
from omdt.report.curve import anytime_curve
from omdt.report.drawing import drawn
from omdt.report.embedded import map_data, node_data
from omdt.report.front import front_section, front_table
from omdt.report.lead import lead
from omdt.report.learning import learned_lead, learning_section
from omdt.report.obeying import obeyed
from omdt.solution import Solution
from omdt.tradeoffs.front_points import Front
from omdt.tree import printable

WIDE, NARROW = 720.0, 350.0
"""Widths of the anytime curve on a desktop screen and on a phone, in pixels."""

RULE_SECONDS = 5.0
"""Seconds per rule for the best tree without it, which shows what the rule costs; a page should not take minutes."""

UNEXPLAINED = 1e-6
"""Part of the loss that may be missing in the sum over states by rounding."""


def report_html(
    solution: Solution,
    mdp: MDP,
    *,
    objective: Asked | None = None,
    observations: ArrayLike | None = None,
    commands: Sequence[str] = (),
    front: Front | None = None,
    title: str | None = None,
    unit: str = "",
    rule_seconds: float = RULE_SECONDS,
) -> str:
    """The report on a solution as one HTML page (needs the extra `report`).

    Args:
        solution: what `solve` returned for this MDP.
        mdp: the problem.
        objective: what was asked; needed only if it is an objective of your own.
        observations: [S, F'] what the tree reads in each state; by default what the solution records: the features of
            the MDP and the predicates.
        commands: the commands that were typed to get the report; by default the `omdt solve` that makes the solution.
        front: the best trees of other sizes, for a section about what simplicity costs.
        title: the heading of the page; by default the name of the problem.
        unit: what the figures are counted in, such as `€`.
        rule_seconds: if the tree obeys rules, time limit for the best tree without each of them.

    Raises:
        InputError: if the front is about another problem, or if a probability is given a unit.
    """
    require("jinja2", "report", "a report")
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    if front is not None and (front.largest.fingerprint, front.largest.objective) != (
        solution.fingerprint,
        solution.objective,
    ):
        raise InputError("the front is about another problem or another objective than the solution")
    amounts = _amounts(solution, unit)
    objective = recorded(solution.objective) if objective is None else objective
    analysis = analyse(solution, mdp, observations, objective)
    templates = Environment(
        loader=PackageLoader("omdt.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return templates.get_template("page.html").render(
        **_main_part(solution, analysis, amounts),
        **_details(solution, mdp, analysis),
        obeyed=obeyed(solution, mdp, objective, amounts, rule_seconds),
        title=printable(solution.problem if title is None else title),
        commands=[printable(command) for command in commands] or [_command(solution)],
        front="" if front is None else Markup(front_section(front)),
        front_table="" if front is None else Markup(front_table(front)),
    )


def write_report(
    solution: Solution,
    mdp: MDP,
    path: str | Path,
    *,
    objective: Asked | None = None,
    observations: ArrayLike | None = None,
    commands: Sequence[str] = (),
    front: Front | None = None,
    title: str | None = None,
    unit: str = "",
    rule_seconds: float = RULE_SECONDS,
) -> None:
    """Write the report on a solution to a file, whole or not at all; the arguments are those of `report_html`."""
    page = report_html(
        solution,
        mdp,
        objective=objective,
        observations=observations,
        commands=commands,
        front=front,
        title=title,
        unit=unit,
        rule_seconds=rule_seconds,
    )
    write_whole(Path(path), lambda stream: stream.write(page.encode()))


def _command(solution: Solution) -> str:
    """The command that makes a solution."""
    return solve_command(solution) if solution.experience is None else learn_command(solution)


def _amounts(solution: Solution, unit: str) -> Amounts:
    """How the figures are written."""
    probability = solution.wording.noun == "probability"
    if unit and probability:
        raise InputError(f"the figures of this solution are probabilities, which have no unit; leave out {unit!r}")
    return Amounts(printable(unit), probability)


def _main_part(solution: Solution, analysis: Analysis, amounts: Amounts) -> dict[str, object]:
    """The variables of the template for the part that everybody reads, and for the page itself."""
    from markupsafe import Markup

    tree = solution.tree
    conditions = words.conditions(tree, analysis.seen)
    script = _resource("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {
        "script_hash": f"sha256-{digest}",
        "script": Markup(script),
        "style": Markup(_resource("page.css")),
        "lead": _lead(solution, analysis, amounts),
        "learned": learning_section(solution),
        "figures": lists.figures(solution, amounts),
        "drawing": Markup(drawn(tree, analysis)),
        "rules": lists.rules(tree, analysis, conditions, amounts),
        "other_rules": lists.other_rules(tree, analysis),
        "legend": lists.legend(tree, analysis),
        "data": {"nodes": node_data(tree, analysis, conditions), "map": map_data(tree, analysis)},
    }


def _lead(solution: Solution, analysis: Analysis, amounts: Amounts) -> list[str]:
    """The first sentences: about the problem, or about the world and then about the model that was learned of it."""
    sentences = lead(solution, analysis.shortfall, amounts)
    return sentences if solution.experience is None else learned_lead(solution, sentences, amounts)


def _details(solution: Solution, mdp: MDP, analysis: Analysis) -> dict[str, object]:
    """The variables of the template for the details, which are folded at first."""
    from markupsafe import Markup

    return {
        "problem": printable(solution.problem),
        "method": printable(solution.method),
        "solution": solution,
        "mdp": mdp,
        "says": solution.wording,
        "doing": printable(solution.wording.doing),
        "endless": _lost_for_ever(analysis),
        "verdict": words.verdict(solution),
        "counted": counted,
        "printable": printable,
        "replaced": [words.sentence(text) for text in solution.replaced_words()],
        "number": words.number,
        "normalised": words.normalised,
        "percent": words.percent,
        "bars": lists.bars(solution),
        "curves": {kind: Markup(svg) for kind, svg in _curves(solution).items()},
        "disagreements": lists.disagreements(solution.tree, mdp, analysis),
        "other_disagreements": lists.other_disagreements(analysis),
        "total_cost": float(analysis.cost.sum()),
        "shortfall": analysis.shortfall,
        "paid_once": analysis.paid_once,
    }


def _lost_for_ever(analysis: Analysis) -> bool:
    """Whether a part of the loss belongs to no single state, because the tree never comes to an end."""
    return float(analysis.cost.sum()) + analysis.paid_once < analysis.shortfall * (1 - UNEXPLAINED)


def _resource(name: str) -> str:
    return files("omdt.report").joinpath("page", name).read_text(encoding="utf-8")


def _curves(solution: Solution) -> dict[str, str]:
    """The anytime curve for a desktop screen and for a phone; none if the method reported only its result."""
    if len(solution.trace) < 2 or not math.isfinite(solution.optimal_return):
        return {}
    return {"wide": anytime_curve(solution, WIDE), "narrow": anytime_curve(solution, NARROW)}
