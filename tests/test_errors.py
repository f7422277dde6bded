"""A missing extra is reported with the command that installs it."""

import pytest

from omdt.errors import FalseClaimError, InputError, MissingExtraError, require


def test_a_module_that_is_there_is_not_missed():
    assert require("json", "basic", "reading") is None


def test_a_missing_module_names_the_extra():
    with pytest.raises(MissingExtraError) as caught:
        require("no_such_module_anywhere", "special", "drawing")
    message = str(caught.value)
    assert "drawing" in message
    assert "no_such_module_anywhere" in message
    assert "pip install 'omdt[special]'" in message


def test_errors_belong_to_the_usual_families():
    assert issubclass(InputError, ValueError)
    assert issubclass(MissingExtraError, ImportError)
    assert not issubclass(FalseClaimError, ValueError)
