"""Model selection learns a classifier of the same recordings once, also in folds within folds."""

from collections import Counter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from structsvm import MetricLearnerCV
from structsvm.errors import VerdictWarning


def recordings(n=10):
    rng, Xs, ys = np.random.default_rng(0), [], []
    for _ in range(n):
        y = np.repeat([0, 1, 2, 0], rng.integers(6, 9, 4))
        Xs.append(3.0 * np.eye(3)[y] + rng.standard_normal((y.size, 3)))
        ys.append(np.array(["a", "b", "c"])[y])
    return Xs, ys


@pytest.fixture
def learned(monkeypatch):
    """Return how often classifiers were learned, by their type."""
    counts, fit = Counter(), LogisticRegression.fit

    def counted(self, *args):
        counts[type(self).__name__] += 1
        return fit(self, *args)

    monkeypatch.setattr(LogisticRegression, "fit", counted)
    return counts


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
@pytest.mark.parametrize(("cv", "most"), [(5, 10 + 5 + 1), (2, 2 * 6 + 6)])
def test_folds_within_two_folds_share_their_classifier(learned, cv, most):
    """Five folds: one for each pair of them, for each of them, and for all recordings."""
    Xs, ys = recordings()
    names = ("untrained", "diagonal", "frame-logistic")
    search = MetricLearnerCV(candidates=names, cv=cv, lams=(0.2,), random_state=0).fit(Xs, ys)
    assert learned["LogisticRegression"] <= most
    assert "frame-logistic" in search.best_estimator_.baselines_


def test_what_is_in_one_fold_only_is_learned_in_folds_of_its_own(learned):
    """A state of two neighbours in one fold: the other folds cannot be the groups."""
    Xs, ys = recordings()
    for i in (0, 1):
        ys[i] = np.where(ys[i] == "b", "d", ys[i])
    with pytest.warns(VerdictWarning):
        search = MetricLearnerCV(
            candidates=("untrained", "diagonal", "frame-logistic"), lams=(0.2,), random_state=0
        ).fit(Xs, ys)
    assert np.isfinite(search.cv_results_["mean_loss"]).all()
