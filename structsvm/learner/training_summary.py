"""What a model was learned on, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

import numpy as np

from structsvm.data.reading import content_of
from structsvm.data.sample import Data, Deferred, Words, in_memory
from structsvm.errors import DataWarning, warn
from structsvm.learner.training_set import TrainingSet
from structsvm.parallel.once import spread_in_threads
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.plain import some_of

KEPT = 4096
"""Rows of tables, at most, by which others are known again."""
MANY = 0.1
"""Of the rows of a table: where more were learned from, little is held out."""


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
    ends: tuple[tuple[int, ...], ...] = ()
    """Segment ends of each recording; empty for other samples."""
    commonest: str | int | float | None = None
    """The most frequent name of the items, where features learned the names."""
    rows: tuple[str, ...] = ()
    """Digests of rows of tables, the smallest ones; empty for other samples, and where many rows
    are alike, so that the same values may well be measured again."""

    @classmethod
    def of(
        cls, data: TrainingSet, truths: Sequence[EquivalenceMatrix], *, named: bool = False
    ) -> Self:
        """Describe samples as they were measured; whether features learned names of their items."""
        digests = [row for x in data.samples for row in _digests(x.data)] if data.has_rows else []
        different = sorted(set(digests))
        many_alike = len(different) < (1 - MANY) * len(digests)
        return cls(
            tuple(sample.n_samples for sample in data.samples),
            tuple(truth.n_clusters for truth in truths),
            tuple(spread_in_threads(_fingerprint, [sample.data for sample in data.samples], None)),
            tuple(sorted(data.cluster_names)),
            tuple(tuple(M.breakpoints) for M in truths) if data.problem.traits.contiguous else (),
            data.commonest_name if named else None,
            () if many_alike else tuple(different[:KEPT]),
        )

    def __len__(self) -> int:
        """Return the number of samples, N."""
        return len(self.n_samples)

    def __contains__(self, X: Data) -> bool:
        return _fingerprint(X) in self.fingerprints

    def share_known(self, X: Data) -> float:
        if X in self:
            return 1.0
        if not self.rows:
            return 0.0
        digests = np.array(_digests(X))
        if len(self.rows) == KEPT:  # of the others, only the smallest can be known
            digests = digests[digests <= self.rows[-1]]
        return float(np.isin(digests, self.rows).mean()) if digests.size else 0.0

    def count_known(self, Xs: Sequence[Data]) -> int:
        return sum(self.share_known(X) > MANY for X in Xs)

    def warn_if_among(self, Xs: Sequence[Data], words: Words) -> int:
        """Warn if any of these was learned from, when they are to tell what learning is worth."""
        shares = [share for X in Xs if (share := self.share_known(X)) > MANY]
        if shares:
            part = f"{min(shares):.0%} of the rows of " if min(shares) < 1 else ""
            these = f"{len(shares)} of these {words.wholes(len(Xs))}"
            these = these if len(Xs) > 1 else f"this {words.whole}"
            warn(
                f"the model was learned from {part}{these}: the figures are better than on new "
                "ones",
                DataWarning,
            )
        return len(shares)

    def warn_of_new_clusters(self, clusters: Iterable[str], question: str | None) -> None:
        """Warn if a table has clusters that a metric made for known ones was not learned from."""
        new = sorted(set(clusters) - set(self.clusters))
        if question != "rows" or not self.clusters or not new:
            return
        warn(
            "the model was made for further rows of the clusters it was learned from, and of these "
            f"{len(new)} {'is' if len(new) == 1 else 'are'} new: {some_of(new)}. For new clusters, "
            "choose and evaluate with split='clusters'",
            DataWarning,
        )


def _digests(X: Data) -> list[str]:
    values = np.ascontiguousarray(in_memory(X), dtype=np.float64) + 0.0  # of two zeros one
    return [blake2b(row.tobytes(), digest_size=6).hexdigest() for row in values]


def _fingerprint(X: Data, _: None = None) -> str:
    return X.origin.fingerprint if isinstance(X, Deferred) else content_of(X)
