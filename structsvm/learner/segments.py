"""The names of the parts that were found, and tables of segments."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import Instance
from structsvm.errors import SettingsError
from structsvm.partitions import Found
from structsvm.support import Ints

Columns = dict[str, list[Any]]  # columns of a table of segments by name, (K,) each


def names_of_items(found: Found, instance: Instance, states: NDArray[Any]) -> NDArray[Any]:
    """The name of the state of each item, (T,), which is that of its part."""
    of_parts = states_of_parts(found, instance)
    return np.asarray(states[of_parts[found.partition.labels]])


def named_as_seen(found: Found, instance: Instance, states: NDArray[Any]) -> NDArray[Any]:
    """The name of the state of each item, (T,), or of each pixel, (H, W), if pixels are named."""
    names = names_of_items(found, instance, states)
    regions = getattr(instance.side, "regions", None)
    if regions is not None and names.size == regions.size != instance.n_samples:
        return np.asarray(names.reshape(regions.shape))
    return names


def names_in(
    found: Sequence[Found], instances: Sequence[Instance], states: NDArray[Any] | None
) -> list[NDArray[Any]] | None:
    """The names of the items of each instance; None where states are not known."""
    pairs = list(zip(found, instances, strict=True))
    if states is None or any(one.states is None and x.states is None for one, x in pairs):
        return None
    return [names_of_items(one, x, states) for one, x in pairs]


def segment_table(
    found: Found,
    instance: Instance,
    states: NDArray[Any] | None,
    times: Any = None,
    more: Columns | None = None,
) -> list[dict[str, Any]]:
    """A row for each segment: start and end, time, state and probability if known, and ``more``."""
    M = found.partition
    starts = M.boundaries[:-1].tolist()
    ends = M.boundaries[1:].tolist()
    columns: Columns = {"start": starts, "end": ends}
    if times is not None:
        columns["time"] = [times[start] for start in starts]
    p = instance.states
    if states is not None and p is not None:
        of_segments = states_of_parts(found, instance)[M.labels[starts]]
        bounds = zip(starts, ends, of_segments.tolist(), strict=True)
        columns["state"] = states[of_segments].tolist()
        columns["probability"] = [float(p[a:b, c].mean()) for a, b, c in bounds]
    columns |= more or {}
    if times is not None and "from" in columns:
        for end in ("from", "to"):
            columns[f"{end}_time"] = [None if t is None else times[t] for t in columns[end]]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def states_of_parts(found: Found, instance: Instance) -> Ints:
    """The number of the state of each part, (K,): that of the model, or else the most probable."""
    if found.states is not None:
        return found.states
    p = instance.states
    M = found.partition
    if p is None:
        raise SettingsError(
            "these samples were not prepared by a learner that knows states: give the recordings, "
            "or what structsvm.interop.prepare makes of them"
        )
    counted = [np.bincount(M.labels, column, M.n_clusters) for column in p.T]
    return np.asarray(np.array(counted, dtype=np.float64).argmax(axis=0))
