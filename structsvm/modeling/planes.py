"""Planes below a convex function, in the space of its argument, and the oracles that find them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from structsvm.errors import OracleError, PluginError, StructSVMError
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.support.plain import read_only, shown

ROOM = 2**26
"""Bytes of the planes that are kept of a function, at most."""


@dataclass(frozen=True, eq=False)
class Plane:
    """``intercept + <slope, x>``, a lower bound of a convex function.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from structsvm.modeling import OracleMax
    >>> x = cp.Variable(2)
    >>> largest = OracleMax(x, lambda at: (at.max(), np.eye(2)[at.argmax()]))
    >>> problem = cp.Problem(cp.Minimize(largest + cp.sum_squares(x)))
    >>> value = problem.solve(method="cutting-plane")
    >>> type(largest.planes[0]).__name__, [round(p.multiplier, 3) for p in largest.planes]
    ('Plane', [0.5, 0.5])
    """

    term: int
    """Which of the functions of the atom it is below; -1 for their sum."""
    intercept: float
    slope: Any
    """In the shape of the argument; a tuple of several for several arguments."""
    multiplier: float
    """How much the objective would grow for each unit by which the plane rose."""


@dataclass(frozen=True, eq=False)
class Points:
    """What goes out to the oracles in a round."""

    arguments: Sequence[Floats]
    """The argument of each atom, flattened, (d,)."""
    parameters: Sequence[tuple[Any, ...]]
    """The values of the parameters of each atom's oracle."""
    deadline: float = np.inf
    """The time (``time.time()``) after which no oracle is called."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What the oracles of a part have found at a point."""

    values: Floats
    """(n,)."""
    slopes: Floats
    """In the space of the argument, (n, d)."""
    slacks: Floats
    """The functions exceed the values by at most this, (n,)."""
    size: float
    """The sum of the magnitudes of what the values are sums of."""
    calls: int
    seconds: float
    quality: Quality = Quality.EXACT


class Part(ABC):
    """What a worker holds: oracles of neighbouring terms of one atom."""

    atom: int
    """The number of the atom in its problem; a field of every part."""
    terms: range
    """Which terms of the atom these are."""

    @abstractmethod
    def answer(self, point: Floats, parameters: tuple[Any, ...]) -> Answer:
        """Call the oracles at an argument, (d,)."""


def ask(part: Part, points: Points) -> Answer | None:
    """Call the oracles of a part; None after the deadline."""
    if time.time() > points.deadline:
        return None
    started = time.perf_counter()
    found = part.answer(points.arguments[part.atom], points.parameters[part.atom])
    return replace(found, seconds=time.perf_counter() - started)


@dataclass
class Pool:
    """The planes found below one atom, whatever problem it was in: where the next run begins."""

    parameters: tuple[bytes, ...] = ()
    """The values of the parameters of the oracle for which they hold."""
    rows: list[tuple[int, float, Floats]] = field(default_factory=list)
    """``(term, intercept, slope)``."""
    quality: Quality = Quality.EXACT
    """The weakest of the answers that they are of."""

    def valid(self, parameters: tuple[bytes, ...]) -> list[tuple[int, float, Floats]]:
        """The planes for these values of the parameters: none, if they are others."""
        return self.rows if parameters == self.parameters else []

    def keep(
        self,
        parameters: tuple[bytes, ...],
        rows: Iterable[tuple[int, float, Floats]],
        quality: Quality = Quality.EXACT,
    ) -> None:
        """Hold these and no others; the latest where there are too many."""
        kept = list(rows)
        size = sum(slope.nbytes for _, _, slope in kept)
        if kept and size > ROOM:
            kept = kept[-max(1, ROOM // kept[0][2].nbytes) :]
        self.parameters, self.rows, self.quality = parameters, kept, quality


def marks(values: Sequence[Any]) -> tuple[bytes, ...]:
    """Values of parameters, and words, to be compared."""
    return tuple(
        value.encode() if isinstance(value, str) else np.asarray(value, dtype=complex).tobytes()
        for value in values
    )


TOLERANCE = 1e-9
"""Rounding allowed in a sign that was declared, relative to the size of the numbers."""


@dataclass(frozen=True, eq=False)
class OraclePart(Part):
    """One oracle, of one term or of all terms of its atom, and what was declared of it."""

    atom: int
    terms: range
    name: str
    """What messages call it."""
    oracle: Callable[..., Any]
    n_terms: int | None
    """None for an oracle of a scalar."""
    shapes: Sequence[tuple[int, ...]]
    """Of the arguments."""
    sign: str | None
    monotonicity: str | None

    def answer(self, point: Floats, parameters: tuple[Any, ...]) -> Answer:
        """Call the oracle at an argument, flattened, (d,), and check what it says."""
        name, n_terms = self.name, self.n_terms
        answer = _called(name, self.oracle, _shaped(point, self.shapes), parameters)
        if not isinstance(answer, tuple | list) or len(answer) not in (2, 3):
            raise PluginError(
                f"{name}: the oracle returned {shown(answer)}: return (value, slope), or "
                "(value, slope, upper)"
            )
        K = 1 if n_terms is None else n_terms
        values = _numbers(name, "value", answer[0], () if n_terms is None else (K,)).reshape(K)
        slopes = _slopes(name, answer[1], self.shapes, n_terms)
        slacks = np.zeros(K)
        if len(answer) == 3:
            uppers = _numbers(name, "upper bound", answer[2], () if n_terms is None else (K,))
            slacks = uppers.reshape(K) - values
            wrong = np.flatnonzero(slacks < -TOLERANCE * np.maximum(1.0, np.abs(values)))
            if wrong.size:
                k = int(wrong[0])
                raise OracleError(
                    f"{name}: the oracle returned the upper bound {values[k] + slacks[k]!r}"
                    f"{_of(k, n_terms)}, which is below its value {values[k]!r}"
                )
            slacks = np.maximum(slacks, 0.0)
        self._check_declared(values, slopes)
        size = float(np.abs(values).sum() + (np.abs(slopes) @ np.abs(point)).sum())
        return Answer(values, slopes, slacks, size, K, 0.0)

    def _check_declared(self, values: Floats, slopes: Floats) -> None:
        """Refuse what contradicts the sign and the monotonicity that were declared."""
        for word, factor in (("nonneg", 1.0), ("nonpos", -1.0)):
            if self.sign == word:
                scale = max(1.0, float(np.abs(values).max()))
                wrong = np.flatnonzero(factor * values < -TOLERANCE * scale)
                if wrong.size:
                    k = int(wrong[0])
                    raise OracleError(
                        f"{self.name}: declared sign={word!r}, and the oracle returned the value "
                        f"{values[k]!r}{_of(k, self.n_terms)}"
                    )
        for word, factor in (("increasing", 1.0), ("decreasing", -1.0)):
            if self.monotonicity == word:
                scale = max(1.0, float(np.abs(slopes).max(initial=0.0)))
                if (factor * slopes < -TOLERANCE * scale).any():
                    raise OracleError(
                        f"{self.name}: declared monotonicity={word!r}, and the oracle returned a "
                        "slope of the other sign"
                    )


def _called(
    name: str, oracle: Callable[..., Any], arguments: list[Any], parameters: tuple[Any, ...]
) -> Any:
    try:
        return oracle(*arguments, *parameters)
    except StructSVMError as error:
        error.add_note(f"while the oracle of {name} was called")
        raise
    except Exception as error:
        failed = f"{name}: the oracle raised {type(error).__name__}: {error}"
        if isinstance(error, ValueError) and "read-only" in str(error):
            raise PluginError(f"{failed}: copy what it was given before writing to it") from error
        raise OracleError(failed) from error


def _shaped(point: Floats, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """The arguments as the oracle sees them: arrays that nobody writes to, numbers for scalars."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    pieces = np.split(point, ends)
    return [
        read_only(piece.reshape(shape, order="F")) if shape else float(piece[0])
        for piece, shape in zip(pieces, shapes, strict=True)
    ]


def _slopes(
    name: str, given: Any, shapes: Sequence[tuple[int, ...]], n_terms: int | None
) -> Floats:
    """As rows of one matrix, (n, d)."""
    each = [given] if len(shapes) == 1 else given
    if not isinstance(each, tuple | list) or len(each) != len(shapes):
        raise PluginError(
            f"{name}: the oracle returned {shown(given)} as its slope: return a tuple of "
            f"{len(shapes)}, one for each argument"
        )
    rows = []
    for one, shape in zip(each, shapes, strict=True):
        K = 1 if n_terms is None else n_terms
        slope = _numbers(name, "slope", one, shape if n_terms is None else (K, *shape))
        slope = slope.reshape(K, *shape)
        rows.append(np.stack([row.ravel(order="F") for row in slope]))
    return np.hstack(rows)


def _numbers(name: str, what: str, given: Any, shape: tuple[int, ...]) -> Floats:
    if hasattr(given, "toarray"):
        given = given.toarray()
    try:
        array = np.asarray(given)
        if array.dtype.kind == "c" or array.dtype == object:
            raise TypeError
        array = np.array(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise PluginError(
            f"{name}: the oracle returned {shown(given)} as its {what}: return real numbers"
        ) from None
    if array.shape != shape and not (array.size == 1 and shape in ((), (1,))):
        raise PluginError(
            f"{name}: the oracle returned a {what} of shape {array.shape}, where {shape} is due"
        )
    if not np.isfinite(array).all():
        wrong = array.ravel()[int(np.flatnonzero(~np.isfinite(array.ravel()))[0])]
        raise OracleError(f"{name}: the oracle returned {wrong} in its {what}: return numbers")
    return array.reshape(shape)


def _of(k: int, n_terms: int | None) -> str:
    return "" if n_terms is None else f" of term {k}"
