"""Moments of recordings, found in one compiled pass, are those of numpy."""

from __future__ import annotations

import numpy as np

from structsvm.data.samples import Standardizer, centred
from structsvm.support.arrays import Stack
from structsvm.support.compiled import moments


def test_moments_are_those_of_numpy_to_the_last_bit():
    rng = np.random.default_rng(3)
    Xs = [rng.normal(3.0, 2.0, (T, 4)) for T in (1, 2, 3, 4, 5, 64, 203)]
    Xs[5][7, 1] = np.nan
    for X, mean, deviation in zip(Xs, *moments(Stack.of(Xs)), strict=True):
        away = X - np.add.reduce(X, axis=0) / len(X)
        np.testing.assert_array_equal(mean, np.add.reduce(X, axis=0) / len(X))
        np.testing.assert_array_equal(deviation, np.sqrt(np.add.reduce(away**2, axis=0) / len(X)))


def test_recordings_side_by_side_are_standardised_as_each_alone():
    rng = np.random.default_rng(3)
    Xs = [rng.normal(3.0, 2.0, (T, 4)) for T in (1, 2, 3, 4, 5, 64, 203)]
    Xs[5][:, 1] = 0.1
    Xs[6][:, 0] = 1e6 + 1e-7 * Xs[6][:, 0]
    standardizer = Standardizer("recording")
    for X, found in zip(Xs, standardizer.of_stack(Stack.of(Xs)).arrays(), strict=True):
        np.testing.assert_array_equal(found, standardizer(X))
    assert not standardizer(Xs[5])[:, 1].any()


def test_a_mean_within_a_deviation_stays():
    X = np.random.default_rng(2).normal(size=(500, 4))
    assert centred(X) is X
