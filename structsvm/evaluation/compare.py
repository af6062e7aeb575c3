"""Solvers on the same problem: how fast each closes its certified gap."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from operator import attrgetter
from typing import Any, cast

from structsvm.errors import CertificateError, PluginError, SettingsError
from structsvm.learner.structured import learner_for, risk_of
from structsvm.parallel import single_threaded
from structsvm.partitions import PartitionProblem
from structsvm.partitions.plugins import SOLVERS, names_in, plugin_class
from structsvm.problem import Problem, Regularizer, Risk, Solution, relative_gap
from structsvm.solvers import Solver, Stopping, solver_from
from structsvm.solvers.auto import CONVEX, DESCENTS
from structsvm.solvers.certificate import ADMISSIBLE
from structsvm.support import ShortTable, finite, refuse_below, require, shown, stage

__all__ = ["DEFAULT_SOLVERS", "SolverComparison", "compare_on", "compare_solvers", "solver_named"]
DEFAULT_SOLVERS = ("cutting-plane", "cutting-plane/clarabel", "one-slack", "frank-wolfe")
DEFAULT_DESCENTS = ("quasi-newton", "cccp")  # solvers of objectives that are not convex
STOPPING = Stopping(tol=1e-3, max_iter=10_000, max_seconds=60.0)
"""The default rule that stops solvers which are given by name."""
FORMS = (
    "give names such as 'cutting-plane', instances such as CuttingPlane(), or a mapping of names "
    "to solvers"
)
PROGRESS_FIELDS = ("lower", "upper", "gap", "seconds", "oracle_calls")
"""Fields that an iteration and a solution both have."""
COST_FIELDS = ("oracle_seconds", "master_seconds")
Solvers = Sequence[str | Solver] | Mapping[str, str | Solver] | None  # what a user may give
PRINTED = ("seconds", *COST_FIELDS, "oracle_calls", "iterations", "status")


@dataclass(frozen=True, eq=False)
class SolverComparison:
    """What several solvers did on one problem; ``structsvm.plotting.plot_gaps`` draws it."""

    solutions: Mapping[str, Solution]
    """Solutions by name of the solver."""
    refused: Mapping[str, str]
    """Solvers that do not suit the problem, and why."""
    spread: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Least and most seconds of several runs, of which ``solutions`` has the median one."""

    def excess(self, solution: Solution, upper: float) -> float:
        """How far an objective is above the best lower bound of all solvers, relative as a gap."""
        best = max(one.lower for one in self.solutions.values())
        return relative_gap(min(best, upper), upper, solution.null)

    def __repr__(self) -> str:
        """A table of where each solver ended, without a gap where none is certified."""
        convex = all(solution.stationarity is None for solution in self.solutions.values())
        titles = {"gap": "gap", "excess": "excess"} if convex else {"upper": "objective"}
        titles = {"solver": "solver"} | titles | {name: name for name in PRINTED}
        rows = [[row[name] for name in titles] for row in self.summary()]
        shown = [[f"{v:.3g}" if isinstance(v, float) else v for v in row] for row in rows]
        for row, (least, most) in zip(shown, self.spread.values(), strict=False):
            row[list(titles).index("seconds")] += f" ({least:.3g} to {most:.3g})"
        notes = [f"{name} left out: {why}" for name, why in self.refused.items()]
        return str(ShortTable("", tuple(titles.values()), tuple(map(tuple, shown)), tuple(notes)))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each iteration of each solver: solver, iteration, lower, ..., n_cuts."""
        rows = []
        for name, solution in self.solutions.items():
            for entry in solution.history.entries:
                fields = ("iteration", *PROGRESS_FIELDS, "n_cuts")
                values = {field: getattr(entry, field) for field in fields}
                excess = self.excess(solution, entry.upper)
                rows.append({"solver": name, **values, "excess": excess})
        return rows

    def frame(self) -> Any:
        """The rows as a tidy ``pandas.DataFrame``."""
        return require("pandas", "files", "a data frame").DataFrame(self.rows())

    def summary(self) -> list[dict[str, Any]]:
        """A row for each solver: where it ended, and least and most seconds of several runs."""
        rows = []
        for name, solution in self.solutions.items():
            row = {
                "solver": name,
                "status": solution.status.name.lower().replace("_", " "),
                **{field: getattr(solution, field) for field in (*PROGRESS_FIELDS, *COST_FIELDS)},
                "excess": self.excess(solution, solution.upper),
                "iterations": solution.n_iter,
            }
            if name in self.spread:
                row["seconds_least"], row["seconds_most"] = self.spread[name]
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: solvers, iterations, refused; None for infinity."""
        return {
            "solvers": finite(self.summary()),
            "iterations": finite(self.rows()),
            "refused": dict(self.refused),
        }


def compare_solvers(
    problem: PartitionProblem | Problem,
    Xs: Any,
    ys: Any,
    solvers: Solvers = None,
    *,
    metric: str = "full",
    lam: float = 0.1,
    regularizer: str | Regularizer = "squared",
    standardize: str | None = "auto",
    constraints: Callable[[Any], list[Any]] | None = None,
    stopping: Stopping | None = None,
    repeats: int = 1,
) -> SolverComparison:
    """Solve the learning problem of :class:`structsvm.MetricLearner` with several solvers.

    Parameters
    ----------
    problem : PartitionProblem or Problem
        A :class:`~structsvm.problem.Problem` is learned as by :class:`structsvm.StructuredSVM`.
    Xs, ys : instances and labels, as for ``fit`` of the learner
    solvers : sequence, or mapping of names to solvers, or None
        Names as in :func:`solver_named`, or instances such as ``CuttingPlane(slack="one")``. None
        takes the common solvers that suit the problem, and those that distributions declare.
    lam, regularizer, constraints
        As for the learner.
    metric, standardize
        As for :class:`structsvm.MetricLearner`; not for other problems.
    stopping : Stopping, optional
        For all solvers. Without it those given by name stop at a relative gap of 1e-3, or after a
        minute, and instances when they say.
    repeats : int
        Runs of each solver: seconds are those of the median one, with least and most beside.

    Returns
    -------
    SolverComparison

    Raises
    ------
    SettingsError
        If a solver or a setting does not suit the problem.
    CertificateError
        If the bounds of two solvers contradict each other.

    Examples
    --------
    >>> from structsvm import compare_solvers
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> from structsvm.problems import ChangePoint
    >>> from structsvm.solvers import Stopping
    >>> recordings = relevant_changes(3, n_samples=200, n_features=3, n_relevant=1, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> solvers = ["cutting-plane", "one-slack"]
    >>> comparison = compare_solvers(ChangePoint(), Xs, ys, solvers, stopping=Stopping(tol=0.01))
    >>> {name: solution.status.name for name, solution in comparison.solutions.items()}
    {'cutting-plane': 'OPTIMAL', 'one-slack': 'OPTIMAL'}
    """
    shared = {"lam": lam, "regularizer": regularizer, "constraints": constraints}
    learner = learner_for(problem, metric, standardize, **shared)
    return compare_on(risk_of(learner, Xs, ys), solvers, stopping=stopping, repeats=repeats)


def compare_on(
    risk: Risk, solvers: Solvers = None, *, stopping: Stopping | None = None, repeats: int = 1
) -> SolverComparison:
    """Minimise any structured risk with several solvers, one after another, on one thread.

    Parameters
    ----------
    risk : RegularizedRisk or CompositeRisk
    solvers, stopping, repeats
        As for :func:`compare_solvers`.

    Raises
    ------
    SettingsError
        If a given solver does not suit the problem; this is checked first.
    """
    refuse_below(1, "repeats", repeats)
    convex = risk.is_convex
    usual = DEFAULT_SOLVERS if convex else DEFAULT_DESCENTS
    by_name = _named(usual if solvers is None else solvers, stopping)
    refused: dict[str, str] = {}
    for name in names_in(SOLVERS) if solvers is None else ():
        try:
            by_name[name] = solver_named(name, stopping or STOPPING)
        except (PluginError, SettingsError) as error:
            refused[name] = str(error)
    for name, solver in by_name.items():
        try:
            solver.check(risk)
        except SettingsError as error:
            if solvers is not None:
                raise SettingsError(f"{name}: {error}") from error
            refused[name] = str(error)
    with single_threaded():
        # Once without a clock: the first call of an oracle may compile it.
        solver_from("auto", Stopping(max_iter=1), convex=convex).solve(risk)
        suited = [(name, solver) for name, solver in by_name.items() if name not in refused]
        runs = {
            name: sorted((solver.solve(risk) for _ in range(repeats)), key=attrgetter("seconds"))
            for name, solver in stage("solvers", suited)
        }
    solutions = {name: of_solver[(repeats - 1) // 2] for name, of_solver in runs.items()}
    for (name, low), (other, high) in itertools.permutations(solutions.items(), 2):
        rounding = ADMISSIBLE * (abs(low.lower) + abs(high.upper))
        if low.lower > high.certified_upper + rounding:
            raise CertificateError(
                f"{name} and {other} contradict each other: {name} says that the minimum is at "
                f"least {low.lower:.6g}, and {other} attains {high.certified_upper:.6g}. Check "
                "what a solver of your own passes to run.bound_by"
            )
    spread = {name: (runs[name][0].seconds, runs[name][-1].seconds) for name in runs}
    return SolverComparison(solutions, refused, spread if repeats > 1 else {})


def _named(solvers: Any, stopping: Stopping | None) -> dict[str, Solver]:
    """Solvers by their names, all with the stopping rule, if one is given."""
    if isinstance(solvers, str | Solver):
        solvers = [solvers]
    if not isinstance(solvers, Mapping | Sequence):
        raise SettingsError(f"solvers is {shown(solvers)}: {FORMS}")
    by_name: dict[str, Solver] = {}
    for one in solvers:
        name = one if isinstance(one, str) else type(one).__name__
        solver = solvers[one] if isinstance(solvers, Mapping) else one
        if isinstance(solver, str):
            solver = solver_named(solver, stopping or STOPPING)
        elif not isinstance(solver, Solver):
            raise SettingsError(f"a solver is {shown(solver)}: {FORMS}")
        elif stopping is not None:
            solver = _stopped(solver, stopping)
        if name in by_name:
            raise SettingsError(
                f"two solvers are called {name}: give a mapping of names to solvers"
            )
        by_name[name] = solver
    return by_name


def _stopped(solver: Solver, stopping: Stopping) -> Solver:
    """The solver with another stopping rule."""
    own: Any = solver
    if is_dataclass(own) and "stopping" in (each.name for each in fields(own)):
        stopped: Solver = replace(cast(Any, own), stopping=stopping)
        return stopped
    raise SettingsError(
        f"{type(solver).__name__} is no dataclass with a field stopping: leave stopping= out, and "
        "let it stop by its own rule"
    )


def solver_named(name: str, stopping: Stopping) -> Solver:
    """Return the solver of a name, which may include a master: "one-slack/clarabel".

    Others are those that distributions declare in the group "structsvm.solvers" of entry points,
    and a class as "module:Class".

    Raises
    ------
    SettingsError
        If no solver or master has that name; the message lists the known ones.
    PluginError
        If two distributions have a solver of that name, one has that of a solver of structsvm, or
        it cannot be loaded.
    """
    method, _, master = name.partition("/")
    is_declared = method in names_in(SOLVERS)
    if is_declared and method in (*CONVEX, *DESCENTS):
        raise PluginError(
            f"a distribution declares a solver {method!r}, which structsvm has: remove it"
        )
    if is_declared or ":" in name:
        return _stopped(plugin_class(SOLVERS, name)(), stopping)
    convex = method not in DEFAULT_DESCENTS
    return solver_from(method, stopping, master or "auto", convex=convex)
