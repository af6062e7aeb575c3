"""Refusal of labels that change in no recording, with the reason and the way out."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.data import missing_labels, unlabelled
from structsvm.errors import DataError, DataWarning, parameter, without_warnings
from structsvm.io.intervals import file_beside, is_of_each_folder, label_files, refuse_coarse
from structsvm.io.label_file import CHOSEN, LabelFile
from structsvm.io.label_files import read_rows
from structsvm.io.label_rows import Interval
from structsvm.io.media import MEDIA, step_of
from structsvm.io.recording import FileOptions, Recording
from structsvm.io.sniff import TEXT_KINDS, kind_of, read_text
from structsvm.support import archive, listed

JOIN = (
    "Join the clips of one person, animal or machine, in the order of time, to a table with a "
    "column of labels: a clip that was cut by its label says nothing of when labels change"
)
ONE_SEGMENT = "every recording is one single segment: "


def refuse_one_word(files: Mapping[Path, str], options: FileOptions) -> None:
    """Refuse tables whose labels are one word each, before any of them is read as a whole."""
    recordings = []
    for path, name in files.items():
        words = _words_in(path, options)
        if len(words) != 1:
            return
        recordings.append(Recording(name, np.empty((1, 0)), np.array(words), (), str(path)))
    refuse_without_changes(recordings, apart=False)


def refuse_one_label(
    path: Path, chosen: Mapping[str, str | None], recordings: Mapping[Path, str]
) -> None:
    """Refuse files of stretches that have one label for each recording, before these are read."""
    if chosen.get("outside") is not None or chosen.get("tier") is not None:
        return
    labels: dict[Any, set[str]] = {}
    for key, rows in _rows_of(path, chosen, recordings):
        if any(row.start == row.end or row.who.get("tier") for row in rows):
            return  # changes without names, or several layers
        labels_there = labels.setdefault(key, set())
        labels_there |= {row.label for row in rows if row.label}
        if len(labels_there) > 1:
            return
    if not labels:
        return
    different = sorted(set().union(*labels.values()))
    if not different:
        raise DataError(f"{path}: there is no label in it")
    raise DataError(
        f"{ONE_SEGMENT}{path} has one label for each, {listed(different, 4)}. If the rest is a "
        "state as well, name it: " + parameter("outside", "rest")
    )


def refuse_long_steps(
    path: Path, chosen: Mapping[str, str | None], recordings: Mapping[Path, str], step: float | None
) -> None:
    """Refuse labels of stretches that are shorter than steps of sound, before sound is read."""
    media = {file: name for file, name in recordings.items() if kind_of(file) in MEDIA}
    rows = chain.from_iterable(rows for _, rows in _rows_of(path, chosen, media) if media)
    timed = [row for row in rows if row.unit != "samples" and row.among is None]
    ends = [(row.start, row.end) for row in timed]
    lengths = [b - a for a, b in ends if isinstance(a, float) and isinstance(b, float)]
    with without_warnings(DataWarning):  # they are given when rows are placed in recordings
        refuse_coarse(path, [length for length in lengths if 0 < length < inf], step_of(step))


def _rows_of(
    path: Path, chosen: Mapping[str, str | None], recordings: Mapping[Path, str]
) -> Iterator[tuple[Any, list[Interval]]]:
    """The rows of labels of each recording, by its name, or by the file in its folder."""
    in_each_folder = is_of_each_folder(path)
    files: dict[Any, set[str]] = {}
    shared = [] if in_each_folder else label_files(path)
    for recording, name in recordings.items():
        for file in [file_beside(recording, path.name)] if in_each_folder else shared:
            files.setdefault(file, set()).add(name)
    files.pop(None, None)
    own = {name: chosen[name] for name in CHOSEN if name in chosen}
    for file, names in files.items():
        with without_warnings(DataWarning):  # they are given when rows are placed in recordings
            read = read_rows(LabelFile(file, own, names), ("subject", "annotator"), len(files) == 1)
        for name, (rows, _) in (read or {"": ([], set())}).items():
            yield file if in_each_folder else name, rows


def _words_in(path: Path, options: FileOptions) -> list[str]:
    """The first two different labels of a table, or fewer; none of parquet and sheets."""
    words: list[str] = []
    if kind_of(path) == ".npz":
        return _words_in_arrays(path, options)
    if kind_of(path) not in TEXT_KINDS:
        return words
    with suppress(DataError):  # reading the file will raise it, with a fuller message
        text, written = read_text(path, options)
        rows = (cells for _, cells in written.rows(text))
        header = list(written.names) or next(rows, [])
        names = [name.strip() for name in header]
        label = options.label_in(names)
        if label is None:
            return words
        place = names.index(label)
        for cells in rows:
            word = cells[place].strip() if place < len(cells) else ""
            if word and word not in words:
                words.append(word)
            if len(words) > 1:
                break
    return words


def _words_in_arrays(path: Path, options: FileOptions) -> list[str]:
    """The first two different labels of an .npz file, or fewer."""
    with suppress(Exception), path.open("rb") as file:  # reading the file will refuse it
        arrays, _ = archive.read_npz(file, ("y", "bkps"), options.max_bytes)
        y = arrays.get("y", np.arange(arrays.get("bkps", np.empty(0)).size))
        values = np.unique(y[~(unlabelled(y) | missing_labels(y))])
        return [str(value) for value in values[:2].tolist()]
    return []


def refuse_without_changes(recordings: Sequence[Recording], *, apart: bool) -> None:
    """Refuse labels of one state in each recording; ``apart`` if they are in files of their own."""
    labelled = [(one, *_states(one)) for one in recordings if one.y is not None]
    if not labelled or any(len(states) > 1 for _, states, _ in labelled):
        return
    states = {one.where: next(iter(names)) for one, names, _ in labelled if names}
    if folders := _folders_of_states(states):
        raise DataError(f"{ONE_SEGMENT}the folders {listed(folders, 4)} are the labels. {JOIN}")
    longest = max(len((one.fine or one).X) for one, _, _ in labelled)
    if (window := max(one.window for one, _, _ in labelled)) > 1:
        raise DataError(
            f"{ONE_SEGMENT}windows of {window:,} samples, "
            + parameter("window", window)
            + f", show no change, and the longest recording has {longest:,} samples: give fewer"
        )
    n_unknown = sum(n for _, _, n in labelled)
    if n_unknown and apart:
        raise DataError(
            f"{ONE_SEGMENT}{n_unknown} samples are in no stretch, and the others have one label in "
            "each recording. If the rest is a state as well, name it: "
            + parameter("outside", "rest")
        )
    raise DataError(f"{ONE_SEGMENT}label at least one that has two")


def _states(recording: Recording) -> tuple[set[str], int]:
    """The labels that are known, as texts, and the number of samples without one."""
    y = np.asarray(recording.y)
    is_unknown = unlabelled(y)
    labels = y[~is_unknown]
    return set(map(str, labels.tolist())), int(is_unknown.sum())


def _folders_of_states(states: Mapping[str, str]) -> list[str]:
    """The folders, at some depth, each of which holds all recordings of one state."""
    paths = {Path(where).parent.parts: state for where, state in states.items()}
    for level in range(min(map(len, paths), default=0)):
        pairs = {(parts[level], state) for parts, state in paths.items()}
        folders, names = ({*some} for some in zip(*pairs, strict=True))
        if len(pairs) == len(folders) == len(names) > 1:
            return sorted(folders)
    return []
