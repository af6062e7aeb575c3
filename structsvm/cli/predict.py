"""What commands write: where they may, and partitions as tables or images; ``structsvm predict``.

Nothing that a command reads is written over, and nothing that exists unless it is forced.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.inputs import InputData, labels_with, measured, read_for, takes_images
from structsvm.cli.terminal import Terminal
from structsvm.data.sample import IMAGES, Sample
from structsvm.data.samples import Counts
from structsvm.data.times import TimeAxis
from structsvm.errors import SettingsError
from structsvm.graphs.images import KINDS as IMAGE_KINDS
from structsvm.io.files import KINDS, OTHER_TABLES, predictions_among
from structsvm.io.image_folder import IMAGE_FOLDERS, MASK, MASK_FOLDERS, OVERLAY, made_of_images
from structsvm.io.options import FileOptions
from structsvm.io.recording import Recording
from structsvm.io.sniff import TextFormat
from structsvm.io.tables import read_frame
from structsvm.learner.baselines import (
    ask,
    estimators_in,
    metrics_in,
    other_methods,
    partitions_with,
    samples_with_states,
)
from structsvm.learner.columns import warn_of_dead_features
from structsvm.learner.files import load_metric_learner
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import Rules, decode_with, labels_of, segment_table, segment_tables
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.problem import CONSENSUS, PartitionProblem
from structsvm.storage.atomic import unwritable, write_atomically
from structsvm.support.interrupts import Interrupts
from structsvm.support.lazy import require
from structsvm.support.plain import cell, counted, finite

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


Table = Sequence[Mapping[str, Any]]


def run_predict(args: argparse.Namespace, terminal: Terminal) -> int:
    """Partition the samples, and write or print their partitions."""
    learner, output = load_metric_learner(args.model), args.output
    kinds = file_kinds(learner.problem_)
    one_file = output is not None and output.suffix.lower() in kinds
    if one_file:
        check_output(args, output)
    elif output is not None:
        check_folder_name(output, kinds)
    inputs = read_for(learner, args, terminal, need_labels=False)
    words, images = inputs.words, takes_images(learner.problem_)
    if output is not None and not one_file:
        check_outputs(args, places(learner.problem_, output, inputs.names))
    if one_file and images and len(inputs) > 1:
        raise SettingsError(f"{output} is one file for {words.wholes(len(inputs))}: name a folder")
    samples = measured(learner, inputs, terminal)
    with inputs.named():
        if args.baseline is None:
            warn_of_dead_features(learner, samples)
        with terminal.working("partitioning"):
            answers = answers_of(
                learner,
                inputs,
                samples,
                baseline=args.baseline,
                n_clusters=args.n_clusters,
                rules=_rules(args, inputs),
                margins=args.margins,
            )
    if args.n_clusters is None and args.baseline not in estimators_in(learner.baselines_):
        _tell_counts(answers, inputs, learner, terminal)
    if output is not None:
        with Interrupts():  # all the files or none
            if one_file:
                write_file(output, answers)
            else:
                write_folder(output, inputs, answers)
        n = len(answers)
        about = f"{words.part}s of {words.wholes(n)} are"
        if images:
            about = "1 label map is" if n == 1 else f"{n} label maps are"
        elif n > 1 and not one_file:
            about = f"one file for each of {words.wholes(n)} is"
        terminal.note(f"{about} in {output}")
    plain = [answer.to_dict() for answer in answers]
    lines = map(str, answers) if output is None else ()
    terminal.report({f"{words.whole}s": plain}, *lines)
    return 0


def _tell_counts(
    answers: Sequence[Answer], inputs: InputData, learner: MetricLearner, terminal: Terminal
) -> None:
    """Say how many clusters were found where nobody said how many there are."""
    if learner.problem_.traits.contiguous:
        return
    counts = [answer.n_clusters for answer in answers]
    fewest, most = min(counts), max(counts)
    found = counted(most, inputs.words.part) if fewest == most else f"{fewest} to {most} clusters"
    where = f"each {inputs.words.whole}" if len(counts) > 1 else answers[0].name
    priced = learner.metric_.price is not None
    reason = "by the learned price" if priced else "as in the training data"
    terminal.note(f"{found} in {where}, {reason}; --n-clusters N finds N")


def answers_of(
    learner: MetricLearner,
    inputs: InputData,
    measured: list[Sample],
    *,
    baseline: str | None = None,
    n_clusters: Counts = None,
    rules: Rules | None = None,
    margins: bool = False,
    prepared: list[Sample] | None = None,
) -> list[Answer]:
    """The partitions of samples in the learned metric, or by a tuned baseline."""
    rules = {} if rules is None else rules
    if baseline is not None and (margins or (rules and baseline in other_methods(learner))):
        raise SettingsError(
            f"--baseline {baseline}: margins are those of the learned metric, and only metrics "
            "keep rules: leave out --baseline, or --margins and the rules"
        )
    samples = learner.inputs_(measured) if prepared is None else prepared
    tables: Sequence[Table]
    if margins:  # which are those of the changes that are found
        tables = learner.predict_segments(samples, n_clusters, **rules)
        ends = [[row["end"] for row in table] for table in tables]
        partitions = [EquivalenceMatrix.from_breakpoints(each) for each in ends]
    else:
        partitions = _partitions(learner, measured, samples, baseline, n_clusters, rules)
    problem, names = learner.problem_, inputs.names
    if takes_images(problem):
        labels = labels_of(problem, partitions, samples)
        return [parts(name, each) for name, each in zip(names, labels, strict=True)]
    if not problem.traits.contiguous:
        return [clusters(name, M) for name, M in zip(names, partitions, strict=True)]
    if not margins:
        tables = _states(learner, measured, samples, partitions, baseline, n_clusters)
    rows = zip(names, partitions, tables, samples, inputs.times, strict=True)
    return [
        segments(name, M, table or segment_table(M, sample, None), time)
        for name, M, table, sample, time in rows
    ]


def _rules(args: argparse.Namespace, inputs: InputData) -> Rules:
    """Which partitions were allowed on the command line."""
    contiguous, words = inputs.problem.traits.contiguous, inputs.words
    if (args.must_link or args.cannot_link) and (contiguous or len(inputs) != 1):
        raise SettingsError(
            "--must-link and --cannot-link name rows of one table, got "
            f"{words.wholes(len(inputs))}: give one table at a time"
        )
    typed = {
        name: getattr(args, name)
        for name in ("min_length", "max_length", "must_link", "cannot_link")
    }
    rules: Any = {name: value for name, value in typed.items() if value}
    if args.regions is not None:
        if not contiguous:
            raise SettingsError(f"--regions is for recordings, not {words.whole}s")
        recordings = [item for item in inputs.items if isinstance(item, Recording)]
        unlabelled = [replace(recording, y=None, chunks=None) for recording in recordings]
        rules["known"] = labels_with(InputData.of(unlabelled, inputs.problem), args.regions)
    return rules  # type: ignore[no-any-return]


def _states(
    learner: MetricLearner,
    measured: list[Sample],
    samples: list[Sample],
    partitions: list[EquivalenceMatrix],
    baseline: str | None,
    n_clusters: Counts,
) -> Sequence[Table]:
    """State and probability of each segment, by the metric's scores or by the baseline itself."""
    others = estimators_in(learner.baselines_)
    if baseline in others:
        if not hasattr(others[baseline], "predict_segments"):
            return [[] for _ in samples]
        return list(ask(others[baseline], "predict_segments", measured, n_clusters))
    naming, states = samples, learner.classes_
    if baseline == CONSENSUS:
        naming, states = samples_with_states(learner, measured, samples)
    return segment_tables(partitions, naming, states)


def _partitions(
    learner: MetricLearner,
    measured: list[Sample],
    samples: list[Sample],
    baseline: str | None,
    n_clusters: Counts,
    rules: Rules,
) -> list[EquivalenceMatrix]:
    """Partitions in the learned metric, or by a tuned baseline."""
    if baseline in other_methods(learner):
        return partitions_with(learner, baseline, measured, samples, n_clusters)
    metric = learner.metric_ if baseline is None else metrics_in(learner.baselines_).get(baseline)
    if metric is None:
        known = ", ".join(sorted({*learner.baselines_, *other_methods(learner)}))
        raise SettingsError(
            f"--baseline {baseline}: the model has {known}; fit --baselines all tunes all there are"
        )
    return decode_with(learner, metric, samples, n_clusters, **rules)
