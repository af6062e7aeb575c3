"""Files and frames nobody prepared: long tables, time among the features, marks for labels."""

import warnings

import numpy as np
import pandas as pd
import pytest

from structsvm.data.reading import count_marks
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.io import Recording, from_long, read_recordings
from structsvm.io.cleaning import read_labels_as, without_odd_columns


def long_frame(ids=("ann", "ben"), T=30, seed=0):
    """Return a table of a recording for each id, with a change in its middle."""
    rng = np.random.default_rng(seed)
    parts = []
    for name in ids:
        label = np.where(np.arange(T) < T // 2, "rest", "walk")
        x = rng.normal(size=T) + 5.0 * (label == "walk")
        frame = {"who": name, "t": np.arange(T), "x": x, "z": rng.normal(size=T), "label": label}
        parts.append(pd.DataFrame(frame))
    return pd.concat(parts, ignore_index=True)


def recording(**columns):
    X = np.column_stack(list(columns.values())).astype(float)
    return Recording("one", X, None, tuple(columns))


class TestFolders:
    def test_tables_that_are_not_read_are_refused(self, tmp_path):
        (tmp_path / "one.csv").write_text("a,label\n1,0\n2,1\n")
        (tmp_path / "two.ods").write_text("a\tlabel\n1\t0\n")
        with pytest.raises(DataError, match=r"two\.ods is of no kind that is read"):
            read_recordings(tmp_path)
        (tmp_path / "two.ods").rename(tmp_path / "LICENSE")
        assert len(read_recordings(tmp_path)) == 1


class TestLongTables:
    def test_a_multi_index_is_enough(self):
        frame = long_frame()
        expected = from_long(frame, recording="who", time="t")
        for names in (["who", "t"], [None, None]):
            indexed = frame.set_index(["who", "t"]).rename_axis(names)
            for one, other in zip(from_long(indexed), expected, strict=True):
                assert (one.name, one.features) == (other.name, other.features)
                np.testing.assert_array_equal(one.X, other.X)

    @pytest.mark.parametrize("dates", [False, True])
    def test_rows_are_put_in_the_order_of_time(self, dates):
        frame = long_frame()
        if dates:
            days = pd.Timestamp("2024-01-01") + pd.to_timedelta(frame["t"], unit="D")
            frame["t"] = days.dt.strftime("%Y-%m-%d")
        expected = from_long(frame, recording="who", time="t")
        mixed = frame.sample(frac=1.0, random_state=0)
        with pytest.warns(DataWarning, match="not in the order of 't'"):
            found = from_long(mixed, recording="who", time="t")
        by_name = {r.name: r for r in found}
        for other in expected:
            np.testing.assert_array_equal(by_name[other.name].X, other.X)

    def test_files(self, tmp_path):
        frame = long_frame()
        frame.to_csv(tmp_path / "long.csv", index=False)
        frame.set_index(["who", "t"]).to_parquet(tmp_path / "long.parquet")
        for kind in ("csv", "parquet"):
            found = read_recordings(
                tmp_path / f"long.{kind}", recording_column="who", time_column="t"
            )
            assert [r.name for r in found] == ["ann", "ben"]
            assert found[0].features == ("x", "z")
            assert "long" in found[0].where
            assert "ann" in found[0].where

    def test_recordings_of_several_files_have_longer_names(self, tmp_path):
        for name in ("mon", "tue"):
            long_frame().to_csv(tmp_path / f"{name}.csv", index=False)
        found = read_recordings(tmp_path, recording_column="who", time_column="t")
        assert [r.name for r in found] == ["mon/ann", "mon/ben", "tue/ann", "tue/ben"]

    def test_a_name_is_no_path(self):
        found = from_long(long_frame(["../up", "b"]), recording="who", time="t")
        assert found[0].name == ".._up"
        with pytest.raises(DataError, match="two recordings would be called 'a_b'"):
            from_long(long_frame(["a/b", "a_b"]), recording="who", time="t")

    def test_what_cannot_be_taken_apart(self, tmp_path):
        frame = long_frame()
        with pytest.raises(SettingsError, match="needs recording="):
            from_long(frame)
        with pytest.raises(DataError, match="no column 'nobody'"):
            from_long(frame, recording="nobody")
        with pytest.raises(DataError, match="features names 'nothing', which it has no column of"):
            from_long(frame, recording="who", features=["nothing"])
        frame.loc[3, "who"] = None
        with pytest.raises(DataError, match="row 3 is of no recording, column 'who' is blank"):
            from_long(frame, recording="who", time="t")
        np.savez(tmp_path / "a.npz", X=np.ones((3, 1)), y=[0, 0, 1])
        with pytest.raises(DataError, match="without a column 'who': only tables have"):
            read_recordings(tmp_path, recording_column="who")

    def test_a_missing_time_is_named(self):
        frame = long_frame().astype({"t": float})
        frame.loc[4, "t"] = np.nan
        with pytest.raises(DataError, match="no time in row 4, column 't': give it one"):
            from_long(frame, recording="who", time="t")


def uneven(rng):
    """Times that are not told exactly."""
    return np.arange(50) / 10 + 0.01 * rng.random(50)


class TestColumns:
    def told(self, *recordings):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            without_odd_columns(recordings)
        return [str(warning.message) for warning in found]

    def test_what_only_counts_is_left_out(self, rng):
        one = recording(clock=np.arange(50) / 10, x=rng.normal(size=50))
        with pytest.warns(DataWarning, match="1 column left out.*: clock"):
            (found,) = without_odd_columns([one])
        assert found.features == ("x",)
        assert without_odd_columns([one], ["clock", "x"]) == [one]

    def test_counters_of_rows_that_were_lost_in_part_are_left_out(self, rng):
        for lost in ([], [7], [7, 30]):
            counter = np.delete(np.arange(53.0), lost)
            (found,) = self.quietly(recording(counter=counter, x=rng.normal(size=counter.size)))
            assert found.features == ("x",)

    def quietly(self, *recordings):
        with pytest.warns(DataWarning, match="left out"):
            return without_odd_columns(recordings)

    def test_time_is_named(self, rng):
        (said,) = self.told(recording(clock=uneven(rng), x=rng.normal(size=50)))
        assert said.startswith("'clock' only rises")
        assert "time_column='clock'" in said
        assert "time_column=" in said

    def test_what_is_measured_is_not_named(self, rng):
        level = np.repeat([0.0, 1.0, 2.0], 20)
        assert self.told(recording(level=level, x=rng.normal(size=60))) == []
        assert self.told(recording(a=np.arange(6), b=np.arange(6) ** 2)) == []

    def test_an_identifier_is_named(self, rng):
        who = rng.integers(0, 5, 50)
        for name in ("subject", "patient_id", "trialNumber", "ID"):
            (said,) = self.told(recording(**{name: who, "x": rng.normal(size=50)}))
            assert f"recording_column={name!r}" in said
        assert self.told(recording(width=who, x=rng.normal(size=50))) == []

    def test_a_long_table_is_recognised(self, rng):
        one = recording(
            nr=np.repeat([4, 2, 7], 20), t=np.tile(np.arange(20), 3), x=rng.normal(size=60)
        )
        (said,) = self.told(one)
        assert "recording_column='nr' and time_column='t'" in said

    def test_a_row_of_values_is_no_header(self, rng):
        (said,) = self.told(recording(**{"1.88": rng.normal(size=50), "0.3": rng.normal(size=50)}))
        assert "'1.88', '0.3', which looks like a row of values" in said


class TestChanges:
    marks = np.zeros(100, dtype=int)
    marks[[30, 70]] = 1

    def labelled(self, y):
        return Recording("walk", np.zeros((len(y), 1)), np.asarray(y), ("x",))

    def test_marks_are_asked_about(self):
        for y in (self.marks, self.marks.astype(float), self.marks == 1, self.marks.astype(str)):
            with pytest.raises(DataError, match="walk: the labels are 0 but for 2 single samples"):
                read_labels_as([self.labelled(y)], None, ask=True)
            (found,) = read_labels_as([self.labelled(y)], "changes", ask=True)
            assert found.y.tolist() == [0] * 30 + [1] * 40 + [2] * 30
            (found,) = read_labels_as([self.labelled(y)], "states", ask=True)
            assert found.y.tolist() == list(y)

    @pytest.mark.parametrize(
        "y",
        [
            np.repeat([0, 1, 0], [30, 2, 68]),
            np.tile([0, 1], 50),
            np.repeat([0, 1], 50),
            np.zeros(100, dtype=int),
            np.where(marks == 1, 2, 0),
            np.where(marks == 1, "odd", "even"),
        ],
    )
    def test_states_are_not(self, y):
        assert not count_marks([self.labelled(y).y])

    def test_what_is_no_mark(self):
        with pytest.raises(DataError, match="walk: labels that are changes must be 0 or 1, got 2"):
            read_labels_as([self.labelled([0, 2, 1])], "changes", ask=True)
        with pytest.raises(DataError, match="where a label is blank write 0"):
            read_labels_as([self.labelled([0, -1, 1])], "changes", ask=True)
        with pytest.raises(SettingsError, match="got 'marks'"):
            read_labels_as([], "marks", ask=True)
