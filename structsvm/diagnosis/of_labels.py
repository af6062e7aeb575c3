"""Labels that do not belong to the instances, or are among their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.diagnosis.examined import Examined
from structsvm.diagnosis.findings import Found
from structsvm.learner.columns import changes_in, explained, labels_in
from structsvm.partitions.equivalence import runs_of
from structsvm.support.values import Floats

ROTATIONS = 39  # labels at other places, to compare the labelled places with

BY_CHANCE = 0.05  # a share of these that do as well from which on labels explain nothing

FEWEST_TO_EXCHANGE = 4  # different labellings that can be exchanged often enough to compare with

FINE = 100  # samples to which recordings are scaled to see whether their labels differ


def unrelated_labels(examined: Examined) -> Found:
    """Labels that explain no feature better than others, which belong to none of the instances."""
    if not examined.known:
        return
    rng = np.random.default_rng(0)
    contiguous = examined.learner.problem_.traits.contiguous
    arrays = [examined.prepared[i].X for i, _ in examined.known]
    labels: list[Any] = [truth.labels for _, truth in examined.known]

    def moved() -> list[Any]:
        if not contiguous:
            return [rng.permutation(y) for y in labels]
        return [_scaled(np.roll(y, int(rng.integers(1, y.size))), y.size) for y in labels]

    def exchanged() -> list[Any]:
        order = rng.permutation(len(labels))
        of_another = np.roll(order, 1)[np.argsort(order)]
        return [_scaled(labels[k], len(X)) for k, X in zip(of_another, arrays, strict=True)]

    where = "shifted in time" if contiguous else f"in another order of {examined.words.item}s"
    others = {f"the same labels {where}": moved}
    different = {_scaled(y, FINE).tobytes() for y in labels}
    if contiguous and len(different) >= max(FEWEST_TO_EXCHANGE, len(labels) / 2):
        others[f"the labels of other {examined.words.whole}s, scaled to its length,"] = exchanged
    here = _shares(arrays, labels)
    for what, draw in others.items():
        elsewhere = np.array([_shares(arrays, draw()) for _ in range(ROTATIONS)])
        centre = elsewhere.mean(axis=0)
        spread = elsewhere.std(axis=0) + 1e-12
        score = float(((here - centre) / spread).max())
        beaten = float(np.mean(((elsewhere - centre) / spread).max(axis=1) >= score))
        if beaten > BY_CHANCE:
            yield (
                f"no feature differs between the labelled {examined.words.part}s more than by "
                f"chance: {what} do as well in {100 * beaten:.0f} % of {ROTATIONS} trials",
                "check that labels and samples belong together and start at the same time, or use "
                "features that show the changes (docs/features.md)",
                {"chance": beaten, "explained": float(here.max())},
            )
            return


def _shares(arrays: Sequence[Floats], labels: Sequence[Any]) -> Floats:
    """The mean share of the scatter of each feature that is between the parts, (P,)."""
    explained_shares = [explained(X, y) for X, y in zip(arrays, labels, strict=True)]
    shares = [np.divide(b, t, out=np.zeros_like(b), where=t > 0) for b, t in explained_shares]
    return np.asarray(np.mean(shares, axis=0))


def _scaled(labels: Any, T: int) -> Any:
    """Segments of a recording, numbered in their order and scaled to T samples."""
    labels = labels[np.arange(T) * labels.size // T]
    return runs_of(labels).labels


def labels_among_features(examined: Examined) -> Found:
    """Columns that hold the labels: they do not vary within any labelled part."""
    parts = [(examined.columns[i], M) for i, M in examined.known]
    for holding in (labels_in, changes_in):
        yield from holding(parts, examined.column_names.tolist(), examined.words)
