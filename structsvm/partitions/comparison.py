"""How partitions of a problem are scored against the true ones."""

from typing import Any

from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import adjusted_rand_index, covering, margin_f1
from structsvm.partitions.objective import Family, loss_of


def disagreement(problem: Family, truth: Any, guess: Any) -> float:
    """By how much a guess agrees less with the truth than the truth does with itself."""
    return float(problem.agreement(truth, truth) - problem.agreement(truth, guess))


def name_of_disagreement(problem: Family, truth: Any) -> str:
    """The name "loss" where disagreement is the loss of the problem, else "disagreement"."""
    return "loss" if problem.agreement(truth, truth) == 0 else "disagreement"


def usual_scores(
    problem: Family, truth: EquivalenceMatrix, guess: EquivalenceMatrix, tolerance: int
) -> dict[str, float | None]:
    """The default scores of a partition by name; None for one that does not apply."""
    segments = problem.traits.contiguous
    return {
        "loss": loss_of(problem, truth, guess),
        "covering": covering(truth, guess),
        "adjusted_rand": adjusted_rand_index(truth, guess),
        "f1": margin_f1(truth, guess, tolerance) if segments and truth.n_clusters > 1 else None,
        "disagreement": disagreement(problem, truth, guess),
    }
