"""Decoding of cuts: rounding, counting clusters, and graphs that make trouble."""

from itertools import product

import numpy as np
import pytest
from cut_cases import planted
from scipy.linalg import eigh

from structsvm.errors import OracleError
from structsvm.graphs import FeatureGraph, from_adjacency
from structsvm.graphs.similarity import Similarity
from structsvm.oracles.normalized_cut import CutDecoder, two_means
from structsvm.partitions.equivalence import EquivalenceMatrix


def cut(graph, L, K, decoder=None):
    decoder = decoder or CutDecoder()
    return decoder.partition(decoder.embed(Similarity.of(graph)(L), K), K)


def scatter(x, w, labels):
    total = 0.0
    for k in (0, 1):
        inside = labels == k
        mean = np.average(x[inside], weights=w[inside])
        total += w[inside] @ (x[inside] - mean) ** 2
    return total


def test_two_means_is_exact(rng):
    for _ in range(50):
        n = rng.integers(2, 9)
        x, w = rng.integers(-3, 4, n) + 0.1 * rng.normal(size=n), rng.random(n) + 0.1
        best = min(
            scatter(x, w, np.array(labels))
            for labels in product((0, 1), repeat=int(n))
            if 0 < sum(labels) < n
        )
        assert scatter(x, w, two_means(x, w)) == pytest.approx(best, abs=1e-12)


def test_two_means_leaves_no_side_empty():
    for x in (np.zeros(5), np.array([1e300, 1e300]), np.array([0.0, 0, 0, 1e-300])):
        assert set(two_means(x, np.ones(x.size))) == {0, 1}
    with pytest.raises(OracleError, match="cannot be split"):
        two_means(np.zeros(1), np.ones(1))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("K", [2, 3, 4])
@pytest.mark.parametrize("decoder", [CutDecoder(), CutDecoder(rounding="qr"), CutDecoder(False)])
def test_planted_clusters_are_found(rng, sparse, K, decoder):
    graphs, labels = planted(rng, n=1, T=80, K=K, sparse=sparse)
    L = np.diag([0.7, 0.0, 0.0])
    found = cut(graphs[0], L, K, decoder)
    assert found == EquivalenceMatrix.from_labels(labels[0])


def test_relaxation_solves_the_generalised_eigenproblem(rng):
    """``W y = w D y`` (Shi and Malik, 2000, eq. 6)."""
    graphs, _ = planted(rng, n=1, K=3)
    W = Similarity.of(graphs[0])(0.3 * np.eye(3))
    found = CutDecoder().embed(W, 3)
    values, vectors = eigh(W.matrix, np.diag(W.degrees))
    np.testing.assert_allclose(found.values, values[::-1][:3], atol=1e-10)
    ours = found.vectors / np.sqrt(found.degrees)[:, None]
    overlap = np.abs(np.sum(ours * (W.degrees[:, None] * vectors[:, ::-1][:, :3]), axis=0))
    np.testing.assert_allclose(overlap, 1, atol=1e-8)


def test_unknown_number_of_clusters(rng):
    for K in (1, 2, 3):
        graphs, _ = planted(rng, n=1, T=60, K=K)
        decoder = CutDecoder()
        embedding = decoder.embed(Similarity.of(graphs[0])(np.diag([0.7, 0, 0])), 10)
        assert decoder.n_clusters(embedding, 0.7) == K
        assert decoder.n_clusters(embedding, 2.0) == 1  # never none at all


def components(sizes, rng):
    T = sum(sizes)
    A, start = np.zeros((T, T)), 0
    for size in sizes:
        A[start : start + size, start : start + size] = 1
        start += size
    return from_adjacency(A - np.diag(np.diag(A)), rng.normal(size=(T, 2)))


def test_a_disconnected_graph_is_cut_between_its_components(rng):
    graph = components((20, 15), rng)
    expected = EquivalenceMatrix.from_labels([0] * 20 + [1] * 15)
    assert cut(graph, 0.1 * np.eye(2), 2) == expected
    three = cut(graph, 0.1 * np.eye(2), 3)
    assert three.n_clusters == 3
    for component in (slice(0, 20), slice(20, 35)):  # the third is a part of one of them
        others = set(three.labels.tolist()) - set(three.labels[component].tolist())
        assert others


def test_isolated_nodes_are_clusters_of_their_own(rng):
    graph = components((30, 1), rng)
    assert cut(graph, 0.01 * np.eye(2), 2).sizes.tolist() == [30, 1]


@pytest.mark.parametrize("K", [1, 2, 3, 6])
@pytest.mark.parametrize("decoder", [CutDecoder(), CutDecoder(rounding="qr"), CutDecoder(False)])
def test_constant_features_still_give_exactly_k_clusters(K, decoder):
    graph = FeatureGraph(np.ones((6, 2)))
    first, second = (cut(graph, np.eye(2), K, decoder) for _ in range(2))
    assert first.n_clusters == K
    assert first == second


def test_null_metric_and_vanishing_similarity(rng):
    graph = FeatureGraph(rng.normal(size=(9, 2)))
    for L in (np.zeros((2, 0)), 1e8 * np.eye(2)):
        for K in (1, 2, 4, 9):
            assert cut(graph, L, K).n_clusters == K


def test_more_clusters_than_nodes_is_an_error(rng):
    graph = FeatureGraph(rng.normal(size=(3, 2)))
    assert cut(graph, np.eye(2), 3).n_clusters == 3
    with pytest.raises(OracleError, match="cannot make 4 clusters out of 3 nodes"):
        cut(graph, np.eye(2), 4)


def test_a_single_node():
    assert cut(FeatureGraph(np.ones((1, 1))), np.eye(1), 1).n_clusters == 1
