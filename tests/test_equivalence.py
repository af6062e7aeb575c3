"""Equivalence matrices and trace objectives against their dense definitions."""

import numpy as np
import pytest

from structsvm import EquivalenceMatrix
from structsvm.errors import DataError, OracleError
from structsvm.partitions.oracle import TraceObjective


def assignment(labels):
    return np.eye(max(labels) + 1)[np.asarray(labels)]


def dense(labels):
    Y = assignment(labels)
    return Y @ np.linalg.inv(Y.T @ Y) @ Y.T


@pytest.mark.parametrize("labels", [[0], [0, 0, 1, 1, 1], [0, 1, 2], [1, 0, 1, 2, 0]])
def test_is_the_papers_projector(labels):
    M = EquivalenceMatrix.from_labels(labels)
    np.testing.assert_allclose(M.dense(), dense(labels), atol=1e-15)
    np.testing.assert_allclose(M.dense() @ M.dense(), M.dense(), atol=1e-15)
    assert np.trace(M.dense()) == pytest.approx(M.n_clusters)


@pytest.mark.parametrize("contiguous", [True, False])
def test_gram_project_and_inner_agree_with_the_dense_matrix(rng, contiguous):
    for _ in range(20):
        T, P = rng.integers(1, 12), rng.choice([1, 2, 3, 64])
        X = rng.normal(size=(T, P))
        labels = [rng.integers(0, 4, T), rng.integers(0, 3, T)]
        if contiguous:
            labels = [np.sort(a) for a in labels]
        M, N = (EquivalenceMatrix.from_labels(a) for a in labels)
        np.testing.assert_allclose(M.gram(X), X.T @ M.dense() @ X, atol=1e-12)
        np.testing.assert_allclose(M.gram_diagonal(X), np.diag(M.gram(X)), atol=1e-12)
        np.testing.assert_allclose(M.project(X), M.factor().T @ X, atol=1e-12)
        assert M.inner(N) == pytest.approx(np.trace(M.dense() @ N.dense()))


def test_a_relaxation_and_a_partition_are_one_type(rng):
    U = np.linalg.qr(rng.normal(size=(7, 3)))[0]
    relaxed = EquivalenceMatrix.from_factor(U)
    partition = EquivalenceMatrix.from_labels([0, 0, 1, 1, 1, 2, 2])
    X = rng.normal(size=(7, 2))
    assert relaxed.n_clusters == 3
    assert not relaxed.is_partition
    np.testing.assert_allclose(relaxed.gram(X), X.T @ U @ U.T @ X)
    for a, b in ((relaxed, partition), (partition, relaxed)):
        assert a.inner(b) == pytest.approx(np.trace(a.dense() @ b.dense()))
    with pytest.raises(DataError, match="no cluster labels"):
        relaxed.breakpoints  # noqa: B018


def test_equality_is_that_of_the_grouping():
    a = EquivalenceMatrix.from_labels(["walk", "walk", "sit"])
    assert a == EquivalenceMatrix.from_labels([7, 7, -1])
    assert a == EquivalenceMatrix.from_breakpoints([2, 3])
    assert a != EquivalenceMatrix.from_breakpoints([1, 3])
    assert a != EquivalenceMatrix.from_factor(a.factor())
    assert len({a, EquivalenceMatrix.from_breakpoints([2, 3])}) == 1


def test_breakpoints_round_trip_and_refuse_what_is_not_contiguous():
    assert EquivalenceMatrix.from_breakpoints([2, 4, 5]).breakpoints == [2, 4, 5]
    with pytest.raises(DataError, match="not contiguous"):
        EquivalenceMatrix.from_labels([0, 1, 0]).breakpoints  # noqa: B018


@pytest.mark.parametrize(
    ("breakpoints", "message"),
    [([], "non-empty"), ([3, 2], "increasing"), ([0, 3], "positive"), ([1.5, 3], "integers")],
)
def test_bad_breakpoints_are_refused(breakpoints, message):
    with pytest.raises(DataError, match=message):
        EquivalenceMatrix.from_breakpoints(breakpoints)


def test_trace_objective_is_its_dense_matrix(rng):
    for _ in range(20):
        T, r = rng.integers(1, 10), rng.integers(0, 4)
        Z = rng.normal(size=(T, r))
        truth = EquivalenceMatrix.from_labels(np.sort(rng.integers(0, 3, T)))
        objective = TraceObjective(Z, truth, 2.0, -0.3)
        A = Z @ Z.T - 2.0 * truth.dense() - 0.3 * np.eye(T)
        np.testing.assert_allclose(objective.dense(), A, atol=1e-12)
        M = EquivalenceMatrix.from_labels(rng.integers(0, 3, T))
        assert objective.value(M) == pytest.approx(np.trace(A @ M.dense()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"Z": np.full((2, 1), np.nan)}, "not finite"),
        ({"Z": np.ones((2, 1)), "shift": np.inf}, "not finite"),
        (
            {"Z": np.ones((2, 1)), "truth": EquivalenceMatrix.from_labels([0, 1, 1])},
            "labels 3 samples, Z has 2",
        ),
    ],
)
def test_bad_objectives_are_refused(arguments, message):
    with pytest.raises(OracleError, match=message):
        TraceObjective(**arguments)
