"""How a solution is printed for people."""

import math
from typing import TYPE_CHECKING

from omdt.counting import counted
from omdt.printing.experiences import CHOSEN, ON_MODEL, learned_from, world, world_figures
from omdt.printing.plain import escape, line, number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from omdt.solution import Solution


def show(solution: "Solution", console: "Console") -> None:
    """Print a solution for people."""
    from omdt.tree import printable

    tree = solution.tree
    nodes, leaves = counted(tree.n_decision_nodes, "decision node"), counted(tree.n_leaves, "leaf", "leaves")
    size = f"{nodes}, {leaves}, depth {tree.depth}"
    console.print(f"[bold]{escape(printable(solution.problem))}[/bold]  {size}")
    if not solution.wording.default:
        line(console, printable(solution.wording.doing))
    line(console, "")
    line(console, tree.to_text() + "\n")
    if solution.experience is not None:
        _show_world(solution, console)
    console.print(_figures(solution))
    for sentence in solution.replaced_words():
        line(console, sentence)
    if len(solution.rules) > 1:
        line(console, "\nIt keeps the rules: a tree that")
        for rule in solution.restrictions:
            line(console, f"- {printable(rule)}")
    amount, unit = solution.effort
    effort = f"{amount:.2f} s" if unit == "seconds" else counted(int(amount), "node")
    console.print(f"\n{_verdict(solution)} [dim]({solution.method}, {effort})[/dim]")
    if solution.experience is not None and not solution.proven:
        line(console, CHOSEN[solution.experience.origin])


def _show_world(solution: "Solution", console: "Console") -> None:
    """Print what is known of a learned tree in the world, and a heading for what is about the learned model."""
    from omdt.tree import printable

    experience = solution.experience
    assert experience is not None
    line(console, printable(f"{_capital(learned_from(experience))}."))
    line(console, f"\n{_capital(world(experience))}:")
    table = _grid()
    for figure in world_figures(solution):
        table.add_row(figure.name, figure.amount, escape(printable(figure.meaning)))
    console.print(table)
    line(console, f"\n{_capital(ON_MODEL)}, discounted by {solution.discount:.12g}:")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _grid() -> "Table":
    """A table of names, figures and meanings."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    return table


def _figures(solution: "Solution") -> "Table":
    """Value, bound and returns, with what they mean."""
    table = _grid()
    table.add_row("value", number(solution.value), _meaning_of_value(solution))
    table.add_row("bound", number(solution.shown_bound), _meaning_of_bound(solution))
    for name, value, error, meaning in (
        ("optimal", solution.optimal_return, solution.optimal_error, "best policy of any form"),
        ("random", solution.random_return, solution.random_error, "every available action equally likely"),
    ):
        known = "" if solution.is_rounding(error) else f", ± {error:.2g}: time was up"
        table.add_row(name, number(value), meaning + known)
    if not solution.planned:
        table.add_row("normalised", "–", "time was up before random and optimal were known")
    elif solution.indifferent:
        table.add_row("normalised", "–", "even the random policy is optimal")
    elif solution.normalized_return is None:
        table.add_row("normalised", "–", "there is no scale from random to optimal if one of them is infinite")
    else:
        table.add_row("normalised", f"{solution.normalized_return:.4f}", "0 is random, 1 is optimal")
    return table


def _meaning_of_value(solution: "Solution") -> str:
    from omdt.tree import printable

    if not solution.is_rounding(solution.value_error):
        return f"return of this tree, ± {solution.value_error:.2g}: time was up before it was known better"
    if math.isinf(solution.value) and solution.wording.target is not None:
        return escape(printable(f"infinite: this tree may never come to {solution.wording.target}"))
    what = "value" if solution.wording.named else solution.wording.what
    paid = solution.stated_rules is not None and solution.stated_rules.has_prices
    where = "" if solution.experience is None else f" {ON_MODEL}"
    return escape(printable(f"exact {what} of this tree{where}{', after its questions are paid' if paid else ''}"))


def _meaning_of_bound(solution: "Solution") -> str:
    from omdt.tree import printable

    better = solution.wording.better + ("" if solution.experience is None else f" {ON_MODEL}")
    trees = f"tree of {solution.size.words or 'any size'}"
    several = len(solution.rules) > 1
    trees += " that keeps the rules" if several else escape(printable(solution.restriction))
    if solution.proven or not solution.bound_is_optimum:
        return f"no {trees} {better}"
    return f"no policy {better}; nothing {'higher' if solution.wording.minimised else 'lower'} is known for a {trees}"


def _verdict(solution: "Solution") -> str:
    from omdt.solution import relative_gap

    if solution.proven:
        gap = relative_gap(solution.value, solution.value + solution.excess, solution.scale)
        within = "" if solution.excess == 0 else f" within a gap of {gap:.2g}"
        where = "" if solution.experience is None else f" {ON_MODEL}"
        return f"[bold green]proven optimal[/bold green]{where}{within}"
    share = solution.on_scale(solution.excess)
    # A tree that is much worse than random has more than the whole way before it.
    way = f", {share:.2%} of the way from random to optimal" if share is not None and share <= 10 else ""
    room = solution.wording.room(solution.excess, f"{solution.excess:.3g}")
    where = "" if solution.experience is None else f"{ON_MODEL} "
    return f"[bold yellow]not proven[/bold yellow]: {where}a better tree may {room}{way}"
