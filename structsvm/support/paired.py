"""Student's interval of the mean of paired differences that come in groups."""

import numpy as np
from scipy.special import stdtrit

from structsvm.support.values import Floats, Ints


def half_interval(error: float, freedom: float, chance: float) -> float:
    """Half the width of the interval that misses the mean with probability ``chance``."""
    return float(stdtrit(freedom, 1.0 - chance / 2)) * error


def standard_error(
    differences: Floats, units: Ints, weights: Floats, draws: float = 1
) -> tuple[float, float]:
    """Standard error of the weighted mean and its degrees of freedom; units are independent."""
    mean = np.average(differences, weights=weights)
    total = weights.sum()
    sums = np.bincount(units, weights=weights * (differences - mean)) / total
    shares = np.bincount(units, weights=weights) / total
    G = np.unique(units[weights > 0]).size
    if G < 2 or shares.max() >= 1.0:
        return np.nan, np.nan
    se = float(np.sqrt(draws * np.sum(sums**2 / (1.0 - shares))))
    if draws > 1:
        return se, round(G / draws) - 1.0
    pull = shares**2 / (1.0 - shares)
    return se, float(1.0 / (np.sum(shares**2) + pull.sum() ** 2 - np.sum(pull**2)))
