"""A tree as a JavaScript function, in a module for browsers and Node.js."""

import json

from omdt.export.code import Syntax, body, constants
from omdt.tree import TreePolicy

JAVASCRIPT = Syntax(condition="if ({}) {{", close="}", result="return {};", equality=("===", "!=="))


def to_javascript(tree: TreePolicy) -> str:
    """A module with the function `policy`, which gives the index of the action for one observation."""
    features, actions = constants(tree)
    return f"""// A decision tree policy: policy(observation) is the index of the action in ACTIONS.

{_array("FEATURES", tree.feature_names)}

{_array("ACTIONS", tree.action_names)}

{_numbered(features)}

{_numbered(actions)}

// The action for one observation, an array of finite numbers in the order of FEATURES.
export function policy(values) {{
    const observation = Array.from(values, Number);
    if (observation.length !== FEATURES.length) {{
        throw new RangeError(`an observation has ${{FEATURES.length}} numbers, not ${{observation.length}}`);
    }}
{body(tree, JAVASCRIPT, features, actions)}
}}
"""


def _array(name: str, entries: tuple[str, ...]) -> str:
    lines = [f"export const {name} = Object.freeze([", *(f"    {_string(entry)}," for entry in entries), "]);"]
    return "\n".join(lines)


def _string(text: str) -> str:
    """A literal in ASCII that stays a literal inside an HTML page, too."""
    return json.dumps(text).replace("<", "\\u003c")


def _numbered(names: list[str]) -> str:
    return "\n".join(f"const {name} = {i};" for i, name in enumerate(names))
