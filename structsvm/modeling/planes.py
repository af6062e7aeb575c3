"""Planes below a convex function, in the space of its argument, and what asks for them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from structsvm.status import Quality
from structsvm.support.arrays import Floats

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
