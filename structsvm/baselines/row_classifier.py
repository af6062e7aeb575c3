"""A classifier of the rows of tables: what to beat where the clusters are known classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from structsvm.data.samples import Counts, label_values, missing_labels, unlabelled
from structsvm.errors import DataError
from structsvm.partitions.problem import Baseline
from structsvm.support.arrays import Floats
from structsvm.support.checks import refuse_unlisted
from structsvm.support.quiet import without_warnings
from structsvm.support.tables import each_in_order

KINDS = {"forest": "forest-classifier", "lda": "lda-classifier", "centroid": "nearest-centroid"}
"""What baselines of each kind are called, in the order of preference."""


class RowClassifier(BaseEstimator):  # type: ignore[misc]
    """A classifier that names the class of every row of a table.

    It knows the classes it has learned and no others, so that it says nothing of new clusters. The
    rows of all tables are scaled together, as on the training rows.

    Parameters
    ----------
    kind : {"lda", "centroid", "forest"}
        Linear discriminant analysis as a classifier, the nearest centre of a class, or a random
        forest.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Labels of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.baselines import RowClassifier
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> baseline = RowClassifier("centroid").fit([X], [["a", "a", "b", "b"]])
    >>> baseline.predict([np.array([[0.9], [0.2]])])[0].tolist()
    ['b', 'a']
    """

    def __init__(self, kind: str = "lda") -> None:
        self.kind = kind

    def fit(self, Xs: Sequence[Floats], ys: Any, groups: Any = None) -> Self:
        """Learn from the rows of tables.

        Parameters
        ----------
        Xs : sequence of arrays of shape (T_i, P)
        ys : sequence of labels, (T_i,) each
        groups : ignored
            Nothing is held out.
        """
        refuse_unlisted("kind", self.kind, tuple(KINDS))
        X = np.vstack(Xs)
        y = np.concatenate([label_values(one) for one in each_in_order(ys, Xs)])
        if len(X) != len(y) or np.unique(y).size < 2:
            raise DataError(
                f"{len(X)} rows with {len(y)} labels of {np.unique(y).size} classes: a classifier "
                "needs one label for each row, and two classes"
            )
        if self.kind == "forest":
            from sklearn.ensemble import RandomForestClassifier  # takes long to import

            classifier: Any = RandomForestClassifier(random_state=0)
        else:
            classifier = LinearDiscriminantAnalysis() if self.kind == "lda" else NearestCentroid()
        # A column that never varies within a class does the nearest centre no harm.
        with without_warnings(UserWarning, beginning="self.within_class_std_dev_"):
            steps = [("scale", StandardScaler()), ("classify", classifier)]
            self.model_ = Pipeline(steps).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, Xs: Sequence[Floats], n_clusters: Counts = None) -> list[NDArray[Any]]:
        """Return the class of every row, (T_i,) for each table, whatever ``n_clusters``."""
        check_is_fitted(self)
        return [self.model_.predict(X) for X in Xs]


def baselines_of_tables(labels: Sequence[Any]) -> list[Baseline]:
    """Return the classifiers that apply to fully labelled tables with the same clusters."""
    classes = set()
    for y in labels:
        values = label_values(y if np.iterable(y) else ())  # of partial labels none
        if values.ndim != 1 or (missing_labels(values) | unlabelled(values)).any():
            return []
        classes.add(frozenset(values.tolist()))
    if len(classes) != 1 or len(next(iter(classes))) < 2:
        return []
    return [Baseline(name, RowClassifier(kind), 0.2) for kind, name in KINDS.items()]
