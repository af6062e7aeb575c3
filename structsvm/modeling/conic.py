"""A conic program that is canonicalised once, to which rows are appended."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from structsvm.errors import MasterError, SettingsError
from structsvm.masters.bounds import proved_bound
from structsvm.masters.cvxpy import PRECISE, PRECISE_OPTIONS
from structsvm.support.arrays import Floats, Ints
from structsvm.support.quiet import without_warnings

SOLVED = ("Solved", "AlmostSolved", "InsufficientProgress")
DECIDED = (*SOLVED, "PrimalInfeasible", "DualInfeasible")
USABLE = (*SOLVED, "MaxIterations", "MaxTime", "NumericalError")
"""Where Clarabel ends at a point: as good as any to ask oracles at, and the bound is checked."""

SCALES = (
    "its numbers differ too much; divide the objective, or measure the variables in other units, "
    "so that both are of the order of 1"
)


class InfeasibleError(MasterError):
    """The restricted problem has no point, and so neither has the problem."""


class UnboundedError(MasterError):
    """The restricted problem has no minimum; the problem may have one."""


@dataclass(frozen=True, eq=False)
class ConicAnswer:
    """A solution of a conic program with rows appended."""

    x: Floats
    """In the variables of the standard form."""
    multipliers: Floats
    """Of the rows appended."""
    bound: float
    """A lower bound of the minimum, from a dual point that was checked."""
    status: str
    raw: Any
    """Of the solver, without the rows appended, as cvxpy takes it to be its own."""


class ConicProgram:
    """``min f(x)`` over cones as Clarabel takes it, with rows ``R x <= r`` that change."""

    def __init__(self, problem: cp.Problem) -> None:
        with without_warnings(Warning):
            self.data, self.chain, self.inverse = problem.get_problem_data(
                "CLARABEL", solver_opts={}
            )
        self.problem = problem
        self.offset = float(self.inverse[-1][cp.settings.OFFSET])
        dims = self.data["dims"]
        A = sp.csr_array(self.data["A"])
        self._at = int(dims.zero + dims.nonneg)
        self._above, self._below = A[: self._at], A[self._at :]
        self._columns: Mapping[int, int] = self.data[cp.settings.PARAM_PROB].var_id_to_col

    @property
    def size(self) -> int:
        """The number of variables of the standard form."""
        return int(self.data["c"].size)

    def columns(self, variable: cp.Variable) -> Ints:
        """Where the entries of a variable without attributes are, column by column."""
        first = self._columns[variable.id]
        return np.arange(first, first + variable.size)

    def solve(
        self, rows: Any, right: Floats, tol: float, options: Mapping[str, Any]
    ) -> ConicAnswer:
        """Solve with ``rows @ x <= right`` besides."""
        extended = self._extended(rows, right)
        raw = self._solved(extended, tol < PRECISE, options)
        status = str(raw.status)
        if status == "PrimalInfeasible":
            if self._has_a_point(rows, right):
                raise MasterError(f"Clarabel finds no point of the restricted problem: {SCALES}")
            raise InfeasibleError("the restricted problem is infeasible")
        if status in ("DualInfeasible", "AlmostDualInfeasible"):  # a box will tell
            raise UnboundedError("the restricted problem is unbounded")
        x, z = np.asarray(raw.x, dtype=np.float64), np.asarray(raw.z, dtype=np.float64)
        if status not in USABLE or not (np.isfinite(x).all() and np.isfinite(z).all()):
            raise MasterError(
                f"Clarabel could not solve the restricted problem ({status}): {SCALES}"
            )
        bound = proved_bound(extended, self.offset, x, z)
        end = self._at + right.size
        own = np.concatenate([z[: self._at], z[end:]])
        bare = SimpleNamespace(
            x=x,
            z=own,
            status="Solved",
            obj_val=raw.obj_val,
            solve_time=raw.solve_time,
            iterations=raw.iterations,
        )
        return ConicAnswer(x, np.maximum(z[self._at : end], 0.0), bound, status, bare)

    def _has_a_point(self, rows: Any, right: Floats) -> bool:
        """Whether there is one after all, where an objective of large numbers hid it.

        Without the objective, and without the rows that some variable satisfies by growing, because
        it is nowhere else: the heights of atoms that no constraint has.
        """
        rows, own = sp.csc_array(rows), sp.csc_array(self.data["A"])
        grows = (rows.max(axis=0).toarray().ravel() <= 0) & (np.diff(own.indptr) == 0)
        kept = np.flatnonzero(rows @ grows >= 0)
        rows = sp.csr_array(rows)
        data = self._extended(rows[kept], right[kept])
        if not data["b"].size:
            return True
        data["P"], data["c"] = sp.csc_array((self.size, self.size)), np.zeros(self.size)
        raw = self.chain.solver.solve_via_data(data, False, False, {})
        return str(raw.status) in SOLVED

    def _solved(self, data: dict[str, Any], precise: bool, options: Mapping[str, Any]) -> Any:
        """The answer of Clarabel; with its usual settings where precise ones led nowhere."""
        attempts = [PRECISE_OPTIONS["CLARABEL"], {}] if precise else [{}]
        for attempt in attempts:
            try:
                raw = self.chain.solver.solve_via_data(data, False, False, {**attempt, **options})
            except TypeError as error:  # a setting that there is none of, or of another type
                raise SettingsError(f"Clarabel does not take {sorted(options)}: {error}") from error
            if str(raw.status) in DECIDED:
                break
        return raw

    def value(self, x: Floats) -> float:
        """The objective at a point of the standard form."""
        P = self.data.get("P")
        bent = 0.0 if P is None else 0.5 * float(x @ (P @ x))
        return bent + float(self.data["c"] @ x) + self.offset

    @property
    def is_curved(self) -> bool:
        P = self.data.get("P")
        return P is not None and P.nnz > 0

    def nearest(
        self,
        rows: Any,
        right: Floats,
        columns: Ints,
        center: Floats,
        level: float,
        options: Mapping[str, Any],
    ) -> Floats:
        """The ``x`` whose ``columns`` are nearest to ``center``, with an objective up to
        ``level``.
        """
        c = self.data["c"]
        size = max(float(np.abs(c).max(initial=0.0)), 1e-300)
        low = sp.csr_array(c.reshape(1, -1) / size)
        extended = self._extended(
            sp.vstack([rows, low]), np.append(right, (level - self.offset) / size)
        )
        ones, target = np.zeros(c.size), np.zeros(c.size)
        ones[columns], target[columns] = 1.0, -center
        extended["P"], extended["c"] = sp.csc_array(sp.diags_array(ones)), target
        raw = self.chain.solver.solve_via_data(extended, False, False, dict(options))
        x = np.asarray(raw.x, dtype=np.float64)
        if str(raw.status) not in SOLVED or not np.isfinite(x).all():
            raise MasterError(f"no nearest point was found: {raw.status}")
        return x

    def unpack(self, answer: ConicAnswer) -> None:
        """Give the variables and the constraints of the problem their values and duals."""
        with without_warnings(Warning):
            self.problem.unpack_results(answer.raw, self.chain, self.inverse)

    def _extended(self, rows: Any, right: Floats) -> dict[str, Any]:
        """The program with the rows after the other inequalities."""
        data = dict(self.data)
        A = sp.vstack([self._above, sp.csr_array(rows), self._below], format="csc")
        b = self.data["b"]
        dims = copy.copy(self.data["dims"])
        dims.nonneg = int(dims.nonneg) + right.size
        data["A"], data["dims"] = A, dims
        data["b"] = np.concatenate([b[: self._at], right, b[self._at :]])
        return data
