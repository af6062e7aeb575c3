"""What a learned metric is worth on parts of a single table: its rows, or its clusters."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from structsvm.data import Counts, Instance, asked_counts, cluster_counts
from structsvm.errors import DataError, parameter
from structsvm.evaluation.guesses import Partitions, found_by_all
from structsvm.evaluation.scores import Evaluation
from structsvm.evaluation.split_tables import question_in_words
from structsvm.evaluation.split_wholes import MOST_PARTS, Split
from structsvm.evaluation.splits import split_instances
from structsvm.evaluation.verdict import Evidence
from structsvm.learner import Learner, TrainingSet
from structsvm.learner.training_set import CLUSTERS, ROWS
from structsvm.support import refuse_unlisted, stage
from structsvm.training_labels import read_labels


def evaluate_parts(
    learner: Learner,
    instances: Sequence[Instance],
    labels_of_parts: Sequence[Any],
    n_clusters: Counts | str,
    tolerance: int,
    kind: str,
) -> Evaluation:
    """Evaluate parts of one table; standard errors neglect that their training rows overlap."""
    # Groups of rows are scaled like the whole table, or like the training rows; groups of clusters
    # are scaled separately, like new tables.
    refuse_unlisted("split", kind, (ROWS, CLUSTERS, "auto"))
    if len(instances) != 1:
        raise DataError(parameter("split", kind) + f" is for one table, got {len(instances)}")
    learned_from = learner.training_data_
    labels = read_labels(learner.problem_, instances, labels_of_parts)
    data = TrainingSet(learner.problem_, instances, labels, np.ones(1), labels_of_parts)
    is_learned_from = instances[0].data in learned_from
    if is_learned_from and len(learned_from) > 1:
        raise DataError(
            f"the model was learned from this table and {len(learned_from) - 1} more: judge it by "
            "tables it has not seen"
        )
    if kind == "auto":
        kind = (learner.question_ if is_learned_from else None) or ROWS
    split = split_instances(kind, data, MOST_PARTS, 0)
    learned_from.warn_of_new_clusters(labels_of_parts, learner.question_)
    parts = split.held_out
    prepared = None
    if not is_learned_from and kind == ROWS:
        whole = data.with_features([x.X for x in learner.inputs_(instances)])
        prepared = whole.cut(split.pieces).instances
    asked_for = asked_counts("true" if n_clusters is None else n_clusters, parts.truths)
    counts = cluster_counts(asked_for, [part.n_samples for part in parts.instances], split.words)
    seen = [] if is_learned_from else learned_from.shares_known([x.data for x in parts.instances])
    return Evaluation.of(
        learner.problem_,
        [f"{kind} {i}" for i in range(len(parts))],
        parts.labels,
        _found_in_parts(learner, split, kind, is_learned_from, counts, prepared),
        tolerance,
        shown={"learned_again": is_learned_from},
        draws=split.draws,
        evidence=Evidence(split.words, seen=len(seen), method=learner.called),
        question=question_in_words(kind, len(parts), is_learned_from),
    )


def _found_in_parts(
    learner: Learner,
    split: Split,
    kind: str,
    learns_again: bool,
    counts: Any,
    prepared: Sequence[Instance] | None,
) -> Partitions:
    """Partitions of the parts, each by the learner, or by one that is fitted to the other parts."""
    parts = split.held_out.instances
    tuned = learner.baselines_
    if kind == CLUSTERS:  # classifiers find no new clusters
        tuned = {name: one for name, one in tuned.items() if one.sees is not None}
    alike: Any = clone(learner)
    scaled = getattr(learner.inputs_, "standardizer", None)
    if kind == ROWS and scaled is not None and scaled.centres_each:
        alike.standardize = "training"
    guesses: Partitions = {}
    for k in stage("folds", range(len(split))):
        which = split.test(k).tolist()
        fitted = copy(learner)
        fitted.baselines_ = tuned
        if learns_again:
            baselines = [name for name in tuned if name != "untrained"]
            fitted = split.learned_without(k, alike, baselines=baselines)
        measured = [parts[i] for i in which]
        inputs = fitted.inputs_(measured) if prepared is None else [prepared[i] for i in which]
        fold_counts = [K for i in which if (K := counts[i])]
        for name, of_fold in found_by_all(fitted, measured, inputs, fold_counts)[0].items():
            guesses.setdefault(name, []).extend(of_fold)
    return guesses
