"""Questions: what the trees of a solution may ask, as its file and its certificate state it.

The statement is one JSON object. `asked` lists the questions column by column, with the numbers that a column is
compared with, or "all" for one threshold between every two neighbouring values, or one equality per value; without
`asked` there are thresholds on every column. `predicates` holds one bit per state for each predicate, in base64.
"""

import base64
from itertools import groupby
from typing import Any

import numpy as np

from omdt import check
from omdt.divisions import Asked
from omdt.errors import InputError
from omdt.mdp import MDP, Floats, Ints
from omdt.splits import Splits, candidates_of


def questions_of(mdp: MDP, splits: Splits, per_column: bool = False) -> check.Questions | None:
    """The questions of some splits; None for thresholds on every feature, which need no statement.

    Args:
        mdp: the problem.
        splits: the questions.
        per_column: as in `Splits.of`.

    Raises:
        InputError: if the splits are not of this MDP.
    """
    check_columns(mdp, splits)
    F = mdp.n_features
    predicates = tuple(
        (name, np.packbits(column == 1).tobytes())
        for name, column in zip(splits.feature_names[F:], splits.observations[:, F:].T, strict=True)
    )
    listed = _listed(splits, _dividing(splits))
    whole = tuple(dict.fromkeys((name, equality, None) for name, equality, _ in listed))
    for groups in (None, whole, listed):
        questions = check.Questions(groups, predicates, mdp.n_states if predicates else 0)
        if _same_sides(splits_of(questions, mdp, per_column), splits):
            break
    return None if questions == check.Questions() else questions


def _dividing(splits: Splits) -> Ints:
    """The questions that divide the states."""
    answered: list[int] = []
    for j in np.unique(splits.feature):
        values, numbers = np.sort(splits.observations[:, j]), np.flatnonzero(splits.feature == j)
        threshold, equality = splits.threshold[numbers], splits.equality[numbers]
        left = np.searchsorted(values, threshold, side="right")
        left -= np.where(equality, np.searchsorted(values, threshold, side="left"), 0)
        answered += numbers[(left > 0) & (left < len(values))].tolist()
    return np.array(sorted(answered), dtype=np.int64)


def _same_sides(one: Splits, other: Splits) -> bool:
    """Whether two lists of questions about the same columns divide the states alike, with the same left sides."""
    if len(one) != len(other):
        return False
    same = (one.feature == other.feature) & (one.equality == other.equality) & (one.threshold == other.threshold)
    return all(np.array_equal(one.side(k), other.side(k)) for k in np.flatnonzero(~same).tolist())


def check_columns(mdp: MDP, splits: Splits) -> None:
    """Raise `InputError` unless some splits are of this MDP: its features in front, then predicates."""
    F = mdp.n_features
    if splits.feature_names[:F] != mdp.feature_names or not np.array_equal(splits.observations[:, :F], mdp.features):
        raise InputError("the splits are of another MDP: their first columns are not its features")
    for name, column in zip(splits.feature_names[F:], splits.observations[:, F:].T, strict=True):
        if not isinstance(name, str) or not name or "\0" in name or any("\ud800" <= c <= "\udfff" for c in name):
            raise InputError(f"the label of a predicate is {name!r}; labels must be texts without NUL characters")
        if not np.isin(column, (0, 1)).all():
            raise InputError(
                f"the column {name!r} behind the features is not a predicate, 0 or 1 in every state; "
                "make it a feature of the MDP"
            )


def splits_of(questions: check.Questions | None, mdp: MDP, per_column: bool = False) -> Splits:
    """The splits of an MDP that some questions state, in their order.

    Args:
        questions: what may be asked; None for thresholds on every feature.
        mdp: the problem.
        per_column: as in `Splits.of`.

    Raises:
        InputError: if the questions do not fit the MDP.
    """
    if questions is None:
        return Splits.of(mdp, per_column=per_column)
    columns = observations(questions, mdp)
    names = (*mdp.feature_names, *(name for name, _ in questions.predicates))
    everything = tuple((name, False, None) for name in names)
    candidates: list[Asked] = []
    for name, equality, numbers in everything if questions.groups is None else questions.groups:
        if name not in names:
            raise InputError(f"this is not the problem that was solved: it has no feature {name!r:.80}")
        j = names.index(name)
        if numbers is None:
            candidates.append(candidates_of(columns, j, equality))
        else:
            candidates.append(Asked.listed([(j, number, equality) for number in numbers]))
    return Splits.among(columns, names, candidates, per_column)


def observations(questions: check.Questions | None, mdp: MDP) -> Floats:
    """[S, F'] what the trees read in each state of an MDP: its features, then the predicates."""
    if questions is None:
        return mdp.features
    try:
        return np.asarray(questions.columns(mdp.features, mdp.feature_names)[0], dtype=np.float64)
    except check.UnreadableError as error:
        raise InputError(f"this is not the problem that was solved: {error}") from None


def to_dict(questions: check.Questions) -> dict[str, Any]:
    """The statement of the questions."""
    statement: dict[str, Any] = {}
    if questions.groups is not None:
        statement["asked"] = [
            {"feature": name, "equals" if equality else "threshold": "all" if numbers is None else list(numbers)}
            for name, equality, numbers in questions.groups
        ]
    if questions.predicates:
        holds = {name: base64.b64encode(bits).decode() for name, bits in questions.predicates}
        statement["predicates"] = {"states": questions.states, "holds": holds}
    return statement


def from_dict(statement: Any) -> check.Questions:
    """The questions of a statement as `to_dict` makes it."""
    try:
        return check.Questions.read(statement)
    except check.UnreadableError as error:
        raise InputError(str(error)) from None


def _listed(splits: Splits, dividing: Ints) -> tuple[tuple[str, bool, tuple[float, ...]], ...]:
    """The questions that divide the states, by column and with every number."""

    def column(k: int) -> tuple[str, bool]:
        return splits.feature_names[splits.feature[k]], bool(splits.equality[k])

    runs = groupby(dividing.tolist(), key=column)
    return tuple((*which, tuple(float(splits.threshold[k]) for k in run)) for which, run in runs)
