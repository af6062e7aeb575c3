"""The best segmentations into every number of parts, from one dynamic program."""

import numpy as np
import pytest

from structsvm.errors import OracleError
from structsvm.oracles import SequentialOracle
from structsvm.partitions import Constraint, TraceObjective

ORACLES = {"pruned": SequentialOracle(), "scanned": SequentialOracle(pruning=False)}


def alone(oracle, Z, most):
    """The answer for each number of parts, asked for one after the other."""
    questions = (Constraint(n_clusters=K) for K in range(1, most + 1))
    return [oracle.ask(TraceObjective(Z), question).y.breakpoints for question in questions]


def together(oracle, Z, most):
    return [M.breakpoints for M in oracle.count_path(Z, most)]


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES)
@pytest.mark.parametrize("rank", [0, 1, 3, 17])
@pytest.mark.parametrize("T", [1, 2, 7, 15, 16, 17, 33, 70])
def test_every_number_of_parts_has_the_answer_that_it_has_alone(oracle, T, rank):
    rng = np.random.default_rng(T + rank)
    Z = rng.standard_normal((T, rank)) + np.repeat(3 * rng.standard_normal((T, rank)), 5, 0)[:T]
    assert together(oracle, Z, T) == alone(oracle, Z, T)


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES)
@pytest.mark.parametrize("seed", range(8))
def test_ties_are_broken_as_for_one_number_alone(oracle, seed):
    """Steps of whole numbers that come back have many best segmentations."""
    rng = np.random.default_rng(seed)
    Z = np.repeat(rng.integers(0, 2, (8, 2)), 4, axis=0).astype(float)
    assert together(oracle, Z, 12) == alone(oracle, Z, 12)


def test_fewer_parts_are_the_first_of_more():
    Z = np.random.default_rng(0).standard_normal((90, 4))
    oracle = SequentialOracle()
    assert together(oracle, Z, 6) == together(oracle, Z, 40)[:6]


def test_a_fortran_array_and_single_precision_are_as_good():
    Z = np.random.default_rng(1).integers(-3, 4, (50, 3)).astype(float)
    oracle = SequentialOracle()
    expected = together(oracle, Z, 9)
    assert together(oracle, np.asfortranarray(Z), 9) == expected
    assert together(oracle, Z.astype(np.float32), 9) == expected


@pytest.mark.parametrize("most", [0, -1, 6])
def test_a_number_of_parts_that_there_cannot_be_is_refused(most):
    with pytest.raises(OracleError, match="5 samples have segmentations into 1 to 5 parts"):
        SequentialOracle().count_path(np.zeros((5, 1)), most)
