"""What commands write: where they may, and partitions as tables or as images.

Nothing that a command reads is written over, and nothing that exists unless it is forced.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.inputs import takes_images
from structsvm.data.times import TimeAxis
from structsvm.data.words import IMAGES, Words
from structsvm.errors import SettingsError
from structsvm.graphs.image_files import KINDS as IMAGE_KINDS
from structsvm.io.files import KINDS, OTHER_TABLES, predictions_among
from structsvm.io.image_folder import (
    IMAGE_FOLDERS,
    MASK,
    MASK_FOLDERS,
    OVERLAY,
    LabelledImage,
    made_of_images,
)
from structsvm.io.options import FileOptions
from structsvm.io.recording import Recording
from structsvm.io.sniff import TextFormat
from structsvm.io.tables import read_frame
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.problem import PartitionProblem
from structsvm.storage.atomic import unwritable, write_atomically
from structsvm.support.extras import require
from structsvm.support.plain import cell, finite

TIMES = ("start_time", "end_time")
"""Columns of predictions in the time of the recordings: the end is the start of the next one."""
OF_CHANGES = ("margin", "rate")
"""Columns of how sure the change is with which a segment begins."""
OF_STATES = ("state", "probability")
"""Columns of what a model of named states knows of a segment."""

OTHER_OUTPUTS = (".json", ".html", ".pdf", ".svg", ".structsvm")
"""Kinds of files, besides those that hold data, whose names are not meant for folders."""

INPUTS = ("model", "paths", "regions", "labels")
"""Arguments that name what a command reads."""


def check_output(
    args: argparse.Namespace,
    path: Path,
    suffixes: Sequence[str] = (),
    *,
    replaceable: bool = False,
) -> None:
    """Refuse, before any work, a file that could not or must not be written afterwards."""
    if os.path.isdir(path):
        raise SettingsError(f"{path} is a folder: name the file to write")
    if not os.path.isdir(path.parent):
        raise SettingsError(f"{path}: the folder {path.parent} does not exist")
    if suffixes and path.suffix.lower() not in suffixes:
        raise SettingsError(f"{path}: the name must end with one of {', '.join(suffixes)}")
    check_outputs(args, [path], replaceable=replaceable)


def check_outputs(
    args: argparse.Namespace, paths: Iterable[Path], *, replaceable: bool = False
) -> None:
    """Refuse, before any work, files of which one could not or must not be written."""
    wanted = list(paths)
    twice = [path for path, count in Counter(wanted).items() if count > 1]
    if twice:
        raise SettingsError(
            f"{twice[0]} would be written more than once: two inputs have the same name, so give "
            "them to different runs"
        )
    for path in wanted:
        reason = unwritable(path)
        if reason is None and path.is_dir():
            reason = "it is a folder"
        if reason is not None:
            raise SettingsError(f"{path}: cannot be written: {reason}")
    existing = [path for path in wanted if path.is_file()]
    inputs = {_inode(path) for path in _inputs(args)} if existing else set()
    for path in existing:
        if _inode(path) in inputs:
            raise SettingsError(
                f"{path} is read by this command and is never overwritten: name another file"
            )
        if not (replaceable or args.force):
            raise SettingsError(f"{path} exists: name another file, or replace it with --force")
    for folder in {path.parent for path in wanted}:
        _check_folder(folder)


def check_folder_name(path: Path, suffixes: Sequence[str]) -> None:
    """Refuse a folder to write in that is called like a file of another kind than is written."""
    suffix = path.suffix.lower()
    if suffix in (*KINDS, *OTHER_TABLES, *IMAGE_KINDS, *OTHER_OUTPUTS) and not path.is_dir():
        raise SettingsError(
            f"{path}: {suffix} files are not written: name a file that ends with "
            f"{' or '.join(suffixes)}, or a folder"
        )


def within(folder: Path, name: str) -> Path:
    """The place in a folder of what is called ``name``, which may have slashes, never outside."""
    return folder.joinpath(*(part for part in Path(name).parts if part not in ("/", "..")))


def _inode(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _inputs(args: argparse.Namespace) -> Iterator[Path]:
    """The files that the command may read; what was made of those of a folder is no input."""
    for name in INPUTS:
        given = getattr(args, name, None) or []
        for path in map(Path, given if isinstance(given, list) else [given]):
            files = [path] if path.is_file() else list(_files(path))
            made = [] if path.is_file() else predictions_among(files) + made_of_images(files)
            yield from (file for file in files if name == "labels" or file not in made)


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder and of the folders of images and masks that it may hold."""
    for entry in folder.iterdir() if os.path.isdir(folder) else ():
        if entry.is_file():
            yield entry
        elif entry.is_dir() and entry.name.lower() in (*IMAGE_FOLDERS, *MASK_FOLDERS):
            yield from (file for file in entry.iterdir() if file.is_file())


def _check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written in, or cannot be made where it is missing."""
    there = folder
    while not os.path.exists(there):
        there = there.parent
    if not there.is_dir():
        raise SettingsError(f"{there} is a file: name a folder to write in")
    if not os.access(there, os.W_OK):
        raise SettingsError(f"{folder}: no write permission for {there}")


@dataclass(frozen=True, eq=False)
class Answer(ABC):
    """The partition of a recording, a table or an image, and what is known of its segments."""

    name: str
    M: EquivalenceMatrix
    labels: Any
    """As users write them: (T,), or (H, W) of an image."""
    states: Sequence[Mapping[str, Any]] = ()
    """``state`` and ``probability`` of each segment; empty where no states are known."""
    time: TimeAxis | None = None
    """When the samples were measured, if that is known."""
    changes: Sequence[Mapping[str, Any]] | None = None
    """How sure each change is, ``margin`` and perhaps ``rate``; None where nobody asked."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values."""

    @abstractmethod
    def __str__(self) -> str:
        """A line."""


class Segments(Answer):
    """The segments of a recording, with the names of their states where the model knows states."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns after the first, which is the name."""
        return ("segment", "start", "end", *self.more)

    @property
    def more(self) -> tuple[str, ...]:
        return (OF_STATES if self.states else ()) + self._of_changes

    @property
    def _of_changes(self) -> tuple[str, ...]:
        if self.changes is None:
            return ()
        return OF_CHANGES if any("rate" in change for change in self.changes) else OF_CHANGES[:1]

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One for each segment; its times come last."""
        ends, time = self.M.breakpoints, self.time
        for k, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            times = () if time is None else (time.text(start), time.text(end))
            yield self.name, k, start, end, *self._known(k), *times

    @property
    def of_items(self) -> Iterator[tuple[Any, ...]]:
        """Of each sample its segment, and what is known of that."""
        return ((k, *self._known(k)) for k in _numbers(self.M))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        ends = self.M.breakpoints
        plain = {"name": self.name, "n_clusters": len(ends), "breakpoints": ends}
        if self.time is not None:
            changes = [self.time.text(change) for change in ends[:-1]]
            plain |= {"time": self.time.name, "change_times": changes}
        for name in self._of_changes:
            plain[f"{name}s"] = [finite(change[name]) for change in self.changes or ()]
        if not self.states:
            return plain
        of_segments = zip(*map(self._state, range(len(ends))), strict=True)
        return plain | dict(zip(("states", "probabilities"), map(list, of_segments), strict=True))

    def __str__(self) -> str:
        """The name and the ends, each with the state that ends there; the times of the changes."""
        ends, time = self.M.breakpoints, self.time
        said = " ".join(map(str, ends))
        if self.states:
            named = [f"{self._state(k)[0]} until {end}" for k, end in enumerate(ends)]
            said = ", ".join(named)
        if time is not None and len(ends) > 1:
            said += f" ({time.name} {', '.join(time.text(change) for change in ends[:-1])})"
        for name in self._of_changes if len(ends) > 1 else ():
            numbers = (f"{change[name]:.2g}" for change in self.changes or ())
            said += f" ({name}s {', '.join(numbers)})"
        return f"{self.name}: {said}"

    def _known(self, k: int) -> tuple[Any, ...]:
        """State and probability of a segment, and margin and rate of the change at its start."""
        if not k or self.changes is None:
            return *self._state(k), *("" for _ in self._of_changes)
        change = self.changes[k - 1]
        return *self._state(k), *(round(change[name], 4) for name in self._of_changes)

    def _state(self, k: int) -> tuple[Any, ...]:
        """The state of a segment and its probability, to four digits."""
        if not self.states:
            return ()
        row = self.states[k]
        return row["state"], round(float(row["probability"]), 4)


class Clusters(Answer):
    """The clusters of the rows of a table."""

    columns = ("row", "cluster")
    more: tuple[str, ...] = ()

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One for each row of the table."""
        return ((self.name, i, label) for i, label in enumerate(_numbers(self.M)))

    @property
    def of_items(self) -> Iterator[tuple[Any, ...]]:
        """Of each row its cluster."""
        return ((label,) for label in _numbers(self.M))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "n_clusters": self.M.n_clusters, "labels": _numbers(self.M)}

    def __str__(self) -> str:
        """The name and the sizes."""
        return f"{self.name}: {' '.join(map(str, self.M.sizes))}"


class Parts(Answer):
    """The parts of an image."""

    @property
    def shares(self) -> list[float]:
        """Of the pixels, for each part."""
        return [float(share) for share in np.bincount(self.labels.ravel()) / self.labels.size]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "n_clusters": len(self.shares), "shares": self.shares}

    def __str__(self) -> str:
        """The name and the shares."""
        shown = ", ".join(f"{share:.0%}" for share in self.shares)
        return f"{self.name}: {IMAGES.parts(len(self.shares))} of {shown} of the pixels"


@dataclass(frozen=True)
class TableWriter:
    """Segments or clusters as tables."""

    part: str
    contiguous: bool
    suffixes = (".csv",)
    """How the name of one file ends; any other name is that of a folder."""
    one_each = False
    """Whether one file holds one partition only."""

    @property
    def answer(self) -> type[Answer]:
        """Segments, or clusters of rows."""
        return Segments if self.contiguous else Clusters

    def places(self, folder: Path, names: Sequence[str]) -> list[Path]:
        """NAME_segments.csv, say: never the name of a recording."""
        return [within(folder, f"{name}_{self.part}s.csv") for name in names]

    def write_file(self, path: Path, answers: Sequence[Answer]) -> None:
        """A row for each segment of all recordings, or for each row of all tables."""
        tables = [answer for answer in answers if isinstance(answer, Segments | Clusters)]
        header = ["recording", *tables[0].columns]
        if any(isinstance(table, Segments) and table.time is not None for table in tables):
            header += TIMES
        rows = (row for table in tables for row in table.rows)
        blank = [""] * len(TIMES)
        full = ([*row, *blank][: len(header)] for row in rows)
        write_atomically(path, _csv(header, full))

    def write_folder(
        self, folder: Path, items: Sequence[Recording | LabelledImage], answers: Sequence[Answer]
    ) -> None:
        """The table of each with columns added."""
        places = self.places(folder, [answer.name for answer in answers])
        for path, item, answer in zip(places, items, answers, strict=True):
            assert isinstance(item, Recording)
            assert isinstance(answer, Segments | Clusters)
            path.parent.mkdir(parents=True, exist_ok=True)
            header, rows, separator = _table(item)
            columns = _not_in(header, (self.part, *answer.more))
            added = ([*row, *new] for row, new in zip(rows, answer.of_items, strict=True))
            write_atomically(path, _csv([*header, *columns], added, separator))

    def written(self, output: Path, words: Words, n: int, one_file: bool) -> str:
        if one_file or n == 1:
            return f"{words.part}s of {words.wholes(n)} are in {output}"
        return f"one file for each of {words.wholes(n)} is in {output}"


@dataclass(frozen=True)
class MapWriter:
    """Parts of images as label maps, and as overlays on the images."""

    maps: str
    """"png" or "npy"."""
    suffixes = (".png", ".npy")
    one_each = True
    answer = Parts

    def places(self, folder: Path, names: Sequence[str]) -> list[Path]:
        """NAME_mask.png or NAME_mask.npy, and NAME_overlay.png: never the name of the image."""
        return [place for name in names for place in self._of(folder, name)]

    def write_file(self, path: Path, answers: Sequence[Answer]) -> None:
        """The label map of the only image."""
        (answer,) = answers
        write_atomically(path, label_map(answer.labels, path.suffix.lower()))

    def write_folder(
        self, folder: Path, items: Sequence[Recording | LabelledImage], answers: Sequence[Answer]
    ) -> None:
        """The label map and the overlay of each."""
        from structsvm.plotting import overlay

        folder.mkdir(parents=True, exist_ok=True)
        for item, answer in zip(items, answers, strict=True):
            assert isinstance(item, LabelledImage)
            mask, marked = self._of(folder, answer.name)
            write_atomically(mask, label_map(answer.labels, f".{self.maps}"))
            write_atomically(marked, _png(overlay(item.image, answer.labels)))

    def written(self, output: Path, words: Words, n: int, one_file: bool) -> str:
        return f"{'1 label map is' if n == 1 else f'{n} label maps are'} in {output}"

    def _of(self, folder: Path, name: str) -> tuple[Path, Path]:
        return within(folder, f"{name}{MASK}.{self.maps}"), within(folder, f"{name}{OVERLAY}.png")


Writer = TableWriter | MapWriter
"""Writes partitions into one file, or into a folder."""


def writer_for(problem: PartitionProblem, maps: str) -> Writer:
    """The writer of what a problem gives: ``maps`` is how label maps of images are written."""
    if takes_images(problem):
        return MapWriter(maps)
    return TableWriter(problem.traits.words.part, problem.traits.contiguous)


def label_map(labels: Any, kind: str) -> bytes:
    """A label map: 0, 1, ... in .npy, spread over the greys in .png so that they can be seen."""
    if kind == ".png":
        most = max(int(labels.max()), 1)
        if most > 255:
            return _png(labels.astype(np.uint16))
        return _png((labels * (255 // most)).astype(np.uint8))
    buffer = io.BytesIO()
    np.save(buffer, labels, allow_pickle=False)
    return buffer.getvalue()


def _numbers(M: EquivalenceMatrix) -> list[int]:
    """Cluster of each item."""
    assert M.labels is not None
    return [int(label) for label in M.labels]


def _table(recording: Recording) -> tuple[list[str], list[list[Any]], str]:
    """Names and rows of the table a recording was read from, and what separates its columns."""
    origin = recording.origin
    if origin is not None:
        written = origin.format if isinstance(origin.format, TextFormat) else TextFormat()
        options = FileOptions(
            separator=written.separator,
            decimal=written.decimal,
            encoding=written.encoding,
            skip_lines=origin.skip_lines,
        )
        frame = read_frame(origin.path, options, as_text=True)[0]
        if frame.index.names != [None]:  # levels that were asked for, in the place of columns
            frame = frame.reset_index()
        rows = frame.iloc[origin.rows].to_numpy(dtype=object).tolist()
        separator = written.separator if len(written.separator) == 1 else ","
        return [str(name) for name in frame.columns], rows, separator
    header, columns = list(recording.features), [*recording.X.T.tolist()]
    if recording.time is not None and recording.time.name not in header:
        header.insert(0, recording.time.name)
        columns.insert(0, [recording.time.text(t) for t in range(len(recording.X))])
    if recording.y is not None and "label" not in header:
        header.append("label")
        columns.append(recording.y.tolist())
    return header, [list(row) for row in zip(*columns, strict=True)], ","


def _not_in(header: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    """Names of columns to add to a table, none of which it has."""
    for name in columns:
        column = name
        while column in header:
            column = f"{column}_predicted"
        yield column


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ",") -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    writer.writerow(map(cell, header))
    writer.writerows(map(cell, row) for row in rows)
    return buffer.getvalue().encode(errors="backslashreplace")


def _png(pixels: Any) -> bytes:
    buffer = io.BytesIO()
    pillow = require("PIL.Image", "images", "writing images")
    pillow.fromarray(pixels).save(buffer, format="png")
    return buffer.getvalue()
