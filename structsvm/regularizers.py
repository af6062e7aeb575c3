"""Regularizers, under the path that these names of :mod:`structsvm.problem` had before."""

from structsvm.problem import (
    Custom,
    Quadratic,
    Regularizer,
    Separable,
    SquaredNorm,
    Trace,
    check_lam,
)

__all__ = [
    "Custom",
    "Quadratic",
    "Regularizer",
    "Separable",
    "SquaredNorm",
    "Trace",
    "check_lam",
]
