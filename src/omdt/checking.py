"""Checking: the independent checker applied to files, with errors as the rest of the package reports them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omdt import check
from omdt.certificate import model_of
from omdt.errors import InputError
from omdt.mdp import MDP


def verify(
    solution: Path, load: Callable[[float, str | None], MDP], certificate: Path | None = None, *, exact: bool = False
) -> check.Verdict:
    """Check the solution of a file.

    Args:
        solution: a file that `omdt solve --output` wrote.
        load: the problem that was solved, given discount and fallback of the solution.
        certificate: a file that `omdt solve --certificate` wrote.
        exact: whether to compute with rational numbers.

    Raises:
        InputError: if a file is not what it should be.
        check.RejectedError: if something that is claimed is not proven.
    """
    data = _read(solution)
    try:
        return check.check(model_of(load(data["discount"], data.get("fallback"))), data, certificate, exact=exact)
    except check.UnreadableError as error:
        raise InputError(str(error)) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a JSON file: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("discount"), float):
        raise InputError(f"{path} is not a solution: it has no discount")
    return data
