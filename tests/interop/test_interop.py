"""The learned metric in other libraries, each against the real one."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import ruptures as rpt
import sklearn
import xarray
from cases import cases
from metric_learn.base_metric import MahalanobisMixin
from recording_cases import changes
from skchange.utils.segmentation import changepoints_to_labels
from skimage import graph as region_graph
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from structsvm import ChangePoint, MetricLearner, NormalizedCut, interop
from structsvm.errors import DataError, SettingsError
from structsvm.graphs.similarity import Similarity
from structsvm.interop import distance_function, ruptures_cost, ruptures_detector, weighted_graph
from structsvm.learner.preparing import prepare

NAMES = ["heart", "left hand", "noise"]


(XS, YS), (NEW, TRUE) = (changes(3, n_features=3, jump=2.0, random_state=s) for s in (0, 1))
NOTHING = np.random.default_rng(0).standard_normal((40, 3))


@pytest.fixture(scope="module", params=["recording", "training", None])
def learner(request):
    return MetricLearner(standardize=request.param).fit(XS, YS, feature_names=NAMES)


@pytest.fixture(scope="module")
def diagonal():
    learner = MetricLearner(metric="diagonal", regularizer="trace", standardize="training")
    return learner.fit(XS, YS, feature_names=NAMES)


class TestRuptures:
    @pytest.mark.parametrize("X", [*NEW, NOTHING], ids=len)
    @pytest.mark.parametrize("K", [1, 2, 5, 10])
    def test_the_ruptures_detector_agrees_with_the_learner_for_known_k(self, learner, X, K):
        detector = ruptures_detector(learner).fit(X)
        assert isinstance(detector, rpt.base.BaseEstimator)
        assert [detector.predict(n_bkps=K - 1)] == learner.predict_breakpoints([X], K)

    @pytest.mark.parametrize("X", [*NEW, NOTHING], ids=len)
    def test_the_ruptures_detector_agrees_with_the_learner_for_its_penalty(self, learner, X):
        detector = ruptures_detector(learner)
        (ours,) = learner.predict_breakpoints([X])
        assert detector.fit_predict(X) == detector.predict(pen=learner.metric_.price) == ours
        assert detector.predict(pen=1e9) == [len(X)]

    def test_the_ruptures_cost_gives_the_segments_of_the_learner(self, learner):
        cost = ruptures_cost(learner)
        assert isinstance(cost, rpt.costs.CostMl)
        X = NEW[0][:60]
        exact = rpt.Dynp(custom_cost=cost, min_size=1, jump=1).fit(X)
        for K in (2, 4):
            assert [exact.predict(n_bkps=K - 1)] == learner.predict_breakpoints([X], K)
        pelt = rpt.Pelt(custom_cost=ruptures_cost(learner), min_size=1, jump=1).fit(X)
        assert [pelt.predict(pen=learner.metric_.price)] == learner.predict_breakpoints([X])

    def test_the_ruptures_cost_is_that_of_the_transformed_signal(self, learner):
        X = NEW[0]
        cost = ruptures_cost(learner).fit(X)
        plain = rpt.costs.CostL2()
        plain.fit(learner.transform([X])[0])
        assert cost.error(10, 50) == pytest.approx(plain.error(10, 50))
        assert cost.error(3, 4) == pytest.approx(0.0, abs=1e-9)
        assert pickle.loads(pickle.dumps(cost)).error(10, 50) == cost.error(10, 50)

    def test_ruptures_takes_univariate_vectors_and_single_samples(self):
        Xs = [X[:, :1] for X in XS]
        learner = MetricLearner(standardize="training").fit(Xs, YS)
        detector = ruptures_detector(learner)
        assert [detector.fit_predict(Xs[0][:, 0])] == learner.predict_breakpoints([Xs[0]])
        assert detector.fit_predict(Xs[0][:1]) == [1]

    @cases(
        (ChangePoint(min_length=7), False),
        (ChangePoint(max_length=25), False),
        (ChangePoint(missing="mask"), True),
        ids=["shortest", "longest", "masked"],
    )
    def test_rules_on_segments_are_refused_for_ruptures(self, problem, gap):
        learner = MetricLearner(problem, metric="diagonal")
        learner.fit(XS, [np.arange(len(X)) // 20 for X in XS])
        X = NEW[0].copy()
        if gap:
            X[50:60, 0] = np.nan
        assert learner.predict_breakpoints(X)
        exported = ruptures_detector(learner), ruptures_cost(learner)
        for one in exported:
            with pytest.raises(DataError, match="would find other segments here than ChangePoint"):
                one.fit(X)
        if gap:
            whole = ruptures_detector(learner).fit_predict(NEW[0])
            assert whole == learner.predict_breakpoints(NEW[0])

    def test_the_ruptures_cost_is_accurate_far_from_zero(self):
        learner = MetricLearner(standardize=None).fit([X + 1e8 for X in XS], YS)
        X = NEW[0] + 1e8
        ends = learner.predict_breakpoints(X)
        assert len(ends) > 1
        assert ruptures_detector(learner).fit_predict(X) == ends
        search = rpt.Pelt(custom_cost=ruptures_cost(learner), min_size=1, jump=1)
        assert search.fit(X[:80]).predict(pen=learner.metric_.price) == learner.predict_breakpoints(
            X[:80]
        )

    def test_signals_that_do_not_fit_the_detector_are_refused(self, learner):
        with pytest.raises(DataError, match="has 2 features, the model has 3"):
            ruptures_detector(learner).fit(NEW[0][:, :2])
        with pytest.raises(DataError, match="call fit first"):
            ruptures_detector(learner).predict(pen=1.0)
        with pytest.raises(sklearn.exceptions.NotFittedError):
            ruptures_detector(MetricLearner())


class TestScikitLearn:
    @cases(("pandas", pd.DataFrame, "to_numpy"), ("polars", pl.DataFrame, "to_numpy"))
    def test_transform_gives_frames_as_set_output_asks(self, learner, kind, frame, values):
        plain = learner.transform(NEW)
        asked = pickle.loads(pickle.dumps(learner)).set_output(transform=kind)
        assert asked.set_output(transform=None) is asked
        found = asked.transform(NEW)
        for X, Z in zip(found, plain, strict=True):
            assert isinstance(X, frame)
            assert list(X.columns) == list(learner.get_feature_names_out())
            np.testing.assert_array_equal(getattr(X, values)(), Z)
        back = asked.set_output(transform="default").transform(NEW)
        assert all(isinstance(X, np.ndarray) for X in back)

    def test_a_pipeline_learns_transforms_and_is_told_its_output(self):
        centre = FunctionTransformer(lambda Xs: [X - X.mean(axis=0) for X in Xs])
        steps = [("centre", centre), ("metric", MetricLearner(standardize=None))]
        pipeline = Pipeline(steps).fit(XS, YS)
        assert [len(bkps) for bkps in pipeline.predict(NEW)] == [200] * 3
        Z = pipeline.transform(NEW)[0]
        assert Z.shape == (200, pipeline["metric"].metric_.factor.T.shape[0])
        pipeline["metric"].set_output(transform="pandas")
        assert isinstance(pipeline.transform(NEW)[0], pd.DataFrame)


class TestMetricLearn:
    @pytest.fixture
    def theirs(self, learner):
        class Given(MahalanobisMixin):
            """Our metric in their class."""

            def fit(self):
                self.components_ = learner.metric_.factor.T
                return self

        return Given().fit()

    def test_distances_agree_with_metric_learn(self, learner, theirs):
        pairs = np.random.default_rng(0).standard_normal((20, 2, 3))
        metric = distance_function(learner)
        expected = theirs.get_metric()
        for squared in (False, True):
            ours = [metric(u, v, squared=squared) for u, v in pairs]
            assert ours == pytest.approx([expected(u, v, squared=squared) for u, v in pairs])
        distances = learner.pair_distance(pairs)
        assert distances == pytest.approx([expected(u, v) for u, v in pairs])

    def test_the_metric_goes_where_scikit_learn_takes_one(self, learner):
        X = NEW[0][:80]
        points = prepare(learner, [X])[0].X
        near = float(np.median(learner.pair_distance(np.stack([points[:-1], points[1:]], axis=1))))
        by_metric = DBSCAN(eps=near, metric=distance_function(learner)).fit_predict(points)
        by_transform = DBSCAN(eps=near).fit_predict(points @ learner.metric_.factor)
        np.testing.assert_array_equal(by_metric, by_transform)
        assert len(set(by_metric)) > 1


class TestBreakpoints:
    @pytest.mark.parametrize("breakpoints", [[7], [1, 7], [2, 3, 7], [1, 2, 3, 4, 5, 6, 7]])
    def test_labels_and_breakpoints_convert_to_each_other(self, breakpoints):
        T = breakpoints[-1]
        changes = breakpoints[:-1]
        labels = interop.breakpoints_to_labels(breakpoints)
        np.testing.assert_array_equal(labels, changepoints_to_labels(changes, T))
        assert interop.labels_to_breakpoints(labels) == breakpoints


class TestFrames:
    def test_frames_of_all_libraries_are_taken(self, learner):
        for frame in (
            lambda X: pd.DataFrame(X, columns=NAMES),
            lambda X: pl.DataFrame(X, schema=NAMES, orient="row"),
            lambda X: xarray.DataArray(X, {"feature": NAMES}, ("time", "feature")),
        ):
            again = clone(learner).fit([frame(X) for X in XS], YS)
            assert again.feature_names_in_.tolist() == NAMES
            np.testing.assert_array_equal(again.metric_.factor.T, learner.metric_.factor.T)
            one = frame(NEW[0])
            assert [learner.predict_breakpoints(one)] == learner.predict_breakpoints([NEW[0]])
            with pytest.raises(DataError, match="the same columns in the same order"):
                learner.predict(one[:, ::-1] if hasattr(one, "dims") else one[NAMES[::-1]])

    def test_transformed_data_frames_keep_their_index(self, learner):
        times = pd.date_range("2024-01-01", periods=len(NEW[0]), freq="s")
        asked = pickle.loads(pickle.dumps(learner)).set_output(transform="pandas")
        Z = asked.transform(pd.DataFrame(NEW[0], columns=NAMES, index=times))
        assert Z.index.equals(times)

    def test_the_metric_has_the_names_of_the_features(self, learner):
        B = learner.get_mahalanobis_matrix()
        found = interop.metric_frame(learner)
        assert found.index.tolist() == found.columns.tolist() == NAMES
        np.testing.assert_array_equal(found.to_numpy(), B)


class TestExport:
    def test_the_exported_csv_is_read_by_pandas(self, learner, tmp_path):
        interop.export_metric(learner, tmp_path / "B.csv")
        B = pd.read_csv(tmp_path / "B.csv", index_col="feature")
        assert B.index.tolist() == B.columns.tolist() == NAMES
        np.testing.assert_array_equal(B.to_numpy(), learner.get_mahalanobis_matrix())

    def test_the_exported_npz_suffices_to_transform(self, learner, tmp_path):
        interop.export_metric(learner, tmp_path / "m.npz")
        with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
            assert file["features"].tolist() == NAMES
            assert float(file["penalty"]) == learner.metric_.price
            np.testing.assert_array_equal(file["metric"], learner.get_mahalanobis_matrix())
            X = NEW[0]
            if learner.standardize == "training":
                X = (X - file["mean"]) * file["scale"]
            elif learner.standardize == "recording":
                X = (X - X.mean(axis=0)) / X.std(axis=0)
            np.testing.assert_allclose(X @ file["components"].T, learner.transform(NEW[0]))

    def test_exports_to_other_endings_are_refused(self, learner, tmp_path):
        with pytest.raises(SettingsError, match=r"must end with one of \.csv, \.npz"):
            interop.export_metric(learner, tmp_path / "m.xlsx")
        assert not list(tmp_path.iterdir())


# ---- learned similarities in networkx, scikit-image and scikit-learn


def halves(rng):
    """Return an image whose halves differ in red alone, blue being noise, and its regions."""
    image = np.clip(rng.normal(0.5, 0.03, (24, 24, 3)), 0, 1)
    image[:, 12:, 0] += 0.25
    image[..., 2] = rng.uniform(size=(24, 24))
    row, column = np.indices((24, 24))
    regions = row // 4 * 6 + column // 4
    rag = region_graph.rag_mean_color(image, regions)
    side = {k: int(k % 6 >= 3) for k in rag}
    return image, regions, rag, side


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    return [halves(rng) for _ in range(3)]


@pytest.fixture(scope="module")
def cutter(pictures) -> MetricLearner:
    graphs = [p[2] for p in pictures[:2]]
    sides = [p[3] for p in pictures[:2]]
    return MetricLearner(NormalizedCut()).fit(graphs, sides)


def test_weights_of_a_weighted_graph_are_learned_similarities(cutter, pictures):
    rag = pictures[2][2]
    before = nx.to_dict_of_dicts(rag)
    weighted = weighted_graph(cutter, rag)
    assert nx.to_dict_of_dicts(rag) == before
    assert type(weighted) is type(rag)
    assert set(weighted.edges) == set(rag.edges)
    assert weighted.nodes[0]["pixel count"] == rag.nodes[0]["pixel count"]
    graph = prepare(cutter, [rag])[0].side
    expected = Similarity.of(graph)(cutter.metric_.factor).matrix.toarray()
    found = nx.to_numpy_array(weighted, nodelist=graph.nodes)
    np.testing.assert_allclose(found + np.eye(len(found)), expected)


def test_loops_and_parallel_edges_weigh_what_was_learned(cutter, pictures):
    rag = pictures[2][2]
    several = nx.MultiGraph(rag)
    several.add_edge(0, 1, weight=7.0)
    several.add_edge(0, 0, weight=7.0)
    found = nx.to_dict_of_dicts(weighted_graph(cutter, several))
    assert found[0].pop(0)["weight"] == 1.0
    assert found == nx.to_dict_of_dicts(weighted_graph(cutter, rag))


def test_scikit_image_cuts_where_the_learner_does(cutter, pictures):
    _, regions, rag, side = pictures[2]
    ours = cutter.predict([rag], 2)[0]
    assert adjusted_rand_score(list(side.values()), ours) == 1.0
    cut = region_graph.cut_normalized(
        regions, weighted_graph(cutter, rag), thresh=0.1, num_cuts=30, rng=0
    )
    truth = np.array([side[k] for k in regions.ravel()])
    theirs = adjusted_rand_score(truth, cut.ravel())
    plain = region_graph.rag_mean_color(pictures[2][0], regions, mode="similarity")
    without = adjusted_rand_score(
        truth, region_graph.cut_normalized(regions, plain, thresh=0.1, num_cuts=30, rng=0).ravel()
    )
    assert theirs == 1.0 > without


def test_a_weighted_graph_uses_features_as_the_metric_sees_them(pictures):
    graphs = [p[2] for p in pictures]
    sides = [p[3] for p in pictures]
    cutter = MetricLearner(NormalizedCut(), standardize="training").fit(graphs[:2], sides[:2])
    (instance,) = prepare(cutter, graphs[2:])
    place = {node: i for i, node in enumerate(instance.side.nodes)}
    weighted = weighted_graph(cutter, graphs[2])
    for a, b, weight in weighted.edges(data="weight"):
        difference = (instance.X[place[a]] - instance.X[place[b]]) @ cutter.metric_.factor
        assert weight == pytest.approx(np.exp(-(difference**2).sum()))
