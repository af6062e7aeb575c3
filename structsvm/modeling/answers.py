"""What an oracle answers, looked at before it is believed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.errors import OracleError, PluginError, StructSVMError
from structsvm.modeling.planes import Answer, Part
from structsvm.support.arrays import Floats
from structsvm.support.plain import read_only, shown

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
    """Finite numbers of a shape."""
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
