"""From instances as measured to what a model sees: features, standardisation, probabilities."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import lcm
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from structsvm.data import (
    RECORDINGS,
    Instance,
    Standardizer,
    Step,
    Words,
    apply,
    apply_to_instances,
    batches_of,
    centred,
    filled,
    map_arrays,
    now_or_later,
    units_of,
    warn_about_constant_features,
)
from structsvm.errors import DataError, parameter, wording
from structsvm.features import RecordingTransformer
from structsvm.features.base import EVERYTHING, Reach, check_features
from structsvm.features.composition import stages_of
from structsvm.features.frames import FrameModel, mean_probabilities
from structsvm.features.scores import NamedScores
from structsvm.learner.training_set import TrainingSet, learn_in_memory
from structsvm.parallel.by_name import spread
from structsvm.support import Floats, fingerprint, hook


class Stage(ABC):
    """A fitted transformation of instances as measured to instances as a model sees them.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.learner import Stage
    >>> from structsvm.partitions import Instance
    >>> class Squares(Stage):
    ...     def with_features(self, instances):
    ...         return [instance.with_features(instance.X**2) for instance in instances]
    >>> Squares()([Instance(np.full((2, 1), 3.0))])[0].X.tolist()
    [[9.0], [9.0]]
    """

    @abstractmethod
    def with_features(self, instances: Sequence[Instance]) -> Sequence[Instance]:
        """Transform all instances at once; :attr:`step` is then applied to each of them."""

    @property
    @hook
    def step(self) -> Step | None:
        """What is applied to each instance where it is used; None for nothing."""
        return None

    @property
    @hook
    def states(self) -> NDArray[Any] | None:
        """Names of the states that instances have probabilities of; None for none."""
        return None

    @property
    @hook
    def reach(self) -> Reach:
        """How many samples before and after each sample its features depend on."""
        return EVERYTHING

    @property
    @hook
    def block(self) -> int:
        """The number of consecutive samples that a classifier takes together, from the first on."""
        return 1

    @hook
    def __call__(self, instances: Sequence[Instance]) -> list[Instance]:
        """Instances as the model sees them."""
        made = self.with_features(instances)
        return list(made if self.step is None else apply_to_instances(made, self.step))

    @hook
    def online(self, X: Floats) -> Floats:
        """Samples (T, P) as an online search sees them, computed without workers.

        Scores that only name segments are left out.
        """
        features = self.with_features([Instance(X)])[0].X
        return features if self.step is None else self.step(features)


@dataclass(frozen=True)
class AsMeasured(Stage):
    """The stage of models that see instances as measured.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.learner import AsMeasured
    >>> from structsvm.partitions import Instance
    >>> AsMeasured()([Instance(np.zeros((2, 1)))])[0].n_samples
    2
    """

    def with_features(self, instances: Sequence[Instance]) -> Sequence[Instance]:
        return instances


@dataclass(frozen=True, eq=False)
class Inputs(Stage):
    """The stages in front of a metric, fitted on the training instances."""

    features: RecordingTransformer | None
    """Fitted; None where the metric sees the columns themselves."""
    standardizer: Standardizer
    words: Words = RECORDINGS
    made: tuple[str, ...] = ()
    """Names of the features that were made; none where the metric sees the columns."""
    scores: Any = None
    """The stage of a classifier that says how probable states are, where the features do not."""

    @classmethod
    def of(
        cls, features: RecordingTransformer | None, standardize: str | None, data: TrainingSet
    ) -> "tuple[Inputs, TrainingSet]":
        """Fit the stages once for all metrics that see the same features, and apply them."""
        key = "inputs", id(features), standardize
        # The features are kept, too, so that no others are given the same id.
        _, inputs, seen = data.once(key, lambda: (features, *cls.fit(features, standardize, data)))
        return inputs, seen

    @classmethod
    def fit(
        cls, features: RecordingTransformer | None, standardize: str | None, data: TrainingSet
    ) -> "tuple[Inputs, TrainingSet]":
        """Fit the stages, and apply them to the instances."""
        words = data.problem.traits.words
        made: tuple[str, ...] = ()
        warn_about_constant_features(data.instances, data.names, words)
        if features is not None:
            features = clone(features)
            _check_gaps(features, data.instances, words)
            transformed = _fit_transform(features, data)
            made = tuple(str(name) for name in features.get_feature_names_out(data.columns))
            data = data.with_features(transformed, made)
        arrays = [instance.data for instance in data.instances]
        standardizer = Standardizer.fit(standardize, arrays, data.weights)
        inputs = cls(features, standardizer, words, made)
        return inputs, data.made_by(standardizer).made_by(centred)

    def __call__(self, instances: Sequence[Instance]) -> list[Instance]:
        """Instances as the metric sees them, with the probabilities of states if it knows any."""
        made = apply_to_instances(self.with_features(instances), self.standardizer)
        if self.scores is None:
            return made
        scored = self.scores(instances)
        return [replace(x, states=p.states) for x, p in zip(made, scored, strict=True)]

    @property
    def step(self) -> Step:
        return self.standardizer

    def online(self, X: Floats) -> Floats:
        """Features of the samples, standardised."""
        made = X if self.features is None else self.with_features([Instance(X)])[0].X
        return self.standardizer(made)

    @property
    def reach(self) -> Reach:
        before, after = (0, 0) if self.features is None else self.features.reach
        of_scale = self.standardizer.reach
        return before + of_scale[0], after + of_scale[1]

    def with_features(self, instances: Sequence[Instance]) -> Sequence[Instance]:
        if self.features is None:
            return instances
        _check_gaps(self.features, instances, self.words)
        arrays, states = _transform(self.features, instances, self.words, len(self.made))
        pairs = zip(instances, arrays, strict=True)
        instances = [instance.with_features(X, self.made or None) for instance, X in pairs]
        if states is None:
            return instances
        return [replace(instance, states=p) for instance, p in zip(instances, states, strict=True)]

    @property
    def states(self) -> NDArray[Any] | None:
        """Names of the states that instances have probabilities of; None for none."""
        stages = stages_of(self.features)
        own = next((stage for stage in stages if isinstance(stage, NamedScores)), None)
        if own is not None:
            return own.classes_
        return None if self.scores is None else self.scores.states


@dataclass(frozen=True, eq=False)
class FrameScores(Stage):
    """The mean probability that several classifiers give to each class at each item."""

    models: Sequence[FrameModel]
    classes: NDArray[Any]  # names of the states, (C,), or numbers of classes without names
    owner: str  # the name of the method that has learned the classifiers, for messages
    named: bool = True

    def with_features(self, instances: Sequence[Instance]) -> Sequence[Instance]:
        data = [instance.data for instance in instances]
        states = now_or_later(
            data,
            lambda arrays: self.probabilities(list(map(filled, arrays))),
            lambda: map_arrays("scores", _scored, data, [self] * len(data)),
        )
        return [replace(instance, states=p) for instance, p in zip(instances, states, strict=True)]

    @property
    def states(self) -> NDArray[Any] | None:
        return self.classes if self.named else None

    @property
    def reach(self) -> Reach:
        before, after = zip(*(model.reach for model in self.models), strict=True)
        return max(before), max(after)

    @property
    def block(self) -> int:
        return lcm(*(model.step for model in self.models))

    def online(self, X: Floats) -> Floats:
        """How probable states are at each sample."""
        return self.probabilities([filled(X)])[0]

    def probabilities(self, arrays: Sequence[Floats]) -> list[Floats]:
        """The probability of each class at each item of each instance, (T_i, C)."""
        return mean_probabilities(self.models, arrays, self.owner)


def _scored(X: Floats, scores: FrameScores) -> Floats:
    return scores.probabilities([filled(X)])[0]


def _fit_transform(features: RecordingTransformer, data: TrainingSet) -> Sequence[Any]:
    """Fit the features, and compute those of the training instances, cross-fitted if learned."""

    def now(arrays: list[Floats]) -> Sequence[Any]:
        words = data.problem.traits.words
        if type(features).fit_transform is RecordingTransformer.fit_transform:
            features.fit(arrays, data.item_labels, data.groups)
            return _transform(features, data.instances, words)[0]
        transformed = features.fit_transform(arrays, data.item_labels, data.groups)
        return check_features(transformed, arrays, type(features).__name__, words, gaps=True)

    def later() -> Sequence[Any]:
        first = data.instances[0].X
        made_by = _fit_held_out(features, data, first)
        n_features = features.transform([first])[0].shape[1]
        steps = {id(one): _Making(one, fingerprint(one)) for one in made_by}
        pairs = zip(data.instances, made_by, strict=True)
        return [apply(instance.data, steps[id(one)], n_features) for instance, one in pairs]

    return now_or_later([instance.data for instance in data.instances], now, later)


def _transform(
    features: RecordingTransformer,
    instances: Sequence[Instance],
    words: Words,
    n_features: int | None = None,
) -> tuple[Sequence[Any], Sequence[Floats] | None]:
    """Features (T, P') of instances, and probabilities of states; each is transformed alone."""
    data = [instance.data for instance in instances]

    def now(arrays: list[Floats]) -> tuple[Sequence[Any], Sequence[Floats] | None]:
        parts = [arrays[a:b] for a, b in batches_of([len(X) for X in arrays])]
        made: list[Any] = []
        states: list[Floats] = []
        for of_part, states_of_part in spread("features", _with_states, parts, features):
            made += of_part
            states += states_of_part or ()
        name = type(features).__name__
        return check_features(made, arrays, name, words, gaps=True), states or None

    def later() -> tuple[Sequence[Any], Sequence[Floats] | None]:
        step = _Making(features, fingerprint(features))
        made = [apply(X, step, n_features) for X in data]
        if not any(isinstance(stage, NamedScores) for stage in stages_of(features)):
            return made, None
        return made, map_arrays("states", _states, data, [features] * len(data))

    return now_or_later(data, now, later)


def _with_states(
    Xs: Sequence[Floats], features: RecordingTransformer
) -> tuple[Sequence[Any], Sequence[Floats] | None]:
    return features.transform_with_states(Xs)


def _states(X: Floats, features: RecordingTransformer) -> Floats:
    states = features.transform_with_states([X])[1]
    assert states is not None
    return states[0]


def _fit_held_out(
    features: RecordingTransformer, data: TrainingSet, first: Floats
) -> list[RecordingTransformer]:
    """For each instance a fitted transformer that has not seen its group."""
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
    """A step that computes the features of one instance and checks them."""

    transformer: RecordingTransformer = field(metadata={"fingerprint": False})
    known_by: str
    """The fingerprint of the transformer, computed once for the instances that share it."""

    def __call__(self, X: Floats) -> Floats:
        made = self.transformer.transform([X])
        return check_features(made, [X], type(self.transformer).__name__, gaps=True)[0]


def _check_gaps(
    features: RecordingTransformer, instances: Sequence[Instance], words: Words
) -> None:
    if features.takes_gaps:
        return
    missing = next((i for i, instance in enumerate(instances) if instance.has_gaps), None)
    if missing is not None:
        raise DataError(
            words.numbered(missing)
            + f" has missing values, and {type(features).__name__} makes features of none: use "
            + wording("Lags() or no features", of_files=parameter("context", "lags") + ", or none")
            + ", or "
            + parameter("missing", "interpolate")
        )
