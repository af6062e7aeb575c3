"""MetricLearner(NormalizedCut()): learning to cut graphs and images, on workers and from a file."""

import warnings
from functools import cache, partial

import numpy as np
import pytest
from cases import cases, refused
from cut_cases import disc, planted
from enumerated import column
from sklearn.exceptions import ConvergenceWarning

from structsvm import MetricLearner, NormalizedCut, evaluate
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.graphs import FeatureGraph, GraphOfImage
from structsvm.graphs.readers import from_adjacency
from structsvm.io import read_images
from structsvm.learner.preparing import encode
from structsvm.parallel import Processes, Threads
from structsvm.partitions.losses import partition_loss
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.descent import CCCP, QuasiNewton


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(3)
    images, masks = zip(*[disc(rng, 32, 40, dark=0.1, hue=0.1) for _ in range(10)], strict=True)
    return list(images), list(masks)


@pytest.fixture(scope="module")
def painter(pictures):
    images, masks = pictures
    return MetricLearner(NormalizedCut(image=GraphOfImage(n_superpixels=40)), lam=0.02).fit(
        images[:5], masks[:5], baselines="quick"
    )


def test_a_learned_cut_finds_objects_in_new_images(painter, pictures):
    images, masks = pictures
    found = painter.predict(images[5:])
    assert [label_map.shape for label_map in found] == [mask.shape for mask in masks[5:]]
    assert all(set(np.unique(label_map)) == {0, 1} for label_map in found)
    learned = -painter.score(images[5:], masks[5:])
    truths = encode(painter, images[5:], masks[5:])
    baselines = {
        name: np.mean(
            [
                partition_loss(t, g)
                for t, g in zip(truths, m.predict_partitions(images[5:]), strict=True)
            ]
        )
        for name, m in painter.baselines_.items()
        if m.sees is not None  # the metrics
    }
    assert set(baselines) == {"untrained", "grid"}
    forests = {"region-forest", "pixel-forest"}  # all masks have the same two names
    assert set(painter.baselines_) == {*baselines, *forests}
    assert learned < 0.5 * baselines["untrained"]
    assert learned < baselines["grid"]


@pytest.mark.parametrize("metric", ["full", "diagonal"])
@pytest.mark.parametrize("objective", ["normalized", "plain"])
@pytest.mark.parametrize("oracle", ["relaxed", "rounded"])
def test_learning_finds_the_feature_that_counts_in_graphs(rng, metric, objective, oracle):
    graphs, labels = planted(rng, n=8, sparse=(metric == "full") == (objective == "plain"))
    problem = NormalizedCut(objective_kind=objective, oracle=oracle)
    learner = MetricLearner(
        problem, metric, lam=0.02, solver=QuasiNewton(Stopping(tol=1e-4, max_iter=40))
    )
    with warnings.catch_warnings():
        if oracle == "rounded":  # not smooth: may go on for long
            warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(graphs[:5], labels[:5])
    learned = -learner.score(graphs[5:], labels[5:])
    B = np.diag(learner.get_mahalanobis_matrix())
    assert learned < 0.2
    assert B[0] > 3 * B[1:].max()


def test_graphs_with_different_numbers_of_clusters_are_learned_from(rng):
    two = planted(rng, n=3, K=2)
    three = planted(rng, n=3, K=3, T=60)
    graphs = two[0] + three[0]
    labels = two[1] + three[1]
    learner = MetricLearner(NormalizedCut(cluster_count="unknown"), lam=0.02).fit(graphs, labels)
    assert learner.metric_.n_clusters is None
    found = learner.predict_partitions(graphs)
    assert [M.n_clusters for M in found] == [2, 2, 2, 3, 3, 3]
    assert learner.score(graphs, labels) > -0.3
    known = MetricLearner(NormalizedCut(), lam=0.02).fit(graphs, labels)
    with pytest.raises(SettingsError, match="different numbers of clusters"):
        known.predict(graphs)
    assert [M.max() + 1 for M in known.predict(graphs, [2, 2, 2, 3, 3, 3])] == [2, 2, 2, 3, 3, 3]


# ---- data that makes trouble


def test_disconnected_graphs_are_warned_of(rng):
    graphs, labels = planted(rng, n=3)
    A = np.zeros((40, 40))
    A[:20, :20] = 1
    apart = from_adjacency(A - np.diag(np.diag(A)), graphs[0].X)
    with pytest.warns(DataWarning, match="graph 1 has 21 connected components"):
        learner = MetricLearner(NormalizedCut(), lam=0.02).fit(
            [graphs[1], apart], [labels[1], labels[0]]
        )
    with pytest.warns(DataWarning, match="costs nothing in any metric"):
        assert learner.predict_partitions([apart])[0].n_clusters == 2


def test_graphs_of_a_single_label_are_warned_of_or_refused(rng):
    graphs, labels = planted(rng, n=3)
    one = np.zeros(40, dtype=int)
    with pytest.warns(DataWarning, match="all nodes of graph 1 have the same label"):
        learner = MetricLearner(NormalizedCut(), lam=0.02).fit(graphs, [labels[0], one, labels[2]])
    assert len(learner.training_data_) == 3
    with pytest.raises(DataError, match="there is nothing to cut"):
        MetricLearner(NormalizedCut()).fit(graphs, [one] * 3)
    with pytest.raises(DataError, match="every node has its own label"):
        MetricLearner(NormalizedCut()).fit(graphs, [np.arange(40)] * 3)
    blank = FeatureGraph(np.ones((40, 2)))
    with (
        pytest.warns(DataWarning, match="all nodes look the same"),
        pytest.raises(DataError, match="every feature is constant"),
    ):
        MetricLearner(NormalizedCut()).fit([blank], [labels[0]])


def test_bad_graphs_and_labels_are_refused_by_name(rng, painter, pictures):
    graphs, labels = planted(rng, n=2)
    images, masks = pictures
    for Xs, ys, message in (
        ([], [], "no graphs were given"),
        (graphs, labels[:1], "2 graphs but 1 labelling"),
        (graphs, [labels[0], labels[1][:3]], "graph 1: labels of shape"),
        ([graphs[0], 3.5], labels, "graph 1: expected a networkx graph"),
        ([graphs[0], "picture.png"], labels, "graph 1: picture.png: no such file"),
        ([images[0], images[1][..., 0]], masks[:2], "give graphs or images of one kind"),
        (3, labels, "expected a list of graphs or images, got int"),
    ):
        with pytest.raises(DataError, match=message):
            MetricLearner(NormalizedCut(), lam=0.02).fit(Xs, ys)
    with pytest.raises(DataError, match=r"graph 0 has the features x0, x1, x2, expected L, a, b"):
        painter.predict(graphs)


@cases(
    ({"metric": "round"}, "metric must be one of"),
    ({"lam": 0.0}, "lam must be > 0, got 0"),
    ({"lam": "auto"}, "lam must be > 0, got 'auto'"),
    (
        {"solver": "adam"},
        r"solver must be a Solver or one of .*quasi-newton.*cccp.* got 'adam'",
    ),
    ({"solver": CuttingPlane()}, "CuttingPlane is for convex objectives.*use QuasiNewton"),
    ({"constraints": lambda B: []}, "normalized cuts take none"),
)
def test_impossible_settings_of_cuts_are_refused(rng, settings, message):
    graphs, labels = planted(rng, n=2)
    with pytest.raises(SettingsError, match=message):
        MetricLearner(NormalizedCut(), **settings).fit(graphs, labels)


test_impossible_settings_of_normalized_cut_are_refused = refused(
    SettingsError,
    lambda settings: NormalizedCut(**settings),
    ({"cluster_count": 2}, "cluster_count must be one of"),
    ({"objective_kind": "ratio"}, "objective_kind must be one of"),
    ({"oracle": "exact"}, "oracle must be one of"),
    ({"kappa": 0.0}, "kappa must be from 1e-12 to inf, got 0.0"),
    ({"objective_kind": "plain", "kappa": 0.5}, "from 0.5 on the best metric is zero"),
)


def test_a_kappa_that_hides_the_loss_is_warned_of():
    with pytest.warns(DataWarning, match="the loss has hardly any influence"):
        NormalizedCut(objective_kind="plain", kappa=1 / 115)


# ---- how it runs


STOPPING = Stopping(tol=1e-5, max_iter=60)


@pytest.fixture(scope="module")
def noisy():
    return planted(np.random.default_rng(5), n=9, noise=4.0)


class PowerCut(BaseException):
    """Ends a run without a word."""


def fitted(noisy, solver, oracle, **settings):
    learner = MetricLearner(NormalizedCut(oracle=oracle), solver=solver, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)  # rounded: may go on for long
        return learner.fit(noisy[0][:4], noisy[1][:4])


@pytest.fixture(scope="module")
def learned_in_turn(noisy):
    """What is learned of graphs one after the other, once by each solver and oracle."""
    return cache(partial(fitted, noisy))


@pytest.mark.parametrize("oracle", ["relaxed", "rounded"])
@pytest.mark.parametrize("solver", [QuasiNewton(STOPPING), CCCP(STOPPING)])
@pytest.mark.parametrize("settings", [{"backend": Threads(3)}, {"backend": Processes(2)}], ids=str)
def test_cuts_learned_on_workers_have_the_same_bits(
    noisy, learned_in_turn, solver, oracle, settings
):
    serial = learned_in_turn(solver, oracle)
    learner = fitted(noisy, solver, oracle, **settings)
    np.testing.assert_array_equal(learner.metric_.factor.T, serial.metric_.factor.T)
    assert column(learner.solution_, "upper") == column(serial.solution_, "upper")


@pytest.mark.parametrize("solver", [QuasiNewton(STOPPING), CCCP(STOPPING)])
def test_learning_of_cuts_resumes_from_a_file(noisy, solver, tmp_path):
    """Cut off after two iterations, it ends where a run without a break does."""
    Xs = noisy[0][:4]
    ys = noisy[1][:4]
    usual = MetricLearner(NormalizedCut(), solver=solver).fit(Xs, ys)

    def cut(entry):
        if entry.iteration == 2:
            raise PowerCut

    file = tmp_path / "state.npz"
    learner = MetricLearner(NormalizedCut(), solver=solver)
    with pytest.raises(PowerCut):
        learner.fit(Xs, ys, resume=file, callback=cut)
    assert file.exists()
    learner.fit(Xs, ys, resume=file)
    assert learner.converged_
    assert learner.n_iter_ > 3
    assert learner.solution_.upper == pytest.approx(usual.solution_.upper, rel=1e-4)
    assert learner.predict_partitions(noisy[0]) == usual.predict_partitions(noisy[0])
    again = MetricLearner(NormalizedCut(), solver=solver).fit(Xs, ys, resume=file)
    assert again.solution_.upper <= learner.solution_.upper * (1 + 1e-12)


def test_resume_is_not_for_labels_in_part(noisy, tmp_path):
    some = [np.where(np.arange(y.size) % 2, y, -1) for y in noisy[1][:3]]
    with pytest.raises(SettingsError, match="not for partial labels"):
        MetricLearner(NormalizedCut()).fit(noisy[0][:3], some, resume=tmp_path / "state")


# ---- photographs of horses


@pytest.fixture(scope="module")
def horses(shared_data):
    """Ten images to learn from, thirty others, as graphs of about 115 superpixels."""
    horses = read_images(shared_data / "weizmann_horse")[:40]
    images = [one.image for one in horses]
    labels = [one.labels for one in horses]
    graphs = [instance.side for instance in NormalizedCut().read(images)[0]]
    return (graphs[:10], labels[:10]), (graphs[10:], labels[10:])


def test_learned_cuts_of_horses_beat_the_grid(horses):
    learn, test = horses
    learner = MetricLearner(NormalizedCut(), lam=0.02).fit(*learn, baselines=["grid"])
    found = evaluate(learner, *test)
    assert found.scores["learned"]["loss"] < 1.2
    assert found.scores["grid"]["loss"] - found.scores["learned"]["loss"] > 0.4
    assert found.scores["learned"]["jaccard"] < found.scores["grid"]["jaccard"] - 0.1
    # A horse against the rest: one single part costs K - 1 = 1, and no cut is better by much.
    assert found.verdict.code == "blind"
    assert "one single part, whatever is in the image, may do as well" in str(found.verdict)
