"""Clustering with rows that have to be together or apart: feasible always, optimal mostly."""

import numpy as np
import pytest
from cases import refused

from structsvm import Clustering, MetricLearner, PartialLabels
from structsvm.errors import DataError, LearningError, OracleError
from structsvm.learner.steps import decode_with
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.oracles.exhaustive import all_partitions
from structsvm.oracles.spectral import SpectralOracle
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.solvers import CuttingPlane, Stopping


def random_links(rng: np.random.Generator, T: int) -> PartialLabels:
    def pairs(n: int) -> list[tuple[int, int]]:
        return [tuple(int(i) for i in rng.choice(T, 2, replace=False)) for _ in range(n)]

    return PartialLabels(
        must_link=pairs(int(rng.integers(0, 3))),
        cannot_link=pairs(int(rng.integers(0, 4))),
        n_clusters=int(rng.integers(2, 4)) if rng.random() < 0.5 else None,
    )


def agree(constraint: Constraint, labels: np.ndarray) -> np.ndarray:
    """Which rows of labels keep a constraint."""
    kept = np.isin(labels.max(axis=1) + 1, constraint.n_clusters or np.arange(1, 8))
    for group in constraint.together:
        kept &= (labels[:, list(group)] == labels[:, [group[0]]]).all(axis=1)
    for i, j in constraint.apart:
        kept &= labels[:, i] != labels[:, j]
    return kept


def test_linked_clustering_keeps_links_and_mostly_finds_the_optimum() -> None:
    """Hundreds of label sets, T = 7, plain and loss-augmented, by listing every partition."""
    partitions = all_partitions(7)
    matrices = np.array([EquivalenceMatrix.from_labels(p).dense() for p in partitions])
    oracle = ClusteringOracle(n_init=3, relaxation=False)
    cases = 0
    optimal = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        try:
            constraint = random_links(rng, 7).constraint(7, contiguous=False)
        except DataError:
            continue  # contradictory
        allowed = agree(constraint, partitions)
        truth = EquivalenceMatrix.from_labels(rng.integers(0, 3, 7)) if seed % 2 else None
        objective = TraceObjective(rng.standard_normal((7, 2)), truth, 2.0 * (seed % 2), -0.5)
        if not allowed.any():
            with pytest.raises(OracleError, match=r"found no clustering|cannot make"):
                oracle.maximize(objective, constraint)
            continue
        answer = oracle.maximize(objective, constraint)
        assert agree(constraint, answer.y.labels[None]).all(), seed
        best = np.einsum("nst,st->n", matrices[allowed], objective.dense()).max()
        assert answer.value <= best + 1e-9
        cases = cases + 1
        optimal = optimal + (answer.value >= best - 1e-9)
    assert cases > 230
    assert optimal > 0.9 * cases


def test_oracles_that_do_not_take_links_refuse_them() -> None:
    objective = TraceObjective(np.arange(8.0).reshape(4, 2))
    with pytest.raises(OracleError, match="does not take links"):
        SpectralOracle().ask(objective, Constraint(2, apart=((0, 1),)))
    with pytest.raises(OracleError, match="into 2 clusters that keeps 3 pairs"):
        ClusteringOracle(relaxation=False).maximize(
            objective, Constraint(2, apart=((0, 1), (1, 2), (0, 2)))
        )


@pytest.fixture(scope="module")
def table():
    """Three clusters in two of six columns; the others have more scatter."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 40)
    X = rng.standard_normal((120, 6)) * [1, 1, 4, 4, 4, 4]
    X[:, :2] += 5 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    return X, y


@pytest.mark.parametrize("kind", ["labels", "chunks", "links"])
@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_a_metric_is_learned_from_labels_chunks_and_links(table, kind, metric) -> None:
    X, y = table
    rng = np.random.default_rng(2)
    rows = rng.choice(120, 40, replace=False)
    if kind == "labels":
        labels = np.full(120, -1)
        labels[rows] = y[rows]
    elif kind == "chunks":
        chunks = np.full(120, -1)
        chunks[rows] = 2 * y[rows] + rng.integers(0, 2, 40)
        labels = PartialLabels(chunks=chunks, n_clusters=3)
    else:
        pairs = rows.reshape(-1, 2).tolist()
        labels = PartialLabels(
            must_link=[p for p in pairs if y[p[0]] == y[p[1]]],
            cannot_link=[p for p in pairs if y[p[0]] != y[p[1]]],
            n_clusters=3,
        )
    # One table in a full metric takes 90 to 210 rounds, which rounding decides: with AVX-512 others
    # than without. What is learned is the question here.
    solver = CuttingPlane(Stopping(max_iter=1000))
    learner = MetricLearner(Clustering(), metric=metric, solver=solver).fit([X], [labels])
    truth = EquivalenceMatrix.from_labels(y)
    (found,) = learner.predict_partitions([X], 3)
    (plain,) = decode_with(learner, learner.baselines_["untrained"].metric_, [X], 3)
    assert partition_loss(truth, found) < partition_loss(truth, plain)


def test_links_without_a_number_of_clusters_are_refused(table) -> None:
    X, _ = table
    links = PartialLabels(must_link=[(0, 1)], cannot_link=[(0, 100)])
    with pytest.raises(DataError, match=r"table 0: .*give n_clusters"):
        MetricLearner(Clustering()).fit([X], [links])


test_links_of_missing_samples_are_refused = refused(
    OracleError,
    lambda links: ClusteringOracle().ask(TraceObjective(np.eye(4)), Constraint(**links)),
    ({"together": ((0, -1),)}, "link of sample -1, and there are samples 0..3"),
    ({"together": ((0, 4),)}, "link of sample 4"),
    ({"apart": ((0, 9),)}, "link of sample 9"),
    ({"together": ((0, 1), (1, 2))}, "in two groups"),
)


def test_chunks_that_are_all_completed_into_one_cluster_teach_nothing() -> None:
    """That was told as weights of samples that are infinite, which nobody gave."""
    rng = np.random.default_rng(0)
    Xs = [rng.normal(size=(12, 3)) for _ in range(3)]
    chunks = PartialLabels(chunks=[0, 0, 1, 1, *[-1] * 8])
    learner = MetricLearner(Clustering(cluster_count="unknown"), metric="diagonal")
    with pytest.raises(LearningError, match="the best metric found is zero"):
        learner.fit(Xs, [chunks] * 3)
