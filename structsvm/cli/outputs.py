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

from structsvm.cli.inputs import InputData, takes_images
from structsvm.data.times import TimeAxis
from structsvm.data.words import IMAGES
from structsvm.errors import SettingsError
from structsvm.graphs.image_files import KINDS as IMAGE_KINDS
from structsvm.io.files import KINDS, OTHER_TABLES, predictions_among
from structsvm.io.image_folder import IMAGE_FOLDERS, MASK, MASK_FOLDERS, OVERLAY, made_of_images
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
    """Refuse files of which one could not or must not be written."""
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


def _inputs(args: argparse.Namespace) -> Iterator[Path]:
    """The files that the command may read; predictions among those of a folder are no inputs."""
    named = [getattr(args, name, None) for name in ("model", "regions", "labels")]
    for path in map(Path, [*(getattr(args, "paths", None) or []), *filter(None, named)]):
        if not path.is_dir():
            yield path
            continue
        inner = [folder for folder in path.iterdir() if folder.is_dir()]
        folders = [one for one in inner if one.name.lower() in (*IMAGE_FOLDERS, *MASK_FOLDERS)]
        files = [file for one in (path, *folders) for file in one.iterdir() if file.is_file()]
        predictions = predictions_among(files) + made_of_images(files)
        yield from set(files).difference([] if path == args.labels else predictions)


@dataclass(frozen=True, eq=False)
class Answer:
    """The partition of a recording, a table or an image, as it is printed and written."""

    name: str
    n_clusters: int
    plain: Mapping[str, Any]
    """As JSON has it, besides the name and the number of clusters."""
    line: str
    """As people read it, after the name."""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    """One for each segment, or row of the table; times come last, and have no column yet."""
    of_items: Sequence[Sequence[Any]] = ()
    """Of each sample or row its segment or cluster, and what is known of that."""
    labels: Any = None
    """Of the pixels of an image, (H, W)."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "n_clusters": self.n_clusters, **self.plain}

    def __str__(self) -> str:
        """The line that is printed."""
        return f"{self.name}: {self.line}"


def segments(
    name: str, M: EquivalenceMatrix, table: Sequence[Mapping[str, Any]], time: TimeAxis | None
) -> Answer:
    """The segments of a recording, which ``table`` describes as ``predict_segments`` does."""
    known = [column for column in ("state", "probability", "margin", "rate") if column in table[0]]
    rows, of_items = [], []
    for k, row in enumerate(table):
        values = [row[column] if column == "state" else _rounded(row[column]) for column in known]
        bounds = [row["start"], row["end"]]
        times = [] if time is None else [time.text(at) for at in bounds]
        rows.append([k, *bounds, *values, *times])
        of_items += [[k, *values]] * (row["end"] - row["start"])
    changes = table[1:]
    plain: dict[str, Any] = {"breakpoints": M.breakpoints}
    line = " ".join(str(row["end"]) for row in table)
    if "state" in known:
        line = ", ".join(f"{row['state']} until {row['end']}" for row in table)
    if time is not None:
        moments = [time.text(change["start"]) for change in changes]
        plain |= {"time": time.name, "change_times": moments}
        line += f" ({time.name} {', '.join(moments)})" if moments else ""
    for column in ("margin", "rate"):
        if column in known:
            plain[f"{column}s"] = [finite(change[column]) for change in changes]
            shown = ", ".join(f"{change[column]:.2g}" for change in changes)
            line += f" ({column}s {shown})" if changes else ""
    if "state" in known:
        plain["states"] = [row["state"] for row in table]
        plain["probabilities"] = [_rounded(row["probability"]) for row in table]
    columns = ["segment", "start", "end", *known]
    return Answer(name, len(table), plain, line, columns, rows, of_items)


def clusters(name: str, M: EquivalenceMatrix) -> Answer:
    """The clusters of the rows of a table."""
    assert M.labels is not None
    labels = [int(label) for label in M.labels]
    rows, of_items = list(enumerate(labels)), [[label] for label in labels]
    line = " ".join(map(str, M.sizes))
    plain = {"labels": labels}
    return Answer(name, M.n_clusters, plain, line, ["row", "cluster"], rows, of_items)


def parts(name: str, labels: Any) -> Answer:
    """The parts of an image."""
    shares = [float(share) for share in np.bincount(labels.ravel()) / labels.size]
    shown = ", ".join(f"{share:.0%}" for share in shares)
    line = f"{IMAGES.parts(len(shares))} of {shown} of the pixels"
    return Answer(name, len(shares), {"shares": shares}, line, labels=labels)


def _rounded(value: Any) -> Any:
    return None if value is None else round(float(value), 4)


def file_kinds(problem: PartitionProblem) -> tuple[str, ...]:
    """How the name of one file for predictions ends; any other name is that of a folder."""
    return (".png", ".npy") if takes_images(problem) else (".csv",)


def check_folder_name(path: Path, suffixes: Sequence[str]) -> None:
    """Refuse a folder to write in that is called like a file of another kind than is written."""
    suffix = path.suffix.lower()
    if suffix in (*KINDS, *OTHER_TABLES, *IMAGE_KINDS, *OTHER_OUTPUTS) and not path.is_dir():
        raise SettingsError(
            f"{path}: {suffix} files are not written: name a file that ends with "
            f"{' or '.join(suffixes)}, or a folder"
        )


def places(problem: PartitionProblem, folder: Path, names: Sequence[str]) -> list[Path]:
    """The files of predictions in a folder, never outside: none is called as what was read."""
    part = problem.traits.words.part
    ends = (f"{MASK}.png", f"{OVERLAY}.png") if takes_images(problem) else (f"_{part}s.csv",)
    paths = [Path(f"{name}{end}") for name in names for end in ends]  # which may have slashes
    return [folder.joinpath(*(p for p in path.parts if p not in ("/", ".."))) for path in paths]


def write_file(path: Path, answers: Sequence[Answer]) -> None:
    """One table of all recordings, or rows of all tables; or the label map of the only image."""
    if answers[0].labels is not None:
        write_atomically(path, label_map(answers[0].labels, path.suffix.lower()))
        return
    header = ["recording", *answers[0].columns]
    if any(len(answer.rows[0]) > len(answer.columns) for answer in answers):
        header += TIMES
    rows = ([answer.name, *row] for answer in answers for row in answer.rows)
    blank = [""] * len(TIMES)
    write_atomically(path, _csv(header, ([*row, *blank][: len(header)] for row in rows)))


def write_folder(folder: Path, inputs: InputData, answers: Sequence[Answer]) -> None:
    """A table of each, with columns added; or its label map, and an overlay on the image."""
    files = iter(places(inputs.problem, folder, inputs.names))
    for item, answer in zip(inputs.items, answers, strict=True):
        path = next(files)
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(item, Recording):
            header, rows, separator = _table(item)
            known = answer.columns[3:]  # what is known of a segment besides its number and ends
            columns = _not_in(header, (inputs.problem.traits.words.part, *known))
            added = ([*row, *new] for row, new in zip(rows, answer.of_items, strict=True))
            write_atomically(path, _csv([*header, *columns], added, separator))
        else:
            from structsvm.plotting import overlay

            write_atomically(path, label_map(answer.labels, ".png"))
            write_atomically(next(files), _png(overlay(item.image, answer.labels)))


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
