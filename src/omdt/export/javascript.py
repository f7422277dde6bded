"""A tree as a JavaScript function, in a module for browsers and Node.js."""

import json

from omdt.export.code import Syntax, body, caveats, constants
from omdt.tree import TreePolicy

JAVASCRIPT = Syntax(condition="if ({}) {{", close="}", result="return {};", equality=("===", "!=="))


def to_javascript(tree: TreePolicy) -> str:
    """A module with the function `policy`, which returns the index of the action for one observation."""
    features, actions = constants(tree)
    return f"""// A decision tree policy: policy(observation) is the index of the action in ACTIONS.

{_array("FEATURES", tree.feature_names)}

{_array("ACTIONS", tree.action_names)}

{_numbered(features)}

{_numbered(actions)}
{_table(tree, actions)}
// The action to play on one observation, an array of finite numbers in the order of FEATURES.
export function policy(values) {{
    const observation = Array.from(values, Number);
    if (observation.length !== FEATURES.length) {{
        throw new RangeError(`an observation has ${{FEATURES.length}} numbers, not ${{observation.length}}`);
    }}
{_lookup(tree)}{body(tree, JAVASCRIPT, features, actions)}
}}
"""


def _table(tree: TreePolicy, actions: list[str]) -> str:
    """The observations on which the action of the tree is not available, and what is played there; empty if none."""
    lines = [f"// {line}" for line in caveats(tree)]
    table = tree.exceptions.table
    if table:
        lines.append(
            "// On these observations the action of the tree is not available; the action beside them is played."
        )
        lines.append("const EXCEPTIONS = [")
        lines += [f"    [{list(observation)!r}, {actions[a]}]," for observation, a in table.items()]
        lines.append("];")
    return "\n".join(["", *lines, ""]) if lines else ""


def _lookup(tree: TreePolicy) -> str:
    """The lines that return early on an exceptional observation; empty if there is none."""
    if not len(tree.exceptions):
        return ""
    return """    const exception = EXCEPTIONS.find(([seen]) => seen.every((x, j) => x === observation[j]));
    if (exception !== undefined) {
        return exception[1];
    }
"""


def _array(name: str, entries: tuple[str, ...]) -> str:
    lines = [f"export const {name} = Object.freeze([", *(f"    {_string(entry)}," for entry in entries), "]);"]
    return "\n".join(lines)


def _string(text: str) -> str:
    """A literal in ASCII in which no HTML tag can begin, so that it is safe inside a page."""
    return json.dumps(text).replace("<", "\\u003c")


def _numbered(names: list[str]) -> str:
    return "\n".join(f"const {name} = {i};" for i, name in enumerate(names))
