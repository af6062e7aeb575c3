"""The forms in which samples are handed in, so that answers come back in the same form."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import (
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    Self,
    TypeGuard,
    TypeVar,
    cast,
    runtime_checkable,
)

import numpy as np
import scipy.sparse as sp

from structsvm.data.sources import Named, source_of
from structsvm.data.words import GRAPHS, IMAGES
from structsvm.errors import DataError
from structsvm.graphs.inputs import is_one
from structsvm.support.frames import each_in_order

LABEL = "label"
"""The column of labels in files, which in frames is a feature like any other."""

KNOWN = "what is known"
"""What messages call the rule ``known=``."""

Arguments = ParamSpec("Arguments")
Owner = TypeVar("Owner")


@runtime_checkable
class Recorded(Protocol):
    """A recording with its labels and the names of its features, such as those of files."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def X(self) -> Any:
        """(T, P)."""

    @property
    def y(self) -> Any:
        """(T,), or None."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns."""

    def with_features(self, features: Sequence[str], owner: str) -> Self:
        """The same with its columns in this order."""


@dataclass(frozen=True, eq=False)
class Form:
    """One sample, a list of samples, or a mapping of samples by name."""

    samples: Any
    """What a problem reads: a list, or what it makes one of by itself."""
    keys: tuple[Hashable, ...] | None = None
    """The names, if the samples came in a mapping."""
    single: bool = False
    """Whether a single array, data frame or recording came."""
    features: list[str] | None = None
    """The names of the columns of recordings."""
    recorded: tuple[Recorded, ...] = ()
    """The recordings, if these came."""

    @classmethod
    def of(cls, Xs: Any, features: Sequence[Any] | None = None) -> Form:
        """Take samples apart."""
        Xs = list(Xs) if isinstance(Xs, Iterator) else Xs  # which could be gone through only once
        by_name = isinstance(Xs, Mapping) and not sp.issparse(Xs)  # some sparse arrays are both
        keys = tuple(Xs) if by_name else None
        single = not by_name and (_is_matrix(Xs) or _is_frame(Xs) or _is_recorded(Xs))
        if (by_name and not isinstance(Xs, dict)) or hasattr(Xs, "array_keys"):  # of zarr
            group = source_of(Xs)
            return cls(group, group.keys if isinstance(group, Named) else keys)
        samples = list(Xs.values()) if by_name else [Xs] if single else Xs
        if not isinstance(samples, list | tuple):
            return cls(samples)
        recorded = [x for x in samples if _is_recorded(x)]
        if not recorded:
            return cls(samples, keys, single)
        if len(recorded) < len(samples):
            raise DataError("recordings and other things are mixed: give either of them")
        names = [str(name) for name in (recorded[0].features if features is None else features)]
        owner = recorded[0].name if features is None else "the model"
        arrays = [one.with_features(names, owner).X for one in recorded]
        return cls(arrays, keys, single, names, tuple(recorded))

    @property
    def names(self) -> list[str] | None:
        if self.keys is not None:
            return [str(key) for key in self.keys]
        return [one.name for one in self.recorded] or None

    @property
    def times(self) -> list[Any]:
        """When the items of each sample were measured, (T_i,), as far as that is known; or None."""
        if self.recorded:
            return [getattr(getattr(one, "time", None), "values", None) for one in self.recorded]
        if not isinstance(self.samples, list | tuple):
            return [None] * len(self.keys or ())
        indices = [getattr(x, "index", None) for x in self.samples]
        kinds = [getattr(getattr(index, "dtype", None), "kind", "") for index in indices]
        return [index if kind == "M" else None for index, kind in zip(indices, kinds, strict=True)]

    @property
    def axes(self) -> list[Any]:
        if self.recorded:
            return [getattr(one, "time", None) for one in self.recorded]
        return self.times

    def indices(self, n: int) -> list[Any]:
        """The index of each of n samples that is a pandas frame, (T_i,); None for any other."""
        held = self.samples if isinstance(self.samples, list | tuple) else []
        if len(held) != n:  # one graph is a tuple of its parts
            return [None] * n
        return [getattr(x, "index", None) if _is_frame(x) else None for x in held]

    def labels(self, ys: Any) -> Any:
        """Labels in the order of the samples: those that were given, or those of the recordings."""
        if ys is None and any(one.y is not None for one in self.recorded):
            missing = [one.name for one in self.recorded if one.y is None]
            if missing:
                raise DataError(f"recording {missing[0]} has no labels")
            return [one.y for one in self.recorded]
        if ys is None:
            self._refuse_label_columns()
        return self.labels_in_order(ys)

    def labels_in_order(self, ys: Any, called: str = "labels", *, some: bool = False) -> Any:
        """Labels of samples in their order, those of a frame in the order of its rows."""
        return each_in_order(self.in_order(ys, called, some=some), self.samples, self._frame)

    def in_order(self, ys: Any, called: str, *, some: bool = False) -> Any:
        if isinstance(ys, Iterator):
            return list(ys)
        if self.keys is None or not isinstance(ys, Mapping):
            return ys
        strangers = [k for k in ys if k not in self.keys]
        if not some:
            strangers += [key for key in self.keys if key not in ys]
        if strangers:
            raise DataError(
                f"samples and {called} are given by different names: {strangers[0]!r} is only in "
                "one of them"
            )
        return [ys.get(key) for key in self.keys]

    def _refuse_label_columns(self) -> None:
        """Raise DataError for frames whose labels are among their columns, where none are given."""
        samples = self.samples if isinstance(self.samples, list | tuple) else []
        for i, frame in enumerate(samples):
            if _is_frame(frame) and LABEL in list(frame.columns):
                raise DataError(
                    f"there are no labels, and {self._frame(i)} has a column {LABEL!r}: give y "
                    f"apart, as y = [frame.pop({LABEL!r}) for frame in frames] does; "
                    "structsvm.io.from_long takes a frame with its labels"
                )

    def _frame(self, i: int) -> str:
        return f"frame {i}" if self.keys is None else f"frame {self.keys[i]!r}"

    @classmethod
    def given_to(cls, learner: Any, Xs: Any) -> Form:
        """Take samples apart that are given to a fitted learner; a graph or image may be one."""
        form = cls.of(Xs, getattr(learner, "feature_names_in_", None))
        problem = getattr(learner, "problem_", None)  # one that is not fitted says so by itself
        if problem is None or problem.traits.words not in (GRAPHS, IMAGES):
            return form
        return replace(form, single=is_one(Xs))

    def answer(self, found: list[Any]) -> Any:
        if self.keys is not None:
            return dict(zip(self.keys, found, strict=True))
        return found[0] if self.single else found


def _is_recorded(x: Any) -> TypeGuard[Recorded]:
    return not isinstance(x, np.ndarray) and isinstance(x, Recorded)


def _is_frame(Xs: Any) -> bool:
    return not hasattr(type(Xs), "collect") and hasattr(Xs, "columns")


def _is_matrix(Xs: Any) -> bool:
    if not hasattr(Xs, "__array__"):
        return False
    return int(Xs.ndim if hasattr(Xs, "ndim") else np.ndim(Xs)) == 2


def same_form(
    method: Callable[Concatenate[Owner, Any, Arguments], list[Any]],
) -> Callable[Concatenate[Owner, Any, Arguments], Any]:
    """A method that answers for a list of samples, answering in the form in which they come."""

    @wraps(method)
    def answered(self: Owner, Xs: Any, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Any:
        form = Form.given_to(self, Xs)
        if "known" in kwargs:
            kwargs["known"] = form.labels_in_order(kwargs["known"], KNOWN, some=True)
        return form.answer(method(self, form.samples, *args, **kwargs))

    return cast(Callable[Concatenate[Owner, Any, Arguments], Any], answered)
