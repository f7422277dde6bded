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
def _action(columns, shape, question, left, right, s):  # type: ignore[no-untyped-def]
    """The action in a state of the subtree that a row of `Changes` describes."""
    number = right if question != NO_QUESTION and goes_right(columns, question, s) else left
    if number >= 0:
        return number
    node = -1 - number
    while shape[0, node] != NO_QUESTION:
        node = shape[3, node] if goes_right(columns, shape[0, node], s) else shape[2, node]
    return shape[1, node]


@njit(cache=True)
def change(columns, shape, states, policy, question, left, right):  # type: ignore[no-untyped-def]
    """Change a policy [S] in some states to that of another subtree."""
    for s in states:
        policy[s] = _action(columns, shape, question, left, right, s)


@njit(cache=True)
def simple(columns, shape, states, spans, room, current, gains, limits, numbers, gain):  # type: ignore[no-untyped-def]
    """Find simple subtrees for some nodes; returns how many there are.

    Args:
        columns: observations and questions.
        shape: [4, N] the tree.
        states: [S] all states in the order of the nodes.
        spans: [2, N] those of every node.
        room: [N] whether a stump fits there.
        current: [S] the actions of the tree.
        gains: [S, A] the gains around it.
        limits: subtrees of each kind, the resolution of thresholds, the first node, and the one after the last.
        numbers: [4, m] node, question, left and right of every row, filled in.
        gain: [m] the gain of every row, filled in.
    """
    n = 0
    for node in range(limits[2], limits[3]):
        inside = states[spans[0, node] : spans[1, node]]
        if len(inside) == 0:
            continue
        begin, present = n, 0.0
        for s in inside:
            present += gains[s, current[s]]
        n = _at(columns, shape, node, inside, room[node], gains, limits, numbers, gain, n)
        for i in range(begin, n):
            numbers[0, i] = node
            gain[i] -= present
    return n


@njit(inline="always")
def _at(columns, shape, node, states, room, gains, limits, numbers, gain, n):  # type: ignore[no-untyped-def]
    """Simple subtrees for one node with some states."""
    A, split = gains.shape[1], shape[0, node] != NO_QUESTION
    left, right = -1 - shape[2, node], -1 - shape[3, node]
    # The last two columns are the gains of the present subtree on the left, and of that on the right.
    here, total = np.zeros((len(states), A + 2)), np.zeros(A + 2)
    for i in range(len(states)):
        for a in range(A):
            here[i, a] = gains[states[i], a]
        if split:
            here[i, A] = here[i, _action(columns, shape, NO_QUESTION, left, left, states[i])]
            here[i, A + 1] = here[i, _action(columns, shape, NO_QUESTION, right, right, states[i])]
        for a in range(A + 2):
            total[a] += here[i, a]
    sums = left_sums(columns, states, here)
    n = _leaves(total, 1 + limits[0] // 2, numbers, gain, n)
    if split:
        n = _add(numbers, gain, n, NO_QUESTION, left, left, total[A])
        n = _add(numbers, gain, n, NO_QUESTION, right, right, total[A + 1])
    value, scores = np.empty(len(sums)), np.empty(len(sums))
    sides = np.zeros((2, len(sums)), dtype=np.int64)
    # Both kinds share one call of `spread_out`, since every call takes time to compile.
    for stumps in range(2):
        if not (room if stumps else split):
            continue
        if stumps:
            _stumps(sums, total, sides, value, scores)
        else:
            _below(sums, total, value, scores)
        for k in spread_out(columns, states, scores, limits[0], limits[1]):
            if stumps:
                n = _add(numbers, gain, n, k, sides[0, k], sides[1, k], value[k])
            else:
                n = _add(numbers, gain, n, k, left, right, value[k])
                n = _add(numbers, gain, n, k, right, left, total[A] + total[A + 1] - value[k])
    return n


@njit(inline="always")
def _add(numbers, gain, n, question, left, right, value):  # type: ignore[no-untyped-def]
    """Write a row; returns how many there are now."""
    numbers[1, n], numbers[2, n], numbers[3, n], gain[n] = question, left, right, value
    return n + 1


@njit(inline="always")
def _leaves(total, most, numbers, gain, n):  # type: ignore[no-untyped-def]
    """The leaves of highest gain."""
    scores = total[: len(total) - 2].copy()
    for _ in range(min(most, len(scores))):
        a = highest(scores)
        n = _add(numbers, gain, n, NO_QUESTION, a, a, scores[a])
        scores[a] = -np.inf
    return n


@njit(inline="always")
def _below(sums, total, value, scores):  # type: ignore[no-untyped-def]
    """The gains of both present subtrees below every question [K], and the higher of these and of exchanged sides."""
    on_left, on_right = len(total) - 2, len(total) - 1
    for k in range(len(sums)):
        value[k] = sums[k, on_left] + total[on_right] - sums[k, on_right]
        scores[k] = max(value[k], total[on_left] + total[on_right] - value[k])


@njit(inline="always")
def _stumps(sums, total, actions, value, scores):  # type: ignore[no-untyped-def]
    """The actions [2, K] and the gains [K] of the best stump of every question."""
    for k in range(len(sums)):
        left = right = 0
        for a in range(1, len(total) - 2):
            if sums[k, a] > sums[k, left]:
                left = a
            if total[a] - sums[k, a] > total[right] - sums[k, right]:
                right = a
        actions[0, k], actions[1, k] = left, right
        value[k] = scores[k] = sums[k, left] + total[right] - sums[k, right]


@njit(cache=True)
def describe(columns, shape, states, spans, current, marks, numbers, changed, key):  # type: ignore[no-untyped-def]
    """In how many states each of some subtrees changes the action, and the key of the policy with it.

    Args:
        columns: observations and questions.
        shape: [4, N] the tree.
        states: [S] all states in the order of the nodes.
        spans: [2, N] those of every node.
        current: [S] the actions of the tree.
        marks: `changes.Marks`.
        numbers: [4, m] node, question, left and right of every subtree.
        changed: [m] filled in.
        key: [m] filled in.
    """
    for i in range(len(key)):
        node, count, mixed = numbers[0, i], 0, 0
        for j in range(spans[0, node], spans[1, node]):
            s = states[j]
            action = _action(columns, shape, numbers[1, i], numbers[2, i], numbers[3, i], s)
            if action != current[s]:
                count += 1
                mixed ^= (marks.states[s] * marks.actions[current[s]]) ^ (marks.states[s] * marks.actions[action])
        changed[i], key[i] = count, mixed
