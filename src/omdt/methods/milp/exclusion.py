"""Exclusion: the program without trees that break a limit by less than a solver can see.

Limits on visits are a little relaxed in the program (`rule_rows.SLACK`). A tree in between is excluded by one more row,
which every other tree satisfies: of the binary columns that make the tree, one must change. If it is the policy that
breaks a limit, the row excludes all trees of that policy.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from omdt.judging import cost_of
from omdt.mdp import Bools, Floats
from omdt.methods.milp.encoding import decode
from omdt.methods.milp.formulation import Model


def without(model: Model, vectors: Sequence[Floats]) -> Model:
    """The program without the trees of some solutions."""
    entries = np.array([_excluded(model, vector) for vector in vectors], dtype=np.float64)
    return replace(
        model,
        A=sparse.csr_array(sparse.vstack([model.A, sparse.csr_array(entries)], format="csr")),
        row_lower=np.append(model.row_lower, np.full(len(vectors), -np.inf)),
        row_upper=np.append(model.row_upper, entries.sum(axis=1) - 1),
        row_names=(*model.row_names, *(f"exclude[{i}]" for i in range(len(vectors)))),
    )


def _excluded(model: Model, vector: Floats) -> Bools:
    """[columns] which columns are 1 in a tree: those of its policy or, if that keeps all limits, those of its nodes."""
    demands = model.parts.demands
    assert demands is not None, "no tree is excluded without rules"
    task = demands.task
    policy = decode(model, vector).actions(task.observations)
    broken = any(cost_of(task, it, policy).value > it.limit + it.tolerance for it in task.ceilings)
    begin, end = (model.first["π"], model.first["x"]) if broken else (0, model.first["d"])
    chosen: Bools = np.zeros(len(vector), dtype=np.bool_)
    chosen[begin:end] = vector[begin:end] > 0.5
    return chosen
