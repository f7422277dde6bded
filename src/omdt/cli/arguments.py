"""The arguments that several commands take, declared once, and the flags that follow from the options of methods."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated

import typer

from omdt.counting import listed
from omdt.formats import described
from omdt.methods.options import Declaration
from omdt.methods.registry import METHODS

Problem = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help=f"A registered environment (see `omdt envs`), a file ({described()}) or gym:ENV_ID.",
        show_default=False,
    ),
]
SolutionFile = Annotated[
    Path, typer.Argument(metavar="SOLUTION", help="A file that `omdt solve --output` wrote.", show_default=False)
]
SolvedProblem = Annotated[
    str | None,
    typer.Argument(
        metavar="PROBLEM",
        help="The problem that was solved; by default what the solution records.",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the problem, such as cost=time or constants=N=3,p=0.5; repeatable.",
        show_default=False,
    ),
]
Discount = Annotated[
    float | None,
    typer.Option(
        metavar="GAMMA",
        help="Overrides the problem's own discount; 1 asks for the expected total reward.",
        show_default=False,
    ),
]
Property = Annotated[
    str | None,
    typer.Option(
        "--property",
        metavar="PROPERTY",
        help='What to maximise or minimise, such as Pmax=? [F "goal"] or Rmin=? [F x=5]; or the number or name of a '
        "property that comes with the model. By default the discounted return.",
        show_default=False,
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="NAME: CONDITION",
        help="A label for --property, such as 'goal: x=5 & y=5'; repeatable.",
        show_default=False,
    ),
]
Fallback = Annotated[
    str | None,
    typer.Option(
        metavar="ACTION",
        help="What is played instead of an unavailable action; by default the first available one.",
        show_default=False,
    ),
]
Depth = Annotated[int | None, typer.Option(metavar="D", help="At most D questions on any path.", show_default=False)]
Leaves = Annotated[int | None, typer.Option(metavar="N", help="At most N leaves.", show_default=False)]
MethodName = Annotated[str, typer.Option(help=f"How to find the tree: {listed(tuple(METHODS), 'or')}.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output and nothing else there.")]


def with_method_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one flag per option of any method that has a flag, behind its own parameter `method`.

    The command itself has a parameter `options`, which receives the options that were given, by name.
    """
    flags = {
        name: inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=_flag(declared, method.options.default(name)),
        )
        for method in METHODS.values()
        for name, declared in method.options.declared().items()
        if declared.flag is not None
    }

    @wraps(command)
    def called(**arguments: object) -> None:
        given = {name: arguments.pop(name) for name in flags}
        command(**arguments, options={name: value for name, value in given.items() if value is not None})

    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name != "options"
    ]
    place = [parameter.name for parameter in own].index("method") + 1
    parameters = [*own[:place], *flags.values(), *own[place:]]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _flag(declared: Declaration, default: object) -> object:
    """The annotation of the parameter that stands for an option with a flag."""
    option = typer.Option(declared.flag, metavar=declared.metavar, help=declared.words(default), show_default=False)
    return Annotated[declared.kind.type | None, option]
