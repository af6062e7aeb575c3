"""Tables of events, under any names of columns, in any unit, and of several behaviours at once."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_kit import TRAIN

from structsvm.cli import try_out
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.io import (
    Interval,
    Recording,
    TimeAxis,
    layers_of,
    read_intervals,
    read_recording,
    with_labels,
)

SECONDS = np.arange(60) / 10
EVENTS = [("rest", 0.0, 2.0), ("walk", 2.0, 4.5), ("rest", 4.5, 6.0)]
LABELS = ["rest"] * 20 + ["walk"] * 25 + ["rest"] * 15


def cow(times=SECONDS, name="cow"):
    axis = None if times is None else TimeAxis("t", np.asarray(times))
    return Recording(name, np.zeros((60, 1)), None, ("x",), time=axis)


def written(path, header, rows=EVENTS, **kwargs):
    pd.DataFrame(rows, columns=header).to_csv(path, index=False, **kwargs)
    return path


@pytest.mark.parametrize(
    "header",
    [
        "evento inicio fim",
        "Ereignis Anfang Ende",
        "événement début fin",
        "comportamiento|Inicio (s)|Fin (s)",
        "attività inizio fine",
        "behaviour start_time stop_time",
        "event_type|Onset [sec]|Offset [sec]",
        "Verhalten Startzeit Endzeit",
        "activity tStart tEnd",
    ],
)
def test_columns_in_the_usual_languages(tmp_path, header):
    header = header.split("|") if "|" in header else header.split()
    found = read_intervals(written(tmp_path / "cow.csv", header))
    assert found == {"cow": [Interval(start, end, label) for label, start, end in EVENTS]}


@pytest.mark.parametrize(
    ("header", "factor"),
    [
        (["label", "start_ms", "end_ms"], 1000.0),
        (["label", "start_frame", "end_frame"], 10.0),
        (["state", "start (min)", "end (min)"], 1 / 60),
    ],
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


@pytest.mark.parametrize(
    "times", [SECONDS, DATES, 1714550400 + SECONDS, (1714550400 + SECONDS) * 1000]
)
def test_seconds_since_the_start_whatever_the_recording_counts(tmp_path, times):
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
    with pytest.raises(DataError, match="end='next' if each lasts until the next row"):
        with_labels([cow(times)], table)


@pytest.mark.parametrize("style", ["%Y-%m-%d %H:%M:%S.%f", "%d.%m.%Y %H:%M:%S.%f"])
def test_dates_as_other_tools_write_them(tmp_path, style):
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


def test_a_clock_of_the_day_and_seconds_since_the_start(tmp_path):
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
def test_the_column_that_holds_the_names_of_recordings(tmp_path, column):
    """Whatever it is called, and though a column of another name looks more like it."""
    rows = [(name, "s1", *event) for name in ("b", "a", "c") for event in EVENTS]
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


def test_several_behaviours_are_layers_where_they_were_looked_for(tmp_path):
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
    assert all(one.X is own.X for some in layers.values() for one, own in zip(some, cows, strict=1))
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
    events = [[at, "", what, "", ""] for what, *ends in stretches for at in ends]
    project = {
        "behaviors_conf": dict(enumerate(kinds)),
        "observations": {"a": {"events": events}, "b": {"events": []}},
    }
    (tmp_path / "all.boris").write_text(json.dumps(project))
    with pytest.warns(DataWarning, match="each label is a layer"):
        layers = layers_of([cow(name="a"), cow(name="b")], tmp_path / "all.boris")
    assert set(layers["walk"][1].y) == {"no walk"}


def test_tiers_are_layers(tmp_path):
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


def test_try_learns_each_layer_from_the_same_arrays(run, tmp_path, monkeypatch):
    rows = []
    for recording in TRAIN[:3]:
        frame = pd.DataFrame(recording.X, columns=recording.features)
        frame.to_csv(tmp_path / f"{recording.name}.csv", index=False)
        rows += [(recording.name, "a/b", 0, 90), (recording.name, "walk", 50, 150)]
    rows += [(TRAIN[0].name, "run", 10, 20)]
    labels = written(tmp_path / "all.tsv", ["recording", "event", "start", "end"], rows, sep="\t")
    tried = {}

    def try_layer(inputs, end):
        args = inputs.args
        tried[args.output.name] = inputs
        if len(tried) == 3:
            raise DataError("too few, give label_column=")
        loss = {"loss": 0.5}
        plain = {"predicted_with": "learned", "learned": loss, "verdict": {"sentence": "Yes. No."}}
        args.terminal.report({**plain, "report": "r.html"}, "the table")

    monkeypatch.setattr(try_out, "_try_layer", try_layer)
    data = [tmp_path / f"{one.name}.csv" for one in TRAIN[:3]]
    code, out, err = run("try change-point -o tried --labels", labels, *data)
    assert code == 0, err
    assert list(tried) == ["a_b", "walk", "run"]
    assert tried["walk"].Xs[0] is tried["a_b"].Xs[0]
    assert out.splitlines()[-2:] == [
        "a/b: loss 0.500 (learned). Yes. r.html",
        "walk: loss 0.500 (learned). Yes. r.html",
    ]
    assert "run: too few, give --label-column" in err
    tried.clear()
    code, out, _ = run("try change-point --json -o tried --labels", labels, *data)
    assert list(json.loads(out)["layers"]) == ["a/b", "walk"]
