"""The metrics to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structsvm.errors import SettingsError
from structsvm.support.checks import is_positive

__all__ = ["LEARNED", "Candidate", "menu"]

LEARNED = ("diagonal", "full")


@dataclass(frozen=True)
class Candidate:
    """One of the metrics to choose from."""

    name: str
    """"diagonal", "full", or that of a baseline."""
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
        When there is nothing to compare, or a strength is none.
    """
    if isinstance(names, str) or not np.iterable(names):
        raise SettingsError(f"candidates must be a list of names, got {names!r}")
    names = list(names)
    if not all(isinstance(name, str) for name in names):
        raise SettingsError(f"candidates must be a list of names, got {names!r}")
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
    others = [name for name in names if name not in ("untrained", *LEARNED)]
    fixed = [Candidate(name) for name in ("untrained", *others)]
    return fixed + [Candidate(name, lam) for name in LEARNED if name in names for lam in path]
