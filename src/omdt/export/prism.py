"""A tree as a module in the PRISM language that synchronises with a model and restricts it to the tree's choices.

The model is expected to have a variable or formula per feature, and commands labelled with the actions. The module has
one command per action, whose guard says where the tree takes that action. An action that is never taken has the guard
`false`, because a module blocks only the labels that it mentions.

A label that no command of the model has does not synchronise with anything: it restricts nothing, and the module adds a
choice that does nothing. This happens with names that are not labels of the language, which omdt gives to commands
without a label (`robot command 3`) and to the second of several commands with one label (`go (2)`). The module lists
the labels that the model needs.

If the model does not offer the action of a leaf in some state, the guard of that action may be true there without harm.
The guard of the action that is played instead has a term for the variables of this state. Actions that are the only one
wherever they are available, such as the moves of an opponent, are not mentioned, so nothing blocks them.
"""

import math
import operator

from omdt.counting import counted
from omdt.export.code import caveats
from omdt.names import prism_identifiers
from omdt.tree import LEAF, TreePolicy

COMPARED = {"<=": operator.le, ">": operator.gt, "=": operator.eq, "!=": operator.ne}

MOST_LABELS = 5
"""Maximum number of labels in a message; the comments of the module list all of them."""

LABELS_NEEDED = (
    "The model needs these labels: give each to the command that it stands for. Without it, the module does not",
    "restrict this command, and adds a choice that does nothing. Leave every other command without a label as it is:",
    "the module never blocks it. If a command that gets a label is the only choice of some state, solve the model",
    "with the labels again, because the tree may name another action there.",
)

Bounds = dict[tuple[int, str, float], float]
"""The conditions of a path: (feature, operator, number) to the tightest number. The number in the key tells equalities
of one feature apart; it is 0 for ≤ and >, of which only the tightest one matters."""


def to_prism(tree: TreePolicy) -> str:
    """A module to be added to a PRISM model; it is called `policy`, or `policy_` if that is the name of a variable."""
    features, actions = prism_identifiers(tree.feature_names, tree.action_names)
    guards: dict[int, list[str]] = {a: [] for a in range(len(actions))}
    for action, bounds in _leaves(tree):
        guards[action].append(_conjunction(tree, bounds, features))
    forced = {tree.action_names.index(name) for name in tree.exceptions.forced}
    exceptions = [(seen, action) for seen, action in tree.exceptions.table.items() if action not in forced]
    for observation, action in exceptions:
        tests = (_test(tree, j, "=", x, features) for j, x in enumerate(observation))
        guards[action].append(f"({' & '.join(tests)})")
    lines = ["// A decision tree policy: the model may take an action only where the tree takes it."]
    if exceptions:
        lines.append("// Where its action is not available, the guard of the action played instead names the state.")
    lines += [f"// {line}" for line in caveats(tree)]
    lines += [f"// feature {name!r} is called {called}" for name, called in _renamed(tree.feature_names, features)]
    if forced:
        listed = ", ".join(actions[a] for a in sorted(forced))
        lines.append(f"// Never blocked, because the model offers nothing else in the same states: {listed}.")
    renamed = _renamed(tree.action_names, actions)
    lines += [f"// action {name!r} is called {called}" for name, called in renamed]
    lines += [f"// {line}" for line in LABELS_NEEDED if renamed]
    module = "policy"
    while module in (*features, *actions):
        module += "_"
    lines.append(f"module {module}")
    for a in (a for a in range(len(actions)) if a not in forced):
        guard = "\n        | ".join(guards[a]) or "false"
        lines.append(f"    [{actions[a]}] {guard} -> true;")
    return "\n".join([*lines, "endmodule"]) + "\n"


def labels_needed(tree: TreePolicy) -> str | None:
    """What has to be changed in the model, if names of actions cannot be labels; None if nothing has to be."""
    _, actions = prism_identifiers(tree.feature_names, tree.action_names)
    renamed = _renamed(tree.action_names, actions)
    if not renamed:
        return None
    listed = ", ".join(f"{called} for {name!r}" for name, called in renamed[:MOST_LABELS])
    more = f" and {len(renamed) - MOST_LABELS:,} more" if len(renamed) > MOST_LABELS else ""
    return (
        f"{counted(len(renamed), 'action has a name that is no label', 'actions have names that are no labels')} "
        f"in PRISM's language; the module restricts the model only if its commands get the labels {listed}{more}; "
        "the comments of the module say more"
    )


def _renamed(names: tuple[str, ...], identifiers: list[str]) -> list[tuple[str, str]]:
    return [(name, called) for name, called in zip(names, identifiers, strict=True) if name != called]


def _leaves(tree: TreePolicy) -> list[tuple[int, Bounds]]:
    """The action of each leaf and the conditions on the path to it."""
    leaves: list[tuple[int, Bounds]] = []
    stack: list[tuple[int, Bounds]] = [(0, {})]
    while stack:
        node, bounds = stack.pop()
        if tree.feature[node] == LEAF:
            leaves.append((int(tree.action[node]), bounds))
            continue
        j, k = int(tree.feature[node]), float(tree.threshold[node])
        if tree.equality[node]:
            yes, no = {**bounds, (j, "=", k): k}, {**bounds, (j, "!=", k): k}
        else:
            upper, lower = (j, "<=", 0.0), (j, ">", 0.0)
            yes = {**bounds, upper: min(k, bounds.get(upper, k))}
            no = {**bounds, lower: max(k, bounds.get(lower, k))}
        stack.append((int(tree.right[node]), no))
        stack.append((int(tree.left[node]), yes))
    return leaves


def _conjunction(tree: TreePolicy, bounds: Bounds, features: list[str]) -> str:
    tests = [_test(tree, j, sign, k, features) for (j, sign, _), k in bounds.items()]
    return f"({' & '.join(tests)})" if tests else "true"


def _test(tree: TreePolicy, j: int, sign: str, k: float, features: list[str]) -> str:
    """A comparison of a variable with a number; a Boolean variable is used as it is or negated."""
    if tree.feature_names[j] in tree.truths:
        false, true = (COMPARED[sign](x, k) for x in (0.0, 1.0))
        return {(False, True): features[j], (True, False): f"!{features[j]}"}.get((false, true), str(true).lower())
    whole = tree.integer[j] and sign in ("<=", ">")
    return f"{features[j]}{sign}{_number(float(math.floor(k)) if whole else k)}"


def _number(k: float) -> str:
    """The number, exact to the last bit, and without a fraction if it is whole."""
    return str(int(k)) if abs(k) < 2**31 and k == int(k) else repr(k)
