"""What a model was learned on, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from structsvm.errors import DataWarning, warn
from structsvm.parallel.once import spread_in_threads
from structsvm.partitions.deferred import Data, Deferred
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.reading import content_of
from structsvm.partitions.sample import Sample
from structsvm.partitions.traits import Words


@dataclass(frozen=True)
class TrainingSummary:
    """Sizes of the labelled samples, and enough to know them again."""

    n_samples: tuple[int, ...]
    """T of each."""
    n_clusters: tuple[int, ...]
    """K of each."""
    fingerprints: tuple[str, ...]
    """The first digits of the SHA-256 of each one's values."""
    clusters: tuple[str, ...] = ()
    """The labels of the clusters of tables; empty for other samples, and for partial labels."""

    @classmethod
    def of(
        cls,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        clusters: Iterable[str] = (),
    ) -> Self:
        """Describe the samples as they were given, before they are standardised."""
        return cls(
            tuple(sample.n_samples for sample in samples),
            tuple(truth.n_clusters for truth in truths),
            tuple(spread_in_threads(_known_by, samples, None)),
            tuple(sorted(clusters)),
        )

    def __len__(self) -> int:
        """Return the number of samples, N."""
        return len(self.n_samples)

    def __contains__(self, X: Data) -> bool:
        """Whether these very values were learned from: then nothing is held out."""
        return _fingerprint(X) in self.fingerprints

    def warn_if_among(self, Xs: Sequence[Data], words: Words) -> int:
        """Warn if any of these was learned from, when they are to tell what learning is worth.

        Returns how many were.
        """
        seen = sum(X in self for X in Xs)
        if seen:
            these = f"{seen} of these {words.wholes(len(Xs))}"
            warn(
                f"the model was learned from {these if len(Xs) > 1 else f'this {words.whole}'}: "
                "the figures are better than on new ones",
                DataWarning,
            )
        return seen

    def warn_of_new_clusters(self, clusters: Iterable[str], question: str | None) -> None:
        """Warn if a table has clusters that a metric made for known ones was not learned from."""
        new = sorted(set(clusters) - set(self.clusters))
        if question != "rows" or not self.clusters or not new:
            return
        shown = ", ".join(new[:6]) + (", ..." if len(new) > 6 else "")
        warn(
            f"the model was made for further rows of the clusters it was learned from, and "
            f"{'one' if len(new) == 1 else len(new)} of these {'is' if len(new) == 1 else 'are'} "
            f"new: {shown}. What suits new clusters is chosen and judged with split='clusters' "
            "(on the command line, fit --split clusters)",
            DataWarning,
        )


def _known_by(sample: Sample, _: None) -> str:
    return _fingerprint(sample.data)


def _fingerprint(X: Data) -> str:
    return X.origin.fingerprint if isinstance(X, Deferred) else content_of(X)
