"""An MDP cannot be changed, and says what follows from its parts: names, final and reachable states, memory."""

from collections import deque
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from omdt import MDP, InputError
from omdt.environments import PAPER
from strategies import environment, good_arrays, mdp_from, mdps, models


def test_names_have_defaults():
    mdp = MDP(np.eye(4)[[0, 0, 1, 1], :2], np.zeros((2, 2)), [1, 0], np.zeros((2, 3)))
    assert mdp.feature_names == ("feature_0", "feature_1", "feature_2")
    assert mdp.action_names == ("action_0", "action_1")
    assert mdp.name == "mdp"
    assert mdp.discount == 0.99


def test_its_representation_gives_the_sizes():
    text = repr(replace(mdp_from(good_arrays()), name="small"))
    for part in ("'small'", "3 states", "2 actions", "2 features", "8 transitions", "0.9"):
        assert part in text


@given(mdps())
def test_arrays_cannot_be_written(mdp):
    matrix = mdp.transitions
    arrays = (
        matrix.data,
        matrix.indices,
        matrix.indptr,
        mdp.rewards,
        mdp.initial,
        mdp.features,
        mdp.origin,
        mdp.terminal,
    )
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_fields_cannot_be_set():
    mdp = mdp_from(good_arrays())
    with pytest.raises(FrozenInstanceError):
        mdp.discount = 0.5


def test_the_users_own_arrays_stay_free_and_do_not_reach_inside():
    P, r = sparse.csr_array(np.array([[0.5, 0.5], [0.0, 1.0]])), np.array([[1.0], [0.0]])
    p0, X, origin = np.array([1.0, 0.0]), np.array([[0.0], [1.0]]), np.array([4, 7])
    mdp = MDP(P, r, p0, X, origin=origin)
    for array in (P.data, P.indices, P.indptr, r, p0, X, origin):
        array[0] = 9
    assert mdp.transitions.toarray().tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert mdp.rewards.tolist() == [[1.0], [0.0]]
    assert mdp.initial.tolist() == [1.0, 0.0]
    assert mdp.features.tolist() == [[0.0], [1.0]]
    assert mdp.origin.tolist() == [4, 7]


@given(models())
def test_dense_input_is_not_changed(model):
    before = [array.copy() for array in (model.P, model.R, model.p0, model.X)]
    MDP.from_dense(model.P, model.R, model.p0, model.X)
    for array, old in zip((model.P, model.R, model.p0, model.X), before, strict=True):
        assert array.flags.writeable
        np.testing.assert_array_equal(array, old)


@given(models())
def test_terminal_states_return_to_themselves_for_nothing(model):
    mdp = model.mdp()
    expected = [
        all(model.P[s, a, s] == 1 and mdp.rewards[s, a] == 0 for a in range(mdp.n_actions)) for s in range(mdp.n_states)
    ]
    assert mdp.terminal.tolist() == expected


def reached_by_breadth_first_search(mdp: MDP) -> list[int]:
    P = mdp.transitions.toarray().reshape(mdp.n_states, mdp.n_actions, mdp.n_states)
    seen = {s for s in range(mdp.n_states) if mdp.initial[s] > 0}
    queue = deque(seen)
    while queue:
        s = queue.popleft()
        for t in range(mdp.n_states):
            if t not in seen and P[s, :, t].any():
                seen.add(t)
                queue.append(t)
    return sorted(seen)


@given(mdps())
def test_reachable_keeps_what_a_search_reaches(mdp):
    small = mdp.reachable()
    kept = reached_by_breadth_first_search(mdp)
    rows = [s * mdp.n_actions + a for s in kept for a in range(mdp.n_actions)]
    assert small.origin.tolist() == kept
    np.testing.assert_array_equal(small.transitions.toarray(), mdp.transitions.toarray()[rows][:, kept])
    np.testing.assert_array_equal(small.rewards, mdp.rewards[kept])
    np.testing.assert_allclose(small.initial, mdp.initial[kept], rtol=1e-15)
    np.testing.assert_array_equal(small.features, mdp.features[kept])
    assert (small.discount, small.name) == (mdp.discount, mdp.name)
    assert (small.feature_names, small.action_names) == (mdp.feature_names, mdp.action_names)
    assert small.reachable() is small


def test_origin_points_to_the_first_of_several_mdps():
    P = np.eye(4)[[1, 1, 3, 3]]
    mdp = MDP(P, np.zeros((4, 1)), [0, 0, 1, 0], np.arange(4), origin=[10, 11, 12, 13])
    assert mdp.reachable().origin.tolist() == [12, 13]


@pytest.mark.parametrize("name", PAPER)
def test_environments_reach_what_a_search_reaches(name):
    mdp = environment(name)
    S, A = mdp.rewards.shape
    starts = mdp.transitions.indptr[::A]
    neighbours = [set(mdp.transitions.indices[starts[s] : starts[s + 1]]) for s in range(S)]
    seen = set(np.flatnonzero(mdp.initial))
    queue = deque(seen)
    while queue:
        new = neighbours[queue.popleft()] - seen
        seen |= new
        queue.extend(new)
    assert mdp.reachable().origin.tolist() == mdp.origin[sorted(seen)].tolist()


def test_another_discount_leaves_the_rest():
    mdp = mdp_from(good_arrays())
    other = replace(mdp, discount=0.25)
    assert other.discount == 0.25
    assert mdp.discount == 0.9
    assert other.transitions.data.tobytes() == mdp.transitions.data.tobytes()
    assert (other.feature_names, other.action_names) == (mdp.feature_names, mdp.action_names)
    with pytest.raises(InputError, match="discount is 2"):
        replace(mdp, discount=2)


def test_memory_grows_with_the_transitions():
    small, large = (
        MDP(sparse.eye_array(S, format="csr"), np.zeros((S, 1)), np.eye(1, S)[0], np.zeros(S)) for S in (1000, 2000)
    )
    assert 1.9 < large.nbytes / small.nbytes < 2.1


def labelled_arrays() -> dict:
    """Three states in a row, of which the last one is never left."""
    transitions = np.zeros((3, 2, 3))
    transitions[[0, 1, 2], 0, [1, 2, 2]] = transitions[[0, 1, 2], 1, [0, 1, 2]] = 1
    rewards, features = np.zeros((3, 2)), np.arange(3.0)[:, None]
    return {"transitions": transitions, "rewards": rewards, "initial": [0.5, 0.5, 0], "features": features}


def test_labels_and_reward_models_are_part_of_the_mdp() -> None:
    time = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
    mdp = MDP.from_dense(**labelled_arrays(), labels={"end": [False, False, True]}, reward_models={"time": time})
    assert mdp.labels["end"].tolist() == [False, False, True]
    assert mdp.reward_models["time"].tolist() == time.tolist()
    with pytest.raises(ValueError, match="read-only"):
        mdp.labels["end"][0] = True
    without_first = replace(mdp, initial=np.array([0.0, 1, 0])).reachable()
    assert without_first.labels["end"].tolist() == [False, True]
    assert without_first.reward_models["time"].tolist() == time[1:].tolist()
    offered = np.array([[True, False], [True, True], [True, True]])
    assert replace(mdp, available=offered).reward_models["time"][0].tolist() == [1.0, 1.0]


def test_labels_reward_models_and_endless_are_checked() -> None:
    parts = labelled_arrays()
    wrong = {
        "label 'end' must be an array of 3 truth values": {"labels": {"end": [0, 0, 1]}},
        "the name of a label is 3": {"labels": {3: [False] * 3}},
        "reward 'time' must have shape": {"reward_models": {"time": np.zeros(3)}},
        "reward 'time' of state 1, action 0": {"reward_models": {"time": np.where(np.eye(3, 2, -1) == 1, np.inf, 0.0)}},
        "meaning with discount 1 only": {"endless": np.inf},
        "must be inf, -inf or None": {"endless": 3.0, "discount": 1},
    }
    for message, rest in wrong.items():
        with pytest.raises(InputError, match=message):
            MDP.from_dense(**parts, **rest)
    assert MDP.from_dense(**parts, endless=-np.inf, discount=1).discount == 1
