"""How probable each state is at each sample, by a classifier trained on the names of the states."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.data.words import RECORDINGS, Words
from structsvm.features.base import RecordingTransformer
from structsvm.features.checks import read_recordings
from structsvm.features.context import Lags
from structsvm.features.frames import (
    FrameModel,
    FrameModels,
    FrameRecipe,
    check_smoothing,
    held_out_scorers,
)
from structsvm.features.names import States
from structsvm.support.arrays import Floats
from structsvm.support.frames import each_in_order


class NamedScores(RecordingTransformer):
    """Scores of named states or regions, from a classifier that is cross-fitted in training."""

    words: ClassVar[Words]
    """What recordings, samples and states are called in messages."""
    smoothing: float

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Learn the classifiers; one of all recordings where none can be held out.

        Parameters
        ----------
        Xs : sequence of arrays (T_i, P)
        ys : sequence of names of states, (T_i,) each
            Text or numbers; None, "" or NaN, and -1 among numbers, for a sample without a name.
        groups : sequence of length N, optional
            Whom or what a recording is of.

        Raises
        ------
        SettingsError
            When a parameter has a value it cannot have, or the classifier has no ``predict_proba``.
        DataError
            When names are missing, are of one state only, or are not one for each sample.
        LearningError
            When the classifier fails.
        """
        recipe, arrays = self._recipe(), read_recordings(Xs)
        states = States.read(each_in_order(ys, Xs), arrays, recipe.owner, recipe.words)
        if recipe.averaged:
            return self._keep(recipe.learn(arrays, states, groups)[1], arrays, states)
        return self._keep(recipe.fit(arrays, states, groups), arrays, states)

    def fit_transform(
        self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None
    ) -> list[Floats]:
        """Scores of the training recordings, each by a classifier that has not seen its group.

        Parameters and errors are those of :meth:`fit`.

        Raises
        ------
        DataError
            Also when a state occurs in one recording or group only, or there is only one.
        LearningError
            Naming the fold in which the classifier failed.
        """
        return [self._scores(p) for p in self._cross_fit(Xs, ys, groups)[0]]

    def fit_held_out(
        self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None
    ) -> list[RecordingTransformer]:
        """What scores each training recording, by a classifier that has not seen its group.

        Parameters and errors are those of :meth:`fit_transform`.
        """
        return held_out_scorers(self, self._cross_fit(Xs, ys, groups)[1])

    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Scores of recordings that were not learned from, (T_i, C) each."""
        return self.transform_with_states(Xs)[0]

    def transform_with_states(self, Xs: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
        """The same scores, and the probabilities behind them, (T_i, C) each."""
        probabilities = self.predict_proba(Xs)
        return [self._scores(p) for p in probabilities], probabilities

    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probabilities of the states ``classes_`` at each sample, (T_i, C) each."""
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_)
        return self.model_.probabilities(arrays, type(self).__name__, self.words)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return ``score walking``, ..., one name for each state, (C,)."""
        check_is_fitted(self)
        return np.asarray([f"score {name}" for name in self.classes_], dtype=object)

    @abstractmethod
    def _recipe(self) -> FrameRecipe:
        """How the classifier is learned; SettingsError for settings that it cannot have."""

    def _cross_fit(self, Xs: Any, ys: Any, groups: Any) -> tuple[list[Floats], list[FrameModel]]:
        """Learn, and return probabilities of held-out states, (T_i, C) each, and whose they are."""
        recipe, arrays = self._recipe(), read_recordings(Xs)
        states = States.read(each_in_order(ys, Xs), arrays, recipe.owner, recipe.words)
        folds = recipe.draw(arrays, states, groups, every_state=True)
        probabilities, models, model = recipe.cross_fit(arrays, states, folds, groups)
        self._keep(model, arrays, states)
        return probabilities, models

    def _keep(self, model: FrameModel | FrameModels, arrays: list[Floats], states: States) -> Self:
        self.model_ = model
        self.classes_ = states.classes
        self.n_features_in_ = int(arrays[0].shape[1])
        return self

    def _scores(self, probabilities: Floats) -> Floats:
        L = np.log(probabilities + self.smoothing)
        return np.asarray(L - L.mean(axis=1, keepdims=True))


class StateScores(NamedScores):
    """Scores of the named states at each sample, from a classifier of samples and their context.

    The score of a state is ``log(p + smoothing)``, minus the mean of that over the states, where
    ``p`` is its probability. :meth:`fit_transform` cross-fits: it scores each training recording by
    a classifier that has not seen it or a copy of it, nor any other recording of its group, because
    a classifier is surer of what it has seen than it will be of new recordings. :meth:`transform`
    scores others by the mean of the probabilities of these classifiers and of one that learned from
    all.

    The columns are those of ``classes_`` in every fold. Folds are drawn so that each one's
    classifier has seen every state; where no such folds are found, a state that it has not seen has
    probability 0.

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

    words = RECORDINGS

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
        check_smoothing(self.smoothing)
        return FrameRecipe.of(self, Lags(self.lags), self.standardize)
