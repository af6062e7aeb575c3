"""The contract of separation oracles, and the answer of one."""

import math
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from structsvm.data import LARGEST_VALUE
from structsvm.errors import OracleError, PluginError, SettingsError, about, nth, warn
from structsvm.partitions.constraint import (
    UNCONSTRAINED,
    Constraint,
    ConstraintKind,
    checked_places,
)
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.trace_objective import TraceObjective, faults_of_truth, refuse_no_samples
from structsvm.problem import Quality as Quality
from structsvm.support import (
    Contract,
    Floats,
    Ints,
    Stack,
    all_within,
    asked,
    checked_by,
    hook,
    is_number,
    raise_wrong,
    shown,
)

DOUBT = 0.1  # part of the price of a change; rounding above it is warned of


@dataclass(frozen=True)
class Argmax:
    """The answer of an oracle to ``max_M Tr(A M)``.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SequentialOracle
    >>> from structsvm.partitions import Argmax, TraceObjective
    >>> answer = SequentialOracle().ask(TraceObjective(np.array([[0.0], [2.0]]), shift=-1.0))
    >>> isinstance(answer, Argmax), answer.value, answer.quality.name
    (True, 2.0, 'EXACT')
    """

    y: EquivalenceMatrix
    """The maximiser found."""
    value: float
    """``Tr(A M)`` at ``y``."""
    upper_bound: float
    """No allowed partition has a larger value (infinite for a heuristic that knows none)."""
    quality: Quality
    """Certificate of ``value`` and ``upper_bound``."""


def warn_of_rounding(answer: Argmax, price: float) -> None:
    """Warn if rounding may hide changes from an exact oracle; ``price`` is that of a change."""
    lost = answer.upper_bound - answer.value
    if lost > DOUBT * price and answer.quality is Quality.EXACT:
        warn(
            f"a recording of {answer.y.n_samples} samples has jumps so large that rounding may "
            f"hide changes: up to {lost:.2g}, where a change costs {price:.2g}; take outliers out, "
            "or cut the recording where it jumps"
        )


class Oracle(Contract):
    """Maximises ``Tr(A M)`` over a family of partitions: loss-augmented inference and decoding.

    An oracle holds settings only; it is deterministic, does not modify its input and may be called
    from several threads and processes at once. Define :meth:`maximize`; what calls it is
    :meth:`ask`, which verifies the answer.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import all_segmentations
    >>> from structsvm.partitions import Argmax, EquivalenceMatrix, Oracle, Quality, TraceObjective
    >>> class TwoSegments(Oracle):
    ...     takes = frozenset()
    ...
    ...     def maximize(self, objective, constraint=None):
    ...         rows = [y for y in all_segmentations(objective.n_samples) if y[-1] == 1]
    ...         best = max(map(EquivalenceMatrix.from_labels, rows), key=objective.value)
    ...         value = objective.value(best)
    ...         return Argmax(best, value, value, Quality.EXACT)
    >>> objective = TraceObjective(np.array([[0.0], [0.0], [9.0], [8.0]]))
    >>> TwoSegments().ask(objective).y.breakpoints
    [2, 4]
    """

    takes: ClassVar[frozenset[ConstraintKind]] = frozenset({"n_clusters", "boundaries"})
    """The kinds of constraints that :meth:`maximize` keeps; any other is refused before the work
    starts. "boundaries" are forced and forbidden ones and regions without a change, which
    :meth:`Constraint.boundary_masks` holds together, "regions" those that count changes, "links"
    samples that have to be together or apart."""

    takes_gaps: ClassVar[bool] = False
    """Whether values may be missing (:attr:`TraceObjective.gaps`); otherwise they are refused."""

    def verified(
        self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED
    ) -> tuple[TraceObjective, Constraint]:
        """The arguments of :meth:`maximize`, checked; this runs before each call."""
        if not isinstance(objective, TraceObjective):
            raise OracleError(f"the objective is {shown(objective)}: give a TraceObjective")
        self.refuse(constraint, objective.n_samples)
        if objective.gaps and not self.takes_gaps:
            raise OracleError(
                f"{type(self).__name__} does not take missing values: interpolate them first"
            )
        return objective, constraint

    def verified_prices(self, Z: Floats, prices: Floats) -> tuple[Floats, Floats]:
        """Samples (T, r) and increasing prices (n,), at least 0, checked."""
        refuse_no_samples(Z)
        array = np.asarray(prices)
        if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iuf":
            raise OracleError(f"prices must be a vector of numbers, got {shown(prices)}")
        if not (array[0] >= 0 and array[-1] <= LARGEST_VALUE and (array[1:] >= array[:-1]).all()):
            raise OracleError(
                f"prices must be numbers from 0 to {LARGEST_VALUE:g} in increasing order: sort "
                "them, and leave NaN out"
            )
        return Z, np.ascontiguousarray(array, dtype=np.float64)

    def verified_curve(
        self, Z: Floats, truth: EquivalenceMatrix, prices: Floats
    ) -> tuple[Floats, EquivalenceMatrix, Floats]:
        """The arguments of :meth:`loss_curve`, checked."""
        Z, prices = self.verified_prices(Z, prices)
        fault = next(faults_of_truth(truth, len(Z)), None)
        if fault is not None:
            raise OracleError(fault)
        return Z, truth, prices

    def verified_places(
        self, objective: TraceObjective, places: Ints, constraint: Constraint = UNCONSTRAINED
    ) -> tuple[TraceObjective, Ints, Constraint]:
        """The arguments of :meth:`losses_with`, checked."""
        objective, constraint = self.verified(objective, constraint)
        return objective, checked_places(places, objective.n_samples), constraint

    def verified_each(self, Zs: Stack, price: float) -> tuple[Stack, float]:
        """The arguments of :meth:`maximize_each`, checked for each instance."""
        if not (isinstance(Zs, Stack) and Zs.is_sound):
            raise OracleError(f"the samples are {shown(Zs)}: give what Stack.of makes of arrays")
        refuse_no_samples(Zs.rows)
        if not (is_number(price) and 0 <= price <= LARGEST_VALUE):
            raise OracleError(
                f"the price must be a number from 0 to {LARGEST_VALUE:g}, got {price!r}"
            )
        if not all_within(Zs.rows, LARGEST_VALUE):
            for i, Z in enumerate(Zs.arrays()):
                with about(nth("instance", i)):
                    self.verified(TraceObjective(Z, shift=-price, gaps=True))
        return Zs, float(price)

    @checked_by(verified)
    @abstractmethod
    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise ``Tr(A M)`` over the partitions that ``constraint`` allows.

        OracleError where there is none.
        """

    def ask(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """The answer of :meth:`maximize`, verified: an Argmax that keeps the constraint.

        Raises
        ------
        OracleError
            As :meth:`maximize`; when the oracle does not take this kind of constraint, or missing
            values.
        PluginError
            When the oracle failed, or its answer is no Argmax, is about other samples, or breaks
            the constraint.
        """
        with asked(self, "maximize"):
            answer = self.maximize(objective, constraint)
        self._verify(answer, objective.n_samples, constraint)
        return answer

    def ask_each(self, Zs: Stack, price: float) -> list[Argmax]:
        """The answers of :meth:`maximize_each`, verified, one for each of the instances.

        Raises
        ------
        OracleError, PluginError
            As :meth:`ask`, with the number of the instance.
        """
        with asked(self, "maximize_each"):
            answers = self.maximize_each(Zs, price)
        if not (isinstance(answers, list) and len(answers) == len(Zs)):
            raise_wrong(self, "maximize_each", answers, f"a list of {len(Zs)} Argmax")
        for answer, n_samples in zip(answers, Zs.sizes.tolist(), strict=True):
            self._verify(answer, n_samples, UNCONSTRAINED)
        return answers

    def _verify(self, answer: Any, n_samples: int, constraint: Constraint) -> None:
        """Refuse an answer that is no Argmax of so many samples, or that breaks the constraint."""
        y = getattr(answer, "y", None)
        quality = getattr(answer, "quality", None)
        if not (
            isinstance(answer, Argmax)
            and isinstance(y, EquivalenceMatrix)
            and isinstance(quality, Quality)
        ):
            answered = shown(answer)
            if isinstance(answer, Argmax):
                answered = f"an Argmax of {shown(y)} and {shown(quality)}"
            wrong = (
                f"returned {answered}: return Argmax(y, value, upper_bound, quality) of an "
                "EquivalenceMatrix and a Quality"
            )
        elif y.n_samples != n_samples:
            wrong = f"answered for {y.n_samples} samples, the objective has {n_samples}"
        elif math.isnan(answer.value) or math.isnan(answer.upper_bound):
            wrong = (
                f"returned the value {answer.value} and the upper bound {answer.upper_bound}: "
                "return objective.value(y), and math.inf where no bound is known"
            )
        elif not constraint.says_nothing and (broken := constraint.violation(y)):
            wrong = (
                f"breaks its constraint: {broken}. Keep what the constraint says, or leave that "
                "kind out of takes"
            )
        else:
            return
        raise PluginError(f"{type(self).__name__}.maximize {wrong}")

    def refuse(self, constraint: Constraint, n_samples: int) -> None:
        """Refuse a constraint that cannot be kept, or of a kind that is not in ``takes``."""
        if not isinstance(constraint, Constraint):
            raise OracleError(f"the constraint is {shown(constraint)}: give a Constraint")
        if constraint.says_nothing:
            return
        constraint.validate(n_samples)
        beyond = sorted(constraint.kinds - self.takes)
        if beyond:
            example = next((r for r in constraint.regions if r.changes > 0), None)
            said = f" ({example})" if beyond == ["regions"] else ""
            raise OracleError(
                f"{type(self).__name__} does not take {' and '.join(beyond)}{said}: it declares "
                f"takes = {sorted(self.takes)}. Leave such labels or arguments out, use another "
                "problem, or have maximize keep them and add them to takes"
            )

    @checked_by(verified_places)
    @hook
    def losses_with(
        self, objective: TraceObjective, places: Ints, constraint: Constraint = UNCONSTRAINED
    ) -> Floats:
        """By how much the best partition with a boundary at each of n places is worse, (n,).

        Infinite where the constraint allows none.
        """
        best = self.ask(objective, constraint).value
        losses = np.full(places.size, np.inf)
        for i, t in enumerate(places.tolist()):
            forced = replace(constraint, forced=(*constraint.forced, t))
            with suppress(OracleError):  # no partition is left
                losses[i] = max(best - self.ask(objective, forced).value, 0.0)
        return losses

    @hook
    def online(self, n_columns: int, price: float, max_candidates: int) -> Any:
        """The online search for segments at a price, of samples (n, n_columns)."""
        raise SettingsError(
            f"{type(self).__name__} searches whole recordings: a stream takes segments of any "
            "length and samples without gaps, so leave min_length, max_length and missing of the "
            "problem as they are by default"
        )

    @checked_by(verified_each)
    @hook
    def maximize_each(self, Zs: Stack, price: float) -> list[Argmax]:
        """The best partitions of several instances at a price >= 0, without constraints."""
        objectives = [TraceObjective(Z, shift=-price, gaps=True) for Z in Zs.arrays()]
        return [self.maximize(objective) for objective in objectives]

    @checked_by(verified_prices)
    @hook
    def price_path(self, Z: Floats, prices: Floats) -> list[EquivalenceMatrix]:
        """The best partition of samples (T, r) at each of n positive, increasing prices."""
        return decode_between(lambda p: self.ask(TraceObjective(Z, shift=-p, gaps=True)).y, prices)

    @checked_by(verified_curve)
    @hook
    def loss_curve(self, Z: Floats, truth: EquivalenceMatrix, prices: Floats) -> Floats:
        """``|M - M_i|_F^2`` of the best partition of samples (T, r) at every price, (n,)."""
        path = self.price_path(Z, prices)
        losses = {id(M): partition_loss(truth, M) for M in path}
        return np.array([losses[id(M)] for M in path])


def decode_between(
    decode: Callable[[float], EquivalenceMatrix], prices: Floats
) -> list[EquivalenceMatrix]:
    """The best partition at every price; most prices need no call of ``decode``."""
    partitions: dict[int, EquivalenceMatrix] = {}

    def at(index: int) -> EquivalenceMatrix:
        if index not in partitions:
            partitions[index] = decode(float(prices[index]))
        return partitions[index]

    # The optimal value is a maximum of functions affine in the price, so that two prices with the
    # same optimal partition share it with all between them.
    pending = [(0, prices.size - 1)]
    while pending:
        low, high = pending.pop()
        if at(low) == at(high):
            partitions.update(dict.fromkeys(range(low, high), partitions[high]))
        elif high - low > 1:
            middle = (low + high) // 2
            pending += [(low, middle), (middle, high)]
    return [partitions[index] for index in range(prices.size)]
