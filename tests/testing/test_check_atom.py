"""What check_atom says of right and of wrong oracles."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest

from structsvm.errors import OracleError, PluginError
from structsvm.modeling import Infeasible
from structsvm.testing import check_atom

ROWS = np.random.default_rng(0).normal(size=(20, 3))


def highest(x, factor=1.0):
    k = (ROWS @ x).argmax()
    return factor * (ROWS[k] @ x), factor * ROWS[k]


def several(x):
    best = np.argsort(ROWS @ x)[-4:]
    return ROWS[best] @ x, ROWS[best]


def rough(x):
    """A row that may not be the best, and what the best is below."""
    return ROWS[0] @ x, ROWS[0], (ROWS @ x).max()


def in_a_ball(x):
    length = np.linalg.norm(x)
    return highest(x) if length <= 2 else Infeasible(length - 2, x / length)


def of_two(X, t):
    return np.abs(X).sum() + t**2, (np.sign(X), 2 * t)


@pytest.mark.parametrize("oracle", [highest, several, rough, in_a_ball])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_right_oracles_pass_check_atom(oracle, scale):
    check_atom(oracle, (3,), scale=scale)


def test_check_atom_takes_the_declarations_of_an_atom():
    check_atom(of_two, [(2, 2), ()], sign="nonneg")
    check_atom(lambda x: (x.ravel(), np.eye(4).reshape(4, 2, 2)), (2, 2), n_terms=4)
    check_atom(lambda x: (x.sum(), np.ones(3)), (3,), monotonicity="increasing")
    factor = cp.Parameter(nonneg=True, value=2.0)
    check_atom(highest, (3,), parameters=[factor])


class Reads:
    """An oracle that holds a parameter."""

    def __init__(self, held):
        self.held = held

    def __call__(self, x):
        return highest(x)


def tired():
    """Every answer is a little less than the one before."""
    asked = []

    def oracle(x):
        asked.append(x)
        value, slope = highest(x)
        return value - 0.01 * len(asked), slope

    return oracle


def reading(parameter):
    return lambda x: highest(x, parameter.value)


PRICE = cp.Parameter(nonneg=True, value=1.0, name="price")

WRONG = {
    "level": (lambda x: (x @ x, 0 * x), "its slope is 0, and the function moves"),
    "level on one side": (lambda x: (abs(x[0]), np.eye(3)[0] * (x[0] > 0)), "slope is 0"),
    "another slope": (lambda x: (x @ x, x), "its slope is not that of h"),
    "turned": (lambda x: (highest(x)[0], -highest(x)[1]), "its slope is not that of h"),
    "concave": (lambda x: (-(x @ x), -2 * x), "it is concave along a line"),
    "concave at a kink": (lambda x: (-abs(x[0]), -np.sign(x[0]) * np.eye(3)[0]), "concave along"),
    "tired": (tired(), "when it is asked again"),
    "a closure": (reading(PRICE), "reads the parameter price"),
    "a partial": (partial(highest, factor=PRICE), "reads the parameter price"),
    "an object": (Reads([PRICE]), "reads the parameter price"),
    "a method": (Reads({"a": PRICE}).__call__, "reads the parameter price"),
    "a global": (lambda x: highest(x, PRICE.value), "reads the parameter price"),
    "a domain too small": (
        lambda x: Infeasible(1.0, np.eye(3)[0]) if x[0] > 0.5 else highest(x),
        "cuts off point",
    ),
    "a slope of another shape": (lambda x: (1.0, x[:2]), "where .* is due"),
    "NaN": (lambda x: (np.nan, x), "returned nan"),
}


@pytest.mark.parametrize(("oracle", "words"), WRONG.values(), ids=WRONG)
def test_wrong_oracles_are_named_by_check_atom(oracle, words):
    with pytest.raises((PluginError, OracleError), match=f"check_atom: .*{words}"):
        check_atom(oracle, (3,))
