"""Copy-number profiles: does a learned metric on Hermite moments miss fewer annotated regions.

Lajugie et al., section "Bioinformatics application": 5 Hermite moments; a region is wrong if the
number of changes found in it disagrees with the annotation (12 % without, 6.9 % with learning
there). Each profile is left out in turn, or a tenth of them where there are more than ten. By
default the sample of 7 annotated chromosomes of 4 profiles that is shared; give the two tables of
the R package for the full set: some hours, which can be cut short and resumed (``--seconds``)::

    python experiments/neuroblastoma.py --profiles profiles.csv --annotations annotations.csv
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from _cache import Pieces
from _report import SHARED, Row, publish

from structsvm import ChangePoint, DistributionChange, MetricLearner
from structsvm.datasets import AnnotatedProfile, annotation_errors, read_profiles
from structsvm.errors import LearningError
from structsvm.partial_labels.complete import calibrate_partial, read_labels
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.samples import Standardizer

SAMPLE = SHARED / "neuroblastoma"
MOMENTS = DistributionChange(n_moments=5)

Profiles = list[AnnotatedProfile]


def penalty_only(problem: PartitionProblem, learn: Profiles, test: Profiles) -> tuple[int, int]:
    """The untrained metric with the penalty of fewest errors on the other profiles."""
    standardize = Standardizer.fit("recording", [], problem)
    samples = [standardize(p.recording.X) for p in learn]
    known = read_labels(problem, samples, [p.labels for p in learn])
    penalty = calibrate_partial(problem, samples, known).penalty
    metric = Metric(np.eye(samples[0].shape[1]), penalty)
    guesses = [metric.decode(problem.decoder, standardize(p.recording.X)) for p in test]
    return annotation_errors(test, guesses)


def learned(
    problem: PartitionProblem,
    metric: str,
    learn: Profiles,
    test: Profiles,
) -> tuple[int, int]:
    """A learned metric; the untrained one where nothing can be learned."""
    learner = MetricLearner(problem, metric=metric)
    try:
        learner.fit([p.recording.X for p in learn], [p.labels for p in learn])
    except LearningError:
        return penalty_only(problem, learn, test)
    return annotation_errors(test, learner.predict_partitions([p.recording.X for p in test]))


METHODS: dict[str, Callable[[Profiles, Profiles], tuple[int, int]]] = {
    "mean, penalty only": partial(penalty_only, ChangePoint()),
    "5 moments, penalty only": partial(penalty_only, MOMENTS),
    "5 moments, learned, diagonal": partial(learned, MOMENTS, "diagonal"),
    "5 moments, learned, full": partial(learned, MOMENTS, "full"),
}


def held_out(found: Profiles, folds: int) -> list[set[str]]:
    """Whose profiles are left out together: each person alone, if there are no more than folds."""
    people = list(dict.fromkeys(p.profile for p in found))
    return [set(people[k::folds]) for k in range(min(folds, len(people)))]


def main(profiles: Path, annotations: Path, folds: int, seconds: float) -> None:
    found = read_profiles(profiles, annotations)
    table = f"{profiles.name} {len(found)} {profiles.stat().st_mtime_ns}"
    pieces = Pieces("neuroblastoma", seconds)
    warnings.simplefilter("ignore")  # of convergence, in some of the folds
    rows: list[Row] = []
    for name, method in METHODS.items():
        errors = []
        for k, people in enumerate(held_out(found, folds)):
            learn = [p for p in found if p.profile not in people]
            test = [p for p in found if p.profile in people]
            key = f"{table}, {name}, fold {k} of {folds}"
            errors.append(pieces.get(key, partial(method, learn, test)) or (0, 1))
        wrong, regions = np.sum(errors, axis=0)
        rate = f"{100 * wrong / regions:.1f} %"
        rows.append({"method": name, "wrong regions": f"{wrong} of {regions}", "error": rate})
    pieces.finish()
    publish("neuroblastoma", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profiles", type=Path, default=SAMPLE / "intreg_signals.csv")
    parser.add_argument("--annotations", type=Path, default=SAMPLE / "intreg_annotations.csv")
    parser.add_argument("--folds", type=int, default=10, help="at most so many, by profile")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after this")
    args = parser.parse_args()
    main(args.profiles, args.annotations, args.folds, args.seconds)
