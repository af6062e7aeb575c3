"""Recordings in files: what is read, and which errors bad files give."""

import shlex
import subprocess
import sys
import warnings
from zipfile import ZipFile

import h5py
import numpy as np
import pandas as pd
import pytest
from cases import Bomb, cases
from programs import loaded
from scipy.io import savemat

from structsvm.data.columns import warn_about_columns
from structsvm.data.labels import count_marks
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.io import (
    FileOptions,
    Recording,
    from_long,
    read_recording,
    read_recordings,
    write_recording,
)
from structsvm.io.cleaning import cleaned, read_labels_as
from structsvm.io.folders import find_recordings

X = np.arange(12.0).reshape(6, 2) ** 2
Y = np.array([0, 0, 0, 1, 1, 1])


def npz(path, **arrays):
    np.savez(path, **{"X": X, "y": Y, "features": ["a", "b"], **arrays})
    return path


def text(path, content):
    path.write_text(content, encoding="utf-8")
    return path


def complaint(*paths, **options) -> str:
    with pytest.raises(DataError) as caught:
        read_recordings(paths, **options)
    return str(caught.value)


class TestWhatIsRead:
    def test_files_without_labels_are_read_where_none_are_needed(self, tmp_path):
        text(tmp_path / "one.csv", "a,b\n1,2\n")
        np.savez(tmp_path / "two.npz", X=X, features=["b", "a"])
        first, second = read_recordings(
            [tmp_path / "one.csv", tmp_path / "two.npz"], need_labels=False
        )
        assert first.y is None
        assert second.y is None
        np.testing.assert_array_equal(second.X, X[:, ::-1])  # columns are matched by name

    def test_a_folder_is_read_in_the_order_of_names_and_for_one_kind_of_file(self, tmp_path):
        for name in ("b.npz", "a.npz", "c.npz"):
            npz(tmp_path / name)
        text(tmp_path / "index.csv", "file\na\n")
        (tmp_path / "raw").mkdir()
        found, skipped = find_recordings(tmp_path)
        assert [*found.values()] == ["a", "b", "c"]
        assert [path.name for path in skipped] == ["index.csv"]

    def test_names_of_recordings_have_as_many_folders_as_distinguish_them(self, tmp_path):
        for folder in ("anna", "ben"):
            (tmp_path / folder).mkdir()
            npz(tmp_path / folder / "walk.npz")
        files = [tmp_path / "anna" / "walk.npz", tmp_path / "ben" / "walk.npz"]
        assert [*find_recordings(files)[0].values()] == ["anna/walk", "ben/walk"]
        assert [*find_recordings([files[0], tmp_path / "anna"])[0].values()] == ["walk"]

    def test_subfolders_are_read_but_for_what_lies_beside_recordings(self, tmp_path):
        """Same names are told apart by folders; an output folder of the product is no input."""
        recordings = ["ann/1/walk", "ann/2/walk", "ben/walk", "img/walk"]
        beside = [
            *("labels/walk.csv", "tried/predicted/r_end_segments.csv", ".old/walk.csv"),
            "tried/tried.npz",
            *("index.csv", "ben/images/walk.npy", "segmented/ben/walk_segments.csv", "ReadMe.txt"),
            "ben/images/walk.png",
        ]
        for name in (*(f"{name}.csv" for name in recordings), *beside, "tried/model.structsvm"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            text(tmp_path / name, "a,label\n1,0\n3,1\n")
        text(tmp_path / "labels" / "walk.csv", "start,end,label\n0,1,x\n1,2,y\n")
        (tmp_path / "empty").mkdir()
        (tmp_path / "ann" / "loop").symlink_to(tmp_path, target_is_directory=True)
        (tmp_path / "linked").symlink_to(tmp_path / "ben", target_is_directory=True)
        found, skipped = find_recordings(tmp_path)
        assert [*found.values()] == recordings
        others = {"labels", "images", "loop", "index.csv", "tried", "segmented", "ReadMe.txt"}
        assert {path.name for path in skipped} == others
        several, _ = find_recordings([tmp_path / "ben", tmp_path / "ann" / "1" / "walk.csv"])
        assert [*several.values()] == ["ben/walk", "ann/1/walk"]
        assert [*find_recordings(tmp_path / "ben", labels=tmp_path)[0].values()] == ["walk"]
        npz(tmp_path / "ben" / "walk.npz")
        assert "ben/walk.npz has the name of another file" in complaint(tmp_path)


class TestWhatIsWritten:
    @cases(
        np.array(["rest", "walk"] * 3, dtype=object),
        np.array([0, 1] * 3, dtype=object),
        pd.Series(["rest", "walk"] * 3, dtype="category"),
        pd.Series(["rest", "walk"] * 3, dtype="string"),
        ids=["names", "numbers", "categories", "texts"],
    )
    def test_labels_that_are_objects_survive_a_file(self, tmp_path, y):
        write_recording(Recording("one", X, y, ("a", "b")), tmp_path / "one.npz")
        found = read_recording(tmp_path / "one.npz")
        assert found.y.tolist() == y.tolist()
        np.testing.assert_array_equal(found.X, X)

    @cases(
        (np.array(["rest", None] * 3, dtype=object), "label of sample 1 is missing"),
        (np.array([0.0, np.nan] * 3), "label of sample 1 is missing"),
        (np.ma.array([0, 1] * 3, mask=[0, 1] * 3), "label of sample 1 is masked"),
        (np.array(["rest", -1] * 3, dtype=object), "labels of kind int and str"),
    )
    def test_labels_that_a_file_cannot_hold_are_refused(self, tmp_path, y, complaint):
        with pytest.raises(DataError, match=f"one: .*{complaint}"):
            write_recording(Recording("one", X, y, ("a", "b")), tmp_path / "one.npz")
        assert not (tmp_path / "one.npz").exists()

    def test_masked_values_are_missing_in_a_written_file(self, tmp_path):
        hidden = np.ma.array(X, mask=np.arange(12).reshape(6, 2) == 5)
        write_recording(Recording("one", hidden, Y, ("a", "b")), tmp_path / "one.npz")
        with pytest.warns(DataWarning, match="missing"):
            found = read_recording(tmp_path / "one.npz", missing="mask").X
        np.testing.assert_array_equal(found, hidden.filled(np.nan))


class TestBadArchives:
    @cases(
        (
            {"X": X[:, 0]},
            r"expected numbers 'X' \(T, P\), .*, got float64 values of shape \(6,\)",
        ),
        ({"X": X[:0]}, r"values of shape \(0, 2\)"),
        ({"X": np.array([["1", "2"]] * 6)}, "got <U1 values"),
        ({"X": np.where(X == 9, np.nan, X)}, "a missing value in row 1, column 'b'"),
        ({"X": np.where(X == 16, -np.inf, X)}, "-inf in row 2, column 'a'"),
        ({"y": Y[:5]}, r"y has shape \(5,\), X has 6 rows"),
        ({"y": np.where(Y == 1, np.nan, Y)}, "the label of row 3 is nan"),
        ({"features": ["a", "b", "c"]}, "3 names in 'features', X has 2 columns"),
        ({"features": ["a", "a"]}, "features need different names, repeated: 'a'"),
    )
    def test_arrays_of_an_npz_that_do_not_fit_are_refused(self, tmp_path, arrays, message):
        with pytest.raises(DataError, match=message) as caught:
            read_recordings(npz(tmp_path / "one.npz", **arrays))
        assert str(tmp_path / "one.npz") in str(caught.value)

    @pytest.mark.parametrize(
        "bkps",
        [[2, 4], [4, 2, 6], [0, 6], [2, 2, 6], [2, 8], [-1, 6], ["a", "6"], [float("nan"), 6.0]],
    )
    def test_unsorted_breakpoints_of_an_npz_are_refused(self, tmp_path, bkps):
        np.savez(tmp_path / "one.npz", X=X, bkps=bkps)
        assert f"bkps must increase and end with 6, the number of rows; got {bkps}" in complaint(
            tmp_path
        )

    def test_contradicting_labels_and_breakpoints_of_an_npz_are_refused(self, tmp_path):
        """The labels won without a word."""
        np.savez(tmp_path / "one.npz", X=X, y=[0, 0, 1, 1, 1, 0], bkps=[2, 3, 5, 6])
        assert "of 'y' and 'bkps' just one has a change at sample 3" in complaint(tmp_path)
        assert read_recording(tmp_path / "one.npz", need_labels=False).X.shape == X.shape
        np.savez(tmp_path / "one.npz", X=X, y=list("aabbba"), bkps=[2, 5, 6])
        assert read_recording(tmp_path / "one.npz").y.tolist() == list("aabbba")

    def test_missing_arrays_of_an_npz_are_named(self, tmp_path):
        np.savez(tmp_path / "one.npz", data=X)
        assert "expected numbers 'X' (T, P)" in complaint(tmp_path)
        assert "it holds 'data': array='NAME' reads another" in complaint(tmp_path)
        assert (
            read_recording(tmp_path / "one.npz", need_labels=False, array="data").X.shape == X.shape
        )
        np.savez(tmp_path / "one.npz", X=X, s=1 - X, y=list("aabbba"))
        assert np.array_equal(read_recording(tmp_path / "one.npz", array="s").X, 1 - X)
        np.savez(tmp_path / "one.npz", X=X)
        assert "no labels, neither 'y' nor 'bkps'; it holds 'X'" in complaint(tmp_path)

    def test_truncated_or_foreign_npz_files_are_refused(self, tmp_path):
        file = npz(tmp_path / "one.npz")
        whole = file.read_bytes()
        for content in (whole[: len(whole) // 2], b"", whole[:40]):
            file.write_bytes(content)
            assert f"{file}: damaged, no .npz file, or one with pickled" in complaint(file)
        np.save(file.with_suffix(".npy"), X)
        for content in (b"hello", file.with_suffix(".npy").read_bytes()):
            file.write_bytes(content)
            assert "no .npz file" in complaint(file)

    def test_pickled_objects_in_npz_files_are_never_loaded(self, tmp_path):
        np.savez(tmp_path / "one.npz", X=np.array([Bomb()], dtype=object), y=[0])
        assert "pickled objects, which are never loaded (save names as text" in complaint(tmp_path)


class TestFoldersAndSets:
    def test_missing_files_are_named(self, tmp_path):
        assert "gone.csv: no such file or folder" in complaint(tmp_path / "gone.csv")
        assert complaint() == "no recordings were given: name files or folders"

    def test_a_folder_without_recordings_is_refused_with_its_contents(self, tmp_path):
        (tmp_path / "anna").mkdir()
        (tmp_path / "b.pdf").write_text("%PDF-1.4\n1 0 obj\n")
        assert complaint(tmp_path) == (
            f"{tmp_path}: no .npz, .parquet, .csv, .tsv, .tab, .txt, .xlsx files in this folder or "
            "below, only b.pdf"
        )

    def test_a_file_of_an_unknown_kind_is_refused(self, tmp_path):
        file = text(tmp_path / "notes.md", "hello")
        assert "notes.md is of no kind that is read; give .npz, .parquet, .csv, .tsv" in complaint(
            file
        )

    def test_files_with_different_features_are_both_named(self, tmp_path):
        npz(tmp_path / "one.npz")
        npz(tmp_path / "two.npz", features=["a", "c"])
        assert complaint(tmp_path) == (
            f"{tmp_path / 'two.npz'} has other features than {tmp_path / 'one.npz'}: "
            "lacks 'b' and has 'c' besides"
        )

    def test_tables_that_are_not_read_are_refused(self, tmp_path):
        (tmp_path / "one.csv").write_text("a,label\n1,0\n2,1\n")
        (tmp_path / "two.ods").write_text("a\tlabel\n1\t0\n")
        with pytest.raises(DataError, match=r"two\.ods is of no kind that is read"):
            read_recordings(tmp_path)
        (tmp_path / "two.ods").rename(tmp_path / "LICENSE")
        assert len(read_recordings(tmp_path)) == 1


# ---- files and frames that nobody prepared: long tables, time among the features, marks for labels


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


class TestLongTables:
    def test_a_multi_index_names_recordings_and_times(self):
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

    def test_long_tables_are_read_from_files(self, tmp_path):
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

    @cases(["who", "day"], "who,day", "who, day")
    def test_several_columns_name_a_recording(self, tmp_path, key):
        frames = [long_frame(T=12).assign(day=day) for day in ("01", "02")]
        frame = pd.concat(frames).sort_values(["t", "who"])
        expected = ["ann 01", "ben 01", "ann 02", "ben 02"]
        frame.to_csv(tmp_path / "long.csv", index=False)
        frame.set_index(["who", "day", "t"]).to_parquet(tmp_path / "long.parquet")
        for found in (
            read_recordings(tmp_path / "long.csv", recording_column=key, time_column="t"),
            read_recordings(tmp_path / "long.parquet", recording_column=key, time_column="t"),
            from_long(frame, recording=key, time="t"),
            from_long(frame.set_index(["who", "day", "t"])),
        ):
            assert sorted(one.name for one in found) == sorted(expected)
            assert {one.features for one in found} == {("x", "z")}
            assert {len(one.X) for one in found} == {12}
        table = (tmp_path / "long.csv").read_text()
        text(tmp_path / "long.csv", table.replace(",02\n", ",\n", 1))
        with pytest.raises(DataError, match=r"is of no recording, column 'who, ?day' is blank"):
            read_recordings(tmp_path / "long.csv", recording_column=key, time_column="t")
        with pytest.raises(DataError, match=r"no column 'who, ?night'; the columns are"):
            from_long(frame, recording="who,night")

    def test_recordings_of_several_files_have_longer_names(self, tmp_path):
        for name in ("mon", "tue"):
            long_frame().to_csv(tmp_path / f"{name}.csv", index=False)
        found = read_recordings(tmp_path, recording_column="who", time_column="t")
        assert [r.name for r in found] == ["mon/ann", "mon/ben", "tue/ann", "tue/ben"]

    def test_slashes_in_names_of_recordings_become_underscores(self):
        found = from_long(long_frame(["../up", "b"]), recording="who", time="t")
        assert found[0].name == ".._up"
        with pytest.raises(DataError, match="two recordings would be called 'a_b'"):
            from_long(long_frame(["a/b", "a_b"]), recording="who", time="t")

    def test_long_tables_without_recordings_are_refused(self, tmp_path):
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
            warn_about_columns([one.X for one in recordings], recordings[0].features, "it")
        return [str(warning.message) for warning in found]

    def test_columns_that_only_count_are_left_out(self, rng):
        one = recording(clock=np.arange(50) / 10, x=rng.normal(size=50))
        with pytest.warns(DataWarning, match="1 column left out.*: clock"):
            (found,) = cleaned([one], FileOptions())
        assert found.features == ("x",)
        (found,) = cleaned([one], FileOptions(features=["clock", "x"]))
        assert found.features == ("clock", "x")

    def test_counters_of_rows_that_were_lost_in_part_are_left_out(self, rng):
        for lost in ([], [7], [7, 30]):
            counter = np.delete(np.arange(53.0), lost)
            (found,) = self.quietly(recording(counter=counter, x=rng.normal(size=counter.size)))
            assert found.features == ("x",)

    def quietly(self, *recordings):
        with pytest.warns(DataWarning, match="left out"):
            return cleaned(recordings, FileOptions())

    def test_a_column_that_only_rises_is_taken_for_time(self, rng):
        (said,) = self.told(recording(clock=uneven(rng), x=rng.normal(size=50)))
        assert said.startswith("'clock' only rises")
        assert "time_column='clock'" in said
        assert "time_column=" in said

    def test_measured_columns_are_not_warned_of(self, rng):
        level = np.repeat([0.0, 1.0, 2.0], 20)
        assert self.told(recording(level=level, x=rng.normal(size=60))) == []
        assert self.told(recording(a=np.arange(6), b=np.arange(6) ** 2)) == []

    def test_columns_of_identifiers_are_warned_of(self, rng):
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


class TestMarks:
    marks = np.zeros(100, dtype=int)
    marks[[30, 70]] = 1

    def labelled(self, y):
        return Recording("walk", np.zeros((len(y), 1)), np.asarray(y), ("x",))

    def test_marks_of_changes_are_refused_until_labels_are_explained(self):
        for y in (self.marks, self.marks.astype(float), self.marks == 1, self.marks.astype(str)):
            with pytest.raises(DataError, match="walk: the labels are 0 but for 2 single samples"):
                read_labels_as([self.labelled(y)], None, ask=True)
            (found,) = read_labels_as([self.labelled(y)], "changes", ask=True)
            assert found.y.tolist() == [0] * 30 + [1] * 40 + [2] * 30
            (found,) = read_labels_as([self.labelled(y)], "states", ask=True)
            assert found.y.tolist() == list(y)

    @cases(
        np.repeat([0, 1, 0], [30, 2, 68]),
        np.tile([0, 1], 50),
        np.repeat([0, 1], 50),
        np.zeros(100, dtype=int),
        np.where(marks == 1, 2, 0),
        np.where(marks == 1, "odd", "even"),
    )
    def test_labels_of_states_are_not_taken_for_marks(self, y):
        assert not count_marks([self.labelled(y).y])

    def test_marks_other_than_zero_and_one_are_refused(self):
        with pytest.raises(DataError, match="walk: labels that are changes must be 0 or 1, got 2"):
            read_labels_as([self.labelled([0, 2, 1])], "changes", ask=True)
        with pytest.raises(DataError, match="where a label is blank write 0"):
            read_labels_as([self.labelled([0, -1, 1])], "changes", ask=True)
        with pytest.raises(SettingsError, match="got 'marks'"):
            read_labels_as([], "marks", ask=True)


# ---- kinds of files by what is in them, and what is said of others

ROWS = "x,y,label\n" + "".join(f"{k % 4 / 2},{k % 7},{'ab'[k > 5]}\n" for k in range(12))


class TestKindsByContent:
    @cases("dat", "data", "asc", "log", "las", "mat", "DAT", "out", "5")
    def test_text_tables_are_read_whatever_their_ending(self, tmp_path, kind):
        text(tmp_path / f"one.{kind}", ROWS)
        text(tmp_path / "about.txt", "Recordings of two states, x and y in mm.\n")
        assert read_recording(tmp_path / f"one.{kind}").X.shape == (12, 2)
        (found,) = read_recordings(tmp_path)
        assert (found.name, found.y.tolist()) == ("one", ["a"] * 6 + ["b"] * 6)

    @cases("img", "images", "mask", "labels", "Label")
    def test_recordings_are_read_from_folders_of_any_name(self, tmp_path, folder):
        for name in (folder, "video"):
            (tmp_path / name).mkdir()
            text(tmp_path / name / "one.csv", ROWS)
        assert sorted(find_recordings(tmp_path)[0].values()) == sorted(
            [f"{folder}/one", "video/one"]
        )

    @cases(
        "start,end,label\n0,5,a\n5,9,b\n",
        "Start Time\tEnd Time\tTransportation Mode\n2008/05/01 10:00\t2008/05/01 11:00\tbus\n",
        "onset;duration;trial_type\n0,5;3;rest\n",
        "change\n3\n7\n",
    )
    def test_tables_of_labels_alone_are_not_read_as_recordings(self, tmp_path, labels):
        text(tmp_path / "one.csv", ROWS)
        text(tmp_path / "marks.csv", labels)
        found, skipped = find_recordings(tmp_path)
        assert ([*found.values()], [path.name for path in skipped]) == (["one"], ["marks.csv"])

    @cases(
        "start,end,x,label\n0,5,1.5,a\n5,9,2.5,b\n", "chrom,start,end,log2\nX,0,5,0.1\nX,5,9,2\n"
    )
    def test_tables_of_stretches_with_measurements_are_recordings(self, tmp_path, table):
        text(tmp_path / "one.csv", ROWS)
        text(tmp_path / "two.csv", table)
        assert len(find_recordings(tmp_path)[0]) == 2


def run_line(message, folder):
    """Run the line that a message says converts a file, and return what it wrote."""
    (made,) = run_line_for_all(message.replace("convert it", "convert them"), folder)
    return made


def run_line_for_all(message, folder):
    before = {*folder.iterdir()}
    line = message.partition("To convert them: ")[2].partition(". Name the files")[0]
    code = line.removeprefix('python -c "').removesuffix('"')
    loaded(code, cwd=folder)
    return {*folder.iterdir()} - before


class TestKindsThatAreConverted:
    @cases(
        ({"X": X, "y": Y}, "y"),
        ({"ET": {"pos": X.T, "state": Y.astype(float), "rate": 500.0}}, "state"),
        ({"recording": {"acc": X * 1.5}, "fs": 30.0, "labels": Y[:, None]}, "labels"),
    )
    def test_matrices_of_matlab_are_converted_by_the_advised_line(self, tmp_path, held, label):
        savemat(tmp_path / "one.mat", held)
        made = run_line(complaint(tmp_path / "one.mat"), tmp_path)
        found = read_recording(made, label_column=label)
        values = next(iter(held.values()))
        inside = next(iter(values.values())) if isinstance(values, dict) else values
        np.testing.assert_array_equal(found.X, inside if len(inside) == 6 else inside.T)
        assert found.y.tolist() == Y.tolist()

    @cases(
        ({"x": X[:, 0], "t": X[:, 1], "y": Y}, "y"),
        ({"ET": {"u": X[:, 0], "v": X[:, 1], "state": Y, "rate": 500.0}}, "state"),
        ({"u": X[:, :1], "v": X[:, 1:2], "code": Y, "few": [1.0, 2.0], "name": "ann"}, "code"),
    )
    def test_vectors_of_matlab_are_converted_by_the_advised_line(self, tmp_path, held, label):
        savemat(tmp_path / "one.mat", held)
        found = read_recording(
            run_line(complaint(tmp_path / "one.mat"), tmp_path), label_column=label
        )
        np.testing.assert_array_equal(found.X, X[:, :2])
        assert found.y.tolist() == Y.tolist()

    @cases(1, 3)
    def test_predictions_of_jabs_are_converted_by_the_advised_line(self, tmp_path, n_animals):
        """Of each behaviour the probability of the class that is predicted, and who is who."""
        rng = np.random.default_rng(0)
        scores = rng.random((2, n_animals + 1, 2, 40))  # of two films, the second with one more
        for film, p in zip(("one", "two"), (scores[0, :-1], scores[1]), strict=True):
            p[0, :, :3] = 0.0
            p[:, 1, 5] = 1.0
            with h5py.File(tmp_path / f"{film}.h5", "w") as file:
                file["predictions/external_identity_map"] = np.arange(len(p), dtype=np.uint32)
                for k, name in enumerate(("groom", "walk")):
                    of = file.create_group(f"predictions/{name}")
                    predicted = (p[:, k] > 0.5).astype(np.int8)
                    sure = np.maximum(p[:, k], 1 - p[:, k])
                    predicted[0, :3], sure[0, :3] = -1, 0.0  # there is no animal
                    sure[:, 5] *= -1.0 if k == 1 else 1.0  # a user says so
                    of["predicted_class"], of["probabilities"] = predicted, sure
        h5py.File(tmp_path / "one_pose_est_v4.h5", "w").close()
        said = complaint(tmp_path)
        loaded(said.partition('python -c "')[2].partition('"')[0])
        (tmp_path / "one_pose_est_v4.h5").unlink()
        found = read_recordings(tmp_path, need_labels=False)
        assert len(found) == 2 * n_animals + 1
        wanted = [*scores[0, :-1], *scores[1]]
        for one, p in zip(found, wanted, strict=True):
            assert one.features == ("groom", "walk")
            np.testing.assert_allclose(one.X, p.T)

    def test_arrays_and_frames_in_files_are_converted_by_the_advised_line(self, tmp_path):
        np.save(tmp_path / "one.npy", X)
        made = run_line(complaint(tmp_path / "one.npy"), tmp_path)
        np.testing.assert_array_equal(read_recording(made, need_labels=False).X, X)
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": Y})
        frame.to_feather(tmp_path / "two.feather")
        frame.to_stata(tmp_path / "three.dta", write_index=False)
        frame.to_json(tmp_path / "four.json", orient="records")
        for name in ("two.feather", "three.dta", "four.json"):
            made = run_line(complaint(tmp_path / name), tmp_path)
            np.testing.assert_array_equal(read_recording(made).X, X)

    @cases(
        ("one.mat", b"MATLAB 7.3 MAT-file, Platform: GLNXA64", "save('one.mat', '-v7')"),
        ("one.mat", b"MATLAB 5.0 MAT-file, cut off", None),
        ("one.edf", bytes(range(256)), None),
        ("one.npy", b"\x93NUMPY and no more", None),
        ("one.h5", b"\x89HDF\r\n\x1a\n and no more", None),
        ("one.xls", b"\xd0\xcf\x11\xe0" * 9, None),
    )
    def test_a_line_of_conversion_is_advised_only_where_it_works(
        self, tmp_path, name, content, advice
    ):
        (tmp_path / name).write_bytes(content)
        said = complaint(tmp_path / name)
        assert "of no kind that is read" in said
        assert ("To convert it" in said) == (advice is not None)
        assert (advice or "") in said

    def test_files_of_other_software_are_converted_by_the_libraries_that_read_them(self, tmp_path):
        """The header of a recording of WFDB, a line of numbers each signal, was read as a table."""
        header = "100 2 360 9\n100.dat 16 200 11 1024 995 -221 0 MLII\n100.dat 16 9 1 1 1 1 0 V\n"
        for name, content, library in (
            ("100.hea", header.encode(), "wfdb"),
            ("one.edf", b"0       X X X", "mne"),
            ("one.bdf", b"\xffBIOSEMI X X", "mne"),
            ("one.RData", b"RDX3\n", "pyreadr"),
            ("one.rds", b"X\n", "pyreadr"),
            ("one.sav", b"$FL2@(#)", "pandas"),
        ):
            folder = tmp_path / name
            folder.mkdir()
            (folder / name).write_bytes(content)
            said = complaint(folder)
            code = said.partition('python -c "')[2].partition('"')[0]
            assert code.startswith((f"import {library}, ", f"import {library}; "))
            compile(code, name, "exec")
            (folder / name).with_suffix(".csv").write_text("x,label\n0,a\n1,b\n")
            assert len(read_recordings(folder)) == 1

    def test_a_folder_of_files_to_convert_is_refused_with_the_line(self, tmp_path):
        for name in ("one", "other"):
            savemat(tmp_path / f"{name}.mat", {"X": X, "y": Y})
        assert "only one.mat, other.mat. To convert them: python -c" in complaint(tmp_path)
        run_line_for_all(complaint(tmp_path), tmp_path)
        found = read_recordings(tmp_path, label_column="y")
        assert [one.y.tolist() for one in found] == [Y.tolist()] * 2

    def test_a_folder_of_arrays_is_converted_at_once(self, tmp_path):
        for k in range(3):
            np.save(tmp_path / f"{k}.npy", X + k)
        run_line_for_all(complaint(tmp_path), tmp_path)
        found = read_recordings(tmp_path, need_labels=False)
        assert [np.array_equal(one.X, X + k) for k, one in enumerate(found)] == [True] * 3

    def test_an_archive_of_tables_is_unpacked_by_the_advised_line(self, tmp_path):
        with ZipFile(tmp_path / "all.zip", "w") as archive:
            archive.writestr("one.csv", ROWS)
        line = complaint(tmp_path).partition("To convert them: ")[2]
        subprocess.run([sys.executable, *shlex.split(line)[1:]], check=True)
        assert [one.name for one in read_recordings(tmp_path / "all")] == ["one"]

    def test_a_file_to_convert_among_tables_is_told(self, tmp_path):
        text(tmp_path / "one.csv", ROWS)
        savemat(tmp_path / "one.mat", {"X": X, "y": Y})
        (tmp_path / "one.mat").rename(tmp_path / "two.mat")
        assert "two.mat is of no kind" in complaint(tmp_path)
