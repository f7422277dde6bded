"""The command `omdt export`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from omdt.cli.arguments import SolutionFile
from omdt.cli.messages import tell
from omdt.errors import InputError
from omdt.export import export_names


def export(
    solution: SolutionFile,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help=f"{export_names()}.",
            show_default=False,
        ),
    ],
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write into a file.", show_default=False)] = None,
) -> None:
    """The tree of a solution as code, picture or model for other programs."""
    from omdt.export import export_tree, to_be_told
    from omdt.files import write_whole
    from omdt.solution import load

    tree = load(solution).tree
    exported = export_tree(tree, to)
    if output is None and isinstance(exported, bytes) and sys.stdout.isatty():
        raise InputError(f"{to} is not for a terminal; name a file with --output")
    # Programs expect UTF-8 in what they read, whatever the encoding of this terminal.
    content = exported if isinstance(exported, bytes) else exported.encode()
    if output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    else:
        write_whole(output, lambda stream: stream.write(content))
    if (message := to_be_told(tree, to)) is not None:
        tell(message)
