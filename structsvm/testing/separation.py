"""Loss-augmented inference against every labelling that is known."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from structsvm.errors import PluginError, StructSVMError
from structsvm.problem import Problem, Separation
from structsvm.solvers.first_answer import (
    check_feature,
    check_first_answer,
    check_loss,
    unchanged,
)
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.support.contract import asked
from structsvm.support.plain import shown
from structsvm.support.unchanged import Snapshot
from structsvm.weights import WeightSpace

TOLERANCE = 1e-8
"""Rounding allowed, as a fraction of the size of the terms."""

STEPS = 24
"""At how many weights that tie two answers a third may be better before the search ends."""

BEYOND = 4.0
"""Roundings by which the worth of two answers differs beside the weight at which they tie."""

Known = tuple[Any, str]
"""A labelling, and where it comes from."""


@dataclass(frozen=True, eq=False)
class Labelling:
    """What separation maximises, of one labelling at every weight."""

    y: Any
    origin: str
    loss: float
    """``loss(y_i, y)``."""
    slope: Floats
    """``phi(x, y) - phi(x, y_i)``."""

    def worth(self, w: Floats) -> float:
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
    number: int
    where: str
    name: str
    """What the problem is called in messages."""
    family: Sequence[Any] | None = None
    """All labellings of the sample, if they are known."""

    def require(self, kept: bool, complaint: str) -> None:
        if not kept:
            raise PluginError(f"{self.name}: {complaint} [{self.where}]")

    def require_member(self, y: Any, what: str) -> None:
        if self.family is not None and not any(_alike(y, other) for other in self.family):
            self.require(
                False,
                f"{what}, {shown(y)}, is none of labellings(x): search those alone, or list it (or "
                "say complete=False if labellings lists only some)",
            )

    def call(self, method: str, *arguments: Any) -> Any:
        """What a method answers that leaves the sample as it was."""
        with (
            asked(self.problem, method, self.where),
            unchanged(self.problem, self.x, self.y, self.number),
        ):
            return getattr(self.problem, method)(*arguments)

    def feature(self, y: Any) -> Floats:
        dim = self.problem.weight_space().dim
        phi = self.call("joint_feature", self.x, y)
        phi = check_feature(self.problem, phi, dim, self.number).copy()
        self.require(
            bool(np.isfinite(phi).all()), f"joint_feature is not a vector of finite floats: {phi!r}"
        )
        return phi

    @cached_property
    def feature_of_truth(self) -> Floats:
        return self.feature(self.y)

    def labelling(self, y: Any, origin: str) -> Labelling:
        loss = check_loss(self.problem, self.call("loss", self.y, y), self.number)
        self.require(math.isfinite(loss), f"loss returned {loss!r}: return a finite float")
        return Labelling(y, origin, loss, self.feature(y) - self.feature_of_truth)

    def tolerance(self, w: Floats) -> float:
        return TOLERANCE * (1.0 + float(np.abs(w) @ np.abs(self.feature_of_truth)))

    def separate(self, w: Floats) -> Answer:
        """What is found at a weight, with all that one answer promises checked."""
        with self._named():
            answer = check_first_answer(self.problem, self.x, self.y, self.number, w)
        if answer.quality is not Quality.RELAXATION:
            self.require_member(answer.y, "the answer of separate")
        self.require(
            answer.quality is not Quality.EXACT or answer.slack <= self.tolerance(w),
            f"separate is exact with slack {answer.slack!r}: return 0, or another quality",
        )
        found = Answer(w, answer, self.labelling(answer.y, "found by separate at another weight"))
        value = found.labelling.worth(w)
        self.require(
            value >= -self.tolerance(w),
            f"separate found a labelling of value {value!r}, worse than the truth, which has 0: "
            "maximise loss(y, y') + <w, joint_feature(x, y')>, both terms, and compare with the "
            "truth",
        )
        return found

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except StructSVMError as error:
            raise PluginError(f"{self.name}: {error} [{self.where}]") from error


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
) -> list[Answer]:
    """Loss-augmented inference at every weight against all labellings known."""
    before = Snapshot(sample.problem)
    sample.labelling(sample.y, "the truth")
    answers = [sample.separate(w) for w in weights]
    _check_again(sample, answers)
    others = [answer.labelling for answer in answers]
    others += [sample.labelling(y, origin) for y, origin in extra]
    for other in others:
        for answer in answers:
            check_worth(sample, answer, other)
    _check_at_a_tie(sample, answers[0])
    changed = before.changed_attribute(sample.problem)
    sample.require(
        before.still_holds(sample.problem), f"it modified itself, {changed}: store nothing"
    )
    return answers


def _check_again(sample: Asked, answers: Sequence[Answer]) -> None:
    """The same answers on a second call, after pickling, and where samples are asked in turn."""
    try:
        copied = replace(sample, problem=pickle.loads(pickle.dumps(sample.problem)))
    except Exception as error:
        raise PluginError(
            f"{sample.name} cannot be pickled ({error}), so it cannot work in several processes: "
            "keep plain settings, and define the class in a module"
        ) from error
    for answer in answers:
        w, first = answer.w, answer.labelling
        (in_turn,) = sample.call("separate_all", w, [(sample.x, sample.y)])
        asked_again = (
            ("on a second call", sample.call("separate", w, sample.x, sample.y)),
            ("after pickling", copied.call("separate", w, sample.x, sample.y)),
            ("from separate_all", in_turn),
        )
        for when, second in asked_again:
            sample.require(isinstance(second, Separation), f"separate returned {second!r} {when}")
            again = sample.labelling(second.y, when)
            sample.require(
                first.loss == again.loss and np.array_equal(first.slope, again.slope),
                f"separate gives another labelling {when}: seed every random choice in the "
                "settings",
            )


def check_worth(sample: Asked, answer: Answer, other: Labelling) -> None:
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
        answer = sample.separate(w)
        for other in found:
            check_worth(sample, answer, other)
        found.append(answer.labelling)
        return answer.labelling

    high = ask(start + way)
    check_worth(sample, first, high)
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


def _alike(y: Any, other: Any) -> bool:
    if isinstance(y, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(np.asarray(y), np.asarray(other))
    try:
        return bool(y == other) or Snapshot(y).still_holds(other)
    except (TypeError, ValueError):
        return Snapshot(y).still_holds(other)
