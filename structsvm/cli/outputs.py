"""The outputs of commands: partitions as tables, images and figures."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.cli.guard import places
from structsvm.cli.input_data import InputData
from structsvm.cli.terminal import Terminal
from structsvm.data import IMAGES
from structsvm.io import Recording
from structsvm.io.recording import BLANKS_BETWEEN, Origin
from structsvm.io.sniff import COMMA_NUMBER, kind_of
from structsvm.io.tables import read_frame
from structsvm.partitions import EquivalenceMatrix
from structsvm.plotting import overlay
from structsvm.plotting.cut import as_file
from structsvm.support import csv_text, finite, require, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150
PLACES = ("row", "start", "end", "start_time", "end_time")
"""Columns with the place of a segment or a row, which its own table shows anyway."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """The partition of a recording, a table or an image."""

    name: str
    plain: Mapping[str, Any]  # the partition in JSON, without the name
    line: str  # the partition as a line of text, without the name
    rows: Sequence[Mapping[str, Any]] = ()
    """The columns of each segment, or of each row of a table, by their names in JSON."""
    called: Mapping[str, str] = field(default_factory=dict)
    """The names of columns in tables, if they differ from those in JSON."""
    labels: Any = None  # the label of each pixel of an image, (H, W)


ENDS = ("start", "end", "from", "to")  # columns with numbers of samples, which have times


def segments(item: Any, table: Sequence[Mapping[str, Any]], label: str) -> Prediction:
    """The segments of a recording, with the numbers of windows converted to those of samples."""
    called = {} if label == "label" else {"state": f"{label}_predicted"}
    edges = item.edges.tolist()
    time = (item.fine or item).time
    rows: list[dict[str, Any]] = []
    for k, row in enumerate(table):
        at = {end: edges[row[end]] for end in ENDS if row.get(end) is not None}
        if "possible" in row:
            at["possible"] = [[edges[first], edges[last]] for first, last in row["possible"]]
        texts = {}
        if time is not None:
            texts = {f"{end}_time": time.text(at[end]) for end in ENDS if end in at}
        rows.append({"segment": k, **row, **at, **texts})
    line = " ".join(str(row["end"]) for row in rows)
    if "state" in rows[0]:
        line = ", ".join(f"{row['state']} until {row['end']}" for row in rows)
    if time is not None:
        called |= {f"{end}_time": f"{end}_{time.name}" for end in ENDS}
        moments = ", ".join(row["start_time"] for row in rows[1:])
        line += f" ({time.name} {moments})" if moments else ""
    for column in ("margin", "rate"):
        if column in table[0] and len(table) > 1:
            line += f" ({column}s {', '.join(f'{row[column]:.2g}' for row in table[1:])})"
    ends = [row["end"] for row in rows]
    plain = {"n_clusters": len(ends), "breakpoints": ends, "segments": finite(rows)}
    return Prediction(item.name, plain, line, rows, called)


def clusters(
    table: Any, M: EquivalenceMatrix, classes: NDArray[Any] | None, label: str
) -> Prediction:
    """The clusters of the rows of a table, each named by the most frequent class of its rows."""
    origin = table.origin or Origin(Path(), np.arange(len(M.labels)))
    columns = {"cluster": M.labels.tolist()}
    if classes is not None:
        names, codes = np.unique(classes, return_inverse=True)
        votes = [np.bincount(codes[M.labels == k]).argmax() for k in range(M.n_clusters)]
        columns["state"] = names[votes][M.labels].tolist()
    of_rows = zip(origin.rows.tolist(), zip(*columns.values(), strict=True), strict=True)
    by_row = {i: dict(zip(columns, values, strict=True)) for i, values in of_rows}
    rows = [{"row": i, **by_row.get(i, dict.fromkeys(columns))} for i in origin.written.tolist()]
    plain = {"n_clusters": M.n_clusters, "labels": [row["cluster"] for row in rows]}
    if classes is not None:
        plain["names"] = [row["state"] for row in rows]
    called = {"state": f"{label}_predicted"}
    return Prediction(table.name, plain, " ".join(map(str, M.sizes)), rows, called)


def parts(name: str, labels: Any) -> Prediction:
    """The parts of an image."""
    shares = [float(share) for share in np.bincount(labels.ravel()) / labels.size]
    shown = ", ".join(f"{share:.0%}" for share in shares)
    line = f"{IMAGES.parts(len(shares))} of {shown} of the pixels"
    return Prediction(name, {"n_clusters": len(shares), "shares": shares}, line, labels=labels)


def write_file(path: Path, answers: Sequence[Prediction]) -> None:
    """Write one table of all recordings or rows, or the label map of the only image."""
    if answers[0].labels is not None:
        write_atomically(path, label_map(answers[0].labels, path.suffix.lower()))
        return
    rows: list[dict[str, Any]] = []
    for answer in answers:
        start = {"recording": answer.name}
        rows += [
            start | {answer.called.get(k, k): v for k, v in row.items()} for row in answer.rows
        ]
    header = list(dict.fromkeys(chain.from_iterable(rows)))
    text = csv_text(header, ([_rounded(row.get(k)) for k in header] for row in rows))
    write_atomically(path, text.encode(errors="backslashreplace"))


def write_folder(folder: Path, inputs: InputData, answers: Sequence[Prediction]) -> None:
    """Write each table with columns added, or the label map of each image and an overlay."""
    files = iter(places(inputs.problem, folder, inputs.names))
    for item, answer in zip(inputs.items, answers, strict=True):
        path = next(files)
        path.parent.mkdir(parents=True, exist_ok=True)
        if answer.labels is None:
            header, rows, separator = _table(item.fine or item)
            columns = [column for column in answer.rows[0] if column not in PLACES]
            if answer.rows[-1].get("row", -1) >= len(rows) and "row" not in header:
                columns.insert(0, "row")  # the numbers of rows in a larger table
            items = answer.rows
            if "end" in items[0]:  # a row for each segment
                lengths = [row["end"] - row["start"] for row in items]
                items = list(chain.from_iterable(map(repeat, items, lengths)))
            added = zip(rows, items, strict=True)
            whole = ([*row, *(_rounded(new[k]) for k in columns)] for row, new in added)
            names = [answer.called.get(k, k) for k in columns]
            names = [f"{k}_predicted" if k in header else k for k in names]
            text = csv_text([*header, *names], whole, separator)
            write_atomically(path, text.encode(errors="backslashreplace"))
        else:
            write_atomically(path, label_map(answer.labels, ".png"))
            write_atomically(next(files), as_file(overlay(item.X, answer.labels), "png"))


def _rounded(value: Any) -> Any:
    """A number with four decimals; anything else as it is."""
    return round(value, 4) if isinstance(value, float) else value


def _table(recording: Recording) -> tuple[list[str], list[list[Any]], str]:
    """Names of columns, rows and separator of the table that a recording was read from."""
    origin = recording.origin
    if origin is not None and kind_of(origin.path) != ".npz":
        frame = read_frame(origin.path, origin.options, as_text=True)[0]
        if frame.index.names != [None]:  # levels of parquet that were read as columns
            frame = frame.reset_index()
        rows = frame.iloc[origin.written].to_numpy(dtype=object).tolist()
        typed = origin.options.separator
        separator = "," if typed in (None, BLANKS_BETWEEN) else typed
        if separator == "," and getattr(origin.format, "decimal", ".") == ",":
            is_number = COMMA_NUMBER.fullmatch
            rows = [[v.replace(",", ".") if is_number(str(v)) else v for v in row] for row in rows]
        return [str(name) for name in frame.columns], rows, separator
    header = list(recording.features)
    columns = [*recording.X.T.tolist()]
    if recording.time is not None and recording.time.name not in header:
        header.insert(0, recording.time.name)
        columns.insert(0, [recording.time.text(t) for t in range(len(recording.X))])
    if recording.y is not None and "label" not in header:
        header.append("label")
        columns.append(recording.y.tolist())
    rows = [list(row) for row in zip(*columns, strict=True)]
    if origin is not None and origin.left_out.size:
        by_number = dict(zip(origin.rows.tolist(), rows, strict=True))
        rows = [by_number.get(i, [""] * len(header)) for i in origin.written.tolist()]
    return header, rows, ","


def label_map(labels: Any, kind: str) -> bytes:
    """A label map as a file: of integers in .npy, of greys that can be told apart in .png."""
    if kind == ".png":
        most = max(int(labels.max()), 1)
        greys = labels * max(255 // most, 1)
        dtype = np.uint8 if most <= 255 else np.uint16
        return as_file(greys.astype(dtype), "png")
    buffer = io.BytesIO()
    np.save(buffer, labels, allow_pickle=False)
    return buffer.getvalue()


@contextmanager
def figure_in(path: Path, terminal: Terminal) -> "Iterator[Figure]":
    """A figure that is written at the end, in the format of the ending of the file's name."""
    module = require("matplotlib.figure", "plot", "plotting")
    buffer = io.BytesIO()
    figure: Figure = module.Figure(figsize=(9.0, 4.3), layout="constrained")
    yield figure
    kind = path.suffix[1:].lower()
    figure.savefig(buffer, format=kind, dpi=DPI, bbox_inches="tight")  # squares leave a side empty
    write_atomically(path, buffer.getvalue())
    terminal.note(f"the figure is in {path}")
