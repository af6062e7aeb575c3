"""Does a partition problem keep its contract: labels, training samples, and both oracles."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structsvm.data.sample import Sample
from structsvm.data.samples import STANDARDIZE, Standardizer, centred
from structsvm.errors import DataError, DataWarning, OracleError, PluginError, StructSVMError
from structsvm.oracles.exhaustive import all_partitions, all_segmentations
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import LabelledSample, SearchedSample
from structsvm.partitions.metric import Metric
from structsvm.partitions.objective import MetricObjective
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint, Oracle, Quality
from structsvm.partitions.problem import PartitionProblem, read_samples
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.partitions.traits import Traits
from structsvm.problem import CompositeRisk, RegularizedRisk
from structsvm.regularizers import SquaredNorm
from structsvm.support.arrays import Floats
from structsvm.support.contract import culprit
from structsvm.support.plain import shown
from structsvm.support.quiet import without_warnings
from structsvm.support.unchanged import Snapshot
from structsvm.testing._composite import check_composite
from structsvm.testing._given import GivenSample
from structsvm.testing.oracle import check_oracle
from structsvm.testing.separation import TOLERANCE, Asked, check_separation, random_weights

TINY = (1, 2, 4, 6)
"""Numbers of items whose partitions are all looked at."""

OTHERS = 20
"""One of so many partitions of more items is looked at to see that it is no segmentation."""

INSTANCES = 40
"""Questions to the decoder beside them, as ``check_oracle`` asks them."""


def check_partition_problem(
    problem: PartitionProblem, Xs: Sequence[Any], ys: Sequence[Any], seed: int
) -> Report:
    """Check a partition problem, as :func:`structsvm.testing.check_problem` says."""
    kit, rng = Kit(problem), np.random.default_rng(seed)
    kit.check_settings()
    samples = kit.read(Xs)
    kit.check_decoders(samples)
    truths = kit.check_labels(samples, ys)
    kit.check_training(truths)
    standardizer = Standardizer.fit(
        problem.traits.standardize, [sample.X for sample in samples], np.ones(len(samples))
    )
    samples = [x.with_features(centred(standardizer(x.X))) for x in samples]
    kit.check_restriction(rng, samples)
    untrained = kit.check_calibration(samples, truths)
    kit.check_unit(samples, truths)
    standard = samples
    units = problem.learning.units(samples, truths, untrained, None)
    samples = [sample.with_features(units(sample.X)) for sample in samples]
    kit.check_objectives(rng, samples, truths)
    if not problem.traits.convex:
        kit.check_predictions(standard, truths, untrained)
        return Report()
    kit.check_samples(samples, truths)
    tiny = {T: kit.tiny(samples, T) for T in TINY}
    enumerated = {T: kit.check_tiny(rng, x) for T, x in tiny.items() if x is not None}
    given = [
        kit.check_given(rng, i, *pair) for i, pair in enumerate(zip(samples, truths, strict=True))
    ]
    kit.require(
        max(given) > 1 or max(enumerated.values(), default=0) > 1,
        "nothing was compared, because the family has one single partition of every sample that "
        "was looked at: give samples that can be partitioned in more than one way",
    )
    kit.check_small(samples, seed)
    kit.check_predictions(standard, truths, untrained)
    return Report(enumerated, given)


@dataclass(frozen=True)
class Report:
    """What a problem that passed was compared with."""

    enumerated: Mapping[int, int] = field(default_factory=dict)
    """Number of items to the number of partitions that the family has of them, all of which
    answers were compared with."""
    given: Sequence[int] = ()
    """For each sample that was handed in the number of partitions that answers were compared with,
    neighbours of the truth and of the answers."""
    unlisted: bool = False
    """Whether nobody said which labellings there are."""

    @property
    def compared_nothing(self) -> bool:
        return bool(self.enumerated) and max(self.enumerated.values()) <= 1

    def __str__(self) -> str:
        """In words."""
        if self.unlisted:
            return (
                "every check passed: answers were compared with each other and with the truth, not "
                "with all labellings: pass labellings=, a function that lists those of a sample"
            )
        if not self.given:
            return "every check passed"
        said = "every check passed: answers were compared with "
        if self.enumerated:
            said += (
                f"all {sum(self.enumerated.values())} partitions of "
                f"{', '.join(map(str, self.enumerated))} samples, and with "
            )
        said += f"{', '.join(map(str, self.given))} partitions of the samples given"
        if not self.enumerated:
            said += "; none of them could be made smaller for enumeration"
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
    _tiny: dict[int, Sample | None] = field(default_factory=dict, compare=False)
    _families: dict[int, list[EquivalenceMatrix]] = field(default_factory=dict, compare=False)

    def require(self, kept: bool, complaint: str) -> None:
        """Check one promise of the problem."""
        if not kept:
            raise PluginError(f"{self.name}: {complaint}")

    @property
    def name(self) -> str:
        return type(self.problem).__name__

    def check_settings(self) -> None:
        """Check what the problem says of itself, and that it is a value."""
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
                f"{self.name} cannot be pickled ({error}): keep plain settings, and define the "
                "class in a module"
            ) from error
        self.require(
            _same_settings(copied, problem), "a pickled copy is not equal: keep plain settings"
        )
        traits: Any = problem.traits
        self.require(
            isinstance(traits, Traits),
            f"traits returned {shown(traits)}: return an instance of Traits",
        )
        shrinkage = traits.shrinkage
        self.require(
            shrinkage is None or 0 <= shrinkage <= 1, f"shrinkage is {shrinkage!r}: None or 0 to 1"
        )
        self.require(
            traits.standardize in STANDARDIZE,
            f"standardize is {traits.standardize!r}: one of {STANDARDIZE}",
        )

    def read(self, Xs: Sequence[Any]) -> list[Sample]:
        """The samples, as ``read`` makes them."""
        before = Snapshot(Xs)
        samples, _ = read_samples(self.problem, Xs, None, None)
        self.require(before.still_holds(Xs), "read modified its input: copy before writing")
        for i, sample in enumerate(samples):
            X = sample.X
            self.require(
                not np.isinf(X).any() and X.shape[1] == samples[0].n_features,
                f"read made X of sample {i} {shown(X)}: an array (T, P) of finite floats, with "
                "as many features as the others",
            )
        return samples

    def check_decoders(self, samples: Sequence[Sample]) -> None:
        """Each sample has an oracle, if the problem has any, which takes its missing values."""
        convex = self.problem.traits.convex
        for i, sample in enumerate(samples):
            decoder = self.problem.decoder(sample) if convex else None
            self.require(
                not sample.has_gaps or (decoder is not None and decoder.takes_gaps),
                f"read left missing values (NaN) in sample {i}: refuse or fill them, unless the "
                "decoder takes them, takes_gaps",
            )

    def check_labels(self, samples: Sequence[Sample], ys: Sequence[Any]) -> list[Any]:
        """Check that labels become equivalence matrices, and these the same labels."""
        if len(ys) != len(samples):
            raise PluginError(f"give as many labels as samples, got {len(ys)} for {len(samples)}")
        truths = []
        own = type(self.problem).read is not PartitionProblem.read
        for i, (sample, y) in enumerate(zip(samples, ys, strict=True)):
            T = sample.n_samples
            self.problem.learning.known_labels(y, sample)
            truth = self._named("encode", i, y, sample)
            M = self.partition(truth)
            self.require(
                isinstance(M, EquivalenceMatrix),
                f"encode returned {shown(truth)} for sample {i}: return an EquivalenceMatrix, such "
                "as EquivalenceMatrix.from_labels(labels)",
            )
            self.require(M.n_samples == T, f"encode made {M.n_samples} of {T} samples, sample {i}")
            labels = self._named("decode", i, M, sample)
            self.require(
                isinstance(labels, np.ndarray)
                and (own or labels.shape == (T,))
                and bool(np.issubdtype(labels.dtype, np.integer)),
                f"decode returned {labels!r}: return one integer for each of {T} samples",
            )
            self.require(
                self.partition(self._named("encode", i, labels, sample)) == M,
                f"encode(decode(M)) is another partition than M, sample {i}: write labels that "
                "encode reads",
            )
            truths.append(truth)
        self._check_refusals(samples[0])
        return truths

    def partition(self, truth: Any) -> Any:
        """The partition of labels, of which a problem that is not convex may know more."""
        if self.problem.traits.convex or isinstance(truth, EquivalenceMatrix):
            return truth
        return getattr(truth, "M", truth)

    def _named(self, method: str, i: int | None, *arguments: Any) -> Any:
        """What a method returns, which leaves alone what it is given.

        A PluginError where it fails otherwise than it may, or writes to its input.
        """
        before = Snapshot(arguments)
        try:
            answer = getattr(self.problem, method)(*arguments)
        except StructSVMError as error:
            if i is None:
                raise
            raise type(error)(f"sample {i}: {error}") from error
        except Exception as error:
            where = "" if i is None else f" [sample {i}]"
            called = culprit(error) or f"{self.name}.{method}"
            raise PluginError(f"{called} raised {type(error).__name__}: {error}{where}") from error
        self.require(
            before.still_holds(arguments),
            f"{method} modified its input{'' if i is None else f', of sample {i}'}: copy before "
            "writing",
        )
        return answer

    def _check_refusals(self, sample: Sample) -> None:
        T = sample.n_samples
        wrongs = (
            (np.zeros((T, 2), int), "a table of labels"),
            (np.full(T + 1, 0.5), f"{T + 1} labels"),
        )
        for wrong, what in wrongs:
            try:
                self.problem.encode(wrong, sample)
            except DataError:
                continue
            except Exception as error:
                raise PluginError(
                    f"{self.name}: encode raised {type(error).__name__} for {what} of {T} samples: "
                    "raise DataError, and say what is expected"
                ) from error
            self.require(False, f"encode accepted {what} for {T} samples: raise DataError")

    def check_training(self, truths: Sequence[Any]) -> None:
        single = [EquivalenceMatrix.from_labels(np.zeros(y.n_samples, int)) for y in truths]
        with without_warnings(DataWarning):
            self.problem.learning.check(truths)
            try:
                self.problem.learning.check(single)
            except DataError:
                pass
            else:
                self.require(
                    False,
                    "learning.check accepted samples of one single cluster each, from which "
                    "nothing can be learned: raise DataError",
                )
        for truth, other in zip(truths, single, strict=True):
            best, worse = (
                self.problem.comparison.agreement(truth, truth),
                self.problem.comparison.agreement(truth, other),
            )
            self.require(
                best > worse if self.partition(truth) != other else best == worse,
                f"agreement is {best!r} with the truth itself and {worse!r} with one single "
                "cluster: larger must be better, as for minus the loss",
            )

    def check_restriction(self, rng: np.random.Generator, samples: Sequence[Sample]) -> None:
        """Check that some of the items of a sample are a sample, side information included."""
        for i, sample in enumerate(samples):
            T = sample.n_samples
            rows = np.sort(rng.permutation(T)[: (T + 1) // 2])
            try:
                part = sample.at(rows)
            except StructSVMError:
                continue  # labels in part are refused, then
            self.require(
                isinstance(part, Sample) and np.array_equal(part.X, sample.X[rows], equal_nan=True),
                f"at returned {shown(part)} for {rows.size} of the items of sample {i}: "
                "return a Sample of their features, in the order of the rows",
            )
            if part.side is None or not self.problem.traits.convex:
                continue
            try:
                self.problem.decoder(part).ask(TraceObjective(part.X, shift=-1.0, gaps=True))
            except OracleError as error:
                raise PluginError(
                    f"{self.name}: the decoder failed on what at made of {rows.size} items "
                    f"of sample {i} ({error}): at has to cut the side information down to "
                    "these items, or to raise DataError"
                ) from error

    def check_calibration(self, samples: Sequence[Sample], truths: Sequence[Any]) -> Metric:
        """Check the price without learning: a weight of 2 counts as a sample that is there
        twice.
        """
        problem = self.problem
        try:
            factor = problem.learning.untrained_factor(samples)
            found = problem.learning.calibrate(factor, samples, truths)
        except OracleError as error:
            raise PluginError(
                f"{self.name}: the decoder failed on the samples given, without any constraint: "
                f"{error}"
            ) from error
        metric = found.metric(factor)
        price = metric.price
        self.require(
            price is None or bool(np.isfinite(price)), f"calibrate found the price {price!r}"
        )
        few, known = samples[:2], truths[:2]
        weights = np.array([2.0, 1.0])[: len(few)]
        twice = problem.learning.calibrate(factor, [*few, few[0]], [*known, known[0]]).metric(
            factor
        )
        weighed = problem.learning.calibrate(factor, few, known, weights).metric(factor)
        self.require(
            twice.n_clusters == weighed.n_clusters
            and (twice.price is None) == (weighed.price is None)
            and bool(np.isclose(twice.price or 0.0, weighed.price or 0.0, rtol=1e-6)),
            f"calibrate finds the price {weighed.price!r} with a weight of 2, and {twice.price!r} "
            "with that sample twice",
        )
        return metric

    def check_predictions(
        self, samples: Sequence[Sample], truths: Sequence[Any], metric: Metric
    ) -> None:
        for i, (sample, truth) in enumerate(zip(samples, truths, strict=True)):
            counts: list[int | None] = [truth.n_clusters]
            if metric.price is not None or metric.n_clusters is not None:
                counts.append(None)
            for K in counts:
                M = self._predicted(i, sample, metric, K, UNCONSTRAINED)
                assert M is not None
                labels = self._named("decode", i, M, sample)
                self.require(
                    self.partition(self._named("encode", i, labels, sample)) == M,
                    f"partition found one that encode(decode(M)) makes another of, sample {i}",
                )
            if not self.problem.traits.contiguous:
                for constraint in _links(self.partition(truth)):
                    self._predicted(i, sample, metric, truth.n_clusters, constraint)
            self._check_scores(truth, M)

    def _predicted(
        self, i: int, sample: Sample, metric: Metric, K: int | None, constraint: Constraint
    ) -> EquivalenceMatrix | None:
        """An answer of ``partition``, checked; None where the constraint is of no kind it takes."""
        before = sample.X.copy()
        try:
            with without_warnings(DataWarning):
                M = self._named("partition", i, sample, metric, K, constraint)
                again = self._named("partition", i, sample, metric, K, constraint)
        except OracleError:
            if constraint == UNCONSTRAINED:
                raise
            return None
        asked = f"sample {i}, {constraint.with_clusters(K)}"
        self.require(
            isinstance(M, EquivalenceMatrix) and M.n_samples == sample.n_samples,
            f"partition returned {shown(M)}: return an EquivalenceMatrix of its items [{asked}]",
        )
        broken = constraint.with_clusters(K).violation(M)
        self.require(broken is None, f"partition breaks what was asked for: {broken} [{asked}]")
        self.require(
            M == again, f"partition differs on a second call: seed every random choice [{asked}]"
        )
        self.require(
            np.array_equal(before, sample.X, equal_nan=True),
            "partition modified X: copy before writing",
        )
        found: EquivalenceMatrix = M
        return found

    def _check_scores(self, truth: Any, guess: Any) -> None:
        found = self.problem.comparison.scores(truth, guess, 5)
        self.require(
            isinstance(found, dict)
            and {"loss", "disagreement"} <= found.keys()
            and all(value is None or np.isfinite(value) for value in found.values()),
            f"scores returned {found!r}: return finite numbers by name, None where one does not "
            "apply, among them 'loss' and 'disagreement'",
        )

    def check_objectives(
        self, rng: np.random.Generator, samples: Sequence[Sample], truths: Sequence[Any]
    ) -> None:
        gaps = any(sample.has_gaps for sample in samples)
        for metric in ("diagonal",) if gaps else ("diagonal", "full"):
            objective = self.problem.learning.objective(metric, samples[0].n_features)
            risk = objective.risk(samples, truths, SquaredNorm())
            if isinstance(risk, CompositeRisk):
                check_composite(self.name, risk, rng, f"{metric} metric")
                continue
            self.require(
                self.problem.traits.convex,
                "traits.convex is False, but the objective is a RegularizedRisk, which is convex",
            )
            self._check_learning(rng, risk, metric)

    def _check_learning(self, rng: np.random.Generator, risk: RegularizedRisk, metric: str) -> None:
        """Loss-augmented inference of the samples given."""
        weights = random_weights(risk.problem, rng)
        for i, (x, y) in enumerate(zip(risk.xs, risk.ys, strict=True)):
            where = f"sample {i}, {metric} metric"
            check_separation(Asked(risk.problem, x, y, where, self.name), weights)

    def check_given(
        self, rng: np.random.Generator, i: int, sample: Sample, truth: EquivalenceMatrix
    ) -> int:
        """The decoder, and what separates, on a sample that was handed in."""
        where = f"sample {i} of {truth.n_samples} samples"
        oracles = [self.problem.decoder(sample)]
        learned = self.problem.training_sample(sample, truth)
        if isinstance(learned, SearchedSample) and not _equal(learned.oracle, oracles[0]):
            oracles.append(learned.oracle)
        return max(
            GivenSample(self.problem, oracle, sample, truth, where, rng).check()
            for oracle in oracles
        )

    def check_unit(self, samples: Sequence[Sample], truths: Sequence[Any]) -> None:
        """The unit of learning, the same for a weight of 2 as for a sample that is twice."""
        unit = self.problem.learning.unit(samples, truths)
        if unit is not None:
            twice = self.problem.learning.unit([*samples, samples[0]], [*truths, truths[0]])
            weights = np.ones(len(samples))
            weights[0] = 2.0
            weighed = self.problem.learning.unit(samples, truths, weights)
            self.require(
                twice is not None and weighed is not None and bool(np.isclose(twice, weighed)),
                f"unit is {weighed!r} with a weight of 2, and {twice!r} with that sample twice",
            )

    def check_samples(self, samples: Sequence[Sample], truths: Sequence[EquivalenceMatrix]) -> None:
        """Training samples have the joint features of what they are made of."""
        for i, (given, M) in enumerate(zip(samples, truths, strict=True)):
            X = given.X
            before = X.copy()
            sample = self.problem.training_sample(given, M)
            gaps, y = given.has_gaps, sample.truth
            expected = np.diag(M.gram_diagonal(X)) if gaps else M.gram(X)
            self.require(
                sample.n_samples == M.n_samples and y.n_clusters == M.n_clusters,
                f"sample {i} has another truth than it was given",
            )
            scale = TOLERANCE * (1.0 + float(np.abs(expected).max()))
            full = gaps or np.allclose(sample.gram(y), expected, rtol=0, atol=scale)
            self.require(
                full
                and np.allclose(sample.gram_diagonal(y), np.diag(expected), rtol=0, atol=scale),
                f"gram of the truth of sample {i} is not X^T M X, or gram_diagonal not its "
                "diagonal: joint features would be wrong",
            )
            self.require(
                np.array_equal(before, X, equal_nan=True),
                "training_sample modified X: copy before writing",
            )

    def tiny(self, samples: Sequence[Sample], n_items: int) -> Sample | None:
        """A sample of few items: without side information any, with it the first of a sample."""
        if n_items not in self._tiny:
            self._tiny[n_items] = self._made_tiny(samples, n_items)
        return self._tiny[n_items]

    def _made_tiny(self, samples: Sequence[Sample], n_items: int) -> Sample | None:
        if all(sample.side is None for sample in samples):
            return Sample(np.zeros((n_items, samples[0].n_features)))
        large = [sample for sample in samples if sample.n_samples >= n_items]
        if not large:
            return None
        try:
            return large[n_items % len(large)].at(np.arange(n_items))
        except StructSVMError:
            return None

    def family(self, n_items: int) -> list[EquivalenceMatrix]:
        """Every partition of a few items that the problem has: those ``encode`` gives back."""
        if n_items in self._families:
            return self._families[n_items]
        found = self._families.setdefault(n_items, [])
        sample = self._tiny[n_items]
        assert sample is not None
        for M in self._possible(n_items):
            try:
                if self.problem.encode(self.problem.decode(M, sample), sample) == M:
                    found.append(M)
            except DataError:  # labels that are no partition of this family
                continue
        self.require(
            not self.problem.traits.contiguous or all(M.is_contiguous for M in found),
            "contiguous is True, but encode accepts clusters that are no segments: say False",
        )
        return found

    def _possible(self, n_items: int) -> dict[EquivalenceMatrix, None]:
        """Every partition of a few items; of more, every segmentation and some of the others."""
        rows = all_partitions(n_items)
        if self.problem.traits.contiguous and n_items > max(TINY):
            rows = np.concatenate([all_segmentations(n_items), rows[::OTHERS]])
        return {EquivalenceMatrix.from_labels(row.astype(np.int64)): None for row in rows}

    def check_tiny(self, rng: np.random.Generator, sample: Sample) -> int:
        """Loss-augmented inference against all partitions of a few items."""
        family = self.family(sample.n_samples)
        if not family:
            return 0
        for scale in (0.3, 1.0, 3.0):
            x = sample.with_features(scale * rng.standard_normal(sample.X.shape))
            truth = family[int(rng.integers(len(family)))]
            objective = self.problem.learning.objective("diagonal", x.n_features)
            space = objective.weight_space()
            w = space.project(rng.standard_normal(space.dim))
            if isinstance(objective, MetricObjective):
                self._check_loss_augmented(objective, w, x, truth, family)
        return len(family)

    def _check_loss_augmented(
        self,
        objective: MetricObjective,
        w: Floats,
        x: Sample,
        truth: EquivalenceMatrix,
        family: Sequence[EquivalenceMatrix],
    ) -> None:
        sample = self.problem.training_sample(x, truth)
        plain = SearchedSample(x.X, truth, self.problem.decoder(x))
        found = objective.separate(w, sample, sample.truth)
        known = self.problem.traits.given_k
        allowed = [M for M in family if not known or M.n_clusters == truth.n_clusters]

        def value(x: LabelledSample, y: Any) -> float:
            change = objective.joint_feature(x, y) - objective.joint_feature(x, x.truth)
            return objective.loss(x.truth, y) + float(w @ change)

        reached = {M: value(plain, M) for M in allowed}
        best = max(reached, key=lambda M: reached[M])
        slack = found.slack + TOLERANCE * (1.0 + float(np.abs(w).sum() * np.sum(x.X**2)))
        self.require(
            found.quality is Quality.HEURISTIC or reached[best] <= value(sample, found.y) + slack,
            f"separate of a training sample, T={x.n_samples}, truth {truth.labels}: reached "
            f"{value(sample, found.y)!r} ({found.quality.value}), but {best.labels} has "
            f"{reached[best]!r}: the oracle of training_sample() searches other partitions than "
            "encode has",
        )

    def check_small(self, samples: Sequence[Sample], seed: int) -> None:
        """The decoders of small samples, as ``check_oracle`` checks an oracle."""

        def decoder(n_items: int) -> Oracle | None:
            sample = self.tiny(samples, n_items)
            return None if sample is None else self.problem.decoder(sample)

        check_oracle(
            decoder,
            contiguous=self.problem.traits.contiguous,
            family=lambda T: (
                [M.labels for M in self.family(T) if M.labels is not None]
                if self.tiny(samples, T) is not None
                else []
            ),
            negative_signs=False,
            n_instances=INSTANCES,
            seed=seed,
        )


def _links(M: EquivalenceMatrix) -> list[Constraint]:
    """Links that a partition keeps: two items together, two items apart."""
    labels = M.labels
    if labels is None:
        return []
    found = []
    same = np.flatnonzero(labels == labels[0])
    other = np.flatnonzero(labels != labels[0])
    if same.size > 1:
        found.append(Constraint(together=((int(same[0]), int(same[-1])),)))
    if other.size:
        found.append(Constraint(apart=((0, int(other[-1])),)))
    if same.size > 1 and other.size:
        found.append(
            Constraint(
                together=((int(same[0]), int(same[-1])),),
                apart=((int(same[0]), int(other[0])),),
            )
        )
    return found


def _equal(one: Oracle, other: Oracle) -> bool:
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


def _same_settings(one: PartitionProblem, other: PartitionProblem) -> bool:
    try:
        return bool(one == other)
    except ValueError:
        return Snapshot(one).still_holds(other)
