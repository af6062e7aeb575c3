"""Learning to cluster tables: what it certifies, predicts and refuses."""

import numpy as np
import pytest
from cases import refused
from sklearn.metrics import adjusted_rand_score
from tables import table

from structsvm import Clustering, EquivalenceMatrix, MetricLearner, Status
from structsvm.data.instance import Instance
from structsvm.errors import DataError, SettingsError
from structsvm.oracles.exhaustive import all_partitions
from structsvm.partitions import Examples
from structsvm.partitions.losses import partition_loss
from structsvm.problem import SquaredNorm
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(Clustering()).fit(*table())


class TestCertificates:
    def risk(self, problem, T=7, seed=0):
        rng = np.random.default_rng(seed)
        truth = EquivalenceMatrix.from_labels([0, 0, 1, 1, 1, 2, 2][:T])
        X = rng.standard_normal((T, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[truth.labels]
        objective = problem.objective("full", 2)
        omega = objective.regularizer(SquaredNorm(), 0.05)
        return objective.risk(Examples([Instance(X)], [truth]), omega), X, truth

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
    def test_bounds_of_clustering_hold_for_the_enumerated_objective(self, oracle, seed):
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

    def test_the_relaxation_bounds_what_a_heuristic_found(self):
        risk, X, truth = self.risk(Clustering(oracle="rounded"))
        solution = CuttingPlane(Stopping(tol=1e-3)).solve(risk)
        bound = solution.certified_upper
        assert self.true_objective(risk, X, truth, solution.w) <= bound + 1e-9
        relaxed = Clustering(oracle="relaxed").objective("full", 2)
        data = Examples([Instance(X)], [truth])
        relaxed_risk = relaxed.risk(data, relaxed.regularizer(SquaredNorm(), 0.05))
        (x,) = relaxed_risk.xs
        (y,) = relaxed_risk.ys
        answer = relaxed.separate(solution.w, x, y)
        gain = relaxed.joint_feature(x, answer.y) - relaxed.joint_feature(x, y)
        hinge = relaxed.loss(y, answer.y) + gain @ solution.w
        expected = relaxed_risk.penalty(solution.w) + relaxed_risk.sample_weight[0] * hinge
        assert bound == pytest.approx(expected)

    def test_the_compressed_hinge_is_that_of_all_rows(self):
        """Against the T x T matrix, whose leading eigenvectors orthogonal to 1 are taken."""
        risk, X, truth = self.risk(Clustering(oracle="relaxed"))
        B = np.array([[0.4, 0.1], [0.1, 0.7]])
        w = risk.problem.join(B, 0.0)
        T = len(X)
        K = truth.n_clusters
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


class TestPredicting:
    @pytest.mark.parametrize("problem", [Clustering(), Clustering("unknown")])
    def test_the_calibrated_penalty_finds_the_number_of_clusters(self, problem):
        learner = MetricLearner(problem).fit(*table())
        X, y = table(seed=1)
        labels = learner.predict(X)
        assert adjusted_rand_score(y, labels) > 0.9
        assert len(set(labels.tolist())) == 3


class TestWhitening:
    def test_a_full_metric_starts_from_half_shrunk_features(self, learner):
        X, y = table()
        Z = learner.inputs_.standardizer(X)
        M = EquivalenceMatrix.from_labels(y)
        deviations = Z - M.dense() @ Z
        C = deviations.T @ deviations / len(Z)
        half = C / 2 + np.trace(C) / 8 * np.eye(4)
        np.testing.assert_allclose(
            learner.whitening_ @ half @ learner.whitening_, np.eye(4), atol=1e-9
        )

    def test_a_diagonal_metric_is_not_whitened(self):
        with pytest.raises(SettingsError, match="a diagonal metric weights each one alone"):
            MetricLearner(Clustering(), "diagonal", whiten=0.5).fit(*table())


test_labels_that_do_not_fit_a_table_are_refused = refused(
    DataError,
    lambda labels: MetricLearner(Clustering()).fit(table()[0], labels),
    (np.zeros(60), "every table is one single cluster"),
    (np.arange(60), "every row has its own label"),
    (np.arange(59), r"labels of shape \(59,\) for 60 rows: give one to each"),
    (np.r_[np.nan, np.arange(59)], "the label of row 0 is missing"),
    (["a", None] * 30, "the label of row 1 is missing"),
    (np.array([1, "a"] * 30, dtype=object), "labels of several kinds .*: int, str"),
)


class TestMessages:
    """What was handed in is a table with rows and clusters, not a recording."""

    test_bad_tables_are_refused_in_the_words_of_tables = refused(
        DataError,
        lambda X, y: MetricLearner(Clustering()).fit(X, y),
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
    )


test_impossible_settings_of_clustering_are_refused = refused(
    SettingsError,
    lambda settings: Clustering(**settings),
    ({"cluster_count": 3}, r"cluster_count must be one of \('known', 'unknown'\), got 3"),
    ({"oracle": "exact"}, r"oracle must be one of \('auto', 'relaxed', .*got 'exact'"),
    ({"penalty": "free"}, "penalty must be one of .*'fixed'.*, got 'free'"),
    ({"kappa": 0}, "kappa must be from 1e-12 to 1, got 0"),
    ({"kappa": 1e-200}, "kappa must be from 1e-12 to 1, got 1e-200"),
    ({"n_init": 0}, "n_init must be an integer >= 1, got 0"),
)
