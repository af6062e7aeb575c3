"""Recordings and models as commands find them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structsvm.cli.columns import labels_are, table_columns
from structsvm.cli.terminal import Terminal
from structsvm.datasets.columns import warn_about_columns
from structsvm.datasets.files import find_recordings, read_file
from structsvm.datasets.indicators import looks_like_changes, read_labels_as
from structsvm.datasets.recording import Recording, arrays_and_labels, share_features
from structsvm.errors import DataError
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.traits import Words
from structsvm.support.progress import stage

__all__ = ["check_labels", "read", "read_for", "read_to_judge"]


def read(
    args: argparse.Namespace,
    terminal: Terminal,
    *,
    need_labels: bool,
    features: Sequence[str] = (),
    blanks: bool = False,
    ask: bool = False,
    learner: MetricLearner | None = None,
) -> list[Recording]:
    """Read the recordings of ``args.paths``, all with the same features; those named suffice.

    With ``ask``, labels that look like marks of changes are an error unless it was said what they
    are. What was not typed is as the learner remembers it.
    """
    found = find_recordings(args.paths)
    if found.skipped:
        names = ", ".join(path.name for path in found.skipped[:5])
        more = f" and {len(found.skipped) - 5} more" if len(found.skipped) > 5 else ""
        terminal.note(f"skipped: {names}{more}")
    n = len(found.files)
    columns = table_columns(args, learner)
    recordings: list[Recording] = []
    with terminal.working(f"reading {n} file{'s' if n > 1 else ''}"):
        for path, name in stage("files", list(zip(found.files, found.names, strict=True))):
            recordings += read_file(
                path,
                columns,
                name=name,
                need_labels=need_labels,
                features=features,
                blanks=blanks,
                alone=n == 1,
                missing_labels=args.missing_label or (),
            )
    kind = labels_are(args, learner)
    if not (need_labels or blanks) and not looks_like_changes(recordings):
        kind = None  # labels that nobody asks for are no reason to refuse anything
    recordings = share_features(read_labels_as(recordings, kind, ask=ask))
    if not features:
        warn_about_columns(recordings)
    return recordings


def read_for(
    learner: MetricLearner, args: argparse.Namespace, terminal: Terminal, *, need_labels: bool
) -> list[Recording]:
    """Read the recordings of ``args.paths``, to partition them with the model ``args.model``."""
    features = [str(name) for name in getattr(learner, "feature_names_in_", ())]
    found = read(
        args,
        terminal,
        need_labels=need_labels,
        features=features,
        ask=need_labels and learner.problem_.contiguous,
        learner=learner,
    )
    recordings = _with_features_of(learner, found, args.model)
    _check_counts(recordings, args.n_segments, learner.problem_.words)
    return recordings


def read_to_judge(
    learner: MetricLearner, args: argparse.Namespace, terminal: Terminal
) -> tuple[list[str], list[Any], list[Any]]:
    """Names, samples and labels of the recordings of ``args.paths``, to judge the model by."""
    recordings = read_for(learner, args, terminal, need_labels=True)
    check_labels(recordings, learner.problem_)
    return [recording.name for recording in recordings], *arrays_and_labels(recordings)


def _with_features_of(
    learner: MetricLearner, recordings: Sequence[Recording], model: Path
) -> list[Recording]:
    """The recordings with the features of the model, in its order; DataError if they differ."""
    names = getattr(learner, "feature_names_in_", None)
    if names is not None:
        return [r.with_features([str(name) for name in names], str(model)) for r in recordings]
    for recording in recordings:
        if len(recording.features) != learner.n_features_in_:
            raise DataError(
                f"{recording.where} has {len(recording.features)} features, "
                f"{model} has {learner.n_features_in_}"
            )
    return list(recordings)


def check_labels(recordings: Sequence[Recording], problem: PartitionProblem) -> None:
    """Let the problem look at each recording's labels, so that complaints name its file."""
    for recording in recordings:
        try:
            problem.encode(recording.y, recording.X.shape[0])
        except DataError as error:
            raise DataError(f"{recording.where}: {error}") from error


def _check_counts(
    recordings: Sequence[Recording], n_segments: int | str | None, words: Words
) -> None:
    """Refuse more segments than a recording has samples."""
    if not isinstance(n_segments, int):
        return
    for recording in recordings:
        T = recording.X.shape[0]
        if n_segments > T:
            raise DataError(
                f"{recording.where} has {words.items(T)}: it cannot have {words.parts(n_segments)}"
            )
