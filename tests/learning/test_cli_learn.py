"""The command `omdt learn`: its output, its files, what can be done with them afterwards, and its exit status."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gymnasium")

from known_worlds import Matching

import omdt
from omdt import watch
from omdt.learning import from_log
from omdt.learning import learn as verb
from omdt.solution import Round

Run = Callable[..., tuple[int, str, str]]
SMALL = ("known_worlds:Matching", "--depth", "1", "--steps", "2000", "--episodes", "20")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A learned solution and its model, as the command writes them."""
    folder = tmp_path_factory.mktemp("learned")
    found = omdt.learn(Matching, max_depth=1, steps=2_000, episodes=20)
    found.save(folder / "tree.json", model=folder / "model.npz")
    return folder / "tree.json", folder / "model.npz"


def test_it_prints_a_tree_with_its_figures_in_the_simulator_and_on_the_model(run: Run) -> None:
    status, output, error = run("learn", *SMALL)
    assert (status, error) == (0, "")
    assert output.startswith("known_worlds:Matching  1 decision node, 2 leaves, depth 1\n")
    in_the_simulator, on_the_model = output.index("In the simulator:"), output.index("On the learned model, discounted")
    assert in_the_simulator < output.index("mean return") < on_the_model < output.index("value")
    assert "20 fresh episodes" in " ".join(output.split())


def test_json_is_the_file_and_the_same_seed_gives_the_same_tree(run: Run, tmp_path: Path) -> None:
    path, model = tmp_path / "tree.json", tmp_path / "model.npz"
    status, output, _ = run("learn", *SMALL, "--json", "--output", path, "--model", model)
    assert status == 0
    data = json.loads(output)
    solution = omdt.load(path)
    assert data["tree"] == solution.tree.to_dict()
    assert data["experience"]["settings"] == {"steps": 2000, "bins": 12, "confidence": 0.95, "episodes": 20}
    assert solution.source is not None
    assert solution.source.problem == model
    again = omdt.learn("known_worlds:Matching", max_depth=1, steps=2_000, episodes=20)
    assert again.tree == solution.tree
    assert again.experience == solution.experience


def test_a_learned_solution_is_checked_reported_and_exported_with_its_model(run: Run, files: tuple[Path, Path]) -> None:
    path, _ = files
    status, output, error = run("check", path)
    assert status == 0, error
    assert "VERIFIED" in output
    status, output, error = run("export", path, "--to", "text")
    assert (status, error) == (0, "")


@pytest.mark.needs("jinja2")
def test_its_report_has_the_learning_curve(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    status, _, error = run("report", files[0], "--output", tmp_path / "page.html")
    assert (status, error) == (0, "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'aria-label="learning curve"' in page
    assert "omdt learn Matching --depth 1 --steps 2000" in page


def test_without_its_model_the_user_is_told_what_to_do(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    alone = tmp_path / "alone.json"
    omdt.learn(Matching, max_depth=1, steps=1_500, episodes=5).save(alone)
    for command in ("check", "report"):
        status, _, error = run(command, alone)
        assert status == 2
        assert f"the model that {alone} was learned with was not kept" in error
        assert f"omdt {command} {alone} FILE.npz" in error
    status, output, error = run("check", files[0], files[1])
    assert "VERIFIED" in output, error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gym:CartPole-v1",), "learning needs a size limit"),
        (("gym:CartPole-v1", "--depth", "2", "--steps", "0"), "--steps is 0"),
        (("gym:CartPole-v1", "--depth", "2", "--confidence", "95"), "--confidence is 95.0"),
        (("gym:CartPole-v1", "--depth", "2", "--model", "model.txt"), "--model is model.txt"),
        (("gym:CartPole-v1", "--depth", "2", "--model", "a.npz", "--output", "a.npz"), "are both a.npz"),
        (("CartPole-v1", "--depth", "2"), "write gym:ENV_ID or module:factory"),
        (("gym:NoSuch-v0", "--depth", "2"), "NoSuch"),
    ],
)
def test_wrong_usage_ends_with_status_2(run: Run, arguments: tuple[str, ...], message: str) -> None:
    status, output, error = run("learn", *arguments)
    assert (status, output) == (2, "")
    assert message in error


def test_an_interrupt_keeps_the_best_tree_so_far(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    learn_from_simulator = verb.learn_from_simulator

    def interrupted(simulator: Any, request: Any, watch: Any, progress: Callable[[Round], None]) -> Any:
        def listen(point: Round) -> None:
            progress(point)
            if not watch.interrupted:
                signal.raise_signal(signal.SIGINT)

        return learn_from_simulator(simulator, request, watch, listen)

    monkeypatch.setattr(verb, "learn_from_simulator", interrupted)
    status, output, error = run("learn", *SMALL, "--output", tmp_path / "tree.json")
    assert status == 130
    assert "omdt: interrupted; this is the best tree so far" in error
    assert "In the simulator:" in output
    assert omdt.load(tmp_path / "tree.json").stop == "interrupted"


class Clock:
    """A clock that only steps in the simulator move, by a millisecond each."""

    seconds = 0.0

    def perf_counter(self) -> float:
        return self.seconds


CLOCK = Clock()


class Timed(Matching):
    """The simulator that moves the clock."""

    def step(self, action: Any) -> Any:
        CLOCK.seconds += 0.001
        return super().step(action)


def test_a_time_limit_keeps_the_best_tree_so_far(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "time", CLOCK)
    limits = ("--depth", "1", "--steps", "12000", "--time-limit", "3")
    status, output, error = run("learn", f"{__name__}:Timed", *limits, "--json")
    assert (status, error) == (0, "")
    experience = json.loads(output)["experience"]
    assert 600 < experience["steps"] < 3_000
    assert 0 < experience["interval"]["n"] < 200


def test_a_log_is_learned_with_what_is_doubtful_on_standard_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"{k % 2},{'ab'[k // 2 % 2]},{k % 2},{(k + 1) % 2},{k // 10}" for k in range(40)]
    path.write_text("x,action,reward,next x,episode\n" + "\n".join(rows) + "\n")
    status, output, error = run("learn", path, "--depth", "1", "--output", tmp_path / "tree.json")
    assert status == 0, error
    assert "In the world that the log records:" in output
    assert "guaranteed" in output
    assert "the log has too few steps for a guarantee that says much" in error
    assert omdt.load(tmp_path / "tree.json").experience.guarantee.confidence == 0.95
    status, output, error = run("learn", path, "--depth", "1", "--steps", "10")
    assert (status, output) == (2, "")
    assert error == "omdt: --steps is 10, but a log cannot be played; it is for simulators only\n"


def test_a_search_in_a_log_that_ends_at_its_limit_is_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_log, "NODES", 1)
    path = tmp_path / "log.csv"
    rows = [f"{k % 6},{'ab'[k // 6 % 2]},{int(k % 2 == k // 6 % 2)},{(k + 1) % 6},0,{k // 12}" for k in range(1200)]
    path.write_text("x,action,reward,next x,done,episode\n" + "\n".join(rows) + "\n")
    status, output, error = run("learn", path, "--depth", "1", "--discount", "0.5")
    assert status == 0, error
    assert "the search ended early, at its limit on partial trees" in " ".join(output.split())
    assert "with --time-limit SECONDS it uses that time instead" in error


def test_a_log_that_is_not_there_is_named(run: Run) -> None:
    status, _, error = run("learn", "nowhere.csv", "--depth", "1")
    assert status == 2
    assert "nowhere.csv" in error
