"""Learning to cluster tables: what it certifies, predicts and refuses."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from tables import table

from structsvm import Clustering, EquivalenceMatrix, MetricLearner, Status
from structsvm.baselines import metrics as tuned_metrics
from structsvm.data.sample import Sample
from structsvm.errors import DataError, LearningError, OracleError, SettingsError
from structsvm.evaluation.evaluate import Evaluation
from structsvm.learner.steps import encode, prepare
from structsvm.oracles.exhaustive import all_partitions
from structsvm.partitions.losses import partition_loss
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(Clustering()).fit(*table())


class TestCertificates:
    def risk(self, problem, T=7, seed=0):
        rng = np.random.default_rng(seed)
        truth = EquivalenceMatrix.from_labels([0, 0, 1, 1, 1, 2, 2][:T])
        X = rng.standard_normal((T, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[truth.labels]
        objective = problem.learning.objective("full", 2)
        omega = objective.regularizer(SquaredNorm(), 0.05)
        return objective.risk([Sample(X)], [truth], omega), X, truth

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

    def test_what_a_heuristic_found_is_bounded_by_the_relaxation(self):
        risk, X, truth = self.risk(Clustering(oracle="rounded"))
        solution = CuttingPlane(Stopping(tol=1e-3)).solve(risk)
        bound = solution.certified_upper
        assert self.true_objective(risk, X, truth, solution.w) <= bound + 1e-9
        relaxed = Clustering(oracle="relaxed").learning.objective("full", 2)
        relaxed_risk = relaxed.risk([Sample(X)], [truth], relaxed.regularizer(SquaredNorm(), 0.05))
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

    def test_the_gap_is_measured_against_what_learning_can_gain(self):
        """With many clusters every bound is near F(0), and a gap relative to it means nothing."""
        rng, y = np.random.default_rng(0), np.arange(240) % 12
        X = 0.6 * rng.standard_normal((12, 4))[y] + rng.standard_normal((240, 4))
        with pytest.warns(ConvergenceWarning, match="the bounds cross"):
            found = MetricLearner(Clustering()).fit(X, y).solution_
        assert found.status is Status.CONTRADICTED
        assert found.null == pytest.approx(2.0)
        assert found.gap == pytest.approx((found.upper - found.lower) / (2.0 - found.lower))
        # A heuristic oracle may leave the upper bound a little below the certified lower one.
        assert abs(found.upper - found.lower) / found.upper < 0.5 * abs(found.gap)

    def test_semidefinite_programming_learns_from_a_small_table(self):
        learner = MetricLearner(
            Clustering(oracle="semidefinite"), solver=CuttingPlane(Stopping(max_iter=5))
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learner.fit(*table(T=12, spread=8.0))
        assert "heuristic" not in learner.solution_.bound
        X, y = table(seed=1, spread=8.0)
        assert adjusted_rand_score(y, learner.predict(X, n_clusters=3)) > 0.9

    def test_auto_relaxes_few_clusters_and_rounds_many(self):
        statuses = [
            MetricLearner(Clustering()).fit(*table(K, spread=8.0)).solution_.status for K in (3, 4)
        ]
        assert statuses == [Status.RELAXED, Status.HEURISTIC]


class TestPredicting:
    @pytest.mark.parametrize("K", [1, 2, 3, 7, 60])
    def test_exactly_as_many_clusters_as_asked_for(self, learner, K):
        labels = learner.predict(table()[0], n_clusters=K)
        assert np.bincount(labels).size == K
        assert np.bincount(labels).min() >= 1

    def test_one_number_for_each_table(self, learner):
        Xs = [table(seed=s)[0] for s in range(3)]
        labels = learner.predict(Xs, n_clusters=[2, 3, 4])
        assert [len(set(found.tolist())) for found in labels] == [2, 3, 4]

    @pytest.mark.parametrize("problem", [Clustering(), Clustering("unknown")])
    def test_the_penalty_finds_the_number_of_clusters(self, problem):
        learner = MetricLearner(problem).fit(*table())
        X, y = table(seed=1)
        labels = learner.predict(X)
        assert adjusted_rand_score(y, labels) > 0.9
        assert len(set(labels.tolist())) == 3

    def test_the_seed_is_that_of_the_learner(self):
        X, y = table()
        problems = [MetricLearner(Clustering(), random_state=s).fit(X, y).problem_ for s in (3, 3)]
        assert problems[0] == problems[1] == Clustering(random_state=3)
        again = [MetricLearner(Clustering(), random_state=3).fit(X, y) for _ in range(2)]
        np.testing.assert_array_equal(again[0].metric_.factor.T, again[1].metric_.factor.T)


class TestManyTables:
    def test_different_sizes_and_numbers_of_clusters(self):
        data = [table(K, 12 * K + 10, seed=K) for K in (2, 3, 4, 5)]
        learner = MetricLearner(Clustering()).fit([X for X, _ in data], [y for _, y in data])
        X, y = table(4, seed=9)
        assert adjusted_rand_score(y, learner.predict(X, n_clusters=4)) > 0.9
        assert learner.get_mahalanobis_matrix()[3, 3] < learner.get_mahalanobis_matrix()[0, 0]


class TestModelSelection:
    def test_one_single_cluster_fools_neither_score(self):
        """Its loss, K - 1, beats that of the truth with a few rows swapped."""
        truth = EquivalenceMatrix.from_labels(np.arange(40) % 8)
        single = EquivalenceMatrix.from_labels(np.zeros(40, int))
        decent = EquivalenceMatrix.from_labels(np.repeat(np.arange(8), 5))
        assert partition_loss(truth, single) < partition_loss(truth, decent)
        rand = Clustering("unknown").comparison.agreement
        assert rand(truth, single) == 0.0 < rand(truth, truth) == 1.0
        assert Clustering().comparison.agreement(truth, decent) == -partition_loss(truth, decent)

    def test_a_metric_of_zero_is_no_answer(self):
        X, y = table()
        rng = np.random.default_rng(0)
        with pytest.raises(LearningError, match="the best metric found is zero"):
            MetricLearner(Clustering(), "diagonal").fit(rng.standard_normal((60, 4)), y)
        with pytest.raises(LearningError, match="lower lam"):
            MetricLearner(Clustering(), regularizer="trace", lam=1e6).fit(X, y)

    def test_few_rounds_are_no_reason_for_a_metric_of_zero(self):
        """Every weight that ten rounds propose is worse than none; the untrained metric is not."""
        rng, y = np.random.default_rng(0), np.arange(400) % 20
        X = 0.7 * rng.standard_normal((20, 8))[y] + rng.standard_normal((400, 8))
        with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
            learner = MetricLearner(
                Clustering(), lam=1e-3, solver=CuttingPlane(Stopping(max_iter=10))
            ).fit(X, y)
        assert learner.solution_.upper < learner.solution_.null
        assert np.trace(learner.get_mahalanobis_matrix()) > 0


class TestWhitening:
    def test_a_full_metric_starts_from_half_shrunk_features(self, learner):
        X, y = table()
        Z, M = learner.inputs_.standardizer(X), EquivalenceMatrix.from_labels(y)
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
        given = Clustering(), prepare(plain, data[0]), encode(whitened, *data)
        rca = tuned_metrics.fit("rca", *given, shrinkage=0.0)
        assert whitened.whitening_ == pytest.approx(rca.factor)

    def test_a_diagonal_metric_is_not_whitened(self):
        with pytest.raises(SettingsError, match="a diagonal metric weights each one alone"):
            MetricLearner(Clustering(), "diagonal", whiten=0.5).fit(*table())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(60), "all rows of the table have the same label"),
        (np.arange(60), "every row has its own label"),
        (np.arange(59), r"labels of shape \(59,\) for 60 rows: give one to each"),
        (np.r_[np.nan, np.arange(59)], "the label of row 0 is missing"),
        (["a", None] * 30, "the label of row 1 is missing"),
        (np.array([1, "a"] * 30, dtype=object), "labels of several kinds .*: int, str"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(DataError, match=message):
        MetricLearner(Clustering()).fit(table()[0], labels)


class TestMessages:
    """What was handed in is a table with rows and clusters, not a recording."""

    @pytest.mark.parametrize(
        ("X", "y", "message"),
        [
            ([], [], "no tables were given"),
            ([np.full((3, 2), np.nan)], [[0, 0, 1]], "table 0 has nan in row 0, column 0"),
            ([np.zeros((3, 2)), np.zeros((3, 1))], [[0, 0, 1]] * 2, "table 1 has 1 feature, tab"),
            ([np.zeros((3, 2))], [[0, 0, 1]] * 2, "1 table but 2 labellings"),
            ([np.zeros((3, 2))], [[0, 0]], r"table 0: labels of shape \(2,\) for 3 rows"),
            (
                [np.zeros((3, 2))],
                [[0, 0, 1]],
                "constant in every table: nothing distinguishes clusters",
            ),
        ],
    )
    def test_at_the_door(self, X, y, message):
        with pytest.raises(DataError, match=message):
            MetricLearner(Clustering()).fit(X, y)

    def test_when_predicting(self, learner):
        X = table()[0]
        for counts, message in (
            (61, "table 0 has 60 rows: it cannot have 61 clusters"),
            ([2, 3], "1 table but 2 numbers of clusters"),
            (2.5, "number of clusters for table 0 must be an integer, got 2.5"),
        ):
            with pytest.raises(DataError, match=message):
                learner.predict(X, counts)

    def test_the_verdict_does_not_fall_for_one_single_cluster(self):
        """It has less loss than any answer to tables of six close clusters."""
        rng, y = np.random.default_rng(0), np.arange(60) % 6
        truth = EquivalenceMatrix.from_labels(y)
        one = EquivalenceMatrix.from_labels(np.zeros(60, dtype=int))
        half = [np.where(rng.random(60) < 0.5, y, rng.permutation(y)) for _ in range(6)]
        guesses = {
            "learned": [EquivalenceMatrix.from_labels(labels) for labels in half],
            "untrained": [one] * 6,
        }

        def judged(problem):
            return Evaluation.of([truth] * 6, guesses, list("abcdef"), problem)

        told, counted = judged(Clustering()), judged(Clustering("unknown"))
        assert told.learned["loss"] == counted.learned["loss"] > told.untrained["loss"] == 5
        assert told.verdict.harms
        assert counted.verdict.pays
        assert "the disagreement of the learned metric is" in str(counted.verdict)
        assert counted.learned["disagreement"] == pytest.approx(
            1 - counted.learned["adjusted_rand"]
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"cluster_count": 3},
            r"cluster_count must be one of \('known', 'unknown'\), got 3",
        ),
        ({"oracle": "exact"}, r"oracle must be one of \('auto', 'relaxed', .*got 'exact'"),
        ({"penalty": "free"}, "penalty must be one of .*'fixed'.*, got 'free'"),
        ({"kappa": 0}, "kappa must be from 1e-12 to 1, got 0"),
        ({"kappa": 1e-200}, "kappa must be from 1e-12 to 1, got 1e-200"),
        ({"n_init": 0}, "n_init must be an integer >= 1, got 0"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(SettingsError, match=message):
        Clustering(**settings)


def test_a_large_table_is_too_much_for_semidefinite_programming():
    with pytest.raises(OracleError, match=r"120 .*max_samples=100"):
        MetricLearner(Clustering(oracle="semidefinite")).fit(*table(T=120))
