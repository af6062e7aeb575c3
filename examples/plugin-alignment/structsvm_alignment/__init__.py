"""The metric in which dynamic time warping aligns pairs of recordings, learned from aligned pairs.

Garreau, Lajugie, Arlot and Bach, Metric Learning for Temporal Sequence Alignment, NIPS 2014.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, about
from structsvm.partitions import Quality
from structsvm.problem import CompletableProblem, Separation
from structsvm.weights import PSD, Nonnegative, WeightSpace, smat, svec
from structsvm_alignment.warping import deviations, warp

__all__ = ["Alignment", "deviations", "warp"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pair = tuple[Floats, Floats]


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
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            with about(f"pair {i}"):
                check_pair(x, y, self.n_features or np.shape(xs[0][0])[1])
        return replace(self, n_features=xs[0][0].shape[1])

    def weight_space(self) -> WeightSpace:
        assert self.n_features is not None
        is_full = self.metric == "full"
        return PSD(self.n_features) if is_full else Nonnegative(self.n_features)

    def start(self) -> Floats:
        """Plain warping, which completes anchors where no path is known in full."""
        assert self.n_features is not None
        return svec(np.eye(self.n_features)) if self.metric == "full" else np.ones(self.n_features)

    def is_complete(self, y: Ints) -> bool:
        return bool(np.diff(y, axis=0).max(initial=0) <= 1)

    def complete(self, w: Floats, x: Pair, y: Ints) -> Ints:
        check_pair(x, y, self.n_features)
        costs = self.costs(w, x)
        path = [y[:1]]
        for (i, j), (k, l) in pairwise(y.tolist()):
            between = warp(np.ascontiguousarray(costs[i : k + 1, j : l + 1]))
            path.append(between[1:] + np.array([i, j]))
        return np.vstack(path)

    def joint_feature(self, x: Pair, y: Ints) -> Floats:
        a, b = x
        away = a[y[:, 0]] - b[y[:, 1]]
        sums = svec(away.T @ away) if self.metric == "full" else (away**2).sum(axis=0)
        return -sums / (len(a) + len(b))

    def loss(self, y: Ints, y_hat: Ints) -> float:
        rows, columns = y[-1] + 1
        away = deviations(y, rows, columns)
        return float(away[y_hat[:, 0], y_hat[:, 1]].sum()) / (rows + columns)

    def predict(self, w: Floats, x: Pair) -> Ints:
        return warp(self.costs(w, x))

    def separate(self, w: Floats, x: Pair, y: Ints) -> Separation:
        """The loss is a sum over cells, so that it is subtracted from their costs."""
        costs = self.costs(w, x)
        return Separation(warp(costs - deviations(y, *costs.shape)), 0.0, Quality.EXACT)

    def costs(self, w: Floats, x: Pair) -> Floats:
        """The squared distances of all pairs of samples, (T1, T2)."""
        B = smat(w) if self.metric == "full" else np.diag(w)
        values, vectors = np.linalg.eigh(B)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        a, b = (part @ root for part in x)
        squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * a @ b.T
        return np.maximum(squares, 0.0)


def check_pair(x: Pair, y: Ints, n_features: int | None) -> None:
    """Refuse what is no pair of recordings with these features, or no path, nor anchors on one."""
    shapes = [np.shape(part) for part in x] if isinstance(x, tuple | list) else []
    if len(shapes) != 2 or any(len(s) != 2 or s[1] != n_features or s[0] < 1 for s in shapes):
        raise DataError(
            f"a sample is two arrays, (T1, {n_features}) and (T2, {n_features}), got "
            f"shapes {shapes}"
        )
    last = shapes[0][0] - 1, shapes[1][0] - 1
    y = np.asarray(y)
    is_path = y.ndim == 2 and y.shape[1:] == (2,) and len(y) and y.dtype.kind in "iu"
    steps = np.diff(y.astype(np.int64), axis=0) if is_path else np.zeros((1, 2))
    is_path = is_path and not y[0].any() and tuple(y[-1]) == last and (steps >= 0).all()
    if not (is_path and steps.any(axis=1).all()):
        raise DataError(
            f"a path goes from (0, 0) to {last}, never back; cells may be left out of it"
        )
