"""Our learners of tables in the list of metrics that the tests of metric-learn go through."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import test
from _select import leave_out, skip

from structsvm import Clustering, MetricLearner

# Their folder has the name of a package of Python.
test.__path__.append(str(Path.cwd() / "test"))
theirs = importlib.import_module("test.test_utils")

WORDS = "the message is in the words of this library: it names the shape and what is expected"
SKIPPED = {r"test_pair_distance_dim|test_embed_dim": WORDS}
THEIRS = [r"test_singular_|test_init_|test_auto_init"]
"""Tests of init, prior and n_components, which our learners do not have."""

# lam is small, so that every feature keeps a weight: their metrics have full rank.
OURS = {
    "structsvm-full": MetricLearner(Clustering(), standardize=None, lam=1e-3),
    "structsvm-diagonal": MetricLearner(
        Clustering(), metric="diagonal", standardize=None, lam=1e-3
    ),
}

theirs.metric_learners = [(learner, theirs.build_classification) for learner in OURS.values()]
theirs.ids_metric_learners = list(OURS)


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    leave_out(config, items, THEIRS)
    skip(items, SKIPPED)
