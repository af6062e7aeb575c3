"""Recordings in files: what is read, and what a bad file is told."""

import numpy as np
import pandas as pd
import pytest

from structsvm.errors import DataError, DataWarning
from structsvm.io import Recording, read_recording, read_recordings, write_recording
from structsvm.io.files import find_recordings

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
    def test_labels_may_be_missing_where_none_are_needed(self, tmp_path):
        text(tmp_path / "one.csv", "a,b\n1,2\n")
        np.savez(tmp_path / "two.npz", X=X, features=["b", "a"])
        first, second = read_recordings(
            [tmp_path / "one.csv", tmp_path / "two.npz"], need_labels=False
        )
        assert first.y is None
        assert second.y is None
        np.testing.assert_array_equal(second.X, X[:, ::-1])  # columns are matched by name

    def test_a_folder_is_read_in_order_and_by_one_kind(self, tmp_path):
        for name in ("b.npz", "a.npz", "c.npz"):
            npz(tmp_path / name)
        text(tmp_path / "index.csv", "file\na\n")
        (tmp_path / "raw").mkdir()
        found = find_recordings(tmp_path)
        assert found.names == ("a", "b", "c")
        assert [path.name for path in found.skipped] == ["index.csv"]

    def test_names_are_as_long_as_they_must_be(self, tmp_path):
        for folder in ("anna", "ben"):
            (tmp_path / folder).mkdir()
            npz(tmp_path / folder / "walk.npz")
        files = [tmp_path / "anna" / "walk.npz", tmp_path / "ben" / "walk.npz"]
        assert find_recordings(files).names == ("anna/walk", "ben/walk")
        assert find_recordings([files[0], tmp_path / "anna"]).names == ("walk",)

    def test_subfolders_are_read_but_for_what_lies_beside_recordings(self, tmp_path):
        """Same names are told apart by folders; an output folder of the product is no input."""
        recordings = ["ann/1/walk", "ann/2/walk", "ben/walk"]
        beside = [
            *("labels/walk.csv", "tried/predicted/r_end_segments.csv", ".old/walk.csv"),
            "tried/tried.npz",
            *("index.csv", "ben/images/walk.npy", "segmented/ben/walk_segments.csv", "ReadMe.txt"),
        ]
        for name in (*(f"{name}.csv" for name in recordings), *beside, "tried/model.structsvm"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            text(tmp_path / name, "a,label\n1,0\n3,1\n")
        (tmp_path / "empty").mkdir()
        (tmp_path / "ann" / "loop").symlink_to(tmp_path, target_is_directory=True)
        (tmp_path / "linked").symlink_to(tmp_path / "ben", target_is_directory=True)
        found = find_recordings(tmp_path)
        assert list(found.names) == recordings
        skipped = {"labels", "images", "loop", "index.csv", "model.structsvm"}
        assert {path.name for path in found.skipped} == skipped | {
            "walk_segments.csv",
            "ReadMe.txt",
        }
        several = find_recordings([tmp_path / "ben", tmp_path / "ann" / "1" / "walk.csv"])
        assert several.names == ("ben/walk", "ann/1/walk")
        assert find_recordings(tmp_path / "ben", labels=tmp_path).names == ("walk",)
        npz(tmp_path / "ben" / "walk.npz")
        assert "ben/walk.npz has the name of another file" in complaint(tmp_path)


class TestWhatIsWritten:
    @pytest.mark.parametrize(
        "y",
        [
            np.array(["rest", "walk"] * 3, dtype=object),
            np.array([0, 1] * 3, dtype=object),
            pd.Series(["rest", "walk"] * 3, dtype="category"),
            pd.Series(["rest", "walk"] * 3, dtype="string"),
        ],
        ids=["names", "numbers", "categories", "texts"],
    )
    def test_labels_that_are_objects_are_read_again(self, y, tmp_path):
        write_recording(Recording("one", X, y, ("a", "b")), tmp_path / "one.npz")
        found = read_recording(tmp_path / "one.npz")
        assert found.y.tolist() == y.tolist()
        np.testing.assert_array_equal(found.X, X)

    @pytest.mark.parametrize(
        ("y", "complaint"),
        [
            (np.array(["rest", None] * 3, dtype=object), "label of sample 1 is missing"),
            (np.array([0.0, np.nan] * 3), "label of sample 1 is missing"),
            (np.ma.array([0, 1] * 3, mask=[0, 1] * 3), "label of sample 1 is masked"),
            (np.array(["rest", -1] * 3, dtype=object), "labels of kind int and str"),
        ],
    )
    def test_labels_that_cannot_be_read_again_are_not_written(self, y, complaint, tmp_path):
        with pytest.raises(DataError, match=f"one: .*{complaint}"):
            write_recording(Recording("one", X, y, ("a", "b")), tmp_path / "one.npz")
        assert not (tmp_path / "one.npz").exists()

    def test_masked_values_are_missing(self, tmp_path):
        hidden = np.ma.array(X, mask=np.arange(12).reshape(6, 2) == 5)
        write_recording(Recording("one", hidden, Y, ("a", "b")), tmp_path / "one.npz")
        with pytest.warns(DataWarning, match="missing"):
            found = read_recording(tmp_path / "one.npz", missing="mask").X
        np.testing.assert_array_equal(found, hidden.filled(np.nan))


class TestBadArchives:
    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
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
        ],
    )
    def test_arrays_that_do_not_fit(self, tmp_path, arrays, message):
        with pytest.raises(DataError, match=message) as caught:
            read_recordings(npz(tmp_path / "one.npz", **arrays))
        assert str(tmp_path / "one.npz") in str(caught.value)

    @pytest.mark.parametrize("bkps", [[2, 4], [4, 2, 6], [0, 6], [2, 2, 6], [2, 8], [-1, 6]])
    def test_breakpoints_unsorted_or_out_of_range(self, tmp_path, bkps):
        np.savez(tmp_path / "one.npz", X=X, bkps=bkps)
        assert f"bkps must increase and end with 6, the number of rows; got {bkps}" in complaint(
            tmp_path
        )

    def test_labels_and_breakpoints_of_different_segments(self, tmp_path):
        """The labels won without a word."""
        np.savez(tmp_path / "one.npz", X=X, y=[0, 0, 1, 1, 1, 0], bkps=[2, 3, 5, 6])
        assert "of 'y' and 'bkps' just one has a change at sample 3" in complaint(tmp_path)
        assert read_recording(tmp_path / "one.npz", need_labels=False).X.shape == X.shape
        np.savez(tmp_path / "one.npz", X=X, y=list("aabbba"), bkps=[2, 5, 6])
        assert read_recording(tmp_path / "one.npz").y.tolist() == list("aabbba")

    def test_what_is_not_there(self, tmp_path):
        np.savez(tmp_path / "one.npz", data=X)
        assert "expected numbers 'X' (T, P)" in complaint(tmp_path)
        assert "it holds 'data'" in complaint(tmp_path)
        np.savez(tmp_path / "one.npz", X=X)
        assert "no labels, neither 'y' nor 'bkps'; it holds 'X'" in complaint(tmp_path)

    def test_truncated_or_foreign(self, tmp_path):
        file = npz(tmp_path / "one.npz")
        whole = file.read_bytes()
        for content in (whole[: len(whole) // 2], b"", whole[:40]):
            file.write_bytes(content)
            assert f"{file}: damaged, no .npz file, or one with pickled" in complaint(file)
        np.save(file.with_suffix(".npy"), X)
        for content in (b"hello", file.with_suffix(".npy").read_bytes()):
            file.write_bytes(content)
            assert "no .npz file" in complaint(file)

    def test_pickled_objects_are_never_loaded(self, tmp_path):
        class Bomb:
            def __reduce__(self):
                return pytest.fail, ("a pickle was loaded",)

        np.savez(tmp_path / "one.npz", X=np.array([Bomb()], dtype=object), y=[0])
        assert "pickled objects, which are never loaded (save names as text" in complaint(tmp_path)


class TestFoldersAndSets:
    def test_nothing_there(self, tmp_path):
        assert "gone.csv: no such file or folder" in complaint(tmp_path / "gone.csv")
        assert complaint() == "no recordings were given: name files or folders"

    def test_a_folder_without_recordings(self, tmp_path):
        (tmp_path / "anna").mkdir()
        (tmp_path / "b.dat").write_text("x,label\n1,a\n")
        assert complaint(tmp_path) == (
            f"{tmp_path}: no .npz, .parquet, .csv, .tsv, .tab, .txt, .xlsx files in this folder or "
            "below, only b.dat"
        )

    def test_another_kind_of_file(self, tmp_path):
        file = text(tmp_path / "notes.md", "hello")
        assert "or of no kind that is read; give .npz, .parquet, .csv, .tsv" in complaint(file)

    def test_other_features_name_both_files(self, tmp_path):
        npz(tmp_path / "one.npz")
        npz(tmp_path / "two.npz", features=["a", "c"])
        assert complaint(tmp_path) == (
            f"{tmp_path / 'two.npz'} has other features than {tmp_path / 'one.npz'}: "
            "lacks 'b' and has 'c' besides"
        )
