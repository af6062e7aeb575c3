"""Draw runs of solvers: bounds, cuts, weights and gaps by iteration, and losses by lam."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import SettingsError
from structsvm.evaluation import baseline_in_words
from structsvm.model_selection.search import MetricLearnerCV
from structsvm.plotting import style
from structsvm.problem import Solution, relative_gap
from structsvm.support import refuse_below, refuse_unlisted, require, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP_AXES = {"iteration": "iteration", "seconds": "seconds", "oracle_calls": "oracle calls"}
GAPS = {"gap": "certified relative gap", "excess": "excess over the best lower bound, relative"}
LEAST_GAP = 1e-12  # smaller gaps are drawn here: a logarithmic axis has no zero
MOST_MARKED = 25  # the largest number of iterations that are marked


def plot_history(run: Any, *, top: int = 5, figure: "Figure | None" = None) -> NDArray[Any]:
    """Draw the bounds and the number of cuts of a run by iteration, and the heaviest weights.

    Weights are drawn if the run has kept them, by ``Stopping(n_weights=200)``.

    Parameters
    ----------
    run : fitted learner or Solution
    top : int
        Number of entries of the weight to draw, those that are largest at the end.
    figure : matplotlib Figure, optional
        An empty one; a new one otherwise.

    Returns
    -------
    array of the axes

    Raises
    ------
    SettingsError
        For anything but a single run.

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
    axes: NDArray[Any] = style.new_figure(figure, 3.2).subplots(1, 3 if weights else 2)
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


def plot_gap(
    runs: Any, *, against: str = "iteration", of: str = "gap", ax: "Axes | None" = None
) -> "Axes":
    """Draw the certified relative gap by iteration, of one run or of several.

    An objective that is not convex, such as that of normalized cuts, has no known gap: then the
    objective itself is drawn, and the axis says so.

    Parameters
    ----------
    runs : fitted learner, Solution, or several
        Several as a mapping by name, a sequence, or what :func:`structsvm.compare_solvers` returns;
        learners are those with a ``solution_``, ``MetricLearner`` and ``StructuredSVM``.
    against : {"iteration", "seconds", "oracle_calls"}
    of : {"gap", "excess"}
        The gap of each run by its own lower bound, or the excess of its objective over the best
        lower bound of all runs.

    Raises
    ------
    SettingsError
        For anything but runs, and for solutions of which only some have a gap.

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
    """The solutions of one run, under the name "", or of several."""
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
    figure = style.new_figure(figure, 4.0)
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

    Bars are standard errors. A candidate that is not learned has no ``lam`` and is a horizontal
    line. The chosen candidate is ringed, if it has a ``lam``.

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
        points = [row[1:] for row in rows if row[0] == name]
        label = style.legend_text(baseline_in_words(name) if name != "untrained" else name)
        if points[0][0] is None:
            look = {k: v for k, v in styles[name].items() if k in ("color", "linestyle")}
            ax.axhline(points[0][1], label=label, **look)
            continue
        lams, losses, errors = (
            np.array(column, dtype=float) for column in zip(*points, strict=True)
        )
        bars = np.where(np.isfinite(errors), errors, 0.0)
        ax.errorbar(lams, losses, yerr=bars, label=label, capsize=3, **styles[name])
    taken = [row for row in rows if row[:2] == (search.best_candidate_, search.best_lam_)]
    ring: dict[str, Any] = {"markersize": 13, "fillstyle": "none", "color": style.text_color()}
    if search.best_lam_ is not None:
        ax.plot(taken[0][1], taken[0][2], "o", **ring)
    ax.set(xscale="log", xlabel="lam (ringed: taken)", ylabel="mean held-out loss")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)  # outside, off the lines
    return ax
