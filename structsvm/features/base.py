"""What a stage of features promises: which recordings come in, and which features go out."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from math import inf
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from structsvm.data.checks import check_samples
from structsvm.data.missing import has_gaps
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, SettingsError
from structsvm.support.arrays import Floats
from structsvm.support.checks import counted, is_whole, refuse_unless
from structsvm.support.contract import Contract, hook

Recordings = Sequence[Floats]
"""Arrays (T_i, P)."""

Reach = tuple[float, float]
"""How many samples before a sample, and after it, what is made of it depends on."""

EVERYTHING: Reach = (inf, inf)


class RecordingTransformer(Contract, BaseEstimator):  # type: ignore[misc]
    """Base of transformers of recordings: from (T, P) to (T, P') features.

    The conventions are those of scikit-learn, with lists of recordings in place of one table.
    :class:`structsvm.MetricLearner` makes the features of the training recordings by
    :meth:`fit_transform` and those of others by :meth:`transform`. They are finite, and do not
    depend on which recordings are transformed together.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import RecordingTransformer
    >>> class Squares(RecordingTransformer):
    ...     def transform(self, Xs):
    ...         return [X**2 for X in Xs]
    ...
    ...     def get_feature_names_out(self, input_features=None):
    ...         return np.array([f"{name} squared" for name in input_features], dtype=object)
    >>> Squares().fit_transform([np.array([[2.0], [3.0]])])[0].tolist()
    [[4.0], [9.0]]
    """

    takes_gaps: ClassVar[bool] = False
    """Whether a value may be missing, NaN, of which the features are then missing too."""

    @property
    @hook
    def learns(self) -> bool:
        """Whether :meth:`fit` needs more of recordings than their number of features."""
        return True

    @property
    @hook
    def scaled(self) -> bool:
        """Whether ``standardize="auto"`` leaves the scales of the features as they are."""
        return False

    @property
    @hook
    def reach(self) -> Reach:
        """How many samples before a sample, and after it, its features depend on, once fitted.

        Infinite, the default, is the whole recording, as where it is centred by itself.
        """
        return EVERYTHING

    @property
    def lookahead(self) -> float:
        """How many samples after a sample have to be there before its features are known."""
        return self.reach[1]

    @hook
    def fit(self, Xs: Recordings, ys: Any = None, groups: Any = None) -> Self:
        """Learn from recordings, labels of their samples and groups; nothing by default."""
        return self

    @abstractmethod
    def transform(self, Xs: Recordings) -> list[Floats]:
        """Return the features of recordings, (T_i, P') each."""

    @hook
    def transform_with_states(self, Xs: Recordings) -> tuple[list[Floats], list[Floats] | None]:
        """The features of recordings, and probabilities of named states, (T_i, C) each, or None."""
        return self.transform(Xs), None

    @hook
    def fit_transform(self, Xs: Recordings, ys: Any = None, groups: Any = None) -> list[Floats]:
        """Learn from the training recordings and return their features, (T_i, P') each.

        One that learns from labels has not seen the recording, nor its group, whose features it
        computes.
        """
        return self.fit(Xs, ys, groups).transform(Xs)

    @hook
    def fit_held_out(
        self, Xs: Recordings, ys: Any = None, groups: Any = None
    ) -> list[RecordingTransformer]:
        """Learn from the training recordings and return a fitted transformer for each of them.

        It makes of the recording what :meth:`fit_transform` makes of it, whenever that is read.

        Raises
        ------
        DataError
            When :meth:`fit_transform` is defined, and this is not.
        """
        if type(self).fit_transform is not RecordingTransformer.fit_transform:
            name = type(self).__name__
            raise DataError(
                f"{name} computes the features of training recordings in its own way, and these "
                f"are read one at a time: define {name}.fit_held_out, which returns a fitted "
                "transformer for each, or give arrays in memory"
            )
        return [self.fit(Xs, ys, groups)] * len(Xs)

    @abstractmethod
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features, made of those of the columns."""


class Stage(RecordingTransformer):
    """A transformer that learns from recordings alone, and looks at each of them by itself."""

    def fit(self, Xs: Recordings, ys: Any = None, groups: Any = None) -> Self:
        """Check the settings and learn from recordings."""
        arrays = read_recordings(Xs, gaps=self.takes_gaps)
        self._fit(arrays)
        self.n_features_in_ = int(arrays[0].shape[1])
        return self

    @hook
    def transform(self, Xs: Recordings) -> list[Floats]:
        """The features of recordings, (T_i, P') each."""
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_, gaps=self.takes_gaps)
        return [self._features(X) for X in arrays]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features, made of those of the columns, (P',)."""
        check_is_fitted(self)
        names = column_names(input_features, self.n_features_in_)
        return np.asarray(self._names(names), dtype=object)

    @hook
    def _fit(self, arrays: list[Floats]) -> Any:
        """Check the settings and learn."""

    @abstractmethod
    def _features(self, X: Floats) -> Floats: ...

    @abstractmethod
    def _names(self, columns: list[str]) -> Sequence[str]: ...


def read_recordings(Xs: Any, n_features: int | None = None, *, gaps: bool = False) -> list[Floats]:
    """Recordings as finite (T_i, P) arrays; those that are such arrays already are not copied."""

    def is_ready(X: Any) -> bool:
        if not (type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size > 0):
            return False
        return not (np.isinf(X) if gaps else ~np.isfinite(X)).any()

    ready = isinstance(Xs, list | tuple) and len(Xs) > 0 and all(map(is_ready, Xs))
    if ready and {X.shape[1] for X in Xs} == {n_features or Xs[0].shape[1]}:
        return list(Xs)
    return check_samples(Xs, n_features=n_features, missing="mask" if gaps else None)[0]


def check_features(
    features: Sequence[Any],
    Xs: Recordings,
    maker: str,
    words: Words = RECORDINGS,
    gaps: bool = False,
) -> list[Floats]:
    """Features of recordings, if a metric can be learned from them."""
    if len(features) != len(Xs):
        raise DataError(f"{maker} returned features of {len(features)} of {words.wholes(len(Xs))}")
    P = np.shape(features[0])[-1] if np.ndim(features[0]) == 2 else 1
    for i, (F, X) in enumerate(zip(features, Xs, strict=True)):
        if np.shape(F) != (len(X), P) or not P:
            raise DataError(
                words.numbered(i) + f" has {words.items(len(X))}, and {maker} returned features of "
                f"shape {np.shape(F)}, not {(len(X), P)}: it must return one row for each, and as "
                f"many features of each {words.whole}"
            )
        wrong = np.isinf(F) if gaps and has_gaps(X) else ~np.isfinite(F)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(
                words.numbered(i) + f": {maker} returned {np.asarray(F)[row, column]} as feature "
                f"{column} of {words.item} {row}: a transformer must return finite numbers"
            )
    return [np.asarray(F, dtype=np.float64) for F in features]


def column_names(input_features: Any, n_features: int) -> list[str]:
    """Names of the columns that a stage sees; ``x0, x1, ...`` where none are given."""
    if input_features is None:
        return [f"x{j}" for j in range(n_features)]
    names = [str(name) for name in input_features]
    if len(names) != n_features:
        raise DataError(
            f"{counted(len(names), 'name')} for {counted(n_features, 'column')}: give one for each"
        )
    return names


def integers(name: str, values: Any, least: int | None = None) -> tuple[int, ...]:
    """A parameter that is a non-empty sequence of different whole numbers."""
    numbers = [values] if np.ndim(values) == 0 else list(values)
    right = all(is_whole(v) and (least is None or v >= least) for v in numbers)
    wanted = "different whole numbers" + ("" if least is None else f" of {least} or more")
    refuse_unless(
        bool(numbers) and right and len(set(numbers)) == len(numbers), name, wanted, values
    )
    return tuple(int(v) for v in numbers)


Named = list[tuple[str, Any]]
WANTED_NAMES = "one or more, which differ and have no double underscore"


class _Composition(RecordingTransformer):
    """Stages with names, which are parameters as in the pipelines of scikit-learn."""

    in_a_row: ClassVar[bool]
    """Whether each stage takes the features of the one before."""

    def __init__(self, *stages: Any) -> None:
        self.stages = stages

    @property
    def learns(self) -> bool:
        """Whether any stage learns from recordings."""
        return any(getattr(stage, "learns", True) for _, stage in self._named())

    @property
    def reach(self) -> Reach:
        """That of the stages together."""
        before, after = zip(*(stage.reach for _, stage in self.stages_), strict=True)
        return (sum(before), sum(after)) if self.in_a_row else (max(before), max(after))

    @property
    def named_stages(self) -> dict[str, Any]:
        """The stages as given, not fitted, by name."""
        return dict(self._named())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The stages by name and, where ``deep``, their parameters as ``name__parameter``."""
        parameters = self.named_stages
        if deep:
            for name, stage in self._named():
                if hasattr(stage, "get_params"):
                    parameters |= {f"{name}__{k}": v for k, v in stage.get_params().items()}
        return parameters

    def set_params(self, **params: Any) -> Self:
        """Replace stages, ``name=stage``, or set their parameters, ``name__parameter=value``.

        Raises
        ------
        SettingsError
            When no stage has that name.
        """
        stages = self.named_stages
        # Stages first, so that parameters given together with a new stage are set on that one.
        for key, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            name, _, parameter = key.partition("__")
            if name not in stages:
                raise SettingsError(f"no stage is called {name!r}: there are {sorted(stages)}")
            if parameter:
                stages[name].set_params(**{parameter: value})
            else:
                stages[name] = value
        self.stages = tuple(stages.items())
        return self

    def __sklearn_clone__(self) -> Self:
        return type(self)(*[(name, clone(stage, safe=False)) for name, stage in self._named()])

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.stages))})"

    def fit(self, Xs: Recordings, ys: Any = None, groups: Any = None) -> Self:
        """Fit every stage."""
        self._fit_stages("fit", Xs, ys, groups)
        return self

    def fit_transform(self, Xs: Recordings, ys: Any = None, groups: Any = None) -> list[Floats]:
        """Features of the training recordings, cross-fitted where a stage learns from labels."""
        return self._put_together(self._fit_stages("fit_transform", Xs, ys, groups))

    def fit_held_out(
        self, Xs: Recordings, ys: Any = None, groups: Any = None
    ) -> list[RecordingTransformer]:
        """A fitted transformer for each training recording, with its stages held out."""
        held_out = self._fit_stages("fit_held_out", Xs, ys, groups)
        names = [name for name, _ in self.stages_]
        of_stages: dict[tuple[int, ...], Self] = {}  # one for each fold
        stages_of_folds: list[RecordingTransformer] = []
        for transformers in zip(*held_out, strict=True):
            own = of_stages.setdefault(tuple(map(id, transformers)), copy(self))
            own.stages_ = list(zip(names, transformers, strict=True))
            stages_of_folds.append(own)
        return stages_of_folds

    def _fit_stages(self, how: str, Xs: Any, ys: Any, groups: Any) -> list[Any]:
        """What each stage returns that is fitted by one of its three methods."""
        arrays = read_recordings(Xs)
        stages = self._fresh()
        fitted = []
        n_features = int(arrays[0].shape[1])
        last = stages[-1][1]
        for name, stage in stages:
            is_passed_on = self.in_a_row and stage is not last
            method = "fit_transform" if how == "fit" and is_passed_on else how
            made = getattr(stage, method)(arrays, ys, groups)
            fitted.append(made)
            if method == "fit_held_out" and is_passed_on:
                made = [own.transform([X])[0] for own, X in zip(made, arrays, strict=True)]
            if method == "fit_transform" or is_passed_on:
                made = check_features(made, arrays, f"stage {name!r}")
            if method == "fit_transform":
                fitted[-1] = made
            arrays = made if is_passed_on else arrays
        self.stages_, self.n_features_in_ = stages, n_features
        return fitted

    def _put_together(self, parts: list[list[Floats]]) -> list[Floats]:
        if self.in_a_row:
            return parts[-1]
        return [np.hstack(of_one) for of_one in zip(*parts, strict=True)]

    def transform(self, Xs: Recordings) -> list[Floats]:
        """The features that the fitted stages make, (T_i, P') each."""
        return self.transform_with_states(Xs)[0]

    def transform_with_states(self, Xs: Recordings) -> tuple[list[Floats], list[Floats] | None]:
        """The features that the fitted stages make, and the states of the first that has some."""
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_)
        states = None
        parts = []
        for name, stage in self.stages_:
            features, named = stage.transform_with_states(arrays)
            parts.append(check_features(features, arrays, f"stage {name!r}"))
            arrays = parts[-1] if self.in_a_row else arrays
            states = named if states is None else states
        return self._put_together(parts), states

    def _named(self) -> Named:
        """Pairs as given, or named after their class, with a number where several are alike."""
        kinds = [stage if isinstance(stage, type) else type(stage) for stage in self.stages]
        usual = [kind.__name__.lower() for kind in kinds]
        seen = Counter[str]()
        stages = []
        for stage, name in zip(self.stages, usual, strict=True):
            seen[name] += 1
            number = seen[name] if usual.count(name) > 1 else ""
            stages.append(stage if isinstance(stage, tuple) else (f"{name}{number}", stage))
        return stages

    def _fresh(self) -> Named:
        """Clones of the stages, ready to be fitted."""
        own = type(self).__name__
        named = self._named()
        names = [name for name, _ in named]
        right = names and len(set(names)) == len(names) and all(n and "__" not in n for n in names)
        refuse_unless(bool(right), f"names of the stages of {own}", WANTED_NAMES, names)
        for name, stage in named:
            if not isinstance(stage, RecordingTransformer):
                raise SettingsError(
                    f"{own}: stage {name!r} must be an instance of a transformer of recordings "
                    f"such as Lags(), or Rows(...) around one of scikit-learn, got {stage!r}"
                )
        return [(name, clone(stage)) for name, stage in named]


def stages_of(stage: RecordingTransformer | None) -> Iterator[RecordingTransformer]:
    """A fitted transformer and, of a union or a chain, its stages."""
    if stage is None:
        return
    yield stage
    if isinstance(stage, _Composition):
        for _, inner in stage.stages_:
            yield from stages_of(inner)


class Union(_Composition):
    """Features of several transformers, side by side.

    Parameters
    ----------
    *stages : RecordingTransformer or (name, RecordingTransformer)
        Named after their class in lower case where no name is given. They are cloned before they
        are fitted; ``stages_`` holds the fitted ones.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Lags, MovingStatistics, Union
    >>> both = Union(Lags(lags=(0,)), MovingStatistics(windows=(3,), statistics=("mean",)))
    >>> both.fit_transform([np.array([[0.0], [3.0], [3.0]])])[0].tolist()
    [[0.0, 1.5], [3.0, 2.0], [3.0, 3.0]]
    >>> both.set_params(lags__lags=(-1, 0)).get_params()["lags"]
    Lags(lags=(-1, 0))
    """

    in_a_row = False

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of all features, stage by stage; with that of the stage if two are alike."""
        check_is_fitted(self)
        columns = column_names(input_features, self.n_features_in_)
        named = []
        for stage_name, stage in self.stages_:
            named += [(stage_name, str(f)) for f in stage.get_feature_names_out(columns)]
        times = Counter(feature for _, feature in named)
        names = [f"{stage} {name}" if times[name] > 1 else name for stage, name in named]
        return np.asarray(names, dtype=object)


class Chain(_Composition):
    """Transformers in a row, each of which takes the features of the one before.

    A stage that learns from labels after another one does so from features that were cross-fitted;
    of both, no model scores a recording that it has seen.

    Parameters
    ----------
    *stages : RecordingTransformer or (name, RecordingTransformer)
        As for :class:`Union`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from structsvm.features import Chain, Lags, Rows
    >>> chain = Chain(Rows(StandardScaler()), Lags(lags=(-1, 0)))
    >>> chain.fit_transform([np.array([[0.0], [2.0]])])[0].tolist()
    [[-1.0, -1.0], [-1.0, 1.0]]
    """

    in_a_row = True

    @property
    def scaled(self) -> bool:
        """Whether the features of the last stage are."""
        return bool(getattr(self._named()[-1][1], "scaled", False))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names that the last stage gives."""
        check_is_fitted(self)
        names: Any = column_names(input_features, self.n_features_in_)
        for _, stage in self.stages_:
            names = stage.get_feature_names_out(names)
        return np.asarray(names, dtype=object)
