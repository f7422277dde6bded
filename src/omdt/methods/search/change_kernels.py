"""Compiled loops of `changes`: the states of all nodes, and the simple subtrees for each of them.

Trees are `changes.Shape`, the states of their nodes `changes.Members`, observations and questions `ranks.Columns`. A
number names a subtree as in `changes.Changes`.
"""

import numpy as np
from numba import njit

from omdt.methods.search.ranks import goes_right, left_sums, spread_out

NO_QUESTION = -1
"""Stands for the question of a subtree that begins with none."""


@njit(cache=True)
def members(columns, shape):  # type: ignore[no-untyped-def]
    """The states of every node, as ranges of one array, and the actions of all states."""
    N, S = len(shape.question), columns.codes.shape[1]
    states, begin, end = np.arange(S), np.zeros(N, dtype=np.int64), np.zeros(N, dtype=np.int64)
    aside, actions = np.empty(S, dtype=np.int64), np.empty(S, dtype=np.int64)
    end[0] = S
    for node in range(N):
        if shape.question[node] == NO_QUESTION:
            actions[states[begin[node] : end[node]]] = shape.action[node]
            continue
        middle, count = begin[node], 0
        for i in range(begin[node], end[node]):
            if goes_right(columns, shape.question[node], states[i]):
                aside[count] = states[i]
                count += 1
            else:
                states[middle] = states[i]
                middle += 1
        states[middle : end[node]] = aside[:count]
        left, right = shape.left[node], shape.right[node]
        begin[left], end[left] = begin[node], middle
        begin[right], end[right] = middle, end[node]
    return states, begin, end, actions


@njit(cache=True)
def _action(columns, shape, number, s):  # type: ignore[no-untyped-def]
    """The action in a state of the subtree that a number stands for."""
    if number >= 0:
        return number
    node = -1 - number
    while shape.question[node] != NO_QUESTION:
        node = shape.right[node] if goes_right(columns, shape.question[node], s) else shape.left[node]
    return shape.action[node]


@njit(cache=True)
def changed(columns, shape, where, current, node, question, left, right):  # type: ignore[no-untyped-def]
    """[S] the present policy with another subtree at one node."""
    policy = current.copy()
    for i in range(where.begin[node], where.end[node]):
        s = where.states[i]
        on_right = question != NO_QUESTION and goes_right(columns, question, s)
        policy[s] = _action(columns, shape, right if on_right else left, s)
    return policy


@njit(cache=True)
def _mark(s, a):  # type: ignore[no-untyped-def]
    """A number that looks random for an action in a state (splitmix64)."""
    mixed = np.uint64(s) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(a + 1) * np.uint64(0xD1B54A32D192ED03)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@njit(cache=True)
def difference(before, after):  # type: ignore[no-untyped-def]
    """In how many states two policies differ, and a key for the second one."""
    changed, key = 0, np.uint64(0)
    for s in range(len(before)):
        if before[s] != after[s]:
            changed += 1
            key ^= _mark(s, before[s]) ^ _mark(s, after[s])
    return changed, key


@njit(cache=True)
def simple(columns, shape, where, room, current, gains, most, resolution, first, stop):  # type: ignore[no-untyped-def]
    """Simple subtrees for the nodes from `first` to `stop`, as columns of `Changes`."""
    rows = (stop - first) * (4 * most + 3)
    numbers, gain = np.empty((5, rows), dtype=np.int64), np.empty(rows)
    keys, n = np.empty(rows, dtype=np.uint64), 0
    for node in range(first, stop):
        states = where.states[where.begin[node] : where.end[node]]
        if len(states) == 0:
            continue
        begin = n
        n = _leaves(states, gains, node, 1 + most // 2, numbers, gain, n)
        if shape.question[node] != NO_QUESTION:
            n = _rearranged(columns, shape, states, gains, node, most, resolution, numbers, gain, n)
        if room[node]:
            n = _stumps(columns, states, gains, node, most, resolution, numbers, gain, n)
        present = 0.0
        for s in states:
            present += gains[s, current[s]]
        for i in range(begin, n):
            gain[i] -= present
            numbers[4, i], keys[i] = _effect(columns, shape, states, current, numbers[1:4, i])
    return numbers[0, :n], numbers[1, :n], numbers[2, :n], numbers[3, :n], gain[:n], numbers[4, :n], keys[:n]


@njit(cache=True)
def _effect(columns, shape, states, current, row):  # type: ignore[no-untyped-def]
    """In how many states a subtree changes the action, and the key of the policy with it."""
    changed, key = 0, np.uint64(0)
    for s in states:
        on_right = row[0] != NO_QUESTION and goes_right(columns, row[0], s)
        action = _action(columns, shape, row[2] if on_right else row[1], s)
        if action != current[s]:
            changed += 1
            key ^= _mark(s, current[s]) ^ _mark(s, action)
    return changed, key


@njit(cache=True)
def _add(numbers, gain, n, node, question, left, right, value):  # type: ignore[no-untyped-def]
    """Add a row; returns how many there are now."""
    numbers[0, n], numbers[1, n], numbers[2, n], numbers[3, n] = node, question, left, right
    gain[n] = value
    return n + 1


@njit(cache=True)
def _leaves(states, gains, node, most, numbers, gain, n):  # type: ignore[no-untyped-def]
    """The leaves of highest gain."""
    total = np.zeros(gains.shape[1])
    for s in states:
        for a in range(len(total)):
            total[a] += gains[s, a]
    for _ in range(min(most, len(total))):
        a = int(total.argmax())
        n = _add(numbers, gain, n, node, NO_QUESTION, a, a, total[a])
        total[a] = -np.inf
    return n


@njit(cache=True)
def _rearranged(columns, shape, states, gains, node, most, resolution, numbers, gain, n):  # type: ignore[no-untyped-def]
    """Either subtree alone, and both below the questions of highest gain, also with sides exchanged."""
    left, right = -1 - shape.left[node], -1 - shape.right[node]
    on_left = on_right = 0.0
    change = np.empty((len(states), 1))
    for i in range(len(states)):
        s = states[i]
        ours = gains[s, _action(columns, shape, left, s)]
        theirs = gains[s, _action(columns, shape, right, s)]
        on_left, on_right, change[i, 0] = on_left + ours, on_right + theirs, theirs - ours
    n = _add(numbers, gain, n, node, NO_QUESTION, left, left, on_left)
    n = _add(numbers, gain, n, node, NO_QUESTION, right, right, on_right)
    # The right side of a question takes the actions of the right subtree there, which gains the change.
    moved = change.sum() - left_sums(columns, states, change)[:, 0]
    straight, crossed = on_left + moved, on_right - moved
    for k in spread_out(columns, states, np.maximum(straight, crossed), most, resolution):
        n = _add(numbers, gain, n, node, k, left, right, straight[k])
        n = _add(numbers, gain, n, node, k, right, left, crossed[k])
    return n


@njit(cache=True)
def _stumps(columns, states, gains, node, most, resolution, numbers, gain, n):  # type: ignore[no-untyped-def]
    """The stumps of highest gain, one per question."""
    here = gains[states]
    total, sums = here.sum(axis=0), left_sums(columns, states, here)
    K, A = sums.shape
    scores, actions = np.empty(K), np.zeros((2, K), dtype=np.int64)
    for k in range(K):
        for a in range(A):
            if sums[k, a] > sums[k, actions[0, k]]:
                actions[0, k] = a
            if total[a] - sums[k, a] > total[actions[1, k]] - sums[k, actions[1, k]]:
                actions[1, k] = a
        scores[k] = sums[k, actions[0, k]] + total[actions[1, k]] - sums[k, actions[1, k]]
    for k in spread_out(columns, states, scores, most, resolution):
        n = _add(numbers, gain, n, node, k, actions[0, k], actions[1, k], scores[k])
    return n
