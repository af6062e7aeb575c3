"""Every cone with every regularizer against one conic program over all labellings."""

import cvxpy as cp
import numpy as np
import pytest
from enumerated import listed_risk, objective, optimum

from structsvm.errors import SettingsError
from structsvm.regularizers import Custom, Separable, SquaredNorm, Trace
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.weights import PSD, Free, Nonnegative, Product

CONES = {
    "free": Free(3),
    "diagonal": Nonnegative(4),
    "full": PSD(3),
    "priced full": Product((PSD(2), Nonnegative(1))),
    "priced diagonal": Product((Nonnegative(3), Nonnegative(1))),
    "free next to diagonal": Product((Free(2), Nonnegative(2))),
}
REGULARIZERS = {
    "squared": SquaredNorm(0.5),
    "centred": SquaredNorm(0.5, center=0.5),
    "trace": Trace(0.1),
    "separable": Separable((SquaredNorm(0.3), Trace(0.1))),
    "custom": Custom(lambda B: cp.norm(cp.vec(B, order="C"), 2), weight=0.2),
}
CONSTRAINTS = {"none": None, "bounded": lambda B: [cp.abs(B) <= 0.05]}


def cases():
    for cone, space in CONES.items():
        for name in REGULARIZERS:
            if name != "separable" or isinstance(space, Product):
                for constraint in CONSTRAINTS:
                    yield pytest.param(cone, name, constraint, id=f"{cone}-{name}-{constraint}")


@pytest.mark.parametrize("slack", ["n", "one"])
@pytest.mark.parametrize(("cone", "name", "constraint"), list(cases()))
def test_the_optimum_is_that_over_all_labellings(cone, name, constraint, slack):
    space, omega = CONES[cone], REGULARIZERS[name]
    risk = listed_risk(space, omega, seed=3, constraints=CONSTRAINTS[constraint])
    solver = CuttingPlane(Stopping(1e-7, 400), slack)
    if name == "trace" and "free" in cone:  # unbounded below, where it is not refused
        with pytest.raises(SettingsError, match="the trace is not nonnegative on Free"):
            solver.solve(risk)
        return
    solution, best = solver.solve(risk), optimum(risk)
    assert solution.upper == pytest.approx(best, rel=1e-6)
    assert objective(risk, solution.w) == pytest.approx(solution.upper, rel=1e-9)
    assert best * (1 - 1e-6) <= solution.lower <= best * (1 + 1e-8)
    np.testing.assert_allclose(space.project(solution.w), solution.w, atol=1e-8)
