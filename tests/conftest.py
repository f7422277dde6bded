"""What all tests share: the marker for optional dependencies, and the report on what was left out because of it."""

import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import pytest

from omdt import cli
from omdt.cli.progress import COMPILING

ALL_EXTRAS = os.environ.get("OMDT_ALL_EXTRAS") == "1"


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt, also where the tests run in the background and would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process: status, standard output, standard error without progress."""
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["omdt", *map(str, arguments)])
        status = 0
        try:
            cli.main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        captured = capsys.readouterr()
        # Whichever test is first to need a loop compiles it, and a busy machine may need ten seconds for any of them.
        return status, captured.out, without_progress(captured.err)

    return run


def without_progress(messages: str) -> str:
    """What a command says on standard error besides that it compiles, and how far it is."""
    return re.sub(rf"^omdt: (\[[^]\n]* s\] .*|{COMPILING})\n", "", messages, flags=re.M)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(module): the test needs an optional dependency")
    config.addinivalue_line("markers", "needs_program(name): the test runs another program")
    config.addinivalue_line("markers", "random_case(in_sample): one of many cases, of which a sample always runs")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run all cases of the tests that otherwise run a sample")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the random cases beside the sample, or with --thorough all tests that have no random cases."""
    cases = {item: item.get_closest_marker("random_case") for item in items}
    if config.getoption("--thorough"):
        chosen = [item for item, case in cases.items() if case is not None]
    else:
        chosen = [item for item, case in cases.items() if case is None or case.kwargs["in_sample"]]
    left_out = cases.keys() - set(chosen)
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = chosen


def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = [marker.args[0] for marker in item.iter_markers("needs") if find_spec(marker.args[0]) is None]
    missing += [marker.args[0] for marker in item.iter_markers("needs_program") if shutil.which(marker.args[0]) is None]
    for name in missing:
        reason = f"{name} is not installed"
        if ALL_EXTRAS:
            pytest.fail(f"{reason}, and OMDT_ALL_EXTRAS=1 says that every extra is")
        pytest.skip(reason)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if not skipped:
        return
    terminalreporter.section("left out")
    reasons: dict[str, list[str]] = {}
    for report in skipped:
        reasons.setdefault(report.longrepr[2].removeprefix("Skipped: "), []).append(report.nodeid)
    for reason, tests in reasons.items():
        terminalreporter.write_line(f"{len(tests)} tests because {reason} (pip install '.[all]'):")
        for test in tests:
            terminalreporter.write_line(f"    {test}")
