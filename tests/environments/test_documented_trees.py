"""The trees that the documentation shows return what it says, and play in Gymnasium as it says."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from omdt import planning
from omdt.environments import make
from omdt.mdp import MDP

PAGE = (Path(__file__).parents[2] / "docs" / "environments.md").read_text(encoding="utf-8")
SHOWN = {
    name: (text, tree)
    for name, text, tree in re.findall(
        r"^::: omdt\.environments\.(\w+)\.\1\n\n(The tree .*?)\n\n```text\n(.*?)```", PAGE, re.M | re.S
    )
}
FAMILIES = ("admission", "cart_pole", "maintenance", "mountain_car")


def actions(mdp: MDP, tree: str, observations: np.ndarray) -> np.ndarray:
    """[n] the actions of a tree that is drawn as text."""
    lines = iter([re.sub(r"^[│├└─ ]*(yes:|no:)? *", "", line) for line in tree.splitlines()])
    return below(mdp, lines, observations)


def below(mdp: MDP, lines: Iterator[str], observations: np.ndarray) -> np.ndarray:
    """[n] the actions of the subtree that comes next."""
    feature, is_question, threshold = next(lines).partition(" ≤ ")
    if not is_question:
        return np.full(len(observations), mdp.action_names.index(feature))
    yes, no = below(mdp, lines, observations), below(mdp, lines, observations)
    return np.where(observations[:, mdp.feature_names.index(feature)] <= float(threshold), yes, no)


@pytest.mark.parametrize("name", FAMILIES)
def test_shown_trees_return_what_is_said(name: str) -> None:
    text, tree = SHOWN[name]
    returns, best, share = re.match(
        r"The tree of depth 2 returns (\S+), the best policy of any form (\S+): (\d+) %", text.replace("−", "-")
    ).groups()
    mdp = make(name)
    values = {
        "tree": planning.policy_values(mdp, actions(mdp, tree, mdp.features)),
        "best": planning.optimal_values(mdp),
        "random": planning.policy_values(mdp, planning.random_policy(mdp)),
    }
    found = {which: planning.expected_return(mdp, its).value for which, its in values.items()}
    assert found["tree"] == pytest.approx(float(returns), abs=5.1e-4)
    assert found["best"] == pytest.approx(float(best), abs=5.1e-4)
    normalised = (found["tree"] - found["random"]) / (found["best"] - found["random"])
    assert 100 * normalised == pytest.approx(float(share), abs=0.51)


@pytest.mark.needs("gymnasium")
@pytest.mark.parametrize(
    ("name", "env_id", "hold", "said"),
    [("mountain_car", "MountainCar-v0", 5, "after 108 steps"), ("cart_pole", "CartPole-v1", 2, "for 196 steps")],
)
def test_shown_trees_play_in_gymnasium(name: str, env_id: str, hold: int, said: str) -> None:
    import gymnasium

    mdp, env, steps = make(name), gymnasium.make(env_id), []
    for seed in range(100):
        observation, _ = env.reset(seed=seed)
        over, time, action = False, 0, 0
        while not over:
            if time % hold == 0:
                action = int(actions(mdp, SHOWN[name][1], observation[None])[0])
            observation, _, terminated, truncated, _ = env.step(action)
            time, over = time + 1, terminated or truncated
        assert terminated
        steps.append(time)
    assert said in " ".join(PAGE.split())
    assert f"{np.mean(steps):.0f} steps" in said
