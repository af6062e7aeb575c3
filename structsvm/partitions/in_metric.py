"""Samples transformed to a metric."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structsvm.errors import DataError, parameter
from structsvm.support import Floats, Ints, Stack


@dataclass(frozen=True, eq=False)
class InMetric:
    """Maps samples X (T, P) to ``X L``, for a factor L (P, r); NaN where X is."""

    factor: Floats

    @cached_property
    def picked(self) -> tuple[Ints | None, Floats] | None:
        """The feature of each column (None: all in order) and its scale, (r,).

        None if the metric mixes features.
        """
        P, r = self.factor.shape
        columns = np.nonzero(self.factor)[1]
        if not self.factor.size or np.unique(columns).size < columns.size:
            return None
        feature = np.abs(self.factor).argmax(axis=0)
        in_order = np.array_equal(feature, np.arange(P))
        return (None if in_order else feature), self.factor[feature, np.arange(r)]

    def __call__(self, X: Floats) -> Floats:
        """Map samples to the metric, (T, r)."""
        if self.picked is None:
            Z = np.asarray(X @ self.factor)
            if math.isnan(np.vdot(Z, Z)):
                raise DataError(
                    "values are missing (NaN), and this metric mixes features: masked values take "
                    + parameter("metric", "diagonal")
                    + "; interpolate them for a full metric"
                )
            return Z
        feature, scale = self.picked
        return np.asarray((X if feature is None else X.take(feature, axis=1)) * scale)

    def of_stack(self, Xs: Stack) -> Stack:
        """Map each array of a stack, with the same bits as alone; the stack may be overwritten."""
        if self.picked is None:
            return Stack.of([self(X) for X in Xs.arrays()])
        feature, scale = self.picked
        rows = Xs.rows if feature is None else Xs.rows.take(feature, axis=1)
        rows *= scale
        return Stack(rows, Xs.first)
