"""How learning went, and what it is worth: gaps and regularization paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import SettingsError
from structsvm.evaluation.verdict import baseline_in_words
from structsvm.model_selection.search import MetricLearnerCV
from structsvm.plotting.style import legend_text, line_styles, new_axes, plain, text_color
from structsvm.solution import Solution
from structsvm.support.checks import refuse_unlisted
from structsvm.support.lazy import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from structsvm.learner.learner import MetricLearner

GAP_AXES = {"iteration": "iteration", "seconds": "seconds", "oracle_calls": "oracle calls"}
LEAST_GAP = 1e-12  # smaller gaps are drawn here: a logarithmic axis has no zero
MARKS = 25  # the largest number of iterations that are marked


def plot_gap(
    runs: MetricLearner | Solution | Mapping[str, Solution],
    *,
    against: str = "iteration",
    ax: Axes | None = None,
) -> Axes:
    """Draw the certified relative gap by iteration, of one run or of several.

    Of an objective that is not convex, such as that of normalized cuts, no gap is known: then it is
    the objective that is drawn, and the axis says so.

    Parameters
    ----------
    runs : fitted MetricLearner, Solution, or mapping of names to solutions
    against : {"iteration", "seconds", "oracle_calls"}

    Raises
    ------
    SettingsError
        For solutions of which only some have a gap.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.plotting import plot_gap
    >>> X, y = np.repeat([[0.0, 1.0], [3.0, 1.5]], 20, axis=0), np.repeat([0, 1], 20)
    >>> learner = MetricLearner(metric="diagonal").fit([X, 2 * X], [y, y])
    >>> plot_gap(learner, against="oracle_calls").has_data()
    True
    """
    refuse_unlisted("against", against, sorted(GAP_AXES))
    solutions = runs if isinstance(runs, Mapping) else {"": getattr(runs, "solution_", runs)}
    local = [name for name, solution in solutions.items() if solution.stationarity is not None]
    if local and len(local) < len(solutions):
        raise SettingsError(
            f"run {local[0]!r} is of an objective that is not convex and has no certified gap, "
            "others have one: draw them apart"
        )
    styles = line_styles(solutions)
    ax = plain(new_axes(ax, width=6.4, height=3.6))
    for name, solution in solutions.items():
        entries = solution.history.entries
        y = [entry.upper if local else max(entry.gap, LEAST_GAP) for entry in entries]
        x = [getattr(entry, against) for entry in entries]
        ax.plot(x, y, label=legend_text(name), markevery=-(-len(x) // MARKS) or 1, **styles[name])
    ax.set_xlabel(GAP_AXES[against])
    if local:
        ax.set_ylabel("objective (not convex: no gap is known)")
    else:
        ax.set(yscale="log", ylabel="certified relative gap")
    if against == "iteration":
        ax.locator_params(axis="x", integer=True)
    elif not local:
        # Ticks at 1, 2 and 5 on a short axis, at powers of ten on a long one; plain numbers.
        ax.set_xscale("log")
        least, most = ax.get_xlim()
        ticker = require("matplotlib.ticker", "plot", "plotting")
        places = ticker.LogLocator(subs=(1, 2, 5) if most < 100 * least else (1,))
        ax.xaxis.set_major_locator(places)
        ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    if list(solutions) != [""]:
        ax.legend()
    return ax


def plot_gap_twice(runs: Mapping[str, Solution], figure: Figure) -> NDArray[Any]:
    """The gaps of several runs against seconds and oracle calls, side by side in a figure."""
    pair: NDArray[Any] = figure.subplots(1, 2, sharey=True)
    for against, ax in zip(("seconds", "oracle_calls"), pair, strict=True):
        if (legend := plot_gap(runs, against=against, ax=ax).get_legend()) is not None:
            legend.remove()
    pair[1].set_ylabel("")
    figure.legend(*pair[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return pair


def plot_path(search: MetricLearnerCV, *, ax: Axes | None = None) -> Axes:
    """Draw the held-out loss of every candidate against the strength of its regularizer.

    Bars are standard errors; candidates that are not learned have no ``lam``: a line each. The
    learned candidate that was taken is ringed.

    Parameters
    ----------
    search : MetricLearnerCV
        Fitted.

    Examples
    --------
    >>> from structsvm import MetricLearnerCV
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> from structsvm.plotting import plot_path
    >>> walks = relevant_changes(12, n_samples=200, n_features=20, n_relevant=2, random_state=0)
    >>> candidates = ["untrained", "diagonal"]
    >>> search = MetricLearnerCV(candidates=candidates, lams=[0.1], cv=3, random_state=0)
    >>> axes = plot_path(search.fit(*arrays_and_labels(walks)))
    >>> axes.get_ylabel()
    'mean held-out loss'
    """
    check_is_fitted(search, "cv_results_")
    table = search.cv_results_
    rows = list(zip(*(table[k] for k in ("candidate", "lam", "mean_loss", "se_loss")), strict=True))
    names = list(dict.fromkeys(table["candidate"]))
    styles = line_styles(names)
    ax = plain(new_axes(ax, width=6.4, height=3.8))
    for name in names:
        mine = [row[1:] for row in rows if row[0] == name]
        label = legend_text(baseline_in_words(name) if name != "untrained" else name)
        if mine[0][0] is None:
            style = {k: v for k, v in styles[name].items() if k in ("color", "linestyle")}
            ax.axhline(mine[0][1], label=label, **style)
            continue
        lams, losses, errors = (np.array(column, dtype=float) for column in zip(*mine, strict=True))
        bars = np.where(np.isfinite(errors), errors, 0.0)
        ax.errorbar(lams, losses, yerr=bars, label=label, capsize=3, **styles[name])
    taken = [row for row in rows if row[:2] == (search.best_learned_, search.best_lam_)]
    ax.plot(taken[0][1], taken[0][2], "o", markersize=13, fillstyle="none", color=text_color())
    ax.set(xscale="log", xlabel="lam (ringed: taken)", ylabel="mean held-out loss")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)  # lines are everywhere
    return ax
