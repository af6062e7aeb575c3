"""The paper's Figure 1: 300-dimensional series of which 10 matter, labelled in part.

Ten recordings learn, ten test; only the first part of each learning recording is labelled, from a
tenth of it to all. All but the learned metric are given the true number of segments of the test
recordings; "one penalty" searches that penalty on the labels instead. Both generators of
:func:`structsvm.datasets.relevant_changes`: the paper gives neither its own nor any number in the
text. The ways to complete labels are compared by themselves, at two fractions.

    python -m experiments.paper.figure1_robustness --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._cache import Pieces, seconds_option
from experiments._report import PAPER, publish, stored
from structsvm import Alternation, ChangePoint, EquivalenceMatrix, MetricLearner
from structsvm.data.instance import apply_to_instances
from structsvm.data.standardize import Standardizer
from structsvm.datasets import relevant_changes
from structsvm.learner.completing import calibrate_known, complete_in_rounds, complete_labels
from structsvm.learner.fitting import FitState, Settings
from structsvm.learner.preparing import read_training
from structsvm.learner.stages import Inputs
from structsvm.learner.training_set import TrainingSet
from structsvm.partitions import Examples, Instance, Metric
from structsvm.partitions.learning import within_whitening
from structsvm.partitions.losses import partition_loss
from structsvm.problem import metric_factor
from structsvm.training_labels import read_labels

Floats = NDArray[np.float64]

SEEDS = range(10)
COMPARED = (0.2, 0.4)
"""Fractions at which the ways to complete labels are compared."""
FRACTIONS = (0.1, 0.2, 0.3, 0.5, 1.0)
LEVELS = {"independent": None, "rank3": 3}
RANKS = (1, 2, 4, 8, 16, 32)
PROBLEM = ChangePoint()


class Trial:
    """Recordings of one seed, labelled in part."""

    def __init__(self, level: str, seed: int, fraction: float) -> None:
        made = relevant_changes(20, rank=LEVELS[level], random_state=seed)
        self.Xs = [r.X for r in made]
        ys = [r.y for r in made]
        self.partial = [np.where(np.arange(y.size) < fraction * y.size, y, -1) for y in ys[:10]]
        self.truths = [EquivalenceMatrix.from_labels(y) for y in ys[10:]]
        self.instances = [Instance(Standardizer("recording")(X)) for X in self.Xs]
        self.known = read_labels(PROBLEM, self.instances[:10], self.partial)

    def loss(self, factor: Floats, penalty: float | None = None) -> float:
        """On the test recordings, with the number of segments given or priced."""
        metric = Metric(factor, 0.0 if penalty is None else penalty)
        counts = [t.n_clusters if penalty is None else None for t in self.truths]
        triples = zip(self.instances[10:], self.truths, counts, strict=True)
        return float(
            np.mean([partition_loss(t, PROBLEM.partition(x, metric, K)) for x, t, K in triples])
        )

    def learned(self, how: Alternation | None = None) -> MetricLearner:
        """Ours, given nothing."""
        learner = MetricLearner(metric="diagonal")
        return learner.fit(self.Xs[:10], self.partial, alternation=how)

    def own_loss(self, metric: Metric) -> float:
        """Of a learned metric and its price."""
        return self.loss(metric.factor, metric.price)

    def rivals(self) -> dict[str, float]:
        """Everybody else."""
        whole = TrainingSet(
            PROBLEM, self.instances[:10], self.known, np.ones(10), self.partial
        ).parts
        parts = whole.instances
        truths = whole.truths
        scatter = sum(x.X.T @ x.X for x in self.instances[:10])
        principal = np.linalg.eigh(scatter)[1][:, ::-1]
        whitening = within_whitening(Examples(parts, truths), 1e-2)
        between = sum(
            M.gram((x.X - x.X.mean(axis=0)) @ whitening) for x, M in zip(parts, truths, strict=True)
        )
        directions = np.linalg.eigh(between)[1][:, ::-1]
        return {
            "no learning": self.loss(np.eye(principal.shape[0])),
            "PCA": self.loss(principal[:, : _best_rank(principal, parts, truths)]),
            "RCA, 3 components": self.loss(whitening @ directions[:, :3]),
            "RCA, 4 components": self.loss(whitening @ directions[:, :4]),
        }


def _best_rank(
    directions: Floats, parts: Sequence[Instance], truths: Sequence[EquivalenceMatrix]
) -> int:
    """How many components segment the labelled stretches best, their numbers of segments given."""

    def loss(rank: int) -> float:
        metric = Metric(directions[:, :rank], 0.0)
        pairs = zip(parts, truths, strict=True)
        return float(
            np.mean(
                [partition_loss(t, PROBLEM.partition(x, metric, t.n_clusters)) for x, t in pairs]
            )
        )

    return min(RANKS, key=loss)


def from_principal_components(trial: Trial) -> Metric:
    """Ours, but the labels are completed first in the metric of the principal components.

    That is the start of Lajugie et al., section "Partial labellings".
    """
    learner = MetricLearner(metric="diagonal")
    settings = Settings.of(learner.get_params(deep=False))
    read = read_training(learner, trial.Xs[:10], trial.partial)
    _, data = Inputs.fit(settings.features, settings.standardize, read)
    units = FitState.of(settings, data.parts).units
    objective = PROBLEM.objective("diagonal", data.n_features)
    seen = replace(data, instances=apply_to_instances(data.instances, units))
    first = complete_labels(principal_components(seen), seen)
    w = objective.weight_space().identity()
    found = complete_in_rounds(settings, objective, seen, w, max_rounds=10, first=first)
    factor = units.restore(metric_factor(objective.split(found.solution.w)[0]))
    return calibrate_known(factor, data).metric(factor)


def principal_components(data: TrainingSet) -> Metric:
    """As many (1, 2, 4, ...) as agree best with what is known."""
    centred = [x.X - x.X.mean(axis=0) for x in data.instances]
    vectors = np.linalg.eigh(sum(X.T @ X for X in centred))[1][:, ::-1]
    factors = [vectors[:, : 2**k] for k in range(len(vectors).bit_length())]
    found = [calibrate_known(L, data) for L in factors]
    best = int(np.argmin([calibration.merit for calibration in found]))
    return found[best].metric(factors[best])


VARIANTS: dict[str, Callable[[Trial], Metric]] = {
    "ours": lambda trial: trial.learned().metric_,
    "ours, PCA start": from_principal_components,
    "labelled stretches alone": lambda trial: trial.learned(Alternation(max_rounds=0)).metric_,
}
"""The ways to complete labels."""

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
    learner = trial.learned()
    untrained = learner.baselines_["untrained"].metric_
    return {
        "ours": trial.own_loss(learner.metric_),
        "one penalty": trial.own_loss(untrained),
        **trial.rivals(),
    }


def _variants(level: str, seed: int, fraction: float) -> dict[str, float]:
    trial = Trial(level, seed, fraction)
    return {name: trial.own_loss(learn(trial)) for name, learn in VARIANTS.items()}


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error, 0 where there is one value."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(np.mean(values)), float(error)


def cell(values: Sequence[float]) -> str:
    """Mean and standard error, where there are several values."""
    if not values:
        return "-"
    return "{:.2f} +- {:.2f}".format(*mean_and_error(values)) if values[1:] else f"{values[0]:.2f}"


def table(found: Found, level: str, fractions: Sequence[float]) -> list[dict[str, Any]]:
    """A row per method, a column per fraction."""
    rows = []
    for method in dict.fromkeys(m for lv, _, m in found if lv == level):
        row: dict[str, Any] = {"method": method}
        n = 0
        for fraction in fractions:
            values = found.get((level, fraction, method), [])
            n = max(n, len(values))
            row[f"{fraction:.0%}"] = cell(values)
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
            row[f"{level} {fraction:.0%}"] = cell(values)
        rows.append({**row, "seeds": str(len(values))})
    return rows


def draw() -> None:
    """Both generators, side by side, as their tables have them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from experiments.paper._fractions import plot_label_fraction

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
    for ax, level in zip(axes, LEVELS, strict=True):
        rows = []
        for row in stored(f"figure1_robustness_{level}")[1]:
            for percent, cell in row.items():
                if percent.endswith("%") and cell != "-":
                    about = {"method": row["method"], "fraction": float(percent[:-1]) / 100}
                    rows.append(about | _values(cell))
        plot_label_fraction(rows, ylabel="", ax=ax)
        ax.set_title({"independent": "independent levels", "rank3": "levels of rank 3"}[level])
    axes[0].set_ylabel("loss on test recordings")
    lines, names = axes[0].get_legend_handles_labels()
    for ax in axes:
        ax.get_legend().remove()
    figure.legend(lines, names, loc="lower center", ncol=len(names), frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(PAPER / "figure1_robustness.png", dpi=110)


def _values(cell: str) -> dict[str, float]:
    """The mean and the standard error of a cell."""
    mean, _, error = cell.partition(" +- ")
    return {"mean": float(mean), "se": float(error or 0.0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    seconds_option(parser)
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="publish so many")
    parser.add_argument("--fractions", type=float, nargs="+", default=FRACTIONS)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--compare", action="store_true", help="only the ways to complete labels")
    only.add_argument("--figure", action="store_true", help="only the figure of the paper")
    args = parser.parse_args()
    pieces = Pieces("figure1_robustness", args.seconds)
    warnings.simplefilter("ignore")  # of convergence, for some of a hundred fits
    seeds = range(args.seeds)
    if not args.figure:
        variants = run(pieces, seeds, COMPARED, " variants", _variants)
        pieces.finish()
        publish("figure1_completing", compared(variants))
    if args.compare:
        return
    found = run(pieces, seeds, args.fractions, "", _main)
    pieces.finish()
    for level in LEVELS:
        publish(f"figure1_robustness_{level}", table(found, level, args.fractions))
    draw()


if __name__ == "__main__":
    main()
