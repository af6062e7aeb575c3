"""Regularizers: Omega(w), its cvxpy form and its part of the dual bound."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from structsvm.errors import SettingsError
from structsvm.problem.weights import Free, Product, WeightSpace, factors_of
from structsvm.support import Floats, hook, is_number, refuse_unless

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["Custom", "Quadratic", "Regularizer", "Separable", "SquaredNorm", "Trace", "check_lam"]

SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-140, 1e140
"""Bounds of weights within which their squares and reciprocals neither vanish nor overflow."""


@dataclass(frozen=True)
class Quadratic:
    """``1/2 sum_j curvature_j (w_j - center_j)^2 + <linear, w>``, one curvature in each block.

    Examples
    --------
    >>> from structsvm.problem import Nonnegative, Quadratic, SquaredNorm
    >>> isinstance(SquaredNorm(2.0).as_quadratic(Nonnegative(3)), Quadratic)
    True
    """

    curvature: Floats
    """Nonnegative, (d,)."""
    center: Floats
    linear: Floats


class Regularizer(ABC):
    """Base of regularizers, convex and nonnegative functions Omega of the weight.

    The methods that are not abstract are for fast masters and dual bounds. By default they say that
    no formula is known, and a conic program gives the bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.problem import Nonnegative, Regularizer, SquaredNorm
    >>> isinstance(SquaredNorm(), Regularizer)
    True
    >>> SquaredNorm().scaled(4.0).value(np.array([1.0, 0.0]), Nonnegative(2))
    2.0
    """

    @abstractmethod
    def value(self, w: Floats, space: WeightSpace) -> float:
        """Return Omega(w), for ``w`` of shape (d,)."""

    @abstractmethod
    def as_cvxpy(self, B: Any, w: "cp.Expression", space: WeightSpace) -> "cp.Expression":
        """Omega of a cvxpy weight: ``B`` as users see it, ``w`` the vector."""

    @abstractmethod
    def scaled(self, factor: float) -> "Regularizer":
        """Return the regularizer ``factor * Omega``."""

    @hook
    def as_quadratic(self, space: WeightSpace) -> Quadratic | None:
        """Omega as a separable quadratic, which fast masters need; None if it is not one."""
        return None

    @hook
    def floor(self, space: WeightSpace) -> float:
        """A lower bound of Omega over the cone: 0, or minus infinity when its sign is not known."""
        return 0.0

    @hook
    def minimum(self, slope: Floats, space: WeightSpace, upper: float) -> float:
        """``min Omega(w) + <slope, w>`` over the cone, subject to ``Omega(w) <= upper``.

        Possibly a lower bound of it: this is what makes dual certificates valid for any master.
        """
        return -np.inf

    @hook
    def max_scale(self, slope: Floats, space: WeightSpace) -> float:
        """Largest s in [0, 1] for which ``Omega(w) + s <slope, w>`` is bounded on the cone."""
        return 1.0


class _Weighted(Regularizer):
    """``weight`` times a function."""

    weight: float

    @hook
    def __post_init__(self) -> None:
        _refuse_beyond("the weight", self.weight, SMALLEST_WEIGHT, LARGEST_WEIGHT)
        # A weight of lower precision, such as a float32, would round all its products.
        object.__setattr__(self, "weight", float(self.weight))

    def scaled(self, factor: float) -> Self:
        return replace(self, weight=self.weight * factor)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class SquaredNorm(_Weighted):
    """``weight / 2 * |w - center|^2``: the squared Frobenius norm of a metric.

    Parameters
    ----------
    weight : float
    center : float or array
        The metric towards which the learned one shrinks: that many times the identity, or a vector
        or symmetric matrix as in :meth:`WeightSpace.to_metric`.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.problem import Nonnegative, SquaredNorm
    >>> SquaredNorm(center=1.0).value(np.array([1.0, 3.0]), Nonnegative(2))
    2.0
    """

    weight: float = 1.0
    center: Any = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        finite = np.isfinite(np.asarray(self.center, dtype=np.float64)).all()
        refuse_unless(bool(finite), "center", "finite", self.center)

    def value(self, w: Floats, space: WeightSpace) -> float:
        difference = w - self._center(space)
        return float(0.5 * self.weight * (difference @ difference))

    def as_cvxpy(self, B: Any, w: "cp.Expression", space: WeightSpace) -> "cp.Expression":
        import cvxpy as cp

        omega: cp.Expression = 0.5 * self.weight * cp.sum_squares(w - self._center(space))
        return omega

    def as_quadratic(self, space: WeightSpace) -> Quadratic:
        zero = np.zeros(space.dim)
        return Quadratic(np.full(space.dim, self.weight), zero + self._center(space), zero)

    def minimum(self, slope: Floats, space: WeightSpace, upper: float) -> float:
        """Return the minimum, attained at ``Pi_C(center - slope / weight)``."""
        w = space.project(self._center(space) - slope / self.weight)
        return self.value(w, space) + float(slope @ w)

    def _center(self, space: WeightSpace) -> Floats | float:
        """The center as a weight (d,), or the number 0 if it is the default."""
        if isinstance(self.center, float) and self.center == 0.0:
            return 0.0
        if np.ndim(self.center) == 0:
            return float(self.center) * space.identity()
        return space.from_metric(self.center)


@dataclass(frozen=True)
class Trace(_Weighted):
    """``weight * Tr B``: low-rank full metrics, sparse diagonal ones (the l1 norm).

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.problem import Nonnegative, Trace
    >>> Trace(2.0).value(np.array([1.0, 3.0]), Nonnegative(2))
    8.0
    """

    weight: float = 1.0

    def value(self, w: Floats, space: WeightSpace) -> float:
        return float(self._linear(space) @ w)

    def as_cvxpy(self, B: Any, w: "cp.Expression", space: WeightSpace) -> "cp.Expression":
        omega: cp.Expression = self._linear(space) @ w
        return omega

    def as_quadratic(self, space: WeightSpace) -> Quadratic:
        zero = np.zeros(space.dim)
        return Quadratic(zero, zero, self._linear(space))

    def minimum(self, slope: Floats, space: WeightSpace, upper: float) -> float:
        """Zero if ``slope >= -weight I``; otherwise bounded through ``weight Tr B <= upper``."""
        below = space.dual_margin(slope) + self.weight
        return 0.0 if below >= 0 else below * upper / self.weight

    def max_scale(self, slope: Floats, space: WeightSpace) -> float:
        """``weight / -m`` with m the smallest eigenvalue, when that is below 1."""
        smallest = space.dual_margin(slope)
        return 1.0 if smallest >= -self.weight else self.weight / -smallest

    def _linear(self, space: WeightSpace) -> Floats:
        """The gradient, (d,); refuse cones on which the trace may be negative."""
        for factor in factors_of(space):
            if isinstance(factor, Free):
                raise SettingsError(
                    f"the trace is not nonnegative on {factor}: use SquaredNorm, or a cone"
                )
        return self.weight * space.identity()


@dataclass(frozen=True)
class Custom(_Weighted):
    """Any convex, nonnegative cvxpy expression of the metric.

    Parameters
    ----------
    expression : callable
        Takes the cvxpy metric (a vector for a diagonal one) and returns a scalar convex expression,
        such as ``lambda B: cp.norm1(B)``. A module-level function if the model is to be pickled.
    weight : float

    Examples
    --------
    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from structsvm.problem import Custom, Nonnegative
    >>> groups = Custom(lambda B: cp.norm(B[:2]) + cp.norm(B[2:]), weight=0.5)
    >>> round(groups.value(np.array([3.0, 4.0, 0.0]), Nonnegative(3)), 6)
    2.5
    """

    expression: Callable[[Any], Any]
    weight: float = 1.0

    def value(self, w: Floats, space: WeightSpace) -> float:
        import cvxpy as cp

        return float(self.weight * self._checked(cp.Constant(space.to_metric(w))).value)

    def as_cvxpy(self, B: Any, w: "cp.Expression", space: WeightSpace) -> "cp.Expression":
        omega: cp.Expression = self.weight * self._checked(B)
        return omega

    def floor(self, space: WeightSpace) -> float:
        """0 if the rules of cvxpy can tell that the expression is nonnegative."""
        B, _, _ = space.variable()
        return 0.0 if self._checked(B).is_nonneg() else -np.inf

    def _checked(self, B: Any) -> Any:
        import cvxpy as cp

        try:
            expression = self.expression(B)
        except Exception as error:
            raise SettingsError(
                f"the expression of a Custom regularizer fails for a weight of shape {B.shape}: "
                f"{type(error).__name__}: {error}"
            ) from error
        fits = (
            isinstance(expression, cp.Expression)
            and expression.is_scalar()
            and expression.is_convex()
        )
        refuse_unless(fits, "a Custom regularizer", "a scalar convex cvxpy expression", expression)
        return expression


@dataclass(frozen=True)
class Separable(Regularizer):
    """A sum of regularizers, one for each factor of a :class:`Product` space.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.problem import Nonnegative, Product, Separable, SquaredNorm, Trace
    >>> space = Product((Nonnegative(2), Nonnegative(1)))
    >>> Separable((Trace(), SquaredNorm())).value(np.array([1.0, 2.0, 4.0]), space)
    11.0
    """

    parts: tuple[Regularizer, ...]

    def value(self, w: Floats, space: WeightSpace) -> float:
        return sum(p.value(v, s) for p, v, s in self._blocks(w, space))

    def as_cvxpy(self, B: Any, w: "cp.Expression", space: WeightSpace) -> "cp.Expression":
        """Return the sum of the expressions of the parts; ``B`` is the first part of a metric."""
        terms: list[cp.Expression] = []
        for part, block, factor in self._blocks(w, space):
            is_metric = not terms and getattr(space, "metric_first", False)
            users_block = B if is_metric else factor.to_metric(block)
            terms.append(part.as_cvxpy(users_block, block, factor))
        return sum(terms[1:], start=terms[0])

    def scaled(self, factor: float) -> "Separable":
        return Separable(tuple(part.scaled(factor) for part in self.parts))

    def as_quadratic(self, space: WeightSpace) -> Quadratic | None:
        columns = []
        for part, _, factor in self._blocks(np.empty(space.dim), space):
            form = part.as_quadratic(factor)
            if form is None:
                return None
            columns.append((form.curvature, form.center, form.linear))
        return Quadratic(*map(np.concatenate, zip(*columns, strict=True)))

    def floor(self, space: WeightSpace) -> float:
        return sum(p.floor(s) for p, _, s in self._blocks(np.empty(space.dim), space))

    def minimum(self, slope: Floats, space: WeightSpace, upper: float) -> float:
        """Return the sum of the minima of the parts, each of which is at most the whole."""
        return sum(p.minimum(v, s, upper) for p, v, s in self._blocks(slope, space))

    def max_scale(self, slope: Floats, space: WeightSpace) -> float:
        return min(p.max_scale(v, s) for p, v, s in self._blocks(slope, space))

    def _blocks(self, w: Any, space: WeightSpace) -> list[tuple[Regularizer, Any, WeightSpace]]:
        if not isinstance(space, Product) or len(space.factors) != len(self.parts):
            raise SettingsError(
                f"Separable has {len(self.parts)} parts, one for each factor of a Product: it is "
                f"not for {space}"
            )
        return list(zip(self.parts, space.split(w), space.factors, strict=True))


def check_lam(lam: Any) -> None:
    """Refuse a strength that is not from 1e-100 to 1e100, by a SettingsError.

    Beyond these limits, bounds of the objective would vanish or overflow.

    Examples
    --------
    >>> from structsvm.problem import check_lam
    >>> check_lam(0.0)
    Traceback (most recent call last):
        ...
    structsvm.errors.SettingsError: lam must be > 0, got 0.0
    """
    hint = ": MetricLearnerCV chooses it by cross-validation" if isinstance(lam, str) else ""
    _refuse_beyond("lam", lam, 1e-100, 1e100, hint, "; 0.04 to 1 are usual")


def _refuse_beyond(
    name: str, value: Any, least: float, most: float, hint: str = "", usual: str = ""
) -> None:
    if not (is_number(value) and 0 < value < np.inf):
        raise SettingsError(f"{name} must be > 0, got {value!r}{hint}")
    if not least <= float(value) <= most:  # float32 holds neither end
        limits = f"{least:g} to {most:g}".replace("e+", "e")
        raise SettingsError(
            f"{name} must be from {limits}, got {value}: beyond, bounds of the objective vanish or "
            f"overflow{usual}"
        )
