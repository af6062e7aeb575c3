"""Small labelled recordings in which some features follow the labels."""

import numpy as np

from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels

NAMES = np.repeat(["rest", "walk", "turn", "rest"], [8, 10, 7, 5])
ENDS = [8, 18, 25, 30]
MEANS = {"rest": (0.0, 0.0), "walk": (2.0, 0.0), "turn": (0.0, 2.0)}


def changes(n, n_features=4, n_relevant=2, n_samples=200, random_state=0, **settings):
    """Arrays in which some features change with the labels, and the labels."""
    sizes = {"n_features": n_features, "n_relevant": n_relevant, "n_samples": n_samples}
    return arrays_and_labels(relevant_changes(n, **sizes, random_state=random_state, **settings))


def recordings(n=8, T=60, seed=0, noise=0.5):
    """Feature 0 follows the labels, feature 1 its own changes, the rest are noise."""
    rng = np.random.default_rng(seed)
    Xs = []
    ys = []
    for _ in range(n):
        X = noise * rng.normal(size=(T, 4))
        for column, target in ((0, "truth"), (1, None)):
            ends = np.sort(rng.choice(np.arange(6, T - 5, 7), 3, replace=False))
            labels = np.searchsorted(ends, np.arange(T), side="right")
            X[:, column] += np.array([0, 3, -2, 4])[labels] * rng.choice([-1, 1])
            if target:
                ys.append(labels)
        Xs.append(X)
    return Xs, ys


def recordings_of_two_kinds(n=6, T=50):
    """Feature 0 follows the labels in the first half, feature 1 does so in the others."""
    rng = np.random.default_rng(0)
    Xs = []
    ys = []
    for i in range(n):
        X = 0.7 * rng.normal(size=(T, 3)) + rng.normal(size=3) * [1.0, 5.0, 1.0]
        y = np.searchsorted(np.sort(rng.choice(np.arange(6, T - 5), 2, replace=False)), range(T))
        X[:, int(i >= n // 2)] += np.array([0.0, 3.0, -1.0])[y]
        Xs.append(X)
        ys.append(y)
    return Xs, ys


def recordings_of_four_segments(N=4, T=40, P=3, seed=0):
    """Feature 0 follows the labels of four segments of the same length."""
    rng = np.random.default_rng(seed)
    Xs = []
    ys = []
    for _ in range(N):
        y = np.repeat(np.arange(4), T // 4)
        X = rng.normal(size=(T, P))
        X[:, 0] += 3 * rng.normal(size=4)[y]
        Xs.append(X)
        ys.append(y)
    return Xs, ys


def recordings_of_states(n, rng, noise=0.7):
    """Recordings whose states are ``NAMES``, each of which has a mean of its own."""
    means = np.array([MEANS[name] for name in NAMES])
    return [means + rng.normal(scale=noise, size=means.shape) for _ in range(n)]


def scores_of_states(X):
    """Probabilities of "rest", "turn" and "walk" at each sample of such a recording, (T, 3)."""
    means = np.array([MEANS[name] for name in ("rest", "turn", "walk")])
    p = np.exp(-2.0 * ((X[:, None] - means) ** 2).sum(axis=2))
    return p / p.sum(axis=1, keepdims=True)


def protocol(seed, n=12, T=80):
    """Changes at about the same times, one feature that always dies out, labels of others."""
    rng = np.random.default_rng(seed)
    Xs = []
    ys = []
    for _ in range(n):
        X = rng.normal(size=(T, 4))
        X[:, :2] = np.cumsum(rng.normal(size=(T, 2)), axis=0)
        X[:, 2] = 12 * np.exp(-np.arange(T) / (T * 0.08)) + rng.normal(size=T)
        at = (T * (np.array([0.06, 0.12, 0.2]) + rng.normal(scale=0.02, size=3))).astype(int)
        Xs.append(X)
        ys.append([*np.unique(np.clip(at, 1, T - 1)).tolist(), T])
    rng.shuffle(ys)
    return Xs, ys


def shuffled_protocol(rng, counted_from, n=12):
    """Changes at about the same numbers of samples, which a feature shows, and labels of others."""
    share, offset = {
        "start": ([0, 0, 0], [10, 20, 32]),
        "end": ([1, 1, 1], [-32, -20, -10]),
        "both": ([0, 0, 1], [10, 22, -15]),
    }[counted_from]
    sizes = [int(T) for T in rng.integers(60, 200, n)]
    Xs = []
    for T in sizes:
        X = rng.normal(size=(T, 4))
        X[:, :2] = np.cumsum(rng.normal(size=(T, 2)), axis=0)
        X[:, 2] += 6.0 * np.searchsorted(np.array(share) * T + offset, np.arange(T))
        Xs.append(X)
    errors = np.round(rng.normal(scale=1.5, size=(n, 3)))
    places = [np.sort(np.array(share) * T + offset + e) for T, e in zip(sizes, errors, strict=True)]
    return Xs, [[*at.astype(int).tolist(), T] for at, T in zip(places, sizes, strict=True)]


class OnDemand:
    """Gives one recording at a time, counts how often, and spoils some of them later."""

    def __init__(self, held, broken=None):
        self.held = held
        self.broken = broken or {}
        self.asked = 0

    def __len__(self):
        return len(self.held)

    def __getitem__(self, i):
        if not 0 <= i < len(self.held):
            raise IndexError(i)
        self.asked += 1
        found = self.held[i]
        if i in self.broken and self.asked > len(self.held) + 1:
            return self.broken[i](found)
        return found.copy() if isinstance(found, np.ndarray) else found


def untrained_price(learner):
    return learner.baselines_["untrained"].metric_.price


def same_bits(learner, other):
    """Whether two learners learned the same, to the last bit."""
    mine = learner.solution_
    theirs = other.solution_
    return (
        np.array_equal(learner.metric_.factor, other.metric_.factor)
        and learner.metric_.price == other.metric_.price
        and np.array_equal(learner.calibration_.losses, other.calibration_.losses)
        and (mine.lower, mine.upper, mine.n_iter) == (theirs.lower, theirs.upper, theirs.n_iter)
        and learner.training_data_ == other.training_data_
        and learner.baselines_["untrained"].metric_.price
        == other.baselines_["untrained"].metric_.price
    )
