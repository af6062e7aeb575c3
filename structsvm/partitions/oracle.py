"""What a separation oracle promises."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm.contract import Contract
from structsvm.errors import OracleError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.status import Quality

__all__ = ["ANYTHING", "Argmax", "Constraint", "Oracle", "Quality"]


@dataclass(frozen=True)
class Constraint:
    """Which partitions are allowed.

    Parameters
    ----------
    n_clusters : int, optional
        Exactly this many clusters; None lets the objective decide.
    forced, forbidden : tuple of int
        For segmentations: positions ``t`` in ``1..T-1`` where a segment must, or must not, end (a
        boundary at ``t`` separates sample ``t-1`` from sample ``t``).
    """

    n_clusters: int | None = None
    forced: tuple[int, ...] = ()
    forbidden: tuple[int, ...] = ()

    @property
    def has_boundaries(self) -> bool:
        """Whether any boundary is forced or forbidden."""
        return bool(self.forced or self.forbidden)

    def validate(self, n_samples: int) -> None:
        """Raise OracleError when no segmentation of ``n_samples`` samples satisfies this."""
        K = self.n_clusters
        if K is not None and not 1 <= K <= n_samples:
            raise OracleError(f"cannot make {K} clusters out of {n_samples} samples")
        for name, positions in (("forced", self.forced), ("forbidden", self.forbidden)):
            outside = [t for t in positions if not 1 <= t <= n_samples - 1]
            if outside:
                raise OracleError(
                    f"{name} boundary {outside[0]} is outside 1..{n_samples - 1} "
                    f"(a recording of {n_samples} samples)"
                )
        clash = sorted(set(self.forced) & set(self.forbidden))
        if clash:
            raise OracleError(f"boundary {clash[0]} is both forced and forbidden")
        n_forced, n_forbidden = len(set(self.forced)), len(set(self.forbidden))
        if K is not None and K < n_forced + 1:
            raise OracleError(f"{n_forced} forced boundaries make more than {K} segments")
        if K is not None and n_samples - n_forbidden < K:
            raise OracleError(
                f"{n_forbidden} forbidden boundaries of {n_samples - 1} leave fewer than {K} "
                "segments"
            )

    def boundary_masks(self, n_samples: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """``(allowed, forced)`` over positions ``0..T``; both ends always are boundaries."""
        allowed = np.ones(n_samples + 1, dtype=np.bool_)
        forced = np.zeros(n_samples + 1, dtype=np.bool_)
        allowed[list(self.forbidden)] = False
        forced[list(self.forced)] = True
        return allowed, forced


ANYTHING = Constraint()


@dataclass(frozen=True)
class Argmax:
    """The answer of an oracle to ``max_M Tr(A M)``."""

    y: EquivalenceMatrix
    """The maximiser found."""
    value: float
    """``Tr(A M)`` at ``y``."""
    upper_bound: float
    """No allowed partition has a larger value (infinite for a heuristic that knows none)."""
    quality: Quality
    """What ``value`` and ``upper_bound`` certify."""


class Oracle(Contract):
    """Maximises ``Tr(A M)`` over a family of partitions: loss-augmented inference and decoding.

    An oracle holds settings only; it is deterministic, does not modify its input and may be called
    from several threads and processes at once.
    """

    @abstractmethod
    def maximize(self, objective: TraceObjective, constraint: Constraint = ANYTHING) -> Argmax:
        """Maximise ``Tr(A M)`` over the partitions that ``constraint`` allows.

        Raises
        ------
        OracleError
            When the constraint cannot be satisfied or the objective is not finite.
        """
