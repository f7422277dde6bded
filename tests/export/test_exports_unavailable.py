"""Whatever plays an exported tree plays what the MDP plays, also where the action of a leaf is not available."""

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from players import c_library, node, onnx_session, play_c, play_python, prism_guards, python_module

import omdt
from omdt import InputWarning, Solution, TreePolicy, planning, solve
from omdt.exceptions import Exceptions
from omdt.export import export_tree, to_be_told
from restricted import Restricted, restricted

MODELS = Path(__file__).parent.parent / "data" / "models"
BATTERY = (MODELS / "battery.prism").read_text(encoding="utf-8")


def solved(problem: Restricted, depth: int) -> tuple[Solution, np.ndarray]:
    """A solution and the visited states of its tree."""
    solution = solve(problem.mdp, max_depth=depth, time_limit=20)
    mdp = problem.mdp
    played = mdp.played[np.arange(mdp.n_states), solution.tree.actions(mdp.features)]
    return solution, np.flatnonzero(problem.visited(played))


def assert_returns(problem: Restricted, solution: Solution, visited: np.ndarray, actions: list[int]) -> None:
    """Playing these actions in the visited states returns the printed value; none of them is unavailable."""
    policy = problem.mdp.available.argmax(axis=1)
    policy[visited] = actions
    named = solution.tree.actions(problem.mdp.features)
    np.testing.assert_array_equal(policy[visited], problem.mdp.played[visited, named[visited]])
    assert problem.value(policy) == pytest.approx(solution.value, rel=1e-9, abs=1e-9)


@given(restricted(), st.integers(0, 2))
@settings(max_examples=30)
def test_python_predict_and_json_return_the_printed_value(tmp_path_factory, problem, depth):
    solution, visited = solved(problem, depth)
    X = problem.mdp.features[visited]
    assert_returns(problem, solution, visited, solution.tree.predict(X)[0].tolist())
    assert_returns(problem, solution, visited, [int(solution.tree.predict(x)[0]) for x in X])
    assert_returns(problem, solution, visited, play_python(solution.tree, X, Path()))
    path = tmp_path_factory.mktemp("saved") / "solution.json"
    solution.save(path)
    assert_returns(problem, solution, visited, omdt.load(path).tree.predict(X)[0].tolist())


@given(restricted(), st.integers(0, 2))
@settings(max_examples=30)
def test_the_guards_of_prism_leave_one_available_action(problem, depth):
    solution, visited = solved(problem, depth)
    guards = prism_guards(solution.tree)
    actions = []
    for s in visited:
        allowed = [a for a, guard in enumerate(guards) if eval(guard, {"x": problem.mdp.features[s].tolist()})]
        (action,) = (a for a in allowed if problem.mdp.available[s, a])
        actions.append(action)
    assert_returns(problem, solution, visited, actions)


@given(restricted(observations=("distinct", "repeated", "constant")), st.integers(0, 2))
@settings(max_examples=40)
def test_whoever_knows_what_is_available_returns_the_printed_value(problem, depth):
    solution, visited = solved(problem, depth)
    mdp = problem.mdp
    policy = python_module(solution.tree, "python")["policy"]
    told = [policy(mdp.features[s], available=np.flatnonzero(mdp.available[s])) for s in visited]
    assert_returns(problem, solution, visited, told)
    masked = solution.tree.predict(mdp.features[visited], action_masks=mdp.available[visited])[0]
    assert_returns(problem, solution, visited, masked.tolist())
    one = [
        int(solution.tree.predict(mdp.features[s], action_masks=mdp.available[s].astype(np.int8))[0]) for s in visited
    ]
    assert_returns(problem, solution, visited, one)
    if not solution.tree.exceptions.look_alikes:
        alone = solution.tree.predict(mdp.features[visited])[0]
        decided = ~(mdp.terminal & mdp.available.all(axis=1))[visited]
        assert_returns(problem, solution, visited, np.where(decided, alone, told).tolist())


@pytest.mark.needs("gymnasium")
@given(restricted(max_states=5), st.integers(0, 1), st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_the_environment_plays_the_fallback_and_says_so(problem, depth, seed):
    from omdt.formats.to_gymnasium import MDPEnv

    mdp = problem.mdp
    tree = solve(mdp, max_depth=depth).tree
    env = MDPEnv(mdp)
    observation, info = env.reset(seed=seed)
    for _ in range(30):
        s = info["state"]
        assert info["action_mask"].dtype == np.int8
        np.testing.assert_array_equal(info["action_mask"], mdp.available[s])
        named = int(tree.actions(observation[None])[0])
        observation, reward, terminated, _, info = env.step(np.int64(named))
        assert info["played"] == mdp.played[s, named]
        assert reward == mdp.rewards[s, info["played"]]
        assert problem.P[s, info["played"], info["state"]] > 0
        if terminated:
            break


@pytest.mark.needs_program("gcc")
@pytest.mark.needs_program("node")
@given(restricted(max_actions=3), st.integers(0, 2))
@settings(max_examples=6)
def test_c_and_javascript_return_the_printed_value(tmp_path_factory, problem, depth):
    folder = tmp_path_factory.mktemp("code")
    solution, visited = solved(problem, depth)
    X = problem.mdp.features[visited]
    assert_returns(problem, solution, visited, play_c(solution.tree, X, folder))
    assert_returns(problem, solution, visited, node(solution.tree, X, folder)["played"])


@pytest.mark.needs_program("gcc")
@pytest.mark.needs_program("node")
def test_numbers_of_any_size_are_compared_to_the_last_bit(tmp_path):
    X = np.array([[0.1, -1e300], [-0.0, 5e-324], [1 / 3, 1e22]])
    beside = np.nextafter(X, np.inf)
    tree = TreePolicy.leaf(0, ("x", "y"), ("a", 'b "quoted" */', "c"))
    tree = replace(tree, exceptions=Exceptions(X, np.array([1, 2, 1])))
    everything = np.vstack([X, beside, -X])
    expected = [1, 2, 1, 0, 0, 0, 0, 0, 0]
    assert tree.predict(everything)[0].tolist() == expected
    assert play_python(tree, everything, tmp_path) == expected
    assert play_c(tree, everything, tmp_path) == expected
    assert node(tree, everything, tmp_path)["played"] == expected


def lacking() -> TreePolicy:
    """A tree of which no table can say everything."""
    tree = TreePolicy.leaf(0, ("x\n*/ //",), ("drive\n*/", "charge <b>"))
    return replace(tree, exceptions=Exceptions([[3.0]], [1], "charge <b>", look_alikes=1234, left_out=5))


@pytest.mark.parametrize("to", ["python", "c", "javascript", "prism", "sklearn", "text"])
def test_what_a_table_cannot_say_stands_in_the_export(to):
    text = export_tree(lacking(), to)
    assert "1,234 visited states look alike but offer different actions" in text
    assert "leaves out 5 observations" in text


@pytest.mark.needs_program("gcc")
def test_code_with_such_remarks_still_compiles(tmp_path):
    assert c_library(lacking(), tmp_path)
    module = python_module(lacking(), "python")
    assert [module["policy"]([x]) for x in (2, 3)] == [0, 1]
    assert module["policy"]([2], available=[1]) == 1
    with pytest.raises(ValueError, match="no action is available"):
        module["policy"]([2], available=[])


def test_the_named_fallback_comes_before_the_first_available_action():
    tree = TreePolicy.leaf(2, ("x",), ("a", "b", "c"))
    assert python_module(tree, "python")["policy"]([0], available=[0, 1]) == 0
    tree = replace(tree, exceptions=Exceptions(fallback="b"))
    policy = python_module(tree, "python")["policy"]
    assert policy([0], available=[0, 1]) == 1
    assert policy([0], available=[0]) == 0
    assert policy([0], available=[2]) == policy([0]) == 2


def test_text_lists_the_first_exceptions_and_counts_the_rest():
    tree = TreePolicy.leaf(0, ("x",), ("drive", "charge\t"))
    tree = replace(tree, exceptions=Exceptions(np.arange(23.0)[:, None], np.ones(23, dtype=int)))
    lines = export_tree(tree, "text").splitlines()
    assert lines[0] == "drive"
    assert lines[2] == r"x = 0: charge\t is played, the action above is not available"
    assert lines[-1] == "… and 3 more observations on which another action is played"
    assert len(lines) == 23


def test_json_has_the_table():
    data = json.loads(export_tree(lacking(), "json"))
    assert data["exceptions"] == [{"observation": [3.0], "action": "charge <b>"}]
    assert data["fallback"] == "charge <b>"


@pytest.mark.needs("onnxruntime")
def test_onnx_has_the_table_in_its_metadata():
    metadata = onnx_session(lacking()).get_modelmeta().custom_metadata_map
    assert json.loads(metadata["exceptions"]) == [{"observation": [3.0], "action": "charge <b>"}]
    assert json.loads(metadata["look_alike_states"]) == 1234
    plain = onnx_session(TreePolicy.leaf(0, ("x",), ("a",))).get_modelmeta().custom_metadata_map
    assert set(plain) == {"feature_names", "action_names"}


def in_storm(program: str, path: Path, discount: float) -> tuple[float, list[int]]:
    """The discounted reward of a composed model and the choices of its states, by Storm."""
    import stormpy

    path.write_text(program, encoding="utf-8")
    model = stormpy.build_model(stormpy.parse_prism_program(str(path)))
    assert list(model.labeling.get_states("deadlock")) == []
    prop = stormpy.parse_property(f"Rmax=? [ Cdiscount={discount!r} ]")
    result = stormpy.model_checking(model, prop)
    return result.get_value(model.initial_states[0]), [len(state.actions) for state in model.states]


def read_battery(program: str, folder: Path, **parameters) -> omdt.MDP:
    path = folder / "battery.prism"
    path.write_text(program, encoding="utf-8")
    with pytest.warns(InputWarning, match="some but not all"):
        return omdt.read(path, discount=0.99, reward="parcels", **parameters)


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("fallback", [None, "charge", "wait"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_robot_without_power_does_in_storm_what_was_printed(tmp_path, depth, fallback):
    mdp = read_battery(BATTERY, tmp_path, fallback=fallback)
    solution = solve(mdp, max_depth=depth)
    assert solution.proven
    value, choices = in_storm(BATTERY + export_tree(solution.tree, "prism"), tmp_path / "composed.prism", 0.99)
    assert value == pytest.approx(solution.value, rel=1e-6)
    assert set(choices) == {1}
    # The same without Storm's solver: a model with one choice per state returns the same under every policy.
    composed = tmp_path / "composed.prism"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        chain = omdt.read(composed, discount=0.99)
    for values in (planning.optimal_values(chain), planning.worst_values(chain)):
        assert planning.expected_return(chain, values).value == pytest.approx(solution.value, rel=1e-12)


LIFT = """mdp
module lift
  x : [0..4] init 0;
  up : bool init false;
  full : bool init false;
  [go] x<4 & up -> 0.9:(x'=x+1) + 0.1:(up'=false);
  [rise] !up -> 0.8:(up'=true) + 0.2:(full'=true);
  [wait] true -> 0.5:(full'=!full) + 0.5:true;
  [reset] x=4 -> (x'=0) & (up'=false) & (full'=false);
endmodule
rewards "parcels"
  [reset] !full : 10;
  [reset] full : 4;
  [rise] true : -1;
endrewards
"""


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("rule", ["fallback", "forbid"])
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_truth_values_are_asked_as_the_language_has_them(tmp_path, depth, rule):
    """Storm refuses a model in which a truth value is compared with a number."""
    path = tmp_path / "lift.prism"
    path.write_text(LIFT, encoding="utf-8")
    with pytest.warns(InputWarning, match="some but not all"):
        mdp = omdt.read(path, discount=0.95, reward="parcels")
    assert set(mdp.truths) == {"full", "up"}
    solution = omdt.solve(mdp, max_depth=depth, unavailable=rule)
    value, choices = in_storm(LIFT + export_tree(solution.tree, "prism"), tmp_path / "composed.prism", 0.95)
    assert value == pytest.approx(solution.value, rel=1e-6, abs=1e-6)
    assert set(choices) == {1}


JUMPS = """mdp
module robot
  x : [0..3] init 0;
  [] x<3 -> 0.5:(x'=x+1) + 0.5:true;
  [] x<3 -> (x'=(x=1 ? 3 : 0));
  [] x=3 -> (x'=0);
endmodule
rewards "parcels"
  x=3 : 10;
endrewards
"""


def with_labels(program: str, module: str) -> str:
    """The program with the labels that the comments of the exported module ask for."""
    lines = program.split("\n")
    commands = [i for i, line in enumerate(lines) if "->" in line]
    for place, label in re.findall(r"^// action 'robot command (\d+)' is called (\w+)$", module, re.M):
        lines[commands[int(place) - 1]] = lines[commands[int(place) - 1]].replace("[]", f"[{label}]")
    for name, number, label in re.findall(r"^// action '(\w+) \((\d+)\)' is called (\w+)$", module, re.M):
        same = [i for i in commands if f"[{name}]" in lines[i]]
        lines[same[int(number) - 1]] = lines[same[int(number) - 1]].replace(f"[{name}]", f"[{label}]")
    return "\n".join(lines)


def read_quietly(program: str, path: Path) -> omdt.MDP:
    path.write_text(program, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        return omdt.read(path, discount=0.95)


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("program", [JUMPS, JUMPS.replace("[] x<3", "[go] x<3")], ids=["no labels", "one label"])
def test_a_model_with_the_labels_of_the_comments_is_restricted(tmp_path, program, depth):
    """The command that is alone in its state has no label, so that the module cannot block it."""
    solution = solve(read_quietly(program, tmp_path / "robot.prism"), max_depth=depth)
    module = export_tree(solution.tree, "prism")
    labelled = with_labels(program, module)
    assert labelled != program
    value, choices = in_storm(labelled + module, tmp_path / "composed.prism", 0.95)
    assert value == pytest.approx(solution.value, rel=1e-6)
    assert choices == [1] * len(choices)
    # As it stands, the model is not restricted.
    assert max(in_storm(program + module, tmp_path / "free.prism", 0.95)[1]) > 1


@pytest.mark.needs("stormpy")
def test_a_command_that_is_alone_only_in_some_states_needs_the_labelled_model(tmp_path):
    program = JUMPS.replace("x<3 -> (x'=(x=1 ? 3 : 0))", "true -> (x'=(x=1 ? 3 : 0))").replace(
        "  [] x=3 -> (x'=0);\n", ""
    )
    first = export_tree(solve(read_quietly(program, tmp_path / "robot.prism"), max_depth=0).tree, "prism")
    assert "is the only choice of some state, solve the model\n// with the labels again" in first
    labelled = with_labels(program, first)
    for depth in (0, 1, 2):
        solution = solve(read_quietly(labelled, tmp_path / "labelled.prism"), max_depth=depth)
        module = export_tree(solution.tree, "prism")
        assert "is called" not in module
        value, choices = in_storm(labelled + module, tmp_path / "composed.prism", 0.95)
        assert value == pytest.approx(solution.value, rel=1e-6)
        assert choices == [1] * len(choices)


def test_labels_that_the_model_needs_are_told(run, tmp_path):
    names = ("go", *(f"go ({i})" for i in range(2, 9)), "x\x1b[31m\n")
    tree = TreePolicy.leaf(0, ("x",), names)
    told = to_be_told(tree, "prism")
    assert told.startswith(
        "8 actions have names that are no labels in PRISM's language; the module restricts the model"
    )
    assert "get the labels go_2 for 'go (2)', go_3 for 'go (3)', go_4" in told
    assert "go_6 for 'go (6)' and 3 more; the comments of the module say more" in told
    assert "// The model needs these labels" in export_tree(tree, "prism")
    plain = TreePolicy.leaf(0, ("x y",), ("go", "stay"))
    assert to_be_told(plain, "prism") is None
    assert "The model needs" not in export_tree(plain, "prism")
    rows = "x,action,next x,probability,reward\n0,go (2),0,1,1\n0,go,0,1,0\n"
    (tmp_path / "m.csv").write_text(rows, encoding="utf-8")
    assert run("solve", tmp_path / "m.csv", "--depth", 0, "--discount", 0.9, "--output", tmp_path / "s.json")[0] == 0
    status, out, err = run("export", tmp_path / "s.json", "--to", "prism")
    assert status == 0
    assert "omdt: 1 action has a name that is no label in PRISM's language" in err
    assert "// action 'go (2)' is called go_2\n" in out
    assert run("export", tmp_path / "s.json", "--to", "json")[2] == ""


@pytest.mark.parametrize(
    ("guard", "node"),
    [
        ("!up", {"threshold": 0.5}),
        ("!up", {"threshold": 0.0}),
        ("up", {"equals": 1.0}),
        ("!up", {"equals": 0.0}),
        ("true", {"threshold": 1.0}),
        ("false", {"threshold": -1.0}),
        ("false", {"equals": 2.0}),
    ],
)
def test_every_question_about_a_truth_value_has_its_guard(guard, node):
    nested = {"feature": "up", **node, "left": {"action": "a"}, "right": {"action": "b"}}
    tree = replace(TreePolicy.from_dict(nested, ("up",), ("a", "b")), truths=("up",))
    assert f"[a] ({guard}) -> true;" in export_tree(tree, "prism")


def in_prism(problem: Restricted) -> str:
    """A random problem in the PRISM language; it begins in the likeliest of its first states."""
    mdp, lines = problem.mdp, ["mdp", "module world"]
    names = [f"f{j}" for j in range(mdp.n_features)]
    whole = mdp.features.astype(int)
    ranges = [(int(column.min()), int(column.max())) for column in whole.T]
    start = whole[int(np.argmax(mdp.initial))]
    lines += [
        f"  {name} : [{low}..{max(high, low + 1)}] init {x};"
        for name, (low, high), x in zip(names, ranges, start, strict=True)
    ]
    rewards = []
    for s, a in np.argwhere(mdp.available):
        here = " & ".join(f"{name}={x}" for name, x in zip(names, whole[s], strict=True))
        moves = [
            f"{float(problem.P[s, a, t])!r} : "
            + " & ".join(f"({name}'={x})" for name, x in zip(names, whole[t], strict=True))
            for t in np.flatnonzero(problem.P[s, a])
        ]
        lines.append(f"  [{mdp.action_names[a]}] {here} -> {' + '.join(moves)};")
        rewards.append(f"  [{mdp.action_names[a]}] {here} : {float(problem.r[s, a])!r};")
    return "\n".join([*lines, "endmodule", "rewards", *rewards, "endrewards", ""])


@pytest.mark.needs("stormpy")
@given(restricted(max_states=5, max_actions=3, rewards=("few values",)), st.integers(0, 2))
@settings(max_examples=8)
def test_random_models_do_in_storm_what_was_printed(tmp_path_factory, problem, depth):
    folder = tmp_path_factory.mktemp("random")
    path = folder / "model.prism"
    path.write_text(in_prism(problem), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        mdp = omdt.read(path, discount=problem.mdp.discount)
    solution = solve(mdp, max_depth=depth)
    composed = in_prism(problem) + export_tree(solution.tree, "prism")
    value, choices = in_storm(composed, folder / "composed.prism", mdp.discount)
    assert value == pytest.approx(solution.value, rel=1e-5, abs=1e-5)
    assert set(choices) == {1}


@pytest.mark.needs("stormpy")
def test_the_tree_that_always_drives_charges_where_it_must(tmp_path):
    solution = solve(read_battery(BATTERY, tmp_path), max_depth=0)
    assert solution.tree.to_text() == "east"
    assert [(entry.action, entry.played, entry.states) for entry in solution.replaced] == [
        ("east", "charge", 4),
        ("east", "arrive", 3),
    ]
    text = export_tree(solution.tree, "prism")
    assert "[charge] false" not in text
    assert len(re.findall(r"battery=0\)", text)) == 4
    assert solution.tree.exceptions.forced == ("arrive",)
    assert "[arrive]" not in text
    assert "// Never blocked, because the model offers nothing else in the same states: arrive." in text


@pytest.mark.needs("stormpy")
def test_a_first_state_that_does_not_offer_the_action_is_no_deadlock(tmp_path):
    program = BATTERY.replace("battery : [0..2] init 1", "battery : [0..2] init 0")
    mdp = read_battery(program, tmp_path, fallback="charge")
    tree = solve(mdp, max_depth=0).tree
    assert tree.to_text() == "east"
    composed = program + export_tree(tree, "prism")
    value, choices = in_storm(composed, tmp_path / "composed.prism", 0.99)
    assert value == pytest.approx(planning.evaluate(mdp, tree), rel=1e-6)
    assert value > 0.5
    assert set(choices) == {1}
