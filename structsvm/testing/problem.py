"""Does a problem keep its contract: inference against every labelling that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from structsvm.errors import PluginError
from structsvm.partitions.problem import PartitionProblem
from structsvm.problem import Problem, Separation
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.testing.partition import Report, check_partition_problem
from structsvm.testing.separation import TOLERANCE, Asked, Known, check_separation, random_weights

Labellings = Callable[[Any], Iterable[Any]]


def check_problem(
    problem: Problem | PartitionProblem,
    Xs: Sequence[Any],
    ys: Sequence[Any],
    *,
    labellings: Labellings | None = None,
    complete: bool = True,
    exact_inference: bool = True,
    seed: int = 0,
) -> Report:
    """Check that the scores, losses and inference of a problem are consistent.

    For a :class:`~structsvm.problem.Problem`: joint features have the dimension of the weight,
    ``loss(y, y) = 0`` and no loss is negative, the score is linear in ``w``, inference is no worse
    than any labelling that is known, loss-augmented inference beats the truth and every labelling
    that is known (so that the cut it gives is tight where it was made and a lower bound
    elsewhere), the answers are the same when asked again and after pickling, and nothing that is
    handed in is modified.

    For a :class:`~structsvm.partitions.problem.PartitionProblem`: samples are read, with what else
    the problem knows of them, labels are encoded and decoded faithfully, oracles and training
    samples fit together, both prediction and loss-augmented inference keep what they promise
    against the enumeration of all partitions of a few items, and the decoder passes
    :func:`structsvm.testing.check_oracle` for the family that ``encode`` accepts. What has side
    information is enumerated on the first items of the samples given, as ``restrict`` makes them.
    On the samples given, at several scales and prices, with and without a truth, and under the
    constraints that the decoder takes, answers are in the family, and none that is declared exact
    is worse than a merge, split or move of an answer or a truth that ``encode`` accepts.

    Where ``traits.convex`` is False there is no decoder to compare with. Then ``partition`` is
    asked for every number of clusters and with links, and has to keep them; the price is calibrated
    twice, and with weights; and the gradient of the objective is compared with its differences, as
    its convex model is with the objective where they touch.

    Parameters
    ----------
    problem : Problem or PartitionProblem
        The problem to check.
    Xs, ys : sequences
        A few labelled samples, as solvers get them or, for a PartitionProblem, as users hold them:
        whatever its ``read`` takes.
    labellings : callable, optional
        For a Problem: takes a sample to its labellings, all of them, so that small samples are
        best. Those of a PartitionProblem are enumerated from its ``encode``.
    complete : bool
        Whether ``labellings`` lists all: then ``separate`` and ``predict`` may answer no other.
    exact_inference : bool
        For a Problem: whether ``predict`` finds the maximum, rather than something good.
    seed : int
        Seed of the weights.

    Returns
    -------
    Report
        How many partitions the answers were compared with, in words as ``str(report)``: a family
        with a scale may have one single partition of a few samples, and then enumeration compares
        nothing.

    Raises
    ------
    PluginError
        At the first broken promise; the message says which one and what to fix.

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
    return _check(problem, Xs, ys, labellings, complete, exact_inference, seed)


@singledispatch
def _check(problem: Any, *_: Any) -> Report:
    """Check what has promised a contract by the class it derives from."""
    if isinstance(problem, type) and issubclass(problem, Problem | PartitionProblem):
        raise PluginError(f"{problem.__name__} is a class: make an instance, {problem.__name__}()")
    raise PluginError(f"derive from Problem or from PartitionProblem: {problem!r} is neither")


@_check.register
def _check_partitions(
    problem: PartitionProblem,
    Xs: Sequence[Any],
    ys: Sequence[Any],
    _labellings: Labellings | None,
    _complete: bool,
    _exact_inference: bool,
    seed: int,
) -> Report:
    return check_partition_problem(problem, Xs, ys, seed)


@_check.register
def _check_structured(
    problem: Problem,
    Xs: Sequence[Any],
    ys: Sequence[Any],
    labellings: Labellings | None,
    complete: bool,
    exact_inference: bool,
    seed: int,
) -> Report:
    if len(Xs) == 0 or len(Xs) != len(ys):
        raise PluginError(f"give as many labels as samples, got {len(ys)} for {len(Xs)}")
    weights = random_weights(problem, np.random.default_rng(seed))
    for i, (x, y) in enumerate(zip(Xs, ys, strict=True)):
        extra = [] if labellings is None else [(m, "one of labellings(x)") for m in labellings(x)]
        family = [m for m, _ in extra] if complete and labellings is not None else None
        sample = Asked(problem, x, y, f"sample {i}", family=family)
        sample.require_member(y, "the label given")
        separations = check_separation(sample, weights, extra)
        _check_inference(sample, weights, exact_inference, separations, extra)
    return Report(unlisted=labellings is None)


def _check_inference(
    sample: Asked,
    weights: Sequence[Floats],
    exact: bool,
    separations: Sequence[Separation],
    extra: Sequence[Known],
) -> None:
    predicted = [sample.unmodified("predict", w, sample.x) for w in weights]
    for y in predicted:
        sample.require_member(y, "the answer of predict")
    known = [(sample.y, "the truth"), *extra]
    known += [(y, "predicted at another weight") for y in predicted]
    known += [
        (s.y, "found by separate") for s in separations if s.quality is not Quality.RELAXATION
    ]
    for w, y in zip(weights, predicted, strict=True):
        again = sample.feature(sample.unmodified("predict", w, sample.x))
        sample.require(
            np.array_equal(again, sample.feature(y)),
            "predict differs on a second call: seed its random choices",
        )
        if exact:
            _check_linear(sample, w, y)
    if exact:
        _check_predictions(sample, list(zip(weights, predicted, strict=True)), known)


def _check_linear(sample: Asked, w: Floats, y: Any) -> None:
    """A hundred times the weight has the same maximisers."""
    score = float(w @ sample.feature(y))
    larger = float(w @ sample.feature(sample.unmodified("predict", 100.0 * w, sample.x)))
    sample.require(
        abs(larger - score) <= sample.tolerance(w) + TOLERANCE * abs(score),
        f"predict gives a labelling of score {score!r} at w, and one of {larger!r} at 100 w: the "
        "score it maximises is not linear in w, so it is not <w, joint_feature(x, y)>",
    )


def _check_predictions(
    sample: Asked, predicted: Sequence[tuple[Floats, Any]], known: Sequence[Known]
) -> None:
    """No labelling that is known has a larger score."""
    scores = [float(w @ sample.feature(y)) for w, y in predicted]
    for other, origin in known:
        feature = sample.feature(other)
        for (w, _), score in zip(predicted, scores, strict=True):
            reached = float(w @ feature)
            if reached > score + sample.tolerance(w) + TOLERANCE * abs(score):
                sample.require(
                    False,
                    f"predict reached the score {score!r}, but the labelling {other!r}, {origin}, "
                    f"has {reached!r}: maximise <w, joint_feature(x, y)> without the loss, or say "
                    "exact_inference=False",
                )
