"""Which solver a restricted problem has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy as cp

from structsvm.modeling.by_clarabel import Box, Conic
from structsvm.modeling.by_name import ByName
from structsvm.modeling.by_newton import FastMaster, form_of
from structsvm.modeling.restricted import Restricted
from structsvm.modeling.rewriting import Rewritten


def solver_of(
    rewritten: Rewritten, box: Box, solver: str | None, options: Mapping[str, Any]
) -> Restricted:
    """What solves a restricted problem: Newton's method or Clarabel, unless one is named."""
    if rewritten.is_mixed_integer and solver is None and "HIGHS" in cp.installed_solvers():
        solver = "HIGHS"
    if rewritten.is_mixed_integer or solver not in (None, "CLARABEL"):
        return ByName(rewritten, solver, options)
    form = form_of(rewritten) if solver is None and not options else None
    if form is None:
        return Conic(rewritten, box, options)
    return FastMaster(rewritten, form, box)
