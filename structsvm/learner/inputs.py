"""The stage from samples as measured to what the metric sees: features, then standardisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from structsvm.errors import DataError
from structsvm.features import RecordingTransformer
from structsvm.features.compose import stages_of
from structsvm.features.scores import NamedScores
from structsvm.learner.training_set import TrainingSet
from structsvm.parallel.once import spread
from structsvm.partitions.gaps import has_gaps
from structsvm.partitions.sample import Sample, batches_of
from structsvm.partitions.samples import Standardizer, centred, warn_about_constant_features
from structsvm.partitions.traits import RECORDINGS, Words

__all__ = ["Inputs"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Inputs:
    """The stages in front of a metric, fitted on the training samples."""

    features: RecordingTransformer | None
    """Fitted; None where the metric sees the columns themselves."""
    standardizer: Standardizer
    words: Words = RECORDINGS
    made: tuple[str, ...] = ()
    """Names of the features that were made; none where the metric sees the columns."""

    @classmethod
    def fit(
        cls,
        features: RecordingTransformer | None,
        standardize: str | None,
        data: TrainingSet,
    ) -> tuple[Inputs, TrainingSet]:
        """Learn the stages, and what the metric sees of the training samples.

        Parameters
        ----------
        features : RecordingTransformer, optional
            Cloned before it is fitted.
        standardize : {"recording", "training", None}
        data : TrainingSet
            Its ``given`` and ``groups`` are for features that learn from labels.

        Raises
        ------
        DataError
            When features have another length than their recording, or are not finite; when every
            feature is constant.
        """
        words = data.problem.traits.words
        made: tuple[str, ...] = ()
        if features is not None:
            features = clone(features)
            _check_gaps(features, data.samples, words)
            found = _fit_transform(features, data)
            _check_features(found, data.samples, words)
            columns = data.names or [f"x{j}" for j in range(data.n_features)]
            made = tuple(str(name) for name in features.get_feature_names_out(columns))
            data = data.with_features(found, made)
        column_names = data.names if features is None else None
        warn_about_constant_features(data.arrays, column_names, words)
        standardizer = Standardizer.fit(standardize, data.arrays, data.weights)
        inputs = cls(features, standardizer, words, made)
        return inputs, data.with_features([centred(standardizer(X)) for X in data.arrays])

    def __call__(self, samples: Sequence[Sample]) -> list[Sample]:
        """Samples as the metric sees them, with the probabilities of states if it knows any."""
        Xs: Sequence[Any] = [sample.X for sample in samples]
        states: Sequence[Floats] | None = None
        if self.features is not None:
            _check_gaps(self.features, samples, self.words)
            Xs, states = _transform(self.features, Xs)
            _check_features(Xs, samples, self.words)
        pairs = zip(samples, Xs, strict=True)
        made = self.made or None
        prepared = [sample.with_features(self.standardizer(X), made) for sample, X in pairs]
        if states is None:
            return prepared
        return [replace(sample, states=p) for sample, p in zip(prepared, states, strict=True)]

    def seen(self, data: TrainingSet) -> TrainingSet:
        """Labelled samples as the metric sees them, as :meth:`fit` returns them."""
        samples = [sample.with_features(centred(sample.X)) for sample in self(data.samples)]
        return replace(data, samples=samples)

    @property
    def states(self) -> NDArray[Any] | None:
        """The names of the states that the features know, (C,), if they know any."""
        stages = stages_of(self.features)
        return next((stage.classes_ for stage in stages if isinstance(stage, NamedScores)), None)

    def names(self, columns: Sequence[str]) -> list[str]:
        """The names of the features that the metric sees, made of those of the columns."""
        if self.features is None:
            return list(columns)
        return [str(name) for name in self.features.get_feature_names_out(list(columns))]


def _fit_transform(features: RecordingTransformer, data: TrainingSet) -> Sequence[Any]:
    """The features of the training samples, made by the workers where they need no more than that.

    A transformer with a way of its own, such as cross-fitting, makes them itself.
    """
    if type(features).fit_transform is not RecordingTransformer.fit_transform:
        return features.fit_transform(data.arrays, data.item_labels, data.groups)
    fitted = features.fit(data.arrays, data.item_labels, data.groups)
    return _transform(fitted, data.arrays)[0]


def _transform(
    features: RecordingTransformer, Xs: Sequence[Floats]
) -> tuple[Sequence[Any], Sequence[Floats] | None]:
    """Features and states of samples, of which each is transformed on its own."""
    parts = [Xs[a:b] for a, b in batches_of([len(X) for X in Xs])]
    found = spread("features", _features_of, parts, features)
    states = [p for _, part in found if part is not None for p in part]
    return [F for part, _ in found for F in part], states or None


def _features_of(
    Xs: Sequence[Floats], features: RecordingTransformer
) -> tuple[Sequence[Any], Sequence[Floats] | None]:
    return features.transform_with_states(Xs)


def _check_gaps(features: RecordingTransformer, samples: Sequence[Sample], words: Words) -> None:
    """Refuse samples with missing values where the features cannot be made of them."""
    if features.takes_gaps:
        return
    missing = next((i for i, sample in enumerate(samples) if has_gaps(sample.X)), None)
    if missing is not None:
        raise DataError(
            f"{words.whole} {missing} has missing values, and {type(features).__name__} makes "
            "features of none: use Lags() or no features, or missing='interpolate'"
        )


def _check_features(Xs: Sequence[Any], samples: Sequence[Sample], words: Words) -> None:
    """Refuse features that a metric cannot be learned from, naming the sample."""
    if len(Xs) != len(samples):
        raise DataError(f"{words.wholes(len(samples))} but features of {len(Xs)}")
    for i, (X, sample) in enumerate(zip(Xs, samples, strict=True)):
        shape = np.shape(X)
        if len(shape) != 2 or shape[0] != sample.n_samples or shape[1] == 0:
            raise DataError(
                f"{words.whole} {i} has {words.items(sample.n_samples)}, its features have shape "
                f"{shape}: a transformer must return one row for each"
            )
        wrong = np.isinf(X) if has_gaps(sample.X) else ~np.isfinite(X)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(
                f"{words.whole} {i}: feature {column} of {words.item} {row} is "
                f"{np.asarray(X)[row, column]}: a transformer must return finite numbers"
            )
