"""Does a partition problem keep its contract: labels, training samples, and both oracles."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm import baselines
from structsvm.errors import DataError, DataWarning, OracleError, PluginError
from structsvm.oracles.exhaustive import all_partitions
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import LabelledSample, SearchedSample
from structsvm.partitions.oracle import Argmax, Constraint, Oracle, Quality
from structsvm.partitions.problem import MetricProblem, PartitionProblem, encode_all
from structsvm.partitions.samples import Standardizer, check_samples
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.quiet import without_warnings
from structsvm.regularizers import SquaredNorm
from structsvm.testing.separation import TOLERANCE, Sample, check_separation, random_weights

__all__ = ["check_partition_problem"]

Floats = NDArray[np.float64]

TINY = (1, 2, 4, 6)
"""Numbers of samples whose partitions are all looked at."""


def check_partition_problem(
    problem: PartitionProblem, Xs: Sequence[Any], ys: Sequence[Any], seed: int
) -> None:
    """As :func:`structsvm.testing.check_problem` says."""
    kit = Kit(problem)
    kit.check_settings()
    arrays, _ = check_samples(Xs, words=problem.words)
    kit.check_labels([X.shape[0] for X in arrays], ys)
    truths = encode_all(problem, arrays, ys)
    kit.check_training(truths)
    samples = [Standardizer("recording")(X) for X in arrays]
    penalty = baselines.untrained(problem.decoder, samples, truths).penalty
    samples = [X / np.sqrt(penalty) for X in samples]
    kit.check_samples(samples, truths)
    rng = np.random.default_rng(seed)
    _check_learning(problem, samples, truths, rng)
    for T in TINY:
        kit.check_tiny(rng, T, samples[0].shape[1])


@dataclass(frozen=True)
class Kit:
    """The checks of one problem."""

    problem: PartitionProblem

    def require(self, kept: bool, complaint: str) -> None:
        """Refuse the problem unless a promise was kept."""
        if not kept:
            raise PluginError(f"{type(self.problem).__name__}: {complaint}")

    def check_settings(self) -> None:
        """What the problem says of itself, and that it is a value."""
        problem = self.problem
        parameters = getattr(type(problem), "__dataclass_params__", None)
        self.require(
            parameters is not None and parameters.frozen,
            "decorate the class with @dataclass(frozen=True): settings do not change",
        )
        try:
            copied = pickle.loads(pickle.dumps(problem))
        except Exception as error:
            raise PluginError(
                f"{type(problem).__name__} cannot be pickled ({error}): keep plain settings, and "
                "define the class in a module"
            ) from error
        self.require(copied == problem, "a pickled copy is not equal: keep plain settings")
        self.require(isinstance(problem.decoder, Oracle), "decoder must be an Oracle")
        self.require(
            0 < problem.margin <= 1,
            f"margin is {problem.margin!r}: beyond (0, 1] the metric collapses",
        )
        shrinkage = problem.shrinkage
        self.require(
            shrinkage is None or 0 <= shrinkage <= 1, f"shrinkage is {shrinkage!r}: None or 0 to 1"
        )
        self.require(
            type(problem.seeded(1)) is type(problem),
            "seeded must return the same kind of problem: itself if nothing is drawn at random",
        )

    def check_labels(self, sizes: Sequence[int], ys: Sequence[Any]) -> None:
        """Labels to equivalence matrices and back."""
        for i, (T, y) in enumerate(zip(sizes, ys, strict=True)):
            M = self.problem.encode(y, T)
            self.require(isinstance(M, EquivalenceMatrix), f"encode returned {M!r} for sample {i}")
            self.require(M.n_samples == T, f"encode made {M.n_samples} of {T} samples, sample {i}")
            labels = self.problem.decode(M)
            self.require(
                isinstance(labels, np.ndarray)
                and labels.shape == (T,)
                and bool(np.issubdtype(labels.dtype, np.integer)),
                f"decode returned {labels!r}: return one integer for each of {T} samples",
            )
            self.require(
                self.problem.encode(labels, T) == M,
                f"encode(decode(M)) is another partition than M, sample {i}: write labels that "
                "encode reads",
            )
        self._check_refusals(sizes[0])

    def _check_refusals(self, T: int) -> None:
        for wrong, what in ((np.zeros((T, 2), int), "a table"), (np.full(T + 1, 0.5), "T + 1")):
            try:
                self.problem.encode(wrong, T)
            except DataError:
                continue
            except Exception as error:
                raise PluginError(
                    f"{type(self.problem).__name__}: encode raised {type(error).__name__} for "
                    f"{what} labels of {T} samples: raise DataError, and say what is expected"
                ) from error
            self.require(False, f"encode accepted {what} labels for {T} samples: raise DataError")

    def check_training(self, truths: Sequence[EquivalenceMatrix]) -> None:
        """What teaches nothing is refused; the truth agrees best with itself."""
        single = [EquivalenceMatrix.from_labels(np.zeros(M.n_samples, int)) for M in truths]
        with without_warnings(DataWarning):
            self.problem.check_training(truths)
            try:
                self.problem.check_training(single)
            except DataError:
                pass
            else:
                self.require(
                    False,
                    "check_training accepted samples of one single cluster each, from which "
                    "nothing can be learned: raise DataError",
                )
        for truth, other in zip(truths, single, strict=True):
            best, worse = self.problem.agreement(truth, truth), self.problem.agreement(truth, other)
            self.require(
                best > worse if truth != other else best == worse,
                f"agreement is {best!r} with the truth itself and {worse!r} with one single "
                "cluster: larger must be better, as for minus the loss",
            )

    def check_samples(self, Xs: Sequence[Floats], truths: Sequence[EquivalenceMatrix]) -> None:
        """Units and training samples."""
        unit = self.problem.unit(Xs, truths)
        self.require(unit is None or unit > 0, f"unit is {unit!r}: return None or a number > 0")
        if unit is not None:
            twice = self.problem.unit([*Xs, Xs[0]], [*truths, truths[0]])
            weights = np.ones(len(Xs))
            weights[0] = 2.0
            weighed = self.problem.unit(Xs, truths, weights)
            self.require(
                twice is not None and weighed is not None and bool(np.isclose(twice, weighed)),
                f"unit is {weighed!r} with a weight of 2, and {twice!r} with that sample twice",
            )
        for i, (X, M) in enumerate(zip(Xs, truths, strict=True)):
            before = X.copy()
            sample = self.problem.sample(X, M)
            self.require(isinstance(sample, LabelledSample), f"sample returned {sample!r}")
            y, expected = sample.truth, M.gram(X)
            self.require(
                sample.n_samples == M.n_samples and y.n_clusters == M.n_clusters,
                f"sample {i} has another truth than it was given",
            )
            scale = TOLERANCE * (1.0 + float(np.abs(expected).max()))
            self.require(
                np.allclose(sample.gram(y), expected, rtol=0, atol=scale)
                and np.allclose(sample.gram_diagonal(y), np.diag(expected), rtol=0, atol=scale),
                f"gram of the truth of sample {i} is not X^T M X, or gram_diagonal not its "
                "diagonal: joint features would be wrong",
            )
            self.require(np.array_equal(before, X), "sample modified X: copy before writing")

    def family(self, n_samples: int) -> list[EquivalenceMatrix]:
        """Every partition of a few samples that the problem has: those ``encode`` gives back."""
        found = []
        for row in all_partitions(n_samples):
            M = EquivalenceMatrix.from_labels(row.astype(np.int64))
            try:
                if self.problem.encode(M.labels, n_samples) == M:
                    found.append(M)
            except DataError:  # labels that are no partition of this family
                continue
        self.require(bool(found), f"encode accepts no partition of {n_samples} samples")
        return found

    def check_tiny(self, rng: np.random.Generator, n_samples: int, n_features: int) -> None:
        """Prediction and loss-augmented inference against all partitions of a few samples."""
        family = self.family(n_samples)
        self.require(
            not self.problem.contiguous or all(M.is_contiguous for M in family),
            "contiguous is True, but encode accepts clusters that are no segments: say False",
        )
        for scale in (0.3, 1.0, 3.0):
            X = scale * rng.standard_normal((n_samples, n_features))
            truth = family[int(rng.integers(len(family)))]
            for K in (None, truth.n_clusters):
                self._check_prediction(X, K, family)
            problem = MetricProblem(self.problem, "diagonal", n_features)
            w = problem.weight_space().project(rng.standard_normal(problem.weight_space().dim))
            self._check_loss_augmented(problem, w, X, truth, family)

    def _check_prediction(
        self, X: Floats, K: int | None, family: Sequence[EquivalenceMatrix]
    ) -> None:
        objective = TraceObjective(X, shift=0.0 if K is not None else -1.0)
        what = f"decoder, T={X.shape[0]}, K={K}"
        try:
            answer = self.problem.decoder.maximize(objective, Constraint(n_clusters=K))
        except OracleError as error:
            raise PluginError(
                f"{type(self.problem).__name__}: {what}: refused ({error}), though encode accepts "
                "such partitions: the decoder and encode speak of different families"
            ) from error
        self.require(isinstance(answer, Argmax), f"{what}: maximize returned {answer!r}")
        self.require(
            answer.y in family and K in (None, answer.y.n_clusters),
            f"{what}: found {answer.y.labels}, which is none of the partitions that encode gives "
            "back: the decoder and encode speak of different families",
        )
        reached = {M: objective.value(M) for M in family if K in (None, M.n_clusters)}
        best = max(reached, key=lambda M: reached[M])
        slack = TOLERANCE * (1.0 + float(np.sum(X**2)))
        bound = answer.value if answer.quality is Quality.EXACT else answer.upper_bound
        self.require(
            reached[best] <= bound + slack,
            f"{what}: found {answer.y.labels} of value {answer.value!r} ({answer.quality.value}), "
            f"but {best.labels} has {reached[best]!r}: see structsvm.testing.check_oracle",
        )

    def _check_loss_augmented(
        self,
        problem: MetricProblem,
        w: Floats,
        X: Floats,
        truth: EquivalenceMatrix,
        family: Sequence[EquivalenceMatrix],
    ) -> None:
        sample = self.problem.sample(X, truth)
        plain = SearchedSample(X, truth, self.problem.decoder)
        found = problem.separate(w, sample, sample.truth)
        known = problem.partition.known_clusters
        allowed = [M for M in family if not known or M.n_clusters == truth.n_clusters]

        def value(x: LabelledSample, y: Any) -> float:
            change = problem.joint_feature(x, y) - problem.joint_feature(x, x.truth)
            return problem.loss(x.truth, y) + float(w @ change)

        reached = {M: value(plain, M) for M in allowed}
        best = max(reached, key=lambda M: reached[M])
        slack = found.slack + TOLERANCE * (1.0 + float(np.abs(w).sum() * np.sum(X**2)))
        self.require(
            found.quality is Quality.HEURISTIC or reached[best] <= value(sample, found.y) + slack,
            f"separate of a training sample, T={X.shape[0]}, truth {truth.labels}: reached "
            f"{value(sample, found.y)!r} ({found.quality.value}), but {best.labels} has "
            f"{reached[best]!r}: the oracle of sample() searches other partitions than encode has",
        )


def _check_learning(
    problem: PartitionProblem,
    Xs: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    rng: np.random.Generator,
) -> None:
    """Loss-augmented inference of the samples given, for both kinds of metric."""
    for metric in ("diagonal", "full"):
        learning = MetricProblem(problem, metric, Xs[0].shape[1])
        risk = learning.risk(Xs, truths, SquaredNorm())
        weights = random_weights(learning, rng)
        for i, (x, y) in enumerate(zip(risk.xs, risk.ys, strict=True)):
            # A fixed price of clusters is part of what MetricProblem calls the loss.
            nonnegative = problem.known_clusters or problem.learns_penalty
            sample = Sample(learning, x, y, f"sample {i}, {metric} metric", nonnegative)
            check_separation(sample, weights)
