"""The spectral oracle: the eigendecomposition it avoids, and the partitions it bounds."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import naive
import numpy as np
import pytest
from cases import refused
from scipy.sparse.linalg import aslinearoperator

from structsvm.errors import OracleError
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.oracles.exhaustive import ExhaustiveOracle
from structsvm.oracles.normalized_cut import leading_eigenpairs
from structsvm.oracles.semidefinite import SemidefiniteOracle
from structsvm.oracles.spectral import CompressedProjector, SpectralOracle, compress
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problem import Quality

both = pytest.mark.parametrize("centered", [True, False])


@dataclass(frozen=True)
class Case:
    objective: TraceObjective
    K: int | None

    @property
    def scale(self) -> float:
        """What an eigenvalue is rounded against."""
        return max(1.0, float(np.sum(self.objective.Z**2)))

    @property
    def constraint(self) -> Constraint:
        return Constraint(n_clusters=self.K)


def random_truth(rng: np.random.Generator, T: int) -> EquivalenceMatrix | None:
    K = int(rng.integers(1, min(T, 6) + 1))
    if rng.integers(5) == 0:
        return None
    return EquivalenceMatrix.from_labels(rng.integers(0, K, T))


def random_case(seed: int) -> Case:
    """Gaussian, integer, duplicated, constant, rank-deficient, offset; any truth, shift and K."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 25))
    r = int(rng.integers(0, 7))
    Z = rng.standard_normal((T, r)) * 10.0 ** rng.integers(-2, 2)
    variant = seed % 6
    if variant == 1:
        Z = np.round(Z)
    elif variant == 2:
        Z = Z[rng.integers(0, T, T)]
    elif variant == 3:
        Z = Z @ np.diag(rng.random(r) < 0.4)
    elif variant == 4:
        Z = Z + 100.0
    elif variant == 5:
        Z = Z @ rng.standard_normal((r, r)) @ np.diag(np.arange(r) < 2)
    objective = TraceObjective(
        Z,
        random_truth(rng, T),
        truth_weight=float(rng.choice([0.0, 0.5, 2.0])),
        shift=float(rng.choice([-1.0, -0.2, 0.0, 0.7])),
    )
    return Case(objective, int(rng.integers(1, T + 1)) if rng.random() < 0.5 else None)


@both
def test_the_spectral_value_is_that_of_the_dense_eigendecomposition(centered: bool) -> None:
    oracle = SpectralOracle(centered)
    for seed in range(600):
        case = random_case(seed)
        answer = oracle.maximize(case.objective, case.constraint)
        expected = naive.spectral(case.objective.dense(), case.K, centered)
        assert abs(answer.upper_bound - expected) <= 2e-13 * case.scale, seed
        assert abs(answer.value - expected) <= 2e-12 * case.scale, seed
        assert answer.value <= answer.upper_bound
        assert answer.quality is Quality.RELAXATION
        assert case.K is None or answer.y.n_clusters == case.K
        if centered:
            ones = np.ones(case.objective.n_samples)
            assert np.allclose(answer.y.factor() @ (answer.y.factor().T @ ones), ones)


@both
def test_the_compressed_spectral_answer_has_its_value(centered: bool) -> None:
    """The value is ``<B, phi> - c Tr(M M_i) + d Tr M``; diagonal, full and indefinite metrics."""
    rng = np.random.default_rng(5)
    for seed in range(400):
        case = random_case(seed)
        X = case.objective.Z
        truth = case.objective.truth
        P = X.shape[1]
        G = rng.standard_normal((P, P))
        for metric in (rng.random(P) * (rng.random(P) < 0.6), G @ G.T, G + G.T):
            B = np.diag(metric) if metric.ndim == 1 else metric
            weight = 0.0 if truth is None else 2.0
            data = compress(X, truth)[0]
            shift = case.objective.shift
            M, bound = SpectralOracle(centered).maximize_compressed(
                data, metric, weight, shift, case.K
            )
            overlap = M.inner(CompressedProjector(data, data.U))
            projected = M.V.T @ data.X
            value = np.sum(B * (projected.T @ projected)) - weight * overlap + shift * M.n_clusters
            scale = case.scale * max(1.0, float(np.abs(metric).sum()))
            assert abs(value - bound) <= 1e-12 * scale, seed
            A = X @ B @ X.T + shift * np.eye(X.shape[0])
            if truth is not None:
                A -= weight * truth.dense()
            assert abs(naive.spectral(A, case.K, centered) - value) <= 1e-12 * scale, seed


@both
def test_spectral_values_bound_every_partition_and_centring_tightens_them(centered: bool) -> None:
    tighter = 0
    for seed in range(300):
        case = random_case(seed)
        if not 2 <= case.objective.n_samples <= 8:
            continue
        best = ExhaustiveOracle().maximize(case.objective, case.constraint).value
        answer = SpectralOracle(centered).maximize(case.objective, case.constraint)
        plain = SpectralOracle(False).maximize(case.objective, case.constraint)
        assert best <= answer.upper_bound + 1e-11 * case.scale, seed
        assert answer.upper_bound <= plain.upper_bound + 1e-11 * case.scale, seed
        tighter += answer.upper_bound < plain.upper_bound - 1e-6 * case.scale
    assert (tighter > 30) == centered


def test_spectral_compression_is_orthonormal_and_spans_the_data() -> None:
    """``Q`` is orthonormal, begins with ``1 / sqrt(T)``, and spans data and truth."""
    for seed in range(200):
        case = random_case(seed)
        X = case.objective.Z
        truth = case.objective.truth
        T = X.shape[0]
        data, basis = compress(X, truth)
        Q = basis.lift(np.eye(len(data.X)))
        assert np.allclose(Q.T @ Q, np.eye(len(data.X)), atol=1e-12)
        assert np.allclose(Q[:, 0], 1 / np.sqrt(T), atol=1e-12)
        assert np.allclose(Q @ data.X, X, atol=1e-12 * case.scale)
        assert len(data.X) + data.n_null == T
        null = basis.complement(data.n_null)
        assert np.allclose(np.hstack((Q, null)).T @ null, np.eye(T)[:, len(data.X) :], atol=1e-12)
        if truth is not None:
            assert np.allclose(Q @ data.U, truth.factor(), atol=1e-12)
            assert len(data.X) <= X.shape[1] + truth.n_clusters


def test_spectral_compression_in_several_blocks_is_the_same() -> None:
    """More rows than a block of the QR decomposition, the last one a few rows short of P."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2 * 16_384 + 3, 6)) + 50.0
    truth = EquivalenceMatrix.from_labels(rng.integers(0, 4, X.shape[0]))
    data, basis = compress(X, truth)
    V = np.linalg.qr(rng.standard_normal((len(data.X), 3)))[0]
    lifted = EquivalenceMatrix.from_factor(basis.lift(V))
    assert len(data.X) == 10
    assert np.allclose(lifted.gram(X), (V.T @ data.X).T @ (V.T @ data.X), rtol=1e-10)
    assert np.isclose(lifted.inner(truth), np.sum((V.T @ data.U) ** 2), rtol=1e-10)


def test_a_tiny_feature_that_the_metric_magnifies_is_kept() -> None:
    """What compression takes for rounding may not depend on the metric, which comes later."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((60, 3))
    data, _ = compress(X * np.array([1.0, 1e-6, 1e-9]))
    metric = np.array([1.0, 1e12, 1e18])
    _, bound = SpectralOracle().maximize_compressed(data, metric, 0.0, 0.0, 4)
    assert bound == pytest.approx(np.sum(X**2), rel=1e-5)


def test_the_spectral_oracle_without_k_keeps_positive_directions_only() -> None:
    X = np.random.default_rng(3).standard_normal((20, 3))
    flat = SpectralOracle(centered=False).maximize(TraceObjective(X))
    assert flat.y.n_clusters == 3
    assert SpectralOracle(centered=True).maximize(TraceObjective(X)).y.n_clusters == 4
    assert SpectralOracle(centered=False).maximize(TraceObjective(X, shift=0.1)).y.n_clusters == 20
    negative = SpectralOracle(centered=False).maximize(TraceObjective(X, shift=-1e3))
    assert negative.y.n_clusters == 1
    assert negative.value < 0


def test_the_centred_spectral_oracle_ignores_the_mean() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 4))
    truth = EquivalenceMatrix.from_labels(rng.integers(0, 5, 200))
    answers = [
        SpectralOracle().maximize(TraceObjective(X + m, truth, 2.0), Constraint(n_clusters=5)).y
        for m in (0.0, 1e5)
    ]
    assert np.allclose(answers[0].dense(), answers[1].dense(), atol=1e-8)


def test_null_directions_of_a_positive_price_are_counted_not_written() -> None:
    data, _ = compress(np.random.default_rng(0).standard_normal((50_000, 2)))
    M, _ = SpectralOracle().maximize_compressed(data, np.ones(2), 0.0, 0.5, None)
    assert M.n_clusters == 50_000
    assert M.V.shape == (3, 3)
    with pytest.raises(OracleError, match="too large to be written down"):
        SpectralOracle().maximize(TraceObjective(np.zeros((50_000, 1)), shift=0.5))


def test_a_failure_of_lanczos_is_reported() -> None:
    with pytest.raises(OracleError, match="Lanczos failed on an operator of size 300"):
        leading_eigenpairs(aslinearoperator(np.eye(300)), 1, np.zeros(300))


def test_features_that_are_nearly_multiples_of_each_other_keep_an_orthonormal_basis():
    """What is left of them once the constant is out points anywhere, the constant included."""
    for small in (1e-4, 1e-7, 1e-10, 1e-13, 0.0):
        Z = np.array([[1.0, small], [0.0, 100.0], [1.0, 0.0], [0.0, 100.0]])
        for truth in (None, EquivalenceMatrix.from_labels([0, 1, 0, 1])):
            objective = TraceObjective(Z, truth, 2.0, 1.0)
            found = SpectralOracle().ask(objective)
            best = ExhaustiveOracle().ask(objective)
            assert found.upper_bound >= best.value - 1e-9 * 2e4


@pytest.mark.parametrize(
    "oracle", [SpectralOracle(), ClusteringOracle(n_init=2), SemidefiniteOracle()], ids=str
)
class TestEveryOracle:
    test_every_clustering_oracle_refuses_impossible_constraints = refused(
        OracleError,
        lambda oracle, constraint: oracle.ask(TraceObjective(np.ones((4, 1))), constraint),
        (Constraint(n_clusters=5), "cannot make 5 clusters out of 4 samples"),
        (Constraint(n_clusters=0), "cannot make 0 clusters"),
        (Constraint(forbidden=(2,)), "does not take boundaries"),
    )

    def test_every_oracle_is_deterministic_and_safe_in_threads(self, oracle) -> None:
        rng = np.random.default_rng(9)
        T = 12 if isinstance(oracle, SemidefiniteOracle) else 150
        truth = EquivalenceMatrix.from_labels(np.arange(T) % 4)
        three = Constraint(n_clusters=3)
        objectives = [
            TraceObjective(rng.standard_normal((T, 3)), truth, truth_weight=2.0) for _ in range(4)
        ]
        before = [objective.Z.copy() for objective in objectives]
        alone = [oracle.maximize(objective, three) for objective in objectives]
        with ThreadPoolExecutor(4) as executor:
            together = list(executor.map(lambda o: oracle.maximize(o, three), objectives * 2))
        for answer, expected in zip(together, alone * 2, strict=True):
            assert (answer.y, answer.value) == (expected.y, expected.value)
        assert all(np.array_equal(o.Z, Z) for o, Z in zip(objectives, before, strict=True))

    def test_every_oracle_takes_a_single_sample(self, oracle) -> None:
        truth = EquivalenceMatrix.from_labels([0])
        objective = TraceObjective(np.array([[3.0, 4.0]]), truth, truth_weight=2.0, shift=-30.0)
        assert oracle.maximize(objective).value == pytest.approx(25.0 - 2.0 - 30.0)
