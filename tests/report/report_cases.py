"""Solutions around given trees, and a page that has all that names can do to it."""

from dataclasses import replace

import numpy as np

from omdt import MDP, planning
from omdt.solution import Solution, Stop
from omdt.tree import TreePolicy
from strategies import random_tree

HOSTILE = [
    *("</script><script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">", "<!--"),
    *('"', "'", "\\", "`${document.title='owned'}`", "{{ 7*7 }}", "{% raw %}", "&lt;b&gt;", "]]>", "</svg></style>"),
    *("two\nlines", "\x1b[31m", "\x7f", "\u2028", "\u202e", "javascript:alert(1)", "{}", "%s", "__proto__"),
    *("http://example.com/a.png", "url(http://example.com)", "é 行く 😀", "w" * 300),
]


def solution_of(mdp: MDP, tree: TreePolicy, **changes: object) -> Solution:
    """A solution with true figures and no proof."""
    optimal = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    random = planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp))).value
    value = planning.evaluate(mdp, tree)
    made = Solution(
        problem=mdp.name,
        method="search",
        max_depth=tree.depth,
        max_leaf_nodes=None,
        discount=mdp.discount,
        tree=tree,
        value=value,
        bound=max(optimal, value),
        requested_gap=1e-4,
        stop=Stop.TIME,
        optimal_return=optimal,
        random_return=random,
        seconds=2.0,
        seed=0,
        trace=((0.01, value - 1, max(optimal, value) + 1), (0.5, value, max(optimal, value))),
    )
    return replace(made, **changes)


def tree_for(mdp: MDP, seed: int, max_depth: int = 3) -> TreePolicy:
    """A random tree that reads the features of an MDP."""
    tree = random_tree(np.random.default_rng(seed), mdp.n_features, mdp.n_actions, max_depth)
    whole = tuple(bool(mark) for mark in (mdp.features == np.floor(mdp.features)).all(axis=0))
    return replace(tree, feature_names=mdp.feature_names, action_names=mdp.action_names, integer=whole)


def hostile() -> tuple[Solution, MDP]:
    """A solution in which every name wants to get out of its place."""
    rng = np.random.default_rng(5)
    n = len(HOSTILE)
    mdp = MDP.from_dense(
        rng.dirichlet(np.ones(30), size=(30, n)),
        rng.normal(size=(30, n)),
        np.full(30, 1 / 30),
        rng.integers(-2, 5, (30, n)) / 2,
        feature_names=tuple(HOSTILE),
        action_names=tuple(reversed(HOSTILE)),
        name=HOSTILE[0],
    )
    tree = tree_for(mdp, seed=2, max_depth=6)
    assert tree.n_leaves > 10
    return solution_of(mdp, tree, method=HOSTILE[1] + "\0 half \ud800"), mdp
