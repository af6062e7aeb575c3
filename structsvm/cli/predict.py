"""``structsvm predict``: segment recordings with a model."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from structsvm.atomic import write_atomically
from structsvm.cli.inputs import check_n_segments, check_output, fit_to_model, read
from structsvm.cli.parser import file_options, positive, report_options
from structsvm.cli.terminal import Terminal
from structsvm.datasets.recording import Recording
from structsvm.persistence import load

__all__ = ["add_parser"]

EPILOG = """\
examples:
  structsvm predict my.structsvm new.csv
  structsvm predict my.structsvm new/ -o segments.csv
  structsvm predict my.structsvm new/ -o segmented/

Without -o, a line for each recording: its name and the ends of its segments, the last of which is
its number of samples. With -o FILE.csv, a row for each segment: samples start to end - 1, counted
from 0. With any other -o, a folder with a .csv file for each recording: the segment of each sample.
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
        type=positive,
        metavar="N",
        help="so many segments in each (default: as the learned penalty decides)",
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Segment, and write or print the segments."""
    one_table = args.output is not None and args.output.suffix.lower() == ".csv"
    if one_table:
        check_output(args.output)
    learner = load(args.model)
    recordings = fit_to_model(read(args, terminal, need_labels=False), learner, args.model)
    check_n_segments(recordings, args.n_segments)
    with terminal.working("segmenting") as say:
        ends = []
        for i, recording in enumerate(recordings):
            say(f"{i} of {len(recordings)} done")
            ends += learner.predict_breakpoints([recording.X], args.n_segments)
    if one_table:
        write_atomically(args.output, _table(recordings, ends))
        terminal.note(f"segments of {len(ends)} recordings are in {args.output}")
    elif args.output is not None:
        _write_folder(args.output, recordings, ends)
        terminal.note(f"one file for each of {len(ends)} recordings is in {args.output}")
    plain = [
        {"name": recording.name, "n_segments": len(e), "breakpoints": e}
        for recording, e in zip(recordings, ends, strict=True)
    ]
    lines = [f"{r.name}: {' '.join(map(str, e))}" for r, e in zip(recordings, ends, strict=True)]
    terminal.report({"recordings": plain}, *(lines if args.output is None else ()))
    return 0


def _table(recordings: Sequence[Recording], ends: Sequence[list[int]]) -> bytes:
    """A row for each segment."""
    rows = (
        (recording.name, k, start, end)
        for recording, e in zip(recordings, ends, strict=True)
        for k, (start, end) in enumerate(zip([0, *e[:-1]], e, strict=True))
    )
    return _csv(("recording", "segment", "start", "end"), rows)


def _write_folder(folder: Path, recordings: Sequence[Recording], ends: Sequence[list[int]]) -> None:
    """A file for each recording, with a row for each sample."""
    for recording, e in zip(recordings, ends, strict=True):
        segments = ((k,) for k, n in enumerate(_sizes(e)) for _ in range(n))
        path = folder / f"{recording.name.lstrip('/')}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, _csv(("segment",), segments))


def _sizes(ends: list[int]) -> list[int]:
    return [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue().encode()
