"""How alternatives are printed for people."""

from typing import TYPE_CHECKING

from omdt.printing.plain import escape, line, number

if TYPE_CHECKING:
    from rich.console import Console

    from omdt.tradeoffs.alternatives_result import Alternative, Alternatives

MOST_SHOWN = 20
"""Maximum number of trees that are described on the terminal; the JSON has all of them."""

MOST_DIFFERENCES = 5
"""Maximum number of differences from the best tree that are told of each tree on the terminal."""


def show_alternatives(found: "Alternatives", console: "Console") -> None:
    """Print alternatives for people."""
    from omdt.tree import printable

    console.print(f"[bold]{escape(printable(found.problem))}[/bold]  {escape(found.words)}", soft_wrap=True)
    if not found.wording.default:
        line(console, printable(found.wording.doing))
    line(console, "")
    for position, member in enumerate(found.members[:MOST_SHOWN]):
        _show_member(found, member, position, console)
    if len(found) > MOST_SHOWN:
        line(console, f"… and {len(found) - MOST_SHOWN:,} more, which --json and --output list\n")
    _show_summary(found, console)
    console.print(f"\n[dim]({found.seconds:.2f} s)[/dim]")


def _show_member(found: "Alternatives", member: "Alternative", position: int, console: "Console") -> None:
    """Print one tree: the best one as it is, the others by how they differ from it."""
    from omdt.counting import counted
    from omdt.tree import printable

    asked = ", ".join(map(printable, member.features)) or "nothing"
    loss = "" if position == 0 else f", {found.loss_words(member)}"
    leaves = counted(member.tree.n_leaves, "leaf", "leaves")
    line(console, f"{position + 1:>3}  {number(member.value)}{loss}; {leaves}, asks about {asked}")
    if position == 0:
        line(console, "\n" + "\n".join(f"     {text}" for text in member.tree.to_text().split("\n")) + "\n")
        return
    for difference in member.differences[:MOST_DIFFERENCES]:
        line(console, f"     {difference.words(member.visited)}")
    if len(member.differences) > MOST_DIFFERENCES:
        line(console, f"     … and {len(member.differences) - MOST_DIFFERENCES:,} further differences")


def _show_summary(found: "Alternatives", console: "Console") -> None:
    """Print what all trees have in common."""
    for sentence in found.summary():
        line(console, sentence)
