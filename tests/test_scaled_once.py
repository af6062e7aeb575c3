"""Choosing scales each recording once for a fold and a choice of features, whatever is tried."""

from collections import Counter

import pytest

from structsvm import MetricLearnerCV
from structsvm.data.samples import Standardizer
from structsvm.datasets import relevant_changes
from structsvm.features import Chain, Components, Lags
from structsvm.io import arrays_and_labels
from structsvm.partitions import Candidate

LAGS = Lags((-1, 0, 1))
SHORT = Chain(LAGS, Components(2))
T, N, FOLDS = 200, 6, 3
XS, YS = arrays_and_labels(
    relevant_changes(N, n_samples=T, n_features=3, n_relevant=2, random_state=0)
)
PLAIN = ["untrained", "pca", "rca", "diagonal", "full"]


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
@pytest.mark.parametrize(
    ("kind", "features"),
    [("recording", LAGS), ("training", LAGS), ("auto", SHORT)],
    ids=["lags", "lags scaled together", "components of lags"],
)
def test_in_each_fold_and_once_more_for_the_choice(monkeypatch, kind, features):
    scaled, original, together = [], Standardizer.__call__, Standardizer.of_stack

    def counted(self, X):
        if self.kind is not None:
            scaled.append(X.shape)
        return original(self, X)

    def counted_together(self, Xs):
        before, shapes = len(scaled), [X.shape for X in Xs.arrays()]
        found = together(self, Xs)
        scaled[before:] = [] if self.kind is None else shapes
        return found

    monkeypatch.setattr(Standardizer, "__call__", counted)
    monkeypatch.setattr(Standardizer, "of_stack", counted_together)
    more = [
        Candidate(metric, settings={"metric": metric.split()[1], "features": features})
        for metric in ("lagged diagonal", "lagged full")
    ]
    search = MetricLearnerCV(
        candidates=[*PLAIN, *more], lams=(0.1, 1.0), cv=FOLDS, random_state=0, standardize=kind
    )
    learner = search.choose(XS, YS)
    seen = {(T, 3): FOLDS * N, (T, 9): FOLDS * N}
    assert Counter(scaled) == Counter(seen)
    learner.fit(XS, YS, baselines=["pca", "rca"])
    seen[T, 3 if learner.features is None else 9] += N
    assert Counter(scaled) == Counter(seen)
