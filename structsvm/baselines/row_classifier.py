"""A classifier of the rows of tables: what to beat where the clusters are known classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from structsvm.data.instance import Instance
from structsvm.data.labels import label_values
from structsvm.errors import DataError, without_warnings
from structsvm.learner.learned import How, Learned
from structsvm.learner.learner import Learner
from structsvm.learner.memory import learn_in_memory
from structsvm.learner.stages import AsMeasured
from structsvm.learner.training_set import TrainingSet
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.model import Found, Model
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.values import refuse_unlisted

NAMES_BY_KIND = {
    "forest": "forest-classifier",
    "lda": "lda-classifier",
    "centroid": "nearest-centroid",
}
"""What baselines of each kind are called, in the order of preference."""


@dataclass(eq=False, repr=False)
class RowClassifier(Learner):
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
    >>> baseline.predict_states([np.array([[0.9], [0.2]])])[0].tolist()
    ['b', 'a']
    """

    kind: str = "lda"

    problem: PartitionProblem | str | None = "clustering"

    @property
    def called(self) -> str:
        """What sentences call the method."""
        return "the classifier of rows"

    def suits(self, problem: PartitionProblem) -> bool:
        """It is for tables."""
        traits = problem.traits
        return not traits.contiguous and not traits.words.of_graphs

    def _learn(self, data: TrainingSet, how: How) -> Learned:
        return learn_in_memory(data, type(self).__name__, self._learn_in)[1]

    def _learn_in(self, data: TrainingSet) -> Learned:
        refuse_unlisted("kind", self.kind, tuple(NAMES_BY_KIND))
        X = np.vstack([instance.X for instance in data.instances])
        y = np.concatenate([label_values(one) for one in data.item_labels])
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
            fitted = Pipeline(steps).fit(X, y)
        self.classes_ = fitted.classes_
        return Learned(AsMeasured(), Classes(fitted))


@dataclass(frozen=True, eq=False)
class Classes(Model):
    """The class of each row, whatever the number of clusters that is asked for."""

    classifier: Any
    """The fitted classifier of scikit-learn."""

    def partition(
        self, problem: Any, instance: Instance, n_clusters: int | None, constraint: Constraint
    ) -> Found:
        """The rows of each class."""
        codes = np.searchsorted(self.classifier.classes_, self.classifier.predict(instance.X))
        return Found.of(EquivalenceMatrix.from_labels(codes), codes)
