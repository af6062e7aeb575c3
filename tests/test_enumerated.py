"""Every cone with every regularizer against one conic program over all labellings."""

from zlib import crc32

import cvxpy as cp
import numpy as np
import pytest
from enumerated import Listed, listed_risk, objective, optimum

from structsvm.errors import OracleWarning, SettingsError
from structsvm.problem import Separation
from structsvm.regularizers import Custom, Separable, SquaredNorm, Trace
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.subgradient import ProjectedSubgradient
from structsvm.status import Quality, Status
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


KINDS = [("none", "n"), ("none", "one"), ("bounded", "n")]
CASES = [
    (cone, name, *kind)
    for cone, space in CONES.items()
    for name in REGULARIZERS
    if name != "separable" or isinstance(space, Product)
    for kind in KINDS
]


@pytest.mark.parametrize(("cone", "name", "constraint", "slack"), CASES)
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


class Mistaken(Listed):
    """Answers one question in three by the second best labelling, and calls it the best."""

    def separate(self, w, x, y):
        values = np.array([self.loss(y, k) for k in range(len(x.features))]) + x.features @ w
        *_, second, best = np.argsort(values).tolist()
        wrong = crc32(w.tobytes() + x.features.tobytes()) % 3 == 0 and second != y
        slack = 0.3 * float(values[best] - values[second]) if wrong else 0.0
        return Separation(second if wrong else best, slack, Quality.EXACT)


@pytest.mark.parametrize("seed", [17, 21])
def test_what_is_found_later_is_compared_with_the_best_weight(seed):
    """The upper bound was below the objective, and both bounds close: certified as optimal."""
    lam = 10.0 ** np.random.default_rng(seed).uniform(-2, 0)
    problem = Mistaken(Free(3))
    risk = listed_risk(Free(3), SquaredNorm(lam), n_samples=6, seed=seed, problem=problem)
    with pytest.warns(OracleWarning):
        found = ProjectedSubgradient(Stopping(1e-2, 100)).solve(risk)
    assert found.upper < objective(risk, found.w)
    assert found.status in (Status.HEURISTIC, Status.CONTRADICTED)
