"""From the input of users to instances as the model of a fitted learner sees them."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structsvm.data import Instance, Step
from structsvm.learner.fitted import Fitted
from structsvm.learner.form import Form, is_prepared
from structsvm.learner.lost_columns import warn_of_new
from structsvm.learner.parameters import problem_from
from structsvm.learner.training_set import TrainingSet
from structsvm.parallel import backend_from
from structsvm.parallel.by_name import working_on
from structsvm.partitions import EquivalenceMatrix
from structsvm.partitions.problem import read_instances
from structsvm.support import Unstored
from structsvm.training_labels import labels_of_each, read_labels


def workers_of(learner: Any) -> AbstractContextManager[None]:
    """A context in which the workers of a learner, if it has any, do the work."""
    backend = getattr(learner, "backend", "auto")
    if isinstance(backend, Unstored):  # the learner is loaded; all backends find the same
        backend = "auto"
    return working_on(backend_from(backend, getattr(learner, "n_jobs", None)))


def read_training(learner: Any, X: Any, y: Any, **given: Any) -> TrainingSet:
    """Check instances and labels once, as a training set that ``fit`` and others accept."""
    problem = problem_from(learner.problem, getattr(learner, "random_state", None))
    with workers_of(learner):
        return TrainingSet.of(problem, X, y, **given)


def as_measured(learner: Fitted, X: Any) -> list[Instance]:
    """The instances of an input of any form, checked, without the features of the learner."""
    check_is_fitted(learner)
    return measured(learner, Form.for_learner(learner, X).instances)


def measured(learner: Fitted, Xs: Any) -> list[Instance]:
    """The instances of a :class:`Form`, checked, without the features of the learner."""
    names = getattr(learner, "feature_names_in_", None)
    with workers_of(learner):
        return read_instances(learner.problem_, Xs, names, learner.n_features_in_)[0]


def prepare(learner: Fitted, X: Any) -> list[Instance]:
    """Check instances and compute the features that the model of a fitted learner sees.

    The result can be given in place of ``X`` to partition the same instances more than once.

    Parameters
    ----------
    learner : MetricLearner or another learner
    X : instances, as for :meth:`structsvm.MetricLearner.predict`

    Returns
    -------
    list of instances
        The features of each are its ``X``, an array (T_i, P); of a metric, standardised.

    Raises
    ------
    DataError
        If an instance cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import prepare
    >>> Xs = [np.repeat([[0.0], [3.0]], 50, axis=0)] * 2
    >>> prepare(MetricLearner().fit(Xs, [[50, 100]] * 2), Xs)[0].X.shape
    (100, 1)
    """
    check_is_fitted(learner)
    return prepared(learner, Form.for_learner(learner, X).instances)


def prepared(learner: Fitted, Xs: Any) -> list[Instance]:
    """The instances of a :class:`Form` as the model sees them."""
    if is_prepared(Xs):
        return list(Xs)
    instances = measured(learner, Xs)
    with workers_of(learner):
        warn_of_new(learner, instances)
        seen: list[Instance] = learner.inputs_(instances)
        return seen


def with_features(learner: Fitted, Xs: Any) -> tuple[Sequence[Instance], Step | None]:
    """The instances of a :class:`Form` with features, and the step that each still needs."""
    if is_prepared(Xs):
        return Xs, None
    instances = measured(learner, Xs)
    warn_of_new(learner, instances)
    return learner.inputs_.with_features(instances), learner.inputs_.step


def encode(learner: Fitted, X: Any, y: Any) -> list[EquivalenceMatrix]:
    form = Form.for_learner(learner, X)
    return encode_prepared(learner, prepared(learner, form.instances), form.labels(y))


def encode_prepared(
    learner: Fitted, instances: Sequence[Instance], y: Any
) -> list[EquivalenceMatrix]:
    """The true partitions of prepared instances; refuse partial labels."""
    values = labels_of_each(y, instances, learner.problem_.traits.words)
    labels = read_labels(learner.problem_, instances, values)
    return TrainingSet(learner.problem_, instances, labels, np.ones(len(instances)), values).truths
