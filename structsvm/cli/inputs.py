"""Settings, files and labels of a command, as they were typed."""

from __future__ import annotations

import ast
import os
import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

import structsvm.features
from structsvm.cli.terminal import Terminal
from structsvm.cli.usage import CONTEXT, CONTEXT_OF_IMAGES, Parser
from structsvm.data.labels import unlabelled
from structsvm.data.marks import count_marks
from structsvm.data.sample import Sample
from structsvm.data.times import TimeAxis, usual_steps
from structsvm.data.words import GRAPHS, IMAGES, Words
from structsvm.errors import DataError, SettingsError, warn
from structsvm.features import RecordingTransformer, Union
from structsvm.io.changes import refuse_without_changes
from structsvm.io.cleaning import cleaned, columns_of, in_windows, window_for
from structsvm.io.files import RecordingFiles, find_recordings, formats_in_words, read_files, shared
from structsvm.io.image_folder import read_images
from structsvm.io.intervals import layers_of, with_labels
from structsvm.io.label_file import CHOSEN
from structsvm.io.label_files import read_regions
from structsvm.io.recording import SEQUENCES, FileOptions, Recording, listed
from structsvm.learner.files import save
from structsvm.learner.learner import Learner
from structsvm.learner.metric_learner import MetricLearner
from structsvm.learner.parameters import named_problem
from structsvm.learner.steps import as_measured
from structsvm.messages import parameter, said_by
from structsvm.model_selection.named import learner_named
from structsvm.partial_labels import PartialLabels
from structsvm.partitions.plugins import problem_class, problem_name, problem_names
from structsvm.partitions.problem import PartitionProblem
from structsvm.solvers.auto import solver_from
from structsvm.solvers.base import Solver, Stopping
from structsvm.support.checks import counted, meant, some_of
from structsvm.support.contract import settings_in
from structsvm.support.lazy import require

TOL_OF_DESCENT = 1e-3  # a gradient to reach, where there is no certified gap
COLUMNS = ("label_column", "time_column", "recording_column")
OF_COMMANDS = ("need_labels", "blanks", "optional", "in_order", "medians", "wanted")
"""Parameters of reading that commands give themselves."""
OF_LABELS = ["outside", *CHOSEN]  # parameters of reading labels from files of their own
OF_IMAGES = ("labels", "missing_labels")  # parameters of reading that images have
OPTIONS = [one.name for one in fields(FileOptions)]
FILES = [*(name for name in OPTIONS if name not in OF_COMMANDS), *OF_LABELS, "lazy"]
"""Parameters of reading that can be typed."""
ONCE = ("labels", "lazy", "ignore", "features", "chunk_column", "subject", "tier", "annotator")
"""Parameters that hold for the files of one command, and are not remembered."""

LIKE_MISSING = ("null", "none", "na", "n/a", "nan", "<na>", "nat")
"""Names of classes, in lower case, that elsewhere mean a missing label."""


def refuse_if(wrong: object, message: str) -> None:
    """Refuse what was typed, with what is wrong and the way out."""
    if wrong:
        raise SettingsError(message)


Settings = Sequence[tuple[str, str, str]]
"""The group, the name and the value of each ``--set``; the group of the learner is ""."""


def assigned(
    settings: Settings, group: str = "", known: Iterable[str] = (), whose: str = ""
) -> dict[str, Any]:
    """The settings of a group; without one, of the learner; all of them known, if these are told.

    Those of files are texts.
    """
    found = {name: text for owner, name, text in settings if owner == group}
    for name in found:
        if whose and name not in known:
            typed = f"{group}.{name}".removeprefix(".")
            hint = meant(name, known)
            hint += "" if group else "; settings of a problem are problem.NAME"
            raise SettingsError(
                f"--set {typed}: {whose} has no such parameter, it has {', '.join(known)}{hint}"
            )
    return found if group == "files" else {name: value_of(text) for name, text in found.items()}


def value_of(text: str) -> Any:
    """Return the value of a Python literal, or the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


@dataclass(frozen=True)
class Request:
    """What was typed of a problem, its settings, and the files to read."""

    paths: Sequence[str]
    settings: Settings
    files: Mapping[str, Any]
    """Parameters of reading, as options or settings."""
    problem: str = ""
    context: Sequence[str] = ()
    labels: Path | None = None
    regions: Path | None = None
    groups: str | None = None
    """A pattern that finds whose a file is in its path."""

    @classmethod
    def of(cls, args: Namespace) -> Request:
        names = ("problem", "context", "labels", "regions", "groups")
        typed = {name: getattr(args, name, None) for name in names}
        given = {name: value for name, value in typed.items() if value is not None}
        return cls(args.paths, args.set, typed_files(args), **given)

    @property
    def counts_samples(self) -> bool:
        """Whether something that was typed counts samples, which are left as they are then."""
        of_problem = assigned(self.settings, "problem")
        return bool("window" in self.files or of_problem or self.context or self.regions)


def learner_of(
    request: Request,
    method: str = "metric",
    metric: str | None = None,
    lam: float | None = None,
    **parameters: Any,
) -> Learner:
    """The learner that was typed, for the problem and the features that were typed."""
    problem = typed_problem(request)
    masked = getattr(problem, "missing", None) == "mask"
    for name, typed in (("metric", metric), ("lam", lam)):
        other = typed is not None and method != "metric"
        refuse_if(other, f"--{name} is of --method metric, and {method} has none: leave it out")
    features = typed_features(request, problem)
    learner = learner_named(
        method,
        problem,
        lam=lam,
        features=features,
        random_state=getattr(problem, "random_state", 0),  # folds are the same every time
        **parameters,
    )
    if method == "metric":
        learner.set_params(metric=metric or ("diagonal" if masked else "full"))
    known = learner.get_params(deep=False)
    lacks = features is not None and "features" not in known
    refuse_if(lacks, f"--context is not for {method}, which makes features of its own")
    learner.set_params(**assigned(request.settings, "", known, f"the method {method}"))
    return learner


def typed_problem(request: Request) -> PartitionProblem:
    """The problem that was named, with its settings; one of an image is ``image.radius``."""
    name = request.problem
    given = assigned(request.settings, "problem")
    cls: Any = problem_class(name)
    if request.files.get("missing") == "mask":
        refuse_if(
            "missing" not in cls.__dataclass_fields__,
            f"--missing mask is not for {name}: rows with missing values are left out there, "
            "unless --missing impute puts the median of their column there",
        )
        given["missing"] = "mask"
    known = [one.name for one in fields(cls) if one.init]
    own = {setting: given.pop(setting) for setting in known if setting in given}
    others = {f"problem__{setting.replace('.', '__')}": v for setting, v in given.items()}
    try:
        learner = MetricLearner(cls(**own)).set_params(**others)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"problem {name}: " + said_by(error)) from error
    problem: PartitionProblem = named_problem(learner.problem)
    return problem


def typed_features(request: Request, problem: PartitionProblem) -> RecordingTransformer | None:
    """The features of ``--context``, side by side, with their settings."""
    classes = CONTEXT if problem.traits.contiguous else {}
    classes = CONTEXT_OF_IMAGES if takes_images(problem) else classes
    which = f"one or more of {', '.join(classes)}"
    which = which if classes else "for recordings and images, leave it out"
    for name in request.context:
        strange = name not in classes
        refuse_if(strange, f"--context of {request.problem} is {which}, got {name!r}")
    stages = [(name, getattr(structsvm.features, classes[name])()) for name in request.context]
    typed = assigned(request.settings, "features")
    if not stages:
        refuse_if(typed, f"--set features.{next(iter(typed), '')} is of --context: give one")
        return None
    stage: RecordingTransformer = stages[0][1] if len(stages) == 1 else Union(*stages)
    try:
        stage.set_params(**{name.replace(".", "__"): v for name, v in typed.items()})
    except ValueError as error:
        raise SettingsError("--set features: " + said_by(error)) from error
    return stage


def solver_of(request: Request, problem: PartitionProblem) -> Solver:
    """The solver that was typed, with its stopping rule."""
    convex = problem.traits.convex
    limits = {field.name for field in fields(Stopping)}
    known = sorted([*limits, *(("master", "slack") if convex else ())])
    settings = assigned(request.settings, "solver", known, f"a solver of {request.problem}")
    stopping: dict[str, Any] = {} if convex else {"tol": TOL_OF_DESCENT}
    stopping |= {name: settings.pop(name) for name in limits & settings.keys()}
    solver = assigned(request.settings).get("solver", "auto")
    return solver_from(solver, Stopping(**stopping), **settings, convex=convex)


def typed_files(args: Namespace) -> dict[str, Any]:
    """The parameters of reading that were typed, as options or settings."""
    typed = {name: getattr(args, name, None) for name in (*FILES, "labels")}
    for name, text in assigned(args.set, "files", FILES, "reading").items():
        typed[name] = value_of(text) if name in ("window", "max_bytes", "lazy") else text
        if name in SEQUENCES:
            parts = text.strip("[]()").split(",")
            typed[name] = list(map(value_of, parts)) if name == "skip_lines" else parts
    return {name: value for name, value in typed.items() if value is not None}


def options_for(parser: Parser, command: str, own: str | None) -> dict[str, str]:
    """How parameters are typed: as options of this command, for its own problem, or another."""
    lead = "" if command in ("fit", "compare") else "fit "
    options = {name: f"{lead}--set {name}=" for name in MetricLearner().get_params(deep=False)}
    options |= {field.name: f"{lead}--set solver.{field.name}=" for field in fields(Stopping)}
    for problem in [own] if own else problem_names():
        with suppress(Exception):  # a plugin that cannot be loaded has said so
            names = [field.name for field in fields(problem_class(problem))]  # type: ignore[arg-type]
            options |= {name: f"{'' if own else 'fit '}--set problem.{name}=" for name in names}
    options["unseen_states"] = f"{'' if command == 'evaluate' else 'evaluate '}--set unseen_states="
    for other in () if command == "compare" else ("evaluate", "fit"):
        options |= {k: f"{other} {option} " for k, option in parser.options_of(other).items()}
    options |= {name: f"--set files.{name}=" for name in FILES}
    options |= {k: f"{option} " for k, option in parser.options_of(command).items()}
    aliases = {"resume": "checkpoint", "n_jobs": "jobs"}
    return options | {name: options[alias] for name, alias in aliases.items() if alias in options}


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
        names = {str(label) for y in labels for label in set(y.tolist())}
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


def takes_images(problem: PartitionProblem) -> bool:
    return problem.traits.words in (GRAPHS, IMAGES)


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
) -> dict[str, InputData]:
    """Read the files of a command with the options of a learner, or only name what is read later.

    Layers of labels have the same arrays, and the recordings in which they were looked for.
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
        _check_libraries(problem)
        with terminal.working("reading images"):
            known = {**getattr(learner, "columns_", {}), **typed}
            missing = known.get("missing_labels", ())
            images = read_images(
                request.paths, labels, need_labels=need_labels, missing_labels=missing
            )
        items = [Recording(x.name, x.image, x.labels, (), x.source) for x in images]  # type: ignore[arg-type]
        return {"": InputData(request, terminal, items, problem)}
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
    with terminal.working(f"reading {counted(len(files), 'file')}"):
        recordings = read_files(files, options)
    for note in formats_in_words(recordings):
        terminal.note(note)
    layers = {"": recordings}
    if labels is not None:
        about: Any = {k: v for k, v in {**learned, **typed}.items() if k in OF_LABELS}
        about["blanks"] = blanks
        if layered:
            layers = layers_of(recordings, labels, **about)
        else:
            layers = {"": with_labels(recordings, labels, **about)}
    labels_matter = need_labels or blanks
    steps = getattr(learner, "steps_", {})
    found = {}
    for name, some in layers.items():
        if not labels_matter and not count_marks([one.y for one in some]):
            # labels that nobody asks for are no reason to refuse anything
            options = replace(options, labels_are=None)
        sought = [one for one in some if one.y is not None] if len(layers) > 1 else some
        whole = cleaned(sought, options, ask=labels_matter and in_order, steps=steps)
        if learner is None and in_order:
            is_whole = len(layers) == 1 and request.regions is None
            refuse_without_changes(whole if is_whole else [], apart=apart)
            whole = whole if request.counts_samples else _chosen_windows(whole, terminal)
        label = options.label_column or "label"
        found[name] = InputData(request, terminal, whole, problem, label=label)
    return found


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
