"""What enters: missing labels, hidden values, containers that are no arrays, settings of no use."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from recording_cases import recordings_of_four_segments as recordings

from structsvm import (
    ChangePoint,
    Clustering,
    MetricLearner,
    NormalizedCut,
    PartialLabels,
    Region,
)
from structsvm.data.sample import Sample
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.features import HermiteMoments
from structsvm.graphs import FeatureGraph, GraphOfImage
from structsvm.graphs.labels import node_labels
from structsvm.partial_labels.labels import as_partial
from structsvm.regularizers import Custom

T = 40


XS, YS = recordings()
WORDS = ["a"] * 5 + [None] * 15 + ["b"] * 20
STAMPS = pd.to_datetime(["2020-01-01"] * 5 + [None] * 15 + ["2021-01-01"] * 20)
MISSING = {
    "None in a list": WORDS,
    "None in an array": np.array(WORDS, dtype=object),
    "NaN beside text in a list": [float("nan") if w is None else w for w in WORDS],
    "NaN beside text": np.array([np.nan if w is None else w for w in WORDS], dtype=object),
    "NaN": np.array([np.nan if w is None else ord(w) for w in WORDS]),
    "blank text": np.array(["" if w is None else w for w in WORDS]),
    "a series": pd.Series(WORDS),
    "a series of strings": pd.Series(WORDS, dtype="string"),
    "a categorical": pd.Categorical(WORDS),
    "a series of categories": pd.Series(WORDS, dtype="category"),
    "integers that may be missing": pd.Series(
        [pd.NA if w is None else ord(w) for w in WORDS], dtype="Int64"
    ),
    "times": STAMPS,
    "times of numpy": STAMPS.to_numpy(),
    "times as objects": np.array(list(STAMPS), dtype=object),
    "polars text": pl.Series(WORDS),
    "polars integers": pl.Series([None if w is None else ord(w) for w in WORDS]),
}


@pytest.mark.parametrize("y", MISSING.values(), ids=MISSING)
class TestMissingLabels:
    """They are refused by name in every problem, and PartialLabels takes them for unlabelled."""

    @pytest.mark.parametrize(
        "problem",
        [
            ChangePoint(),
            Clustering(),
            Clustering(cluster_count="unknown"),
        ],
        ids=["changes", "clusters", "clusters-unknown"],
    )
    @pytest.mark.parametrize("features", [None, HermiteMoments()], ids=["columns", "moments"])
    def test_vectors_are_refused(self, y, problem, features):
        words = problem.traits.words
        place = f"{words.whole} 1: the label of {words.item} 5 is missing"
        learner = MetricLearner(problem, features=features)
        with pytest.raises(DataError, match=f"{place} .*15 in all.*PartialLabels"):
            learner.fit(XS, [YS[0], y, *YS[2:]])
        with pytest.raises(DataError, match="5 is missing"):
            learner.risk(XS, [YS[0], y, *YS[2:]])
        with pytest.raises(DataError, match="5 is missing"):
            problem.encode(y, Sample(XS[1]))

    def test_graphs_refuse_them(self, y):
        graph = FeatureGraph(np.arange(T)[:, None])
        with pytest.raises(DataError, match=r"node 5 \(15 in all\): give each a label"):
            node_labels(y, graph)
        with pytest.raises(
            DataError, match=r"graph 1: the label of node 5 .*15 in all.*PartialLabels"
        ):
            MetricLearner(NormalizedCut()).fit([graph, graph], [np.arange(T) % 2, y])

    def test_partial_labels_leave_them_open(self, y):
        expected = [0] * 5 + [-1] * 15 + [1] * 20
        np.testing.assert_array_equal(PartialLabels(labels=y).codes, expected)


def test_partial_labels_of_names_are_learned_from():
    learner = MetricLearner().fit(XS, [PartialLabels(labels=WORDS)] * 4)
    assert max(learner.training_data_.n_clusters) < 17


class TestMinusOne:
    def test_is_unlabelled_whatever_holds_it(self):
        numbers = [-1, 1, 2, -1]
        for y in (
            numbers,
            np.array(numbers, dtype=np.int8),
            np.array(numbers, dtype=object),
            pd.Series(numbers, dtype="Int64"),
            np.array(numbers, dtype=float),
            [-1, "a", "b", -1],
        ):
            np.testing.assert_array_equal(as_partial(y, 4).codes, [-1, 0, 1, -1])

    def test_text_is_a_class(self):
        assert as_partial(["-1", "a", "b", "-1"], 4) is None

    @pytest.mark.parametrize("kind", [int, float, object])
    def test_graphs_refuse_it(self, kind):
        y = np.array([0, 1, -1, 1], dtype=kind)
        with pytest.raises(DataError, match=r"a label is .*-1.*, that of node 2 \(1 in all\)"):
            node_labels(y, FeatureGraph(np.arange(4)[:, None]))

    def test_names_of_pixels_are_never_unknown(self):
        image = np.arange(64.0).reshape(8, 8) / 64
        labels = np.where(np.arange(64).reshape(8, 8) % 8 > 3, "a", "b").astype(object)
        labels[3, 2] = None
        learner = MetricLearner(NormalizedCut(image=GraphOfImage("pixels", radius=1.5)))
        with pytest.raises(DataError, match=r"graph 0: a label is None.*pixel \(3, 2\) \(1 in all"):
            learner.fit([image], [labels])


def masked(X, where=(7, 1)):
    mask = np.zeros(np.shape(X), dtype=bool)
    mask[where] = True
    return np.ma.masked_array(X, mask)


BAD_RECORDINGS = {
    "masked": (masked(XS[1]), "recording 1 is masked in row 7, column 1"),
    "masked rows": (list(masked(XS[1])), "recording 1 is masked in row 7, column 1"),
    "complex": (XS[1] + 1j * np.eye(T, 3), r"recording 1 has the complex .* row 0, column 0"),
    "sparse": (sp.csr_array(XS[1]), r"recording 1 is a sparse matrix: give X.toarray\(\)"),
    "lazy": (pl.DataFrame(XS[1]).lazy(), r"recording 1 is a LazyFrame, .* X.collect\(\)"),
    "text": ("walk.csv", "recording 1 is 'walk.csv', a text: .*read_recordings"),
    "mapping": ({"a": 1}, "recording 1 is a dict"),
    "number": (3, "recording 1 has shape"),
    "times": (XS[1].astype("M8[s]"), "recording 1 holds datetime64.* not numbers"),
    "none": (None, "recording 1"),
    "ragged": ([[1.0, 2.0], [3.0]], r"recording 1 is not a numeric array of shape \(T, P\)"),
    "huge": ([[10**400, 1, 1]] * T, "recording 1 has 1000.* in row 0"),
}


@pytest.mark.parametrize(("X", "message"), BAD_RECORDINGS.values(), ids=BAD_RECORDINGS)
class TestHiddenValues:
    def test_of_recordings(self, X, message):
        with pytest.raises(DataError, match=message):
            MetricLearner().fit([XS[0], X, *XS[2:]], YS)


def test_a_mask_that_hides_nothing_is_no_mask():
    open_ = [np.ma.masked_array(X, False) for X in XS]
    a, b = MetricLearner().fit(XS, YS), MetricLearner().fit(open_, YS)
    np.testing.assert_array_equal(a.metric_.factor.T, b.metric_.factor.T)


def test_the_name_of_a_masked_feature_is_told():
    with pytest.raises(DataError, match=r"column 1 \(b\)"):
        MetricLearner().fit([masked(XS[0]), *XS[1:]], YS, feature_names=["a", "b", "c"])


def test_masked_labels_and_weights_are_refused():
    with pytest.raises(DataError, match="recording 0: the label of sample 3 is masked"):
        MetricLearner().fit(XS, [masked(YS[0], 3), *YS[1:]])
    with pytest.raises(DataError, match="sample_weight is masked in row 2"):
        MetricLearner().fit(XS, YS, sample_weight=masked(np.ones(4), 2))
    with pytest.raises(DataError, match="sample_weight has the complex number"):
        MetricLearner().fit(XS, YS, sample_weight=np.ones(4) * 1j)
    with pytest.raises(DataError, match="labels are complex"):
        MetricLearner().fit(XS, [YS[0] + 1j, *YS[1:]])


def test_graphs_refuse_hidden_values_too():
    y = [0, 0, 1, 1]
    for X in (masked(np.arange(4.0)[:, None], (2, 0)), np.arange(4)[:, None] * 1j):
        with pytest.raises(DataError, match="the feature matrix"):
            FeatureGraph(X)
        with pytest.raises(DataError, match="graph 0: the feature matrix"):
            MetricLearner(NormalizedCut()).fit([(np.ones((4, 4)), X)], [y])
    with pytest.raises(DataError, match="the feature matrix is a sparse matrix"):
        MetricLearner(NormalizedCut()).fit([(np.ones((4, 4)), sp.csr_array(np.ones((4, 1))))], [y])
    with pytest.raises(DataError, match="masked pixels"):
        MetricLearner(NormalizedCut()).fit([masked(np.zeros((8, 8)))], [np.zeros((8, 8))])


def test_cannot_link_alone_is_learned_from():
    labels = [PartialLabels(cannot_link=[(0, T - 1)], n_clusters=2)]
    learner = MetricLearner(Clustering()).fit([XS[0]], labels)
    (found,) = learner.alternated_.labels
    assert found.n_clusters == 2
    assert found.labels[0] != found.labels[T - 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        learner = MetricLearner(Clustering(cluster_count="unknown")).fit(
            XS[:2], [PartialLabels(cannot_link=[(0, T - 1)])] * 2
        )
    for M, X in zip(learner.alternated_.labels, XS, strict=False):
        assert M.labels[0] != M.labels[T - 1]
        assert M.n_clusters < len(X)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["only one"], "feature_names has 1 name, recording 0 has 3 features"),
        (list("abcd"), "feature_names has 4 names"),
        ("abc", "feature_names must be a list of names, got 'abc'"),
        ([None] * 3, "feature_names must be a list of names"),
    ],
)
def test_names_of_features_are_as_many(names, message):
    with pytest.raises(DataError, match=message):
        MetricLearner().fit(XS, YS, feature_names=names)


class TestRegions:
    @pytest.mark.parametrize(
        "region",
        [
            (0, np.inf, 1),
            (0, float("nan"), 1),
            (0.5, 9, 1),
            (0, 9, np.inf),
            (0, 9, 1.5),
            (0, 9, None),
            (None, 9, 1),
            3,
            (0, 9),
        ],
    )
    def test_are_whole_numbers(self, region):
        with pytest.raises(DataError, match="a region is"):
            PartialLabels(regions=[region])

    def test_as_they_are_written(self):
        found = PartialLabels(regions=[("0", np.int64(9), "1+"), (9.0, 12, " 2 ")]).regions
        assert found == (Region(0, 9, 1, or_more=True), Region(9, 12, 2))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"random_state": -1}, "random_state must be an integer from 0"),
        ({"random_state": 2**40}, "random_state must be an integer from 0"),
        ({"constraints": lambda B: None}, "constraints returned None .*: return a list"),
        ({"constraints": lambda B: B[0, 0] <= 1}, "constraints returned .*: return a list"),
        ({"constraints": lambda B: [None]}, "constraints returned .*: return a list"),
        ({"regularizer": Custom(lambda B: None)}, "must be a scalar convex cvxpy"),
    ],
)
def test_settings_of_no_use_are_refused_by_name(setting, message):
    with pytest.raises(SettingsError, match=message):
        MetricLearner(**setting).fit(XS, YS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"baselines": "some"}, "baselines must be 'quick', 'all', a list of names or None"),
    ],
)
def test_what_fit_has_no_use_for_is_refused_by_name(given, message):
    with pytest.raises(SettingsError, match=message):
        MetricLearner().fit(XS, YS, **given)


def test_groups_are_one_for_each():
    with pytest.raises(DataError, match=r"4 recordings but groups of shape \(3,\)"):
        MetricLearner().fit(XS, YS, groups=[1, 2, 3])
