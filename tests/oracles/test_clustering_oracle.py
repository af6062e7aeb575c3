"""The clustering oracle: Hartigan moves, Ward's tree, and how often the optimum is found."""

from dataclasses import dataclass

import naive
import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import AgglomerativeClustering

from structsvm.errors import OracleError, SettingsError
from structsvm.oracles._moves import improve
from structsvm.oracles._starts import (
    GroupedObjective,
    across,
    kmeans,
    ward,
    ward_tree,
    with_exactly,
)
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.oracles.exhaustive import ExhaustiveOracle
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problem import Quality


def random_objective(seed: int) -> TraceObjective:
    """Any shift, a truth or none."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 13))
    r = int(rng.integers(0, 4))
    truth = EquivalenceMatrix.from_labels(rng.integers(0, 4, T)) if seed % 3 else None
    return TraceObjective(
        rng.standard_normal((T, r)) + 3.0,
        truth,
        truth_weight=2.0,
        shift=float(rng.choice([-1.0, 0.0, 0.5])),
    )


def mixture(seed: int, T: int | None = None) -> tuple[np.ndarray, EquivalenceMatrix]:
    """2 to 4 groups, overlapping or apart, and their labels."""
    rng = np.random.default_rng(seed)
    T = T or int(rng.integers(7, 10))
    r = int(rng.integers(1, 4))
    K = int(rng.integers(2, 5))
    labels = np.concatenate((np.arange(K), rng.integers(0, K, T - K)))
    centers = rng.choice([0.0, 1.5, 4.0]) * rng.standard_normal((K, r))
    Z = (rng.standard_normal((T, r)) + centers[labels]) * rng.choice([0.5, 1.0, 2.0])
    return Z, EquivalenceMatrix.from_labels(labels)


@dataclass(frozen=True)
class Task:
    """One of the questions a learner or a user asks."""

    name: str
    augmented: bool
    known: bool
    optimal: float
    """At least this part of the answers is optimal."""
    missed: float
    """At most this part of what can be gained is missed, on average."""

    def ask(self, seed: int) -> tuple[TraceObjective, Constraint, float]:
        """The objective, the constraint and a value that is easily reached."""
        Z, truth = mixture(seed)
        K = truth.n_clusters if self.known else None
        if self.augmented:
            objective = TraceObjective(Z, truth, 2.0, 0.0 if self.known else -0.5)
            return objective, Constraint(n_clusters=K), objective.value(truth)
        objective = TraceObjective(Z, shift=0.0 if self.known else -1.0)
        together = float(np.sum(Z.sum(axis=0) ** 2) / len(Z)) + objective.shift
        return objective, Constraint(n_clusters=K), together


TASKS = (
    Task("decoding, K known", False, True, 0.97, 0.002),
    Task("decoding, K unknown", False, False, 0.95, 0.004),
    Task("loss-augmented, K known", True, True, 0.95, 0.006),
    Task("loss-augmented, K unknown", True, False, 0.96, 0.004),
)


CASES = 200


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_clustering_oracle_mostly_finds_the_enumerated_optimum(task: Task) -> None:
    """Cases with every partition looked at: bounds hold, and few optima are missed."""
    optimal = 0
    missed = []
    for seed in range(1000, 1000 + CASES):
        objective, constraint, easy = task.ask(seed)
        best = ExhaustiveOracle().maximize(objective, constraint).value
        answer = ClusteringOracle().maximize(objective, constraint)
        scale = float(np.sum(objective.Z**2)) + 1.0
        assert answer.value == objective.value(answer.y)
        assert answer.value <= best + 1e-11 * scale <= answer.upper_bound + 2e-11 * scale
        assert answer.quality is Quality.HEURISTIC
        optimal += answer.value >= best - 1e-9 * scale
        missed.append((best - answer.value) / max(best - easy, 1e-3 * scale))
    assert optimal >= CASES * task.optimal
    assert np.mean(missed) <= task.missed


@pytest.mark.parametrize("fixed", [True, False])
def test_hartigan_moves_are_those_of_the_plain_twin(fixed: bool) -> None:
    for seed in range(120):
        objective = random_objective(seed)
        T = objective.n_samples
        rng = np.random.default_rng(seed)
        start = EquivalenceMatrix.from_labels(rng.integers(0, 4, T))
        order = rng.permutation(T)
        grouped = GroupedObjective.of(objective)
        end = improve(grouped, start.labels, fixed, order, 50)
        twin = naive.hartigan(objective.dense(), start.labels, order, fixed)
        value, expected = (naive.value(objective.dense(), labels) for labels in (end, twin))
        assert value == pytest.approx(expected, abs=1e-9), seed
        gained = grouped.value(end) - grouped.value(start.labels)
        assert gained == pytest.approx(value - objective.value(start), abs=1e-9)
        assert not fixed or end.max() + 1 == start.n_clusters


def test_ward_tree_is_that_of_scipy_and_of_the_plain_twin() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        L = int(rng.integers(2, 50))
        r = int(rng.integers(1, 5))
        points = rng.standard_normal((L, r))
        weights = rng.integers(1, 6, L)
        tree = ward_tree(points, np.ones(L))
        reference = linkage(points, "ward")
        assert np.allclose(tree.costs, reference[:, 2] ** 2 / 2)
        weighted = ward_tree(points, weights)
        for K in {1, 2, L // 2 + 1, L}:
            assert tree.cut(K).max() + 1 == K
            cut = EquivalenceMatrix.from_labels(cut_tree(reference, K).ravel())
            assert EquivalenceMatrix.from_labels(tree.cut(K)) == cut
            found = weighted.cut(K)
            twin = naive.ward(points, weights, K)
            assert EquivalenceMatrix.from_labels(found) == EquivalenceMatrix.from_labels(twin)


def test_ward_level_is_the_cut_at_the_price_of_a_cluster() -> None:
    """scikit-learn's threshold ``sqrt(2 lambda_0)`` stops where a merge costs ``lambda_0``."""
    for seed in range(40):
        Z = mixture(seed, T=40)[0]
        price = 0.8
        grouped = GroupedObjective.of(TraceObjective(Z, shift=-price))
        reference = AgglomerativeClustering(
            n_clusters=None, distance_threshold=np.sqrt(2 * price), linkage="ward"
        ).fit_predict(Z)
        found = EquivalenceMatrix.from_labels(ward(grouped, None, 0))
        assert found == EquivalenceMatrix.from_labels(reference)


def test_ward_level_is_the_best_level_of_a_loss_augmented_objective() -> None:
    for seed in range(40):
        Z, truth = mixture(seed, T=20)
        grouped = GroupedObjective.of(TraceObjective(Z, truth, 2.0, -0.1))
        tree = ward_tree(grouped.Z, np.ones(20))
        best = max(grouped.value(tree.cut(K)) for K in range(1, 21))
        assert grouped.value(ward(grouped, None, 0)) == pytest.approx(best, abs=1e-10)


def test_the_clustering_oracle_finds_clusters_of_more_samples_than_leaves() -> None:
    """Beyond 8,000 samples Ward's tree stands on a coarse K-means."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 6, 9_000)
    angle = 2 * np.pi * labels / 6
    Z = np.column_stack((np.cos(angle), np.sin(angle))) + 0.05 * rng.standard_normal((9_000, 2))
    truth = EquivalenceMatrix.from_labels(labels)
    answer = ClusteringOracle(relaxation=False).maximize(TraceObjective(Z, shift=-30.0))
    assert answer.y == truth


def test_across_overlaps_with_the_truth_as_little_as_can_be() -> None:
    truth = np.repeat(np.arange(3), 8)
    M, other = (EquivalenceMatrix.from_labels(labels) for labels in (truth, across(truth, 4)))
    assert other.n_clusters == 4
    assert M.inner(other) == pytest.approx(1.0)


@pytest.mark.parametrize("K", [1, 2, 5, 9, 12])
def test_exactly_k_clusters_whatever_the_data(K: int) -> None:
    rng = np.random.default_rng(K)
    T = 12
    truth = EquivalenceMatrix.from_labels(rng.integers(0, 3, T))
    for Z in (
        rng.standard_normal((T, 2)),
        np.repeat(rng.standard_normal((3, 2)), 4, axis=0),
        np.ones((T, 2)),
        np.zeros((T, 0)),
    ):
        for objective in (TraceObjective(Z), TraceObjective(Z, truth, 2.0, -1.0)):
            for oracle in (ClusteringOracle(), ClusteringOracle(relaxation=False, max_sweeps=0)):
                answer = oracle.maximize(objective, Constraint(n_clusters=K))
                assert answer.y.n_clusters == K
                assert answer.y.sizes.min() >= 1
        assert np.unique(kmeans(Z, K, 2, 0)).size == K
        for start in (np.zeros(T, dtype=np.int64), np.arange(T), truth.labels):
            assert np.unique(with_exactly(Z, start, K)).tolist() == list(range(K))


def test_a_null_metric_is_answered_by_price_and_loss_alone() -> None:
    truth = EquivalenceMatrix.from_labels(np.repeat(np.arange(3), 4))
    nothing = np.zeros((12, 0))
    oracle = ClusteringOracle()
    assert oracle.maximize(TraceObjective(nothing, shift=-1.0)).y.n_clusters == 1
    assert oracle.maximize(TraceObjective(nothing, shift=1.0)).y.n_clusters == 12
    augmented = oracle.maximize(TraceObjective(nothing, truth, 2.0), Constraint(n_clusters=4))
    assert augmented.value == pytest.approx(-2.0)  # Tr(M M_i) = 1: only the mean is shared
    assert augmented.upper_bound == pytest.approx(-2.0)


def test_further_starts_can_only_help() -> None:
    """An optimum handed in as a start comes back, also when its number of clusters is wrong."""
    for seed in range(60):
        objective, constraint, _ = TASKS[2].ask(seed)
        best = ExhaustiveOracle().maximize(objective, constraint)
        poor = ClusteringOracle(n_init=1, max_sweeps=1, relaxation=False)
        answer = poor.maximize_from(objective, [best.y.labels], constraint)
        assert answer.value == pytest.approx(best.value, abs=1e-9)
        others = [np.zeros(objective.n_samples, dtype=np.int64), np.arange(objective.n_samples)]
        assert poor.maximize_from(objective, others, constraint).y.n_clusters == (
            constraint.n_clusters
        )


def test_settings_of_the_clustering_oracle_out_of_range_are_refused() -> None:
    with pytest.raises(SettingsError, match="n_init must be an integer >= 1, got 0"):
        ClusteringOracle(n_init=0)
    with pytest.raises(SettingsError, match="max_sweeps must be an integer >= 0, got -1"):
        ClusteringOracle(max_sweeps=-1)


@pytest.mark.parametrize("n", [3, 5])
def test_a_start_of_another_length_is_refused(n: int) -> None:
    message = f"a start labels {n} samples, the objective has 4"
    with pytest.raises(OracleError, match=message):
        ClusteringOracle().maximize_from(TraceObjective(np.ones((4, 1))), [np.zeros(n, int)])
