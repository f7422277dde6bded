"""A tree as a Python function that needs nothing but Python."""

from collections.abc import Sequence

from omdt.export.code import Syntax, body, caveats, constants
from omdt.tree import TreePolicy

PYTHON = Syntax(condition="if {}:", close="", result="return {}", equality=("==", "!="))


def to_python(tree: TreePolicy) -> str:
    """A module with the function `policy`, which gives the index of the action for one observation."""
    features, actions = constants(tree)
    fallback = tree.exceptions.fallback
    return f'''"""A decision tree policy: policy(observation) is the index of the action in ACTIONS."""

{_tuple("FEATURES", tree.feature_names)}

{_tuple("ACTIONS", tree.action_names)}

{_numbered(features)}

{_numbered(actions)}

# Played, where it is available, instead of an action that is not; otherwise the first available action is.
FALLBACK = {None if fallback is None else actions[tree.action_names.index(fallback)]}

{exceptions_table(tree, actions)}


def policy(observation, available=None):
    """The action to play on one observation, a sequence of finite numbers in the order of FEATURES.

    Where it is known which actions are available, `available` holds their indices; otherwise EXCEPTIONS says where the
    action of the tree is not.
    """
    observation = [float(value) for value in observation]
    if len(observation) != len(FEATURES):
        raise ValueError(f"an observation has {{len(FEATURES)}} numbers, not {{len(observation)}}")
    action = named(observation)
    if available is None:
        return EXCEPTIONS.get(tuple(observation), action)
    available = {{int(index) for index in available}}
    if not available:
        raise ValueError("no action is available")
    if action in available:
        return action
    return FALLBACK if FALLBACK in available else min(available)


def named(observation):
    """The action that the tree names, whether it is available or not."""
{body(tree, PYTHON, features, actions)}
'''


def exceptions_table(tree: TreePolicy, actions: Sequence[object]) -> str:
    """A dictionary from the observations on which the tree's action is not available to the actions that are played.

    Args:
        tree: the policy.
        actions: what each action is called in the code.
    """
    rows = [f"    {observation!r}: {actions[a]}," for observation, a in tree.exceptions.table.items()]
    remarks = ["On these observations the action of the tree is not available; this one is played."] if rows else []
    comments = [f"# {line}" for line in [*remarks, *caveats(tree)]]
    return "\n".join([*comments, *(["EXCEPTIONS = {", *rows, "}"] if rows else ["EXCEPTIONS = {}"])])


def _tuple(name: str, entries: tuple[str, ...]) -> str:
    return "\n".join([f"{name} = (", *(f"    {entry!r}," for entry in entries), ")"])


def _numbered(names: list[str]) -> str:
    return "\n".join(f"{name} = {i}" for i, name in enumerate(names))
