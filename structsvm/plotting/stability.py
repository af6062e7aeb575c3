"""How much the weights depend on which recordings were labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
from structsvm.support.checks import refuse_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    P = len(stability.features)
    top = np.argsort(-stability.share, kind="stable")[:n_features]
    ax = plain(new_axes(ax, height=0.28 * top.size + 1.1))
    rows = np.arange(top.size)
    ax.hlines(rows, stability.low[top], stability.high[top], color=LEARNED, linewidth=5, alpha=0.35)
    ax.plot(stability.share[top], rows, "o", color=LEARNED)
    ax.axvline(1.0 / P, color=UNTRAINED, linewidth=1.5, linestyle=(0, (3, 2)))
    names = shortened((stability.features[j] for j in top), LONGEST)
    ax.set_yticks(rows, list(map(plain_text, names)))
    ax.set_ylim(top.size - 0.4, -0.6)
    ax.set_xlim(left=0.0)
    more = (
        "" if top.size == len(stability.features) else f", {top.size} of {len(stability.features)}"
    )
    ax.set_xlabel(f"share of the metric in {len(stability.shares)} resamples{more}")
    ax.tick_params(axis="y", length=0)
    return ax
