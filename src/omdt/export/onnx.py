"""A tree as an ONNX model (needs the extra `onnx`).

The model is a TreeEnsembleRegressor, which gives score 1 to the action of the leaf and 0 to all others, and an ArgMax.
The plain attributes of the operator hold 32-bit numbers; here, thresholds and observations are 64-bit tensors, so that
the model compares exactly the numbers that the tree compares. The model returns the action of the leaf. The metadata
`exceptions` lists the observations on which that action is not available and another one is played.
"""

import json
from typing import Any

import numpy as np

from omdt.errors import require
from omdt.tree import LEAF, TreePolicy


def to_onnx(tree: TreePolicy) -> bytes:
    """A model from `observations` (double [n, F]) to `actions` (int64 [n]) and `scores` (float [n, A])."""
    require("onnx", "onnx", "the export to ONNX")
    from onnx import TensorProto, checker, helper

    F, A = len(tree.feature_names), len(tree.action_names)
    nodes = [
        helper.make_node(
            "TreeEnsembleRegressor", ["observations"], ["scores"], domain="ai.onnx.ml", **_attributes(tree)
        ),
        helper.make_node("ArgMax", ["scores"], ["actions"], axis=1, keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observations", TensorProto.DOUBLE, ["n", F])],
        [
            helper.make_tensor_value_info("actions", TensorProto.INT64, ["n"]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", A]),
        ],
    )
    # Opset 3 is the first one with 64-bit thresholds; more runtimes read it than newer ones.
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="omdt")
    names = {"feature_names": json.dumps(tree.feature_names), "action_names": json.dumps(tree.action_names)}
    exceptions = {key: json.dumps(value) for key, value in tree.exceptions.to_dict(tree.action_names).items()}
    helper.set_model_props(model, names | (exceptions if tree.exceptions.matter else {}))
    checker.check_model(model)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _attributes(tree: TreePolicy) -> dict[str, Any]:
    """The attributes of the operator TreeEnsembleRegressor."""
    from onnx import numpy_helper

    inner = tree.feature != LEAF
    modes = np.where(inner, np.where(tree.equality, "BRANCH_EQ", "BRANCH_LEQ"), "LEAF")
    leaves = np.flatnonzero(~inner)
    return {
        "n_targets": len(tree.action_names),
        "nodes_treeids": [0] * tree.n_nodes,
        "nodes_nodeids": list(range(tree.n_nodes)),
        "nodes_modes": modes.tolist(),
        "nodes_featureids": np.where(inner, tree.feature, 0).tolist(),
        "nodes_values_as_tensor": numpy_helper.from_array(tree.threshold, "thresholds"),
        "nodes_truenodeids": np.where(inner, tree.left, 0).tolist(),
        "nodes_falsenodeids": np.where(inner, tree.right, 0).tolist(),
        "target_treeids": [0] * len(leaves),
        "target_nodeids": leaves.tolist(),
        "target_ids": tree.action[leaves].tolist(),
        "target_weights_as_tensor": numpy_helper.from_array(np.ones(len(leaves)), "weights"),
    }
