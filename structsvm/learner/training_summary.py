"""A summary of the training data, by which instances that were learned from are recognised."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from typing import Any, Self

import numpy as np

from structsvm.data import Data, Words, constant_features, digest_of, in_memory, read_names
from structsvm.errors import parameter, warn
from structsvm.learner.training_set import TrainingSet, names_of_labels
from structsvm.parallel.by_name import spread
from structsvm.partitions import EquivalenceMatrix
from structsvm.support import some_of
from structsvm.training_labels import Known

KEPT = 4096  # the largest number of rows of tables that are recognised
WITH_CHANGE = 4
"""The least length of an entry of ``stretches`` with a change: recording, start, and two ends."""
MANY = 0.1  # a table was learned from if a larger share of its rows was


@dataclass(frozen=True)
class TrainingSummary:
    """Sizes of the labelled instances, and digests by which they are recognised."""

    n_samples: tuple[int, ...]
    """T of each."""
    n_clusters: tuple[int, ...]
    """K of each."""
    fingerprints: tuple[str, ...]
    """The first digits of the SHA-256 of each one's values."""
    clusters: tuple[str, ...] = ()
    """The labels of the clusters of tables; empty for other instances, and for partial labels."""
    stretches: tuple[tuple[int, ...], ...] = ()
    """For each stretch of a recording whose segmentation is known: the number of the recording, the
    first sample and the segment ends; empty for other instances."""
    commonest: str | int | float | None = None
    """The most frequent name of the items, where features learned the names."""
    rows: tuple[str, ...] = ()
    """Digests of rows of tables, the smallest ones; empty for other instances, and where many rows
    are alike, so that the same values may well be measured again."""
    names: tuple[str, ...] = field(default=(), compare=False)
    """The name of each; empty if they came without names. Nothing is learned from names."""
    constant: tuple[int, ...] = ()
    """Columns that are constant in some instances."""

    @classmethod
    def of(
        cls,
        data: TrainingSet,
        truths: Sequence[EquivalenceMatrix] | None = None,
        *,
        named: bool = False,
    ) -> Self:
        """Describe instances as they were measured.

        ``truths`` are completed labels; ``named`` says whether names of items were learned.
        """
        traits = data.problem.traits
        labels = data.labels if truths is None else [Known.of(truth) for truth in truths]
        arrays = [instance.data for instance in data.instances]
        is_table = data.asks is not None
        stretches = tuple(_stretches(data.labels) if traits.contiguous else ())
        if traits.contiguous and all(len(one) < WITH_CHANGE for one in stretches):
            stretches = tuple(_stretches(labels))  # labels have no change: take completed ones
        sizes = [instance.n_samples for instance in data.instances]
        digests = list(chain.from_iterable(_digests(X) for X in arrays)) if is_table else []
        different = sorted(set(digests))
        many_alike = len(different) < (1 - MANY) * len(digests)
        clusters = data.given if is_table and data.complete.all() else []
        return cls(
            n_samples=tuple(sizes),
            n_clusters=tuple(known.n_changes + 1 for known in labels),
            fingerprints=tuple(spread("", _digest, arrays, None)),
            clusters=tuple(sorted(set(chain.from_iterable(names_of_labels(y) for y in clusters)))),
            stretches=stretches,
            commonest=commonest_name(data) if named else None,
            rows=() if many_alike else tuple(different[:KEPT]),
            names=tuple(data.called or ()),
            constant=tuple(
                np.flatnonzero(np.any(constant_features(data.instances), axis=0)).tolist()
            ),
        )

    def __len__(self) -> int:
        return len(self.n_samples)

    def __contains__(self, X: Data) -> bool:
        return _digest(X) in self.fingerprints

    def shares_known(self, Xs: Sequence[Data]) -> list[float]:
        """The share of its rows that was learned from, for each instance where it is large."""
        shares = [1.0 if X in self else 0.0 for X in Xs]
        for i, X in enumerate(Xs if self.rows else ()):
            digests = np.array(_digests(X))
            if len(self.rows) == KEPT:  # only the smallest digests are kept
                digests = digests[digests <= self.rows[-1]]
            shares[i] = max(shares[i], np.isin(digests, self.rows).sum() / max(digests.size, 1))
        return [share for share in shares if share > MANY]

    def warn_if_among(self, Xs: Sequence[Data], words: Words) -> int:
        """Warn if any of these instances, by which a model is evaluated, was learned from."""
        shares = self.shares_known(Xs)
        if shares:
            part = f"{min(shares):.0%} of the rows of " if min(shares) < 1 else ""
            these = f"{len(shares)} of these {words.wholes(len(Xs))}"
            these = these if len(Xs) > 1 else f"this {words.whole}"
            warn(
                f"the model was learned from {part}{these}: the figures are better than on new ones"
            )
        return len(shares)

    def warn_of_new_clusters(self, ys: Sequence[Any], question: str | None) -> None:
        """Warn if a table has clusters that a metric made for known ones was not learned from."""
        if question != "rows" or not self.clusters:
            return
        new = sorted(set(chain.from_iterable(names_of_labels(y) for y in ys)) - set(self.clusters))
        if not new:
            return
        warn(
            "the model was made for further rows of the clusters it was learned from, and of these "
            f"{len(new)} {'is' if len(new) == 1 else 'are'} new: {some_of(new)}. For new clusters, "
            "choose and evaluate with " + parameter("split", "clusters")
        )


def commonest_name(data: TrainingSet) -> Any:
    """The name that most items have; None where none has one."""
    sizes = [instance.n_samples for instance in data.instances]
    states: Counter[Any] = Counter()
    for names in read_names(data.item_labels, sizes, data.problem.traits.words.whole) or []:
        states.update(name for name in names.tolist() if name is not None)
    return max(states, key=states.__getitem__, default=None)


def _stretches(labels: Sequence[Known]) -> Iterator[tuple[int, ...]]:
    for i, known in enumerate(labels):
        for rows, truth in zip(*known.part, strict=True):
            yield i, *(rows[0] + truth.boundaries).tolist()


def _digests(X: Data) -> list[str]:
    values = np.ascontiguousarray(in_memory(X), dtype=np.float64) + 0.0  # makes 0.0 of -0.0
    return [blake2b(row.tobytes(), digest_size=6).hexdigest() for row in values]


def _digest(X: Data, _: None = None) -> str:
    return digest_of(X)
