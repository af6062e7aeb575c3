"""Messages as data: parameters and recordings are fields, also in another process."""

import copy
import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from cases import cases

from structsvm import DataError, LearningError, MetricLearner, SettingsError
from structsvm.errors import OracleError, PluginError, about, among, warn
from structsvm.messages import (
    Code,
    Numbered,
    Parameter,
    Text,
    Wording,
    join,
    nth,
    parameter,
    said_by,
    wording,
)
from structsvm.support.checks import some_of
from structsvm.support.contract import asked

ADVICE = "bad: " + parameter("skip_lines", [9]) + " leaves it out"


@cases(
    (parameter("ignore", "a b"), "ignore='a b'"),
    (parameter("skip_lines", [1, 2]), "skip_lines=[1, 2]"),
    (parameter("encoding"), "encoding="),
    (parameter("whiten", None), "whiten=None"),
    (parameter("backend", Code("Dask(client)")), "backend=Dask(client)"),
    (nth("recording", np.int64(3)), "recording 3"),
    (wording("Lags()", of_files=parameter("context", "lags")), "Lags()"),
    ("say " + parameter("lazy", True) + ", or not", "say lazy=True, or not"),
    (join([nth("table", 0), "x", parameter("lam")], " and "), "table 0 and x and lam="),
    (
        some_of([nth("recording", i) for i in range(9)], 2),
        "recording 0, recording 1, ... (9 in all)",
    ),
)
def test_python_has_its_own_words(text, said):
    assert isinstance(text, Text)
    assert text == said
    assert "".join(map(str, text.parts)) == said


def test_text_keeps_its_fields_where_it_is_added_and_copied():
    whole = "one" + (nth("recording", 1) + f": {2}; " + ADVICE) + "."
    fields = [part for part in whole.parts if not isinstance(part, str)]
    assert fields == [Numbered("recording", 1), Parameter("skip_lines", [9])]
    for again in (pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole)):
        assert (again, again.parts) == (whole, whole.parts)
    assert Text(parameter("lam")).parts[0].is_open
    assert pickle.loads(pickle.dumps(parameter("lam"))).parts[0].is_open


def test_text_of_braces_and_percent_signs_is_left_as_it_is():
    name = "a{b} %s {0} lam=0.1 recording 1.csv"
    assert (name + ": " + ADVICE).parts[0] == f"{name}: "
    with pytest.raises(DataError) as caught, about(name):
        raise DataError(ADVICE)
    assert str(caught.value) == f"{name}: bad: skip_lines=[9] leaves it out"


@pytest.mark.parametrize("kind", [DataError, SettingsError, OracleError, PluginError])
def test_an_error_carries_parameters_and_recordings(kind):
    error = kind(nth("recording", 3) + ": " + ADVICE + ", or " + parameter("window"))
    assert error.parameters == {"skip_lines": [9]}
    assert error.recordings == (3,)
    assert str(error) == "recording 3: bad: skip_lines=[9] leaves it out, or window="
    assert kind(wording(nth("table", 1), of_files="")).recordings == (1,)
    assert kind("plain lam=1").parameters == {}
    assert kind().recordings == ()


def fail(number):
    error = LearningError(nth("recording", number) + ": " + ADVICE, "status")
    error.add_note("use " + parameter("lam", 0.1))
    raise error


def test_errors_of_other_processes_have_their_fields():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        error = pool.submit(fail, 7).exception()
    assert (error.recordings, error.parameters, error.status) == (
        (7,),
        {"skip_lines": [9]},
        "status",
    )
    assert error.__notes__[0].parts[1] == Parameter("lam", 0.1)


def test_workers_name_the_recording():
    Xs = [np.arange(12.0)[:, None] % 5 for _ in range(3)]
    ys = [np.repeat([0, 1], 6), np.repeat([0, 1], 6), np.repeat([0, 1], [6, 5])]
    with pytest.raises(DataError) as caught:
        MetricLearner(n_jobs=2, backend="processes").fit(Xs, ys)
    assert caught.value.recordings == (2,)


def test_a_warning_has_its_fields_and_the_line_it_comes_from():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(2):
            warn(nth("recording", k) + ": " + ADVICE)
        warn("another")
    first, second, other = [one.message for one in caught]
    assert said_by(second).parts[0] == Numbered("recording", 1)
    assert str(first) == "recording 0: bad: skip_lines=[9] leaves it out"
    assert first.origin == second.origin != other.origin


# ---- where it is


@cases(
    ("a", "a missing value", "a: a missing value"),
    ("no label", "no labels", "no label: no labels"),
    ("x.csv", "x.csv: no label", "x.csv: no label"),
    ("x.csv", "x.csv, who 3: no label", "x.csv, who 3: no label"),
    (nth("recording", 1), nth("recording", 12) + " is short", "recording 1: recording 12 is short"),
    (nth("recording", 1), nth("recording", 1) + ": short", "recording 1: short"),
)
def test_an_error_says_once_where_it_is(where, message, said):
    with pytest.raises(DataError) as caught, about(where):
        raise DataError(message)
    assert str(caught.value) == said


def test_a_plugin_error_names_another_sample_than_that_in_its_words():
    with pytest.raises(PluginError) as caught, asked(object(), "loss", nth("sample", 1)):
        raise PluginError("as in " + nth("sample", 12))
    assert str(caught.value) == "sample 1: as in sample 12"
    with pytest.raises(DataError) as caught, asked(object(), "loss", nth("sample", 1)):
        raise DataError(nth("sample", 1) + " is short")
    assert not hasattr(caught.value, "__notes__")


def test_errors_about_some_recordings_number_them_among_all():
    error = DataError(nth("recording", 1) + ": " + ADVICE)
    error.add_note("as " + nth("recording", 0))
    with pytest.raises(DataError) as caught, among([4, 6]):
        raise error
    assert str(caught.value) == "recording 6: bad: skip_lines=[9] leaves it out"
    assert caught.value.__notes__ == ["as recording 4"]
    with pytest.raises(DataError) as caught, among():
        raise DataError(nth("recording", 1) + ": " + ADVICE)
    assert caught.value.recordings == ()
    assert caught.value.parameters == {"skip_lines": [9]}


def test_the_message_of_another_error_is_one_line():
    assert said_by(ValueError("one\n  two")) == "one two"
    assert said_by(OSError(2, "no such file")) == "no such file"
    assert said_by(DataError(ADVICE)).parts == ADVICE.parts
    assert Wording("a", parameter("b")).of_files.parts == (Parameter("b"),)
