"""Regularizers: value, cvxpy form, quadratic form, and the bounds that certificates rest on."""

import cvxpy as cp
import numpy as np
import pytest
from cases import cases

from structsvm.errors import PluginError, SettingsError
from structsvm.problem import PSD, Custom, Free, Nonnegative, Product, Separable, SquaredNorm, Trace
from structsvm.testing import check_regularizer

MIXED = Product((PSD(3), Nonnegative(1)), metric_first=True)
SEVERAL = Product((Free(2), PSD(2)))
ENTRIES = Custom(lambda w: cp.norm1(cp.vec(w, order="C")))
CASES = [
    (Free(4), SquaredNorm(0.7)),
    (Free(4), SquaredNorm(0.7, center=2.0)),
    (Nonnegative(4), SquaredNorm(2.0)),
    (Nonnegative(4), SquaredNorm(2.0, center=np.array([1.0, -2.0, 0.0, 3.0]))),
    (Nonnegative(4), Trace(0.5)),
    (PSD(3), SquaredNorm(0.3, center=np.diag([1.0, 2.0, -1.0]))),
    (PSD(3), Trace(0.5)),
    (MIXED, SquaredNorm(0.5)),
    (MIXED, Trace(0.5)),
    (MIXED, Separable((SquaredNorm(0.5, center=1.0), SquaredNorm(3.0)))),
    (MIXED, Separable((Trace(0.5), SquaredNorm(3.0)))),
]
NOT_QUADRATIC = [
    (SEVERAL, ENTRIES),
    (SEVERAL, Separable((SquaredNorm(0.5), ENTRIES))),
    (SEVERAL, Separable((ENTRIES, ENTRIES))),
    (MIXED, ENTRIES),
]
IDS = [f"{space}-{omega}" for space, omega in CASES]


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def weight(space, rng):
    return space.project(rng.standard_normal(space.dim))


@pytest.mark.parametrize(("space", "omega"), [*CASES, *NOT_QUADRATIC])
def test_all_forms_of_a_regularizer_agree(space, omega):
    check_regularizer(omega, [space])


@cases(
    Trace(0.5),
    SquaredNorm(2.0, center=1.0),
    SquaredNorm(center=np.diag([1.0, -2.0])),
    Separable((Trace(), SquaredNorm(0.5))),
    Custom(lambda B: cp.lambda_max(B), weight=0.5),
    Custom(cp.norm1),
)
def test_check_regularizer_without_spaces_uses_those_accepted(omega):
    check_regularizer(omega)


@cases(
    (Separable((Trace(), Trace(), Trace())), "accepts no cone .* 3 parts, one for each factor"),
    (SquaredNorm(center=np.ones(7)), "accepts no cone .* give spaces="),
    (Custom(lambda B: cp.norm1(B @ np.ones(7))), "fails for a weight of shape"),
)
def test_a_regularizer_that_accepts_no_space_is_named(omega, complaint):
    with pytest.raises(PluginError, match=complaint):
        check_regularizer(omega)


def test_a_regularizer_must_accept_the_given_spaces():
    with pytest.raises(SettingsError, match="not nonnegative on Free"):
        check_regularizer(Trace(), [Nonnegative(3), Free(3)])


@pytest.mark.parametrize(("space", "omega"), CASES, ids=IDS)
def test_the_minimum_of_a_regularizer_is_a_lower_bound_and_attained(space, omega, rng):
    """Against a conic program, with ``Omega(w) <= upper`` as the contract says."""
    for size in (0.1, 1.0, 10.0):
        slope = size * rng.standard_normal(space.dim)
        upper = 2.5
        bound = omega.minimum(slope, space, upper)
        B, w, cone = space.variable()
        value = omega.as_cvxpy(B, w, space)
        problem = cp.Problem(cp.Minimize(value + slope @ w), [*cone, value <= upper])
        exact = float(problem.solve(solver="CLARABEL"))
        assert bound <= exact + 1e-6 * (1 + abs(exact))
        if isinstance(omega, SquaredNorm):  # attained when the constraint on Omega does not bind
            free = float(cp.Problem(cp.Minimize(value + slope @ w), cone).solve(solver="CLARABEL"))
            assert bound == pytest.approx(free, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("space", "omega"), CASES, ids=IDS)
def test_the_scale_repair_makes_the_dual_bounded(space, omega, rng):
    """``Omega(w) + s <slope, w>`` with the repaired s is bounded; with a larger one it is not."""
    for size in (0.1, 1.0, 10.0):
        slope = size * rng.standard_normal(space.dim)
        s = omega.max_scale(slope, space)
        assert 0 <= s <= 1
        assert np.isfinite(omega.minimum((1 - 1e-9) * s * slope, space, np.inf))
        if s < 1:
            assert omega.minimum(1.01 * s * slope, space, np.inf) == -np.inf


def test_custom_is_any_convex_expression_of_the_metric(rng):
    space = MIXED
    omega = Custom(lambda B: cp.lambda_max(B), weight=2.0)
    w = weight(space, rng)
    largest = np.linalg.eigvalsh(space.to_metric(w))[-1]
    assert omega.value(w, space) == pytest.approx(2 * largest)
    assert omega.scaled(0.5).value(w, space) == pytest.approx(largest)
    assert omega.as_quadratic(space) is None
    assert omega.minimum(w, space, 1.0) == -np.inf


def test_the_floor_of_a_custom_one_is_zero_only_where_its_sign_is_known():
    assert Custom(lambda b: cp.norm1(b)).floor(Nonnegative(2)) == 0.0
    assert Custom(lambda b: cp.sum(b) - 1).floor(Nonnegative(2)) == -np.inf
    assert SquaredNorm().floor(PSD(2)) == Trace().floor(PSD(2)) == 0.0
    mixed = Separable((Custom(lambda B: cp.trace(B) - 1), SquaredNorm()))
    assert mixed.floor(MIXED) == -np.inf


@pytest.mark.parametrize("expression", [lambda b: cp.sqrt(cp.sum(b)), lambda b: 2 * b])
def test_custom_refuses_what_is_no_convex_scalar(expression):
    space = Nonnegative(3)
    b, w, _ = space.variable()
    with pytest.raises(SettingsError, match="scalar convex"):
        Custom(expression).as_cvxpy(b, w, space)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("omega", [SquaredNorm, Trace])
def test_a_weight_that_is_not_positive_is_refused(omega, weight):
    with pytest.raises(SettingsError, match="weight must be > 0"):
        omega(weight)


def test_the_trace_needs_a_cone_on_which_it_is_nonnegative():
    b, w, _ = Free(2).variable()
    for use in (
        lambda: Trace().as_cvxpy(b, w, Free(2)),
        lambda: Trace().as_quadratic(Free(2)),
        lambda: Trace().as_quadratic(Product((PSD(2), Free(1)))),
    ):
        with pytest.raises(SettingsError, match="not nonnegative on Free"):
            use()
