"""Settings, files and labels of a command, as they were typed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.request import (
    COLUMNS,
    OF_IMAGES,
    OF_LABELS,
    ONCE,
    OPTIONS,
    Request,
    assigned,
    refuse_if,
    takes_images,
)
from structsvm.cli.terminal import Terminal
from structsvm.data.labels import unlabelled
from structsvm.data.marks import count_marks
from structsvm.data.sample import Sample
from structsvm.data.times import TimeAxis, usual_steps
from structsvm.data.words import IMAGES, Words
from structsvm.errors import DataError, SettingsError, warn
from structsvm.io.changes import refuse_without_changes
from structsvm.io.cleaning import cleaned, columns_of, in_windows, window_for
from structsvm.io.files import RecordingFiles, formats_in_words, read_files
from structsvm.io.folders import find_recordings, shared
from structsvm.io.image_folder import images_of, read_in_time
from structsvm.io.intervals import layers_of, with_labels
from structsvm.io.label_files import read_regions
from structsvm.io.recording import FileOptions, Recording, listed
from structsvm.learner.files import save
from structsvm.learner.learner import Learner
from structsvm.learner.preparing import as_measured
from structsvm.messages import parameter
from structsvm.partial_labels import PartialLabels
from structsvm.partitions.plugins import problem_name
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.checks import counted, some_of
from structsvm.support.contract import settings_in
from structsvm.support.lazy import require

FEWEST_READ = 8
"""Files that are read whatever time that takes."""

LIKE_MISSING = ("null", "none", "na", "n/a", "nan", "<na>", "nat")
"""Names of classes, in lower case, that elsewhere mean a missing label."""


@dataclass(frozen=True, eq=False)
class InputData:
    """The recordings, tables or images of a command; ``X`` of an image are its pixels."""

    request: Request
    terminal: Terminal
    """Where the command prints."""
    items: Sequence[Recording]
    problem: PartitionProblem
    labels: Sequence[Any] | None = None
    """By default those of the items, None where there are none; empty if they are read later."""
    files: RecordingFiles | None = None
    """Reader of the recordings, if the items have only their names."""
    label: str = "label"
    """The column of labels, after which what is predicted is called."""
    read: Sequence[str] = ()
    """The files that were read, if there was no time for all."""

    def __len__(self) -> int:
        return len(self.items)

    @property
    def ys(self) -> Sequence[Any]:
        return [item.y for item in self.items] if self.labels is None else self.labels

    @property
    def words(self) -> Words:
        return IMAGES if takes_images(self.problem) else self.problem.traits.words

    @property
    def names(self) -> list[str]:
        return [item.name for item in self.items]

    @property
    def Xs(self) -> Any:
        """Arrays (T, P), or pixels; or what reads them."""
        return [item.X for item in self.items] if self.files is None else self.files

    @property
    def window(self) -> int:
        """How many samples were averaged to one."""
        return max(item.window for item in self.items)

    def scored(self, samples: Sequence[Sample]) -> list[Sample]:
        """Let partitions of windows be scored by the samples that were averaged."""
        if self.window == 1:
            return list(samples)
        fine = [replace(one.fine or one, X=(one.fine or one).X[:, :0]) for one in self.items]
        known = zip(samples, self.items, fine, strict=True)  # what workers receive is small
        return [replace(x, side=replace(one, X=x.X[:, :0], fine=of)) for x, one, of in known]

    @property
    def times(self) -> list[TimeAxis | None]:
        return [item.time for item in self.items]

    @property
    def features(self) -> tuple[str, ...] | None:
        """The names of the columns; None for images, whose features the problem makes."""
        return self.items[0].features or None

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let errors and warnings about a sample name its file."""
        places = [item.where for item in self.items]
        with self.terminal.spelling.naming(self.problem.traits.words.whole, places):
            yield

    def groups(self) -> list[str] | None:
        """What --groups finds in each name; by default the folder, if it has several."""
        pattern = self.request.groups
        if pattern is None:
            return self._folders()
        try:
            found = [re.search(pattern, name) for name in self.names]
        except re.error as error:
            wrong = f"--groups {pattern!r} is no regular expression: {error}"
            raise SettingsError(wrong) from error
        for name, match in zip(self.names, found, strict=True):
            refuse_if(match is None, f"--groups {pattern!r} finds nothing in the name {name!r}")
        return [match[1] if match.re.groups else match[0] for match in found if match is not None]

    def _folders(self) -> list[str] | None:
        """The outermost folder of each that not all share, or its name; None if all differ."""
        files = [Path(os.path.abspath(item.source or item.name)) for item in self.items]
        common = shared(file.parent for file in files)
        depth = len(common)
        found = [
            file.parts[depth] if len(file.parts) > depth + 1 else name
            for file, name in zip(files, self.names, strict=True)
        ]
        n = len({*found})
        if not 1 < n < len({*files}):
            return None
        self.terminal.note(
            f"groups: the {n} folders of {Path(*common).name}/; --groups finds others in the "
            "paths, and --groups '.+' takes each file to be independent"
        )
        return found

    @property
    def independent(self) -> str:
        """Say that samples are taken to be independent, and how to name groups."""
        return (
            f"{self.words.whole}s are taken to be independent: if several are of one person or "
            "machine, say so with a folder for each, or with --groups, a pattern that finds whose "
            "they are in their paths"
        )

    def labelled_in_part(self) -> InputData:
        """The same with labels of which some may be missing, and a note of how many are."""
        inputs = replace(self, labels=self.partial_labels())
        terminal = self.terminal
        labels = [y for y in inputs.ys if y is not None and np.ndim(y) == 1]
        if n := inputs.n_unlabelled:
            said: str = f"unlabelled: {n} of {self.words.items(sum(map(_size, self.items)))}"
            if self.request.labels is not None and self.problem.traits.contiguous:
                said += "; if they are of a state as well, name it, " + parameter("outside", "rest")
            terminal.note(said)
            known = [~unlabelled(y) for y in labels]
            several = any(there.sum() > 1 for there in known)
            beside = any((there[1:] & there[:-1]).any() for there in known)
            if self.problem.traits.contiguous and several and not beside:
                terminal.warn(
                    "every label stands alone among unlabelled samples: if a label holds until the "
                    "next one, fill it in, as ffill of pandas does; here the samples between are "
                    "unlabelled"
                )
        names = {str(label) for label in chain.from_iterable(set(y.tolist()) for y in labels)}
        if doubtful := sorted(name for name in names if name.lower() in LIKE_MISSING):
            warn(
                f"{listed(doubtful)} is taken as a class; if it means that the label is unknown, "
                "give " + parameter("missing_labels", doubtful[0]),
            )
        return inputs

    def partial_labels(self) -> list[Any]:
        """Return the labels of each item, together with its regions and chunks."""
        regions = self.request.regions
        times = dict(zip(self.names, self.times, strict=True))
        known = {} if regions is None else read_regions(regions, times)
        strangers = [name for name in known if name not in self.names]
        if strangers:
            raise DataError(
                f"{regions}: no {self.words.whole} is called {listed(strangers)}; they are "
                f"{listed(self.names)}"
            )
        labels = list(self.ys)
        for i, (item, y) in enumerate(zip(self.items, labels, strict=True)):
            here = known.get(item.name, [])
            chunks = item.chunks
            numbers = y is not None and y.ndim == 1 and y.dtype.kind in "if"
            is_blank = numbers and unlabelled(y).any()
            if here or chunks is not None or is_blank or (y is None and regions is not None):
                try:
                    labels[i] = PartialLabels(y, regions=here, chunks=chunks)
                except DataError as error:
                    error.begin_with(item.where)
                    raise
        return labels

    @property
    def n_unlabelled(self) -> int:
        n = 0
        for item, y in zip(self.items, self.ys, strict=True):
            labels = y.labels if isinstance(y, PartialLabels) else y
            n += _size(item) if labels is None else int(unlabelled(np.ravel(labels)).sum())
        return n

    def with_counts(self) -> PartitionProblem:
        """Return the problem, with an unknown number of clusters if images differ in it."""
        problem = self.problem
        name = "cluster_count"
        typed = assigned(self.request.settings, "problem")
        settled = name in typed or name not in settings_in(problem)
        if settled or not takes_images(problem):
            return problem
        counts = {np.unique(y[~unlabelled(y)]).size for y in self.ys}
        if len(counts) == 1:
            return problem
        self.terminal.note(
            f"the images have {min(counts)} to {max(counts)} parts: the number of parts of a new "
            "one is learned, too (--set problem.cluster_count=known leaves it to --n-clusters)"
        )
        return replace(problem, cluster_count="unknown")  # type: ignore[type-var]

    def measured(self, learner: Learner) -> list[Sample]:
        """Check the samples; images become graphs."""
        with self.named(), self.terminal.working("checking"):
            return self.scored(as_measured(learner, self.Xs))

    def save(self, learner: Learner, path: Path) -> None:
        """Save a model, with what it needs to read other files as these were read."""
        typed = {name: value for name, value in self.request.files.items() if name not in ONCE}
        if self.window > 1:
            typed["window"] = self.window
        origin = self.items[0].origin
        if origin and origin.options.medians:
            typed["medians"] = dict(origin.options.medians)
        learner.columns_ = typed
        learner.steps_ = usual_steps(self.times)
        path.parent.mkdir(parents=True, exist_ok=True)
        save(learner, path)


def _size(item: Recording) -> int:
    """Samples, rows or pixels; none of what is read later."""
    return len(item.X) if item.features else int(np.prod(item.X.shape[:2]))


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
    given = {name: value for name, value in {**learned, **typed}.items() if name in OPTIONS}
    given |= {"need_labels": need_labels and not apart, "blanks": blanks or apart}
    optional = {learned[name] for name in COLUMNS if learned.get(name) and name not in typed}
    options = FileOptions(**given, in_order=in_order, optional=frozenset(optional))
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
    found = {}
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
        found[name] = InputData(request, terminal, whole, problem, label=label, read=read)
    return found


def folders_of(output: Path, layers: Sequence[str]) -> dict[str, Path]:
    """Where what is found of each layer of labels is written: each in its folder, if several."""
    if len(layers) == 1:
        return {layers[0]: output}
    found: dict[str, Path] = {}
    for name in layers:
        folder = output / (re.sub(r"[^\w-]", "_", name) or "_")
        while folder in found.values():
            folder = folder.with_name(f"{folder.name}_")
        found[name] = folder
    return found


def _layers(
    recordings: list[Recording], labels: Path, about: Mapping[str, Any], layered: bool
) -> dict[str, list[Recording]]:
    """The recordings with the labels of a file; those that it has nothing about have none."""
    if not layered:
        return {"": with_labels(recordings, labels, **about)}
    found = {}
    for name, some in layers_of(recordings, labels, **about).items():
        known = {one.name: one for one in some}
        found[name] = [known.get(one.name, one) for one in recordings]
    return found


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
    known = {**getattr(learner, "columns_", {}), **request.files}
    missing = known.get("missing_labels", ())
    asked = images_of(request.paths, request.labels)
    asked = [one for one in asked if not only or str(one[0]) in only]
    with terminal.working("reading images", end):
        images = read_in_time(asked, need_labels, missing, end=end, fewest=FEWEST_READ)
    found = [Recording(x.name, x.image, x.labels, (), x.source) for x in images]  # type: ignore[arg-type]
    return found, _those_read(terminal, [x.source for x in images], len(asked))


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
    found = in_windows(recordings, window)
    axis = recordings[0].time
    lasting = ""
    if axis is not None:
        unit = "s" if axis.holds_dates else f"of {axis.name!r}"
        lasting = f" ({window * axis.usual_step:.3g} {unit})"
    terminal.note(
        f"averaged to windows of {window} samples{lasting}: the shortest usual segment has "
        f"{usual:,}; --set files.window=1 learns from each sample"
    )
    return found


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
    found = [item.with_features(kept, str(model)) for item in inputs.items]
    for i, recording in enumerate(found if lost else ()):  # zeros where nobody will look
        X = np.zeros((len(recording.X), len(names)))
        X[:, np.isin(names, kept)] = recording.X
        found[i] = replace(recording, X=X, features=tuple(names))
    return replace(inputs, items=found, labels=None)
