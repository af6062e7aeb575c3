"""Nothing of a file of labels is lost without a word, and what nobody knows stays unknown."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from structsvm import DataError, MetricLearner
from structsvm.errors import DataWarning
from structsvm.features import StateScores, windows
from structsvm.features.scores import read_boundaries
from structsvm.io import (
    Interval,
    Recording,
    TimeAxis,
    from_long,
    intervals_of,
    labels_of,
    read_recording,
    read_recordings,
    with_labels,
)
from structsvm.learner.steps import encode

SHOW = Recording("show", np.zeros((20, 1)), None, ("x",), time=TimeAxis("s", np.arange(20.0) / 2))


def labelled(folder, text, kind="csv", **settings):
    path = folder / f"show.{kind}"
    path.write_text(text, encoding="utf-8")
    return with_labels([SHOW], path, **settings)[0].y.tolist()


@pytest.mark.parametrize("rows", ["0,3,\n3,10,a\n", "0,3\n3,10,a\n"])
def test_a_stretch_without_a_label(tmp_path, rows):
    text = f"start,end,label\n{rows}"
    with pytest.raises(DataError, match=r"6 of 20 .* at s 0, or their stretch has no label"):
        labelled(tmp_path, text)
    assert labelled(tmp_path, text, blanks=True) == [-1] * 6 + ["a"] * 14


def test_stretches_in_another_unit_of_time(tmp_path):
    """A second of the file is a millisecond: all but the first lie after the end."""
    text = "start,end,label\n0,3000,a\n3000,10000,b\n"
    with pytest.warns(DataWarning, match="2 of 2 intervals hold no sample, or reach beyond"):
        assert labelled(tmp_path, text) == ["a"] * 20


def test_moments_that_are_times_of_samples_but_for_rounding():
    """14 * 0.1 is more than 1.4, and was after the sample at 1.4."""
    stretches = [Interval(0, 14 * 0.1, "rest"), Interval(14 * 0.1, 5, "walk")]
    labels = labels_of(stretches, np.round(np.arange(50) / 10, 1)).labels
    assert labels.index("walk") == 14


STRETCH = {"start": 0, "end": 10, "timeserieslabels": ["a"]}
TASK = {"data": {"csv": "show.csv"}}


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([{"id": 1, "csv": "show.csv", "label": [STRETCH]}], "neither annotations nor predict"),
        ({"show": [STRETCH]}, "neither annotations nor predictions"),
        ([TASK | {"annotations": []}], "nothing about show"),
        ([TASK | {"annotations": [{"result": []}]}], "nothing about show"),
    ],
    ids=["JSON-MIN", "one of our own", "a task that nobody did", "done, and nothing marked"],
)
def test_a_task_without_labels_is_not_one_without_a_change(tmp_path, tasks, message):
    with pytest.raises(DataError, match=message):
        labelled(tmp_path, json.dumps(tasks), "json")


@pytest.mark.parametrize(("one", "other"), [("1.1", "1.10"), ("01", "1"), ("7", "7.0")])
def test_two_texts_that_are_one_number(tmp_path, one, other):
    path = tmp_path / "codes.csv"
    path.write_text("\n".join(["x,label", *(f"1,{one}", f"2,{other}", "3,9")]), encoding="utf-8")
    with pytest.warns(DataWarning, match=f"codes.csv: '{one}' and '{other}' in column 'label' are"):
        assert len(set(read_recording(path).y)) == 2
    path.write_text("\n".join(["x,label", *("1,01", "2,02", "3,03")]), encoding="utf-8")
    assert read_recording(path).y.tolist() == [1, 2, 3]


def test_numbers_that_no_float_tells_apart(tmp_path):
    """As pandas reads whole numbers of which one is missing."""
    table = pa.table({"x": [1.0, 2.0, 3.0], "label": [None, 2**60, 2**60 + 1]})
    parquet.write_table(table, tmp_path / "hashes.parquet")
    with pytest.raises(DataError, match=r"labels that are numbers beyond 2\*\*53"):
        read_recording(tmp_path / "hashes.parquet", blanks=True)


@pytest.mark.parametrize(
    "y",
    [
        np.array([0.0, 0.0, np.nan, np.nan, 1.0, -1.0]),
        pd.Series([0, 0, None, None, 1, -1], dtype="Int64"),
        np.array([0, 0, None, np.nan, 1, -1], dtype=object),
        [0, 0, pd.NA, "  ", 1, -1],
    ],
    ids=["NaN", "NA", "objects", "blank"],
)
def test_what_has_no_label_is_in_no_interval(y):
    """A NaN is not equal to itself: each was an interval that is called nan."""
    found = intervals_of(y, np.arange(6))
    assert [(one.start, one.end, float(one.label)) for one in found] == [(0, 2, 0), (4, 5, 1)]


def test_a_name_is_the_same_state_in_every_file_wherever_labels_are_blank(tmp_path):
    """In the order of their first samples, names were 0, 1, 2: another state in each file."""
    rng, names = np.random.default_rng(0), np.array(["rest", "run", "walk"], dtype=object)
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


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([7, 7, None, 9], [7, 7, -1, 9]),
        ([7.5, 7.5, None, 9.0], [7.5, 7.5, -1.0, 9.0]),
        (pd.array([2**60 + 1, 2**60, None, 1], dtype="Int64"), [2**60 + 1, 2**60, -1, 1]),
        ([True, True, None, False], [True, True, -1, False]),
        (["a", "a", None, "b"], ["a", "a", -1, "b"]),
    ],
    ids=["numbers", "decimals", "large", "truths", "names"],
)
def test_labels_beside_a_blank_stay_what_they_are(labels, expected):
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
    def test_by_the_index_where_both_have_one(self, index):
        X, shuffled = self.frame(index), np.random.default_rng(1).permutation(60)
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

    @pytest.mark.parametrize(
        ("rows", "labels"),
        [
            (DAYS, range(60)),
            (range(60), DAYS[::-1]),
            (range(100, 160), range(60)),
            ([7] * 60, [7] * 60),
            (DAYS, DAYS.tz_convert("UTC")),
        ],
    )
    def test_by_the_order_where_an_index_says_nothing(self, rows, labels):
        y = pd.Series(self.Y, index=labels)
        learner = MetricLearner(metric="diagonal").fit([self.frame(rows)] * 2, [y, self.Y])
        assert encode(learner, [self.frame(rows)], [y])[0].breakpoints == [20, 40, 60]

    @pytest.mark.parametrize(
        ("rows", "labels"),
        [
            (DAYS, DAYS + pd.Timedelta("1D")),
            (DAYS, DAYS.tz_localize(None)),
            (range(100, 160), range(50, 110)),
            (range(60), range(59, -1, -1)),
        ],
    )
    def test_refused_where_they_do_not_match(self, rows, labels):
        y, message = (
            pd.Series(self.Y, index=labels),
            "the index of the labels of frame 'one' is not",
        )
        with pytest.raises(DataError, match=message):
            MetricLearner().fit({"one": self.frame(rows)}, {"one": y})
        learner = MetricLearner(metric="diagonal").fit([self.frame(rows)] * 2, [self.Y] * 2)
        with pytest.raises(DataError, match=r"frame 0 .*: in row .*Give y.to_numpy\(\) if labels"):
            learner.score([self.frame(rows)], [y])


def test_one_state_that_is_written_in_two_ways_is_told(tmp_path):
    """Else a change of hand is a change of state, and a state is learned from half of its names."""
    for name, label in {"a": "sitting_down", "b": "Sitting down ", "c": "sitting_down"}.items():
        (tmp_path / f"{name}.csv").write_text(f"x,label\n1,rest\n2,{label}\n3,{label}\n")
    with pytest.warns(DataWarning, match="capitals, blanks or dashes") as told:
        read_recordings(tmp_path)
    assert len(told) == 1
    assert "'sitting_down' (in a) and 'Sitting down' (in b)" in str(told[0].message)
    (tmp_path / "b.csv").unlink()
    read_recordings(tmp_path)


# ---- labels that are not known, beside names


ZEROS = np.zeros((6, 1))


@pytest.mark.parametrize("unknown", [None, np.nan, pd.NA, "", -1])
@pytest.mark.parametrize("holder", [list, lambda y: np.array(y, dtype=object), pd.Series])
def test_an_unknown_name_is_no_boundary(unknown, holder):
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
