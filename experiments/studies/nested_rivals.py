"""What the tool chooses from its whole menu, beside every single rival, on every set of recordings.

Fully nested: in each outer fold :class:`structsvm.MetricLearnerCV` sees the training recordings
only and chooses from its own menu, as it is. *Best* is what it takes of all candidates
(``best_estimator_``), *learned* the best learned metric, which predicts otherwise. Each is
compared with every rival that applies: the untrained metric, half-shrunk RCA and OLDA and the
classifiers, tuned on the same recordings. Folds and training recordings are those of nested_cv.py.
skab and tep are means of 4 samples, beedance means of 3: they are learned and segmented at that
rate, and the ends are multiplied.
Labels are change points, and names of states on the sets that have names.

    python -m experiments.studies.nested_rivals --seconds 300      # as often as it asks for
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, Row, publish, stored
from experiments.studies._chosen import learned_metric
from experiments.studies.nested_cv import BLOCKS, N_TRAINING, outer_folds
from structsvm import EquivalenceMatrix, MetricLearner, MetricLearnerCV
from structsvm.errors import DataWarning, VerdictWarning
from structsvm.evaluation.contrast import Contrast
from structsvm.evaluation.sentences import baseline_in_words
from structsvm.interop import labels_to_breakpoints
from structsvm.io import read_recordings
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import partition_loss

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHANGES, NAMES = "change points", "names of states"
SETS = (
    ("har_spsw", CHANGES),
    ("har_spsw", NAMES),
    ("skab", CHANGES),
    ("beedance", CHANGES),
    ("mocap6", CHANGES),
    ("tep", CHANGES),
)
CHOSEN = ("best", "learned")
GIVEN = ("unknown", "known")


class Nested:
    """One set of recordings with one kind of labels, its outer folds kept one by one."""

    def __init__(self, name: str, labels: str, folder: Path) -> None:
        files = sorted((folder / name).glob("*.npz"))
        recordings = [r for r in read_recordings(files) if len(np.unique(r.y)) > 1]
        self.block = BLOCKS.get(name, 1)
        self.Xs = [_means(np.asarray(r.X), self.block) for r in recordings]
        self.ends = [labels_to_breakpoints(r.y) for r in recordings]
        self.ys: list[Any] = [self.pooled(ends) for ends in self.ends]
        if labels == NAMES:
            self.ys = [np.asarray(r.y) for r in recordings]
        self.folds, self.groups = outer_folds(name, recordings)

    def pooled(self, ends: Sequence[int]) -> list[int]:
        """Segment ends at the rate that is learned at."""
        n = ends[-1] // self.block
        rounded = np.clip(np.round(np.asarray(ends) / self.block).astype(int), 1, n)
        rounded[-1] = n
        return [int(end) for end in np.unique(rounded)]

    def fold(self, k: int) -> dict[str, Any]:
        """Choose on the training recordings of a fold, segment the others."""
        test = self.folds[k]
        train = np.setdiff1d(np.arange(len(self.Xs)), self.folds[k])
        if train.size > N_TRAINING:
            train = np.random.default_rng(100 + k).permutation(train)[:N_TRAINING]
        Xs = [self.Xs[i] for i in train]
        ys = [self.ys[i] for i in train]
        groups = None if self.groups is None else self.groups[train].tolist()
        search = MetricLearnerCV(random_state=0)
        best = search.fit(Xs, ys, groups=groups).best_estimator_
        learned, called = learned_metric(search, Xs, ys, groups)
        others = {search.best_candidate_: best, **best.baselines_}
        plain = MetricLearner(metric="diagonal").fit(
            Xs, ys, groups=groups, baselines=["rca", "olda"]
        )
        new = [self.Xs[i] for i in test]
        found: dict[str, dict[str, list[float]]] = {}
        for given in GIVEN:
            counts = [len(self.pooled(self.ends[i])) for i in test] if given == "known" else None
            guesses = {
                use: model.predict_partitions(new, counts)
                for use, model in zip(CHOSEN, (best, learned), strict=True)
            }
            for metric in ("untrained", "rca", "olda"):
                guesses[metric] = decode_with(plain, plain.baselines_[metric].metric_, new, counts)
            for rival, model in others.items():
                if model.sees is None:
                    guesses[rival] = model.predict_partitions(new, counts)
            found[given] = {name: self.losses(test, Ms) for name, Ms in guesses.items()}
        chosen = f"{called}; {search.best_candidate_}"
        print(k, chosen, {m: np.mean(v).round(2) for m, v in found["unknown"].items()}, flush=True)
        return {
            "test": test.tolist(),
            "losses": found,
            "learned": called,
            "best": search.best_candidate_,
            "held out": dict(
                zip(
                    map(str, search.candidates_),
                    search.cv_results_["mean_criterion"],
                    strict=True,
                )
            ),
        }

    def losses(self, test: Ints, guesses: Sequence[EquivalenceMatrix]) -> list[float]:
        """Of each recording, at the full rate."""
        found = []
        for i, guess in zip(test, guesses, strict=True):
            scaled = [*(end * self.block for end in guess.breakpoints[:-1]), self.ends[i][-1]]
            truth = EquivalenceMatrix.from_breakpoints(self.ends[i])
            found.append(partition_loss(truth, EquivalenceMatrix.from_breakpoints(scaled)))
        return found

    def units(self, order: Ints) -> Ints:
        """Which recordings are independent: people where they are known, else recordings."""
        if self.groups is None:
            return np.arange(order.size)
        return np.unique(self.groups[order], return_inverse=True)[1].astype(np.int64)


def _means(X: Floats, block: int) -> Floats:
    """Means of so many samples; what is left over at the end is in none."""
    n = X.shape[0] // block
    return X[: n * block].reshape(n, block, -1).mean(axis=1)


def rows_of(name: str, labels: str, nested: Nested, found: Sequence[dict[str, Any]]) -> list[Row]:
    """The chosen ones beside the rival of least loss, known in hindsight, for both questions."""
    units = nested.units(np.concatenate([fold["test"] for fold in found]))
    rows: list[Row] = []
    for given in GIVEN:
        methods = list(found[0]["losses"][given])
        values = {
            m: np.concatenate([fold["losses"][given].get(m, []) for fold in found]) for m in methods
        }
        complete = {m: v for m, v in values.items() if v.size == units.size}
        rivals = {m: v for m, v in complete.items() if m not in CHOSEN}
        rival = min(rivals, key=lambda m: float(rivals[m].mean()))
        row: dict[str, Any] = {"set": name, "labels": labels, "K": given}
        row["best single rival"] = f"{baseline_in_words(rival)}: {rivals[rival].mean():.2f}"
        for use in CHOSEN:
            row[use] = float(values[use].mean())
            gap = values[use] - rivals[rival]
            row[f"{use} less that rival"] = difference(gap, units, len(rivals))
        kinds = [fold["best"] for fold in found]
        row["chosen as best"] = ", ".join(f"{c} ({kinds.count(c)})" for c in sorted(set(kinds)))
        rows.append(row)
    return rows


def difference(gap: Floats, units: Ints, n: int) -> str:
    """The mean, its standard error and its 95 % interval, the rival being the best of ``n``."""
    if not gap.any():
        return "the same"
    found = Contrast.of("", -gap, units).one_of(n)
    return f"{-found.mean:+.2f} ± {found.se:.2f} ({-found.high:+.2f} to {-found.low:+.2f})"


def main(folder: Path, names: Sequence[str], seconds: float) -> None:
    """Compute what is missing of these sets, and publish them with the earlier rows of others."""
    warnings.simplefilter("ignore", DataWarning)
    warnings.simplefilter("ignore", VerdictWarning)
    pieces = Pieces("nested_rivals", seconds)
    rows = []
    before = stored("nested_rivals")
    earlier = set[str]()
    for name, labels in SETS:
        nested = Nested(name, labels, folder)
        keys = [f"{name} {labels} {k}" for k in range(len(nested.folds))]
        if not (name in names or pieces.known.keys() >= set(keys)):
            passed_on = [r for r in before[1] if (r["set"], r["labels"]) == (name, labels)]
            rows += passed_on
            earlier |= set(before[0]["commits"]) if passed_on else set()
            continue
        found = [pieces.get(key, partial(nested.fold, k)) for k, key in enumerate(keys)]
        if None not in found:
            rows += rows_of(name, labels, nested, found)
    pieces.finish()
    publish("nested_rivals", rows, earlier)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--sets", nargs="+", default=list(dict(SETS)))
    seconds_option(parser)
    options = parser.parse_args()
    main(options.data, options.sets, options.seconds)
