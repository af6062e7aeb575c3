"""What the settings of a learner stand for."""

from __future__ import annotations

from structsvm.errors import SettingsError
from structsvm.partitions.problem import PartitionProblem
from structsvm.regularizers import Regularizer, SquaredNorm, Trace

__all__ = ["REGULARIZERS", "regularizer_from", "shrinkage_from"]

REGULARIZERS: dict[str, Regularizer] = {"squared": SquaredNorm(), "trace": Trace()}


def regularizer_from(name: str | Regularizer) -> Regularizer:
    """A regularizer itself, or the one of a name.

    Raises
    ------
    SettingsError
        When none has that name; the message lists those there are.
    """
    if isinstance(name, Regularizer):
        return name
    if name not in REGULARIZERS:
        raise SettingsError(
            f"regularizer must be one of {sorted(REGULARIZERS)} or a Regularizer, got {name!r}"
        )
    return REGULARIZERS[name]


def shrinkage_from(
    whiten: str | float | None, metric: str, partition: PartitionProblem
) -> float | None:
    """The shrinkage of the whitening, None for none.

    Raises
    ------
    SettingsError
        When it is not in [0, 1], or the metric is diagonal.
    """
    if whiten == "auto":
        whiten = partition.shrinkage if metric == "full" else None
    if whiten is None:
        return None
    if isinstance(whiten, bool | str) or not 0 <= whiten <= 1:
        raise SettingsError(f"whiten must be 'auto', None or a shrinkage in [0, 1], got {whiten!r}")
    if metric == "diagonal":
        raise SettingsError(
            "whitening mixes the features, and a diagonal metric weighs each by itself: use "
            "metric='full' or whiten=None"
        )
    return float(whiten)
