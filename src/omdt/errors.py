"""The errors for users: their message says what was wrong, where, and what to do."""

import os
import sys
import warnings
from importlib.util import find_spec

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class InputError(ValueError):
    """The user's input cannot be used; the command line reports it and exits with status 2."""


class UnclearRewardError(InputError):
    """A file has several rewards or none, so that the user must say what is to be large or small."""


class LostWorkerError(Exception):
    """A worker process ended before it had finished its work."""


class InputWarning(UserWarning):
    """Something about the user's input was assumed or is doubtful; the command line says so on standard error."""


class AssumedDiscountWarning(InputWarning):
    """The problem has no discount of its own, so the usual one was assumed."""


class FalseClaimError(RuntimeError):
    """A method claimed a bound that its own tree exceeds: a bug in the method, never the user's fault."""


class OutputError(RuntimeError):
    """A result could not be written although its file could be created, as on a full disk; the exit status is 1."""


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


def require(module: str, extra: str, purpose: str) -> None:
    """Raise `MissingExtraError` unless `module` can be imported."""
    if find_spec(module) is None:
        raise MissingExtraError(
            f"{purpose} needs {module}, which is not installed; it comes with the extra {extra}: "
            f"pip install 'omdt[{extra}]', or pip install '.[{extra}]' in a clone of omdt"
        )


def warn_input(message: str, category: type[InputWarning] = InputWarning) -> None:
    """Warn about the user's input; the warning points at the line of the user's program that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
