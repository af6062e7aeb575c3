"""Atoms of cvxpy that are known by oracles."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.atom import Atom

from structsvm.errors import SettingsError
from structsvm.modeling.planes import Answer, OraclePart, Part, Plane, Pool
from structsvm.support.arrays import Floats
from structsvm.support.checks import is_whole, refuse_unlisted
from structsvm.support.plain import shown

SIGNS = (None, "nonneg", "nonpos")
MONOTONICITIES = (None, "increasing", "decreasing")

CALL = 'problem.solve(method="cutting-plane")'


class OracleAtom(Atom):
    """A convex function whose values and planes only oracles know, and so no solver of cvxpy."""

    pool: Pool
    """What is known of it so far; a field of every such atom, shared by its copies."""
    planes: tuple[Plane, ...]
    """The planes that held the last solution, with their multipliers; empty before there is one."""
    called: str
    """What messages call it."""
    n_terms: int
    """How many functions it is made of."""
    parameters_of_oracle: tuple[cp.Parameter, ...] = ()
    sums_terms = False
    """Whether the value is the sum of the terms, and not all of them."""

    @abstractmethod
    def parts(self, atom: int) -> Sequence[Part]:
        """What workers are given, when this is the atom of that number."""

    @abstractmethod
    def groups(self, slack: str) -> list[int]:
        """The group of each term, from 0."""

    @abstractmethod
    def get_data(self) -> Any:
        """What tells it from other atoms of the same arguments, as one thing in a list."""

    @abstractmethod
    def _take(self, known: Any) -> None:
        """Become the functions that ``get_data`` tells of."""

    @abstractmethod
    def domain_of_arguments(self, arguments: Sequence[cp.Expression]) -> list[cp.Constraint]:
        """Where it is defined."""

    def copy(self, args: Any = None, id_objects: Any = None) -> Self:
        """Return the same functions, perhaps of other arguments; what is known is shared."""
        copies: dict[int, Self] = {} if id_objects is None else id_objects
        if id(self) in copies:
            return copies[id(self)]
        made = type(self).__new__(type(self))
        made._take(*self.get_data())
        Atom.__init__(made, *(self.args if args is None else args))
        return made

    def point_of(self, values: Sequence[Any]) -> Floats:
        """The arguments flattened column by column, one after another."""
        return np.concatenate([np.asarray(v, dtype=float).ravel(order="F") for v in values])

    def shaped(self, slope: Floats) -> Any:
        """A slope, (d,), in the shape of the argument; a tuple of several."""
        ends = np.cumsum([arg.size for arg in self.args])[:-1]
        pieces = zip(np.split(slope, ends), self.args, strict=True)
        found = tuple(piece.reshape(arg.shape, order="F") for piece, arg in pieces)
        return found[0] if len(found) == 1 else found

    def is_atom_convex(self) -> bool:
        return True

    def is_atom_concave(self) -> bool:
        return False

    def answer(self, values: Sequence[Any]) -> Answer:
        """What all oracles find, called one after another."""
        point = self.point_of(values)
        parameters = tuple(p.value for p in self.parameters_of_oracle)
        answers = [part.answer(point, parameters) for part in self.parts(0)]
        return Answer(
            np.concatenate([a.values for a in answers]),
            np.vstack([a.slopes for a in answers]),
            np.concatenate([a.slacks for a in answers]),
            sum(a.size for a in answers),
            sum(a.calls for a in answers),
            0.0,
        )

    def numeric(self, values: Sequence[Any]) -> Any:
        found = self.answer(values).values
        return np.asarray(found.sum() if self.sums_terms else found.reshape(self.shape, order="F"))

    def _grad(self, values: Sequence[Any]) -> list[Any]:
        """A subgradient by each argument, as cvxpy writes it."""
        slopes = self.answer(values).slopes
        slopes = slopes.sum(axis=0, keepdims=True) if self.sums_terms else slopes
        ends = np.cumsum([arg.size for arg in self.args])[:-1]
        return [sp.csc_array(part.T) for part in np.split(slopes, ends, axis=1)]

    def graph_implementation(self, arg_objs: Any, shape: Any, data: Any = None) -> Any:
        """Refuse to be handed to a solver that knows nothing of oracles.

        Raises
        ------
        SettingsError
            Always, with the call to make.
        """
        raise SettingsError(
            f"{self.called} is known by an oracle only, which no solver of cvxpy asks: call {CALL}"
        )

    def name(self) -> str:
        return f"{self.called}({', '.join(arg.name() for arg in self.args)})"


@dataclass(frozen=True, eq=False)
class Declared:
    """What the user says of a function that an oracle knows."""

    oracle: Any
    n_terms: int | None
    """None for a scalar."""
    sign: str | None
    monotonicity: str | None
    parameters: tuple[cp.Parameter, ...]
    label: str
    pool: Pool = field(default_factory=Pool)


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
        arguments = as_expressions(x, label)
        self._take(_declared(oracle, n_terms, sign, monotonicity, parameters, label))
        super().__init__(*arguments)

    def _take(self, declared: Declared) -> None:
        self.declared, self.pool, self.called = declared, declared.pool, declared.label
        self.parameters_of_oracle = declared.parameters
        self.n_terms = 1 if declared.n_terms is None else declared.n_terms
        self.planes = ()

    def shape_from_args(self) -> tuple[int, ...]:
        """Return the shape: a scalar, or a vector of as many entries as there are terms."""
        return () if self.declared.n_terms is None else (self.declared.n_terms,)

    def sign_from_args(self) -> tuple[bool, bool]:
        return self.declared.sign == "nonneg", self.declared.sign == "nonpos"

    def is_incr(self, idx: int) -> bool:
        return self.declared.monotonicity == "increasing"

    def is_decr(self, idx: int) -> bool:
        return self.declared.monotonicity == "decreasing"

    def get_data(self) -> Any:
        return [self.declared]

    def parts(self, atom: int) -> Sequence[Part]:
        shapes = [arg.shape for arg in self.args]
        d = self.declared
        said = shapes, d.sign, d.monotonicity
        if isinstance(d.oracle, tuple):
            return [
                OraclePart(atom, range(k, k + 1), f"{d.label}, oracle {k}", oracle, None, *said)
                for k, oracle in enumerate(d.oracle)
            ]
        return [OraclePart(atom, range(self.n_terms), d.label, d.oracle, d.n_terms, *said)]

    def groups(self, slack: str) -> list[int]:
        """Each term by itself, whatever the slack: none is a sum."""
        return list(range(self.n_terms))

    def domain_of_arguments(self, arguments: Sequence[cp.Expression]) -> list[cp.Constraint]:
        return []


def as_expressions(x: Any, label: str) -> list[cp.Expression]:
    """The arguments of an atom, of which there may be one or several."""
    given = list(x) if isinstance(x, list | tuple) else [x]
    if not given:
        raise SettingsError(f"{label} has no argument: give a cvxpy expression, or a list of them")
    found = [Atom.cast_to_const(one) for one in given]
    if any(one.is_complex() for one in found):
        raise SettingsError(f"{label} takes real arguments: give the real and the imaginary part")
    return found


def _declared(
    oracle: Any,
    n_terms: int | None,
    sign: str | None,
    monotonicity: str | None,
    parameters: Sequence[cp.Parameter],
    label: str,
) -> Declared:
    several = isinstance(oracle, list | tuple)
    for one in oracle if several else [oracle]:
        if not callable(one):
            raise SettingsError(
                f"{label}: oracle is {shown(one)}: give a function that returns (value, slope)"
            )
    if several and (not oracle or n_terms is not None):
        raise SettingsError(
            f"{label}: a list of oracles, one at least, makes as many entries: leave n_terms out"
        )
    if n_terms is not None and not (is_whole(n_terms) and n_terms >= 1):
        raise SettingsError(f"{label}: n_terms must be at least 1 or None, got {n_terms!r}")
    refuse_unlisted(f"{label}: sign", sign, SIGNS)
    refuse_unlisted(f"{label}: monotonicity", monotonicity, MONOTONICITIES)
    listed = tuple(parameters)
    if several:
        return Declared(tuple(oracle), len(oracle), sign, monotonicity, listed, label)
    return Declared(oracle, n_terms, sign, monotonicity, listed, label)
