"""What learning is worth on parts of a single table: groups of its rows, or some clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from structsvm.data.sample import Sample
from structsvm.data.samples import asked_counts, cluster_counts
from structsvm.errors import DataError, DataWarning, LearningError
from structsvm.evaluation.evaluate import Evaluation, found_by_all, warn_of_new_clusters
from structsvm.evaluation.verdict import Verdict
from structsvm.learner.baselines import estimators_in, metrics_in
from structsvm.learner.form import Form
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import as_measured
from structsvm.learner.training_set import TrainingSet
from structsvm.model_selection.splits import (
    CLUSTERS,
    MOST_PARTS,
    PARTS,
    ROWS,
    Split,
    check_split,
    question_in_words,
    split_samples,
)
from structsvm.partial_labels.complete import read_labels
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.plain import counted
from structsvm.support.progress import stage
from structsvm.support.quiet import without_warnings
from structsvm.support.tables import Printed, ShortTable


@dataclass(frozen=True, repr=False)
class RowsEvaluation(Printed):
    """Scores of parts of a table, each clustered by itself, and what they are scores of."""

    groups: Evaluation
    """With a sample for each part."""
    split: str
    """What the parts are: "rows" or "clusters"."""
    learned_again: bool
    """Whether the metric of a part was learned from the rest of the table; else it is the model's
    own, which has seen none of the rows."""

    @property
    def verdict(self) -> Verdict:
        return self.groups.verdict

    @property
    def question(self) -> str:
        """A sentence that says what is answered, and what is not."""
        return self.groups.question

    def short_table(self) -> ShortTable:
        """The mean scores of each metric on the parts, the verdict, and what it answers."""
        table = self.groups.short_table()
        n, part = len(self.groups.samples), "group" if self.split == "rows" else "part"
        title = f"Mean scores of {counted(n, part)} of {self.split} of a table"
        return replace(table, title=title, notes=(*table.notes, self.question))

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain values, ready for JSON."""
        return {
            **self.groups.to_dict(),
            "question": self.question,
            "learned_again": self.learned_again,
        }


def evaluate_rows(
    learner: MetricLearner,
    X: Any,
    y: Any,
    n_clusters: int | str = "true",
    *,
    split: str | None = None,
) -> RowsEvaluation:
    """Evaluate a metric on parts of one table: groups of rows of every cluster, or some clusters.

    The rows are split into up to ten groups, which identical rows share, or the clusters into folds
    of at least two, several times. If the learner was fitted on this table alone, each part is
    clustered by a metric that is learned from the rest with the same settings and baselines. If it
    has not seen the table, every part is clustered with the learner as it is.

    Parameters
    ----------
    learner : MetricLearner
        Fitted on tables.
    X, y : array or data frame of shape (T, P), and the cluster of each row, (T,)
        Or a sample as ``learner.measured`` has it.
    n_clusters : int or "true"
        Number of clusters of each part, or "true" for the number of its labels.
    split : {None, "rows", "clusters"}
        Estimate the gain on further rows of these clusters, or on new clusters. None is the
        question that the learner was made for if it was fitted on this table, and "rows" for other
        tables.

    Returns
    -------
    RowsEvaluation

    Raises
    ------
    DataError
        If there are too few rows or clusters to split, or the rows are ordered.
    SettingsError
        If ``split`` is not one of these values.
    LearningError
        If nothing can be learned from the rest of the table.

    Notes
    -----
    Groups of rows are scaled like the whole table, or like the training rows; groups of clusters
    are scaled separately, like new tables. The standard errors neglect that the training rows of
    different parts overlap.

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
    check_split(split)
    if not isinstance(X, Sample):
        (y,) = Form.of([X]).labels_in_order([y])
    data = _training_set(learner, X, y)
    again = data.samples[0].data in learner.training_data_
    if again and len(learner.training_data_) > 1:
        raise DataError(
            f"the model was learned from this table and {len(learner.training_data_) - 1} more: "
            "judge it by tables it has not seen"
        )
    warn_of_new_clusters(learner, data.samples, [y])
    asked = split or (learner.question_ if again else None) or ROWS
    found = split_samples(asked, data, MOST_PARTS, 0)
    parts, truths = found.held_out, found.held_out.truths
    whole = None
    if not again and asked == ROWS:
        prepared = learner.inputs_(data.samples)
        whole = data.with_features([x.X for x in prepared]).cut(found.pieces)
    sizes = [part.n_samples for part in parts.samples]
    counts = cluster_counts(asked_counts(n_clusters, truths), sizes, found.words)
    guesses: dict[str, list[EquivalenceMatrix]] = {}
    for k in stage("folds", range(len(found.training))):
        which = found.folds.test(k)
        own = _learned(learner, found, k) if again else learner
        measured = parts.at(which).samples
        seen = own.inputs_(measured) if whole is None else whole.at(which).samples
        here = [K for i in which if (K := counts[i]) is not None]
        others = None if asked == CLUSTERS else measured  # classifiers find no new clusters
        known = [truths[i] for i in which]
        for name, partitions in found_by_all(own, list(seen), known, here, others)[0].items():
            guesses.setdefault(name, []).extend(partitions)
    names = [f"{asked} {i}" for i in range(len(parts))]
    problem, classifiers = data.problem, estimators_in(learner.baselines_)
    arrays = [part.data for part in parts.samples]
    n_seen = 0 if again else learner.training_data_.count_known(arrays)
    scores = Evaluation.of(
        truths, guesses, names, problem, words=found.words, seen=n_seen, classifiers=classifiers
    )
    question = question_in_words(asked, len(parts), again)
    return RowsEvaluation(replace(scores, draws=found.folds.draws, question=question), asked, again)


def _training_set(learner: MetricLearner, X: Any, y: Any) -> TrainingSet:
    """A table as it was measured, with its labels."""
    samples = [X] if isinstance(X, Sample) else as_measured(learner, [X])
    labels = read_labels(learner.problem_, samples, [y])
    return TrainingSet(learner.problem_, samples, labels, np.ones(1), given=[y])


def _learned(learner: MetricLearner, split: Split, k: int) -> MetricLearner:
    """A metric of what is not held out in a fold, and its baselines."""
    own: MetricLearner = clone(learner)
    if split.words is PARTS[ROWS] and learner.inputs_.standardizer.kind == "recording":
        own.standardize = "training"
    baselines = [*learner.baselines_][1:]
    if split.words is PARTS[CLUSTERS]:
        baselines = [*metrics_in(learner.baselines_)][1:]  # classifiers find no new clusters
    try:
        with without_warnings(DataWarning, ConvergenceWarning):
            own.fit(split.training[k], baselines=baselines)
    except LearningError as error:
        error.add_note(f"so it is without {split.words.whole} {k} of {len(split.training)}")
        raise
    return own
