"""The flag `--quiet` of commands that run long."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated

import typer

from omdt.terminal import quiet as without_progress

Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error; messages still go there.")]


def with_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the flag `--quiet`, behind which no progress is shown."""

    @wraps(command)
    def called(*, quiet: bool, **arguments: object) -> None:
        before = without_progress.set(quiet)
        try:
            command(**arguments)
        finally:
            without_progress.reset(before)

    parameters = [
        *(it.replace(kind=inspect.Parameter.KEYWORD_ONLY) for it in inspect.signature(command).parameters.values()),
        inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet),
    ]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called
