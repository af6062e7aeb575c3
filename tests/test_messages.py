"""Messages as data: parameters and recordings are fields, also in another process."""

import ast
import copy
import pickle
import re
import warnings
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from cases import cases

from structsvm import ChangePoint, DataError, LearningError, MetricLearner, SettingsError
from structsvm.cli.request import options_for
from structsvm.cli.usage import COMMANDS, build_parser
from structsvm.errors import (
    Code,
    Numbered,
    OracleError,
    Parameter,
    PluginError,
    Text,
    Wording,
    about,
    among,
    join,
    named,
    nth,
    parameter,
    said_by,
    warn,
    wording,
)
from structsvm.io.recording import FileOptions
from structsvm.solvers.certificate import Stopping
from structsvm.support.contract import asked
from structsvm.support.values import some_of

ADVICE = "bad: " + parameter("skip_lines", [9]) + " leaves it out"


@cases(
    (parameter("ignore", "a b"), "ignore='a b'"),
    (parameter("skip_lines", [1, 2]), "skip_lines=[1, 2]"),
    (parameter("encoding"), "encoding="),
    (parameter("whiten", None), "whiten=None"),
    (named("tol", -1.0) + " must be > 0", "tol must be > 0"),
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
def test_fields_of_messages_have_the_spelling_of_python(text, said):
    assert isinstance(text, Text)
    assert text == said
    assert "".join(map(str, text.parts)) == said


def test_a_message_keeps_its_fields_when_added_and_copied():
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


@cases(
    (lambda: Stopping(tol=-1.0), {"tol": -1.0}),
    (lambda: FileOptions(skip_lines=[0]), {"skip_lines": 0}),
    (lambda: ChangePoint(missing=fail), {"missing": repr(fail)}),
)
def test_refused_settings_are_fields_of_the_error(call, parameters):
    with pytest.raises(SettingsError) as caught:
        call()
    assert pickle.loads(pickle.dumps(caught.value)).parameters == parameters
    (name,) = parameters
    assert str(caught.value).startswith(f"{name} must be ")


@cases(*range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_that_other_processes_send_have_their_fields(protocol):
    with pytest.raises(LearningError) as caught:
        fail(7)
    error = pickle.loads(pickle.dumps(caught.value, protocol))
    assert (error.recordings, error.parameters, error.status) == (
        (7,),
        {"skip_lines": [9]},
        "status",
    )
    assert error.__notes__[0].parts[1] == Parameter("lam", 0.1)


def test_errors_of_workers_name_the_recording():
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
    with pytest.raises(PluginError) as caught, asked(object(), "loss", nth("instance", 1)):
        raise PluginError("as in " + nth("instance", 12))
    assert str(caught.value) == "instance 1: as in instance 12"
    with pytest.raises(DataError) as caught, asked(object(), "loss", nth("instance", 1)):
        raise DataError(nth("instance", 1) + " is short")
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


def test_the_message_of_another_error_keeps_its_fields():
    assert said_by(ValueError("one\n  two"), in_a_line=True) == "one two"
    assert said_by(DataError("two  blanks.csv: bad")) == "two  blanks.csv: bad"
    assert said_by(OSError(2, "no such file")) == "no such file"
    assert said_by(DataError(ADVICE)).parts == ADVICE.parts
    assert Wording("a", parameter("b")).of_files.parts == (Parameter("b"),)


# ---- what is written in the sources

CHECKOUT = Path(__file__).resolve().parents[1]
ASSIGNED = re.compile(r"(?<!--set )(?<!\w\()(?<![\w/'\".])([a-z_]+)=(?![A-Z])")
"""A parameter and what follows its name, but not where a whole option is written."""
OF_PYTHON = ("from_long needs recording=", "np.cumsum(y) (labels_are=", ", lam=", "backend='dask'")
"""Texts that are for Python alone, and names of methods."""


def texts_of(path):
    """The texts in a file that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.lineno, node.value


def test_messages_name_parameters_by_fields():
    """In a text the command line cannot spell them; `parameter` makes fields of them."""
    parser = build_parser()
    known = set()
    for command in COMMANDS:
        known |= options_for(parser, command.name, None).keys()
    wrong = []
    folders = [CHECKOUT / name for name in ("structsvm", "problems", "oracles")]
    paths = list(chain.from_iterable(folder.rglob("*.py") for folder in folders))
    assert len(paths) > 100
    for path in paths:
        if path.name == "options.py" or "modeling" in path.parts or "testing" in path.parts:
            continue  # help, and programs of cvxpy and kits, which the command line does not run
        for line, text in texts_of(path):
            named = set(ASSIGNED.findall(text)) & known
            if named and not any(phrase in text for phrase in OF_PYTHON):
                wrong.append(f"{path.relative_to(CHECKOUT)}:{line}: {text!r}")
    assert not wrong, "\n".join(["write parameter(name, value):", *wrong])
