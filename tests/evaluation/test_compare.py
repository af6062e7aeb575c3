"""Solvers side by side: the same optimum, a tidy table, a picture."""

from dataclasses import dataclass
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from cases import cases
from generic_examples import blobs, multiclass
from recording_cases import changes

from structsvm import (
    ChangePoint,
    MetricLearner,
    StructuredSVM,
    compare_solvers,
)
from structsvm.errors import PluginError, SettingsError
from structsvm.evaluation.compare import solver_named
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.newton import NewtonMaster
from structsvm.partitions.plugins import plugins
from structsvm.plotting import (
    plot_clusters,
    plot_gap,
    plot_gaps,
    plot_metric,
    plot_path,
    plot_segmentation,
    plot_weight_stability,
    report_page,
)
from structsvm.solvers.base import Solver
from structsvm.solvers.certificate import Step, Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.first_order import BlockFrankWolfe

NAMES = ("cutting-plane/newton", "cutting-plane/clarabel", "one-slack/scs", "frank-wolfe")


@pytest.fixture(scope="module")
def data():
    return changes(4)


@pytest.fixture(scope="module")
def comparison(data):
    stopping = Stopping(tol=1e-3, max_iter=2000)
    return compare_solvers(ChangePoint(), *data, NAMES, stopping=stopping)


def test_certified_intervals_of_all_solvers_overlap(comparison):
    """Certified intervals of the same minimum overlap, all of them."""
    solutions = comparison.solutions.values()
    assert tuple(comparison.solutions) == NAMES
    assert all(s.gap <= 1e-3 for s in solutions)
    assert max(s.lower for s in solutions) <= min(s.upper for s in solutions) + 1e-9


@pytest.mark.usefixtures("closed_figures")
def test_gaps_of_solvers_are_drawn_over_seconds_and_calls(comparison):
    pair = plot_gaps(comparison.solutions)
    assert [ax.get_xlabel() for ax in pair] == ["seconds", "oracle calls"]
    assert [text.get_text() for text in pair[0].figure.legends[0].get_texts()] == [*NAMES]
    assert all(len(line.get_path()) // line.get_markevery() <= 25 for line in pair[0].lines)
    ax = plt.figure().subplots()
    assert plot_gap(comparison.solutions, against="oracle_calls", ax=ax) is ax
    lines = {line.get_label(): line for line in ax.lines}
    assert tuple(lines) == NAMES
    frame = comparison.frame().query("solver == 'frank-wolfe'")
    np.testing.assert_array_equal(lines["frank-wolfe"].get_xdata(), frame["oracle_calls"])
    np.testing.assert_allclose(lines["frank-wolfe"].get_ydata(), frame["gap"].clip(1e-12))
    with pytest.raises(SettingsError, match="against"):
        plot_gap(comparison.solutions, against="cuts")


def test_solvers_are_named_with_their_master():
    stopping = Stopping(0.1)
    assert solver_named("one-slack/newton", stopping) == CuttingPlane(
        stopping, "one", NewtonMaster()
    )
    assert solver_named("cutting-plane/clarabel", stopping) == CuttingPlane(
        stopping, "n", CvxpyMaster("clarabel")
    )
    with pytest.raises(SettingsError, match="master='newton' goes with solver='cutting-plane'"):
        solver_named("frank-wolfe/newton", stopping)
    with pytest.raises(SettingsError, match=r"one of .*frank-wolfe.* got 'simplex'"):
        solver_named("simplex", stopping)
    with pytest.raises(SettingsError, match="'nonesuch' is not installed"):
        solver_named("one-slack/nonesuch", stopping)


def test_a_solver_that_does_not_suit_is_left_out_or_refused(data):
    settings = {"regularizer": "trace", "stopping": Stopping(0.2)}
    found = compare_solvers(ChangePoint(), *data, **settings)
    assert "frank-wolfe" not in found.solutions
    assert "strongly convex" in found.refused["frank-wolfe"]
    with pytest.raises(SettingsError, match="mine: BlockFrankWolfe needs a strongly convex"):
        compare_solvers(ChangePoint(), *data, {"mine": BlockFrankWolfe()}, **settings)


@cases(
    ([CuttingPlane(), "frank-wolfe"], ["CuttingPlane", "frank-wolfe"]),
    ((BlockFrankWolfe(),), ["BlockFrankWolfe"]),
    ("cutting-plane", ["cutting-plane"]),
    (CuttingPlane(Stopping(0.5)), ["CuttingPlane"]),
    ({"mine": CuttingPlane(Stopping(0.9)), "named": "one-slack"}, ["mine", "named"]),
)
def test_a_stopping_rule_applies_to_solvers_by_name_and_by_instance(data, solvers, names):
    found = compare_solvers(
        ChangePoint(), *data, solvers, metric="diagonal", stopping=Stopping(tol=0.03)
    )
    assert list(found.solutions) == names
    assert all(solution.gap <= 0.03 for solution in found.solutions.values())


def test_instances_of_solvers_keep_their_own_stopping_rule(data):
    solvers = {"coarse": CuttingPlane(Stopping(tol=0.5, max_iter=3)), "fine": "cutting-plane"}
    found = compare_solvers(ChangePoint(), *data, solvers, metric="diagonal").solutions
    assert found["coarse"].n_iter <= 3
    assert found["fine"].gap <= 1e-3


class Unruly(Solver):
    """Its stopping rule is no field."""

    def check(self, risk):
        pass

    def steps(self, run):
        while True:
            yield Step("unruly")


@cases(
    (
        [CuttingPlane(), CuttingPlane(slack="one")],
        "two solvers are called CuttingPlane: give a map",
    ),
    ([CuttingPlane], r"a solver is .*instances such as CuttingPlane\(\)"),
    ({"mine": 3}, "a solver is 3 .*names such as 'cutting-plane'"),
    (3, "solvers is 3 "),
    ([Unruly()], "Unruly is no dataclass with a field stopping: leave stopping= out"),
)
def test_objects_that_are_no_solvers_are_refused(data, solvers, complaint):
    with pytest.raises(SettingsError, match=complaint):
        compare_solvers(ChangePoint(), *data, solvers, stopping=Stopping(0.2))


@pytest.mark.usefixtures("closed_figures")
def test_gaps_are_drawn_of_learners_and_solutions(comparison):
    """Of one learner or several, their solutions, or a comparison; of any problem."""
    svm = StructuredSVM(multiclass.Multiclass(), lam=0.1).fit(*blobs(np.random.default_rng(0)))
    for runs, n_lines in (
        (svm, 1),
        (svm.solution_, 1),
        ([svm, svm.solution_], 2),
        ({"mine": svm}, 1),
        (comparison, len(NAMES)),
    ):
        assert len(plot_gap(runs).lines) == n_lines
        assert len(plot_gaps(runs)[1].lines) == n_lines


@pytest.mark.parametrize(
    "view",
    [
        lambda svm, X, y: plot_segmentation(svm, X[0], y[0]),
        lambda svm, X, y: plot_clusters(svm, X[0]),
        lambda svm, X, y: plot_metric(svm),
        lambda svm, X, y: plot_path(svm),
        lambda svm, X, y: plot_weight_stability(svm),
        lambda svm, X, y: report_page(svm, X, y),
    ],
    ids=lambda view: view.__code__.co_names[0],
)
def test_views_of_partitions_refuse_a_structured_svm(view):
    X, y = blobs(np.random.default_rng(0))
    svm = StructuredSVM(multiclass.Multiclass(), lam=0.1).fit(X, y)
    with pytest.raises(SettingsError, match="StructuredSVM"):
        view(svm, X, y)


@cases(
    ([], "there is no run in "),
    ("mine", "there is no run in 'mine'"),
    ([MetricLearner()], "there is no run in MetricLearner"),
    ({"a": 3.0}, "there is no run in 3.0 .*what compare_solvers returns"),
)
def test_runs_without_a_gap_are_not_drawn(runs, complaint):
    with pytest.raises(SettingsError, match=complaint):
        plot_gaps(runs)


# ---- excess, costs, repeats


def test_the_excess_is_over_the_best_lower_bound_of_all(data):
    """A run that stops early has a small excess where only its lower bound is poor."""
    solvers = {"early": BlockFrankWolfe(Stopping(0.3)), "late": CuttingPlane(Stopping(1e-3))}
    found = compare_solvers(ChangePoint(), *data, solvers, metric="diagonal")
    early, late = found.solutions["early"], found.solutions["late"]
    rows = {row["solver"]: row for row in found.summary()}
    best = max(early.lower, late.lower)
    excess = (early.upper - best) / (early.null - best)
    assert rows["early"]["excess"] == pytest.approx(excess)
    assert rows["early"]["excess"] <= rows["early"]["gap"]
    assert rows["late"]["excess"] <= 1e-3
    assert found.rows()[-1]["excess"] == rows["late"]["excess"]
    assert "excess" in repr(found).splitlines()[0]


def test_the_seconds_of_oracles_and_masters_are_parts_of_all(comparison):
    for row in comparison.summary():
        assert 0 < row["oracle_seconds"] <= row["seconds"]
        assert (row["master_seconds"] > 0) == (row["solver"] != "frank-wolfe")
        assert row["oracle_seconds"] + row["master_seconds"] <= row["seconds"]


def test_repeats_give_the_median_run_and_the_spread_of_seconds(data):
    settings = {"metric": "diagonal", "stopping": Stopping(0.1)}
    found = compare_solvers(ChangePoint(), *data, ["one-slack"], repeats=3, **settings)
    (row,) = found.summary()
    assert row["seconds_least"] <= row["seconds"] <= row["seconds_most"]
    assert " to " in repr(found)
    once = compare_solvers(ChangePoint(), *data, ["one-slack"], **settings)
    assert not once.spread
    np.testing.assert_array_equal(once.solutions["one-slack"].w, found.solutions["one-slack"].w)
    with pytest.raises(SettingsError, match="repeats"):
        compare_solvers(ChangePoint(), *data, repeats=0)


@pytest.mark.usefixtures("closed_figures")
def test_an_excess_is_drawn_against_the_named_axes(comparison):
    three = plot_gaps(
        list(comparison.solutions.values()),
        against=["iteration", "seconds", "oracle_calls"],
        of="excess",
    )
    assert [ax.get_xlabel() for ax in three] == ["iteration", "seconds", "oracle calls"]
    assert three[0].get_ylabel() == "excess over the best lower bound, relative"
    frame = comparison.frame().query("solver == 'frank-wolfe'")
    np.testing.assert_allclose(three[2].lines[-1].get_ydata(), frame["excess"].clip(1e-12))
    with pytest.raises(SettingsError, match="of"):
        plot_gap(comparison, of="spread")


# ---- solvers of other distributions


class Entry:
    """An entry point of another distribution."""

    def __init__(self, name, found, value="their:Solver", package="their-package"):
        self.name, self.value, self.found = name, value, found
        self.dist = SimpleNamespace(name=package, version="1.0")

    def load(self):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@dataclass(frozen=True)
class Theirs(CuttingPlane):
    """Cutting planes, by another name."""


class NoSolver:
    """Something else."""


@pytest.fixture
def declared(monkeypatch):
    def declare(*found):
        everything = {"structsvm.solvers": list(found)}
        monkeypatch.setattr(
            "structsvm.partitions.plugins.entry_points", lambda group: everything.get(group, [])
        )

    return declare


def test_a_solver_of_another_distribution_is_compared(data, declared):
    broken = Entry("broken", ImportError("no module"), "broken:Solver")
    declared(Entry("theirs", Theirs), broken)
    settings = {"metric": "diagonal", "stopping": Stopping(0.1)}
    found = compare_solvers(ChangePoint(), *data, **settings)
    assert found.solutions["theirs"].gap <= 0.1
    assert "no module" in found.refused["broken"]
    (listed, failed) = sorted(plugins("structsvm.solvers"), key=lambda one: one.error or "")
    assert listed.summary == "Cutting planes, by another name."
    assert failed.name == "broken"
    named = compare_solvers(ChangePoint(), *data, ["theirs"], **settings)
    assert list(named.solutions) == ["theirs"]


def test_a_solver_may_be_a_class_by_its_module(data):
    name = "structsvm.solvers:BlockFrankWolfe"
    found = compare_solvers(ChangePoint(), *data, [name], metric="diagonal", stopping=Stopping(0.1))
    assert found.solutions[name].gap <= 0.1


@cases(
    ("theirs", [Entry("theirs", Theirs), Entry("theirs", Theirs, "other:Solver", "other")], "two"),
    ("one-slack", [Entry("one-slack", Theirs)], "which structsvm has"),
    ("theirs", [Entry("theirs", NoSolver)], "is no Solver"),
    ("structsvm.solvers:Stopping", [], "is no Solver"),
    ("nowhere.at.all:Solver", [], "cannot be loaded"),
)
def test_broken_solvers_of_other_distributions_are_refused(data, declared, name, found, words):
    declared(*found)
    with pytest.raises(PluginError, match=words):
        compare_solvers(ChangePoint(), *data, [name])
