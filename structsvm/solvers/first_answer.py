"""What a problem must answer, looked at before it can be believed.

A wrong loss or a sample changed in place would end in a certificate of another problem. What costs
nothing is checked of every answer; the rest is checked once, when the first sample of a risk is
asked for the first time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from structsvm.errors import OracleError, PluginError, StructSVMError
from structsvm.problem import Problem, Separation
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.support.checks import is_number
from structsvm.support.contract import asked, culprit
from structsvm.support.plain import shown
from structsvm.support.unchanged import Snapshot

TOLERANCE = 1e-8
"""Rounding allowed in a loss."""

ALIKE = 1e-6
"""Rounding allowed between two ways to a joint feature or a loss, for the size of its largest."""

NUMBERS = int | float | np.bool_ | np.integer | np.floating
"""What is one number, the truth values among them."""

TRIALS = (1.0, -1.0, 10.0, -10.0)
"""Sizes of the weights at which another labelling than the truth is looked for."""


def raise_named(problem: Problem, error: Exception, sample: int) -> NoReturn:
    """Raise an error of ``separate`` with the sample."""
    if isinstance(error, StructSVMError):
        error.add_note(f"while separating sample {sample}")
        raise error
    named = culprit(error) or f"{type(problem).__name__}.separate"
    failed = f"sample {sample}: {named} raised {type(error).__name__}: {error}"
    if isinstance(error, ValueError) and "read-only" in str(error):
        raise PluginError(f"{failed}: copy what it was given before writing to it") from error
    raise OracleError(failed) from error


def check_first_answer(problem: Problem, x: Any, y: Any, sample: int, w: Floats) -> Separation:
    """The answer about a sample, with which all that a problem promises is checked."""

    def feature(labelling: Any) -> Floats:
        with asked(problem, "joint_feature", f"sample {sample}"):
            return check_feature(problem, problem.joint_feature(x, labelling), w.size, sample)

    with unchanged(problem, x, y, sample):
        try:
            answer = problem.separate(w, x, y)
        except Exception as error:
            raise_named(problem, error, sample)
        check_separation(problem, answer, sample)
        phi = feature(answer.y)
        held = phi.copy()
        feature(y)
        if not np.array_equal(phi, held, equal_nan=True):
            raise PluginError(
                f"sample {sample}: {type(problem).__name__}.joint_feature writes to an array that "
                "it returned before: return a new one each time"
            )
        with asked(problem, "loss", f"sample {sample}"):
            loss = check_loss(problem, problem.loss(y, answer.y), sample)
        if answer.loss is not None:
            _check_same(problem, answer.loss, loss, "loss", sample)
        if answer.feature is not None:
            said = "separate returned the feature"
            found = check_feature(problem, answer.feature, w.size, sample, said)
            _check_same(problem, found, held, "joint_feature", sample)
        _check_truth(problem, x, y, answer, sample, w)
    return answer


def check_separation(problem: Problem, answer: object, sample: int) -> None:
    """Check what ``separate`` returned."""
    if not isinstance(answer, Separation):
        found = shown(answer)
    elif isinstance(answer.quality, Quality) and is_number(answer.slack) and answer.slack >= 0:
        return
    else:
        found = f"the slack {answer.slack!r} and the quality {answer.quality!r}"
    raise PluginError(
        f"sample {sample}: {type(problem).__name__}.separate returned {found}: return "
        "Separation(y, slack, quality) with how far the maximum may exceed the value found, 0 or "
        "more, math.inf if that is not known, and a Quality"
    )


def check_feature(
    problem: Problem, phi: object, dim: int, sample: int, said: str = "joint_feature returned"
) -> Floats:
    """A joint feature in double precision, after a check that it is one vector of floats, (d,)."""
    if not isinstance(phi, np.ndarray) or phi.shape != (dim,) or phi.dtype.kind != "f":
        raise PluginError(
            f"sample {sample}: {type(problem).__name__}.{said} {shown(phi)} where "
            f"weight_space() has dimension {dim}: return one vector of floats of shape ({dim},)"
        )
    return np.asarray(phi, dtype=np.float64)


def check_loss(problem: Problem, loss: object, sample: int, said: str = "loss returned") -> float:
    """A loss, after a check that it is one number, negative only where it may be."""
    asked_for = f"sample {sample}: {type(problem).__name__}.{said}"
    if not isinstance(loss, NUMBERS):
        raise PluginError(f"{asked_for} {shown(loss)}: return a float")
    if loss < -TOLERANCE and not problem.signed_losses:
        raise PluginError(f"{asked_for} {float(loss)!r}: a loss must not be negative")
    return float(loss)


def _check_same(problem: Problem, said: Any, own: Any, method: str, sample: int) -> None:
    """Check that ``separate`` returned the feature or loss that the problem gives its labelling."""
    size = max(float(np.abs(own).max()), 1.0) if np.size(own) else 1.0
    if np.allclose(said, own, rtol=0.0, atol=ALIKE * size, equal_nan=True):
        return
    at = int(np.argmax(np.abs(np.subtract(said, own))))
    raise PluginError(
        f"sample {sample}: {type(problem).__name__}.separate returned the "
        f"{method.removeprefix('joint_')} {float(np.ravel(said)[at])!r} where {method} gives its "
        f"labelling {float(np.ravel(own)[at])!r}: return what {method} does, or None"
    )


@contextmanager
def unchanged(problem: Problem, x: Any, y: Any, sample: int) -> Iterator[None]:
    """Refuse a problem that changes the sample or the labelling it was given in the meantime."""
    before = [("sample", x, _snapshot(x)), ("labelling", y, _snapshot(y))]
    yield
    for what, now, snapshot in before:
        if snapshot is None or snapshot.still_holds(now):
            continue
        attribute = snapshot.changed_attribute(now)
        said = f"{type(problem).__name__} changed the {what} that it was given, in separate, "
        said += "joint_feature or loss"
        if attribute:
            said = f"{attribute} was changed while the {what} was separated"
        raise PluginError(f"sample {sample}: {said}: copy before writing, and keep settings only")


def _snapshot(value: Any) -> Snapshot | None:
    """A copy to compare with; None of what cannot be copied, of which nothing can be said."""
    try:
        return Snapshot(value)
    except Exception:
        return None


def _check_truth(
    problem: Problem, x: Any, y: Any, found: Separation, sample: int, w: Floats
) -> None:
    """Check that the truth has loss 0, and that some other labelling has a positive loss."""
    cost = float(problem.loss(y, found.y))
    at_truth = check_loss(problem, problem.loss(y, y), sample)
    if abs(at_truth) > TOLERANCE * (1.0 + abs(cost)):
        raise PluginError(
            f"sample {sample}: {type(problem).__name__}.loss(y, y) is {at_truth!r} for the true "
            "labelling y: the truth must not cost anything"
        )
    if problem.signed_losses or cost > TOLERANCE:
        return
    space = problem.weight_space()
    direction = np.random.default_rng(0).standard_normal(w.size)
    for size in TRIALS:
        try:
            other = problem.separate(space.project(size * direction), x, y)
            check_separation(problem, other, sample)
            check_loss(problem, problem.loss(y, other.y), sample)
            _check_no_better(problem, x, y, found, other, sample, w)
        except PluginError:
            raise
        except StructSVMError:  # no answer at a weight that learning may never come to
            continue


def _check_no_better(
    problem: Problem, x: Any, y: Any, found: Separation, other: Separation, sample: int, w: Floats
) -> None:
    """Check that no other labelling is worth more at ``w`` than ``found`` says that any is."""
    if found.quality is Quality.HEURISTIC:
        return
    costs = [float(problem.loss(y, z)) for z in (found.y, other.y)]
    scores = [float(w @ problem.joint_feature(x, z)) for z in (found.y, other.y)]
    best, better = (cost + score for cost, score in zip(costs, scores, strict=True))
    rounding = ALIKE * (1.0 + sum(map(abs, (*costs, *scores))))
    if better > best + float(found.slack) + rounding:
        raise PluginError(
            f"sample {sample}: {type(problem).__name__}.separate found a labelling with the loss "
            f"{costs[0]:.6g} where another, which it found at another weight, is worth "
            f"{better - best:.6g} more: maximise loss(y, y') + <w, joint_feature(x, y')>, with a "
            "plus before the loss, or return Quality.HEURISTIC"
        )
