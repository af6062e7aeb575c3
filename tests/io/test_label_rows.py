"""Rows of labels as tools write them: pairs, open ends, last samples, lines without a header."""

import json
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import cases, refused
from label_cases import drawn

from structsvm import DataError
from structsvm.errors import DataWarning
from structsvm.io import Interval, Recording, TimeAxis, layers_of, read_intervals, with_labels
from structsvm.io.cleaning import in_windows

STATES = [(0, 20, "rest"), (20, 35, "walk"), (35, 60, "rest")]
Y = ["rest"] * 20 + ["walk"] * 15 + ["rest"] * 25
T = np.arange(60.0)
DATES = (pd.Timestamp("2024-03-01 08:00") + pd.to_timedelta(T, unit="s")).to_numpy()
DAYS = (pd.Timestamp("2024-03-01") + pd.to_timedelta(T, unit="D")).to_numpy()
HALVES = (pd.Timestamp("2024-03-01") + pd.to_timedelta(12 * T, unit="h")).to_numpy()
NEXT = r"last until the next one, .* say end='next' if they do"
LAST_SAMPLES = "begins a step after the end .* those of last samples"
SLIGHT = "hardly apart, or hardly overlap, meet where the later one begins"


def cow(times=T, name="cow", column="t"):
    axis = None if times is None else TimeAxis(column, np.asarray(times))
    return Recording(name, np.zeros((60, 1)), None, ("x",), time=axis)


def fine_cow():
    times = TimeAxis("t", np.arange(600) / 10)
    return Recording("cow", np.zeros((600, 1)), None, ("x",), time=times)


def table(header, rows):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def lines(rows, between):
    return "".join(between.join(map(str, row)) + "\n" for row in rows)


def labels(folder, text, name="cow.csv", recording=None, **chosen):
    (folder / name).write_text(text)
    (found,) = with_labels([recording or cow()], folder / name, **chosen)
    return found.y.tolist()


# ---- what starts and stops in rows of its own, and what has no end


def signs(start, stop, header="time,behavior,status"):
    return table(header, signed(start, stop))


def signed(start, stop):
    rows = []
    for begin, end, label in STATES:
        rows += [(begin, label, start), (end, label, stop)]
    return rows


@cases(
    signs("START", "STOP"),
    signs("begin", "end", "timestamp,event,type"),
    signs("State start", "State stop", "Time_Relative_sf,Behavior,Event_Type"),
    signs("on", "off", "t,event,action"),
    lines(signs("START", "STOP").splitlines()[::-1][-1:], "")
    + "\n".join(sorted(signs("START", "STOP").splitlines()[1:], key=lambda row: row[-3:])),
)
def test_rows_that_start_and_stop_are_pairs(tmp_path, text):
    assert labels(tmp_path, text) == Y


@cases("_start _end", " on/ off", ": begin/: stop", "-onset/-offset")
def test_names_that_end_with_start_and_stop_are_pairs(tmp_path, endings):
    start, stop = re.split("/|(?<=t) ", endings)
    rows = [(at, name + {"+": start, "-": stop}[sign]) for at, name, sign in signed("+", "-")]
    assert labels(tmp_path, table("time,event", rows)) == Y
    with pytest.raises(DataError, match="'walk' stops at 35"):
        labels(tmp_path, table("time,event", [rows[0], *rows[3:]]))


test_starts_and_stops_without_their_pair_are_refused = refused(
    DataError,
    lambda tmp_path, rows: labels(tmp_path, table("time,behavior,status", rows)),
    ([(0, "a", "START"), (5, "b", "STOP")], r"'b' stops at 5.0 and never started \(line 3\)"),
    ([(0, "a", "START"), (5, "a", "START"), (9, "a", "STOP")], "'a' starts at 5.0 .* since 0.0"),
    ([(0, "a", "START"), (5, "a", "STOP"), (9, "b", "START")], "'b' starts and never stops"),
)

STARTS = [(a, label) for a, _, label in STATES]


@cases(
    ("cow.csv", table("time,label", STARTS)),
    ("cow.csv", table("onset,description", STARTS)),
    ("cow.csv", table("change,state", STARTS)),
    ("cow.csv", table("frame,stage", STARTS)),
    ("cow.csv", table("time,behavior,status", [(*row, "START") for row in STARTS])),
    ("cow.csv", table("label,time", [row[::-1] for row in STARTS[::-1]])),
    ("cow.csv", table("start,end,label", [(a, "", label) for a, label in STARTS])),
    ("cow.txt", lines(STARTS, "\t")),
    ("cow.lab", lines([*STARTS, (60, "End")], " ")),
)
def test_rows_without_an_end_last_until_the_next(tmp_path, name, text):
    with pytest.warns(DataWarning, match=NEXT):
        assert labels(tmp_path, text, name) == Y
    assert labels(tmp_path, text, name, end="next") == Y


def test_the_next_row_of_the_same_recording_ends_a_stretch(tmp_path):
    rows = [("a", 0, "rest"), ("b", 0, "walk"), ("a", 20, "walk"), ("b", 30, "rest")]
    rows += [("a", 35, "rest")]
    (tmp_path / "all.csv").write_text(table("file,time,label", rows))
    with pytest.warns(DataWarning, match="3 of 5 rows have no end"):
        a, b = with_labels([cow(name="a"), cow(name="b")], tmp_path / "all.csv")
    assert a.y.tolist() == Y
    assert b.y.tolist() == ["walk"] * 30 + ["rest"] * 30


def test_samples_before_the_first_start_are_unknown(tmp_path):
    with (
        pytest.warns(DataWarning, match=NEXT),
        pytest.raises(DataError, match=r"20 of 60 samples are in no stretch.*outside='rest'"),
    ):
        labels(tmp_path, table("time,label", STARTS[1:]))


@pytest.mark.parametrize("end", ["", "end", "Ende", "fin", "NaN", "-", "None", "inf", "EOF"])
def test_the_last_stretch_may_have_no_end(tmp_path, end):
    rows = [*STATES[:2], (35, end, "rest")]
    assert labels(tmp_path, table("start,end,label", rows)) == Y


def test_rows_may_begin_with_the_newest(tmp_path):
    rows = [(str(pd.Timestamp(DATES[a])), label) for a, label in STARTS[::-1]]
    assert labels(tmp_path, table("ts,state", rows), recording=cow(DATES), end="next") == Y


# ---- points


@cases(
    table("start,end,label", [*STATES, (27, 27, "bark")]),
    table("time,behavior,status", [(0, "rest", "START"), (9, "bark", "POINT"), (20, "rest", "STOP"),
                                   (20, "walk", "START"), (35, "walk", "STOP"),
                                   (35, "rest", "START"), (60, "rest", "STOP")]),
    table("onset,duration,label", [(a, b - a, c) for a, b, c in [*STATES, (7, 7, "bark")]]),
)  # fmt: skip
def test_points_among_stretches_are_left_out_with_a_warning(tmp_path, text):
    with pytest.warns(DataWarning, match=r"1 point in time left out, .*'bark' from"):
        assert labels(tmp_path, text) == Y
    with pytest.warns(DataWarning, match="1 point in time left out"):
        found = read_intervals(tmp_path / "cow.csv")["cow"]
    assert {row.label for row in found} == {"rest", "walk"}


def test_points_in_a_tier_of_their_own_are_changes(tmp_path):
    rows = [("state", *row) for row in STATES] + [("beat", 10, 10, ""), ("beat", 50, 50, "")]
    (tmp_path / "cow.csv").write_text(table("tier,start,end,label", rows))
    layers = layers_of([cow()], tmp_path / "cow.csv")
    assert layers["state"][0].y.tolist() == Y
    assert layers["beat"][0].y.tolist() == [0] * 10 + [1] * 40 + [2] * 10


# ---- ends that are last samples, and boundaries that nobody wrote exactly


def inclusive(step=1, first=0, less=1):
    return [(a * step + first, b * step + first - less, c) for a, b, c in STATES]


def dates(rows, form, unit):
    start = pd.Timestamp("2024-03-01 08:00" if unit == "s" else "2024-03-01")
    return [
        (*((start + pd.Timedelta(at, unit=unit)).strftime(form) for at in ends), label)
        for *ends, label in rows
    ]


INCLUSIVE = {
    "frames": (table("start_frame,end_frame,label", inclusive()), cow()),
    "frames from 1": (table("start_frame,end_frame,label", inclusive(first=1)), cow()),
    "frames from 1, no time": (table("start,stop,behavior", inclusive(first=1)), cow(None)),
    "frames of a column": (
        table("start_frame,end_frame,label", inclusive(first=100)),
        cow(100 + np.arange(60), column="frame"),
    ),
    "times of samples": (
        table("start,end,label", [(a / 10, round(b / 10, 1), c) for a, b, c in inclusive()]),
        cow(T / 10),
    ),
    "times of uneven samples": (
        table("start,end,label", [(a**1.5, b**1.5, c) for a, b, c in inclusive()]),
        cow(T**1.5),
    ),
    "whole seconds": (table("start,end,label", inclusive()), cow(np.linspace(0, 60, 60, False))),
    "minutes": (
        table("start_min,end_min,label", [(a, b, c) for a, b, c in inclusive()]),
        cow(60 * T),
    ),
    "days": (table("from,to,state", dates(inclusive(), "%Y-%m-%d", "D")), cow(DAYS)),
    "seconds of dates": (
        table("start,end,state", dates(inclusive(), "%Y-%m-%d %H:%M:%S", "s")),
        cow(DATES),
    ),
    "clock": (table("start,end,state", dates(inclusive(), "%H:%M:%S", "s")), cow(DATES)),
}


def test_ends_are_last_samples_even_if_the_file_also_has_other_days(tmp_path):
    """Stretches of trips that were not read, 5 s apart as those of a trip are, touch nothing."""
    rows = [(5 * a, 5 * b - 5, c) for a, b, c in STATES]
    later = [(day + a, day + b, c) for day, (a, b, c) in product((3600, 7200), rows)]
    text = table("start,end,state", dates(rows + later, "%Y-%m-%d %H:%M:%S", "s"))
    with pytest.warns(DataWarning) as told:
        found = labels(tmp_path, text, recording=cow(DATES[0] + 5 * (DATES - DATES[0])))
    assert found == Y
    assert any(re.search(LAST_SAMPLES, str(one.message)) for one in told)


@pytest.mark.parametrize(("text", "recording"), INCLUSIVE.values(), ids=INCLUSIVE)
@pytest.mark.parametrize("outside", [None, "else"])
def test_ends_that_are_last_samples_are_recognised(tmp_path, text, recording, outside):
    """The samples between were of nobody, or a boundary too many with ``outside``."""
    with pytest.warns(DataWarning, match=LAST_SAMPLES) as told:
        found = labels(tmp_path, text, recording=recording, outside=outside)
    assert found == Y
    assert len(told) == 1


def test_ends_a_day_or_a_millisecond_before_the_next_start_are_last_samples(tmp_path):
    """The last day is whole; a millisecond holds no sample, so that there is nothing to say."""
    rows = [("2024-03-01", "2024-03-10", "rest"), ("2024-03-11", "2024-03-30", "walk")]
    with pytest.warns(DataWarning, match=LAST_SAMPLES):
        found = labels(tmp_path, table("from,to,state", rows), recording=cow(HALVES))
    assert found == ["rest"] * 20 + ["walk"] * 40
    text = table("start_ms,end_ms,label", inclusive(1000))
    assert labels(tmp_path, text) == Y


def test_a_frame_alone_is_no_point_where_ends_are_last_samples(tmp_path):
    rows = [(0, 19, "rest"), (20, 20, "bark"), (21, 34, "walk"), (35, 59, "rest")]
    with pytest.warns(DataWarning, match=LAST_SAMPLES):
        found = labels(tmp_path, table("start_frame,end_frame,label", rows))
    assert found == ["rest"] * 20 + ["bark"] + ["walk"] * 14 + ["rest"] * 25


def test_frames_are_counted_from_one_without_ends_too(tmp_path):
    rows = [(t + 1, label) for t, label in enumerate(Y)]
    with pytest.warns(DataWarning, match="samples are counted from 1"):
        found = labels(tmp_path, table("frame,label", rows), recording=cow(None), end="next")
    assert found == Y


def test_all_recordings_together_tell_whether_ends_are_last_samples(tmp_path):
    """Each has one boundary; only some of them say that frames are counted from 1."""
    folder = tmp_path / "labels"
    folder.mkdir()
    for name, end in zip("abc", (60, 59, 58), strict=True):
        rows = [(1, 20, "rest"), (21, end, "walk")]
        (folder / f"{name}.csv").write_text(table("start_frame,end_frame,label", rows))
    with pytest.warns(DataWarning, match="counted from 1") as told:
        found = with_labels([cow(name=name) for name in "abc"], folder, blanks=True)
    assert [one.y.tolist().index("walk") for one in found] == [20] * 3
    assert [one.y.tolist().count("walk") for one in found] == [40, 39, 38]
    assert len(told) == 1


@cases(
    [(0, 20.02, "rest"), (20, 35.02, "walk"), (35, 60, "rest")],
    [(0, 20.3, "rest"), (20, 35.2, "walk"), (35, 60, "rest")],
    [(0, 19.8, "rest"), (20, 35.02, "walk"), (35, 60, "rest")],
)
def test_inexact_boundaries_are_moved_to_samples(tmp_path, rows):
    """Neighbours were layers of their own where they overlap at a sample."""
    with pytest.warns(DataWarning, match=SLIGHT):
        assert labels(tmp_path, table("start,end,label", rows)) == Y
    with pytest.warns(DataWarning):
        layers = layers_of([fine_cow()], tmp_path / "cow.csv", blanks=True)
    assert len(layers) == 1 + any(a % 1 for a, _, _ in rows)


@cases(
    (STATES, Y),
    ([(0, 19.999, "rest"), (20, 34.999, "walk"), (35, 60, "rest")], Y),
    ([(0, 18, "rest"), (20, 33, "walk"), (35, 60, "rest")],
     [*["rest"] * 18, -1, -1, *["walk"] * 13, -1, -1, *["rest"] * 25]),
    ([(0, 10, "a"), (10, 20, "b"), (20, 30, "c"), (31, 60, "d")],
     [*["a"] * 10, *["b"] * 10, *["c"] * 10, -1, *["d"] * 29]),
)  # fmt: skip
def test_ends_between_pauses_are_left_as_they_are(tmp_path, rows, expected):
    """Without a warning: pauses of two seconds, a single one of a second."""
    assert labels(tmp_path, table("start,end,label", rows), blanks=True) == expected


def test_overlapping_labels_become_layers(tmp_path):
    (tmp_path / "cow.csv").write_text(table("start,end,label", [(0, 40, "a"), (30, 60, "b")]))
    with pytest.warns(DataWarning, match="each label is a layer of its own"):
        assert list(layers_of([cow()], tmp_path / "cow.csv")) == ["a", "b"]


def test_a_few_overlaps_by_hand_are_no_layers(tmp_path):
    """Of real tracks of Audacity a song of thirty syllables was thirty layers, for 20 ms."""
    rows = [(5 * k, 5 * k + 5, "ab"[k % 2]) for k in range(12)]
    rows[3] = 15, 20.5, "b"  # half a second of sixty
    with pytest.warns(DataWarning, match=SLIGHT):
        found = labels(tmp_path, table("start,end,label", rows))
    assert found == [*["a"] * 5, *["b"] * 5] * 6
    for often in ([1, 3], [3, 5, 7]):  # too much of sixty
        more = [(a, 5 * k + 5.5 if k in often else b, x) for k, (a, b, x) in enumerate(rows)]
        (tmp_path / "cow.csv").write_text(table("start,end,label", more))
        with pytest.warns(DataWarning, match="each label is a layer of its own"):
            assert len(layers_of([cow()], tmp_path / "cow.csv")) == 2
    inside = [*rows[:3], (15, 20, "b"), (16, 16.5, "c"), *rows[4:]]
    (tmp_path / "cow.csv").write_text(table("start,end,label", inside))
    with pytest.warns(DataWarning, match="each label is a layer of its own"):
        assert len(layers_of([fine_cow()], tmp_path / "cow.csv")) == 3


# ---- times, however they are written


def timed(form):
    return [(form(a), form(b), c) for a, b, c in STATES]


@cases(
    (lambda t: f"00:{t // 60:02}:{t % 60:02}", T),
    (lambda t: f"{t // 60}:{t % 60:02}", T),
    (lambda t: f"PT{t}S", T),
    (lambda t: str(pd.Timedelta(t, unit="s")), T),
    (lambda t: f"{t / 60:.9f} min", T),
    (lambda t: f"{t} sec", T),
    (lambda t: f"{t} S", T),
    (lambda t: f"{1000 * t} ms", T),
    (lambda t: f"00:00:{t:02}" if t < 60 else "00:01:00", DATES),
    (lambda t: f"08:00:{t:02}" if t < 60 else "08:01:00", DATES),
    (lambda t: f"8:00:{t:02} AM" if t < 60 else "8:01:00 AM", DATES),
    (lambda t: f"PT{t}S", DATES),
)
def test_times_are_seconds_however_they_are_written(tmp_path, form, times):
    assert labels(tmp_path, table("start,end,label", timed(form)), recording=cow(times)) == Y
    lasting = [(form(a), b - a, c) for a, b, c in STATES]
    text = table("start,duration,label", lasting)
    assert labels(tmp_path, text, recording=cow(times)) == Y
    on_clock = [(start, f"0:{seconds:02}", label) for start, seconds, label in lasting]
    text = table("start,duration,label", on_clock)
    assert labels(tmp_path, text, recording=cow(times)) == Y


@cases(
    ("start_ms,end_ms,label", 1000, 1000, "t_ms"),
    ("start (s),end (s),label", 1, 1000, "time_ms"),
    ("start_min,end_min,label", 1, 60, "t (s)"),
    ("start,end,label", 1000, 1000, "t_ms"),
)
def test_start_and_duration_may_have_different_units(tmp_path, header, written, measured, column):
    rows = [(a * written, b * written, c) for a, b, c in STATES]
    found = labels(tmp_path, table(header, rows), recording=cow(T * measured, column=column))
    assert found == Y


def test_windows_may_be_in_another_unit_than_labels(tmp_path):
    (windows,) = in_windows([cow(1000 * T, column="t_ms")], 5)
    found = labels(tmp_path, table("start_s,end_s,label", STATES), recording=windows)
    assert found == Y[::5]


# ---- lines without a header, and other forms


@pytest.mark.parametrize("name", ["cow.lab", "cow.txt", "cow.csv"])
@pytest.mark.parametrize("between", ["\t", " ", ",", ";", ", "])
def test_label_rows_without_a_header_are_read(tmp_path, name, between):
    named = [(a, b, f"at {c}") for a, b, c in STATES]
    assert labels(tmp_path, lines(named, between), name) == [f"at {y}" for y in Y]
    numbered = [(a, b, len(c) % 3) for a, b, c in timed(lambda t: f"{t}.0")]
    assert labels(tmp_path, lines(numbered, between), name) == ["1"] * 60
    changes = lines([(20.0,), (35.0,)], between)
    assert labels(tmp_path, changes, name) == [0] * 20 + [1] * 15 + [2] * 25


def test_rttm_and_vtt_files_are_read(tmp_path):
    rows = [f"SPEAKER cow 1 {a} {b - a} <NA> <NA> {c} <NA> <NA>\n" for a, b, c in STATES]
    assert labels(tmp_path, "".join(rows), "cow.rttm") == Y
    blocks = [
        f"00:{a:02}.000 --> 00:{b:02}.000\n{c}\n" for a, b, c in [*STATES[:2], (35, 59, "rest")]
    ]
    text = "\n".join(["WEBVTT\n", *blocks])
    assert labels(tmp_path, text, "cow.vtt", outside="rest") == Y


def test_a_minute_of_more_than_59_seconds_is_refused(tmp_path):
    text = "1\n00:00:75,500 --> 00:01:40,000\nrest\n"
    with pytest.raises(DataError, match=r"cow\.srt: '00:00:75,500' has more than 59 seconds"):
        labels(tmp_path, text, "cow.srt")


def test_the_header_of_mne_is_a_comment(tmp_path):
    rows = [(f"{a}.0", f"{b - a}.0", c) for a, b, c in STATES]
    text = "# MNE-Annotations\n# onset, duration, description\n" + lines(rows, ",")
    assert labels(tmp_path, text, "cow.txt") == Y


@cases(
    ("label", [(y,) for y in Y]),
    ("time,rest,walk", [(t, int(y == "rest"), int(y == "walk")) for t, y in enumerate(Y)]),
    ("frame,rest,walk", [(t, float(y == "rest"), float(y == "walk")) for t, y in enumerate(Y)]),
    ("Start Time,End Time,Transportation Mode", STATES),
)
def test_tables_with_other_headers_are_read(tmp_path, header, rows):
    assert labels(tmp_path, table(header, rows)) == Y


def test_a_column_for_each_label_may_have_several_at_once(tmp_path):
    rows = [(t, int(t < 30), int(20 <= t < 50), 0) for t in range(60)]
    (tmp_path / "cow.csv").write_text(table("frame,eat,walk,groom", rows))
    with pytest.warns(DataWarning, match="each label is a layer"):
        layers = layers_of([cow()], tmp_path / "cow.csv")
    assert layers["walk"][0].y.tolist().count("walk") == 30
    assert list(layers) == ["eat", "walk"]


test_label_rows_that_cannot_be_read_are_refused_with_advice = refused(
    DataError,
    lambda tmp_path, name, text: labels(tmp_path, text, name),
    ("cow.csv", "time,note\n20,a\n", "no column of the label; .* name it with label="),
    ("cow.csv", "Epoch,Stage\n0,W\n2,N1\n", "no column of the start; .* name it with start="),
    ("cow.csv", "Epoch,Stage\n0,W\n1,N1\n", "2 rows, one for each sample, and 60 samples"),
    ("cow.csv", "rest,0,20\nwalk,20,60\n", "first line holds values: write a header above it"),
    ("cow.csv", "0,20,rest,.9\n20,60,walk,.8\n", "line 1 holds values, .* write a header above"),
    ("cow.lab", "0 20 rest .9\n20 60 walk .8\n", "line 1 holds values, .* write a header above"),
    ("cow.txt", "0\t20\ta\n20\t15\tb\n35\t25\ta\n", "is a duration, write a header above it"),
    ("cow.csv", "start,end,label\n0,20,a\n,35,b\n", "line 3: an end at '35', and no start"),
    ("cow.boris", json.dumps({"a": 1}), "no project of BORIS, .*: it has no 'observations'"),
    (
        "cow.TextGrid",
        'File type = "ooTextFile"\nObject class = "TextGrid"\n0\n60\n<exists>\n1\n"IntervalTier"',
        "it ends before all of its intervals",
    ),
    ("cow.eaf", "<ANNOTATION_DOCUMENT/>", "nothing about cow"),
)


@cases(
    {"annotations": [{"namespace": "segment_open", "data": [{"time": 0, "value": "A"}]}]},
    {"real/cow.csv": [[20, 35, 1], [35, 60, 2]]},
    {"metadata": {"1_a": {"vid": "1", "z": [0.0, 20.0], "av": {"1": "rest"}}}},
    [1, 2],
    "text",
)
def test_json_of_other_tools_is_not_called_an_export(tmp_path, content):
    (tmp_path / "cow.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="neither annotations nor predictions") as told:
        read_intervals(tmp_path / "cow.json")
    assert "Label Studio" not in str(told.value)


def test_labels_of_the_frames_of_a_film_are_not_lost(tmp_path):
    ranges = {"ranges": [{"start": 1, "end": 20}], "timelinelabels": ["rest"]}
    made = [{"result": [{"type": "timelinelabels", "value": ranges}]}]
    task = {"data": {"video": "cow.mp4"}, "annotations": made}
    (tmp_path / "cow.json").write_text(json.dumps([task]))
    with pytest.raises(DataError, match="'cow' has 'timelinelabels', and none of the labels of"):
        read_intervals(tmp_path / "cow.json")


def test_a_project_of_boris_without_an_ethogram_is_read(tmp_path):
    events = []
    for *ends, label in STATES:
        events += [[at, "", label, "", ""] for at in ends]
    (tmp_path / "all.boris").write_text(json.dumps({"observations": {"cow": {"events": events}}}))
    assert read_intervals(tmp_path / "all.boris")["cow"] == [Interval(*row) for row in STATES]


def test_a_label_file_without_any_label_is_refused(tmp_path):
    (tmp_path / "cow.eaf").write_text("<ANNOTATION_DOCUMENT/>")
    with pytest.raises(DataError, match=r"cow.eaf: it holds no labels"):
        read_intervals(tmp_path / "cow.eaf")


@pytest.mark.parametrize("seed", range(0, 200, 10))
@pytest.mark.filterwarnings("ignore::structsvm.errors.DataWarning")
def test_the_labels_that_were_written_are_read_in_whatever_form(tmp_path, seed):
    for k in range(seed, seed + 10):
        (tmp_path / str(k)).mkdir()
        case = drawn(k, tmp_path / str(k))
        if case is not None:
            some, path = case
            found = with_labels([one.recording for one in some], path)
            assert [one.y.tolist() for one in found] == [one.y for one in some], k


@cases(
    ("Recording time;Behavior;Event", signed("state start", "state stop")),
    ("Timestamp;Machine;Status", [(a, "cow", c) for a, _, c in STATES]),
    ("trip_id;mode;start;end", [(k, c, a, b) for k, (a, b, c) in enumerate(STATES)]),
    (";rest;walk", [(t, int(y == "rest"), int(y == "walk")) for t, y in enumerate(Y)]),
    ("Onset;Duration;Annotation", [(f"+{a}.0", b - a, c) for a, b, c in STATES]),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*last until the next one")
def test_label_tables_of_other_tools_are_read(tmp_path, header, rows):
    """Of Noldus, of machines, of trips, a column for each label, and of recordings of sleep."""
    text = "\n".join([header, *(";".join(map(str, row)) for row in rows)]) + "\n"
    assert labels(tmp_path, text) == Y
