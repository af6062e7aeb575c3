"""Learned similarities in networkx, scikit-image and scikit-learn."""

import networkx as nx
import numpy as np
import pytest
from skimage import graph as region_graph
from sklearn.metrics import adjusted_rand_score

from structsvm import MetricLearner, NormalizedCut
from structsvm.graphs.similarity import Similarity
from structsvm.interop import weighted_graph
from structsvm.learner.steps import prepare


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
def learner(pictures) -> MetricLearner:
    graphs, sides = [p[2] for p in pictures[:2]], [p[3] for p in pictures[:2]]
    return MetricLearner(NormalizedCut()).fit(graphs, sides)


def test_weights_are_the_learned_similarities(learner, pictures):
    rag = pictures[2][2]
    before = nx.to_dict_of_dicts(rag)
    weighted = weighted_graph(learner, rag)
    assert nx.to_dict_of_dicts(rag) == before
    assert type(weighted) is type(rag)
    assert set(weighted.edges) == set(rag.edges)
    assert weighted.nodes[0]["pixel count"] == rag.nodes[0]["pixel count"]
    graph = prepare(learner, [rag])[0].side
    expected = Similarity.of(graph)(learner.metric_.factor).matrix.toarray()
    found = nx.to_numpy_array(weighted, nodelist=graph.nodes)
    np.testing.assert_allclose(found + np.eye(len(found)), expected)


def test_loops_and_parallel_edges_weigh_what_was_learned(learner, pictures):
    rag = pictures[2][2]
    several = nx.MultiGraph(rag)
    several.add_edge(0, 1, weight=7.0)
    several.add_edge(0, 0, weight=7.0)
    found = nx.to_dict_of_dicts(weighted_graph(learner, several))
    assert found[0].pop(0)["weight"] == 1.0
    assert found == nx.to_dict_of_dicts(weighted_graph(learner, rag))


def test_scikit_image_cuts_where_the_learner_does(learner, pictures):
    _, regions, rag, side = pictures[2]
    ours = learner.predict([rag], 2)[0]
    assert adjusted_rand_score(list(side.values()), ours) == 1.0
    cut = region_graph.cut_normalized(
        regions, weighted_graph(learner, rag), thresh=0.1, num_cuts=30, rng=0
    )
    truth = np.array([side[k] for k in regions.ravel()])
    theirs = adjusted_rand_score(truth, cut.ravel())
    plain = region_graph.rag_mean_color(pictures[2][0], regions, mode="similarity")
    without = adjusted_rand_score(
        truth, region_graph.cut_normalized(regions, plain, thresh=0.1, num_cuts=30, rng=0).ravel()
    )
    assert theirs == 1.0 > without


def test_features_are_weighted_as_the_metric_sees_them(pictures):
    graphs, sides = [p[2] for p in pictures], [p[3] for p in pictures]
    learner = MetricLearner(NormalizedCut(), standardize="training").fit(graphs[:2], sides[:2])
    (sample,) = prepare(learner, graphs[2:])
    place = {node: i for i, node in enumerate(sample.side.nodes)}
    weighted = weighted_graph(learner, graphs[2])
    for a, b, weight in weighted.edges(data="weight"):
        difference = (sample.X[place[a]] - sample.X[place[b]]) @ learner.metric_.factor
        assert weight == pytest.approx(np.exp(-(difference**2).sum()))
