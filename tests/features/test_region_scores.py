"""Scores of named regions at the nodes of graphs and images, and the forest as a baseline."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from spy import Spy

from structsvm import (
    MetricLearner,
    MetricLearnerCV,
    NormalizedCut,
    PartialLabels,
    diagnose,
    evaluate,
    load,
    save,
)
from structsvm.baselines import RegionClassifier
from structsvm.errors import DataWarning, SettingsError
from structsvm.features import Columns, Deviations, RegionScores, Union
from structsvm.graphs import FeatureGraph, GraphOfImage, as_graph, node_labels
from structsvm.graphs.labelled_nodes import node_names, region_rand
from structsvm.learner.files import model_codec
from structsvm.learner.preparing import prepare
from structsvm.model_selection.named import learner_named

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
FEW = {"estimator": RandomForestClassifier(n_estimators=10, min_samples_leaf=3)}
COLOURS = {
    "sky": [(0.4, 0.6, 0.9), (0.9, 0.9, 0.95)],
    "land": [(0.4, 0.7, 0.2), (0.6, 0.5, 0.2)],
    "house": [(0.8, 0.3, 0.2), (0.5, 0.5, 0.55)],
}


def scene(rng, names=("sky", "land")):
    """Stripes in any order, of blocks in two colours each, under a light of its own; and names."""
    rows, columns, size = 6, 6, 8
    ends = np.sort(rng.choice(np.arange(1, rows), len(names) - 1, replace=False))
    blocks = rng.permutation(names)[np.searchsorted(ends, np.arange(rows), side="right")]
    colours = np.array([[COLOURS[y][rng.integers(2)] for _ in range(columns)] for y in blocks])
    image = rng.uniform(0.5, 1.0) * np.kron(colours, np.ones((size, size, 1)))
    image += 0.03 * rng.normal(size=(*image.shape[:2], 1))
    y = np.repeat(np.repeat(blocks, size)[:, None], columns * size, axis=1)
    image = np.uint8(255 * np.clip(image, 0, 1))
    return (image, y) if rng.random() < 0.5 else (image.transpose(1, 0, 2).copy(), y.T.copy())


def scenes(rng, n, names=("sky", "land")):
    images, maps = zip(*[scene(rng, names) for _ in range(n)], strict=True)
    return list(images), list(maps)


def graphs(rng, n=6, T=40, shift=2.0):
    """Nodes of two regions whose first feature differs, by an offset that graphs do not share."""
    found = []
    labels = []
    for _ in range(n):
        y = np.where(np.arange(T) < rng.integers(T // 3, 2 * T // 3), "front", "back")
        X = rng.normal(size=(T, 2)) * [0.3, 1.0] + [shift * rng.normal(), 0.0]
        X[:, 0] += y == "front"
        found.append(FeatureGraph(X))
        labels.append(y)
    return found, labels


class Watch(RegionScores):
    """Keeps the scores of the training graphs."""

    kept: list = []  # noqa: RUF012

    def fit_transform(self, Xs, ys=None, groups=None):
        found = super().fit_transform(Xs, ys, groups)
        Watch.kept.append((groups, found))
        return found


def test_region_scores_are_cross_fitted_by_group(rng):
    found, labels = graphs(rng, 3)
    Xs = [found[i] for i in (0, 1, 0, 2, 1, 2)]
    ys = [labels[i] for i in (0, 1, 0, 2, 1, 2)]
    groups = ["ann", "bob", "ann", "cyd", "bob", "cyd"]
    for i in (2, 4, 5):  # no copies, but for a node
        Xs[i] = FeatureGraph(Xs[i].X + (np.arange(40) == 0)[:, None])
    scores = Watch(Spy(), relative=False, n_folds=3)
    learner = MetricLearner(NormalizedCut(), features=Union(Columns(), scores))
    learner.fit(Xs, ys, groups=groups)  # whose scores are constant, as no column is
    honest = Watch.kept.pop()[1]
    assert not np.any(honest), "a spy is sure of nothing but what it has seen"
    leaking = [x.X[:, 2:] for x in prepare(learner, Xs)]
    assert all(np.abs(L).max() > 1 for L in leaking), "the final model has seen all of them"
    learner.fit(Xs, ys)
    alone = Watch.kept.pop()[1]
    assert any(np.any(L) for L in alone), "without groups a graph of the same person leaks"


def test_region_scores_are_centred_logarithms_of_probabilities(rng):
    Xs, ys = graphs(rng)
    arrays = [x.X for x in Xs]
    rows = np.vstack([np.hstack([X, X - X.mean(axis=0)]) for X in arrays])
    np.testing.assert_allclose(np.vstack(Deviations().fit_transform(arrays)), rows)
    scores = RegionScores(LogisticRegression(), smoothing=0.1).fit(arrays, ys)
    seen = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    model = LogisticRegression().fit(seen, np.concatenate(ys))
    L = np.log(model.predict_proba(seen) + 0.1)
    expected = L - L.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(np.vstack(scores.transform(arrays)), expected, atol=1e-4)
    assert scores.get_feature_names_out().tolist() == ["score back", "score front"]


@pytest.mark.usefixtures("all_trees")
def test_images_are_cut_by_scores_of_more_than_two_regions(rng, tmp_path):
    images, maps = scenes(rng, 14, ("sky", "land", "house"))
    problem = NormalizedCut(image=GraphOfImage(n_superpixels=60))
    features = Union(Columns(), RegionScores())
    learner = MetricLearner(problem, features=features)
    learner.fit(images[:8], maps[:8], baselines=["region-forest"])
    plain = MetricLearner(problem).fit(images[:8], maps[:8])
    assert learner.metric_feature_names_[-3:] == ["score house", "score land", "score sky"]
    assert learner.classes_.tolist() == ["house", "land", "sky"]
    found = evaluate(learner, images[8:], maps[8:])
    loss = {name: scores["loss"] for name, scores in found.scores.items()}
    assert loss["learned"] < evaluate(plain, images[8:], maps[8:]).learned["loss"] - 0.05
    assert loss["learned"] < loss["region-forest"] - 0.05
    assert found.confusion["learned"].accuracy > 0.9
    assert found.confusion["region-forest"].accuracy > 0.8
    save(learner, tmp_path / "cuts.structsvm")
    again = load(tmp_path / "cuts.structsvm")
    for one, other in zip(again.predict(images[8:]), learner.predict(images[8:]), strict=True):
        np.testing.assert_array_equal(one, other)
    assert evaluate(again, images[8:], maps[8:]).scores == found.scores


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_stored_forest_predicts_the_same_to_the_last_digits(kind, rng):
    Xs, ys = graphs(rng)
    arrays = [x.X for x in Xs]
    scores = RegionScores(kind(n_estimators=7, random_state=0)).fit(arrays, ys)
    codec = model_codec()
    packed = codec.pack(scores)
    again = model_codec(codec.arrays).unpack(packed)
    # Rows on both sides of each threshold, and at single-precision ties with it.
    edges = [np.nextafter(X, np.inf) for X in arrays] + arrays
    for one, other in zip(again.predict_proba(edges), scores.predict_proba(edges), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-14)
    assert again.fit(arrays, ys).models_[0].classifier.n_estimators == 7  # as it did


def test_learning_starts_with_most_weight_on_region_scores(rng):
    Xs, ys = graphs(rng)
    learner = MetricLearner(NormalizedCut(), features=Union(Columns(), RegionScores(**FEW)))
    start = np.diag(learner.fit(Xs, ys).baselines_["untrained"].metric_.matrix)
    share = start * np.vstack([x.X - x.X.mean(axis=0) for x in prepare(learner, Xs)]).var(axis=0)
    assert share[:2].max() < 0.2 * share[2:].min()
    alone = np.diag(
        MetricLearner(NormalizedCut()).fit(Xs, ys).baselines_["untrained"].metric_.matrix
    )
    assert (alone > start[:2]).all()


def test_a_node_has_the_name_of_most_of_its_labelled_pixels():
    graph = FeatureGraph(np.zeros((3, 1)), regions=np.array([[0, 0, 0, 1], [2, 2, 1, 1]]))
    maps = np.array([[7, 7, 4, 4], [-1, -1, -1, 9]])
    assert node_names(maps, graph).tolist() == [7, 4, None]
    assert node_names(np.full((2, 4), -1), graph).tolist() == [None] * 3
    words = np.array([["a", "a", "b", "b"], ["b", "c", "b", "b"]])
    assert node_names(words, graph).tolist() == ["a", "b", "b"]
    assert node_names(node_labels(words, graph), graph).tolist() == ["a", "b", "b"]
    partial = PartialLabels(labels=["a", None, "b"])
    assert node_names(partial, graph) is partial


def test_regions_are_learned_from_labels_in_part(rng):
    Xs, ys = graphs(rng, 6, shift=0.3)
    numbers = [np.where(y == "front", 1, 0) for y in ys]
    scribbles = [np.where(np.arange(40) % 3, y, -1) for y in numbers]
    learner = MetricLearner(NormalizedCut(), features=Union(Columns(), RegionScores(**FEW)))
    learner.fit(Xs, scribbles, baselines="quick")
    assert learner.classes_.tolist() == [0, 1]
    assert set(learner.baselines_) == {"untrained", "grid", "region-forest"}


def test_the_threshold_of_two_regions_is_chosen_on_held_out_graphs_and_moves_for_a_reason(rng):
    Xs, ys = graphs(rng, 8, shift=0.0)
    plain = RegionClassifier(**FEW).fit(Xs, ys)
    assert plain.threshold_ == pytest.approx(0.5, abs=0.1)

    class Timid(LogisticRegression):
        def predict_proba(self, X):
            return super().predict_proba(X) * [1.0, 0.4] + [0.0, 0.0] + self._rest(X)

        def _rest(self, X):
            p = super().predict_proba(X)
            return np.column_stack([0.6 * p[:, 1], np.zeros(len(p))])

    timid = RegionClassifier(Timid()).fit(Xs, ys)
    assert timid.threshold_ < 0.35
    assert clone(timid).fit(Xs[:1], ys[:1]).threshold_ == 0.5, (
        "one graph leaves nothing to choose by"
    )


def test_model_selection_chooses_among_scores_and_the_forest_where_labels_are_names(rng):
    Xs, ys = graphs(rng, 6, shift=0.0)
    # The front is on either side of the back: no metric tells it apart, and its name does.
    Xs = [FeatureGraph(1.5 * x.X * np.where(np.arange(40) % 2, 1, -1)[:, None]) for x in Xs]
    search = MetricLearnerCV(NormalizedCut(), lams=(0.2,), cv=2, random_state=0).fit(Xs, ys)
    names = [candidate.name for candidate in search.candidates_]
    (start, learned) = ("scores-untrained", "scores-full")
    assert names == [start, "region-forest", learned, "untrained", "grid", "diagonal", "full"]
    losses = dict(zip(names, search.losses_.mean(axis=0), strict=True))
    scored = {"scores-untrained", "region-forest", "scores-full"}
    assert max(losses[name] for name in scored) < losses["full"] - 0.2
    assert search.best_candidate_ in scored
    assert len(search.predict(Xs[:1])[0]) == 40


def test_the_start_is_kept_where_learning_does_not_improve_region_scores(rng):
    Xs, ys = graphs(rng, 6, shift=0.0)
    Xs = [FeatureGraph(1.5 * x.X * np.where(np.arange(40) % 2, 1, -1)[:, None]) for x in Xs]
    scores = ("scores-untrained", "untrained", "scores-full")
    search = MetricLearnerCV(NormalizedCut(), scores, lams=(0.2,), cv=2, random_state=0)
    search.fit(Xs, ys)
    assert search.best_candidate_ == "scores-untrained"
    assert search.best_estimator_.metric == "untrained"
    assert search.predict(Xs[:1])[0].shape == (40,)


# ---- pixels


def thin_lines(rng, n, size=40):
    """Bright cells between dark lines of two pixels, which superpixels cannot follow, and names."""
    images = []
    maps = []
    for shift in rng.integers(0, 10, size=(n, 2)):
        y, x = np.mgrid[:size, :size] + shift[:, None, None]
        cells = (y % 10 > 1) & (x % 10 > 1)
        light = np.where(cells, 0.8, 0.2) + 0.05 * rng.normal(size=cells.shape)
        images.append(np.uint8(255 * np.clip(light, 0, 1))[:, :, None])
        maps.append(np.where(cells, "cell", "line"))
    return images, maps


def test_a_forest_names_pixels_that_superpixels_cannot_follow(rng, tmp_path):
    images, maps = thin_lines(rng, 5)
    problem = NormalizedCut(image=GraphOfImage(n_superpixels=30, compactness=100.0))
    rivals = ["region-forest", "pixel-forest"]
    with pytest.warns(DataWarning, match="cannot follow"):
        learner = MetricLearner(problem).fit(images[:3], maps[:3], baselines=rivals)
    found = evaluate(learner, images[3:], maps[3:])
    assert "cannot follow" in str(found.verdict)
    assert found.scores["pixel-forest"]["loss"] < 0.05
    assert found.scores["region-forest"]["loss"] > 0.5
    graphs = [x.side for x in problem.read(images[3:])[0]]
    for name in rivals:
        named = learner.baselines_[name].predict_states(images[3:])
        pairs = zip(graphs, named, strict=True)
        pixels = [y if y.ndim == 2 else graph.label_map(y) for graph, y in pairs]
        right = np.mean([y == z for y, z in zip(pixels, maps[3:], strict=True)])
        assert found.scores[name]["accuracy"] == pytest.approx(right)
        assert found.confusion[name].counts.sum() == sum(y.size for y in maps[3:])
    save(learner, tmp_path / "m.structsvm")
    again = load(tmp_path / "m.structsvm")
    (M,) = again.baselines_["pixel-forest"].predict_partitions(images[3:4])
    assert M.n_samples == images[3].size
    assert region_rand(node_labels(maps[3], as_graph(images[3])), M) > 0.9


@pytest.mark.filterwarnings("ignore:Superpixels cannot follow")
@pytest.mark.parametrize("name", ["region-forest", "pixel-forest", "grid", "untrained"])
def test_every_method_of_images_is_evaluated_saved_and_described(rng, tmp_path, name):
    images, maps = thin_lines(rng, 4)
    learner = learner_named(name, NormalizedCut(), random_state=0).fit(images[:3], maps[:3])
    found = evaluate(learner, images[3:], maps[3:])
    assert found.scores["learned"]["loss"] == pytest.approx(-learner.score(images[3:], maps[3:]))
    assert ("learned" in found.confusion) == name.endswith("forest")
    save(learner, tmp_path / "m.structsvm")
    again = load(tmp_path / "m.structsvm").predict(images[3:])[0]
    assert (again == learner.predict(images[3:])[0]).all()
    assert str(learner)
    assert diagnose(learner, images, maps)
    if not name.endswith("forest"):
        with pytest.raises(SettingsError, match="names of regions: learn a region-forest"):
            learner.predict_states(images)
    with pytest.raises(SettingsError, match="NormalizedCut gives clusters, not segments"):
        learner.predict_breakpoints(images)


def test_pixels_of_a_large_image_are_named_in_blocks(rng, monkeypatch):
    images, maps = thin_lines(rng, 3)
    forest = RegionClassifier(**FEW, image=GraphOfImage(nodes="pixels")).fit(images, maps)
    (named,) = forest.predict_states(images[:1])
    assert np.mean(named == maps[0]) > 0.95
    monkeypatch.setattr("structsvm.graphs.images.MOST_PIXELS", 500)
    (named,) = forest.predict_states(images[:1])
    assert named.shape == maps[0].shape
    assert (named[:2, :2] == named[0, 0]).all()


def test_pixels_are_learned_from_partial_masks_and_from_node_labels(rng):
    images, maps = thin_lines(rng, 3)
    numbers = [np.where(y == "cell", 1, 0) for y in maps]
    for y in numbers:
        y[20:] = -1
    forest = RegionClassifier(**FEW, image=GraphOfImage(nodes="pixels")).fit(images, numbers)
    assert np.mean(forest.predict_states(images[:1])[0] == (maps[0] == "cell")) > 0.95
    read = [node_labels(y, as_graph(x)) for x, y in zip(images, maps, strict=True)]
    again = clone(forest).fit(images, read)
    np.testing.assert_array_equal(
        again.predict_states(images)[0], clone(forest).fit(images, maps).predict_states(images)[0]
    )
