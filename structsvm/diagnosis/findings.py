"""Findings as values, and as a table to print."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from structsvm.support.plain import finite

__all__ = ["Diagnosis", "Finding"]

WIDTH = 80


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
        lines, indent = [], " " * width
        for finding in self.findings:
            for first, text, more in (
                (finding.kind.ljust(width), finding.found, indent),
                (f"{indent}-> ", finding.remedy, f"{indent}   "),
            ):
                # Names of files are not broken at their hyphens.
                lines += textwrap.wrap(
                    text,
                    WIDTH,
                    initial_indent=first,
                    subsequent_indent=more,
                    break_on_hyphens=False,
                )
        return "\n".join(lines)
