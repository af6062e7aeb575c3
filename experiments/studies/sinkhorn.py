"""Learned Sinkhorn divergences (Ahad, Dyer, Hengen, Xie and Davenport, 2022), re-implemented.

A supervised two-sample test: the score of a time is the Sinkhorn divergence between the window
before it and the window after it, whose ground cost is a squared Mahalanobis distance. It is
learned from true changes by triplets, so that windows of one segment are closer than windows on
either side of a change. Changes are the peaks of the score; their threshold and distance, and
the window, are tuned on the training recordings. Ours, learned from the same recordings, is beside
it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.signal import find_peaks

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, Row, publish
from experiments.studies.har_spsw import scores, split
from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.errors import DataWarning
from structsvm.interop import labels_to_breakpoints
from structsvm.io import arrays_and_labels, read_recordings
from structsvm.learner.preparing import prepare
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import partition_loss

Floats = NDArray[np.float64]

SETS = ("har_spsw", "beedance")
STEPS, BATCH, RATE, MARGIN = 400, 32, 0.01, 1.0
ROUNDS, SOFTNESS = 30, 0.1
"""Sinkhorn's iterations, and the entropy's weight in units of the mean cost of identity."""


def transport(X: Floats, Y: Floats, L: Floats, entropy: float) -> tuple[Floats, Floats]:
    """Cost of entropic transport between windows (n, w, P), (n,), and the plans (n, w, w)."""
    A = X @ L.T
    B = Y @ L.T
    cost = (A**2).sum(-1)[:, :, None] + (B**2).sum(-1)[:, None, :] - 2 * A @ B.transpose(0, 2, 1)
    cost = np.maximum(cost, 0.0)
    n, w = cost.shape[:2]
    u = v = np.zeros((n, w))
    for _ in range(ROUNDS):  # of the potentials, in logarithms
        u = -entropy * _log_mean((v[:, None, :] - cost) / entropy, 2)
        v = -entropy * _log_mean((u[:, :, None] - cost) / entropy, 1)
    plan = np.exp((u[:, :, None] + v[:, None, :] - cost) / entropy) / w**2
    return u.mean(axis=1) + v.mean(axis=1), plan


def _log_mean(values: Floats, axis: int) -> Floats:
    top = values.max(axis=axis, keepdims=True)
    return np.log(np.exp(values - top).mean(axis=axis)) + top.squeeze(axis)


def divergence(
    X: Floats, Y: Floats, L: Floats, entropy: float
) -> tuple[Floats, list[tuple[float, Floats, Floats, Floats]]]:
    """Sinkhorn divergences (n,), and what their gradients need."""
    parts = [(1.0, X, Y), (-0.5, X, X), (-0.5, Y, Y)]
    value = np.zeros(len(X))
    kept = []
    for sign, A, B in parts:
        cost, plan = transport(A, B, L, entropy)
        value = value + sign * cost
        kept.append((sign, A, B, plan))
    return value, kept


def slope(kept: list[tuple[float, Floats, Floats, Floats]], weights: Floats, L: Floats) -> Floats:
    """Gradient in ``L`` of the weighted sum of divergences, the plans being optimal."""
    total = np.zeros((L.shape[1], L.shape[1]))
    for sign, A, B, plan in kept:
        P = plan * (sign * weights)[:, None, None]
        cross = np.einsum("nij,nip,njq->pq", P, A, B, optimize=True)
        own = np.einsum("ni,nip,niq->pq", P.sum(2), A, A, optimize=True)
        own += np.einsum("nj,njp,njq->pq", P.sum(1), B, B, optimize=True)
        total += own - cross - cross.T
    return 2 * L @ total


@dataclass(frozen=True)
class Triplets:
    """Windows, others of the same segment, and others behind or before the next change."""

    anchors: Floats
    same: Floats
    other: Floats


def triplets(
    Zs: Sequence[Floats], ends: Sequence[list[int]], w: int, rng: np.random.Generator
) -> Triplets:
    """At random, from the segments that are long enough."""
    found: list[tuple[Floats, Floats, Floats]] = []
    while len(found) < STEPS * BATCH:
        i = int(rng.integers(len(Zs)))
        bounds = [0, *ends[i]]
        k = int(rng.integers(1, len(bounds) - 1))
        first = (bounds[k - 1], bounds[k])
        second = (bounds[k], bounds[k + 1])
        if rng.random() < 0.5:
            first, second = second, first
        if min(first[1] - first[0], second[1] - second[0]) < w:
            continue
        a, b = rng.integers(first[0], first[1] - w + 1, 2)
        c = int(rng.integers(second[0], second[1] - w + 1))
        found.append((Zs[i][a : a + w], Zs[i][b : b + w], Zs[i][c : c + w]))
    return Triplets(*map(np.array, zip(*found, strict=True)))


def learned(given: Triplets, entropy: float, P: int) -> Floats:
    """``L`` by Adam on the triplet hinges, from the identity."""
    L = np.eye(P)
    first = np.zeros((P, P))
    second = np.zeros((P, P))
    scale = entropy / SOFTNESS
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        a = given.anchors[rows]
        b = given.same[rows]
        c = given.other[rows]
        near, near_kept = divergence(a, b, L, entropy)
        far, far_kept = divergence(a, c, L, entropy)
        active = ((near - far) / scale + MARGIN > 0) / (scale * BATCH)
        gradient = slope(near_kept, active, L) - slope(far_kept, active, L)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        one = 1 - 0.9 ** (step + 1)
        two = 1 - 0.999 ** (step + 1)
        L = L - RATE * (first / one) / (np.sqrt(second / two) + 1e-8)
    return L


def curve(Z: Floats, w: int, L: Floats, entropy: float) -> Floats:
    """The score of every time, zero near the ends."""
    score = np.zeros(len(Z))
    if len(Z) >= 2 * w:
        views = np.moveaxis(sliding_window_view(Z, w, axis=0), 2, 1)
        score[w : len(Z) - w + 1] = divergence(views[:-w], views[w:], L, entropy)[0]
    return score


def peaks(score: Floats, threshold: float, apart: int) -> EquivalenceMatrix:
    """The segmentation at the peaks above a threshold, so many samples apart."""
    found, _ = find_peaks(score, height=threshold, distance=apart)
    return EquivalenceMatrix.from_breakpoints([*found.tolist(), len(score)])


@dataclass(frozen=True)
class Detector:
    """A window, a ground metric, and what makes a change of a score."""

    w: int
    L: Floats
    entropy: float
    threshold: float
    apart: int
    loss: float
    """On the training recordings."""

    def __call__(self, Z: Floats) -> EquivalenceMatrix:
        """Segment a recording."""
        return peaks(curve(Z, self.w, self.L, self.entropy), self.threshold, self.apart)


def tuned(Zs: Sequence[Floats], ends: Sequence[list[int]], w: int, learn: bool) -> Detector:
    """The best threshold and distance of peaks for a window."""
    given = triplets(Zs, ends, w, np.random.default_rng(0))
    spread = given.anchors[:500] - given.other[:500]
    entropy = SOFTNESS * float((spread**2).sum(-1).mean())
    P = Zs[0].shape[1]
    L = learned(given, entropy, P) if learn else np.eye(P)
    curves = [curve(Z, w, L, entropy) for Z in Zs]
    truths = [EquivalenceMatrix.from_breakpoints(e) for e in ends]
    found = []
    for threshold in np.quantile(np.concatenate(curves), np.linspace(0.3, 0.995, 40)):
        for apart in (max(1, w // 2), w, 2 * w):
            pairs = zip(truths, curves, strict=True)
            losses = [partition_loss(t, peaks(c, float(threshold), apart)) for t, c in pairs]
            loss = float(np.mean(losses))
            found.append(Detector(w, L, entropy, float(threshold), apart, loss))
    return min(found, key=lambda detector: detector.loss)


def sinkhorn(
    Zs: Sequence[Floats], ends: Sequence[list[int]], test: Sequence[Floats], learn: bool
) -> list[EquivalenceMatrix]:
    """Segmentations of the test recordings by the window that is best on the others."""
    lengths = np.concatenate([np.diff([0, *e]) for e in ends])
    shortest = max(4, int(np.quantile(lengths, 0.1)) // 2)
    detectors = [tuned(Zs, ends, factor * shortest, learn) for factor in (1, 2)]
    best = min(detectors, key=lambda detector: detector.loss)
    return [best(Z) for Z in test]


def metric(
    kind: str, Zs: Sequence[Floats], ends: Sequence[list[int]], test: Sequence[Floats]
) -> list[EquivalenceMatrix]:
    """Ours: the learned metric and penalty, or the untrained metric with the best penalty."""
    learner = MetricLearner(metric="full" if kind == "untrained" else kind, standardize=None)
    learner.fit(list(Zs), list(ends))
    use = learner.baselines_["untrained"].metric_ if kind == "untrained" else learner.metric_
    return list(decode_with(learner, use, prepare(learner, list(test))))


METHODS = {
    "Sinkhorn divergence, identity": partial(sinkhorn, learn=False),
    "Sinkhorn divergence, learned": partial(sinkhorn, learn=True),
    "untrained metric, best penalty": partial(metric, "untrained"),
    "learned metric, diagonal": partial(metric, "diagonal"),
    "learned metric, full": partial(metric, "full"),
}


def folds(name: str, folder: Path) -> list[tuple[list[Any], list[Any]]]:
    """Recordings to learn from and to test on."""
    if name == "har_spsw":
        return [split(folder / name)]
    recordings = read_recordings(folder / name)
    return [([r for r in recordings if r is not out], [out]) for out in recordings]


def segmented(name: str, folder: Path, method: str) -> dict[str, float]:
    """Mean held-out scores, the number of segments not being given."""
    truths: list[EquivalenceMatrix] = []
    guesses: list[EquivalenceMatrix] = []
    for learn, test in folds(name, folder):
        parts = [arrays_and_labels(part) for part in (learn, test)]
        (Xs, ends), (new, true) = (
            ([_zscored(X) for X in part], [labels_to_breakpoints(y) for y in ys])
            for part, ys in parts
        )
        guesses += METHODS[method](Xs, ends, new)
        truths += [EquivalenceMatrix.from_breakpoints(e) for e in true]
    return dict(scores(truths, guesses))


def _zscored(X: Floats) -> Floats:
    deviation = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    seconds_option(parser)
    args = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    pieces = Pieces("sinkhorn", args.seconds)
    found = {
        (name, method): pieces.get(f"{name} {method}", partial(segmented, name, args.data, method))
        for name, method in product(args.sets, METHODS)
    }
    pieces.finish()
    rows: list[Row] = [{"set": s, "method": m, **of} for (s, m), of in found.items()]
    publish("sinkhorn", rows)


if __name__ == "__main__":
    main()
