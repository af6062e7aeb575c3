"""What the metric of a problem is compared with and chosen from, and by which scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.data.sample import Sample
from structsvm.partitions.candidates import Baseline, Candidate, named_candidate
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import Projector, adjusted_rand_index, covering, margin_f1
from structsvm.partitions.metric import Metric
from structsvm.support.arrays import Floats
from structsvm.support.contract import Contract, hook, promises, raise_wrong

if TYPE_CHECKING:
    from structsvm.partitions.problem import PartitionProblem

NUMBERS = int | float | np.bool_ | np.integer | np.floating


def _is_number(found: Any, *_: Any) -> str:
    return "" if isinstance(found, NUMBERS) and found == found else "a number"


def _are(kind: type, found: Any, *_: Any) -> str:
    fits = isinstance(found, list | tuple) and all(isinstance(one, kind) for one in found)
    return "" if fits else f"a list of {kind.__name__}"


@dataclass(frozen=True)
class Comparison(Contract):
    """How metrics of a problem are compared; subclasses replace what is different.

    Examples
    --------
    >>> from structsvm import EquivalenceMatrix
    >>> from structsvm.partitions import Comparison
    >>> from structsvm.problems import ChangePoint
    >>> truth = EquivalenceMatrix.from_breakpoints([2, 4])
    >>> found = EquivalenceMatrix.from_breakpoints([4])
    >>> Comparison(ChangePoint()).agreement(truth, found)
    -1.0
    """

    problem: PartitionProblem

    @hook
    def baseline(
        self,
        name: str,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> Metric | None:
        """A metric of this problem's own to compare with, by name; None if there is none."""
        return None

    @promises(partial(_are, Baseline))
    def baselines(
        self, samples: Sequence[Sample], labels: Sequence[Any], features: Any = None
    ) -> Sequence[Baseline]:
        """Estimators to compare with that are no metrics, as far as they apply to these labels.

        Parameters
        ----------
        samples : sequence of Sample
            As they were measured.
        labels : sequence of labels of each sample, as :meth:`Learning.item_labels` has them
        features : RecordingTransformer, optional
            The features that the metric is learned from, not fitted: baselines see the same
            context.
        """
        return ()

    @promises(partial(_are, Candidate))
    def candidates(
        self,
        samples: Sequence[Sample],
        labels: Sequence[Any],
        features: Any = None,
        parts: bool = False,
    ) -> Sequence[Candidate]:
        """What model selection chooses from, the untrained metric among them.

        Parameters are those of :meth:`baselines`; where features are given, every candidate sees
        them unless it has its own. ``parts`` says whether rows, clusters or named states are held
        out rather than samples. By default the candidates that the traits name.
        """
        return [named_candidate(name) for name in self.problem.traits.candidates]

    def loss(self, truth: Projector, guess: Projector) -> float:
        """The loss of the problem, which is a number."""
        found: Any = self.problem.loss(truth, guess)
        if _is_number(found):
            raise_wrong(self.problem, "loss", found, "a number")
        return float(found)

    @promises(_is_number)
    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """What model selection maximises: minus the loss, unless that is easily fooled."""
        return -self.loss(truth, guess)

    def disagreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """How much less the agreement is than that of the truth itself."""
        return float(self.agreement(truth, truth) - self.agreement(truth, guess))

    def measure(self, truth: EquivalenceMatrix) -> str:
        """What the disagreement is called."""
        return "loss" if self.agreement(truth, truth) == 0 else "disagreement"

    @promises(dict)
    def scores(
        self, truth: EquivalenceMatrix, guess: EquivalenceMatrix, tolerance: int
    ) -> dict[str, float | None]:
        """Scores by name; a predicted change is a hit within ``tolerance`` samples of a true one.

        None for a score that does not apply.
        """
        segments = self.problem.traits.contiguous
        return {
            "loss": self.loss(truth, guess),
            "covering": covering(truth, guess),
            "adjusted_rand": adjusted_rand_index(truth, guess),
            "f1": margin_f1(truth, guess, tolerance) if segments else None,
            "disagreement": self.disagreement(truth, guess),
        }
