"""Fitted transformers become plain values and arrays, and come back as they were."""

import json
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from structsvm.errors import ModelFileError
from structsvm.features import (
    BoundaryScores,
    Chain,
    Columns,
    HermiteMoments,
    Lags,
    MovingStatistics,
    RecordingTransformer,
    Rows,
    StateScores,
    Union,
)
from structsvm.features.trees import Trees
from structsvm.learner.files import model_codec
from structsvm.storage.codec import Unstorable

NAMES = np.repeat(["rest", "walk", "turn", "rest"], [8, 10, 7, 5])

STAGES = [
    Columns((1, 0)),
    Lags((-1, 0)),
    MovingStatistics((3, 6), ("mean", "slope")),
    HermiteMoments(3),
    Rows(StandardScaler(with_mean=False)),
    Rows(MinMaxScaler()),
    Rows(RobustScaler()),
    Rows(PolynomialFeatures(2)),
    Rows(Nystroem(n_components=5, gamma=0.3, random_state=0)),
    Rows(make_pipeline(StandardScaler(), PCA(n_components=1))),
    BoundaryScores("logistic", widths=(3,)),
    StateScores("logistic"),
    StateScores("boosting", standardize="training"),
    StateScores(LogisticRegression(C=3.0), lags=(0,), standardize=None),
    StateScores(HistGradientBoostingClassifier(max_iter=5), lags=(0, 1)),
    StateScores(make_pipeline(StandardScaler(), LogisticRegression())),
    StateScores(GaussianNB()),
    StateScores(LinearDiscriminantAnalysis()),
    StateScores(QuadraticDiscriminantAnalysis(reg_param=0.1)),
    Union(
        Columns(), ("inner", Chain(Lags((0, 2)), Rows(PCA(2)))), StateScores("logistic", lags=(0,))
    ),
]


@pytest.fixture
def recordings(rng):
    return [
        (NAMES == "walk")[:, None] + rng.normal(scale=0.5, size=(30, 2)) * [1, 2] for _ in range(4)
    ]


@pytest.mark.parametrize("stage", STAGES, ids=lambda s: " ".join(repr(s).split())[:70])
def test_a_transformer_comes_back_from_json_and_arrays(stage, recordings):
    fitted = clone(stage).fit(recordings, [NAMES] * 4)
    codec = model_codec()
    header = json.dumps(codec.pack(fitted), allow_nan=False)
    loaded = model_codec(codec.arrays).unpack(json.loads(header))
    for F, G in zip(fitted.transform(recordings), loaded.transform(recordings), strict=True):
        np.testing.assert_allclose(G, F, rtol=1e-12, atol=1e-12)
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    assert repr(loaded) == repr(fitted)
    again = clone(loaded).fit(recordings, [NAMES] * 4).transform(recordings)
    np.testing.assert_allclose(again[0], fitted.transform(recordings)[0], atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_stored_trees_predict_what_boosting_predicts(n_classes, rng):
    X, y = rng.normal(size=(400, 4)), rng.integers(n_classes, size=400)
    model = HistGradientBoostingClassifier(max_iter=20).fit(X + y[:, None] * [1, 0, 0, 2], y)
    new = 3 * rng.normal(size=(200, 4))
    np.testing.assert_allclose(
        Trees.of(model).predict_proba(new), model.predict_proba(new), atol=1e-12
    )


def test_a_classifier_that_cannot_be_stored_is_named(recordings):
    fitted = Union(Columns(), StateScores(BaggingClassifier(n_estimators=5), lags=(0,)))
    fitted.fit(recordings, [NAMES] * 4)
    message = r"features\.stages.*estimator is BaggingClassifier\(n_estimators=5\)"
    assert re.search(message, model_codec().lost(fitted, "features"))
    with pytest.raises(Unstorable, match=r"transformer is FunctionTransformer"):
        model_codec().pack(Rows(FunctionTransformer(lambda X: X)).fit(recordings))


def test_a_transformer_of_the_users_own_is_named():
    class Lags(RecordingTransformer):
        def transform(self, Xs):
            return list(Xs)

        def get_feature_names_out(self, input_features=None):
            return np.array([])

    assert "Lags" in model_codec().lost(Lags(), "features")


@pytest.mark.parametrize(
    "kind", [HistGradientBoostingClassifier(max_iter=3), RandomForestClassifier(3)]
)
@pytest.mark.parametrize(
    ("array", "value"), [("left", 10**6), ("right", -5), ("left", 0), ("feature", 9), ("roots", -1)]
)
def test_trees_that_lead_nowhere_are_refused_before_they_are_followed(kind, array, value, rng):
    X = rng.normal(size=(60, 2))
    fitted = kind.fit(X, (X[:, 0] > 0).astype(int))
    trees = Trees.of(fitted)
    np.testing.assert_allclose(trees.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    damaged = getattr(trees, array)
    damaged.flat[0] = value
    with pytest.raises(ModelFileError, match="the stored trees are damaged"):
        trees.predict_proba(X)
