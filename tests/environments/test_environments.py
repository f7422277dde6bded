"""Every environment keeps the same promises, and the paper's thirteen have the paper's figures."""

import inspect
import json
import math
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import get_args

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve
from single_steps import outcomes, reward, state_of

from omdt import environments
from omdt.environments import PAPER, describe, make, parameters, parse_parameters, registered
from omdt.errors import InputError
from omdt.mdp import MDP

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "reference.json").read_text())["environments"]
FAMILIES = ("frozenlake", "system_administrator", "admission", "cart_pole", "maintenance", "mountain_car")
DISCOUNTS = {"admission": 0.999, "maintenance": 0.995}
HEADINGS = ["What it models", "States", "Actions", "Transitions", "Rewards", "Start", "Parameters", "Source"]


def evaluate(mdp: MDP, transitions: sparse.csr_array, rewards: np.ndarray) -> np.ndarray:
    """[S] values of the Markov chain with these [S, S] transitions and [S] rewards."""
    return spsolve(sparse.csc_array(sparse.eye_array(mdp.n_states) - mdp.discount * transitions), rewards)


def best_return(mdp: MDP, sign: float = 1.0) -> float:
    """Return of the best policy, or of the worst one with sign −1, by policy iteration."""
    S, A = mdp.rewards.shape
    states, policy = np.arange(S), np.zeros(S, dtype=np.int64)
    while True:
        rows = states * A + policy
        V = evaluate(mdp, mdp.transitions[rows], sign * mdp.rewards.ravel()[rows])
        Q = sign * mdp.rewards + mdp.discount * (mdp.transitions @ V).reshape(S, A)
        better = Q.max(axis=1) > Q[states, policy] + 1e-10
        if not better.any():
            return float(sign * mdp.initial @ V)
        policy = np.where(better, Q.argmax(axis=1), policy)


def random_return(mdp: MDP) -> float:
    """Return of the uniformly random policy."""
    S, A = mdp.rewards.shape
    average = sparse.csr_array(sparse.kron(sparse.eye_array(S), np.full((1, A), 1 / A)))
    return float(mdp.initial @ evaluate(mdp, average @ mdp.transitions, mdp.rewards.mean(axis=1)))


RETURNS = {
    "optimal_return": best_return,
    "worst_return": lambda mdp: best_return(mdp, -1.0),
    "random_return": random_return,
}


def poisson(mean: float, largest: int) -> list[float]:
    weights = [mean**k / math.factorial(k) for k in range(largest + 1)]
    return [weight / sum(weights) for weight in weights]


# What holds for every environment.


@pytest.mark.parametrize("name", registered())
def test_every_environment_conforms(name: str) -> None:
    mdp = make(name)
    S, A, F = mdp.n_states, mdp.n_actions, mdp.n_features
    assert mdp.name == name
    assert mdp.discount == DISCOUNTS.get(name, 0.99)
    assert mdp.transitions.shape == (S * A, S)
    assert mdp.rewards.shape == (S, A)
    assert mdp.features.shape == (S, F)
    assert mdp.transitions.data.min() > 0
    np.testing.assert_allclose(mdp.transitions.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(mdp.initial.sum(), 1, atol=1e-12)
    assert len(set(mdp.feature_names)) == F
    assert len(set(mdp.action_names)) == A
    assert len(np.unique(mdp.features, axis=0)) == S, "states must be told apart by their features"
    assert mdp.reachable() is mdp


@pytest.mark.parametrize("name", registered())
def test_every_environment_is_the_same_each_time(name: str) -> None:
    one, two = make(name), make(name)
    for array in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(one.transitions, array), getattr(two.transitions, array))
    for array in ("rewards", "initial", "features"):
        np.testing.assert_array_equal(getattr(one, array), getattr(two, array))


@pytest.mark.parametrize("name", registered())
def test_every_description_has_the_same_headings(name: str) -> None:
    lines = describe(name).splitlines()
    assert [line[:-1] for line in lines[1:] if line and not line.startswith(" ")] == HEADINGS
    section = lines[lines.index("Parameters:") + 1 : lines.index("Source:")]
    described = [line.split(":")[0].strip() for line in section if line.startswith("    ") and line[4] != " "]
    # A member of a family shares the description of the family, which has more parameters.
    assert set(parameters(name)) <= set(described)
    assert name not in FAMILIES or list(parameters(name)) == described


@pytest.mark.parametrize("name", registered())
def test_every_parameter_can_be_written_on_a_command_line(name: str) -> None:
    for parameter, details in parameters(name).items():
        assert details.kind is inspect.Parameter.KEYWORD_ONLY
        kinds = get_args(details.annotation) if isinstance(details.annotation, UnionType) else (details.annotation,)
        assert {int, float, bool, str} & set(kinds), parameter
        assert parse_parameters(name, [f"{parameter}={details.default}"]) == {parameter: details.default}


@pytest.mark.parametrize("name", registered())
def test_the_discount_can_be_chosen(name: str) -> None:
    assert make(name, discount=0.5).discount == 0.5
    with pytest.raises(InputError, match="above 0 and at most 1"):
        make(name, discount=1.5)


def test_the_registry_lists_the_paper_first() -> None:
    assert len(PAPER) == 13
    assert registered() == (*PAPER, *FAMILIES)
    assert set(REFERENCE) - {"inventory_management_as_published"} == set(PAPER)


def test_the_documentation_lists_every_family():
    page = (Path(__file__).parents[2] / "docs" / "environments.md").read_text()
    families = {f"omdt.environments.{entry.module}.{entry.function}" for entry in environments._ENTRIES.values()}
    assert set(re.findall(r"^::: (\S+)$", page, re.M)) == families


def test_the_registry_is_imported_without_numpy() -> None:
    code = "import sys, omdt.environments; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# The paper's figures.

VARIANTS = {
    **{name: (name, {}, REFERENCE[name]) for name in PAPER},
    "blackjack_tie_reward_0": ("blackjack", {"tie_reward": 0.0}, REFERENCE["blackjack"]["tie_reward_0"]),
    "inventory_management_as_published": (
        "inventory_management",
        {"as_published": True},
        REFERENCE["inventory_management_as_published"],
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_returns_equal_the_reference(variant: str) -> None:
    name, chosen, reference = VARIANTS[variant]
    mdp = make(name, **chosen)
    for figure, compute in RETURNS.items():
        if figure in reference:
            assert compute(mdp) == pytest.approx(reference[figure], abs=1e-6), figure


@pytest.mark.parametrize("name", PAPER)
def test_sizes_and_names_equal_the_reference(name: str) -> None:
    mdp, reference = make(name), REFERENCE[name]
    assert mdp.n_states == reference["n_states"]
    assert mdp.n_actions == reference["n_actions"]
    assert mdp.n_features == reference["n_features"]
    assert list(mdp.feature_names) == reference["feature_names"]
    if name == "inventory_management":
        assert mdp.action_names == ("Don't buy", *(f"Buy {order}" for order in range(1, 100)))
    else:
        assert list(mdp.action_names) == reference["action_names"]


# Single transitions, worked out by hand.


def test_navigation_disappears_with_the_drawn_chance() -> None:
    mdp = make("3d_navigation")
    chance = np.random.RandomState(0).rand(123)[-1]  # the last cell before the goal, number 123 from the start
    near = state_of(mdp, 4, 4, 3)
    assert near == 123
    assert outcomes(mdp, near, "forward") == pytest.approx({(0, 0, 0): chance, (4, 4, 4): 1 - chance})
    assert outcomes(mdp, near, "right") == pytest.approx({(0, 0, 0): chance, (4, 4, 3): 1 - chance})
    assert reward(mdp, near, "forward") == pytest.approx(1 - chance)
    assert outcomes(mdp, 0, "left") == {(0, 0, 0): 1.0}
    assert outcomes(mdp, 124, "up") == {(0, 0, 0): 1.0}
    assert not mdp.rewards[124].any()


def test_blackjack_deals_and_pays() -> None:
    mdp = make("blackjack")
    deal = outcomes(mdp, 0, "Draw")
    assert deal == outcomes(mdp, 0, "Skip")
    assert deal[0, 4, 2] == pytest.approx(1 / 13**3)
    assert deal[0, 22, 10] == pytest.approx(4 / 13**3)
    assert deal[0, 20, 11] == pytest.approx((16 + 2) / 13**3)  # ten and ten, or nine and ace in either order

    twelve = state_of(mdp, 0, 12, 5)
    draws = {(0, total, 5): 1 / 13 for total in range(14, 22)} | {(0, 22, 5): 5 / 13}
    assert outcomes(mdp, twelve, "Draw") == pytest.approx(draws)
    skips = {(1, 12, total): 1 / 13 for total in (*range(7, 15), 16)} | {(1, 12, 15): 4 / 13}
    assert outcomes(mdp, twelve, "Skip") == pytest.approx(skips)
    assert outcomes(mdp, state_of(mdp, 1, 12, 16), "Draw") == outcomes(mdp, state_of(mdp, 1, 12, 16), "Skip")
    assert outcomes(mdp, state_of(mdp, 1, 12, 17), "Draw") == {(0, 0, 0): 1.0}

    paid = {(1, 21, 20): 1.5, (1, 21, 22): 1, (1, 20, 22): 1, (1, 20, 19): 1, (1, 18, 18): -1, (1, 18, 19): -1}
    for observation, expected in {**paid, (0, 22, 5): -1, (1, 18, 16): 0, (0, 12, 5): 0}.items():
        assert reward(mdp, state_of(mdp, *observation), "Draw") == expected, observation


def test_blackjack_rules_can_be_changed() -> None:
    mdp = make("blackjack", tie_reward=0.25, twenty_one_reward=3.0, dealer_stands=18)
    assert reward(mdp, state_of(mdp, 1, 21, 20), "Skip") == 3.0
    assert reward(mdp, state_of(mdp, 1, 18, 18), "Skip") == 0.25
    assert reward(mdp, state_of(mdp, 1, 17, 17), "Skip") == 0.0
    assert (1, 17, 22) in outcomes(mdp, state_of(mdp, 1, 17, 17), "Skip")


def test_frozenlake_slips_to_either_side() -> None:
    mdp = make("frozenlake_4x4")
    third = pytest.approx(1 / 3)
    assert outcomes(mdp, 14, "Right") == {(2, 3): third, (3, 3): third, (2, 2): third}
    assert reward(mdp, 14, "Right") == third
    assert reward(mdp, 14, "Left") == 0
    assert outcomes(mdp, 0, "Left") == {(0, 0): pytest.approx(2 / 3), (0, 1): third}
    assert mdp.terminal.nonzero()[0].tolist() == [5, 7, 11, 12, 15]


def test_frozenlake_need_not_be_slippery() -> None:
    mdp = make("frozenlake_8x8", slippery=False)
    assert outcomes(mdp, 0, "Down") == {(0, 1): 1.0}
    assert best_return(mdp) == pytest.approx(0.99**13)  # 14 moves, the last of which is rewarded


@pytest.mark.parametrize("as_published", [False, True])
def test_inventory_sells_what_there_is(as_published: bool) -> None:
    mdp = make("inventory_management", as_published=as_published)
    p = poisson(15, 74)
    left = {(3,): p[0], (2,): p[1], (1,): p[2], (0,): 1 - sum(p[:3])}
    assert outcomes(mdp, 3, "Don't buy") == pytest.approx(left)
    assert outcomes(mdp, 1, "Buy 2") == pytest.approx(left)
    assert outcomes(mdp, 100, "Buy 50") == outcomes(mdp, 100, "Don't buy")
    weights = {items: q * q if as_published else q for (items,), q in left.items()}
    profit = sum(weight * (4 * (3 - items) - 10 - 2 * 2 - 1) for items, weight in weights.items())
    assert reward(mdp, 1, "Buy 2") == pytest.approx(profit)


def test_system_administrator_reboots_and_spreads_crashes() -> None:
    mdp = make("system_administrator_tree")
    all_up, all_down, root_only = (1,) * 7, (0,) * 7, (1, 0, 0, 0, 0, 0, 0)
    assert mdp.initial[state_of(mdp, *all_up)] == 1
    assert outcomes(mdp, state_of(mdp, *all_up), "wait")[all_up] == pytest.approx(0.95**7)
    assert outcomes(mdp, state_of(mdp, *all_up), "reboot_computer_0")[all_up] == pytest.approx(0.95**6)
    assert outcomes(mdp, state_of(mdp, *all_down), "wait") == pytest.approx({all_down: 0.95, root_only: 0.05})
    assert outcomes(mdp, state_of(mdp, *all_down), "reboot_computer_0") == {root_only: 1.0}
    assert reward(mdp, state_of(mdp, *all_up), "wait") == 7
    assert reward(mdp, state_of(mdp, *root_only), "reboot_computer_3") == pytest.approx(0.55)


def test_system_administrator_counts_incoming_neighbours() -> None:
    mdp = make("system_administrator_1")
    # Of the neighbours 1, 6 and 7 of computer 5 only 7 runs; computer 7 hangs on 0, and 3 on 2 and 6, all of them down.
    only = state_of(mdp, 0, 0, 0, 0, 0, 1, 0, 1)
    runs = [sum(p for bits, p in outcomes(mdp, only, "wait").items() if bits[i]) for i in range(8)]
    assert runs == pytest.approx([0, 0, 0, 0, 0.05, 0.95 / 3, 0, 0])


def tictactoe_board(mdp: MDP, board: str) -> int:
    return state_of(mdp, *(float(mark == kind) for mark in board.replace("/", "") for kind in ".xo"))


def test_tictactoe_replies_at_random() -> None:
    mdp = make("tictactoe_vs_random")
    terminal = (-1.0,) * 27
    assert tictactoe_board(mdp, ".../.../...") == 0
    assert sorted(outcomes(mdp, 0, "center").values()) == [1 / 8] * 8
    board = tictactoe_board(mdp, "xx./oo./...")
    assert reward(mdp, board, "top_right") == 1
    assert outcomes(mdp, board, "top_right") == {terminal: 1.0}
    assert reward(mdp, board, "center_left") == -1
    assert outcomes(mdp, board, "center_left") == {terminal: 1.0}
    assert reward(mdp, board, "bottom_right") == -0.25
    replies = ["xxo/oo./..x", "xx./oo./o.x", "xx./oo./.ox"]
    expected = {tuple(mdp.features[tictactoe_board(mdp, reply)].tolist()): 0.25 for reply in replies}
    assert outcomes(mdp, board, "bottom_right") == {**expected, terminal: 0.25}
    last = tictactoe_board(mdp, "xox/xxo/o.o")
    assert reward(mdp, last, "bottom_center") == 0
    assert outcomes(mdp, last, "bottom_center") == {terminal: 1.0}


def test_tiger_and_antelope_move_at_once() -> None:
    mdp = make("tiger_vs_antelope")
    cornered = state_of(mdp, 0, 0, 1, 0)
    assert outcomes(mdp, cornered, "left") == {(0, 1, 0, 0): 1.0}
    apart = state_of(mdp, 0, 0, 4, 4)
    assert outcomes(mdp, apart, "up") == {(0, 1, 4, 4): 0.5, (1, 0, 4, 4): 0.5}
    caught = state_of(mdp, 2, 3, 2, 3)
    assert outcomes(mdp, caught, "wait") == {(-1, -1, -1, -1): 1.0}
    assert mdp.rewards.sum() == 25 * 5
    assert mdp.rewards[caught].tolist() == [1.0] * 5
    np.testing.assert_allclose(mdp.initial, 1 / 626)
    assert mdp.terminal.nonzero()[0].tolist() == [625]


def test_traffic_passes_waits_and_arrives() -> None:
    mdp = make("traffic_intersection")
    state = state_of(mdp, 0, 1, 4, 2)
    assert reward(mdp, state, "wait") == pytest.approx(1 - 4 * 0.1 * 4)
    assert reward(mdp, state, "switch_light") == pytest.approx(1 - 4 * 0.1 * 4 - 2)
    left, right = poisson(0.1, 5), poisson(0.5, 1)
    expected = {(0, i, 4 + j, 3): left[i] * right[j] for i in range(6) for j in range(2)}
    assert outcomes(mdp, state, "wait") == pytest.approx(expected)
    switched = {(1, i, j, 1): p for (_, i, j, _), p in expected.items()}
    assert outcomes(mdp, state, "switch_light") == pytest.approx(switched)
    assert {time for *_, time in outcomes(mdp, state_of(mdp, 1, 0, 0, 5), "wait")} == {5}
    assert reward(mdp, state_of(mdp, 1, 3, 0, 1), "wait") == pytest.approx(-3 * 0.2)


def test_xor_rewards_the_right_label() -> None:
    mdp = make("xor")
    np.testing.assert_array_equal(mdp.features, np.random.RandomState(0).rand(200, 2))
    for (x, y), (not_xor, yes_xor) in zip(mdp.features, mdp.rewards, strict=True):
        assert (not_xor, yes_xor) == ((-1, 1) if (x < 0.5) != (y < 0.5) else (1, -1))
    np.testing.assert_allclose(mdp.transitions.toarray(), 1 / 200)


# Other sizes.


@pytest.mark.parametrize(
    ("name", "chosen", "states", "actions"),
    [
        ("3d_navigation", {"size": 3, "seed": 7}, 27, 6),
        ("frozenlake", {"map": "SFG"}, 3, 4),
        ("frozenlake", {"map": ["SFH", "FFG"]}, 6, 4),
        ("frozenlake", {"map": "SHF/HGF"}, 3, 4),
        ("inventory_management", {"capacity": 10}, 11, 10),
        ("inventory_management", {"capacity": 6, "max_order": 20, "max_demand": 3, "mean_demand": 1.0}, 7, 21),
        ("inventory_management", {"capacity": 5, "mean_demand": 0.0, "max_order": 2}, 6, 3),
        ("inventory_management", {"capacity": 30, "mean_demand": 1000.0, "max_demand": 30}, 31, 30),
        ("system_administrator", {"topology": "ring", "computers": 5}, 32, 6),
        ("system_administrator", {"topology": "star", "computers": 4}, 16, 5),
        ("system_administrator", {"topology": "line", "computers": 3}, 8, 4),
        ("system_administrator", {"topology": "2"}, 256, 9),
        ("system_administrator", {"topology": {0: [], 1: [0, 1]}, "reboot_cost": 2}, 4, 3),
        ("tictactoe_vs_random", {"rows": 1, "columns": 2, "in_a_row": 2}, 2, 2),
        ("tictactoe_vs_random", {"rows": 2, "columns": 3, "in_a_row": 2}, 36, 6),
        ("tictactoe_vs_random", {"rows": 2, "columns": 4}, 966, 8),
        ("tiger_vs_antelope", {"width": 3, "height": 4}, 145, 5),
        ("traffic_intersection", {"capacity": 2, "max_waiting_time": 3}, 2 * 3 * 3 * 3 + 1, 2),
        ("traffic_intersection", {"left_rate": 0.0, "right_rate": 0.0, "max_waiting_time": 1}, 3, 2),
        ("xor", {"points": 50, "seed": 3}, 50, 2),
        ("admission", {"capacity": 3}, 48, 4),
        ("admission", {"capacity": 1, "regular_arrivals": 0.0, "premium_service": 0.0}, 12, 4),
        ("cart_pole", {"cart_points": 2, "pole_points": 2, "steps": 1}, 17, 2),
        ("cart_pole", {"cart_points": 3, "pole_points": 3, "force": 0.0}, 82, 2),
        ("cart_pole", {"cart_points": 3, "pole_points": 3, "force": 1000.0, "steps": 100}, 82, 2),
        ("maintenance", {"machines": 10, "levels": 2}, 1024, 11),
        ("maintenance", {"machines": 2, "levels": 9, "repair_probability": 1.0, "wear_probability": 0.0}, 81, 3),
        ("mountain_car", {"size": 3}, 8, 3),  # no car comes to the goal backwards
    ],
)
def test_other_sizes_build(name: str, chosen: dict[str, object], states: int, actions: int) -> None:
    mdp = make(name, **chosen)
    assert (mdp.n_states, mdp.n_actions) == (states, actions)
    assert mdp.name == name
    assert best_return(mdp, -1.0) <= random_return(mdp) <= best_return(mdp)


@pytest.mark.parametrize(("size", "hole_probability"), [(2, 0.2), (20, 0.3), (60, 0.35), (200, 0.2)])
def test_a_random_lake_can_be_crossed(size: int, hole_probability: float) -> None:
    mdp = make("frozenlake", size=size, seed=3, hole_probability=hole_probability, slippery=False)
    assert mdp.features[mdp.initial > 0].tolist() == [[0, 0]]
    ways_in = mdp.features[(mdp.rewards > 0).any(axis=1)].tolist()
    assert ways_in
    assert all([size - 1 - x, size - 1 - y] in ([1, 0], [0, 1]) for x, y in ways_in)
    assert mdp.n_states <= size**2


def test_random_lakes_follow_their_seed() -> None:
    one, same, other = (make("frozenlake", size=20, seed=seed) for seed in (3, 3, 4))
    assert (one.transitions != same.transitions).nnz == 0
    assert one.transitions.shape != other.transitions.shape or (one.transitions != other.transitions).nnz > 0
    default = make("frozenlake", size=20)
    assert (default.transitions != make("frozenlake", size=20, seed=0, hole_probability=0.2).transitions).nnz == 0


def test_a_lake_without_holes_keeps_every_tile() -> None:
    assert make("frozenlake", size=30, hole_probability=0.0).n_states == 900


def test_families_contain_their_members() -> None:
    pairs = [
        (make("frozenlake"), make("frozenlake_4x4")),
        (make("frozenlake", map="12x12"), make("frozenlake_12x12")),
        (make("system_administrator"), make("system_administrator_tree")),
        (make("system_administrator", topology="0:-;1:0;2:0;3:1;4:1;5:2;6:2"), make("system_administrator_tree")),
    ]
    for one, two in pairs:
        assert (one.transitions != two.transitions).nnz == 0
        np.testing.assert_array_equal(one.rewards, two.rewards)


def test_generated_networks_depend_on_the_right_computer() -> None:
    ring = make("system_administrator", topology="ring", computers=3)
    assert outcomes(ring, state_of(ring, 1, 0, 0), "wait") == pytest.approx({(0, 0, 0): 0.95, (0, 1, 0): 0.05})
    star = make("system_administrator", topology="star", computers=3)
    runs = outcomes(star, state_of(star, 1, 0, 0), "reboot_computer_0")
    assert runs == pytest.approx({(1, 0, 0): 0.95**2, (1, 0, 1): 0.0475, (1, 1, 0): 0.0475, (1, 1, 1): 0.0025})
    line = make("system_administrator", topology="line", computers=3, recovery_probability=0.5)
    assert outcomes(line, state_of(line, 0, 1, 0), "wait")[0, 0, 1] == pytest.approx(0.25)


def test_tictactoe_on_other_boards_names_squares_by_place() -> None:
    mdp = make("tictactoe_vs_random", rows=2, columns=3, in_a_row=3)
    assert mdp.action_names[:4] == ("row_0_column_0", "row_0_column_1", "row_0_column_2", "row_1_column_0")
    assert mdp.feature_names[3] == "row_0_column_1_free"
    board = tictactoe_board(mdp, "xo./xo.")
    assert reward(mdp, board, "row_0_column_2") == 0, "a board filled by the opponent is a draw"


# Parameters from the command line.


@pytest.mark.parametrize(
    ("name", "assignments", "expected"),
    [
        ("frozenlake", ["size=20", "slippery=false"], {"size": 20, "slippery": False}),
        ("frozenlake", ["slippery=Yes", "size=none"], {"slippery": True, "size": None}),
        ("frozenlake", ["slippery=0", "map=SF/FG"], {"slippery": False, "map": "SF/FG"}),
        ("frozenlake", ["slippery=1", "hole_probability=.5"], {"slippery": True, "hole_probability": 0.5}),
        ("inventory_management", ["as_published=False"], {"as_published": False}),
        ("blackjack", ["tie_reward=0"], {"tie_reward": 0.0}),
        ("system_administrator", ["topology=0:-;1:0", "reboot_cost=1e-1"], {"topology": "0:-;1:0", "reboot_cost": 0.1}),
        ("xor", [], {}),
    ],
)
def test_assignments_are_parsed_by_type(name: str, assignments: list[str], expected: dict[str, object]) -> None:
    parsed = parse_parameters(name, assignments)
    assert parsed == expected
    assert [type(value) for value in parsed.values()] == [type(value) for value in expected.values()]


@pytest.mark.parametrize(
    ("name", "assignments", "message"),
    [
        ("xor", ["points"], "'points' does not set a parameter; write NAME=VALUE"),
        ("xor", ["points=many"], "parameter 'points' of xor is 'many'; it must be a whole number"),
        ("xor", ["points=2.5"], "parameter 'points' of xor is '2.5'; it must be a whole number"),
        ("xor", ["point=3"], "xor has no parameter 'point'; it has points, seed, discount"),
        ("xor", ["points=3", "points=4"], "'points' is set twice"),
        ("blackjack", ["tie_reward=none"], "it must be a number"),
        ("frozenlake", ["slippery=maybe"], "'slippery' of frozenlake is 'maybe'; it must be true or false"),
        ("frozenlake", ["size=big"], "it must be a whole number or none"),
        ("frozenlake_4x4", ["map=SG"], "frozenlake_4x4 does not let you choose 'map'; frozenlake does"),
        ("no_such", ["size=2"], "there is no environment called 'no_such'"),
    ],
)
def test_bad_assignments_are_explained(name: str, assignments: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_parameters(name, assignments)
    assert message in str(caught.value)


# Bad parameters.


@pytest.mark.parametrize(
    ("name", "chosen", "message"),
    [
        ("frozenlak", {}, "there is no environment called 'frozenlak'; did you mean frozenlake"),
        ("???", {}, "there are 3d_navigation, blackjack"),
        ("xor", {"size": 3}, "xor has no parameter 'size'; it has points, seed, discount"),
        ("xor", {"points": 2.5}, "'points' of xor is 2.5; it must be a whole number"),
        ("xor", {"points": True}, "'points' of xor is True; it must be a whole number"),
        ("xor", {"points": 0}, "points is 0; it must be finite and at least 1"),
        ("xor", {"points": 10**6}, "xor with 1000000 points would have up to 2,000,000,000,000 transitions"),
        ("xor", {"seed": -1}, "seed is -1; it must be between 0 and 4294967295"),
        ("blackjack", {"tie_reward": "0"}, "'tie_reward' of blackjack is '0'; it must be a number"),
        ("blackjack", {"tie_reward": math.nan}, "tie_reward is nan; it must be a finite number"),
        ("blackjack", {"twenty_one_reward": math.inf}, "twenty_one_reward is inf; it must be a finite number"),
        ("blackjack", {"dealer_stands": 22}, "dealer_stands is 22; it must be between 2 and 21"),
        ("3d_navigation", {"size": 1}, "size is 1; it must be finite and at least 2"),
        ("3d_navigation", {"size": 10**400}, "would have up to"),
        ("frozenlake", {"slippery": 1}, "'slippery' of frozenlake is 1; it must be true or false"),
        ("frozenlake", {"map": 4}, "'map' of frozenlake is 4; it must be text or a sequence or none"),
        ("frozenlake", {"map": []}, "at least one row"),
        ("frozenlake", {"map": [1, 2]}, "every row must be a string"),
        ("frozenlake", {"map": "FF/FG"}, "the map has 0 tiles S; it must have exactly one start"),
        ("frozenlake", {"map": "SS/FG"}, "the map has 2 tiles S"),
        ("frozenlake", {"map": "SF/FF"}, "the map has no tile G"),
        ("frozenlake", {"map": "SFF/FG"}, "row 1 of the map has 2 tiles but row 0 has 3"),
        ("frozenlake", {"map": "SF/XG"}, "row 1 of the map has the letter 'X'"),
        ("frozenlake", {"map": "5x5"}, "or is one of 4x4, 8x8, 12x12"),
        ("frozenlake", {"map": "4x4", "size": 9}, "map and size exclude each other"),
        ("frozenlake", {"seed": 3}, "give its size as well"),
        ("frozenlake", {"hole_probability": 0.1, "map": "SG"}, "give its size as well"),
        ("frozenlake", {"size": 1}, "size is 1; it must be finite and at least 2"),
        ("frozenlake", {"size": 5, "hole_probability": 1.5}, "hole_probability is 1.5; it must be between 0 and 1"),
        ("frozenlake", {"size": 5, "hole_probability": 1.0}, "lower hole_probability"),
        ("frozenlake", {"size": 10_000}, "at most 40,000,000 are built"),
        ("frozenlake_8x8", {"size": 9}, "frozenlake_8x8 does not let you choose 'size'; frozenlake does"),
        ("inventory_management", {"capacity": 1}, "capacity is 1; it must be finite and at least 2"),
        ("inventory_management", {"max_order": 0}, "max_order is 0"),
        ("inventory_management", {"mean_demand": -1.0}, "mean_demand is -1.0; it must be finite and at least 0"),
        ("inventory_management", {"max_demand": 0}, "max_demand is 0; it must be between 1 and 1000000"),
        ("inventory_management", {"item_cost": math.inf}, "item_cost is inf"),
        ("inventory_management", {"capacity": 10_000}, "at most 40,000,000 are built"),
        ("system_administrator", {"computers": 20}, "20 computers have 2^20 states"),
        ("system_administrator", {"computers": 20}, "at most 11 computers are built"),
        ("system_administrator", {"topology": {i: [] for i in range(12)}}, "12 computers have 2^12 states"),
        ("system_administrator", {"computers": 1}, "computers is 1; it must be finite and at least 2"),
        ("system_administrator", {"topology": "1", "computers": 8}, "this topology has 8 of its own"),
        ("system_administrator", {"topology": "mesh"}, "cannot be read at 'mesh'; it is one of 1, 2, tree, ring"),
        ("system_administrator", {"topology": "0:-;1:"}, "cannot be read at '1:'"),
        ("system_administrator", {"topology": "0:-;0:-"}, "lists computer 0 twice"),
        ("system_administrator", {"topology": "0:-;1:2"}, "computer 1 has neighbour 2, but the computers are 0 to 1"),
        ("system_administrator", {"topology": "0:-;1:0,0"}, "computer 1 has a neighbour twice"),
        ("system_administrator", {"topology": "0:-;2:0"}, "numbered 0, 1, 2, … without gaps, not [0, 2]"),
        ("system_administrator", {"topology": {}}, "without gaps"),
        ("system_administrator", {"topology": {0: 0}}, "the neighbours of computer 0 must be a list, not 0"),
        ("system_administrator", {"survival_probability": 1.1}, "survival_probability is 1.1"),
        ("system_administrator", {"recovery_probability": -0.1}, "it must be between 0 and 1"),
        ("system_administrator", {"reboot_cost": math.nan}, "reboot_cost is nan"),
        ("tictactoe_vs_random", {"rows": 0}, "rows is 0"),
        ("tictactoe_vs_random", {"columns": 0}, "columns is 0"),
        ("tictactoe_vs_random", {"rows": 4, "columns": 4}, "rows times columns must be between 2 and 14"),
        ("tictactoe_vs_random", {"in_a_row": 4}, "in_a_row is 4; it must be between 2 and 3"),
        ("tiger_vs_antelope", {"width": 1}, "width is 1"),
        ("tiger_vs_antelope", {"height": 1}, "height is 1"),
        ("tiger_vs_antelope", {"width": 1000}, "tiger_vs_antelope on 1000 by 5 cells"),
        ("traffic_intersection", {"capacity": 0}, "capacity is 0"),
        ("traffic_intersection", {"capacity": 10**6}, "at most 40,000,000 are built"),
        ("traffic_intersection", {"max_waiting_time": 0}, "max_waiting_time is 0; it must be between 1 and 100"),
        ("traffic_intersection", {"left_rate": -0.1}, "left_rate is -0.1; it must be finite and at least 0"),
        ("traffic_intersection", {"right_rate": math.inf}, "right_rate is inf"),
        ("traffic_intersection", {"switch_cost": math.nan}, "switch_cost is nan"),
        ("admission", {"capacity": 0}, "capacity is 0; it must be finite and at least 1"),
        ("admission", {"capacity": np.int64(10**12)}, "admission with capacity 1000000000000 would have up to"),
        ("admission", {"regular_arrivals": 1.5}, "regular_arrivals is 1.5; it must be between 0 and 1"),
        ("admission", {"premium_service": -0.1}, "premium_service is -0.1; it must be between 0 and 1"),
        ("admission", {"premium_holding": math.nan}, "premium_holding is nan"),
        ("admission", {"rejection_cost": math.inf}, "rejection_cost is inf"),
        ("cart_pole", {"cart_points": 1}, "cart_points is 1; it must be finite and at least 2"),
        ("cart_pole", {"pole_points": 1}, "pole_points is 1"),
        ("cart_pole", {"pole_points": 10**6}, "cart_pole with 5 cart_points and 1000000 pole_points would have up to"),
        ("cart_pole", {"steps": 0}, "steps is 0; it must be between 1 and 100"),
        ("cart_pole", {"force": math.nan}, "force is nan; it must be between 0 and 1000"),
        ("maintenance", {"machines": 11}, "machines is 11; it must be between 1 and 10"),
        ("maintenance", {"levels": 1}, "levels is 1"),
        ("maintenance", {"machines": 9}, "maintenance of 9 machines with 10 levels would have up to"),
        ("maintenance", {"wear_probability": 1.1}, "wear_probability is 1.1"),
        ("maintenance", {"repair_probability": -1.0}, "repair_probability is -1.0; it must be between 0 and 1"),
        ("maintenance", {"production_ratio": -0.5}, "production_ratio is -0.5"),
        ("maintenance", {"failure_cost": math.inf}, "failure_cost is inf; it must be a finite number"),
        ("maintenance", {"repair_cost": math.nan}, "repair_cost is nan"),
        ("mountain_car", {"size": 2}, "size is 2; it must be finite and at least 3"),
        ("mountain_car", {"size": 10**5}, "mountain_car of size 100000 would have up to 120,000,000,000 transitions"),
        ("mountain_car", {"steps": 0}, "steps is 0; it must be between 1 and 1000"),
        ("mountain_car", {"force": -0.1}, "force is -0.1; it must be between 0 and 1"),
        ("mountain_car", {"gravity": 2.0}, "gravity is 2.0"),
    ],
)
def test_bad_parameters_are_explained(name: str, chosen: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make(name, **chosen)
    assert message in str(caught.value)


@pytest.mark.parametrize("value", [np.int64(30), 30])
def test_numpy_numbers_are_numbers(value: int) -> None:
    assert make("xor", points=value, discount=np.float64(0.9)).n_states == 30


def test_maps_may_be_any_sequence_of_rows() -> None:
    rows: Sequence[str] = ("SF", "FG")
    assert make("frozenlake", map=rows).n_states == 4
