"""Oracles as workers hold them, and the check of what they return."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from structsvm.errors import OracleError, PluginError, StructSVMError
from structsvm.solvers.planes import Planes
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.support.checks import read_only, shown

TOLERANCE = 1e-9
"""Rounding allowed in a sign that was declared, relative to the size of the numbers."""

DIGITS = 64.0
"""Of the rounding unit of a type with fewer digits than a double, what answers in it are off by."""

Question = tuple[Floats, tuple[Any, ...], float]
"""An argument, flattened, (d,), parameters, and the time after which no oracle is called."""


@dataclass(frozen=True, eq=False)
class Part(ABC):
    """Oracles of neighbouring terms of one atom, which a worker holds."""

    atom: int
    """The number of the atom in its problem."""

    @classmethod
    @abstractmethod
    def answers(cls, parts: Sequence[Any], question: Question) -> list[Planes | None]:
        """The planes of each of some parts of one atom; None after the deadline."""


def ask(share: Sequence[Part], of_atoms: Sequence[Question]) -> list[Planes | None]:
    """Planes of each part."""
    found: list[Planes | None] = []
    for a, some in groupby(share, lambda part: part.atom):
        parts = list(some)
        found += parts[0].answers(parts, of_atoms[a])
    return found


def rounding_of(array: Any) -> float:
    """What computed numbers are off by, relative to their terms: 0 of doubles and of integers."""
    is_short = array.dtype.kind == "f" and array.dtype.itemsize < 8
    return DIGITS * float(np.finfo(array.dtype).eps) if is_short else 0.0


@dataclass(frozen=True, eq=False)
class OraclePart(Part):
    """One oracle, of one term or of all terms of its atom, and what was declared of it."""

    terms: range
    """Numbers of the terms in the atom."""
    name: str
    """What messages call it."""
    oracle: Callable[..., Any]
    has_one_value: bool
    """Whether it returns a number and one slope, and not a vector and several."""
    shapes: Sequence[tuple[int, ...]]
    """Shapes of the arguments."""
    sign: str | None
    monotonicity: str | None

    @classmethod
    def answers(cls, parts: Sequence[OraclePart], question: Question) -> list[Planes | None]:
        point, parameters, deadline = question
        return [
            None if time.time() > deadline else part.answer(point, parameters) for part in parts
        ]

    def _refuse(self, answer: str, kind: type[StructSVMError] = PluginError) -> NoReturn:
        raise kind(f"{self.name}: the oracle returned {answer}")

    def answer(self, point: Floats, parameters: tuple[Any, ...]) -> Planes:
        """Call the oracle at an argument, and check what it says."""
        found = self._called(point, parameters)
        if not isinstance(found, tuple | list) or len(found) not in (2, 3):
            self._refuse(f"{shown(found)}: return (value, slope), or (value, slope, upper)")
        K = len(self.terms)
        values, of_values = self._numbers("value", found[0])
        slopes, of_slopes = self._slopes(found[1])
        uppers, of_uppers = values, 0.0
        if len(found) == 3:
            uppers, of_uppers = self._numbers("upper bound", found[2])
        rounding = max(of_values, of_slopes, of_uppers)
        tolerance = max(TOLERANCE, rounding)
        room = tolerance * np.maximum(1.0, np.abs(values))
        kept: dict[str, Any] = {"an upper bound below its value": uppers - values >= -room}
        if self.sign is not None:
            signed = values if self.sign == "nonneg" else -values
            kept[f"another sign than declared by sign={self.sign!r}"] = signed >= -room.max()
        if self.monotonicity is not None:
            rises = slopes if self.monotonicity == "increasing" else -slopes
            least = -tolerance * max(1.0, float(np.abs(slopes).max(initial=0.0)))
            said = f"another slope than declared by monotonicity={self.monotonicity!r}"
            kept[said] = (rises >= least).all(axis=1)
        for what, of_terms in kept.items():
            if not of_terms.all():
                k = int(of_terms.argmin())
                self._refuse(f"{what}, with the value {values[k]} of term {k}", OracleError)
        sizes = np.abs(values) + np.abs(slopes) @ np.abs(point)
        sure = values - rounding * sizes
        return Planes(
            w=point,
            groups=np.array(self.terms),
            slopes=slopes,
            intercepts=sure - slopes @ point,
            values=sure,
            slacks=np.maximum(uppers + rounding * sizes - sure, 0.0),
            quality=Quality.EXACT,
            size=float(sizes.sum()),
            calls=K,
            labellings=[()] * K,
        )

    def _called(self, point: Floats, parameters: tuple[Any, ...]) -> Any:
        """Call the oracle with read-only arrays, and with numbers for scalars."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        arguments = [
            read_only(piece.reshape(shape, order="F")) if shape else float(piece[0])
            for piece, shape in zip(np.split(point, ends), self.shapes, strict=True)
        ]
        try:
            return self.oracle(*arguments, *parameters)
        except StructSVMError:
            raise
        except Exception as error:
            said = f"{self.name}: the oracle raised {type(error).__name__}: {error}"
            if "read-only" in str(error):
                said = f"{self.name}: the oracle modified its input ({error}): copy before writing"
                raise PluginError(said) from error
            raise OracleError(said) from error

    def _slopes(self, found: Any) -> tuple[Floats, float]:
        """As rows of one matrix, (n, d), and what they are off by."""
        n = len(self.shapes)
        each = [found] if len(self.shapes) == 1 else found
        if not isinstance(each, tuple | list) or len(each) != n:
            self._refuse(f"{shown(found)} as its slope: return {n} slopes, one for each argument")
        rows = []
        rounding = 0.0
        for one, shape in zip(each, self.shapes, strict=True):
            slopes, of_slopes = self._numbers("slope", one, shape)
            rows.append(np.stack([slope.ravel(order="F") for slope in slopes]))
            rounding = max(rounding, of_slopes)
        return np.hstack(rows), rounding

    def _numbers(self, what: str, found: Any, shape: tuple[int, ...] = ()) -> tuple[Floats, float]:
        """Finite real numbers of each term, (n, *shape), and what they are off by."""
        due = shape if self.has_one_value else (len(self.terms), *shape)
        try:
            array = np.asarray(found.toarray() if sp.issparse(found) else found)
        except ValueError:  # rows of several lengths
            array = np.array(None)
        if array.dtype.kind not in "biuf":
            self._refuse(f"{shown(found)} as its {what}: return real numbers")
        if array.shape != due and not (array.size == 1 and due in ((), (1,))):
            self._refuse(f"a {what} of shape {array.shape}, where {due} is due")
        wrong = array[~np.isfinite(array)]
        if wrong.size:
            self._refuse(f"{wrong[0]} in its {what}: return numbers", OracleError)
        numbers = np.array(array, dtype=np.float64).reshape(len(self.terms), *shape)
        return numbers, rounding_of(array)
