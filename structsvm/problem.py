"""The structured prediction problem a solver learns, and the risk it minimises.

Nothing here knows what a labelling is: partitions are one case, chains or classes are others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.regularizers import Regularizer
from structsvm.status import Quality
from structsvm.support.contract import Contract
from structsvm.weights import WeightSpace

__all__ = ["CompositeRisk", "Outline", "Problem", "RegularizedRisk", "Risk", "Separation"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Separation:
    """The answer to loss-augmented inference for one sample."""

    y: Any
    """The most violated labelling found."""
    slack: float
    """Nonnegative: the maximum exceeds the value at ``y`` by at most this (0 if exact)."""
    quality: Quality
    """What the answer certifies."""


class Problem(Contract):
    """Declares the joint feature map, the loss and loss-augmented inference.

    The score of a labelling is ``<w, joint_feature(x, y)>``; the structured hinge loss of a sample
    is ``L(w) = max_y' loss(y, y') + <w, joint_feature(x, y') - joint_feature(x, y)>`` (margin
    rescaling; Lajugie et al., section "Large-margin structured output learning").
    """

    @abstractmethod
    def weight_space(self) -> WeightSpace:
        """The cone in which ``w`` lives."""

    @abstractmethod
    def joint_feature(self, x: Any, y: Any) -> Floats:
        """``phi(x, y)``, (d,)."""

    @abstractmethod
    def loss(self, y: Any, y_hat: Any) -> float:
        """Nonnegative loss of ``y_hat`` when ``y`` is true; zero if they are equal."""

    @abstractmethod
    def separate(self, w: Floats, x: Any, y: Any) -> Separation:
        """Loss-augmented inference: maximise ``loss(y, y') + <w, joint_feature(x, y')>``."""

    @abstractmethod
    def predict(self, w: Floats, x: Any) -> Any:
        """Inference: maximise ``<w, joint_feature(x, y)>`` over y."""


@dataclass(frozen=True, eq=False)
class Outline:
    """What a solver has to know of a risk to say whether it can minimise it, before any work."""

    space: WeightSpace
    regularizer: Regularizer
    constraints: Callable[[Any], list[Any]] | None
    n_samples: int
    is_convex: bool = True


@dataclass(frozen=True, eq=False)
class RegularizedRisk:
    """``F(w) = Omega(w) + sum_i omega_i L_i(w)`` over a cone, perhaps with further constraints."""

    problem: Problem
    xs: Sequence[Any]
    ys: Sequence[Any]
    regularizer: Regularizer
    sample_weight: Floats
    """omega_i > 0, (N,)."""
    null: Floats
    """The weight that stands for no learning, (d,): its objective is F(0) in the relative gap."""
    constraints: Callable[[Any], list[Any]] | None = None
    """Further cvxpy constraints on the metric as users see it."""
    start: Floats | None = None
    """A sensible weight, (d,), tried before any other, so that the answer is never worse."""
    space: WeightSpace = field(init=False)

    def __post_init__(self) -> None:
        """Ask the problem for its cone once."""
        object.__setattr__(self, "space", self.problem.weight_space())

    @property
    def n_samples(self) -> int:
        """N."""
        return len(self.xs)

    @property
    def outline(self) -> Outline:
        """What a solver looks at before any work."""
        return Outline(self.space, self.regularizer, self.constraints, self.n_samples)

    def penalty(self, w: Floats) -> float:
        """Omega(w)."""
        return self.regularizer.value(w, self.space)

    def regularized(self, regularizer: Regularizer) -> RegularizedRisk:
        """The same with another Omega."""
        return replace(self, regularizer=regularizer)

    def started(self, start: Floats) -> RegularizedRisk:
        """The same with another start."""
        return replace(self, start=start)


class CompositeRisk(Contract):
    """``F(w) = Omega(w) + sum_i h_i(c_i(w))``: each ``h_i`` convex, each ``c_i`` smooth.

    The hinge losses of a similarity that is not linear in the metric are of this kind: convex in
    the similarity matrix, but not in the metric. There is no certified lower bound.
    """

    space: WeightSpace
    """The cone of ``w``; a field of every such risk, as the next ones."""
    regularizer: Regularizer
    """Omega."""
    start: Floats
    """The weight from which to descend, (d,)."""

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """N."""

    @abstractmethod
    def losses(self, w: Floats) -> tuple[float, Floats]:
        """``sum_i h_i(c_i(w))`` and its gradient (or a subgradient), (d,)."""

    @abstractmethod
    def part(self, which: Sequence[int]) -> CompositeRisk:
        """The sum over some of the samples alone, without Omega: what a worker evaluates."""

    @abstractmethod
    def regularized(self, regularizer: Regularizer) -> CompositeRisk:
        """The same with another Omega."""

    @abstractmethod
    def started(self, start: Floats) -> CompositeRisk:
        """The same with another start."""

    @abstractmethod
    def model(self, w: Floats, regularizer: Regularizer) -> RegularizedRisk:
        """The convex risk in which every ``c_i`` is replaced by its tangent at ``w``."""

    @property
    def outline(self) -> Outline:
        """What a solver looks at before any work."""
        return Outline(self.space, self.regularizer, None, self.n_samples, is_convex=False)

    def penalty(self, w: Floats) -> float:
        """Omega(w)."""
        return self.regularizer.value(w, self.space)


Risk = RegularizedRisk | CompositeRisk
"""What a solver minimises."""
