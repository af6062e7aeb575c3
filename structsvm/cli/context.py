"""Whom or what files are of, as it is typed."""

from __future__ import annotations

import re

from structsvm.cli.inputs import Given
from structsvm.errors import SettingsError


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
