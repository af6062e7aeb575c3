"""Label files are read completely or with a warning, and unlabelled samples stay unknown."""

import json
from dataclasses import replace
from itertools import chain, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases import cases, refused
from pyarrow import parquet

from structsvm import DataError, MetricLearner, PartialLabels
from structsvm.data.rows import without_counting
from structsvm.errors import DataWarning, SettingsError
from structsvm.features import StateScores, windows
from structsvm.features.scores import read_boundaries
from structsvm.io import (
    Interval,
    Recording,
    TimeAxis,
    from_long,
    intervals_of,
    labels_of,
    layers_of,
    read_intervals,
    read_recording,
    read_recordings,
    with_labels,
)
from structsvm.learner.preparing import encode

SHOW = Recording("show", np.zeros((20, 1)), None, ("x",), time=TimeAxis("s", np.arange(20.0) / 2))


def labelled(folder, text, kind="csv", **settings):
    path = folder / f"show.{kind}"
    path.write_text(text, encoding="utf-8")
    return with_labels([SHOW], path, **settings)[0].y.tolist()


NUMBERS = [("P01", "1"), ("P01", "2"), ("P02", "1"), ("P10", "1")]


@cases(
    (NUMBERS, ["P01_S1", "P01_S2", "P02_S1", "P10_S1"], "participant,session"),
    ([(f"sub-{a[1:]}", f"ses-{b}") for a, b in NUMBERS],
     [f"sub-{a[1:]}/sub-{a[1:]}_ses-{b}_acc" for a, b in NUMBERS], "participant_id,session"),
    ([("1",), ("2",), ("11",)], ["p001-walk", "p002-walk", "p011-walk"], "subject"),
)  # fmt: skip
def test_subjects_and_sessions_name_recordings_whose_names_hold_them(tmp_path, keys, names, head):
    shows = [replace(SHOW, name=name, source=f"{name}.csv") for name in names]
    rows = [(*key, 0, 1 + k / 2, "ab") for k, key in enumerate(keys)]
    rows += [(*key, 1 + k / 2, 10, "cd") for k, key in enumerate(keys)]
    lines = [f"{head},start,end,label", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n")
    with pytest.warns(DataWarning, match="are taken for those of .*, whose name holds"):
        found = with_labels(shows, tmp_path / "all.csv")
    assert [one.y.tolist().index("cd") for one in found] == [2 + k for k in range(len(keys))]
    others = [replace(one, name=f"a{k}", source=f"a{k}.csv") for k, one in enumerate(shows)]
    with pytest.raises(DataError, match="several subjects"):  # nobody says who is in which
        with_labels(others, tmp_path / "all.csv")


def test_json_of_lists_of_numbers_is_read_as_changes(tmp_path):
    """Also with the number of samples at the end, as ruptures writes them."""
    shows = [replace(SHOW, name=name, time=None) for name in ("a", "b", "c")]
    for end in ([], [20]):
        ends = {"a": [5, 12, *end], "b.csv": [15, *end], "c": [2, 4, 18, *end]}
        (tmp_path / "all.json").write_text(json.dumps(ends))
        found = with_labels(shows, tmp_path / "all.json")
        changes = [(np.flatnonzero(np.diff(one.y)) + 1).tolist() for one in found]
        assert changes == [[5, 12], [15], [2, 4, 18]]
    ends["a"][-1] = 21
    (tmp_path / "all.json").write_text(json.dumps(ends))
    with pytest.raises(DataError, match=r"the change at sample 21\.0 is after the end"):
        with_labels(shows, tmp_path / "all.json")
    (tmp_path / "all.json").write_text(json.dumps({"a": [5, 12], "b": [3, 19], "c": [2, 14]}))
    found = with_labels(shows, tmp_path / "all.json", outside="rest")
    of_samples = {name: [0] * 8 + [1] * 12 for name in ("a", "b", "c")}
    (tmp_path / "other.json").write_text(json.dumps(of_samples))
    with pytest.raises(DataError, match="JSON of another form"):
        with_labels(shows, tmp_path / "other.json")
    assert found[0].y.tolist() == ["rest"] * 5 + ["window"] * 7 + ["rest"] * 8


@pytest.mark.parametrize("rows", ["0,3,\n3,10,a\n", "0,3\n3,10,a\n"])
def test_a_stretch_without_a_label_is_unknown(tmp_path, rows):
    text = f"start,end,label\n{rows}"
    with pytest.raises(DataError, match=r"6 of 20 .* at s 0, or their stretch has no label"):
        labelled(tmp_path, text)
    assert labelled(tmp_path, text, blanks=True) == [-1] * 6 + ["a"] * 14


def test_stretches_in_another_unit_of_time_are_warned_of(tmp_path):
    """A second of the file is a millisecond: all but the first lie after the end."""
    text = "start,end,label\n0,3000,a\n3000,10000,b\n"
    with pytest.warns(DataWarning, match="2 of 2 intervals hold no sample, or reach beyond"):
        assert labelled(tmp_path, text) == ["a"] * 20


def of_rows(kind, n):
    """A file with a row for each of so many samples, of which the first half is a."""
    names = ["a" if t < n // 2 else "b" for t in range(n)]
    if kind == "txt":
        return "\n".join(names)
    rows = {
        "label": names,
        "Epoch,Stage": [f"{t},{name}" for t, name in enumerate(names)],
        "n,epoch,stage": [f"{t % 2 + 5},{t + 1},{name}" for t, name in enumerate(names)],
        "a": [str(int(name == "a")) for name in names],
    }[kind]
    return "\n".join([kind, *rows]) + "\n"


@pytest.mark.parametrize("kind", ["txt", "label", "Epoch,Stage", "a"])
def test_label_rows_at_another_rate_are_refused(tmp_path, kind):
    """The labels of the first samples are no labels of all of them."""
    ending = kind if kind == "txt" else "csv"
    names = labelled(tmp_path, of_rows(kind, 20), ending, blanks=True, outside="b")
    assert names == ["a"] * 10 + ["b"] * 10
    near = labelled(tmp_path, of_rows(kind, 19), ending, blanks=True, outside="b")
    assert near == ["a"] * 9 + ["b"] * 11
    for n in (10, 4, 40):
        with pytest.raises(DataError, match=f"{n} rows, one for each sample, and 20 samples"):
            labelled(tmp_path, of_rows(kind, n), ending, blanks=True, outside="b")


def test_numbers_are_states_of_samples_where_most_are_those_of_the_line_above(tmp_path):
    """The numbers of activities, one for each sample, were taken for places of changes."""
    rows = [5] * 8 + [12] * 7 + [5] * 5
    assert labelled(tmp_path, "\n".join(map(str, rows)), "txt") == [*map(str, rows)]
    changes = labelled(tmp_path, "4\n7.5\n", "txt")
    assert np.flatnonzero(np.diff(changes)).tolist() == [7, 14]


def test_a_column_that_does_not_count_rows_is_no_number_of_a_sample(tmp_path):
    with pytest.raises(DataError, match="no column of the start"):
        labelled(tmp_path, of_rows("n,epoch,stage", 20))


@pytest.mark.parametrize("are_cleaned", [True, False], ids=["left out", "among the features"])
@pytest.mark.parametrize("rows", ["0,3,a\n3,10,b\n", "0,3.5,a\n3.5,9,b\n", "2,4,a\n4,6,b\n"])
def test_labels_that_may_be_samples_or_times_are_refused(tmp_path, rows, are_cleaned):
    """A column of times was left out, and seconds were taken for the numbers of samples."""
    recording = counted_beside("clock", np.arange(20) / 2, are_cleaned)
    path = tmp_path / "show.csv"
    path.write_text(f"start,end,label\n{rows}")
    with pytest.raises(DataError, match="its column 'clock' rises as times do: name it, time_col"):
        with_labels([recording], path, outside="no")


@pytest.mark.parametrize("times", [np.arange(20), np.arange(20) / 2], ids=["numbers", "halves"])
@pytest.mark.parametrize("header", ["start,end,label", "start_sample,end_sample,label"])
def test_labels_that_are_no_times_count_samples(tmp_path, times, header):
    recording = counted_beside("clock", times, True)
    path = tmp_path / "show.csv"
    path.write_text(f"{header}\n0,3,a\n3,20,b\n")
    assert with_labels([recording], path)[0].y.tolist() == ["a"] * 3 + ["b"] * 17


@pytest.mark.parametrize("blank", ["", " ", '""'])
@pytest.mark.parametrize("header", ["recording,start,end,label", "file,onset,offset,behavior"])
def test_a_row_that_names_no_recording_beside_others_that_do_is_refused(tmp_path, header, blank):
    """Merged cells of a sheet hold a name once: all but the first row were taken for nobody's."""
    with pytest.raises(DataError, match=r"line 3: no name in column '(recording|file)'"):
        labelled(tmp_path, f"{header}\nshow,0,3,a\n{blank},3,10,b\n")


@pytest.mark.parametrize("path", ["C:\\data\\show.MP4", "..\\show.wav", "/data/show.csv"])
def test_paths_of_any_system_name_recordings(tmp_path, path):
    text = f"file,start,end,label\n{path},0,3,a\n{path},3,10,b\n"
    assert labelled(tmp_path, text) == ["a"] * 6 + ["b"] * 14


def counted_beside(name, times, are_cleaned):
    x = np.random.default_rng(0).normal(size=20)
    recording = Recording("show", np.column_stack([times, x]), None, (name, "x"))
    if not are_cleaned:
        return recording
    with pytest.warns(DataWarning, match="rise by one step"):
        return without_counting([recording], None)[0]


@pytest.mark.parametrize("ending", ["json", "jsonl", "ndjson"])
def test_json_of_triples_and_with_an_object_in_each_line_is_read(tmp_path, ending):
    rows = [{"file": "show", "start": 0, "end": 3.0, "label": "a"}]
    rows += [{"file": "show", "start": 3.0, "end": 10, "label": "b"}]
    expected = ["a"] * 6 + ["b"] * 14
    assert labelled(tmp_path, "\n".join(map(json.dumps, rows)) + "\n", ending) == expected
    triples = {"show": [[0, 3.0, "a"], [3.0, 10, "b"]]}
    assert labelled(tmp_path, json.dumps(triples), ending) == expected
    assert labelled(tmp_path, json.dumps(triples["show"]), ending) == expected


def test_label_files_of_htk_count_hundreds_of_nanoseconds(tmp_path):
    assert labelled(tmp_path, "0 30000000 sil\n30000000 100000000 a\n", "lab") == (
        ["sil"] * 6 + ["a"] * 14
    )
    assert labelled(tmp_path, "0 3 sil\n3 10 a\n", "lab") == ["sil"] * 6 + ["a"] * 14
    assert labelled(tmp_path, "0.0 3.0 sil\n3.0 10.0 a\n", "lab") == ["sil"] * 6 + ["a"] * 14


def test_seconds_beside_an_unnamed_column_of_times_are_refused_with_its_name(tmp_path):
    (tmp_path / "show.csv").write_text("start (s),end (s),label\n0,3,a\n3,10,b\n")
    with pytest.raises(DataError, match=r"in seconds, and it has no times: .*time_column='clock'"):
        with_labels([counted_beside("clock", np.arange(20) / 2, True)], tmp_path / "show.csv")


@pytest.mark.parametrize("step", [0.15, 0.2, 0.05])
def test_stretches_that_mostly_lie_between_samples_are_warned_of(tmp_path, step):
    edges = np.arange(0.0, 9.5, step).round(2)
    names = np.resize(["a", "b"], edges.size - 1)
    rows = zip(edges[:-1], edges[1:], names, strict=True)
    text = "".join(f"{start},{end},{name}\n" for start, end, name in rows)
    with pytest.raises(DataError, match=r"intervals are between two samples, the first is 'b'"):
        labelled(tmp_path, f"start,end,label\n{text}")


def test_times_of_labels_match_samples_up_to_rounding():
    """14 * 0.1 is more than 1.4, and was after the sample at 1.4."""
    stretches = [Interval(0, 14 * 0.1, "rest"), Interval(14 * 0.1, 5, "walk")]
    labels = labels_of(stretches, np.round(np.arange(50) / 10, 1)).labels
    assert labels.index("walk") == 14


STRETCH = {"start": 0, "end": 10, "timeserieslabels": ["a"]}
TASK = {"data": {"csv": "show.csv"}}


test_a_task_without_labels_is_refused_rather_than_read_as_unchanged = refused(
    DataError,
    lambda tmp_path, tasks: labelled(tmp_path, json.dumps(tasks), "json"),
    ([{"id": 1, "csv": "show.csv", "label": [STRETCH]}], "neither annotations nor predict"),
    ({"show": [STRETCH]}, "neither annotations nor predictions"),
    ([TASK | {"annotations": []}], "nothing about show"),
    ([TASK | {"annotations": [{"result": []}]}], "nothing about show"),
)


@pytest.mark.parametrize(("one", "other"), [("1.1", "1.10"), ("01", "1"), ("7", "7.0")])
def test_names_that_are_equal_numbers_stay_different_with_a_warning(tmp_path, one, other):
    path = tmp_path / "codes.csv"
    path.write_text("\n".join(["x,label", *(f"1,{one}", f"2,{other}", "3,9")]), encoding="utf-8")
    with pytest.warns(DataWarning, match=f"codes.csv: '{one}' and '{other}' in column 'label' are"):
        assert len(set(read_recording(path).y)) == 2
    path.write_text("\n".join(["x,label", *("1,01", "2,02", "3,03")]), encoding="utf-8")
    assert read_recording(path).y.tolist() == [1, 2, 3]


def test_labels_that_are_integers_beyond_floats_are_refused(tmp_path):
    """As pandas reads whole numbers of which one is missing."""
    table = pa.table({"x": [1.0, 2.0, 3.0], "label": [None, 2**60, 2**60 + 1]})
    parquet.write_table(table, tmp_path / "hashes.parquet")
    with pytest.raises(DataError, match=r"labels that are numbers beyond 2\*\*53"):
        read_recording(tmp_path / "hashes.parquet", blanks=True)


@cases(
    np.array([0.0, 0.0, np.nan, np.nan, 1.0, -1.0]),
    pd.Series([0, 0, None, None, 1, -1], dtype="Int64"),
    np.array([0, 0, None, np.nan, 1, -1], dtype=object),
    [0, 0, pd.NA, "  ", 1, -1],
    ids=["NaN", "NA", "objects", "blank"],
)
def test_samples_without_a_label_are_in_no_interval(y):
    """A NaN is not equal to itself: each was an interval that is called nan."""
    found = intervals_of(y, np.arange(6))
    assert [(one.start, one.end, float(one.label)) for one in found] == [(0, 2, 0), (4, 5, 1)]


def test_a_name_is_the_same_state_in_every_file_wherever_labels_are_blank(tmp_path):
    """In the order of their first samples, names were 0, 1, 2: another state in each file."""
    rng = np.random.default_rng(0)
    names = np.array(["rest", "run", "walk"], dtype=object)
    for i in range(6):
        y = np.repeat(np.roll(range(3), i), [14, 15, 16])
        labels = names[y]
        labels[20:23] = ""
        X = 3 * np.eye(3)[y] + rng.normal(size=(45, 3))
        frame = pd.DataFrame(X, columns=list("abc")).assign(label=labels)
        frame.to_csv(tmp_path / f"{i}.csv", index=False)
    recordings = read_recordings(tmp_path, blanks=True)
    assert [found.y[[0, 21, 44]].tolist() for found in recordings[:2]] == [
        ["rest", -1, "walk"],
        ["walk", -1, "run"],
    ]
    scores = StateScores("logistic", lags=(0,))
    learner = MetricLearner(metric="diagonal", features=scores).fit(recordings)
    assert learner.classes_.tolist() == ["rest", "run", "walk"]
    y = np.repeat([2, 0, 1], 15)
    found = learner.predict_states(3 * np.eye(3)[y] + rng.normal(size=(45, 3)))
    assert np.mean(found == names[y]) > 0.9


@cases(
    ([7, 7, None, 9], [7, 7, -1, 9]),
    ([7.5, 7.5, None, 9.0], [7.5, 7.5, -1.0, 9.0]),
    (pd.array([2**60 + 1, 2**60, None, 1], dtype="Int64"), [2**60 + 1, 2**60, -1, 1]),
    ([True, True, None, False], [True, True, -1, False]),
    (["a", "a", None, "b"], ["a", "a", -1, "b"]),
    ids=["numbers", "decimals", "large", "truths", "names"],
)
def test_labels_beside_a_blank_keep_their_type(labels, expected):
    frame = pd.DataFrame({"who": ["x"] * 4, "a": np.arange(4.0), "label": labels})
    (found,) = from_long(frame, recording="who")
    assert found.y.tolist() == expected
    assert [type(y) for y in found.y.tolist()] == [type(y) for y in expected]


class TestIndex:
    """Labels in a series go with the rows of their frame."""

    Y = np.repeat([0, 1, 2], 20)
    DAYS = pd.date_range("2024-03-01", periods=60, tz="Europe/Berlin")
    WALKS = pd.MultiIndex.from_product([["walk"], range(60)])

    def frame(self, index):
        X = np.random.default_rng(0).normal(size=(60, 2)) + 3.0 * self.Y[:, None]
        return pd.DataFrame(X, index=index, columns=["a", "b"])

    @pytest.mark.parametrize("index", [DAYS, WALKS, [f"row {i}" for i in range(60)]])
    def test_labels_are_matched_to_rows_by_an_index(self, index):
        X = self.frame(index)
        shuffled = np.random.default_rng(1).permutation(60)
        y = pd.Series(self.Y, index=X.index)
        learner = MetricLearner(metric="diagonal").fit([X, X], [y.iloc[shuffled], y])
        w = MetricLearner(metric="diagonal").fit([X, X], [self.Y, self.Y]).solution_.w
        np.testing.assert_array_equal(learner.solution_.w, w)
        named = {"one": X}, {"one": y.iloc[shuffled]}
        assert learner.score(*named) == learner.score(X, y) == learner.score([X], [self.Y])
        assert encode(learner, X, y.iloc[shuffled])[0].breakpoints == [20, 40, 60]
        known = y.where(np.arange(60) < 50, -1)
        found = learner.predict([X], known=[known.iloc[shuffled]])[0]
        assert np.flatnonzero(np.diff(found))[:2].tolist() == [19, 39]

    @cases(
        (DAYS, range(60)),
        (range(60), DAYS[::-1]),
        (range(100, 160), range(60)),
        ([7] * 60, [7] * 60),
        (DAYS, DAYS.tz_convert("UTC")),
    )
    def test_labels_are_matched_to_rows_by_order_if_an_index_only_counts(self, rows, labels):
        y = pd.Series(self.Y, index=labels)
        learner = MetricLearner(metric="diagonal").fit([self.frame(rows)] * 2, [y, self.Y])
        assert encode(learner, [self.frame(rows)], [y])[0].breakpoints == [20, 40, 60]

    @cases(
        (DAYS, DAYS + pd.Timedelta("1D")),
        (DAYS, DAYS.tz_localize(None)),
        (range(100, 160), range(50, 110)),
        (range(60), range(59, -1, -1)),
    )
    def test_labels_with_another_index_than_the_rows_are_refused(self, rows, labels):
        y = pd.Series(self.Y, index=labels)
        message = "the index of the labels of frame 'one' is not"
        with pytest.raises(DataError, match=message):
            MetricLearner().fit({"one": self.frame(rows)}, {"one": y})
        learner = MetricLearner(metric="diagonal").fit([self.frame(rows)] * 2, [self.Y] * 2)
        with pytest.raises(DataError, match=r"frame 0 .*: in row .*Give y.to_numpy\(\) if labels"):
            learner.score([self.frame(rows)], [y])


def test_one_state_that_is_written_in_two_ways_is_told(tmp_path):
    """Else a change of hand is a change of state, and a state is learned from half of its names."""
    spelled = {"a": "sitting_down", "b": "Sitting down ", "c": "sitting_down"}
    for name, label in spelled.items():
        rows = [f"{t % 3},rest" for t in range(20)] + [f"{t % 3 + 9},{label}" for t in range(20)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,label", *rows]) + "\n")
    recordings = read_recordings(tmp_path)
    ys = [one.y.tolist() for one in recordings]
    partial = [PartialLabels(labels=[None, *y[1:]]) for y in ys]
    Xs = [one.X for one in recordings]
    learner = MetricLearner(metric="diagonal")
    for given, name in (
        ((recordings,), "{}"),
        ((Xs, ys), "recording {}"),
        (([pd.DataFrame(X) for X in Xs], [pd.Series(y) for y in ys]), "recording {}"),
        ((Xs, partial), "recording {}"),
    ):
        with pytest.warns(DataWarning, match="capitals, blanks or dashes") as told:
            learner.fit(*given)
        assert len(told) == 1
        one, other = map(name.format, "ab" if name == "{}" else "01")
        said = f"'sitting_down' (in {one}) and 'Sitting down' (in {other})"
        assert said in str(told[0].message)
    (tmp_path / "b.csv").unlink()
    learner.fit(read_recordings(tmp_path))


# ---- labels that are not known, beside names


ZEROS = np.zeros((6, 1))


@pytest.mark.parametrize("unknown", [None, np.nan, pd.NA, "", -1])
@pytest.mark.parametrize("holder", [list, lambda y: np.array(y, dtype=object), pd.Series])
def test_an_unknown_label_is_no_boundary(unknown, holder):
    """numpy would make the text "nan" of a NaN beside text, and "-1" of the number."""
    (codes,) = read_boundaries(
        [holder(["a", "a", unknown, unknown, "b", "c"])], [ZEROS], "it"
    ).codes
    assert codes.tolist() == [-1, 0, -1, -1, -1, 1]


def test_windows_have_no_label_that_nobody_gave():
    found = windows(ZEROS, rate=1.0, window=2.0, hop=2.0)
    assert found.labels(["a", "a", "", "", "b", "b"]).tolist() == ["a", "", "b"]
    with pytest.raises(DataError, match=r'labels do not compare .*: give "" for unknown ones'):
        found.labels(["a", "a", np.nan, np.nan, "b", "b"])


# ---- tables of events, under any names of columns, in any unit, and of several behaviours at once


SECONDS = np.arange(60) / 10
EVENTS = [("rest", 0.0, 2.0), ("walk", 2.0, 4.5), ("rest", 4.5, 6.0)]
LABELS = ["rest"] * 20 + ["walk"] * 25 + ["rest"] * 15


def cow(times=SECONDS, name="cow"):
    axis = None if times is None else TimeAxis("t", np.asarray(times))
    return Recording(name, np.zeros((60, 1)), None, ("x",), time=axis)


def written(path, header, rows=EVENTS, **kwargs):
    pd.DataFrame(rows, columns=header).to_csv(path, index=False, **kwargs)
    return path


@cases(
    "evento inicio fim",
    "Ereignis Anfang Ende",
    "événement début fin",
    "comportamiento|Inicio (s)|Fin (s)",
    "attività inizio fine",
    "behaviour start_time stop_time",
    "event_type|Onset [sec]|Offset [sec]",
    "Verhalten Startzeit Endzeit",
    "activity tStart tEnd",
)
def test_columns_of_labels_are_found_in_several_languages(tmp_path, header):
    header = header.split("|") if "|" in header else header.split()
    found = read_intervals(written(tmp_path / "cow.csv", header))
    assert found == {"cow": [Interval(start, end, label) for label, start, end in EVENTS]}


@cases(
    (["label", "start_ms", "end_ms"], 1000.0),
    (["label", "start_frame", "end_frame"], 10.0),
    (["state", "start (min)", "end (min)"], 1 / 60),
)
def test_the_name_of_a_column_tells_its_unit(tmp_path, header, factor):
    rows = [(label, start * factor, end * factor) for label, start, end in EVENTS]
    table = written(tmp_path / "cow.csv", header, rows)
    assert with_labels([cow()], table)[0].y.tolist() == LABELS


def test_times_are_preferred_to_the_samples_beside_them(tmp_path):
    """As in the tables that predict writes."""
    rows = [(label, 10 * start, 10 * end, start, end) for label, start, end in EVENTS]
    header = ["label", "start", "end", "start_time", "end_time"]
    assert with_labels([cow()], written(tmp_path / "cow.csv", header, rows))[0].y.tolist() == LABELS


DAY = pd.Timestamp("2024-05-01 08:00")
DATES = (DAY + pd.to_timedelta(SECONDS, unit="s")).to_numpy()


@cases(SECONDS, DATES, 1714550400 + SECONDS, (1714550400 + SECONDS) * 1000)
def test_labels_may_count_seconds_since_the_start(tmp_path, times):
    table = written(tmp_path / "cow.csv", ["label", "onset", "offset"])
    assert with_labels([cow(times)], table)[0].y.tolist() == LABELS
    lasting = [(label, start, end - start) for label, start, end in EVENTS]
    table = written(tmp_path / "cow.csv", ["label", "onset", "Dauer"], lasting)
    assert with_labels([cow(times)], table)[0].y.tolist() == LABELS
    starts = [("cow", label, start) for label, start, _ in EVENTS]
    starts.insert(1, ("calf", "walk", 0.0))
    table = written(tmp_path / "cow.csv", ["recording", "label", "onset"], starts)
    found = with_labels([cow(times), cow(times, "calf")], table, end="next")
    assert [one.y.tolist() for one in found] == [LABELS, ["walk"] * 60]
    written(tmp_path / "cow.csv", ["label", "onset"], [row[1:] for row in starts if "cow" in row])
    with pytest.warns(DataWarning, match="2 of 3 rows have no end .* say end='next' if they do"):
        (found,) = with_labels([cow(times)], table)
    assert found.y.tolist() == LABELS


@pytest.mark.parametrize("style", ["%Y-%m-%d %H:%M:%S.%f", "%d.%m.%Y %H:%M:%S.%f"])
def test_dates_of_other_tools_are_read(tmp_path, style):
    def date(seconds):
        return (DAY + pd.Timedelta(seconds=seconds)).strftime(style)

    rows = [(label, date(start), date(end)) for label, start, end in EVENTS]
    table = written(tmp_path / "cow.csv", ["label", "start", "end"], rows)
    assert with_labels([cow(DATES)], table)[0].y.tolist() == LABELS
    rows = [(label, date(start), end - start) for label, start, end in EVENTS]
    table = written(tmp_path / "cow.csv", ["label", "start", "duration"], rows)
    starts = written(tmp_path / "starts.csv", ["label", "start"], [row[:2] for row in rows])
    assert with_labels([cow(DATES)], starts, end="next")[0].y.tolist() == LABELS
    if style.startswith("%Y"):
        assert with_labels([cow(DATES)], table)[0].y.tolist() == LABELS
    else:
        with pytest.raises(DataError, match="line 2: a duration is for"):
            with_labels([cow(DATES)], table)


def test_clock_times_of_labels_match_seconds_of_recordings(tmp_path):
    clock = pd.Series(pd.to_datetime(DATES)).dt.strftime("%H:%M:%S.%f")
    pd.DataFrame({"t": clock, "x": 0.0}).to_csv(tmp_path / "cow.csv", index=False)
    found = read_recording(tmp_path / "cow.csv", need_labels=False, time_column="t")
    table = written(tmp_path / "events.csv", ["label", "start", "end"])
    assert with_labels([found], table)[0].y.tolist() == LABELS


def test_a_rate_gives_times_and_seconds_without_times_are_refused(tmp_path):
    pd.DataFrame({"x": np.zeros(60)}).to_csv(tmp_path / "cow.csv", index=False)
    table = written(tmp_path / "events.csv", ["label", "start (s)", "end (s)"])
    with pytest.raises(DataError, match=r"in seconds, and it has no times: .*\(rate=\)"):
        with_labels([read_recording(tmp_path / "cow.csv", need_labels=False)], table)
    found = read_recording(tmp_path / "cow.csv", need_labels=False, rate=10)
    assert with_labels([found], table)[0].y.tolist() == LABELS
    for rate in (0, -1, "fast", np.inf):
        with pytest.raises(SettingsError, match="rate must be"):
            read_recording(tmp_path / "cow.csv", rate=rate)


@pytest.mark.parametrize("column", ["viagem", "animal", "subject"])
def test_the_column_with_names_of_recordings_is_found(tmp_path, column):
    """Whatever it is called, and though a column of another name looks more like it."""
    rows = [(name, "s1", *event) for name, event in product(("b", "a", "c"), EVENTS)]
    table = written(tmp_path / "all.csv", [column, "session", "event", "start", "end"], rows)
    with pytest.warns(DataWarning, match="labels of 'c' are not used"):
        found = with_labels([cow(name="a"), cow(name="b")], table)
    assert [one.y.tolist() for one in found] == [LABELS] * 2


SEVERAL = [
    ("a", "ann", "graze", 0.0, 3.0),
    ("a", "ann", "walk", 2.0, 4.0),
    ("b", "ann", "graze", 1.0, 6.0),
    ("c", "ben", "graze", 0.0, 6.0),
]
HEADER = ["recording", "observer", "behavior", "start", "end"]


def test_behaviours_are_layers_of_the_recordings_where_they_were_looked_for(tmp_path):
    """Ann looked for both, and saw no walk in b; Ben never looked for walks."""
    table = written(tmp_path / "all.csv", HEADER, SEVERAL)
    cows = [cow(name=name) for name in "abc"]
    with pytest.warns(DataWarning, match=r"\(line 2\) overlaps 'walk' from 2.0 to 4.0 \(line 3\)"):
        layers = layers_of(cows, table)
    assert list(layers) == ["graze", "walk"]
    a, b, c = layers["walk"]
    assert a.y.tolist() == ["no walk"] * 20 + ["walk"] * 20 + ["no walk"] * 20
    assert b.y.tolist() == ["no walk"] * 60
    assert c.y is None
    assert layers["graze"][1].y.tolist() == ["no graze"] * 10 + ["graze"] * 50
    assert all(
        one.X is own.X
        for one, own in chain.from_iterable(zip(some, cows, strict=1) for some in layers.values())
    )
    (again, *_) = layers_of(cows, table, tier="walk", outside="else")["walk"]
    assert again.y.tolist() == ["else"] * 20 + ["walk"] * 20 + ["else"] * 20
    with pytest.warns(DataWarning), pytest.raises(DataError, match="choose one, tier='graze'"):
        with_labels(cows, table)
    with pytest.raises(DataError, match=r"nothing about 'c' of 'walk'"):
        with_labels(cows, table, tier="walk")
    with pytest.raises(DataError, match="no tier 'run'; there is 'graze', 'walk'"):
        layers_of(cows, table, tier="run")
    with pytest.raises(SettingsError, match="got 'observer'"):
        layers_of(cows, table, observer="ann")


def test_a_row_without_times_says_that_a_label_was_looked_for(tmp_path):
    written(tmp_path / "a.csv", HEADER[2:], [row[2:] for row in SEVERAL[:2]])
    written(tmp_path / "b.csv", HEADER[2:], [("graze", 1.0, 6.0), ("walk", None, None)])
    written(tmp_path / "c.csv", HEADER[2:], [("graze", 0.0, 6.0)])
    with pytest.warns(DataWarning, match="each label is a layer"):
        layers = layers_of([cow(name=name) for name in "abc"], tmp_path)
    assert [one.y is None for one in layers["walk"]] == [False, False, True]
    assert set(layers["walk"][1].y) == {"no walk"}


def test_a_project_of_boris_lists_what_was_looked_for(tmp_path):
    kinds = [{"code": code, "type": "State event"} for code in ("graze", "walk")]
    stretches = (("graze", 0, 3), ("walk", 2, 4))
    events = []
    for what, *ends in stretches:
        events += [[at, "", what, "", ""] for at in ends]
    project = {
        "behaviors_conf": dict(enumerate(kinds)),
        "observations": {"a": {"events": events}, "b": {"events": []}},
    }
    (tmp_path / "all.boris").write_text(json.dumps(project))
    with pytest.warns(DataWarning, match="each label is a layer"):
        layers = layers_of([cow(name="a"), cow(name="b")], tmp_path / "all.boris")
    assert set(layers["walk"][1].y) == {"no walk"}


def test_tiers_of_a_label_file_are_layers(tmp_path):
    rows = [("gait", *event) for event in EVENTS] + [("head", "up", 0.0, 6.0)]
    table = written(tmp_path / "cow.csv", ["tier", "label", "start", "end"], rows)
    layers = layers_of([cow()], table)
    assert {name: one.y.tolist() for name, (one,) in layers.items()} == {
        "gait": LABELS,
        "head": ["up"] * 60,
    }


def test_intervals_of_one_name_that_overlap_are_joined_and_told(tmp_path):
    rows = [("rest", 0.0, 2.0), ("rest", 1.5, 4.0), ("walk", 4.0, 6.0)]
    table = written(tmp_path / "cow.csv", ["label", "start", "end"], rows)
    with pytest.warns(DataWarning, match=r"1 of 3 .* joined .* 'rest' from 1.5 to 4.0 \(line 3\)"):
        (found,) = with_labels([cow()], table)
    assert found.y.tolist() == ["rest"] * 40 + ["walk"] * 20


@pytest.mark.parametrize("times", [SECONDS, DATES])
def test_what_lies_before_the_start_is_told_with_its_line(tmp_path, times):
    rows = [*EVENTS, ("rest", -5.0, -4.0)]
    table = written(tmp_path / "cow.csv", ["label", "start", "end"], rows)
    with pytest.warns(DataWarning, match=r"cow.csv: cow: 1 of 4 .* from -5.0 to -4.0 \(line 5\)"):
        assert with_labels([cow(times)], table)[0].y.tolist() == LABELS


@pytest.mark.parametrize(
    ("own", "other"), [("{}", "{}-hypnogram"), ("{}_eeg", "y {}"), ("{}-1", "{}-1-a")]
)
def test_names_that_differ_by_the_same_characters_everywhere_are_paired_with_a_warning(
    tmp_path, own, other
):
    shows = [replace(SHOW, name=own.format(name)) for name in ("S1", "S12", "S2")]
    for name in ("S1", "S12", "S2"):
        (tmp_path / f"{other.format(name)}.csv").write_text(f"start,end,label\n0,10,{name}\n")
    with pytest.warns(DataWarning, match="are taken for those of"):
        found = with_labels(shows, tmp_path)
    assert [one.y[0] for one in found] == ["S1", "S12", "S2"]


def test_names_that_differ_otherwise_are_refused(tmp_path):
    shows = [replace(SHOW, name=name) for name in ("p1", "p2", "p11", "p12")]
    for name in ("p11-a", "p12-a"):
        (tmp_path / f"{name}.csv").write_text("start,end,label\n0,10,a\n")
    with pytest.raises(DataError, match="nothing about p1"):
        with_labels(shows, tmp_path)


def test_numbers_that_reach_few_of_the_samples_may_be_times(tmp_path):
    """Ten seconds of a recording at 8 Hz, of which nothing says so."""
    recording = replace(SHOW, X=np.zeros((80, 1)), time=None)
    path = tmp_path / "show.csv"
    path.write_text("start,end,label\n0,4,a\n4,10,b\n")
    with pytest.warns(DataWarning, match="count samples, and end at 10 of 80: .*rate="):
        with_labels([recording], path, blanks=True)
