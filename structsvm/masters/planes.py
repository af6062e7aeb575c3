"""Planes from answers of oracles: affine lower bounds of hinge losses."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from structsvm.masters.base import Cut, Labelling, Labellings
from structsvm.problem import Quality
from structsvm.support import Bools, Floats, Ints


class Planes(NamedTuple):
    """``intercepts + slopes @ w'``, lower bounds of the weighted hinge losses of groups.

    The same container holds the planes of single instances on a worker, their sums over the
    instances of a block, and the sums over all blocks.
    """

    w: Floats  # the weight at which the oracles were called, (d,)
    groups: Ints  # group of each plane, (n,)
    slopes: Floats  # ``sum_i omega_i (phi(x_i, y) - phi(x_i, y_i))``, (n, d)
    intercepts: Floats  # ``sum_i omega_i loss(y_i, y)``, (n,)
    values: Floats  # values of the planes at ``w``, nonnegative, (n,)
    slacks: Floats
    """The hinge losses exceed the values by at most this; 0 of heuristic answers, (n,)."""
    quality: Quality  # the weakest of the answers
    size: float
    """The sum of the magnitudes of the terms of the values, which rounding is relative to."""
    calls: int
    labellings: list[Labellings]  # the labellings that each plane comes from, n of them
    at_most: float = 0.0
    """Upper bound of the sum of the hinge losses, if the slacks of heuristic answers are true."""
    caught: int | None = None
    """An instance whose oracle claimed as the best labelling one that is worse than the truth."""
    penalty: float = 0.0  # Omega(w), set when the planes of all groups have been joined

    @classmethod
    def joined(cls, parts: "Sequence[Planes]") -> "Planes":
        """The planes of several blocks, one after another."""
        caught = [part.caught for part in parts if part.caught is not None]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("groups", "slopes", "intercepts", "values", "slacks")
        }
        return cls(
            w=parts[0].w,
            **columns,
            quality=weakest(part.quality for part in parts),
            size=sum(part.size for part in parts),
            calls=sum(part.calls for part in parts),
            labellings=list(chain.from_iterable(part.labellings for part in parts)),
            at_most=sum(part.at_most for part in parts),
            caught=min(caught, default=None),
        )

    def heights(self, w: Floats) -> Floats:
        """The planes at a weight, (n,)."""
        return np.asarray(self.intercepts + self.slopes @ w)

    def terms(self, w: Floats) -> Floats:
        """The sum of the magnitudes of the terms of each plane at a weight, (n,)."""
        return np.asarray(np.abs(self.intercepts) + np.abs(self.slopes) @ np.abs(w))

    def summed(self, groups: Ints | None = None) -> "Planes":
        """One plane for each group, the sum of its planes in their order."""
        of_planes = self.groups if groups is None else groups
        if of_planes.size == 1 or (of_planes[1:] > of_planes[:-1]).all():
            return self if groups is None else self._replace(groups=of_planes)
        present, places = np.unique(of_planes, return_inverse=True)
        sums: dict[str, Any] = {"slopes": np.zeros((present.size, self.w.size))}
        sums |= {name: np.zeros(present.size) for name in ("intercepts", "values", "slacks")}
        for name, total in sums.items():
            np.add.at(total, places, getattr(self, name))
        of_groups: list[list[Labelling]] = [[] for _ in present]
        unknown = set()
        for part, place in zip(self.labellings, places.tolist(), strict=True):
            of_groups[place] += part or ()
            if part is None:
                unknown.add(place)
        labellings = [None if g in unknown else tuple(whole) for g, whole in enumerate(of_groups)]
        return self._replace(groups=present, labellings=labellings, **sums)

    def cuts(self, wanted: Bools | None = None) -> list[Cut]:
        """All planes, or the ``wanted`` ones, (n,), as cuts of a working set."""
        which = range(len(self.groups)) if wanted is None else wanted.nonzero()[0].tolist()
        groups = self.groups.tolist()
        intercepts = self.intercepts.tolist()
        slopes = self.slopes
        labellings = self.labellings
        return [Cut(groups[k], intercepts[k], slopes[k], labellings[k]) for k in which]

    def without_cuts(self) -> "Planes":
        """The losses without the planes."""
        none = np.empty(0)
        d = self.w.size
        return self._replace(
            groups=none.astype(np.int64), slopes=none.reshape(0, d), intercepts=none, labellings=[]
        )


def weakest(qualities: Iterable[Quality]) -> Quality:
    """The weakest of several qualities; exact if there are none."""
    return max(qualities, key=list(Quality).index, default=Quality.EXACT)
