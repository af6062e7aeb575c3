"""What a metric looks at and how it was learned: weights, matrix, spectrum, gaps, paths."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import SettingsError
from structsvm.evaluation.sentences import baseline_in_words
from structsvm.evaluation.stability import WeightStability
from structsvm.learner.metric_learner import MetricLearner
from structsvm.model_selection.search import MetricLearnerCV
from structsvm.plotting import style, words
from structsvm.status import Solution, relative_gap
from structsvm.support.lazy import require
from structsvm.support.values import Floats, Ints, refuse_below, refuse_unlisted, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

READABLE = 40  # features beyond which a heat map has no names
BOTH_SIDES = 12  # features up to which its columns have their names, too
IN_MATRIX = 26  # letters of a name beside it


def plot_weights(
    learner: MetricLearner, *, n_features: int = 15, ax: "Axes | None" = None
) -> "Axes":
    """Draw the features of largest weight (:func:`structsvm.plotting.feature_weights`).

    Parameters
    ----------
    learner : fitted MetricLearner
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
    """Axes with a row for each of the features of the largest values, and which these are."""
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

    Of a diagonal metric, the weights say it all: it is drawn as :func:`plot_weights` draws them.

    Entries are in units of the untrained metric, which has ones on its diagonal. Off the diagonal,
    a positive entry says that two features rising together separate more than each by itself, a
    negative one that they separate less. Colours are on a logarithmic scale, linear around zero.

    Parameters
    ----------
    learner : fitted MetricLearner
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
    ax.set_aspect("equal" if top.size <= BOTH_SIDES else "auto")  # many names take the width
    powers = range(math.ceil(math.log10(largest / 30)), math.floor(math.log10(largest)) + 1)
    ticks = [0.0, *(sign * 10.0**power for power, sign in product(powers, (-1, 1)))]
    ax.figure.colorbar(image, ax=ax, label="times the untrained metric", ticks=ticks)
    told = [] if top.size == len(B) else [f"{top.size} features of largest weight of {len(B)}"]
    if top.size <= READABLE:
        inches = float(ax.figure.get_window_extent().height / ax.figure.dpi)
        size = min(10.0, 0.9 * 0.85 * 72 * inches / max(top.size, 1))  # of a row, in points
        labels = style.written((names[j] for j in top), IN_MATRIX)
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


# ---- how it was learned

GAP_AXES = {"iteration": "iteration", "seconds": "seconds", "oracle_calls": "oracle calls"}
GAPS = {"gap": "certified relative gap", "excess": "excess over the best lower bound, relative"}
LEAST_GAP = 1e-12  # smaller gaps are drawn here: a logarithmic axis has no zero
MOST_MARKED = 25  # the largest number of iterations that are marked


def plot_gap(
    runs: Any, *, against: str = "iteration", of: str = "gap", ax: "Axes | None" = None
) -> "Axes":
    """Draw the certified relative gap by iteration, of one run or of several.

    Of an objective that is not convex, such as that of normalized cuts, no gap is known: then it is
    the objective that is drawn, and the axis says so.

    Parameters
    ----------
    runs : fitted learner, Solution, or several
        Several as a mapping by name, a sequence, or what :func:`structsvm.compare_solvers` returns;
        learners are those with a ``solution_``, ``MetricLearner`` and ``StructuredSVM``.
    against : {"iteration", "seconds", "oracle_calls"}
    of : {"gap", "excess"}
        The gap of each run, or how far its objective is above the best lower bound of all of them:
        how good its weight is, whatever it knows of that.

    Raises
    ------
    SettingsError
        For what is no run, and for solutions of which only some have a gap.

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
    refuse_unlisted("of", of, sorted(GAPS))
    solutions = solutions_of(runs)
    local = [name for name, solution in solutions.items() if solution.stationarity is not None]
    if local and len(local) < len(solutions):
        raise SettingsError(
            f"run {local[0]!r} is of an objective that is not convex and has no certified gap, "
            "others have one: draw them apart"
        )
    styles = style.line_styles(solutions)
    ax = style.plain(style.new_axes(ax, width=6.4, height=3.6))
    best = max(solution.lower for solution in solutions.values())
    for name, solution in solutions.items():
        entries = solution.history.entries
        gaps = [entry.gap for entry in entries]
        if of == "excess":
            gaps = [relative_gap(min(best, e.upper), e.upper, solution.null) for e in entries]
        y = [entry.upper for entry in entries] if local else np.maximum(gaps, LEAST_GAP)
        x = [getattr(entry, against) for entry in entries]
        every = -(-len(x) // MOST_MARKED) or 1
        ax.plot(x, y, label=style.legend_text(name), markevery=every, **styles[name])
    ax.set_xlabel(GAP_AXES[against])
    if local:
        ax.set_ylabel("objective (not convex: no gap is known)")
    else:
        ax.set(yscale="log", ylabel=GAPS[of])
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


def solutions_of(runs: Any) -> dict[str, Solution]:
    """The solutions of one run or of several, by name."""
    runs = getattr(runs, "solutions", runs)
    if isinstance(runs, list | tuple):
        runs = {f"run {i}": one for i, one in enumerate(runs)}
    elif not isinstance(runs, Mapping):
        runs = {"": runs}
    solutions = {name: getattr(one, "solution_", one) for name, one in runs.items()}
    wrong = [runs[name] for name, one in solutions.items() if not isinstance(one, Solution)]
    if wrong or not solutions:
        raise SettingsError(
            f"there is no run in {shown(wrong[0] if wrong else runs)}: give a fitted MetricLearner "
            "or StructuredSVM, its solution_, several of these in a list or by name, or what "
            "compare_solvers returns"
        )
    return solutions


def plot_gaps(
    solutions: Any,
    *,
    against: Sequence[str] = ("seconds", "oracle_calls"),
    of: str = "gap",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw the gaps of several runs against seconds and oracle calls, side by side.

    Parameters
    ----------
    solutions : mapping of names to solutions
        Such as those of :func:`structsvm.compare_solvers`, or whatever :func:`plot_gap` takes.
    against : sequence of {"iteration", "seconds", "oracle_calls"}
        One axes for each, two or three of them.
    of : {"gap", "excess"}
        As for :func:`plot_gap`.
    figure : matplotlib Figure, optional
        An empty one; a new one otherwise.

    Returns
    -------
    array of the axes

    Examples
    --------
    >>> from structsvm import ChangePoint, compare_solvers
    >>> from structsvm.plotting import plot_gaps
    >>> import numpy as np
    >>> X, y = np.repeat([[0.0, 1.0], [3.0, 1.5]], 20, axis=0), np.repeat([0, 1], 20)
    >>> solvers = ["cutting-plane", "one-slack"]
    >>> compared = compare_solvers(ChangePoint(), [X, 2 * X], [y, y], solvers)
    >>> [axes.get_xlabel() for axes in plot_gaps(compared.solutions)]
    ['seconds', 'oracle calls']
    """
    if figure is None:
        pyplot = require("matplotlib.pyplot", "plot", "plotting")
        figure = pyplot.figure(figsize=(9.0, 4.0), layout="constrained")
    solutions = solutions_of(solutions)
    every: NDArray[Any] = np.atleast_1d(figure.subplots(1, len(against), sharey=True))
    for one, ax in zip(against, every, strict=True):
        if (legend := plot_gap(solutions, against=one, of=of, ax=ax).get_legend()) is not None:
            legend.remove()
    for ax in every[1:]:
        ax.set_ylabel("")
    figure.legend(*every[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return every


def plot_path(search: MetricLearnerCV, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the held-out loss of every candidate against the strength of its regularizer.

    Bars are standard errors; candidates that are not learned have no ``lam``: a line each. The
    choice is ringed, if it has one.

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
    if not hasattr(search, "candidates"):
        raise SettingsError(f"plot_path draws a fitted MetricLearnerCV, got {shown(search)}")
    check_is_fitted(search, "cv_results_")
    table = search.cv_results_
    rows = list(zip(*(table[k] for k in ("candidate", "lam", "mean_loss", "se_loss")), strict=True))
    names = list(dict.fromkeys(table["candidate"]))
    styles = style.line_styles(names)
    ax = style.plain(style.new_axes(ax, width=6.4, height=3.8))
    for name in names:
        mine = [row[1:] for row in rows if row[0] == name]
        label = style.legend_text(baseline_in_words(name) if name != "untrained" else name)
        if mine[0][0] is None:
            look = {k: v for k, v in styles[name].items() if k in ("color", "linestyle")}
            ax.axhline(mine[0][1], label=label, **look)
            continue
        lams, losses, errors = (np.array(column, dtype=float) for column in zip(*mine, strict=True))
        bars = np.where(np.isfinite(errors), errors, 0.0)
        ax.errorbar(lams, losses, yerr=bars, label=label, capsize=3, **styles[name])
    taken = [row for row in rows if row[:2] == (search.best_candidate_, search.best_lam_)]
    ring: dict[str, Any] = {"markersize": 13, "fillstyle": "none", "color": style.text_color()}
    if search.best_lam_ is not None:
        ax.plot(taken[0][1], taken[0][2], "o", **ring)
    ax.set(xscale="log", xlabel="lam (ringed: taken)", ylabel="mean held-out loss")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)  # lines are everywhere
    return ax
