"""A made-up table with clusters."""

import numpy as np


def table(K=3, T=60, P=4, seed=0, spread=4.0):
    """The clusters lie apart in features 0 and 1; feature 2 is correlated noise, 3 is loud."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(T) % K)
    centres = spread * np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(K) / K])
    X = rng.standard_normal((T, P))
    X[:, :2] += centres[y]
    X[:, 3] = 10 * rng.choice([-1, 1], T) + X[:, 3] + X[:, 2]
    return X, y
