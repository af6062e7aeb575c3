"""Cuts of graphs: the hinge loss, its model, rounding, and what learning minimises."""

from itertools import product

import numpy as np
import pytest
from cut_cases import planted, random_graph
from scipy.linalg import eigh

from structsvm import MetricLearner, NormalizedCut
from structsvm.errors import OracleError
from structsvm.graphs import FeatureGraph
from structsvm.graphs import similarity as module
from structsvm.graphs.readers import from_adjacency
from structsvm.graphs.similarity import Similarity
from structsvm.oracles import normalized_cut as cut_eigen
from structsvm.oracles.cut_hinge import NormalizedHinge, PlainHinge
from structsvm.oracles.normalized_cut import Embedding, two_means
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.problem import SquaredNorm

# ---- the structured hinge loss


HINGES = [NormalizedHinge, PlainHinge]
cases = pytest.mark.parametrize(
    ("kind", "sparse", "K"), list(product(HINGES, (False, True), (2, 3)))
)


def random_hinge(rng, kind, sparse=False, K=2, T=30, margin=0.3):
    graph = random_graph(rng, T=T, sparse=sparse)
    y = np.append(np.arange(K), rng.integers(0, K, T - K))
    return kind(Similarity.of(graph), np.eye(K)[y], margin)


def value(hinge, B):
    point = hinge.at(np.linalg.cholesky(B))
    values, V = point.operator.top(hinge.count)
    return hinge.constant + values.sum() - point.truth, point, V


def random_metric(rng, P=4):
    L = 0.3 * rng.normal(size=(P, P))
    D = rng.normal(size=(P, P))
    return L @ L.T + 0.05 * np.eye(P), D + D.T


@cases
def test_gradient_and_derivative_of_the_cut_hinge_are_those_of_differences(rng, kind, sparse, K):
    hinge = random_hinge(rng, kind, sparse, K)
    B, D = random_metric(rng)
    _, point, V = value(hinge, B)
    step = 1e-6
    above = value(hinge, B + step * D)
    below = value(hinge, B - step * D)
    numeric = (above[0] - below[0]) / (2 * step)
    assert np.sum(hinge.gradient(point, V) * D) == pytest.approx(numeric, abs=1e-7)
    moved = (above[1].operator.dense() - below[1].operator.dense()) / (2 * step)
    linear = hinge.derivative(point, D).dense() - point.operator.dense()
    np.testing.assert_allclose(linear, moved, atol=1e-7)
    M = EquivalenceMatrix.from_labels(np.append(np.arange(K), rng.integers(0, K, 30 - K)))
    _, G = hinge.partition(point, M)
    ends = [hinge.partition(p, M)[0] for p in (above[1], below[1])]
    assert np.sum(G * D) == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-7)


@cases
def test_tangents_bound_the_model_from_below(rng, kind, sparse, K):
    """The model is a maximum of affine functions, one of them for every orthonormal V."""
    hinge = random_hinge(rng, kind, sparse, K)
    B, D = random_metric(rng)
    _, point, _ = value(hinge, B)
    model = hinge.derivative(point, D)
    values, best = model.top(hinge.count)
    for V in (best, *(np.linalg.qr(rng.normal(size=best.shape))[0] for _ in range(5))):
        at_B = np.sum(V * point.operator.apply(V)) - point.truth
        affine = at_B + np.sum(hinge.gradient(point, V) * D)
        truth_moves = np.sum(hinge.gradient(point, V) * D) - np.sum(
            V * (model.apply(V) - point.operator.apply(V))
        )
        assert affine <= values.sum() - point.truth + truth_moves + 1e-9
        if V is best:
            assert affine == pytest.approx(values.sum() - point.truth + truth_moves, abs=1e-9)


@pytest.mark.parametrize("kind", HINGES)
def test_the_relaxed_cut_bounds_every_partition(rng, kind):
    hinge = random_hinge(rng, kind, T=8)
    B, _ = random_metric(rng)
    relaxed, point, _ = value(hinge, B)
    d = point.W.degrees
    W = point.W.matrix
    T = 8
    for labels in product((0, 1), repeat=8):
        if len(set(labels)) < 2:
            continue
        M = EquivalenceMatrix.from_labels(labels)
        Y = np.eye(2)[M.labels]
        if kind is NormalizedHinge:
            U, U_i = (np.sqrt(d)[:, None] * A / np.sqrt(A.T @ d) for A in (Y, hinge.Y))
            S = W / np.sqrt(np.outer(d, d))
            loss = 2 * 2 - 2 * np.sum((U.T @ U_i) ** 2)
            score = np.sum(U * (S @ U)) - np.sum(U_i * (S @ U_i))
            volumes = Y.T @ d
            ncut = sum((volumes[k] - Y[:, k] @ W @ Y[:, k]) / volumes[k] for k in range(2))
            assert np.sum(U * (S @ U)) == pytest.approx(2 - ncut)
        else:
            U, U_i = (A / np.sqrt(A.sum(axis=0)) for A in (Y, hinge.Y))
            loss = 2 * 2 - 2 * np.sum((U.T @ U_i) ** 2)
            score = (np.sum(U * (W @ U)) - np.sum(U_i * (W @ U_i))) / T
        assert relaxed >= hinge.margin * loss + score - 1e-9
    assert relaxed >= 0


def test_sparse_operators_of_cuts_agree_with_dense_ones(rng, monkeypatch):
    hinge = random_hinge(rng, NormalizedHinge, T=90)
    point = hinge.at(0.3 * np.eye(4))
    values, V = point.operator.top(2)
    monkeypatch.setattr(cut_eigen, "DENSE", 10)
    iterated, vectors = point.operator.top(2)
    np.testing.assert_allclose(iterated, values, atol=1e-10)
    np.testing.assert_allclose(np.abs(vectors.T @ V), np.eye(2), atol=1e-6)


@pytest.mark.parametrize(("at_last", "loosest"), [(10**6, 0.0), (10, 1e-3)])
def test_a_graph_that_nearly_falls_apart_has_eigenvectors(rng, monkeypatch, at_last, loosest):
    """Hundreds of eigenvalues within rounding of 1: Lanczos at full accuracy gives up."""
    monkeypatch.setattr(cut_eigen, "DENSE_AT_LAST", at_last)
    monkeypatch.setattr(cut_eigen, "DENSE", 10)
    T = 300
    X = 40.0 * rng.normal(size=(T, 1))
    A = np.eye(T, k=1) + np.eye(T, k=-1)
    hinge = NormalizedHinge(
        Similarity.of(from_adjacency(A, X)), np.eye(2)[(X[:, 0] > 0).astype(int)], 0.01
    )
    operator = hinge.at(np.eye(1)).operator
    values, V = operator.top(1)
    exact = np.linalg.eigvalsh(operator.dense())[-1]
    assert values[0] == pytest.approx(exact, abs=1e-8 + loosest)
    assert np.linalg.norm(V) == pytest.approx(1)


# ---- decoding


def cut(graph, L, K):
    return Embedding.of(Similarity.of(graph)(L), K).partition(K, 0)


def scatter(x, w, labels):
    total = 0.0
    for k in (0, 1):
        inside = labels == k
        mean = np.average(x[inside], weights=w[inside])
        total += w[inside] @ (x[inside] - mean) ** 2
    return total


def test_exact_two_means_equals_enumeration(rng):
    for _ in range(50):
        n = rng.integers(2, 9)
        x = rng.integers(-3, 4, n) + 0.1 * rng.normal(size=n)
        w = rng.random(n) + 0.1
        best = min(
            scatter(x, w, np.array(labels))
            for labels in product((0, 1), repeat=int(n))
            if 0 < sum(labels) < n
        )
        assert scatter(x, w, two_means(x, w)) == pytest.approx(best, abs=1e-12)


def test_exact_two_means_leaves_no_side_empty():
    for x in (np.zeros(5), np.array([1e300, 1e300]), np.array([0.0, 0, 0, 1e-300])):
        assert set(two_means(x, np.ones(x.size))) == {0, 1}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("K", [2, 3, 4])
def test_cuts_find_planted_clusters(rng, sparse, K):
    graphs, labels = planted(rng, n=1, T=80, K=K, sparse=sparse)
    L = np.diag([0.7, 0.0, 0.0])
    found = cut(graphs[0], L, K)
    assert found == EquivalenceMatrix.from_labels(labels[0])


def test_the_relaxed_cut_solves_the_generalised_eigenproblem(rng):
    """``W y = w D y`` (Shi and Malik, 2000, eq. 6)."""
    graphs, _ = planted(rng, n=1, K=3)
    W = Similarity.of(graphs[0])(0.3 * np.eye(3))
    found = Embedding.of(W, 3)
    values, vectors = eigh(W.matrix, np.diag(W.degrees))
    np.testing.assert_allclose(found.values, values[::-1][:3], atol=1e-10)
    ours = found.vectors / np.sqrt(found.degrees)[:, None]
    overlap = np.abs(np.sum(ours * (W.degrees[:, None] * vectors[:, ::-1][:, :3]), axis=0))
    np.testing.assert_allclose(overlap, 1, atol=1e-8)


def test_the_number_of_clusters_is_found_from_eigenvalues(rng):
    for K in (1, 2, 3):
        graphs, _ = planted(rng, n=1, T=60, K=K)
        embedding = Embedding.of(Similarity.of(graphs[0])(np.diag([0.7, 0, 0])), 10)
        assert embedding.n_clusters(0.7) == K
        assert embedding.n_clusters(2.0) == 1  # never none at all


def test_more_clusters_than_nodes_is_an_error(rng):
    graph = FeatureGraph(rng.normal(size=(3, 2)))
    assert cut(graph, np.eye(2), 3).n_clusters == 3
    with pytest.raises(OracleError, match="cannot make 4 clusters out of 3 nodes"):
        cut(graph, np.eye(2), 4)


# ---- the objective


@pytest.fixture
def clouds(rng):
    """Three graphs of two clouds each, and their labels."""
    ys = [np.arange(20) % 2] * 3
    return [FeatureGraph(rng.normal(size=(20, 2)) + 2.0 * y[:, None]) for y in ys], ys


@pytest.mark.parametrize("metric", ["diagonal", "full"])
@pytest.mark.parametrize("regularizer", ["squared", SquaredNorm(2.0)])
def test_a_strong_regularizer_keeps_the_metric_at_its_start(clouds, metric, regularizer):
    learner = MetricLearner(NormalizedCut(), metric, regularizer, lam=1e4).fit(*clouds)
    start = learner.baselines_["untrained"].metric_.matrix
    np.testing.assert_allclose(
        learner.get_mahalanobis_matrix(), start, atol=1e-3 * np.abs(start).max()
    )


# ---- the similarity W_B of a graph and its derivatives


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
def test_gradient_and_derivative_of_similarities_are_those_of_differences(
    rng, monkeypatch, sparse, chunk
):
    monkeypatch.setattr(module, "EDGES_AT_ONCE", chunk)
    graph = random_graph(rng, sparse=sparse)
    T, P = graph.X.shape
    similarity = Similarity.of(graph)
    L = 0.5 * rng.normal(size=(P, P))
    B = L @ L.T
    W = similarity(L)
    np.testing.assert_allclose(dense(W.matrix), brute_force(graph, B), atol=1e-12)
    np.testing.assert_allclose(W.degrees, brute_force(graph, B).sum(axis=1), atol=1e-12)

    plus = rng.normal(size=(T, 2))
    minus = rng.normal(size=(T, 3))
    degree = rng.normal(size=T)
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
def test_the_mean_square_of_a_scale_is_that_over_all_edges(rng, sparse):
    graph = random_graph(rng, T=12, sparse=sparse)
    scale = rng.random(4)
    edges = graph.edges.T if sparse else np.argwhere(np.triu(np.ones((12, 12)), 1))
    expected = np.mean([np.sum((scale * (graph.X[i] - graph.X[j])) ** 2) for i, j in edges])
    assert Similarity.of(graph).mean_square(scale) == pytest.approx(expected)


def test_an_offset_of_features_costs_cuts_no_accuracy(rng):
    X = rng.normal(size=(20, 3))
    near, far = (Similarity.of(FeatureGraph(X + c))(np.eye(3)).matrix for c in (0.0, 1e6))
    np.testing.assert_allclose(near, far, atol=1e-8)


def test_similarities_of_null_and_huge_metrics_are_finite(rng):
    similarity = Similarity.of(random_graph(rng))
    assert (similarity(np.zeros((4, 0))).matrix == 1).all()
    W = similarity(1e9 * np.eye(4))
    np.testing.assert_array_equal(W.matrix, np.eye(30))
    assert (W.degrees == 1).all()
