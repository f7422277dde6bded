"""The noun fits the number."""

import pytest

from omdt.counting import counted


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        (1, ("leaf", "leaves"), "1 leaf"),
        (0, ("leaf", "leaves"), "0 leaves"),
        (2, ("leaf", "leaves"), "2 leaves"),
        (1, ("state",), "1 state"),
        (12345, ("state",), "12,345 states"),
    ],
)
def test_the_noun_fits_the_number(number, nouns, text):
    assert counted(number, *nouns) == text
