"""The flags that state rules, declared once for all commands that look for trees."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omdt.errors import InputError

if TYPE_CHECKING:
    from omdt.rules import Rules

PANEL = "Rules"
"""The heading of these flags in the help."""


def _option(kind: Any, flag: str, metavar: str, words: str) -> Any:
    return Annotated[
        kind | None, typer.Option(flag, metavar=metavar, help=words, show_default=False, rich_help_panel=PANEL)
    ]


FLAGS: dict[str, Any] = {
    "features": _option(list[str], "--features", "A,B", "Ask about these features only."),
    "without": _option(list[str], "--without", "A,B", "Do not ask about these features."),
    "categorical": _option(list[str], "--categorical", "A,B", "Ask `A = value` instead of `A ≤ value`."),
    "max_features": _option(int, "--max-features", "M", "At most M different features in the whole tree."),
    "prices": _option(
        list[str],
        "--price",
        "A=PRICE",
        "What a question about A costs at every use, discounted like rewards; a number alone is for every feature.",
    ),
    "prices_once": _option(
        list[str], "--price-once", "A=PRICE", "What it costs once per tree to ask about A at all; likewise."
    ),
    "forbid": _option(
        list[str],
        "--forbid",
        "'ACTION: COND'",
        "No leaf plays ACTION in a reachable state where COND holds, as in 'drive: load > 3 and hour <= 6'; "
        "repeatable.",
    ),
    "require": _option(
        list[str], "--require", "'ACTION: COND'", "Every leaf plays ACTION in reachable states where COND holds."
    ),
    "root": _option(str, "--root", "A", "The first question is about A."),
    "min_share": _option(float, "--min-share", "SHARE", "Every leaf has this share of the visits, as in 0.05."),
    "max_leaves": _option(
        list[str],
        "--leaves-per-action",
        "ACTION=N",
        "At most N leaves play ACTION; a number alone is for every action.",
    ),
    "monotone": _option(
        list[str],
        "--monotone",
        "A",
        "A larger A never means a lower action, A:down never a higher one; actions in the order of the problem.",
    ),
    "order": _option(list[str], "--order", "ACTIONS", "All actions from low to high, for --monotone."),
    "keep": _option(
        Path,
        "--keep",
        "FILE",
        'Keep the tree of this file, or of this solution; {"open": true} marks what may be grown.',
    ),
    "free": _option(
        list[str], "--free", "PLACE", "Open this place of the kept tree, as in tree.left.right; repeatable."
    ),
    "at_most": _option(
        list[str],
        "--at-most",
        "'NAME <= X'",
        "A limit on the expected total of another reward of the problem; >= for at least; repeatable.",
    ),
    "file": _option(Path, "--rules", "FILE", "Rules from a YAML or JSON file, beside those of other flags."),
}
"""The parameter and the annotation of each flag."""

LISTS = ("features", "without", "categorical", "order")
NUMBERS = ("prices", "prices_once", "max_leaves")


def with_rules(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the flags of rules; its own parameter `rules` receives what they state."""

    @wraps(command)
    def called(**arguments: object) -> None:
        given = {name: arguments.pop(name) for name in FLAGS}
        command(**arguments, rules=stated({name: value for name, value in given.items() if value is not None}))

    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name != "rules"
    ]
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in FLAGS.items()
    ]
    called.__signature__ = inspect.Signature([*own, *flags])  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *flags]}
    return called


def stated(given: Mapping[str, Any]) -> "Rules | None":
    """The rules that some flags state; None if there are none.

    Raises:
        InputError: if a flag has not the form that it must have.
    """
    if not given:
        return None
    from omdt.rules import Rules
    from omdt.rules.reading import joined, kept_tree, read_rules

    entries = dict(given)
    file, keep, free = entries.pop("file", None), entries.pop("keep", None), entries.pop("free", ())
    for name in LISTS:
        if name in entries:
            entries[name] = [part.strip() for text in entries[name] for part in text.split(",") if part.strip()]
    for name in NUMBERS:
        if name in entries:
            entries[name] = _numbers(entries[name], whole=name == "max_leaves")
    if keep is not None:
        entries["keep"] = kept_tree(keep, free)
    elif free:
        raise InputError("--free opens places of a tree; name its file with --keep")
    rules = Rules(**entries)
    return rules if file is None else joined(rules, read_rules(file))


def _numbers(texts: Sequence[str], *, whole: bool) -> dict[str, float]:
    """Numbers by name from `NAME=NUMBER`; a number alone is for every name."""
    from omdt.rules.statement import EVERY

    found: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            found[name.strip() or EVERY] = int(number) if whole else float(number)
        except ValueError:
            form = "NAME=WHOLE NUMBER" if whole else "NAME=NUMBER"
            raise InputError(f"{text!r:.80} is not {form}: {number!r:.40} is no such number") from None
    return found
