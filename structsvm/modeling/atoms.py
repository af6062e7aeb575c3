"""Atoms of cvxpy that are known by oracles, the oracles, and the planes that they have found."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NoReturn, Self

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.atom import Atom

from structsvm.errors import OracleError, PluginError, SettingsError, StructSVMError
from structsvm.masters.base import Cut
from structsvm.solvers.planes import Planes
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.support.checks import read_only, refuse_below, refuse_unlisted, shown
from structsvm.support.contract import hook

TOLERANCE = 1e-9
"""Rounding allowed in a sign that was declared, relative to the size of the numbers."""

DIGITS = 64.0
"""Of the rounding unit of a type with fewer digits than a double, what answers in it are off by."""

SLIPS = 1e-7
"""By how much of the size of its terms a value may be below an earlier plane, by rounding."""


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
class Touch:
    """What an oracle said at one argument: asked again, it says the same unless it has changed."""

    argument: Floats
    lowers: Floats
    """Of each group, (n,)."""
    uppers: Floats
    slopes: Floats
    """(n, d)."""
    sizes: Floats
    """Of the terms of each value, which rounding is relative to."""

    @classmethod
    def of(cls, planes: Planes) -> Touch:
        """By planes in the space of the argument."""
        is_guess = planes.quality is Quality.HEURISTIC
        uppers = planes.values + (np.inf if is_guess else planes.slacks)
        sizes = np.abs(planes.intercepts) + np.abs(planes.slopes) @ np.abs(planes.w)
        return cls(planes.w, planes.values, uppers, planes.slopes, sizes)

    def differs(self, now: Touch) -> int | None:
        """A group whose values then and now exclude each other; None where there is none."""
        room = SLIPS * np.maximum(self.sizes, now.sizes)
        apart = np.maximum(self.lowers - now.uppers, now.lowers - self.uppers) - room
        return int(apart.argmax()) if (apart > 0).any() else None

    def has_other_slopes(self, now: Touch) -> bool:
        room = SLIPS * np.abs(self.slopes).max(initial=0.0)
        return bool((np.abs(self.slopes - now.slopes) > room).any())


@dataclass
class Pool:
    """The planes found below one atom, whatever problem it was in: where the next run begins."""

    marks: bytes = b""
    """The slack, and the values of the parameters of the oracle, for which they hold."""
    cuts: list[Cut] = field(default_factory=list)
    """In the space of the argument."""
    quality: Quality = Quality.EXACT
    """The weakest of the answers that they are of."""
    largest: float = 0.0
    """The size of the terms that their intercepts were computed from, at most."""
    touch: Touch | None = None
    """The answer at the last solution."""

    def clear(self) -> None:
        self.cuts = []
        self.quality = Quality.EXACT
        self.touch = None


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


class ConvexAtom(Atom):
    """A convex function; a nonnegative scalar that is not monotone, unless it says otherwise."""

    known_sign: str | None = "nonneg"
    monotonicity: str | None = None

    @hook
    def shape_from_args(self) -> tuple[int, ...]:
        return ()

    def sign_from_args(self) -> tuple[bool, bool]:
        return self.known_sign == "nonneg", self.known_sign == "nonpos"

    def is_atom_convex(self) -> bool:
        return True

    def is_atom_concave(self) -> bool:
        return False

    def is_incr(self, idx: int) -> bool:
        return self.monotonicity == "increasing"

    def is_decr(self, idx: int) -> bool:
        return self.monotonicity == "decreasing"


class OracleAtom(ConvexAtom):
    """A convex function whose values and planes only oracles know, and so no solver of cvxpy."""

    pool: Pool
    """Planes found so far, shared by the copies of the atom."""
    planes: tuple[Plane, ...] = ()
    """The planes that held the last solution, with their multipliers; empty before there is one."""
    called: str
    """What messages call it."""
    n_terms: int
    """Number of functions in the atom."""
    parameters_of_oracle: tuple[cp.Parameter, ...] = ()
    sums_terms = False
    """Whether the value is the sum of the terms, and not all of them."""
    own: tuple[str, ...] = ("pool", "called", "n_terms", "parameters_of_oracle")
    """Attributes that copies have, too; cvxpy keeps in others what it knows of the arguments."""

    @abstractmethod
    def parts(self, atom: int) -> Sequence[Part]:
        """Parts of the atom for workers, when it has that number in its problem."""

    def copy(self, args: Any = None, id_objects: Any = None) -> Self:
        """Copy the atom, perhaps with other arguments; known planes are shared."""
        if id_objects is not None and id(self) in id_objects:
            return id_objects[id(self)]  # type: ignore[no-any-return]
        other = type(self).__new__(type(self))
        for name in self.own:
            setattr(other, name, getattr(self, name))
        Atom.__init__(other, *(self.args if args is None else args))
        return other

    def split(self, slopes: Floats) -> list[Floats]:
        """Slopes, (..., d), as those for each argument."""
        return np.split(slopes, np.cumsum([arg.size for arg in self.args])[:-1], axis=-1)

    def question(self, argument: Floats, deadline: float = np.inf) -> Question:
        values = tuple(parameter.value for parameter in self.parameters_of_oracle)
        return argument, values, deadline

    def _answer(self, values: Sequence[Any]) -> Planes:
        """Planes of all oracles, called one after another."""
        point = np.concatenate([np.asarray(v, dtype=float).ravel(order="F") for v in values])
        parts = self.parts(0)
        answers = parts[0].answers(parts, self.question(point))
        return Planes.joined([planes for planes in answers if planes is not None])

    def numeric(self, values: Sequence[Any]) -> Any:
        found = self._answer(values).values
        return np.asarray(found.sum() if self.sums_terms else found.reshape(self.shape, order="F"))

    def _grad(self, values: Sequence[Any]) -> list[Any]:
        """A subgradient by each argument, as cvxpy writes it."""
        slopes = self._answer(values).slopes
        slopes = slopes.sum(axis=0, keepdims=True) if self.sums_terms else slopes
        return [sp.csc_array(part.T) for part in self.split(slopes)]

    def graph_implementation(self, arg_objs: Any, shape: Any, data: Any = None) -> Any:
        """Refuse to be handed to a solver that knows nothing of oracles."""
        raise SettingsError(
            f"{self.called} is known by an oracle only, which no solver of cvxpy asks: call "
            'problem.solve(method="cutting-plane")'
        )

    def name(self) -> str:
        return f"{self.called}({', '.join(arg.name() for arg in self.args)})"


class OracleMax(OracleAtom):
    """A convex function ``h(x)`` that is known through an oracle: a maximum of many planes.

    An atom of cvxpy like any other: it may stand wherever the rules of cvxpy (DCP) allow a convex
    expression, in objectives and constraints, and is solved by
    ``problem.solve(method="cutting-plane")``.

    Parameters
    ----------
    x : cvxpy expression, or list of expressions
        What ``h`` is a function of; affine, unless a monotonicity is declared.
    oracle : callable, or list of callables
        ``oracle(x)`` takes an array in the shape of ``x`` (several, ``oracle(x, y)``, for a list)
        and returns ``(value, slope)``: ``h(x)``, and the slope of a plane that touches ``h`` there,
        ``h(x') >= value + <slope, x' - x>``, in the shape of ``x`` (a tuple of slopes for a list).
        An oracle that cannot be sure of the maximum returns ``(value, slope, upper)``, where
        ``value`` belongs to the plane it has found and ``h(x) <= upper``; the certificate then
        rests on these upper bounds. A list of callables makes a vector, one entry for each, whose
        oracles run on different workers.
    n_terms : int, optional
        For one oracle of many functions at once, a vector ``h``: it returns the values
        ``(n_terms,)``, the slopes ``(n_terms, *x.shape)``, and perhaps upper bounds ``(n_terms,)``.
    sign : {None, "nonneg", "nonpos"}
        What is known of the sign of ``h``, which the rules of cvxpy may need.
    monotonicity : {None, "increasing", "decreasing"}
        In every entry of every argument; it lets a convex (or concave) expression stand for ``x``.
    parameters : list of cvxpy.Parameter
        The oracle is called with their values after those of ``x``. What is known of ``h`` is kept
        for the next solution as long as they stay what they are.
    label : str
        What messages call it.

    Raises
    ------
    SettingsError
        When something of this is not what it should be.

    Examples
    --------
    The worst of many scenarios, of which the oracle looks for one at a time:

    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from structsvm.modeling import OracleMax
    >>> losses = np.random.default_rng(0).normal(size=(10_000, 3))
    >>> def worst(x):
    ...     row = losses[(losses @ x).argmax()]
    ...     return row @ x, row
    >>> x = cp.Variable(3)
    >>> problem = cp.Problem(cp.Minimize(OracleMax(x, worst)), [cp.sum(x) == 1, x >= 0])
    >>> value = problem.solve(method="cutting-plane", tol=1e-6)
    >>> problem.status, round(value / (losses @ x.value).max(), 6).item()
    ('optimal', 1.0)
    >>> stats = problem.solver_stats.extra_stats
    >>> stats.lower <= value <= stats.upper, stats.oracle_calls < 100
    (True, True)
    """

    own = (*OracleAtom.own, "oracles", "each_term", "has_one_value", "known_sign", "monotonicity")

    def __init__(
        self,
        x: Any,
        oracle: Callable[..., Any] | Sequence[Callable[..., Any]],
        *,
        n_terms: int | None = None,
        sign: str | None = None,
        monotonicity: str | None = None,
        parameters: Sequence[cp.Parameter] = (),
        label: str = "OracleMax",
    ) -> None:
        oracles = oracle if isinstance(oracle, list | tuple) else [oracle]
        each = oracles is oracle
        if each and (n_terms is not None or not oracles):
            raise SettingsError(
                f"{label}: a list of oracles has its length, one at least: leave n_terms out"
            )
        if n_terms is not None:
            refuse_below(1, f"{label}: n_terms", n_terms)
        refuse_unlisted(f"{label}: sign", sign, (None, "nonneg", "nonpos"))
        refuse_unlisted(f"{label}: monotonicity", monotonicity, (None, "increasing", "decreasing"))
        self.oracles = tuple(oracles)
        self.each_term = each
        self.has_one_value = n_terms is None and not each
        self.known_sign, self.monotonicity = sign, monotonicity
        self.called = label
        self.parameters_of_oracle = tuple(parameters)
        self.pool = Pool()
        self.n_terms = n_terms or len(self.oracles)
        super().__init__(*as_expressions(x, label))

    def shape_from_args(self) -> tuple[int, ...]:
        """The shape: a scalar, or a vector of as many entries as there are terms."""
        return () if self.has_one_value else (self.n_terms,)

    def parts(self, atom: int) -> Sequence[Part]:
        said = [arg.shape for arg in self.args], self.known_sign, self.monotonicity
        if self.each_term:
            return [
                OraclePart(atom, range(k, k + 1), f"{self.called}, oracle {k}", oracle, True, *said)
                for k, oracle in enumerate(self.oracles)
            ]
        terms = range(self.n_terms)
        oracle = self.oracles[0]
        return [OraclePart(atom, terms, self.called, oracle, self.has_one_value, *said)]


def rounding_of(array: Any) -> float:
    """What computed numbers are off by, relative to their terms: 0 of doubles and of integers."""
    is_short = array.dtype.kind == "f" and array.dtype.itemsize < 8
    return DIGITS * float(np.finfo(array.dtype).eps) if is_short else 0.0


def as_expressions(x: Any, label: str) -> list[cp.Expression]:
    """The arguments of an atom, of which there may be one or several."""
    found = [Atom.cast_to_const(one) for one in (x if isinstance(x, list | tuple) else [x])]
    if any(one.is_complex() for one in found):
        raise SettingsError(f"{label} takes real arguments: give the real and the imaginary part")
    return found


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
