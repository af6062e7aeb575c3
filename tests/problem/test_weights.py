"""Cones: projection, derivative, dual cone, svec, the cvxpy variable."""

import numpy as np
import pytest
from cases import refused

from structsvm.errors import SettingsError
from structsvm.problem import PSD, Free, Nonnegative, Product, smat, svec

SPACES = [
    Free(4),
    Nonnegative(5),
    PSD(1),
    PSD(4),
    Product((PSD(3), Nonnegative(1)), metric_first=True),
    Product((Nonnegative(3), Free(2), PSD(2))),
]
CONES = [space for space in SPACES if not isinstance(space, Free)]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def symmetric(rng, P):
    A = rng.standard_normal((P, P))
    return A + A.T


def test_svec_preserves_inner_products(rng):
    A = symmetric(rng, 5)
    B = symmetric(rng, 5)
    assert svec(A) @ svec(B) == pytest.approx(np.trace(A @ B), rel=1e-12)
    np.testing.assert_allclose(smat(svec(A)), A, rtol=1e-15)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_projection_is_the_nearest_point_of_the_cone(space, rng):
    """Moreau: u = Pi(u) + (u - Pi(u)), the parts orthogonal, the second in minus the dual cone."""
    for _ in range(20):
        u = rng.standard_normal(space.dim)
        w = space.project(u)
        np.testing.assert_allclose(space.project(w), w, atol=1e-12)
        assert w @ (u - w) == pytest.approx(0, abs=1e-12)
        assert space.dual_margin(w - u) >= -1e-12
        np.testing.assert_allclose(space.projection(u).w, w, atol=1e-12)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_the_factor_is_the_root_of_the_projections_derivative(space, rng):
    """Against finite differences, where the projection is smooth (almost everywhere)."""
    for _ in range(5):
        u = rng.standard_normal(space.dim)
        rows = rng.standard_normal((6, space.dim))
        step = 1e-6
        moved = [(space.project(u + step * r) - space.project(u - step * r)) for r in rows]
        F = space.projection(u).factor(rows)
        np.testing.assert_allclose(F @ F.T, rows @ (np.array(moved) / (2 * step)).T, atol=1e-6)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_factor_is_right_at_the_ends_of_the_semidefinite_cone(sign, rng):
    """Inside the cone the derivative is the identity, inside the polar cone it is zero."""
    rows = rng.standard_normal((3, PSD(3).dim))
    F = PSD(3).projection(sign * svec(np.eye(3))).factor(rows)
    np.testing.assert_allclose(F @ F.T, rows @ rows.T if sign > 0 else np.zeros((3, 3)), atol=1e-12)


def test_factors_of_many_large_matrices_are_computed_in_chunks(rng):
    space = PSD(40)
    u = rng.standard_normal(space.dim)
    rows = rng.standard_normal((3000, space.dim))
    factor = space.projection(u).factor
    np.testing.assert_allclose(factor(rows)[2990:], factor(rows[2990:]), atol=1e-12)


@pytest.mark.parametrize("space", CONES, ids=str)
def test_dual_margin_tells_the_dual_cone(space, rng):
    """Self-dual cones: nonnegative on the cone; a negative one has a witness inside the cone."""
    for _ in range(20):
        s = rng.standard_normal(space.dim)
        if space.dual_margin(s) < 0:
            assert s @ space.project(-s) < 0
        else:
            assert all(s @ space.project(rng.standard_normal(space.dim)) >= 0 for _ in range(20))


def test_dual_margin_of_all_of_space_is_minus_the_norm():
    assert Free(2).dual_margin(np.array([3.0, 4.0])) == -5.0


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_the_identity_of_a_cone_gives_the_trace(space, rng):
    w = space.project(rng.standard_normal(space.dim))
    metric = space.to_metric(w)
    if isinstance(space, Product):
        blocks = zip(space.factors, space.split(w), strict=True)
        expected = sum(f.identity() @ block for f, block in blocks)
    else:
        expected = np.trace(metric) if metric.ndim == 2 else metric.sum()
    assert space.identity() @ w == pytest.approx(expected)


def test_a_metric_becomes_a_weight_and_a_metric_again(rng):
    A = symmetric(rng, 3)
    np.testing.assert_allclose(PSD(3).to_metric(PSD(3).from_metric(A)), A)
    np.testing.assert_allclose(Nonnegative(2).from_metric(np.diag([1.0, 2.0])), [1, 2])
    priced = Product((Nonnegative(2), Nonnegative(1)), metric_first=True)
    np.testing.assert_allclose(priced.from_metric([1.0, 2.0]), [1, 2, 0])
    several = Product((Nonnegative(2), PSD(1)))
    np.testing.assert_array_equal(several.from_metric([1.0, 2.0, 3.0]), [1, 2, 3])


test_a_metric_of_another_shape_is_refused = refused(
    SettingsError,
    lambda space, metric: space.from_metric(metric),
    (PSD(2), np.eye(3), r"shape \(2, 2\), got \(3, 3\)"),
    (PSD(2), np.array([[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
    (Nonnegative(2), np.ones(3), r"length 2, got shape \(3,\)"),
    (Nonnegative(2), np.ones((2, 2)), r"length 2, got shape \(2, 2\)"),
)
