"""The candidates to choose from, in the order in which they are chosen: the simplest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from structsvm.baselines.metrics import NAMES
from structsvm.errors import SettingsError
from structsvm.partitions.comparison import LEARNED, Candidate, named_candidate
from structsvm.support.checks import is_positive


def check_lams(lams: Any) -> None:
    """Refuse what is no list of strengths."""
    found = list(lams) if np.iterable(lams) and not isinstance(lams, str) else []
    if not found or not all(is_positive(lam) for lam in found):
        raise SettingsError(f"lams must be one or more numbers > 0, got {lams!r}")


def menu(
    candidates: Sequence[str | Candidate],
    lams: Sequence[float],
    known: Sequence[Candidate] = (),
) -> list[Candidate]:
    """The candidates, those that are learned once for each strength."""
    if isinstance(candidates, str):
        raise SettingsError(f"candidates must be a list of names, got {candidates!r}")
    by_name = {candidate.name: candidate for candidate in known}
    names_known = sorted({*by_name, *LEARNED, *NAMES})
    for c in candidates:
        if isinstance(c, str) and c not in names_known:
            raise SettingsError(
                f"there is no candidate {c!r} for these data; there are {', '.join(names_known)}"
            )
    found = [
        by_name.get(c, named_candidate(c)) if isinstance(c, str) else c
        for c in dict.fromkeys(candidates)
    ]
    names = [candidate.name for candidate in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SettingsError(f"two candidates are called {twice[0]!r}: give each its own name")
    learned = [candidate for candidate in found if candidate.is_learned]
    if "untrained" not in names or not learned:
        raise SettingsError(
            "candidates must name 'untrained', which the others have to beat, and at least one "
            f"that is learned, such as 'diagonal' or 'full', got {tuple(names)!r}"
        )
    tuned = [candidate for candidate in found if candidate.tuned is not None]
    tuned.sort(key=lambda candidate: candidate.name != "untrained")
    fitted = [candidate for candidate in found if candidate.estimator is not None]
    joint = [candidate for candidate in found if candidate.joins]
    learned.sort(key=lambda candidate: candidate.settings.get("metric") != "diagonal")
    path = sorted({float(lam) for lam in lams}, reverse=True)
    return [*tuned, *fitted, *(c for one in learned for c in _along(one, path)), *joint]


def _along(candidate: Candidate, path: Sequence[float]) -> list[Candidate]:
    """The candidate at its own strength, or at each of its own path or of that of the search."""
    if candidate.lam is not None:
        return [candidate]
    own = sorted(candidate.lams, reverse=True) or path
    return [replace(candidate, lam=lam, lams=()) for lam in own]
