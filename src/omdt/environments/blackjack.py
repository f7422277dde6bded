"""blackjack: draw cards against a dealer who must draw up to a fixed total."""

import numpy as np
from scipy import sparse

from omdt.environments._shared import check, transition_matrix
from omdt.mdp import MDP, Bools, Floats, Ints

CARDS = np.arange(2, 12)
CARD_PROBABILITIES = np.array([1, 1, 1, 1, 1, 1, 1, 1, 4, 1]) / 13
BUST = 22
"""Stands for every total over 21."""

PLAYER_TOTALS = np.arange(4, BUST + 1)
DEALER_TOTALS = np.arange(2, BUST + 1)
START = 0


def blackjack(
    *,
    dealer_stands: int = 17,
    tie_reward: float = -1.0,
    twenty_one_reward: float = 1.5,
    discount: float = 0.99,
) -> MDP:
    """Repeated rounds of simplified blackjack.

    What it models:
        The casino game without doubling, splitting or other players, dealt from an infinite deck: cards 2 to 9, four
        kinds of ten and one ace that always counts 11, each kind with probability 1/13.

    States:
        A start state (0, 0, 0), then (skipped, player_total, dealer_total) in lexicographic order; those are the
        features. A total of 22 stands for every total over 21. Unreachable combinations are left out.

    Actions:
        Skip, Draw.

    Transitions:
        From the start the player gets two cards and the dealer one. Draw gives the player a card unless the player
        has skipped before. Skip, and any action after it, marks the player as skipped and gives the dealer a card.
        The round is over when the player is over 21, or has skipped and the dealer has reached the total at which the
        dealer stands; from there every action returns to the start.

    Rewards:
        Paid on the step from the end of a round to the start: −1 if the player is over 21 or behind a dealer who is
        not over 21, `tie_reward` for equal totals, `twenty_one_reward` if the player has 21 and the dealer fewer, and
        +1 otherwise.

    Start:
        The start state, before any card is dealt.

    Parameters:
        dealer_stands: the total at which the dealer stands, from 2 to 21.
        tie_reward: reward of equal totals; −1 gives the paper's figures, 0 the game of its text.
        twenty_one_reward: reward of exactly 21 against a dealer with fewer.
        discount: γ.

    Source:
        Vos and Verwer, "Optimal Decision Tree Policies for Markov Decision Processes" (IJCAI 2023).
    """
    check("dealer_stands", dealer_stands, 2, 21)
    check("tie_reward", tie_reward)
    check("twenty_one_reward", twenty_one_reward)
    skipped, player, dealer = (
        np.concatenate([[0], grid.ravel()])
        for grid in np.meshgrid(np.arange(2), PLAYER_TOTALS, DEALER_TOTALS, indexing="ij")
    )
    S = len(skipped)
    over = (player == BUST) | ((skipped == 1) & (dealer >= dealer_stands))
    rewards = np.where(over, _payoff(player, dealer, tie_reward, twenty_one_reward), 0.0)
    return MDP(
        transitions=_transitions(skipped, player, dealer, over),
        rewards=np.repeat(rewards[:, None], 2, axis=1),
        initial=np.arange(S) == START,
        features=np.stack([skipped, player, dealer], axis=1),
        discount=discount,
        feature_names=("skipped", "player_total", "dealer_total"),
        action_names=("Skip", "Draw"),
        name="blackjack",
    ).reachable()


def _state(skipped: Ints, player: Ints, dealer: Ints) -> Ints:
    """Index of a state after the start, its totals capped."""
    places = (
        skipped,
        np.minimum(player, BUST) - PLAYER_TOTALS[0],
        np.minimum(dealer, BUST) - DEALER_TOTALS[0],
    )
    return 1 + np.ravel_multi_index(places, (2, len(PLAYER_TOTALS), len(DEALER_TOTALS)))


def _payoff(player: Ints, dealer: Ints, tie_reward: float, twenty_one_reward: float) -> Floats:
    lost = (player == BUST) | ((player < dealer) & (dealer < BUST))
    twenty_one = (player == 21) & (dealer < 21)
    return np.select([lost, player == dealer, twenty_one], [-1.0, tie_reward, twenty_one_reward], default=1.0)


def _transitions(skipped: Ints, player: Ints, dealer: Ints, over: Bools) -> sparse.csr_array:
    S = len(skipped)
    one = np.ones_like(skipped[1:])[:, None]
    player_draws = _state(skipped[1:, None], player[1:, None] + CARDS, dealer[1:, None])
    dealer_draws = _state(one, player[1:, None], dealer[1:, None] + CARDS)
    successors = np.full((S, 2, len(CARDS)), START)
    successors[1:, 0] = dealer_draws
    successors[1:, 1] = np.where(skipped[1:, None] == 1, dealer_draws, player_draws)
    successors[over] = START
    after_start = transition_matrix(successors, CARD_PROBABILITIES)[2:]

    first, second, dealers = np.meshgrid(CARDS, CARDS, CARDS, indexing="ij")
    dealt = _state(np.zeros_like(first), first + second, dealers)
    weights = np.einsum("i,j,k->ijk", CARD_PROBABILITIES, CARD_PROBABILITIES, CARD_PROBABILITIES)
    deal = np.bincount(dealt.ravel(), weights=weights.ravel(), minlength=S)
    return sparse.csr_array(sparse.vstack([sparse.csr_array(np.stack([deal, deal])), after_start]))
