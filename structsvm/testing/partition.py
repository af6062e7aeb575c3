"""Does a partition problem keep its contract: labels, training samples, and both oracles."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm import baselines
from structsvm.errors import DataError, DataWarning, OracleError, PluginError, StructSVMError
from structsvm.oracles.exhaustive import all_partitions
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import LabelledSample, SearchedSample
from structsvm.partitions.oracle import Constraint, Oracle, Quality
from structsvm.partitions.problem import MetricProblem, PartitionProblem, encode_all
from structsvm.partitions.samples import Standardizer, check_samples
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.regularizers import SquaredNorm
from structsvm.support.plain import shown
from structsvm.support.quiet import without_warnings
from structsvm.testing._given import GivenSample
from structsvm.testing.oracle import check_oracle
from structsvm.testing.separation import TOLERANCE, Sample, check_separation, random_weights

__all__ = ["Report", "check_partition_problem"]

Floats = NDArray[np.float64]

TINY = (1, 2, 4, 6)
"""Numbers of samples whose partitions are all looked at."""

INSTANCES = 40
"""Questions to the decoder beside them, as ``check_oracle`` asks them."""


def check_partition_problem(
    problem: PartitionProblem, Xs: Sequence[Any], ys: Sequence[Any], seed: int
) -> Report:
    """As :func:`structsvm.testing.check_problem` says."""
    kit = Kit(problem)
    kit.check_settings()
    arrays, _ = check_samples(Xs, words=problem.words)
    kit.check_labels([X.shape[0] for X in arrays], ys)
    truths = encode_all(problem, arrays, ys)
    kit.check_training(truths)
    samples = [Standardizer("recording")(X) for X in arrays]
    penalty = kit.calibrated(samples, truths)
    samples = [X / np.sqrt(penalty) for X in samples]
    kit.check_samples(samples, truths)
    rng = np.random.default_rng(seed)
    _check_learning(problem, samples, truths, rng)
    enumerated = {T: kit.check_tiny(rng, T, samples[0].shape[1]) for T in TINY}
    given = [
        kit.check_given(rng, i, *pair) for i, pair in enumerate(zip(samples, truths, strict=True))
    ]
    kit.require(
        max(given) > 1 or max(enumerated.values()) > 1,
        "nothing was compared, because the family has one single partition of every sample that "
        "was looked at: give samples that can be partitioned in more than one way",
    )
    check_oracle(
        problem.decoder,
        contiguous=problem.contiguous,
        family=lambda T: [M.labels for M in kit.family(T) if M.labels is not None],
        negative_signs=False,
        processes=False,
        n_instances=INSTANCES,
        seed=seed,
    )
    return Report(enumerated, given)


@dataclass(frozen=True)
class Report:
    """What a problem that passed was compared with."""

    enumerated: Mapping[int, int] = field(default_factory=dict)
    """Number of samples to the number of partitions that the family has of them, all of which
    answers were compared with."""
    given: Sequence[int] = ()
    """For each sample that was handed in the number of partitions that answers were compared with,
    neighbours of the truth and of the answers."""

    @property
    def compared_nothing(self) -> bool:
        """Whether enumeration compared nothing: at most one partition of any tiny sample."""
        return bool(self.enumerated) and max(self.enumerated.values()) <= 1

    def __str__(self) -> str:
        """In words."""
        if not self.enumerated:
            return "every check passed"
        said = (
            f"every check passed: answers were compared with all {sum(self.enumerated.values())} "
            f"partitions of {', '.join(map(str, self.enumerated))} samples, and with "
            f"{', '.join(map(str, self.given))} partitions of the samples given"
        )
        if self.compared_nothing:
            said += (
                f"; nothing was compared by enumeration, because the family has at most one "
                f"partition of up to {max(self.enumerated)} samples: check settings, too, for "
                "which it has more"
            )
        return said


@dataclass(frozen=True)
class Kit:
    """The checks of one problem."""

    problem: PartitionProblem
    _families: dict[int, list[EquivalenceMatrix]] = field(default_factory=dict, compare=False)

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
        self.require(
            isinstance(problem.decoder, Oracle),
            f"decoder is {shown(problem.decoder)}: return an instance of an Oracle",
        )
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
            M = self._named("encode", i, y, T)
            self.require(
                isinstance(M, EquivalenceMatrix),
                f"encode returned {shown(M)} for sample {i}: return an EquivalenceMatrix, such as "
                "EquivalenceMatrix.from_labels(labels)",
            )
            self.require(M.n_samples == T, f"encode made {M.n_samples} of {T} samples, sample {i}")
            labels = self._named("decode", i, M)
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

    def _named(self, method: str, i: int, *arguments: Any) -> Any:
        """What a method returns; a PluginError where it fails otherwise than it may."""
        try:
            return getattr(self.problem, method)(*arguments)
        except StructSVMError:
            raise
        except Exception as error:
            raise PluginError(
                f"{type(self.problem).__name__}.{method} raised {type(error).__name__}: {error} "
                f"[sample {i}]"
            ) from error

    def calibrated(self, Xs: Sequence[Floats], truths: Sequence[EquivalenceMatrix]) -> float:
        """The calibrated penalty, for which the decoder is asked many times."""
        try:
            return baselines.untrained(self.problem.decoder, Xs, truths).penalty
        except OracleError as error:
            raise PluginError(
                f"{type(self.problem).__name__}: the decoder failed on the samples given, without "
                f"any constraint: {error}"
            ) from error

    def check_given(
        self, rng: np.random.Generator, i: int, X: Floats, truth: EquivalenceMatrix
    ) -> int:
        """The decoder, and what separates, on a sample that was handed in."""
        where = f"sample {i} of {truth.n_samples} samples"
        oracles = [self.problem.decoder]
        sample = self.problem.sample(X, truth)
        if isinstance(sample, SearchedSample) and sample.oracle not in oracles:
            oracles.append(sample.oracle)
        return max(GivenSample(self.problem, o, X, truth, where, rng).check() for o in oracles)

    def _check_refusals(self, T: int) -> None:
        wrongs = (
            (np.zeros((T, 2), int), "a table of labels"),
            (np.full(T + 1, 0.5), f"{T + 1} labels"),
        )
        for wrong, what in wrongs:
            try:
                self.problem.encode(wrong, T)
            except DataError:
                continue
            except Exception as error:
                raise PluginError(
                    f"{type(self.problem).__name__}: encode raised {type(error).__name__} for "
                    f"{what} of {T} samples: raise DataError, and say what is expected"
                ) from error
            self.require(False, f"encode accepted {what} for {T} samples: raise DataError")

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
        if n_samples in self._families:
            return self._families[n_samples]
        found = self._families.setdefault(n_samples, [])
        for row in all_partitions(n_samples):
            M = EquivalenceMatrix.from_labels(row.astype(np.int64))
            try:
                if self.problem.encode(M.labels, n_samples) == M:
                    found.append(M)
            except DataError:  # labels that are no partition of this family
                continue
        return found

    def check_tiny(self, rng: np.random.Generator, n_samples: int, n_features: int) -> int:
        """Prediction and loss-augmented inference against all partitions of a few samples.

        How many there are; where there is none, the decoder has nothing to answer.
        """
        family = self.family(n_samples)
        if not family:
            return 0
        self.require(
            not self.problem.contiguous or all(M.is_contiguous for M in family),
            "contiguous is True, but encode accepts clusters that are no segments: say False",
        )
        for scale in (0.3, 1.0, 3.0):
            X = scale * rng.standard_normal((n_samples, n_features))
            truth = family[int(rng.integers(len(family)))]
            takes_k = "n_clusters" in self.problem.decoder.takes
            for K in (None, truth.n_clusters) if takes_k else (None,):
                self._check_prediction(X, K, family)
            problem = MetricProblem(self.problem, "diagonal", n_features)
            w = problem.weight_space().project(rng.standard_normal(problem.weight_space().dim))
            self._check_loss_augmented(problem, w, X, truth, family)
        return len(family)

    def _check_prediction(
        self, X: Floats, K: int | None, family: Sequence[EquivalenceMatrix]
    ) -> None:
        objective = TraceObjective(X, shift=0.0 if K is not None else -1.0)
        what = f"decoder, T={X.shape[0]}, K={K}"
        try:
            answer = self.problem.decoder.ask(objective, Constraint(n_clusters=K))
        except OracleError as error:
            raise PluginError(
                f"{type(self.problem).__name__}: {what}: refused ({error}), though encode accepts "
                "such partitions: the decoder and encode speak of different families"
            ) from error
        self.require(
            answer.y in family and K in (None, answer.y.n_clusters),
            f"{what}: found {answer.y.labels}, which is none of the partitions that encode gives "
            "back: the decoder and encode speak of different families",
        )
        reached = {M: objective.value(M) for M in family if K in (None, M.n_clusters)}
        best = max(reached, key=lambda M: reached[M])
        slack = TOLERANCE * (1.0 + float(np.sum(X**2)))
        exact = answer.quality is Quality.EXACT
        bound = answer.value if exact else answer.upper_bound
        self.require(
            exact or answer.upper_bound >= answer.value - slack,
            f"{what}: found {answer.y.labels} of value {answer.value!r} with the upper bound "
            f"{answer.upper_bound!r}, which is smaller: return math.inf where no bound is known",
        )
        said = "exact" if exact else f"at most {bound!r} for any partition"
        self.require(
            reached[best] <= bound + slack,
            f"{what}: found {answer.y.labels} of value {answer.value!r} ({said}), "
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
            nonnegative = not learning.signed_losses
            where, name = f"sample {i}, {metric} metric", type(problem).__name__
            sample = Sample(learning, x, y, where, nonnegative, name)
            check_separation(sample, weights)
