"""Draw a metric: its weights, matrix and spectrum, and the variation of weights over resamples."""

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from structsvm.errors import SettingsError
from structsvm.evaluation import WeightStability
from structsvm.learner import MetricLearner
from structsvm.plotting import style, words
from structsvm.support import Floats, Ints, refuse_below, require, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

READABLE = 40  # features up to which the rows of a heat map have names
BOTH_SIDES = 12  # features up to which its columns have names, too
IN_MATRIX = 26  # the most letters of a name beside it


def plot_weights(
    learner: MetricLearner, *, n_features: int = 15, ax: "Axes | None" = None
) -> "Axes":
    """Draw the features of largest weight (:func:`structsvm.plotting.feature_weights`).

    Parameters
    ----------
    learner : fitted MetricLearner
    n_features : int
        The largest number of features to draw.

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
    weights = words.feature_weights(learner)
    ax, top = _with_rows(ax, weights, learner.metric_feature_names_, n_features)
    ax.barh(range(top.size), weights[top], height=0.7, color=style.LEARNED)
    ax.axvline(1.0, **style.AT_UNTRAINED)
    place = (1.0, top.size - 0.4)
    ax.text(*place, " untrained", color=style.UNTRAINED, ha="left", va="top", fontsize="small")
    ax.set_ylim(top.size + 0.3, -0.6)
    ax.set_xlim(0.0, max(1.3, 1.05 * float(weights[top].max(initial=0.0))))
    more = "" if top.size == weights.size else f", {top.size} largest of {weights.size}"
    ax.set_xlabel(f"weight against {words.unit_in_words(learner)}{more}")
    return ax


def _with_rows(
    ax: "Axes | None", values: Floats, names: Sequence[str], n_features: int
) -> "tuple[Axes, Ints]":
    """Axes with a named row for each feature of the largest values, and these features' numbers."""
    refuse_below(1, "n_features", n_features)
    top = np.argsort(-values, kind="stable")[:n_features]
    ax = style.plain(style.new_axes(ax, height=0.28 * top.size + 1.1))
    ax.set_yticks(range(top.size), style.written((names[j] for j in top), style.LONGEST_NAME))
    ax.tick_params(axis="y", length=0)
    return ax, top


def plot_metric(
    learner: MetricLearner, *, n_features: int = 30, ax: "Axes | None" = None
) -> "Axes":
    """Draw the matrix of the metric as a heat map, the features of largest weight first.

    A diagonal metric has nothing but its weights, and is drawn as by :func:`plot_weights`.

    Entries are in units of the untrained metric, which has ones on its diagonal. Off the diagonal,
    a positive entry says that two features rising together separate more than each by itself, a
    negative one that they separate less. Colours are on a logarithmic scale, linear around zero.

    Parameters
    ----------
    learner : fitted MetricLearner
    n_features : int
        The largest number of features to draw.

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
    B = words.scaled_metric(learner)
    names = learner.metric_feature_names_
    if words.is_diagonal(B):
        return plot_weights(learner, n_features=n_features, ax=ax)
    top = np.argsort(-np.diag(B), kind="stable")[:n_features]
    entries = B[np.ix_(top, top)]
    ax = style.new_axes(ax, width=6.8, height=5.6)
    largest = max(float(np.abs(entries).max(initial=0.0)), 1e-300)
    colors = require("matplotlib.colors", "plot", "plotting")
    norm = colors.SymLogNorm(largest / 30, vmin=-largest, vmax=largest)
    image = ax.imshow(entries, cmap="PuOr_r", norm=norm, interpolation="nearest")
    ax.set_aspect("equal" if top.size <= BOTH_SIDES else "auto")  # long names need the width
    powers = range(math.ceil(math.log10(largest / 30)), math.floor(math.log10(largest)) + 1)
    ticks = [0.0, *(sign * 10.0**power for power, sign in product(powers, (-1, 1)))]
    ax.figure.colorbar(image, ax=ax, label="times the untrained metric", ticks=ticks)
    notes = [] if top.size == len(B) else [f"{top.size} features of largest weight of {len(B)}"]
    if top.size <= READABLE:
        inches = float(ax.figure.get_window_extent().height / ax.figure.dpi)
        size = min(10.0, 0.9 * 0.85 * 72 * inches / max(top.size, 1))  # of a row, in points
        labels = style.written((names[j] for j in top), IN_MATRIX)
        ax.set_yticks(range(top.size), labels, fontsize=size)
        if top.size <= BOTH_SIDES:
            ax.set_xticks(range(top.size), labels, rotation=90, fontsize=size)
        else:
            ax.set_xticks([])
            notes.append("columns in the order of rows")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("\n".join(notes))
    return ax


def plot_spectrum(learner: MetricLearner, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the eigenvalues of the metric; in the untrained metric all are 1.

    Parameters
    ----------
    learner : fitted MetricLearner

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
    values = words.eigenvalues(learner)
    places = np.arange(1, values.size + 1)
    ax = style.plain(style.new_axes(ax, width=6.4, height=3.2))
    ax.vlines(places, 0.0, values, color=style.LEARNED, linewidth=1.2)
    ax.plot(places, values, "o", color=style.LEARNED, markersize=4)
    ax.axhline(1.0, **style.AT_UNTRAINED)
    place = (places[-1], 1.0)
    ax.text(*place, "untrained", color=style.UNTRAINED, ha="right", va="bottom", fontsize="small")
    ax.set_xlim(0.5, values.size + 0.5)
    ax.set_ylim(bottom=0.0)
    ax.set(xlabel="direction, heaviest first", ylabel="eigenvalue")
    ax.locator_params(axis="x", integer=True, min_n_ticks=1)
    return ax


def plot_weight_stability(
    stability: WeightStability, *, n_features: int = 15, ax: "Axes | None" = None
) -> "Axes":
    """Draw the largest shares of features in the metric, and their variation over resamples.

    A dot is the share in the metric of all recordings, the bar the range from the 5 % to the 95 %
    quantile over the resamples; the dashed line is the share of every feature without learning.

    Parameters
    ----------
    stability : WeightStability
        From :func:`structsvm.weight_stability`.
    n_features : int
        The largest number of features to draw.

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
    if not isinstance(stability, WeightStability):
        raise SettingsError(
            f"plot_weight_stability draws what weight_stability returns, got {shown(stability)}"
        )
    ax, top = _with_rows(ax, stability.share, stability.features, n_features)
    P = len(stability.features)
    rows = range(top.size)
    table = stability.to_dict()
    low = table["low"][: top.size]
    high = table["high"][: top.size]
    ax.hlines(rows, low, high, color=style.LEARNED, linewidth=5, alpha=0.35)
    ax.plot(stability.share[top], rows, "o", color=style.LEARNED)
    ax.axvline(1.0 / P, **style.AT_UNTRAINED)
    ax.set_ylim(top.size - 0.4, -0.6)
    ax.set_xlim(left=0.0)
    more = "" if top.size == P else f", {top.size} of {P}"
    ax.set_xlabel(f"share of the metric in {len(stability.shares)} resamples{more}")
    return ax
