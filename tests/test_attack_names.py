"""What is given by the names of samples is that of the sample of that name, wherever it goes."""

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut, cross_val_score

from structsvm import MetricLearner, MetricLearnerCV, diagnose
from structsvm.errors import DataError
from structsvm.io import Recording
from structsvm.learner.steps import encode
from structsvm.plotting import report_page

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")


def recordings(n, seed):
    rng = np.random.default_rng(seed)
    lengths = [rng.permutation([10, 13, 17]) for _ in range(n)]
    ys = [np.repeat(rng.permutation(3), length) for length in lengths]
    return [3.0 * np.eye(3)[y] + rng.normal(size=(40, 3)) for y in ys], ys


XS, YS = recordings(6, 0)
NEW, TRUE = recordings(3, 1)
BY_NAME = dict(zip((3, 5, 4), NEW, strict=True))
LABELS = {5: TRUE[1], 4: TRUE[2], 3: TRUE[0]}


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(metric="diagonal").fit(XS, YS)


@pytest.fixture(scope="module")
def search():
    candidates = ("untrained", "diagonal")
    return MetricLearnerCV(lams=(0.1,), candidates=candidates, cv=2, random_state=0).fit(XS, YS)


@pytest.mark.parametrize("kind", ["learner", "search"])
def test_a_score(kind, request):
    one = request.getfixturevalue(kind)
    assert one.score(BY_NAME, LABELS) == one.score(NEW, TRUE)
    weighted = one.score(NEW, TRUE, sample_weight=[3, 0, 1])
    assert one.score(BY_NAME, LABELS, sample_weight={5: 0, 4: 1, 3: 3}) == weighted
    best = getattr(one, "best_estimator_", one)
    assert encode(best, BY_NAME, LABELS) == encode(best, NEW, TRUE)
    with pytest.raises(DataError, match="'stranger' is only in one of them"):
        one.score(BY_NAME, {**LABELS, "stranger": TRUE[0]})


def test_what_is_known_of_one_of_them(learner):
    known = np.repeat([-1, 0, 1], [38, 1, 1])
    found = learner.predict_segments(BY_NAME, known={5: known})
    assert found == dict(
        zip(BY_NAME, learner.predict_segments(NEW, known=[None, known, None]), strict=True)
    )
    assert found[5][-1]["start"] == 39


def test_groups_of_a_diagnosis(learner):
    shared = dict(zip("abcdef", [*XS[:-1], np.vstack([XS[0][:25], XS[1][:15]])], strict=True))
    labels = dict(zip("fedcba", YS[::-1], strict=True))
    same = {"f": 0, "e": 4, "d": 3, "c": 2, "b": 0, "a": 0}
    assert "leakage" in diagnose(learner, shared).kinds
    found = diagnose(learner, shared, labels, groups=same)
    groups = [0, 0, 2, 3, 4, 0]
    listed = diagnose(learner, list(shared.values()), YS, groups=groups, names=list(shared))
    assert found.to_dict() == listed.to_dict()
    (apart,) = (
        finding.values["pairs"]
        for finding in diagnose(learner, shared, groups={**same, "f": 5}).findings
        if "pairs" in finding.values
    )
    assert {(pair["first"], pair["second"]) for pair in apart} == {("a", "f"), ("b", "f")}


def test_a_report(learner):
    reported = report_page(learner, NEW, TRUE, names=["3", "5", "4"])
    assert report_page(learner, BY_NAME, LABELS) == reported
    assert report_page(learner, iter(NEW), iter(TRUE), names=["3", "5", "4"]) == reported


def test_two_features_of_one_name():
    def recorded(X, y, names):
        return Recording("one", X, y, tuple(names))

    learner = MetricLearner().fit([recorded(X, y, "aab") for X, y in zip(XS, YS, strict=True)])
    assert np.array_equal(
        learner.transform(recorded(NEW[0], None, "aab")), learner.transform(NEW[0])
    )
    for columns, names in (([2, 0, 1], "baa"), ([0, 2], "ab")):
        with pytest.raises(DataError, match="are called 'a': give each its own name"):
            learner.transform(recorded(NEW[0][:, columns], None, names))


def test_one_of_a_stack_is_left_out():
    scores = cross_val_score(
        MetricLearner(metric="diagonal"), np.stack(XS), np.stack(YS), cv=LeaveOneOut()
    )
    one_by_one = [
        MetricLearner(metric="diagonal")
        .fit(XS[:i] + XS[i + 1 :], YS[:i] + YS[i + 1 :])
        .score([XS[i]], [YS[i]])
        for i in range(len(XS))
    ]
    assert scores.tolist() == one_by_one
