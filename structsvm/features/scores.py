"""How probable each named state or region is at each sample, by a classifier of samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.data.words import GRAPHS, RECORDINGS, Words
from structsvm.features.base import RecordingTransformer, read_recordings
from structsvm.features.context import Columns, Deviations, Lags
from structsvm.features.frames import FrameModel, FrameModels, FrameRecipe, check_smoothing
from structsvm.features.names import States
from structsvm.support.arrays import Floats
from structsvm.support.frames import each_in_order


class CrossFitted(RecordingTransformer):
    """Features from a classifier: no training recording is scored by one that has seen it."""

    words: ClassVar[Words] = RECORDINGS
    model_: FrameModel | FrameModels

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Learn the classifiers; one of all recordings where none can be held out.

        Labels are text or numbers, (T_i,) each: None, "" or NaN, and -1 among numbers, for a sample
        without one. ``groups`` say whom or what a recording is of.
        """
        self._learn(read_recordings(Xs), each_in_order(ys, Xs), groups, held_out=False)
        return self

    def fit_transform(
        self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None
    ) -> list[Floats]:
        """Features of the training recordings, each by a classifier that has not seen its group."""
        arrays, ys = read_recordings(Xs), each_in_order(ys, Xs)
        return [self._columns(p) for p in self._learn(arrays, ys, groups, held_out=True)[0]]

    def fit_held_out(
        self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None
    ) -> list[RecordingTransformer]:
        """A fitted transformer for each training recording, which has not seen its group."""
        arrays, ys = read_recordings(Xs), each_in_order(ys, Xs)
        models = self._learn(arrays, ys, groups, held_out=True)[1]
        of_model = {id(model): copy(self) for model in models}
        for model in models:
            of_model[id(model)].model_ = model
        return [of_model[id(model)] for model in models]

    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Features of recordings that were not learned from, (T_i, P') each."""
        return [self._columns(p) for p in self._probabilities(Xs)]

    def _probabilities(self, Xs: Sequence[Floats]) -> list[Floats]:
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_)
        return self.model_.probabilities(arrays, type(self).__name__, self.words)

    @abstractmethod
    def _learn(
        self, arrays: list[Floats], ys: Any, groups: Any, held_out: bool
    ) -> tuple[list[Floats], list[FrameModel]]:
        """Learn, and return probabilities of held-out recordings and whose they are, if asked."""

    @abstractmethod
    def _columns(self, probabilities: Floats) -> Floats:
        """The features of a recording."""


class NamedScores(CrossFitted):
    """Scores of named states or regions."""

    smoothing: float

    def transform_with_states(self, Xs: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
        """The scores, and the probabilities behind them, (T_i, C) each."""
        probabilities = self._probabilities(Xs)
        return [self._columns(p) for p in probabilities], probabilities

    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probabilities of the states ``classes_`` at each sample, (T_i, C) each."""
        return self._probabilities(Xs)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return ``score walking``, ..., one name for each state, (C,)."""
        check_is_fitted(self)
        return np.asarray([f"score {name}" for name in self.classes_], dtype=object)

    @abstractmethod
    def _recipe(self) -> FrameRecipe: ...

    def _learn(
        self, arrays: list[Floats], ys: Any, groups: Any, held_out: bool
    ) -> tuple[list[Floats], list[FrameModel]]:
        check_smoothing(self.smoothing)
        recipe = self._recipe()
        found: list[Floats] = []
        models: list[FrameModel] = []
        states = States.read(ys, arrays, recipe.owner, recipe.words)
        if held_out:
            fold = recipe.draw(arrays, states, groups, every_state=True)
            found, models, self.model_ = recipe.cross_fit(arrays, states, fold, groups)
        elif recipe.averaged:
            _, self.model_ = recipe.learn(arrays, states, groups)
        else:
            self.model_ = recipe.fit(arrays, states, groups)
        self.classes_ = states.classes
        self.n_features_in_ = int(arrays[0].shape[1])
        return found, models

    def _columns(self, probabilities: Floats) -> Floats:
        L = np.log(probabilities + self.smoothing)
        return np.asarray(L - L.mean(axis=1, keepdims=True))


class StateScores(NamedScores):
    """Scores of the named states at each sample, from a classifier of samples and their context.

    The score of a state is ``log(p + smoothing)``, minus the mean of that over the states, where
    ``p`` is its probability. :meth:`fit_transform` cross-fits: each training recording is scored by
    a classifier that has seen neither it, nor a copy, nor its group, because a classifier is surer
    of what it has seen. :meth:`transform` scores others by the mean of the probabilities of these
    classifiers and of one that learned from all. A state that no other fold has has probability 0.

    Parameters
    ----------
    estimator : "logistic", "boosting" or a classifier of scikit-learn, optional
        It needs ``predict_proba`` and is cloned. "boosting", the default, is
        ``HistGradientBoostingClassifier(max_leaf_nodes=16, max_features=0.2)``; "logistic" is
        ``LogisticRegression(C=0.05)``, which takes a tenth of the time.
    lags : sequence of int
        The context of a sample that the classifier sees, as in :class:`Lags`.
    n_folds : int
        Lowered to the number of groups, or of recordings where there are no groups.
    smoothing : float
        Added to a probability before its logarithm is taken; the smaller, the more a sure
        classifier weighs.
    standardize : {"recording", "training", None}
        How the columns are centred and scaled before the classifier sees them.
    random_state : int, optional
        Of the folds, and of an estimator whose ``random_state`` is None.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import StateScores
    >>> y = np.repeat(["rest", "walk", "rest"], 10)
    >>> rng = np.random.default_rng(0)
    >>> Xs = [(y == "walk")[:, None] + rng.normal(scale=0.1, size=(30, 1)) for _ in range(4)]
    >>> scores = StateScores("logistic", lags=(-1, 0, 1))
    >>> [F.shape for F in scores.fit_transform(Xs, [y] * 4)]
    [(30, 2), (30, 2), (30, 2), (30, 2)]
    >>> scores.get_feature_names_out().tolist()
    ['score rest', 'score walk']
    """

    def __init__(
        self,
        estimator: Any = None,
        lags: Sequence[int] = (-4, -2, 0, 2, 4),
        n_folds: int = 5,
        smoothing: float = 0.02,
        standardize: str | None = "recording",
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.lags = lags
        self.n_folds = n_folds
        self.smoothing = smoothing
        self.standardize = standardize
        self.random_state = random_state

    def _recipe(self) -> FrameRecipe:
        return FrameRecipe(self, Lags(self.lags), self.standardize)


class RegionScores(NamedScores):
    """Scores of the named regions at each node, from a classifier.

    For images and graphs whose labels mean the same in all of them, such as a mask of the
    foreground, or the numbers of sky, road and house: a node has the name of most of its pixels.
    Scores are those of :class:`StateScores`, and cross-fitted as these are.

    Parameters
    ----------
    estimator : "forest", "boosting", "logistic" or a classifier of scikit-learn, optional
        As for :class:`StateScores`. "forest", the default, is
        ``RandomForestClassifier(n_estimators=100, min_samples_leaf=5)``.
    relative : bool
        Whether the classifier also sees how each feature differs from its mean over the image
        (:class:`Deviations`). On photographs of horses that lowered the loss of a forest by 0.1
        (docs/results.md); means over neighbouring superpixels gained nothing.
    n_folds, smoothing, random_state
        As for :class:`StateScores`.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import RegionScores
    >>> rng, y = np.random.default_rng(0), np.repeat(["sky", "sea"], 20)
    >>> Xs = [(y == "sky")[:, None] + rng.normal(scale=0.1, size=(40, 1)) for _ in range(4)]
    >>> scores = RegionScores()
    >>> [F.shape for F in scores.fit_transform(Xs, [y] * 4)]
    [(40, 2), (40, 2), (40, 2), (40, 2)]
    >>> scores.get_feature_names_out().tolist()
    ['score sea', 'score sky']
    """

    words = GRAPHS

    def __init__(
        self,
        estimator: Any = None,
        relative: bool = True,
        n_folds: int = 5,
        smoothing: float = 0.02,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.relative = relative
        self.n_folds = n_folds
        self.smoothing = smoothing
        self.random_state = random_state

    def _recipe(self) -> FrameRecipe:
        return region_recipe(self)


def region_recipe(learner: Any) -> FrameRecipe:
    context = Deviations() if learner.relative else Columns()
    # A forest is a mean itself, and five of them would make a model file five times as large.
    return FrameRecipe(learner, context, "training", "forest", GRAPHS, averaged=False)
