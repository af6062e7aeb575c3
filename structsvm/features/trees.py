"""Boosted trees and forests of scikit-learn as plain arrays, which a model file can hold."""

from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from structsvm.errors import ModelFileError
from structsvm.support import Floats, Ints, compiled

STORED = {
    "ExtraTreesClassifier": "sklearn.ensemble",
    "HistGradientBoostingClassifier": "sklearn.ensemble",
    "RandomForestClassifier": "sklearn.ensemble",
}
"""Classifiers that are stored as their trees, and their modules."""


@dataclass(eq=False, repr=False)
class Trees(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The nodes of fitted boosted trees or of a forest; they predict, and cannot be fitted."""

    classes_: NDArray[Any]
    roots: Ints  # the root of each tree, (trees,)
    feature: Ints  # the feature that each node compares with its threshold, -1 for a leaf
    left: Ints
    right: Ints
    threshold: Floats
    value: Floats
    """What each leaf adds to each score, (n, scores); in a forest its shares of the classes."""
    baseline: Floats | None = None  # the scores that boosting starts from; None for a forest

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        """The trees of a fitted classifier of scikit-learn; None for any other object."""
        kind = type(fitted)
        if kind.__name__ not in STORED or not kind.__module__.startswith("sklearn."):
            return None
        if not hasattr(fitted, "classes_"):
            return None
        try:
            read = _boosted if hasattr(fitted, "_predictors") else _forest
            return cls(fitted.classes_, *read(fitted))
        except (AttributeError, TypeError, ValueError, KeyError, IndexError) as error:
            raise ModelFileError(
                f"the trees of {fitted!r} cannot be read ({error}): use estimator='logistic', or a "
                "version of scikit-learn that this version of structsvm knows"
            ) from error

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Floats, y: Any) -> Self:
        """Refuse to learn, because stored trees can only predict; pipelines ask for the method."""
        raise ModelFileError("stored trees cannot be fitted: use the estimator they come from")

    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of the classes, (n, C), for finite rows (n, P)."""
        # scikit-learn's forests compare numbers of single precision.
        single = np.float64 if self.baseline is not None else np.float32
        rows = np.asarray(X, dtype=single).astype(np.float64)
        self._check(rows)
        start = np.zeros(self.value.shape[1]) if self.baseline is None else self.baseline
        total = np.tile(start, (len(rows), 1))
        for root in self.roots.tolist():
            leaves = _arrivals(rows, root, self.feature, self.left, self.right, self.threshold)
            total += self.value[leaves]
        if self.baseline is None:
            return total / self.roots.size
        if total.shape[1] > 1:
            return np.asarray(softmax(total, axis=1))
        return np.hstack([1 - expit(total), expit(total)])

    def predict(self, X: Floats) -> NDArray[Any]:
        """The most probable class of each row, (n,), for finite rows (n, P)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check(self, rows: Floats) -> None:
        """Refuse trees that leave their arrays or never reach a leaf, and too few columns."""
        n = self.feature.size
        roots = self.roots
        node = np.flatnonzero(self.feature >= 0)
        below = np.stack([self.left[node], self.right[node]])
        if not (
            all(a.dtype == np.int64 for a in (roots, self.feature, self.left, self.right))
            and self.left.size == self.right.size == self.threshold.size == len(self.value) == n
            and ((roots >= 0) & (roots < n)).all()
            and ((below > node) & (below < n)).all()
            and (self.feature < rows.shape[1]).all()
        ):
            raise ModelFileError(
                "the stored trees are damaged, or were learned from another number of columns: "
                "learn the model again"
            )


@compiled()
def _arrivals(
    rows: Floats, root: int, feature: Ints, left: Ints, right: Ints, threshold: Floats
) -> Ints:
    """The leaf of a tree that each row falls into, (n,)."""
    leaves = np.empty(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        node = root
        while feature[node] >= 0:
            goes_left = rows[i, feature[node]] <= threshold[node]
            node = left[node] if goes_left else right[node]
        leaves[i] = node
    return leaves


def _boosted(fitted: Any) -> tuple[Any, ...]:
    """The fields of :class:`Trees` after ``classes_``, of boosted trees."""
    trees = [tree.nodes for tree in chain.from_iterable(fitted._predictors)]
    n_scores = fitted.n_trees_per_iteration_
    flat = np.concatenate(trees)
    first, offset = _places([len(tree) for tree in trees])
    if flat["is_categorical"].any():
        raise ValueError("it has categorical features")
    value = np.zeros((len(flat), n_scores))
    score = np.repeat(np.arange(len(trees)) % n_scores, [len(tree) for tree in trees])
    value[np.arange(len(flat)), score] = flat["value"]
    return (
        first,
        np.where(flat["is_leaf"].astype(bool), -1, flat["feature_idx"]).astype(np.int64),
        flat["left"].astype(np.int64) + offset,
        flat["right"].astype(np.int64) + offset,
        flat["num_threshold"].astype(np.float64),
        value,
        np.asarray(fitted._baseline_prediction, dtype=np.float64).ravel(),
    )


def _forest(fitted: Any) -> tuple[Any, ...]:
    """The fields of :class:`Trees` after ``classes_``, of a forest."""
    trees = [estimator.tree_ for estimator in fitted.estimators_]
    first, offset = _places([tree.node_count for tree in trees])
    left = np.concatenate([tree.children_left for tree in trees]).astype(np.int64)
    counts = np.concatenate([tree.value[:, 0, :] for tree in trees])
    return (
        first,
        np.where(left < 0, -1, np.concatenate([tree.feature for tree in trees])).astype(np.int64),
        np.maximum(left, 0) + offset,
        np.maximum(np.concatenate([tree.children_right for tree in trees]), 0) + offset,
        np.concatenate([tree.threshold for tree in trees]).astype(np.float64),
        counts / counts.sum(axis=1, keepdims=True),
    )


def _places(sizes: list[int]) -> tuple[Ints, Ints]:
    """Offsets of trees in the joined arrays, (trees,), and for each node that of its tree, (n,)."""
    first = np.cumsum([0, *sizes[:-1]]).astype(np.int64)
    return first, np.repeat(first, sizes)
