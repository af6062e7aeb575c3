"""The checks of one partition problem: labels, learning and prediction against enumeration."""

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Self

import numpy as np

from structsvm.data import Instance
from structsvm.errors import DataError, DataWarning, OracleError, without_warnings
from structsvm.learner import TrainingSet
from structsvm.learner.truths import check_truths
from structsvm.oracles import all_partitions
from structsvm.partitions import (
    UNCONSTRAINED,
    Constraint,
    EquivalenceMatrix,
    Examples,
    Metric,
    Oracle,
    PartitionProblem,
    SearchedInstance,
    TraceObjective,
)
from structsvm.partitions.problem import count_of_truth
from structsvm.problem import CompositeRisk, SquaredNorm
from structsvm.support import difference, shown
from structsvm.testing.oracle import Checked, Question, check_small, constraints_of, in_short
from structsvm.testing.separation import TERM_ROUNDING, Asked, check_separation, random_weights
from structsvm.testing.small import neighbours, partition_of_items, tiny_instance

SIZES_ENUMERATED = (1, 2, 4, 6)  # numbers of items whose partitions are enumerated
INSTANCES = 40  # questions to the decoder of a few items
SCALES_AND_REWARDS = ((0.3, -1.0), (1.0, -3.0), (1.0, -1.0), (1.0, -0.1), (3.0, -1.0), (1.0, 0.5))
"""Scales of instances and rewards of a cluster in questions about them."""
PLANTS, MOST_PLANTED, PLANTED = 12, 50, 10.0
"""Number of partitions that are made the best answer, the largest number of clusters of these, and
the distance of their clusters."""
MOST_MEMBERS = 150  # most partitions of an instance with which answers are compared
WEIGHTS, DIRECTIONS, STEP = 4, 3, 1e-5
"""Number of weights at which a gradient is compared with differences, number of directions at each,
and length of a difference."""
ACCURACY, SMOOTH = 1e-3, 0.75
"""Accuracy of a difference, and the share that has to agree, because some may lie across a kink."""
KIT_ROUNDING = 1e-7


@dataclass(frozen=True)
class Report:
    """The number of partitions with which answers of a problem were compared.

    All checks have passed.
    """

    enumerated: Mapping[int, int] = field(default_factory=dict)
    """For each number of items, how many partitions of them the family has."""
    given: Sequence[int] = ()
    """For each instance, the number of partitions with which its answers were compared, which are
    neighbours of the truth and of the answers."""

    def __str__(self) -> str:
        """The report in a sentence."""
        if not self.given:
            return "every check passed"
        compared = "; nothing was compared by enumeration: check other settings, too"
        if max(self.enumerated.values(), default=0) > 1:
            sizes = ", ".join(map(str, self.enumerated))
            compared = f" and all {sum(self.enumerated.values())} of {sizes} samples"
        numbers = ", ".join(map(str, self.given))
        return (
            f"every check passed: answers were compared with {numbers} partitions of the samples "
            f"given{compared}"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Kit(Checked):
    """The checks of one problem."""

    rng: np.random.Generator

    def at(self, i: int) -> Self:
        """The kit whose messages name the i-th instance."""
        return replace(self, where=f"instance {i}")

    def is_member(self, M: EquivalenceMatrix, instance: Instance) -> bool:
        """Whether a partition is in the family: ``encode`` accepts it and gives it back."""
        try:
            return bool(self.plugin.encode(self.plugin.decode(M, instance), instance) == M)
        except DataError:
            return False

    def must_refuse(
        self, method: str, what: str, call: Callable[..., Any], *arguments: Any
    ) -> None:
        """Check that a call raises DataError for arguments that ``what`` describes."""
        did = "accepted"
        try:
            call(*arguments)
        except DataError:
            return
        except Exception as error:
            did = f"raised {type(error).__name__} for"
        self.refuse(f"{method} {did} {what}: raise DataError")

    def check_labels(self, data: TrainingSet) -> None:
        """Check that labels of partitions are read back, and that malformed labels are refused."""
        own = type(self.plugin).read is not PartitionProblem.read
        for i, (instance, truth) in enumerate(zip(data.instances, data.truths, strict=True)):
            labels = self._decoded(i, partition_of_items(truth), instance)
            self.require(
                isinstance(labels, np.ndarray)
                and (own or labels.shape == (instance.n_samples,))
                and np.issubdtype(labels.dtype, np.integer),
                f"decode returned {labels!r}: return one integer for each of the samples",
            )
        instance = data.instances[0]
        encode = self.plugin.encode
        T = instance.n_samples
        table = np.zeros((instance.n_samples, 2), int)
        self.must_refuse("encode", f"a table of labels of {T} samples", encode, table, instance)
        more = np.full(T + 1, 0.5)
        self.must_refuse("encode", f"{T + 1} labels of {T} samples", encode, more, instance)

    def _decoded(self, i: int, M: EquivalenceMatrix, instance: Instance) -> Any:
        """The labels of a partition, after a check that they are read as the same partition."""
        labels = self.at(i).call("decode", M, instance)
        self.require(
            not isinstance(labels, np.ndarray)
            or partition_of_items(self.at(i).call("encode", labels, instance)) == M,
            f"encode(decode(M)) is another partition than M, instance {i}: write labels that "
            "encode reads",
        )
        return labels

    def check_agreement(self, truths: Sequence[Any]) -> None:
        """Check that labels are usable, and that the truth agrees best with itself."""
        single = [EquivalenceMatrix.from_labels(np.zeros(y.n_samples, int)) for y in truths]
        agreement = self.plugin.agreement
        check_truths(self.plugin.traits, truths)
        for truth, other in zip(truths, single, strict=True):
            best = agreement(truth, truth)
            worse = agreement(truth, other)
            self.require(
                best > worse if partition_of_items(truth) != other else best == worse,
                f"agreement is {best!r} with the truth and {worse!r} with one single cluster: "
                "larger must be better, as for minus the loss",
            )

    def check_weights(self, data: TrainingSet) -> None:
        """Check that a weight of 2 is the same as passing an instance twice."""
        problem = self.plugin
        few = list(range(min(len(data), 2)))
        spaces = []
        for part in (
            replace(data.at(few), weights=np.array([2.0, 1.0])[: len(few)]),
            data.at([*few, 0]),
        ):
            factor = problem.closed_form("untrained", part.examples)
            self.require(factor is not None, 'closed_form has no metric called "untrained"')
            metric = problem.calibrate(factor, part.examples).metric(factor)
            unit = problem.unit(part.examples)
            spaces.append((metric.price, metric.n_clusters, unit))
        names = ("the price", "the number of clusters", "the unit")
        for what, one, other in zip(names, *spaces, strict=True):
            self.require(
                (one is None) == (other is None) and np.isclose(one or 0.0, other or 0.0, 1e-6),
                f"{what} is {one!r} with a weight of 2, and {other!r} with that instance twice",
            )

    def check_risk(self, risk: Any, metric: str) -> None:
        """Check loss-augmented inference on the instances of a risk."""
        if isinstance(risk, CompositeRisk):
            self._check_composite(risk)
            return
        self.require(
            self.plugin.traits.convex,
            "traits.convex is False, but the objective is a RegularizedRisk, which is convex",
        )
        weights = random_weights(risk.problem, self.rng)
        for i, (x, y) in enumerate(zip(risk.xs, risk.ys, strict=True)):
            where = f"instance {i}, {metric} metric"
            instance = Asked(risk.problem, self.name, where, x=x, y=y, number=i)
            check_separation(instance, weights)

    def _check_composite(self, risk: CompositeRisk) -> None:
        """Check gradient, parts and model of a risk, at its start and at weights in the cone."""
        rng = self.rng
        space = risk.space
        weights = [risk.start]
        agree = []
        for _ in range(WEIGHTS - 1):
            step = 0.2 * rng.standard_normal(space.dim)
            weights.append(np.asarray(space.project(risk.start + step) + 0.2 * risk.start))
        for w in weights:
            value, gradient = risk.losses(w)
            self.require(
                np.isfinite(value)
                and value >= -KIT_ROUNDING
                and np.shape(gradient) == w.shape
                and np.isfinite(gradient).all(),
                f"losses returned {value!r} and {shown(gradient)}: return a mean of hinge losses, "
                f"finite and not negative, and its gradient of shape {w.shape}",
            )
            for direction in rng.standard_normal((DIRECTIONS, w.size)):
                d = direction / np.linalg.norm(direction)
                above = risk.losses(w + STEP * d)[0]
                below = risk.losses(w - STEP * d)[0]
                slope = float(gradient @ d)
                size = float(np.abs(gradient).max())
                off = abs(slope - (above - below) / (2.0 * STEP))
                agree.append(off <= ACCURACY * (1.0 + abs(slope) + size))
            model = risk.model(w, risk.regularizer)
            touching = 0.0
            for x, y, omega in zip(model.xs, model.ys, model.sample_weight, strict=True):
                labelling = model.problem.separate(w, x, y).y
                phi = model.problem.joint_feature
                worth = float(model.problem.loss(y, labelling)) + float(
                    (phi(x, labelling) - phi(x, y)) @ w
                )
                touching += omega * max(0.0, worth)
            parts = sum(risk.part([i]).losses(w)[0] for i in range(risk.n_instances))
            copied = pickle.loads(pickle.dumps(risk)).losses(w)[0]
            for other, complaint in (
                (parts, "the parts of the risk do not add up to it: part(which) is a sum of some"),
                (touching, "the model is another than the losses: it has to touch them there"),
                (copied, "losses differ after pickling: seed every choice"),
            ):
                alike = abs(other - value) <= KIT_ROUNDING * (1.0 + abs(value))
                self.require(alike, f"{complaint} ({other!r} instead of {value!r})")
        self.require(
            np.mean(agree) >= SMOOTH,
            f"the gradient of losses agrees with {sum(agree)} of {len(agree)} differences: it is "
            "not that of the value returned with it",
        )

    def check_training_instances(
        self, instances: Sequence[Instance], truths: Sequence[EquivalenceMatrix]
    ) -> None:
        """Check that joint features of training instances are those of their samples and labels."""
        for i, (example, M) in enumerate(zip(instances, truths, strict=True)):
            instance = self.at(i).call("training_instance", example, M)
            y = instance.truth
            self.require(
                y.n_samples == M.n_samples and y.n_clusters == M.n_clusters,
                f"instance {i} has another truth than it was given",
            )
            if not instance.usual_features:
                squares = np.diag(instance.gram(y))
                alike = np.allclose(instance.gram_diagonal(y), squares, atol=TERM_ROUNDING)
                self.require(alike, f"gram_diagonal of instance {i} is not the diagonal of gram")
                continue
            diagonal = M.gram_diagonal(example.X)
            scale = TERM_ROUNDING * (1.0 + float(np.abs(diagonal).max()))
            fits = np.allclose(instance.gram_diagonal(y), diagonal, rtol=0, atol=scale)
            if not example.has_gaps:
                fits &= np.allclose(instance.gram(y), M.gram(example.X), rtol=0, atol=scale)
            self.require(
                fits,
                f"gram of the truth of instance {i} is not X^T M X, or gram_diagonal not its "
                "diagonal: joint features would be wrong",
            )

    def check_decoders(
        self, instances: Sequence[Instance], truths: Sequence[EquivalenceMatrix]
    ) -> Report:
        """Check decoders of few items by enumeration, and those of the instances by neighbours."""
        tiny = {T: x for T in SIZES_ENUMERATED if (x := tiny_instance(instances, T)) is not None}
        families = {T: self._family(x) for T, x in tiny.items()}
        for T, family in families.items():
            if family:
                self._check_tiny(tiny[T], family)
        some = []
        for i, (instance, truth) in enumerate(zip(instances, truths, strict=True)):
            oracles = [self.plugin.decoder(instance)]
            learned = self.plugin.training_instance(instance, truth)
            of_learned = getattr(learned, "oracle", oracles[0])
            if difference(oracles[0], of_learned) is not None:
                oracles.append(of_learned)
            where = f"instance {i} of {truth.n_samples} samples"
            some.append(max(self._check_given(o, instance, truth, where) for o in oracles))
        enumerated = {T: len(family) for T, family in families.items()}
        self.require(
            max(some) > 1 or max(enumerated.values(), default=0) > 1,
            "nothing was compared, because the family has one single partition of every instance "
            "that was looked at: give instances that can be partitioned in more than one way",
        )
        searched = {T: (self.plugin.decoder(tiny[T]), family) for T, family in families.items()}
        check_small(searched, INSTANCES, self.plugin.traits.contiguous, self.rng)
        return Report(enumerated, some)

    def _family(self, instance: Instance) -> list[EquivalenceMatrix]:
        """All partitions of a few items that are in the family."""
        T = instance.n_samples
        contiguous = self.plugin.traits.contiguous
        possible = [EquivalenceMatrix.from_labels(r.astype(np.int64)) for r in all_partitions(T)]
        members = [M for M in possible if self.is_member(M, instance)]
        self.require(
            not contiguous or all(M.is_contiguous for M in members),
            "contiguous is True, but encode accepts clusters that are no segments: say False",
        )
        return members

    def _check_tiny(self, items: Instance, family: list[EquivalenceMatrix]) -> None:
        """Check loss-augmented inference against all partitions of a few items."""
        for scale in (0.3, 1.0, 3.0):
            truth = family[int(self.rng.integers(len(family)))]
            x = items.with_features(scale * self.rng.standard_normal(items.X.shape))
            objective = self.plugin.objective("diagonal", x.n_features)
            risk: Any = objective.risk(Examples([x], [truth]), SquaredNorm())
            made = "" if x.side is None else ", as at makes them of an instance"
            where = f"{truth.n_samples} items{made}, truth {truth.labels}"
            instance = Asked(risk.problem, self.name, where, x=risk.xs[0], y=risk.ys[0], number=0)
            plain = replace(
                instance, x=SearchedInstance(x.X, truth, self.plugin.decoder(x)), y=truth
            )
            answer = instance.separate(risk.space.project(self.rng.standard_normal(risk.space.dim)))
            for M in family:
                if not self.plugin.traits.given_k or M.n_clusters == truth.n_clusters:
                    instance.compare(answer, plain.labelling(M, "which encode accepts"))

    def _check_given(
        self, oracle: Oracle, instance: Instance, truth: EquivalenceMatrix, where: str
    ) -> int:
        """Check an oracle on an instance; the number of partitions its answers were compared with.

        They are the answers themselves and neighbours of these, because a family may have no
        partition of a few samples, for example if segments have at least eight samples.
        """
        members = {truth: None}
        answers = []

        def ask(objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> None:
            """Ask the oracle, check that the answer is in the family, and store both."""
            question = Question.to(oracle, where, objective, constraint)
            answer = question.ask()
            if answer.y.is_partition:
                question.require(
                    self.is_member(answer.y, instance),
                    f"the answer, {in_short(answer.y)}, is no partition of this family: encode "
                    "refuses it, or makes another of decode(M)",
                )
                members[answer.y] = None
            answers.append((question, answer))

        for scale, shift in SCALES_AND_REWARDS:
            ask(TraceObjective(scale * instance.X, shift=shift, gaps=True))
            ask(TraceObjective(scale * instance.X, truth, 2.0, shift, gaps=True))
        contiguous = self.plugin.traits.contiguous
        for M in list(members)[:4]:
            for constraint in constraints_of(M, oracle.takes, self.rng, contiguous):
                ask(TraceObjective(instance.X, shift=-1.0, gaps=True), constraint)
                ask(TraceObjective(instance.X, truth, 2.0, -1.0, gaps=True), constraint)
        partitions = [M for M in members if M.is_partition]
        for other in chain.from_iterable(neighbours(M, self.rng) for M in partitions):
            if len(members) >= MOST_MEMBERS:
                break
            if other not in members and self.is_member(other, instance):
                members[other] = None
        # Rows of M.factor() are equal within clusters of M, so that M is their best partition.
        small = [M for M in members if M.is_partition and M.n_clusters <= MOST_PLANTED]
        small.sort(key=lambda M: int(M.sizes.min()))
        for M in small[:PLANTS]:
            ask(TraceObjective(PLANTED * M.factor(), shift=-1.0))
        for question, answer in answers:
            question.compare(answer, members)
        return len(members)

    def check_predictions(self, data: TrainingSet, metric: Metric) -> None:
        """Check predictions for the instances in a metric, and their scores."""
        for i, (instance, truth) in enumerate(zip(data.instances, data.truths, strict=True)):
            K = count_of_truth(self.plugin, instance, truth)
            M = self._predicted(i, instance, metric, K)
            if metric.price is not None or metric.n_clusters is not None:
                M = self._predicted(i, instance, metric, None)
            if not self.plugin.traits.contiguous:
                for constraint in constraints_of(
                    partition_of_items(truth), {"links"}, self.rng, False
                ):
                    self._predicted(i, instance, metric, K, constraint)
            scores = self.plugin.scores(truth, M, 5)
            self.require(
                {"loss", "disagreement"} <= scores.keys()
                and all(value is None or np.isfinite(value) for value in scores.values()),
                f"scores returned {scores!r}: return finite numbers by name, None where one does "
                "not apply, among them 'loss' and 'disagreement'",
            )

    def _predicted(
        self,
        i: int,
        instance: Instance,
        metric: Metric,
        K: int | None,
        constraint: Constraint = UNCONSTRAINED,
    ) -> Any:
        """The checked answer of ``partition``; None if it refuses this kind of constraint."""
        try:
            with without_warnings(DataWarning):
                M = self.at(i).call("partition", instance, metric, K, constraint)
                again = self.at(i).call("partition", instance, metric, K, constraint)
        except OracleError:
            if constraint == UNCONSTRAINED:
                raise
            return None
        where = f"instance {i}, {constraint.with_clusters(K)}"
        T = instance.n_samples
        self.require(M.n_samples == T, f"partition returned {shown(M)} of {T} items [{where}]")
        broken = constraint.with_clusters(K).violation(M)
        self.require(broken is None, f"partition breaks what was asked for: {broken} [{where}]")
        self.require(M == again, f"partition differs on a second call: seed it [{where}]")
        self._decoded(i, M, instance)
        return M
