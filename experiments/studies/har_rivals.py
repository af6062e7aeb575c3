"""What a metric is worth beside the classifiers that one would try first, on activities.

The split of har_spsw.py, and the draws of five recordings of har_closed_set.py. Every method
gets the same labels and tunes its penalty or threshold on them; whatever learns from labels before
that is cross-fitted by person.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments._report import SHARED, Row, publish
from experiments.studies._har import (
    BOOSTING,
    BOUNDARIES,
    CHANGES,
    METHODS,
    METRIC,
    METRIC_ON_LAGS,
    METRIC_ON_SCORES,
    OLDA,
    OLDA_ON_LAGS,
    SEGMENTER,
    mean_and_error,
    segmentations,
    truth,
)
from experiments.studies.har_spsw import scores, split
from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.errors import DataWarning
from structsvm.io import Recording, arrays_and_labels
from structsvm.learner import closed_forms as tuned_metrics
from structsvm.learner.preparing import encode, prepare
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import partition_loss

DRAWS, FEW = 5, 5
LAST = list(METHODS)[-1]

NEEDS = {"standardised features, best penalty": CHANGES, "PCA, best penalty": CHANGES}
"""What README shows of methods that learn a penalty alone."""
SUMMARY = {
    "OLDA, in closed form": OLDA,
    "OLDA on lagged features": OLDA_ON_LAGS,
    "**learned metric and penalty**": METRIC,
    "**the same on lagged features**": METRIC_ON_LAGS,
    "boundary classifier (boosting)": BOUNDARIES,
    "**learned metric on lags and state scores**": METRIC_ON_SCORES,
    "**segmenter of states**": SEGMENTER,
    "frame classifier (boosting) with Viterbi": BOOSTING,
}
"""What README calls the others."""


def learned(
    method: str, learn: Sequence[Recording], test: Sequence[Recording]
) -> list[EquivalenceMatrix]:
    """The segmentations of the test recordings, K unknown, after learning from the others."""
    Xs, ys = arrays_and_labels(learn)
    model = METHODS[method][1]("recording")
    return segmentations(model, Xs, ys, [r.name for r in learn], [r.X for r in test])


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(folder)
    truths = [truth(recording.y) for recording in test]
    draws = [np.random.default_rng(seed).permutation(len(learn))[:FEW] for seed in range(DRAWS)]
    found = {name: learned(name, learn, test) for name in METHODS}
    losses = {
        name: np.array([partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)])
        for name, guesses in found.items()
    }
    rows: list[Row] = []
    for name, (needs, _) in METHODS.items():
        few = [scores(truths, learned(name, [learn[i] for i in d], test))["loss"] for d in draws]
        rows.append(
            {
                "method": name,
                "learns from": needs,
                **scores(truths, found[name]),
                "loss less that of the last": None
                if name == LAST
                else mean_and_error(losses[name] - losses[LAST]),
                f"loss, {FEW} recordings": mean_and_error(few),
            }
        )
    publish("har_rivals", rows)
    publish("har_summary", summary(found, truths, learn, test))


def summary(
    found: Mapping[str, list[EquivalenceMatrix]],
    truths: Sequence[EquivalenceMatrix],
    learn: Sequence[Recording],
    test: Sequence[Recording],
) -> list[Row]:
    """What README shows: some of the methods above, between those that learn nothing."""
    guesses = {
        "no change anywhere": [EquivalenceMatrix.from_breakpoints([len(r.y)]) for r in test],
        **not_learned(learn, test),
        **{shown: found[name] for shown, name in SUMMARY.items()},
    }
    return [
        {
            f"with {len(learn)} labelled recordings of ten other people": name,
            "learns from": METHODS[SUMMARY[name]][0] if name in SUMMARY else NEEDS.get(name),
            **scores(truths, guesses[name]),
        }
        for name in guesses
    ]


def not_learned(
    learn: Sequence[Recording], test: Sequence[Recording]
) -> dict[str, list[EquivalenceMatrix]]:
    """Segmentations in the untrained metric and in PCA's, whose penalties are tuned on labels."""
    Xs, ys = arrays_and_labels(learn)
    learner = MetricLearner(standardize="recording").fit(Xs, ys)
    instances = prepare(learner, Xs)
    truths = encode(learner, Xs, ys)
    pca = tuned_metrics.fit("pca", learner.problem_, instances, truths)
    unseen = prepare(learner, [r.X for r in test])
    metrics = dict(zip(NEEDS, (learner.baselines_["untrained"].metric_, pca), strict=True))
    return {name: decode_with(learner, metric, unseen) for name, metric in metrics.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    main(parser.parse_args().data)
