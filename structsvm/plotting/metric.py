"""What a metric looks at: weights and how stable they are, heat map, spectrum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from structsvm.learner.learner import MetricLearner
from structsvm.model_selection.stability import WeightStability
from structsvm.plotting.style import (
    LEARNED,
    LONGEST,
    UNTRAINED,
    new_axes,
    plain,
    plain_text,
    shortened,
)
from structsvm.plotting.words import (
    eigenvalues,
    feature_weights,
    is_diagonal,
    scaled_metric,
    unit_in_words,
)
from structsvm.support.arrays import Ints
from structsvm.support.checks import refuse_below
from structsvm.support.lazy import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

READABLE = 40
"""Features beyond which a heat map has no names."""
BOTH_SIDES = 12
"""Features up to which the columns of the heat map have their names, too."""
IN_MATRIX = 26
"""Letters of a name beside it."""


def plot_weights(learner: MetricLearner, *, n_features: int = 15, ax: Axes | None = None) -> Axes:
    """Draw the features of largest weight (:func:`structsvm.plotting.feature_weights`).

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    n_features : int
        How many at most.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.plotting import plot_weights
    >>> X, y = np.repeat([[0.0, 1.0], [3.0, 1.5]], 20, axis=0), np.repeat([0, 1], 20)
    >>> learner = MetricLearner(metric="diagonal").fit([X, 2 * X], [y, y])
    >>> plot_weights(learner, n_features=3).has_data()
    True
    """
    refuse_below(1, "n_features", n_features)
    weights, names = feature_weights(learner), learner.metric_feature_names_
    top = np.argsort(-weights, kind="stable")[:n_features]
    ax = plain(new_axes(ax, height=0.28 * top.size + 1.1))
    ax.barh(range(top.size), weights[top], height=0.7, color=LEARNED)
    ax.axvline(1.0, color=UNTRAINED, linewidth=1.5, linestyle=(0, (3, 2)))
    ax.text(
        1.0, top.size - 0.4, " untrained", color=UNTRAINED, ha="left", va="top", fontsize="small"
    )
    _write_names(ax, names, top)
    ax.set_ylim(top.size + 0.3, -0.6)
    ax.set_xlim(0.0, max(1.3, 1.05 * float(weights[top].max(initial=0.0))))
    more = "" if top.size == weights.size else f", {top.size} largest of {weights.size}"
    ax.set_xlabel(f"weight against {unit_in_words(learner)}{more}")
    return ax


def _write_names(ax: Axes, names: Sequence[str], which: Ints) -> None:
    """The names of features, a row each."""
    shown = shortened((names[j] for j in which), LONGEST)
    ax.set_yticks(range(which.size), list(map(plain_text, shown)))
    ax.tick_params(axis="y", length=0)


def plot_metric(learner: MetricLearner, *, n_features: int = 30, ax: Axes | None = None) -> Axes:
    """Draw the matrix of the metric as a heat map, the features of largest weight first.

    Of a diagonal metric, the weights say it all: it is drawn as :func:`plot_weights` draws them.

    Entries are in units of the untrained metric, which has ones on its diagonal. Off the diagonal,
    a positive entry says that two features rising together separate more than each by itself, a
    negative one that they separate less. Colours are on a logarithmic scale, linear around zero.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    n_features : int
        How many at most.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.plotting import plot_metric
    >>> X, y = np.repeat([[0.0, 1.0], [3.0, 1.5]], 20, axis=0), np.repeat([0, 1], 20)
    >>> learner = MetricLearner(metric="diagonal").fit([X, 2 * X], [y, y])
    >>> plot_metric(learner, n_features=3).has_data()
    True
    """
    refuse_below(1, "n_features", n_features)
    B, names = scaled_metric(learner), learner.metric_feature_names_
    if is_diagonal(B):
        return plot_weights(learner, n_features=n_features, ax=ax)
    top = np.argsort(-np.diag(B), kind="stable")[:n_features]
    shown = B[np.ix_(top, top)]
    ax = new_axes(ax, width=6.8, height=5.6)
    largest = max(float(np.abs(shown).max(initial=0.0)), 1e-300)
    colors = require("matplotlib.colors", "plot", "plotting")
    norm = colors.SymLogNorm(largest / 30, vmin=-largest, vmax=largest)
    image = ax.imshow(shown, cmap="PuOr_r", norm=norm, interpolation="nearest")
    ax.set_aspect("equal" if top.size <= BOTH_SIDES else "auto")  # many names take the width
    powers = range(math.ceil(math.log10(largest / 30)), math.floor(math.log10(largest)) + 1)
    ticks = [0.0, *(sign * 10.0**power for power in powers for sign in (-1, 1))]
    ax.figure.colorbar(image, ax=ax, label="times the untrained metric", ticks=ticks)
    told = []
    if top.size < len(B):
        told.append(f"{top.size} features of largest weight of {len(B)}")
    if top.size <= READABLE:
        inches = float(ax.figure.get_window_extent().height / ax.figure.dpi)
        size = min(10.0, 0.9 * 0.85 * 72 * inches / max(top.size, 1))  # of a row, in points
        labels = list(map(plain_text, shortened((names[j] for j in top), IN_MATRIX)))
        ax.set_yticks(range(top.size), labels, fontsize=size)
        if top.size <= BOTH_SIDES:
            ax.set_xticks(range(top.size), labels, rotation=90, fontsize=size)
        else:
            ax.set_xticks([])
            told.append("columns in the order of rows")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("\n".join(told))
    return ax


def plot_spectrum(learner: MetricLearner, *, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues of the metric; in the untrained metric all are 1.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.plotting import plot_spectrum
    >>> X, y = np.repeat([[0.0, 1.0], [3.0, 1.5]], 20, axis=0), np.repeat([0, 1], 20)
    >>> learner = MetricLearner(metric="diagonal").fit([X, 2 * X], [y, y])
    >>> plot_spectrum(learner).has_data()
    True
    """
    values = eigenvalues(learner)
    places = np.arange(1, values.size + 1)
    ax = plain(new_axes(ax, width=6.4, height=3.2))
    ax.vlines(places, 0.0, values, color=LEARNED, linewidth=1.2)
    ax.plot(places, values, "o", color=LEARNED, markersize=4)
    ax.axhline(1.0, color=UNTRAINED, linewidth=1.5, linestyle=(0, (3, 2)))
    ax.text(
        places[-1], 1.0, "untrained", color=UNTRAINED, ha="right", va="bottom", fontsize="small"
    )
    ax.set_xlim(0.5, values.size + 0.5)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("direction, heaviest first")
    ax.set_ylabel("eigenvalue")
    ax.locator_params(axis="x", integer=True, min_n_ticks=1)
    return ax


def plot_weight_stability(
    stability: WeightStability, *, n_features: int = 15, ax: Axes | None = None
) -> Axes:
    """Draw the largest shares of features in the metric, and their variation over resamples.

    A dot is the share in the metric of all recordings, the bar the range from the 5 % to the 95 %
    quantile over the resamples; the dashed line is the share of every feature without learning.

    Parameters
    ----------
    stability : WeightStability
        From :func:`structsvm.weight_stability`.
    n_features : int
        How many at most.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.model_selection import WeightStability
    >>> from structsvm.plotting import plot_weight_stability
    >>> shares = np.array([[0.8, 0.2], [0.9, 0.1]])
    >>> axes = plot_weight_stability(WeightStability(("a", "b"), shares, shares.mean(axis=0)))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['a', 'b']
    """
    refuse_below(1, "n_features", n_features)
    P, table = len(stability.features), stability.to_dict()
    top = np.argsort(-stability.share, kind="stable")[:n_features]
    ax = plain(new_axes(ax, height=0.28 * top.size + 1.1))
    rows = np.arange(top.size)
    low, high = table["low"][: top.size], table["high"][: top.size]
    ax.hlines(rows, low, high, color=LEARNED, linewidth=5, alpha=0.35)
    ax.plot(stability.share[top], rows, "o", color=LEARNED)
    ax.axvline(1.0 / P, color=UNTRAINED, linewidth=1.5, linestyle=(0, (3, 2)))
    _write_names(ax, stability.features, top)
    ax.set_ylim(top.size - 0.4, -0.6)
    ax.set_xlim(left=0.0)
    more = "" if top.size == P else f", {top.size} of {P}"
    ax.set_xlabel(f"share of the metric in {len(stability.shares)} resamples{more}")
    return ax
