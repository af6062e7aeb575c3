"""Clusters that no metric of the columns separates are found by one of similarities to rows."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from structsvm import Clustering, MetricLearnerCV
from structsvm.errors import VerdictWarning
from structsvm.features import Columns


def rings(n, seed=0):
    """Points near two circles around the same centre, and which circle each is near."""
    rng = np.random.default_rng(seed)
    angle, y = rng.uniform(0, 2 * np.pi, n), rng.integers(0, 2, n)
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + y)[:, None]
    return circle + 0.1 * rng.normal(size=(n, 2)), y


def menu(X, y, **settings):
    found = MetricLearnerCV(Clustering(), split="rows", **settings)
    return [c.name for c in found._menu(found._training_set(X, y))]


@pytest.fixture(scope="module")
def search():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerdictWarning)
        return MetricLearnerCV(
            Clustering(), split="rows", cv=3, candidates=("untrained", "full", "kernel")
        ).fit(*rings(150))


def test_circles_around_one_centre_are_told_apart(search):
    assert search.best_candidate_ == "kernel"
    X, y = rings(150, seed=1)
    assert adjusted_rand_score(y, search.predict([X], 2)[0]) > 0.95


def test_they_need_rows_and_columns_as_they_were_measured():
    X, y = rings(150)
    kernels = {"kernel", "kernel-fifth", "kernel-centred"}
    assert kernels <= set(menu(X, y))
    assert not kernels & set(menu(X[:99], y[:99]))
    assert not kernels & set(menu(X, y, features=Columns()))
