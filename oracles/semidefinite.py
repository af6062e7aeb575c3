"""Semidefinite relaxation of clustering (Peng and Wei): the tightest bound, for small T.

Every rescaled equivalence matrix of K clusters lies in

    { M : M >= 0 (entries), M psd, M 1 = 1, Tr M = K }                 (Tr M free if K is unknown),

so that the maximum of ``Tr(A M)`` over it bounds the partitions from above (Peng and Wei 2007). The
bound that is returned does not trust the solver: for any symmetric ``N >= 0`` (entries),

    Tr(A M) <= Tr((A + N) M) <= spectral(A + N),

the value of the centred spectral relaxation. The solver's multipliers of ``M >= 0``, clipped at
zero, serve as N; with N = 0 it is the spectral bound.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.errors import OracleError, without_warnings
from structsvm.masters import solve_by
from structsvm.oracles._starts import kmeans
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.parallel import single_threaded
from structsvm.partitions import UNCONSTRAINED, Argmax, Constraint, Oracle, TraceObjective
from structsvm.problem import Quality
from structsvm.support import Floats

TIGHT = 1e-7
"""Gap, relative to the scale of the objective, at which the bound proves a partition optimal."""


@dataclass(frozen=True, eq=False)
class SemidefiniteSolution:
    """An approximate optimum of the program, and a bound that does not rely on its accuracy."""

    M: Floats  # (T, T); feasible to the accuracy of the solver
    multipliers: Floats  # ``N >= 0``, (T, T)
    upper_bound: float  # ``spectral(A + N)``


@dataclass(frozen=True)
class SemidefiniteOracle(Oracle):
    """Maximises ``Tr(A M)`` over partitions, with a bound from semidefinite programming.

    Parameters
    ----------
    solver : str
        Any solver of cvxpy that knows the semidefinite cone. SCS is by far the fastest here.
    tol : float
        Accuracy asked of SCS. The bound holds whatever it is; a smaller one makes it tighter.
    max_samples : int
        Larger problems are refused: the program has T^2 / 2 unknowns and as many inequalities.
    random_state : int
        Seed of the search for partitions.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SemidefiniteOracle
    >>> from structsvm.partitions import Constraint, TraceObjective
    >>> Z = np.array([[0.0], [9.0], [0.0], [9.0]])
    >>> answer = SemidefiniteOracle().ask(TraceObjective(Z), Constraint(n_clusters=2))
    >>> answer.y.labels.tolist(), bool(answer.upper_bound >= answer.value)
    ([0, 1, 0, 1], True)
    """

    takes = frozenset({"n_clusters"})

    solver: str = "SCS"
    tol: float = 1e-7
    max_samples: int = 100
    random_state: int = 0

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Return a partition of large value and a certified bound; exact if they meet."""
        search = ClusteringOracle(random_state=self.random_state)
        first = search.maximize(objective, constraint)
        if _is_tight(first.value, first.upper_bound, objective):
            return Argmax(first.y, first.value, first.upper_bound, Quality.EXACT)
        solution = self.relax(objective, constraint)
        K = constraint.n_clusters
        if K is None:
            K = int(np.clip(np.round(np.trace(solution.M)), 1, objective.n_samples))
        with single_threaded():
            rounded = kmeans(solution.M, K, 1, self.random_state)
        second = search.maximize_from(objective, [rounded], constraint)
        bound = max(second.value, min(first.upper_bound, solution.upper_bound))
        tight = _is_tight(second.value, bound, objective)
        return Argmax(second.y, second.value, bound, Quality.EXACT if tight else Quality.RELAXATION)

    def relax(
        self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED
    ) -> SemidefiniteSolution:
        """Solve the program itself and certify its bound."""
        import cvxpy as cp

        objective, constraint = self.verified(objective, constraint)
        T = objective.n_samples
        K = constraint.n_clusters
        if T > self.max_samples:
            raise OracleError(
                f"{T} samples are too many for a semidefinite program "
                f"(max_samples={self.max_samples}): use a spectral or clustering oracle"
            )
        A = objective.dense()
        unit = max(float(np.abs(A).max()), np.finfo(float).tiny)
        M = cp.Variable((T, T), PSD=True)
        pairs = np.triu_indices(T, 1)
        constraints = [cp.sum(M, axis=1) == 1]
        if K is not None:
            constraints.append(cp.trace(M) == K)
        if T > 1:
            constraints.append(M[pairs] >= 0)
        with single_threaded():
            self._solve(cp.Problem(cp.Maximize(cp.sum(cp.multiply(A / unit, M))), constraints))
            N = np.zeros((T, T))
            if T > 1:
                N[pairs] = np.maximum(constraints[-1].dual_value, 0.0) * (unit / 2)
            N += N.T
            bound = min(certified_bound(A, N, K), certified_bound(A, np.zeros_like(A), K))
        return SemidefiniteSolution(np.asarray(M.value), N, bound)

    def _solve(self, problem: Any) -> None:
        """Run the solver, without warnings of inaccurate answers: the bound is certified anyway."""
        import cvxpy as cp

        options = {"eps_abs": self.tol, "eps_rel": self.tol} if self.solver == "SCS" else {}
        try:
            with without_warnings(Warning):
                solve_by(problem, self.solver, options)
            failure = problem.status
        except (cp.error.SolverError, ValueError) as error:
            failure = str(error)
        if failure not in {cp.OPTIMAL, cp.OPTIMAL_INACCURATE}:
            raise OracleError(
                f"{self.solver} failed on the semidefinite relaxation ({failure}): "
                f"try another solver of {cp.installed_solvers()}"
            )


def certified_bound(A: Floats, N: Floats, K: int | None) -> float:
    """``spectral(A + N)``: no partition (into K clusters) has a larger ``Tr(A M)``."""
    T = A.shape[0]
    C = A + N
    axis = np.ones(T)  # of a reflection whose columns, except the first, are orthogonal to 1
    axis[0] -= np.sqrt(T)
    V = np.eye(T)[:, 1:] - np.outer(axis, axis[1:]) * (2.0 / max(float(axis @ axis), 1e-300))
    w = np.linalg.eigvalsh(V.T @ C @ V)[::-1] if T > 1 else np.empty(0)
    spectral = np.maximum(w, 0.0).sum() if K is None else w[: K - 1].sum()
    rounding = 10 * T * np.finfo(float).eps * float(np.linalg.norm(C))
    return float(C.sum() / T + spectral + rounding)


def _is_tight(value: float, bound: float, objective: TraceObjective) -> bool:
    """Whether a bound proves that a value is the maximum."""
    scale = float(np.sum(objective.Z**2)) + objective.truth_weight + abs(objective.shift)
    return bound - value <= TIGHT * max(scale, abs(value))
