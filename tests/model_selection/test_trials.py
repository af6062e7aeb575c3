"""Candidates are tried while there is time, the best ones first, and not twice."""

import math
import signal
import time
from contextlib import suppress
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from clocks import Clock as FakeClock
from recording_cases import changes

from structsvm import MetricLearner, MetricLearnerCV, StructSVMError
from structsvm.baselines import EqualSegments, FrameClassifier
from structsvm.errors import CheckpointError, SettingsError
from structsvm.learner import Method
from structsvm.model_selection import trials
from structsvm.model_selection.folds import Trial, with_count
from structsvm.model_selection.trials import (
    REFIT_COST,
    Clock,
    SavedTrials,
    Task,
    tasks_of,
    trials_of,
)
from structsvm.partitions import UNCONSTRAINED, Constraint, Instance
from structsvm.support import progress
from structsvm.support.progress import OutOfTimeError, stage, tell, until, watching

FOLDS = [SimpleNamespace(number=k) for k in range(3)]
XS, YS = changes(6)


@pytest.fixture
def clock(monkeypatch):
    return FakeClock.of(monkeypatch, trials, progress)


def task(name, seconds=0.0, cost=1.0, log=None, clock=None, failure="", is_first=False):
    """A task of one classifier, which says that it was tried and tells how far it is."""

    def work(fold):
        if log is not None:
            log.append((name, fold.number))
        for _ in stage("steps", range(max(1, round(100 * seconds)))):
            if clock is not None:
                clock.sleep(seconds and 0.01)
        return [Trial(np.full((2, 2), float(fold.number)), seconds, failure=failure)]

    return Task([Method(name, FrameClassifier("lda"), cost, is_first=is_first)], work, cost)


def names(found):
    return {candidate.name for candidate in found}


def test_without_a_time_limit_all_candidates_are_tried_and_costs_estimated():
    log = []
    tried, untried = trials_of([task("a", log=log), task("b", log=log)], FOLDS, Clock())
    assert (names(tried), untried) == ({"a", "b"}, {})
    assert log == list(product("ab", range(3)))
    for of_folds in tried.values():
        assert [trial.losses[0, 0] for trial in of_folds] == [0.0, 1.0, 2.0]


def test_the_first_candidate_is_tried_even_after_the_time_limit(clock):
    log = []
    end = clock.now - 1.0
    tasks = [task("a", 0.05, log=log, clock=clock), task("b", log=log)]
    tried, untried = trials_of(tasks, FOLDS, Clock(end))
    assert (names(tried), names(untried)) == ({"a"}, {"b"})
    assert {name for name, _ in log} == {"a"}
    assert 0 < sum(untried.values()) < 10


def test_a_candidate_that_takes_too_long_is_stopped_and_untried(clock):
    """It costs far more than its cost says, and is stopped where it tells how far it is."""
    start = clock.now
    tasks = [task("a", 0.01, clock=clock), task("slow", 30.0, cost=0.1, clock=clock)]
    tried, untried = trials_of(tasks, FOLDS, Clock(start + 0.5))
    assert clock.now - start < 0.6
    assert (names(tried), names(untried)) == ({"a"}, {"slow"})


def test_a_candidate_whose_first_fold_took_too_long_is_given_up(clock):
    log = []
    given = {"log": log, "clock": clock}
    tasks = [task("a", 0.01, **given), task("b", 0.3, cost=0.01, **given), task("c", **given)]
    tried, _ = trials_of(tasks, FOLDS, Clock(clock.now + 0.7))
    assert ("b", 0) in log
    assert ("b", 2) not in log
    assert "b" not in names(tried)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("", ["untrained", "s", "f", "lags"]),
        ("lags", ["untrained", "lags", "s", "f"]),
        ("f", ["untrained", "f", "s", "lags"]),
    ],
)
def test_rivals_and_the_first_answer_are_tried_before_the_default(first, expected):
    """Then the order is that of preference, whatever a candidate costs."""
    settings = SimpleNamespace(features=None, standardize="recording")
    of_lags = SimpleNamespace(features=object(), standardize="recording")
    slow = Method("s", EqualSegments(), 9)
    fast = Method("f", EqualSegments(), 0.1, is_first=first == "f")
    lags = Method("lags", MetricLearner(), 2.0, is_first=first == "lags")
    untrained = Method("untrained", MetricLearner(metric="untrained"))
    asked = {lags: of_lags, untrained: settings}
    tasks = tasks_of(asked, [slow, fast, *asked], None)
    assert [task.candidates[0].name for task in tasks] == expected


def test_the_first_answer_is_tried_always_and_the_default_only_in_time(clock):
    log = []
    first = task("first", 0.05, log=log, clock=clock, is_first=True)
    tasks = [task("untrained", log=log), first, task("b", log=log)]
    tried, untried = trials_of(tasks, FOLDS, Clock(clock.now - 1.0))
    assert (names(tried), names(untried)) == ({"untrained", "first"}, {"b"})


@pytest.mark.parametrize("allowed", [0.0, 5.0, 1e9])
def test_the_told_remaining_time_is_right_within_a_factor_of_two(clock, allowed):
    """What is tried whatever it takes counts, too: none of it is over before it has ended."""
    tasks = [
        task("untrained", 1.0, 1.0, clock=clock),
        task("first", 6.0, 6.0, clock=clock, is_first=True),
    ]
    start = clock.now
    told = []

    def listen(_, part):
        told.append((clock.now - start, part))

    with watching(listen):
        trials_of(tasks, FOLDS, Clock(start + allowed))
    whole = 3 * 1.0 + 3 * 6.0 + REFIT_COST * 6.0  # and learned from all
    for at, part in told:
        left = at * (1 - part) / part if part else math.inf
        assert at < 2 or (whole - at) / 2 <= left <= 2 * (whole - at)


@pytest.mark.parametrize("n_failed", [1, 2])
def test_after_a_failed_first_answer_the_next_is_tried_always(clock, n_failed):
    of_each = [task(f"f{k}", failure="too few", is_first=k == 0) for k in range(n_failed)]
    tasks = [task("untrained"), *of_each, task("good"), task("late")]
    tried, untried = trials_of(tasks, FOLDS, Clock(clock.now - 1.0))
    assert names(tried) == {"untrained", "good", *(f"f{k}" for k in range(n_failed))}
    assert names(untried) == {"late"}


def test_saved_trials_are_not_tried_again(tmp_path):
    path = tmp_path / "tried.npz"
    log = []
    trials_of([task("a", log=log)], FOLDS[:2], Clock(), saved=SavedTrials(path, "same"))
    again = SavedTrials(path, "same")
    tried, _ = trials_of([task("a", log=log)], FOLDS, Clock(), saved=again)
    assert log == [("a", 0), ("a", 1), ("a", 2)]
    (of_folds,) = tried.values()
    assert [trial.losses[0, 0] for trial in of_folds] == [0.0, 1.0, 2.0]
    assert math.isnan(of_folds[0].accuracy)
    with pytest.raises(CheckpointError, match="of other data or settings"):
        SavedTrials(path, "other")


@pytest.mark.parametrize("change", [-1, 0, 1])
def test_the_best_of_all_numbers_of_segments_is_not_searched_for_again(change):
    """With any other number it is; it is what a search for this number finds."""
    names = [np.repeat(["a", "b", "a"], [20, 30, 10]) for _ in range(4)]
    rng = np.random.default_rng(0)
    arrays = [(y == "b")[:, None] + 0.3 * rng.normal(size=(60, 1)) for y in names]
    learner = FrameClassifier("lda").fit(arrays, names)
    (instance,) = learner.inputs_([Instance(arrays[0])])
    priced = learner.model_.partition(learner.problem_, instance, UNCONSTRAINED)
    K = priced.partition.n_clusters + change
    found = with_count(learner.problem_, learner.model_, instance, K, priced)
    expected = learner.model_.partition(learner.problem_, instance, Constraint(K))
    assert (found is priced) == (change == 0)
    assert found.partition.boundaries.tolist() == expected.partition.boundaries.tolist()


def test_until_ends_what_tells_of_itself_and_nothing_else():
    heard = []
    with watching(lambda *told: heard.append(told)):
        with until(math.inf):
            tell("in time", 0.5)
        with pytest.raises(OutOfTimeError), until(-math.inf):
            tell("late", 0.6)
    assert heard == [("in time", 0.5)]
    tell("outside", 1.0)


def endless():
    while True:
        pass


def endless_but_for_a_library():
    try:
        endless()
    except KeyboardInterrupt as error:
        raise SystemError("returned a result with an exception set") from error


def ended_by_ctrl_c():
    with suppress(KeyboardInterrupt):
        endless()


@pytest.mark.parametrize("work", [endless, endless_but_for_a_library, ended_by_ctrl_c])
def test_until_ends_what_tells_nothing_of_itself(work):
    with pytest.raises(OutOfTimeError), until(-math.inf):
        work()


@pytest.mark.parametrize("late", [0, 1])
def test_of_nested_time_limits_the_earliest_counts(late):
    ends = [math.inf, -math.inf]
    with pytest.raises(OutOfTimeError), until(ends[late]), until(ends[1 - late]):
        endless()


def test_an_interruption_by_the_user_is_not_out_of_time():
    with pytest.raises(KeyboardInterrupt), until(time.monotonic() + 1e9):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
class TestSearch:
    def search(self, **settings):
        return MetricLearnerCV(
            candidates=["untrained", "diagonal", "rca", "boundary-boosting"],
            lams=[0.1],
            cv=3,
            random_state=0,
            **settings,
        )

    def test_a_search_without_time_has_a_metric_and_lists_untried_candidates(self):
        found = self.search(max_seconds=0.0).fit(XS, YS, baselines="all")
        assert found.best_candidate_ in ("diagonal", "untrained", "rca")
        assert list(found.untried_) == ["boundary-boosting"]
        assert found.untried_["boundary-boosting"] > 0
        assert "boundary-boosting" not in found.cv_results_["candidate"]
        assert "rca" in (found.best_candidate_, *found.best_estimator_.baselines_)
        assert "boundary-boosting" not in found.best_estimator_.baselines_

    @pytest.mark.parametrize(("baselines", "waits"), [(None, True), (["rca"], False)])
    def test_closed_forms_that_nobody_asks_for_wait_for_time(self, baselines, waits):
        search = MetricLearnerCV(cv=3, random_state=0, max_seconds=0.0)
        found = search.fit(XS, YS, baselines=baselines)
        assert ("rca" in found.untried_) == waits
        assert ("rca" in found.best_estimator_.baselines_) != waits

    def test_a_resumed_search_finds_the_same_as_an_uninterrupted_one(self, tmp_path):
        path = tmp_path / "tried.npz"
        self.search(max_seconds=0.0).fit(XS, YS, resume=path)
        resumed = self.search().fit(XS, YS, resume=path)
        whole = self.search().fit(XS, YS)
        assert resumed.untried_ == {}
        np.testing.assert_array_equal(resumed.losses_, whole.losses_)
        assert resumed.best_candidate_ == whole.best_candidate_
        with pytest.raises(StructSVMError, match="of other data or settings"):
            self.search().fit([2.0 * X for X in XS], YS, resume=path)

    @pytest.mark.parametrize("seconds", [-1.0, float("nan")])
    def test_an_impossible_time_limit_is_refused(self, seconds):
        with pytest.raises(SettingsError, match="max_seconds must be"):
            self.search(max_seconds=seconds).fit(XS, YS)
