"""What is known of the optimal value of a program with oracles, and what the run has cost."""

from dataclasses import dataclass, field

from structsvm.problem import History
from structsvm.support import counted


@dataclass(frozen=True)
class Certified:
    """Bounds of the optimal value of a problem, and the cost of the run.

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
    """No feasible point has a lower objective; minus infinity where nothing is known."""
    upper: float
    """The optimal value is not higher; infinity where nothing is known."""
    gap: float
    """``(upper - lower) / scale``."""
    scale: float
    """The size of the terms of the objective at the point: the sum of their magnitudes, and with
    that of an atom those of the intercept and the products of which its plane is the sum."""
    violation: float
    """By how much the point breaks a constraint at most, relative to the size of its terms: by
    rounding only, unless ``bound`` says something else.
    """
    status: str
    """How the run ended, in a sentence."""
    bound: str
    """What the bounds rest on."""
    rounds: int
    oracle_calls: int
    n_cuts: int
    """Cuts in the last restricted problem."""
    seconds: float
    """Wall time of all."""
    oracle_seconds: float
    """In calls of oracles, on all workers at once."""
    master_seconds: float
    """In restricted problems."""
    conflict: tuple[str, ...] = ()
    """Of an infeasible problem: constraints that contradict each other."""
    history: History = field(repr=False, default_factory=History)

    def summary(self) -> str:
        """Return one paragraph that says how the run ended and how good the answer is."""
        return (
            f"{self.status}. Optimal value between {self.lower:.6g} and {self.upper:.6g}, gap "
            f"{self.gap:.2g} of the size of its terms, {self.scale:.2g} ({self.bound}); "
            f"constraints kept to {self.violation:.1g} of the size of theirs; "
            f"{counted(self.rounds, 'round')}, {counted(self.oracle_calls, 'oracle call')}, "
            f"{self.seconds:.1f} s."
        )
