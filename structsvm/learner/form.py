"""The forms in which instances are handed in, so that answers come back in the same form."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from structsvm.data import (
    GRAPHS,
    IMAGES,
    Instance,
    Rows,
    TimeAxis,
    as_frame,
    is_frame,
    is_recording,
    labels_within,
    panel,
    rows_in_time,
    source_of,
    warn_about_marks,
    warn_about_order,
    warn_about_times,
    without_counting,
)
from structsvm.errors import DataError
from structsvm.graphs.readers import is_one
from structsvm.partial_labels import PartialLabels
from structsvm.partitions import PartitionProblem
from structsvm.support import each_in_order, in_order_of_rows, some_of
from structsvm.training_labels import is_single


@dataclass(frozen=True, eq=False)
class Form:
    """One instance, a list of instances, or a mapping of instances by name."""

    instances: Any
    """What the ``read`` of a problem takes: a list, or anything else that it can list itself."""
    keys: tuple[Hashable, ...] | None = None
    """The names, if the instances came in a mapping."""
    single: bool = False
    """Whether the input was a single array, data frame or recording."""
    features: list[str] | None = None
    """The names of the columns of recordings."""
    recorded: tuple[Any, ...] = ()
    """The :class:`~structsvm.io.Recording` s, if the input was such."""
    rows: tuple[Rows, ...] = ()
    """The rows of each instance in the order of time; empty if the order means nothing."""
    panel: Any = None
    """The data frame that held all recordings, if one did."""

    @classmethod
    def of(
        cls,
        Xs: Any,
        features: Sequence[Any] | None = None,
        problem: PartitionProblem | None = None,
    ) -> "Form":
        """Take the input apart; the rows of recordings are brought into the order of time."""
        if is_prepared(Xs):
            return cls(Xs)
        Xs = as_frame(list(Xs) if isinstance(Xs, Iterator) else Xs)  # an iterator is read once
        words = None if problem is None else problem.traits.words
        in_time = problem is not None and problem.traits.contiguous
        parts = panel(Xs) if in_time else None
        if parts is not None:
            return cls(Xs, panel=Xs)._in_time(list(parts.values()), features)
        # A list may be one of paths of images, and is no source of arrays.
        source = None if isinstance(Xs, list | tuple) else source_of(Xs)
        if source is not None and source is not Xs and isinstance(source.keys, tuple):
            return cls(source, source.keys)
        form = cls._listed(Xs, in_time)
        if words in (GRAPHS, IMAGES):  # a tuple may be one graph
            form = replace(form, single=is_one(Xs))
        if not isinstance(form.instances, list | tuple):
            return form
        if isinstance(form.instances, list):
            form = replace(form, instances=[as_frame(x) for x in form.instances])
        if in_time:
            return form._in_time(form._rows(), features)
        if words not in (None, GRAPHS, IMAGES):
            form = replace(form, instances=without_counting(form.instances, features))
        return form._taken_apart(features)

    @classmethod
    def _listed(cls, Xs: Any, in_time: bool) -> "Form":
        """Make a list of a mapping, of a stack of arrays, or of a single instance."""
        if isinstance(Xs, Mapping) and not sp.issparse(Xs):  # some sparse arrays are mappings
            return cls(list(Xs.values()), tuple(Xs))
        ndim = np.ndim(Xs) if hasattr(Xs, "__array__") else None
        if is_frame(Xs) or is_recording(Xs) or ndim == 2:
            return cls([Xs], single=True)
        is_stack = in_time and ndim == 3 and (isinstance(Xs, np.ndarray) or hasattr(Xs, "isel"))
        return cls(list(Xs) if is_stack else Xs)

    def _rows(self) -> list[Rows]:
        called = range(len(self.instances)) if self.keys is None else map(repr, self.keys)
        pairs = zip(self.instances, called, strict=True)
        return [rows_in_time(x, f"frame {name}") for x, name in pairs]

    @classmethod
    def for_learner(cls, learner: Any, Xs: Any) -> "Form":
        """Take apart the input of a method of a learner, which checks that it is fitted."""
        names = getattr(learner, "feature_names_in_", None)
        return cls.of(Xs, names, getattr(learner, "problem_", None))

    def _in_time(self, rows: Sequence[Rows], features: Sequence[Any] | None) -> "Form":
        frames = without_counting([one.X for one in rows], features)
        form = replace(self, instances=frames, rows=tuple(rows))._taken_apart(features)
        moved = [form._called(i) for i, one in enumerate(rows) if one.order is not None]
        if moved:
            warn_about_order(moved)
        return form

    def _taken_apart(self, features: Sequence[Any] | None) -> "Form":
        """Recordings as arrays, with the columns of the first one or those of the model."""
        recorded = [x for x in self.instances if is_recording(x)]
        if not recorded:
            return self
        if len(recorded) < len(self.instances):
            raise DataError("recordings and other things are mixed: give either of them")
        names = [str(name) for name in (recorded[0].features if features is None else features)]
        owner = recorded[0].name if features is None else "the model"
        arrays = [one.in_order_of(names, owner).X for one in recorded]
        return replace(self, instances=arrays, features=names, recorded=tuple(recorded))

    @property
    def names(self) -> list[str] | None:
        if self.keys is not None:
            return [str(key) for key in self.keys]
        return [one.name for one in self.recorded] or None

    @property
    def axes(self) -> list[TimeAxis | None]:
        """When the rows of each recording were measured, as far as that is known."""
        return [one.axis for one in self.rows]

    @property
    def times(self) -> list[Any]:
        """The times of the rows of each, (T_i,), as the input has them; None if it has none."""
        return [
            index if axis is not None and index is not None else getattr(axis, "values", None)
            for axis, index in zip(self.axes, self.indices(len(self.rows)), strict=True)
        ]

    def warn_about_times(self, learned: Mapping[str, Sequence[float]] | None = None) -> None:
        """Warn of gaps, and of other rates than those that were learned from."""
        if any(axis is not None for axis in self.axes):
            warn_about_times([self._called(i) for i in range(len(self.rows))], self.axes, learned)

    def indices(self, n: int) -> list[Any]:
        """The index of each of n instances that is a pandas frame, (T_i,); None for any other."""
        frames = self.instances if isinstance(self.instances, list | tuple) else []
        if len(frames) != n:  # one graph is a tuple of its parts
            return [None] * n
        return [getattr(x, "index", None) if is_frame(x) else None for x in frames]

    def labels(self, ys: Any, *, known: bool = False) -> Any:
        """Labels in the order of instances and rows; ``known`` ones may be of some instances."""
        called = "what is known" if known else "labels"
        if ys is None and not known and any(one.y is not None for one in self.recorded):
            ys = [one.y for one in self.recorded]
            missing = [one.name for one in self.recorded if one.y is None]
            if missing:
                raise DataError(f"recordings have no labels: {some_of(missing)}")
            return ys
        ys = self.in_order(ys, called, some=known)
        if not self.rows:
            return each_in_order(ys, self.instances, self._called)
        single = is_single(ys)
        if single and self.panel is not None and np.shape(ys)[:1] == (len(self.panel),):
            ys = in_order_of_rows(ys, self.panel, called)
            ys = [labels_within(ys, one.places) for one in self.rows]
        elif single and len(self.rows) == 1:
            ys = [ys]
        if not isinstance(ys, list | tuple) or len(ys) != len(self.rows):
            return ys
        ordered = []
        for i, (y, rows) in enumerate(zip(ys, self.rows, strict=True)):
            if isinstance(y, PartialLabels) and y.labels is not None:
                ordered.append(replace(y, labels=rows.labels(y.labels, self._called(i))))
            else:
                ordered.append(rows.labels(y, self._called(i)))
        if not known:
            warn_about_marks(ordered)
        return ordered

    def in_order(self, ys: Any, called: str, *, some: bool = False) -> Any:
        """Values in the order of the instances, if they came by names, of all or of ``some``."""
        if isinstance(ys, Iterator):
            return list(ys)
        if self.keys is None or not isinstance(ys, Mapping):
            return ys
        strangers = [k for k in ys if k not in self.keys]
        if not some:
            strangers += [key for key in self.keys if key not in ys]
        if strangers:
            raise DataError(
                f"instances and {called} are given by different names: {strangers[0]!r} is only in "
                "one of them"
            )
        return [ys.get(key) for key in self.keys]

    def _called(self, i: int) -> str:
        """The name of an instance in messages."""
        if self.recorded:
            return str(self.recorded[i].name)
        what = "frame" if self.rows and is_frame(self.rows[i].X) else "recording"
        return f"{what} {i}" if self.keys is None else f"{what} {self.keys[i]!r}"

    def answer(self, answers: list[Any]) -> Any:
        """The answers, one for each instance, in the form of the input."""
        if self.keys is not None:
            return dict(zip(self.keys, answers, strict=True))
        return answers[0] if self.single else answers


def is_prepared(Xs: Any) -> TypeGuard[list[Instance]]:
    """Whether this is a list of prepared instances, which models see as they are."""
    return isinstance(Xs, list) and bool(Xs) and all(isinstance(x, Instance) for x in Xs)
