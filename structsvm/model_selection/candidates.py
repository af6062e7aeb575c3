"""The candidates to choose from, in the order in which they are chosen: the simplest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from structsvm.baselines.metrics import NAMES
from structsvm.errors import SettingsError
from structsvm.partitions.comparison import LEARNED, Candidate, named_candidate
from structsvm.support.checks import is_positive


def menu(
    candidates: Sequence[str | Candidate], lams: Any, known: Sequence[Candidate] = ()
) -> list[Candidate]:
    """The candidates, those that are learned once for each strength."""
    if not len(lams) or not all(map(is_positive, lams)):
        raise SettingsError(f"lams must be one or more numbers > 0, got {lams!r}")
    by_name = {candidate.name: candidate for candidate in known}
    names_known = sorted({*by_name, *LEARNED, *NAMES})
    found = []
    for c in dict.fromkeys(candidates):
        if isinstance(c, str) and c not in names_known:
            raise SettingsError(
                f"there is no candidate {c!r} for these data; there are {', '.join(names_known)}"
            )
        found.append(by_name.get(c, named_candidate(c)) if isinstance(c, str) else c)
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
    paths = []
    for candidate in learned:
        # Its own strength, or each of its own path or of that of the search.
        path = candidate.lams or sorted({float(lam) for lam in lams})
        strengths = sorted(path, reverse=True) if candidate.lam is None else [candidate.lam]
        paths += [replace(candidate, lam=lam, lams=()) for lam in strengths]
    return [*tuned, *fitted, *paths, *joint]
