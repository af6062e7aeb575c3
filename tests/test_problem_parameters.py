"""The settings of a problem are parameters of its learner, as scikit-learn knows parameters."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from structsvm import ChangePoint, MetricLearner, MetricLearnerCV
from structsvm.errors import SettingsError


def segments(n, rng):
    """Recordings whose segments are ten samples long, at least, and full of outliers."""
    y = np.repeat([0, 1, 0], [12, 10, 14])
    Xs = [2.0 * y[:, None] + rng.normal(size=(36, 1)) for _ in range(n)]
    return Xs, [y] * n


@pytest.mark.parametrize("learner", [MetricLearner, MetricLearnerCV])
def test_settings_are_listed_and_set(learner):
    given = learner(ChangePoint(min_length=3))
    assert given.get_params()["problem__min_length"] == 3
    assert "problem__min_length" not in given.get_params(deep=False)
    before = given.problem
    assert given.set_params(problem__min_length=5, standardize=None) is given
    assert given.standardize is None
    assert given.problem == ChangePoint(min_length=5)
    assert before == ChangePoint(min_length=3)


def test_a_problem_and_its_settings_at_once():
    learner = MetricLearner().set_params(problem=ChangePoint(min_length=2), problem__kappa=0.5)
    assert learner.problem == ChangePoint(min_length=2, kappa=0.5)


@pytest.mark.parametrize("name", ["problem__spam", "problem__kappa__spam"])
def test_a_setting_that_there_is_not_is_named(name):
    with pytest.raises(SettingsError, match=r"has no setting 'spam', it has "):
        MetricLearner().set_params(**{name: 1})


def test_grid_search_over_a_setting(rng):
    Xs, ys = segments(6, rng)
    grid = {"problem__min_length": [1, 10]}
    search = GridSearchCV(MetricLearner(metric="diagonal"), grid, cv=2).fit(Xs, ys)
    assert search.best_params_ == {"problem__min_length": 10}
    assert search.best_estimator_.problem_ == ChangePoint(min_length=10)
    ends = search.best_estimator_.predict_breakpoints(Xs)
    assert all(min(np.diff([0, *found])) >= 10 for found in ends)
