"""Check problems: inference, labels, training instances, oracles and predictions."""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from structsvm.data import apply_to_instances
from structsvm.errors import DataWarning, OracleError, without_warnings
from structsvm.learner import MetricLearner, TrainingSet
from structsvm.learner.fitting import FitState, Settings, untrained_of
from structsvm.learner.stages import Inputs
from structsvm.partitions import PartitionProblem
from structsvm.problem import Problem, Quality
from structsvm.support import difference
from structsvm.testing.kit import Kit, Report
from structsvm.testing.oracle import Checked
from structsvm.testing.separation import Asked, check_inference, check_separation, random_weights

Labellings = Callable[..., Iterable[Any]]


def check_problem(
    problem: Problem | PartitionProblem,
    Xs: Sequence[Any],
    ys: Sequence[Any],
    *,
    labellings: Labellings | None = None,
    exact_inference: bool = True,
) -> Report:
    """Check that the scores, losses and inference of a problem are consistent.

    The first broken promise raises PluginError, which says what to fix.

    For a :class:`~structsvm.problem.Problem`: joint features have the dimension of the weight, the
    truth costs nothing and no loss is negative, the score is linear in ``w``, neither inference nor
    loss-augmented inference is worse than the truth or any known labelling, the answers are the
    same on a second call and after pickling, and no argument is modified.

    For a :class:`~structsvm.partitions.problem.PartitionProblem`: instances and labels are read as
    by ``fit``, labels are read back, joint features are those of the samples, and answers are
    compared with all partitions of a few items that ``encode`` accepts, and on ``Xs`` with merges,
    splits and moves of answers. Where ``traits.convex`` is False, ``partition`` has to keep numbers
    of clusters and links, the gradient is compared with differences, and the convex model has to
    touch the objective.

    Parameters
    ----------
    problem : Problem or PartitionProblem
        The problem to check.
    Xs, ys : sequences
        A few labelled instances, as solvers get them or, for a PartitionProblem, as users pass
        them.
    labellings : callable, optional
        For a Problem: a function of an instance that lists all its labellings, so that small
        instances are best; or a function of an instance and its label, if the labellings depend on
        the label.
    exact_inference : bool
        For a Problem: whether ``predict`` finds the maximum, instead of a good labelling.

    Returns
    -------
    Report
        How many partitions the answers were compared with, in words as ``str(report)``.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.problems import ChangePoint
    >>> from structsvm.testing import check_problem
    >>> Xs = list(np.random.default_rng(0).normal(size=(2, 5, 1)))
    >>> report = check_problem(ChangePoint(), Xs, [[2, 5], [3, 5]])
    >>> type(report).__name__
    'Report'
    """
    if isinstance(problem, PartitionProblem):
        return _check_partition_problem(problem, Xs, ys)
    checked = Checked.of(Problem, problem)
    fits = 0 < len(Xs) == len(ys)
    checked.require(fits, f"give a label for each instance, got {len(ys)} for {len(Xs)}")
    weights = random_weights(problem, np.random.default_rng(0))
    for i, (x, y) in enumerate(zip(Xs, ys, strict=True)):
        family = None if labellings is None else list(_every(labellings, x, y))
        family_in_words = [(one, "one of labellings(x)") for one in family or ()]
        instance = Asked(problem, checked.name, f"instance {i}", x=x, y=y, number=i, family=family)
        instance.require_member(y, "the label given")
        family_in_words += [
            (answer.labelling.y, "found by separate")
            for answer in check_separation(instance, weights, family_in_words)
            if answer.separation.quality is not Quality.RELAXATION
        ]
        check_inference(instance, weights, [(y, "the truth"), *family_in_words], exact_inference)
    return Report()


def _every(labellings: Labellings, x: Any, y: Any) -> Iterable[Any]:
    """All labellings of an instance, by a function of the instance, or of it and its label."""
    return labellings(x, y) if len(signature(labellings).parameters) > 1 else labellings(x)


def _check_partition_problem(
    problem: PartitionProblem, Xs: Sequence[Any], ys: Sequence[Any]
) -> Report:
    """Check a partition problem, after reading and preparing the data as ``fit`` does."""
    kit = Kit(problem, type(problem).__name__, rng=np.random.default_rng(0))
    parameters = getattr(type(problem), "__dataclass_params__", None)
    kit.require(
        parameters is not None and parameters.frozen,
        "decorate the class with @dataclass(frozen=True): settings do not change",
    )
    before = deepcopy(Xs)
    learner = MetricLearner(problem, metric="diagonal", whiten=None)
    settings = Settings.of(learner.get_params(deep=False))
    with without_warnings(DataWarning):
        data = TrainingSet.of(problem, Xs, ys)
        unchanged = difference(before, Xs) is None
        kit.require(unchanged, "read modified its input: copy before writing")
        kit.check_labels(data)
        kit.check_agreement(data.truths)
        _, data = Inputs.fit(None, settings.standardize, data)
        try:
            state = FitState.of(settings, data)
        except OracleError as error:
            kit.refuse(f"the decoder failed: {error}")
    kit.check_weights(data)
    kit.check_risk(state.risk, "diagonal")
    if not any(instance.has_gaps for instance in data.instances):
        kit.check_risk(FitState.of(replace(settings, metric="full"), data).risk, "full")
    report = Report()
    if problem.traits.convex:
        instances = apply_to_instances(data.instances, state.units)
        kit.check_training_instances(instances, data.truths)
        report = kit.check_decoders(instances, data.truths)
    kit.check_predictions(data, untrained_of(data)[1])
    return report
