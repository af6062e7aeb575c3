"""Graphs from networkx, adjacency matrices and images, and labels of their nodes."""

from collections.abc import Iterator
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from cases import cases, refused

from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.graphs import (
    FeatureGraph,
    GraphOfImage,
    NodeLabels,
    as_graph,
    node_labels,
)
from structsvm.graphs.images import from_image, named_pixels, pixel_edges
from structsvm.graphs.labelled_nodes import (
    jaccard_distance,
    limit_of,
    node_codes,
    region_rand,
)
from structsvm.graphs.readers import from_adjacency, from_networkx
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import adjusted_rand_index, partition_loss


def path(n=4):
    graph = nx.path_graph(n)
    for node in graph:
        graph.nodes[node]["x"] = [float(node), 1.0]
    return graph


def two_halves(height=24, width=30):
    image = np.zeros((height, width, 3), dtype=np.uint8)
    image[:, width // 2 :] = (200, 30, 30)
    return image


def test_networkx_graphs_are_read_and_never_changed():
    graph = path()
    graph.add_edge(2, 2)
    graph.add_edge("end", 3)
    graph.nodes["end"]["x"] = (9, 9)
    before = nx.to_dict_of_dicts(graph), dict(graph.nodes(data=True))
    found = from_networkx(graph)
    assert found.nodes == (0, 1, 2, 3, "end")
    np.testing.assert_array_equal(found.edges, [[0, 1, 2, 3], [1, 2, 3, 4]])
    np.testing.assert_array_equal(found.X[-1], [9, 9])
    assert (nx.to_dict_of_dicts(graph), dict(graph.nodes(data=True))) == before
    found.X[:] = 0
    assert graph.nodes[1]["x"] == [1.0, 1.0]


def test_region_adjacency_graphs_of_scikit_image_are_read():
    from skimage import graph as region_graph
    from skimage.segmentation import slic

    image = two_halves()
    regions = slic(image, n_segments=12, start_label=0)
    rag = region_graph.rag_mean_color(image, regions)
    before = nx.to_dict_of_dicts(rag)
    found = as_graph(rag)
    assert nx.to_dict_of_dicts(rag) == before
    assert found.n_samples == rag.number_of_nodes()
    assert found.n_edges == rag.number_of_edges()
    assert found.sizes.sum() == regions.size
    np.testing.assert_array_equal(found.X[0], rag.nodes[found.nodes[0]]["mean color"])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_matrix])
def test_edges_are_those_of_the_adjacency(make):
    A = np.array([[-5, 2, 0], [2, 0, 1], [0, 1, 0]], dtype=float)
    found = as_graph((make(A), np.eye(3)))
    np.testing.assert_array_equal(found.edges, [[0, 1], [1, 2]])
    found = as_graph((sp.coo_array(([1, -1, 1, 1], ([0, 0, 1, 2], [1, 1, 2, 1]))), np.eye(3)))
    np.testing.assert_array_equal(found.edges, [[1], [2]])  # what sums to 0 is no edge


def signed():
    graph = path()
    graph.edges[1, 2]["weight"] = -0.5
    return graph


def directed():
    return nx.DiGraph([(0, 1)])


def uneven():
    graph = path()
    graph.nodes[2]["x"] = [1.0]
    return graph


test_objects_that_are_no_graphs_are_refused = refused(
    DataError,
    lambda make: make(),
    (lambda: from_networkx(directed()), "to_undirected"),
    (lambda: from_networkx(nx.Graph()), "no nodes"),
    (lambda: from_networkx(nx.path_graph(2)), "node 0 carries nothing"),
    (lambda: from_networkx(uneven()), r"no vector of numbers, \(2,\) as that of 0"),
    (lambda: from_adjacency(np.ones((2, 2)), np.ones((3, 1))), r"expected \(T, T\), \(T, P\)"),
    (lambda: from_adjacency(np.triu(np.ones((3, 3))), np.ones((3, 1))), "give A \\+ A.T"),
    (
        lambda: from_adjacency([[0, 1], [1, 0]] * np.array(-1), np.ones((2, 1))),
        r"has -1 in row 0, column 1 \(2 below 0, NaN or inf in all\)",
    ),
    (
        lambda: from_adjacency([[0, np.inf], [np.inf, 0]], np.ones((2, 1))),
        "has inf in row 0, column 1",
    ),
    (lambda: from_adjacency(np.full((2, 2), "a"), np.ones((2, 1))), "holds no numbers"),
    (lambda: from_networkx(signed()), "between 1 and 2 has the weight -0.5"),
    (
        lambda: as_graph(FeatureGraph(np.eye(3), np.array([[0, 1, 0], [1, 2, 1]]))),
        r"the edge \(0, 1\) is given 2 times",
    ),
    (
        lambda: as_graph(FeatureGraph(np.eye(2), nodes=("a", "a"))),
        "the node 'a' is given 2 times",
    ),
    (lambda: FeatureGraph(np.eye(2), regions=np.array([[0, 2]])), "from 0 to 1"),
    (lambda: FeatureGraph(np.full((2, 1), np.nan)), "matrix has nan in row 0, column 0"),
    (lambda: FeatureGraph(np.ones((2, 1)), np.array([[1], [0]])), "pairs i < j"),
    (lambda: FeatureGraph(np.ones((0, 1))), "the feature matrix is empty: 0 sample"),
    (lambda: as_graph(3.5), "expected a networkx graph"),
    (lambda: as_graph("x.png"), "x.png: no such file"),
    (lambda: as_graph(np.ones(3)), r"an array of shape \(3,\)"),
    (
        lambda: from_image(np.full((4, 4), 2.0)),
        r"must lie in \[0, 1\], this one spans \[2, 2\]",
    ),
    (lambda: from_image(np.full((4, 4), np.nan)), "NaN"),
    (lambda: from_image(np.empty((0, 4, 3))), r"\(0, 4, 3\)"),
    (lambda: from_image(np.full((2, 2), "a")), "give uint8 .white is 255"),
)


@pytest.mark.parametrize("radius", [1.0, 1.5, 2.0, 5.0])
def test_pixel_edges_are_those_within_the_radius(radius):
    H, W = 4, 6
    found = {tuple(edge) for edge in pixel_edges(H, W, radius).T}
    where = np.array(list(product(range(H), range(W))))
    expected = {
        (i, j)
        for i, j in combinations(range(H * W), 2)
        if ((where[i] - where[j]) ** 2).sum() <= radius**2
    }
    assert found == expected
    assert pixel_edges(H, W, radius).shape[1] == len(expected)


def test_superpixels_and_pixels_become_nodes_of_a_graph():
    image = two_halves()
    superpixels = from_image(image, GraphOfImage(n_superpixels=20))
    assert superpixels.edges is None
    assert superpixels.sizes.sum() == 24 * 30
    assert superpixels.features[:5] == ("L", "a", "b", "x", "y")
    assert superpixels.X.shape[1] == 10
    assert superpixels.label_map(np.arange(superpixels.n_samples)).shape == (24, 30)
    touching = from_image(image, GraphOfImage(n_superpixels=20, edges="adjacent"))
    assert superpixels.n_samples - 1 <= touching.n_edges < superpixels.n_edges
    pixels = from_image(image, GraphOfImage(nodes="pixels", radius=1, features="colour+position"))
    assert pixels.X.shape == (24 * 30, 5)
    assert pixels.n_edges == 23 * 30 + 24 * 29


@cases(
    (np.ones((8, 9)), ("L", "x", "y")),
    (np.ones((8, 9, 1), dtype=bool), ("L", "x", "y")),
    (np.full((8, 9, 4), 99, dtype=np.uint8), ("L", "a", "b", "x", "y")),
    (np.ones((8, 9, 2)), ("channel0", "channel1", "x", "y")),
)
def test_features_of_pixels_are_named_by_their_channels(image, names):
    settings = GraphOfImage(nodes="pixels", features="colour+position")
    assert from_image(image, settings).features == names


test_impossible_settings_of_image_graphs_are_refused = refused(
    SettingsError,
    lambda settings: GraphOfImage(**settings),
    ({"nodes": "voxels"}, "nodes must be one of"),
    ({"n_superpixels": 1}, "n_superpixels must be an integer >= 2"),
    ({"radius": 0.5}, "radius and compactness must be at least 1"),
    ({"compactness": 0.0}, "compactness must be at least 1 pixel, and > 0"),
)


def test_cuts_that_do_not_depend_on_the_metric_are_warned_of():
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 0] = A[2, 3] = A[3, 2] = 1
    graph = from_adjacency(A, np.arange(10.0).reshape(5, 2))
    with pytest.warns(DataWarning, match="graph 7 has 3 connected components: cutting"):
        graph.warn_of_free_cuts("graph 7")
    with pytest.warns(DataWarning, match="all nodes look the same: the cut is one by the edges"):
        FeatureGraph(np.ones((3, 2))).warn_of_free_cuts("graph 0")
    with pytest.raises(DataError, match="adjacency matrix has nan in row 0"):
        from_adjacency(A * np.nan, np.zeros((5, 2)))


@pytest.mark.parametrize("features", ["colour+position", "all"])
@pytest.mark.parametrize("nodes", ["pixels", "superpixels"])
def test_constant_images_are_warned_of(nodes, features):
    settings = GraphOfImage(nodes=nodes, n_superpixels=20, features=features)
    graph = from_image(np.full((16, 20, 3), 90, dtype=np.uint8), settings)
    with pytest.warns(DataWarning, match="image 3: all nodes look the same: the cut is one by"):
        graph.warn_of_free_cuts("image 3")


def test_labels_of_pixels_become_labels_of_nodes():
    regions = np.array([[0, 0, 1], [0, 1, 1]])
    graph = FeatureGraph(np.zeros((2, 1)), sizes=np.array([3.0, 3.0]), regions=regions)
    truth = node_labels(np.array([[9, 9, 9], [4, 4, 4]]), graph)
    np.testing.assert_array_equal(truth.counts, [[1, 2], [2, 1]])
    assert truth.M == EquivalenceMatrix.from_labels([0, 1])
    guess = EquivalenceMatrix.from_labels([0, 1])
    pixels = EquivalenceMatrix.from_labels([9, 9, 9, 4, 4, 4])
    guessed = EquivalenceMatrix.from_labels(regions.ravel())
    assert partition_loss(truth, guess) == pytest.approx(partition_loss(pixels, guessed))
    assert region_rand(truth, guess) == pytest.approx(adjusted_rand_index(pixels, guessed))
    assert jaccard_distance(truth, guess) == pytest.approx(1 - 2 / 4)  # the nines are the object


def test_scores_of_label_maps_are_those_of_their_pixels(rng):
    for _ in range(20):
        T, n = 12, 200
        regions = np.append(np.arange(T), rng.integers(0, T, n - T))
        graph = FeatureGraph(
            np.zeros((T, 1)), sizes=np.bincount(regions), regions=regions.reshape(10, 20)
        )
        labels = rng.integers(0, 3, (10, 20))
        nodes = EquivalenceMatrix.from_labels(rng.integers(0, 4, T))
        truth = node_labels(labels, graph)
        exact = EquivalenceMatrix.from_labels(labels.ravel())
        guessed = EquivalenceMatrix.from_labels(nodes.labels[regions])
        assert partition_loss(truth, nodes) == pytest.approx(partition_loss(exact, guessed))
        assert region_rand(truth, nodes) == pytest.approx(adjusted_rand_index(exact, guessed))
        assert jaccard_distance(truth, nodes) is None


@pytest.mark.parametrize("missing", [-1, "nobody names it"])
def test_a_mapping_may_leave_nodes_open(missing):
    graph = from_networkx(path())
    a, b = (1, 2) if missing == -1 else ("a", "b")
    y = {3: b, 2: missing, 1: missing, 0: a}
    if isinstance(missing, str):
        del y[1], y[2]
    assert node_codes(y, graph).tolist() == [0, -1, -1, 1]
    assert node_codes({**y, 1: a, 2: b}, graph) == {0: a, 1: a, 2: b, 3: b}
    with pytest.raises(DataError, match="labels do not compare"):
        node_codes({0: 1, 1: "1"}, graph)
    for nothing in (None, np.nan):
        with pytest.raises(DataError, match="the label of node 1 is"):
            node_labels({0: 1, 1: nothing, 2: 2}, graph)
    with pytest.warns(DataWarning, match=r"'3' has a label and is no node \(2 in all\)"):
        assert node_codes({0: 1, "3": 2, "4": 1}, graph).tolist() == [0, -1, -1, -1]
    with pytest.raises(DataError, match="nodes are called like 0"):
        node_codes({"0": 1, "1": 2}, graph)


def test_a_number_below_the_one_for_missing_is_a_label():
    regions = np.array([[0, 0, 1, 1, 2, 2]])
    graph = FeatureGraph(np.zeros((3, 1)), regions=regions)
    codes = node_codes(np.array([[-2, -1, -1, -1, 5, 5]]), graph)
    assert codes.tolist() == [0, -1, 1]


@cases(
    ([1, 2], "give one label to each"),
    ({0: 1}, "the label of node 1 is -1"),
    ([0.0, np.nan, 1, 1], "the label of node 1 is nan"),
    (np.array([0, "a", "b", 1], dtype=object), "do not compare"),
)
def test_labels_that_do_not_fit_the_graph_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        node_labels(y, from_networkx(path()))
    with pytest.raises(DataError, match="by name need a networkx graph"):
        node_labels({0: 1}, FeatureGraph(np.ones((2, 1))))


# ---- what no partition of superpixels can do


def every_loss(truth: NodeLabels) -> Iterator[float]:
    """The losses of all partitions of a few nodes into no more parts than there are labels."""
    for labels in product(range(truth.n_clusters), repeat=truth.n_samples):
        yield partition_loss(truth, EquivalenceMatrix.from_labels(labels))


def random_truth(rng, T, K, mixed):
    counts = rng.multinomial(30, rng.dirichlet([mixed] * K, size=T)).astype(float)
    return NodeLabels(EquivalenceMatrix.from_labels(counts.argmax(axis=1)), counts)


@pytest.mark.parametrize(("T", "K"), [(7, 2), (6, 3)])
def test_no_partition_of_the_nodes_is_better_than_the_least_loss(rng, T, K):
    found = [random_truth(rng, T, K, mixed) for mixed in np.repeat((0.1, 0.3, 1.0), 4)]
    found = [truth for truth in found if truth.counts.any(axis=0).all()]
    excess = [truth.least_loss - min(every_loss(truth)) for truth in found]
    assert min(excess) > -1e-9
    assert np.median(excess) < 1e-9  # a search, which seldom stays above
    assert max(excess) < 0.2


def thin_lines(size=48):
    """Bright cells between dark lines of two pixels, and the label map of both."""
    y, x = np.mgrid[:size, :size]
    cells = (y % 12 > 1) & (x % 12 > 1)
    return np.where(cells, 0.8, 0.2), cells.astype(int)


def test_noisy_images_get_about_the_requested_number_of_superpixels():
    """Noise tore them apart until a few were left, which could not be cut."""
    rng = np.random.default_rng(0)
    means = np.where(np.arange(120)[:, None, None] < 60, 180, 90)
    noisy = np.clip(means + rng.normal(scale=18, size=(120, 160, 3)), 0, 255).astype(np.uint8)
    with pytest.warns(DataWarning, match="with a compactness of .* in the place of 10"):
        assert 75 <= from_image(noisy).n_samples <= 300


def test_superpixels_too_coarse_for_the_masks_are_reported():
    image, mask = thin_lines()
    coarse, fine = (
        node_labels(mask, from_image(image, settings))
        for settings in (
            GraphOfImage(n_superpixels=16, compactness=1000.0),
            GraphOfImage(nodes="pixels"),
        )
    )
    assert fine.least_loss == pytest.approx(0.0)
    assert coarse.least_loss > 0.9
    assert not limit_of([fine, fine])
    assert "cannot follow" in limit_of([coarse, coarse])
    assert not limit_of([])


@pytest.mark.parametrize("shape", [(1, 1), (1, 5, 1), (4, 1, 3), (9, 7, 5)])
def test_features_of_pixels_are_finite_in_any_image(rng, shape):
    graph = named_pixels(rng.integers(0, 255, shape).astype(np.uint8))
    assert graph.regions.shape == shape[:2]
    assert np.isfinite(graph.X).all()


def test_thin_lines_have_a_large_curvature_feature():
    image = np.zeros((21, 21))
    image[:, 10] = 1.0
    least, most = named_pixels(image).X.reshape(21, 21, -1)[10, 10, -14:-12]
    assert least < -5 * abs(most)
