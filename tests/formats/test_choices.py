"""What a state does not offer is not available there; the first of the others, or the fallback, is played."""

import numpy as np
import pytest
from choice_models import NAMES, ChoiceModel, assert_is, choice_models, read_quietly, write_drn
from hypothesis import given
from hypothesis import strategies as st

from omdt import MDP, InputWarning
from omdt.formats.choices import Choices
from strategies import refusal


def where(line: int, state: int) -> str:
    return f"line {line}: state {state}"


def choices_of(model: ChoiceModel) -> Choices:
    choices = Choices()
    for s, offered in enumerate(model.choices):
        for name, (p, reward) in offered.items():
            choices.begin(s, name, line=0, reward=reward)
            choices.targets.extend(np.flatnonzero(p).tolist())
            choices.probabilities.extend(p[p > 0].tolist())
    return choices


@given(choice_models())
@pytest.mark.filterwarnings("ignore:.*some but not all")
def test_random_models_become_the_mdp_of_the_definition(model):
    assert_is(choices_of(model).mdp(where, model.p0(), model.X, discount=0.9), model, 0.9)


@given(choice_models(), st.randoms(use_true_random=False))
def test_the_order_of_a_states_choices_changes_no_choice(tmp_path_factory, model, random):
    shuffled = ChoiceModel(
        [dict(random.sample(list(offered.items()), len(offered))) for offered in model.choices], model.initial, model.X
    )
    folder = tmp_path_factory.mktemp("order")
    write_drn(model, folder / "one.drn")
    write_drn(shuffled, folder / "other.drn")
    one, other = (read_quietly(folder / name, discount=0.9) for name in ("one.drn", "other.drn"))
    actions = [other.action_names.index(name) for name in one.action_names]
    S, A = one.rewards.shape
    np.testing.assert_array_equal(one.available, other.available[:, actions])
    P, Q = (mdp.transitions.toarray().reshape(S, A, S) for mdp in (one, other))
    np.testing.assert_allclose(P[one.available], Q[:, actions][one.available], rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.rewards[one.available], other.rewards[:, actions][one.available], atol=1e-12)


@given(choice_models(), st.sampled_from(NAMES))
@pytest.mark.filterwarnings("ignore:.*some but not all")
def test_a_named_fallback_is_played_where_it_is_offered(model, fallback):
    names = model.names
    if fallback not in names:
        assert "is not an action" in str(refusal(lambda: mdp_of(model, fallback)))
        return
    mdp = mdp_of(model, fallback)
    for s, offered in enumerate(model.choices):
        instead = fallback if fallback in offered else min(offered, key=names.index)
        for a, name in enumerate(names):
            played = name if name in offered else instead
            assert names[mdp.played[s, a]] == played
            p, reward = offered[played]
            np.testing.assert_allclose(mdp.transitions.toarray()[s * len(names) + a], p, rtol=0, atol=1e-12)
            assert mdp.rewards[s, a] == reward


def mdp_of(model: ChoiceModel, fallback: str) -> MDP:
    return choices_of(model).mdp(where, model.p0(), model.X, discount=0.9, fallback=fallback)


def test_an_unnamed_choice_without_alternative_is_what_every_action_means():
    choices = Choices()
    for name in "ab":
        choices.begin(0, name, line=1)
        choices.targets.append(1)
        choices.probabilities.append(1.0)
    choices.stay(1, line=2, reward=3.0)
    choices.begin(2, "b", line=3)
    choices.targets.append(1)
    choices.probabilities.append(1.0)
    with pytest.warns(InputWarning, match="1 of 3 states offers some but not all of the 2 actions"):
        mdp = choices.mdp(where, np.array([1.0, 0, 0]), np.arange(3.0))
    assert mdp.action_names == ("a", "b")
    assert mdp.rewards.tolist() == [[0, 0], [3, 3], [0, 0]]
    assert mdp.available.tolist() == [[True, True], [True, True], [False, True]]


def test_given_actions_come_first_and_stay_even_if_no_state_offers_them():
    choices = Choices(("b", "a"))
    choices.begin(0, "a", line=1, reward=1.0)
    choices.targets.append(0)
    choices.probabilities.append(1.0)
    with pytest.warns(InputWarning, match="the first available one of b, a is played"):
        mdp = choices.mdp(where, np.array([1.0]), np.zeros(1))
    assert mdp.action_names == ("b", "a")
    assert mdp.rewards.tolist() == [[1, 1]]
    assert mdp.available.tolist() == [[False, True]]


def test_a_choice_without_transitions_is_named():
    choices = Choices()
    choices.stay(0, line=1)
    choices.begin(1, "go", line=7)
    message = str(refusal(lambda: choices.mdp(where, np.array([1.0, 0]), np.arange(2.0))))
    assert message == "line 7: state 1, action 'go' has no transitions"


def test_a_warning_says_how_many_states_lack_an_action_and_what_is_played():
    choices = Choices(("a", "b"))
    for s, names in enumerate(("a", "ab", "b")):
        for name in names:
            choices.begin(s, name, line=0)
            choices.targets.append(s)
            choices.probabilities.append(1.0)
    played = "b is played, and where that is missing, too, the first available one of a, b is played"
    with pytest.warns(InputWarning, match=f"2 of 3 states offer some but not all of the 2 actions.*, {played}"):
        choices.mdp(where, np.array([1.0, 0, 0]), np.arange(3.0), fallback="b")


def test_the_size_limit_counts_what_is_played_instead(monkeypatch):
    def chain() -> Choices:
        choices = Choices(tuple(f"a{i}" for i in range(10)))
        for s in range(5):
            choices.begin(s, "a0", line=0)
            choices.targets.extend([0, 1, 2])
            choices.probabilities.extend([0.25, 0.25, 0.5])
        return choices

    monkeypatch.setattr("omdt.formats.choices.MAX_TRANSITIONS", 150)
    with pytest.warns(InputWarning, match="5 of 5"):
        mdp = chain().mdp(where, np.full(5, 0.2), np.arange(5.0))
    assert mdp.transitions.nnz == 150
    monkeypatch.setattr("omdt.formats.choices.MAX_TRANSITIONS", 149)
    assert "up to 150 transitions" in str(refusal(lambda: chain().mdp(where, np.full(5, 0.2), np.arange(5.0))))
