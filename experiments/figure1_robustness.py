"""The paper's Figure 1: 300-dimensional series of which 10 matter, labelled in part.

Ten recordings learn, ten test; only the first part of each learning recording is labelled, from a
tenth of it to all. Everybody but the learned metric is told the true number of segments of the test
recordings; "one penalty" searches that penalty on the labels instead. Both generators of
:func:`structsvm.datasets.relevant_changes`: the paper gives neither its own nor any number in the
text. The ways to complete labels are compared by themselves, at two fractions.

    python experiments/figure1_robustness.py --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from _cache import Pieces, seconds_option
from _report import PAPER, publish
from numpy.typing import NDArray

from structsvm import Alternation, MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partial_labels.complete import known_parts, read_labels
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import Metric
from structsvm.partitions.samples import Standardizer
from structsvm.partitions.units import within_whitening
from structsvm.problems.change_point import ChangePoint

Floats = NDArray[np.float64]

SEEDS = range(10)
COMPARED = (0.2, 0.4)
"""Fractions at which the ways to complete labels are compared."""
FRACTIONS = (0.1, 0.2, 0.3, 0.5, 1.0)
LEVELS = {"independent": None, "rank3": 3}
RANKS = (1, 2, 4, 8, 16, 32)
VARIANTS = {
    "ours": Alternation(),
    "ours, latent": Alternation(formulation="latent"),
    "ours, PCA start": Alternation(start="pca", safeguard=False),
    "labelled stretches alone": Alternation(max_rounds=0),
}
ORACLE = SequentialOracle()


class Trial:
    """Recordings of one seed, labelled in part."""

    def __init__(self, level: str, seed: int, fraction: float) -> None:
        made = relevant_changes(20, rank=LEVELS[level], random_state=seed)
        self.Xs, ys = [r.X for r in made], [r.y for r in made]
        self.partial = [np.where(np.arange(y.size) < fraction * y.size, y, -1) for y in ys[:10]]
        self.truths = [EquivalenceMatrix.from_labels(y) for y in ys[10:]]
        self.samples = [Standardizer("recording")(X) for X in self.Xs]
        self.known = read_labels(ChangePoint(), self.samples[:10], self.partial)

    def loss(self, factor: Floats, penalty: float | None = None) -> float:
        """On the test recordings, told the number of segments or priced."""
        metric = Metric(factor, 0.0 if penalty is None else penalty)
        counts = [t.n_clusters if penalty is None else None for t in self.truths]
        triples = zip(self.samples[10:], self.truths, counts, strict=True)
        return float(
            np.mean([partition_loss(t, metric.decode(ORACLE, X, K)) for X, t, K in triples])
        )

    def learned(self, variant: str) -> MetricLearner:
        """Ours, given nothing."""
        learner = MetricLearner(metric="diagonal", alternation=VARIANTS[variant])
        return learner.fit(self.Xs[:10], self.partial)

    def own_loss(self, learner: MetricLearner) -> float:
        """Of a learned metric and penalty."""
        return self.loss(learner.components_.T, learner.penalty_)

    def rivals(self) -> dict[str, float]:
        """Everybody else."""
        parts, truths = known_parts(self.samples[:10], self.known)
        scatter = sum(X.T @ X for X in self.samples[:10])
        principal = np.linalg.eigh(scatter)[1][:, ::-1]
        whitening = within_whitening(parts, truths, 1e-2)
        between = sum(
            M.gram((X - X.mean(axis=0)) @ whitening) for X, M in zip(parts, truths, strict=True)
        )
        directions = np.linalg.eigh(between)[1][:, ::-1]
        return {
            "no learning": self.loss(np.eye(principal.shape[0])),
            "PCA": self.loss(principal[:, : _best_rank(principal, parts, truths)]),
            "RCA, 3 components": self.loss(whitening @ directions[:, :3]),
            "RCA, 4 components": self.loss(whitening @ directions[:, :4]),
        }


def _best_rank(
    directions: Floats, parts: Sequence[Floats], truths: Sequence[EquivalenceMatrix]
) -> int:
    """How many components segment the labelled stretches best, told their numbers of segments."""

    def loss(rank: int) -> float:
        metric = Metric(directions[:, :rank], 0.0)
        pairs = zip(parts, truths, strict=True)
        return float(
            np.mean([partition_loss(t, metric.decode(ORACLE, X, t.n_clusters)) for X, t in pairs])
        )

    return min(RANKS, key=loss)


Found = dict[tuple[str, float, str], list[float]]
"""The losses of every seed by generator, fraction and method."""


def run(
    pieces: Pieces,
    seeds: range,
    fractions: Sequence[float],
    kind: str,
    measure: Callable[[str, int, float], dict[str, float]],
) -> Found:
    """As far as time allows."""
    found: Found = {}
    for seed, level, fraction in itertools.product(seeds, LEVELS, fractions):
        key = f"{level} {fraction} {seed}{kind}"
        losses = pieces.get(key, partial(measure, level, seed, fraction))
        for method, loss in (losses or {}).items():
            found.setdefault((level, fraction, method), []).append(loss)
    return found


def _main(level: str, seed: int, fraction: float) -> dict[str, float]:
    trial = Trial(level, seed, fraction)
    learner = trial.learned("ours")
    untrained = learner.baselines_["untrained"]
    return {
        "ours": trial.own_loss(learner),
        "one penalty": trial.loss(untrained.factor, untrained.penalty),
        **trial.rivals(),
    }


def _variants(level: str, seed: int, fraction: float) -> dict[str, float]:
    trial = Trial(level, seed, fraction)
    return {name: trial.own_loss(trial.learned(name)) for name in VARIANTS}


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def table(found: Found, level: str) -> list[dict[str, Any]]:
    """A row per method, a column per fraction."""
    rows = []
    for method in dict.fromkeys(m for lv, _, m in found if lv == level):
        row: dict[str, Any] = {"method": method}
        n = 0
        for fraction in FRACTIONS:
            values = found.get((level, fraction, method), [])
            n = max(n, len(values))
            text = "{:.2f} +- {:.2f}".format(*mean_and_error(values)) if len(values) > 1 else "-"
            row[f"{fraction:.0%}"] = f"{values[0]:.2f}" if len(values) == 1 else text
        row["seeds"] = str(n)
        rows.append(row)
    return rows


def compared(found: Found) -> list[dict[str, Any]]:
    """A row per way to complete labels, a column per generator and fraction."""
    rows = []
    for name in VARIANTS:
        row: dict[str, Any] = {"method": name}
        for level, fraction in itertools.product(LEVELS, COMPARED):
            values = found[level, fraction, name]
            row[f"{level} {fraction:.0%}"] = "{:.2f} +- {:.2f}".format(*mean_and_error(values))
        rows.append({**row, "seeds": str(len(values))})
    return rows


def draw(found: Found) -> None:
    """Both generators, side by side."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from structsvm.plotting import plot_label_fraction

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
    for ax, level in zip(axes, LEVELS, strict=True):
        rows = [
            dict(zip(("mean", "se"), mean_and_error(v), strict=True), method=m, fraction=f)
            for (lv, f, m), v in found.items()
            if lv == level
        ]
        plot_label_fraction(rows, ylabel="loss on test recordings", ax=ax)
        ax.set_title({"independent": "independent levels", "rank3": "levels of rank 3"}[level])
    lines, names = axes[0].get_legend_handles_labels()
    for ax in axes:
        ax.get_legend().remove()
    figure.legend(lines, names, loc="lower center", ncol=len(names), frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(PAPER / "figure1_robustness.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    seconds_option(parser)
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="publish so many")
    parser.add_argument("--compare", action="store_true", help="only the ways to complete labels")
    args = parser.parse_args()
    pieces = Pieces("figure1_robustness", args.seconds)
    warnings.simplefilter("ignore")  # of convergence, for some of a hundred fits
    seeds = range(args.seeds)
    variants = run(pieces, seeds, COMPARED, " variants", _variants)
    pieces.finish()
    publish("figure1_completing", compared(variants))
    if args.compare:
        return
    found = run(pieces, seeds, FRACTIONS, "", _main)
    pieces.finish()
    for level in LEVELS:
        publish(f"figure1_robustness_{level}", table(found, level))
    draw(found)


if __name__ == "__main__":
    main()
