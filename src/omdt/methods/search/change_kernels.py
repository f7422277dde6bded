"""Compiled loops of `changes`: the states of all nodes, and the simple subtrees for each of them.

A tree with N nodes is an array [4, N]: question, action, left child and right child of every node, each before those
below it. `spans` [2, N] says where the states of a node begin and end in an array of all states. A number names a
subtree as in `changes.Changes`. Arrays are few and plain because every one of them costs time to compile.
"""

import numpy as np
from numba import njit

from omdt.methods.search.ranks import goes_right, highest, left_sums, spread_out

NO_QUESTION = -1
"""Stands for the question of a subtree that begins with none."""


@njit(cache=True)
def sort_states(columns, shape, states, spans, aside, actions):  # type: ignore[no-untyped-def]
    """Order all states by the nodes of a tree, and find their actions.

    Args:
        columns: observations and questions.
        shape: [4, N] the tree.
        states: [S] all states, reordered.
        spans: [2, N] filled in; that of the root is all states.
        aside: [S] memory.
        actions: [S] filled in.
    """
    for node in range(shape.shape[1]):
        begin, end = spans[0, node], spans[1, node]
        if shape[0, node] == NO_QUESTION:
            for i in range(begin, end):
                actions[states[i]] = shape[1, node]
            continue
        middle, count = begin, 0
        for i in range(begin, end):
            s = states[i]
            if goes_right(columns, shape[0, node], s):
                aside[count] = s
                count += 1
            else:
                states[middle] = s
                middle += 1
        for i in range(count):
            states[middle + i] = aside[i]
        left, right = shape[2, node], shape[3, node]
        spans[0, left], spans[1, left], spans[0, right], spans[1, right] = begin, middle, middle, end


@njit(cache=True)
def _action_at(columns, shape, node, s):  # type: ignore[no-untyped-def]
    """The action that the subtree below a node takes in a state."""
    while shape[0, node] != NO_QUESTION:
        node = shape[3, node] if goes_right(columns, shape[0, node], s) else shape[2, node]
    return shape[1, node]


@njit(cache=True)
def change(columns, shape, states, policy, question, left, right):  # type: ignore[no-untyped-def]
    """Change a policy [S] in some states to that of the subtree that a row of `Changes` describes."""
    for s in states:
        number = right if question != NO_QUESTION and goes_right(columns, question, s) else left
        policy[s] = number if number >= 0 else _action_at(columns, shape, -1 - number, s)


@njit(cache=True)
def simple(columns, shape, states, spans, room, current, gains, marks, limits, rows, gain):  # type: ignore[no-untyped-def]
    """Find simple subtrees for some nodes; returns how many there are.

    In `rows`, actions are 0 to A − 1; A stands for the left child of the node and A + 1 for its right child.

    Args:
        columns: observations and questions.
        shape: [4, N] the tree.
        states: [S] all states in the order of the nodes.
        spans: [2, N] those of every node.
        room: [N] whether a stump fits there.
        current: [S] the actions of the tree.
        gains: [S, A] the gains around it.
        marks: `changes.Marks`.
        limits: subtrees of each kind, the resolution of thresholds, the first node, and the one after the last.
        rows: [6, m] node, question, left, right, changed states and key of every subtree, filled in.
        gain: [m] the gain of every subtree, filled in.
    """
    A, K, n = gains.shape[1], len(columns.feature), 0
    value, scores, sides = np.empty(K), np.empty(K), np.empty((2, K), dtype=np.int64)
    chosen = np.empty(min(limits[0], K), dtype=np.int64)
    for node in range(limits[2], limits[3]):
        inside, begin = states[spans[0, node] : spans[1, node]], n
        if len(inside) == 0:
            continue
        split, present = shape[0, node] != NO_QUESTION, 0.0
        # What the state would do as a leaf with every action, and below both present subtrees.
        plays = np.empty((len(inside), A + 2), dtype=np.int64)
        here, total = np.zeros((len(inside), A + 2)), np.zeros(A + 2)
        for i in range(len(inside)):
            s = inside[i]
            present += gains[s, current[s]]
            for a in range(A + 2 if split else A):
                plays[i, a] = a if a < A else _action_at(columns, shape, shape[2 + a - A, node], s)
                here[i, a] = gains[s, plays[i, a]]
                total[a] += here[i, a]
        sums = left_sums(columns, inside, here)
        n = _alone(total, A, split, 1 + limits[0] // 2, rows, gain, n)
        # Both kinds share one call of `spread_out`, since every call takes time to compile.
        for stumps in range(2):
            if not (room[node] if stumps else split):
                continue
            for k in range(K):
                left, right = A, A + 1
                if stumps:
                    left = right = 0
                    for a in range(1, A):
                        if sums[k, a] > sums[k, left]:
                            left = a
                        if total[a] - sums[k, a] > total[right] - sums[k, right]:
                            right = a
                sides[0, k], sides[1, k] = left, right
                value[k] = sums[k, left] + total[right] - sums[k, right]
                scores[k] = value[k] if stumps else max(value[k], total[A] + total[A + 1] - value[k])
            for i in range(spread_out(columns, inside, scores, limits[1], chosen)):
                k = chosen[i]
                n = _add(rows, gain, n, k, sides[0, k], sides[1, k], value[k])
                if not stumps:
                    n = _add(rows, gain, n, k, A + 1, A, total[A] + total[A + 1] - value[k])
        for m in range(begin, n):
            question, count, mixed = rows[1, m], 0, 0
            for i in range(len(inside)):
                s = inside[i]
                side = 3 if question != NO_QUESTION and goes_right(columns, question, s) else 2
                before, after = current[s], plays[i, rows[side, m]]
                if after != before:
                    count += 1
                    mixed ^= (marks.states[s] * marks.actions[before]) ^ (marks.states[s] * marks.actions[after])
            rows[0, m], rows[4, m], rows[5, m] = node, count, mixed
            gain[m] -= present
    return n


@njit(inline="always")
def _alone(total, A, split, most, rows, gain, n):  # type: ignore[no-untyped-def]
    """Replace a node by a single leaf, for the leaves of highest gain, or by one of its two children."""
    scores = total.copy()
    leaves = min(most, A)
    for i in range(leaves + 2 if split else leaves):
        a = highest(scores[:A]) if i < leaves else A + i - leaves
        n = _add(rows, gain, n, NO_QUESTION, a, a, total[a])
        scores[a] = -np.inf
    return n


@njit(inline="always")
def _add(rows, gain, n, question, left, right, value):  # type: ignore[no-untyped-def]
    """Append a row, and return the new number of rows."""
    rows[1, n], rows[2, n], rows[3, n], gain[n] = question, left, right, value
    return n + 1
