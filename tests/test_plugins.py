"""Problems and oracles by name."""

from dataclasses import dataclass, field
from functools import partial
from inspect import getattr_static
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from wrong_plugins import Segments, recordings

from structsvm import ChangePoint, MetricLearner, MetricLearnerCV, Status, evaluate
from structsvm.errors import LearningError, PluginError
from structsvm.oracles import all_partitions
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.comparison import Comparison
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.learning import Learning
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Oracle, Quality
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.traits import Traits
from structsvm.plugins import (
    ORACLES,
    PROBLEMS,
    oracle_class,
    plugins,
    problem_class,
    problem_name,
    problem_names,
)
from structsvm.testing import check_problem


class Entry:
    """An entry point of another distribution."""

    def __init__(self, found, name="theirs", value="their.module:Thing"):
        self.name, self.value, self.found = name, value, found
        self.dist = SimpleNamespace(name="their-package", version="2.0")

    def load(self):
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


@dataclass(frozen=True)
class Incomplete(PartitionProblem):
    """Says nothing of its labels."""

    def decoder(self, sample):
        return SequentialOracle()


@dataclass
class Mutable:
    """No PartitionProblem, and no frozen one."""


@pytest.fixture
def installed(monkeypatch):
    """Return a function that makes these the installed entry points of any group."""

    def install(*found):
        monkeypatch.setattr("structsvm.plugins.entry_points", lambda group: list(found))

    return install


def test_what_is_installed_meanwhile_is_found(tmp_path, monkeypatch) -> None:
    """As by ``%pip install`` in a notebook; what stays as it is, is read once."""
    monkeypatch.syspath_prepend(tmp_path)
    before = problem_names()
    monkeypatch.setattr("structsvm.plugins.metadata.entry_points", None)
    assert problem_names() == before
    monkeypatch.undo()
    monkeypatch.syspath_prepend(tmp_path)
    declared = tmp_path / "their_package-1.0.dist-info"
    declared.mkdir()
    (declared / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (declared / "entry_points.txt").write_text(
        "[structsvm.problems]\ntheirs = their.module:Thing\n"
    )
    assert set(problem_names()) == {*before, "theirs"}


def test_every_declared_problem_is_one() -> None:
    assert "change-point" in problem_names()
    for name in problem_names():
        assert issubclass(problem_class(name), PartitionProblem)
    assert problem_name(ChangePoint()) == "change-point"


def test_every_declared_oracle_is_one() -> None:
    names = [plugin.name for plugin in plugins(ORACLES)]
    assert "sequential" in names
    for name in names:
        assert issubclass(oracle_class(name), Oracle)


def test_own_plugins_can_be_used_and_say_what_they_are() -> None:
    for plugin in [*plugins(PROBLEMS), *plugins(ORACLES)]:
        assert plugin.error is None
        assert plugin.summary.endswith(".")
        assert plugin.distribution
    (change_point,) = (p for p in plugins(PROBLEMS) if p.name == "change-point")
    assert change_point.value == "structsvm.problems.change_point:ChangePoint"
    assert change_point.settings["segment_count"] == "unknown"


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(PluginError, match=r"no problem is called 'spam'; installed are .*change-p"):
        problem_class("spam")
    with pytest.raises(PluginError, match=r"no oracle is called 'spam'; installed are .*sequentia"):
        oracle_class("spam")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            ImportError("no module named their"),
            r"'theirs' \(their.module:Thing\) cannot be loaded: ImportError: no module named their",
        ),
        (ZeroDivisionError("their fault"), "cannot be loaded: ZeroDivisionError: their fault"),
        (SystemExit("usage: thing FILE"), "cannot be loaded: SystemExit: usage: thing FILE"),
        (int, r"'theirs' \(their.module:Thing\) is no PartitionProblem"),
        (ChangePoint(), "is no PartitionProblem"),
        (Mutable, "is no PartitionProblem"),
        (Incomplete, "(?s)Incomplete lacks encode, traits: define"),
    ],
)
def test_what_is_no_problem_is_refused_and_listed_as_such(installed, found, message) -> None:
    installed(Entry(found))
    with pytest.raises(PluginError, match=message):
        problem_class("theirs")
    with pytest.raises(PluginError, match="ChangePoint has no name"):
        problem_name(ChangePoint())
    (listed,) = plugins(PROBLEMS)
    assert (listed.name, listed.distribution) == ("theirs", "their-package 2.0")
    with pytest.raises(PluginError, match=message):
        raise PluginError(listed.error)


def not_today():
    raise ZeroDivisionError("not today")


@dataclass(frozen=True)
class Undecided(Segments):
    """Segments with a setting whose default cannot be made."""

    longest: list[int] = field(default_factory=not_today)


def test_a_default_that_cannot_be_made_is_listed_as_such(installed) -> None:
    installed(Entry(Undecided))
    (listed,) = plugins(PROBLEMS)
    assert listed.error == "Undecided: the default of longest raised ZeroDivisionError: not today"


def missed_changes_cost_most(truth, guess):
    """10 for each change that is missed, and 1 for each that there is not."""
    there, found = (set(M.breakpoints) for M in (truth, guess))
    return 10.0 * len(there - found) + len(found - there)


@dataclass(frozen=True)
class Asymmetric(Segments):
    """Segments with a loss of their own."""

    @property
    def loss(self):
        return missed_changes_cost_most


def test_prices_and_scores_are_those_of_the_loss_of_the_problem():
    Xs, ys = recordings(4)
    problem = Asymmetric()
    samples, _ = problem.read(Xs)
    truths = [problem.encode(y, x) for y, x in zip(ys, samples, strict=True)]
    found = problem.learning.calibrate(np.eye(2), samples, truths)
    for price, loss in zip(found.penalties, found.losses, strict=True):
        guesses = [problem.partition(x, Metric(np.eye(2), price)) for x in samples]
        losses = list(map(missed_changes_cost_most, truths, guesses))
        assert loss == pytest.approx(np.mean(losses))
        assert problem.comparison.scores(truths[0], guesses[0], 0)["loss"] == losses[0]
        assert problem.comparison.agreement(truths[0], guesses[0]) == -losses[0]


@dataclass(frozen=True)
class OneOrTwo(Oracle):
    """The best of all partitions into one or two clusters, which it does not vouch for."""

    takes = frozenset()

    def maximize(self, objective, constraint=UNCONSTRAINED):
        rows = [row for row in all_partitions(objective.n_samples) if row.max() < 2]
        found = [EquivalenceMatrix.from_labels(row.astype(int)) for row in rows]
        best = max(found, key=objective.value)
        return Argmax(best, objective.value(best), np.inf, Quality.HEURISTIC)


@dataclass(frozen=True)
class TwoSides(Segments):
    """Tables of which any rows may be on one side."""

    traits = Traits()

    def decoder(self, sample):
        return OneOrTwo()

    def encode(self, y, sample):
        return EquivalenceMatrix.from_labels(y)


def test_a_stalled_run_is_not_told_to_run_longer():
    rng = np.random.default_rng(3)
    Xs = [rng.standard_normal((6, 2)) for _ in range(3)]
    ys = [rng.permutation([0, 0, 0, 1, 1, 1]) for _ in Xs]
    learner = MetricLearner(TwoSides(), metric="diagonal", lam=10.0, standardize=None)
    with pytest.warns(ConvergenceWarning), pytest.raises(LearningError, match="lower lam") as told:
        learner.fit(Xs, ys)
    assert told.value.status is Status.STALLED


def test_a_problem_that_is_no_frozen_dataclass_is_refused(installed) -> None:
    methods = {
        name: None if isinstance(getattr_static(PartitionProblem, name), property) else print
        for name in PartitionProblem.__abstractmethods__
    }
    installed(Entry(type("Plain", (PartitionProblem,), methods)))
    with pytest.raises(PluginError, match="must be a frozen dataclass"):
        problem_class("theirs")


def test_what_is_no_oracle_is_refused(installed) -> None:
    installed(Entry(ChangePoint))
    with pytest.raises(PluginError, match=r"oracle 'theirs' .* is no Oracle"):
        oracle_class("theirs")


def test_a_name_that_two_distributions_claim_is_refused(installed) -> None:
    installed(Entry(ChangePoint), Entry(ChangePoint, value="other.module:Thing"))
    with pytest.raises(PluginError, match=r"two distributions declare a problem 'theirs'"):
        problem_class("theirs")
    installed(Entry(ChangePoint), Entry(ChangePoint))  # one that is found twice on the path
    assert problem_class("theirs") is ChangePoint


@pytest.mark.parametrize(
    ("method", "answer", "complaint"),
    [
        ("decoder", None, r"decoder returned None .* return an instance of Oracle"),
        ("decoder", SequentialOracle, "decoder returned .* return an instance of Oracle"),
        ("training_sample", None, "training_sample returned None .*: return an instance of Lab"),
        ("units", None, "units returned None .*: return an instance of LearningUnits"),
        ("calibrate", None, "calibrate returned None .*: return an instance of Calibration"),
        ("objective", None, "objective returned None .*: return an instance of Objective"),
        ("untrained_factor", None, "untrained_factor returned None .*: return a finite array of"),
        ("untrained_factor", np.ones(3), r"untrained_factor returned an array .*shape \(2, r\)"),
        ("known_labels", None, "known_labels returned None .*: return the labels, one for each"),
        ("loss", lambda *Ms: np.nan, r"loss returned nan \(a float\): return a number"),
        ("loss", lambda *Ms: np.ones(3), r"loss returned an array of float64 .*: return a number"),
        ("loss", lambda *Ms: None, "loss returned None .*: return a number"),
        (
            "traits",
            {"contiguous": True},
            "traits returned {'contiguous': True} .*: return an instance of Traits",
        ),
        ("unit", np.nan, "unit returned nan .*: return None or a number > 0"),
        ("unit", "much", "unit returned 'much' .*: return None or a number > 0"),
    ],
)
@pytest.mark.parametrize("checked", [True, False], ids=["checked", "fitted"])
def test_what_a_method_must_not_return_is_named(method, answer, complaint, checked, monkeypatch):
    found = lambda self, *arguments: answer  # noqa: E731
    if method in ("loss", "traits"):
        found = property(found)
    methods = {method: found, "__module__": __name__}
    if method in vars(Learning):
        part = type("WrongLearning", (Learning,), methods)
        methods = {"learning": property(lambda self: part(self)), "__module__": __name__}
    problem = dataclass(frozen=True)(type("Wrong", (Segments,), methods))
    Xs, ys = recordings(3)
    monkeypatch.setitem(globals(), "Wrong", problem)  # where pickle looks for it
    fit = MetricLearner(problem(), metric="diagonal").fit
    ask = partial(check_problem, problem()) if checked else fit
    with pytest.raises(PluginError, match=f"Wrong(Learning)?.{{1,2}}{complaint}"):
        ask(Xs, ys)


@pytest.mark.parametrize(
    ("method", "answer", "complaint"),
    [
        ("baselines", None, r"baselines returned None .*: return a list of Baseline"),
        ("baselines", ["knn"], r"baselines returned .*'knn'.*: return a list of Baseline"),
        ("candidates", None, "candidates returned None .*: return a list of Candidate"),
        ("candidates", "full", "candidates returned 'full' .*: return a list of Candidate"),
        ("partition", None, "partition returned None .*: return an instance of EquivalenceMatrix"),
        ("agreement", np.nan, r"agreement returned nan .*: return a number"),
        ("agreement", None, r"agreement returned None .*: return a number"),
        ("scores", None, "scores returned None .*: return an instance of dict"),
    ],
)
def test_what_a_method_must_not_return_is_named_when_it_is_first_asked(method, answer, complaint):
    methods = {method: lambda self, *arguments: answer}
    if method == "partition":
        methods["learning"] = property(Learning)
    else:
        part = type("WrongComparison", (Comparison,), methods)
        methods = {"comparison": property(lambda self: part(self))}
    problem = dataclass(frozen=True)(type("Wrong", (Segments,), methods))
    Xs, ys = recordings(4)
    if method == "candidates":
        use = MetricLearnerCV(problem()).fit
    elif method == "baselines":
        use = partial(MetricLearner(problem(), metric="diagonal").fit, baselines="quick")
    elif method == "partition":
        use = MetricLearner(problem(), metric="diagonal").fit
    else:
        learner = MetricLearner(problem(), metric="diagonal").fit(Xs[:2], ys[:2])
        use = partial(evaluate, learner)
        Xs, ys = Xs[2:], ys[2:]
    with pytest.raises(PluginError, match=rf"Wrong(Comparison)?\.{complaint}"):
        use(Xs, ys)
