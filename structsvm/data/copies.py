"""Samples that are copies of each other, which are not independent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from structsvm.storage.fingerprint import fingerprint
from structsvm.support.arrays import Ints


def contents(items: Sequence[Any]) -> Ints:
    """A number for each recording, the same for those that are copies of each other, (N,)."""
    return np.unique([fingerprint(item) for item in items], return_inverse=True)[1].astype(np.int64)


def joined(units: Ints, numbers: Ints) -> Ints:
    """The unit of each recording, (N,), where units that have copies in common are one."""
    G = int(units.max()) + 1
    links = coo_array(
        (np.ones(units.size), (units, G + numbers)), shape=(G + int(numbers.max()) + 1,) * 2
    )
    component = connected_components(links, directed=False)[1][units]
    return np.unique(component, return_inverse=True)[1].astype(np.int64)
