"""The stage from samples as measured to what the metric sees: features, then standardisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from structsvm.errors import DataError
from structsvm.features import RecordingTransformer, StateScores
from structsvm.features.compose import stages_of
from structsvm.learner.training_set import TrainingSet
from structsvm.parallel import spread
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
        if features is not None:
            features = clone(features)
            found = _fit_transform(features, data)
            _check_features(found, data.samples, words)
            data = data.with_features(found)
        column_names = data.names if features is None else None
        warn_about_constant_features(data.arrays, column_names, words)
        standardizer = Standardizer.fit(standardize, data.arrays, data.weights)
        inputs = cls(features, standardizer, words)
        return inputs, data.with_features([centred(standardizer(X)) for X in data.arrays])

    def __call__(self, samples: Sequence[Sample]) -> list[Sample]:
        """Samples as the metric sees them."""
        Xs: Sequence[Any] = [sample.X for sample in samples]
        if self.features is not None:
            Xs = _transform(self.features, Xs)
            _check_features(Xs, samples, self.words)
        pairs = zip(samples, Xs, strict=True)
        return [sample.with_features(self.standardizer(X)) for sample, X in pairs]

    @property
    def state_scores(self) -> StateScores | None:
        """The stage that scores named states, if there is one."""
        stages = stages_of(self.features)
        return next((stage for stage in stages if isinstance(stage, StateScores)), None)

    def probabilities(self, samples: Sequence[Sample]) -> list[Floats]:
        """The probability of each state at each item, (T_i, C), as the stage of scores has them."""
        stage = self.state_scores
        assert self.features is not None
        assert stage is not None
        scores = [f"score {name}" for name in stage.classes_]
        columns = [f"x{j}" for j in range(samples[0].n_features)]
        names = [name.rpartition("__")[2] for name in self.names(columns)]
        places = [names.index(score) for score in scores]
        found = self.features.transform([sample.X for sample in samples])
        return [stage.probabilities_of(F[:, places]) for F in found]

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
        return features.fit_transform(data.arrays, data.given, data.groups)
    return _transform(features.fit(data.arrays, data.given, data.groups), data.arrays)


def _transform(features: RecordingTransformer, Xs: Sequence[Floats]) -> Sequence[Any]:
    """Features of samples, those of each not depending on which are transformed with it."""
    parts = [Xs[a:b] for a, b in batches_of([len(X) for X in Xs])]
    found = spread("features", _features_of, parts, features)
    return [F for part in found for F in part]


def _features_of(Xs: Sequence[Floats], features: RecordingTransformer) -> Sequence[Any]:
    return features.transform(Xs)


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
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0]
            raise DataError(
                f"{words.whole} {i}: feature {column} of {words.item} {row} is "
                f"{np.asarray(X)[row, column]}: a transformer must return finite numbers"
            )
