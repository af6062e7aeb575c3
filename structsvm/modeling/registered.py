"""The method of ``cvxpy.Problem.solve`` by its name."""

from __future__ import annotations

from typing import Any

import cvxpy as cp

__all__ = ["METHOD", "register"]

METHOD = "cutting-plane"


def register() -> None:
    """Let ``cvxpy.Problem.solve`` know of the method."""
    cp.Problem.register_solve(METHOD, _solve)


def _solve(problem: cp.Problem, *args: Any, **kwargs: Any) -> float:
    """Solve by cutting planes; the machinery is loaded when it is first needed."""
    from structsvm.modeling.method import solve

    return solve(problem, *args, **kwargs)
