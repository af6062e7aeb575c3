"""Results print as short tables: as text, in notebooks, and as data frames."""

import numpy as np
import pytest
from sklearn.base import clone

from structsvm import MetricLearner, evaluate
from structsvm.datasets import relevant_changes
from structsvm.errors import SettingsError
from structsvm.io import arrays_and_labels
from structsvm.plotting import feature_weights
from structsvm.support.tables import ShortTable

XS, YS = arrays_and_labels(
    relevant_changes(8, n_samples=200, n_features=12, n_relevant=2, random_state=0)
)


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(metric="diagonal").fit(XS[:3], YS[:3], baselines=["pca"])


@pytest.fixture(scope="module")
def found(learner):
    return evaluate(learner, XS[3:], YS[3:])


def test_an_evaluation(found):
    lines = str(found).splitlines()
    assert lines[0] == "Mean scores of 5 recordings"
    assert lines[1].split()[:2] == ["metric", "loss"]
    assert [line.split()[0] for line in lines[2:4]] == ["untrained", "PCA"]
    assert lines[7] == str(found.verdict)
    assert repr(found) == found.summary() == str(found)


def test_a_learner(learner):
    lines = str(learner).splitlines()
    assert lines[0].startswith("diagonal metric of 12 features, learned from 3 recordings, price")
    assert len(lines) == 1 + 1 + 10 + 2
    assert lines[-2] == "and 2 more features"
    frame = learner.to_frame()
    assert learner.to_frame("polars").shape == frame.shape
    with pytest.raises(SettingsError, match="container must be one of"):
        learner.to_frame("numpy")
    np.testing.assert_allclose(frame["weight"], np.sort(feature_weights(learner))[::-1])
    html = learner._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in html
    assert "<th>weight</th>" in html
    assert repr(learner) == repr(clone(learner))


def test_names_are_only_shown():
    table = ShortTable("<b>", ("feature", "weight"), (("<script>", 1.0),))
    assert "<script>" not in table.as_html
    assert "<b>" not in table.as_html
