"""Does a partition problem keep its contract: labels, training samples, and both oracles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from structsvm.data.sample import Sample
from structsvm.data.samples import STANDARDIZE, Standardizer, centred
from structsvm.errors import DataError, DataWarning, OracleError, PluginError, StructSVMError
from structsvm.oracles.exhaustive import all_partitions, all_segmentations
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import SearchedSample
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint
from structsvm.partitions.problem import PartitionProblem, read_samples
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.partitions.traits import Traits
from structsvm.problem import CompositeRisk
from structsvm.regularizers import SquaredNorm
from structsvm.support.contract import asked
from structsvm.support.plain import shown
from structsvm.support.quiet import without_warnings
from structsvm.support.unchanged import Snapshot
from structsvm.testing._composite import check_composite
from structsvm.testing._given import GivenSample
from structsvm.testing.oracle import check_oracle
from structsvm.testing.separation import (
    TOLERANCE,
    Asked,
    check_separation,
    check_worth,
    random_weights,
)

TINY = (1, 2, 4, 6)
"""Numbers of items whose partitions are all looked at."""

OTHERS = 20
"""One of so many partitions of more items is looked at to see that it is no segmentation."""

INSTANCES = 40
"""Questions to the decoder of a few items, as ``check_oracle`` asks them."""


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

    def __str__(self) -> str:
        """In words."""
        said = "every check passed"
        if self.unlisted:
            return (
                f"{said}: answers were compared with each other and with the truth, not with all "
                "labellings: pass labellings=, a function that lists those of a sample"
            )
        if not self.given:
            return said
        given = f"{', '.join(map(str, self.given))} partitions of the samples given"
        if not self.enumerated:
            return (
                f"{said}: answers were compared with {given}; none of them could be made smaller "
                "for enumeration"
            )
        said += (
            f": answers were compared with all {sum(self.enumerated.values())} partitions of "
            f"{', '.join(map(str, self.enumerated))} samples, and with {given}"
        )
        if max(self.enumerated.values()) <= 1:
            said += (
                "; nothing was compared by enumeration, because the family has at most one "
                f"partition of up to {max(self.enumerated)} samples: check settings, too, for "
                "which it has more"
            )
        return said


def check_partition_problem(
    problem: PartitionProblem, Xs: Sequence[Any], ys: Sequence[Any], seed: int
) -> Report:
    """Check a partition problem, as :func:`structsvm.testing.check_problem` says."""
    kit, rng = _Kit(problem), np.random.default_rng(seed)
    kit.check_settings()
    samples = kit.read(Xs)
    truths = kit.check_labels(samples, ys)
    kit.check_training(truths)
    standardizer = Standardizer.fit(
        problem.traits.standardize, [sample.X for sample in samples], np.ones(len(samples))
    )
    standard = [x.with_features(centred(standardizer(x.X))) for x in samples]
    kit.check_parts(rng, standard)
    untrained = kit.check_weights(standard, truths)
    units = problem.learning.units(standard, truths, untrained, None)
    samples = [sample.with_features(units(sample.X)) for sample in standard]
    kit.check_objectives(rng, samples, truths)
    report = Report()
    if problem.traits.convex:
        kit.check_training_samples(samples, truths)
        report = kit.check_decoders(rng, samples, truths, seed)
    kit.check_predictions(standard, truths, untrained)
    return report


@dataclass(frozen=True)
class _Kit:
    """The checks of one problem."""

    problem: PartitionProblem

    def require(self, kept: bool, complaint: str) -> None:
        if not kept:
            raise PluginError(f"{self.name}: {complaint}")

    @property
    def name(self) -> str:
        return type(self.problem).__name__

    @cached_property
    def is_convex(self) -> bool:
        return self.problem.traits.convex

    def call(self, method: str, i: int, *arguments: Any) -> Any:
        """What a method answers that leaves alone what it is given."""
        before = Snapshot(arguments)
        try:
            with asked(self.problem, method, f"sample {i}"):
                answer = getattr(self.problem, method)(*arguments)
        except DataError as error:
            raise DataError(f"sample {i}: {error}") from error
        self.require(
            before.still_holds(arguments),
            f"{method} modified its input, of sample {i}: copy before writing",
        )
        return answer

    def encoded(self, y: Any, sample: Sample) -> EquivalenceMatrix | None:
        try:
            return self.problem.encode(y, sample)
        except DataError:
            return None

    def partition(self, truth: Any) -> Any:
        """The partition of labels, of which a problem that is not convex may know more."""
        if self.is_convex or isinstance(truth, EquivalenceMatrix):
            return truth
        return getattr(truth, "M", truth)

    def check_settings(self) -> None:
        """A problem is a value."""
        parameters = getattr(type(self.problem), "__dataclass_params__", None)
        self.require(
            parameters is not None and parameters.frozen,
            "decorate the class with @dataclass(frozen=True): settings do not change",
        )
        traits: Any = self.problem.traits
        self.require(
            isinstance(traits, Traits),
            f"traits returned {shown(traits)}: return an instance of Traits",
        )
        shrinkage, standardize = traits.shrinkage, traits.standardize
        self.require(
            shrinkage is None or 0 <= shrinkage <= 1, f"shrinkage is {shrinkage!r}: None or 0 to 1"
        )
        self.require(
            standardize in STANDARDIZE, f"standardize is {standardize!r}: one of {STANDARDIZE}"
        )

    def read(self, Xs: Sequence[Any]) -> list[Sample]:
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
            decoder = self.problem.decoder(sample) if self.is_convex else None
            self.require(
                not sample.has_gaps or (decoder is not None and decoder.takes_gaps),
                f"read left missing values (NaN) in sample {i}: refuse or fill them, unless the "
                "decoder takes them, takes_gaps",
            )
        return samples

    def check_labels(self, samples: Sequence[Sample], ys: Sequence[Any]) -> list[Any]:
        """Labels become equivalence matrices, and these the same labels."""
        if len(ys) != len(samples):
            raise PluginError(f"give as many labels as samples, got {len(ys)} for {len(samples)}")
        truths = []
        own = type(self.problem).read is not PartitionProblem.read
        for i, (sample, y) in enumerate(zip(samples, ys, strict=True)):
            T = sample.n_samples
            self.problem.learning.known_labels(y, sample)
            truth = self.call("encode", i, y, sample)
            M = self.partition(truth)
            self.require(
                isinstance(M, EquivalenceMatrix) and M.n_samples == T,
                f"encode returned {shown(truth)} for sample {i}: return an EquivalenceMatrix of "
                f"{T} samples, such as EquivalenceMatrix.from_labels(labels)",
            )
            labels = self.call("decode", i, M, sample)
            self.require(
                isinstance(labels, np.ndarray)
                and (own or labels.shape == (T,))
                and bool(np.issubdtype(labels.dtype, np.integer)),
                f"decode returned {labels!r}: return one integer for each of {T} samples",
            )
            self.require(
                self.partition(self.call("encode", i, labels, sample)) == M,
                f"encode(decode(M)) is another partition than M, sample {i}: write labels that "
                "encode reads",
            )
            truths.append(truth)
        self._check_refusals(samples[0])
        return truths

    def _check_refusals(self, sample: Sample) -> None:
        T = sample.n_samples
        for wrong, what in (
            (np.zeros((T, 2), int), "a table of labels"),
            (np.full(T + 1, 0.5), f"{T + 1} labels"),
        ):
            try:
                refused = self.encoded(wrong, sample) is None
            except Exception as error:
                raise PluginError(
                    f"{self.name}: encode raised {type(error).__name__} for {what} of {T} samples: "
                    "raise DataError, and say what is expected"
                ) from error
            self.require(refused, f"encode accepted {what} for {T} samples: raise DataError")

    def check_training(self, truths: Sequence[Any]) -> None:
        single = [EquivalenceMatrix.from_labels(np.zeros(y.n_samples, int)) for y in truths]
        with without_warnings(DataWarning):
            self.problem.learning.check(truths)
            try:
                self.problem.learning.check(single)
                refused = False
            except DataError:
                refused = True
        self.require(
            refused,
            "learning.check accepted samples of one single cluster each, from which nothing can "
            "be learned: raise DataError",
        )
        agreement = self.problem.comparison.agreement
        for truth, other in zip(truths, single, strict=True):
            best, worse = agreement(truth, truth), agreement(truth, other)
            self.require(
                best > worse if self.partition(truth) != other else best == worse,
                f"agreement is {best!r} with the truth itself and {worse!r} with one single "
                "cluster: larger must be better, as for minus the loss",
            )

    def check_parts(self, rng: np.random.Generator, samples: Sequence[Sample]) -> None:
        """Some of the items of a sample are a sample, side information included."""
        for i, sample in enumerate(samples):
            rows = np.sort(rng.permutation(sample.n_samples)[: (sample.n_samples + 1) // 2])
            try:
                part = sample.at(rows)
            except StructSVMError:
                continue  # labels in part are refused, then
            if part.side is None or not self.is_convex:
                continue
            try:
                self.problem.decoder(part).ask(TraceObjective(part.X, shift=-1.0, gaps=True))
            except OracleError as error:
                raise PluginError(
                    f"{self.name}: the decoder failed on what at made of {rows.size} items "
                    f"of sample {i} ({error}): at has to cut the side information down to "
                    "these items, or to raise DataError"
                ) from error

    def check_weights(self, samples: Sequence[Sample], truths: Sequence[Any]) -> Metric:
        """A weight of 2 counts as a sample that is there twice; the metric without learning."""
        learning = self.problem.learning
        try:
            factor = learning.untrained_factor(samples)
            metric = learning.calibrate(factor, samples, truths).metric(factor)
        except OracleError as error:
            raise PluginError(
                f"{self.name}: the decoder failed on the samples given, without any constraint: "
                f"{error}"
            ) from error
        few, known = list(samples[:2]), list(truths[:2])
        weights = np.array([2.0, 1.0])[: len(few)]
        twice = learning.calibrate(factor, [*few, few[0]], [*known, known[0]]).metric(factor)
        weighed = learning.calibrate(factor, few, known, weights).metric(factor)
        self._require_same("the price", weighed.price, twice.price)
        self._require_same("the number of clusters", weighed.n_clusters, twice.n_clusters)
        unit = learning.unit([*few, few[0]], [*known, known[0]])
        self._require_same("the unit", learning.unit(few, known, weights), unit)
        return metric

    def _require_same(self, what: str, weighed: float | None, twice: float | None) -> None:
        self.require(
            (weighed is None) == (twice is None)
            and bool(np.isclose(weighed or 0.0, twice or 0.0, rtol=1e-6)),
            f"{what} is {weighed!r} with a weight of 2, and {twice!r} with that sample twice",
        )

    def check_objectives(
        self, rng: np.random.Generator, samples: Sequence[Sample], truths: Sequence[Any]
    ) -> None:
        """Loss-augmented inference of the samples given."""
        gaps = any(sample.has_gaps for sample in samples)
        for metric in ("diagonal",) if gaps else ("diagonal", "full"):
            objective = self.problem.learning.objective(metric, samples[0].n_features)
            risk = objective.risk(samples, truths, SquaredNorm())
            if isinstance(risk, CompositeRisk):
                check_composite(self.name, risk, rng, f"{metric} metric")
                continue
            self.require(
                self.is_convex,
                "traits.convex is False, but the objective is a RegularizedRisk, which is convex",
            )
            weights = random_weights(risk.problem, rng)
            for i, (x, y) in enumerate(zip(risk.xs, risk.ys, strict=True)):
                where = f"sample {i}, {metric} metric"
                check_separation(Asked(risk.problem, x, y, i, where, self.name), weights)

    def check_training_samples(
        self, samples: Sequence[Sample], truths: Sequence[EquivalenceMatrix]
    ) -> None:
        """Training samples have the joint features of what they are made of."""
        for i, (given, M) in enumerate(zip(samples, truths, strict=True)):
            sample = self.call("training_sample", i, given, M)
            y, X = sample.truth, given.X
            expected = np.diag(M.gram_diagonal(X)) if given.has_gaps else M.gram(X)
            self.require(
                sample.n_samples == M.n_samples and y.n_clusters == M.n_clusters,
                f"sample {i} has another truth than it was given",
            )
            scale = TOLERANCE * (1.0 + float(np.abs(expected).max()))
            full = given.has_gaps or np.allclose(sample.gram(y), expected, rtol=0, atol=scale)
            diagonal = np.allclose(sample.gram_diagonal(y), np.diag(expected), rtol=0, atol=scale)
            self.require(
                full and diagonal,
                f"gram of the truth of sample {i} is not X^T M X, or gram_diagonal not its "
                "diagonal: joint features would be wrong",
            )

    def check_decoders(
        self,
        rng: np.random.Generator,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        seed: int,
    ) -> Report:
        """The decoders of few items against enumeration, those of the samples given against
        neighbours of their answers.
        """
        tiny = {T: _tiny(samples, T) for T in range(1, 9)}
        families = {T: [] if x is None else self._family(x) for T, x in tiny.items()}
        enumerated = {T: len(families[T]) for T in TINY if tiny[T] is not None}
        for T in enumerated:
            self._check_tiny(rng, tiny[T], families[T])
        given = [
            self._check_given(rng, i, *pair)
            for i, pair in enumerate(zip(samples, truths, strict=True))
        ]
        self.require(
            max(given) > 1 or max(enumerated.values(), default=0) > 1,
            "nothing was compared, because the family has one single partition of every sample "
            "that was looked at: give samples that can be partitioned in more than one way",
        )
        decoders = {T: None if x is None else self.problem.decoder(x) for T, x in tiny.items()}
        check_oracle(
            lambda T: decoders[T],
            contiguous=self.problem.traits.contiguous,
            family=lambda T: [M.labels for M in families[T] if M.labels is not None],
            negative_signs=False,
            n_instances=INSTANCES,
            seed=seed,
        )
        return Report(enumerated, given)

    def _family(self, sample: Sample) -> list[EquivalenceMatrix]:
        """Every partition of a few items that the problem has: those ``encode`` gives back."""
        T, contiguous = sample.n_samples, self.problem.traits.contiguous
        rows = all_partitions(T)
        if contiguous and max(TINY) < T:
            rows = np.concatenate([all_segmentations(T), rows[::OTHERS]])
        possible = {EquivalenceMatrix.from_labels(row.astype(np.int64)): None for row in rows}
        found = [M for M in possible if self.encoded(self.problem.decode(M, sample), sample) == M]
        self.require(
            not contiguous or all(M.is_contiguous for M in found),
            "contiguous is True, but encode accepts clusters that are no segments: say False",
        )
        return found

    def _check_tiny(
        self, rng: np.random.Generator, items: Any, family: list[EquivalenceMatrix]
    ) -> None:
        """Loss-augmented inference against all partitions of a few items."""
        if not family:
            return
        for scale in (0.3, 1.0, 3.0):
            truth = family[int(rng.integers(len(family)))]
            x = items.with_features(scale * rng.standard_normal(items.X.shape))
            objective = self.problem.learning.objective("diagonal", x.n_features)
            risk: Any = objective.risk([x], [truth], SquaredNorm())
            where = f"{truth.n_samples} items, truth {truth.labels}"
            sample = Asked(risk.problem, risk.xs[0], risk.ys[0], 0, where, self.name)
            plain = replace(sample, x=SearchedSample(x.X, truth, self.problem.decoder(x)), y=truth)
            space = risk.problem.weight_space()
            answer = sample.separate(space.project(rng.standard_normal(space.dim)))
            for M in family:
                if not self.problem.traits.given_k or M.n_clusters == truth.n_clusters:
                    check_worth(sample, answer, plain.labelling(M, "which encode accepts"))

    def _check_given(
        self, rng: np.random.Generator, i: int, sample: Sample, truth: EquivalenceMatrix
    ) -> int:
        """The decoder, and what separates, on a sample that was handed in."""
        where = f"sample {i} of {truth.n_samples} samples"
        oracles = [self.problem.decoder(sample)]
        learned = self.problem.training_sample(sample, truth)
        if isinstance(learned, SearchedSample) and not Snapshot(oracles[0]).still_holds(
            learned.oracle
        ):
            oracles.append(learned.oracle)
        return max(
            GivenSample(self.problem, oracle, sample, truth, where, rng).check()
            for oracle in oracles
        )

    def check_predictions(
        self, samples: Sequence[Sample], truths: Sequence[Any], metric: Metric
    ) -> None:
        knows_k = metric.price is not None or metric.n_clusters is not None
        for i, (sample, truth) in enumerate(zip(samples, truths, strict=True)):
            K = truth.n_clusters
            M = self._predicted(i, sample, metric, K)
            if knows_k:
                M = self._predicted(i, sample, metric, None)
            if not self.problem.traits.contiguous:
                for constraint in _links(self.partition(truth).labels):
                    self._predicted(i, sample, metric, K, constraint)
            found = self.problem.comparison.scores(truth, M, 5)
            self.require(
                {"loss", "disagreement"} <= found.keys()
                and all(value is None or np.isfinite(value) for value in found.values()),
                f"scores returned {found!r}: return finite numbers by name, None where one does "
                "not apply, among them 'loss' and 'disagreement'",
            )

    def _predicted(
        self,
        i: int,
        sample: Sample,
        metric: Metric,
        K: int | None,
        constraint: Constraint = UNCONSTRAINED,
    ) -> Any:
        """An answer of ``partition``, checked; None where the constraint is of no kind it takes."""
        try:
            with without_warnings(DataWarning):
                M = self.call("partition", i, sample, metric, K, constraint)
                again = self.call("partition", i, sample, metric, K, constraint)
        except OracleError:
            if constraint == UNCONSTRAINED:
                raise
            return None
        where = f"sample {i}, {constraint.with_clusters(K)}"
        self.require(
            M.n_samples == sample.n_samples,
            f"partition returned {shown(M)}: return an EquivalenceMatrix of its items [{where}]",
        )
        broken = constraint.with_clusters(K).violation(M)
        self.require(broken is None, f"partition breaks what was asked for: {broken} [{where}]")
        self.require(
            M == again, f"partition differs on a second call: seed every random choice [{where}]"
        )
        labels = self.call("decode", i, M, sample)
        self.require(
            self.partition(self.call("encode", i, labels, sample)) == M,
            f"partition found one that encode(decode(M)) makes another of [{where}]",
        )
        return M


def _tiny(samples: Sequence[Sample], n_items: int) -> Sample | None:
    """A sample of few items: without side information any, with it the first of a sample."""
    if all(sample.side is None for sample in samples):
        return Sample(np.zeros((n_items, samples[0].n_features)))
    large = [sample for sample in samples if sample.n_samples >= n_items]
    try:
        return large[n_items % len(large)].at(np.arange(n_items)) if large else None
    except StructSVMError:
        return None


def _links(labels: Any) -> list[Constraint]:
    """Links that a partition keeps: two items together, two items apart, and both."""
    if labels is None:
        return []
    same, other = np.flatnonzero(labels == labels[0]), np.flatnonzero(labels != labels[0])
    together = ((int(same[0]), int(same[-1])),) if same.size > 1 else ()
    apart = ((0, int(other[-1])),) if other.size else ()
    found = {Constraint(together=together), Constraint(apart=apart)}
    found.add(Constraint(together=together, apart=apart))
    return [constraint for constraint in found if constraint.has_links]
