"""What a fitted learner tells of itself, without any samples."""

from __future__ import annotations

import numpy as np

from structsvm.diagnosis.findings import Found
from structsvm.evaluation.contrast import MIN_UNITS
from structsvm.learner.learner import MetricLearner
from structsvm.model_selection import MetricLearnerCV
from structsvm.status import Status

OPEN = 0.05
"""A certified gap that is worth a word, as a share of the best possible gain."""

WAYS_OUT = {
    Status.MAX_ITER: "allow more iterations, max_iter= of the solver's Stopping",
    Status.MAX_SECONDS: "allow more time, max_seconds= of the solver's Stopping",
    Status.MAX_CALLS: "allow more oracle calls, max_calls= of the solver's Stopping",
    Status.INTERRUPTED: "let it run to the end; resume= continues a stopped run",
    Status.STALLED: "scale the features (standardize='recording'), or use another master",
    Status.MASTER_FAILED: "scale the features or the constraints, or use another master",
    Status.NOTHING_TO_LEARN: "check that the labels belong to these features, or lower lam",
}


def certificate(learner: MetricLearner) -> Found:
    solution = learner.solution_
    status, gap = solution.status, float(solution.gap)
    wide = learner.problem_.traits.convex and np.isfinite(solution.lower) and gap > OPEN
    if status.converged and status is not Status.NOTHING_TO_LEARN and not wide:
        return
    far = f", and {100 * gap:.2g} % of the best possible gain may be missing" if wide else ""
    yield (
        f"{status.value}{far}",
        WAYS_OUT.get(status, "lower the tolerance, tol= of the solver's Stopping"),
        {"status": status.name, "gap": gap, "lower": solution.lower, "upper": solution.upper},
    )


def price(learner: MetricLearner) -> Found:
    calibration = learner.calibration_
    prices = calibration.penalties
    if not learner.problem_.traits.convex or prices.size < 2 * calibration.smoothing + 2:
        return
    best = calibration.best
    low, high = best <= calibration.smoothing, best >= prices.size - 1 - calibration.smoothing
    if not (low or high):
        return
    part = learner.problem_.traits.words.part
    end = "lowest" if low else "highest"
    what = (
        f"in this metric nearly every change is worth the price of a new {part}"
        if low
        else f"in this metric hardly any change is worth the price of a new {part}"
    )
    remedy = (
        f"check whether labels mark more {part}s than the features show, or give the number of "
        f"{part}s when predicting"
        if low
        else f"check that the labels belong to these samples, or use features that distinguish "
        f"{part}s (docs/features.md)"
    )
    values = {"price": calibration.penalty, "tried": [float(prices[0]), float(prices[-1])]}
    yield (
        f"the price of a {part}, {calibration.penalty:.3g}, is among the {end} of those that were "
        f"tried ({prices[0]:.3g} to {prices[-1]:.3g}): {what}",
        remedy,
        values,
    )


def path(search: MetricLearnerCV) -> Found:
    lam, kind = search.best_lam_, search.best_learned_
    assert lam is not None
    lams = sorted(c.lam for c in search.candidates_ if c.name == kind and c.lam is not None)
    if len(lams) < 2 or lams[0] < lam < lams[-1]:
        return
    low = lam == lams[0]
    further = lam / 5 if low else lam * 5
    meaning = (
        "weaker regularization may be better"
        if low
        else "the labels support little more than the untrained metric"
    )
    yield (
        f"lam={lam:g} was chosen, the {'smallest' if low else 'largest'} of the {len(lams)} that "
        f"were tried ({lams[0]:g} to {lams[-1]:g}): {meaning}",
        f"try further ones: lams=({', '.join(f'{x:g}' for x in sorted([*lams, further]))})",
        {"lam": float(lam), "tried": [float(x) for x in lams]},
    )


def few_labels(learner: MetricLearner) -> Found:
    data, traits = learner.training_data_, learner.problem_.traits
    P, N, words = len(learner.metric_.factor), len(data), traits.words
    weights = P if learner.metric == "diagonal" else P * (P + 1) // 2
    parts = sum(data.n_clusters) if traits.contiguous else sum(data.n_samples)
    unit = f"{words.part}s" if traits.contiguous else f"{words.item}s"
    if traits.contiguous and N < MIN_UNITS:
        yield (
            f"learned from {words.wholes(N)}: the metric may fit the peculiarities of "
            f"{'it' if N == 1 else 'them'}, and cross-validation needs at least {MIN_UNITS}",
            f"label more {words.whole}s; a few labelled stretches of many are worth more than all "
            "of one (docs/weak-labels.md)",
            {f"n_{words.whole}s": N, "needed": MIN_UNITS},
        )
    if parts < weights:
        less = "metric='diagonal'" if learner.metric != "diagonal" else "fewer features"
        yield (
            f"a {learner.metric} metric of {P} features has {weights} weights, and was learned "
            f"from {parts} {unit}",
            f"learn with {less} or a larger lam, compare both with MetricLearnerCV, or label more",
            {"weights": weights, unit: parts},
        )
