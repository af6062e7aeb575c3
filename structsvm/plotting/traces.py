"""What is drawn of a recording: its values in the metric, or as they were measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.report import feature_names, feature_weights

__all__ = ["count", "traces"]

Floats = NDArray[np.float64]


def count(asked: int | str | None, truth: EquivalenceMatrix | None) -> int | None:
    """A number of segments or clusters, "true" being that of the truth."""
    if not isinstance(asked, str):
        return asked
    if asked != "true":
        raise SettingsError(f"n_segments must be an integer, 'true' or None, got {asked!r}")
    if truth is None:
        raise SettingsError("n_segments='true' needs the true labels")
    return truth.n_clusters


def traces(learner: MetricLearner, X: Any, show: str, n: int) -> tuple[list[str], Floats]:
    """Names and values, (n, T), of what is drawn of a recording."""
    names = feature_names(learner)
    if show == "features":
        top = np.argsort(-feature_weights(learner), kind="stable")[:n]
        return [names[j] for j in top], np.asarray(X, dtype=np.float64).T[top]
    if show != "components":
        raise SettingsError(f"show must be 'components' or 'features', got {show!r}")
    directions = learner.components_
    top = np.argsort(-np.einsum("rp,rp->r", directions, directions), kind="stable")[:n]
    values = np.asarray(learner.transform([X])[0]).T[top]
    return [_direction_name(directions[r], i, names) for i, r in enumerate(top, 1)], values


def _direction_name(direction: Floats, number: int, names: list[str]) -> str:
    """The feature's name if there is only one in a direction."""
    inside = np.flatnonzero(direction)
    return names[inside[0]] if inside.size == 1 else f"direction {number}"
