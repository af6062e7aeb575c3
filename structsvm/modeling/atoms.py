"""Atoms of cvxpy that are known by oracles only."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.atom import Atom

from structsvm.errors import SettingsError
from structsvm.masters import Planes
from structsvm.modeling.oracle_parts import OraclePart, Part, Question
from structsvm.modeling.pool import Plane, Pool, tops
from structsvm.support import Floats, hook, refuse_below, refuse_unlisted


class ConvexAtom(Atom):
    """A convex function; by default a nonnegative scalar that is not monotone."""

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
    """A convex function whose values and planes come from oracles; solvers of cvxpy refuse it."""

    pool: Pool
    """The planes found so far, which copies of the atom share."""
    planes: tuple[Plane, ...] = ()
    """The planes that are active in the last solution, with their multipliers."""
    called: str
    """The name of the atom in messages."""
    n_terms: int
    """The number of functions in the atom."""
    parameters_of_oracle: tuple[cp.Parameter, ...] = ()
    sums_terms = False
    """Whether the value is the sum of the terms, instead of a vector of them."""
    own: tuple[str, ...] = ("pool", "called", "n_terms", "parameters_of_oracle")
    """Attributes to copy; in the others cvxpy caches properties of the arguments."""

    @abstractmethod
    def parts(self, atom: int) -> Sequence[Part]:
        """The parts of the atom, as number ``atom`` of its problem, for workers."""

    def copy(self, args: Any = None, id_objects: Any = None) -> Self:
        """A copy of the atom, perhaps with other arguments, that shares its pool."""
        if id_objects is not None and id(self) in id_objects:
            return id_objects[id(self)]  # type: ignore[no-any-return]
        other = type(self).__new__(type(self))
        for name in self.own:
            setattr(other, name, getattr(self, name))
        Atom.__init__(other, *(self.args if args is None else args))
        return other

    def split(self, slopes: Floats) -> list[Floats]:
        """Slopes, (..., d), split by argument."""
        return np.split(slopes, np.cumsum([arg.size for arg in self.args])[:-1], axis=-1)

    def question(self, argument: Floats, deadline: float = np.inf) -> Question:
        """A question to the oracles: an argument, (d,), values of the parameters, a deadline."""
        values = tuple(parameter.value for parameter in self.parameters_of_oracle)
        return argument, values, deadline

    def answer(self, point: Floats) -> Planes:
        """The planes of all oracles at an argument, flattened, (d,), in this process."""
        parts = self.parts(0)
        answers = parts[0].answers(parts, self.question(point))
        return Planes.joined([planes for planes in answers if planes is not None])

    def _tops(self, values: Sequence[Any]) -> Planes:
        """The largest plane of each term at values of the arguments."""
        point = np.concatenate([np.asarray(v, dtype=float).ravel(order="F") for v in values])
        return tops(self.answer(point), self.n_terms)

    def numeric(self, values: Sequence[Any]) -> Any:
        of_groups = self._tops(values).values
        return np.asarray(
            of_groups.sum() if self.sums_terms else of_groups.reshape(self.shape, order="F")
        )

    def _grad(self, values: Sequence[Any]) -> list[Any]:
        """A subgradient by each argument in the form of cvxpy; None outside of the domain."""
        planes = self._tops(values)
        if np.isinf(planes.values).any():
            return [None] * len(self.args)
        slopes = planes.slopes
        slopes = slopes.sum(axis=0, keepdims=True) if self.sums_terms else slopes
        return [sp.csc_array(part.T) for part in self.split(slopes)]

    def graph_implementation(self, arg_objs: Any, shape: Any, data: Any = None) -> Any:
        """Raise SettingsError: solvers of cvxpy cannot use oracles."""
        raise SettingsError(
            f"{self.called} is known by an oracle only, which no solver of cvxpy asks: call "
            'problem.solve(method="cutting-plane")'
        )

    def name(self) -> str:
        return f"{self.called}({', '.join(arg.name() for arg in self.args)})"


class OracleMax(OracleAtom):
    """A convex function ``h(x)``, the maximum of many planes, that an oracle evaluates.

    An atom of cvxpy like any other: it may stand wherever the rules of cvxpy (DCP) allow a convex
    expression, in objectives and constraints, and is solved by
    ``problem.solve(method="cutting-plane")``.

    Parameters
    ----------
    x : cvxpy expression, or list of expressions
        The argument of ``h``; affine, unless a monotonicity is declared.
    oracle : callable, or list of callables
        ``oracle(x)`` takes an array in the shape of ``x`` (several, ``oracle(x, y)``, for a list)
        and returns ``(value, slope)``: ``h(x)``, and the slope of a plane that touches ``h`` there,
        ``h(x') >= value + <slope, x' - x>``, in the shape of ``x`` (a tuple of slopes for a list).
        An oracle that cannot be sure of the maximum returns ``(value, slope, upper)``, where
        ``value`` belongs to the plane it has found and ``h(x) <= upper``; the certificate then
        rests on these upper bounds. An oracle that finds several planes below ``h`` at once returns
        values ``(m,)`` and slopes ``(m, *x.shape)``, of which the largest is ``h(x)``. Where ``h``
        has no value it returns :class:`Infeasible`. A list of callables makes a vector with one
        entry for each, whose oracles run on different workers.
    n_terms : int, optional
        For one oracle of many functions at once, a vector ``h``: it returns the values
        ``(n_terms,)``, the slopes ``(n_terms, *x.shape)``, and perhaps upper bounds ``(n_terms,)``.
    sign : {None, "nonneg", "nonpos"}
        The sign of ``h``, which the rules of cvxpy may need.
    monotonicity : {None, "increasing", "decreasing"}
        The monotonicity of ``h`` in every entry of every argument. With "increasing" ``x`` may be
        convex, with "decreasing" concave.
    parameters : list of cvxpy.Parameter
        The oracle is called with their values after those of ``x``. Planes of ``h`` are reused in
        the next solution as long as these values do not change.
    label : str
        The name of the atom in messages.

    Raises
    ------
    SettingsError
        When an argument has a wrong type or value.

    Examples
    --------
    The worst of many scenarios, which the oracle finds:

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


def as_expressions(x: Any, label: str) -> list[cp.Expression]:
    """One argument or a list of arguments of an atom, as real expressions of cvxpy."""
    expressions = [Atom.cast_to_const(one) for one in (x if isinstance(x, list | tuple) else [x])]
    if any(one.is_complex() for one in expressions):
        raise SettingsError(f"{label} takes real arguments: give the real and the imaginary part")
    return expressions
