"""How probable each named region is at each node of a graph, such as a superpixel of an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.data.words import GRAPHS
from structsvm.errors import SettingsError
from structsvm.features.base import RecordingTransformer
from structsvm.features.checks import column_names, read_recordings
from structsvm.features.context import Columns
from structsvm.features.frames import FrameRecipe, check_smoothing
from structsvm.features.scores import NamedScores
from structsvm.support.arrays import Floats


class Deviations(RecordingTransformer):
    """The columns, and their differences from their mean over the sample.

    What is bright in one image is dark in another: a classifier of nodes or rows that sees both
    can tell what stands out.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Deviations
    >>> Deviations().fit_transform([np.array([[1.0], [3.0]])])[0].tolist()
    [[1.0, -1.0], [3.0, 1.0]]
    """

    learns = False

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Note the number of columns; nothing else is learned."""
        self.n_features_in_ = int(read_recordings(Xs)[0].shape[1])
        return self

    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        """The columns, then their deviations from the mean of each sample, (T_i, 2 P) each."""
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_)
        return [np.hstack([X, X - X.mean(axis=0)]) for X in arrays]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns, then those of their deviations."""
        check_is_fitted(self)
        names = column_names(input_features, self.n_features_in_)
        return np.asarray([*names, *[f"{name} less its mean" for name in names]], dtype=object)


class RegionScores(NamedScores):
    """Scores of the named regions at each node, from a classifier.

    For images and graphs whose labels mean the same in all of them, such as a mask of the
    foreground, or the numbers of sky, road and house: a node has the name of most of its pixels.
    The score of a region is ``log(p + smoothing)``, minus the mean of that over the regions, where
    ``p`` is its probability. As :class:`StateScores` does, :meth:`fit_transform` cross-fits: no
    training image is scored by a classifier that has seen it, nor another image of its group.

    Parameters
    ----------
    estimator : "forest", "boosting", "logistic" or a classifier of scikit-learn, optional
        It needs ``predict_proba`` and is cloned. "forest", the default, is
        ``RandomForestClassifier(n_estimators=100, min_samples_leaf=5)``.
    relative : bool
        Whether the classifier also sees how each feature differs from its mean over the image
        (:class:`Deviations`). On photographs of horses that lowered the loss of a forest by 0.1
        (docs/results.md); means over neighbouring superpixels gained nothing.
    n_folds : int
        Lowered to the number of groups, or of images where there are no groups.
    smoothing : float
        Added to a probability before its logarithm is taken; the smaller, the more a sure
        classifier weighs.
    random_state : int, optional
        Of the folds, and of an estimator whose ``random_state`` is None.

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
        check_smoothing(self.smoothing)
        return region_recipe(self)


def region_recipe(learner: Any) -> FrameRecipe:
    if not isinstance(learner.relative, bool):
        raise SettingsError(f"relative must be True or False, got {learner.relative!r}")
    context = Deviations() if learner.relative else Columns()
    # A forest is a mean itself, and five of them would make a model file five times as large.
    return FrameRecipe.of(learner, context, "training", "forest", GRAPHS, averaged=False)
