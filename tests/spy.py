"""A classifier that shows which samples it has seen."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Spy(ClassifierMixin, BaseEstimator):
    """Is sure of the rows that it has seen, and of no others."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
        return self

    def predict_proba(self, X):
        found = np.full((len(X), self.classes_.size), 1 / self.classes_.size)
        for p, row in zip(found, X, strict=True):
            if row.tobytes() in self.seen_:
                p[:] = self.classes_ == self.seen_[row.tobytes()]
        return found
