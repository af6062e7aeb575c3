"""A run to look at: its bounds, its cuts, and the weights on the way."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.plotting import style
from structsvm.plotting.metric import solutions_of
from structsvm.support.lazy import require
from structsvm.support.values import refuse_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_history(run: Any, *, top: int = 5, figure: "Figure | None" = None) -> NDArray[Any]:
    """Draw how a run went: its bounds and its cuts by iteration, and the heaviest weights.

    The weights are those that ``Stopping(n_weights=200)`` asked for; there are two axes without.

    Parameters
    ----------
    run : fitted learner or Solution
        Of one run.
    top : int
        Entries of the weight to draw, those that are largest at the end.
    figure : matplotlib Figure, optional
        An empty one; a new one otherwise.

    Returns
    -------
    array of the axes

    Raises
    ------
    SettingsError
        For what is no run, or more than one.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.plotting import plot_history
    >>> from structsvm.solvers import CuttingPlane, Stopping
    >>> X, y = np.repeat([[0.0, 1.0], [3.0, 1.5]], 20, axis=0), np.repeat([0, 1], 20)
    >>> solver = CuttingPlane(Stopping(n_weights=200))
    >>> learner = MetricLearner(metric="diagonal", solver=solver).fit([X, 2 * X], [y, y])
    >>> [axes.get_ylabel() for axes in plot_history(learner)]
    ['objective, and its lower bound', 'cuts', 'weight']
    """
    refuse_below(1, "top", top)
    solution, *others = solutions_of(run).values()
    if others:
        raise SettingsError("plot_history draws one run: give one learner or solution")
    entries = solution.history.entries
    weights = solution.history.weights
    if figure is None:
        pyplot = require("matplotlib.pyplot", "plot", "plotting")
        figure = pyplot.figure(figsize=(9.0, 3.2), layout="constrained")
    axes: NDArray[Any] = figure.subplots(1, 3 if weights else 2)
    steps = [entry.iteration for entry in entries]
    axes[0].plot(steps, [entry.upper for entry in entries], label="objective")
    lowers = np.array([entry.lower for entry in entries])
    if np.isfinite(lowers).any():
        axes[0].plot(steps, np.where(np.isfinite(lowers), lowers, np.nan), label="lower bound")
    axes[0].set_ylabel("objective, and its lower bound")
    axes[1].plot(steps, [entry.n_cuts for entry in entries])
    axes[1].set_ylabel("cuts")
    if weights:
        places, kept = zip(*weights, strict=True)
        heaviest = np.argsort(-np.abs(kept[-1]))[:top]
        for k in heaviest:
            axes[2].plot(places, [w[k] for w in kept], label=f"entry {k}")
        axes[2].set_ylabel("weight")
        axes[2].legend()
    axes[0].legend()
    for ax in axes:
        style.plain(ax).set_xlabel("iteration")
        ax.locator_params(axis="x", integer=True)
    return axes
