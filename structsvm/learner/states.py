"""Names of what was found: a part has the state that is most probable over its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import Sample
from structsvm.errors import SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats, Ints


def names_of_items(M: EquivalenceMatrix, sample: Sample, states: NDArray[Any]) -> NDArray[Any]:
    """The name of the state of each item, (T,), which is that of its part."""
    best, _ = _states_of_parts(M, sample)
    return np.asarray(states[best[M.labels]])


def segment_table(
    M: EquivalenceMatrix,
    sample: Sample,
    states: NDArray[Any] | None,
    times: Any = None,
    margins: Sequence[float] | None = None,
    rates: Sequence[float] | None = None,
) -> list[dict[str, Any]]:
    """A row for each segment: start, end, and time, state, probability, margin, rate if known."""
    starts, ends = M.boundaries[:-1].tolist(), M.boundaries[1:].tolist()
    columns: dict[str, list[Any]] = {"start": starts, "end": ends}
    if times is not None:
        columns["time"] = [times[start] for start in starts]
    if states is not None:
        best, probability = _states_of_parts(M, sample)
        segments = np.arange(len(starts)) if M.labels is None else M.labels[starts]
        columns["state"] = states[best[segments]].tolist()
        columns["probability"] = probability[segments].tolist()
    for name, values in (("margin", margins), ("rate", rates)):
        if values is not None:
            columns[name] = [None, *values]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def segment_tables(
    partitions: Sequence[EquivalenceMatrix],
    samples: Sequence[Sample],
    states: NDArray[Any] | None,
) -> list[list[dict[str, Any]]]:
    """The table of each sample, empty where no states are known or it has no segments."""
    return [
        []
        if states is None or sample.states is None or not M.is_contiguous
        else segment_table(M, sample, states)
        for M, sample in zip(partitions, samples, strict=True)
    ]


def names_by_metric(
    guesses: Mapping[str, Sequence[EquivalenceMatrix]],
    samples: Sequence[Sample],
    states: NDArray[Any] | None,
) -> dict[str, list[NDArray[Any]]]:
    if states is None or any(sample.states is None for sample in samples):
        return {}
    return {
        metric: [names_of_items(M, x, states) for M, x in zip(found, samples, strict=True)]
        for metric, found in guesses.items()
    }


def _states_of_parts(M: EquivalenceMatrix, sample: Sample) -> tuple[Ints, Floats]:
    """Number of the most probable state of each part, and its mean probability, (K,) both."""
    p, labels = sample.states, M.labels
    if p is None:
        raise SettingsError(
            "these samples were not prepared by a learner that knows states: give the recordings, "
            "or what structsvm.interop.prepare makes of them"
        )
    assert labels is not None
    counted = [np.bincount(labels, column, M.n_clusters) for column in p.T]
    sums = np.array(counted, dtype=np.float64).T
    best = sums.argmax(axis=1)
    return best, sums[np.arange(M.n_clusters), best] / M.sizes
