"""A user with a Gymnasium environment: the page on Gymnasium, word by word."""

import warnings
from collections.abc import Callable

import pytest
from pages import Page

import omdt

Run = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.needs("gymnasium")


def test_the_commands_of_the_page_find_proven_trees(run: Run) -> None:
    commands = Page("gymnasium.md").commands
    assert len(commands) == 2
    for command in commands:
        status, output, error = run(*command)
        assert status == 0, error
        assert "proven optimal" in output


def test_an_environment_is_solved_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    page = Page("gymnasium.md")
    names: dict[str, object] = {}
    exec(page.blocks("python")[0], names)
    assert "decision node" in capsys.readouterr().out
    assert "`omdt.solve(env, max_depth=3)` converts the environment itself" in page.text
    with pytest.warns(omdt.InputWarning, match="CliffWalkingEnv has no discount of its own; 0.99 is assumed"):
        solution = omdt.solve(names["env"], max_depth=3)
    assert solution.proven
    assert str(solution).startswith("CliffWalking-v1  ")


def test_an_environment_without_a_table_leads_to_the_teacher(capsys: pytest.CaptureFixture[str]) -> None:
    import gymnasium

    with pytest.raises(omdt.InputError, match=r"omdt\.imitate\(env, teacher, max_depth=3\)"):
        omdt.solve(gymnasium.make("CartPole-v1"), max_depth=3)
    (example,) = Page("comparing.md", "Your own teacher, no model").blocks("python")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(example, {})
    assert "angle" in capsys.readouterr().out
