"""How well learned metrics align, beside plain warping and weights tuned one by one.

    python -m structsvm_alignment.compare [FOLDER]

Pairs are drawn: two recordings of one event at other speeds, of whose ten features three follow the
event. They are as they are, or mixed by a rotation, and standardised within recordings.

Of a folder, recordings with the most frequent order of states are paired if they are of different
groups, the names of files up to the first underscore. Their changes are anchors. A third of the
groups is new.
"""

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from structsvm import StructuredSVM
from structsvm.io import read_recordings
from structsvm_alignment import Alignment, pruned, warp


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


def tuned(problem, xs, ys, steps=(0, 0.1, 0.3, 1.0, 3.0, 10.0), judge=deviation, rounds=2):
    """The weights of single features, one after another, that align the given pairs best."""
    w = np.ones(problem.n_features)
    best = judge(problem, w, xs, ys)
    for _ in range(rounds):
        for k in range(w.size):
            for step in steps:
                other = w.copy()
                other[k] = step
                if other.any() and (found := judge(problem, other, xs, ys)) < best:
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
        w = svm.solution_.w
        found[metric] = deviation(svm.problem_, w, *new)
        found[f"{metric}, pruned"] = deviation(
            svm.problem_, pruned(svm.problem_, w, *known, distance), *new
        )
    return found


# ---- changes of recordings as anchors


def states(y):
    """The order of the states, and where they change."""
    changes = np.flatnonzero(y[1:] != y[:-1]) + 1
    return tuple(y[[0, *changes]].tolist()), changes


def standardised(X):
    return (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)


def paired(rng, recordings, n):
    """Pairs of recordings of different groups, as they are and standardised, with their anchors."""
    plain = []
    scaled = []
    ys = []
    while len(ys) < n:
        a, b = (recordings[i] for i in rng.choice(len(recordings), 2, replace=False))
        if group(a) == group(b):
            continue
        anchors = np.column_stack([states(a.y)[1], states(b.y)[1]])
        plain.append((a.X, b.X))
        scaled.append((standardised(a.X), standardised(b.X)))
        ys.append(np.vstack([[0, 0], anchors, [len(a.y) - 1, len(b.y) - 1]]))
    return plain, scaled, ys


def group(recording):
    return recording.name.split("_")[0]


def off(y, path):
    """How far aligned changes are off, in samples, where the label has anchors."""
    rows = np.bincount(path[:, 0])
    place = np.bincount(path[:, 0], path[:, 1]) / rows
    return np.abs(place[y[1:-1, 0]] - y[1:-1, 1]).mean()


def missed(problem, w, xs, ys):
    return np.mean([off(y, problem.predict(w, x)) for x, y in zip(xs, ys, strict=True)])


def of_recordings(folder):
    """How far changes of new groups are off: plain, standardised, tuned and learned."""
    every = read_recordings(sorted(Path(folder).glob("*.npz")))
    usual = Counter(states(one.y)[0] for one in every).most_common(1)[0][0]
    every = [one for one in every if states(one.y)[0] == usual]
    groups = sorted({group(one) for one in every})
    known = groups[: 2 * len(groups) // 3]
    rng = np.random.default_rng(0)
    plain, scaled, ys = paired(rng, [one for one in every if group(one) not in known], 60)
    P = plain[0][0].shape[1]
    single = Alignment(P, "diagonal")
    away = [missed(single, np.ones(P), xs, ys) for xs in (plain, scaled)]
    print(f"{len(every)} recordings, plain {away[0]:.2f}, standardised {away[1]:.2f}", flush=True)
    for n in (5, 20, 60):
        _, xs, anchors = paired(rng, [one for one in every if group(one) in known], n)
        w = tuned(single, xs, anchors, (0, 0.1, 0.3, 3.0, 10.0), missed, 1)
        found = {"tuned": missed(single, w, scaled, ys)}
        for metric, lam in (("diagonal", 1e-3), ("diagonal", 1e-2), ("full", 1e-2)):
            svm = StructuredSVM(Alignment(metric=metric), lam=lam).fit(xs, anchors)
            w = svm.solution_.w
            found[f"{metric} {lam:g}"] = missed(svm.problem_, w, scaled, ys)
            w = pruned(svm.problem_, w, xs, anchors, off)
            found[f"{metric} {lam:g}, pruned"] = missed(svm.problem_, w, scaled, ys)
        words = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
        print(f"{n} pairs with anchors: {words}", flush=True)


def main():
    if len(sys.argv) > 1:
        of_recordings(sys.argv[1])
        return
    for is_mixed in (False, True):
        for n_pairs in (3, 10, 30):
            every = [compared(seed, n_pairs, is_mixed) for seed in range(4)]
            means = {name: np.mean([one[name] for one in every]) for name in every[0]}
            words = ", ".join(f"{name} {mean:.2f}" for name, mean in means.items())
            print(f"{'mixed' if is_mixed else 'as they are'}, {n_pairs} pairs: {words}", flush=True)


if __name__ == "__main__":
    main()
