"""How well learned metrics align, beside plain warping and weights tuned one by one.

    python -m structsvm_alignment.compare

Pairs are drawn: two recordings of one event at other speeds, of whose ten features three follow the
event. They are as they are, or mixed by a rotation, and standardised within recordings.
"""

import time

import numpy as np

from structsvm import StructuredSVM
from structsvm_alignment import Alignment, warp


def smooth(rng, T, P, width):
    """Gaussian noise, smoothed and standardised, (T, P)."""
    kernel = np.exp(-0.5 * (np.arange(-3 * width, 3 * width + 1) / width) ** 2)
    noise = rng.standard_normal((T + 6 * width, P))
    found = np.apply_along_axis(np.convolve, 0, noise, kernel, mode="valid")
    return (found - found.mean(axis=0)) / found.std(axis=0)


def pair(rng, mix, T=100, n_relevant=3, roughness=6, noise=0.3):
    """Two recordings of one event at other speeds, with features that do not depend on it."""
    fine = 20 * T
    source = smooth(rng, fine, n_relevant, 20 * roughness)
    clocks = []
    parts = []
    for length in (T, int(T * rng.uniform(0.8, 1.25))):
        speed = np.exp(0.9 * smooth(rng, length, 1, max(2, length // 8))[:, 0])
        clock = np.append(0.0, np.cumsum((speed[1:] + speed[:-1]) / 2))
        clock *= (fine - 1) / clock[-1]
        event = [np.interp(clock, np.arange(fine), column) for column in source.T]
        beside = smooth(rng, length, len(mix) - n_relevant, roughness)
        X = np.hstack([np.column_stack(event), beside])
        X = (X + noise * rng.standard_normal(X.shape)) @ mix
        parts.append((X - X.mean(axis=0)) / X.std(axis=0))
        clocks.append(clock)
    return tuple(parts), warp(np.abs(clocks[0][:, None] - clocks[1]) / fine)


def drawn(rng, n, is_mixed, n_features=10):
    """Pairs and their paths, all of them mixed alike."""
    turned = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    pairs = [pair(rng, turned if is_mixed else np.eye(n_features)) for _ in range(n)]
    xs, ys = zip(*pairs, strict=True)
    return list(xs), list(ys)


def distance(truth, guess):
    """Mean absolute deviation, in samples of the second recording (Garreau et al.)."""
    rows = truth[-1, 0] + 1
    means = [
        np.bincount(path[:, 0], path[:, 1], rows) / np.bincount(path[:, 0], minlength=rows)
        for path in (truth, guess)
    ]
    return float(np.abs(means[0] - means[1]).mean())


def deviation(problem, w, xs, ys):
    return np.mean([distance(y, problem.predict(w, x)) for x, y in zip(xs, ys, strict=True)])


def tuned(problem, xs, ys, steps=(0, 0.1, 0.3, 1.0, 3.0, 10.0)):
    """The weights of single features, one after another, that align the given pairs best."""
    w = np.ones(problem.n_features)
    best = deviation(problem, w, xs, ys)
    for _ in range(2):
        for k in range(w.size):
            for step in steps:
                other = w.copy()
                other[k] = step
                if other.any() and (found := deviation(problem, other, xs, ys)) < best:
                    best = found
                    w = other
    return w


def compared(seed, n_pairs, is_mixed, n_tested=30):
    """The deviation of every method on new pairs, and the seconds of the last fit."""
    xs, ys = drawn(np.random.default_rng(seed), n_pairs + n_tested, is_mixed)
    known = xs[:n_pairs], ys[:n_pairs]
    new = xs[n_pairs:], ys[n_pairs:]
    single = Alignment(10, "diagonal")
    found = {"plain": deviation(single, np.ones(10), *new)}
    found["tuned"] = deviation(single, tuned(single, *known), *new)
    for metric in ("diagonal", "full"):
        started = time.process_time()
        svm = StructuredSVM(Alignment(metric=metric), lam=1e-3).fit(*known)
        found[f"seconds, {metric}"] = time.process_time() - started
        guesses = zip(new[1], svm.predict(new[0]), strict=True)
        found[metric] = np.mean([distance(truth, guess) for truth, guess in guesses])
    return found


def main():
    for is_mixed in (False, True):
        for n_pairs in (3, 10, 30):
            every = [compared(seed, n_pairs, is_mixed) for seed in range(4)]
            means = {name: np.mean([one[name] for one in every]) for name in every[0]}
            words = ", ".join(f"{name} {mean:.2f}" for name, mean in means.items())
            print(f"{'mixed' if is_mixed else 'as they are'}, {n_pairs} pairs: {words}", flush=True)


if __name__ == "__main__":
    main()
