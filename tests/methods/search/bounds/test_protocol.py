"""What a bound is: those of the search and one of the user's own keep the protocol."""

import inspect

import numpy as np
import pytest

from omdt.methods.search.bounds.loss_bound import LossBound
from omdt.methods.search.bounds.options import OptionBound
from omdt.methods.search.bounds.protocol import Bound, Bounded, LossEvidence, VectorEvidence
from omdt.methods.search.partial_tree import HOLE
from omdt.watch import Watch
from search_parts import basis_of, knowledge_of, model_of, node_of
from strategies import environment


@pytest.mark.parametrize("kind", [LossBound, OptionBound])
def test_bounds_of_the_search_have_the_signature_of_the_protocol(kind: type[Bound]) -> None:
    assert inspect.signature(kind.bound) == inspect.signature(Bound.bound)


def test_a_bound_may_come_without_evidence_and_without_a_preference() -> None:
    bounded = Bounded(1.5)
    assert (bounded.value, bounded.evidence, bounded.place) == (1.5, None, None)


def test_evidence_says_what_it_rests_on() -> None:
    model = model_of(environment("frozenlake_4x4"))
    knowledge = knowledge_of(model)
    basis = basis_of(knowledge, 0.3)
    node = node_of(knowledge, basis, HOLE)
    by_losses = LossBound(basis).bound(node, 0.3, Watch())
    by_options = knowledge.options.bound(node, 0.3, Watch())
    assert isinstance(by_losses.evidence, LossEvidence)
    assert by_losses.evidence.basis is basis
    assert isinstance(by_options.evidence, VectorEvidence)
    assert np.all(by_options.evidence.values >= -1e-9)
