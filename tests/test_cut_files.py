"""Models of cuts: saved, loaded, evaluated and drawn."""

from dataclasses import replace

import numpy as np
import pytest
from cut_cases import planted

from structsvm import CutLearner, NormalizedCut, baselines, evaluate, load, save
from structsvm.errors import DataError, ModelFileError, SettingsError
from structsvm.graph_cuts.evaluation import CutEvaluation, CutScores, evaluate_cuts
from structsvm.graph_cuts.metric import CutMetric, calibrate_threshold
from structsvm.graphs import FeatureGraph, node_labels
from structsvm.graphs.labels import region_loss, region_rand
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.persistence import read_header
from structsvm.plotting import overlay, plot_cut, plot_cut_weights


@pytest.fixture(scope="module")
def graphs():
    return planted(np.random.default_rng(5), n=12)


@pytest.fixture(scope="module")
def learner(graphs):
    Xs, ys = graphs
    problem = NormalizedCut(n_clusters="unknown", features="colour+position")
    return CutLearner(problem).fit(Xs[:6], ys[:6]).fit_baselines(Xs[:6], ys[:6])


def test_a_model_comes_back_as_it_was(learner, graphs, tmp_path):
    save(learner, tmp_path / "m.structsvm")
    found = load(tmp_path / "m.structsvm")
    assert isinstance(found, CutLearner)
    assert found.problem_ == learner.problem_
    assert found.get_params() == learner.get_params() | {"problem": learner.problem_}
    assert found.solution_.summary() == learner.solution_.summary()
    assert found.solution_.history == learner.solution_.history
    assert found.cv_losses_ == learner.cv_losses_
    assert found.training_data_ == learner.training_data_
    assert found.predict_partitions(graphs[0]) == learner.predict_partitions(graphs[0])
    grid = [m.decode_with(m.baselines_["grid"], graphs[0]) for m in (found, learner)]
    assert grid[0] == grid[1]
    assert read_header(tmp_path / "m.structsvm")["problem"]["entry_point"] == "normalized-cut"


def test_a_damaged_header_is_told(learner, tmp_path, monkeypatch):
    from structsvm.graph_cuts import stored

    whole = stored.header(learner)
    monkeypatch.setattr(stored, "header", lambda _: whole | {"cut": {"nodes": "voxels"}})
    save(learner, tmp_path / "m.structsvm")
    with pytest.raises(ModelFileError, match="no model of format"):
        load(tmp_path / "m.structsvm")


def test_evaluation(learner, graphs):
    Xs, ys = graphs[0][6:], graphs[1][6:]
    found = evaluate_cuts(learner, Xs, ys, "true")
    assert set(found.scores) == {"learned", "untrained", "grid"}
    assert found.scores["learned"].loss == pytest.approx(-CutLearner.score(_known(learner), Xs, ys))
    assert found.scores["learned"].loss < found.scores["grid"].loss
    assert found.verdict.untrained.n == 6
    assert found.verdict.rival == found.contrast("grid")
    assert "On 6 held-out graphs, the disagreement of the learned metric" in str(found.verdict)
    plain = found.to_dict()
    assert len(plain["images"]) == 6
    assert plain["verdict"]["contrasts"]["grid"]["mean"] > 0
    few = evaluate_cuts(learner, Xs[:2], ys[:2], 2, names=["one", "two"])
    assert few.names == ("one", "two")
    assert str(few.verdict).startswith("Too few to tell: 2 independent graphs")
    same = evaluate(learner, Xs, ys, "true")
    assert same.to_dict() == plain


@pytest.mark.parametrize(
    ("untrained", "learned", "answer"),
    [
        ([1.0, 1.1, 1.2, 1.0, 1.1], [0.1] * 5, "Learning pays."),
        ([0.1] * 5, [1.0, 1.1, 1.2, 1.0, 1.1], "Learning harms."),
        ([1.0, 0.0, 1.0, 0.0, 1.0], [0.5] * 5, "Nothing shows that learning pays"),
        ([1.0] * 4, [0.1] * 4, "Too few to tell"),
    ],
)
def test_verdicts(untrained, learned, answer):
    losses = {"untrained": untrained, "learned": learned}
    each = {name: tuple(CutScores(x, None, 0.0, x) for x in row) for name, row in losses.items()}
    found = CutEvaluation(tuple(map(str, range(len(learned)))), each)
    assert str(found.verdict).startswith(answer)


def test_one_single_cluster_is_no_cut_to_fall_for(learner, graphs):
    """It has a loss of K - 1 = 1, less than most cuts into two: its index is 0."""
    Xs, ys = learner.graphs(graphs[0][6:]), graphs[1][6:]
    truths = learner.encode(Xs, ys)
    one = [EquivalenceMatrix.from_labels(np.zeros(g.n_samples, dtype=int)) for g in Xs]
    rng = np.random.default_rng(0)
    poor = []
    for truth in truths:  # a third of the nodes in the wrong cluster
        labels = np.array(truth.M.labels)
        wrong = rng.choice(labels.size, labels.size // 3, replace=False)
        labels[wrong] = 1 - labels[wrong]
        poor.append(EquivalenceMatrix.from_labels(labels))
    guesses = {"learned": poor, "untrained": one}
    found = CutEvaluation.of(learner, Xs, truths, guesses, [str(i) for i in range(len(Xs))])
    assert found.scores["untrained"].loss < found.scores["learned"].loss
    assert found.verdict.pays
    told = CutEvaluation.of(_known(learner), Xs, truths, guesses, found.names)
    assert told.verdict.harms
    assert learner.score(Xs, ys) == pytest.approx(
        np.mean(
            [region_rand(t, g) for t, g in zip(truths, learner.predict_partitions(Xs), strict=True)]
        )
    )


def _known(learner):
    """The same learner, told the number of clusters."""
    import copy

    known = copy.copy(learner)
    known.problem_ = NormalizedCut()
    known.n_clusters_ = 2
    return known


def test_what_cannot_be_evaluated(learner, graphs):
    with pytest.raises(DataError, match="2 graphs but 1 names"):
        evaluate_cuts(learner, graphs[0][:2], graphs[1][:2], names=["one"])
    with pytest.raises(SettingsError, match="must be an integer, 'true' or None"):
        evaluate_cuts(learner, graphs[0][:2], graphs[1][:2], "many")


def test_three_labels_have_no_jaccard_distance(rng):
    (graph,), (y,) = planted(rng, n=1, K=3)
    from structsvm.graphs import node_labels

    scores = CutScores.of(NormalizedCut(), node_labels(y, graph), EquivalenceMatrix.from_labels(y))
    assert scores == CutScores(0.0, None, 1.0, 0.0)
    assert CutScores.mean([scores]).jaccard is None


def test_overlays():
    labels = np.zeros((6, 8), dtype=int)
    labels[:, 4:] = 1
    for image in (
        np.full((6, 8), 100, dtype=np.uint8),
        np.full((6, 8, 3), 100, dtype=np.uint8),
        np.full((6, 8, 4), 0.4),
    ):
        marked = overlay(image, labels)
        assert marked.shape == (6, 8, 3)
        assert marked.dtype == np.uint8
        assert (marked[:, 3] == 255).all()  # the border
        assert (marked[:, 0] != marked[:, 7]).any(axis=1).all()  # two tints
    bare = overlay(np.full((6, 8), 100, dtype=np.uint8), labels, tint=0)
    assert (bare[:, 0] == 100).all()
    with pytest.raises(DataError, match="labels of shape"):
        overlay(np.zeros((4, 4)), labels)


def test_pictures(learner):
    image = np.zeros((6, 8, 3), dtype=np.uint8)
    assert plot_cut(image).images[0].get_array().shape == (6, 8, 3)
    assert plot_cut(image, np.arange(48).reshape(6, 8) // 24).images
    ax = plot_cut_weights(learner)
    assert ax.get_yticklabels()[0].get_text() == "x0"
    import matplotlib.pyplot as plt

    plt.close("all")


def marked(graphs):
    """The same graphs, the last feature being a place."""
    return [FeatureGraph(g.X, spatial=np.array([False, False, True])) for g in graphs]


def test_the_grid_is_exhaustive(graphs):
    Xs, ys = marked(graphs[0][:3]), graphs[1][:3]
    truths = [node_labels(y, g) for g, y in zip(Xs, ys, strict=True)]
    decoder = NormalizedCut().decoder
    best = baselines.fit("grid", decoder, Xs, truths)

    def loss(metric):
        cuts = [metric.cut(decoder, g, 2) for g in Xs]
        return np.mean([region_loss(t, M) for t, M in zip(truths, cuts, strict=True)])

    scales = 2.0 ** np.arange(-5, 5)
    everything = [
        loss(CutMetric(np.diag(np.sqrt([a, a, b])))) for a in scales for b in np.append(0, scales)
    ]
    assert len(everything) == 110
    assert loss(best) == min(everything)
    with pytest.raises(SettingsError, match=r"a baseline is one of .*grid"):
        baselines.fit("spam", decoder, Xs, truths)


def test_the_threshold_is_the_best_there_is(graphs):
    Xs, ys = graphs[0][:4], graphs[1][:4]
    truths = [node_labels(y, g) for g, y in zip(Xs, ys, strict=True)]
    decoder, metric = NormalizedCut().decoder, CutMetric(np.diag([0.6, 0.05, 0.05]))

    def agreement(threshold):
        cuts = [replace(metric, threshold=threshold).cut(decoder, g) for g in Xs]
        return np.mean([region_rand(t, M) for t, M in zip(truths, cuts, strict=True)])

    found = calibrate_threshold(metric, decoder, Xs, truths)
    assert agreement(found) >= max(agreement(t) for t in np.linspace(0.3, 1.0, 60)) - 1e-9
