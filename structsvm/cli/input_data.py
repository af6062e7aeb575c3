"""The input of a command as it was read: samples, labels, groups and times."""

import os
import re
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
from structsvm.errors import DataError, SettingsError, about, parameter, warn
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
"""Labels, in lower case, that other programs write for a missing one."""


@dataclass(frozen=True, eq=False)
class InputData:
    """The recordings, tables or images of a command; the ``X`` of an image are its pixels."""

    request: Request
    terminal: Terminal  # where the command prints
    items: Sequence[Recording]
    problem: PartitionProblem
    labels: Sequence[Any] | None = None
    """Those of the items by default, with None for no labels; empty if files are read later."""
    files: RecordingFiles | None = None
    """What reads the recordings later, if the items have only their names."""
    label: str = "label"  # the column of labels, after which columns of predictions are named
    read: Sequence[str] = ()  # the files that were read, if there was no time for all

    def __len__(self) -> int:
        return len(self.items)

    @property
    def ys(self) -> Sequence[Any]:
        """The labels of each item, or None."""
        return [item.y for item in self.items] if self.labels is None else self.labels

    @property
    def words(self) -> Words:
        """The nouns of messages, which say images where the problem says graphs."""
        return IMAGES if self.problem.traits.words.of_graphs else self.problem.traits.words

    @property
    def names(self) -> list[str]:
        return [item.name for item in self.items]

    @property
    def Xs(self) -> Any:
        """Arrays (T, P), or pixels; or the reader of the files."""
        return [item.X for item in self.items] if self.files is None else self.files

    @property
    def window(self) -> int:
        """The number of samples of a window; 1 if samples were not averaged."""
        return max(item.window for item in self.items)

    def scored(self, instances: Sequence[Instance]) -> list[Instance]:
        """Instances with the recordings of their windows, whose samples are scored, as sides."""
        if self.window == 1:
            return list(instances)
        scored = []
        for instance, item in zip(instances, self.items, strict=True):
            fine = item.fine or item
            fine = replace(fine, X=fine.X[:, :0])  # no values, so that workers receive little
            side = replace(item, X=instance.X[:, :0], fine=fine)
            scored.append(replace(instance, side=side))
        return scored

    @property
    def times(self) -> list[TimeAxis | None]:
        return [item.time for item in self.items]

    @property
    def features(self) -> tuple[str, ...] | None:
        """The names of the columns; None for images, whose features the problem computes."""
        return self.items[0].features or None

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let errors and warnings about an instance name its file."""
        places = [item.where for item in self.items]
        with self.terminal.spelling.naming(self.problem.traits.words.whole, places):
            yield

    def groups(self) -> list[str] | None:
        """The text that --groups finds in each name; by default the folder, if one has several."""
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
        """The outermost folder of each file that not all share, or its name; None if all differ."""
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
        """Say that instances are taken to be independent, and how groups are named."""
        return (
            f"{self.words.whole}s are taken to be independent: if several are of one person or "
            "machine, say so with a folder for each, or with --groups, a pattern that finds whose "
            "they are in their paths"
        )

    def labelled_in_part(self) -> "InputData":
        """The same with partial labels, and a note of how many samples have none."""
        inputs = replace(self, labels=self.partial_labels())
        terminal = self.terminal
        labels = [y for y in inputs.ys if y is not None and np.ndim(y) == 1]
        if n := inputs.n_unlabelled:
            note: str = f"unlabelled: {n} of {self.words.items(sum(map(_size, self.items)))}"
            if self.request.labels is not None and self.problem.traits.contiguous:
                note += "; if they are of a state as well, name it, " + parameter("outside", "rest")
            terminal.note(note)
            labelled = [~unlabelled(y) for y in labels]
            has_several = any(mask.sum() > 1 for mask in labelled)
            has_neighbours = any((mask[1:] & mask[:-1]).any() for mask in labelled)
            if self.problem.traits.contiguous and has_several and not has_neighbours:
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
        return inputs

    def partial_labels(self) -> list[Any]:
        """The labels of each item, as PartialLabels if it has regions, chunks or blank labels."""
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
            own = region_labels.get(item.name, [])
            chunks = item.chunks
            are_numbers = y is not None and y.ndim == 1 and y.dtype.kind in "if"
            has_blanks = are_numbers and unlabelled(y).any()
            if own or chunks is not None or has_blanks or (y is None and regions is not None):
                with about(item.where):
                    labels[i] = PartialLabels(y, regions=own, chunks=chunks)
        return labels

    @property
    def n_unlabelled(self) -> int:
        """The number of samples, rows or pixels without a label."""
        n = 0
        for item, y in zip(self.items, self.ys, strict=True):
            labels = y.labels if isinstance(y, PartialLabels) else y
            n += _size(item) if labels is None else int(unlabelled(np.ravel(labels)).sum())
        return n

    def with_counts(self) -> PartitionProblem:
        """The problem; unless that was typed, with unknown numbers of parts if images differ."""
        problem = self.problem
        name = "cluster_count"
        typed = assigned(self.request.settings, "problem")
        is_settled = name in typed or name not in settings_in(problem)
        if is_settled or not problem.traits.words.of_graphs:
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
        """Checked instances; images become graphs."""
        with self.named(), self.terminal.working("checking"):
            return self.scored(as_measured(learner, self.Xs))

    def save(self, learner: Learner, path: Path) -> None:
        """Save a model with the options that read other files as these were read."""
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
    """The number of samples, rows or pixels; 0 of a file that is read later."""
    return len(item.X) if item.features else int(np.prod(item.X.shape[:2]))
