"""What the metric sees beside or in place of the columns, and whom files are of, as it is typed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from structsvm.cli.inputs import Given, takes_images
from structsvm.cli.names import CONTEXT, CONTEXT_OF_IMAGES
from structsvm.cli.settings import Kind
from structsvm.errors import SettingsError
from structsvm.features import (
    BoundaryScores,
    Columns,
    Lags,
    MovingStatistics,
    RecordingTransformer,
    RegionScores,
    StateScores,
    Union,
)

STAGES: dict[str, Callable[[], RecordingTransformer]] = {
    "columns": Columns,
    "lags": Lags,
    "statistics": MovingStatistics,
    "scores": StateScores,
    "boundaries": BoundaryScores,
    "regions": RegionScores,
}


def with_context(kind: Kind, typed: str | None) -> Kind:
    """The kind of problem with the features of these names, separated by commas, side by side."""
    if typed is None:
        return kind
    names = list(dict.fromkeys(name.strip() for name in typed.split(",")))
    if kind.features is not None:
        raise SettingsError(f"{kind.name} has features of its own: leave --context out")
    if not (kind.problem.traits.contiguous or takes_images(kind.problem)):
        raise SettingsError("--context is for recordings and images: leave it out")
    fitting = CONTEXT_OF_IMAGES if takes_images(kind.problem) else CONTEXT
    for name in names:
        if name not in fitting:
            known = ", ".join(fitting)
            raise SettingsError(f"--context of {kind.name} is one or more of {known}, got {name!r}")
    stages = [STAGES[name]() for name in names]
    return replace(kind, features=stages[0] if len(stages) == 1 else Union(*stages))


def groups_of(given: Given, pattern: str | None) -> list[str] | None:
    """The part of each name that the pattern finds: whom or what it is of."""
    if pattern is None:
        return None
    try:
        regex = re.compile(pattern)
    except re.error as error:
        raise SettingsError(f"--groups {pattern!r} is no regular expression: {error}") from error
    found = [regex.search(name) for name in given.names]
    missing = next((n for n, m in zip(given.names, found, strict=True) if m is None), None)
    if missing is not None:
        raise SettingsError(f"--groups {pattern!r} finds nothing in the name {missing!r}")
    return [match[1] if match.re.groups else match[0] for match in found if match is not None]


def taken_to_be_independent(given: Given) -> str:
    return (
        f"{given.words.whole}s are taken to be independent: if several are of one person or "
        "machine, say so with --groups, a pattern that finds whose they are in their names"
    )
