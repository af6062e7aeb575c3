"""Copy-number profiles: does a learned metric on Hermite moments miss fewer annotated regions.

Lajugie et al., section "Bioinformatics application": 5 Hermite moments; a region is wrong if the
number of changes found in it disagrees with the annotation (12 % without, 6.9 % with learning
there). Each profile is left out in turn, or a tenth of them where there are more than ten. By
default the sample of 7 annotated chromosomes of 4 profiles that is shared; give the two tables of
the R package for the full set: some hours, which can be cut short and resumed (``--seconds``)::

    python -m experiments.paper.neuroblastoma --profiles profiles.csv --annotations annotations.csv
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from experiments._cache import Pieces
from experiments._report import SHARED, Row, publish
from experiments.sets import AnnotatedProfile, annotation_errors, read_profiles
from structsvm import MetricLearner
from structsvm.errors import LearningError
from structsvm.features import HermiteMoments
from structsvm.learner.completing import calibrate_known
from structsvm.learner.fitting import Settings
from structsvm.learner.preparing import read_training
from structsvm.learner.stages import Inputs

SAMPLE = SHARED / "neuroblastoma"
MOMENTS = HermiteMoments(5)

Profiles = list[AnnotatedProfile]


def penalty_only(
    features: HermiteMoments | None, learn: Profiles, test: Profiles
) -> tuple[int, int]:
    """The untrained metric with the penalty of fewest errors on the other profiles."""
    learner = MetricLearner(features=features)
    settings = Settings.of(learner.get_params(deep=False))
    read = read_training(learner, [p.recording.X for p in learn], [p.labels for p in learn])
    inputs, data = Inputs.fit(settings.features, settings.standardize, read)
    identity = np.eye(data.n_features)
    metric = calibrate_known(identity, data).metric(identity)
    instances, _ = data.problem.read([p.recording.X for p in test])
    return annotation_errors(test, [data.problem.partition(x, metric) for x in inputs(instances)])


def learned(
    features: HermiteMoments, metric: str, learn: Profiles, test: Profiles
) -> tuple[int, int]:
    """A learned metric; the untrained one where nothing can be learned."""
    learner = MetricLearner(metric=metric, features=features)
    try:
        learner.fit([p.recording.X for p in learn], [p.labels for p in learn])
    except LearningError:
        return penalty_only(features, learn, test)
    return annotation_errors(test, learner.predict_partitions([p.recording.X for p in test]))


METHODS: dict[str, Callable[[Profiles, Profiles], tuple[int, int]]] = {
    "mean, penalty only": partial(penalty_only, None),
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
