"""What a problem must answer, as solvers check it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any, NoReturn

import numpy as np

from structsvm.errors import PluginError, StructSVMError, nth
from structsvm.problem import Problem, Separation
from structsvm.status import Quality
from structsvm.support.codec import difference
from structsvm.support.contract import asked
from structsvm.support.values import Floats, is_number, shown

LOSS_ROUNDING = 1e-8
"""Rounding allowed in a loss."""


SAME_FEATURE = 1e-6
"""Rounding allowed between two ways to a joint feature or a loss, for the size of its largest."""


ONE_NUMBER = int | float | np.bool_ | np.integer | np.floating
"""What is one number, the truth values among them."""


GIVEN = "separate returned the feature"


OTHER_WEIGHTS = (1.0, -1.0, 10.0, -10.0)
"""Sizes of the weights at which another labelling is looked for, where the first has no loss."""


def refuse(problem: Problem, instance: int, said: str) -> NoReturn:
    """Refuse what a method of a problem did with an instance."""
    raise PluginError(nth("instance", instance) + f": {type(problem).__name__}.{said}")


def check_first_answer(problem: Problem, x: Any, y: Any, instance: int, w: Floats) -> Separation:
    """The answer about an instance, with which all that a problem promises is checked."""
    where = nth("instance", instance)
    with unchanged(problem, x, y, instance):
        with asked(problem, "separate", where):
            answer = problem.separate(w, x, y)
        check_separation(problem, answer, instance)
        with asked(problem, "joint_feature", where):
            phi = check_feature(problem, problem.joint_feature(x, answer.y), w.size, instance)
            feature = phi.copy()
            check_feature(problem, problem.joint_feature(x, y), w.size, instance)
        if not np.array_equal(phi, feature, equal_nan=True):
            said = "joint_feature writes to an array that it returned before: return a new one"
            refuse(problem, instance, f"{said} each time")
        with asked(problem, "loss", where):
            loss = check_loss(problem, problem.loss(y, answer.y), instance)
            of_truth = check_loss(problem, problem.loss(y, y), instance)
        if answer.feature is not None:
            own = check_feature(problem, answer.feature, w.size, instance, GIVEN)
            size = max(float(np.abs(feature).max()), 1.0)
            if not np.allclose(own, feature, rtol=0.0, atol=SAME_FEATURE * size, equal_nan=True):
                at = int(np.argmax(np.abs(own - feature)))
                said = f"{GIVEN} {own[at]:.6g} where joint_feature gives its labelling"
                said = f"{said} {feature[at]:.6g}: return what joint_feature does, or None"
                refuse(problem, instance, said)
        if abs(of_truth) > LOSS_ROUNDING * (1.0 + abs(loss)):
            said = f"loss(y, y) is {of_truth!r} for the true labelling y"
            refuse(problem, instance, f"{said}: the truth must not cost anything")
        if loss <= LOSS_ROUNDING and not problem.signed_losses:
            _check_no_better(problem, x, y, answer, instance, w)
    return answer


def check_separation(problem: Problem, answer: object, instance: int) -> None:
    """Check what ``separate`` returned."""
    if not isinstance(answer, Separation):
        returned = shown(answer)
    elif isinstance(answer.quality, Quality) and is_number(answer.slack) and answer.slack >= 0:
        return
    else:
        returned = f"the slack {answer.slack!r} and the quality {answer.quality!r}"
    said = f"separate returned {returned}: return Separation(y, slack, quality) with how far the"
    said += " maximum may exceed the value found, 0 or more, math.inf if that is not known, and a"
    refuse(problem, instance, f"{said} Quality")


def check_feature(
    problem: Problem, phi: object, dim: int, instance: int, said: str = "joint_feature returned"
) -> Floats:
    """A joint feature in double precision, after a check that it is one vector of floats, (d,)."""
    if isinstance(phi, np.ndarray) and phi.shape == (dim,) and phi.dtype.kind == "f":
        return np.asarray(phi, dtype=np.float64)
    said = f"{said} {shown(phi)} where weight_space() has dimension {dim}"
    refuse(problem, instance, f"{said}: return one vector of floats of shape ({dim},)")


def check_loss(problem: Problem, loss: object, instance: int) -> float:
    """A loss, after a check that it is one number, negative only where it may be."""
    if not isinstance(loss, ONE_NUMBER):
        refuse(problem, instance, f"loss returned {shown(loss)}: return a float")
    if loss < -LOSS_ROUNDING and not problem.signed_losses:
        refuse(problem, instance, f"loss returned {float(loss)!r}: a loss must not be negative")
    return float(loss)


@contextmanager
def unchanged(problem: Problem, x: Any, y: Any, instance: int) -> Iterator[None]:
    """Refuse a problem that changes the instance or the labelling it was given in the meantime."""
    before = []
    for what, value in (("instance", x), ("labelling", y)):
        with suppress(Exception):  # of what cannot be copied nothing can be said
            before.append((what, value, deepcopy(value)))
    yield
    for what, now, copied in before:
        attribute = difference(copied, now)
        if attribute is None:
            continue
        said = f"{type(problem).__name__} changed the {what} that it was given"
        if attribute:
            said = f"{attribute} was changed while the {what} was separated"
        kept = f"{said}: copy before writing, and keep settings only"
        raise PluginError(nth("instance", instance) + ": " + kept)


def _check_no_better(
    problem: Problem, x: Any, y: Any, answer: Separation, instance: int, w: Floats
) -> None:
    """Check that no labelling that is found at other weights is better than one without a loss."""
    space = problem.weight_space()
    direction = np.random.default_rng(0).standard_normal(w.size)
    for size in OTHER_WEIGHTS if answer.quality is not Quality.HEURISTIC else ():
        try:
            other = problem.separate(space.project(size * direction), x, y)
        except StructSVMError:  # no answer at a weight that learning may never come to
            continue
        check_separation(problem, other, instance)
        costs = [check_loss(problem, problem.loss(y, z), instance) for z in (answer.y, other.y)]
        scores = [float(w @ problem.joint_feature(x, z)) for z in (answer.y, other.y)]
        best, better = (cost + score for cost, score in zip(costs, scores, strict=True))
        rounding = SAME_FEATURE * (1.0 + sum(map(abs, (*costs, *scores))))
        if better > best + float(answer.slack) + rounding:
            refuse(
                *(problem, instance),
                f"separate found a labelling with the loss {costs[0]:.6g} where another, found at "
                f"another weight, is worth {better - best:.6g} more: maximise loss(y, y') + <w, "
                "joint_feature(x, y')>, with a plus before the loss, or return Quality.HEURISTIC",
            )
