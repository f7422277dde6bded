"""Verbs: what `omdt.solve`, `front`, `alternatives`, `compare` and `learn` have in common when they are called.

Their first argument is an MDP, or a Gymnasium environment with a table of transitions, which becomes one; that of
`learn` is a simulator or a log. A parameter that does not exist is answered with the one that was probably meant. In a
notebook they show how far they are.
"""

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from omdt.errors import AssumedDiscountWarning, InputError, warn_input
from omdt.formats.options import ReadOptions
from omdt.formats.text import DEFAULT_DISCOUNT
from omdt.mdp import MDP
from omdt.meant import hint, meant
from omdt.objective import Objective
from omdt.progress import Known, live

P = ParamSpec("P")
Result = TypeVar("Result")


def verb(
    known: Callable[..., Known], further: Callable[[], Collection[str]] = tuple, also: type | tuple[()] = ()
) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """The decorator of a verb, which has a first parameter that it is about, and a parameter `progress`.

    Args:
        known: what the arguments of `progress` say.
        further: the names of the keywords that it takes besides its parameters.
        also: a kind of thing that it takes as it is, besides MDPs.
    """

    def decorator(function: Callable[P, Result]) -> Callable[P, Result]:
        parameters = inspect.signature(function).parameters
        named = [it.name for it in parameters.values() if it.kind is not inspect.Parameter.VAR_KEYWORD]

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> Result:
            _check_names(function.__name__, kwargs, named, further, open_ended=len(named) < len(parameters))
            given = args[0] if args else kwargs.pop(named[0], None)
            about: Any = given if isinstance(given, also) else problem_of(given, kwargs.get("objective"))
            if kwargs.get("progress") is not None:
                return function(about, *args[1:], **kwargs)  # type: ignore[arg-type]
            with live(f"{function.__name__} {_name(about)}", known) as listener:
                kwargs["progress"] = listener
                return function(about, *args[1:], **kwargs)  # type: ignore[arg-type]

        return called

    return decorator


def _check_names(
    name: str, given: Collection[str], named: list[str], further: Callable[[], Collection[str]], *, open_ended: bool
) -> None:
    """Raise for the first keyword that does not exist; what takes any keyword explains those without a hint itself."""
    for keyword in given:
        if keyword in named or keyword in further():
            continue
        if meant(keyword, named) is not None or not open_ended:
            raise InputError(f"omdt.{name} has no parameter {keyword!r:.40}{hint(keyword, named)}")


def _name(about: object) -> str:
    """What a problem, a simulator or a log is called while work on it goes on."""
    name = about if isinstance(about, str) else getattr(about, "name", None)
    return name if isinstance(name, str) else type(about).__name__


def problem_of(given: object, objective: object = None) -> MDP:
    """The MDP that a user means.

    Args:
        given: an MDP, or a Gymnasium environment.
        objective: what is asked, which says whether an environment needs a discount.

    Raises:
        InputError: if it is something else, or an environment without a table of transitions.
    """
    if isinstance(given, MDP):
        return given
    if hasattr(given, "unwrapped") and hasattr(given, "action_space"):
        return _from_environment(given, objective)
    if isinstance(given, str | Path):
        made = (
            f"omdt.read({str(given)!r:.60})" if Path(given).suffix or ":" in str(given) else f"omdt.make({given!r:.60})"
        )
        raise InputError(f"expected an MDP, not the name {str(given)!r:.60}; {made} makes one")
    if hasattr(given, "columns"):
        raise InputError("expected an MDP, not a data frame; omdt.MDP.from_dataframe(frame) makes one")
    raise InputError(f"expected an MDP or a Gymnasium environment, not {type(given).__name__}")


def _from_environment(env: object, objective: object) -> MDP:
    """The MDP of an environment that has a table; its discount is assumed where the objective needs one."""
    from omdt.formats.from_gymnasium import from_gymnasium

    kind = type(getattr(env, "unwrapped", env)).__name__
    if not getattr(env.unwrapped, "P", None):  # type: ignore[attr-defined]
        raise InputError(
            f"{kind} has no table of transitions P[state][action], so no tree can be proven optimal for it; "
            "omdt.learn(env, max_depth=3) learns a tree by playing, and omdt.imitate(env, teacher, max_depth=3) turns "
            "a teacher's policy into one"
        )
    asked = Objective.parse(objective) if isinstance(objective, str) else objective
    discount = ReadOptions(objective=asked if isinstance(asked, Objective) else None).discount_or(None)
    if discount is None:
        discount = DEFAULT_DISCOUNT
        warn_input(
            f"{kind} has no discount of its own; {discount} is assumed, and omdt.from_gymnasium(env, discount=…) sets "
            "another",
            AssumedDiscountWarning,
        )
    return from_gymnasium(env, discount=discount)
