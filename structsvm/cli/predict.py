"""``structsvm predict``: segment recordings with a model."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structsvm.atomic import write_atomically
from structsvm.cli import cuts
from structsvm.cli.inputs import check_output, read_for
from structsvm.cli.parser import file_options, positive, report_options
from structsvm.cli.terminal import Terminal
from structsvm.graph_cuts.learner import CutLearner
from structsvm.interrupts import Interrupts
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.persistence import load
from structsvm.progress import stage

__all__ = ["add_parser"]

EPILOG = """\
examples:
  structsvm predict my.structsvm new.csv
  structsvm predict my.structsvm new/ -o segments.csv
  structsvm predict my.structsvm new/ -o segmented/

Without -o, a line for each recording: its name and the ends of its segments, the last of which is
its number of samples. With -o FILE.csv, a row for each segment: samples start to end - 1, counted
from 0. With any other -o, a folder with a .csv file for each recording: the segment of each sample.

A model of normalized cuts takes images; with -o FOLDER it writes a label map and an overlay for
each, with -o FILE.png or FILE.npy the label map of one.

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
        check_output(args.output)
    learner = load(args.model)
    if isinstance(learner, CutLearner):
        return cuts.predict(args, terminal, learner)
    recordings, words = read_for(learner, args, terminal, need_labels=False), learner.problem_.words
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
            _write_folder(args.output, answers, words.part)
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


def _write_folder(folder: Path, answers: Sequence[Answer], column: str) -> None:
    """A file for each recording, with a row for each sample."""
    for answer in answers:
        labels = ((int(label),) for label in answer.M.labels)  # type: ignore[union-attr]
        path = folder / f"{answer.name.lstrip('/')}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, _csv((column,), labels))


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue().encode()
