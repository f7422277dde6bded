"""Random models whose states offer different actions, their MDP by definition, and a tiny writer of each format."""

import warnings
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import omdt
from omdt import MDP, InputWarning
from random_mdps import random_model

MODELS = Path(__file__).parent.parent / "data" / "models"
NAMES = ("go", "stay", "up")


@dataclass(frozen=True)
class ChoiceModel:
    """choices[s] maps an action's name to its distribution [S] and its reward; X [S, F] are whole numbers."""

    choices: list[dict[str, tuple[np.ndarray, float]]]
    initial: list[int]
    X: np.ndarray

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for offered in self.choices for name in offered))

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """P [S, A, S] and r [S, A], where an action that is not offered means the first of those that are."""
        S, names = len(self.choices), self.names
        P, r = np.zeros((S, len(names), S)), np.zeros((S, len(names)))
        for s, offered in enumerate(self.choices):
            for a, name in enumerate(names):
                P[s, a], r[s, a] = offered[name if name in offered else min(offered, key=names.index)]
        return P, r

    def available(self) -> np.ndarray:
        """[S, A] whether each action is offered."""
        return np.array([[name in offered for name in self.names] for offered in self.choices])

    def p0(self) -> np.ndarray:
        p0 = np.zeros(len(self.choices))
        p0[self.initial] = 1 / len(self.initial)
        return p0

    def best_return(self, discount: float) -> float:
        """The best return over all ways of picking one offered action a state."""
        best = -np.inf
        for picks in product(*(offered.values() for offered in self.choices)):
            P, r = np.array([p for p, _ in picks]), np.array([reward for _, reward in picks])
            best = max(best, self.p0() @ np.linalg.solve(np.eye(len(r)) - discount * P, r))
        return float(best)


def assert_is(mdp: MDP, model: ChoiceModel, discount: float) -> None:
    P, r = model.arrays()
    S, A = r.shape
    assert mdp.action_names == tuple(model.names)
    np.testing.assert_allclose(mdp.transitions.toarray().reshape(S, A, S), P, rtol=0, atol=1e-12)
    np.testing.assert_allclose(mdp.rewards, r, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(mdp.available, model.available())
    np.testing.assert_allclose(mdp.initial, model.p0(), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(mdp.features, model.X)
    assert mdp.discount == discount


def read_with_warnings(path: Path | str, **parameters: Any) -> tuple[MDP, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mdp = omdt.read(path, **parameters)
    assert all(issubclass(warning.category, InputWarning) for warning in caught)
    return mdp, [str(warning.message) for warning in caught]


def read_quietly(path: Path | str, **parameters: Any) -> MDP:
    return read_with_warnings(path, **parameters)[0]


@st.composite
def choice_models(draw: st.DrawFn, *, max_states: int = 6) -> ChoiceModel:
    size = {"states": draw(st.integers(1, max_states)), "actions": len(NAMES)}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    model = random_model(rng, **size, reward_axes="SA", unavailable=0.5)
    choices = [
        {NAMES[a]: (model.P[s, a], float(model.R[s, a])) for a in rng.permutation(np.flatnonzero(model.available[s]))}
        for s in range(size["states"])
    ]
    return ChoiceModel(choices, np.flatnonzero(model.p0).tolist(), model.X)


def write_drn(model: ChoiceModel, path: Path) -> None:
    count = sum(len(offered) for offered in model.choices)
    lines = ["@type: MDP", "@parameters", "", "@reward_models", "r"]
    lines += ["@nr_states", str(len(model.choices)), "@nr_choices", str(count), "@model"]
    for s, offered in enumerate(model.choices):
        lines.append(f"state {s} [0]" + (" init" if s in model.initial else ""))
        lines.append(f"//[x={model.X[s, 0]:g}\t& y={model.X[s, 1]:g}]")
        for name, (p, reward) in offered.items():
            lines.append(f"\taction {name} [{reward!r}]")
            lines += [f"\t\t{t} : {float(p[t])!r}" for t in np.flatnonzero(p)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_prism(model: ChoiceModel, path: Path) -> None:
    rows, rewards = [], []
    for s, offered in enumerate(model.choices):
        for c, (name, (p, reward)) in enumerate(offered.items()):
            for t in np.flatnonzero(p):
                rows.append(f"{s} {c} {t} {float(p[t])!r} {name}")
                rewards.append(f"{s} {c} {t} {reward!r}")
    sizes = f"{len(model.choices)} {sum(map(len, model.choices))} {len(rows)}"
    path.write_text("\n".join([sizes, *rows]) + "\n")
    path.with_suffix(".trew").write_text("\n".join([sizes, *rewards]) + "\n")
    states = [f"{s}:({x:g},{y:g})" for s, (x, y) in enumerate(model.X)]
    path.with_suffix(".sta").write_text("\n".join(["(x,y)", *states]) + "\n")
    labels = [f"{s}: 0" for s in model.initial]
    path.with_suffix(".lab").write_text("\n".join(['0="init" 1="deadlock"', *labels]) + "\n")


def write_csv(model: ChoiceModel, path: Path) -> None:
    """The states in their order: each is named by a row before any later one, as a state or as an improbable target."""
    rows = ["x,y,action,next x,next y,probability,reward,initial"]
    p0 = model.p0()
    for s, offered in enumerate(model.choices):
        for name, (p, reward) in offered.items():
            for t in range(len(p)):
                x, y = (",".join(f"{value:g}" for value in model.X[place]) for place in (s, t))
                rows.append(f"{x},{name},{y},{float(p[t])!r},{reward!r},{float(p0[s])!r}")
    path.write_text("\n".join(rows) + "\n")
