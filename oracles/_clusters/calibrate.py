"""The price of a cluster that suits labelled tables, from one Ward tree for each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from structsvm.data.deferred import Data, of_each
from structsvm.oracles._clusters.starts import ward_levels
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import adjusted_rand_index, partition_loss
from structsvm.partitions.metric import Calibration
from structsvm.support.arrays import Floats


def calibrate_tree(
    Zs: Sequence[Data],
    truths: Sequence[EquivalenceMatrix],
    penalties: Floats,
    weights: Floats | None,
    random_state: int,
) -> Calibration:
    """The loss and the adjusted Rand index at each of these prices, from one Ward tree a table."""
    task = partial(_tree_curves, penalties=penalties, random_state=random_state)
    curves = of_each("calibrating the penalty", task, Zs, truths)
    losses, agreements = np.average(curves, axis=0, weights=weights)
    return Calibration(penalties, losses, criterion=-agreements)


def _tree_curves(
    Z: Floats, truth: EquivalenceMatrix, penalties: Floats, random_state: int
) -> Floats:
    """Loss and adjusted Rand index of the partition at each price, (2, n)."""
    levels = ward_levels(Z - Z.mean(axis=0), penalties, random_state)
    known: dict[int, tuple[float, float]] = {}
    for labels in levels:
        if id(labels) not in known:
            guess = EquivalenceMatrix.from_labels(labels)
            known[id(labels)] = (partition_loss(truth, guess), adjusted_rand_index(truth, guess))
    return np.array([known[id(labels)] for labels in levels]).T
