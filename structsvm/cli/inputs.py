"""Reading the files and labels of a command, with the settings that were typed."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.input_data import InputData
from structsvm.cli.request import COLUMNS, FILE_OPTIONS, OF_IMAGES, OF_LABELS, Request
from structsvm.cli.terminal import Terminal
from structsvm.data import count_marks
from structsvm.errors import DataError, SettingsError, parameter
from structsvm.io import FileOptions, Recording, RecordingFiles, layers_of, with_labels
from structsvm.io.changes import (
    refuse_long_steps,
    refuse_one_label,
    refuse_one_word,
    refuse_without_changes,
)
from structsvm.io.cleaning import cleaned, columns_of_windows, in_windows, window_for
from structsvm.io.files import formats_in_words, read_files, require_readers
from structsvm.io.folders import find_recordings
from structsvm.io.image_folder import images_of, read_in_time, refuse_without_parts
from structsvm.learner import Learner
from structsvm.partitions import PartitionProblem
from structsvm.partitions.plugins import problem_name
from structsvm.support import counted, listed, require, some_of

FEWEST_READ = 8  # files that are read however long that takes


@dataclass(frozen=True)
class Reading:
    """How the files of a command are read: by what was typed, and as the files of a model were."""

    request: Request
    terminal: Terminal
    problem: PartitionProblem
    learner: Learner | None = None  # that of the model that files are read for, if there is one
    need_labels: bool = True
    blanks: bool = False
    later: bool = False  # whether files are only named, and read whenever they are needed
    end: float = math.inf  # when reading has to end, whether all files are read or not
    only: Collection[str] = ()  # the files that are read, if not all

    def whole(self) -> InputData:
        """What was read, with one layer of labels."""
        return self._read(layered=False)[""]

    def layers(self) -> dict[str, InputData]:
        """What was read with each layer of labels, by its name, where it was looked for."""
        return self._read(layered=True)

    def _read(self, layered: bool) -> dict[str, InputData]:
        """Read files and labels: one layer, called "", or all layers."""
        request = self.request
        terminal = self.terminal
        problem = self.problem
        self._refuse_unused()
        if problem.traits.words.of_graphs:
            images, read = self._images()
            return {"": InputData(request, terminal, images, problem, read=read)}
        options = self._options()
        if self.later:
            reader = RecordingFiles(request.paths, **vars(options))
            terminal.note(f"{counted(len(reader), 'file')}, read one at a time, whenever needed")
            none = np.empty((0, 0))
            bare = [Recording(name, none, None, (), path) for path, name in reader.files]
            return {"": InputData(request, terminal, bare, problem, (), reader)}
        contiguous = problem.traits.contiguous
        takes_labels = self.need_labels or self.blanks
        is_learned_from = self.learner is None and contiguous
        recordings, read = self._recordings(options, is_learned_from and takes_labels)
        by_layer = {}
        layers = {"": recordings} if request.labels is None else self._labelled(recordings, layered)
        for name, labelled in layers.items():
            if not takes_labels and not count_marks([one.y for one in labelled]):
                # labels that are not used are not refused, whatever they are
                options = replace(options, labels_are=None)
            if len(layers) > 1 and not request.some:
                labelled = [one for one in labelled if one.y is not None]
            steps = getattr(self.learner, "steps_", {})
            whole = cleaned(labelled, options, ask=takes_labels and contiguous, steps=steps)
            if is_learned_from:
                is_whole = len(layers) == 1 and request.regions is None
                refuse_without_changes(whole if is_whole else [], apart=request.labels is not None)
                of_layer = f"{name}: " * (len(layers) > 1)
                if not request.counts_samples:
                    whole = _chosen_windows(whole, terminal, of_layer)
            label = options.label_column or "label"
            by_layer[name] = InputData(request, terminal, whole, problem, label=label, read=read)
        return by_layer

    def _refuse_unused(self) -> None:
        """Refuse options of tables with images, and options of labels without a file of labels."""
        for option in self.request.files:
            if option not in OF_IMAGES and self.problem.traits.words.of_graphs:
                unused = f" is not for {problem_name(self.problem)}: leave it out"
                raise SettingsError(parameter(option) + unused)
            if option in OF_LABELS and self.request.labels is None:
                alone = parameter(option) + " is for a separate table of labels: give "
                raise SettingsError(alone + parameter("labels") + " as well")

    @property
    def _typed(self) -> dict[str, Any]:
        """Parameters of reading that were typed, now or when the model was learned."""
        return {**getattr(self.learner, "columns_", {}), **self.request.files}

    @property
    def _typed_of_labels(self) -> dict[str, Any]:
        """Parameters of reading files of labels that were typed, now or then."""
        return {name: value for name, value in self._typed.items() if name in OF_LABELS}

    def _options(self) -> FileOptions:
        """The options of reading files; columns typed only for the model may be missing."""
        typed_now = self.request.files
        labels = self.request.labels
        lost = getattr(self.learner, "lost_", ())
        columns = getattr(self.learner, "feature_names_in_", ())
        features = [name for name in columns if name not in lost]
        learned = getattr(self.learner, "columns_", {})
        typed = {name: value for name, value in self._typed.items() if name in FILE_OPTIONS}
        typed["need_labels"] = self.need_labels and labels is None
        typed["blanks"] = self.blanks or labels is not None
        optional = {learned[x] for x in COLUMNS if learned.get(x) and x not in typed_now}
        in_order = self.problem.traits.contiguous
        options = FileOptions(**typed, in_order=in_order, optional=frozenset(optional))
        measured = columns_of_windows(features) if options.window not in (None, 1) else features
        return replace(options, wanted=measured)

    def _recordings(
        self, options: FileOptions, need_changes: bool
    ) -> tuple[list[Recording], list[str]]:
        """The recordings for which there is time, and their files if these are not all."""
        request = self.request
        terminal = self.terminal
        files, skipped = find_recordings(request.paths, labels=request.labels)
        if skipped:
            names = list(dict.fromkeys(path.name for path in skipped))
            again = f", {len(skipped)} files in all" * (len(names) < len(skipped))
            terminal.note(f"skipped: {some_of(names, 5)}{again}")
        files = {path: name for path, name in files.items() if self._is_asked(path)}
        require_readers(files)
        if need_changes and request.regions is None:
            if request.labels is None:
                refuse_one_word(files, options)
            else:
                chosen = self._typed_of_labels
                refuse_long_steps(request.labels, chosen, files, options.step)
                if self.end < math.inf:  # otherwise the refusal counts the unlabelled samples
                    refuse_one_label(request.labels, chosen, files)
        with terminal.working(f"reading {counted(len(files), 'file')}", self.end):
            recordings, paths = read_files(files, options, self.end, FEWEST_READ)
        read = self._noted(list(map(str, paths)), len(files))
        for note in formats_in_words(recordings):
            terminal.note(note)
        return recordings, read

    def _labelled(self, recordings: list[Recording], layered: bool) -> dict[str, list[Recording]]:
        """The recordings by layers of labels from a file; those it lacks are kept if ``some``."""
        request = self.request
        about: Any = self._typed_of_labels | {"blanks": self.blanks, "some": request.some}
        labels: Any = request.labels
        if not layered:
            return {"": with_labels(recordings, labels, **about)}
        layers = layers_of(recordings, labels, **about)
        if not request.some:
            return layers
        completed = {}
        for name, labelled in layers.items():
            by_name = {one.name: one for one in labelled}
            completed[name] = [by_name.get(one.name, one) for one in recordings]
        return completed

    def _images(self) -> tuple[list[Recording], list[str]]:
        """The images for which there is time, and their files if these are not all."""
        require("PIL.Image", "images", "reading images")
        image = getattr(self.problem, "image", None)
        if getattr(image, "nodes", "pixels") != "pixels":
            require("skimage.segmentation", "images", "superpixels")
        missing = self._typed.get("missing_labels", ())
        asked = images_of(self.request.paths, self.request.labels)
        asked = [one for one in asked if self._is_asked(one[0])]
        if self.need_labels:
            refuse_without_parts(asked, missing, may_be_one=self.learner is not None)
        with self.terminal.working("reading images", self.end):
            about: Any = {"end": self.end, "fewest": FEWEST_READ}
            images = read_in_time(asked, self.need_labels, missing, **about)
        recordings = [Recording(x.name, x.image, x.labels, (), x.source) for x in images]  # type: ignore[arg-type]
        return recordings, self._noted([x.source for x in images], len(asked))

    def _is_asked(self, path: Path) -> bool:
        return not self.only or str(path) in self.only

    def _noted(self, read: list[str], n: int) -> list[str]:
        """The files that were read, with a note, if these are not all ``n``."""
        if len(read) == n:
            return []
        note = f"to answer in time, {len(read)} of {n} files are read: more --minutes read more"
        self.terminal.note(note)
        return read


def folders_of(output: Path, layers: Sequence[str]) -> dict[str, Path]:
    """The folder for the output of each layer: ``output``, or one in it if there are several."""
    if len(layers) == 1:
        return {layers[0]: output}
    folders: dict[str, Path] = {}
    for name in layers:
        folder = output / (re.sub(r"[^\w-]", "_", name) or "_")
        while folder in folders.values():
            folder = folder.with_name(f"{folder.name}_")
        folders[name] = folder
    return folders


def _chosen_windows(
    recordings: list[Recording], terminal: Terminal, of_layer: str
) -> list[Recording]:
    """Average samples to windows, if segments are longer than learning needs."""
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
        f"{of_layer}averaged to windows of {window} samples{lasting}: the shortest usual segment "
        f"has {usual:,}; --set files.window=1 learns from each sample"
    )
    return windows


def read_for(
    learner: Learner,
    model: Path,
    request: Request,
    terminal: Terminal,
    *,
    need_labels: bool,
    blanks: bool = False,
    may_lack: bool = False,
) -> InputData:
    """Read the files of a command that has a model, with the features of the model in its order."""
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
    inputs = Reading(request, terminal, problem, learner, need_labels, blanks).whole()
    names = getattr(learner, "feature_names_in_", None)
    if problem.traits.words.of_graphs or names is None:
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
    items = [item.in_order_of(kept, str(model)) for item in inputs.items]
    for i, recording in enumerate(items if lost else ()):  # lost columns are 0, and not used
        X = np.zeros((len(recording.X), len(names)))
        X[:, np.isin(names, kept)] = recording.X
        items[i] = replace(recording, X=X, features=tuple(names))
    return replace(inputs, items=items, labels=None)
