"""``structsvm predict --follow``: lines of numbers in, lines of changes out, as they come."""

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from structsvm import StateSegmenter, load, margin_rates, save

Y = np.repeat(["rest", "walk", "rest", "walk"], 25)


def recording(seed):
    rng = np.random.default_rng(seed)
    return np.column_stack([(Y == "walk") + rng.normal(scale=0.3, size=Y.size), rng.random(Y.size)])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return a model file of a segmenter of two named columns."""
    Xs = [recording(seed) for seed in range(5)]
    learner = StateSegmenter(["lda"], standardize="training")
    learner.fit(Xs, [Y] * 5, feature_names=["speed", "other"])
    path = tmp_path_factory.mktemp("follow") / "m.structsvm"
    save(learner, path)
    return path


def text_of(X, separator=",", names=None):
    lines = [] if names is None else [separator.join(names)]
    return "\n".join([*lines, *(separator.join(f"{x:.17g}" for x in row) for row in X)])


@pytest.fixture
def follow(run, model, monkeypatch):
    """Return a function that follows a text: status, stdout and stderr."""

    def follow(text, *options):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return run(f"predict {model} --follow -", *options)

    return follow


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\r"])
def test_final_changes_of_a_stream_are_those_of_predict(follow, model, separator, end):
    X = recording(9)
    code, out, err = follow(text_of(X, separator) + end)
    assert code == 0, err
    titles, *lines = out.splitlines()
    assert titles == "place,seen,state,margin,is"
    rows = [line.split(",") for line in lines]
    final = [(int(row[0]), row[2]) for row in rows if row[4] == "final"]
    table = load(model).predict_segments(X)
    assert final == [(row["start"], row["state"]) for row in table[1:]]
    assert "100 samples" in err


def test_follow_finds_columns_by_name(follow):
    X = recording(9)
    swapped = np.column_stack([X[:, 1], np.arange(len(X)), X[:, 0]])
    _, out, _ = follow(text_of(swapped, names=["other", "n", "speed"]))
    assert out == follow(text_of(X, names=["speed", "other"]))[1] == follow(text_of(X))[1]


@pytest.mark.parametrize("separator", [";", "\t", " "])
def test_follow_reads_decimal_commas(follow, separator):
    X = recording(9)
    text = text_of(X, separator)
    assert follow(text.replace(".", ","))[:2] == follow(text)[:2]


def test_follow_refuses_bytes_that_are_no_text(run, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1,2\n\xff\xfe,2\n")))
    code, _, err = run(f"predict {model} --follow -")
    assert (code, "line 2 of standard input" in err) == (1, True)


def test_follow_writes_changes_as_json_lines(follow):
    code, out, _ = follow(text_of(recording(9)), "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {*rows[0]} == {"place", "seen", "margin", "state", "final", "withdrawn"}
    assert [row["place"] for row in rows if row["final"]] == [25, 50, 75]


@pytest.mark.parametrize("name", ["sit, stand", 'a "walk"', "è;é"])
def test_follow_writes_names_with_separators_in_quotes(run, model, tmp_path, monkeypatch, name):
    learner = load(model)
    names = np.array(["rest", name])
    learner.classes_ = names
    learner.inputs_ = replace(learner.inputs_, classes=names)
    save(learner, tmp_path / "named.structsvm")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text_of(recording(9)).encode())))
    code, out, err = run(f"predict {tmp_path}/named.structsvm --follow -")
    assert code == 0, err
    assert {row["state"] for row in csv.DictReader(io.StringIO(out))} == {"rest", name}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n1,x\n", "line 2 of standard input: 'x' is no number"),
        ("1,2\n\n1\n", "line 3 .*1 number, and the model takes 2"),
        ("1,2\n1,2,3\n", "line 2 .*3 numbers, and the model takes 2"),
        ("0,5\t1,5\n0,5\n", "line 2 .*1 number, and the model takes 2"),
        ("speed,n,other\n1,2,3\n1,2\n", "line 3 .*2 numbers, and the names are 3"),
        ("\u20ac,1\n", "begins with the names"),
        ("1,2\n1,\n", "a value is missing"),
        ("1,2\n1,nan\n", "a value is missing"),
        ("speed,height\n1,2\n", "without other"),
    ],
)
def test_follow_refuses_bad_lines_with_a_message(follow, text, message):
    code, _, err = follow(text)
    assert code == 1
    assert re.search(message, err), err


@pytest.fixture(scope="module")
def timed(model, tmp_path_factory):
    """The model, learned from a table with a column of times."""
    learner = load(model)
    learner.columns_ = {**getattr(learner, "columns_", {}), "time_column": "t"}
    path = tmp_path_factory.mktemp("timed") / "timed.structsvm"
    save(learner, path)
    return path


@pytest.fixture
def follow_timed(run, timed, monkeypatch):
    """Return a function that follows lines with a time before the two numbers."""

    def follow_timed(lines):
        text = "\n".join(["t,speed,other", *lines])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return run(f"predict {timed} --follow -")

    return follow_timed


@pytest.mark.parametrize(
    ("first", "written"),
    [
        ("2026-01-31 23:59:30", "%Y-%m-%d %H:%M:%S.%f"),
        ("2026-01-31 23:59:30", "%d.%m.%Y %H:%M:%S"),
        ("2026-01-31 23:59:30", "%H:%M:%S"),
        ("2026-01-31 12:00:00", "%m/%d/%Y %H:%M:%S"),
        ("2026-01-31 12:00:00", "%Y-%m-%dT%H:%M:%SZ"),
    ],
)
def test_follow_reads_times_as_tables_have_them(follow, follow_timed, first, written):
    X = recording(9)
    times = pd.date_range(first, periods=len(X), freq="s").strftime(written)
    lines = text_of(X).split("\n")
    timed = [f"{time},{line}" for time, line in zip(times, lines, strict=True)]
    code, out, err = follow_timed(timed)
    assert code == 0, err
    assert out == follow(text_of(X))[1]
    code, _, err = follow_timed([*timed[:40], *timed[50:]])
    assert (code, "a gap of 11" in err) == (1, True)


@pytest.mark.parametrize("last", ["end of the log", "1,2,3", "1;2"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_changes_before_a_refused_line_are_told(follow, last, end):
    text = text_of(recording(9))
    code, out, err = follow(f"{text}\n{last}{end}")
    assert (code, "line 101 of standard input" in err) == (1, True)
    told = out.splitlines()
    assert len(told) > 3
    assert told == follow(text + "\n")[1].splitlines()[: len(told)]


@pytest.mark.parametrize("last", ["1,nan", "1,", "1e200,2"])
def test_changes_before_a_refused_sample_are_told(follow, last):
    text = text_of(recording(9))
    code, out, err = follow(f"{text}\n{last}\n{text}")
    assert (code, "the block after 100 samples" in err) == (1, True), err
    told = out.splitlines()
    assert len(told) > 3
    assert told == follow(text + "\n")[1].splitlines()[: len(told)]


def test_changes_before_a_gap_in_time_are_told(follow_timed):
    rows = text_of(recording(9)).split("\n")
    lines = [f"{t},{row}" for t, row in enumerate(rows)]
    code, out, err = follow_timed([*lines, "130,1,2"])
    assert (code, "a gap of 31 after the time 99" in err) == (1, True), err
    places = [int(line.split(",")[0]) for line in out.splitlines()[1:]]
    assert {25 * round(place / 25) for place in places} == {25, 50, 75}


def test_follow_refuses_a_quoted_cell_without_an_end(follow):
    for cell in ("1" * 200_000, "x" * 200_000):
        code, _, err = follow(f"1,2\n{cell},2\n")
        assert (code, "line 2 of standard input" in err) == (1, True)


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("9,1,2", "a gap of 6 after the time 3"),
        (",1,2", "line 6 of standard input: the time is missing"),
        ("noon,1,2", "line 6 of standard input: 'noon' is no time"),
        ("2,1,2", r"2\.0 is not after 3\.0"),
        ("4,1", "line 6 .*2 numbers, and the names are 3"),
    ],
)
def test_follow_refuses_bad_times_with_a_message(follow_timed, last, message):
    code, _, err = follow_timed([*(f"{t},1,2" for t in range(4)), last])
    assert code == 1
    assert re.search(message, err), err


def test_follow_refuses_closed_standard_input(run, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    code, _, err = run(f"predict {model} --follow -")
    assert (code, "standard input, which is closed" in err) == (1, True)


def test_follow_of_empty_input_writes_the_header_alone(follow):
    code, out, _ = follow("")
    assert (code, out.split()) == (0, ["place,seen,state,margin,is"])


@pytest.mark.parametrize(
    "options", [["x.csv"], ["-o", "out"], ["--margins"], ["--set", "files.window=2"]]
)
def test_follow_refuses_options_for_files(follow, options):
    code, _, err = follow("1,2\n", *options)
    assert code == 1
    assert "--follow reads standard input" in err


@pytest.fixture(scope="module")
def rated(model, tmp_path_factory):
    """The model with rates, and where it is."""
    learner = load(model)
    Xs = [recording(seed) for seed in range(5)]
    learner.margin_rates_ = margin_rates(learner, Xs, [Y] * 5, cv=3)
    path = tmp_path_factory.mktemp("rated") / "rated.structsvm"
    save(learner, path)
    return learner, path


@pytest.mark.parametrize("every", [100, 250, 500])
def test_follow_keeps_the_rate_of_false_alarms(run, rated, monkeypatch, every):
    learner, path = rated
    stream = learner.stream(false_alarm_every=every)
    told = [*stream.push(recording(9)), *stream.end()]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text_of(recording(9)).encode())))
    code, out, err = run(f"predict {path} --follow - --false-alarm-every {every}")
    assert code == 0, err
    assert [int(line.split(",")[0]) for line in out.split()[1:]] == [one.place for one in told]


def test_alarms_need_rates_a_rate_and_a_stream(follow, run, model):
    code, _, err = follow("1,2\n", "--false-alarm-every", "100")
    assert (code, "--rates" in err) == (1, True)
    code, _, err = follow("1,2\n", "--false-alarm-every", "0")
    assert (code, "--false-alarm-every" in err) == (2, True)
    code, _, err = run(f"predict {model} x.csv --false-alarm-every 100")
    assert (code, "add --follow" in err) == (1, True)


def test_follow_tells_changes_before_the_input_ends(model):
    command = [sys.executable, "-m", "structsvm", "predict", model, "--follow", "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        process.stdin.write((text_of(recording(9)[:60]) + "\n").encode())
        process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(2)]
        process.stdin.close()
        assert process.wait() == 0
    assert lines[0] == b"place,seen,state,margin,is\n"
    assert abs(int(lines[1].split(b",")[0]) - 25) <= 3
