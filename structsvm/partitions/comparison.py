"""How partitions of a problem are scored against the true ones."""

from __future__ import annotations

from dataclasses import dataclass

from structsvm.partitions.equivalence import (
    EquivalenceMatrix,
    adjusted_rand_index,
    covering,
    margin_f1,
)
from structsvm.partitions.learning import NUMBERS, Family, Truths, loss_of
from structsvm.support.contract import Contract, hook, promises


@dataclass(frozen=True)
class Comparison(Contract):
    """How partitions of a problem are scored; subclasses replace what is different.

    Examples
    --------
    >>> from structsvm import EquivalenceMatrix
    >>> from structsvm.partitions import Comparison
    >>> from structsvm.problems import ChangePoint
    >>> truth, found = map(EquivalenceMatrix.from_breakpoints, ([2, 4], [4]))
    >>> Comparison(ChangePoint()).agreement(truth, found)
    -1.0
    """

    problem: Family

    @promises(lambda found: isinstance(found, NUMBERS) and found == found, "a number")
    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """Score that model selection maximises: minus the loss, unless that is easily fooled."""
        return -loss_of(self.problem, truth, guess)

    def disagreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """Difference of the agreement from that of the truth itself."""
        return float(self.agreement(truth, truth) - self.agreement(truth, guess))

    @hook
    def limit(self, truths: Truths) -> str:
        """What no partition of the items can do, and the way out, in a sentence; "" for nothing."""
        return ""

    def measure(self, truth: EquivalenceMatrix) -> str:
        """Name of the disagreement."""
        return "loss" if self.agreement(truth, truth) == 0 else "disagreement"

    @promises(dict)
    def scores(
        self, truth: EquivalenceMatrix, guess: EquivalenceMatrix, tolerance: int
    ) -> dict[str, float | None]:
        """Scores by name, None for one that does not apply.

        A predicted change is a hit within ``tolerance`` samples of a true one.
        """
        segments = self.problem.traits.contiguous
        return {
            "loss": loss_of(self.problem, truth, guess),
            "covering": covering(truth, guess),
            "adjusted_rand": adjusted_rand_index(truth, guess),
            "f1": margin_f1(truth, guess, tolerance) if segments and truth.n_clusters > 1 else None,
            "disagreement": self.disagreement(truth, guess),
        }
