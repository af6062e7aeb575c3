"""What weights may be, under the path that these names of :mod:`structsvm.problem` had before."""

from structsvm.problem import (
    PSD,
    Free,
    Nonnegative,
    Product,
    Projection,
    WeightSpace,
    factors_of,
    metric_factor,
    smat,
    smat_operator,
    svec,
)

__all__ = [
    "PSD",
    "Free",
    "Nonnegative",
    "Product",
    "Projection",
    "WeightSpace",
    "factors_of",
    "metric_factor",
    "smat",
    "smat_operator",
    "svec",
]
