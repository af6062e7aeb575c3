"""The metric in which dynamic time warping aligns pairs of recordings, learned from aligned pairs.

Garreau, Lajugie, Arlot and Bach, Metric Learning for Temporal Sequence Alignment, NIPS 2014.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from structsvm.errors import DataError
from structsvm.partitions import Quality
from structsvm.problem import (
    PSD,
    CompletableProblem,
    Nonnegative,
    Separation,
    WeightSpace,
    metric_factor,
    svec,
)
from structsvm_alignment.warping import deviations, warp

__all__ = ["Alignment", "deviations", "pruned", "warp"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pair = tuple[Floats, Floats]

SHARES = (0.0, 0.1, 0.2, 0.3, 0.5)
"""Of the heaviest direction, below which others are left out."""


@dataclass(frozen=True)
class Alignment(CompletableProblem):
    """Align two recordings of the same events by dynamic time warping.

    A sample is a pair of arrays, (T1, P) and (T2, P). A labelling is a path, an array (L, 2) of the
    indices that belong together, from (0, 0) to (T1 - 1, T2 - 1) by steps (1, 0), (0, 1) and
    (1, 1). Of a label, cells may be left out: the others are anchors, of which the cheapest way is
    taken from each to the next. A path scores minus the sum of ``<B, (a_i - b_j)(a_i - b_j)^T>``
    over its cells. The loss is the area between two paths: how far each cell is from the true path,
    in its row and column.

    Parameters
    ----------
    n_features : int, optional
        P, by default that of the samples.
    metric : {"full", "diagonal"}
    """

    n_features: int | None = None
    metric: str = "full"

    def sized(self, xs: Sequence[Pair], ys: Sequence[Ints]) -> "Alignment":
        return replace(self, n_features=self.n_features or np.shape(xs[0][0])[-1])

    def check(self, x: Pair, y: Ints | None = None) -> None:
        shapes = [np.shape(part) for part in x] if isinstance(x, tuple | list) else []
        P = self.n_features
        if len(shapes) != 2 or any(len(s) != 2 or s[1] != P or s[0] < 1 for s in shapes):
            raise DataError(f"a sample is two arrays, (T1, {P}) and (T2, {P}), got shapes {shapes}")
        last = shapes[0][0] - 1, shapes[1][0] - 1
        if y is not None and not is_way(np.asarray(y), last):
            said = f"a path goes from (0, 0) to {last}, never back; cells may be left out of it"
            raise DataError(said)

    def weight_space(self) -> WeightSpace:
        assert self.n_features is not None
        is_full = self.metric == "full"
        return PSD(self.n_features) if is_full else Nonnegative(self.n_features)

    def start(self) -> Floats:
        """Plain warping, which completes anchors where no path is known in full."""
        return self.weight_space().identity()

    def is_complete(self, y: Ints) -> bool:
        return bool(np.diff(y, axis=0).max(initial=0) <= 1)

    def complete(self, w: Floats, x: Pair, y: Ints) -> Ints:
        costs = self.costs(w, x)
        path = [y[:1]]
        for (i, j), (k, l) in pairwise(y.tolist()):
            between = np.ascontiguousarray(costs[i : k + 1, j : l + 1])
            path.append(warp(between)[1:] + np.array([i, j]))
        return np.vstack(path)

    def joint_feature(self, x: Pair, y: Ints) -> Floats:
        a, b = x
        away = a[y[:, 0]] - b[y[:, 1]]
        sums = svec(away.T @ away) if self.metric == "full" else (away**2).sum(axis=0)
        return -sums / (len(a) + len(b))

    def loss(self, y: Ints, y_hat: Ints) -> float:
        away = deviations(y)
        return float(away[y_hat[:, 0], y_hat[:, 1]].sum()) / sum(away.shape)

    def predict(self, w: Floats, x: Pair) -> Ints:
        return warp(self.costs(w, x))

    def separate(self, w: Floats, x: Pair, y: Ints) -> Separation:
        """The loss is a sum over cells, so that it is subtracted from their costs."""
        return Separation(warp(self.costs(w, x) - deviations(y)), 0.0, Quality.EXACT)

    def costs(self, w: Floats, x: Pair) -> Floats:
        """The squared distances of all pairs of samples, (T1, T2)."""
        L = metric_factor(self.weight_space().to_metric(w))
        return cdist(x[0] @ L, x[1] @ L, "sqeuclidean")


def pruned(
    problem: Alignment,
    w: Floats,
    xs: Sequence[Pair],
    ys: Sequence[Ints],
    distance: Callable[[Ints, Ints], float],
) -> Floats:
    """The weight without its light directions, by the share whose paths are least away from ``ys``.

    The convex bound leaves small weights on what does not follow the event.
    """
    space = problem.weight_space()
    factors = [metric_factor(space.to_metric(w), share) for share in SHARES]
    weights = [space.from_metric(L @ L.T) for L in factors]
    pairs = list(zip(xs, ys, strict=True))
    away = [sum(distance(y, problem.predict(v, x)) for x, y in pairs) for v in weights]
    return weights[int(np.argmin(away))]


def is_way(y: Ints, last: tuple[int, int]) -> bool:
    """Whether cells go from the first to the last one, and never back."""
    if y.ndim != 2 or y.shape[1:] != (2,) or not len(y) or y.dtype.kind not in "iu":
        return False
    steps = np.diff(y.astype(np.int64), axis=0)
    onwards = (steps >= 0).all() and steps.any(axis=1).all()
    return bool(not y[0].any() and tuple(y[-1]) == last and onwards)
