"""What a method is asked for, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

from sklearn.utils import Tags, TransformerTags

from structsvm.learner.stages import Stage
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.model import Model
from structsvm.status import HistoryEntry

OPTIONAL = ("columns_", "feature_names_in_", "lost_", "margin_rates_", "steps_")
"""Attributes that only some fitted learners have."""


@dataclass(frozen=True, eq=False)
class How:
    """How to learn, beside what is set, as far as a method can."""

    alternation: Any = None
    """How partial labels are completed."""
    resume: str | PathLike[str] | None = None
    callback: Callable[[HistoryEntry], None] | None = None
    part: float = 1.0
    """What part of the time it takes, about; baselines are fitted in the rest."""


class Learned(NamedTuple):
    """What is made of instances, what partitions them then, and labels that were completed.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.learner import AsMeasured, Learned
    >>> from structsvm.partitions import Metric
    >>> print(Learned(AsMeasured(), Metric(np.eye(2), 1.0)).model)
    metric of 2 features, rank 2, price 1
    """

    inputs: Stage
    model: Model
    truths: Sequence[EquivalenceMatrix] | None = None


def recording_tags(tags: Tags) -> Tags:
    """The tags of an estimator that learns from labelled recordings and transforms them."""
    tags.target_tags.required = True
    tags.input_tags.three_d_array = True  # (N, T, P); a matrix (T, P) is one recording
    tags.transformer_tags = TransformerTags(preserves_dtype=["float64"])
    return tags
