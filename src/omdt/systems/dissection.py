"""Dissection: an order of elimination with little fill, and how much it costs, known before anything is factorised.

Nested dissection on the pattern of A + Aᵀ: a piece of the graph is cut by a narrow level of a breadth-first search from
one of its ends, both sides are dissected in turn, and the cut is eliminated after both. A factor then has non-zeros
only within a side, and between a side and the cuts around it. Nodes with very many neighbours would leave no narrow
level and are eliminated last.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from omdt.arrays import Bools, Ints

LEAF = 12
"""Nodes of a piece that is not cut any further: cuts of so small a piece save nothing."""

HUB, HUB_SHARE = 64, 10.0
"""A node is a hub, which is eliminated last, if it has more neighbours than the first number and than the second number
times the square root of the number of nodes."""

SMALLEST_SIDE = 0.1
"""Smallest part of a piece that may lie on one side of a cut, so that pieces shrink fast."""

WIDEST_CUT = 0.3
"""Largest part of a piece that a cut may be; a piece without such a cut fills up in any order."""


class Elimination(NamedTuple):
    """An order of elimination with the size of the factors.

    Attributes:
        order: [n] nodes in the order in which they are eliminated.
        place: [n] the place of each node in that order.
        counts: [n] non-zeros below the diagonal in each column of the lower factor; 0 in parts that are too large.
        parents: [n] the place of the first non-zero below the diagonal; −1 if there is none.
        too_large: [C] whether the factor of each part would have more entries than allowed.
    """

    order: Ints
    place: Ints
    counts: Ints
    parents: Ints
    too_large: Bools

    @property
    def entries(self) -> int:
        """Non-zeros below the diagonal of the lower factor."""
        return int(self.counts.sum())


def elimination(pattern: sparse.csr_array, nodes: Ints, starts: Ints, most_entries: int) -> Elimination:
    """An order in which every connected part is eliminated as a whole.

    Args:
        pattern: [n, n] symmetric pattern without a diagonal.
        nodes: [n] nodes part by part.
        starts: [C + 1] where the parts begin in `nodes`, and n; there is no entry between two parts.
        most_entries: largest number of non-zeros below the diagonal of the lower factor of one part.
    """
    n = len(nodes)
    order, place = nodes.copy(), np.empty(n, dtype=np.int64)
    _dissect(pattern.indptr, pattern.indices, order, starts, _hubs(pattern))
    place[order] = np.arange(n)
    counts, parents = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    too_large = np.zeros(len(starts) - 1, dtype=np.bool_)
    _count(pattern.indptr, pattern.indices, order, place, starts, counts, parents, too_large, most_entries)
    return Elimination(order, place, counts, parents, too_large)


def _hubs(pattern: sparse.csr_array) -> Bools:
    """[n] whether a node has so many neighbours that no narrow cut can avoid it."""
    hubs: Bools = np.diff(pattern.indptr) > max(HUB, HUB_SHARE * math.sqrt(pattern.shape[0]))
    return hubs


@njit(cache=True)
def _dissect(indptr, indices, nodes, starts, hubs):  # type: ignore[no-untyped-def]
    """Put the nodes of every part into their order of elimination."""
    n = len(nodes)
    # The piece to which a node belongs; nodes of a finished piece or a cut are in none.
    piece = np.full(n, -1, dtype=np.int64)
    level = np.empty(n, dtype=np.int64)
    found = np.empty(n, dtype=np.int64)
    pieces = 0
    for part in range(len(starts) - 1):
        begin, end = starts[part], starts[part + 1]
        if end - begin <= LEAF:
            continue
        end = _hubs_last(nodes, begin, end, hubs, found)
        stack = [(begin, end)]
        while len(stack) > 0:
            begin, end = stack.pop()
            if end - begin <= LEAF:
                for i in range(begin, end):
                    piece[nodes[i]] = -1
                continue
            for i in range(begin, end):
                piece[nodes[i]] = pieces
            reached = _search(indptr, indices, nodes[begin], piece, level, found, begin)
            if reached < end:
                _split(indptr, indices, nodes, begin, end, reached, piece, pieces, level, found, stack)
            else:
                # From the last node of a search that began anywhere, the levels are many and narrow.
                for _ in range(2):
                    last = found[end - 1]
                    for i in range(begin, end):
                        piece[found[i]] = pieces
                    _search(indptr, indices, last, piece, level, found, begin)
                middle, after = _cut(indptr, indices, nodes, begin, end, level, found)
                if middle > begin:
                    stack.append((begin, middle))
                    stack.append((middle, after))
            pieces += 1


@njit(cache=True)
def _hubs_last(nodes, begin, end, hubs, buffer):  # type: ignore[no-untyped-def]
    """Move hubs to the end of a part; returns where they begin."""
    few = begin
    many = 0
    for i in range(begin, end):
        if hubs[nodes[i]]:
            buffer[many] = nodes[i]
            many += 1
        else:
            nodes[few] = nodes[i]
            few += 1
    nodes[few:end] = buffer[:many]
    return few


@njit(cache=True)
def _search(indptr, indices, first, piece, level, found, begin):  # type: ignore[no-untyped-def]
    """Breadth-first search within the piece of the first node; takes what it finds out of the piece.

    Writes nodes to `found` from `begin` on, in the order in which they are found; returns where they end.
    """
    here = piece[first]
    piece[first] = -1
    level[first] = 0
    found[begin] = first
    end, i = begin + 1, begin
    while i < end:
        s = found[i]
        i += 1
        for k in range(indptr[s], indptr[s + 1]):
            t = indices[k]
            if piece[t] == here:
                piece[t] = -1
                level[t] = level[s] + 1
                found[end] = t
                end += 1
    return end


@njit(cache=True)
def _split(indptr, indices, nodes, begin, end, reached, piece, here, level, found, stack):  # type: ignore[no-untyped-def]
    """Divide a piece into its connected parts, of which the first was found before."""
    stack.append((begin, reached))
    first = begin
    while reached < end:
        while piece[nodes[first]] != here:
            first += 1
        after = _search(indptr, indices, nodes[first], piece, level, found, reached)
        stack.append((reached, after))
        reached = after
    nodes[begin:end] = found[begin:end]


@njit(cache=True)
def _cut(indptr, indices, nodes, begin, end, level, found):  # type: ignore[no-untyped-def]
    """Order a connected piece: what lies before a narrow level, what lies behind it, and the level itself.

    Returns where the first two end; the beginning twice if the piece has no narrow level.
    """
    best, first, last = np.inf, begin, begin
    i = begin
    while i < end:
        j = i
        while j < end and level[found[j]] == level[found[i]]:
            j += 1
        smaller = min(i - begin, end - j)
        if smaller >= SMALLEST_SIDE * (end - begin) and (j - i) / smaller < best:
            best, first, last = (j - i) / smaller, i, j
        i = j
    if last - first > WIDEST_CUT * (end - begin) or first == begin:
        nodes[begin:end] = found[begin:end]
        return begin, begin
    before, cut = begin, end
    for i in range(begin, first):
        nodes[before] = found[i]
        before += 1
    # A node of the level without a neighbour in the next one need not be in the cut.
    for i in range(first, last):
        s = found[i]
        borders = False
        for k in range(indptr[s], indptr[s + 1]):
            if level[indices[k]] == level[s] + 1:
                borders = True
                break
        if borders:
            cut -= 1
            nodes[cut] = s
        else:
            nodes[before] = s
            before += 1
    behind = before
    for i in range(last, end):
        nodes[behind] = found[i]
        behind += 1
    return before, behind


@njit(cache=True)
def _count(indptr, indices, order, place, starts, counts, parents, too_large, most):  # type: ignore[no-untyped-def]
    """Fill in the elimination tree and the non-zeros per column; counting a part ends when there are too many."""
    seen = np.full(len(order), -1, dtype=np.int64)
    for part in range(len(starts) - 1):
        begin, end, total = starts[part], starts[part + 1], 0
        for k in range(begin, end):
            seen[k] = k
            s = order[k]
            for p in range(indptr[s], indptr[s + 1]):
                i = place[indices[p]]
                while i < k and seen[i] != k:
                    if parents[i] == -1:
                        parents[i] = k
                    counts[i] += 1
                    total += 1
                    seen[i] = k
                    i = parents[i]
            if total > most:
                too_large[part] = True
                counts[begin:end] = 0
                parents[begin:end] = -1
                break
