"""Recordings with labels from files of stretches and changes."""

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from structsvm.errors import DataError, about, parameter, printable, warn
from structsvm.io.boundaries import MeaningOfEnds, PlacedRow
from structsvm.io.label_file import LASTS_UNTIL_NEXT, LabelFile, name_of
from structsvm.io.label_files import LABEL_KINDS, read_rows
from structsvm.io.label_rows import UNTIL_NEXT, Interval
from structsvm.io.media import STEPS_ALLOWED
from structsvm.io.paired_names import n_alike, paired_names
from structsvm.io.recording import Recording
from structsvm.io.spans import Marks, checked_spans, collisions, having, labelled
from structsvm.support import counted, listed, spelled

T = TypeVar("T")

STEPS_IN_STRETCH = 5  # a usual stretch should have so many steps of sound


def with_labels(
    recordings: Sequence[Recording],
    path: str | PathLike[str],
    *,
    blanks: bool = False,
    outside: str | None = None,
    some: bool = False,
    **chosen: str | None,
) -> list[Recording]:
    r"""Return recordings labelled by a file of stretches of time or changes.

    Parameters
    ----------
    recordings : sequence of Recording
        Where their times are not known, the labels are in numbers of samples. Seconds since the
        first sample are known among dates.
    path : path
        A table with a column ``change`` of the times of the changes, or stretches of time with
        their labels as :func:`read_intervals` reads them, of which points alone are changes; or a
        folder of such files; or a name, ``labels.txt`` or ``*_events.tsv``, of such a file in the
        folder of each recording, or above it, whose rows are told apart by their dates. Where
        neighbours of all recordings are mostly one step apart, ends are those of last samples. A
        column with the names of recordings says of which one a row is; without it the file is of
        the recording of its name, or of the only one.
    blanks : bool
        Whether samples may be without a label, which is then -1.
    outside : str, optional
        The label of samples in no stretch, such as the state between those that were marked; by
        default they have none.
    some : bool
        Whether recordings that the file has nothing about are left out, rather than refused.
    chosen
        ``start``, ``end``, ``label``, ``recording``, ``subject`` and ``annotator`` of
        :func:`read_intervals`; ``tier``, which layer, where there are several
        (:func:`layers_of`).

    Raises
    ------
    DataError, SettingsError
        When the file has nothing about a recording, or what it has may be of two, or is of several
        layers; when a change is not within the recording, or samples lack a label; for another
        keyword.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structsvm.io import Recording, with_labels
    >>> show = Recording("show", np.zeros((6, 2)), None, ("x", "y"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "show.csv"
    ...     _ = table.write_text("change\n2\n4\n")
    ...     (labelled,) = with_labels([show], table)
    >>> labelled.y.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    layers = layers_of(recordings, path, blanks=blanks, outside=outside, some=some, **chosen)
    first, marks = next(iter(layers.items()))
    without = [one.name for one in marks if one.y is None]
    several = f"several labels at once, in layers called {listed(list(layers))}: choose one, "
    several += parameter("tier", first) + "; structsvm try learns each"
    nothing = f"nothing about {listed(without)} of {first!r}: leave out what has no labels"
    with about(path):
        if len(layers) > 1:
            raise DataError(several)
        if without:
            raise DataError(nothing)
    return marks


def layers_of(
    recordings: Sequence[Recording],
    path: str | PathLike[str],
    *,
    blanks: bool = False,
    outside: str | None = None,
    tier: str | None = None,
    some: bool = False,
    **chosen: str | None,
) -> dict[str, list[Recording]]:
    r"""Return recordings with each layer of labels, of several that a file gives at once.

    Layers are the tiers of a file, or, where there are none and stretches of different labels
    overlap, the labels: a sample is labelled ``graze`` where it is marked so and ``no graze``
    (``outside``) elsewhere. A label was looked for in a recording if the same annotator uses it
    anywhere in the same file, or names it in a row without times, or in the list of a project of
    BORIS; where it was not, the recording has no labels (None). All layers share ``X``.

    Parameters
    ----------
    recordings, path, blanks, outside, tier, chosen
        As of :func:`with_labels`.

    Returns
    -------
    dict of lists of Recording
        By the names of the layers; the only one of labels that do not overlap is called "".

    Raises
    ------
    DataError, SettingsError
        As of :func:`with_labels`, and where there is no layer ``tier``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structsvm.io import Recording, layers_of
    >>> cow = Recording("cow", np.zeros((4, 2)), None, ("x", "y"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "cow.csv"
    ...     _ = table.write_text("start,end,label\n0,3,graze\n2,4,walk\n")
    ...     layers = layers_of([cow], table, tier="walk")
    >>> layers["walk"][0].y.tolist()
    ['no walk', 'no walk', 'walk', 'walk']
    """
    all_marks = _marks_of(recordings, Path(path), chosen, some)
    tiers_of_each = [{row.who.get("tier", ""): None for row in one.rows} for one in all_marks]
    tiers = list(dict.fromkeys(chain(*tiers_of_each)))
    if tier in tiers or (tier is None and any(len(own) > 1 for own in tiers_of_each)):
        return {
            name: [labelled(one, blanks, outside, name) for one in all_marks]
            for name in (tiers if tier is None else [tier])
        }
    rows = (row for _, _, row in chain.from_iterable(one.spans for one in all_marks))
    labels = list(dict.fromkeys(row.label for row in rows if row.label))
    overlaps = [f"{one.where}: {both}" for one in all_marks if (both := collisions(one.spans)[1])]
    if tier is None and not overlaps:
        return {"": [labelled(one, blanks, outside) for one in all_marks]}
    if tier not in (None, *labels):
        raise DataError(
            f"{path}: no tier {tier!r}; there is {listed([*filter(None, tiers)] or labels)}"
        )
    if tier is None:
        warn(f"{overlaps[0]}: each label is a layer of its own")
    for one in all_marks:
        checked_spans(one.spans, one.axis, f"{one.where}: ")
    names = labels if tier is None else [tier]
    return {name: [having(one, name, outside) for one in all_marks] for name in names}


def is_of_each_folder(path: Path) -> bool:
    """Whether this is the name of a file of labels in each folder of recordings, and no path."""
    return path == Path(path.name) and not os.path.exists(path)


def label_files(path: Path) -> list[Path]:
    """The file of labels at a path, or those of a folder; without any, those below it."""
    if not os.path.isdir(path):
        return [path]
    files = [file for file in sorted(path.rglob("*")) if file.suffix.lower() in LABEL_KINDS]
    return [file for file in files if file.parent == path] or files  # others may be recordings


def warn_of_ends(
    path: str | PathLike[str], several: Sequence[Sequence[Interval]], chosen: Mapping[str, Any]
) -> None:
    """Warn of rows without ends, but for the last ones, which last until the recording ends."""
    rows = list(chain(*several))
    without_end = [row for row in rows if row.kind == UNTIL_NEXT and row.end != np.inf]
    if without_end and chosen.get("end") != LASTS_UNTIL_NEXT:
        warn(
            f"{path}: {len(without_end)} of {counted(len(rows), 'row')} have no end and last until "
            f"the next one, the first is {without_end[0]}: say "
            + parameter("end", LASTS_UNTIL_NEXT)
            + " if they do, or name the column of their ends with "
            + parameter("end")
        )


def without_points(
    path: str | PathLike[str], several: Sequence[Sequence[Interval]]
) -> list[list[Interval]]:
    """Return rows without the points among stretches, with a warning; points alone are changes."""
    kept = []
    left_out = list[Interval]()
    for rows in several:
        keys = {row.key for row in rows if row.start != row.end}
        left_out += [row for row in rows if row.start == row.end and row.key in keys]
        kept.append([row for row in rows if row.start != row.end or row.key not in keys])
    if left_out:
        warn(
            f"{path}: {counted(len(left_out), 'point')} in time left out, as stretches are read, "
            f"the first is {left_out[0]}: give it an end if it lasts"
        )
    return kept


def _marks_of(
    recordings: Sequence[Recording], path: Path, chosen: Mapping[str, str | None], some: bool
) -> list[Marks]:
    """Read the labels of each recording, or of ``some``, from a file or from those of a folder."""
    if is_of_each_folder(path):
        return _with_boundaries(path, _marks_of_folders(recordings, path, chosen), chosen)
    names = set(chain.from_iterable(_names(one) for one in recordings))
    read: dict[str, tuple[Path, list[Interval], set[str]]] = {}
    files = label_files(path)
    for file in files:
        below = Path() if file == path else file.parent.relative_to(path)
        own = read_rows(LabelFile(file, chosen, names), ("subject", "annotator"), len(files) == 1)
        for own_name, (rows, sought) in own.items():
            is_of_file = own_name == printable(file.stem)
            name = spelled((below / own_name).as_posix() if is_of_file else own_name)
            if name in read:
                raise DataError(f"{file}: a second file about {name}: leave one out")
            read[name] = file, rows, sought
    read = _by_recording(read, recordings, names, path)
    marks: dict[str, Marks] = {}
    for recording in recordings:
        called = next((name for name in _names(recording) if name in read), None)
        if called is None and some:
            continue
        if called is None or called in marks:
            raise DataError(
                f"{path}: nothing about {recording.name}, or what is about another one as well; it "
                f"has {listed(list(read), 5)}: name recordings in a column 'recording' of a "
                "table, or call files like them, or leave out a recording that has no labels"
            )
        marks[called] = Marks.of(recording, *read[called])
    if not marks:
        raise DataError(
            f"{path}: nothing about any of {counted(len(recordings), 'recording')}; it has "
            f"{listed(list(read), 5)}: name recordings in a column 'recording' of a table, or "
            "call files like them"
        )
    if strangers := [name for name in read if name not in marks]:
        warn(
            f"{path}: labels of {listed(strangers, 5)} are not used, because no recording has such "
            f"a name; those that were given are {listed([one.name for one in recordings], 5)}"
        )
    return _with_boundaries(path, list(marks.values()), chosen)


def _by_recording(
    read: dict[str, T], recordings: Sequence[Recording], names: Set[str], path: Path
) -> dict[str, T]:
    """Rename labels after recordings if all names differ, but alike, as S1-eeg and S1-labels do."""
    if not names.isdisjoint(read):
        return read
    own = [one.name for one in recordings]
    pairs = dict(zip(own, read, strict=True)) if len(own) == len(read) == 1 else {}
    pairs = pairs or paired_names(own, read.keys())
    if not pairs or len(pairs) != len(read):
        return read
    first, called = next(iter(pairs.items()))
    if path.is_dir() or called != printable(path.stem):
        which = "the only recording" if len(pairs) == 1 else "and so on"
        warn(f"{path}: its labels are of {called!r}, and are taken for those of {first}, {which}")
    return {name: read[called] for name, called in pairs.items()}


def _marks_of_folders(
    recordings: Sequence[Recording], path: Path, chosen: Mapping[str, str | None]
) -> list[Marks]:
    """Read the labels of each recording from a file of this name in its folder, or above it."""
    by_file: dict[Path | None, list[Recording]] = {}
    for recording in recordings:
        by_file.setdefault(file_beside(recording.where, path.name), []).append(recording)
    without = by_file.pop(None, [])
    marks: list[Marks] = []
    for file, beside in by_file.items():
        assert file is not None
        names = set(chain.from_iterable(_names(one) for one in beside))
        read = read_rows(LabelFile(file, chosen, names), ("subject", "annotator"), alone=False)
        all_rows, all_sought = read.get(printable(file.stem), ([], set[str]()))
        with about(file):
            by_time = _by_time(all_rows, beside) if len(read) == 1 and all_rows else {}
        for recording in beside:
            called = [*_names(recording), *(n for n in read if _is_of_both(n, file, recording))]
            own = [read[name] for name in called if name in read]
            rows, sought = own[0] if own else (by_time.get(recording.name, []), all_sought)
            if rows:
                marks.append(Marks.of(recording, file, rows, sought))
            else:
                without.append(recording)
    if not marks:
        raise DataError(f"{path}: no such file, or nothing in one beside a recording that is its")
    if without:
        unlabelled = listed([one.name for one in without], 5)
        warn(f"{path}: nothing about {unlabelled}: left out, because they have no labels")
    return marks


def _is_of_both(name: str, file: Path, recording: Recording) -> bool:
    """Whether the names of a file of labels and of a recording both begin with this name."""
    return bool(name) and all(one.startswith(name) for one in (file.stem, _names(recording)[-1]))


def file_beside(recording: str | Path, name: str) -> Path | None:
    """Return the file of this name, or pattern, in the folder of a recording, or above it."""
    path = Path(os.path.abspath(recording))
    for folder in path.parents:
        if beside := [file for file in sorted(folder.glob(name)) if file.is_file()]:
            return max(beside, key=lambda file: n_alike(file.stem, path.stem))
    return None


def _by_time(
    rows: Sequence[Interval], recordings: Sequence[Recording]
) -> dict[str, list[Interval]]:
    """Return the rows within each recording, by dates if there are several recordings."""
    if len(recordings) == 1:
        return {recordings[0].name: list(rows)}
    axes = [one.time for one in recordings if one.time is not None and one.time.holds_dates]
    if len(axes) < len(recordings):
        raise DataError(
            f"it is of {len(recordings)} recordings: name them in a column 'recording', or name "
            "the column of their dates (" + parameter("time_column") + ")"
        )
    stretches = [PlacedRow.of(row, axes[0]) for row in rows]
    by_recording = {}
    for one, axis in zip(recordings, axes, strict=True):
        first, last = axis.values[[0, -1]]
        within = [s for s in stretches if s.start <= last and (s.end is None or s.end > first)]
        by_recording[one.name] = [_clipped(s, first, last) for s in within]
    return by_recording


def _clipped(stretch: PlacedRow, first: Any, last: Any) -> Interval:
    """A row cut off where a recording begins and ends."""
    start = stretch.row.start if stretch.start >= first else str(first)
    is_until_end = stretch.end is None or stretch.end > last
    return replace(stretch.row, start=start, end=np.inf if is_until_end else stretch.row.end)


def refuse_coarse(path: Path, lengths: Sequence[float], step: float) -> None:
    """Refuse sound in longer steps than most stretches last; warn if steps are nearly as long."""
    usual = float(np.median(lengths)) if lengths else np.inf
    finer = max(float(f"{min(usual / STEPS_IN_STRETCH, step):.0e}"), STEPS_ALLOWED[0])
    if finer >= step:
        return
    n_short = sum(length < step for length in lengths)
    message = (
        f"{path}: sound and pictures are read in steps of {step:g} s, and {n_short} of "
        f"{len(lengths)} stretches are shorter, half of all than {usual:.3g} s: "
        + parameter("step", finer)
        + " resolves them"
    )
    if 2 * n_short > len(lengths):
        raise DataError(message)
    warn(message)


def _with_boundaries(
    path: Path, several: list[Marks], chosen: Mapping[str, str | None]
) -> list[Marks]:
    """Return the marks of recordings with the meaning of their ends, and warn of it once."""
    of_media = [one for one in several if one.axis.lasting and one.recording.fine is None]
    placed = chain.from_iterable(one.stretches for one in of_media)
    lengths = [one.end - one.start for one in placed if one.end is not None]
    refuse_coarse(path, lengths, max((one.axis.lasting for one in of_media), default=0.0))
    warn_of_ends(path, [one.rows for one in several], chosen)
    means = MeaningOfEnds.of([(one.stretches, one.axis) for one in several])
    if means.reach is None:  # else a point is a stretch of one sample
        kept = without_points(path, [one.rows for one in several])
        several = [replace(one, rows=rows) for one, rows in zip(several, kept, strict=True)]
        points = [row for row in chain.from_iterable(kept) if row.start == row.end and row.label]
        if points:
            warn(
                f"{path}: points alone are changes, and their names are not used, the first is "
                f"{points[0]}: say "
                + parameter("end", LASTS_UNTIL_NEXT)
                + " if each lasts until the next one"
            )
    marks = [replace(one, means=means) for one in several]
    if means.from_one:
        axes = [replace(one.axis, values=one.axis.values + 1) for one in marks]
        marks = [replace(one, axis=axis) for one, axis in zip(marks, axes, strict=True)]
    changed = [
        span[2]
        for span, other in chain.from_iterable(
            zip(one.spans, plain.spans, strict=False)
            for one, plain in zip(marks, several, strict=True)
        )
        if span != other
    ]
    if changed and means != MeaningOfEnds():
        warn(f"{path}: {means}, the first that changes is {changed[0]}")
    return marks


def _names(recording: Recording) -> list[str]:
    """The names by which a file of labels may call a recording."""
    stem = spelled(printable(Path(recording.source or "").stem))
    return [recording.name, *([stem] if stem else []), name_of(recording.name)]
