"""Clustering: partitions of the rows of a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from structsvm.data import TABLES, Instance, label_values, map_arrays, refuse_missing
from structsvm.errors import DataError
from structsvm.oracles import ClusteringOracle, SemidefiniteOracle, SpectralOracle
from structsvm.oracles._starts import ward_levels
from structsvm.oracles.spectral import CompressedData, CompressedProjector, compress
from structsvm.partitions import (
    EquivalenceMatrix,
    Examples,
    LabelledInstance,
    Oracle,
    PartitionProblem,
    SearchedInstance,
    Traits,
    adjusted_rand_index,
    partition_loss,
)
from structsvm.partitions.metric import Calibration, in_metric, penalties_for
from structsvm.partitions.training_instance import Scoring
from structsvm.partitions.traits import refuse_kappa
from structsvm.problem import Quality, Separation
from structsvm.support import Floats, refuse_bad_seed, refuse_below, refuse_unlisted

ORACLE_NAMES = ("auto", "relaxed", "rounded", "semidefinite")
FEW_CLUSTERS = 3
"""Clusters up to which "auto" relaxes; from 4 on the relaxation is too loose to learn from."""
LEARNING_SWEEPS = 20  # most sweeps of Hartigan moves from each start while learning


@dataclass(frozen=True)
class Clustering(PartitionProblem):
    """Cluster the rows of tables like labelled rows.

    Lajugie et al., section "K-means clustering": partitions ``M`` in M_K (number of clusters known)
    or in M (unknown). A table with its labels is one training instance, and one table is enough.

    Parameters
    ----------
    cluster_count : {"known", "unknown"}
        Whether the number of clusters is given to learning. Prediction works with and without a
        number in either case.
    oracle : {"auto", "relaxed", "rounded", "semidefinite"}
        How learning searches for the most violated labelling. "relaxed" is the spectral relaxation
        of the compressed table, whose cost does not depend on T and for which bounds are certified.
        "rounded" searches partitions: the lower bound is certified, the upper one the best value
        found. "semidefinite" is exact if its relaxation is tight, for at most 100 rows. "auto"
        relaxes tables of up to 3 clusters and rounds the others.
    penalty : {"learned", "fixed"}
        For an unknown number of clusters: learn the price of a cluster together with the metric, or
        fix it as in the paper.
    kappa : float from 1e-12 to 1
        The weight of the loss.
    n_init : int
        Restarts of K-means++ when decoding.
    random_state : int
        Seed of K-means and of the order in which rows are visited.

    Examples
    --------
    >>> from structsvm.problems import Clustering
    >>> Clustering().traits.words.whole
    'table'
    """

    needs: ClassVar[Mapping[str, str]] = {"decoder": "training_instance", "partition": "calibrate"}

    cluster_count: str = "known"
    oracle: str = "auto"
    penalty: str = "learned"
    kappa: float = 1.0
    n_init: int = 10
    random_state: int = 0

    def __post_init__(self) -> None:
        refuse_unlisted("cluster_count", self.cluster_count, ("known", "unknown"))
        refuse_unlisted("oracle", self.oracle, ORACLE_NAMES)
        refuse_unlisted("penalty", self.penalty, ("learned", "fixed"))
        refuse_kappa(self.kappa)
        refuse_below(1, "n_init", self.n_init)
        refuse_bad_seed(self.random_state)

    @property
    def traits(self) -> Traits:
        """Clusters of rows, whose number is given or priced; full whitening overfits few rows."""
        return Traits(
            words=TABLES,
            given_k=self.cluster_count == "known",
            learns_price=self.penalty == "learned",
            kappa=self.kappa,
            shrinkage=0.5,
            menu="structsvm.model_selection.tables:Tables",
        )

    def decoder(self, instance: Instance) -> Oracle:
        return ClusteringOracle(
            n_init=self.n_init, relaxation=False, random_state=self.random_state
        )

    def training_instance(self, instance: Instance, truth: EquivalenceMatrix) -> LabelledInstance:
        """A table compressed once for all calls, or searched for partitions in each."""
        kind = self.oracle
        if kind == "auto":
            kind = "relaxed" if truth.n_clusters <= FEW_CLUSTERS else "rounded"
        if kind == "relaxed":
            data, _ = compress(instance.X, truth)
            return CompressedInstance(data, CompressedProjector(data, data.U))
        if kind == "rounded":
            search = ClusteringOracle(1, LEARNING_SWEEPS, random_state=self.random_state)
            return SearchedInstance(instance.data, truth, search)
        semidefinite = SemidefiniteOracle(random_state=self.random_state)
        return SearchedInstance(instance.data, truth, semidefinite)

    def encode(self, y: Any, instance: Instance) -> EquivalenceMatrix:
        """Return the partition of T rows from a label for each, numbers or names."""
        n_samples = instance.n_samples
        values = label_values(y)
        if values.ndim != 1 or values.size != n_samples:
            raise DataError(
                f"labels of shape {values.shape} for {n_samples} rows: give one to each"
            )
        refuse_missing(values, "row")
        return EquivalenceMatrix.from_labels(values)

    def unit(self, data: Examples) -> float | None:
        """With K known, the scatter within the true clusters for each change of cluster."""
        if self.traits.given_k:
            changes = [(M.n_clusters - 1) / M.n_samples for M in data.truths]
            scatters = map_arrays("measuring the tables", _scatter, data.arrays, data.truths)
            scatter = np.average(scatters, axis=0, weights=data.weights)
            total, within = scatter / np.average(changes, weights=data.weights)
            return float(max(within, 1e-6 * total))
        return None

    def calibrate(self, factor: Floats, data: Examples) -> Calibration:
        """One Ward tree for each table, cut at every price; the best by adjusted Rand index.

        Not by the loss: one single cluster pays K - 1, often less than any other partition.
        """
        Zs = in_metric(data.instances, factor)
        penalties = penalties_for(Zs, data.truths, data.weights)
        if penalties is None:
            return super().calibrate(factor, data)
        task = partial(_tree_curves, penalties=penalties, seed=self.random_state)
        curves = map_arrays("calibrating the penalty", task, Zs, data.truths)
        losses, agreements = np.average(curves, axis=0, weights=data.weights)
        return Calibration(penalties, losses, criterion=-agreements)

    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """Minus the loss for as many clusters as the truth, else the adjusted Rand index.

        One single cluster has a loss of K - 1, often less than any other partition. Of two clusters
        that is 1, which a metric that finds 85 % of the rows has as well: the index is taken there.
        """
        if self.traits.given_k and truth.n_clusters != 2:
            return super().agreement(truth, guess)
        return adjusted_rand_index(truth, guess)


@dataclass(frozen=True, eq=False)
class CompressedInstance(LabelledInstance):
    """A table rotated into as few rows as it has directions, separated by the relaxation."""

    data: CompressedData
    truth: CompressedProjector

    def gram(self, y: CompressedProjector) -> Floats:
        projected = y.V.T @ self.data.X
        return np.asarray(projected.T @ projected)

    def gram_diagonal(self, y: CompressedProjector) -> Floats:
        projected = y.V.T @ self.data.X
        return np.asarray(np.einsum("kp,kp->p", projected, projected))

    def separate(self, scoring: Scoring, given_k: bool) -> Separation:
        """Find the most violated relaxed labelling by one small eigendecomposition, whatever T."""
        K = self.truth.n_clusters if given_k else None
        terms = scoring.B, 2 * scoring.kappa, scoring.kappa - scoring.price
        M, _ = SpectralOracle().maximize_compressed(self.data, *terms, K)
        return Separation(M, 0.0, Quality.RELAXATION)


def _tree_curves(Z: Floats, truth: EquivalenceMatrix, penalties: Floats, seed: int) -> Floats:
    """Loss and adjusted Rand index of the partition by Ward's tree at each price, (2, n)."""
    levels = ward_levels(Z - Z.mean(axis=0), penalties, seed)
    scores: dict[int, tuple[float, float]] = {}  # by the id of the labels, which prices share
    for labels in levels:
        if id(labels) not in scores:
            guess = EquivalenceMatrix.from_labels(labels)
            scores[id(labels)] = (partition_loss(truth, guess), adjusted_rand_index(truth, guess))
    return np.array([scores[id(labels)] for labels in levels]).T


def _scatter(X: Floats, M: EquivalenceMatrix) -> tuple[float, float]:
    """The scatter of an instance, in all and within the clusters of M, per sample."""
    deviation = X - X.mean(axis=0)
    total = float(np.sum(deviation**2))
    between = float(M.gram_diagonal(deviation).sum())
    return total / M.n_samples, max(0.0, total - between) / M.n_samples
