"""Methods by name: which problems each is for."""

import numpy as np
import pytest

from structsvm import MetricLearnerCV, SettingsError, StateSegmenter
from structsvm.data.standardize import Standardizer
from structsvm.learner.parameters import named_problem
from structsvm.model_selection.named import LEARNERS, learner_named

OF_RECORDINGS = {
    "states", "states-quick", "olda", "frame-lda", "frame-logistic",
    "frame-boosting", "boundary-logistic", "boundary-boosting", "equal-segments", "fixed-times",
}  # fmt: skip
OF_SCORES = {"decoder", "largest-score", "smoothed-scores"}
OF_ROWS = {"forest-classifier", "lda-classifier", "nearest-centroid"}
MIXING = {"pca", "rca", "lda"}
SUITED = {
    "change-point": {"metric", "untrained"} | MIXING | OF_RECORDINGS | OF_SCORES,
    "clustering": {"metric", "untrained"} | MIXING | OF_ROWS,
    "normalized-cut": {"metric", "untrained", "grid", "region-forest", "pixel-forest"},
}
REFUSED = "is not for (table|recording|graph)s|metric must be one of|have no neighbours"


def samples_of(problem):
    """Samples of two parts, labelled."""
    rng = np.random.default_rng(0)
    if problem == "normalized-cut":
        half = np.repeat([0.0, 0.5], 4)
        images = [half[None, :, None] + 0.2 * rng.random((8, 8, 3)) for _ in range(4)]
        return images, [np.tile(half > 0, (8, 1)).astype(int)] * 4
    names = np.repeat(["a", "b"], 20)
    return [(names == "b")[:, None] * 3.0 + rng.normal(size=(40, 2)) for _ in range(4)], [names] * 4


@pytest.mark.parametrize("problem", SUITED)
@pytest.mark.parametrize("name", LEARNERS)
def test_methods_by_name_partition_suitable_problems_and_refuse_others(problem, name):
    learner = learner_named(name, named_problem(problem))
    assert learner.suits(named_problem(problem)) == (name in SUITED[problem])
    if name in (*OF_SCORES, "states") or "boosting" in name:
        return  # which learn from probabilities, or take seconds
    Xs, ys = samples_of(problem)
    if name not in SUITED[problem]:
        with pytest.raises(SettingsError, match=REFUSED):
            learner.fit(Xs, ys)
        return
    partitions = learner.fit(Xs, ys).predict(Xs[:1], 2 if problem == "clustering" else None)
    assert np.shape(partitions[0]) == np.shape(ys[0])


def test_a_candidate_for_another_problem_is_refused():
    Xs, ys = samples_of("clustering")
    search = MetricLearnerCV(problem="clustering", candidates={"states": StateSegmenter()})
    with pytest.raises(SettingsError, match="StateSegmenter is not for tables"):
        search.fit(Xs, ys)


@pytest.mark.parametrize("name", ["states-quick", "states"])
def test_the_quick_segmenter_of_states_compares_no_scales(monkeypatch, name):
    seen = set()
    fit = Standardizer.fit
    monkeypatch.setattr(Standardizer, "fit", lambda scale, *of: seen.add(scale) or fit(scale, *of))
    learner = learner_named(name, named_problem("change-point"))
    if name == "states":
        learner.estimators = ["lda"]  # boosting takes seconds
    learner.fit(*samples_of("change-point"))
    assert "both" in seen
    assert ("training" in seen) == (name == "states")
