"""Graphs of states: which states can be reached from others, and which from one another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from omdt.arrays import Bools, Ints


def reached_from(first: Bools, successors: NDArray[np.integer[Any]], starts: NDArray[np.integer[Any]]) -> Bools:
    """[S] whether each state can be reached, the first ones included; there may be up to 2^31 successors.

    Args:
        first: [S] the states to start from.
        successors: the successors of state 0, then those of state 1, and so on; a successor may occur twice.
        starts: [S + 1] where the successors of each state begin, and where those of the last state end.
    """
    S, sources = len(first), np.flatnonzero(first)
    # One more node, whose successors are all first states, makes this a search from a single node.
    # The indices have the type for which scipy's graph functions are compiled.
    indices = np.concatenate([successors, sources]).astype(np.int32)
    indptr = np.append(starts, len(indices)).astype(np.int32)
    graph = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(S + 1, S + 1))
    found = csgraph.breadth_first_order(graph, S, directed=True, return_predecessors=False)
    reached = np.zeros(S + 1, dtype=np.bool_)
    reached[found] = True
    return reached[:S]


def components_of(matrix: sparse.csr_array) -> Ints:
    """[n] the strongly connected component of each node of the graph with an edge per stored entry."""
    # scipy's graph functions are compiled for indices of 32 bits.
    edges = (np.ones(matrix.nnz), matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
    graph = sparse.csr_array(edges, shape=matrix.shape)
    # With an edge that is stored twice, scipy's search may never end.
    graph.sum_duplicates()
    label: Ints = csgraph.connected_components(graph, directed=True, connection="strong")[1].astype(np.int64)
    return label
