"""The structured prediction problem a solver learns, and the risk it minimises.

Nothing here knows what a labelling is: partitions are one case, chains or classes are others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.contract import Contract
from structsvm.errors import SettingsError
from structsvm.regularizers import Regularizer
from structsvm.status import Quality
from structsvm.weights import WeightSpace

__all__ = ["ImprovableProblem", "Problem", "RegularizedRisk", "Separation"]

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


class ImprovableProblem(Problem):
    """A problem some of whose oracles are searches that can start from a known labelling.

    Then solvers have them start from an earlier answer too, and take the better of both.
    """

    @abstractmethod
    def improves(self, x: Any) -> bool:
        """Whether the oracle of this sample is such a search, and wants to."""

    @abstractmethod
    def improve(self, w: Floats, x: Any, y: Any, known: Any) -> Separation:
        """As :meth:`separate`, by a search that starts from the labelling ``known``."""


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
    anchors: Sequence[Any] | None = None
    """The labellings whose score is to be highest, if they are not the ``ys`` that the loss is
    measured against."""
    space: WeightSpace = field(init=False)

    def __post_init__(self) -> None:
        """Ask the problem for its cone once."""
        object.__setattr__(self, "space", self.problem.weight_space())

    @property
    def n_samples(self) -> int:
        """N."""
        return len(self.xs)

    def penalty(self, w: Floats) -> float:
        """Omega(w)."""
        return self.regularizer.value(w, self.space)

    def further_constraints(self, B: Any) -> list[Any]:
        """The further constraints on the cvxpy metric ``B``, none where there are none.

        Raises
        ------
        SettingsError
            When the function that makes them makes anything else.
        """
        if self.constraints is None:
            return []
        import cvxpy as cp

        made: Any = self.constraints(B)
        if not isinstance(made, list | tuple) or not all(
            isinstance(constraint, cp.Constraint) for constraint in made
        ):
            raise SettingsError(
                "constraints must return a list of cvxpy constraints of the metric, such as "
                f"[cp.trace(B) <= 1], got {made!r}"
            )
        return list(made)
