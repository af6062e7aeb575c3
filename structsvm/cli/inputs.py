"""Reading the files and labels of a command, with the settings that were typed."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.input_data import InputData
from structsvm.cli.request import COLUMNS, FILE_OPTIONS, OF_IMAGES, OF_LABELS, Request, takes_images
from structsvm.cli.terminal import Terminal
from structsvm.data.labels import count_marks
from structsvm.errors import DataError, SettingsError, parameter
from structsvm.io.changes import refuse_one_label, refuse_one_word, refuse_without_changes
from structsvm.io.cleaning import cleaned, columns_of, in_windows, window_for
from structsvm.io.files import RecordingFiles, formats_in_words, read_files, require_readers
from structsvm.io.folders import find_recordings
from structsvm.io.image_folder import images_of, read_in_time, refuse_without_parts
from structsvm.io.intervals import layers_of, with_labels
from structsvm.io.recording import FileOptions, Recording, listed
from structsvm.learner.learner import Learner
from structsvm.partitions.plugins import problem_name
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.lazy import require
from structsvm.support.values import counted, some_of

FEWEST_READ = 8  # files that are read whatever time that takes


def _check_libraries(problem: PartitionProblem) -> None:
    """Refuse images before they are read if what reads or divides them is missing."""
    require("PIL.Image", "images", "reading images")
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
    _refuse_unused(request, problem)
    if takes_images(problem):
        images, read = _read_images(request, terminal, problem, learner, need_labels, end, only)
        return {"": InputData(request, terminal, images, problem, read=read)}
    of_files = need_labels and request.labels is None
    options = _options(request, problem, learner, of_files, blanks or request.labels is not None)
    if later:
        reader = RecordingFiles(request.paths, **vars(options))
        terminal.note(f"{counted(len(reader), 'file')}, read one at a time, whenever needed")
        bare = [Recording(name, np.empty((0, 0)), None, (), path) for path, name in reader.files]
        return {"": InputData(request, terminal, bare, problem, (), reader)}
    is_learned_from = learner is None and problem.traits.contiguous
    early = is_learned_from and (need_labels or blanks)
    about: Any = {k: v for k, v in _remembered(request, learner).items() if k in OF_LABELS}
    recordings, read = _read_now(request, terminal, options, end, only, about if early else None)
    layers = {"": recordings}
    if request.labels is not None:
        about |= {"blanks": blanks, "some": request.some}
        layers = _layers(recordings, request.labels, about, layered)
    by_layer = {}
    for name, labelled in layers.items():
        if not (need_labels or blanks) and not count_marks([one.y for one in labelled]):
            # labels that nobody asks for are no reason to refuse anything
            options = replace(options, labels_are=None)
        if len(layers) > 1 and not request.some:
            labelled = [one for one in labelled if one.y is not None]
        ask = (need_labels or blanks) and problem.traits.contiguous
        whole = cleaned(labelled, options, ask=ask, steps=getattr(learner, "steps_", {}))
        if is_learned_from:
            is_whole = len(layers) == 1 and request.regions is None
            refuse_without_changes(whole if is_whole else [], apart=request.labels is not None)
            whole = whole if request.counts_samples else _chosen_windows(whole, terminal)
        label = options.label_column or "label"
        by_layer[name] = InputData(request, terminal, whole, problem, label=label, read=read)
    return by_layer


def _refuse_unused(request: Request, problem: PartitionProblem) -> None:
    """Refuse options of tables for images, and of labels without a file of labels."""
    for option in request.files:
        if option not in OF_IMAGES and takes_images(problem):
            unused = f" is not for {problem_name(problem)}: leave it out"
            raise SettingsError(parameter(option) + unused)
        if option in OF_LABELS and request.labels is None:
            alone = parameter(option) + " is for a separate table of labels: give "
            raise SettingsError(alone + parameter("labels") + " as well")


def _remembered(request: Request, learner: Learner | None) -> dict[str, Any]:
    """Options of reading: those that were typed, or else those of the files learned from."""
    return {**getattr(learner, "columns_", {}), **request.files}


def _options(
    request: Request,
    problem: PartitionProblem,
    learner: Learner | None,
    need_labels: bool,
    blanks: bool,
) -> FileOptions:
    lost = getattr(learner, "lost_", ())
    features = [name for name in getattr(learner, "feature_names_in_", ()) if name not in lost]
    learned = getattr(learner, "columns_", {})
    told = _remembered(request, learner)
    typed = {name: value for name, value in told.items() if name in FILE_OPTIONS}
    optional = {learned[x] for x in COLUMNS if learned.get(x) and x not in request.files}
    options = FileOptions(
        **(typed | {"need_labels": need_labels, "blanks": blanks}),
        in_order=problem.traits.contiguous,
        optional=frozenset(optional),
    )
    measured = columns_of(features) if options.window not in (None, 1) else features
    return replace(options, wanted=measured)


def _read_now(
    request: Request,
    terminal: Terminal,
    options: FileOptions,
    end: float,
    only: Collection[str],
    about: Mapping[str, Any] | None,
) -> tuple[list[Recording], list[str]]:
    """The recordings for which there is time, and their files if these are not all."""
    files, skipped = find_recordings(request.paths, labels=request.labels)
    if skipped:
        terminal.note(f"skipped: {some_of([path.name for path in skipped], 5)}")
    files = {path: name for path, name in files.items() if not only or str(path) in only}
    require_readers(files)
    if about is not None and request.regions is None:
        if request.labels is None:
            refuse_one_word(files, options)
        elif end < math.inf:  # else the samples without labels are counted first
            refuse_one_label(request.labels, about, set(files.values()))
    with terminal.working(f"reading {counted(len(files), 'file')}", end):
        recordings, there = read_files(files, options, end, FEWEST_READ)
    read = _those_read(terminal, list(map(str, there)), len(files))
    for note in formats_in_words(recordings):
        terminal.note(note)
    return recordings, read


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
    missing = _remembered(request, learner).get("missing_labels", ())
    asked = images_of(request.paths, request.labels)
    asked = [one for one in asked if not only or str(one[0]) in only]
    if need_labels:
        refuse_without_parts(asked, missing, may_be_one=learner is not None)
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
    """Read the files of a command, with the features of its model, and what is asked of labels."""
    problem = learner.problem_
    learned = getattr(learner, "columns_", {})
    missing = request.files.get("missing")
    masks = getattr(problem, "missing", None) == "mask"
    imputes = "medians" in learned
    other = ", or give " + parameter("missing", "interpolate")
    if (missing == "mask" and not masks) or (missing == "impute" and not imputes):
        raise SettingsError(
            parameter("missing", missing)
            + f": {model} was learned without it: learn with fit --missing {missing}"
            + (other if missing == "mask" else "")
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
