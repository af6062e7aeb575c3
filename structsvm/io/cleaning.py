"""Cleaning of recordings: missing values, labels that mark changes, fine sampling."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import (
    NO,
    RECORDINGS,
    YES,
    Instance,
    blocks,
    count_marks,
    filled,
    marks_of,
    warn_about_times,
    without_counting,
)
from structsvm.errors import DataError, parameter, warn
from structsvm.io.recording import FileOptions, Recording, share_features
from structsvm.learner.columns import warn_of_columns
from structsvm.learner.lost_columns import SPREAD_ENDING
from structsvm.partitions.equivalence import runs_of
from structsvm.support import Floats, Ints, counted, refuse_unlisted, repeated_in, some_of

WAY_OF_GAPS = "interpolate with " + parameter("missing", "interpolate") + ", or drop them first"
WAY_OF_MASKS = parameter("missing", "mask") + " learns and predicts without them"
IMPUTE = parameter("missing", "impute") + " puts the median of their column there"
"""Advice about missing values: the first two for recordings, the last one for tables."""


def cleaned(
    recordings: Sequence[Recording],
    options: FileOptions,
    *,
    ask: bool = True,
    steps: Mapping[str, Sequence[float]] | None = None,
) -> list[Recording]:
    """Recordings with labels of states and equal features, as windows, without counting columns."""
    shared = share_features(read_labels_as(recordings, options.labels_are, ask=ask))
    if not (options.wanted or options.features):
        shared = list(without_counting(shared, None))
    shared = in_windows(shared, options.window)
    if options.in_order:
        warn_about_times([one.name for one in shared], [one.time for one in shared], steps)
    return completed(shared, options)


def completed(recordings: Sequence[Recording], options: FileOptions) -> list[Recording]:
    """Leave out rows of tables with missing values, or impute these; recordings are kept."""
    if options.in_order:
        return list(recordings)
    if options.missing == "impute" and not options.medians:
        X = np.vstack([one.X for one in recordings])
        first = recordings[0]
        _refuse_empty(X, first, "no value, and therefore no median")
        medians = dict(zip(first.features, np.nanmedian(X, axis=0).tolist(), strict=True))
        options = replace(options, medians=medians)
    complete = _imputed if options.missing == "impute" else _without_rows
    return [complete(one, options) for one in recordings]


def _refuse_empty(X: Floats, recording: Recording, has: str) -> None:
    """Refuse columns in which all values are missing."""
    for feature, column in zip(recording.features, X.T, strict=True):
        if np.isnan(column).all():
            raise DataError(
                f"{recording.where}: column {feature!r} of {recording.name} has {has}: leave it "
                "out with " + parameter("ignore", feature) + ", or predict --without it"
            )


def _imputed(recording: Recording, options: FileOptions) -> Recording:
    """Replace missing values by medians, which stay among the options of the recording."""
    X = recording.X
    origin = recording.origin
    medians = np.array([options.medians[name] for name in recording.features])
    if n := int(np.isnan(X).sum()):
        values = counted(n, "missing value")
        warn(f"{recording.where}: {values} imputed, by the median of the column")
    origin = origin and replace(origin, options=options)
    return replace(recording, X=np.where(np.isnan(X), medians, X), origin=origin)


def _without_rows(recording: Recording, options: FileOptions) -> Recording:
    """Leave out rows with missing values."""
    missing = np.isnan(recording.X)
    features = recording.features
    origin = recording.origin
    advice = "" if options.wanted else "; " + IMPUTE
    rows = np.flatnonzero(missing.any(axis=1))
    if not rows.size:
        return recording
    if rows.size == len(missing):
        worst = features[missing.sum(axis=0).argmax()]
        raise DataError(
            f"{recording.where}: values are missing in every row, most of them in column "
            f"{worst!r}: leave it out, " + parameter("ignore", worst) + advice
        )
    warn(
        f"{recording.where}: {rows.size} of {counted(len(missing), 'row')} left out in which "
        f"values are missing, the first is {recording.place(rows[0])}, column "
        f"{features[missing[rows[0]].argmax()]!r}" + advice
    )
    kept = recording.at(np.setdiff1d(np.arange(len(missing)), rows))
    if origin is None or kept.origin is None:
        return kept
    return replace(kept, origin=replace(kept.origin, left_out=origin.rows[rows]))


def without_gaps(recording: Recording, options: FileOptions) -> Recording:
    """Refuse missing values, interpolate them or leave them NaN, some for :func:`completed`."""
    X = recording.X
    where = recording.where
    missing = options.missing
    infinite = [(row, row + 1, column) for row, column in np.argwhere(np.isinf(X)).tolist()]
    n = int(np.isnan(X).sum())
    is_later = missing is None and not options.in_order
    if not infinite and (n == 0 or missing == "impute" or is_later):
        return recording
    places = some_of(
        [
            f"{recording.place(start, end)}, column {recording.features[j]!r}"
            for start, end, j in infinite or blocks(X)
        ],
        4,
        "; ",
    )
    gaps = f"{'a missing value' if n == 1 else 'missing values'} in {places}"
    if infinite:
        value = X[infinite[0][0], infinite[0][2]]
        raise DataError(f"{where}: {value} in {places}; leave it blank, or its row out")
    if missing not in ("mask", "interpolate"):
        advice = WAY_OF_GAPS if options.wanted else WAY_OF_GAPS + "; " + WAY_OF_MASKS
        raise DataError(f"{where}: {gaps}; " + (advice if options.in_order else IMPUTE))
    if missing == "interpolate":
        _refuse_empty(X, recording, "no value that could be interpolated")
        time = recording.time
        X = filled(X, None if time is None else np.cumsum([0.0, *time.steps]))
    done = "masked" if missing == "mask" else "interpolated"
    warn(f"{where}: {counted(n, 'value')} {done}: {gaps}")
    return replace(recording, X=X)


def read_labels_as(
    recordings: Sequence[Recording], labels_are: str | None, *, ask: bool = True
) -> list[Recording]:
    """Convert labels that mark changes to numbers of segments; refuse doubtful ones if ``ask``."""
    refuse_unlisted("labels_are", labels_are, (None, "states", "changes"))
    if labels_are == "changes":
        return [_from_marks(recording) for recording in recordings]
    if labels_are is None and ask and (n := count_marks([one.y for one in recordings])):
        raise DataError(
            f"{recordings[0].where}: the labels are 0 but for {counted(n, 'single sample')} with "
            "1, or no and yes. If a 1 marks the first sample of a new segment, say "
            + parameter("labels_are", "changes")
            + ". If it is the state of that one sample, which makes it a segment of its own, say "
            + parameter("labels_are", "states")
        )
    return list(recordings)


def _from_marks(recording: Recording) -> Recording:
    """A recording whose labels mark changes, with the number of its segment as each label."""
    if recording.y is None:
        return recording
    marks = marks_of(recording.y)
    if marks is None:
        texts = dict.fromkeys(map(str, recording.y.tolist()))
        unreadable = [text for text in texts if text.lower() not in ("0", "1", *YES, *NO)]
        raise DataError(
            f"{recording.where}: labels that are changes must be 0 or 1, got {unreadable[0]}; "
            "where a label is blank write 0"
        )
    return replace(recording, y=np.cumsum(marks, dtype=np.int64))


# ---- recordings that are sampled much finer than their segments last, averaged to windows


SHORTER_PART = 0.1  # the shortest usual segment is this quantile of their lengths
MANY_SAMPLES = 200  # from so many samples of the shortest usual segment on, they are averaged
WINDOWS_OF_A_SEGMENT = 25  # windows of the shortest usual segment


def window_for(recordings: Sequence[Recording]) -> tuple[int, int]:
    """The samples of a window, 1 for short segments; and those of the shortest usual segment."""
    ys = [one.y for one in recordings if one.y is not None]
    if not ys:
        return 1, 0
    lengths = np.concatenate([runs_of(y).sizes for y in ys])
    usual = int(np.quantile(lengths, SHORTER_PART, method="lower"))
    return (1 if usual < MANY_SAMPLES else usual // WINDOWS_OF_A_SEGMENT), usual


def columns_of_windows(names: Sequence[str]) -> list[str]:
    """The columns of a table whose windows have these features."""
    spreads = {name + SPREAD_ENDING for name in names}
    return [name for name in names if name not in spreads]


def in_windows(recordings: Sequence[Recording], window: int | None) -> list[Recording]:
    """Average windows of so many samples; the last one of a recording has those that remain."""
    if window is None or window == 1:
        return list(recordings)
    # Numbers that stand for missing values cannot be seen in means of windows.
    warn_of_columns([Instance(one.X) for one in recordings], recordings[0].features, RECORDINGS)
    return [_averaged(one, window) for one in recordings]


def _averaged(recording: Recording, window: int) -> Recording:
    T = len(recording.X)
    time = recording.axis
    y = recording.y
    starts = np.arange(max(T // window, 1)) * window
    features = (*recording.features, *(f"{name}{SPREAD_ENDING}" for name in recording.features))
    if twice := repeated_in(features):
        raise DataError(
            f"{recording.where}: {twice[0]!r} is what the spread of a column in windows is called: "
            "give this column another name, or " + parameter("window", 1)
        )
    return replace(
        recording,
        X=_statistics(recording.X, starts),
        y=None if y is None else _commonest(y, starts),
        features=features,
        chunks=None if recording.chunks is None else recording.chunks[starts],
        time=replace(time.at(starts), lasting=window * time.usual_step),
        origin=None,
        fine=recording,
        window=window,
    )


def _statistics(X: Floats, starts: Ints) -> Floats:
    """The means and standard deviations of the columns in each window, without missing values."""
    is_measured = ~np.isnan(X)
    counts = np.add.reduceat(is_measured, starts, axis=0, dtype=np.int64)
    sizes = np.diff(starts, append=len(X))
    with np.errstate(invalid="ignore"):
        means = np.add.reduceat(np.where(is_measured, X, 0.0), starts, axis=0) / counts
        away = np.where(is_measured, X - np.repeat(means, sizes, axis=0), 0.0)
        return np.hstack([means, np.sqrt(np.add.reduceat(away**2, starts, axis=0) / counts)])


def _commonest(y: NDArray[Any], starts: Ints) -> NDArray[Any]:
    """The most frequent label in each window."""
    numbers: dict[Any, int] = {}
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in y.tolist()])
    best = [np.bincount(part).argmax() for part in np.split(codes, starts[1:])]
    return y[np.unique(codes, return_index=True)[1][best]]
