"""``structsvm predict``: segment recordings with a model."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli import cuts
from structsvm.cli.columns import table_columns
from structsvm.cli.inputs import read_for
from structsvm.cli.outputs import check_output, check_outputs, within
from structsvm.cli.parser import file_options, force_option, positive, report_options
from structsvm.cli.terminal import Terminal
from structsvm.datasets.files import find_recordings
from structsvm.datasets.readers import read_frame
from structsvm.datasets.recording import Recording
from structsvm.graph_cuts.learner import CutLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.persistence import load
from structsvm.storage.atomic import write_atomically
from structsvm.support.interrupts import Interrupts
from structsvm.support.progress import stage

__all__ = ["add_parser"]

EPILOG = """\
examples:
  structsvm predict my.structsvm new.csv
  structsvm predict my.structsvm new/ -o segments.csv
  structsvm predict my.structsvm new/ -o segmented/

Without -o, a line for each recording: its name and the ends of its segments, the last of which is
its number of samples. With -o FILE.csv, a row for each segment: samples start to end - 1, counted
from 0. With any other -o, a folder with a table for each recording, NAME_segments.csv: the columns
it has and the segment of each sample. Files that exist are replaced with --force only.

A model of normalized cuts takes images; with -o FOLDER it writes NAME_mask.png and
NAME_overlay.png for each, with -o FILE.png or FILE.npy the label map of one.

A model of clustering prints the sizes of the clusters of each table; -o FILE.csv has a row for each
row of a table: its cluster.
"""


def add_parser(commands: Any) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "predict",
        help="segment recordings",
        description="Segment recordings with a model. Labels are not needed, and ignored.",
        epilog=EPILOG,
        parents=[file_options(), report_options()],
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help=".csv file, or folder")
    force_option(parser)
    parser.add_argument(
        "--n-segments",
        "--n-clusters",
        type=positive,
        metavar="N",
        help="so many segments in each (default: as the learned penalty decides)",
    )
    parser.add_argument(
        "--maps",
        choices=("png", "npy"),
        default="png",
        help="kind of the label maps of images: greys, or the numbers (default: png)",
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Segment, and write or print the segments."""
    one_table = args.output is not None and args.output.suffix.lower() == ".csv"
    if one_table:
        check_output(args, args.output)
    learner = load(args.model)
    if isinstance(learner, CutLearner):
        return cuts.predict(args, terminal, learner)
    words = learner.problem_.words
    into_folder = args.output is not None and not one_table
    in_files = table_columns(args, learner).recording is None
    if into_folder and in_files:  # before anything is read
        _check_places(args, find_recordings(args.paths).names, words.part)
    recordings = read_for(learner, args, terminal, need_labels=False)
    if into_folder and not in_files:
        _check_places(args, [recording.name for recording in recordings], words.part)
    kind = Segments if learner.problem_.contiguous else Clusters
    with terminal.working("partitioning"):
        answers: list[Answer] = []
        for recording in stage("recordings", recordings):
            (M,) = learner.predict_partitions([recording.X], args.n_segments)
            answers.append(kind(recording.name, M))
    if one_table:
        rows = (row for answer in answers for row in answer.rows)
        write_atomically(args.output, _csv(("recording", *kind.columns), rows))
        terminal.note(f"{words.part}s of {words.wholes(len(answers))} are in {args.output}")
    elif args.output is not None:
        with Interrupts():  # all the files or none
            _write_folder(args.output, recordings, answers, words.part)
        terminal.note(f"one file for each of {words.wholes(len(answers))} is in {args.output}")
    plain = [answer.to_dict() for answer in answers]
    lines = [str(answer) for answer in answers]
    terminal.report({"recordings": plain}, *(lines if args.output is None else ()))
    return 0


@dataclass(frozen=True)
class Segments:
    """The answer for a recording."""

    name: str
    M: EquivalenceMatrix
    columns = ("segment", "start", "end")

    @property
    def rows(self) -> Iterator[tuple[str | int, ...]]:
        """One for each segment."""
        ends = self.M.breakpoints
        for k, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            yield self.name, k, start, end

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        ends = self.M.breakpoints
        return {"name": self.name, "n_segments": len(ends), "breakpoints": ends}

    def __str__(self) -> str:
        """The name and the ends."""
        return f"{self.name}: {' '.join(map(str, self.M.breakpoints))}"


@dataclass(frozen=True)
class Clusters:
    """The answer for a table."""

    name: str
    M: EquivalenceMatrix
    columns = ("row", "cluster")

    @property
    def labels(self) -> list[int]:
        """Cluster of each row."""
        assert self.M.labels is not None
        return [int(label) for label in self.M.labels]

    @property
    def rows(self) -> Iterator[tuple[str | int, ...]]:
        """One for each row of the table."""
        return ((self.name, i, label) for i, label in enumerate(self.labels))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "n_clusters": self.M.n_clusters, "labels": self.labels}

    def __str__(self) -> str:
        """The name and the sizes."""
        return f"{self.name}: {' '.join(map(str, self.M.sizes))}"


Answer = Segments | Clusters


def _place(folder: Path, name: str, part: str) -> Path:
    """The table of a recording in the folder of the answers: never the name of the recording."""
    return within(folder, f"{name}_{part}s.csv")


def _check_places(args: argparse.Namespace, names: Sequence[str], part: str) -> None:
    """Refuse to write the tables of these recordings where something would be lost."""
    check_outputs(args, (_place(args.output, name, part) for name in names))


def _write_folder(
    folder: Path, recordings: Sequence[Recording], answers: Sequence[Answer], part: str
) -> None:
    """The table of each recording with a column added."""
    for recording, answer in zip(recordings, answers, strict=True):
        assert answer.M.labels is not None
        path = _place(folder, answer.name, part)
        path.parent.mkdir(parents=True, exist_ok=True)
        header, rows = _table(recording)
        column = part
        while column in header:
            column = f"{column}_predicted"
        labels = np.asarray(answer.M.labels).tolist()
        added = ([*row, label] for row, label in zip(rows, labels, strict=True))
        write_atomically(path, _csv([*header, column], added))


def _table(recording: Recording) -> tuple[list[str], list[list[Any]]]:
    """Names and rows of the table a recording was read from, or of what an .npz file has."""
    header, rows = list(recording.features), recording.X.tolist()
    source = Path(recording.source or "")
    if source.suffix.lower() in (".csv", ".parquet"):
        frame = read_frame(source, as_text=True)
        return [str(name) for name in frame.columns], frame.to_numpy(dtype=object).tolist()
    if recording.y is not None and "label" not in header:
        labels = recording.y.tolist()
        return [*header, "label"], [[*row, y] for row, y in zip(rows, labels, strict=True)]
    return header, rows


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue().encode(errors="backslashreplace")
