"""Findings as values, and as a table to print."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from structsvm.support.plain import finite

__all__ = ["Diagnosis", "Finding"]

WIDTH = 80

Found = Iterator[tuple[str, str, dict[str, Any]]]
"""What a check finds: what it is, what to do, and the values behind the sentence."""


@dataclass(frozen=True)
class Finding:
    """Something that makes a fit poor, or its figures better than they will be on new samples.

    Examples
    --------
    >>> from structsvm.diagnosis import Finding
    >>> finding = Finding("copies", "2 recordings are the same", "keep one", {"names": ["a", "b"]})
    >>> finding.kind, finding.values["names"]
    ('copies', ['a', 'b'])
    """

    kind: str
    """One of :attr:`Diagnosis.checked`."""
    found: str
    """What it is, with its numbers."""
    remedy: str
    """What to do."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The numbers and names behind the sentence."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: kind, found, remedy and the values."""
        return dict(finite(asdict(self)))


@dataclass(frozen=True)
class Diagnosis:
    """What was found, and what was looked for; ``print`` it.

    Examples
    --------
    >>> from structsvm.diagnosis import Diagnosis
    >>> print(Diagnosis((), ("certificate", "few labels")))
    nothing was found; looked for: certificate, few labels
    """

    findings: tuple[Finding, ...]
    """The worst first, in the order of what was looked for."""
    checked: tuple[str, ...]
    """What was looked for."""

    def __len__(self) -> int:
        """Return the number of findings."""
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        """Go through the findings."""
        return iter(self.findings)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What was found, each kind once."""
        return tuple(dict.fromkeys(finding.kind for finding in self.findings))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: the findings, and what was looked for."""
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "checked": list(self.checked),
        }

    def __str__(self) -> str:
        """A table: what was found, and below each what to do."""
        if not self.findings:
            return f"nothing was found; looked for: {', '.join(self.checked)}"
        width = max(len(finding.kind) for finding in self.findings) + 2
        return "\n".join(_lines(finding, width) for finding in self.findings)


def _lines(finding: Finding, width: int) -> str:
    wrapped = partial(textwrap.fill, width=WIDTH, break_on_hyphens=False)  # names of files
    indent = " " * width
    found = wrapped(
        finding.found, initial_indent=finding.kind.ljust(width), subsequent_indent=indent
    )
    remedy = wrapped(
        finding.remedy, initial_indent=f"{indent}-> ", subsequent_indent=f"{indent}   "
    )
    return f"{found}\n{remedy}"
