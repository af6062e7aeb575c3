"""Does a problem keep its contract: inference against every labelling that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from structsvm.errors import PluginError
from structsvm.partitions.problem import PartitionProblem
from structsvm.problem import Problem
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.testing.partition import Report, check_partition_problem
from structsvm.testing.separation import (
    TOLERANCE,
    Asked,
    Known,
    check_separation,
    random_weights,
)

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

    For a :class:`~structsvm.problem.Problem`: joint features have the dimension of the weight, the
    truth costs nothing and no loss is negative, the score is linear in ``w``, neither inference nor
    loss-augmented inference is worse than the truth or any labelling that is known, the answers are
    the same when asked again and after pickling, and nothing that is handed in is modified.

    For a :class:`~structsvm.partitions.problem.PartitionProblem`: samples and labels are read as by
    ``fit``, labels are decoded faithfully, training samples fit to what they are made of, and
    prediction and loss-augmented inference are compared with all partitions of a few items that
    ``encode`` accepts. What has side information is enumerated on the first items of the samples
    given, as its ``at`` makes them. On the samples given, at several scales and prices, with and
    without a truth, and under the constraints that the decoder takes, answers are in the family,
    and none that is declared exact is worse than a merge, split or move of an answer or a truth
    that ``encode`` accepts.

    Where ``traits.convex`` is False there is no decoder to compare with. Then ``partition`` is
    asked for numbers of clusters and with links, and has to keep them, and the gradient of the
    objective is compared with its differences, as its convex model is with the objective where they
    touch.

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
    if isinstance(problem, PartitionProblem):
        return check_partition_problem(problem, Xs, ys, seed)
    given: Any = problem
    if not isinstance(given, Problem):
        way_out = f": make an instance, {given.__name__}()" if isinstance(given, type) else ""
        raise PluginError(f"{given!r} is neither a Problem nor a PartitionProblem{way_out}")
    if len(Xs) == 0 or len(Xs) != len(ys):
        raise PluginError(f"give as many labels as samples, got {len(ys)} for {len(Xs)}")
    weights = random_weights(problem, np.random.default_rng(seed))
    for i, (x, y) in enumerate(zip(Xs, ys, strict=True)):
        listed = None if labellings is None else list(labellings(x))
        known = [(one, "one of labellings(x)") for one in listed or ()]
        family = listed if complete else None
        sample = Asked(problem, x, y, i, f"sample {i}", type(problem).__name__, family)
        sample.require_member(y, "the label given")
        known += [
            (answer.labelling.y, "found by separate")
            for answer in check_separation(sample, weights, known)
            if answer.separation.quality is not Quality.RELAXATION
        ]
        _check_inference(sample, weights, [(y, "the truth"), *known], exact_inference)
    return Report(unlisted=labellings is None)


def _check_inference(
    sample: Asked, weights: Sequence[Floats], known: Sequence[Known], exact: bool
) -> None:
    """Inference finds the same twice, and if it is exact no labelling has a larger score."""

    def predict(w: Floats) -> Floats:
        y = sample.call("predict", w, sample.x)
        sample.require_member(y, "the answer of predict")
        return sample.feature(y)

    features = [predict(w) for w in weights]
    scores = [float(w @ feature) for w, feature in zip(weights, features, strict=True)]
    rooms = [
        sample.tolerance(w) + TOLERANCE * abs(score)
        for w, score in zip(weights, scores, strict=True)
    ]
    for w, feature, score, room in zip(weights, features, scores, rooms, strict=True):
        sample.require(
            np.array_equal(predict(w), feature),
            "predict differs on a second call: seed its random choices",
        )
        larger = float(w @ predict(100.0 * w)) if exact else score
        sample.require(
            abs(larger - score) <= room,
            f"predict gives a labelling of score {score!r} at w, and one of {larger!r} at 100 w: "
            "the score it maximises is not linear in w, so it is not <w, joint_feature(x, y)>",
        )
    others = [(sample.feature(y), f"{y!r}, {origin}") for y, origin in known]
    others += [(feature, "predicted at another weight") for feature in features]
    for other, origin in others if exact else ():
        for w, score, room in zip(weights, scores, rooms, strict=True):
            reached = float(w @ other)
            sample.require(
                reached <= score + room,
                f"predict reached the score {score!r}, but the labelling {origin}, has {reached!r}:"
                " maximise <w, joint_feature(x, y)> without the loss, or say exact_inference=False",
            )
