"""Checks of a fitted learner itself, and of the predictions of a structured SVM."""

import numpy as np

from structsvm.diagnosis.findings import Flaws
from structsvm.errors import Code, nth, parameter
from structsvm.evaluation import MIN_UNITS
from structsvm.learner import Learner, MetricLearner
from structsvm.learner.fitting import INEXACT
from structsvm.learner.frame_learner import FrameLearner
from structsvm.learner.labellings import Instances
from structsvm.learner.structured import StructuredSVM, shortfalls
from structsvm.model_selection import MetricLearnerCV
from structsvm.problem import Status

OPEN = 0.05  # a larger certified gap is a finding, as a share of the best possible gain
OF_STOPPING = " of the solver's Stopping"

WAYS_OUT = {
    Status.MAX_ITER: "allow more iterations, " + parameter("max_iter") + OF_STOPPING,
    Status.MAX_SECONDS: "allow more time, " + parameter("max_seconds") + OF_STOPPING,
    Status.MAX_CALLS: "allow more oracle calls, " + parameter("max_calls") + OF_STOPPING,
    Status.INTERRUPTED: "let it run to the end; "
    + parameter("resume")
    + " continues a stopped run",
    Status.STALLED: "scale the features ("
    + parameter("standardize", "recording")
    + "), or use another master",
    Status.MASTER_FAILED: "scale the features or the constraints, or use another master",
    Status.NOTHING_TO_LEARN: "check that the labels belong to these features, or lower lam",
}


def certificate(learner: Learner | StructuredSVM) -> Flaws:
    solution = learner.solution_
    if solution is None:
        return
    status = solution.status
    gap = float(solution.gap)
    wide = np.isfinite(solution.lower) and gap > OPEN
    # Weights that counts of the labels give may well be the best ones; a null metric is a finding.
    is_null = status is Status.NOTHING_TO_LEARN and not isinstance(learner, FrameLearner)
    if wide or not status.converged or is_null:
        far = f", and {100 * gap:.2g} % of the best possible gain may be missing" if wide else ""
        yield (
            f"{status.value}{far}",
            WAYS_OUT.get(status, "lower the tolerance, " + parameter("tol") + OF_STOPPING),
            {"status": status.name, "gap": gap, "lower": solution.lower, "upper": solution.upper},
        )


def inference(fitted: tuple[StructuredSVM, Instances]) -> Flaws:
    svm, data = fitted
    name = f"{type(svm.problem_).__name__}.predict"
    of_instances = list(shortfalls(svm.problem_, data, svm.solution_.w))
    short = [(missed, i) for i, missed, size in of_instances if missed > INEXACT * size]
    if short:
        missed, worst = max(short)
        yield (
            f"on {len(short)} of {len(of_instances)} instances {name} found a labelling with a "
            f"score below that of the true one, by {missed:.3g} on " + nth("instance", worst),
            "maximise the score over all labellings in predict, without the loss",
            {"instances": sorted(i for _, i in short), "missed": missed},
        )


def price(learner: MetricLearner) -> Flaws:
    calibration = learner.calibration_
    part = learner.problem_.traits.words.part
    prices = calibration.penalties
    margin = calibration.smoothing
    if not learner.problem_.traits.convex or prices.size < 2 * margin + 2:
        return
    is_low = calibration.best <= margin
    if not is_low and calibration.best < prices.size - 1 - margin:
        return
    end, meaning = ("lowest", "nearly every") if is_low else ("highest", "hardly any")
    yield (
        f"the price of a {part}, {calibration.penalty:.3g}, is among the {end} of those that were "
        f"tried ({prices[0]:.3g} to {prices[-1]:.3g}): in this metric {meaning} change is worth it",
        f"check that the labels belong to these samples, use features that distinguish the {part}s "
        f"of the labels (docs/features.md), or give the number of {part}s when predicting",
        {"price": calibration.penalty, "tried": [float(prices[0]), float(prices[-1])]},
    )


def few_labels(learner: MetricLearner) -> Flaws:
    data = learner.training_data_
    traits = learner.problem_.traits
    P = len(learner.metric_.factor)
    N = len(data)
    words = traits.words
    weights = P if learner.metric == "diagonal" else P * (P + 1) // 2
    parts = sum(data.n_clusters) if traits.contiguous else sum(data.n_samples)
    unit = f"{words.part if traits.contiguous else words.item}s"
    if traits.contiguous and N < MIN_UNITS:
        yield (
            f"learned from {words.wholes(N)}: the metric may fit the peculiarities of "
            f"{'it' if N == 1 else 'them'}, and cross-validation needs at least {MIN_UNITS}",
            f"label more {words.whole}s; a few labelled stretches of many are worth more than all "
            "of one (docs/weak-labels.md)",
            {f"n_{words.whole}s": N, "needed": MIN_UNITS},
        )
    if parts < weights:
        is_full = learner.metric != "diagonal"
        less = parameter("metric", "diagonal") if is_full else "fewer features"
        yield (
            f"a {learner.metric} metric of {P} features has {weights} weights, and was learned "
            f"from {parts} {unit}",
            "learn with "
            + less
            + " or a larger lam, compare both with MetricLearnerCV, or label more",
            {"weights": weights, unit: parts},
        )


def path(search: MetricLearnerCV) -> Flaws:
    lam = search.best_lam_
    kind = search.best_candidate_
    assert lam is not None
    lams = sorted(c.lam for c in search.candidates_ if c.name == kind and c.lam is not None)
    if len(lams) < 2 or lams[0] < lam < lams[-1]:
        return
    further = lam / 5
    meaning = "the smallest: weaker regularization may be better"
    if lam > lams[0]:
        further = lam * 5
        meaning = "the largest: the labels support little more than the untrained metric"
    yield (
        parameter("lam", Code(f"{lam:g}"))
        + f" was chosen, of {len(lams)} from {lams[0]:g} to {lams[-1]:g} {meaning}",
        f"try further ones: lams=({', '.join(f'{x:g}' for x in sorted([*lams, further]))})",
        {"lam": float(lam), "tried": [float(x) for x in lams]},
    )
