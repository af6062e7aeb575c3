"""Times of samples are read, kept and drawn; answers stay in samples."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from cases import cases
from recording_cases import changes

from structsvm import DataError, MetricLearner
from structsvm.data import length_in
from structsvm.errors import DataWarning
from structsvm.io import (
    TimeAxis,
    from_long,
    intervals_of,
    labels_of,
    read_recording,
    read_recordings,
    with_labels,
    write_recording,
)
from structsvm.plotting import plot_segmentation

XS, YS = changes(3, n_features=3)
DAYS = pd.date_range("2024-03-01", periods=200, freq="h")


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(metric="diagonal").fit(XS, YS)


READ = {"time_column": "when", "need_labels": False, "features": ["row"]}


def write(folder, texts, name="one"):
    """A recording with such times, and with the numbers of its rows as its only feature."""
    path = folder / f"{name}.csv"
    pd.DataFrame({"row": np.arange(len(texts)), "when": texts}).to_csv(path, index=False)
    return path


def read(folder, texts):
    return read_recording(write(folder, texts), **READ)


def test_an_axis_of_dates_converts_between_samples_and_dates():
    axis = TimeAxis("when", DAYS.to_numpy())
    assert axis.text(1) == "2024-03-01T01:00"
    assert axis.text(200) == axis.text(199)
    moments = {"2024-03-01 00:30": 1, "2024-03-02": 24, "2025-01-01": 200}
    assert {moment: axis.sample_at(moment) for moment in moments} == moments
    assert axis.sample_at(axis.steps[:3].sum()) == axis.sample_at(axis.text(3))
    with pytest.raises(DataError, match="'soon' is no date, as 'when' is"):
        axis.sample_at("soon")


def test_words_are_not_read_as_times(tmp_path):
    with pytest.warns(DataWarning, match="'step 0', row 0 .line 2., is neither a number nor"):
        recording = read(tmp_path, [f"step {t}" for t in range(200)])
    assert recording.time is None
    assert recording.features == ("row",)


def test_irregular_sampling_is_warned_of(tmp_path):
    times = np.arange(200.0)
    times[100:] += 50
    write(tmp_path, times)
    said = r"sampled irregularly, with steps of one \(from 1 to 51, the median is 1\)"
    with pytest.warns(DataWarning, match=said):
        read_recordings(tmp_path, **READ)
    jitter = np.arange(200) + 0.1 * np.random.default_rng(0).random(200)
    read(tmp_path, jitter)  # which is regular, and no warning


def test_recordings_of_several_rates_are_named(tmp_path):
    """Every sample counts alike, so that a second of the faster one weighs five times more."""
    for name, step in {"a": 0.1, "b": 0.02, "c": 0.1, "d": 0.11}.items():
        write(tmp_path, np.arange(200) * step, name)
    said = "different rates.* steps are 0.11 in d, by the median, and 0.02 in b.*resample"
    with pytest.warns(DataWarning, match=said):
        read_recordings(tmp_path, **READ)
    (tmp_path / "b.csv").unlink()
    read_recordings(tmp_path, **READ)


@cases(
    (DAYS + pd.Timedelta("29D")).tz_localize("UTC").tz_convert("Europe/Berlin"),
    DAYS.tz_localize("Asia/Tokyo").map(str),
    DAYS.tz_localize("Europe/London").map(lambda day: f"{day.isoformat()}[Europe/London]"),
    DAYS.strftime("%Y-%m-%d %H:%M:%S:500"),
    pd.to_datetime(np.arange(200) * 60 + 5.5e4, unit="s").strftime("%H:%M:%S"),
    (DAYS + pd.Timedelta("20D")).strftime("%d.%m.%Y"),
    ids=["zone put forward", "zone as text", "zone by name", "milliseconds", "clock", "day first"],
)
def test_arrays_keep_what_times_mean(tmp_path, times):
    frame = pd.DataFrame({"who": 1, "x": np.sin(np.arange(200)), "when": times})
    (recording,) = from_long(frame, recording="who", time="when")
    write_recording(recording, tmp_path / "one.npz")
    axis = recording.time
    again = read_recording(tmp_path / "one.npz", need_labels=False).time
    np.testing.assert_array_equal(again.values, axis.values)
    assert [again.text(i) for i in (0, 199, 200)] == [axis.text(i) for i in (0, 199, 200)]
    for name in ("title", "clock", "day_first", "offset"):
        assert str(getattr(again, name)) == str(getattr(axis, name))


def test_times_are_written_with_decimals_if_seconds_are_not_whole(tmp_path):
    """As Python writes them; the rows are put in their order all the same."""
    moments = pd.date_range("2024-01-01 10:00", periods=20, freq="500ms")
    texts = [moment.isoformat() for moment in moments]
    assert texts[:2] == ["2024-01-01T10:00:00", "2024-01-01T10:00:00.500000"]
    found = read(tmp_path, texts)
    np.testing.assert_array_equal(found.time.values, moments.to_numpy())
    with pytest.warns(DataWarning, match="not in the order of 'when'"):
        found = read(tmp_path, texts[::-1])
    assert found.X[:, 0].tolist() == [*range(19, -1, -1)]


@pytest.mark.parametrize("style", ["%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M"])
@pytest.mark.parametrize(("start", "step"), [("2024-02-05", "12h"), ("2024-02-05", "1h")])
def test_the_order_of_day_and_month_is_that_of_the_whole_column(tmp_path, style, start, step):
    """Of a week that both ways can mean, nobody samples a day in each of seven months."""
    moments = pd.date_range(start, periods=60, freq=step)
    found = read(tmp_path, moments.strftime(style).tolist())
    np.testing.assert_array_equal(found.time.values, moments.to_numpy())
    changes = tmp_path / "changes.csv"
    pd.DataFrame({"change": moments[[7, 30]].strftime(style)}).to_csv(changes, index=False)
    (labelled,) = with_labels([found], changes)
    assert np.flatnonzero(np.diff(labelled.y)).tolist() == [6, 29]
    assert found.time.sample_at(moments[11].isoformat()) == 11


@pytest.mark.parametrize("style", ["%d/%m/%Y", "%m/%d/%Y"])
@pytest.mark.parametrize("freq", ["MS", "QS"])
def test_the_first_days_of_months_are_no_first_days_of_years(tmp_path, style, freq):
    moments = pd.date_range("1990-01-01", periods=60, freq=freq)
    found = read(tmp_path, moments.strftime(style).tolist())
    np.testing.assert_array_equal(found.time.values, moments.to_numpy())


@pytest.mark.parametrize(("kind", "step"), [(np.int8, 60), (np.uint8, 100), (np.int16, 16000)])
def test_steps_of_small_integers_do_not_overflow(kind, step):
    times = np.array([0, step, 2 * step], dtype=kind)
    assert intervals_of(["a", "b", "b"], times)[-1].end == 3 * step
    assert TimeAxis("t", np.array([-100, 100], dtype=np.int8)).steps.tolist() == [200]


@cases(
    (np.arange(5), r"6 samples but times of shape \(5,\)"),
    (np.array([0, 1, 2, 4, 3, 5]), "times fall after sample 3"),
    (np.array([0, 1, np.nan, 3, 4, 5]), "the time of sample 2 is missing"),
    (np.array([0, 1, 2, 3, 4, np.inf]), "the time of sample 5 is missing or infinite"),
    (np.array(list("abcdef")), "times must be numbers or dates, got <U1 values"),
)
def test_times_of_an_npz_that_are_none_are_named(tmp_path, time, reason):
    np.savez(tmp_path / "one.npz", X=np.zeros((6, 2)), time=time)
    with pytest.warns(DataWarning, match=f"one.npz: 'time' is not used, because {reason}"):
        assert read_recording(tmp_path / "one.npz", need_labels=False).time is None


@pytest.mark.parametrize("style", ["%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M", "%Y-%m-%d %H:%M"])
@pytest.mark.parametrize("first", ["2024-03-31 23:00", "2024-04-01 01:00", "2024-04-30 23:00"])
def test_a_moment_is_read_in_the_order_of_the_dates_of_its_recording(tmp_path, style, first):
    """The 31st tells pandas what comes first in the column, and nothing about the next day."""
    clock = pd.date_range(first, periods=120, freq="min").strftime(style)
    walk = read(tmp_path, clock)
    assert [walk.time.sample_at(moment) for moment in clock] == list(range(120))


def minutes(t):
    """Half a second for each sample, from 58 minutes on."""
    return f"{58 + t // 120}:{t % 120 / 2:04.1f}"


def clock(t):
    return f"{t // 7200:02d}:{t // 120 % 60:02d}:{t % 120 / 2:06.3f}"


def seconds(t):
    return f"{t / 2}"


@pytest.mark.parametrize(("text", "marked"), [(minutes, minutes), (clock, clock), (clock, seconds)])
def test_times_on_a_clock_are_those_of_its_seconds(tmp_path, text, marked):
    """58:00.5 is half a second past 58 minutes; labels are on the clock or in seconds."""
    found = read(tmp_path, [text(t) for t in range(300)])
    assert found.time.steps.tolist() == [0.5] * 299
    labels = tmp_path / "labels.csv"
    stretches = [(marked(0), marked(130), "a"), (marked(130), marked(301), "b")]
    pd.DataFrame(stretches, columns=["start", "end", "label"]).to_csv(labels, index=False)
    (labelled,) = with_labels([found], labels)
    assert labelled.y.tolist() == ["a"] * 130 + ["b"] * 170
    assert found.time.text(130) == text(130)


def test_a_clock_that_passes_midnight_keeps_its_order(tmp_path):
    """Its rows were put in the order of their hours, so that the second day came first."""
    moments = pd.date_range("2024-01-01 22:00", periods=40, freq="15min")
    found = read(tmp_path, moments.strftime("%H:%M").tolist())
    assert found.X[:, 0].tolist() == [*range(40)]
    changes = tmp_path / "changes.csv"
    changes.write_text("change\n23:00\n00:30\n")
    (labelled,) = with_labels([found], changes)
    assert np.flatnonzero(np.diff(labelled.y)).tolist() == [3, 9]
    with pytest.warns(DataWarning, match="not in the order of 'when'"):
        read(tmp_path, moments.strftime("%H:%M").tolist()[::-1])


@cases(
    ("%d/%m/%Y %H:%M", r"'03/02/2024 00:00' .* for 2024-03-02, the month first, though"),
    ("%d.%m.%Y %H:%M", None),
    ("%Y-%m-%d %H:%M", None),
)
def test_dates_of_ambiguous_order_are_warned_of(tmp_path, style, told):
    moments = pd.date_range("2024-02-03", periods=20, freq="1min")
    frame = pd.DataFrame({"x": np.zeros(20), "when": moments.strftime(style)})
    frame.assign(label=0).to_csv(tmp_path / "one.csv", index=False)
    with pytest.warns(DataWarning, match=told) if told else nullcontext():
        (found,) = read_recordings(tmp_path / "one.csv", time_column="when")
    if not told:
        np.testing.assert_array_equal(found.time.values, moments.to_numpy())


BERLIN = pd.date_range("2024-05-01 08:00", periods=48, freq="10min", tz="Europe/Berlin")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_times_with_a_zone_are_on_the_clock_of_the_zone(tmp_path, kind):
    """Moments without a zone were taken for UTC, and times of Parquet files told in it."""
    frame = pd.DataFrame({"x": np.arange(48.0), "when": BERLIN})
    path = tmp_path / f"one.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    found = read_recording(path, time_column="when", need_labels=False)
    assert found.time.text(10) == str(BERLIN[10]) == "2024-05-01 09:40:00+02:00"
    assert str(found.time.edges[10]) == "2024-05-01T09:35:00.000000000"  # as pictures show it
    assert found.time.title == "when"  # which are not in UTC
    for moment in (BERLIN[10], BERLIN[10].tz_localize(None), BERLIN[10].tz_convert("UTC")):
        assert found.time.sample_at(str(moment)) == 10


def test_a_moment_without_a_time_zone_is_refused_where_it_matters():
    naive = TimeAxis("when", BERLIN.tz_localize(None).to_numpy())
    with pytest.raises(DataError, match="has another time zone than the times of 'when'"):
        naive.sample_at(str(BERLIN[10]))
    spring = pd.date_range("2024-03-31", periods=48, freq="10min", tz="Europe/Berlin")
    frame = pd.DataFrame({"who": 1, "x": 0.0, "when": spring})
    (found,) = from_long(frame, recording="who", time="when")
    assert found.time.sample_at(str(spring[30])) == 30
    assert found.time.title == "when (UTC)"
    with pytest.raises(DataError, match="has another time zone than the times of 'when'"):
        found.time.sample_at(str(spring[30].tz_localize(None)))


def test_numbers_of_participants_are_no_lengths_of_time():
    assert [length_in(text) for text in ("P001", "P1", "p12", "P", "PT", "P1M")] == [None] * 6
    lengths = {"P1D": 86400.0, "PT1M30,5S": 90.5, "P1W": 604800.0, "P1DT2H": 93600.0, "-PT5S": -5.0}
    assert {text: length_in(text) for text in lengths} == lengths


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e6, 1e9])
def test_dates_with_a_zone_are_moments_of_numbers_since_1970(unit):
    axis = TimeAxis("t", unit * (BERLIN - pd.Timestamp(0, tz="UTC")).total_seconds().to_numpy())
    assert [axis.sample_at(str(one)) for one in BERLIN] == list(range(len(BERLIN)))
    with pytest.raises(DataError, match="has no time zone, and 't' counts from 1970, in UTC"):
        axis.sample_at(str(BERLIN[10].tz_localize(None)))
    for moment, times in (("2024-03-31 12:00Z", np.arange(5.0)), ("noon", axis.values)):
        with pytest.raises(DataError, match="is no number, as 't' is"):
            TimeAxis("t", times).sample_at(moment)


@pytest.mark.parametrize("times", [BERLIN, pd.Series(BERLIN), BERLIN.tz_localize(None)])
def test_intervals_with_a_time_zone_are_read_as_written(times):
    labels = ["a"] * 20 + ["b"] * 28
    partial = labels_of(intervals_of(labels, times), times)
    assert np.array(partial.labels).tolist() == labels


# ---- pictures


def ends_in(ax):
    return [bar.get_x() + bar.get_width() for bar in ax.patches]


def test_pictures_of_recordings_have_their_times(learner):
    plain = plot_segmentation(learner, XS[0], YS[0])
    timed = plot_segmentation(learner, XS[0], YS[0], times=10 + np.arange(200) / 50)
    np.testing.assert_allclose(ends_in(timed), 10 + np.array(ends_in(plain)) / 50)
    assert (plain.get_xlabel(), timed.get_xlabel()) == ("sample", "time")
    np.testing.assert_allclose(timed.lines[0].get_xdata()[[0, -1]], [10, 13.98])
