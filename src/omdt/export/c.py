"""A tree as a C99 function without includes, allocations or state."""

from fractions import Fraction

from omdt.export.code import Syntax, body, caveats, constants
from omdt.tree import TreePolicy


def to_c(tree: TreePolicy) -> str:
    """A source file with the function `policy`, which returns the index of the action for one observation."""
    features, actions = constants(tree)
    return f"""/* A decision tree policy: policy(observation) is the index of the action in policy_actions. */

{_strings("policy_features", tree.feature_names)}

{_strings("policy_actions", tree.action_names)}

{_numbered(features)}

{_numbered(actions)}
{_table(tree, actions)}
/* The action to play on one observation, an array of finite numbers in the order of policy_features. */
int policy(const double *observation);

int policy(const double *observation)
{{
{_unused(tree)}{_lookup(tree)}{body(tree, C, features, actions)}
}}
"""


def _number(value: float) -> str:
    """The number in decimal if that is exact, otherwise in hexadecimal, which no compiler rounds."""
    decimal = repr(value)
    return decimal if Fraction(decimal) == Fraction(value) else f"{value.hex()} /* {decimal} */"


C = Syntax(condition="if ({}) {{", close="}", result="return {};", equality=("==", "!="), number=_number)


def _unused(tree: TreePolicy) -> str:
    return "    (void)observation;\n" if tree.n_nodes == 1 and not len(tree.exceptions) else ""


def _table(tree: TreePolicy, actions: list[str]) -> str:
    """The observations on which the action of the tree is not available, and what is played there; empty if none."""
    lines = [f"/* {line} */" for line in caveats(tree)]
    table = tree.exceptions.table
    if table:
        lines.append(
            "/* On these observations the action of the tree is not available; the actions below are played. */"
        )
        lines.append(f"static const double policy_exceptions[{len(table)}][{len(tree.feature_names)}] = {{")
        lines += [f"    {{{', '.join(_number(x) for x in observation)}}}," for observation in table]
        lines += ["};", "", f"static const int policy_exception_actions[{len(table)}] = {{"]
        lines += [f"    {actions[a]}," for a in table.values()]
        lines.append("};")
    return "\n".join(["", *lines, ""]) if lines else ""


def _lookup(tree: TreePolicy) -> str:
    """The lines that return early on an exceptional observation; empty if there is none."""
    if not len(tree.exceptions):
        return ""
    return f"""    for (int i = 0; i < {len(tree.exceptions)}; i++) {{
        int j = 0;
        while (j < {len(tree.feature_names)} && observation[j] == policy_exceptions[i][j]) {{
            j++;
        }}
        if (j == {len(tree.feature_names)}) {{
            return policy_exception_actions[i];
        }}
    }}
"""


def _strings(name: str, entries: tuple[str, ...]) -> str:
    lines = [f"const char *const {name}[] = {{", *(f"    {_string(entry)}," for entry in entries), "};"]
    return "\n".join(lines)


def _string(text: str) -> str:
    """A literal in ASCII for the UTF-8 bytes of a text; question marks are escaped because ?? begins a trigraph."""
    escapes = {ord("\\"): "\\\\", ord('"'): '\\"', ord("?"): "\\?"}
    content = (
        escapes.get(byte, chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        for byte in text.encode("utf-8", "backslashreplace")
    )
    return '"' + "".join(content) + '"'


def _numbered(names: list[str]) -> str:
    return "\n".join(["enum {", ",\n".join(f"    {name} = {i}" for i, name in enumerate(names)), "};"])
