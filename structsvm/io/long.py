"""Long tables, in which one column says of which recording each row is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from structsvm.data.times import warn_about_times
from structsvm.errors import DataError, SettingsError
from structsvm.io.cleaning import read_labels_as, warn_about_spellings, without_odd_columns
from structsvm.io.options import FileOptions
from structsvm.io.recording import Recording
from structsvm.io.tables import Table, recordings_in
from structsvm.support.extras import require


def from_long(
    frame: Any,
    recording: str | None = None,
    time: str | None = None,
    label: str | None = None,
    *,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    missing: str = "error",
    labels_are: str | None = None,
) -> list[Recording]:
    """Split a long table into its recordings.

    Parameters
    ----------
    frame : pandas or polars data frame
        With a row for each sample. Columns that are neither of the three below are features.
    recording : str, optional
        Column, or level of the index, that says of which recording a row is. A pandas frame with a
        MultiIndex needs none: its first level is meant, and its last one is the time.
    time : str, optional
        Column or level by which the rows of a recording are sorted; it is no feature, and is kept
        as ``time``. Without it they keep their order.
    label : str, optional
        Column of the labels; None takes "label" if there is such a column. Blank labels are the
        number -1, beside the others.
    features : sequence of str, optional
        Read these columns alone.
    ignore : sequence of str
        Leave these columns out.
    missing : {"error", "interpolate", "mask"}
        As for :func:`structsvm.io.read_recordings`.
    labels_are : {"states", "changes"} or None
        As for :func:`structsvm.io.read_recordings`.

    Returns
    -------
    list of Recording
        In the order in which they begin, named by the values of ``recording``.

    Raises
    ------
    DataError
        Naming the row and the column.
    SettingsError
        When nothing says which rows are one recording.

    Examples
    --------
    >>> import pandas as pd
    >>> from structsvm.io import from_long
    >>> frame = pd.DataFrame(
    ...     {"who": ["ann", "ann", "ben"], "t": [0, 1, 0], "x": [1.0, 2.0, 3.0], "label": [1, 0, 0]}
    ... )
    >>> [(r.name, r.X.ravel().tolist()) for r in from_long(frame, recording="who", time="t")]
    [('ann', [1.0, 2.0]), ('ben', [3.0])]
    """
    frame = _as_pandas(frame)
    levels = frame.index.nlevels
    if recording is None and levels > 1:
        names = [
            f"level {i}" if name is None else str(name) for i, name in enumerate(frame.index.names)
        ]
        frame.index = frame.index.set_names(names)
        recording, time = names[0], names[-1] if time is None else time
    if recording is None:
        raise SettingsError(
            "from_long needs recording=, the column that says of which recording a row is, or a "
            "frame with a MultiIndex whose first level does"
        )
    if label is None and "label" in {*map(str, frame.columns), *map(str, frame.index.names)}:
        label = "label"
    roles = (recording, time, label)
    unknown = [name for name in features or () if name in roles or name not in frame.columns]
    if unknown:
        raise DataError(f"frame: there is no feature {unknown[0]!r}")
    options = FileOptions(
        label, time, recording, ignore=ignore, missing=missing, blanks=True, need_labels=False
    )
    found = recordings_in(Table(frame), Path("frame"), "frame", options, features or ())
    found = [
        replace(one, source=None, origin=None)
        for one in read_labels_as(found, labels_are, ask=True)
    ]
    warn_about_spellings(found)
    warn_about_times([one.name for one in found], [one.time for one in found])
    return without_odd_columns(found, features or ())


def _as_pandas(frame: Any) -> Any:
    """A pandas frame that may be changed."""
    pandas = require("pandas", "files", "reading tables")
    if isinstance(frame, pandas.DataFrame):
        return frame.copy(deep=False)
    if not (hasattr(frame, "columns") and hasattr(frame, "to_dict")):
        raise DataError(f"from_long takes a pandas or polars frame, got {type(frame).__name__}")
    # polars itself needs pyarrow for this
    return pandas.DataFrame({str(name): frame[name].to_list() for name in frame.columns})
