"""Datasets of poses as recordings, and labels of behaviour for other libraries."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import PurePath
from typing import Any

import numpy as np

from structsvm.data import filled, label_values, time_axis, unknown_labels
from structsvm.errors import DataError, warn
from structsvm.io import Interval, Recording
from structsvm.io.interval_files import refuse_dates
from structsvm.support import Floats, require

DIMS = ("time", "individuals", "keypoints", "space")


def pose_recordings(dataset: Any) -> list[Recording]:
    """Return a recording of each individual, with features that do not change if the arena moves.

    These are the speed of each keypoint, the distance between any two, the angle at each keypoint
    between the one before and the one after it, and ``turning``, the rate at which the line from
    the first keypoint to the last one turns. Fewer keypoints make fewer features:
    ``dataset.sel(keypoints=[...])``, in the order along the body.

    Parameters
    ----------
    dataset : xarray.Dataset
        As the package ``movement`` makes it: ``position`` with the dimensions time, space,
        keypoints and individuals. Missing positions are interpolated in time, with a warning.

    Returns
    -------
    list of Recording
        In the order of the individuals, called ``file/individual`` after the attribute
        ``source_file``, with times in the unit of the dataset.

    Raises
    ------
    DataError
        When dimensions are missing, times are fewer than two or fall, or a keypoint is never seen.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from structsvm.interop import pose_recordings
    >>> names = {"keypoints": ["nose", "tail"], "individuals": ["ann"]}
    >>> dims = ("time", "space", "keypoints", "individuals")
    >>> position = xr.DataArray(np.random.default_rng(0).random((5, 2, 2, 1)), names, dims)
    >>> (ann,) = pose_recordings(xr.Dataset({"position": position}))
    >>> ann.features
    ('nose speed', 'tail speed', 'nose to tail', 'turning')
    """
    missing = [dim for dim in DIMS if dim not in getattr(dataset.get("position"), "dims", ())]
    if missing:
        raise DataError(
            f"the dataset has no position with the dimension {missing[0]!r}: it needs "
            f"{', '.join(DIMS)}, as poses of the package movement have"
        )
    positions = dataset["position"].transpose(*DIMS)
    times = positions["time"].to_numpy()
    time = time_axis(times, len(times))
    if len(times) < 2 or (time.steps <= 0).any():
        raise DataError("poses need two times or more, each later than the one before")
    at = np.cumsum([0.0, *time.steps])
    keypoints = [str(name) for name in positions["keypoints"].to_numpy()]
    file = str(dataset.attrs.get("source_file") or "poses")
    recordings = []
    for i, individual in enumerate(map(str, positions["individuals"].to_numpy())):
        name = f"{PurePath(file).stem}/{individual}"
        points = np.asarray(positions[:, i].to_numpy(), dtype=np.float64)
        features = _features(_seen(points, at, keypoints, name), at, keypoints)
        X = np.column_stack(list(features.values()))
        recordings.append(Recording(name, X, None, tuple(features), time=time))
    return recordings


def _seen(points: Floats, at: Floats, keypoints: Sequence[str], name: str) -> Floats:
    """Positions (T, K, D), interpolated in time where they are missing, with a warning."""
    unseen = np.asarray(np.isnan(points).any(axis=2))
    for keypoint, was_seen in zip(keypoints, (~unseen).T, strict=True):
        if not was_seen.any():
            raise DataError(
                f"{name}: keypoint {keypoint!r} is never seen: leave it out, as "
                f"dataset.drop_sel(keypoints={keypoint!r})"
            )
    if unseen.any():
        warn(f"{name}: {unseen.sum()} of {unseen.size} positions are interpolated")
    return filled(points.reshape(len(points), -1), at).reshape(points.shape)


def _features(points: Floats, at: Floats, keypoints: Sequence[str]) -> dict[str, Floats]:
    """The features of positions (T, K, D), (T,) each, by name."""
    columns = {
        f"{name} speed": np.linalg.norm(np.gradient(points[:, k], at, axis=0), axis=1)
        for k, name in enumerate(keypoints)
    }
    for j, k in combinations(range(len(keypoints)), 2):
        away = np.linalg.norm(points[:, j] - points[:, k], axis=1)
        columns[f"{keypoints[j]} to {keypoints[k]}"] = away
    for k in range(1, len(keypoints) - 1):
        one, other = (_unit(points[:, j] - points[:, k]) for j in (k - 1, k + 1))
        sides = (np.linalg.norm(part, axis=1) for part in (one - other, one + other))
        # Kahan's formula is accurate for nearly parallel vectors, too.
        columns[f"angle at {keypoints[k]}"] = 2 * np.arctan2(*sides)
    if len(keypoints) > 1:
        along = np.gradient(_unit(points[:, -1] - points[:, 0]), at, axis=0)
        columns["turning"] = np.linalg.norm(along, axis=1)
    return columns


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit


def with_behaviour(dataset: Any, labels: Sequence[Any]) -> Any:
    """Return a dataset of poses with labels as a coordinate ``behaviour`` of time and individuals.

    ``dataset.position.where(dataset.behaviour == "groom")`` are the poses of a behaviour then.

    Parameters
    ----------
    dataset : xarray.Dataset
        As of :func:`pose_recordings`.
    labels : sequence of labels (T,)
        For each individual, in their order; a missing label is an empty text.

    Raises
    ------
    DataError
        When there is not one label for each time of each individual.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from structsvm.interop import with_behaviour
    >>> poses = xr.Dataset(coords={"time": [0.0, 0.5], "individuals": ["ann"]})
    >>> with_behaviour(poses, [["rest", "walk"]]).behaviour.sel(individuals="ann").values.tolist()
    ['rest', 'walk']
    """
    values = [label_values(y) for y in labels]
    T, n = (dataset.sizes.get(dim, 0) for dim in DIMS[:2])
    if [y.shape for y in values] != [(T,)] * n:
        raise DataError(
            f"labels of shapes {[y.shape for y in values]}, and {T} times of {n} individuals: give "
            "a label for each time of each"
        )
    texts = np.full((T, n), "", dtype=object)
    for i, y in enumerate(values):
        is_labelled = ~unknown_labels(y)
        texts[is_labelled, i] = [str(label) for label in y[is_labelled]]
    return dataset.assign_coords(behaviour=(DIMS[:2], texts.astype(str)))


def nwb_intervals(intervals: Sequence[Interval]) -> Any:
    """Return a table ``behaviour`` of labelled stretches for a file of NWB (extra ``behaviour``).

    ``nwbfile.add_time_intervals(table)`` adds it; its columns are ``start_time``, ``stop_time``
    and ``label``.

    Parameters
    ----------
    intervals : sequence of Interval
        In seconds since the start of the session.

    Raises
    ------
    DataError
        If a time is a date.

    Examples
    --------
    >>> from structsvm.interop import nwb_intervals
    >>> from structsvm.io import Interval
    >>> nwb_intervals([Interval(0.0, 2.5, "rest")])["label"][0]
    'rest'
    """
    epoch = require("pynwb.epoch", "behaviour", "a table of NWB")
    table = epoch.TimeIntervals(name="behaviour", description="labelled by structsvm")
    table.add_column("label", "what is done")
    refuse_dates(intervals, "NWB")
    for one in intervals:
        table.add_interval(start_time=float(one.start), stop_time=float(one.end), label=one.label)
    return table
