"""What learning is worth on the rows of a single table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import DataError, DataWarning, LearningError
from structsvm.evaluation import Evaluation
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.sample import Sample
from structsvm.partitions.samples import asked_counts, cluster_counts
from structsvm.partitions.traits import Words
from structsvm.support.progress import stage
from structsvm.support.quiet import without_warnings
from structsvm.verdict import LEARNED, Verdict

__all__ = ["RowsEvaluation", "evaluate_rows", "fewest_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_GROUPS = 10
ROWS_OF_A_CLUSTER = 4
"""In each group, on average."""
ROW_GROUPS = Words("row group", "cluster", "row")


@dataclass(frozen=True)
class RowsEvaluation:
    """Scores of groups of rows, each clustered by itself, and what they are scores of."""

    groups: Evaluation
    """With a sample for each group."""
    learned_again: bool
    """Whether the metric of a group was learned from the rows of the other groups; else it is the
    model's own, which has seen none of the rows."""

    @property
    def verdict(self) -> Verdict:
        """Whether learning paid, of further rows of the same clusters."""
        return self.groups.verdict

    @property
    def question(self) -> str:
        """A sentence that says what is answered, and what is not."""
        n = len(self.groups.samples)
        if self.learned_again:
            how = f"each of {n} groups of rows was clustered by a metric learned from the others"
        else:
            how = f"each of {n} groups of rows was clustered by itself"
        return (
            f"This says what the metric is worth on further rows of the same clusters: {how}. "
            "What it is worth on other tables or clusters only they can tell."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain values, ready for JSON."""
        return {
            **self.groups.to_dict(),
            "question": self.question,
            "learned_again": self.learned_again,
        }


def evaluate_rows(
    learner: MetricLearner, X: Any, y: Any, n_clusters: int | str = "true"
) -> RowsEvaluation:
    """Judge a metric by groups of rows of one table, which have rows of every cluster.

    The rows are split into up to ten groups, identical rows never into two. If the learner has
    learned from this very table, and from no other, each group is clustered by a metric that is
    learned anew, with the same settings and rivals, from the rows of the other groups. If it has
    not seen the table, it clusters every group as it is.

    Parameters
    ----------
    learner : MetricLearner
        Fitted on tables.
    X, y : array or data frame of shape (T, P), and the cluster of each row, (T,)
        Or a sample as ``learner.measured`` has it.
    n_clusters : int or "true"
        Cluster each group into so many, or into as many as it has labels of.

    Returns
    -------
    RowsEvaluation

    Raises
    ------
    DataError
        When the rows are too few to be split, or have an order.
    LearningError
        When nothing can be learned from the rows of the other groups.

    Notes
    -----
    Features are scaled as on the whole table, or as on the rows that are learned from. That these
    overlap between groups is neglected in the standard errors, as usual.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from structsvm import MetricLearner, evaluate_rows
    >>> from structsvm.problems import Clustering
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = MetricLearner(Clustering(), metric="diagonal").fit([X[::3]], [y[::3]])
    >>> evaluation = evaluate_rows(learner, X[1::3], y[1::3])
    >>> evaluation.learned_again, len(evaluation.groups.samples)
    (False, 4)
    """
    check_is_fitted(learner)
    problem = learner.problem_
    if problem.traits.contiguous:
        raise DataError(
            "the samples of a recording have an order, and are not split like the rows of a table"
        )
    measured = [X] if isinstance(X, Sample) else learner.measured([X])
    table = measured[0].X
    (truth,) = learner.encode(measured, [y])
    again = table in learner.training_data_
    if again and len(learner.training_data_) > 1:
        raise DataError(
            f"the model was learned from this table and {len(learner.training_data_) - 1} more: "
            "judge it by tables it has not seen"
        )
    parts = _groups(table, truth)
    assert truth.labels is not None
    truths = [EquivalenceMatrix.from_labels(truth.labels[part]) for part in parts]
    sizes = [part.size for part in parts]
    counts = cluster_counts(asked_counts(n_clusters, truths), sizes, ROW_GROUPS)
    guesses: dict[str, list[EquivalenceMatrix]] = {}
    labels = np.asarray(y)
    seen = None if again else learner.inputs_(measured)[0]
    for i, part in enumerate(stage("row groups", parts)):
        own = learner
        if again:
            rest = np.setdiff1d(np.arange(len(table)), part)
            try:
                own = _learned(learner, table[rest], labels[rest])
            except LearningError as error:
                error.add_note(f"so it is without row group {i} of {len(parts)}")
                raise
        group = problem.restrict(own.inputs_(measured)[0] if seen is None else seen, part)
        for name, metric in {LEARNED: own.metric_, **own.baselines_}.items():
            guesses.setdefault(name, []).append(metric.decode(problem, group, counts[i]))
    names = [f"rows {i}" for i in range(len(parts))]
    found = Evaluation.of(truths, guesses, names, problem)
    return RowsEvaluation(replace(found, words=ROW_GROUPS), again)


def fewest_rows(y: Any) -> int:
    """How many rows a table with these clusters needs to be split."""
    return 2 * ROWS_OF_A_CLUSTER * np.unique(np.asarray(y)).size


def _groups(X: Floats, truth: EquivalenceMatrix) -> list[Ints]:
    """Rows that are held out together."""
    T, K = truth.n_samples, truth.n_clusters
    n = min(MOST_GROUPS, T // (ROWS_OF_A_CLUSTER * K))
    same = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    if n < 2 or same.max() + 1 < n:
        raise DataError(
            f"the table has {T} rows in {K} clusters, of which none can be held out: "
            f"{fewest_rows(truth.labels)} different rows are the fewest"
        )
    once = same.max() + 1 == T
    # A rare cluster is not in every group.
    with without_warnings(UserWarning, beginning="The least populated class"):
        if once:
            folds = StratifiedKFold(n, shuffle=True, random_state=0).split(X, truth.labels)
        else:
            grouped = StratifiedGroupKFold(n, shuffle=True, random_state=0)
            folds = grouped.split(X, truth.labels, same)
        return [np.asarray(test) for _, test in folds if len(test)]


def _learned(learner: MetricLearner, X: Floats, y: Any) -> MetricLearner:
    """A metric of some rows of the table, scaled as on these, and its rivals."""
    own: MetricLearner = clone(learner)
    if learner.inputs_.standardizer.kind == "recording":
        own.standardize = "training"
    with without_warnings(DataWarning, ConvergenceWarning):
        own.fit([X], [y], rivals=len(learner.baselines_) > 1)
    return own
