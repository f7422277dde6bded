"""A tree as a Python function that needs nothing but Python."""

from omdt.export.code import Syntax, body, constants
from omdt.tree import TreePolicy

PYTHON = Syntax(condition="if {}:", close="", result="return {}", equality=("==", "!="))


def to_python(tree: TreePolicy) -> str:
    """A module with the function `policy`, which gives the index of the action for one observation."""
    features, actions = constants(tree)
    return f'''"""A decision tree policy: policy(observation) is the index of the action in ACTIONS."""

{_tuple("FEATURES", tree.feature_names)}

{_tuple("ACTIONS", tree.action_names)}

{_numbered(features)}

{_numbered(actions)}


def policy(observation):
    """The action for one observation, a sequence of finite numbers in the order of FEATURES."""
    observation = [float(value) for value in observation]
    if len(observation) != len(FEATURES):
        raise ValueError(f"an observation has {{len(FEATURES)}} numbers, not {{len(observation)}}")
{body(tree, PYTHON, features, actions)}
'''


def _tuple(name: str, entries: tuple[str, ...]) -> str:
    return "\n".join([f"{name} = (", *(f"    {entry!r}," for entry in entries), ")"])


def _numbered(names: list[str]) -> str:
    return "\n".join(f"{name} = {i}" for i, name in enumerate(names))
