"""Labels in files of their own, of one or several tiers, subjects and annotators."""

import json
from contextlib import nullcontext
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import cases

from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.io import (
    Interval,
    Recording,
    TimeAxis,
    intervals_of,
    labels_of,
    read_intervals,
    with_labels,
    write_intervals,
)
from structsvm.io.folders import find_recordings

MINE = [Interval(0.0, 4.0, "graze"), Interval(8.0, 10.0, "rest")]
OTHER = [Interval(3.0, 8.0, "graze")]
BOTH = {"mine": MINE, "other": OTHER}
WHOSE = [*(("mine", one) for one in MINE), *(("other", one) for one in OTHER)]
ROWS = [(who, one.label, one.start, one.end, one.end - one.start) for who, one in WHOSE]


def table(*columns, separator=","):
    """A table of columns: the number of a value of each row, or a text that is in all of them."""
    lines = [separator.join(name for name, _ in columns)]
    for row in ROWS:
        values = [value if isinstance(value, str) else row[value] for _, value in columns]
        lines.append(separator.join(map(str, values)))
    return "\n".join(lines) + "\n"


WHO, LABEL, START, END, LENGTH = range(5)


def boris_events(sep, status="Behavior type"):
    events = [(start, who, label, "START") for who, label, start, _, _ in ROWS]
    events += [(end, who, label, "STOP") for who, label, _, end, _ in ROWS]
    lines = [("Observation id", "Subject", "Behavior", status, "Time")]
    lines += [("walk", w, x, sign, at) for at, w, x, sign in sorted(events)]
    return "\n".join(sep.join(map(str, line)) for line in lines) + "\n"


def boris_project():
    events = []
    for who, label, *ends, _ in ROWS:
        events += [[at, who, label, "", ""] for at in ends]
    kinds = {str(k): {"code": x, "type": "State event"} for k, x in enumerate(("graze", "rest"))}
    kinds["2"] = {"code": "moo", "type": "Point event"}
    events.append([1.0, "mine", "moo", "", ""])
    return json.dumps({"behaviors_conf": kinds, "observations": {"walk": {"events": events}}})


def eaf(attribute="TIER_ID"):
    slots = []
    tiers = []
    for name, some in BOTH.items():
        found = []
        for i in some:
            k = len(slots)
            slots += [f'<TIME_SLOT TIME_SLOT_ID="t{k}" TIME_VALUE="{1000 * i.start:.0f}"/>']
            slots += [f'<TIME_SLOT TIME_SLOT_ID="t{k + 1}" TIME_VALUE="{1000 * i.end:.0f}"/>']
            found.append(
                f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a{k}" TIME_SLOT_REF1="t{k}" '
                f'TIME_SLOT_REF2="t{k + 1}"><ANNOTATION_VALUE>{i.label}</ANNOTATION_VALUE>'
                "</ALIGNABLE_ANNOTATION></ANNOTATION>"
            )
        both = f'TIER_ID="all" {attribute}' if attribute != "TIER_ID" else attribute
        tiers.append(f'<TIER {both}="{name}">{"".join(found)}</TIER>')
    order = f"<TIME_ORDER>{''.join(slots)}</TIME_ORDER>"
    return f'<?xml version="1.0" encoding="UTF-8"?><ANNOTATION_DOCUMENT>{order}{"".join(tiers)}' + (
        "</ANNOTATION_DOCUMENT>"
    )


def textgrid(short):
    """The same tiers as Praat saves them short, or long with the names of everything."""
    lines = [("", 0), ("xmax = ", 10), ("tiers? ", "<exists>"), ("size = ", 2)]
    for k, (name, some) in enumerate(BOTH.items(), 1):
        lines += [(f"item [{k}]:\n class = ", '"IntervalTier"'), ("name = ", f'"{name}"')]
        lines += [("xmin = ", 0), ("xmax = ", 10), ("intervals: size = ", len(some) + 1)]
        spans = [(9.0, 9.5, ""), *((i.start, i.end, i.label) for i in some)]
        for j, (start, end, text) in enumerate(spans, 1):
            lines += [(f"intervals [{j}]:\n xmin = ", start), ("xmax = ", end)]
            lines += [("text = ", f'"{text}"')]
    head = ['File type = "ooTextFile"', 'Object class = "TextGrid"', ""]
    return "\n".join([*head, *(f"{'' if short else name}{v}" for name, v in lines)]) + "\n"


def label_studio(kind="timeserieslabels", **others):
    def region(i, name="label"):
        value = {"start": i.start, "end": i.end, kind: [i.label]}
        return {"from_name": name, "type": kind, "value": value}

    annotations = [
        {"id": k, "completed_by": by, "result": [region(i) for i in BOTH[by]]}
        for k, by in enumerate(BOTH)
    ]
    task = {"data": {"csv": "walk.csv"}, "annotations": annotations} | others
    return json.dumps([task])


def objects():
    fields = ("annotator", "label", "start", "end", "duration")
    return [dict(zip(fields, row, strict=True)) for row in ROWS]


def praat_table():
    return table(("tmin", START), ("tier", WHO), ("text", LABEL), ("tmax", END))


FILES = {
    "aggregated events of BORIS": (
        "walk.csv",
        table(("Observation id", "walk"), ("Subject", WHO), ("Behavior", LABEL),
              ("Start (s)", START), ("Stop (s)", END)),
        "subject",
    ),
    "tabular events of BORIS": ("walk.tsv", boris_events("\t"), "subject"),
    "events of BORIS before version 8": ("walk.csv", boris_events(",", "Status"), "subject"),
    "a project of BORIS": ("all.boris", boris_project(), "subject"),
    "rows of ELAN": (
        "walk.txt",
        table(("Tier", WHO), ("Participant", ""), ("Begin Time - ss.msec", START),
              ("End Time - ss.msec", END), ("Annotation", LABEL), separator="\t"),
        "tier",
    ),
    "participants of ELAN": (
        "walk.txt",
        table(("Tier", "a"), ("Participant", WHO), ("Begin Time - ss.msec", START),
              ("End Time - ss.msec", END), ("Annotation", LABEL), separator="\t"),
        "subject",
    ),
    "a document of ELAN": ("walk.eaf", eaf(), "tier"),
    "participants of a document": ("walk.eaf", eaf("PARTICIPANT"), "subject"),
    "annotators of a document": ("walk.eaf", eaf("ANNOTATOR"), "annotator"),
    "a table of Praat": ("walk.csv", praat_table(), "tier"),
    "a TextGrid": ("walk.TextGrid", textgrid(short=False), "tier"),
    "a short TextGrid": ("walk.TextGrid", textgrid(short=True), "tier"),
    "our own table": (
        "walk.csv", table(("start", START), ("end", END), ("label", LABEL), ("rater", WHO)),
        "annotator",
    ),
    "durations": (
        "walk.tsv",
        table(("onset", START), ("duration", LENGTH), ("trial_type", LABEL), ("Subject", WHO),
              separator="\t"),
        "subject",
    ),
    "objects in JSON": ("walk.json", json.dumps(objects()), "annotator"),
    "objects by recording": ("all.json", json.dumps({"a/walk.csv": objects()}), "annotator"),
    "tasks of Label Studio": ("tasks.json", label_studio(), "annotator"),
    "sound in Label Studio": ("tasks.json", label_studio("labels"), "annotator"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text", "kind"), FILES.values(), ids=FILES)
class TestSeveral:
    def test_several_tiers_subjects_or_annotators_are_refused_until_one_is_chosen(
        self, tmp_path, name, text, kind
    ):
        path = tmp_path / name
        path.write_text(text)
        told = f"several {kind}s, 'mine', 'other': choose one, {kind}='mine'"
        with pytest.raises(DataError, match=told):
            read_intervals(path)
        moo = "1 point in time left out, .* 'moo' from 1.0 to 1.0"
        with pytest.warns(DataWarning, match=moo) if "moo" in text else nullcontext():
            assert read_intervals(path, **{kind: "mine"}) == {"walk": MINE}
        assert read_intervals(path, **{kind: "other"}) == {"walk": OTHER}
        with pytest.raises(DataError, match=f"no {kind} 'third'; there is 'mine', 'other'"):
            read_intervals(path, **{kind: "third"})


def of_mine(start, end, label):
    """One object for each of the stretches, with these fields."""
    ends = [i.end - i.start * (end == "duration") for i in MINE]
    return [{start: i.start, end: stop, label: i.label} for i, stop in zip(MINE, ends, strict=True)]


VIA = {
    "file": {"7": {"fid": "7", "fname": "walk.mp4"}},
    "view": {"1": {"fid_list": ["7"]}},
    "attribute": {"1": {"aname": "what", "options": {"0": "graze", "1": "rest"}}},
    "metadata": {
        f"1_{k}": {"vid": "1", "z": [i.start, i.end], "av": {"1": str(k)}}
        for k, i in enumerate(MINE)
    },
}
JSONS = {
    "by recording": {"walk": of_mine("start", "end", "label"), "run": []},
    "a list": [{"file": "walk.csv", **one} for one in of_mine("onset", "offset", "behavior")],
    "AudioSet": [
        {"video_id": "walk", "start_seconds": i.start, "end_seconds": i.end, "labels": [i.label]}
        for i in MINE
    ],
    "milliseconds": {"walk": [
        {"start_ms": 1000 * i.start, "end_ms": 1000 * i.end, "state": i.label} for i in MINE
    ]},
    "JAMS": {"annotations": [{
        "namespace": "x", "data": of_mine("time", "duration", "value"), "time": 0, "duration": 99,
    }]},
    "ActivityNet": {"database": {"walk": {"duration": 10, "annotations": [
        {"segment": [i.start, i.end], "label": i.label} for i in MINE
    ]}}},
    "VIA": VIA,
}  # fmt: skip


@pytest.mark.parametrize("content", JSONS.values(), ids=JSONS)
def test_stretches_are_found_in_json_of_many_forms(tmp_path, content):
    name = "walk.jams" if "annotations" in content else "walk.json"
    (tmp_path / name).write_text(json.dumps(content))
    read = read_intervals(tmp_path / name)
    assert read.pop("walk") == MINE
    assert read in ({}, {"run": []})


def test_a_stretch_in_json_has_one_label(tmp_path):
    twice = [{"start": 0, "end": 2, "labels": ["dog", "bark"]}]
    (tmp_path / "walk.json").write_text(json.dumps(twice))
    with pytest.raises(DataError, match="has the labels 'dog', 'bark': a sample has one label"):
        read_intervals(tmp_path / "walk.json")


def region(kind, labels, start=0, end=4):
    value = {"start": start, "end": end, kind: labels}
    return {"from_name": "label", "type": kind, "value": value}


class TestLabelStudio:
    def written(self, tmp_path, **task):
        path = tmp_path / "tasks.json"
        path.write_text(json.dumps([{"data": {"csv": "walk.csv"}, **task}]))
        return path

    def test_predictions_in_label_studio_are_labels_only_on_request(self, tmp_path):
        guess = [{"model_version": "m2", "result": [region("timeserieslabels", ["rest"])]}]
        skipped = [{"was_cancelled": True, "result": []}]
        for annotations in (skipped, []):
            path = self.written(tmp_path, annotations=annotations, predictions=guess)
            assert read_intervals(path) == {"walk": []}
            assert read_intervals(path, annotator="m2") == {"walk": [Interval(0, 4, "rest")]}

    def test_names_of_label_studio_lose_their_upload_prefix(self, tmp_path):
        tasks = [
            {"data": {"csv": f"/data/upload/3/{k}-{name}.csv"}, "annotations": []}
            for k, name in (("5f3d2c1a", "walk"), ("91aa2c3e", "run"))
        ]
        path = tmp_path / "tasks.json"
        path.write_text(json.dumps(tasks))
        assert list(read_intervals(path)) == ["walk", "run"]
        tasks[1]["data"]["csv"] = "/data/upload/3/91aa2c3e-walk.csv"
        path.write_text(json.dumps(tasks))
        assert list(read_intervals(path)) == ["5f3d2c1a-walk", "91aa2c3e-walk"]

    def test_two_labels_of_one_stretch_are_refused(self, tmp_path):
        made = [{"result": [region("labels", ["a", "b"])]}]
        with pytest.raises(DataError, match="from 0 has the labels 'a', 'b': a sample has one"):
            read_intervals(self.written(tmp_path, annotations=made))

    def test_two_annotations_by_one_person_are_refused(self, tmp_path):
        made = [
            {"completed_by": {"email": "ann"}, "result": [region("labels", [name])]}
            for name in "ab"
        ]
        with pytest.raises(DataError, match="several annotators, 'ann', 'ann, annotation 2'"):
            read_intervals(self.written(tmp_path, annotations=made))


def test_subtitles_are_read_as_stretches(tmp_path):
    path = tmp_path / "film.srt"
    path.write_text("1\n00:00:00,000 --> 00:00:02,500\nrest\n\n2\n00:00:02,500 --> 01:00:04,000\n"
                    "walk\nfast\n")  # fmt: skip
    assert read_intervals(path) == {
        "film": [Interval(0.0, 2.5, "rest"), Interval(2.5, 3604.0, "walk fast")]
    }


@cases(
    ("walk.txt", "2.0\t2.0\twalk\n4.0\t4.0\trest\n"),
    ("walk.csv", "start,end,label\n2,2,walk\n4,4,rest\n"),
    ("walk.csv", "onset,duration,trial_type\n2,0,walk\n4,0,rest\n"),
    ("walk.csv", "change\n2\n4\n"),
)
def test_point_events_alone_are_read_as_changes(tmp_path, name, text):
    """Their names are not: the warning says how they become those of stretches."""
    (tmp_path / name).write_text(text)
    walk = Recording("walk", np.zeros((6, 1)), None, ("x",), time=TimeAxis("s", np.arange(6.0)))
    told = "names are not used, the first is 'walk' from 2.0 to 2.0 .* say end='next' if"
    with pytest.warns(DataWarning, match=told) if "walk" in text else nullcontext():
        (found,) = with_labels([walk], tmp_path / name)
    assert found.y.tolist() == [0, 0, 1, 1, 2, 2]
    if "walk" in text:
        (found,) = with_labels([walk], tmp_path / name, end="next", outside="else")
        assert found.y.tolist() == ["else", "else", "walk", "walk", "rest", "rest"]


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

    @pytest.mark.parametrize("text", ["change\n3.5\n", "start,end,label\n0,3.5,a\n3.5,5,b\n"])
    def test_labels_in_seconds_without_times_count_samples_with_a_warning(self, tmp_path, text):
        table = written(tmp_path / "show.csv", text)
        with pytest.warns(DataWarning, match="it has no times, so that labels count samples"):
            with_labels([recording("show", 5, time=False)], table)

    @pytest.mark.parametrize("text", ["change\n3.5\n", "start,end,label\n0,3.5,a\n3.5,6,b\n"])
    @pytest.mark.parametrize("column", ["time", "clock", "row"])
    def test_seconds_beside_a_column_that_is_left_unnamed_are_refused(self, tmp_path, column, text):
        table = written(tmp_path / "show.csv", text)
        X = np.column_stack([0.5 * np.arange(12.0), np.zeros(12)])
        show = Recording("show", X, None, (column, "x"))
        with pytest.raises(DataError, match=rf"its column '{column}' rises.*time_column='{column}"):
            with_labels([show], table)

    @pytest.mark.parametrize(("time", "where"), [("8", "after the end, 8"), ("0", "before the")])
    def test_a_change_outside_of_the_recording_is_refused(self, tmp_path, time, where):
        table = written(tmp_path / "show.csv", f"change\n2\n{time}\n")
        with pytest.raises(DataError, match=rf"\.csv: show: the change at seconds .* is {where}"):
            with_labels([recording("show", 8)], table)

    def test_two_changes_in_a_second_are_one_with_a_warning(self, tmp_path):
        table = written(tmp_path / "show.csv", "change\n2.0\n2.2\n")
        with pytest.warns(
            DataWarning, match="several changes are within one sample, as at seconds 2"
        ):
            (found,) = with_labels([recording("show", 4)], table)
        assert found.y.tolist() == [0, 0, 1, 1]


class TestWhose:
    BOTH = "recording,change\nann,2\nben,3\n"

    def test_a_column_names_the_recording_of_each_label(self, tmp_path):
        table = written(tmp_path / "labels.csv", self.BOTH)
        found = with_labels([recording("ben", 4), recording("ann", 4)], table)
        assert [r.y.tolist() for r in found] == [[0, 0, 0, 1], [0, 0, 1, 1]]

    def test_a_folder_holds_a_label_file_for_each_recording(self, tmp_path):
        written(tmp_path / "ann.csv", "change\n2\n")
        written(tmp_path / "ben.csv", "start,end,label\n0,3,a\n3,4,b\n")
        with pytest.warns(DataWarning, match="in steps of 1 s, .* half of all than 2 s"):
            found = with_labels([recording("ben", 4), recording("ann", 4)], tmp_path)
        assert [r.y.tolist() for r in found] == [["a", "a", "a", "b"], [0, 0, 1, 1]]

    def test_a_recording_without_labels_in_the_file_is_named(self, tmp_path):
        table = written(tmp_path / "labels.csv", self.BOTH)
        with pytest.raises(DataError, match=r"nothing about eve, .* it has 'ann', 'ben'"):
            with_labels([recording("ann", 4), recording("eve", 4)], table)

    def test_two_label_files_of_one_recording_are_refused(self, tmp_path):
        written(tmp_path / "ann.csv", "change\n2\n")
        written(tmp_path / "more.csv", self.BOTH)
        with pytest.raises(DataError, match="a second file about ann"):
            with_labels([recording("ann", 4)], tmp_path)

    def test_files_in_subfolders_are_called_as_recordings_are(self, tmp_path):
        names = ["ann/walk", "ben/walk"]
        for k, name in enumerate(names):
            (tmp_path / name).parent.mkdir()
            written(tmp_path / f"{name}.csv", f"change\n{k + 1}\n")
        found = with_labels([recording(name, 4) for name in names], tmp_path)
        assert [r.y.tolist() for r in found] == [[0, 1, 1, 1], [0, 0, 1, 1]]

    def test_a_label_file_without_rows_is_refused(self, tmp_path):
        with pytest.raises(DataError, match=r"nothing about ann, .* it has nothing"):
            with_labels([recording("ann", 4)], tmp_path)
        with pytest.raises(DataError, match=r"missing\.csv: cannot be read"):
            with_labels([recording("ann", 4)], tmp_path / "missing.csv")

    def test_labels_beside_recordings_are_no_recordings(self, tmp_path):
        (tmp_path / "ann.mkv").touch()
        table = written(tmp_path / "ann.csv", "change\n2\n")
        for labels in (table, tmp_path):
            assert find_recordings(tmp_path, labels=labels)[0] == {tmp_path / "ann.mkv": "ann"}

    @pytest.mark.parametrize(
        ("text", "is_one"),
        [
            ("0.5\t1.25\tsong\n1.25\t3\tcall\n", True),
            ("0,5\t1,25\tsong\n2,25\t3\tcall\n", True),
            ("0.1,1.25,walk\n0.2,1.31,walk\n0.3,1.2,rest\n", False),  # time, a feature, a label
            ("0.5\t1.25\t2.5\n1.25\t3\t1.5\n", False),
        ],
    )
    def test_stretches_without_a_header_are_no_recordings(self, tmp_path, text, is_one):
        written(tmp_path / "ann.csv", "a,b\n1,2\n2,3\n")
        written(tmp_path / "labels.csv", text)
        assert (tmp_path / "labels.csv" not in find_recordings(tmp_path)[0]) == is_one


WALK = [Interval(0.0, 2.5, "rest"), Interval(2.5, 4.0, "walk"), Interval(6.0, 7.5, "rest")]
TIERS = "several tiers, 'gait', 'hands': choose one, tier='gait'"
TIMES = np.arange(20) / 2
HOURS = np.datetime64("2024-05-01T00:00") + np.arange(20) * np.timedelta64(1, "h")


def clock(seconds):
    """Return a time as ELAN writes it beside the one in seconds."""
    whole, part = divmod(round(1000 * seconds), 1000)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.{part:03d}"


class TestFiles:
    def test_label_tracks_of_audacity_are_read_and_written(self, tmp_path):
        track = tmp_path / "walk.txt"
        track.write_text(
            "0.000000\t2.500000\trest\n\\\t100.0\t2000.0\n2.500000\t4.000000\twalk\n"
            "6.000000\t7.500000\trest\n"
        )
        assert read_intervals(track) == {"walk": WALK}
        write_intervals(tmp_path / "again.txt", {"walk": WALK})
        assert read_intervals(tmp_path / "again.txt") == {"again": WALK}

    def test_tasks_of_label_studio_are_read_and_written(self, tmp_path):
        choice = {"type": "choices", "value": {"choices": ["good"]}}
        stretches = [region("timeserieslabels", [i.label], i.start, i.end) for i in WALK]
        tasks = [
            {
                "data": {"csv": "/data/upload/3/walk.csv"},
                "annotations": [
                    {"was_cancelled": True, "result": []},
                    {"result": [choice, *stretches]},
                ],
            },
            {"id": 8, "data": {}, "annotations": [{"result": []}]},
        ]
        (tmp_path / "export.json").write_text(json.dumps(tasks))
        assert read_intervals(tmp_path / "export.json") == {"walk": WALK, "8": []}
        for predictions in (False, True):
            path = tmp_path / f"{predictions}.json"
            write_intervals(path, {"walk": WALK, "run": []}, predictions=predictions)
            by = "structsvm" if predictions else None
            assert read_intervals(path, annotator=by) == {"walk": WALK, "run": []}

    def test_tables_without_a_column_of_labels_are_refused(self, tmp_path):
        aimless = tmp_path / "aimless.txt"
        aimless.write_text("Begin Time - ss.msec\tEnd Time - ss.msec\n0.0\t1.0\n")
        with pytest.raises(DataError, match=r"no column of the label.*name it with label="):
            read_intervals(aimless)
        for kind in ("csv", "tsv"):
            write_intervals(tmp_path / f"own.{kind}", {"a": WALK, "b": WALK[:1]})
            assert read_intervals(tmp_path / f"own.{kind}") == {"a": WALK, "b": WALK[:1]}

    @pytest.mark.parametrize("more", ["", " the dog"])
    @pytest.mark.parametrize("name", ["walk.txt", "walk.csv"])
    def test_a_label_a_line_is_read_as_that_of_a_sample(self, tmp_path, name, more):
        y = [f"{state}{more}" for state in ["rest"] * 3 + ["walk"] * 2 + ["rest"]]
        (tmp_path / name).write_text("\n".join(y) + "\n")
        walk = [Recording("walk", np.zeros((6, 1)), None, ("x",))]
        assert with_labels(walk, tmp_path / name)[0].y.tolist() == y
        (tmp_path / name).write_text("\n".join(y[:5]) + "\n")
        with pytest.raises(
            DataError, match="1 of 6 samples are in no stretch, the first at sample 5"
        ):
            with_labels(walk, tmp_path / name)

    def test_a_first_word_that_never_repeats_may_be_a_header(self, tmp_path):
        (tmp_path / "walk.txt").write_text("gait\nrest\nrest\nwalk\n")
        with pytest.raises(DataError, match="no column of the start; the columns are gait"):
            read_intervals(tmp_path / "walk.txt")

    def test_exports_of_elan_without_a_header_are_read(self, tmp_path):
        elan = tmp_path / "walk.txt"
        rows = [
            f"gait\tann\t{clock(i.start)}\t{i.start}\t{clock(i.end)}\t{i.end}\t"
            f"{clock(i.end - i.start)}\t{i.end - i.start}\t{i.label}"
            for i in WALK
        ]
        elan.write_text("\n".join(rows) + "\n")
        assert read_intervals(elan) == {"walk": WALK}
        other = "hands\tann\t00:00:00.000\t0.0\t01:00:01.500\t3601.5\t01:00:01.500\t3601.5\tup"
        elan.write_text("\n".join([*rows, other]) + "\n")
        with pytest.raises(DataError, match=TIERS):
            read_intervals(elan)
        assert read_intervals(elan, tier="gait") == {"walk": WALK}
        assert read_intervals(elan, tier="hands") == {"walk": [Interval(0.0, 3601.5, "up")]}

    def test_exports_of_elan_with_a_column_for_each_tier_are_read(self, tmp_path):
        elan = tmp_path / "walk.txt"
        times = ("Begin Time", "End Time", "Duration")
        head = [f"{name} - {form}" for name, form in product(times, ("hh:mm:ss.ms", "ss.msec"))]
        rows = [
            [clock(i.start), i.start, clock(i.end), i.end, clock(1.0), 1.0, i.label] for i in WALK
        ]
        lines = ["\t".join(map(str, row)) for row in ([*head, "gait"], *rows)]
        elan.write_text("\n".join(lines) + "\n")
        assert read_intervals(elan) == {"walk": WALK}
        up = [clock(0.0), 0.0, clock(9.0), 9.0, clock(9.0), 9.0, "", "up"]
        rows = [[*head, "gait", "hands"], *([*row, ""] for row in rows), up]
        elan.write_text("\n".join("\t".join(map(str, row)) for row in rows) + "\n")
        with pytest.raises(DataError, match=TIERS):
            read_intervals(elan)
        assert read_intervals(elan, tier="gait") == {"walk": WALK}
        assert read_intervals(elan, tier="hands") == {"walk": [Interval(0.0, 9.0, "up")]}

    def test_selections_of_raven_are_read_by_their_species(self, tmp_path):
        raven = tmp_path / "walk.selections.txt"
        head = ("Selection", "View", "Begin Time (s)", "End Time (s)", "Low Freq (Hz)", "Species")
        rows = [(k, "Spectrogram 1", i.start, i.end, 900.5, i.label) for k, i in enumerate(WALK)]
        lines = ["\t".join(map(str, row)) for row in (head, *rows)]
        raven.write_text("\n".join(lines) + "\n")
        assert read_intervals(raven) == {"walk.selections": WALK}
        raven.write_text("\n".join(line.rpartition("\t")[0] for line in lines) + "\n")
        with pytest.raises(DataError, match="no column of the label; the columns are Selection"):
            read_intervals(raven)

    @pytest.mark.parametrize("sep", ["\t", ","])
    def test_tabular_events_of_boris_before_version_8_are_read(self, tmp_path, sep):
        """Lines on the observation stand before the table, and Status says what happens."""
        head = ["Time", "Media file path", "Total length", "FPS", "Subject", "Behavior"]
        head += ["Behavioral category", "Comment", "Status"]
        rows = [("Observation id", "walk"), (), ("Media file(s)",), ("Player #1", "walk.mp4")]
        rows += [(), ("Observation date", "2026-11-27 01:57:26"), (), ("variable", "value"), ()]
        events = [("rest", "START", 0.0), ("cough", "POINT", 1.0), ("rest", "STOP", 2.5)]
        events += [("walk", "START", 2.5), ("walk", "STOP", 4.0)]
        events += [("rest", "START", 6.0), ("rest", "STOP", 7.5)]
        rows += [head]
        rows += [(at, "walk.mp4", 9, 25, "ann", what, "", "", kind) for what, kind, at in events]
        lines = [sep.join([*map(str, row), *[""] * (9 - len(row))]) for row in rows]
        path = tmp_path / "exported.tsv"
        path.write_text("\n".join(lines) + "\n")
        with pytest.warns(DataWarning, match=r"1 point .* 'cough' from 1.0 to 1.0 \(line 12\)"):
            assert read_intervals(path) == {"walk": WALK}
        path.write_text("\n".join([*lines, lines[-1]]) + "\n")
        with pytest.raises(DataError, match=r"'rest' stops at 7\.5 and never started"):
            read_intervals(path)
        path.write_text("\n".join(lines[:-1]) + "\n")
        with pytest.raises(DataError, match="'rest' starts and never stops"):
            read_intervals(path)

    def test_damaged_label_files_are_refused(self, tmp_path):
        (tmp_path / "one.json").write_text("{")
        with pytest.raises(DataError, match="no tasks of Label Studio"):
            read_intervals(tmp_path / "one.json")
        (tmp_path / "one.txt").write_text("0.0\t1.0\ta\nx\t2.0\tb\n")
        with pytest.raises(DataError, match="line 2: 'x' is neither a number nor a date"):
            read_intervals(tmp_path / "one.txt")
        with pytest.raises(DataError, match="cannot be read"):
            read_intervals(tmp_path / "gone.txt")
        for name in ("two.txt", "two.xml"):
            with pytest.raises(SettingsError, match=r"must end with one of .json, .boris"):
                write_intervals(tmp_path / name, {"a": WALK, "b": WALK})
        assert not (tmp_path / "two.txt").exists()


class TestLabels:
    @pytest.mark.parametrize("times", [TIMES, np.arange(20), HOURS])
    def test_labels_become_intervals_and_labels_again(self, times):
        y = ["a"] * 5 + ["b"] * 8 + ["a"] * 7
        assert labels_of(intervals_of(y, times), times).labels == y
        blank = [None, *y[1:12], None, None, *y[14:]]
        assert labels_of(intervals_of(blank, times), times).labels == blank

    def test_samples_in_no_interval_are_unknown_or_have_the_outside_label(self):
        names = ["rest"] * 5 + ["walk"] * 3 + [None] * 4 + ["rest"] * 3 + [None] * 5
        assert labels_of(WALK, TIMES).labels == names
        filled = labels_of(WALK, TIMES, outside="else").labels
        assert filled == [name or "else" for name in names]

    def test_with_a_tolerance_only_the_number_of_changes_near_them_is_known(self):
        y = ["a"] * 6 + ["b"] * 8 + ["a"] * 6
        loose = labels_of(intervals_of(y, TIMES), TIMES, tolerance=1.0)
        assert [label is None for label in loose.labels] == [
            t in (4, 5, 6, 7, 12, 13, 14, 15) for t in range(20)
        ]
        assert [(r.start, r.end, r.changes) for r in loose.regions] == [(4, 9, 1), (12, 17, 1)]
        near = labels_of(intervals_of(["a"] * 9 + ["b"] * 2 + ["c"] * 9, TIMES), TIMES, tolerance=1)
        assert [(r.start, r.end, r.changes) for r in near.regions] == [(7, 14, 2)]
        hours = labels_of(intervals_of(y, HOURS), HOURS, tolerance=7200)
        assert hours.labels == loose.labels

    def test_overlapping_or_reversed_intervals_are_refused(self):
        with pytest.raises(
            DataError, match=r"'a' from 0 to 1 overlaps 'b' from 0.5 to 2: a sample has one label"
        ):
            labels_of([Interval(0, 1, "a"), Interval(0.5, 2, "b")], TIMES)
        with pytest.raises(DataError, match="ends before it starts"):
            labels_of([Interval(2, 1, "a")], TIMES)
        with pytest.raises(SettingsError, match="tolerance must be a finite number >= 0"):
            labels_of(WALK, TIMES, tolerance=-1)
        with pytest.raises(DataError, match="2 samples but times of shape"):
            intervals_of(["a", "b"], TIMES)


@pytest.mark.parametrize(
    ("y", "times", "said"),
    [
        (["a", "b", "b"], [1.0, 1.0, 2.0], "samples of one time, 1"),
        (["a", "a", "", "b"], [0.0, 1.0, 2.0, 2.0], "samples of one time, 2"),
        (["a", None], np.array(["2024-03-01", "2024-03-01"], dtype="M8[s]"), "2024-03-01"),
    ],
)
def test_no_stretch_begins_between_samples_of_one_time(y, times, said):
    with pytest.raises(DataError, match=said):
        intervals_of(y, np.asarray(times))
    assert len(intervals_of(["a"] * len(y), np.asarray(times))) == 1


@pytest.mark.parametrize("missing", [None, np.nan, "", " ", pd.NA, pd.NaT, -1])
def test_missing_labels_are_in_no_stretch(missing):
    y = np.array([missing, missing, "a", "a", missing, "b", "b", missing], dtype=object)
    found = [(one.start, one.end, one.label) for one in intervals_of(y, np.arange(8))]
    assert found == [(2, 4, "a"), (5, 7, "b")]
