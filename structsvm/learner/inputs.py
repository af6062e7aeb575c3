"""The stage from samples as measured to what the metric sees: features, then standardisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from structsvm.data.deferred import batches_of, derived, of_each
from structsvm.data.sample import Sample, all_made_by
from structsvm.data.samples import (
    Standardizer,
    centred,
    units_of,
    warn_about_constant_features,
)
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError
from structsvm.features import RecordingTransformer
from structsvm.features.base import check_features
from structsvm.features.boundaries import BoundaryScores
from structsvm.features.compose import Chain, Union, stages_of
from structsvm.features.scores import NamedScores
from structsvm.learner.training_set import TrainingSet, learn_in_memory
from structsvm.parallel.once import spread
from structsvm.storage.fingerprint import fingerprint
from structsvm.support.arrays import Floats


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
        """Learn the stages, and what the metric sees of the training samples."""
        words = data.problem.traits.words
        made: tuple[str, ...] = ()
        if features is not None:
            features = clone(features)
            _check_gaps(features, data.samples, words)
            found = _checked(features, _fit_transform(features, data), data.samples, words)
            columns = data.names or [f"x{j}" for j in range(data.n_features)]
            made = tuple(str(name) for name in features.get_feature_names_out(columns))
            data = data.with_features(found, made)
        column_names = data.names if features is None else None
        arrays = [sample.data for sample in data.samples]
        warn_about_constant_features(arrays, column_names, words)
        standardizer = Standardizer.fit(standardize, arrays, data.weights)
        inputs = cls(features, standardizer, words, made)
        return inputs, data.made_by(standardizer).made_by(centred)

    def __call__(self, samples: Sequence[Sample]) -> list[Sample]:
        """Samples as the metric sees them, with the probabilities of states if it knows any."""
        return all_made_by(self.with_features(samples), self.standardizer)

    def with_features(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        if self.features is None:
            return samples
        _check_gaps(self.features, samples, self.words)
        found, states = _transform(self.features, samples, len(self.made))
        checked = _checked(self.features, found, samples, self.words)
        pairs = zip(samples, checked, strict=True)
        samples = [sample.with_features(X, self.made or None) for sample, X in pairs]
        if states is None:
            return samples
        return [replace(sample, states=p) for sample, p in zip(samples, states, strict=True)]

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


def are_scores(features: RecordingTransformer | None) -> bool:
    inner = features.named_stages.values() if isinstance(features, Union | Chain) else ()
    return isinstance(features, NamedScores | BoundaryScores) or any(map(are_scores, inner))


def _fit_transform(features: RecordingTransformer, data: TrainingSet) -> Sequence[Any]:
    """The features of the training samples, made by the workers where these need nothing else."""
    if data.is_deferred:
        first = data.samples[0].X
        made_by = _fit_held_out(features, data, first)
        n_features = features.transform([first])[0].shape[1]
        steps = {id(one): _Making.of(one) for one in made_by}
        pairs = zip(data.samples, made_by, strict=True)
        return [derived(sample.data, steps[id(one)], n_features) for sample, one in pairs]
    if type(features).fit_transform is not RecordingTransformer.fit_transform:
        return features.fit_transform(data.arrays, data.item_labels, data.groups)
    fitted = features.fit(data.arrays, data.item_labels, data.groups)
    return _transform(fitted, data.samples)[0]


def _transform(
    features: RecordingTransformer, samples: Sequence[Sample], n_features: int | None = None
) -> tuple[Sequence[Any], Sequence[Floats] | None]:
    """Features (T, P') and states of samples, of which each is transformed on its own."""
    if any(sample.is_deferred for sample in samples):
        step, data = _Making.of(features), [sample.data for sample in samples]
        made = [derived(X, step, n_features) for X in data]
        if not any(isinstance(stage, NamedScores) for stage in stages_of(features)):
            return made, None
        return made, of_each("states", _states, data, [features] * len(data))
    Xs = [sample.X for sample in samples]
    parts = [Xs[a:b] for a, b in batches_of([len(X) for X in Xs])]
    found = spread("features", _features_of, parts, features)
    states = [p for _, part in found if part is not None for p in part]
    return [F for part, _ in found for F in part], states or None


def _features_of(
    Xs: Sequence[Floats], features: RecordingTransformer
) -> tuple[Sequence[Any], Sequence[Floats] | None]:
    return features.transform_with_states(Xs)


def _fit_held_out(
    features: RecordingTransformer, data: TrainingSet, first: Floats
) -> list[RecordingTransformer]:
    if not features.learns:
        return [features.fit([first])] * len(data)

    def fit(part: TrainingSet) -> list[RecordingTransformer]:
        return features.fit_held_out(part.arrays, part.item_labels, part.groups)

    which, made_by = learn_in_memory(data, type(features).__name__, fit)
    units = units_of(data.groups, len(data), data.problem.traits.words)[1].tolist()
    of_unit = {units[i]: one for i, one in zip(which.tolist(), made_by, strict=True)}
    return [of_unit.get(unit, features) for unit in units]


@dataclass(frozen=True, eq=False)
class _Making:
    """The features of one sample, which are looked at whenever they are made."""

    transformer: RecordingTransformer = field(metadata={"fingerprint": False})
    known_by: str
    """The fingerprint of the transformer, of which thousands of samples have the same."""

    @classmethod
    def of(cls, transformer: RecordingTransformer) -> _Making:
        return cls(transformer, fingerprint(transformer))

    def __call__(self, X: Floats) -> Floats:
        found = self.transformer.transform([X])
        (F,) = _checked(self.transformer, found, [Sample(X)], RECORDINGS)
        return np.asarray(F)


def _states(X: Floats, transformer: RecordingTransformer) -> Floats:
    states = transformer.transform_with_states([X])[1]
    assert states is not None
    return states[0]


def _check_gaps(features: RecordingTransformer, samples: Sequence[Sample], words: Words) -> None:
    """Refuse samples with missing values where the features cannot be made of them."""
    if features.takes_gaps:
        return
    missing = next((i for i, sample in enumerate(samples) if sample.has_gaps), None)
    if missing is not None:
        raise DataError(
            f"{words.whole} {missing} has missing values, and {type(features).__name__} makes "
            "features of none: use Lags() or no features, or missing='interpolate'"
        )


def _checked(
    features: RecordingTransformer, found: Sequence[Any], samples: Sequence[Sample], words: Words
) -> Sequence[Any]:
    if any(sample.is_deferred for sample in samples):
        return found
    arrays = [sample.X for sample in samples]
    return check_features(found, arrays, type(features).__name__, words, gaps=True)
