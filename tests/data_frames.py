"""Data frames in tests: those of pandas or, where it is not installed, dictionaries of columns in their place."""

import importlib.util
import sys
import types
from collections.abc import Callable

import pytest

Columns = dict[str, list[object]]


def use_pandas(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], Columns]:
    """Let `to_frame` make data frames, and return what turns one into its columns."""
    if importlib.util.find_spec("pandas") is not None:
        return lambda frame: frame.to_dict("list")  # type: ignore[attr-defined]
    fake = types.ModuleType("pandas")
    fake.__spec__ = importlib.util.spec_from_loader("pandas", None)
    fake.DataFrame = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", fake)
    return lambda frame: frame  # type: ignore[return-value]
