"""Stages of features side by side, and one behind the other."""

from collections import Counter
from collections.abc import Iterator
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import SettingsError
from structsvm.features.base import (
    Reach,
    Recordings,
    RecordingTransformer,
    check_features,
    column_names,
    read_recordings,
)
from structsvm.support import Floats, refuse_unless

Named = list[tuple[str, Any]]
WANTED_NAMES = "one or more, which differ and have no double underscore"


class _Composition(RecordingTransformer):
    """Stages with names, which are parameters as in the pipelines of scikit-learn."""

    in_a_row: ClassVar[bool]  # whether each stage takes the features of the one before

    def __init__(self, *stages: Any) -> None:
        self.stages = stages

    @property
    def learns(self) -> bool:
        """Whether any stage learns from recordings."""
        return any(getattr(stage, "learns", True) for _, stage in self._named())

    @property
    def reach(self) -> Reach:
        """The reach of all stages together."""
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
            union = of_stages.setdefault(tuple(map(id, transformers)), copy(self))
            union.stages_ = list(zip(names, transformers, strict=True))
            stages_of_folds.append(union)
        return stages_of_folds

    def _fit_stages(self, how: str, Xs: Any, ys: Any, groups: Any) -> list[Any]:
        """Fit the stages by a method, ``how``, of each: what it returned, stage by stage."""
        arrays = read_recordings(Xs)
        stages = self._fresh()
        fitted = []
        n_features = int(arrays[0].shape[1])
        last = stages[-1][1]
        for name, stage in stages:
            is_passed_on = self.in_a_row and stage is not last
            method = "fit_transform" if how == "fit" and is_passed_on else how
            returned = getattr(stage, method)(arrays, ys, groups)
            fitted.append(returned)
            if method == "fit_held_out" and is_passed_on:
                returned = [one.transform([X])[0] for one, X in zip(returned, arrays, strict=True)]
            if method == "fit_transform" or is_passed_on:
                returned = check_features(returned, arrays, f"stage {name!r}")
            if method == "fit_transform":
                fitted[-1] = returned
            arrays = returned if is_passed_on else arrays
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
        """The features of the fitted stages, and the probabilities of the first that has some."""
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
        """Pairs of name and stage; a name that is not given is that of the class, with a number."""
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
    """A fitted transformer, followed by all stages within it if it is a union or a chain."""
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
        """The names of all features, stage by stage; those that repeat begin with their stage's."""
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

    A stage that learns from labels after another such stage learns from cross-fitted features, so
    that no model of either stage scores a recording that it has seen.

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
        """Whether the features of the last stage keep their scales."""
        return bool(getattr(self._named()[-1][1], "scaled", False))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names that the last stage gives."""
        check_is_fitted(self)
        names: Any = column_names(input_features, self.n_features_in_)
        for _, stage in self.stages_:
            names = stage.get_feature_names_out(names)
        return np.asarray(names, dtype=object)
