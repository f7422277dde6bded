"""The knobs of the random MDPs do what they are called."""

import numpy as np
import pytest

from random_mdps import DYNAMICS, OBSERVATIONS, REWARDS, Model, random_model, sparse_rows

SEEDS = range(20)


def drawn(seed: int, **knobs: object) -> Model:
    return random_model(np.random.default_rng(seed), **knobs)  # type: ignore[arg-type]


def stays(model: Model) -> np.ndarray:
    """[S] whether every action returns to the state."""
    S = len(model.p0)
    return model.P[np.arange(S), :, np.arange(S)].min(axis=1) == 1


def distinct(rows: np.ndarray) -> int:
    return len(np.unique(rows.reshape(len(rows), -1), axis=0))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dynamics", [*DYNAMICS, "ergodic", "thinned"])
def test_every_kind_of_dynamics_makes_an_mdp_of_the_size_asked_for(dynamics, seed):
    mdp = drawn(seed, states=5, actions=3, features=2, dynamics=dynamics).mdp()
    assert (mdp.n_states, mdp.n_actions, mdp.n_features) == (5, 3, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_dynamics_are_what_they_are_called(seed):
    assert (drawn(seed, dynamics="deterministic").P.max(axis=2) == 1).all()
    assert (drawn(seed, dynamics="ergodic").P > 0).all()
    acyclic = drawn(seed, dynamics="acyclic")
    assert not np.tril(acyclic.P.sum(axis=1))[:-1].any()
    assert stays(acyclic)[-1]
    absorbing = drawn(seed, dynamics="absorbing")
    assert not absorbing.R[stays(absorbing)].any()


def test_some_probabilities_are_0_and_some_states_absorbing():
    models = [drawn(seed, states=8, dynamics="thinned", absorbing=0.3) for seed in SEEDS]
    assert 0.4 < np.mean([(model.P == 0).mean() for model in models]) < 0.8
    assert 0.15 < np.mean([stays(model).mean() for model in models]) < 0.45
    assert not any(model.R[stays(model)].any() for model in models)


@pytest.mark.parametrize("seed", SEEDS)
def test_rewards_are_what_they_are_called(seed):
    of = {kind: drawn(seed, rewards=kind).R for kind in (*REWARDS, "zero or one", "large")}
    assert set(np.unique(of["few values"])) <= {-2, -1, 0, 1, 2}
    assert set(np.unique(of["zero or one"])) == {0, 1}
    assert not of["zero"].any()
    assert (of["negative"] < 0).all()
    sizes = [np.abs(of[kind]).max() for kind in ("tiny", "normal", "large", "huge")]
    assert sizes == sorted(sizes)
    assert sizes[0] < 1e-7
    assert sizes[-1] > 1e8


@pytest.mark.parametrize("seed", SEEDS)
def test_rewards_come_with_or_without_the_next_state(seed):
    with_next, without = (drawn(seed, reward_axes=axes) for axes in ("SAS", "SA"))
    assert (with_next.R.ndim, without.R.ndim) == (3, 2)
    np.testing.assert_allclose(with_next.r, np.einsum("sat,sat->sa", with_next.P, with_next.R))
    assert without.r is without.R


@pytest.mark.parametrize("seed", SEEDS)
def test_observations_are_what_they_are_called(seed):
    of = {look: drawn(seed, states=12, observations=look, levels=4).X for look in (*OBSERVATIONS, "levels")}
    assert distinct(of["distinct"]) == distinct(of["real"]) == 12
    assert distinct(of["repeated"]) <= 9
    assert distinct(of["constant"]) == 1
    assert set(np.unique(of["levels"])) <= {0, 1, 2, 3}


def test_first_states_are_one_some_or_all():
    count = {
        starts: [int((drawn(seed, states=8, starts=starts).p0 > 0).sum()) for seed in SEEDS]
        for starts in ("one", "some", "ties", "uniform")
    }
    assert set(count["one"]) == {1}
    assert set(count["uniform"]) == {8}
    for starts in ("some", "ties"):
        assert min(count[starts]) < 8
        assert max(count[starts]) > 1


def test_twins_do_the_same():
    for seed in SEEDS:
        model = drawn(seed, actions=3, twin_actions=1.0, rewards="normal")
        np.testing.assert_array_equal(model.P[:, -1], model.P[:, 0])
        np.testing.assert_array_equal(model.R[:, -1], model.R[:, 0])
    for knob in ("twin_actions", "twin_states"):
        without, some = ([drawn(seed, **{knob: share}) for seed in SEEDS] for share in (0.0, 0.5))
        same = [sum(equal_rows(model, knob) for model in models) for models in (without, some)]
        assert same[0] == 0
        assert same[1] > 20


def equal_rows(model: Model, knob: str) -> int:
    """How many actions, or states, do exactly what the one before does."""
    R = model.R if knob == "twin_states" else model.R.transpose(1, 0, 2)
    return sum(int((one == other).all(axis=-1).sum()) for one, other in zip(R[1:], R, strict=False))


def test_some_actions_are_unavailable_and_every_state_keeps_one():
    models = [drawn(seed, states=8, actions=4, unavailable=0.5) for seed in SEEDS]
    assert all(model.available.any(axis=1).all() for model in models)
    assert 0.3 < np.mean([(~model.available).mean() for model in models]) < 0.5
    for model in models:
        np.testing.assert_array_equal(model.mdp().available, model.available)
    assert drawn(0).available is None


def test_a_knob_that_is_off_draws_nothing():
    """A seed keeps its model when other knobs are added, as those are that saved seeds of failures rely on."""
    plain, later = drawn(3), drawn(3, unavailable=0.5)
    for one, other in zip((plain.P, plain.R, plain.p0, plain.X), (later.P, later.R, later.p0, later.X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_of_large_models_have_few_successors():
    rows = sparse_rows(np.random.default_rng(0), 3000, 1000, successors=4)
    assert rows.shape == (3000, 1000)
    assert np.diff(rows.indptr).max() <= 4
    np.testing.assert_allclose(rows.sum(axis=1), 1)
