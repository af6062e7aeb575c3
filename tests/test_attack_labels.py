"""Nothing of a file of labels is lost without a word."""

import json

import numpy as np
import pytest

from structsvm.errors import DataError, DataWarning
from structsvm.io import Recording, TimeAxis, with_labels

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
    assert labelled(tmp_path, text, blanks=True) == [-1] * 6 + [0] * 14


def test_a_stretch_that_ends_nowhere(tmp_path):
    with pytest.raises(DataError, match="nan is no number, as 's' is"):
        labelled(tmp_path, "start,end,label\n0,nan,a\n")


def test_stretches_in_another_unit_of_time(tmp_path):
    """A second of the file is a millisecond: all but the first lie after the end."""
    text = "start,end,label\n0,3000,a\n3000,10000,b\n"
    with pytest.warns(DataWarning, match="1 of 2 intervals hold no sample, .* label='b'.*, and"):
        assert labelled(tmp_path, text) == ["a"] * 20


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
