"""What was found to make a fit poor, as data and as a table."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from structsvm.learner.columns import Said
from structsvm.support.values import finite

__all__ = ["Diagnosis", "Finding"]

WIDTH = 80  # of a table of findings

Found = Iterator[Said]
"""What a check finds: what it is, what to do, and the values behind the sentence."""


@dataclass(frozen=True)
class Finding:
    """Something that makes a fit poor, or its figures better than they will be on new instances."""

    kind: str
    """One of :attr:`Diagnosis.checked`."""
    found: str
    """What it is, with its numbers."""
    remedy: str
    """What to do."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The numbers and names behind the sentence."""


@dataclass(frozen=True)
class Diagnosis:
    """What was found, and what was looked for; ``print`` it."""

    findings: tuple[Finding, ...]
    """The worst first, in the order of what was looked for."""
    checked: tuple[str, ...]
    """What was looked for."""

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What was found, each kind once."""
        return tuple(dict.fromkeys(finding.kind for finding in self.findings))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: the findings, and what was looked for."""
        return dict(finite(asdict(self)))

    def __str__(self) -> str:
        """A table: what was found, and below each what to do."""
        if not self.findings:
            return f"nothing was found; looked for: {', '.join(self.checked)}"
        fill = partial(textwrap.fill, width=WIDTH, break_on_hyphens=False)  # names of files
        lines: list[str] = []
        for finding in self.findings:
            lines.append(fill(finding.kind + ": " + finding.found, subsequent_indent="    "))
            lines.append(fill("  -> " + finding.remedy, subsequent_indent="     "))
        return "\n".join(lines)

    def spelled(self, words: Callable[[str], str]) -> Diagnosis:
        """These findings with parameters spelled as on the command line."""
        findings = [
            replace(finding, found=words(finding.found), remedy=words(finding.remedy))
            for finding in self.findings
        ]
        return replace(self, findings=tuple(findings))
