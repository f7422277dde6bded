"""A solution knows its problem: names, files and parameters are found again, and a changed file is recognised."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import omdt
from omdt.errors import InputError
from omdt.fingerprint import fingerprint
from omdt.source import Source
from strategies import environment, good_arrays, mdp_from

TABLE = "x,action,next x,probability,reward\n0,go,1,1,1\n1,go,0,0.5,0\n1,go,1,0.5,2\n"


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a model in models/ and room for solutions in out/."""
    for name in ("models", "out", "elsewhere"):
        (tmp_path / name).mkdir()
    omdt.write(mdp_from(good_arrays()), tmp_path / "models" / "model.npz")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recorded(path: Path | str) -> dict[str, object]:
    source: dict[str, object] = json.loads(Path(path).read_text(encoding="utf-8"))["source"]
    return source


@pytest.mark.needs("jinja2")
def test_a_file_is_found_relative_to_its_solution(run, folders, monkeypatch):
    solved = run("solve", "models/model.npz", "--depth", 1, "--output", "out/policy.json", "--certificate", "out/proof")
    assert solved[0] == 0
    assert recorded("out/policy.json") == {"problem": "../models/model.npz", "settings": []}
    assert str(folders) not in Path("out/policy.json").read_text(encoding="utf-8")
    monkeypatch.chdir(folders / "elsewhere")
    status, out, err = run("check", "../out/policy.json", "--certificate", "../out/proof")
    assert (status, out[:8], err) == (0, "VERIFIED", "")
    assert run("report", "../out/policy.json") == (0, "../out/policy.html\n", "")
    page = Path("../out/policy.html").read_text(encoding="utf-8")
    assert "omdt solve ../models/model.npz --depth 1" in page
    # The whole project may move.
    shutil.copytree(folders / "models", folders / "moved" / "models")
    shutil.copytree(folders / "out", folders / "moved" / "out")
    shutil.rmtree(folders / "models")
    assert run("check", folders / "moved" / "out" / "policy.json")[0] == 0
    status, out, err = run("check", "../out/policy.json")
    assert (status, out) == (2, "")
    assert "there is no file ../models/model.npz any more" in err
    assert "omdt check ../out/policy.json PROBLEM" in err
    assert run("check", "../out/policy.json", "../moved/models/model.npz")[0] == 0


@pytest.mark.needs("jinja2")
def test_a_file_that_was_read_in_python_is_found_again(run, folders, monkeypatch):
    (folders / "models" / "walk.csv").write_text(TABLE, encoding="utf-8")
    omdt.write(omdt.make("frozenlake_4x4"), "models/lake.drn")
    for name in ("walk.csv", "lake.drn", "model.npz"):
        mdp = omdt.read(f"models/{name}", discount=0.9)
        monkeypatch.chdir(folders / "elsewhere")
        omdt.solve(mdp, max_depth=1).save("../out/policy.json")
        monkeypatch.chdir(folders)
        assert recorded("out/policy.json") == {"problem": f"../models/{name}", "settings": []}
        assert run("report", "out/policy.json") == (0, "out/policy.html\n", "")
        assert run("check", "out/policy.json")[0] == 0


def test_settings_of_files_are_recorded(run, folders):
    omdt.write(omdt.make("frozenlake_4x4"), "models/lake.drn")
    words = ("solve", "models/lake.drn", "--set", "cost=reward", "--depth", 1, "--output", "policy.json")
    assert run(*words)[0] == 0
    assert recorded("policy.json") == {"problem": "models/lake.drn", "settings": ["cost=reward"]}
    assert run("check", "policy.json")[0] == 0
    assert run("check", "policy.json", "models/lake.drn", "--set", "cost=reward")[0] == 0
    err = run("check", "policy.json", "--set", "reward=reward")[2]
    assert "models/lake.drn is not the problem that was solved, or it has changed since" in err
    again = omdt.read("models/lake.drn", cost="reward", reward=None)
    assert again.source == Source(folders / "models" / "lake.drn", ("cost=reward",))


@pytest.mark.needs("gymnasium")
@pytest.mark.needs("jinja2")
def test_gymnasium_environments_are_found_again(run, folders):
    words = ("solve", "gym:FrozenLake-v1", "--set", "is_slippery=false", "--set", "map_name=4x4")
    assert run(*words, "--discount", 0.95, "--depth", 1, "--output", "policy.json", "--certificate", "proof")[0] == 0
    source = {"problem": "gym:FrozenLake-v1", "settings": ["is_slippery=false", "map_name=4x4"]}
    assert recorded("policy.json") == source
    assert run("report", "policy.json") == (0, "policy.html\n", "")
    page = Path("policy.html").read_text(encoding="utf-8")
    assert "gym:FrozenLake-v1 --set is_slippery=false --set map_name=4x4" in page
    status, out, err = run("check", "policy.json", "--certificate", "proof")
    assert (status, out[:8], err) == (0, "VERIFIED", "")
    assert omdt.read("gym:FrozenLake-v1", discount=0.9, desc=["SF", "FG"]).source is None


@pytest.mark.needs("stormpy")
@pytest.mark.needs("jinja2")
def test_prism_models_are_found_again_with_their_constants(run, folders):
    text = """mdp
const int N;
module walk
  x : [0..N] init 0;
  [go] x<N -> 0.5 : (x'=x+1) + 0.5 : (x'=x);
  [stay] true -> (x'=x);
endmodule
rewards "gain" [go] true : 1; endrewards
"""
    (folders / "models" / "walk.prism").write_text(text, encoding="utf-8")
    words = ("solve", "models/walk.prism", "--set", "constants=N=3", "--discount", 0.9, "--depth", 1)
    assert run(*words, "--output", "out/policy.json")[0] == 0
    assert recorded("out/policy.json") == {"problem": "../models/walk.prism", "settings": ["constants=N=3"]}
    status, out, err = run("report", "out/policy.json")
    assert (status, out) == (0, "out/policy.html\n")
    assert "maximising the reward 'gain'" in err
    assert run("check", "out/policy.json")[0] == 0
    (folders / "models" / "walk.prism").write_text(text.replace("true : 1", "true : 2"), encoding="utf-8")
    status, out, err = run("check", "out/policy.json")
    assert (status, out) == (2, "")
    assert "models/walk.prism has changed since it was solved" in err


@pytest.mark.needs("jinja2")
def test_parameters_of_environments_are_found_again(run, folders):
    mdp = omdt.make("frozenlake", size=np.int64(5), seed=3, slippery=False, hole_probability=0.1)
    assert mdp.source == Source("frozenlake", ("size=5", "seed=3", "slippery=false", "hole_probability=0.1"))
    omdt.solve(replace(mdp, discount=0.9), max_depth=2).save("policy.json")
    assert run("report", "policy.json") == (0, "policy.html\n", "")
    assert run("check", "policy.json")[0] == 0
    status, out, err = run("check", "policy.json", "frozenlake")
    assert (status, out[:12]) == (1, "NOT VERIFIED")
    assert "frozenlake is not the problem that was solved, or it has changed since" in err
    other = json.loads(Path("policy.json").read_text(encoding="utf-8")) | {"fingerprint": "sha256:0"}
    Path("other.json").write_text(json.dumps(other), encoding="utf-8")
    status, out, err = run("check", "other.json")
    assert (status, out) == (2, "")
    assert "omdt check other.json frozenlake --set size=5 --set seed=3 --set slippery=false" in err


def test_what_has_no_spelling_has_no_source(run, folders):
    mdp = omdt.make("frozenlake", map=["SF", "FG"])
    assert mdp.source is None
    solution = omdt.solve(replace(mdp, name="my lake"), max_depth=1)
    solution.save("policy.json")
    assert recorded("policy.json") is None
    for command in ("check", "report"):
        status, out, err = run(command, "policy.json")
        assert (status, out) == (2, "")
        assert f"'my lake' comes from; name it: omdt {command} policy.json PROBLEM" in err
    assert mdp_from(good_arrays()).source is None


def test_a_changed_file_is_recognised(run, folders):
    assert run("solve", "models/model.npz", "--depth", 1, "--output", "policy.json", "--certificate", "proof")[0] == 0
    arrays = good_arrays()
    # What the tree never does changes neither its return nor that of the best policy.
    value = omdt.load("policy.json").value
    tree = omdt.load("policy.json").tree
    mdp = mdp_from(arrays)
    unused = 1 - tree.actions(mdp.features)
    arrays["rewards"][2, unused[2]] -= 1
    assert omdt.evaluate(mdp_from(arrays), tree) == value
    omdt.write(mdp_from(arrays), "models/model.npz")
    before, after = fingerprint(mdp), fingerprint(mdp_from(arrays))
    for command in ("check", "report"):
        status, out, err = run(command, "policy.json")
        assert (status, out) == (2, "")
        assert "models/model.npz has changed since it was solved" in err
        assert before in err
        assert after in err
        assert f"omdt {command} policy.json models/model.npz" in err
    assert not Path("policy.html").exists()
    # Who names the file means it as it is; the figures decide.
    status, out, err = run("check", "policy.json", "models/model.npz")
    assert (status, out[:6]) == (0, "value ")
    assert "it has changed since" in err
    arrays["rewards"][:] -= 1
    omdt.write(mdp_from(arrays), "models/model.npz")
    status, out, err = run("check", "policy.json", "models/model.npz")
    assert (status, out[:12]) == (1, "NOT VERIFIED")
    assert "it has changed since" in err


def test_the_reachable_part_is_recognised(run, folders):
    arrays = good_arrays() | {"initial": np.array([0.0, 0.0, 1.0])}
    omdt.write(mdp_from(arrays), "models/model.npz")
    mdp = omdt.read("models/model.npz")
    part = mdp.reachable()
    assert part.n_states < mdp.n_states
    assert part.source == mdp.source is not None
    omdt.solve(part, max_depth=1, certificate="proof").save("out/policy.json")
    status, out, err = run("check", "out/policy.json", "--certificate", "proof")
    assert (status, out[:8], err) == (0, "VERIFIED", "")


def test_old_solutions_are_reported_and_checked_as_before(run, folders):
    data = omdt.solve(omdt.make("frozenlake_4x4"), max_depth=1).to_dict()
    del data["source"], data["fingerprint"]
    Path("old.json").write_text(json.dumps(data), encoding="utf-8")
    loaded = omdt.load("old.json")
    assert (loaded.source, loaded.fingerprint) == (None, None)
    assert run("check", "old.json")[0] == 0
    assert run("check", "old.json", "frozenlake_4x4") == run("check", "old.json")
    Path("old.json").write_text(json.dumps(data | {"problem": "model"}), encoding="utf-8")
    assert run("check", "old.json")[0] == 2
    assert run("check", "old.json", "frozenlake_4x4")[0] == 0


@pytest.mark.parametrize("problem", ["n" * 5000 + ".npz", "\ud800.npz", "\x1b[31m/x.npz", "gym:\x1b[31m", "zzz", "./"])
def test_sources_that_lead_nowhere_are_bad_input(run, folders, problem):
    data = omdt.solve(omdt.make("frozenlake_4x4"), max_depth=1).to_dict()
    source = {"problem": problem, "settings": []}
    Path("policy.json").write_text(json.dumps(data | {"source": source}), encoding="utf-8")
    for command in ("check", "report"):
        status, out, err = run(command, "policy.json")
        assert (status, out) == (2, "")
        assert err.startswith("omdt: ")
        assert "\x1b" not in err


def test_a_file_names_no_code_to_import(run, folders):
    data = omdt.solve(omdt.make("frozenlake_4x4"), max_depth=1).to_dict()
    Path("evil.py").write_text("open('owned', 'w')\n", encoding="utf-8")
    Path("policy.json").write_text(
        json.dumps(data | {"source": {"problem": "gym:evil:Env-v0", "settings": []}}), encoding="utf-8"
    )
    for command in ("check", "report"):
        status, out, err = run(command, "policy.json")
        assert (status, out) == (2, "")
        assert "names a module to import" in err
    assert not Path("owned").exists()


def test_json_on_standard_output_is_relative_to_the_current_folder(run, folders):
    out = run("solve", "models/../models/model.npz", "--depth", 1, "--json", "--output", "out/policy.json")[1]
    assert json.loads(out)["source"] == {"problem": "models/model.npz", "settings": []}
    assert recorded("out/policy.json")["problem"] == "../models/model.npz"
    assert str(folders) not in out


def test_runs_with_a_node_limit_write_the_same_file_wherever_the_project_lies(run, folders, monkeypatch):
    shutil.copytree(folders / "models", folders / "elsewhere" / "models")
    for folder in (folders, folders / "elsewhere"):
        monkeypatch.chdir(folder)
        assert run("solve", "models/model.npz", "--depth", 1, "--node-limit", 50, "--output", "policy.json")[0] == 0
    assert (folders / "policy.json").read_bytes() == (folders / "elsewhere" / "policy.json").read_bytes()


def test_odd_names_of_files_are_found_again(run, folders):
    for name in ("gym:lake.npz", "-lake.npz", "a b'c.npz"):
        shutil.copy("models/model.npz", name)
        omdt.solve(omdt.read(Path(name)), max_depth=1).save("policy.json")
        assert run("check", "policy.json")[0] == 0, name


def test_a_file_on_another_drive_keeps_its_whole_path(monkeypatch, tmp_path):
    def elsewhere(path: object, start: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    source = Source(tmp_path / "model.npz")
    monkeypatch.setattr(os.path, "relpath", elsewhere)
    assert source.to_dict("out") == {"problem": str(tmp_path / "model.npz"), "settings": []}
    assert Source.from_dict(source.to_dict("out"), "out") == source


def test_a_source_survives_replace():
    mdp = omdt.make("frozenlake_4x4")
    assert replace(mdp, discount=0.5).source == mdp.source == Source("frozenlake_4x4")


def test_every_part_of_an_mdp_counts_for_its_fingerprint():
    mdp = mdp_from(good_arrays())
    seen = {fingerprint(mdp)}
    for key, place in (("rewards", (0, 0)), ("features", (1, 1)), ("discount", ()), ("initial", [0, 1])):
        arrays = good_arrays()
        arrays[key] = np.array(arrays[key], dtype=float)
        arrays[key][place] += 1e-6 if key != "initial" else [1e-6, -1e-6]
        seen.add(fingerprint(mdp_from(arrays)))
    arrays = good_arrays()
    arrays["data"][:2] = [0.5 + 1e-6, 0.5 - 1e-6]
    seen.add(fingerprint(mdp_from(arrays)))
    arrays["indices"][2] = 0
    seen.add(fingerprint(mdp_from(arrays)))
    seen |= {fingerprint(replace(mdp, feature_names=("y", "x"))), fingerprint(replace(mdp, action_names=("a", "go")))}
    assert len(seen) == 9
    assert all(text.startswith("sha256:") and len(text) == 71 for text in seen)


def test_names_of_the_problem_and_the_last_bits_do_not_count():
    mdp = environment("frozenlake_8x8")
    other = replace(
        mdp,
        name="another",
        rewards=mdp.rewards * (1 + 2e-16) - 0.0,
        features=np.where(mdp.features == 0, -0.0, mdp.features),
        origin=np.arange(mdp.n_states)[::-1],
    )
    assert fingerprint(other) == fingerprint(mdp)


def test_the_fingerprint_is_the_same_for_ever():
    """Files hold it: what changes here makes every saved solution look like one of another problem."""
    assert (
        fingerprint(mdp_from(good_arrays()))
        == "sha256:c34bb0b14eda763520fa11a179b46138888b40daa10e8912bf6e7caddb3279cd"
    )


def test_bad_sources_are_refused():
    for data in (None, [], {"problem": 1, "settings": []}, {"problem": "x", "settings": [1]}):
        with pytest.raises(InputError, match="'source'"):
            Source.from_dict(data)
