"""Fingerprint: a hash that recognises an MDP, whatever its name is and wherever it is stored.

Every number is first rounded to 30 binary digits, about nine decimal ones: the same environment, built on another
machine, may differ in its last bits, and nobody changes a problem by so little on purpose. The name of the MDP and the
original numbers of its states (`origin`) are ignored, and so are labels and further rewards: a solution records the
fingerprint of the MDP that its objective makes of the user's (`Task.problem`), which has all that the objective reads.
"""

import hashlib
import json

import numpy as np

from omdt.mdp import MDP, Floats, Ints

DIGITS = 30
"""Number of binary digits of each number that enter the hash, out of 53."""


def fingerprint(mdp: MDP) -> str:
    """The hash of an MDP's arrays, names and discount."""
    P = mdp.transitions
    fields = {
        "shape": _numbers(np.array([mdp.n_states, mdp.n_actions, mdp.n_features])),
        "discount": _numbers(np.array([mdp.discount])),
        "indptr": _numbers(P.indptr),
        "indices": _numbers(P.indices),
        "data": _numbers(P.data),
        "rewards": _numbers(mdp.rewards),
        "initial": _numbers(mdp.initial),
        "features": _numbers(mdp.features),
        "feature_names": json.dumps(mdp.feature_names).encode(),
        "action_names": json.dumps(mdp.action_names).encode(),
    }
    if not mdp.all_available:
        fields["available"] = np.packbits(mdp.available).tobytes()
    if mdp.endless is not None:
        fields["endless"] = repr(mdp.endless).encode()
    digest = hashlib.sha256()
    for name, content in fields.items():
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return f"sha256:{digest.hexdigest()}"


def _numbers(array: np.ndarray) -> bytes:
    integers = array if array.dtype.kind in "iu" else _rounded(array)
    return integers.astype("<i8").tobytes()


def _rounded(array: Floats) -> Ints:
    """The bits of the rounded numbers; 0 and −0 give the same bits."""
    # If rounding up carries into the exponent, the result is the next power of two, as it should be.
    dropped = 53 - DIGITS
    bits: Ints = (array + 0.0).view(np.int64) + (1 << (dropped - 1))
    return bits & -(1 << dropped)
