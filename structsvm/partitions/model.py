"""Models: what a method has learned, a value that partitions prepared instances."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structsvm.data import Instance, Step
from structsvm.errors import DataError, SettingsError
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support import Floats, Ints, hook, without_remembered


class Found(NamedTuple):
    """A partition of an instance, and the number of the state of each part, (K,), if it has any.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import EquivalenceMatrix, Found
    >>> found = Found.of(EquivalenceMatrix.from_breakpoints([2, 3]), np.array([1, 1, 0]))
    >>> found.states.tolist()
    [1, 0]
    """

    partition: EquivalenceMatrix
    states: Ints | None = None

    @classmethod
    def of(cls, partition: EquivalenceMatrix, codes: Ints) -> "Found":
        """From a state for each item, (T,), which is the same within a part."""
        states = np.empty(partition.n_clusters, dtype=np.int64)
        states[partition.labels] = codes
        return cls(partition, states)


class Model(ABC):
    """What a method has learned: a small frozen value, which model files store.

    Examples
    --------
    >>> from structsvm.partitions import EquivalenceMatrix, Found, Model
    >>> class Halves(Model):
    ...     def partition(self, problem, instance, constraint):
    ...         T = instance.n_samples
    ...         return Found(EquivalenceMatrix.from_breakpoints([T // 2, T]))
    """

    keeps_rules: ClassVar[bool] = False
    """Whether it keeps constraints beside the number of parts, and the lengths of the problem."""
    has_margins: ClassVar[bool] = False
    keeps_states: ClassVar[bool] = False
    """Whether it keeps known states (:attr:`Constraint.states`), too."""

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, except those that are cached."""
        return without_remembered(self, vars(self))

    @abstractmethod
    def partition(self, problem: Any, instance: Instance, constraint: Constraint) -> Found:
        """The best partition of a prepared instance that keeps the constraint."""

    @hook
    def partition_each(
        self, problem: Any, instances: Sequence[Instance], step: Step | None = None
    ) -> list[Found] | None:
        """The best partitions without constraints, if the model has a quicker way; else None.

        ``step`` is applied to each instance first.
        """
        return None

    @property
    @hook
    def n_parts(self) -> int | None:
        """The number of parts where none is asked for; None where the model decides."""
        return None

    @property
    @hook
    def unit(self) -> float:
        """The divisor of margins that makes them comparable with those of other models."""
        return 1.0

    @hook
    def online(self, problem: Any, max_candidates: int) -> Any:
        """The online search for segments."""
        raise SettingsError(
            f"{type(self).__name__} finds segments in whole recordings alone: ask for those of "
            "what was recorded so far, or learn a StateSegmenter, whose search takes samples as "
            "they come"
        )

    @hook
    def online_rows(self, seen: Floats) -> Floats:
        """The rows of the online search, from prepared samples or probabilities of states."""
        return seen

    @hook
    def margins(
        self, problem: Any, instance: Instance, constraint: Constraint, tolerance: int
    ) -> tuple[Found, Floats]:
        """The best partition, and by how much it is worse without each change, (K - 1,)."""
        raise DataError(
            f"{type(self).__name__} finds no second best partition, so that its changes have no "
            "margins: margins=False leaves them out"
        )

    @hook
    def losses_with(
        self, problem: Any, instance: Instance, constraint: Constraint, places: Ints
    ) -> Floats:
        """By how much the best partition with a change at each of n samples is worse, (n,)."""
        raise DataError(
            f"{type(self).__name__} finds no second best partition, and knows of no other changes: "
            "level=None leaves them out"
        )
