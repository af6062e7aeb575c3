"""The certificate of a solution of a program with oracles."""

from dataclasses import dataclass, field

from structsvm.problem import History
from structsvm.support import counted


@dataclass(frozen=True)
class Certified:
    """The certificate of a solution: bounds of the optimal value, and the cost of the run.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from structsvm.modeling import OracleMax
    >>> x = cp.Variable(2)
    >>> largest = OracleMax(x, lambda at: (at.max(), np.eye(2)[at.argmax()]))
    >>> problem = cp.Problem(cp.Minimize(largest + cp.sum_squares(x)))
    >>> value = problem.solve(method="cutting-plane", tol=1e-6)
    >>> stats = problem.solver_stats.extra_stats
    >>> type(stats).__name__, stats.lower <= value <= stats.upper, bool(stats.gap < 1e-6)
    ('Certified', True, True)
    """

    lower: float
    """Lower bound of the objective over all feasible points; minus infinity if none is known."""
    upper: float
    """Upper bound of the optimal value; infinity if none is known."""
    gap: float
    """``(upper - lower) / scale``."""
    scale: float
    """The sum of the magnitudes of the terms of the objective at the point. An atom counts with the
    intercept and the products that its plane is a sum of."""
    violation: float
    """The largest violation of a constraint by the point, relative to the size of its terms. It is
    rounding only, unless ``bound`` says otherwise."""
    status: str
    """How the run ended, in a sentence."""
    bound: str
    """The basis of the bounds, in words."""
    rounds: int
    oracle_calls: int
    n_cuts: int
    """The number of cuts in the last restricted problem."""
    seconds: float
    """Wall time of the whole solution."""
    oracle_seconds: float
    """Wall time of calls of oracles, which may run on several workers at once."""
    master_seconds: float
    """Wall time of restricted problems."""
    conflict: tuple[str, ...] = ()
    """Constraints that contradict each other, if the problem is infeasible."""
    history: History = field(repr=False, default_factory=History)

    def summary(self) -> str:
        """One paragraph on how the run ended and how good the answer is."""
        return (
            f"{self.status}. Optimal value between {self.lower:.6g} and {self.upper:.6g}, gap "
            f"{self.gap:.2g} of the size of its terms, {self.scale:.2g} ({self.bound}); "
            f"constraints kept to {self.violation:.1g} of the size of theirs; "
            f"{counted(self.rounds, 'round')}, {counted(self.oracle_calls, 'oracle call')}, "
            f"{self.seconds:.1f} s."
        )
