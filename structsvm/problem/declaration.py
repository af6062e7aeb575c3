"""A structured prediction problem: joint features, a loss, and inference.

Nothing here knows what a labelling is: partitions are one case, chains or classes are others.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structsvm.problem.status import Quality
from structsvm.problem.weights import WeightSpace
from structsvm.support import Contract, Floats, hook, promises

__all__ = ["CompletableProblem", "Problem", "Separation"]


@dataclass(frozen=True)
class Separation:
    """The answer to loss-augmented inference for one instance."""

    y: Any
    """The most violated labelling found."""
    slack: float
    """Nonnegative: the maximum exceeds the value at ``y`` by at most this (0 if exact)."""
    quality: Quality
    """Certificate of the answer."""
    feature: Floats | None = None
    """``joint_feature(x, y)``, (d,), if the problem has computed it already."""


class Problem(Contract):
    """Declares the joint feature map, the loss and loss-augmented inference.

    The structured hinge loss of an instance is
    ``L(w) = max_y' loss(y, y') + <w, joint_feature(x, y') - joint_feature(x, y)>``
    (Lajugie et al., section "Large-margin structured output learning").
    """

    renamed: ClassVar[Mapping[str, str]] = {"separate_all": "separate_each"}

    @property
    @hook
    def signed_losses(self) -> bool:
        """Whether a loss may be negative, because it includes something else, such as a price."""
        return False

    @promises(
        lambda found: isinstance(found, WeightSpace) and found.dim >= 1,
        "Free(d), Nonnegative(d), PSD(P) or a Product, with d >= 1",
    )
    @abstractmethod
    def weight_space(self) -> WeightSpace:
        """Return the cone in which ``w`` lives."""

    @abstractmethod
    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Return the joint features ``phi(x, y)``, (d,)."""

    @abstractmethod
    def loss(self, y: Any, y_hat: Any) -> float:
        """Nonnegative loss of ``y_hat`` when ``y`` is true; zero if they are equal."""

    @abstractmethod
    def separate(self, w: Floats, x: Any, y: Any) -> Separation:
        """Loss-augmented inference: maximise ``loss(y, y') + <w, joint_feature(x, y')>``."""

    @abstractmethod
    def predict(self, w: Floats, x: Any) -> Any:
        """Inference: maximise ``<w, joint_feature(x, y)>`` over y."""

    @promises(
        lambda found: isinstance(found, Problem),
        "a problem, such as dataclasses.replace(self, n_features=...)",
    )
    def sized(self, xs: Sequence[Any], ys: Sequence[Any]) -> "Problem":
        """The problem with the sizes that its settings leave open, such as ``n_features``."""
        return self

    @hook
    def check(self, x: Any, y: Any = None) -> None:
        """Raise a DataError if ``x`` is no instance, or ``y`` no labelling of it.

        It is asked of the problem that :meth:`sized` returns. ``y`` is None in prediction.
        """

    @hook
    def start(self) -> Floats | None:
        """A weight that needs no learning, (d,), such as that of a plain distance; None for none.

        It completes labellings of which none is known in full, and is what
        :func:`structsvm.evaluate` compares the learned weight with.
        """
        return None

    @property
    @hook
    def weight_names(self) -> tuple[str, ...]:
        """Names of the factors of the weight in cvxpy; the usual ones if empty."""
        return ()

    @hook
    def kept(self, y: Any) -> Any:
        """What :attr:`structsvm.problem.SupportLabelling.labelling` shows; None for nothing.

        By default the labelling itself, or a copy of an array or a list.
        """
        return copy(y) if isinstance(y, np.ndarray | list) else y

    @hook
    def labelling(self, kept: Any) -> Any:
        """The labelling that :meth:`kept` turned into ``kept``."""
        return kept

    @hook
    def separate_each(
        self, w: Floats, instances: Iterable[tuple[Any, Any]]
    ) -> Iterator[Separation]:
        """Loss-augmented inference for instances ``(x, y)`` in turn: what solvers call.

        A problem that derives something from the weight, such as a factor of a metric, does so here
        once, and one may take as many instances as it likes before it yields their answers.
        """
        return (self.separate(w, x, y) for x, y in instances)


class CompletableProblem(Problem):
    """A problem whose labellings may be known in part: it completes them."""

    @abstractmethod
    def is_complete(self, y: Any) -> bool:
        """Whether everything is known of a labelling."""

    @abstractmethod
    def complete(self, w: Floats, x: Any, y: Any) -> Any:
        """Maximise ``<w, joint_feature(x, y')>`` over the full y' that agree with ``y``."""
