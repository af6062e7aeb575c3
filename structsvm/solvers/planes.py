"""Lower bounds of hinge losses that oracles give at a weight, one plane for each group of samples.

The same container holds the planes of single samples on a worker, their sums over the samples of a
block, and the sums over all blocks, with which certificates and working sets go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from structsvm.masters.working_set import Cut, Labelling, Labellings
from structsvm.status import Quality
from structsvm.support.arrays import Bools, Floats, Ints

RANKS = list(Quality)
"""From the strongest to the weakest."""


class Planes(NamedTuple):
    """``intercepts + slopes @ w'``, lower bounds of the weighted hinge losses of groups."""

    w: Floats
    """The weight at which the oracles were called, (d,)."""
    groups: Ints
    """Which group each plane is of, (n,)."""
    slopes: Floats
    """``sum_i omega_i (phi(x_i, y) - phi(x_i, y_i))``, (n, d)."""
    intercepts: Floats
    """``sum_i omega_i loss(y_i, y)``, (n,)."""
    values: Floats
    """At ``w``; nonnegative, (n,)."""
    slacks: Floats
    """The hinge losses exceed the values by at most this; 0 of heuristic answers, (n,)."""
    quality: Quality
    """The weakest of the answers."""
    size: float
    """The sum of the magnitudes of what the values are sums of: what rounding is relative to."""
    calls: int
    """Of oracles."""
    labellings: list[Labellings]
    """Those that each plane is of, n of them."""
    at_most: float = 0.0
    """The sum of the hinge losses is at most this, if the slacks of heuristic answers are true."""
    caught: int | None = None
    """A sample whose oracle claimed that no labelling is better than one worse than the truth."""
    penalty: float = 0.0
    """Omega(w), once all groups are there."""

    @classmethod
    def empty(cls, w: Floats, groups: Ints) -> Planes:
        """Planes of single samples, to be filled in by their oracles."""
        n = groups.size
        slopes, (intercepts, values, slacks) = np.zeros((n, w.size)), np.zeros((3, n))
        none: list[Labellings] = [()] * n
        return cls(w, groups, slopes, intercepts, values, slacks, Quality.EXACT, 0.0, 0, none)

    @classmethod
    def joined(cls, parts: Sequence[Planes]) -> Planes:
        """Return the planes of several blocks, one after another."""
        caught = [part.caught for part in parts if part.caught is not None]
        return cls(
            w=parts[0].w,
            groups=np.concatenate([part.groups for part in parts]),
            slopes=np.concatenate([part.slopes for part in parts]),
            intercepts=np.concatenate([part.intercepts for part in parts]),
            values=np.concatenate([part.values for part in parts]),
            slacks=np.concatenate([part.slacks for part in parts]),
            quality=weakest(part.quality for part in parts),
            size=sum(part.size for part in parts),
            calls=sum(part.calls for part in parts),
            labellings=list(chain.from_iterable(part.labellings for part in parts)),
            at_most=sum(part.at_most for part in parts),
            caught=min(caught, default=None),
        )

    @property
    def value(self) -> float:
        """``F(w)`` with the labellings found."""
        return self.penalty + float(self.values.sum())

    def summed(self, groups: Ints | None = None) -> Planes:
        """One plane for each group, added in the order in which they are here."""
        given = self.groups if groups is None else groups
        if given.size == 1 or (given[1:] > given[:-1]).all():
            return self if groups is None else self._replace(groups=given)
        present, places = np.unique(given, return_inverse=True)
        slopes = np.zeros((present.size, self.w.size))
        intercepts, values, slacks = np.zeros((3, present.size))
        np.add.at(slopes, places, self.slopes)
        np.add.at(intercepts, places, self.intercepts)
        np.add.at(values, places, self.values)
        np.add.at(slacks, places, self.slacks)
        return self._replace(
            groups=present,
            slopes=slopes,
            intercepts=intercepts,
            values=values,
            slacks=slacks,
            labellings=together(self.labellings, places, present.size),
        )

    def cuts(self, wanted: Bools | None = None) -> list[Cut]:
        """As a working set takes them: all of them, or those that are ``wanted``, (n,)."""
        which = range(len(self.groups)) if wanted is None else wanted.nonzero()[0].tolist()
        groups, intercepts = self.groups.tolist(), self.intercepts.tolist()
        slopes, labellings = self.slopes, self.labellings
        return [Cut(groups[k], intercepts[k], slopes[k], labellings[k]) for k in which]


def together(labellings: Sequence[Labellings], places: Ints, n_groups: int) -> list[Labellings]:
    """The labellings of sums of planes; None where those of a term are not known."""
    found: list[list[Labelling] | None] = [[] for _ in range(n_groups)]
    for part, place in zip(labellings, places.tolist(), strict=True):
        whole = found[place]
        if part is None or whole is None:
            found[place] = None
        else:
            whole.extend(part)
    return [None if whole is None else tuple(whole) for whole in found]


def weakest(qualities: Iterable[Quality]) -> Quality:
    """The weakest of several qualities."""
    found = Quality.EXACT
    for quality in qualities:
        if quality is not found and RANKS.index(quality) > RANKS.index(found):
            found = quality
    return found
