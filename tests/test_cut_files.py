"""Models of cuts: saved, loaded and evaluated."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from cut_cases import planted

from structsvm import MetricLearner, NormalizedCut, evaluate, load, save
from structsvm.baselines import metrics as tuned_metrics
from structsvm.data.sample import Sample
from structsvm.data.words import GRAPHS
from structsvm.errors import DataError, ModelFileError, SettingsError
from structsvm.evaluation.evaluate import Evaluation, SampleScores
from structsvm.graphs import FeatureGraph, GraphOfImage, node_labels
from structsvm.graphs.labels import region_rand
from structsvm.learner.steps import decode_with, encode, prepare
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import Metric


@pytest.fixture(scope="module")
def graphs():
    return planted(np.random.default_rng(5), n=12)


@pytest.fixture(scope="module")
def learner(graphs):
    Xs, ys = graphs
    image = GraphOfImage(features="colour+position")
    problem = NormalizedCut(cluster_count="unknown", image=image)
    return MetricLearner(problem).fit(Xs[:6], ys[:6], baselines="quick")


def test_a_model_comes_back_as_it_was(learner, graphs, tmp_path):
    save(learner, tmp_path / "m.structsvm")
    found = load(tmp_path / "m.structsvm")
    assert found.problem_ == learner.problem_
    assert found.get_params() == learner.get_params()
    assert found.solution_.summary() == learner.solution_.summary()
    assert found.solution_.history == learner.solution_.history
    assert found.training_data_ == learner.training_data_
    assert found.predict_partitions(graphs[0]) == learner.predict_partitions(graphs[0])
    grid = [decode_with(m, m.baselines_["grid"], graphs[0]) for m in (found, learner)]
    assert grid[0] == grid[1]


def test_settings_that_a_problem_refuses_are_told(learner, tmp_path):
    spoilt = copy(learner)
    image = copy(learner.problem_.image)
    object.__setattr__(image, "nodes", "voxels")
    spoilt.problem_ = replace(learner.problem_, image=image)
    save(spoilt, tmp_path / "m.structsvm")
    with pytest.raises(ModelFileError, match=r"no model of format .*voxels"):
        load(tmp_path / "m.structsvm")


def test_evaluation(learner, graphs):
    Xs, ys = graphs[0][6:], graphs[1][6:]
    found = evaluate(learner, Xs, ys, "true")
    assert set(found.scores) == {"learned", "untrained", "grid", "one-part", *learner.baselines_}
    assert found.scores["learned"]["loss"] == pytest.approx(-_known(learner).score(Xs, ys))
    assert found.scores["learned"]["loss"] < found.scores["grid"]["loss"]
    assert found.verdict.untrained.n == 6
    assert found.verdict.baseline in [
        found.contrast(name) for name in ("grid", *learner.baselines_)
    ]
    assert "On 6 held-out graphs, the disagreement of the learned metric" in str(found.verdict)
    plain = found.to_dict()
    assert len(plain["graphs"]) == 6
    assert plain["verdict"]["contrasts"]["grid"]["mean"] > 0
    few = evaluate(learner, Xs[:2], ys[:2], 2, names=["one", "two"])
    assert [row.name for row in few.samples] == ["one", "two"]
    assert str(few.verdict).startswith("Too few to tell: 2 independent graphs")
    same = evaluate(learner, Xs, ys, "true")
    assert same.to_dict() == plain


@pytest.mark.parametrize(
    ("untrained", "learned", "answer"),
    [
        ([1.0, 1.1, 1.2, 1.0, 1.1], [0.1] * 5, "Learning pays."),
        ([0.1] * 5, [1.0, 1.1, 1.2, 1.0, 1.1], "Learning harms."),
        ([1.0, 0.0, 1.0, 0.0, 1.0], [0.5] * 5, "There is no evidence that learning pays"),
        ([1.0] * 4, [0.1] * 4, "Too few to tell"),
    ],
)
def test_verdicts(untrained, learned, answer):
    losses = {"untrained": untrained, "learned": learned}
    rows = [
        SampleScores(
            str(i), 2, {name: {"loss": x[i], "disagreement": x[i]} for name, x in losses.items()}
        )
        for i in range(len(learned))
    ]
    found = Evaluation(tuple(rows), tolerance=5, words=GRAPHS)
    assert str(found.verdict).startswith(answer)


def test_one_single_cluster_is_no_cut_to_fall_for(learner, graphs):
    """It has a loss of K - 1 = 1, less than most cuts into two: its index is 0."""
    Xs, ys = prepare(learner, graphs[0][6:]), graphs[1][6:]
    truths = encode(learner, Xs, ys)
    one = [EquivalenceMatrix.from_labels(np.zeros(g.n_samples, dtype=int)) for g in Xs]
    rng = np.random.default_rng(0)
    poor = []
    for truth in truths:  # a third of the nodes in the wrong cluster
        labels = np.array(truth.M.labels)
        wrong = rng.choice(labels.size, labels.size // 3, replace=False)
        labels[wrong] = 1 - labels[wrong]
        poor.append(EquivalenceMatrix.from_labels(labels))
    guesses = {"learned": poor, "untrained": one}
    names = [str(i) for i in range(len(Xs))]
    found = Evaluation.of(truths, guesses, names, learner.problem_)
    assert found.scores["untrained"]["loss"] < found.scores["learned"]["loss"]
    assert found.verdict.pays
    told = Evaluation.of(truths, guesses, names, NormalizedCut())
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
    known.metric_ = replace(learner.metric_, price=None, n_clusters=2)
    return known


def test_what_cannot_be_evaluated(learner, graphs):
    with pytest.raises(DataError, match="2 graphs but 1 name"):
        evaluate(learner, graphs[0][6:8], graphs[1][6:8], names=["one"])
    with pytest.raises(SettingsError, match="must be an integer, 'true' or None"):
        evaluate(learner, graphs[0][6:8], graphs[1][6:8], "many")


def test_three_labels_have_no_jaccard_distance(rng):
    (graph,), (y,) = planted(rng, n=1, K=3)
    problem, M = NormalizedCut(), EquivalenceMatrix.from_labels(y)
    truth = node_labels(y, graph)
    expected = {"loss": 0.0, "jaccard": None, "adjusted_rand": 1.0, "disagreement": 0.0}
    assert problem.comparison.scores(truth, M, 5) == expected
    found = Evaluation.of([truth], {"learned": [M], "untrained": [M]}, ["0"], problem)
    assert found.learned["jaccard"] is None
    assert found.counts == {"loss": 1, "jaccard": 0, "adjusted_rand": 1, "disagreement": 1}


def marked(graphs):
    """The same graphs, the last feature being a place."""
    return [FeatureGraph(g.X, spatial=np.array([False, False, True])) for g in graphs]


def test_the_grid_is_exhaustive(graphs):
    Xs, ys = marked(graphs[0][:3]), graphs[1][:3]
    truths = [node_labels(y, g) for g, y in zip(Xs, ys, strict=True)]
    problem, samples = NormalizedCut(), [Sample(g.X, g) for g in Xs]
    best = tuned_metrics.fit("grid", problem, samples, truths)

    def loss(metric):
        cuts = [problem.partition(x, metric, 2) for x in samples]
        return np.mean([partition_loss(t, M) for t, M in zip(truths, cuts, strict=True)])

    scales = 2.0 ** np.arange(-5, 5)
    everything = [
        loss(Metric(np.diag(np.sqrt([a, a, b])), None))
        for a in scales
        for b in np.append(0, scales)
    ]
    assert len(everything) == 110
    assert loss(best) == min(everything)
    with pytest.raises(SettingsError, match=r"a baseline of this problem is one of .*'spam'"):
        tuned_metrics.fit("spam", problem, samples, truths)


def test_the_threshold_is_the_best_there_is(graphs):
    Xs, ys = graphs[0][:4], graphs[1][:4]
    truths = [node_labels(y, g) for g, y in zip(Xs, ys, strict=True)]
    problem, samples = NormalizedCut(cluster_count="unknown"), [Sample(g.X, g) for g in Xs]
    factor = np.diag([0.6, 0.05, 0.05])

    def agreement(threshold):
        cuts = [problem.partition(x, Metric(factor, threshold)) for x in samples]
        return np.mean([region_rand(t, M) for t, M in zip(truths, cuts, strict=True)])

    found = problem.learning.calibrate(factor, samples, truths).metric(factor).price
    assert agreement(found) >= max(agreement(t) for t in np.linspace(0.3, 1.0, 60)) - 1e-9
