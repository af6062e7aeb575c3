"""What a diagnosis looks at, and its findings."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from structsvm.data import Instance, contents, filled, one_each
from structsvm.learner import Learner
from structsvm.learner.columns import Flaw, divided
from structsvm.learner.fitted import column_names
from structsvm.support import finite
from structsvm.training_labels import labels_of_each, read_labels


class Examined:
    """Instances and labels to look at, as they were measured and as the model sees them."""

    def __init__(
        self,
        learner: Learner,
        measured: Sequence[Instance],
        ys: Any,
        groups: Any = None,
        names: Sequence[str] | None = None,
        prepared: Sequence[Instance] | None = None,
    ) -> None:
        N = len(measured)
        self.words = learner.problem_.traits.words.seen_in(measured)
        self.learner = learner
        self.measured = measured
        self.has_labels = ys is not None
        self.groups = None if groups is None else one_each(groups, N, self.words, "group")
        called = map(str, range(N)) if names is None else names
        self.names = one_each(called, N, self.words, "name")
        prepared = learner.inputs_(measured) if prepared is None else prepared
        self.prepared = [instance.with_features(filled(instance.X)) for instance in prepared]
        problem = learner.problem_
        labels = []
        if ys is not None:
            each = labels_of_each(ys, prepared, problem.traits.words)
            labels = read_labels(problem, prepared, each)
        self.known = divided([known.truth for known in labels])
        # As measured, without gaps: features have copies and constants of their own.
        self.columns = [filled(instance.X) for instance in measured]
        self.column_names = np.array(column_names(learner), dtype=object)
        self.numbers = contents([instance.data for instance in measured])  # equal for copies


WIDTH = 80  # of a table of findings
Flaws = Iterator[Flaw]
"""What a check yields: what it found, what to do, and the values behind the sentence."""
__all__ = ["Diagnosis", "Finding"]


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
    """The kinds of findings that were looked for."""

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the findings, each once."""
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

    def spelled(self, words: Callable[[str], str]) -> "Diagnosis":
        """These findings with parameters spelled as on the command line."""
        findings = [
            replace(finding, found=words(finding.found), remedy=words(finding.remedy))
            for finding in self.findings
        ]
        return replace(self, findings=tuple(findings))
