"""Sums of neighbouring rows, which oracles' features and masters are made of."""

import numpy as np
import pytest

from structsvm.support.arrays import FEW, LITTLE, sums_of_runs


@pytest.mark.parametrize("longest", [1, 2, FEW, FEW + 1, 300])
@pytest.mark.parametrize("seed", range(5))
def test_runs_are_summed_as_numpy_sums_them_to_the_last_bit(longest, seed):
    random = np.random.default_rng(seed)
    sizes = np.where(random.random(400) < 0.8, 1, random.integers(1, longest + 1, 400))
    X = random.normal(size=(sizes.sum(), 31)) * 10.0 ** random.integers(-9, 9)
    starts = np.cumsum(sizes) - sizes
    assert X.size > LITTLE
    found = sums_of_runs(X, starts)
    assert found.tobytes() == np.add.reduceat(X, starts, axis=0).tobytes()


@pytest.mark.parametrize("sizes", [[400, 1], [1, 400], [20, 20] + 400 * [1], 400 * [1] + [20, 20]])
def test_long_runs_may_be_neighbours_first_or_last(sizes):
    X = np.random.default_rng(0).normal(size=(sum(sizes), 40))
    starts = np.cumsum(sizes) - sizes
    found = sums_of_runs(X, starts)
    assert found.tobytes() == np.add.reduceat(X, starts, axis=0).tobytes()
