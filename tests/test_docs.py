"""Every Python example in the README and the documentation runs."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from omdt.learning import from_simulator

ROOT = Path(__file__).parent.parent
Run = Callable[..., tuple[int, str, str]]
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "extending.md")]
"""The pages whose examples run by themselves; those of extending.md run in a changed copy of the package."""
NEEDS = {"onnx": ["onnx"], "omdt.report": ["jinja2", "matplotlib"], "stormpy": ["stormpy"], "pandas": ["pandas"]}
"""Optional modules of the examples in which a word stands."""
EXAMPLES = [
    pytest.param(
        code,
        id=f"{page.name}-{i}",
        marks=[pytest.mark.needs(module) for word, modules in NEEDS.items() if word in code for module in modules],
    )
    for page in PAGES
    for i, code in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S))
]


@pytest.fixture(autouse=True)
def short_last_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples that learn end with a short search: its limit only says when to stop."""
    monkeypatch.setattr(from_simulator, "LAST_NODES", 20)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 7


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda path: path.name
)
def test_no_star_of_an_optimal_value_is_taken_for_emphasis(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`|^    .*$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert re.findall(r"(?<![*\w])[A-Zπ]\*(?![*\w]).*", text) == []


@pytest.mark.needs("gymnasium")
@pytest.mark.parametrize("code", EXAMPLES)
def test_example_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})


def test_an_example_runs_as_a_program_of_its_own(tmp_path: Path) -> None:
    (code,) = (example.values[0] for example in EXAMPLES if example.id == "README.md-0")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "proven True" in done.stdout


@pytest.mark.needs("gymnasium")
@pytest.mark.needs("sklearn")
@pytest.mark.needs("jinja2")
@pytest.mark.needs("matplotlib")
@pytest.mark.needs("highspy")
def test_commands_of_the_readme_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    # Time limits only say when to stop, so shorter ones show as well that the commands work.
    lines = [re.sub(r"(--time-limit|--budget) \d+", r"\1 1", line) for line in readme.splitlines()]
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("    omdt ")]
    assert len(commands) >= 6
    monkeypatch.chdir(tmp_path)
    for command in commands:
        status, output, error = run(*command[1:])
        assert status == 0, (command, error)
        assert output, command


@pytest.mark.needs("stormpy")
def test_commands_for_users_of_prism_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    page = (ROOT / "docs" / "storm-and-prism.md").read_text(encoding="utf-8")
    (model,) = re.findall(r"^```prism\n(.*?)^```", page, re.M | re.S)
    commands = [shlex.split(line) for line in page.splitlines() if line.startswith("    omdt ")]
    assert len(commands) >= 12
    monkeypatch.chdir(tmp_path)
    Path("robot.prism").write_text(model, encoding="utf-8")
    for command in commands:
        status, output, error = run(*command[1:])
        assert status == 0, (command, error)
        assert output or "--output" in command, command
        assert "solve" not in command or "proven" in output, (command, output)


def test_the_page_about_rules_shows_what_its_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """A command prints the lines below it, among others; the first Python example makes the model."""
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)[0]
    subprocess.run([sys.executable, "-c", code], check=True)
    (rules,) = re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    Path("rules.yaml").write_text(rules, encoding="utf-8")
    blocks = re.findall(r"^```text\n\$ omdt (.*?)\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) >= 7
    for command, shown in blocks:
        status, output, error = run(*shlex.split(command))
        refused = shown.startswith("no tree")
        assert status == (2 if refused else 0), (command, error)
        printed = iter(line.strip() for line in (error if refused else output).splitlines())
        for line in shown.splitlines():
            assert any(line.strip() == other.removeprefix("omdt: ") for other in printed), (command, line, output)
        assert refused or "proven" in output, (command, output)
    (check,) = [shlex.split(line) for line in page.splitlines() if line.startswith("    omdt ")]
    status, output, _ = run(*check[1:])
    assert (status, output.split(":")[0]) == (0, "VERIFIED")


def test_the_readme_shows_what_its_example_prints() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text\n\$ omdt (.*?)^```", readme, re.M | re.S)
    command, shown = block.split("\n", 1)
    start = f"import sys; sys.argv[1:] = {command.split()!r}; from omdt.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=True)
    assert without_times(done.stdout) == without_times(shown)


def without_times(output: str) -> list[str]:
    return [re.sub(r"[\d.]+ s\)$", "s)", line.rstrip()) for line in output.rstrip().splitlines()]
