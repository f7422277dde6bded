"""Source: how a problem was named, so that it can be found again."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import NotRequired, TypedDict

from omdt.errors import InputError

GYMNASIUM = "gym:"
"""How the name of a Gymnasium environment begins."""


class SourceDict(TypedDict):
    """A source in JSON; without labels there is no such entry."""

    problem: str
    settings: list[str]
    labels: NotRequired[list[str]]


@dataclass(frozen=True)
class Source:
    """A problem as the command line names it, with PROBLEM, `--set` and `--label`.

    Attributes:
        problem: a registered name, `gym:ENV_ID` or the absolute path of a file.
        settings: the parameters, each as NAME=VALUE.
        labels: further labels of its states, each as NAME: CONDITION.
    """

    problem: str | Path
    settings: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        problem: str | Path,
        parameters: Mapping[str, object],
        parse: Callable[[Iterable[str]], Mapping[str, object]],
    ) -> "Source | None":
        """The source of a problem that was made with some parameters; None if these cannot be written as settings.

        Args:
            problem: a name, or the path of a file.
            parameters: the parameters by name.
            parse: reads settings; reading the recorded settings must give the same parameters again.
        """
        settings = tuple(f"{name}={_spelled(value)}" for name, value in parameters.items())
        try:
            if not all(map(_has_spelling, parameters.values())) or dict(parse(settings)) != dict(parameters):
                return None
        except InputError:
            return None
        return cls(Path(os.path.abspath(problem)) if isinstance(problem, Path) else problem, settings)

    def spelled(self, folder: str | Path = ".") -> str:
        """PROBLEM as one would type it in a folder: files are relative to it, unless they are on another drive."""
        if isinstance(self.problem, str):
            return self.problem
        try:
            text = Path(os.path.relpath(self.problem, folder)).as_posix()
        except ValueError:
            return str(self.problem)
        return f"./{text}" if text.startswith((GYMNASIUM, "-")) else text

    def to_dict(self, folder: str | Path = ".") -> SourceDict:
        """The source as it is stored in a solution that lies in a folder."""
        found: SourceDict = {"problem": self.spelled(folder), "settings": list(self.settings)}
        return {**found, "labels": list(self.labels)} if self.labels else found

    @classmethod
    def from_dict(cls, data: object, folder: str | Path = ".") -> "Source":
        """The source that is stored in a solution that lies in a folder."""
        problem, settings = (data.get("problem"), data.get("settings")) if isinstance(data, dict) else (None, None)
        if not isinstance(problem, str) or not problem or "\0" in problem:
            raise InputError(f"'source' names the problem {problem!r:.80}; it must be a name or a file")
        if not isinstance(settings, list) or not all(isinstance(it, str) for it in settings):
            raise InputError(f"'source' has the settings {settings!r:.80}; they must be a list of NAME=VALUE")
        labels = data.get("labels", []) if isinstance(data, dict) else []
        if not isinstance(labels, list) or not all(isinstance(it, str) for it in labels):
            raise InputError(f"'source' has the labels {labels!r:.80}; they must be a list of NAME: CONDITION")
        is_file = not problem.startswith(GYMNASIUM) and ("/" in problem or Path(problem).suffix != "")
        return cls(
            Path(os.path.abspath(os.path.join(folder, problem))) if is_file else problem, tuple(settings), tuple(labels)
        )


def _has_spelling(value: object) -> bool:
    return value is None or isinstance(value, str | bool | Integral | Real)


def _spelled(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Real) and not isinstance(value, Integral):
        return repr(float(value))
    return str(value)
