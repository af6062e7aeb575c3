"""What a problem must answer, looked at before it can be believed.

A wrong loss or a sample changed in place would end in a certificate of another problem. What costs
nothing is checked of every answer; the rest is checked once, when the first sample of a risk is
asked for the first time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


def failure(problem: Problem, method: str, error: Exception, sample: int) -> StructSVMError:
    named = culprit(error) or f"{type(problem).__name__}.{method}"
    failed = f"sample {sample}: {named} raised {type(error).__name__}"
    if isinstance(error, ValueError) and "read-only" in str(error):
        return PluginError(f"{failed}: {error}: copy what it was given before writing to it")
    return OracleError(f"{failed}: {error}")


def check_first_answer(problem: Problem, x: Any, y: Any, sample: int, w: Floats) -> Separation:
    """The answer about a sample, with which all that a problem promises is checked."""
    with unchanged(problem, x, y, sample):
        try:
            answer = problem.separate(w, x, y)
        except StructSVMError as error:
            error.add_note(f"while separating sample {sample}")
            raise
        except Exception as error:
            raise failure(problem, "separate", error, sample) from error
        check_separation(problem, answer, sample, "separate")
        phi = _feature(problem, x, answer.y, sample, w.size)
        held = phi.copy()
        _feature(problem, x, y, sample, w.size)
        check_buffer(problem, phi, held, sample)
        with asked(problem, "loss", f"sample {sample}"):
            loss = check_loss(problem, problem.loss(y, answer.y), sample)
        if answer.loss is not None:
            check_same(problem, answer.loss, loss, "loss", sample)
        if answer.feature is not None:
            said = "separate returned the feature"
            given = check_feature(problem, answer.feature, w.size, sample, said)
            check_same(problem, given, held, "feature", sample)
        check_truth(problem, x, y, answer, sample, w)
    return answer


def _feature(problem: Problem, x: Any, y: Any, sample: int, dim: int) -> Floats:
    with asked(problem, "joint_feature", f"sample {sample}"):
        return check_feature(problem, problem.joint_feature(x, y), dim, sample)


def check_separation(problem: Problem, answer: object, sample: int, method: str) -> Separation:
    """Check what ``separate`` or ``improve`` returned, and return it."""
    if not isinstance(answer, Separation):
        raise PluginError(
            f"{_asked(problem, method, sample)} returned {shown(answer)}: return "
            "Separation(y, slack, quality)"
        )
    if not isinstance(answer.quality, Quality):
        raise PluginError(
            f"{_asked(problem, method, sample)} returned the quality {answer.quality!r}: return "
            "Quality.EXACT, Quality.RELAXATION or Quality.HEURISTIC"
        )
    if not (is_number(answer.slack) and answer.slack >= 0):
        raise PluginError(
            f"{_asked(problem, method, sample)} returned the slack {answer.slack!r}: it is how far "
            "the maximum may exceed the value found, 0 or more, math.inf if that is not known"
        )
    return answer


def check_feature(
    problem: Problem, phi: object, dim: int, sample: int, said: str = "joint_feature returned"
) -> Floats:
    """Check that a joint feature is one vector of floats, (d,), and return it in double
    precision.
    """
    if not isinstance(phi, np.ndarray) or phi.shape != (dim,):
        raise PluginError(
            f"{_asked(problem, said, sample)} {shown(phi)} where weight_space() has dimension "
            f"{dim}: return one vector of shape ({dim},)"
        )
    if phi.dtype.kind != "f":
        raise PluginError(
            f"{_asked(problem, said, sample)} a vector of {phi.dtype}: return floats, "
            ".astype(float)"
        )
    return np.asarray(phi, dtype=np.float64)


def check_buffer(problem: Problem, phi: Floats, held: Floats, sample: int) -> None:
    """Check that a joint feature is unchanged after another one has been asked for."""
    if not np.array_equal(phi, held, equal_nan=True):
        raise PluginError(
            f"sample {sample}: {type(problem).__name__}.joint_feature writes to an array that it "
            "returned before: return a new one each time"
        )


def check_loss(problem: Problem, loss: object, sample: int, said: str = "loss returned") -> float:
    """Check that a loss is one number, negative only where it may be, and return it."""
    if not isinstance(loss, NUMBERS):
        raise PluginError(f"{_asked(problem, said, sample)} {shown(loss)}: return a float")
    if loss < -TOLERANCE and not problem.signed_losses:
        raise PluginError(
            f"{_asked(problem, said, sample)} {float(loss)!r}: a loss must not be negative"
        )
    return float(loss)


def check_same(problem: Problem, given: Any, own: Any, what: str, sample: int) -> None:
    """Check that ``separate`` returned the feature or loss that the problem gives its labelling."""
    size = max(float(np.abs(own).max()), 1.0) if np.size(own) else 1.0
    if np.allclose(given, own, rtol=0.0, atol=ALIKE * size, equal_nan=True):
        return
    at = int(np.argmax(np.abs(np.subtract(given, own))))
    method = "joint_feature" if what == "feature" else what
    raise PluginError(
        f"sample {sample}: {type(problem).__name__}.separate returned the {what} "
        f"{float(np.ravel(given)[at])!r} where {method} gives its labelling "
        f"{float(np.ravel(own)[at])!r}: return what {method} does, or None"
    )


@contextmanager
def unchanged(problem: Problem, x: Any, y: Any, sample: int) -> Iterator[None]:
    """Refuse a problem that changes the sample or the labelling it was given in the meantime."""
    held = [("sample", x, _snapshot(x)), ("labelling", y, _snapshot(y))]
    yield
    for what, now, before in held:
        if before is not None and not before.still_holds(now):
            attribute = before.changed_attribute(now)
            if attribute:
                raise PluginError(
                    f"sample {sample}: {attribute} was changed while the {what} was separated: "
                    "copy before writing, and keep settings only"
                )
            raise PluginError(
                f"sample {sample}: {type(problem).__name__} changed the {what} that it was given, "
                "in separate, joint_feature or loss: copy before writing"
            )


def check_truth(
    problem: Problem, x: Any, y: Any, found: Separation, sample: int, w: Floats
) -> None:
    """Check that the truth has loss 0, and that some other labelling has a positive loss."""
    name = f"sample {sample}: {type(problem).__name__}"
    cost = float(problem.loss(y, found.y))
    at_truth = check_loss(problem, problem.loss(y, y), sample)
    if abs(at_truth) > TOLERANCE * (1.0 + abs(cost)):
        raise PluginError(
            f"{name}.loss(y, y) is {at_truth!r} for the true labelling y: the truth must not cost "
            "anything"
        )
    if problem.signed_losses or cost > TOLERANCE:
        return
    rng, space = np.random.default_rng(0), problem.weight_space()
    direction = rng.standard_normal(w.size)
    for size in TRIALS:
        trial = space.project(size * direction)
        try:
            answer = problem.separate(trial, x, y)
            check_separation(problem, answer, sample, "separate")
            check_loss(problem, problem.loss(y, answer.y), sample)
            check_no_better(problem, x, y, found, answer, sample, w)
        except PluginError:
            raise
        except StructSVMError:  # no answer at a weight that learning may never come to
            continue


def check_no_better(
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
            f"{_asked(problem, 'separate', sample)} found a labelling with the loss {costs[0]:.6g} "
            f"where another, which it found at another weight, is worth {better - best:.6g} more: "
            "maximise loss(y, y') + <w, joint_feature(x, y')>, with a plus before the loss, or "
            "return Quality.HEURISTIC"
        )


def _asked(problem: Problem, method: str, sample: int) -> str:
    """Which method has answered for which sample, as messages begin."""
    return f"sample {sample}: {type(problem).__name__}.{method}"


def _snapshot(value: Any) -> Snapshot | None:
    """A copy to compare with; None of what cannot be copied, of which nothing can be said."""
    try:
        return Snapshot(value)
    except Exception:
        return None
