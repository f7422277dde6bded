"""A user without a model: the pages on learning, command by command."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pages import Page

import omdt
from omdt import planning

Run = Callable[..., tuple[int, str, str]]
pytestmark = [pytest.mark.needs("gymnasium"), pytest.mark.needs("jinja2")]


def test_the_commands_of_the_page_on_simulators_work(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, *others = Page("learning-simulators.md").commands
    status, output, error = run(*first)
    assert (status, error) == (0, "")
    assert "In the simulator:" in output
    assert [command[0] for command in others] == ["check", "export", "report"]
    for command in others:
        status, output, error = run(*command)
        assert status == 0, error
        assert output
    assert "learning curve" in Path("pole.html").read_text(encoding="utf-8")
    solution = omdt.load("pole.json")
    assert solution.experience is not None
    assert solution.experience.steps <= 20_000


def test_the_page_on_logs_writes_a_log_and_learns_from_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = Page("learning-logs.md")
    (program,) = page.blocks("python")
    exec(program, {})
    first, *others = page.commands
    status, output, _ = run(*first)
    assert status == 0
    assert "with 95 % confidence, this tree's discounted return is at least this" in " ".join(output.split())
    assert [command[0] for command in others] == ["check", "export", "report"]
    for command in others:
        status, output, error = run(*command)
        assert status == 0, error
        assert output
    assert "What the log knows of each rule" in Path("machine.html").read_text(encoding="utf-8")
    guarantee = omdt.load("machine.json").experience.guarantee
    assert guarantee.value < true_return(omdt.load("machine.json").tree)


def true_return(tree: omdt.TreePolicy) -> float:
    """The return of a tree on the machine that wrote the log."""
    machine = [
        *(((w,), "run", (min(w + 1, 4),), 0.7, 4 - w) for w in range(5)),
        *(((w,), "run", (w,), 0.3, 4 - w) for w in range(5)),
        *(((w,), "repair", (0,), 1.0, -3) for w in range(5)),
    ]
    mdp = omdt.MDP.from_transitions(machine, initial=(0,), feature_names=("wear",), discount=0.9)
    names = {name: mdp.action_names.index(name) for name in tree.action_names}
    played = [names[tree.action_names[int(tree.predict(state)[0])]] for state in mdp.features]
    return planning.policy_return(mdp, np.array(played)).value
