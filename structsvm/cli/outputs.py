"""What commands write: where they may, and partitions as tables or as images.

Nothing that a command reads is written over, and nothing that exists unless it is forced.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
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
OTHER_OUTPUTS = (".json", ".html", ".pdf", ".svg", ".structsvm")
"""Kinds of files, besides those that hold data, whose names are not meant for folders."""


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
    args: argparse.Namespace, paths: Sequence[Path], *, replaceable: bool = False
) -> None:
    """Refuse, before any work, files of which one could not or must not be written."""
    path, count = Counter(paths).most_common(1)[0] if paths else (None, 0)
    if count > 1:
        raise SettingsError(
            f"{path} would be written more than once: two inputs have the same name, so give "
            "them to different runs"
        )
    inputs = {os.path.realpath(path) for path in _inputs(args)}
    for path in paths:
        reason = unwritable(path) or ("it is a folder" if path.is_dir() else None)
        if reason is not None:
            raise SettingsError(f"{path}: cannot be written: {reason}")
        if os.path.realpath(path) in inputs:
            raise SettingsError(
                f"{path} is read by this command and is never overwritten: name another file"
            )
        if path.is_file() and not (replaceable or args.force):
            raise SettingsError(f"{path} exists: name another file, or replace it with --force")
    for folder in {path.parent for path in paths}:
        there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        if not there.is_dir():
            raise SettingsError(f"{there} is a file: name a folder to write in")
        if not os.access(there, os.W_OK):
            raise SettingsError(f"{folder}: no write permission for {there}")


def check_folder_name(path: Path, suffixes: Sequence[str]) -> None:
    """Refuse a folder to write in that is called like a file of another kind than is written."""
    suffix = path.suffix.lower()
    if suffix in (*KINDS, *OTHER_TABLES, *IMAGE_KINDS, *OTHER_OUTPUTS) and not path.is_dir():
        raise SettingsError(
            f"{path}: {suffix} files are not written: name a file that ends with "
            f"{' or '.join(suffixes)}, or a folder"
        )


def _inputs(args: argparse.Namespace) -> Iterator[Path]:
    """The files that the command may read; predictions among those of a folder are no inputs."""
    paths = getattr(args, "paths", None) or []
    named = [getattr(args, name, None) for name in ("model", "regions", "labels")]
    for path in map(Path, [*paths, *filter(None, named)]):
        if not path.is_dir():
            yield path
            continue
        files = [file for folder in _folders(path) for file in folder.iterdir() if file.is_file()]
        made = [] if path == args.labels else predictions_among(files) + made_of_images(files)
        yield from set(files).difference(made)


def _folders(folder: Path) -> Iterator[Path]:
    """A folder, and the folders of images and masks that it may hold."""
    yield folder
    for inner in folder.iterdir():
        if inner.is_dir() and inner.name.lower() in (*IMAGE_FOLDERS, *MASK_FOLDERS):
            yield inner


def _within(folder: Path, name: str) -> Path:
    """The place in a folder of what is called ``name``, which may have slashes, never outside."""
    return folder.joinpath(*(part for part in Path(name).parts if part not in ("/", "..")))


@dataclass(frozen=True, eq=False)
class Segments:
    """The segments of a recording."""

    name: str
    M: EquivalenceMatrix
    table: Sequence[Mapping[str, Any]]
    """As :meth:`MetricLearner.predict_segments` has it, perhaps without states and margins."""
    time: TimeAxis | None

    @property
    def known(self) -> list[str]:
        """What is known of each segment."""
        columns = ("state", "probability", "margin", "rate")
        return [column for column in columns if column in self.table[0]]

    @property
    def columns(self) -> list[str]:
        return ["segment", "start", "end", *self.known]

    @property
    def rows(self) -> Iterator[list[Any]]:
        """One for each segment; its times come last."""
        for k, row in enumerate(self.table):
            bounds = [row["start"], row["end"]]
            times = [] if self.time is None else map(self.time.text, bounds)
            yield [k, *bounds, *self._known(row), *times]

    @property
    def of_items(self) -> Iterator[list[Any]]:
        """Of each sample its segment, and what is known of that."""
        for k, row in enumerate(self.table):
            for _ in range(row["start"], row["end"]):
                yield [k, *self._known(row)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        ends, changes = self.M.breakpoints, self.table[1:]
        plain = {"name": self.name, "n_clusters": len(ends), "breakpoints": ends}
        if self.time is not None:
            times = [self.time.text(change["start"]) for change in changes]
            plain |= {"time": self.time.name, "change_times": times}
        for name in ("margin", "rate"):
            if name in self.known:
                plain[f"{name}s"] = [finite(change[name]) for change in changes]
        if "state" in self.known:
            plain["states"] = [row["state"] for row in self.table]
            plain["probabilities"] = [round(float(row["probability"]), 4) for row in self.table]
        return plain

    def __str__(self) -> str:
        """The name and the ends, each with the state that ends there; the times of the changes."""
        changes = self.table[1:]
        line = " ".join(str(row["end"]) for row in self.table)
        if "state" in self.known:
            line = ", ".join(f"{row['state']} until {row['end']}" for row in self.table)
        if self.time is not None and changes:
            times = ", ".join(self.time.text(change["start"]) for change in changes)
            line += f" ({self.time.name} {times})"
        for name in ("margin", "rate"):
            if name in self.known and changes:
                line += f" ({name}s {', '.join(f'{change[name]:.2g}' for change in changes)})"
        return f"{self.name}: {line}"

    def _known(self, row: Mapping[str, Any]) -> list[Any]:
        values = {name: row[name] for name in self.known}
        return [
            value if value is None or name == "state" else round(float(value), 4)
            for name, value in values.items()
        ]


@dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters of the rows of a table."""

    name: str
    M: EquivalenceMatrix
    columns = ("row", "cluster")
    known = ()
    time = None

    @property
    def labels(self) -> list[int]:
        assert self.M.labels is not None
        return [int(label) for label in self.M.labels]

    @property
    def rows(self) -> Iterator[list[Any]]:
        """One for each row of the table."""
        return ([i, label] for i, label in enumerate(self.labels))

    @property
    def of_items(self) -> Iterator[list[Any]]:
        """Of each row its cluster."""
        return ([label] for label in self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "n_clusters": self.M.n_clusters, "labels": self.labels}

    def __str__(self) -> str:
        """The name and the sizes."""
        return f"{self.name}: {' '.join(map(str, self.M.sizes))}"


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of an image."""

    name: str
    M: EquivalenceMatrix
    labels: Any
    """Of the pixels, (H, W)."""

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


Answer = Segments | Clusters | Parts
"""The partition of a recording, a table or an image."""


@dataclass(frozen=True)
class TableWriter:
    """Segments or clusters as tables."""

    part: str
    suffixes = (".csv",)
    """How the name of one file ends; any other name is that of a folder."""
    one_each = False
    """Whether one file holds one partition only."""

    def places(self, folder: Path, names: Sequence[str]) -> list[Path]:
        """NAME_segments.csv, say: never the name of a recording."""
        return [_within(folder, f"{name}_{self.part}s.csv") for name in names]

    def write_file(self, path: Path, answers: Sequence[Any]) -> None:
        """A row for each segment of all recordings, or for each row of all tables."""
        header = ["recording", *answers[0].columns]
        if any(answer.time is not None for answer in answers):
            header += TIMES
        rows = ([answer.name, *row] for answer in answers for row in answer.rows)
        blank = [""] * len(TIMES)
        write_atomically(path, _csv(header, ([*row, *blank][: len(header)] for row in rows)))

    def write_folder(self, folder: Path, items: Sequence[Any], answers: Sequence[Any]) -> None:
        """The table of each with columns added."""
        places = self.places(folder, [answer.name for answer in answers])
        for path, item, answer in zip(places, items, answers, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            header, rows, separator = _table(item)
            columns = _not_in(header, (self.part, *answer.known))
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

    def places(self, folder: Path, names: Sequence[str]) -> list[Path]:
        """NAME_mask.png or NAME_mask.npy, and NAME_overlay.png: never the name of the image."""
        ends = (f"{MASK}.{self.maps}", f"{OVERLAY}.png")
        return [_within(folder, f"{name}{end}") for name in names for end in ends]

    def write_file(self, path: Path, answers: Sequence[Any]) -> None:
        """The label map of the only image."""
        (answer,) = answers
        write_atomically(path, label_map(answer.labels, path.suffix.lower()))

    def write_folder(
        self, folder: Path, items: Sequence[Recording | LabelledImage], answers: Sequence[Any]
    ) -> None:
        """The label map and the overlay of each."""
        from structsvm.plotting import overlay

        folder.mkdir(parents=True, exist_ok=True)
        for item, answer in zip(items, answers, strict=True):
            assert isinstance(item, LabelledImage)
            mask, marked = self.places(folder, [answer.name])
            write_atomically(mask, label_map(answer.labels, f".{self.maps}"))
            write_atomically(marked, _png(overlay(item.image, answer.labels)))

    def written(self, output: Path, words: Words, n: int, one_file: bool) -> str:
        return f"{'1 label map is' if n == 1 else f'{n} label maps are'} in {output}"


Writer = TableWriter | MapWriter
"""Writes partitions into one file, or into a folder."""


def writer_for(problem: PartitionProblem, maps: str = "png") -> Writer:
    """The writer of what a problem gives: ``maps`` is how label maps of images are written."""
    return MapWriter(maps) if takes_images(problem) else TableWriter(problem.traits.words.part)


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
