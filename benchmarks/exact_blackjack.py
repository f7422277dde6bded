"""Gymnasium's Blackjack-v1 as an exact MDP, beside which trees that were learned from its episodes can be judged.

Cards are drawn with replacement: 1 to 9 with probability 1/13 each, and 10 with probability 4/13. A state is what is
observed (the player's sum, the dealer's open card, whether an ace counts 11) and whether the player holds a natural, an
ace and a ten from the deal, which beats any other 21 of the dealer.
"""

from collections import defaultdict
from functools import cache

import numpy as np

import omdt

CARDS = {card: (4 if card == 10 else 1) / 13 for card in range(1, 11)}

Hand = tuple[int, bool]
"""The sum of a hand, and whether an ace in it counts 11."""

NATURAL = 22
"""Stands for the score of the dealer's natural."""

FEATURES = ("player's sum", "dealer's card", "usable ace")


def added(hand: Hand, card: int) -> Hand:
    """The hand after one more card; a sum above 21 is a bust."""
    total, ace = hand
    total, ace = (total + 11, True) if card == 1 and total + 11 <= 21 else (total + card, ace)
    return (total - 10, False) if total > 21 and ace else (total, ace)


@cache
def dealer(hand: Hand) -> dict[int, float]:
    """Probabilities of the dealer's scores when it draws up to 17; 0 is a bust."""
    if hand[0] >= 17:
        return {hand[0] if hand[0] <= 21 else 0: 1.0}
    scores: dict[int, float] = defaultdict(float)
    for card, p in CARDS.items():
        for score, q in dealer(added(hand, card)).items():
            scores[score] += p * q
    return scores


def dealer_shows(card: int) -> dict[int, float]:
    """Probabilities of the dealer's scores when one card is open."""
    scores: dict[int, float] = defaultdict(float)
    for hidden, p in CARDS.items():
        natural = {card, hidden} == {1, 10}
        for score, q in dealer(added(added((0, False), card), hidden)).items():
            scores[NATURAL if natural else score] += p * q
    return scores


def won(total: int, natural: bool, score: int) -> float:
    """What the player wins by sticking: a natural beats all but another one, which counts 21 otherwise."""
    if natural:
        return float(score != NATURAL)
    return float(total > min(score, 21)) - float(total < min(score, 21))


def blackjack(discount: float = 0.99) -> omdt.MDP:
    """The exact MDP; its last state is the end."""
    hands = [(total, False) for total in range(4, 22)] + [(total, True) for total in range(12, 22)]
    states = [(hand, card, False) for hand in hands for card in CARDS]
    states += [((21, True), card, True) for card in CARDS]
    number = {state: s for s, state in enumerate(states)}
    S = len(states) + 1
    P, r, initial = np.zeros((S, 2, S)), np.zeros((S, 2)), np.zeros(S)
    P[-1, :, -1] = 1
    for s, (hand, card, natural) in enumerate(states):
        P[s, 0, -1] = 1
        r[s, 0] = sum(q * won(hand[0], natural, score) for score, q in dealer_shows(card).items())
        for drawn, p in CARDS.items():
            after = added(hand, drawn)
            P[s, 1, number[after, card, False] if after[0] <= 21 else -1] += p
            r[s, 1] -= p * (after[0] > 21)
    for one, p in CARDS.items():
        for two, q in CARDS.items():
            hand = added(added((0, False), one), two)
            for card, w in CARDS.items():
                initial[number[hand, card, {one, two} == {1, 10}]] += p * q * w
    X = np.array([(hand[0], card, hand[1]) for hand, card, _ in states] + [(4, 1, 0)], dtype=float)
    names = {"feature_names": FEATURES, "action_names": ("stick", "hit"), "name": "Blackjack-v1"}
    return omdt.MDP.from_dense(P, r, initial, X, discount=discount, **names)
