"""The corpus is what it claims to be: it asks every kind of question, and its table holds Storm's answers."""

import re

import pytest
from corpus_cases import FOLDER, NAMES, Case, cases, properties

CASES = cases()
KINDS = {
    "maximal probability to reach": r"Pmax=\? \[F",
    "minimal probability to reach": r"Pmin=\? \[F",
    "maximal probability of an until": r'Pmax=\? \["\w+" U',
    "minimal probability of an until": r'Pmin=\? \["\w+" U',
    "minimal total until a target": r'R\{"\w+"\}min=\? \[F|Rmin\{"\w+"\}=\? \[F',
    "maximal total until a target": r'R\{"\w+"\}max=\? \[F',
    "minimal total": r'R\{"\w+"\}min=\? \[C\]|Rmin\{"\w+"\}=\? \[C\]',
    "maximal total": r'R\{"\w+"\}max=\? \[C\]',
    "discounted total": r"Cdiscount=",
}


def test_the_table_has_every_property_of_every_model():
    assert [(case.model, case.property) for case in CASES] == [(name, p) for name in NAMES for p in properties(name)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_property_is_asked_at_least_twice(kind):
    assert sum(bool(re.search(KINDS[kind], case.property)) for case in CASES) >= 2


def test_sizes_reach_from_tens_to_thousands_of_states():
    sizes = {case.model: case.states for case in CASES}
    assert len(sizes) >= 14
    assert min(sizes.values()) >= 50
    assert max(sizes.values()) <= 10_000
    assert sum(size > 3_000 for size in sizes.values()) >= 3
    assert sum(size < 1_500 for size in sizes.values()) > len(sizes) / 2


def test_some_optima_are_nothing_or_infinite():
    optima = [case.optimum for case in CASES]
    assert optima.count(0.0) >= 3
    assert optima.count(float("inf")) >= 3


def test_fixtures_stay_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_500_000


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("name", NAMES)
def test_storm_gives_the_optima_of_the_table(name):
    from storm_witness import built, model_path, value

    model = built(model_path(name))
    for case in (case for case in CASES if case.model == name):
        assert (model.nr_states, model.nr_choices) == (case.states, case.choices)
        assert value(model_path(name), case.property) == pytest.approx(case.optimum, rel=1e-12, abs=1e-15), case.id


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("case", cases("drn"), ids=lambda case: case.id)
def test_storm_finds_the_same_optimum_in_its_own_explicit_file(case: Case):
    from storm_witness import value_in_drn

    assert value_in_drn(case.path("drn"), case.property) == pytest.approx(case.optimum, rel=1e-5, abs=1e-6)
