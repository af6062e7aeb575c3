"""Labels in files of their own, in the time of the recordings."""

import numpy as np
import pytest

from structsvm.errors import DataError, DataWarning
from structsvm.io import Recording, TimeAxis, with_labels
from structsvm.io.files import find_recordings


def recording(name, T, time=True):
    axis = TimeAxis("seconds", np.arange(float(T)), lasting=1.0) if time else None
    return Recording(name, np.zeros((T, 1)), None, ("x",), f"films/{name}.mkv", time=axis)


def written(path, text):
    path.write_text(text)
    return path


class TestChanges:
    @pytest.mark.parametrize("column", ["change", "change_time", "time"])
    def test_times_fall_to_the_nearest_second(self, tmp_path, column):
        table = written(tmp_path / "show.csv", f"{column}\n2.4\n4.6\n")
        (found,) = with_labels([recording("show", 8)], table)
        assert found.y.tolist() == [0, 0, 1, 1, 1, 2, 2, 2]

    def test_samples_count_where_there_is_no_time(self, tmp_path):
        (found,) = with_labels(
            [recording("show", 5, time=False)], written(tmp_path / "a.tsv", "change\tby\n3\tann\n")
        )
        assert found.y.tolist() == [0, 0, 0, 1, 1]

    @pytest.mark.parametrize("text", ["change\n3.5\n", "start,end,label\n0,3.5,a\n3.5,5,b\n"])
    def test_seconds_where_there_is_no_time_are_told(self, tmp_path, text):
        table = written(tmp_path / "show.csv", text)
        with pytest.warns(DataWarning, match=r"show has no times, so that 3\.5 counts samples"):
            with_labels([recording("show", 5, time=False)], table)

    @pytest.mark.parametrize(("time", "where"), [("8", "after the end, 8"), ("0", "before the")])
    def test_a_change_outside_is_refused(self, tmp_path, time, where):
        table = written(tmp_path / "show.csv", f"change\n2\n{time}\n")
        with pytest.raises(DataError, match=rf"\.csv: show: the change at seconds .* is {where}"):
            with_labels([recording("show", 8)], table)

    def test_two_changes_in_a_second_are_one_with_a_warning(self, tmp_path):
        table = written(tmp_path / "show.csv", "change\n2.0\n2.2\n")
        with pytest.warns(DataWarning, match="two changes are within the sample at seconds 2"):
            (found,) = with_labels([recording("show", 4)], table)
        assert found.y.tolist() == [0, 0, 1, 1]


class TestStretches:
    def test_what_is_in_no_stretch_is_unlabelled_where_that_may_be(self, tmp_path):
        table = written(tmp_path / "show.csv", "start,end,label\n0,2,talk\n3,5,music\n")
        (found,) = with_labels([recording("show", 5)], table, blanks=True)
        assert found.y[2] == -1
        assert len(set(found.y.tolist())) == 3
        with pytest.raises(DataError, match="1 of 5 samples are in no stretch, the first at sec"):
            with_labels([recording("show", 5)], table)


class TestWhose:
    BOTH = "recording,change\nann,2\nben,3\n"

    def test_a_column_says_whose_a_row_is(self, tmp_path):
        table = written(tmp_path / "labels.csv", self.BOTH)
        found = with_labels([recording("ben", 4), recording("ann", 4)], table)
        assert [r.y.tolist() for r in found] == [[0, 0, 0, 1], [0, 0, 1, 1]]

    def test_a_folder_has_a_file_for_each(self, tmp_path):
        written(tmp_path / "ann.csv", "change\n2\n")
        written(tmp_path / "ben.csv", "start,end,label\n0,3,a\n3,4,b\n")
        found = with_labels([recording("ben", 4), recording("ann", 4)], tmp_path)
        assert [r.y.tolist() for r in found] == [["a", "a", "a", "b"], [0, 0, 1, 1]]

    def test_a_recording_that_is_not_in_it(self, tmp_path):
        table = written(tmp_path / "labels.csv", self.BOTH)
        with pytest.raises(DataError, match="nothing about eve; it has 'ann', 'ben'"):
            with_labels([recording("ann", 4), recording("eve", 4)], table)

    def test_two_files_about_one(self, tmp_path):
        written(tmp_path / "ann.csv", "change\n2\n")
        written(tmp_path / "more.csv", self.BOTH)
        with pytest.raises(DataError, match="a second file about ann"):
            with_labels([recording("ann", 4)], tmp_path)

    def test_no_labels_at_all(self, tmp_path):
        with pytest.raises(DataError, match="no labels in it"):
            with_labels([recording("ann", 4)], tmp_path)
        with pytest.raises(DataError, match=r"missing\.csv: cannot be read"):
            with_labels([recording("ann", 4)], tmp_path / "missing.csv")

    def test_labels_beside_recordings_are_no_recordings(self, tmp_path):
        (tmp_path / "ann.mkv").touch()
        table = written(tmp_path / "ann.csv", "change\n2\n")
        assert find_recordings(tmp_path, labels=table).names == ("ann",)
        assert find_recordings(tmp_path, labels=tmp_path).files == (tmp_path / "ann.mkv",)


class TestSamplesThatLast:
    AXIS = TimeAxis("seconds", np.arange(4.0), lasting=1.0)

    def test_a_moment_is_in_the_sample_that_has_most_of_it_before_it(self):
        assert [self.AXIS.sample_at(t) for t in (0, 0.5, 0.6, 1.5, 1.7, 9)] == [0, 0, 1, 1, 2, 4]

    def test_the_end_is_that_of_the_last_one(self):
        assert [self.AXIS.text(t) for t in (0, 3, 4)] == ["0", "3", "4"]
        assert self.AXIS.edges.tolist() == [0, 1, 2, 3, 4]
        assert self.AXIS.at(np.array([1, 2])).text(2) == "3"
