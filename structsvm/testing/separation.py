"""Loss-augmented inference against every labelling that is known."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from structsvm.errors import PluginError
from structsvm.problem import Problem, Separation
from structsvm.solvers.first_answer import ALIKE
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.support.checks import is_number
from structsvm.support.plain import shown
from structsvm.support.unchanged import Snapshot
from structsvm.weights import WeightSpace

TOLERANCE = 1e-8
"""Rounding allowed, as a fraction of the size of the terms."""

STEPS = 24
"""At how many weights that tie two answers a third may be better before the search ends."""

BEYOND = 4.0
"""Roundings by which the worth of two answers differs beside the weight at which they tie."""

AT_ANOTHER = "found by separate at another weight"

Known = tuple[Any, str]
"""A labelling, and where it comes from."""


@dataclass(frozen=True, eq=False)
class Labelling:
    """What separation maximises, of one labelling at every weight."""

    y: Any
    origin: str
    loss: float
    """``loss(y_i, y)``."""
    feature: Floats
    """``phi(x, y)``."""
    slope: Floats
    """``phi(x, y) - phi(x, y_i)``."""

    def worth(self, w: Floats) -> float:
        """``loss(y_i, y) + <w, phi(x, y) - phi(x, y_i)>``."""
        return self.loss + float(w @ self.slope)


@dataclass(frozen=True, eq=False)
class Answer:
    """What ``separate`` found at a weight."""

    w: Floats
    separation: Separation
    labelling: Labelling


@dataclass(frozen=True, eq=False)
class Asked:
    """A labelled sample and the problem that is asked about it."""

    problem: Problem
    x: Any
    y: Any
    where: str
    name: str = ""
    """What the problem is called in messages; that of its class by default."""
    family: Sequence[Any] | None = None
    """All labellings of the sample, if they are known."""

    def require(self, kept: bool, complaint: str) -> None:
        """Check one promise of the problem at this sample and weight."""
        if not kept:
            raise PluginError(f"{self.called}: {complaint} [{self.where}]")

    def require_member(self, y: Any, what: str) -> None:
        """Check that a labelling is one of the family."""
        if self.family is not None and not any(_alike(y, other) for other in self.family):
            self.require(
                False,
                f"{what}, {shown(y)}, is none of labellings(x): search those alone, or list it (or "
                "say complete=False if labellings lists only some)",
            )

    @property
    def called(self) -> str:
        return self.name or type(self.problem).__name__

    def feature(self, y: Any) -> Floats:
        """``phi(x, y)``, of the shape it has to have."""
        phi = self.unmodified("joint_feature", self.x, y)
        dim = self.problem.weight_space().dim
        self.require(
            isinstance(phi, np.ndarray) and phi.shape == (dim,),
            f"joint_feature returned {_shape(phi)} where weight_space() has dimension {dim}: "
            f"return one vector ({dim},)",
        )
        self.require(
            bool(np.issubdtype(phi.dtype, np.floating)),
            f"joint_feature returned a vector of {phi.dtype}: return floats, .astype(float)",
        )
        if not np.isfinite(phi).all():
            self.require(False, f"joint_feature is not a vector of finite floats: {phi!r}")
        return np.asarray(phi, dtype=np.float64)

    @cached_property
    def feature_of_truth(self) -> Floats:
        """``phi(x, y_i)``, asked for once."""
        return self.feature(self.y).copy()

    def loss(self, y: Any) -> float:
        """``loss(y_i, y)``, which must not be negative."""
        loss = self.unmodified("loss", self.y, y)
        fits = isinstance(loss, float | int | np.floating) and math.isfinite(loss)
        self.require(fits, f"loss returned {loss!r}: return a finite float")
        negative = not self.problem.signed_losses and loss < -TOLERANCE
        self.require(not negative, f"loss is {loss!r}: a loss must not be negative")
        return float(loss)

    def labelling(self, y: Any, origin: str) -> Labelling:
        """A labelling with its loss and its joint feature, asked for once."""
        feature = self.feature(y).copy()
        return Labelling(y, origin, self.loss(y), feature, feature - self.feature_of_truth)

    def tolerance(self, w: Floats) -> float:
        return TOLERANCE * (1.0 + float(np.abs(w) @ np.abs(self.feature_of_truth)))

    def unmodified(self, method: str, *arguments: Any) -> Any:
        """The answer of a method that leaves its input, and the problem, as they were."""
        before = Snapshot((vars(self.problem), arguments))
        try:
            answer = getattr(self.problem, method)(*arguments)
        except Exception as error:
            raise PluginError(
                f"{self.called}.{method} failed with {type(error).__name__}: {error} [{self.where}]"
            ) from error
        after = (vars(self.problem), arguments)
        holds = before.still_holds(after)
        attribute = "" if holds else before.changed_attribute(after)
        self.require(
            holds,
            f"{method} modified its input or the problem{f', {attribute}' if attribute else ''}: "
            "copy before writing, store nothing",
        )
        return answer


def random_weights(problem: Problem, rng: np.random.Generator) -> list[Floats]:
    """Weights of several sizes in the cone, the null one first."""
    space = problem.weight_space()
    if not isinstance(space, WeightSpace):
        raise PluginError(
            f"weight_space returned {space!r}: return Free(d), Nonnegative(d), PSD(P) or a Product"
        )
    scales = (0.0, 0.1, 1.0, 1.0, 10.0)
    return [space.project(scale * rng.standard_normal(space.dim)) for scale in scales]


def check_separation(
    sample: Asked, weights: Sequence[Floats], extra: Sequence[Known] = ()
) -> list[Separation]:
    """The loss, and loss-augmented inference at every weight against all labellings known."""
    first = sample.feature(sample.y)
    held = first.copy()
    at_truth = sample.loss(sample.y)
    sample.require(
        abs(at_truth) <= TOLERANCE, f"loss(y, y) is {at_truth!r}: the truth must not cost anything"
    )
    separations = [_separation(sample, w) for w in weights]
    answers = []
    for w, separation in zip(weights, separations, strict=True):
        answers.append(Answer(w, separation, sample.labelling(separation.y, AT_ANOTHER)))
        sample.require(
            np.array_equal(first, held),
            "joint_feature writes to an array that it returned before: return a new one each time",
        )
    _check_again(sample, answers)
    for answer in answers:
        _check_truth(sample, answer)
    known = (sample.labelling(y, origin) for y, origin in extra)
    for other in chain((answer.labelling for answer in answers), known):
        for answer in answers:
            _check_worth(sample, answer, other)
    _check_at_a_tie(sample, answers[0])
    return separations


def _check_at_a_tie(sample: Asked, first: Answer) -> None:
    """Compare the answers beside a weight at which they change, from that of the null weight on.

    There two labellings are worth the same, so that a loss that is not quite the one maximised
    shows, whereas at other weights the best labelling is that of either. A labelling that is worth
    more than the two where they tie takes the place of one of them.
    """
    low, start = first.labelling, first.w
    away = sample.problem.weight_space().project(-low.slope)
    size = float(away @ away)
    if not (low.loss > 0.0 and size > 0.0):
        return
    way = 2.0 * low.loss / size * away  # to where the truth is worth more than that answer
    found = [low]

    def ask(w: Floats) -> Labelling:
        answer = Answer(w, _separation(sample, w), low)
        answer = replace(answer, labelling=sample.labelling(answer.separation.y, AT_ANOTHER))
        _check_truth(sample, answer)
        for other in found:
            _check_worth(sample, answer, other)
        found.append(answer.labelling)
        return answer.labelling

    high = ask(start + way)
    _check_worth(sample, first, high)
    for _ in range(STEPS):
        lead, gained = low.worth(start) - high.worth(start), float(way @ (high.slope - low.slope))
        if high.loss == low.loss or not 0.0 <= lead <= gained or gained == 0.0:
            return
        tie = start + lead / gained * way
        middle = ask(tie)
        if middle.worth(tie) <= low.worth(tie) + sample.tolerance(tie):
            break
        if middle.loss == low.loss:
            low = middle
        else:
            high = middle
    beside = min(BEYOND * sample.tolerance(tie), lead) / gained * way
    ask(tie - beside)
    ask(tie + beside)


def _separation(sample: Asked, w: Floats) -> Separation:
    answer: Separation = sample.unmodified("separate", w, sample.x, sample.y)
    sample.require(
        isinstance(answer, Separation),
        f"separate returned {answer!r}: return Separation(y, slack, quality)",
    )
    sample.require(
        isinstance(answer.quality, Quality),
        f"separate returned the quality {answer.quality!r}: return Quality.EXACT, "
        "Quality.RELAXATION or Quality.HEURISTIC",
    )
    sample.require(
        is_number(answer.slack) and answer.slack >= 0.0,
        f"separate has slack {answer.slack!r}: it is an upper bound >= 0, how far the maximum may "
        "exceed the value found",
    )
    if answer.quality is not Quality.RELAXATION:
        sample.require_member(answer.y, "the answer of separate")
    _check_known(sample, answer)
    exact = answer.quality is Quality.EXACT
    sample.require(
        not exact or answer.slack <= sample.tolerance(w),
        f"separate is exact with slack {answer.slack!r}: return 0, or another quality",
    )
    return answer


def _check_known(sample: Asked, answer: Separation) -> None:
    """The feature and the loss that separate knows already are those of the problem."""
    for what, given, method in (
        ("feature", answer.feature, sample.feature),
        ("loss", answer.loss, sample.loss),
    ):
        if given is None:
            continue
        own = method(answer.y)
        if np.shape(given) != np.shape(own) or not np.allclose(given, own, rtol=ALIKE, atol=ALIKE):
            sample.require(
                False,
                f"separate returned the {what} {given!r}, and that of its labelling is {own!r}: "
                "return what the method of the problem does, or None",
            )


def _check_truth(sample: Asked, answer: Answer) -> None:
    """An answer is worth as much as the truth."""
    value = answer.labelling.worth(answer.w)
    sample.require(
        value >= -sample.tolerance(answer.w),
        f"separate found a labelling of value {value!r}, worse than the truth, which has 0: "
        "maximise loss(y, y') + <w, joint_feature(x, y')>, both terms, and compare with the truth",
    )


def _check_worth(sample: Asked, answer: Answer, other: Labelling) -> None:
    """No labelling is worth more than an answer may say."""
    w, slack = answer.w, answer.separation.slack
    if answer.separation.quality is Quality.HEURISTIC and math.isinf(slack):
        return
    value, reached = answer.labelling.worth(w), other.worth(w)
    if reached > value + slack + sample.tolerance(w):
        sample.require(
            False,
            f"separate reached {value!r} with slack {slack!r}, so that no labelling should be "
            f"worth more than their sum, but {other.y!r}, {other.origin}, is worth {reached!r}; "
            "check that it maximises the same loss and the same joint_feature that are declared, "
            "or return Quality.HEURISTIC with slack math.inf",
        )


def _check_again(sample: Asked, answers: Sequence[Answer]) -> None:
    try:
        copy = pickle.loads(pickle.dumps(sample.problem))
    except Exception as error:
        raise PluginError(
            f"{sample.called} cannot be pickled ({error}), so it cannot work in "
            "several processes: keep plain settings, and define the class in a module"
        ) from error
    copied = replace(sample, problem=copy)
    for answer in answers:
        w, first = answer.w, answer.labelling
        for again, when, second in (
            (sample, "on a second call", _separation(sample, w)),
            (copied, "after pickling", _separation(copied, w)),
            (sample, "from separate_all than from separate", _in_turn(sample, w)),
        ):
            same = np.array_equal(first.feature, again.feature(second.y))
            sample.require(
                same and first.loss == again.loss(second.y),
                f"separate gives another labelling {when}: seed every random choice in the "
                "settings",
            )


def _in_turn(sample: Asked, w: Floats) -> Separation:
    """The answer where several samples are separated in turn."""
    (answer,) = sample.unmodified("separate_all", w, [(sample.x, sample.y)])
    sample.require(
        isinstance(answer, Separation), f"separate_all returned {answer!r}: yield a Separation"
    )
    separation: Separation = answer
    return separation


def _alike(y: Any, other: Any) -> bool:
    if isinstance(y, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(np.asarray(y), np.asarray(other))
    try:
        return bool(y == other) or Snapshot(y).still_holds(other)
    except (TypeError, ValueError):
        return Snapshot(y).still_holds(other)


def _shape(value: object) -> str:
    return f"an array {value.shape}" if isinstance(value, np.ndarray) else repr(value)
