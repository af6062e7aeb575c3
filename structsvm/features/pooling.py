"""Weights of several classifiers in a mean, learned from their held-out probabilities."""

from collections.abc import Sequence

import numpy as np

from structsvm.data import UNKNOWN
from structsvm.support import Floats, Ints, stage

PRIOR = 0.1
"""Strength of the prior for equal weights, in units of one group of recordings. Of 0.1 and 1, 0.1
had the smaller mean loss on 14 divisions of har_spsw, mocap6, SKAB, TEP and digits into training
and held-out groups."""
MAX_ROUNDS = 200  # iterations of expectation maximisation
TOLERANCE = 1e-5  # the largest change of a weight at which it ends
SAMPLES_POOLED = 20_000  # about the most samples that weights are learned from


def pool_weights(likelihoods: Floats, counts: Floats, prior: float = PRIOR) -> Floats:
    r"""Return the weights of classifiers in the mean of their probabilities, (V,), which sum to 1.

    They maximise the concave function

    .. math:: \sum_t c_t \log \sum_v w_v p_{tv} + \kappa \sum_v \log w_v

    by expectation maximisation. The second term shrinks them to equal weights.

    Parameters
    ----------
    likelihoods : array of shape (n, V)
        Probabilities > 0 that each classifier gives to the true state of each sample.
    counts : array of shape (n,)
        The weight of each sample, ``c_t``.
    prior : float
        ``kappa`` > 0, in units of the counts.
    """
    n_classifiers = likelihoods.shape[1]
    weights = np.full(n_classifiers, 1.0 / n_classifiers)
    for _ in range(MAX_ROUNDS):
        shares = weights * likelihoods
        shares /= shares.sum(axis=1, keepdims=True)
        before = weights
        weights = counts @ shares + prior
        weights /= weights.sum()
        if np.abs(weights - before).max() < TOLERANCE:
            break
    return weights


def pooled(
    held_out: Sequence[Sequence[Floats]],
    codes: Sequence[Ints],
    fold: Ints,
    units: Ints,
    least: float,
) -> tuple[list[Floats], Floats]:
    """The mean of several classifiers for each recording, (T_i, C), and their weights, (V,).

    The weights for a recording are learned from the other folds. ``held_out`` holds the
    probabilities of each classifier, ``codes`` the true states. Each unit, a group of recordings,
    counts once, and ``least`` is added to the probabilities, as the decoder does.
    """
    likelihoods = []
    of_unit = []
    every = 1 + sum(code.size for code in codes) // SAMPLES_POOLED
    for i, code in enumerate(codes):
        labelled = np.flatnonzero(code != UNKNOWN)[::every]
        likelihoods.append(
            np.stack([p[i][labelled, code[labelled]] for p in held_out], axis=1) + least
        )
        of_unit.append(np.full(labelled.size, units[i]))
    rows = np.concatenate(likelihoods)
    unit = np.concatenate(of_unit)
    fold_of_row = np.repeat(fold, [len(one) for one in likelihoods])
    counts = 1.0 / np.bincount(unit)[unit]
    means: list[Floats] = [np.empty(0)] * len(codes)
    for k in stage("weighing classifiers", np.unique(fold).tolist()):
        others = fold_of_row != k
        weights = pool_weights(rows[others], counts[others])
        for i in np.flatnonzero(fold == k).tolist():
            means[i] = np.average([p[i] for p in held_out], axis=0, weights=weights)
    return means, pool_weights(rows, counts)


def losses_of_units(
    means: Sequence[Floats], codes: Sequence[Ints], units: Ints, least: float
) -> Floats:
    """The mean over its labelled samples of ``-log(p + least)`` of the true state, of each unit."""
    counts = np.zeros(units.max() + 1)
    totals = np.zeros(units.max() + 1)
    for p, code, unit in zip(means, codes, units.tolist(), strict=True):
        labelled = np.flatnonzero(code != UNKNOWN)
        counts[unit] += labelled.size
        totals[unit] -= np.log(p[labelled, code[labelled]] + least).sum()
    return np.asarray(totals[counts > 0] / counts[counts > 0])
