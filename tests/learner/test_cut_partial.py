"""Graphs and images of which some nodes or pixels are labelled: scribbles."""

import networkx as nx
import numpy as np
import pytest
from cut_cases import disc, planted

from structsvm import MetricLearner, NormalizedCut, PartialLabels, evaluate, load, save
from structsvm.errors import DataError
from structsvm.graphs import GraphOfImage
from structsvm.learner.preparing import encode
from structsvm.learner.steps import decode_with
from structsvm.learner.training_set import TrainingSet
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import adjusted_rand_index, partition_loss


def hidden(labels, share, seed=0):
    """The labels of some nodes, of each cluster at least two; -1 elsewhere."""
    rng = np.random.default_rng(seed)
    found = []
    for y in labels:
        kept = rng.random(y.size) < share
        for k in np.unique(y):
            kept[rng.choice(np.flatnonzero(y == k), 2, replace=False)] = True
        found.append(np.where(kept, y, -1))
    return found


@pytest.fixture(scope="module")
def graphs():
    return planted(np.random.default_rng(7), n=10, T=50)


def agreement(learner, Xs, ys):
    truths = [t.M for t in encode(learner, Xs, ys)]
    guesses = learner.predict_partitions(Xs)
    return np.mean([adjusted_rand_index(t, g) for t, g in zip(truths, guesses, strict=True)])


@pytest.mark.parametrize("counts", ["known", "unknown"])
def test_labels_of_some_nodes_suffice_to_learn_which_feature_counts(graphs, counts):
    Xs, ys = graphs
    some = hidden(ys[:6], 0.2)
    learner = MetricLearner(NormalizedCut(cluster_count=counts)).fit(Xs[:6], some)
    B = np.diag(learner.get_mahalanobis_matrix())
    assert B[0] > 3 * B[1:].max()
    learned = agreement(learner, Xs[6:], ys[6:])
    untrained = decode_with(learner, learner.baselines_["untrained"].metric_, Xs[6:])
    truths = [t.M for t in encode(learner, Xs[6:], ys[6:])]
    before = [adjusted_rand_index(t, g) for t, g in zip(truths, untrained, strict=True)]
    assert learned > 0.9
    assert learned > np.mean(before) + 0.1
    if counts == "unknown":
        assert learner.metric_.price is not None
        assert [M.n_clusters for M in learner.predict_partitions(Xs[6:])] == [2] * 4
        assert [M.n_clusters for M in learner.alternated_.labels] == [2] * 6
    else:
        assert learner.metric_.n_clusters == 2


def test_completed_labels_of_graphs_keep_known_ones(graphs):
    Xs, ys = graphs
    some = hidden(ys[:4], 0.3)
    some[1] = ys[1]  # one graph in full
    learner = MetricLearner(NormalizedCut()).fit(Xs[:4], some)
    done = learner.alternated_
    assert len(done.labels) == 4
    for y, M in zip(some, done.labels, strict=True):
        rows = np.flatnonzero(y >= 0)
        labels = np.asarray(getattr(M, "M", M).labels)
        same = labels[rows][:, None] == labels[rows][None]
        np.testing.assert_array_equal(same, y[rows][:, None] == y[rows][None])


def test_a_vector_partial_labels_and_a_mapping_are_the_same_labels():
    graphs, labels = planted(np.random.default_rng(2), n=3, sparse=True)
    made = []
    for graph in graphs:
        found = nx.Graph()
        found.add_nodes_from(range(graph.n_samples))
        found.add_edges_from(graph.edges.T.tolist())
        for node in found:
            found.nodes[node]["features"] = graph.X[node]
        made.append(found)
    some = hidden(labels, 0.4)
    mappings = [{i: int(k) for i, k in enumerate(y) if k >= 0} for y in some]
    learners = [
        MetricLearner(NormalizedCut()).fit(Xs, ys)
        for Xs, ys in (
            (made, some),
            (made, [PartialLabels(labels=y) for y in some]),
            (made, mappings),
        )
    ]
    for learner in learners[1:]:
        np.testing.assert_allclose(learner.metric_.factor.T, learners[0].metric_.factor.T)


def test_links_between_nodes_are_learned_from(graphs):
    Xs, ys = graphs
    rng = np.random.default_rng(0)
    linked = []
    for y in ys[:4]:
        pairs = rng.integers(0, y.size, (40, 2)).tolist()
        alike = [(i, j) for i, j in pairs if i != j and y[i] == y[j]]
        unlike = [(i, j) for i, j in pairs if y[i] != y[j]]
        linked.append(PartialLabels(must_link=alike, cannot_link=unlike, n_clusters=2))
    learner = MetricLearner(NormalizedCut()).fit(Xs[:4], linked)
    assert agreement(learner, Xs[6:], ys[6:]) > 0.8
    for y, M, some in zip(ys, learner.alternated_.labels, linked, strict=False):
        labels = np.asarray(getattr(M, "M", M).labels)
        assert labels.size == y.size
        assert all(labels[i] == labels[j] for i, j in some.must_link)


def test_cannot_link_alone_is_learned_from_where_the_number_is_known(graphs):
    Xs, ys = graphs
    rng = np.random.default_rng(1)
    linked = []
    for y in ys[:4]:
        pairs = rng.integers(0, y.size, (40, 2)).tolist()
        linked.append([(i, j) for i, j in pairs if y[i] != y[j]])
    told = [PartialLabels(cannot_link=pairs, n_clusters=2) for pairs in linked]
    learner = MetricLearner(NormalizedCut()).fit(Xs[:4], told)
    assert agreement(learner, Xs[6:], ys[6:]) > 0.8
    with pytest.raises(DataError, match="links between nodes do not tell the number of clusters"):
        MetricLearner(NormalizedCut(cluster_count="unknown")).fit(
            Xs[:4], [PartialLabels(cannot_link=pairs) for pairs in linked]
        )


def scribbled(mask):
    """Two strokes: one through the disc, one along two borders of the image."""
    found = np.full(mask.shape, -1)
    rows, columns = np.nonzero(mask)
    middle = int(np.median(rows))
    inside = np.sort(columns[rows == middle])[2:-2]
    found[middle - 1 : middle + 2, inside] = 1
    found[:3], found[:, :3] = 0, 0
    found[found >= 0] = np.where(mask[found >= 0] == found[found >= 0], found[found >= 0], -1)
    return found


def test_cuts_are_learned_from_scribbles_on_images(tmp_path):
    rng = np.random.default_rng(0)
    images, masks = zip(*[disc(rng, dark=0.1, hue=0.1) for _ in range(10)], strict=True)
    scribbles = [scribbled(mask) for mask in masks]
    assert max(np.mean(s >= 0) for s in scribbles) < 0.25
    problem = NormalizedCut(image=GraphOfImage(n_superpixels=60))
    learner = MetricLearner(problem).fit(list(images[:5]), scribbles[:5])
    found = learner.predict(list(images[5:]))
    assert [cut.shape for cut in found] == [mask.shape for mask in masks[5:]]
    learned = -learner.score(list(images[5:]), list(masks[5:]))
    truths = encode(learner, list(images[5:]), list(masks[5:]))
    from structsvm.partitions.losses import partition_loss

    guesses = decode_with(learner, learner.baselines_["untrained"].metric_, list(images[5:]))
    before = np.mean([partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)])
    assert learned < before
    save(learner, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(images[7]), found[2])
    with pytest.raises(DataError, match=r"graph 0: is labelled in part only .*-1 marks nodes"):
        learner.score([images[0]], [scribbles[0]])


# ---- images whose pixels are labelled here and there


def test_labels_that_reach_every_superpixel_are_full():
    rng = np.random.default_rng(0)
    mask = np.tile(np.arange(64) < 30, (48, 1)).astype(int)
    images = [
        np.uint8(200 * np.where(mask, 0.5, 0.9) + 20 * rng.random(mask.shape)) for _ in range(2)
    ]
    scribble = np.full(mask.shape, -1)
    scribble[::3, ::3] = mask[::3, ::3]
    problem = NormalizedCut(image=GraphOfImage(n_superpixels=40))
    known = TrainingSet.of(problem, images, [scribble] * 2)
    assert all(labels.truth is not None for labels in known.labels)


def test_pixels_without_a_label_are_not_measured_and_known_maps_are_kept():
    rng = np.random.default_rng(0)
    images = []
    masks = []
    for i in range(4):
        mask = np.zeros((36, 48), dtype=int)
        mask[7 + i : 25, 9 + i : 31] = 1
        images.append(rng.integers(90, 110, (36, 48, 3)).astype(np.uint8))
        images[-1][mask > 0, 0] += 60
        masks.append(mask)
    problem = NormalizedCut(image=GraphOfImage(n_superpixels=30, compactness=30))
    learner = MetricLearner(problem).fit(images[:3], masks[:3])
    some = np.where(np.arange(36)[:, None] % 2, masks[3], -1)  # of each superpixel some pixels
    found = learner.predict(images[3])
    known = some >= 0
    expected = partition_loss(
        EquivalenceMatrix.from_labels(some[known]), EquivalenceMatrix.from_labels(found[known])
    )
    assert expected > 0
    assert -learner.score(images[3], some) == pytest.approx(expected)
    assert evaluate(learner, [images[3]], [some]).scores["learned"]["loss"] == pytest.approx(
        expected
    )
    for labels in (some, masks[3]):
        (kept,) = learner.predict_partitions([images[3]], known=[labels])
        assert kept == encode(learner, [images[3]], [masks[3]])[0].M
