"""The compiled loops of `alternatives_consistency`.

They work on `order`, a list of cells in which every region is a range; dividing a region permutes its range. At the
last question of a path, both sides of all questions about a column follow from one pass over the cells: the common
actions of all cells up to each value, and of all cells from each value on.
"""

import numpy as np
from numba import njit

BEGIN, END, MOST, BEST, QUESTION, MIDDLE, LEFT, RIGHT = range(8)
"""What a frame says of a region: its range, the maximum number of leaves, the number of leaves of the smallest tree so
far, the question that is tried, where its right side begins, and the least number of leaves on either side. Frames, one
per level, take the place of recursive calls: compiled recursive functions crash when they are loaded from a file."""

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Every bit of a word."""


@njit(cache=True, nogil=True)
def _common(domains, order, begin, end, found):  # type: ignore[no-untyped-def]
    """Find [W] the actions that all cells of a range have in common; whether there are any."""
    for w in range(len(found)):
        found[w] = ALL
    for i in range(begin, end):
        left = np.uint64(0)
        for w in range(len(found)):
            found[w] &= domains[order[i], w]
            left |= found[w]
        if left == 0:
            return False
    return True


@njit(cache=True, nogil=True)
def _divided(columns, order, begin, end, k, buffer):  # type: ignore[no-untyped-def]
    """Move the cells of a range that go left at a question to its front; where those that go right begin."""
    codes, rank, equality = columns.codes[columns.feature[k]], columns.rank[k], columns.equality[k]
    middle, others = begin, 0
    for i in range(begin, end):
        cell = order[i]
        if (codes[cell] != rank) if equality else (codes[cell] > rank):
            buffer[others] = cell
            others += 1
        else:
            order[middle] = cell
            middle += 1
    for i in range(others):
        order[middle + i] = buffer[i]
    return middle


@njit(cache=True, nogil=True)
def _sum_up(columns, domains, order, begin, end, scratch):  # type: ignore[no-untyped-def]
    """Fill the common actions per value, up to each value and beyond it, for the cells of a range."""
    here, upto, beyond = scratch.here, scratch.upto, scratch.beyond
    codes, offsets = columns.codes, columns.offsets
    words = here.shape[1]
    for value in range(len(here)):
        for w in range(words):
            here[value, w] = ALL
    for j in range(len(codes)):
        for i in range(begin, end):
            value = offsets[j] + codes[j, order[i]]
            for w in range(words):
                here[value, w] &= domains[order[i], w]
        for w in range(words):
            total = ALL
            for value in range(offsets[j], offsets[j + 1]):
                total &= here[value, w]
                upto[value, w] = total
            total = ALL
            for value in range(offsets[j + 1] - 1, offsets[j] - 1, -1):
                beyond[value, w] = total
                total &= here[value, w]


@njit(cache=True, nogil=True)
def _both_sides(columns, scratch, k, found):  # type: ignore[no-untyped-def]
    """Find [2, W] the common actions of both sides of a question after `_sum_up`; whether both have any."""
    here, upto, beyond = scratch.here, scratch.upto, scratch.beyond
    j = columns.feature[k]
    value = columns.offsets[j] + columns.rank[k]
    left, right = np.uint64(0), np.uint64(0)
    for w in range(here.shape[1]):
        if columns.equality[k]:
            before = upto[value - 1, w] if value > columns.offsets[j] else ALL
            found[0, w], found[1, w] = here[value, w], before & beyond[value, w]
        else:
            found[0, w], found[1, w] = upto[value, w], beyond[value, w]
        left |= found[0, w]
        right |= found[1, w]
    return left != 0 and right != 0


@njit(cache=True, nogil=True)
def _without_question(columns, domains, order, region, depth, most, scratch):  # type: ignore[no-untyped-def]
    """The least number of leaves if no two questions on a path have to be tried to know it, otherwise 0."""
    begin, end = region
    if most < 1:
        return most + 1
    if _common(domains, order, begin, end, scratch.common[depth, 0]):
        return 1
    if depth == 0 or most < 2:
        return most + 1
    if depth > 1:
        return 0
    _sum_up(columns, domains, order, begin, end, scratch)
    for k in range(len(columns.feature)):
        if _both_sides(columns, scratch, k, scratch.common[depth]):
            return 2
    return most + 1


@njit(cache=True, nogil=True)
def _next_question(columns, order, frame, last, buffer):  # type: ignore[no-untyped-def]
    """Go on to the next question that divides the region of a frame; whether there is one."""
    begin, end = frame[BEGIN], frame[END]
    for k in range(frame[QUESTION] + 1, last):
        middle = _divided(columns, order, begin, end, k, buffer)
        if begin < middle < end:
            frame[QUESTION], frame[MIDDLE] = k, middle
            return True
    return False


@njit(cache=True, nogil=True)
def _enter(frame, begin, end, most):  # type: ignore[no-untyped-def]
    """Begin with a region."""
    frame[BEGIN], frame[END], frame[MOST], frame[BEST] = begin, end, most, most + 1
    frame[QUESTION], frame[MIDDLE], frame[LEFT], frame[RIGHT] = -1, begin, 0, 0


@njit(cache=True, nogil=True)
def least_leaves(columns, domains, order, begin, end, depth, most, scratch):  # type: ignore[no-untyped-def]
    """The least number of leaves of a consistent tree for a range of cells; more than `most` if that is too few."""
    frames, last = scratch.frames, len(columns.feature)
    level, entering, value = 0, True, 0
    _enter(frames[0], begin, end, most)
    while True:
        frame = frames[level]
        if entering:
            region = (frame[BEGIN], frame[END])
            value = _without_question(columns, domains, order, region, depth - level, frame[MOST], scratch)
        elif frame[LEFT] == 0 and value < frame[MOST]:
            # The left side is done.
            frame[LEFT] = value
            level, entering = level + 1, True
            _enter(frames[level], frame[MIDDLE], frame[END], frame[MOST] - value)
            continue
        else:
            if frame[LEFT] > 0 and frame[LEFT] + value <= frame[MOST]:
                # From now on, only a tree with fewer leaves is of interest.
                frame[BEST] = frame[LEFT] + value
                frame[MOST] = frame[BEST] - 1
            frame[LEFT], value = 0, 0
        if value == 0:
            if frame[MOST] >= 2 and _next_question(columns, order, frame, last, scratch.buffer):
                level, entering = level + 1, True
                _enter(frames[level], frame[BEGIN], frame[MIDDLE], frame[MOST] - 1)
                continue
            value = frame[BEST]
        if level == 0:
            return value
        level, entering = level - 1, False


@njit(cache=True, nogil=True)
def _is_supported(domains, order, begin, end, found):  # type: ignore[no-untyped-def]
    """Whether all actions in the domains of a range of cells are known to be given by some tree."""
    for i in range(begin, end):
        for w in range(domains.shape[1]):
            if found[order[i], w] != domains[order[i], w]:
                return False
    return True


@njit(cache=True, nogil=True)
def _give(order, begin, end, actions, found):  # type: ignore[no-untyped-def]
    """Note that some tree gives actions [W] to a range of cells."""
    for i in range(begin, end):
        for w in range(len(actions)):
            found[order[i], w] |= actions[w]


@njit(cache=True, nogil=True)
def _support_by_one(columns, domains, order, begin, end, found, scratch):  # type: ignore[no-untyped-def]
    """Note the actions that consistent trees with one question give to a range of cells."""
    _sum_up(columns, domains, order, begin, end, scratch)
    below, above, sides = scratch.below, scratch.above, scratch.common[1]
    for value in range(len(below)):
        for w in range(below.shape[1]):
            below[value, w], above[value, w] = np.uint64(0), np.uint64(0)
    for k in range(len(columns.feature)):
        if not _both_sides(columns, scratch, k, sides):
            continue
        j = columns.feature[k]
        value = columns.offsets[j] + columns.rank[k]
        if columns.equality[k]:
            middle = _divided(columns, order, begin, end, k, scratch.buffer)
            _give(order, begin, middle, sides[0], found)
            _give(order, middle, end, sides[1], found)
        else:
            for w in range(below.shape[1]):
                below[value, w] |= sides[0, w]
                above[value, w] |= sides[1, w]
    _spread(columns, order, begin, end, found, below, above)


@njit(cache=True, nogil=True)
def _spread(columns, order, begin, end, found, below, above):  # type: ignore[no-untyped-def]
    """Give what thresholds give to cells up to each value, and to those beyond it, to a range of cells."""
    codes, offsets = columns.codes, columns.offsets
    for j in range(len(codes)):
        for w in range(found.shape[1]):
            for value in range(offsets[j + 1] - 2, offsets[j] - 1, -1):
                below[value, w] |= below[value + 1, w]
            for value in range(offsets[j] + 1, offsets[j + 1]):
                above[value, w] |= above[value - 1, w]
            for i in range(begin, end):
                value = offsets[j] + codes[j, order[i]]
                found[order[i], w] |= below[value, w]
                if value > offsets[j]:
                    found[order[i], w] |= above[value - 1, w]


@njit(cache=True, nogil=True)
def _next_consistent(columns, domains, order, frame, depth, last, scratch):  # type: ignore[no-untyped-def]
    """Go on to the next question with consistent trees on both sides; whether there is one."""
    most = frame[MOST]
    while _next_question(columns, order, frame, last, scratch.buffer):
        begin, middle, end = frame[BEGIN], frame[MIDDLE], frame[END]
        frame[LEFT] = least_leaves(columns, domains, order, begin, middle, depth, most - 1, scratch)
        if frame[LEFT] >= most:
            continue
        frame[RIGHT] = least_leaves(columns, domains, order, middle, end, depth, most - frame[LEFT], scratch)
        if frame[LEFT] + frame[RIGHT] <= most:
            return True
    return False


@njit(cache=True, nogil=True)
def _support_without_question(columns, domains, order, frame, depth, found, scratch):  # type: ignore[no-untyped-def]
    """Note what trees of at most one question give to the region of a frame; whether larger ones cannot give more."""
    begin, end = frame[BEGIN], frame[END]
    if _common(domains, order, begin, end, scratch.common[depth, 0]):
        _give(order, begin, end, scratch.common[depth, 0], found)
    if depth == 0 or frame[MOST] < 2:
        return True
    if depth == 1:
        if not _is_supported(domains, order, begin, end, found):
            _support_by_one(columns, domains, order, begin, end, found, scratch)
        return True
    return False


@njit(cache=True, nogil=True)
def support(columns, domains, order, depth, most, found, first, last, scratch):  # type: ignore[no-untyped-def]
    """Note the actions that consistent trees give to all cells, if their first question is one of a range."""
    frames = scratch.further_frames
    level, entering = 0, True
    _enter(frames[0], 0, len(order), most)
    frames[0, QUESTION] = first - 1
    while True:
        frame = frames[level]
        done = _is_supported(domains, order, frame[BEGIN], frame[END], found)
        if entering and not done:
            done = _support_without_question(columns, domains, order, frame, depth - level, found, scratch)
        elif not entering and frame[RIGHT] > 0:
            # The left side is done.
            frame[RIGHT] = 0
            level, entering = level + 1, True
            _enter(frames[level], frame[MIDDLE], frame[END], frame[MOST] - frame[LEFT])
            continue
        up_to = last if level == 0 else len(columns.feature)
        if not done and _next_consistent(columns, domains, order, frame, depth - level - 1, up_to, scratch):
            level, entering = level + 1, True
            _enter(frames[level], frame[BEGIN], frame[MIDDLE], frame[MOST] - frame[RIGHT])
            continue
        if level == 0:
            return
        level, entering = level - 1, False
