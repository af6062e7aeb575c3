"""The time of samples is kept, in every picture, and samples stay the unit."""

import locale
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from matplotlib.dates import num2date

from structsvm import MetricLearner
from structsvm.data.times import time_axis
from structsvm.datasets import relevant_changes
from structsvm.errors import DataError, DataWarning
from structsvm.io import (
    TimeAxis,
    arrays_and_labels,
    from_long,
    read_recording,
    read_recordings,
    write_recording,
)
from structsvm.plotting import plot_segmentation, report_page

RECORDINGS = relevant_changes(3, n_samples=200, n_features=3, n_relevant=2, random_state=0)
XS, YS = arrays_and_labels(RECORDINGS)
DAYS = pd.date_range("2024-03-01", periods=200, freq="h")


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(metric="diagonal").fit(XS, YS)


class TestAxis:
    def test_dates(self):
        axis = TimeAxis("when", DAYS.to_numpy())
        assert axis.text(1) == "2024-03-01T01:00"
        assert axis.text(200) == axis.text(199)
        assert axis.sample_at("2024-03-01 00:30") == 1
        assert axis.sample_at("2024-03-02") == 24
        assert axis.sample_at("2025-01-01") == 200
        assert axis.is_regular
        assert axis.sample_at(axis.steps[:3].sum()) == axis.sample_at(axis.text(3))
        with pytest.raises(DataError, match="'soon' is no date, as 'when' is"):
            axis.sample_at("soon")

    def test_edges_lie_between_samples(self):
        axis = TimeAxis("t", np.array([0.0, 1.0, 3.0]))
        assert axis.edges.tolist() == [-0.5, 0.5, 2.0, 4.0]
        assert TimeAxis("t", np.array([7])).edges.tolist() == [6.5, 7.5]
        hours = TimeAxis("when", DAYS.to_numpy()).edges
        assert hours[1] == np.datetime64("2024-03-01T00:30")

    @pytest.mark.parametrize(
        ("times", "message"),
        [
            (np.arange(199), "200 samples but times of shape"),
            (np.r_[np.arange(199.0), np.nan], "the time of sample 199 is missing"),
            (np.arange(200)[::-1], "times fall after sample 0"),
            (["noon"] * 200, "times must be numbers or dates"),
        ],
    )
    def test_times_that_are_none(self, times, message):
        with pytest.raises(DataError, match=message):
            time_axis(times, 200)

    def test_zones_of_an_index(self):
        axis = time_axis(DAYS.tz_localize("Europe/Berlin"), 200)
        assert axis.values[0] == np.datetime64("2024-02-29T23:00")


class TestReading:
    def frame(self, times):
        frame = pd.DataFrame(XS[0], columns=["a", "b", "c"])
        return frame.assign(when=times, label=YS[0])

    def test_dates_of_all_centuries_are_themselves(self, tmp_path):
        """Beyond 1678 and 2262 they overflowed, into dates of today."""
        lines = "when,a,label\n1066-10-14,1,0\n1492-10-12,2,0\n2300-01-01,3,1\n"
        (tmp_path / "one.csv").write_text(lines)
        time = read_recording(tmp_path / "one.csv", time_column="when").time
        assert [str(day)[:10] for day in time.values] == ["1066-10-14", "1492-10-12", "2300-01-01"]
        assert time.sample_at("1492-10-12") == 1

    def test_dates_are_shown_as_they_were_written(self, tmp_path):
        texts = DAYS.strftime("%d.%m.%Y %H:%M").tolist()
        self.frame([text.replace("01.03", "01.03") for text in texts]).to_csv(
            tmp_path / "one.csv", index=False
        )
        time = read_recording(tmp_path / "one.csv", time_column="when").time
        assert time.text(5) == texts[5]
        self.frame(DAYS).to_parquet(tmp_path / "one.parquet")
        time = read_recording(tmp_path / "one.parquet", time_column="when").time
        assert time.text(5) == "2024-03-01T05:00"

    def test_words_are_no_times(self, tmp_path):
        self.frame([f"step {t}" for t in range(200)]).to_csv(tmp_path / "one.csv", index=False)
        with pytest.warns(DataWarning, match="'step 0', row 0 .line 2., is neither a number nor"):
            recording = read_recording(tmp_path / "one.csv", time_column="when")
        assert recording.time is None
        assert recording.features == ("a", "b", "c")

    def test_months_have_english_names_whatever_the_language_of_the_program(self, tmp_path):
        """And more than one abbreviation, as June and Sept."""
        usual = locale.setlocale(locale.LC_TIME)
        days = pd.date_range("2024-04-02", periods=200)
        times = days.strftime("%b %d, %Y").str.replace("Jun", "June").str.replace("Sep", "Sept")
        self.frame(times).to_csv(tmp_path / "one.csv", index=False)
        try:
            with suppress(locale.Error):  # where it is installed
                locale.setlocale(locale.LC_TIME, "de_DE.UTF-8")
            time = read_recording(tmp_path / "one.csv", time_column="when").time
        finally:
            locale.setlocale(locale.LC_TIME, usual)
        np.testing.assert_array_equal(time.values, days.to_numpy())
        assert time.text(60) == "June 01, 2024"

    def test_irregular_sampling_is_stated(self, tmp_path):
        times = np.arange(200.0)
        times[100:] += 50
        self.frame(times).to_csv(tmp_path / "one.csv", index=False)
        with pytest.warns(DataWarning) as told:
            read_recordings(tmp_path, time_column="when")
        assert "sampled irregularly: one (steps of 'when' from 1 to 51, the median is 1)" in str(
            told[0].message
        )
        jitter = np.arange(200) + 0.1 * np.random.default_rng(0).random(200)
        self.frame(jitter).to_csv(tmp_path / "one.csv", index=False)
        assert read_recordings(tmp_path, time_column="when")[0].time.is_regular

    def test_rows_that_occur_twice_are_stated(self, tmp_path):
        """As where two exports of one recording overlap: their samples would be mixed."""
        frame = self.frame(np.arange(200.0))
        pd.concat([frame[:50], frame]).to_csv(tmp_path / "one.csv", index=False)
        with pytest.warns(DataWarning) as told:
            read_recordings(tmp_path, time_column="when")
        assert (
            "sampled irregularly: one (steps of 'when' from 0 to 1, the median is 1, and 50 are 0, "
            "as where rows occur twice)"
        ) in [str(one.message).split(".")[0] for one in told]

    def test_recordings_of_several_rates_are_named(self, tmp_path):
        """Every sample counts alike, so that a second of the faster one weighs five times more."""
        for name, step in {"a": 0.1, "b": 0.02, "c": 0.1, "d": 0.11}.items():
            self.frame(np.arange(200) * step).to_csv(tmp_path / f"{name}.csv", index=False)
        with pytest.warns(DataWarning, match="sampled at different rates") as told:
            read_recordings(tmp_path, time_column="when")
        assert len(told) == 1
        said = str(told[0].message)
        assert "steps of 'when' are 0.02 in b and 0.11 in d, by the median" in said
        assert "resample" in said
        (tmp_path / "b.csv").unlink()
        read_recordings(tmp_path, time_column="when")

    @pytest.mark.parametrize(
        "times",
        [
            (DAYS + pd.Timedelta("29D")).tz_localize("UTC").tz_convert("Europe/Berlin"),
            DAYS.tz_localize("Asia/Tokyo").map(str),
            pd.to_datetime(np.arange(200) * 60 + 5.5e4, unit="s").strftime("%H:%M:%S"),
            (DAYS + pd.Timedelta("20D")).strftime("%d.%m.%Y"),
        ],
        ids=["zone put forward", "zone as text", "clock", "day first"],
    )
    def test_arrays_keep_what_times_mean(self, tmp_path, times):
        frame = self.frame(times).assign(who=1)
        (recording,) = from_long(frame, recording="who", time="when")
        write_recording(recording, tmp_path / "one.npz")
        axis, again = recording.time, read_recording(tmp_path / "one.npz").time
        np.testing.assert_array_equal(again.values, axis.values)
        assert [again.text(i) for i in (0, 199, 200)] == [axis.text(i) for i in (0, 199, 200)]
        assert (again.title, again.clock, again.day_first) == (
            axis.title,
            axis.clock,
            axis.day_first,
        )
        assert str(again.offset) == str(axis.offset)

    def test_an_array_that_says_something_else_of_times_is_named(self, tmp_path):
        said = {"X": XS[0], "y": YS[0], "time": np.arange(200), "time.clock": np.arange(200)}
        np.savez(tmp_path / "one.npz", **said)
        with pytest.raises(DataError, match=r"one\.npz: 'time\.clock' holds int64 values of shape"):
            read_recording(tmp_path / "one.npz")


class TestPictures:
    def ends(self, ax):
        return [bar.get_x() + bar.get_width() for bar in ax.patches]

    def test_numbers(self, learner):
        plain = plot_segmentation(learner, XS[0], YS[0])
        timed = plot_segmentation(learner, XS[0], YS[0], times=10 + np.arange(200) / 50)
        np.testing.assert_allclose(self.ends(timed), 10 + np.array(self.ends(plain)) / 50)
        assert (plain.get_xlabel(), timed.get_xlabel()) == ("sample", "time")
        np.testing.assert_allclose(timed.lines[0].get_xdata()[[0, -1]], [10, 13.98])

    def test_dates_of_a_frame(self, learner):
        frame = pd.DataFrame(XS[0], index=DAYS.rename("hour"))
        ax = plot_segmentation(learner, frame.to_numpy(), YS[0], times=frame.index)
        assert ax.get_xlabel() == "hour"
        change = learner.predict_breakpoints(XS[:1])[0][0]
        ends = [num2date(end).replace(tzinfo=None) for end in self.ends(ax)]
        half = pd.Timedelta(minutes=30)
        assert any(abs(pd.Timestamp(end) - (DAYS[change] - half)) < half / 100 for end in ends)

    def test_the_report_has_them(self, learner):
        times = [DAYS, np.cumsum(np.random.default_rng(0).random(200)), None]
        page = report_page(learner, XS, YS, times=times)
        assert '"name":"time","date":true,"at":[0,199]' in page
        assert '"date":false,"at":[0,1,2,' in page
        with pytest.raises(DataError, match="3 recordings but times of 1"):
            report_page(learner, XS, YS, times=[DAYS])
