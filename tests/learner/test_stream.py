"""Streams: what they find in the end, what they say on the way, and what they refuse."""

import copy
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from signal import SIGINT, getsignal

import numpy as np
import pandas as pd
import pytest
from cases import cases, refused
from sklearn.base import clone
from sklearn.decomposition import PCA

from structsvm import (
    ChangePoint,
    Clustering,
    DataError,
    MetricLearner,
    ScoreDecoder,
    SettingsError,
    StateSegmenter,
    load,
    margin_rates,
    save,
)
from structsvm.baselines import FrameClassifier
from structsvm.errors import DataWarning
from structsvm.features import Chain, Columns, Lags, MovingStatistics, Rows, StateScores, Union
from structsvm.oracles._segments import running
from structsvm.partitions import FalseAlarms
from structsvm.support.interrupts import Interrupts

NAMES = np.array(["groom", "rear", "rest"])


def drawn(seed, T=150, shortest=8):
    """A recording of three states that last some samples, and their names."""
    rng = np.random.default_rng(seed)
    codes = np.cumsum(rng.integers(1, 3, T // shortest)) % 3
    y = np.repeat(codes, rng.integers(shortest, 3 * shortest, codes.size))
    y = y[: np.append(np.flatnonzero(np.diff(y)) + 1, y.size)[T // (2 * shortest)]]
    X = rng.normal(scale=0.7, size=(y.size, 4))
    X[:, :3] += np.eye(3)[y]
    return X, NAMES[y]


def scored(X):
    p = np.exp(2.0 * X[:, :3])
    return p / p.sum(axis=1, keepdims=True)


TRAIN, NEW = [drawn(seed) for seed in range(6)], [drawn(seed) for seed in range(6, 12)]
Xs, ys = (list(part) for part in zip(*TRAIN, strict=True))
NEXT = Union(Columns(), MovingStatistics([3, 6]))
CAUSAL = {"standardize": "training", "features": Chain(Lags([-4, -1, 0]), Rows(PCA(5)))}
LEARNERS = {
    "metric": MetricLearner(standardize="training"),
    "diagonal": MetricLearner(metric="diagonal", standardize=None, features=NEXT),
    "lags": MetricLearner(**CAUSAL),
    "scores": MetricLearner(
        standardize=None, features=StateScores("logistic", [-1, 0], standardize="training")
    ),
    "states": StateSegmenter(["lda"], standardize="training"),
    "causal": StateSegmenter(["lda", "logistic"], **CAUSAL),
    "rules": StateSegmenter(["lda"], standardize="training", min_length={"rest": 8}),
    "longest": StateSegmenter(["lda"], standardize=None, max_length=24),
    "decoder": ScoreDecoder(),
    "lengths": ScoreDecoder(problem=ChangePoint(min_length=8, max_length=30)),
    "late": ScoreDecoder(),
    "early": ScoreDecoder(),
    "ruled": ScoreDecoder(min_length=5),
}
SHIFTED = {"decoder": 0, "lengths": 0, "late": 4, "early": -3, "ruled": 3}
"""By how many samples scores are late, of those that see scores."""


@pytest.fixture(scope="module")
def learned():
    """Each learner of the table, learned once."""
    kept = {}

    def of(name):
        if name not in kept:
            kept[name] = LEARNERS[name].fit(fed(name, Xs), ys)
        return kept[name]

    return of


def fed(name, samples):
    if name not in SHIFTED:
        return samples
    return [np.roll(scored(X), SHIFTED[name], axis=0) for X in samples]


def new_samples(name):
    return fed(name, [X for X, _ in NEW])


@cases(*LEARNERS)
def test_a_stream_finds_the_changes_of_predict(learned, name):
    learner = learned(name)
    rng = np.random.default_rng(0)
    for X in new_samples(name):
        stream = learner.stream()
        t = 0
        asked = [*rng.integers(1, len(X), 4).tolist(), 2]
        while t < len(X):
            n = int(rng.integers(0, 30))
            stream.push(X[t : t + n])
            t += n
            if asked and t > asked[-1]:  # as if the recording ended there
                asked.pop()
                assert stream.ends() == learner.predict_breakpoints(X[:t])
        assert stream.ends() == learner.predict_breakpoints(X)
        if learner.model_.keeps_states:
            assert np.array_equal(stream.states(), learner.predict_states(X))
        stream.end()
        assert stream.ends() == learner.predict_breakpoints(X)
        assert stream.exact


@cases("late", "early", "ruled")
def test_the_streams_that_are_tested_have_learned_a_delay(learned, name):
    assert np.abs(learned(name).late_).max() > 2


@cases("metric", "diagonal", "causal", "decoder")
def test_final_changes_of_a_stream_stay_and_are_all_told(learned, name):
    learner = learned(name)
    for X in new_samples(name):
        stream = learner.stream()
        told = []
        for t in range(0, len(X), 5):
            for change in stream.push(X[t : t + 5]):
                assert change.seen <= stream.n_samples
                assert change.place <= stream.n_samples - stream.lookahead
                told.append(change)
        told += stream.end()
        final = [change for change in told if change.final is not None]
        rows = learner.predict_segments(X, tolerance=5)
        assert [change.place for change in final] == [row["start"] for row in rows[1:]]
        last = [change for change in final if change.final == len(X)]
        margins = {row["start"]: row["margin"] for row in rows}
        for change in last:
            assert change.margin == pytest.approx(margins[change.place], rel=1e-6, abs=1e-9)
        if learner.model_.keeps_states:
            assert [change.state for change in final] == [row["state"] for row in rows[1:]]


def test_a_stream_agrees_with_predict_if_classifiers_skip_samples():
    pairs = [drawn(seed, T=3000, shortest=150) for seed in range(5)]
    train, names = (list(part) for part in zip(*pairs[:4], strict=True))
    learner = StateSegmenter(["lda"], standardize="training").fit(train, names)
    assert learner.inputs_.block > 1
    X = pairs[4][0][:2903]
    stream = learner.stream()
    for t in range(0, len(X), 97):
        stream.push(X[t : t + 97])
    assert stream.ends() == learner.predict_breakpoints(X)
    assert np.array_equal(stream.states(), learner.predict_states(X))


@cases("metric", "causal", "decoder")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_stream_goes_on_after_ctrl_c(learned, monkeypatch, moment, name):
    """Ctrl-C is answered right before or right after the compiled step, where it is not held."""
    learner = learned(name)
    for X in new_samples(name)[:2]:
        stream = learner.stream()
        calls = count()

        def pressed(*args, calls=calls, go_on=running.go_on):
            is_pressed = not isinstance(getsignal(SIGINT), Interrupts) and next(calls) % 3 == 0
            is_another = (moment == "after" or not is_pressed) and go_on(*args)
            if is_pressed:
                raise KeyboardInterrupt
            return is_another

        monkeypatch.setattr(running, "go_on", pressed)
        n_pressed = 0
        for t in range(0, len(X), 5):
            block = X[t : t + 5].copy()
            try:
                stream.push(block)
            except KeyboardInterrupt:
                n_pressed += 1
            block[:] = 1e9  # as a buffer that is used again
        monkeypatch.undo()
        assert n_pressed > 5
        assert stream.n_samples == len(X)
        assert stream.ends() == learner.predict_breakpoints(X)


def test_a_quiet_metric_says_when_it_is_no_longer_exact(learned):
    stream = learned("metric").stream(max_candidates=32)
    rng = np.random.default_rng(0)
    for _ in range(20):
        stream.push(0.1 * rng.normal(size=(100, 4)))
    assert not stream.exact
    assert stream.ends() == [2000]


def test_the_memory_of_a_stream_does_not_grow_without_changes(learned):
    sizes = []
    stream = learned("causal").stream()
    X = np.tile(Xs[0][:1], (500, 1))
    for _ in range(16):
        stream.push(X)
        search = stream._changes.search
        n_paths = len(search.copies[0].paths)
        sizes.append((len(stream._rows), len(search.rows), len(search.copies), n_paths))
    assert sizes[8:] == [sizes[8]] * 8
    assert stream.ends() == [8000]


@cases("metric", "causal", "decoder")
def test_a_stream_keeps_the_rate_of_false_alarms(learned, name):
    learner = copy.copy(learned(name))
    learner.margin_rates_ = margin_rates(learner, fed(name, Xs), ys, cv=3)
    n = learner.margin_rates_.alarms.n_samples
    assert n == sum(map(len, Xs))
    for X in new_samples(name):
        told = []
        for every in (1, n // 20, n):
            stream = learner.stream(false_alarm_every=every)
            changes = []
            for t in range(0, len(X), 10):
                changes += stream.push(X[t : t + 10])
            told.append([one for one in changes if one.final is None and one.withdrawn is None])
            assert all(change.margin >= stream.least for change in told[-1])
            assert stream.ends() == learner.predict_breakpoints(X)
        assert len(told[0]) >= len(told[1]) >= len(told[2])
    with pytest.raises(SettingsError, match=f"is more than the {n} samples"):
        learner.stream(false_alarm_every=n + 1)
    with pytest.raises(SettingsError, match="false_alarm_every needs recordings"):
        learner.stream(false_alarm_every=n, tolerance=2)
    with pytest.raises(SettingsError, match="false_alarm_every needs recordings"):
        learned(name).stream(false_alarm_every=n)


def test_the_margin_for_a_rate_of_alarms_is_reached_at_that_rate():
    spans = np.array([[0.0, 3.0], [0.0, 1.0], [1.0, 2.0], [0.0, 7.0], [8.0, 9.0], [8.0, 9.0]])
    alarms = FalseAlarms(spans, n_samples=1000)
    assert [alarms.margin(every) for every in (1000, 500, 334, 333)] == [9.0, 2.5, 2.5, 0.0]
    assert FalseAlarms(spans[:0], n_samples=1000).margin(1000) == 0.0


@cases((0, 56), (2, 56), (1, 11))
def test_alarms_are_refused_if_held_out_streams_found_too_few_changes(n_found, n_true):
    parts = [FalseAlarms(np.array([[0.0, 0.5]]), 70, 0, n_true - 1), None]
    assert FalseAlarms.of(parts) is None
    parts[1] = FalseAlarms(np.empty((0, 2)), 80, n_found, 1)
    alarms = FalseAlarms.of(parts)
    assert (alarms.n_samples, alarms.n_found, alarms.n_true) == (150, n_found, n_true)
    with pytest.raises(SettingsError, match=f"{n_found} of the {n_true} labelled changes"):
        alarms.margin(100)
    assert FalseAlarms(alarms.spans, 150, -(-n_true // 10), n_true).margin(100) == 0.0


def test_a_stream_without_samples_has_no_changes(learned):
    stream = learned("states").stream()
    assert stream.push(np.empty((0, 4))) == []
    assert stream.push(Xs[0][:1]) == []
    stream = learned("states").stream()
    assert (stream.ends(), stream.states().tolist(), stream.end()) == ([], [], [])


def test_a_loaded_model_streams_alike(learned, tmp_path):
    save(learned("causal"), tmp_path / "model.structsvm")
    stream = load(tmp_path / "model.structsvm").stream(tolerance=2)
    stream.push(NEW[0][0])
    assert stream.ends() == learned("causal").predict_breakpoints(NEW[0][0])


@cases("diagonal", "states", "decoder")
def test_refitting_does_not_change_a_running_stream(name):
    learner = clone(LEARNERS[name])
    learner.fit(fed(name, Xs), ys)
    X = new_samples(name)[0]
    found = learner.predict_breakpoints(X)
    stream = learner.stream()
    stream.push(X[:50])
    learner.fit(fed(name, Xs[:3]), ys[:3])
    stream.push(X[50:])
    assert stream.ends() == found


class TestRefusals:
    """What cannot be had, before a sample is pushed."""

    def whole(learner):
        learner.fit(Xs[:2], ys[:2]).stream()

    test_learners_that_need_whole_recordings_have_no_stream = refused(
        SettingsError,
        whole,
        (MetricLearner(), "standardize='training'"),
        (StateSegmenter(["lda"]), "whole recording, which has not ended.*training"),
        (FrameClassifier("lda", Columns(), standardize=None), "whole recordings alone"),
        (MetricLearner(ChangePoint(min_length=3), standardize=None), "segments of any length"),
    )

    def test_a_learner_of_clusters_has_no_stream(self):
        tables = [np.repeat(np.eye(2), 9, axis=0)] * 2
        with pytest.raises(SettingsError, match="clusters, not segments"):
            MetricLearner(Clustering()).fit(tables, [np.repeat([0, 1], 9)] * 2).stream()

    def test_a_stream_of_a_metric_has_no_states(self, learned):
        with pytest.raises(SettingsError, match="StateSegmenter"):
            learned("metric").stream().states()

    def test_a_stream_refuses_an_impossible_tolerance(self, learned):
        with pytest.raises(SettingsError, match="tolerance"):
            learned("metric").stream(tolerance=-1)
        with pytest.raises(SettingsError, match="max_candidates"):
            learned("metric").stream(max_candidates=1)


def pushed(learner, *blocks):
    stream = learner.stream()
    for block in blocks:
        stream.push(*block) if isinstance(block, tuple) else stream.push(block)


X = NEW[0][0]
GAP = X[:4].copy()
GAP[2, 1] = np.nan
FRAME = pd.DataFrame(X[:9], index=pd.date_range("2026-01-01", periods=9, freq="s"))
T = np.arange(20.0)


@cases(
    ((X[:5], GAP), "after 5 samples: a value is missing in row 2"),
    ((np.ma.masked_invalid(GAP),), "a value is missing in row 2"),
    ((X[:5], X[:5, :3]), "3 features"),
    ((X[0],), r"of shape \(n, 4\)"),
    ((X[:5] * np.inf,), "inf"),
    ((np.array([["a", "b", "c", "d"]]),), "not a number"),
    ((X[:3].tolist(),), r"of shape \(n, 4\)"),
    (([X[:3], X[3:6]],), "several recordings"),
    (((X[:5], T[:5]), (X[5:9], T[4:8])), "after 5 samples: .*4.0 is not after 4.0.*order of time"),
    (((X[:5], T[:5]), (X[5:9], T[8:12])), "a gap of 4 after the time 4.0.*begin another"),
    (((X[:5], T[:5]), (X[5:9], T[5:9] / 4 + 4)), "another rate|resample to one"),
    (((X[:5], [0, 1, 3, 2, 4]),), "fall after sample 2"),
    (((X[:5], T[:4]),), "5"),
    (((X[:5], [0, 1, 2, 3, np.inf]),), "the time of sample 4 is missing or infinite"),
    (((X[:5], T[:5]), (X[5:9], FRAME.index[5:9])), "dates in others"),
    (((X[:5], FRAME.index[:5]), (X[5:9], T[5:9])), "dates in others"),
    ((FRAME[:5], (X[5:9], T[5:9])), "dates in others"),
    ((FRAME[:5], FRAME[:5]), "not after"),
    ((FRAME[5:], FRAME[:5]), "order of time"),
    ((FRAME[:5][::-1],), "order of time"),
)
@pytest.mark.filterwarnings("ignore::structsvm.errors.DataWarning")
def test_a_stream_refuses_bad_samples(learned, blocks, message):
    with pytest.raises(DataError, match=message):
        pushed(learned("causal"), *blocks)


NULL = pd.DataFrame(X[:5]).astype("Float64")
NULL.iloc[3, 1] = pd.NA


@cases(NULL, NULL.astype(object).where(NULL.notna(), None), NULL.round().astype("Int64"), GAP)
def test_a_stream_refuses_missing_values(X):
    learner = MetricLearner(ChangePoint(missing="interpolate"), standardize="training").fit(Xs, ys)
    stream = learner.stream()
    with pytest.raises(DataError, match=r"a value is missing in row [23]"):
        stream.push(X)
    assert stream.n_samples == 0


def test_a_stream_goes_on_after_a_block_was_refused(learned):
    stream = learned("causal").stream()
    stream.push(X[:50])
    for wrong in (GAP, X[:5, :3], X[0]):
        with pytest.raises(DataError):
            stream.push(wrong)
    stream.push(X[50:])
    assert stream.ends() == learned("causal").predict_breakpoints(X)


def test_scores_that_are_refused_leave_a_stream_as_it_was(learned):
    p = scored(X)
    wrong = p[5:9].copy()
    wrong[2, 1] = -0.5
    stream = learned("decoder").stream()
    stream.push(p[:5], T[:5])
    for times in (T[5:9], None):
        with pytest.raises(DataError, match=r"after 5 samples: .*-0.5 of rear at sample 2"):
            stream.push(wrong, times)
    stream.push(p[5:9], T[5:9])
    stream.push(p[9:])
    assert stream.ends() == learned("decoder").predict_breakpoints(p)


@pytest.mark.parametrize("zone", [None, UTC, timezone(timedelta(hours=2))])
def test_a_stream_takes_datetimes_of_python(learned, zone):
    begun = datetime(2026, 1, 1, 23, 59, tzinfo=zone)
    stream = learned("metric").stream()
    for t, row in enumerate(X[:, None]):
        stream.push(row, [begun + timedelta(seconds=t)])
    assert stream.ends() == learned("metric").predict_breakpoints(X)
    with pytest.raises(DataError, match="not after"):
        stream.push(X[:1], [begun])


def test_a_first_block_that_was_refused_sets_no_rate(learned):
    stream = learned("causal").stream()
    with pytest.raises(DataError, match="a gap"):
        stream.push(X[:4], [0.0, 1.0, 2.0, 9.0])
    stream.push(X[:4], T[:4] / 10)
    stream.push(X[4:], T[4] / 10 + np.arange(len(X) - 4) / 10)
    assert stream.ends() == learned("causal").predict_breakpoints(X)


def test_a_stream_is_not_pushed_after_its_end(learned):
    stream = learned("decoder").stream()
    stream.push(scored(X))
    stream.end()
    assert stream.end() == []
    with pytest.raises(DataError, match=r"has ended.*learner.stream\(\)"):
        stream.push(scored(X))


def test_a_stream_warns_of_another_sampling_rate():
    index = [pd.date_range("2026-01-01", periods=len(X), freq="s") for X in Xs]
    frames = [pd.DataFrame(X, index=at) for X, at in zip(Xs, index, strict=True)]
    learner = MetricLearner(standardize="training").fit(frames, ys)
    with pytest.warns(DataWarning, match="resample to one step"):
        learner.stream().push(frames[0].set_axis(index[0][0] + 5 * (index[0] - index[0][0])))
