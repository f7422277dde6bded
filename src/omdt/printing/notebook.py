"""What a notebook shows of problems and results: HTML tables in which every name is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from omdt.printing.plain import number

if TYPE_CHECKING:
    from omdt.comparing import Comparison
    from omdt.mdp import MDP
    from omdt.splits import Splits
    from omdt.tradeoffs.alternatives_result import Alternatives

MOST_ROWS = 20
"""Maximum number of rows of a table in a notebook; the objects themselves have all of them."""

MOST_NAMES = 10
"""Maximum number of names in one cell."""


def table_html(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table below a title; all texts are escaped, and line breaks and control characters in them are spelled out.

    Args:
        title: stands above the table; the part before its first colon is bold.
        headings: of the columns; none if all are empty.
        rows: the cells; rows beyond `MOST_ROWS` are counted instead of shown.
    """
    shown = list(rows)
    bold, colon, rest = title.partition(":")
    head = "".join(f"<th>{_cell(text)}</th>" for text in headings)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(text)}</td>' for text in row)}</tr>" for row in shown[:MOST_ROWS])
    more = f"<p>… and {len(shown) - MOST_ROWS:,} more</p>\n" if len(shown) > MOST_ROWS else ""
    return (
        f"<p><b>{_cell(bold)}</b>{colon}{_cell(rest)}</p>\n"
        f"<table>{f'<thead><tr>{head}</tr></thead>' if any(headings) else ''}<tbody>{body}</tbody></table>\n{more}"
    )


def _cell(text: str) -> str:
    from omdt.tree import printable

    return escape(printable(text))


def _some(names: Sequence[str]) -> str:
    more = f", … ({len(names) - MOST_NAMES:,} more)" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def mdp_html(mdp: "MDP") -> str:
    """The sizes and names of an MDP."""
    rows = [
        ("states", f"{mdp.n_states:,} ({int(mdp.terminal.sum()):,} terminal)"),
        ("actions", f"{mdp.n_actions:,}: {_some(mdp.action_names)}"),
        ("features", f"{mdp.n_features:,}: {_some([_with_range(mdp, f) for f in range(mdp.n_features)])}"),
        ("transitions", f"{mdp.transitions.nnz:,} of positive probability"),
        ("discount", f"{mdp.discount:.12g}"),
    ]
    rows += [("labels", _some(list(mdp.labels)))] if mdp.labels else []
    rows += [("rewards", _some(list(mdp.reward_models)))] if mdp.reward_models else []
    return table_html(mdp.name, ("", ""), rows)


def _with_range(mdp: "MDP", f: int) -> str:
    if mdp.feature_names[f] in mdp.truths:
        return mdp.feature_names[f]
    values = mdp.features[:, f]
    return f"{mdp.feature_names[f]} ({number(values.min(), 6)} to {number(values.max(), 6)})"


def splits_html(splits: "Splits") -> str:
    """How many questions there are about each feature, and about which numbers."""
    rows = []
    for f, name in enumerate(splits.feature_names):
        asked = splits.feature == f
        if asked.any():
            numbers = splits.threshold[asked]
            kind = "equal to" if splits.equality[asked].any() else "at most"
            among = f"{number(numbers.min(), 6)} to {number(numbers.max(), 6)}"
            rows.append((name, f"{int(asked.sum()):,}", kind, among))
    return table_html(f"Questions: {len(splits):,}", ("feature", "questions", "asked", "among"), rows)


def comparison_html(comparison: "Comparison") -> str:
    """The table of a comparison."""
    from omdt.printing.comparisons import HEADINGS, cells, title

    rows = [(*cells(comparison, row), comparison.meaning(row)) for row in comparison.rows]
    value = "return" if comparison.wording.default else "value"
    headings = [value if heading == "return" else heading for heading in HEADINGS]
    return table_html(title(comparison), (*headings, ""), rows)


def alternatives_html(found: "Alternatives") -> str:
    """The trees of alternatives: what each is worth, asks and changes."""
    rows = [
        (
            str(position),
            number(member.value),
            "" if position == 1 else found.loss_words(member),
            f"{member.tree.n_leaves:,}",
            _some(member.features) or "nothing",
            "; ".join(difference.words(member.visited) for difference in member.differences[:2])
            + ("; …" if len(member.differences) > 2 else ""),
        )
        for position, member in enumerate(found.members, 1)
    ]
    headings = ("", "value", "worse by", "leaves", "asks about", "differs from the best tree")
    return table_html(f"{found.problem}: {found.words}", headings, rows)
