"""Check that an oracle keeps the contract of OracleMax: its planes are below a convex function."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np

from structsvm.errors import PluginError
from structsvm.masters import NO_SLACK, Planes
from structsvm.modeling.atoms import OracleMax
from structsvm.modeling.pool import SLIPS, Touch, tops
from structsvm.support import Floats, refuse_below

SIZES = (0.0, 1e-2, 1.0, 1.0, 1.0, 1e2)  # sizes of the points, in turn, in units of the scale
N_REPEATED = 10  # points at which an oracle is asked a second time


def check_atom(
    oracle: Callable[..., Any],
    shape: tuple[int, ...] | Sequence[tuple[int, ...]],
    *,
    n_terms: int | None = None,
    sign: str | None = None,
    monotonicity: str | None = None,
    parameters: Sequence[cp.Parameter] = (),
    scale: float = 1.0,
    n_points: int = 200,
) -> None:
    """Check that an oracle is one for :class:`structsvm.modeling.OracleMax`, at random points.

    Each answer is checked as in a run. In addition, the same point must have the same value again,
    the function must be convex along lines, no plane may be above a value at another point, and no
    plane of :class:`structsvm.modeling.Infeasible` may cut off a point with a value. The first
    broken promise raises PluginError or OracleError.

    Parameters
    ----------
    oracle : callable
    shape : tuple, or list of tuples
        The shape of its argument, or the shapes of several arguments.
    n_terms, sign, monotonicity, parameters
        As for :class:`structsvm.modeling.OracleMax`. A cvxpy.Parameter that the oracle reads and
        that is not among ``parameters`` is refused.
    scale : float
        The usual size of the entries of points.
    n_points : int

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.testing import check_atom
    >>> def largest_entry(x):
    ...     return x.max(), np.eye(3)[x.argmax()]
    >>> check_atom(largest_entry, (3,))
    """
    refuse_below(2, "n_points", n_points)
    shapes = [shape] if all(isinstance(n, int) for n in shape) else list(shape)
    settings: dict[str, Any] = {"n_terms": n_terms, "sign": sign, "monotonicity": monotonicity}
    variables = [cp.Variable(one) for one in shapes]  # type: ignore[arg-type]
    atom = OracleMax(variables, oracle, parameters=parameters, label="check_atom", **settings)
    for read in _parameters_of(oracle):
        if not any(read is one for one in parameters):
            raise PluginError(
                f"check_atom: the oracle reads the parameter {read.name()}, and what is known of "
                "it would be kept when that changes: name it in parameters="
            )
    rng = np.random.default_rng(0)
    d = sum(v.size for v in variables)
    sizes = scale * np.resize(SIZES, n_points)
    points = sizes[:, None] * rng.normal(size=(n_points, d))
    answers = list(map(atom.answer, points))
    _check_same(atom, points, answers)
    _check_convex(atom, points, answers)
    _check_planes(atom, points, answers)


def _check_same(atom: OracleMax, points: Floats, answers: Sequence[Planes]) -> None:
    """Check that the oracle gives the same answers again, in another order."""
    for i in reversed(range(min(N_REPEATED, len(points)))):
        before = Touch.of(answers[i], atom.n_terms)
        now = Touch.of(atom.answer(points[i]), atom.n_terms)
        term = before.differs(now)
        if term is not None:
            raise PluginError(
                f"check_atom: at point {i} term {term} is {before.lowers[term]:.9g}, and "
                f"{now.lowers[term]:.9g} when it is asked again: give one answer to one question"
            )


def _check_convex(atom: OracleMax, points: Floats, answers: Sequence[Planes]) -> None:
    """Check that no value between two points is above the mean of their values."""
    for i in range(0, len(points) - 1, 2):
        ends = [tops(answers[k], atom.n_terms) for k in (i, i + 1)]
        middle = tops(atom.answer(points[i : i + 2].mean(axis=0)), atom.n_terms)
        uppers = [end.values + end.slacks for end in ends]
        most = (uppers[0] + uppers[1]) / 2
        room = SLIPS * np.maximum(*(end.terms(end.w) for end in ends))
        wrong = np.flatnonzero(np.isfinite(middle.values) & (middle.values > most + room))
        if wrong.size:
            k = wrong[0]
            raise PluginError(
                f"check_atom: term {k} is {middle.values[k]:.9g} between points {i} and {i + 1}, "
                f"where a convex function is {most[k]:.9g} at most: it is concave along a line, or "
                "the oracle does not find the maximum; return an upper bound if it is inexact"
            )


def _check_planes(atom: OracleMax, points: Floats, answers: Sequence[Planes]) -> None:
    """Check that no plane is above an upper bound of its term, and no domain cuts off a value."""
    largest = [tops(planes, atom.n_terms) for planes in answers]
    inside = np.array([not (planes.groups == NO_SLACK).any() for planes in answers])
    uppers = np.stack([planes.values + planes.slacks for planes in largest])
    uppers = np.column_stack([uppers, np.where(inside, 0.0, np.inf)])
    for i, planes in enumerate(answers):
        heights = planes.intercepts + points @ planes.slopes.T
        sizes = np.abs(planes.intercepts) + np.abs(points) @ np.abs(planes.slopes).T
        sizes = np.maximum(sizes, planes.terms(planes.w))
        excess = heights - uppers[:, planes.groups] - SLIPS * sizes
        if not (excess > 0).any():
            continue
        j, row = np.unravel_index(excess.argmax(), excess.shape)
        term = planes.groups[row]
        if term == NO_SLACK:
            raise PluginError(
                f"check_atom: the plane of Infeasible of point {i} cuts off point {j}, at which "
                "the oracle has a value"
            )
        is_level = not planes.slopes[row].any()
        why = "its slope is 0, and the function moves" if is_level else "its slope is not that of h"
        raise PluginError(
            f"check_atom: the plane of point {i} says that term {term} is {heights[j, row]:.9g} at "
            f"least at point {j}, where the oracle returned {uppers[j, term]:.9g}: {why}"
        )


def _parameters_of(oracle: Any) -> Iterator[cp.Parameter]:
    """The parameters of cvxpy that a callable can read, as attribute, closure or global."""
    if isinstance(oracle, partial):
        yield from _parameters_of(oracle.func)
        yield from _held_in([*oracle.args, *oracle.keywords.values()])
        return
    owner = getattr(oracle, "__self__", None if inspect.isfunction(oracle) else oracle)
    yield from _held_in(list(getattr(owner, "__dict__", {}).values()))
    function = oracle if inspect.isroutine(oracle) else type(oracle).__call__
    function = getattr(function, "__func__", function)
    if inspect.isfunction(function):
        variables = inspect.getclosurevars(function)
        defaults = [function.__defaults__ or (), (function.__kwdefaults__ or {}).values()]
        yield from _held_in(
            list(chain(variables.nonlocals.values(), variables.globals.values(), *defaults))
        )


def _held_in(values: Sequence[Any]) -> Iterator[cp.Parameter]:
    """The parameters among values, and in lists and dictionaries of values."""
    for value in values:
        if isinstance(value, cp.Parameter):
            yield value
        elif isinstance(value, Mapping):
            yield from _held_in(list(value.values()))
        elif isinstance(value, list | tuple):
            yield from _held_in(value)
