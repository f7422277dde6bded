"""What the commands tell the user besides their results: messages, and errors in the words of the command line."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from omdt.errors import InputError, InputWarning, OutputError
from omdt.methods.options import UnknownOptionError
from omdt.methods.registry import METHODS

FLAGS = {
    "max_depth": "--depth",
    "max_leaf_nodes": "--leaves",
    "time_limit": "--time-limit",
    "gap": "--gap",
    "seed": "--seed",
    "threads": "--threads",
    "memory_limit": "--memory-limit",
    "node_limit": "--node-limit",
    "seeds": "--seeds",
    "processes": "--processes",
    "milp": "--milp",
    "discount": "--discount",
    "unavailable": "--unavailable",
    "within": "--within",
    "limit": "--limit",
    "steps": "--steps",
    "bins": "--bins",
    "confidence": "--confidence",
    "episodes": "--episodes",
} | {
    name: declared.flag
    for method in METHODS.values()
    for name, declared in method.options.declared().items()
    if declared.flag is not None
}
"""The flag that sets each parameter of `omdt.solve`, `omdt.compare`, `omdt.alternatives` and `omdt.learn`."""


def tell(message: str) -> None:
    """A message on standard error, without anything in it that a terminal would obey."""
    from omdt.tree import printable

    typer.echo("omdt: " + "\n".join(map(printable, message.split("\n"))), err=True)


@contextmanager
def naming_flags() -> Iterator[None]:
    """Let an error about a parameter of `omdt.solve` or `omdt.compare` name the flag that sets it."""
    try:
        yield
    except UnknownOptionError as error:
        known = [FLAGS[name] for name in error.known if name in FLAGS]
        raise InputError(error.message(FLAGS.get(error.option, error.option), known)) from None
    except InputError as error:
        name, _, rest = str(error).partition(" is ")
        if name in FLAGS:
            raise InputError(f"{FLAGS[name]} is {rest}") from None
        raise


@contextmanager
def hearing() -> Iterator[list[InputWarning]]:
    """A list of what was assumed about the user's input, or is doubtful; complete when the context ends."""
    found: list[InputWarning] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", InputWarning)
        yield found
    for warning in heard:
        if isinstance(warning.message, InputWarning):
            found.append(warning.message)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


@contextmanager
def saving(save: Callable[[Path], None], output: Path | None) -> Iterator[None]:
    """Save a result before it is printed. If it cannot be saved, it is printed all the same, and then the error."""
    failure: Exception | None = None
    try:
        if output is not None:
            save(output)
    except (InputError, OutputError) as error:
        failure = error
    yield
    if failure is not None:
        raise OutputError(str(failure))
