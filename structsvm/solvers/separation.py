"""Separation of blocks of instances on workers, and checks of the answers of problems."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NoReturn

import numpy as np

from structsvm.errors import OracleError, PluginError, StructSVMError, nth
from structsvm.masters import Labellings, Planes, weakest
from structsvm.problem import Problem, Quality, RegularizedRisk, Separation
from structsvm.support import (
    Floats,
    Ints,
    asked,
    difference,
    is_number,
    raise_named,
    read_only,
    shown,
)

LOSS_ROUNDING = 1e-8  # rounding error that is allowed in a loss
SAME_FEATURE = 1e-6
"""Relative rounding error that is allowed between two computations of a joint feature or a loss."""
ONE_NUMBER = int | float | np.bool_ | np.integer | np.floating
"""Types of a single number, truth values among them."""
GIVEN = "separate returned the feature"
OTHER_WEIGHTS = (1.0, -1.0, 10.0, -10.0)
"""Sizes of the weights at which another labelling is sought if the first answer has no loss."""


def refuse(problem: Problem, instance: int, said: str) -> NoReturn:
    """Raise PluginError: ``said`` is what a method of a problem did with an instance."""
    raise PluginError(nth("instance", instance) + f": {type(problem).__name__}.{said}")


def check_first_answer(problem: Problem, x: Any, y: Any, instance: int, w: Floats) -> Separation:
    """Separate an instance, and check everything that a problem promises with the answer."""
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
    """Check that ``separate`` returned a Separation with a valid slack and quality."""
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
    """A loss, after a check that it is one number, negative only for signed losses."""
    if not isinstance(loss, ONE_NUMBER):
        refuse(problem, instance, f"loss returned {shown(loss)}: return a float")
    if loss < -LOSS_ROUNDING and not problem.signed_losses:
        refuse(problem, instance, f"loss returned {float(loss)!r}: a loss must not be negative")
    return float(loss)


@contextmanager
def unchanged(problem: Problem, x: Any, y: Any, instance: int) -> Iterator[None]:
    """Refuse a problem that changes the instance or the labelling within the context."""
    before = []
    for what, value in (("instance", x), ("labelling", y)):
        with suppress(Exception):  # objects that cannot be copied are not checked
            before.append((what, value, deepcopy(value)))
    yield
    for what, now, copied in before:
        attribute = difference(copied, now)
        if attribute is None:
            continue
        said = f"{type(problem).__name__} changed the {what} that it was given"
        if attribute:
            said = f"{attribute} was changed while the {what} was separated"
        advice = ": copy before writing, and keep settings only"
        raise PluginError(nth("instance", instance) + ": " + said + advice)


def _check_no_better(
    problem: Problem, x: Any, y: Any, answer: Separation, instance: int, w: Floats
) -> None:
    """Check that an answer without a loss is no worse than labellings found at other weights."""
    space = problem.weight_space()
    direction = np.random.default_rng(0).standard_normal(w.size)
    for size in OTHER_WEIGHTS if answer.quality is not Quality.HEURISTIC else ():
        try:
            other = problem.separate(space.project(size * direction), x, y)
        except StructSVMError:  # learning may never come to such a weight
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


BELOW = 1e-6  # part of its size by which rounding may put an answer below the truth
TRUTHS_IN_MEMORY = 2**28
"""Most bytes of joint features of true labellings that are stored; more are recomputed."""
NUMBERS_AT_ONCE = 10_000  # numbers in joint features that are collected before planes are made
MOST_BYTES = 4096
"""Largest labelling that workers send back, so that traffic does not grow with T."""
MOST_BLOCKS = 64  # number of terms of sums over instances, which does not depend on the workers
Question = tuple[Floats, Ints, float]
"""A weight, the group of every instance (N,), and the time after which no oracle is called."""
Row = tuple[int, Quality, float, Floats, Floats, float, float, Labellings]
"""An answer: its instance, quality and sample weight; the joint features of the labelling found and
of the true one, (d,); the loss, the weighted slack and the labelling."""


@dataclass(eq=False)
class Block:
    """Successive instances of a risk, which are separated by one worker."""

    problem: Problem
    instances: list[int]  # the numbers of the instances in the risk
    xs: Sequence[Any]
    ys: Sequence[Any]
    sample_weight: Floats
    keeps_truths: bool
    keeps_labellings: bool
    checks_first: bool
    """Whether the promises of the problem are checked with the first answer of the block."""
    _truths: dict[int, Floats] = field(default_factory=dict, init=False, repr=False)

    def row(self, j: int, answer: Separation, dim: int) -> Row:
        """The checked answer about the j-th instance of the block."""
        instance = self.instances[j]
        problem = self.problem
        check_separation(problem, answer, instance)
        if answer.feature is None:
            phi = self.feature(j, answer.y, dim)
        else:
            phi = check_feature(problem, answer.feature, dim, instance, GIVEN)
        loss = check_loss(problem, self.call("loss", instance, self.ys[j], answer.y), instance)
        omega = float(self.sample_weight[j])
        labellings = None
        slack = omega * answer.slack if omega > 0 else 0.0
        if self.keeps_labellings:
            labelling = self.call("kept", instance, answer.y)
            if labelling is not None and getattr(labelling, "n_bytes", 0) <= MOST_BYTES:
                labellings = ((instance, labelling, loss, 1.0),)
        return instance, answer.quality, omega, phi, self.truth(j, dim), loss, slack, labellings

    def call(self, method: str, instance: int, *args: Any) -> Any:
        """Call a method of the problem; errors name the instance."""
        try:  # a context manager would take longer than many calls
            return getattr(self.problem, method)(*args)
        except Exception as error:
            raise_named(self.problem, method, nth("instance", instance), error)

    def feature(self, j: int, y: Any, dim: int) -> Floats:
        """The checked joint feature of the j-th instance and a labelling, (d,)."""
        instance = self.instances[j]
        phi = self.call("joint_feature", instance, self.xs[j], y)
        return check_feature(self.problem, phi, dim, instance)

    def truth(self, j: int, dim: int) -> Floats:
        """The joint feature of the j-th instance and its true labelling, (d,), perhaps stored."""
        truth = self._truths.get(j)
        if truth is None:
            truth = self.feature(j, self.ys[j], dim)
            if self.keeps_truths:
                self._truths[j] = truth
        return truth


def blocks_of(risk: RegularizedRisk, keeps_labellings: bool = True) -> list[Block]:
    """The instances of a risk in blocks; their number depends on the number of instances alone."""
    N = risk.n_instances
    own = risk.is_model
    keeps_truths = N * risk.space.dim * 8 <= TRUTHS_IN_MEMORY
    blocks = []
    for part in np.array_split(np.arange(N), min(N, MOST_BLOCKS)):
        instances = part.tolist()
        xs = [risk.xs[i] for i in instances]
        ys = [risk.ys[i] for i in instances]
        how = keeps_truths, keeps_labellings and not own, instances[0] == 0 and not own
        blocks.append(Block(risk.problem, instances, xs, ys, risk.sample_weight[part], *how))
    return blocks


def separate_share(blocks: Sequence[Block], question: Question) -> list[Planes | None]:
    """The planes of each block of a risk, one for each group; None for blocks out of time."""
    w, groups, deadline = question
    (first, *_) = blocks
    w = read_only(w)
    first_answer = []
    problem = first.problem
    if first.checks_first and time.time() <= deadline:
        first.checks_first = False
        first_answer = [check_first_answer(problem, first.xs[0], first.ys[0], 0, w)]
    instances = chain.from_iterable(zip(block.xs, block.ys, strict=True) for block in blocks)
    answers = chain(
        first_answer, problem.separate_each(w, islice(instances, len(first_answer), None))
    )
    planes: list[Planes | None] = []
    waiting: list[list[Row]] = []
    for block in blocks:
        rows: list[Row] = []
        while len(rows) < len(block.xs) and time.time() <= deadline:
            try:
                answer: Any = next(answers, None)
            except Exception as error:
                raise_named(problem, "separate", nth("instance", block.instances[len(rows)]), error)
            rows.append(block.row(len(rows), answer, w.size))
        if len(rows) < len(block.xs):
            break
        waiting.append(rows)
        if sum(map(len, waiting)) * w.size >= NUMBERS_AT_ONCE:
            planes += planes_of(waiting, w, groups)
            waiting = []
    else:
        with asked(problem, "separate"):
            next(answers, None)  # lets a generator that answers many at once raise its errors
    planes += planes_of(waiting, w, groups)
    return planes + [None] * (len(blocks) - len(planes))


def truth_size(block: Block, dim: int) -> Floats:
    """``sum_i omega_i |phi(x_i, y_i)|`` over the instances of a block, (d,)."""
    total = np.zeros(dim)
    for j, omega in enumerate(block.sample_weight.tolist()):
        total += omega * np.abs(block.truth(j, dim))
    return total


def planes_of(blocks: Sequence[Sequence[Row]], w: Floats, groups: Ints) -> list[Planes]:
    """The planes of the answers of each block, summed by group."""
    rows = list(chain.from_iterable(blocks))
    if not rows:
        return []
    instances, answered, weights, phis, truths, losses, slacks, found = zip(*rows, strict=True)
    omega, phi, truth, slack = map(np.array, (weights, phis, truths, slacks))
    slopes = phi - truth
    slopes *= omega[:, None]
    intercepts = omega * losses
    values = intercepts + np.einsum("nd,d->n", slopes, w)
    magnitudes = np.abs(phi, out=phi)
    magnitudes += np.abs(truth, out=truth)
    sizes = np.abs(intercepts) + omega * np.einsum("nd,d->n", magnitudes, np.abs(w))
    if not math.isfinite(values.sum()):
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        value = f"the labelling found has the value {values[at]}"
        raise OracleError(nth("instance", instances[at]) + ": " + value)
    qualities = list(answered)
    labellings = list(found)
    caught: list[int | None] = [None] * len(instances)
    for k in np.flatnonzero(values < 0).tolist():
        if values[k] + slack[k] < -BELOW * sizes[k]:
            qualities[k] = Quality.HEURISTIC
            caught[k] = instances[k]
        slack[k] = max(0.0, values[k] + slack[k])
        slopes[k] = 0.0
        intercepts[k] = 0.0
        values[k] = 0.0
        labellings[k] = ()
    at_most = values + slack
    slack[[quality is Quality.HEURISTIC for quality in qualities]] = 0.0
    of_blocks = []
    end = 0
    for block in blocks:
        begin = end
        end = end + len(block)
        some = slice(begin, end)
        columns = slopes[some], intercepts[some], values[some], slack[some]
        planes = Planes(
            *(w, groups[list(instances[some])], *columns, weakest(qualities[some])),
            size=sum(sizes[some].tolist()),
            calls=len(block),
            labellings=labellings[some],
            at_most=sum(at_most[some].tolist()),
            caught=next((i for i in caught[some] if i is not None), None),
        )
        of_blocks.append(planes.summed())
    return of_blocks
