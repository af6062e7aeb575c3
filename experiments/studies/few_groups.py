"""What is chosen where few groups are independent, five recordings, and beside it of all 95.

Five draws of five or ten recordings of the ten people of har_spsw.py, or all 95 once, from which
MetricLearnerCV chooses by itself; the 50 recordings of the five others are segmented, the number of
segments unknown and known. Of the other sets, five recordings of the training part of each of the
folds of nested_cv.py. *Best* is the choice of all candidates, *learned* that of the learned
metrics; the untrained metric and RCA are tuned on the same recordings.

    python -m experiments.studies.few_groups --seconds 170
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, Row, publish_some
from experiments.studies._chosen import learned_metric
from experiments.studies._har import mean_and_error
from experiments.studies.har_spsw import split
from experiments.studies.nested_rivals import CHANGES, NAMES, Nested
from structsvm import MetricLearner, MetricLearnerCV
from structsvm.errors import DataWarning, VerdictWarning
from structsvm.interop import labels_to_breakpoints
from structsvm.io import arrays_and_labels
from structsvm.learner.preparing import encode
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import partition_loss

SETS = (
    "har_spsw 5",
    "har_spsw 10",
    "har_spsw 95",
    "har_spsw 5 names",
    "skab 5",
    "beedance 5",
    "mocap6 5",
    "tep 5",
)
RIVALS = ("untrained", "rca")
METHODS = (*RIVALS, "learned", "best")
DRAWS = 5
ALL = "har_spsw 95"
"""Which is drawn once."""

Draw = tuple[list[Any], list[Any], list[str] | None, list[Any], list[Any]]
"""Samples, labels and groups to learn from, and samples and labels to segment."""


def recordings(asked: str, seed: int) -> Draw:
    """Some recordings of a set, and others; ``asked`` is its name, how many, and "names"."""
    name, size, *named = asked.split()
    if name == "har_spsw":
        learn, test = split(SHARED / name)
        order = np.random.default_rng(seed).permutation(len(learn))[: int(size)]
        Xs, ys = arrays_and_labels([learn[i] for i in order])
        new, truths = arrays_and_labels(test)
        if not named:
            ys = [labels_to_breakpoints(y) for y in ys]
        people = [learn[i].name[:3] for i in order]
        return list(Xs), list(ys), people, list(new), [labels_to_breakpoints(y) for y in truths]
    nested = Nested(name, NAMES if named else CHANGES, SHARED)
    test_fold = nested.folds[seed]
    others = np.setdiff1d(np.arange(len(nested.Xs)), test_fold)
    some = np.random.default_rng(100 + seed).permutation(others)[: int(size)]

    def at(values: Sequence[Any], which: NDArray[np.int64]) -> list[Any]:
        return [values[i] for i in which]

    own = at(nested.Xs, some), at(nested.ys, some)
    return *own, None, at(nested.Xs, test_fold), at(nested.ys, test_fold)


def of_recordings(asked: str, seed: int) -> dict[str, Any]:
    """The choice on some recordings, and its losses on others."""
    return chosen(recordings(asked, seed))


def chosen(draw: Draw) -> dict[str, Any]:
    """What is chosen, and mean losses for each way to tell the number of parts, by method."""
    Xs, ys, groups, new, labels = draw
    search = MetricLearnerCV(random_state=0)
    search.fit(Xs, ys, groups=groups)
    best = search.best_estimator_
    (learned, called) = learned_metric(search, Xs, ys, groups)
    plain = MetricLearner(metric="diagonal").fit(Xs, ys, baselines=["rca"])
    truths = encode(plain, new, labels)
    numbers = [M.n_clusters for M in truths]
    losses: dict[str, list[float]] = {}
    for counts in (None, numbers):
        found = {m: decode_with(plain, plain.baselines_[m].metric_, new, counts) for m in RIVALS}
        found["learned"] = learned.predict_partitions(new, counts)
        found["best"] = best.predict_partitions(new, counts)
        for method, guesses in found.items():
            each = [partition_loss(M, guess) for M, guess in zip(truths, guesses, strict=True)]
            losses.setdefault(method, []).append(float(np.mean(each)))
    print(search.best_candidate_, called, losses, flush=True)
    return {"losses": losses, "best": search.best_candidate_}


def row(what: str, found: Sequence[dict[str, Any]]) -> Row:
    """Mean losses over draws, and how far the best is behind the better of the two rivals."""
    values = {m: np.array([piece["losses"][m] for piece in found]) for m in METHODS}
    rival = min(RIVALS, key=lambda m: float(values[m][:, 0].mean()))
    behind = (values["best"] - values[rival])[:, 0]
    names = [piece["best"] for piece in found]
    return {
        "data": what,
        **{m: " / ".join(f"{mean:.2f}" for mean in values[m].mean(axis=0)) for m in METHODS},
        "best less the better rival": mean_and_error(behind),
        "chosen": ", ".join(f"{name} ({names.count(name)})" for name in sorted(set(names))),
    }


def main(sets: Sequence[str], seconds: float) -> None:
    """Compute what is missing, and publish it."""
    for category in (DataWarning, VerdictWarning):
        warnings.simplefilter("ignore", category)
    pieces = Pieces("few_groups", seconds)
    rows = []
    for asked in sets:
        seeds = range(1 if asked == ALL else DRAWS)
        jobs = [partial(of_recordings, asked, seed) for seed in seeds]
        each = [pieces.get(f"{asked} {seed}", job) for seed, job in enumerate(jobs)]
        rows.append((asked, each))
    pieces.finish()
    publish_some("few_groups", [row(asked, each) for asked, each in rows], "data")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    seconds_option(parser)
    options = parser.parse_args()
    main(options.sets, options.seconds)
