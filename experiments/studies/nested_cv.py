"""What choosing the metric by cross-validation is worth, on recordings that no choice has seen.

Not in the paper. Fully nested: in each outer fold :class:`structsvm.MetricLearnerCV` sees the
training recordings only, chooses among untrained, RCA, diagonal and full metrics and four values of
lam by inner folds, calibrates, and judges; the outer recordings are then segmented with what it
chose. Where learning and segmenting are at the same rate, it also chooses among metrics on lags and
a boundary classifier. har_spsw: three folds of subjects, 40 recordings drawn from the other
subjects to learn; skab and tep: five folds; mocap6 and beedance: one recording held out at a time.

skab and tep are learned on means of 4 samples and beedance on means of 3, which is cheaper, and
segmented at the full rate: z-scores first, then block means times the square root of the block
length, in which units the penalty is that of the full rate.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, Row, publish
from experiments.studies._chosen import learned_metric
from structsvm import MetricLearner, MetricLearnerCV
from structsvm.errors import VerdictWarning
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording, arrays_and_labels, read_recordings
from structsvm.learner.preparing import encode
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import partition_loss
from structsvm.problems import ChangePoint

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCKS = {"skab": 4, "tep": 4, "beedance": 3}
N_TRAINING = 40
METRICS = ("untrained", "rca", "learned", "best")
SETS = ("har_spsw", "skab", "beedance", "mocap6", "tep")


def zscored(X: Floats) -> Floats:
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 1e-12, deviation, 1.0)


def standard_error(gains: Floats, units: Ints) -> float:
    """Of the mean, when only different units are independent."""
    sums = np.bincount(units, weights=gains - gains.mean())
    G = np.unique(units).size
    return float(np.sqrt((sums**2).sum() * G / (G - 1)) / gains.size)


def block_means(X: Floats, ends: Sequence[int], block: int) -> tuple[Floats, list[int]]:
    """Means of ``block`` samples, scaled to the penalty of the full rate, and the segment ends."""
    n = X.shape[0] // block
    means = X[: n * block].reshape(n, block, -1).mean(axis=1) * np.sqrt(block)
    rounded = np.clip(np.round(np.asarray(ends) / block).astype(int), 1, n)
    rounded[-1] = n
    return means, np.unique(rounded).tolist()


def outer_folds(name: str, recordings: Sequence[Recording]) -> tuple[list[Ints], Ints | None]:
    """The recordings of each test fold, and the groups."""
    nothing = np.zeros(len(recordings))
    if name == "har_spsw":
        groups = np.array([int(r.name[1:3]) for r in recordings])
        splits = GroupKFold(3, shuffle=True, random_state=0).split(nothing, groups=groups)
        return [test for _, test in splits], groups
    few = len(recordings) < 10
    splitter = LeaveOneOut() if few else KFold(5, shuffle=True, random_state=0)
    return [test for _, test in splitter.split(nothing)], None


def losses(
    models: Mapping[str, Any], metric: str, Xs: Sequence[Floats], ends: Sequence[list[int]]
) -> dict[str, list[float]]:
    """Of each recording, with the number of segments given ("k") and not ("u")."""
    plain = models["plain"]
    truths = encode(plain, Xs, ends)
    found = {}
    for given, counts in (("k", [truth.n_clusters for truth in truths]), ("u", None)):
        if metric in plain.baselines_:
            guesses = decode_with(plain, plain.baselines_[metric].metric_, Xs, counts)
        else:
            guesses = models[metric].predict_partitions(Xs, counts)
        pairs = zip(truths, guesses, strict=True)
        found[given] = [partition_loss(t, g) for t, g in pairs]
    return found


class Nested:
    """One set of recordings, its outer folds kept one by one."""

    def __init__(
        self,
        name: str,
        folder: Path,
        jobs: int,
        whiten: str | float | None = "auto",
        plain: bool = False,
    ) -> None:
        recordings = [r for r in read_recordings(folder) if len(np.unique(r.y)) > 1]
        Xs, ys = arrays_and_labels(recordings)
        self.name, self.jobs, self.whiten = name, jobs, whiten
        # Lags and classifiers learned on means of samples say nothing of samples.
        self.plain = plain or name in BLOCKS
        self.Zs = [zscored(X) for X in Xs]
        self.ends = [labels_to_breakpoints(y) for y in ys]
        self.folds, self.groups = outer_folds(name, recordings)
        block = BLOCKS.get(name, 1)
        pairs = zip(self.Zs, self.ends, strict=True)
        self.pooled = [block_means(Z, ends, block) for Z, ends in pairs]

    def training(self, k: int) -> Ints:
        """The recordings to learn from in a fold."""
        train = np.setdiff1d(np.arange(len(self.Zs)), self.folds[k])
        if train.size > N_TRAINING:
            train = np.random.default_rng(100 + k).permutation(train)[:N_TRAINING]
        return train

    def fold(self, k: int) -> dict[str, Any]:
        """Choose on the training recordings of a fold, segment the others."""
        test = self.folds[k]
        train = self.training(k)
        Xs = [self.pooled[i][0] for i in train]
        ys = [self.pooled[i][1] for i in train]
        model = MetricLearnerCV(
            candidates=ChangePoint().traits.candidates if self.plain else None,
            standardize=None,
            whiten=self.whiten,
            random_state=0,
            n_jobs=self.jobs,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VerdictWarning)
            model.fit(Xs, ys, groups=None if self.groups is None else self.groups[train])
        plain = MetricLearner(metric="diagonal", standardize=None).fit(Xs, ys, baselines=["rca"])
        best = model.best_estimator_
        groups = None if self.groups is None else self.groups[train]
        learned, choice = learned_metric(model, Xs, ys, groups)
        models = {"plain": plain, "best": best, "learned": learned}
        Zs = [self.Zs[i] for i in test]
        ends = [self.ends[i] for i in test]
        print(self.name, k, choice, model.best_candidate_, model.verdict_, flush=True)
        return {
            "test": test.tolist(),
            "train": train.tolist(),
            "losses": {metric: losses(models, metric, Zs, ends) for metric in METRICS},
            "choice": choice,
            "best": model.best_candidate_,
            "expected": model.verdict_.untrained.mean,
            "pays": model.verdict_.pays,
            "candidates": [str(candidate) for candidate in model.candidates_],
            "criterion": model.criterion_.tolist(),
        }

    def row(self, found: Sequence[dict[str, Any]]) -> Row:
        """One row of the table: mean losses, known / unknown number of segments."""
        order = np.concatenate([fold["test"] for fold in found])
        values = {
            (m, given): np.concatenate([fold["losses"][m][given] for fold in found])
            for m, given in product(METRICS, "ku")
        }
        units = np.arange(order.size)
        if self.groups is not None:
            units = np.unique(self.groups[order], return_inverse=True)[1]
        row: dict[str, object] = {"set": self.name, "recordings": order.size}
        for metric in METRICS:
            row[metric] = " / ".join(f"{values[metric, given].mean():.2f}" for given in "ku")
        for given, title in (("k", "gain, K known"), ("u", "gain, K unknown")):
            gain = values["untrained", given] - values["learned", given]
            row[title] = f"{gain.mean():.2f} +- {standard_error(gain, units):.2f}"
        row["gain expected"] = f"{np.mean([fold['expected'] for fold in found]):.2f}"
        row["says that it pays"] = f"{sum(fold['pays'] for fold in found)} of {len(found)}"
        choices = [fold["choice"] for fold in found]
        row["chosen"] = ", ".join(f"{c} ({choices.count(c)})" for c in sorted(set(choices)))
        return row


def main(
    folder: Path,
    names: Sequence[str],
    jobs: int,
    seconds: float,
    whiten: float | None,
    plain: bool,
) -> None:
    title = "nested_cv_plain" if plain else "nested_cv"
    title = title if whiten is None else "nested_cv_whitened"
    plain = plain or whiten is not None
    pieces = Pieces(title, seconds)
    rows = []
    for name in names:
        nested = Nested(name, folder / name, jobs, "auto" if whiten is None else whiten, plain)
        found = [
            pieces.get(f"{name} {k}", partial(nested.fold, k)) for k in range(len(nested.folds))
        ]
        if None not in found:
            rows.append(nested.row(found))
    pieces.finish()
    publish(title, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--whiten", type=float, help="full metrics start from whitened features")
    parser.add_argument("--plain", action="store_true", help="choose among metrics without context")
    seconds_option(parser)
    arguments = parser.parse_args()
    main(
        arguments.data,
        arguments.sets,
        arguments.jobs,
        arguments.seconds,
        arguments.whiten,
        arguments.plain,
    )
