"""Reading the files and labels of a command, with the settings that were typed."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.input_data import InputData
from structsvm.cli.request import (
    COLUMNS,
    FILE_OPTIONS,
    OF_IMAGES,
    OF_LABELS,
    Request,
    refuse_if,
    takes_images,
)
from structsvm.cli.terminal import Terminal
from structsvm.data.marks import count_marks
from structsvm.errors import DataError, SettingsError
from structsvm.io.changes import refuse_one_word, refuse_without_changes
from structsvm.io.cleaning import cleaned, columns_of, in_windows, window_for
from structsvm.io.files import RecordingFiles, formats_in_words, read_files
from structsvm.io.folders import find_recordings
from structsvm.io.image_folder import images_of, read_in_time
from structsvm.io.intervals import layers_of, with_labels
from structsvm.io.recording import FileOptions, Recording, listed
from structsvm.learner.learner import Learner
from structsvm.messages import parameter
from structsvm.partitions.plugins import problem_name
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.checks import counted, some_of
from structsvm.support.lazy import require

FEWEST_READ = 8
"""Files that are read whatever time that takes."""


def _check_libraries(problem: PartitionProblem) -> None:
    """Refuse images before they are read if what divides them is missing."""
    image = getattr(problem, "image", None)
    if getattr(image, "nodes", "pixels") != "pixels":
        require("skimage.segmentation", "images", "superpixels")


def read(
    request: Request, terminal: Terminal, problem: PartitionProblem, **options: Any
) -> InputData:
    """Read the files of a command as :func:`read_layers`, with one layer of labels."""
    return read_layers(request, terminal, problem, **options, layered=False)[""]


def read_layers(
    request: Request,
    terminal: Terminal,
    problem: PartitionProblem,
    *,
    need_labels: bool = True,
    blanks: bool = False,
    learner: Learner | None = None,
    later: bool = False,
    layered: bool = True,
    end: float = math.inf,
    only: Collection[str] = (),
) -> dict[str, InputData]:
    """Read the files of a command with the options of a learner, or only name what is read later.

    If there is an ``end``, some of the files are read for which there is time; or those that are
    named, ``only``. Layers of labels have the same arrays, and the recordings in which they were
    looked for.
    """
    typed = request.files
    labels = request.labels
    for option in typed:  # of tables for images, and of labels without a file of labels
        if option not in OF_IMAGES and takes_images(problem):
            wrong = f" is not for {problem_name(problem)}: leave it out"
            raise SettingsError(parameter(option) + wrong)
        alone = parameter(option) + " is for a separate table of labels: give "
        alone += parameter("labels") + " as well"
        refuse_if(option in OF_LABELS and labels is None, alone)
    if takes_images(problem):
        images, read = _read_images(request, terminal, problem, learner, need_labels, end, only)
        return {"": InputData(request, terminal, images, problem, read=read)}
    lost = getattr(learner, "lost_", ())
    features = [name for name in getattr(learner, "feature_names_in_", ()) if name not in lost]
    apart = labels is not None
    in_order = problem.traits.contiguous
    learned = getattr(learner, "columns_", {})
    how = {name: value for name, value in {**learned, **typed}.items() if name in FILE_OPTIONS}
    how |= {"need_labels": need_labels and not apart, "blanks": blanks or apart}
    optional = {learned[name] for name in COLUMNS if learned.get(name) and name not in typed}
    options = FileOptions(**how, in_order=in_order, optional=frozenset(optional))
    measured = columns_of(features) if options.window not in (None, 1) else features
    options = replace(options, wanted=measured)
    if later:
        reader = RecordingFiles(request.paths, **vars(options))
        terminal.note(f"{counted(len(reader), 'file')}, read one at a time, whenever needed")
        bare = [Recording(name, np.empty((0, 0)), None, (), path) for path, name in reader.files]
        return {"": InputData(request, terminal, bare, problem, (), reader)}
    files, skipped = find_recordings(request.paths, labels=labels)
    if skipped:
        terminal.note(f"skipped: {some_of([path.name for path in skipped], 5)}")
    files = {path: name for path, name in files.items() if not only or str(path) in only}
    is_learned_from = learner is None and in_order and (need_labels or blanks)
    if is_learned_from and labels is None and request.regions is None:
        refuse_one_word(files, options)
    with terminal.working(f"reading {counted(len(files), 'file')}", end):
        recordings, there = read_files(files, options, end, FEWEST_READ)
    read = _those_read(terminal, list(map(str, there)), len(files))
    for note in formats_in_words(recordings):
        terminal.note(note)
    layers = {"": recordings}
    if labels is not None:
        about: Any = {k: v for k, v in {**learned, **typed}.items() if k in OF_LABELS}
        about |= {"blanks": blanks, "some": request.some}
        layers = _layers(recordings, labels, about, layered)
    labels_matter = need_labels or blanks
    steps = getattr(learner, "steps_", {})
    by_layer = {}
    for name, some in layers.items():
        if not labels_matter and not count_marks([one.y for one in some]):
            # labels that nobody asks for are no reason to refuse anything
            options = replace(options, labels_are=None)
        is_sought = len(layers) > 1 and not request.some
        sought = [one for one in some if one.y is not None] if is_sought else some
        whole = cleaned(sought, options, ask=labels_matter and in_order, steps=steps)
        if learner is None and in_order:
            is_whole = len(layers) == 1 and request.regions is None
            refuse_without_changes(whole if is_whole else [], apart=apart)
            whole = whole if request.counts_samples else _chosen_windows(whole, terminal)
        label = options.label_column or "label"
        by_layer[name] = InputData(request, terminal, whole, problem, label=label, read=read)
    return by_layer


def folders_of(output: Path, layers: Sequence[str]) -> dict[str, Path]:
    """Where what is found of each layer of labels is written: each in its folder, if several."""
    if len(layers) == 1:
        return {layers[0]: output}
    folders: dict[str, Path] = {}
    for name in layers:
        folder = output / (re.sub(r"[^\w-]", "_", name) or "_")
        while folder in folders.values():
            folder = folder.with_name(f"{folder.name}_")
        folders[name] = folder
    return folders


def _layers(
    recordings: list[Recording], labels: Path, about: Mapping[str, Any], layered: bool
) -> dict[str, list[Recording]]:
    """The recordings with the labels of a file; of ``some``, the others have none."""
    if not layered:
        return {"": with_labels(recordings, labels, **about)}
    layers = layers_of(recordings, labels, **about)
    if not about["some"]:
        return layers
    padded = {}
    for name, labelled in layers.items():
        by_name = {one.name: one for one in labelled}
        padded[name] = [by_name.get(one.name, one) for one in recordings]
    return padded


def _read_images(
    request: Request,
    terminal: Terminal,
    problem: PartitionProblem,
    learner: Learner | None,
    need_labels: bool,
    end: float,
    only: Collection[str],
) -> tuple[list[Recording], list[str]]:
    _check_libraries(problem)
    settings = {**getattr(learner, "columns_", {}), **request.files}
    missing = settings.get("missing_labels", ())
    asked = images_of(request.paths, request.labels)
    asked = [one for one in asked if not only or str(one[0]) in only]
    with terminal.working("reading images", end):
        images = read_in_time(asked, need_labels, missing, end=end, fewest=FEWEST_READ)
    recordings = [Recording(x.name, x.image, x.labels, (), x.source) for x in images]  # type: ignore[arg-type]
    return recordings, _those_read(terminal, [x.source for x in images], len(asked))


def _those_read(terminal: Terminal, read: list[str], n: int) -> list[str]:
    """The files that were read, with a note, if these are not all ``n``."""
    if len(read) == n:
        return []
    told = f"to answer in time, {len(read)} of {n} files are read: more --minutes read more"
    terminal.note(told)
    return read


def _chosen_windows(recordings: list[Recording], terminal: Terminal) -> list[Recording]:
    """Average samples that are many more than learning needs."""
    window, usual = window_for(recordings)
    if window == 1:
        return recordings
    windows = in_windows(recordings, window)
    axis = recordings[0].time
    lasting = ""
    if axis is not None:
        unit = "s" if axis.holds_dates else f"of {axis.name!r}"
        lasting = f" ({window * axis.usual_step:.3g} {unit})"
    terminal.note(
        f"averaged to windows of {window} samples{lasting}: the shortest usual segment has "
        f"{usual:,}; --set files.window=1 learns from each sample"
    )
    return windows


def read_for(
    learner: Learner,
    model: Path,
    request: Request,
    terminal: Terminal,
    *,
    may_lack: bool = False,
    **asked: bool,
) -> InputData:
    """Read the files of a command, with the features of its model, and what is asked of labels.

    Without some of the features the command can do, if it is told to, if they ``may_lack``.
    """
    problem = learner.problem_
    learned = getattr(learner, "columns_", {})
    missing = request.files.get("missing")
    masks = getattr(problem, "missing", None) == "mask"
    imputes = "medians" in learned
    other = ", or give " + parameter("missing", "interpolate")
    refuse_if(
        (missing == "mask" and not masks) or (missing == "impute" and not imputes),
        parameter("missing", missing)
        + f": {model} was learned without it: learn with fit --missing {missing}"
        + (other if missing == "mask" else ""),
    )
    inputs = read(request, terminal, problem, learner=learner, **asked)
    names = getattr(learner, "feature_names_in_", None)
    if takes_images(problem) or names is None:
        return inputs
    names = [str(name) for name in names]
    lost = getattr(learner, "lost_", ())
    kept = [name for name in names if name not in lost]
    lacking = [name for name in kept if name not in inputs.items[0].features]
    if may_lack and lacking and len(lacking) < len(kept):
        raise DataError(
            f"{inputs.items[0].where} lacks {listed(lacking)}, which {model} was learned with: "
            + parameter("without", lacking[0])
            + " predicts without"
        )
    items = [item.with_features(kept, str(model)) for item in inputs.items]
    for i, recording in enumerate(items if lost else ()):  # zeros where nobody will look
        X = np.zeros((len(recording.X), len(names)))
        X[:, np.isin(names, kept)] = recording.X
        items[i] = replace(recording, X=X, features=tuple(names))
    return replace(inputs, items=items, labels=None)
