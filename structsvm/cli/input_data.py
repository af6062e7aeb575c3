"""What a command has read: samples, labels, groups and times, with the request that they answer."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.request import ONCE, Request, assigned
from structsvm.cli.terminal import Terminal
from structsvm.data import IMAGES, Instance, TimeAxis, Words, unlabelled, usual_steps
from structsvm.errors import DataError, SettingsError, parameter, warn
from structsvm.io import Recording, RecordingFiles
from structsvm.io.folders import shared
from structsvm.io.label_files import read_regions
from structsvm.learner import Learner
from structsvm.learner.files import save
from structsvm.learner.preparing import as_measured
from structsvm.partial_labels import PartialLabels
from structsvm.partitions import PartitionProblem
from structsvm.support import listed, settings_in

LIKE_MISSING = ("null", "none", "na", "n/a", "nan", "<na>", "nat")
"""Names of classes, in lower case, that elsewhere mean a missing label."""


@dataclass(frozen=True, eq=False)
class InputData:
    """The recordings, tables or images of a command; ``X`` of an image are its pixels."""

    request: Request
    terminal: Terminal  # where the command prints
    items: Sequence[Recording]
    problem: PartitionProblem
    labels: Sequence[Any] | None = None
    """By default those of the items, None where there are none; empty if they are read later."""
    files: RecordingFiles | None = None
    """Reader of the recordings, if the items have only their names."""
    label: str = "label"  # the column of labels, after which what is predicted is called
    read: Sequence[str] = ()  # the files that were read, if there was no time for all

    def __len__(self) -> int:
        return len(self.items)

    @property
    def ys(self) -> Sequence[Any]:
        return [item.y for item in self.items] if self.labels is None else self.labels

    @property
    def words(self) -> Words:
        return IMAGES if self.problem.traits.words.of_graphs else self.problem.traits.words

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

    def scored(self, instances: Sequence[Instance]) -> list[Instance]:
        """The instances, with the recordings behind their windows, which are what is scored."""
        if self.window == 1:
            return list(instances)
        fine = [replace(one.fine or one, X=(one.fine or one).X[:, :0]) for one in self.items]
        rows = zip(instances, self.items, fine, strict=True)  # what workers receive is small
        return [replace(x, side=replace(one, X=x.X[:, :0], fine=of)) for x, one, of in rows]

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
            matches = [re.search(pattern, name) for name in self.names]
        except re.error as error:
            wrong = f"--groups {pattern!r} is no regular expression: {error}"
            raise SettingsError(wrong) from error
        for name, match in zip(self.names, matches, strict=True):
            if match is None:
                raise SettingsError(f"--groups {pattern!r} finds nothing in the name {name!r}")
        return [match[1] if match.re.groups else match[0] for match in matches if match is not None]

    def _folders(self) -> list[str] | None:
        """The outermost folder of each that not all share, or its name; None if all differ."""
        files = [Path(os.path.abspath(item.source or item.name)) for item in self.items]
        common = shared(file.parent for file in files)
        depth = len(common)
        folders = [
            file.parts[depth] if len(file.parts) > depth + 1 else name
            for file, name in zip(files, self.names, strict=True)
        ]
        n = len({*folders})
        if not 1 < n < len({*files}):
            return None
        self.terminal.note(
            f"groups: the {n} folders of {Path(*common).name}/; --groups finds others in the "
            "paths, and --groups '.+' takes each file to be independent"
        )
        return folders

    @property
    def independent(self) -> str:
        """Say that samples are taken to be independent, and how to name groups."""
        return (
            f"{self.words.whole}s are taken to be independent: if several are of one person or "
            "machine, say so with a folder for each, or with --groups, a pattern that finds whose "
            "they are in their paths"
        )

    def labelled_in_part(self) -> "InputData":
        """The same with labels of which some may be missing, and a note of how many are."""
        inputs = replace(self, labels=self.partial_labels())
        terminal = self.terminal
        labels = [y for y in inputs.ys if y is not None and np.ndim(y) == 1]
        if n := inputs.n_unlabelled:
            said: str = f"unlabelled: {n} of {self.words.items(sum(map(_size, self.items)))}"
            if self.request.labels is not None and self.problem.traits.contiguous:
                said += "; if they are of a state as well, name it, " + parameter("outside", "rest")
            terminal.note(said)
            is_labelled = [~unlabelled(y) for y in labels]
            several = any(there.sum() > 1 for there in is_labelled)
            beside = any((there[1:] & there[:-1]).any() for there in is_labelled)
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
                "give " + parameter("missing_labels", doubtful[0])
            )
        alike = Counter(name.casefold() for name in names)
        if doubtful := sorted(name for name in names if alike[name.casefold()] > 1):
            warn(f"{listed(doubtful)} differ by case alone, and are different states")
        return inputs

    def partial_labels(self) -> list[Any]:
        """Return the labels of each item, together with its regions and chunks."""
        regions = self.request.regions
        times = dict(zip(self.names, self.times, strict=True))
        region_labels = {} if regions is None else read_regions(regions, times)
        strangers = [name for name in region_labels if name not in self.names]
        if strangers:
            raise DataError(
                f"{regions}: no {self.words.whole} is called {listed(strangers)}; they are "
                f"{listed(self.names)}"
            )
        labels = list(self.ys)
        for i, (item, y) in enumerate(zip(self.items, labels, strict=True)):
            here = region_labels.get(item.name, [])
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
        if settled or not problem.traits.words.of_graphs:
            return problem
        counts = {np.unique(y[~unlabelled(y)]).size for y in self.ys}
        if len(counts) == 1:
            return problem
        self.terminal.note(
            f"the images have {min(counts)} to {max(counts)} parts: the number of parts of a new "
            "one is learned, too (--set problem.cluster_count=known leaves it to --n-clusters)"
        )
        return replace(problem, cluster_count="unknown")  # type: ignore[type-var]

    def measured(self, learner: Learner) -> list[Instance]:
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
