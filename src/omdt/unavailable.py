"""Unavailable actions of a tree: in which states its leaves name one, what is played there, and what users are told.

A state is visited if the policy of the tree can reach it from an initial state. Where a visited state does not offer
the action of its leaf, another one is played (see `omdt.mdp`); the table of these observations goes with the tree
wherever it is exported to. The rule `AvailableOnly` (`omdt.rules`) allows no such leaves at all.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from omdt.exceptions import Exceptions
from omdt.mdp import MDP, Floats, Ints
from omdt.planning import visited
from omdt.tree import TreePolicy, printable

MOST_EXCEPTIONS = 10_000
"""Maximum number of rows in a tree's table of exceptions; more would make exported code of many megabytes."""

MOST_SENTENCES = 10
"""Maximum number of pairs of a missing and a played action that are told in words, one sentence per pair."""


@dataclass(frozen=True)
class Replaced:
    """In how many visited states a tree names one action and another is played."""

    action: str
    played: str
    states: int


def replacements(mdp: MDP, policy: Ints) -> tuple[Replaced, ...]:
    """What is played instead of what in the states that a policy [S] visits, the most frequent first."""
    if mdp.all_available:
        return ()
    states = np.flatnonzero(visited(mdp, policy))
    named, played = policy[states], mdp.played[states, policy[states]]
    pairs = Counter(zip(named[named != played].tolist(), played[named != played].tolist(), strict=True))
    names = mdp.action_names
    return tuple(Replaced(names[a], names[b], n) for (a, b), n in sorted(pairs.items(), key=lambda row: -row[1]))


def with_available_names(mdp: MDP, tree: TreePolicy, observations: Floats) -> TreePolicy:
    """The tree whose leaves name what is played in them, wherever that is one action in all visited states of a leaf.

    The tree does the same in every visited state and so returns exactly the same; leaves in which different actions
    are played, or which are never visited, keep their names. The table of exceptions is made afterwards, by
    `with_exceptions`.

    Args:
        mdp: the problem.
        tree: the policy.
        observations: [S, F] what the tree reads in each state.
    """
    if mdp.all_available:
        return tree
    leaf = tree.leaves(observations)
    policy = tree.action[leaf]
    states = _visited_where_it_matters(mdp, policy)
    played = mdp.played[states, policy[states]]
    least, most = np.full(tree.n_nodes, mdp.n_actions), np.full(tree.n_nodes, -1)
    np.minimum.at(least, leaf[states], played)
    np.maximum.at(most, leaf[states], played)
    return replace(tree, action=np.where(least == most, least, tree.action))


def with_exceptions(mdp: MDP, tree: TreePolicy, observations: Floats) -> TreePolicy:
    """The tree with the table of what is played where it visits states that do not offer its action.

    Args:
        mdp: the problem.
        tree: the policy.
        observations: [S, F] what the tree reads in each state.
    """
    if mdp.all_available:
        return replace(tree, exceptions=Exceptions(fallback=mdp.fallback))
    policy = tree.actions(observations)
    states = _visited_where_it_matters(mdp, policy)
    named, played = policy[states], mdp.played[states, policy[states]]
    seen, group = np.unique(observations[states] + 0.0, axis=0, return_inverse=True)
    group = group.ravel()
    least, most = np.full(len(seen), mdp.n_actions), np.full(len(seen), -1)
    np.minimum.at(least, group, played)
    np.maximum.at(most, group, played)
    missing = np.zeros(len(seen), dtype=np.bool_)
    missing[group[named != played]] = True
    listed = np.flatnonzero(missing & (least == most))
    kept = listed[:MOST_EXCEPTIONS]
    alike = int((missing & (least < most))[group].sum())
    table = Exceptions(seen[kept], least[kept], mdp.fallback, alike, len(listed) - len(kept), _forced(mdp))
    return replace(tree, exceptions=table)


def _forced(mdp: MDP) -> tuple[str, ...]:
    """The actions that are the only available one wherever they are available, apart from where an episode has ended.

    In a game for two, the move of the opponent is such an action.
    """
    ended = mdp.terminal & mdp.available.all(axis=1)
    chosen = mdp.available[~ended & (mdp.available.sum(axis=1) > 1)].any(axis=0)
    offered = mdp.available[~ended].any(axis=0)
    return tuple(mdp.action_names[a] for a in np.flatnonzero(offered & ~chosen))


def sentences(replaced: Sequence[Replaced], exceptions: Exceptions) -> list[str]:
    """What people must know about the actions that are played instead of those of the leaves."""
    told = [
        f"in {_states(entry.states)} {printable(entry.action)} is not available; {printable(entry.played)} is played"
        for entry in replaced[:MOST_SENTENCES]
    ]
    rest = sum(entry.states for entry in replaced[MOST_SENTENCES:])
    if rest:
        told.append(f"in {rest:,} more visited states, another action is played than the leaf names")
    if exceptions.look_alikes:
        told.append(
            f"{exceptions.look_alikes:,} visited states look alike but offer different actions; "
            "whoever plays the tree there must know which are available"
        )
    if exceptions.left_out:
        told.append(f"exports list {len(exceptions):,} exceptional observations and leave out {exceptions.left_out:,}")
    return told


def _visited_where_it_matters(mdp: MDP, policy: Ints) -> Ints:
    """The states that a policy [S] visits, without those in which an episode has ended and every action is available.

    Nothing depends on what is played there.
    """
    return np.flatnonzero(visited(mdp, policy) & ~(mdp.terminal & mdp.available.all(axis=1)))


def _states(count: int) -> str:
    return "1 visited state" if count == 1 else f"{count:,} visited states"
