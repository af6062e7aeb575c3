"""Gradient boosted trees and forests as plain arrays, which a model file can hold."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from structsvm.errors import ModelFileError
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled
from structsvm.support.contract import ContractMeta
from structsvm.support.interrupts import uninterrupted


@dataclass(eq=False, repr=False)
class _Trees(ClassifierMixin, BaseEstimator, metaclass=ContractMeta):  # type: ignore[misc]
    """Trees whose nodes are in a row: what all that predict by them have in common."""

    classes: NDArray[Any]
    roots: Ints
    feature: Ints
    left: Ints
    right: Ints
    threshold: Floats
    value: Floats

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of probabilities."""
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Floats, y: Any) -> Self:
        """Refuse to learn, because stored trees can only predict."""
        raise ModelFileError("stored trees cannot be fitted: use the estimator they come from")

    @abstractmethod
    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of the classes, (n, C), for finite rows (n, P)."""

    def predict(self, X: Floats) -> NDArray[Any]:
        """The most probable class of each row, (n,), for finite rows (n, P)."""
        return np.asarray(self.classes[self.predict_proba(X).argmax(axis=1)])

    def _check(self, rows: Floats) -> None:
        """Refuse trees that lead out of their arrays, or never to a leaf, and other columns."""
        n, roots = self.feature.size, self.roots
        numbers = (roots, self.feature, self.left, self.right)
        node = np.flatnonzero(self.feature >= 0)
        below = np.stack([self.left[node], self.right[node]])
        if not (
            all(array.dtype == np.int64 for array in numbers)
            and self.left.size == self.right.size == self.threshold.size == len(self.value) == n
            and ((roots >= 0) & (roots < n)).all()
            and ((below > node) & (below < n)).all()
            and (self.feature < rows.shape[1]).all()
        ):
            raise ModelFileError(
                "the stored trees are damaged, or were learned from another number of columns: "
                "learn the model again"
            )

    def _leaves(self, rows: Floats, root: int) -> Ints:
        """The leaf of one tree that each row arrives at, (n,)."""
        found: Ints = _arrivals(rows, root, self.feature, self.left, self.right, self.threshold)
        return found


@uninterrupted
@compiled()
def _arrivals(
    rows: Floats, root: int, feature: Ints, left: Ints, right: Ints, threshold: Floats
) -> Ints:
    found = np.empty(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        node = root
        while feature[node] >= 0:
            goes_left = rows[i, feature[node]] <= threshold[node]
            node = left[node] if goes_left else right[node]
        found[i] = node
    return found


@dataclass(eq=False, repr=False)
class BoostedTrees(_Trees):
    """What a fitted ``HistGradientBoostingClassifier`` predicts, from arrays alone."""

    baseline: Floats

    @classmethod
    def of(cls, fitted: Any) -> Self:
        """The trees of a fitted ``HistGradientBoostingClassifier``, without categories."""
        try:
            nodes = [[tree.nodes for tree in trees] for trees in fitted._predictors]
            flat = np.concatenate([tree for trees in nodes for tree in trees])
            sizes = np.array([len(tree) for trees in nodes for tree in trees])
            first = (np.cumsum(sizes) - sizes).astype(np.int64)
            leaf = flat["is_leaf"].astype(bool)
            offset = np.repeat(first, sizes)
            found = cls(
                np.asarray(fitted.classes_),
                first.reshape(len(nodes), -1),
                np.where(leaf, -1, flat["feature_idx"]).astype(np.int64),
                flat["left"].astype(np.int64) + offset,
                flat["right"].astype(np.int64) + offset,
                flat["num_threshold"].astype(np.float64),
                flat["value"].astype(np.float64),
                np.asarray(fitted._baseline_prediction, dtype=np.float64).ravel(),
            )
            categorical = bool(flat["is_categorical"].any())
        except (AttributeError, ValueError, KeyError, IndexError) as error:
            raise _unreadable(fitted, error) from error
        if categorical:
            raise ModelFileError(f"{fitted!r} has categorical features, which are not stored")
        return found

    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of the classes, (n, C), for finite rows (n, P)."""
        rows = np.asarray(X, dtype=np.float64)
        self._check(rows)
        raw = np.tile(self.baseline, (len(rows), 1))
        for trees in self.roots:
            for k, root in enumerate(trees.tolist()):
                raw[:, k] += self.value[self._leaves(rows, root)]
        if raw.shape[1] > 1:
            return np.asarray(softmax(raw, axis=1))
        p = expit(raw)
        return np.hstack([1 - p, p])


class Forest(_Trees):
    """What a fitted ``RandomForestClassifier`` or ``ExtraTreesClassifier`` predicts, from
    arrays.
    """

    @classmethod
    def of(cls, fitted: Any) -> Self:
        """The trees of a fitted forest of scikit-learn."""
        try:
            trees = [estimator.tree_ for estimator in fitted.estimators_]
            sizes = np.array([tree.node_count for tree in trees])
            first = (np.cumsum(sizes) - sizes).astype(np.int64)
            offset = np.repeat(first, sizes)
            left = np.concatenate([tree.children_left for tree in trees]).astype(np.int64)
            right = np.concatenate([tree.children_right for tree in trees]).astype(np.int64)
            feature = np.concatenate([tree.feature for tree in trees]).astype(np.int64)
            counts = np.concatenate([tree.value[:, 0, :] for tree in trees])
            found = cls(
                np.asarray(fitted.classes_),
                first,
                np.where(left < 0, -1, feature),
                np.maximum(left, 0) + offset,
                np.maximum(right, 0) + offset,
                np.concatenate([tree.threshold for tree in trees]).astype(np.float64),
                counts / counts.sum(axis=1, keepdims=True),
            )
        except (AttributeError, TypeError, ValueError, KeyError, IndexError) as error:
            raise _unreadable(fitted, error) from error
        return found

    def predict_proba(self, X: Floats) -> Floats:
        """Mean over the trees of the shares of the classes, (n, C), for finite rows (n, P)."""
        rows = np.asarray(np.asarray(X, dtype=np.float32), dtype=np.float64)
        self._check(rows)
        total = np.zeros((len(rows), self.value.shape[1]))
        for root in self.roots.tolist():
            total += self.value[self._leaves(rows, root)]
        return total / self.roots.size


def _unreadable(fitted: Any, error: Exception) -> ModelFileError:
    return ModelFileError(
        f"the trees of {fitted!r} cannot be read ({error}): use estimator='logistic', or a "
        "version of scikit-learn that this version of structsvm knows"
    )
