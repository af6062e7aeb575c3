"""Warnings name the user's line and are silenced only where intended; progress is reported."""

import math
import warnings
from collections.abc import Callable
from inspect import currentframe
from threading import Event, Thread

import numpy as np
import pytest
from clocks import Clock as FakeClock
from cut_cases import planted
from recording_cases import changes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.parallel import Parallel as SklearnParallel
from sklearn.utils.parallel import delayed as sklearn_delayed

from structsvm import ChangePoint, MetricLearner, MetricLearnerCV, NormalizedCut
from structsvm.cli import terminal
from structsvm.data.instance import Instance
from structsvm.errors import DataWarning, VerdictWarning, without_warnings
from structsvm.graphs.readers import from_adjacency
from structsvm.learner.truths import check_truths
from structsvm.problems.change_point import SEGMENTS
from structsvm.solvers import CuttingPlane, QuasiNewton, Stopping
from structsvm.support.progress import stage, tell, watching


def is_told(message="something", category=UserWarning):
    """Whether a warning is heard, warnings being errors here."""
    try:
        warnings.warn(message, category, stacklevel=1)
    except Warning:
        return True
    return False


def test_only_the_named_warnings_are_ignored_and_only_in_the_block():
    before = list(warnings.filters)
    with without_warnings(RuntimeWarning, DeprecationWarning):
        assert is_told()
        assert not is_told(category=RuntimeWarning)
        with without_warnings(UserWarning, beginning="The groups"):
            assert is_told()
            assert not is_told("The groups are ignored")
            with without_warnings(UserWarning):
                assert not is_told()
            assert is_told()
        assert not is_told(category=DeprecationWarning)
    assert is_told(category=RuntimeWarning)
    assert list(warnings.filters) == before


def test_the_filters_that_scikit_learn_sends_to_its_workers_can_be_read_there():
    double = sklearn_delayed(lambda x: 2 * x)
    with without_warnings(UserWarning, beginning="The (groups"):
        found = SklearnParallel(n_jobs=2, backend="threading")(double(x) for x in (1, 2))
    assert found == [2, 4]


def test_blocks_that_overlap_in_threads_leave_nothing_behind():
    """The first to enter is the first to leave, which is what ``catch_warnings`` cannot bear."""
    before = list(warnings.filters)
    inside = Event()
    left = Event()
    heard = []

    def second():
        with without_warnings(Warning):
            inside.set()
            left.wait(60)
            heard.append(is_told())
        heard.append(is_told())

    thread = Thread(target=second)
    with without_warnings(Warning):
        thread.start()
        assert inside.wait(60)
        assert not is_told()
    assert is_told()
    left.set()
    thread.join()
    assert heard == [False, True]
    assert list(warnings.filters) == before


# ---- a warning names the line of whoever called, however deep its reason is found


METRICS = ("untrained", "rca", "diagonal", "full")
CHOICE = {"candidates": METRICS, "lams": [1.0], "cv": 2, "random_state": 0}
EARLY = CuttingPlane(Stopping(tol=1e-12, max_iter=2))
BRIEF = QuasiNewton(Stopping(tol=1e-12, max_iter=1))

XS, YS = changes(6, n_features=3, n_relevant=1, jump=2.0)
FLAT_XS = [np.column_stack([X, np.ones(len(X))]) for X in XS]
NOISE = [np.random.default_rng(i).normal(size=(200, 3)) for i in range(6)]
GRAPHS, NODES = planted(np.random.default_rng(0), n=3, T=20)
APART = from_adjacency(np.kron(np.eye(2), 1 - np.eye(10)), GRAPHS[0].X)
CUTS = MetricLearner(NormalizedCut(), lam=0.02).fit(GRAPHS, NODES)

CALLS: dict[str, tuple[type[Warning], Callable[[], object]]] = {
    "fit on one recording": (DataWarning, lambda: MetricLearner().fit(XS[:1], YS[:1])),
    "fit on a constant feature": (DataWarning, lambda: MetricLearner().fit(FLAT_XS, YS)),
    "search of which learning does not pay": (
        VerdictWarning,
        lambda: MetricLearnerCV(**CHOICE).fit(NOISE, YS),
    ),
    "cross-validation of scikit-learn": (
        ConvergenceWarning,
        lambda: cross_val_score(MetricLearner(solver=EARLY), XS, YS, cv=2),
    ),
    "a pipeline of scikit-learn": (
        DataWarning,
        lambda: make_pipeline(MetricLearner()).fit(XS[:1], YS[:1]),
    ),
    "cut that ends early": (
        ConvergenceWarning,
        lambda: MetricLearner(NormalizedCut(), solver=BRIEF).fit(GRAPHS, NODES),
    ),
    "prediction of a graph in two pieces": (DataWarning, lambda: CUTS.predict([APART], 2)),
    "a problem whose kappa is too small": (
        DataWarning,
        lambda: NormalizedCut(objective_kind="plain", kappa=1e-3),
    ),
    "labels that a problem looks at": (
        DataWarning,
        lambda: check_truths(SEGMENTS, [ChangePoint().encode(YS[0], Instance(XS[0]))]),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_line_of_the_call(name: str) -> None:
    category, call = CALLS[name]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    ours = [warning for warning in told if issubclass(warning.category, category)]
    assert ours
    lines = range(call.__code__.co_firstlineno, call.__code__.co_firstlineno + 2)
    for warning in told:
        assert warning.filename == __file__
        assert warning.lineno in lines


def test_each_fit_of_a_program_is_warned_about() -> None:
    """Python shows a warning once for each line: one of the package would silence the next fit."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        first = currentframe().f_lineno + 1
        MetricLearner().fit(XS[:1], YS[:1])
        MetricLearner().fit(XS[1:2], YS[1:2])
    assert [warning.lineno for warning in told] == [first, first + 1]


# ---- progress


def heard():
    """Return a list, and a function that notes down in it what it is told."""
    notes = []
    return notes, lambda words, part: notes.append((words, part))


def test_shares_of_progress_add_up():
    notes, watcher = heard()
    with watching(watcher):
        for _ in stage("files", "ab"):
            for _ in stage("lines", range(2)):
                tell("word", 0.5)
    assert notes == [
        ("files", 0.0),
        ("files: lines", 0.0),
        ("files: lines: word", 0.125),
        ("files: lines", 0.25),
        ("files: lines: word", 0.375),
        ("files", 0.5),
        ("files: lines", 0.5),
        ("files: lines: word", 0.625),
        ("files: lines", 0.75),
        ("files: lines: word", 0.875),
    ]
    tell("to nobody", 1.0)
    assert len(notes) == 10


def test_learning_reports_progress_from_zero_to_one():
    notes, watcher = heard()
    with watching(watcher):
        MetricLearner(metric="diagonal").fit(XS[:3], YS[:3])
    innermost = [words.rpartition(": ")[2].split(" ")[0] for words, _ in notes]
    tasks = [task for task in dict.fromkeys(innermost) if task in ("calibrating", "iteration")]
    assert tasks == ["calibrating", "iteration"]
    parts = [part for _, part in notes]
    assert parts == sorted(parts)
    assert notes[-1][0].startswith("the untrained metric")


class TestTerminal:
    def test_progress_without_animation_is_printed_in_lines(self, monkeypatch, capsys):
        monkeypatch.setattr(terminal, "SECONDS_UNTIL_FIRST_LINE", 0.0)
        monkeypatch.setattr(terminal, "SECONDS_BETWEEN_LINES", 0.0)
        with terminal.Terminal().working("learning [a]"):
            tell("iteration 1", 0.5)
        assert "learning [a]: iteration 1, about 0 s left, 50%\n" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("end", "left"),
        [
            (math.inf, ", about 12 s left"),
            (10.0, ", about 6 s left"),
            (1.0, ""),
            (4.0, ""),
            (4.5, ", about 0 s left"),
        ],
    )
    def test_the_remaining_time_is_that_of_the_work_and_never_negative(
        self, monkeypatch, capsys, end, left
    ):
        clock = FakeClock.of(monkeypatch, terminal)
        with terminal.Terminal().working("learning", clock.now + end):
            clock.sleep(4.0)
            tell("iteration 1", 0.25)
        assert capsys.readouterr().err == f"learning: iteration 1{left}, 25%\n"

    def test_a_quiet_terminal_tells_no_progress(self, monkeypatch, capsys):
        monkeypatch.setattr(terminal, "SECONDS_UNTIL_FIRST_LINE", 0.0)
        with terminal.Terminal(quiet=True).working("learning"):
            tell("iteration 1", 0.5)
        assert capsys.readouterr().err == ""
