"""Print a hash of the metric, the bounds and the predictions of thirteen kinds of fits.

``python tests/bits.py`` before and after a change that must change no number; the hashes of two
machines differ, those of two checkouts on one machine must not.
"""

import hashlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from structsvm import ChangePoint, Clustering, MetricLearner, NormalizedCut
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels
from structsvm.solvers import BlockFrankWolfe, CuttingPlane, ProjectedSubgradient

Xs, ys = arrays_and_labels(
    relevant_changes(6, n_samples=240, n_features=5, n_relevant=2, random_state=0)
)


def tables(rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Three tables of three clusters that one of three features shows."""
    labels = [np.repeat([0, 1, 2], 15) for _ in range(3)]
    return [np.c_[4.0 * y, rng.normal(size=(45, 2)) * 3] for y in labels], labels


def images(rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Small images of two halves, (height, width, 3), with noise."""
    masks = [np.repeat([[0] * 16 + [1] * 16], 24, axis=0) for _ in range(2)]
    return [rng.random((24, 32, 3)) * 0.5 + 0.4 * m[:, :, None] for m in masks], masks


def partial() -> list[Any]:
    """The labels of segments, unknown in the last third of each recording."""
    return [np.where(np.arange(len(y)) < 160, y, -1) for y in ys]


def kinds() -> Iterator[tuple[str, Callable[[], MetricLearner], list[Any]]]:
    """The name of each fit, the fit, and what it predicts."""
    fit = lambda **settings: lambda: MetricLearner(**settings).fit(Xs, ys)  # noqa: E731
    yield "full", fit(), Xs
    yield "diagonal", fit(metric="diagonal"), Xs
    yield "trace", fit(regularizer="trace"), Xs
    yield "one slack", fit(solver=CuttingPlane(slack="one")), Xs
    yield "Frank-Wolfe", fit(metric="diagonal", solver=BlockFrankWolfe()), Xs
    yield "subgradient", fit(metric="diagonal", solver=ProjectedSubgradient()), Xs
    yield "lengths", fit(problem=ChangePoint(min_length=5, max_length=80)), Xs
    yield "low price", fit(lam=0.01), Xs
    yield "constraints", fit(constraints=lambda B: [B[0, 0] == B[1, 1]]), Xs
    yield "threads", fit(n_jobs=2, backend="threads"), Xs
    yield "partial labels", lambda: MetricLearner(metric="diagonal").fit(Xs, partial()), Xs
    rng = np.random.default_rng(0)
    Ts, ts = tables(rng)
    yield "clustering", lambda: MetricLearner(Clustering()).fit(Ts, ts), []
    Is, masks = images(rng)
    yield "normalized cut", lambda: MetricLearner(NormalizedCut()).fit(Is, masks), []


def main() -> None:
    """Fit each kind, and print the first digits of the hash of what came out."""
    warnings.simplefilter("ignore")
    for name, fit, samples in kinds():
        learner = fit()
        solution = learner.solution_
        digest = hashlib.sha256(np.ascontiguousarray(learner.get_mahalanobis_matrix()).tobytes())
        digest.update(repr((solution.lower, solution.upper, str(solution.status))).encode())
        if samples:
            digest.update(
                repr([list(map(int, b)) for b in learner.predict_breakpoints(samples)]).encode()
            )
        print(f"{name:16} {digest.hexdigest()[:16]}  [{solution.lower:.6g}, {solution.upper:.6g}]")


if __name__ == "__main__":
    main()
