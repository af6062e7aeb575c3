"""Instances, which are partitioned: items with features, and side information of the problem."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from structsvm.data.deferred import Data, Step, apply_each, gaps_in, in_memory, take_rows
from structsvm.errors import DataError
from structsvm.support import Floats, Ints


@dataclass(frozen=True, eq=False)
class Instance:
    """T items with P features each, such as a recording, a table or the nodes of a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import Instance
    >>> instance = Instance(np.zeros((5, 2)), side="a tree over the five items")
    >>> instance.n_samples, instance.n_features, instance.side
    (5, 2, 'a tree over the five items')
    """

    data: Data
    """(T, P), finite: an array, or where to read one when it is needed."""
    side: Any = None
    """Side information of the problem, such as a tree or the edges of a graph. Its method
    ``at(rows)`` returns that of some of the items, for labels in part. If it depends on the
    features, its method ``with_features(X, names)`` returns that of others. Where users label
    something else than the items, such as pixels, its methods ``known_labels(y)`` and
    ``item_labels(y)`` return a label of each item, or -1, and a name of each item, or None; and
    ``labelled(rows, truth)`` the truth where items cannot be taken out of an instance."""
    states: Floats | None = None
    """(T, C) the probability of each named state, where the features of a learner predict them."""
    extremes: Floats | None = field(default=None, metadata={"fingerprint": False})
    """(4, P) the :func:`structsvm.data.columns.column_values`, if they were computed in reading."""

    @property
    def X(self) -> Floats:
        """The features, (T, P), read now if they are not in memory."""
        return in_memory(self.data)

    @property
    def n_samples(self) -> int:
        """The number of items, T."""
        return int(self.data.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features, P."""
        return int(self.data.shape[1])

    @property
    def has_gaps(self) -> bool:
        """Whether values are missing."""
        return gaps_in(self.data)

    def at(self, rows: Ints) -> "Instance":
        """Return some of the items, by their numbers, as an instance of their own.

        Raises
        ------
        DataError
            If there is side information that has no method ``at``.
        """
        side = self.side
        if side is not None and not hasattr(side, "at"):
            raise DataError(
                f"some items of an instance have no meaning without its {type(side).__name__}: "
                "give the side information a method at(rows), which returns that of these items"
            )
        part = None if side is None else side.at(rows)
        return replace(self, data=take_rows(self.data, rows), side=part, states=None, extremes=None)

    def known_labels(self, y: Any) -> Any:
        """Labels of the items, if users write labels of something else, such as pixels."""
        return self.side.known_labels(y) if hasattr(self.side, "known_labels") else y

    def item_labels(self, y: Any) -> Any:
        """The name of each item, or None, for features and baselines to learn from."""
        return self.side.item_labels(y) if hasattr(self.side, "item_labels") else y

    def part(self, rows: Ints, truth: Any) -> "tuple[Instance, Any]":
        """The labelled items, by their numbers, and their partition, to calibrate a price with."""
        if hasattr(self.side, "labelled"):
            return self, self.side.labelled(rows, truth)
        return self.at(rows), truth

    def with_features(self, X: Data, made: tuple[str, ...] | None = None) -> "Instance":
        """The same items with other features, (T, P'), called ``made`` if they were computed."""
        side = self.side
        if made is not None and hasattr(side, "with_features"):
            side = side.with_features(X, made)
        return replace(self, data=X, side=side, states=None, extremes=None)


def apply_to_instances(instances: Sequence[Instance], step: Step) -> list[Instance]:
    """The same instances with a step applied to their features."""
    made = apply_each([instance.data for instance in instances], step)
    return [Instance(X, x.side, x.states) for x, X in zip(instances, made, strict=True)]
