"""Segments with states, learned from labelled recordings: classifiers, and a decoder's weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.data import units_of
from structsvm.errors import SettingsError
from structsvm.features import RecordingTransformer
from structsvm.features.frames import KERNEL_POINTS, FrameModel, FrameRecipe, learning_once
from structsvm.features.pooling import losses_of_units, pooled
from structsvm.learner.frame_learner import (
    SIGNALS,
    Scored,
    context_of,
    read_named,
    typical_length,
)
from structsvm.learner.state_decoder import StateDecoder
from structsvm.partitions.equivalence import runs_of
from structsvm.support import Floats, Ints, among, half_interval, stage, standard_error

OF_MANY = ("fast-boosting", "kernel", "lda")
"""The classifiers where groups are many: their mistakes differ, so that their mean is better."""

OF_WINDOWS = ("window-boosting",)
"""The classifier that is added for signals: trees compare deviations of windows with thresholds,
whatever their scale. Learned from five recordings of the 12 signals behind har_spsw it names .88 of
the samples of others right, and the rest name .81; of the 32 columns made of these signals .90 and
.89; learned from 79 recordings it gains nothing."""

ESTIMATORS = ("boosting", "kernel", "lda")
"""The classifiers where groups are few."""

COLUMNS_OF_FEW = 40
"""Columns up to which boosting of windows is added if groups are few; if they are many, it is up to
:data:`SIGNALS`. Of 61 columns of digits it took longer than all others and gained nothing."""

QUICK = ("fast-kernel", "lda")
"""The quick classifiers. On people held out from har_spsw they lose 1.86 in a fifth of the time in
which all lose 1.77; in five other draws of people they lose 2.23, and with the usual kernel 2.24.
On mocap6, SKAB, TEP and digits these two kernels differ by chance alone."""

FEW_GROUPS = 8
"""With fewer groups slow boosting, more folds, and a model of all are worth their time: with ten
groups of har_spsw fast boosting and three folds did no worse, and with two they did."""

CHANCE = 0.05
"""The probability of taking the scale of training if both scales are equally good. The kernel
decides, which weights all columns alike: in 28 divisions of har_spsw, mocap6, SKAB, TEP and digits
into groups learned from and held out it took that scale for digits alone, where it is better. With
linear discriminants, too, or all classifiers, it was taken in one division in which it is not."""

Learned = tuple[list[Floats], Ints, Sequence[list[FrameModel]], Floats]
"""Means of held-out probabilities, empty if nothing can be held out; the fold of each recording;
the models of each classifier; and the weight of each classifier in the mean."""

LEARNED_FROM, MOST_LEARNED_FROM = 25, 40_000
"""Samples that classifiers learn from: of a typical segment at least, of all at most, about."""

LOOKED_AT = 100
"""Samples of a typical segment that classifiers score, at least."""


@dataclass(eq=False, repr=False)
class StateSegmenter(StateDecoder):
    """Segments recordings and names the segments: classifiers, durations and changes, in one model.

    A weighted mean of several classifiers says how probable each state is at each sample. A
    semi-Markov decoder (a hidden semi-Markov model, HSMM, trained discriminatively) finds the best
    segments given how long each state lasts, which state follows which, and the price of a segment,
    exactly. How much each of these counts is learned by a structured SVM
    (:class:`structsvm.problems.StateSequence`), one convex program with a certificate, on training
    recordings that are scored by classifiers that have not seen them, nor their groups. Its
    regularizer shrinks the weights to counts of the labelled changes and lengths, with three
    numbers chosen by the mean loss on the same recordings. The counts themselves are kept if the
    learned weights lose more on the recordings that they were learned from than counts of other
    groups do, as with few groups, or classifiers that say little.

    Parameters
    ----------
    estimators : sequence of "fast-boosting", "boosting", "fast-kernel", "kernel", "lda", \
"logistic", "forest", "window-boosting" or classifiers of scikit-learn, or "quick", optional
        The classifiers whose probabilities are averaged. By default these are boosting (the fast
        one for eight groups or more), the kernel, and linear discriminants, and for up to 16
        columns, or 40 if groups are fewer, boosting of windows, too. "quick" stands for two that
        take little time. The weights of the mean maximise the likelihood of samples that the
        classifiers have not seen.
    features : RecordingTransformer, optional
        Context that the classifiers see; by default each sample, and the means and standard
        deviations of windows of a quarter, a half and one typical segment about it, of up to 16
        columns also slopes, and windows of 5 to 135 samples where segments are much longer;
        "boosting" sees samples up to a quarter of a typical segment away instead.
    n_folds : int, optional
        By default 5, or 3 for eight groups or more (recordings, if there are no groups). The mean
        of the models of all folds predicts; with fewer groups, one of all recordings is in it, too.
    smoothing : float
        Added to a probability before its logarithm is taken.
    standardize : {"auto", "both", "recording", "training", None}
        How the features are centred and scaled before the classifiers see them. "auto" is "both",
        or "training" if the kernel (or all estimators, if it is none of them) then predicts groups
        that it has not seen better beyond chance, because levels tell states apart.
    changes : mapping of a name to names, optional
        Which states may follow a state; any, by default. States that are no key may not change.
    order : sequence of names, optional
        Every recording goes once through all states in this order.
    min_length, max_length : int, or mapping of names to int, optional
        Least and greatest number of samples of a segment, of all states or of some; a recording
        shorter than ``min_length`` is one. In a recording that has names in part only, a segment
        may go on where its names end, and be longer than they are.
    lam : float
        Strength of the regularizer, divided by the number of groups.
    random_state : int, optional
        Of the folds, and of classifiers whose ``random_state`` is None.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Names of the states.
    standardize_ : str or None
        How the features are centred and scaled.
    estimator_weights_ : array of shape (n_estimators,)
        What each classifier counts in the mean; they sum to 1.
    weight_ : array of shape (3 + 2 C + C^2,)
        Weights of the scores of samples and of lengths, price of a segment, weights of the first
        and the last state and of changes; as :meth:`StateSequence.weight` lays them out.
    start_ : array of the same shape
        What the weights are shrunk to.
    solution_ : Solution or None
        Of the convex program; None where no recording can be held out.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import StateSegmenter
    >>> y = np.repeat(["rest", "walk", "rest"], 10)
    >>> rng = np.random.default_rng(0)
    >>> Xs = [(y == "walk")[:, None] + rng.normal(scale=0.2, size=(30, 1)) for _ in range(4)]
    >>> segmenter = StateSegmenter(["lda"]).fit(Xs, [y] * 4)
    >>> segmenter.predict_breakpoints(Xs[:1])
    [[10, 20, 30]]
    >>> segmenter.predict_states(Xs[:1])[0][[0, 15]].tolist()
    ['rest', 'walk']
    """

    estimators: Sequence[Any] | str | None = None
    features: RecordingTransformer | None = None
    n_folds: int | None = None
    standardize: str | None = "auto"

    @property
    def called(self) -> str:
        """The name of the method in sentences."""
        return "the segmenter of states"

    def _scored(self, Xs: list[Floats], ys: Any, groups: Any) -> Scored:
        states, stretches, codes = read_named(Xs, ys, type(self).__name__)
        sequences = [part.of(codes) for part in stretches]
        self._prescribe(states.classes, stretches, sequences)
        units = units_of(groups, len(Xs))[1]
        few = np.unique(units).size < FEW_GROUPS
        estimators = self._estimators(Xs[0].shape[1], few)
        typical = int(typical_length(sequences))
        folds: dict[str, Any] = {
            "n_folds": self.n_folds or (5 if few else 3),
            "kept": "all" if few else "folds",
            # Neighbouring samples are alike, so that it is enough to learn from some.
            "every": max(1, typical // LEARNED_FROM, sum(map(len, Xs)) // MOST_LEARNED_FROM),
            "step": scored_at_once(sequences),
        }
        labelled_units = np.unique(units[[part.recording for part in stretches]])

        def learned(scale: str | None, estimators: Sequence[Any]) -> Learned:
            recipes = []
            for estimator in stage("classifiers", list(estimators)):
                features = self.features or context_of(estimator, sequences, Xs[0].shape[1])
                recipe = FrameRecipe(self, features, scale, **folds, estimator=estimator)
                recipes.append(recipe.learn(Xs, states, groups))  # the same folds each time
            held_out, fold, models = zip(*recipes, strict=True)
            if labelled_units.size < 2:
                return [], fold[0], models, np.full(len(models), 1.0 / len(models))
            means, weights = pooled(held_out, states.codes, fold[0], units, self.smoothing)
            return means, fold[0], models, weights

        with learning_once():
            self.standardize_ = self._scale(learned, estimators, states.codes, units)
            means, fold, models, weights = learned(self.standardize_, estimators)
        self.models_ = []
        for model, weight in zip(models, weights.tolist(), strict=True):
            self.models_ += [replace(one, weight=weight / len(model)) for one in model]
        self.classes_ = states.classes
        self.estimator_weights_ = weights
        return Scored(means, stretches, fold, states.codes, units)

    def _estimators(self, n_features: int, few: bool) -> Sequence[Any]:
        """The classifiers to use for so many columns, if groups are few or many."""
        if among(self.estimators, ("quick",)):
            return QUICK + OF_WINDOWS if n_features <= SIGNALS else QUICK
        if self.estimators is None:
            usual = ESTIMATORS if few else OF_MANY
            most = COLUMNS_OF_FEW if few else SIGNALS
            return usual + OF_WINDOWS if n_features <= most else usual
        if isinstance(self.estimators, str) or not len(self.estimators):
            raise SettingsError(
                f"estimators must be 'quick' or a list, such as ['lda'], got {self.estimators!r}"
            )
        return self.estimators

    def _scale(
        self,
        learned: Callable[[str, Sequence[Any]], Learned],
        estimators: Sequence[Any],
        codes: Sequence[Ints],
        units: Ints,
    ) -> str | None:
        """How to scale features: by training alone if that surely names held-out groups better."""
        if self.standardize != "auto":
            return self.standardize
        deciding = [one for one in estimators if among(one, KERNEL_POINTS)] or estimators
        losses = {}
        for scale in ("both", "training"):
            means = learned(scale, deciding)[0]
            if not means:
                return "both"
            losses[scale] = losses_of_units(means, codes, units, self.smoothing)
        return "training" if is_surely_less(losses["training"], losses["both"]) else "both"


def scored_at_once(sequences: Sequence[Ints]) -> int:
    """How many neighbouring samples classifiers score as one, by the states of labelled samples."""
    shortest = min(int(runs_of(y).sizes.min()) for y in sequences)
    return max(1, min(int(typical_length(sequences)) // LOOKED_AT, shortest))


def is_surely_less(values: Floats, others: Floats) -> bool:
    """Whether values of independent units are less than others of the same beyond chance."""
    differences = values - others
    n = differences.size
    error, freedom = standard_error(differences, np.arange(n), np.ones(n))
    return bool(differences.mean() + half_interval(error, freedom, CHANCE) < 0)
