"""The similarity W_B of a graph and its derivatives."""

import numpy as np
import pytest
from cut_cases import random_graph

from structsvm.graphs import FeatureGraph
from structsvm.graphs import similarity as module
from structsvm.graphs.similarity import Similarity


def brute_force(graph, B):
    T = graph.n_samples
    W = np.eye(T)
    edges = graph.edges.T if graph.edges is not None else np.argwhere(np.triu(np.ones((T, T)), 1))
    for i, j in edges:
        d = graph.X[i] - graph.X[j]
        W[i, j] = W[j, i] = np.exp(-d @ B @ d)
    return W


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("chunk", [7, 2**18])
def test_weights_gradient_and_derivative(rng, monkeypatch, sparse, chunk):
    monkeypatch.setattr(module, "CHUNK", chunk)
    graph = random_graph(rng, sparse=sparse)
    T, P = graph.X.shape
    similarity = Similarity.of(graph)
    L = 0.5 * rng.normal(size=(P, P))
    B = L @ L.T
    W = similarity(L)
    np.testing.assert_allclose(dense(W.matrix), brute_force(graph, B), atol=1e-12)
    np.testing.assert_allclose(W.degrees, brute_force(graph, B).sum(axis=1), atol=1e-12)

    plus, minus, degree = rng.normal(size=(T, 2)), rng.normal(size=(T, 3)), rng.normal(size=T)
    direction = rng.normal(size=(P, P))
    direction = direction + direction.T

    def value(step):
        W = brute_force(graph, B + step * direction)
        H = plus @ plus.T - minus @ minus.T
        return np.sum(H * W) + degree @ W.sum(axis=1)

    numeric = (value(1e-6) - value(-1e-6)) / 2e-6
    G = similarity.gradient(W, plus, minus, degree)
    assert np.sum(G * direction) == pytest.approx(numeric, rel=1e-6)
    moved = brute_force(graph, B + 1e-6 * direction) - brute_force(graph, B - 1e-6 * direction)
    np.testing.assert_allclose(dense(similarity.derivative(W, direction)), moved / 2e-6, atol=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
def test_mean_square(rng, sparse):
    graph = random_graph(rng, T=12, sparse=sparse)
    scale = rng.random(4)
    edges = graph.edges.T if sparse else np.argwhere(np.triu(np.ones((12, 12)), 1))
    expected = np.mean([np.sum((scale * (graph.X[i] - graph.X[j])) ** 2) for i, j in edges])
    assert Similarity.of(graph).mean_square(scale) == pytest.approx(expected)


def test_an_offset_costs_no_accuracy(rng):
    X = rng.normal(size=(20, 3))
    near, far = (Similarity.of(FeatureGraph(X + c))(np.eye(3)).matrix for c in (0.0, 1e6))
    np.testing.assert_allclose(near, far, atol=1e-8)


def test_null_and_huge_metrics_are_finite(rng):
    similarity = Similarity.of(random_graph(rng))
    assert (similarity(np.zeros((4, 0))).matrix == 1).all()
    W = similarity(1e9 * np.eye(4))
    np.testing.assert_array_equal(W.matrix, np.eye(30))
    assert (W.degrees == 1).all()
