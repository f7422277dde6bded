"""Small random problems of many kinds, which brute force can solve."""

from itertools import permutations, product

import numpy as np

from omdt.mdp import MDP


def random_mdp(rng: np.random.Generator) -> MDP:
    S, A, F = int(rng.integers(1, 10)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    P = rng.dirichlet(np.full(S, 0.3), size=(S, A))
    kind = rng.integers(5)
    if kind == 0:
        P = np.eye(S)[rng.integers(S, size=(S, A))]
    elif kind == 1:
        P = np.triu(np.ones((S, S)), 1)[:, None, :] * rng.random((S, A, S)) + np.eye(S)[:, None, :] * 0.1
        P /= P.sum(axis=2, keepdims=True)
    elif kind == 2:
        P[S // 2] = np.eye(S)[S // 2]
    scale = 10.0 ** rng.integers(-9, 10) if rng.random() < 0.3 else 1.0
    rewards = rng.integers(-1, 2, size=(S, A)) if rng.random() < 0.3 else rng.normal(size=(S, A)) - rng.integers(3)
    X = rng.integers(0, 4, size=(S, F)) if rng.random() < 0.7 else rng.random((S, F))
    p0 = np.eye(S)[0] if rng.random() < 0.5 else rng.dirichlet(np.ones(S))
    return MDP.from_dense(P, rewards * scale, p0, X, discount=float(rng.choice([0.3, 0.9, 0.99, 0.9999])))


def symmetric_mdp(rng: np.random.Generator) -> MDP:
    """States are bits, and action i treats bit i as action j treats bit j; in a last state nothing matters."""
    n = int(rng.integers(2, 4))
    bits = np.array(list(product((0, 1), repeat=n)))
    number = {tuple(row): s for s, row in enumerate(bits.tolist())}
    S = len(bits) + 1
    P, rewards, p0 = np.zeros((S, n, S)), np.zeros((S, n)), np.zeros(S)
    some_P, some_rewards, some_p0 = rng.dirichlet(np.full(S, 0.3), (S, n)), rng.normal(size=(S, n)), rng.random(S)
    for order in permutations(range(n)):
        states = np.array([*(number[tuple(row)] for row in bits[:, order].tolist()), S - 1])
        actions = np.argsort(order)
        P += some_P[np.ix_(states, actions, states)]
        rewards += some_rewards[np.ix_(states, actions)]
        p0 += some_p0[states]
    P[-1], rewards[-1] = np.eye(S)[-1], rng.normal()
    X = np.vstack([bits, rng.integers(0, 2, n)])
    return MDP.from_dense(P / P.sum(axis=2, keepdims=True), rewards, p0 / p0.sum(), X, discount=0.9)
