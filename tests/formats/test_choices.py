"""What a state does not offer is a fair draw among what it does, whatever the order of the file."""

import numpy as np
import pytest
from choice_models import ChoiceModel, assert_is, choice_models, read_quietly, write_drn
from hypothesis import given
from hypothesis import strategies as st

from omdt import InputWarning
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
def test_the_order_of_a_states_choices_changes_nothing(tmp_path_factory, model, random):
    shuffled = ChoiceModel(
        [dict(random.sample(list(offered.items()), len(offered))) for offered in model.choices], model.initial, model.X
    )
    folder = tmp_path_factory.mktemp("order")
    write_drn(model, folder / "one.drn")
    write_drn(shuffled, folder / "other.drn")
    one, other = (read_quietly(folder / name, discount=0.9) for name in ("one.drn", "other.drn"))
    actions = [other.action_names.index(name) for name in one.action_names]
    S, A = one.rewards.shape
    P = other.transitions.toarray().reshape(S, A, S)[:, actions]
    np.testing.assert_allclose(one.transitions.toarray().reshape(S, A, S), P, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.rewards, other.rewards[:, actions], rtol=1e-12, atol=1e-12)


def test_an_unnamed_choice_without_alternative_adds_no_action():
    choices = Choices()
    choices.begin(0, "a", line=1)
    choices.targets.append(1)
    choices.probabilities.append(1.0)
    choices.stay(1, line=2, reward=3.0)
    mdp = choices.mdp(where, np.array([1.0, 0]), np.arange(2.0))
    assert mdp.action_names == ("a",)
    assert mdp.rewards.tolist() == [[0], [3]]


def test_given_actions_come_first_and_stay_even_if_no_state_offers_them():
    choices = Choices(("b", "a"))
    choices.begin(0, "a", line=1, reward=1.0)
    choices.targets.append(0)
    choices.probabilities.append(1.0)
    mdp = choices.mdp(where, np.array([1.0]), np.zeros(1))
    assert mdp.action_names == ("b", "a")
    assert mdp.rewards.tolist() == [[1, 1]]


def test_a_choice_without_transitions_is_named():
    choices = Choices()
    choices.stay(0, line=1)
    choices.begin(1, "go", line=7)
    message = str(refusal(lambda: choices.mdp(where, np.array([1.0, 0]), np.arange(2.0))))
    assert message == "line 7: state 1, action 'go' has no transitions"


def test_only_states_that_leave_a_choice_are_warned_about(recwarn):
    choices = Choices(("a", "b"))
    for s, names in enumerate(("a", "ab", "b")):
        for name in names:
            choices.begin(s, name, line=0)
            choices.targets.append(s)
            choices.probabilities.append(1.0)
    choices.mdp(where, np.array([1.0, 0, 0]), np.arange(3.0))
    assert not [warning for warning in recwarn if issubclass(warning.category, InputWarning)]
