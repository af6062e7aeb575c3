"""The parts of atoms that workers call, and the checks of answers of oracles."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from structsvm.errors import OracleError, PluginError, StructSVMError
from structsvm.masters import NO_SLACK, Planes
from structsvm.problem import Quality
from structsvm.support import Floats, read_only, shown

TOLERANCE = 1e-9
"""Rounding error that is allowed in a declared sign or monotonicity, relative to the numbers."""

DIGITS = 64.0
"""Assumed error of answers in a type shorter than a double, in rounding units of that type."""

Question = tuple[Floats, tuple[Any, ...], float]
"""An argument, flattened, (d,), values of parameters, and the time after which no oracle is
called."""


@dataclass(frozen=True, eq=False)
class Infeasible:
    """The answer of an oracle at a point ``x`` where its function has no finite value.

    ``value + <slope, x' - x> <= 0`` holds for every ``x'`` at which it has one, and ``value > 0``,
    so that the plane cuts ``x`` off. For an infeasible linear program the vector of Farkas' lemma
    gives such a plane.

    Parameters
    ----------
    value : float, or array of shape (m,)
        The value at ``x`` of one plane, or of several.
    slope : array in the shape of ``x``, or m of these in the shape ``(m, *x.shape)``
        A tuple of slopes for several arguments.

    Examples
    --------
    A logarithm is a number only where its argument is positive:

    >>> import cvxpy as cp
    >>> from structsvm.modeling import Infeasible, OracleMax
    >>> def minus_log(x):
    ...     if x <= 1e-6:
    ...         return Infeasible(1e-6 - x, -1.0)
    ...     return -np.log(x), -1 / x
    >>> import numpy as np
    >>> x = cp.Variable()
    >>> problem = cp.Problem(cp.Minimize(x + OracleMax(x, minus_log)))
    >>> value = problem.solve(method="cutting-plane")
    >>> bool(abs(value - 1.0) < 1e-4)
    True
    """

    value: Any
    slope: Any


@dataclass(frozen=True, eq=False)
class Part(ABC):
    """Oracles of successive terms of one atom, which one worker calls."""

    atom: int
    """The number of the atom in its problem."""

    @classmethod
    @abstractmethod
    def answers(cls, parts: Sequence[Any], question: Question) -> list[Planes | None]:
        """The planes of each of several parts of one atom; None after the deadline."""


def ask(share: Sequence[Part], of_atoms: Sequence[Question]) -> list[Planes | None]:
    """The planes of each part of a worker's share; None after the deadline."""
    answers: list[Planes | None] = []
    for a, some in groupby(share, lambda part: part.atom):
        parts = list(some)
        answers += parts[0].answers(parts, of_atoms[a])
    return answers


def rounding_of(array: Any) -> float:
    """The assumed relative error of computed numbers; 0 for doubles and integers."""
    is_short = array.dtype.kind == "f" and array.dtype.itemsize < 8
    return DIGITS * float(np.finfo(array.dtype).eps) if is_short else 0.0


@dataclass(frozen=True, eq=False)
class OraclePart(Part):
    """One oracle, of one term or of all terms of its atom, with its declared properties."""

    terms: range
    """Numbers of the terms in the atom."""
    name: str
    """The name of the oracle in messages."""
    oracle: Callable[..., Any]
    has_one_value: bool
    """Whether it returns one value and its slope, instead of one for each term."""
    shapes: Sequence[tuple[int, ...]]
    """Shapes of the arguments."""
    sign: str | None
    monotonicity: str | None

    @classmethod
    def answers(cls, parts: "Sequence[OraclePart]", question: Question) -> list[Planes | None]:
        point, parameters, deadline = question
        return [
            None if time.time() > deadline else part.answer(point, parameters) for part in parts
        ]

    def _refuse(self, answer: str, kind: type[StructSVMError] = PluginError) -> NoReturn:
        """Raise an error that describes what the oracle returned."""
        raise kind(f"{self.name}: the oracle returned {answer}")

    def answer(self, point: Floats, parameters: tuple[Any, ...]) -> Planes:
        """Call the oracle at an argument, and check its answer."""
        returned = self._called(point, parameters)
        is_outside = isinstance(returned, Infeasible)
        plane = (returned.value, returned.slope) if is_outside else returned
        if not isinstance(plane, tuple | list) or len(plane) not in (2, 3):
            self._refuse(
                f"{shown(plane)}: return (value, slope), (value, slope, upper), or "
                "Infeasible(value, slope)"
            )
        of_terms = not (self.has_one_value or is_outside)
        lead = (len(self.terms),) if of_terms else self._lead(plane[0])
        values, of_values = self._numbers("value", plane[0], lead)
        slopes, of_slopes = self._slopes(plane[1], lead)
        best = values if of_terms else values.max(keepdims=True)
        uppers, of_uppers = best, 0.0
        if len(plane) == 3:
            uppers, of_uppers = self._numbers("upper bound", plane[2], lead if of_terms else ())
        rounding = max(of_values, of_slopes, of_uppers)
        sizes = np.abs(values) + np.abs(slopes) @ np.abs(point)
        sure = values - rounding * sizes
        if is_outside and not sure.max() > 0:
            self._refuse(f"Infeasible with the value {sure.max():.9g}: it is positive", OracleError)
        self._check_declared(best, uppers, slopes, max(TOLERANCE, rounding), is_outside)
        groups = np.array(self.terms) if of_terms else np.full(values.size, self.terms[0])
        slacks = np.maximum(uppers + rounding * sizes - sure, 0.0)
        return Planes(
            w=point,
            groups=np.full_like(groups, NO_SLACK) if is_outside else groups,
            slopes=slopes,
            intercepts=sure - slopes @ point,
            values=sure,
            slacks=np.zeros_like(slacks) if is_outside else slacks,
            quality=Quality.EXACT,
            size=float(sizes.sum()),
            calls=len(self.terms),
            labellings=[()] * values.size,
        )

    def _lead(self, value: Any) -> tuple[int, ...]:
        """The leading shape of values and slopes: (m,) for m planes, () for one."""
        lead = value.shape if hasattr(value, "shape") else np.shape(value)
        if lead == (0,):
            self._refuse("no plane: return one at least")
        return lead if len(lead) == 1 else ()

    def _check_declared(
        self, values: Floats, uppers: Floats, slopes: Floats, tolerance: float, is_outside: bool
    ) -> None:
        """Refuse upper bounds below values, and signs and slopes that were declared otherwise."""
        room = tolerance * np.maximum(1.0, np.abs(values))
        checks: dict[str, Any] = {"an upper bound below its value": uppers - values >= -room}
        if self.sign is not None and not is_outside:
            signed = values if self.sign == "nonneg" else -values
            checks[f"another sign than declared by sign={self.sign!r}"] = signed >= -room.max()
        if self.monotonicity is not None:
            rises = slopes if self.monotonicity == "increasing" else -slopes
            least = -tolerance * max(1.0, float(np.abs(slopes).max(initial=0.0)))
            said = f"another slope than declared by monotonicity={self.monotonicity!r}"
            rise = rises.min(axis=1, initial=np.inf)
            checks[said] = (rise if rise.size == values.size else rise.min(keepdims=True)) >= least
        for fault, is_fine in checks.items():
            if not is_fine.all():
                k = int(is_fine.argmin())
                self._refuse(f"{fault}, with the value {values[k]} of term {k}", OracleError)

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

    def _slopes(self, returned: Any, lead: tuple[int, ...]) -> tuple[Floats, float]:
        """The returned slopes as rows of a matrix (n, d), and their relative rounding error."""
        n = len(self.shapes)
        each = [returned] if len(self.shapes) == 1 else returned
        if not isinstance(each, tuple | list) or len(each) != n:
            self._refuse(
                f"{shown(returned)} as its slope: return {n} slopes, one for each argument"
            )
        rows = []
        rounding = 0.0
        for one, shape in zip(each, self.shapes, strict=True):
            slopes, of_slopes = self._numbers("slope", one, lead, shape)
            rows.append(np.stack([slope.ravel(order="F") for slope in slopes]))
            rounding = max(rounding, of_slopes)
        return np.hstack(rows), rounding

    def _numbers(
        self, what: str, returned: Any, lead: tuple[int, ...], shape: tuple[int, ...] = ()
    ) -> tuple[Floats, float]:
        """The returned numbers of each plane, (n, *shape), and their relative rounding error."""
        due = (*lead, *shape)
        try:
            array = np.asarray(returned.toarray() if sp.issparse(returned) else returned)
        except ValueError:  # rows of several lengths
            array = np.array(None)
        if array.dtype.kind not in "biuf":
            self._refuse(f"{shown(returned)} as its {what}: return real numbers")
        is_one = lead == (1,) and array.shape == shape
        if array.shape != due and not is_one and not (array.size == 1 and due in ((), (1,))):
            self._refuse(f"a {what} of shape {array.shape}, where {due} is due")
        wrong = array[~np.isfinite(array)]
        if wrong.size:
            self._refuse(f"{wrong[0]} in its {what}: return numbers", OracleError)
        numbers = np.array(array, dtype=np.float64).reshape(*(lead or (1,)), *shape)
        return numbers, rounding_of(array)
