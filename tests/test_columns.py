"""What recordings are asked in one compiled pass is what numpy says of them."""

from __future__ import annotations

import numpy as np
import pytest

from structsvm.support.arrays import all_within
from structsvm.support.compiled import all_vary, near_zero, standardize
from structsvm.support.stack import Stack


def standardized(X: np.ndarray, spread: float) -> np.ndarray | None:
    stack = Stack.of([X])
    (done,) = standardize(stack, spread)
    return stack.rows if done else None


def all_near_zero(X: np.ndarray) -> bool:
    return bool(near_zero(Stack.around(X))[0])


SHAPES = [(1, 1), (2, 1), (1, 3), (7, 2), (50, 5), (203, 10), (64, 33)]


@pytest.fixture(params=SHAPES, ids=str)
def X(request):
    return np.random.default_rng(sum(request.param)).normal(3.0, 2.0, request.param)


@pytest.mark.parametrize("value", [3.0, -3.0, 1e150, -1e150, 5e-324])
def test_values_up_to_the_bound_are_within_it(X, value):
    X[-1, 0] = value
    assert all_within(X, 1e150)
    assert all_within(X, np.abs(X).max())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.001e150, -1e300])
def test_what_is_missing_or_beyond_the_bound_is_not(X, value):
    X[-1, 0] = value
    assert not all_within(X, 1e150)


def test_no_values_are_within_any_bound():
    assert all_within(np.empty((5, 0)), 0.0)


@pytest.mark.parametrize(
    "as_given",
    [np.asfortranarray, lambda X: np.repeat(X, 2, axis=0)[::2], lambda X: X.astype(np.float32)],
    ids=["by columns", "every other row", "single precision"],
)
def test_the_form_of_an_array_does_not_matter(X, as_given):
    given = as_given(X)
    found, plain = (standardized(x, 1e-12) for x in (given, np.array(given, dtype=np.float64)))
    assert (found is None) == (plain is None)
    if found is not None:
        np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if min(shape) > 1], ids=str)
def test_standardized_columns_are_those_of_numpy_to_the_last_bit(shape):
    X = np.random.default_rng(0).normal(3.0, 2.0, shape)
    away = X - np.add.reduce(X, axis=0) / len(X)
    deviation = np.sqrt(np.add.reduce(away * away, axis=0) / len(X))
    X.setflags(write=False)
    np.testing.assert_array_equal(standardized(X, 1e-12), away * (1.0 / deviation))


def test_what_is_missing_or_constant_is_left_to_a_second_look():
    X = np.random.default_rng(1).normal(size=(20, 3))
    missing, constant, nearly = X.copy(), X.copy(), X.copy()
    missing[4, 1] = np.nan
    constant[:, 2] = 0.1
    nearly[:, 0] = 1e6 + 1e-7 * X[:, 0]
    assert standardized(X, 1e-12) is not None
    for unclear in (missing, constant, nearly):
        assert standardized(unclear, 1e-12) is None
        assert not all_vary(unclear, 1e-6)
    assert all_vary(X, 1e-6)


def test_a_column_is_near_zero_if_its_mean_is_clearly_within_a_deviation():
    X = np.random.default_rng(2).normal(size=(500, 4))
    assert all_near_zero(X)
    assert not all_near_zero(X + 3.0 * (np.arange(4) == 2))
    assert not all_near_zero(np.where(np.arange(4) == 1, np.nan, X))


def test_recordings_side_by_side_are_standardised_as_each_alone():
    rng = np.random.default_rng(3)
    Xs = [rng.normal(3.0, 2.0, (T, 4)) for T in (1, 2, 3, 4, 5, 64, 203)]
    Xs[5][:, 1] = 0.1
    stack = Stack.of(Xs)
    done = standardize(stack, 1e-12)
    for X, found, is_done in zip(Xs, stack.arrays(), done, strict=True):
        alone = standardized(X, 1e-12)
        assert is_done == (alone is not None)
        np.testing.assert_array_equal(found, X if alone is None else alone)
    near = near_zero(stack)
    assert near.tolist() == [all_near_zero(X) for X in stack.arrays()]


def test_an_array_may_be_looked_at_where_it_is():
    X = np.random.default_rng(4).normal(size=(50, 3))
    assert Stack.around(X).rows is X
    assert np.shares_memory(Stack.around(X).array(0), X)
    X.setflags(write=False)
    assert all_near_zero(X)
