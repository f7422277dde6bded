"""Figures, lines and names from users as a console prints them, and what it prints as text."""

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

UNBROKEN = 10_000
"""Columns of a console that breaks no line."""

T = TypeVar("T")


def text_of(show: Callable[[T, "Console"], None], shown: T) -> str:
    """What a function prints about an object, without colours, line breaks of the console's own, or a last empty line.

    Args:
        show: prints the object.
        shown: the object.
    """
    from rich.console import Console

    stream = io.StringIO()
    plain = Console(
        file=stream,
        force_terminal=False,
        force_jupyter=False,  # in a notebook, the console would display the text instead of writing it
        color_system=None,
        highlight=False,
        emoji=False,
        width=UNBROKEN,
    )
    show(shown, plain)
    return "\n".join(text.rstrip() for text in stream.getvalue().rstrip().split("\n"))


def number(value: float, digits: int = 9) -> str:
    """A figure with some significant digits, which may be infinite."""
    return f"{value:.{digits}g}".replace("inf", "∞")


def line(console: "Console", text: str) -> None:
    """Print text as it is, whatever brackets or long lines it has."""
    console.print(text, markup=False, soft_wrap=True)


def escape(text: str) -> str:
    """Text with nothing in it that a console would take for markup."""
    from rich import markup

    return markup.escape(text)
