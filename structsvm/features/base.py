"""What a stage of features promises."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import DataError
from structsvm.features.checks import column_names, read_recordings
from structsvm.support.arrays import Floats
from structsvm.support.contract import ContractMeta, hook


class RecordingTransformer(BaseEstimator, metaclass=ContractMeta):  # type: ignore[misc]
    """Base of transformers of recordings: from (T, P) to (T, P') features.

    The conventions are those of scikit-learn, with lists of recordings in place of one table:
    settings are parameters of the constructor, :meth:`fit` learns and returns the transformer,
    what it learned ends in an underscore. :class:`structsvm.MetricLearner` clones it, makes the
    features of the training recordings by :meth:`fit_transform` and those of others by
    :meth:`transform`.

    What a transformer has to keep: a recording's features do not depend on which recordings are
    transformed with it, they are finite, and a recording of one sample has some too.

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
        """Whether :meth:`fit` learns more from recordings than how many features they have.

        A transformer that does not is fitted to one of them where recordings are read one at a
        time; one that does is fitted to as many of them as fit in memory.
        """
        return True

    @property
    @hook
    def scaled(self) -> bool:
        """Whether the scales of the features say how much each of them matters.

        A learner with ``standardize="auto"`` then leaves them as they are.
        """
        return False

    @hook
    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Learn from recordings; nothing is learned by default.

        Parameters
        ----------
        Xs : sequence of arrays (T_i, P)
        ys : sequence of labels of each sample, (T_i,), optional
        groups : sequence of length N, optional
            Whom or what a recording is of.
        """
        return self

    @abstractmethod
    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Return the features of recordings, (T_i, P') each."""

    @hook
    def transform_with_states(
        self, Xs: Sequence[Floats]
    ) -> tuple[list[Floats], list[Floats] | None]:
        """The features of recordings and, if there are any, the probabilities of named states.

        The latter are (T_i, C) each, those of :class:`~structsvm.features.StateScores`; None by
        default. Whoever names what was found takes them from here, in one pass with the features.
        """
        return self.transform(Xs), None

    @hook
    def fit_transform(
        self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None
    ) -> list[Floats]:
        """Learn from the training recordings and return their features, (T_i, P') each.

        A transformer that learns from labels gives each recording features made by one that has
        not seen it, nor its group.
        """
        return self.fit(Xs, ys, groups).transform(Xs)

    @hook
    def fit_held_out(
        self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None
    ) -> list[RecordingTransformer]:
        """Learn from the training recordings and return what makes the features of each of them.

        That of a recording is a fitted transformer that other processes can be sent, and that makes
        of it what :meth:`fit_transform` makes of it: one that has seen neither it nor its group,
        where labels are learned from. Recordings that are not in memory are given to theirs
        whenever they are read.

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

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Check the settings and the recordings, and keep what is the same for all of them.

        Raises
        ------
        SettingsError
            When a parameter has a value it cannot have.
        DataError
            Naming the recording and what is wrong with it.
        """
        arrays = read_recordings(Xs, gaps=self.takes_gaps)
        self._fit(arrays)
        self.n_features_in_ = int(arrays[0].shape[1])
        return self

    @hook
    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
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
    def _fit(self, arrays: list[Floats]) -> None:
        """Check the settings and learn."""

    @abstractmethod
    def _features(self, X: Floats) -> Floats:
        """The features of a recording."""

    @abstractmethod
    def _names(self, columns: list[str]) -> Sequence[str]:
        """Their names."""
