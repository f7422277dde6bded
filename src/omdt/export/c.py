"""A tree as a C99 function without includes, allocations or state."""

from fractions import Fraction

from omdt.export.code import Syntax, body, constants
from omdt.tree import TreePolicy


def to_c(tree: TreePolicy) -> str:
    """A source file with the function `policy`, which gives the index of the action for one observation."""
    features, actions = constants(tree)
    return f"""/* A decision tree policy: policy(observation) is the index of the action in policy_actions. */

{_strings("policy_features", tree.feature_names)}

{_strings("policy_actions", tree.action_names)}

{_numbered(features)}

{_numbered(actions)}

/* The action for one observation, an array of finite numbers in the order of policy_features. */
int policy(const double *observation);

int policy(const double *observation)
{{
{_unused(tree)}{body(tree, C, features, actions)}
}}
"""


def _number(value: float) -> str:
    """The number in decimal where that is exact, otherwise in hexadecimal, which no compiler rounds."""
    decimal = repr(value)
    return decimal if Fraction(decimal) == Fraction(value) else f"{value.hex()} /* {decimal} */"


C = Syntax(condition="if ({}) {{", close="}", result="return {};", equality=("==", "!="), number=_number)


def _unused(tree: TreePolicy) -> str:
    return "    (void)observation;\n" if tree.n_nodes == 1 else ""


def _strings(name: str, entries: tuple[str, ...]) -> str:
    lines = [f"const char *const {name}[] = {{", *(f"    {_string(entry)}," for entry in entries), "};"]
    return "\n".join(lines)


def _string(text: str) -> str:
    """A literal for the UTF-8 of a text, in ASCII; the escaped question mark cannot begin a trigraph."""
    escapes = {ord("\\"): "\\\\", ord('"'): '\\"', ord("?"): "\\?"}
    content = (
        escapes.get(byte, chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        for byte in text.encode("utf-8", "backslashreplace")
    )
    return '"' + "".join(content) + '"'


def _numbered(names: list[str]) -> str:
    return "\n".join(["enum {", ",\n".join(f"    {name} = {i}" for i, name in enumerate(names)), "};"])
