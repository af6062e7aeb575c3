"""How much the weights of a metric depend on which recordings there are."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from structsvm.data import units_of
from structsvm.errors import DataError, DataWarning, LearningError, SettingsError, without_warnings
from structsvm.learner import MetricLearner
from structsvm.learner.preparing import read_training
from structsvm.support import Floats, refuse_below, stage

MOST_DRAWS = 10  # draws of one resample that may fail in turn, because their labels have no change


@dataclass(frozen=True, eq=False)
class WeightStability:
    """Shares of the features in the metric, learned from resampled recordings."""

    features: tuple[str, ...]
    """Names of the features that the metric sees, P of them."""
    shares: Floats
    """``B_jj / Tr(B)`` of each feature in each resample, (n_resamples, P)."""
    share: Floats
    """``B_jj / Tr(B)`` of each feature, learned from all recordings, (P,)."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns for ``pandas.DataFrame``, the features with the largest shares first.

        "low" and "high" are the 5 % and 95 % quantiles of the shares, and "used" the part of the
        resamples in which a feature has a tenth of an even share or more.
        """
        order = np.argsort(-self.share, kind="stable")
        low, high = np.quantile(self.shares, (0.05, 0.95), axis=0)
        used = (self.shares >= 0.1 / len(self.features)).mean(axis=0)
        numbers = {"share": self.share, "low": low, "high": high, "used": used}
        columns: dict[str, list[Any]] = {"feature": [self.features[j] for j in order]}
        return columns | {name: values[order].tolist() for name, values in numbers.items()}


def weight_stability(
    learner: MetricLearner,
    Xs: Any,
    ys: Any = None,
    *,
    groups: Any = None,
    n_resamples: int = 20,
    random_state: int | None = 0,
) -> WeightStability:
    """Learn from resampled recordings, to see which weights do not depend on the sample.

    This is the bootstrap of Efron (1979): each resample draws as many recordings with replacement
    as there are, or whole groups if groups are given.

    Parameters
    ----------
    learner : MetricLearner
        Fitted or not; it is cloned, and fitted ``n_resamples + 1`` times.
    Xs, ys, groups : as for :meth:`MetricLearner.fit`
    n_resamples : int
    random_state : int or None

    Raises
    ------
    DataError, SettingsError
        If there is only one recording or group, hardly any resample can be learned from, the
        learner has no metric, or ``n_resamples`` is below 1.

    Examples
    --------
    >>> from structsvm import MetricLearner, weight_stability
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> recordings = relevant_changes(6, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> learner = MetricLearner(metric="diagonal")
    >>> found = weight_stability(learner, *arrays_and_labels(recordings), n_resamples=5)
    >>> found.to_dict()["feature"][0]
    'x0'
    """
    if not hasattr(learner, "metric"):
        raise SettingsError(
            f"weights of features are those of a metric, and a {type(learner).__name__} has none"
        )
    refuse_below(1, "n_resamples", n_resamples)
    data = read_training(learner, Xs, ys, groups=groups)
    words = data.problem.traits.words
    units = units_of(data.groups, len(data), words)[1]
    if units.max() == 0:
        raise DataError(
            f"one {words.whole if data.groups is None else 'group'}: there is nothing to resample"
        )
    G = int(units.max()) + 1
    rng = np.random.default_rng(random_state)
    shares = []
    with without_warnings(DataWarning, ConvergenceWarning):
        on_all = clone(learner).fit(data)
        for _ in stage("resamples", range(n_resamples)):
            for _ in range(MOST_DRAWS):
                counts = np.bincount(rng.integers(G, size=G), minlength=G)[units]
                try:
                    fitted = clone(learner).fit(replace(data, weights=data.weights * counts))
                except (DataError, LearningError):
                    continue  # the labels that were drawn have no change
                shares.append(_shares(fitted))
                break
            else:
                raise DataError(
                    f"{MOST_DRAWS} resamples running taught nothing: too few of the labels have a "
                    "change"
                )
    return WeightStability(tuple(on_all.metric_feature_names_), np.array(shares), _shares(on_all))


def _shares(learner: MetricLearner) -> Floats:
    diagonal = np.asarray((learner.metric_.factor**2).sum(axis=1))
    return np.asarray(diagonal / diagonal.sum())
