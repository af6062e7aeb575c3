"""Learning to cluster tables: what it is worth on real ones, what it certifies, what it refuses."""

import pickle
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from structsvm import Clustering, EquivalenceMatrix, MetricLearner, Status, baselines, evaluate
from structsvm.errors import DataError, LearningError, MissingExtraError, SettingsError
from structsvm.oracles.exhaustive import all_partitions
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import DecodingMetric, calibrate
from structsvm.partitions.problem import MetricProblem, certified_upper
from structsvm.persistence import load, save
from structsvm.problem import RegularizedRisk
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane


def table(K=3, T=60, P=4, seed=0, spread=4.0):
    """The clusters lie apart in features 0 and 1; feature 2 is correlated noise, 3 is loud."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(T) % K)
    centres = spread * np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(K) / K])
    X = rng.standard_normal((T, P))
    X[:, :2] += centres[y]
    X[:, 3] = 10 * rng.choice([-1, 1], T) + X[:, 3] + X[:, 2]
    return X, y


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(Clustering()).fit(*table())


def halves(X, y, seed):
    learn, test = next(StratifiedShuffleSplit(1, train_size=0.5, random_state=seed).split(X, y))
    return (X[learn], y[learn]), (X[test], y[test])


def held_out_losses(X, y, problem, n=5):
    losses = []
    for seed in range(n):
        train, test = halves(X, y, seed)
        losses.append(-MetricLearner(problem).fit(*train).score(*test))
    return np.array(losses)


def same_rows_loss(X, y, problem):
    return -MetricLearner(problem, lam=0.001).fit(X, y).score(X, y)


class TestRealTables:
    """The figures to reach: same rows, and held-out halves with the default settings."""

    @pytest.fixture
    def read(self, shared_data):
        def read(name):
            frame = pd.read_csv(shared_data / "tables" / f"{name}.csv")
            return frame.drop(columns="class").to_numpy(float), frame["class"].to_numpy(str)

        return read

    @pytest.mark.parametrize(
        ("load_table", "same_rows", "held_out"), [(load_iris, 0.30, 0.45), (load_wine, 0.07, 0.45)]
    )
    def test_tables_of_scikit_learn(self, load_table, same_rows, held_out):
        X, y = load_table(return_X_y=True)
        assert same_rows_loss(X, y, Clustering()) <= same_rows
        assert held_out_losses(X, y, Clustering()).mean() <= held_out

    @pytest.mark.parametrize(
        ("name", "oracle", "same_rows", "held_out"),
        [
            ("balance_scale", "auto", 2.45, 2.72),
            ("ionosphere", "auto", 0.80, 1.10),
            ("ionosphere", "rounded", 0.75, 1.10),
        ],
    )
    @pytest.mark.filterwarnings("ignore:constant in every recording")
    def test_tables_in_files(self, read, name, oracle, same_rows, held_out):
        X, y = read(name)
        assert same_rows_loss(X, y, Clustering(oracle=oracle)) <= same_rows
        assert held_out_losses(X, y, Clustering(oracle=oracle)).mean() <= held_out

    def test_learning_pays_on_a_table_with_noise(self):
        """Wine beside as many columns of noise: plain K-means no longer finds the cultivars."""
        X, y = load_wine(return_X_y=True)
        X = np.hstack((X, np.random.default_rng(0).standard_normal((len(y), 13)) ** 3))
        train, test = halves(X, y, 0)
        learner = MetricLearner(Clustering()).fit(*train)
        untrained = learner.decode_with(learner.baselines_["untrained"], test[0], 3)[0]
        truth = learner.encode(*test)[0]
        assert -learner.score(*test) < 0.7 * partition_loss(truth, untrained)


class TestCertificates:
    def risk(self, problem, T=7, seed=0):
        rng = np.random.default_rng(seed)
        truth = EquivalenceMatrix.from_labels([0, 0, 1, 1, 1, 2, 2][:T])
        X = rng.standard_normal((T, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[truth.labels]
        metric = MetricProblem(problem, "full", 2)
        omega = metric.regularizer(SquaredNorm(), 0.05)
        return metric.risk([X], [truth], omega), X, truth

    def true_objective(self, risk, X, truth, w):
        """Omega plus the hinge, all partitions into as many clusters tried."""
        B = risk.problem.split(w)[0]
        values = []
        for row in all_partitions(len(X)):
            M = EquivalenceMatrix.from_labels(row)
            if M.n_clusters == truth.n_clusters:
                gain = np.sum(B * (M.gram(X) - truth.gram(X)))
                values.append((partition_loss(truth, M) + gain) / len(X))
        return risk.penalty(w) + risk.sample_weight[0] * max(0.0, *values)

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("oracle", ["relaxed", "rounded", "semidefinite"])
    def test_bounds_are_what_they_say(self, oracle, seed):
        risk, X, truth = self.risk(Clustering(oracle=oracle), seed=seed)
        solution = CuttingPlane(Stopping(tol=1e-3)).solve(risk)
        value = self.true_objective(risk, X, truth, solution.w)
        if oracle == "relaxed":  # certified for the relaxation, which lies above
            assert solution.status is Status.RELAXED
            assert value <= solution.upper + 1e-9
        if oracle == "rounded":  # real partitions: the lower bound is one of the true minimum
            assert solution.status is Status.HEURISTIC
            assert solution.lower <= value + 1e-9
            assert "upper bound as found by a heuristic oracle" in solution.bound
        if oracle == "semidefinite":
            assert solution.lower - 1e-9 <= value <= solution.upper + 1e-9

    def test_rounding_is_never_above_the_relaxation(self):
        relaxed, rounded = (
            CuttingPlane(Stopping(tol=1e-4)).solve(self.risk(Clustering(oracle=oracle))[0])
            for oracle in ("relaxed", "rounded")
        )
        assert rounded.lower <= relaxed.upper + 1e-9

    def test_what_a_heuristic_found_is_bounded_by_the_relaxation(self):
        risk, X, truth = self.risk(Clustering(oracle="rounded"))
        solution = CuttingPlane(Stopping(tol=1e-3)).solve(risk)
        bound = certified_upper(risk, solution)
        assert self.true_objective(risk, X, truth, solution.w) <= bound + 1e-9
        relaxed = MetricProblem(Clustering(oracle="relaxed"), "full", 2)
        relaxed_risk = relaxed.risk([X], [truth], relaxed.regularizer(SquaredNorm(), 0.05))
        (x,), (y,) = relaxed_risk.xs, relaxed_risk.ys
        answer = relaxed.separate(solution.w, x, y)
        gain = relaxed.joint_feature(x, answer.y) - relaxed.joint_feature(x, y)
        hinge = relaxed.loss(y, answer.y) + gain @ solution.w
        expected = relaxed_risk.penalty(solution.w) + relaxed_risk.sample_weight[0] * hinge
        assert bound == pytest.approx(expected)

    def test_the_compressed_hinge_is_that_of_all_rows(self):
        """Against the T x T matrix, whose leading eigenvectors orthogonal to 1 are taken."""
        risk, X, truth = self.risk(Clustering(oracle="relaxed"))
        B = np.array([[0.4, 0.1], [0.1, 0.7]])
        w, T, K = risk.problem.join(B, 0.0), len(X), truth.n_clusters
        plane = risk.problem.separate(w, risk.xs[0], risk.ys[0])
        phi = risk.problem.joint_feature(risk.xs[0], plane.y)
        value = risk.problem.loss(risk.ys[0], plane.y) + w @ (
            phi - risk.problem.joint_feature(risk.xs[0], risk.ys[0])
        )
        A = X @ B @ X.T - 2 * truth.dense()
        H = np.eye(T) - 1.0 / T
        top = np.sort(np.linalg.eigvalsh(H @ A @ H))[::-1][: K - 1].sum() + A.sum() / T
        expected = 2 * K + top - np.sum(B * truth.gram(X))
        assert value * T == pytest.approx(expected)

    def test_auto_relaxes_few_clusters_and_rounds_many(self):
        statuses = [
            MetricLearner(Clustering()).fit(*table(K, spread=8.0)).solution_.status for K in (3, 4)
        ]
        assert statuses == [Status.RELAXED, Status.HEURISTIC]

    def test_cost_of_a_relaxed_call_does_not_depend_on_the_rows(self):
        X, y = table(T=3000)
        sample = Clustering(oracle="relaxed").sample(X, EquivalenceMatrix.from_labels(y))
        assert sample.data.n_rows <= 4 + 3
        assert sample.n_samples == 3000


class TestPredicting:
    @pytest.mark.parametrize("K", [1, 2, 3, 7, 60])
    def test_exactly_as_many_clusters_as_asked_for(self, learner, K):
        (labels,) = learner.predict(table()[0], n_clusters=K)
        assert np.bincount(labels).size == K
        assert np.bincount(labels).min() >= 1

    def test_exactly_as_many_though_rows_are_repeated(self, learner):
        X = np.repeat(table()[0][:3], 5, axis=0)
        assert len(set(learner.predict(X, n_clusters=6)[0].tolist())) == 6

    def test_two_names_of_one_argument(self, learner):
        X = table()[0]
        by_name = [learner.predict(X, n_clusters=4), learner.predict(X, n_segments=4)]
        np.testing.assert_array_equal(by_name[0][0], by_name[1][0])
        np.testing.assert_array_equal(by_name[0][0], learner.predict(X, 4)[0])
        with pytest.raises(SettingsError, match="two names of one argument"):
            learner.predict(X, n_clusters=4, n_segments=4)

    def test_one_number_for_each_table(self, learner):
        Xs = [table(seed=s)[0] for s in range(3)]
        labels = learner.predict(Xs, n_clusters=[2, 3, 4])
        assert [len(set(found.tolist())) for found in labels] == [2, 3, 4]

    @pytest.mark.parametrize("problem", [Clustering(), Clustering("unknown")])
    def test_the_penalty_finds_the_number_of_clusters(self, problem):
        learner = MetricLearner(problem).fit(*table())
        X, y = table(seed=1)
        (labels,) = learner.predict(X)
        assert adjusted_rand_score(y, labels) > 0.9
        assert len(set(labels.tolist())) == 3

    def test_the_seed_is_that_of_the_learner(self):
        X, y = table()
        problems = [MetricLearner(Clustering(), random_state=s).fit(X, y).problem_ for s in (3, 3)]
        assert problems[0] == problems[1] == Clustering(random_state=3)
        again = [MetricLearner(Clustering(), random_state=3).fit(X, y) for _ in range(2)]
        np.testing.assert_array_equal(again[0].components_, again[1].components_)


class TestManyTables:
    def test_different_sizes_and_numbers_of_clusters(self):
        data = [table(K, 12 * K + 10, seed=K) for K in (2, 3, 4, 5)]
        learner = MetricLearner(Clustering()).fit([X for X, _ in data], [y for _, y in data])
        X, y = table(4, seed=9)
        assert adjusted_rand_score(y, learner.predict(X, n_clusters=4)[0]) > 0.9
        assert learner.get_mahalanobis_matrix()[3, 3] < learner.get_mahalanobis_matrix()[0, 0]

    def test_one_labelled_table_is_the_normal_case(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            MetricLearner(Clustering()).fit(*table())


class TestModelSelection:
    def test_one_single_cluster_fools_neither_score(self):
        """Its loss, K - 1, beats that of the truth with a few rows swapped."""
        truth = EquivalenceMatrix.from_labels(np.arange(40) % 8)
        single = EquivalenceMatrix.from_labels(np.zeros(40, int))
        decent = EquivalenceMatrix.from_labels(np.repeat(np.arange(8), 5))
        assert partition_loss(truth, single) < partition_loss(truth, decent)
        rand = Clustering("unknown").agreement
        assert rand(truth, single) == 0.0 < rand(truth, truth) == 1.0
        assert Clustering().agreement(truth, decent) == -partition_loss(truth, decent)

    def test_evaluation_reports_the_adjusted_rand_index(self, learner):
        X, y = table(seed=1)
        result = evaluate(learner, [X], [y])
        assert result.learned.adjusted_rand > result.untrained.adjusted_rand > 0.5
        assert result.learned.f1 is None
        assert result.recordings[0].n_segments == 3

    def test_a_metric_of_zero_is_no_answer(self):
        X, y = table()
        rng = np.random.default_rng(0)
        with pytest.raises(LearningError, match="the best metric found is zero"):
            MetricLearner(Clustering(), "diagonal").fit(rng.standard_normal((60, 4)), y)
        with pytest.raises(LearningError, match="lower lam"):
            MetricLearner(Clustering(), regularizer="trace", lam=1e6).fit(X, y)

    def test_grid_search_over_the_rows_of_a_table(self):
        X, y = load_wine(return_X_y=True)
        search = GridSearchCV(
            MetricLearner(Clustering()), {"lam": [1.0, 0.01]}, cv=StratifiedKFold(2)
        ).fit(X, y)
        assert -search.best_score_ < 0.8


class TestScikitLearn:
    @pytest.mark.parametrize(
        "clusterer",
        [KMeans(3, n_init=10, random_state=0), SpectralClustering(3, random_state=0), HDBSCAN(5)],
        ids=lambda c: type(c).__name__,
    )
    def test_transform_feeds_other_clusterers(self, learner, clusterer):
        X, y = table(seed=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # HDBSCAN's own, of copy
            found = clusterer.fit_predict(learner.transform(X))
        assert adjusted_rand_score(y, found) > 0.7

    def test_pipeline_on_a_real_table(self):
        X, y = load_wine(return_X_y=True, as_frame=True)
        metric = MetricLearner(Clustering(), standardize="training")
        pipeline = make_pipeline(StandardScaler(), metric, KMeans(3, n_init=10, random_state=0))
        learn = np.arange(len(y)) % 2 == 0
        pipeline.fit(X[learn], y[learn])
        assert adjusted_rand_score(y[~learn], pipeline.predict(X[~learn])) > 0.85

    def test_shuffled_series_and_names_are_labels(self):
        X, y = table()
        order = np.random.default_rng(0).permutation(len(y))
        names = pd.Series(np.array(["a", "b", "c"])[y]).iloc[order]
        frame = pd.DataFrame(X).iloc[order]
        learner = MetricLearner(Clustering()).fit(frame, names)
        assert learner.score(frame, names) > -0.5

    def test_saved_and_loaded_it_predicts_the_same(self, learner, tmp_path):
        save(learner, tmp_path / "m.structsvm")
        for copy in (load(tmp_path / "m.structsvm"), pickle.loads(pickle.dumps(learner))):
            np.testing.assert_array_equal(
                copy.predict(table()[0])[0], learner.predict(table()[0])[0]
            )
            assert copy.problem_ == learner.problem_
            assert copy.certified_upper_ == learner.certified_upper_ == learner.solution_.upper
            assert copy.calibration_.penalty == learner.penalty_
            np.testing.assert_array_equal(copy.whitening_, learner.whitening_)


class TestWhitening:
    def test_a_full_metric_starts_from_half_shrunk_features(self, learner):
        X, y = table()
        Z, M = learner.standardizer_(X), EquivalenceMatrix.from_labels(y)
        deviations = Z - M.dense() @ Z
        C = deviations.T @ deviations / len(Z)
        half = C / 2 + np.trace(C) / 8 * np.eye(4)
        np.testing.assert_allclose(
            learner.whitening_ @ half @ learner.whitening_, np.eye(4), atol=1e-9
        )

    def test_it_is_an_option(self):
        data = table()
        plain = MetricLearner(Clustering(), whiten=None).fit(*data)
        assert plain.whitening_ is None
        assert MetricLearner(Clustering(), "diagonal").fit(*data).whitening_ is None
        whitened = MetricLearner(Clustering(), whiten=0.0, lam=1e4).fit(*data)
        rca = baselines.rca(
            Clustering().decoder,
            [plain.standardizer_(data[0])],
            whitened.encode(*data),
            shrinkage=0.0,
        )
        assert whitened.whitening_ == pytest.approx(rca.factor)

    @pytest.mark.parametrize("whiten", [-0.1, 1.5, "yes", True])
    def test_bad_shrinkage(self, whiten):
        with pytest.raises(SettingsError, match=r"whiten must be 'auto', None or a shrinkage"):
            MetricLearner(Clustering(), whiten=whiten).fit(*table())

    def test_a_diagonal_metric_is_not_whitened(self):
        with pytest.raises(SettingsError, match="a diagonal metric weighs each by itself"):
            MetricLearner(Clustering(), "diagonal", whiten=0.5).fit(*table())


class TestBaselines:
    def test_each_by_its_name(self):
        X, y = table()
        truth = EquivalenceMatrix.from_labels(y)
        decoder = Clustering().decoder
        for name in ("untrained", "pca", "rca", "lda"):
            metric = baselines.fit(name, decoder, [X], [truth])
            assert isinstance(metric, DecodingMetric)
            assert metric.factor.shape[0] == 4
        with pytest.raises(SettingsError, match=r"a baseline is one of .*'lda'.*, got 'lfda'"):
            baselines.fit("lfda", decoder, [X], [truth])

    def test_pca_is_not_fooled_by_few_clusters(self):
        """Eight overlapping clusters: by the loss, fewer clusters in one direction would win."""
        rng, y = np.random.default_rng(0), np.repeat(np.arange(8), 20)
        X = 0.8 * rng.standard_normal((8, 4))[y] + rng.standard_normal((160, 4))
        truths, decoder = [EquivalenceMatrix.from_labels(y)], Clustering().decoder
        calibration = calibrate(decoder, [X], truths)
        assert calibration.losses.min() == 7.0 < calibration.loss  # that of one single cluster
        metric = baselines.pca(decoder, [X], truths)
        one = calibrate(decoder, [X @ metric.factor[:, :1]], truths)
        assert metric.factor.shape[1] == 2
        assert one.loss < calibrate(decoder, [X @ metric.factor], truths).loss

    def test_lda_finds_the_directions_that_tell_clusters_apart(self):
        X, y = table()
        metric = baselines.lda(Clustering().decoder, [X], [EquivalenceMatrix.from_labels(y)])
        assert metric.factor.shape == (4, 2)
        guess = metric.decode(Clustering().decoder, X, 3)
        assert adjusted_rand_score(y, guess.labels) > 0.9

    def test_metric_learn_says_how_to_get_it(self, monkeypatch):
        X, y = table()
        sample = Clustering().decoder, [X], [EquivalenceMatrix.from_labels(y)]
        monkeypatch.setitem(sys.modules, "metric_learn", None)  # as if it were not installed
        with pytest.raises(
            MissingExtraError, match=r"needs metric_learn: pip install .*\[rivals\]"
        ):
            baselines.fit("mmc", *sample)
        with pytest.raises(SettingsError, match=r"algorithm must be one of .*'mmc'.*, got 'lfda'"):
            baselines.metric_learn(*sample, "lfda")

        class NCA:
            def fit(self, X, y):
                raise TypeError("unexpected keyword argument 'force_all_finite'")

        broken = SimpleNamespace(NCA=NCA, __version__="0.7.0")
        monkeypatch.setitem(sys.modules, "metric_learn", broken)
        with pytest.raises(
            MissingExtraError, match=r"0\.7\.0 does not run with scikit-learn .*rivals"
        ):
            baselines.fit("nca", *sample)

    def test_metrics_of_metric_learn_are_ready_to_decode(self, monkeypatch):
        """A stand-in for the library: tables are stacked, their clusters kept apart."""

        class NCA:
            def fit(self, X, y):
                assert X.shape == (120, 4)
                assert sorted(set(y.tolist())) == [0, 1, 2, 3, 4, 5]
                self.components_ = np.eye(4)[:2]
                return self

        monkeypatch.setitem(sys.modules, "metric_learn", SimpleNamespace(NCA=NCA))
        Xs, truths = [], []
        for seed in range(2):
            X, y = table(seed=seed)
            Xs.append(X)
            truths.append(EquivalenceMatrix.from_labels(y))
        metric = baselines.fit("nca", Clustering().decoder, Xs, truths)
        guess = metric.decode(Clustering().decoder, Xs[0], 3)
        assert adjusted_rand_score(truths[0].labels, guess.labels) > 0.9


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(60), "all rows of the table have the same label"),
        (np.arange(59), r"labels of shape \(59,\) for 60 rows: give one to each"),
        (np.r_[np.nan, np.arange(59)], "the label of row 0 is missing"),
        (["a", None] * 30, "the label of row 1 is missing"),
        (np.array([1, "a"] * 30, dtype=object), "labels of several kinds .*: int, str"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(DataError, match=message):
        MetricLearner(Clustering()).fit(table()[0], labels)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"n_clusters": 3},
            "must be 'known' or 'unknown', got 3; a number of clusters is given to",
        ),
        ({"oracle": "exact"}, r"oracle must be one of \('auto', 'relaxed', .*got 'exact'"),
        ({"penalty": "free"}, "'learned' or 'fixed', got 'free'"),
        ({"margin": 0}, r"margin must be in \(0, 1\], got 0"),
        ({"n_init": 0}, "n_init must be >= 1, got 0"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(SettingsError, match=message):
        Clustering(**settings)


def test_a_large_table_is_too_much_for_semidefinite_programming():
    with pytest.raises(SettingsError, match=r"at most 100 rows, a table has 120: use 'relaxed'"):
        MetricLearner(Clustering(oracle="semidefinite")).fit(*table(T=120))


def test_risk_of_raw_arrays_prepares_them():
    X, y = table()
    truth = EquivalenceMatrix.from_labels(y)
    problem = MetricProblem(Clustering(), "full", 4)
    risk = problem.risk([X], [truth], SquaredNorm())
    assert isinstance(risk, RegularizedRisk)
    assert risk.ys[0].n_clusters == 3
    assert problem.loss(risk.ys[0], risk.ys[0]) == pytest.approx(0.0, abs=1e-12)
