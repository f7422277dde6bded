"""Random trees for reports, and a page in which every name tries to break it."""

from dataclasses import replace

import numpy as np

from omdt import MDP, Solution
from omdt.tree import TreePolicy
from random_mdps import random_model
from solutions import solution_of
from strategies import random_tree

HOSTILE = [
    *("</script><script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">", "<!--"),
    *('"', "'", "\\", "`${document.title='owned'}`", "{{ 7*7 }}", "{% raw %}", "&lt;b&gt;", "]]>", "</svg></style>"),
    *("two\nlines", "\x1b[31m", "\x7f", "\u2028", "\u202e", "javascript:alert(1)", "{}", "%s", "__proto__"),
    *("http://example.com/a.png", "url(http://example.com)", "é 行く 😀", "w" * 300),
]


def tree_for(mdp: MDP, seed: int, max_depth: int = 3) -> TreePolicy:
    """A random tree that reads the features of an MDP."""
    tree = random_tree(np.random.default_rng(seed), mdp.n_features, mdp.n_actions, max_depth)
    whole = tuple(bool(mark) for mark in (mdp.features == np.floor(mdp.features)).all(axis=0))
    return replace(tree, feature_names=mdp.feature_names, action_names=mdp.action_names, integer=whole)


def hostile() -> tuple[Solution, MDP]:
    """A solution in which every name wants to get out of its place."""
    size = {"states": 30, "actions": len(HOSTILE), "features": len(HOSTILE)}
    model = random_model(np.random.default_rng(5), **size, dynamics="ergodic", starts="uniform", discount=0.99)
    mdp = model.mdp(feature_names=tuple(HOSTILE), action_names=tuple(reversed(HOSTILE)), name=HOSTILE[0])
    tree = tree_for(mdp, seed=2, max_depth=6)
    assert tree.n_leaves > 10
    return solution_of(mdp, tree, method=HOSTILE[1] + "\0 half \ud800"), mdp
