"""The metrics to choose from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm import baselines
from structsvm.errors import SettingsError
from structsvm.partitions.metric import Metric
from structsvm.support.checks import among, is_positive

__all__ = ["BASELINES", "CANDIDATES", "Candidate", "menu"]

Floats = NDArray[np.float64]

BASELINES: dict[str, Callable[..., Metric]] = {
    "untrained": baselines.untrained,
    "rca": baselines.rca,
}
LEARNED = ("diagonal", "full")
CANDIDATES = (*BASELINES, *LEARNED)
"""The simplest first. A larger menu measured worse."""


@dataclass(frozen=True)
class Candidate:
    """One of the metrics to choose from."""

    name: str
    """One of :data:`CANDIDATES`."""
    lam: float | None = None
    """Strength of the regularizer; None for a metric that has none."""

    @property
    def is_learned(self) -> bool:
        """Whether structured learning makes it."""
        return self.lam is not None

    def __str__(self) -> str:
        """The name and ``lam``, for people."""
        name = "RCA" if self.name == "rca" else self.name
        return name if self.lam is None else f"{name}, lam={self.lam:g}"


def menu(names: Sequence[str], lams: Sequence[float]) -> list[Candidate]:
    """The candidates of these names, the simplest first; a larger ``lam`` is simpler.

    Raises
    ------
    SettingsError
        When a name is unknown, or there is nothing to compare.
    """
    if isinstance(names, str) or not np.iterable(names):
        raise SettingsError(f"candidates must be among {CANDIDATES}, got {names!r}")
    names = list(names)
    unknown = [name for name in names if not among(name, CANDIDATES)]
    if unknown:
        raise SettingsError(f"candidates must be among {CANDIDATES}, got {names!r}")
    if "untrained" not in names or not set(names) & set(LEARNED):
        raise SettingsError(
            "candidates must name 'untrained', which the others have to beat, and at least one of "
            f"{LEARNED}, got {tuple(names)!r}"
        )
    if not np.iterable(lams):
        raise SettingsError(f"lams must be one or more numbers > 0, got {lams!r}")
    lams = list(lams)
    if not lams or not all(is_positive(lam) for lam in lams):
        raise SettingsError(f"lams must be one or more numbers > 0, got {lams!r}")
    path = sorted({float(lam) for lam in lams}, reverse=True)
    fixed = [Candidate(name) for name in BASELINES if name in names]
    return fixed + [Candidate(name, lam) for name in LEARNED if name in names for lam in path]
