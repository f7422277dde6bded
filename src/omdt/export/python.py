"""A tree as a Python function that needs nothing but Python."""

from collections.abc import Sequence

from omdt.export.code import Syntax, body, caveats, constants
from omdt.tree import TreePolicy

PYTHON = Syntax(condition="if {}:", close="", result="return {}", equality=("==", "!="))

TEMPLATE = '''"""A decision tree policy: policy(observation) is the index of the action in ACTIONS."""

{features}

{actions}

{feature_numbers}

{action_numbers}

# Played instead of an unavailable action; if this one is not available either, the first available action is played.
FALLBACK = {fallback}

{exceptions}


def policy(observation, available=None):
    """The action to play on one observation, a sequence of finite numbers in the order of FEATURES.

    If it is known which actions are available, pass their indices as `available`; otherwise EXCEPTIONS says where the
    action of the tree is not available.
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
{body}
'''


def to_python(tree: TreePolicy) -> str:
    """A module with the function `policy`, which returns the index of the action for one observation."""
    features, actions = constants(tree)
    fallback = tree.exceptions.fallback
    return TEMPLATE.format(
        features=_tuple("FEATURES", tree.feature_names),
        actions=_tuple("ACTIONS", tree.action_names),
        feature_numbers=_numbered(features),
        action_numbers=_numbered(actions),
        fallback=None if fallback is None else actions[tree.action_names.index(fallback)],
        exceptions=exceptions_table(tree, actions),
        body=body(tree, PYTHON, features, actions),
    )


def exceptions_table(tree: TreePolicy, actions: Sequence[object]) -> str:
    """A dictionary from the observations on which the tree's action is not available to the actions that are played.

    Args:
        tree: the policy.
        actions: what stands for each action in the code.
    """
    rows = [f"    {observation!r}: {actions[a]}," for observation, a in tree.exceptions.table.items()]
    remarks = ["On these observations the action of the tree is not available; this one is played."] if rows else []
    comments = [f"# {line}" for line in [*remarks, *caveats(tree)]]
    return "\n".join([*comments, *(["EXCEPTIONS = {", *rows, "}"] if rows else ["EXCEPTIONS = {}"])])


def _tuple(name: str, entries: tuple[str, ...]) -> str:
    return "\n".join([f"{name} = (", *(f"    {entry!r}," for entry in entries), ")"])


def _numbered(names: list[str]) -> str:
    return "\n".join(f"{name} = {i}" for i, name in enumerate(names))
