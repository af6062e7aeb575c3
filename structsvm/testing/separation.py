"""Check inference and loss-augmented inference by comparison with known labellings."""

import math
import pickle
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from structsvm.errors import StructSVMError
from structsvm.problem import Problem, Quality, Separation
from structsvm.solvers.separation import check_feature, check_first_answer, check_loss
from structsvm.support import Floats, difference, shown
from structsvm.testing.oracle import Checked, tolerance_of

TERM_ROUNDING = 1e-8  # rounding error that is allowed, relative to the size of the terms
HALVINGS = 30  # halvings of the interval in which two answers tie
WEIGHT_SIZES = (0.0, 0.1, 1.0, 1.0, 10.0)  # sizes of the weights at which plugins are tested
Known = tuple[Any, str]  # a labelling, and its origin for messages


@dataclass(frozen=True, eq=False)
class Labelling:
    """A labelling, with the loss and the score that separation maximises."""

    y: Any
    origin: str
    loss: float  # ``loss(y_i, y)``
    slope: Floats  # ``phi(x, y) - phi(x, y_i)``

    def worth(self, w: Floats) -> float:
        """The value of the labelling in separation at a weight, less that of the truth."""
        return self.loss + float(w @ self.slope)


@dataclass(frozen=True, eq=False)
class Separated:
    """The answer of ``separate`` at a weight."""

    w: Floats
    separation: Separation
    labelling: Labelling


@dataclass(frozen=True, eq=False, kw_only=True)
class Asked(Checked):
    """A problem under test with a labelled instance."""

    x: Any
    y: Any
    number: int
    family: Sequence[Any] | None = None  # all labellings of the instance, if they are known

    def require_member(self, y: Any, what: str) -> None:
        """Check that a labelling is among all labellings of the instance, if they are known."""
        listed = self.family is None or any(_alike(y, other) for other in self.family)
        said = f"{what}, {shown(y)}, is none of labellings(x)"
        self.require(listed, f"{said}: search those alone, or list it")

    def feature(self, y: Any) -> Floats:
        """The checked joint feature of a labelling, (d,)."""
        dim = self.plugin.weight_space().dim
        phi = self.call("joint_feature", self.x, y)
        phi = check_feature(self.plugin, phi, dim, self.number).copy()
        finite = bool(np.isfinite(phi).all())
        self.require(finite, f"joint_feature is not a vector of finite floats: {phi!r}")
        return phi

    @cached_property
    def feature_of_truth(self) -> Floats:
        return self.feature(self.y)

    def labelling(self, y: Any, origin: str) -> Labelling:
        """A labelling with its checked loss and joint feature."""
        loss = check_loss(self.plugin, self.call("loss", self.y, y), self.number)
        self.require(math.isfinite(loss), f"loss returned {loss!r}: return a finite float")
        return Labelling(y, origin, loss, self.feature(y) - self.feature_of_truth)

    def tolerance(self, w: Floats) -> float:
        """Rounding error that is allowed in values at a weight."""
        return TERM_ROUNDING * (1.0 + float(np.abs(w) @ np.abs(self.feature_of_truth)))

    def separate(self, w: Floats) -> Separated:
        """Separate at a weight, and check the answer, which must not be worse than the truth."""
        try:
            answer = check_first_answer(self.plugin, self.x, self.y, self.number, w)
        except StructSVMError as error:
            self.refuse(str(error))
        if answer.quality is not Quality.RELAXATION:
            self.require_member(answer.y, "the answer of separate")
        self.require(
            answer.quality is not Quality.EXACT or answer.slack <= self.tolerance(w),
            f"separate is exact with slack {answer.slack!r}: return 0, or another quality",
        )
        separated = Separated(
            w, answer, self.labelling(answer.y, "found by separate at another weight")
        )
        value = separated.labelling.worth(w)
        self.require(
            value >= -self.tolerance(w),
            f"separate found a labelling of value {value!r}, worse than the truth, which has 0: "
            "maximise loss(y, y') + <w, joint_feature(x, y')>, both terms, and compare with the "
            "truth",
        )
        return separated

    def compare(self, answer: Separated, other: Labelling) -> None:
        """Check that a labelling does not exceed the upper bound of an answer."""
        w = answer.w
        slack = answer.separation.slack
        value = answer.labelling.worth(w)
        reached = other.worth(w)
        if reached > value + slack + self.tolerance(w):
            self.refuse(
                f"separate reached {value!r} with slack {slack!r}, so that no labelling should be "
                f"worth more than their sum, but {other.y!r}, {other.origin}, is worth "
                f"{reached!r}; check that it maximises the same loss and the same joint_feature "
                "that are declared, or return Quality.HEURISTIC with slack math.inf"
                + tolerance_of(reached - value - slack, reached, "that tolerance as the slack")
            )


def random_weights(problem: Problem, rng: np.random.Generator) -> list[Floats]:
    """Weights of several sizes in the cone, the null one first."""
    space = problem.weight_space()
    return [space.project(scale * rng.standard_normal(space.dim)) for scale in WEIGHT_SIZES]


def check_separation(
    instance: Asked, weights: Sequence[Floats], extra: Sequence[Known] = ()
) -> list[Separated]:
    """Check loss-augmented inference at every weight against all known labellings; its answers."""
    before = deepcopy(instance.plugin)
    instance.labelling(instance.y, "the truth")
    answers = [instance.separate(w) for w in weights]
    _check_again(instance, answers)
    others = [answer.labelling for answer in answers]
    others += [instance.labelling(y, origin) for y, origin in extra]
    for other in others:
        for answer in answers:
            instance.compare(answer, other)
    _check_at_a_tie(instance, answers[0])
    changed = difference(before, instance.plugin)
    instance.require(changed is None, f"it modified itself, {changed}: store nothing")
    return answers


def _check_again(instance: Asked, answers: Sequence[Separated]) -> None:
    """Check that answers are the same a second time, after pickling, from ``separate_each``."""
    copied = replace(instance, plugin=pickle.loads(instance.pickled()))
    for answer in answers:
        w = answer.w
        first = answer.labelling
        (in_turn,) = instance.call("separate_each", w, [(instance.x, instance.y)])
        for when, second in (
            ("on a second call", instance.call("separate", w, instance.x, instance.y)),
            ("after pickling", copied.call("separate", w, instance.x, instance.y)),
            ("from separate_each", in_turn),
        ):
            again = instance.labelling(second.y, when)
            instance.require(
                first.loss == again.loss and np.array_equal(first.slope, again.slope),
                f"separate gives another labelling {when}: seed every random choice in the "
                "settings",
            )


def _check_at_a_tie(instance: Asked, first: Separated) -> None:
    """Compare the answers on both sides of a weight at which they change.

    Two labellings tie there, so that even a small difference between the declared loss and the
    maximised one shows. The weight is sought between the null weight and one at which the truth is
    better than the answer at the null weight.
    """
    low = first.labelling
    away = instance.plugin.weight_space().project(-low.slope)
    size = float(away @ away)
    if not (low.loss > 0.0 and size > 0.0):
        return
    way = 2.0 * low.loss / size * away
    begin = 0.0
    end = 1.0
    answers = [first]
    for _ in range(HALVINGS):
        middle = (begin + end) / 2
        answer = instance.separate(first.w + middle * way)
        for other in answers:
            instance.compare(answer, other.labelling)
            instance.compare(other, answer.labelling)
        answers.append(answer)
        is_low = np.array_equal(answer.labelling.slope, low.slope)
        begin, end = (middle, end) if is_low else (begin, middle)


def check_inference(
    instance: Asked, weights: Sequence[Floats], known: Sequence[Known], exact: bool
) -> None:
    """Check that inference repeats its answers and, if it is exact, that no score is larger.

    Scores are linear, so that the best labelling at a weight is the best at its positive multiples.
    """

    def predict(w: Floats) -> Floats:
        """The joint feature of the prediction at a weight."""
        y = instance.call("predict", w, instance.x)
        instance.require_member(y, "the answer of predict")
        return instance.feature(y)

    reached = [(w, predict(w)) for w in (*weights, *(100.0 * w for w in weights if exact))]
    for w, feature in reached:
        again = np.array_equal(predict(w), feature)
        instance.require(again, "predict differs on a second call: seed its random choices")
    others = [(instance.feature(y), f"{y!r}, {origin}") for y, origin in known]
    others += [(feature, "predicted at another weight") for _, feature in reached]
    for other, origin in others if exact else ():
        for w, feature in reached:
            score = float(w @ feature)
            better = float(w @ other)
            instance.require(
                better <= score + instance.tolerance(w) + TERM_ROUNDING * abs(score),
                f"predict reached the score {score!r}, but the labelling {origin}, has {better!r}: "
                "maximise <w, joint_feature(x, y)> without the loss and without terms that are "
                "not linear in w, or say exact_inference=False",
            )


def _alike(y: Any, other: Any) -> bool:
    """Whether two labellings of any type are equal."""
    if isinstance(y, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(np.asarray(y), np.asarray(other))
    try:
        return bool(y == other) or difference(y, other) is None
    except (TypeError, ValueError):
        return difference(y, other) is None
