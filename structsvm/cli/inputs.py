"""Recordings and models as commands find them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structsvm.cli.terminal import Terminal
from structsvm.datasets.files import find_recordings, read_recording
from structsvm.datasets.recording import Recording, arrays_and_labels, share_features
from structsvm.errors import DataError, SettingsError
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.traits import Words
from structsvm.support.progress import stage

__all__ = ["check_labels", "check_output", "read", "read_for", "read_to_judge"]


def read(
    args: argparse.Namespace,
    terminal: Terminal,
    *,
    need_labels: bool,
    features: Sequence[str] = (),
    blanks: bool = False,
) -> list[Recording]:
    """Read the recordings of ``args.paths``, all with the same features; those named suffice."""
    found = find_recordings(args.paths)
    if found.skipped:
        names = ", ".join(path.name for path in found.skipped[:5])
        more = f" and {len(found.skipped) - 5} more" if len(found.skipped) > 5 else ""
        terminal.note(f"skipped: {names}{more}")
    n = len(found.files)
    recordings = []
    with terminal.working(f"reading {n} recording{'s' if n > 1 else ''}"):
        for path, name in stage("files", list(zip(found.files, found.names, strict=True))):
            recordings.append(
                read_recording(
                    path,
                    name=name,
                    label_column=args.label_column,
                    time_column=args.time_column,
                    need_labels=need_labels,
                    features=features,
                    blanks=blanks,
                    chunk_column=getattr(args, "chunk_column", None),
                )
            )
    return share_features(recordings)


def read_for(
    learner: MetricLearner, args: argparse.Namespace, terminal: Terminal, *, need_labels: bool
) -> list[Recording]:
    """Read the recordings of ``args.paths``, to partition them with the model ``args.model``."""
    features = [str(name) for name in getattr(learner, "feature_names_in_", ())]
    found = read(args, terminal, need_labels=need_labels, features=features)
    recordings = _with_features_of(learner, found, args.model)
    _check_counts(recordings, args.n_segments, learner.problem_.words)
    return recordings


def read_to_judge(
    learner: MetricLearner, args: argparse.Namespace, terminal: Terminal
) -> tuple[list[str], list[Any], list[Any]]:
    """Names, samples and labels of the recordings of ``args.paths``, to judge the model by."""
    recordings = read_for(learner, args, terminal, need_labels=True)
    check_labels(recordings, learner.problem_)
    seen = sum(recording.X in learner.training_data_ for recording in recordings)
    if seen:
        these = learner.problem_.words.wholes(len(recordings))
        terminal.warn(
            f"the model was learned from {seen} of these {these}: "
            "the figures are better than on new ones"
        )
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


def check_output(path: Path, suffixes: Sequence[str] = ()) -> None:
    """Refuse, before any work, a file that could not be written afterwards."""
    if path.is_dir():
        raise SettingsError(f"{path} is a folder: name the file to write")
    if not path.parent.is_dir():
        raise SettingsError(f"{path}: the folder {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise SettingsError(f"{path}: the folder {path.parent} is not yours to write in")
    if suffixes and path.suffix.lower() not in suffixes:
        raise SettingsError(f"{path}: the name must end with one of {', '.join(suffixes)}")
