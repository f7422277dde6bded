"""Options of methods are declared once; validation, help, errors and flags follow from the declaration."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import omdt
from omdt import InputError
from omdt.methods.options import CopyOptions, MilpOptions, SearchOptions, UnknownOptionError, ViperOptions
from omdt.methods.registry import METHODS, Asks, Sizes, method_named, owners
from strategies import environment

ALL = sorted(owners())
"""Every option of any method."""

KNOWN = {
    "search": "executor, scheduler, certificate and settings",
    "milp": "backend, form and start_seconds",
    "viper": "iterations",
    "iddt": "none",
    "copy": "ties",
}
FLAGS = {
    "search": "--scheduler and --certificate",
    "milp": "--backend and --form",
    "viper": "--iterations",
    "iddt": "none",
    "copy": "--ties",
}
VALUES = {
    "--scheduler": "tcp://x",
    "--certificate": "proof",
    "--backend": "highs",
    "--form": "paper",
    "--iterations": "3",
    "--ties": "any",
}


def limits(method: str) -> dict[str, int]:
    return {} if METHODS[method].size is Sizes.REFUSED else {"max_depth": 1}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("option", ["watch", "task", "options", "bakend"])
def test_an_unknown_option_is_refused_with_those_that_there_are(method: str, option: str) -> None:
    with pytest.raises(UnknownOptionError) as found:
        omdt.solve(environment("xor"), method=method, **limits(method), **{option: 1})
    assert str(found.value) == f"the method {method} has no option {option!r}; it has {KNOWN[method]}"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("option", ALL)
def test_an_option_of_another_method_is_refused_with_its_owner(method: str, option: str) -> None:
    if method in owners()[option]:
        assert option in METHODS[method].options.declared()
        return
    with pytest.raises(InputError, match=rf"{method} has no option '{option}', which is one of {owners()[option][0]};"):
        omdt.solve(environment("xor"), method=method, **limits(method), **{option: None})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("flag", VALUES)
def test_the_command_line_calls_options_by_their_flags(run, method: str, flag: str) -> None:
    if flag in FLAGS[method]:
        return
    owner = next(name for name, flags in FLAGS.items() if flag in flags)
    size = () if METHODS[method].size is Sizes.REFUSED else ("--depth", "1")
    status, out, err = run("solve", "xor", "--method", method, *size, flag, VALUES[flag])
    assert (status, out) == (2, "")
    assert err == f"omdt: the method {method} has no option {flag}, which is one of {owner}; it has {FLAGS[method]}\n"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MilpOptions(backend="cplex"), "backend is 'cplex'; it must be highs, scip or gurobi"),
        (lambda: MilpOptions(form="weak"), "form is 'weak'; it must be strong or paper"),
        (lambda: MilpOptions(start_seconds=-1), "start_seconds is -1; it must be a number of seconds, at least 0"),
        (lambda: MilpOptions(start_seconds=True), "start_seconds is True; it must be a number of seconds"),
        (lambda: ViperOptions(0), "iterations is 0; it must be a whole number of at least 1"),
        (lambda: ViperOptions(True), "iterations is True; it must be a whole number of at least 1"),
        (lambda: CopyOptions("first"), "ties is 'first'; it must be lowest or any"),
        (lambda: SearchOptions(certificate=3), "certificate is 3; it must be the path of a file"),
        (lambda: SearchOptions(executor="dask"), "executor is 'dask'; it must be an Executor of concurrent.futures"),
        (lambda: SearchOptions(scheduler=8786), "scheduler is 8786; it must be the address of a Dask scheduler"),
        (lambda: SearchOptions(scheduler=""), "scheduler is ''; it must be the address of a Dask scheduler"),
    ],
)
def test_values_are_checked_in_one_place(make, message: str) -> None:
    with pytest.raises(InputError) as found:
        make()
    assert str(found.value).startswith(message)


def test_values_come_in_their_final_form() -> None:
    assert SearchOptions(certificate="proof").certificate == Path("proof")
    assert SearchOptions() == SearchOptions(executor=None, certificate=None)
    with ThreadPoolExecutor(1) as executor:
        assert SearchOptions(executor=executor).executor is executor
        with pytest.raises(InputError, match="executor and scheduler exclude each other"):
            SearchOptions(executor=executor, scheduler="tcp://127.0.0.1:8786")


@pytest.mark.parametrize("method", METHODS)
def test_every_flag_is_in_the_help_with_its_choices_and_its_default(run, monkeypatch, method: str) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = " ".join(run("solve", "--help")[1].split())
    for name, declared in METHODS[method].options.declared().items():
        if declared.flag is None:
            assert f"--{name}" not in out
            continue
        assert declared.flag in out
        assert declared.help in out
        assert all(choice in out for choice in declared.kind.choices)
        assert declared.words("x").endswith("; x by default.")
        assert declared.words(None).endswith(".")


@pytest.mark.parametrize(("flag", "value"), [("--form", "paper"), ("--iterations", "2")])
def test_the_new_flags_reach_their_methods(run, flag: str, value: str) -> None:
    method = "milp" if flag == "--form" else "viper"
    status, out, err = run("solve", "frozenlake_4x4", "--method", method, "--depth", "1", flag, value)
    assert (status, err) == (0, "")
    assert "decision node" in out
    status, _, err = run("solve", "frozenlake_4x4", "--method", method, "--depth", "1", flag, "0")
    assert status == 2
    assert err.startswith(f"omdt: {flag} is ")


def test_what_methods_can_do_is_declared() -> None:
    assert [name for name, method in METHODS.items() if method.certifies] == ["search"]
    assert [name for name, method in METHODS.items() if method.keeps_rules] == ["search", "milp"]
    assert [name for name, method in METHODS.items() if method.asks is Asks.ANYTHING] == ["search", "milp"]
    assert all(method.summary and not method.summary.endswith(".") for method in METHODS.values())
    with pytest.raises(InputError, match="there is no method 'serch'; there are search, milp, viper, iddt, copy"):
        method_named("serch")


@pytest.mark.parametrize("method", ["milp", "viper", "iddt", "copy"])
def test_a_limit_on_nodes_is_refused_where_none_are_counted(method: str) -> None:
    with pytest.raises(InputError, match=f"node_limit is for the method search; limit the time of {method} instead"):
        omdt.solve(environment("xor"), method=method, node_limit=5, **limits(method))
