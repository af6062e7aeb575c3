"""Labels of labelling tools, on files made by hand, there and back."""

import json

import numpy as np
import pytest

from structsvm.errors import DataError, SettingsError
from structsvm.io import (
    Interval,
    TimeAxis,
    intervals_of,
    labels_of,
    read_intervals,
    write_intervals,
)

WALK = [Interval(0.0, 2.5, "rest"), Interval(2.5, 4.0, "walk"), Interval(6.0, 7.5, "rest")]
TIERS = "several tiers, 'gait', 'hands': choose one, tier='gait'"
TIMES = np.arange(20) / 2
HOURS = np.datetime64("2024-05-01T00:00") + np.arange(20) * np.timedelta64(1, "h")


def clock(seconds):
    """Return a time as ELAN writes it beside the one in seconds."""
    whole, part = divmod(round(1000 * seconds), 1000)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.{part:03d}"


class TestFiles:
    def test_a_label_track(self, tmp_path):
        track = tmp_path / "walk.txt"
        track.write_text(
            "0.000000\t2.500000\trest\n\\\t100.0\t2000.0\n2.500000\t4.000000\twalk\n"
            "6.000000\t7.500000\trest\n"
        )
        assert read_intervals(track) == {"walk": WALK}
        write_intervals(tmp_path / "again.txt", {"walk": WALK})
        assert read_intervals(tmp_path / "again.txt") == {"again": WALK}

    def test_tasks_of_label_studio(self, tmp_path):
        def result(i):
            value = {
                "start": i.start,
                "end": i.end,
                "instant": False,
                "timeserieslabels": [i.label],
            }
            return {
                "id": "x",
                "from_name": "label",
                "to_name": "ts",
                "type": "timeserieslabels",
                "value": value,
            }

        choice = {"type": "choices", "value": {"choices": ["good"]}}
        tasks = [
            {
                "id": 7,
                "data": {"csv": "/data/upload/3/walk.csv"},
                "annotations": [
                    {"was_cancelled": True, "result": []},
                    {"result": [choice, *map(result, WALK)]},
                ],
                "predictions": [],
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
            (task, _) = json.loads(path.read_text())
            assert ("predictions" in task) == predictions

    def test_tables(self, tmp_path):
        boris = tmp_path / "events.csv"
        boris.write_text(
            "Observation id,Subject,Behavior,Behavior type,Start (s),Stop (s),Duration (s)\n"
            "walk,ann,rest,STATE,0.0,2.5,2.5\nwalk,ann,cough,POINT,1.0,1.0,NA\n"
            "walk,ann,walk,STATE,2.5,4.0,1.5\nwalk,ann,rest,STATE,6.0,7.5,1.5\n"
        )
        assert read_intervals(boris) == {"walk": WALK}
        aimless = tmp_path / "aimless.txt"
        aimless.write_text("Begin Time - ss.msec\tEnd Time - ss.msec\n0.0\t1.0\n")
        with pytest.raises(DataError, match=r"no column 'Annotation'.*name it with label="):
            read_intervals(aimless)
        for kind in ("csv", "tsv"):
            write_intervals(tmp_path / f"own.{kind}", {"a": WALK, "b": WALK[:1]})
            assert read_intervals(tmp_path / f"own.{kind}") == {"a": WALK, "b": WALK[:1]}

    def test_tabular_events_of_boris_pair_starts_with_stops(self, tmp_path):
        events = tmp_path / "events.tsv"
        head = "Observation id\tFPS\tSubject\tBehavior\tBehavioral category\tBehavior type\tTime"
        rows = [("rest", "START", 0.0), ("cough", "POINT", 1.0), ("rest", "STOP", 2.5)]
        rows += [("walk", "START", 2.5), ("walk", "STOP", 4.0)]
        rows += [("rest", "START", 6.0), ("rest", "STOP", 7.5)]
        lines = [f"walk\t25\tann\t{what}\t\t{kind}\t{at}" for what, kind, at in rows]
        events.write_text("\n".join([head, *lines]) + "\n")
        assert read_intervals(events) == {"walk": WALK}
        events.write_text("\n".join([head, *lines[:-1]]) + "\n")
        with pytest.raises(DataError, match="'rest' starts and never stops"):
            read_intervals(events)
        events.write_text("\n".join([head, lines[2]]) + "\n")
        with pytest.raises(DataError, match="line 2: 'rest' stops and never started"):
            read_intervals(events)

    def test_text_of_elan_without_a_header(self, tmp_path):
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

    def test_text_of_elan_with_a_column_for_each_tier(self, tmp_path):
        elan, times = tmp_path / "walk.txt", ("Begin Time", "End Time", "Duration")
        head = [f"{name} - {form}" for name in times for form in ("hh:mm:ss.ms", "ss.msec")]
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

    @pytest.mark.parametrize("sep", ["\t", ","])
    def test_tabular_events_of_boris_before_version_8(self, tmp_path, sep):
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
        assert read_intervals(path) == {"walk": WALK}
        path.write_text("\n".join([*lines, lines[-1]]) + "\n")
        with pytest.raises(DataError, match="line 18: 'rest' stops and never started"):
            read_intervals(path)

    @pytest.mark.parametrize("form", ["ss.msec", "msec", "hh:mm:ss.ms"])
    def test_times_of_elan_in_each_form_after_lines_on_the_media(self, tmp_path, form):
        write = {"ss.msec": float, "msec": lambda at: round(1000 * at), "hh:mm:ss.ms": clock}[form]
        head = [f"{name} - {form}" for name in ("Begin Time", "End Time", "Duration")]
        rows = [[write(i.start), write(i.end), write(i.end - i.start), i.label] for i in WALK]
        lines = ["\t".join(map(str, row)) for row in ([*head, "gait"], *rows)]
        media = '"#file:///home/ann/walk.mp4 -- offset: 0"\n#file:///home/ann/walk.wav\n'
        (tmp_path / "walk.txt").write_text(media + "\n".join(lines) + "\n")
        assert read_intervals(tmp_path / "walk.txt") == {"walk": WALK}

    def test_what_cannot_be(self, tmp_path):
        (tmp_path / "one.json").write_text("{")
        with pytest.raises(DataError, match="no tasks of Label Studio"):
            read_intervals(tmp_path / "one.json")
        (tmp_path / "one.txt").write_text("0.0\t1.0\ta\nx\t2.0\tb\n")
        with pytest.raises(DataError, match="line 2: 'x' is neither a number nor a date"):
            read_intervals(tmp_path / "one.txt")
        with pytest.raises(DataError, match="cannot be read"):
            read_intervals(tmp_path / "gone.txt")
        with pytest.raises(SettingsError, match="a label track is of one recording, got 2"):
            write_intervals(tmp_path / "two.txt", {"a": WALK, "b": WALK})
        with pytest.raises(SettingsError, match=r"must end with .json, .txt, .csv or .tsv"):
            write_intervals(tmp_path / "two.xml", {"a": WALK})
        assert not (tmp_path / "two.txt").exists()


class TestLabels:
    @pytest.mark.parametrize("times", [TIMES, np.arange(20), HOURS])
    def test_there_and_back(self, times):
        y = ["a"] * 5 + ["b"] * 8 + ["a"] * 7
        assert labels_of(intervals_of(y, times), times).labels == y
        blank = [None, *y[1:12], None, None, *y[14:]]
        assert labels_of(intervals_of(blank, times), times).labels == blank

    def test_samples_in_no_interval(self):
        names = ["rest"] * 5 + ["walk"] * 3 + [None] * 4 + ["rest"] * 3 + [None] * 5
        assert labels_of(WALK, TIMES).labels == names
        filled = labels_of(WALK, TIMES, outside="else").labels
        assert filled == [name or "else" for name in names]

    def test_dates_are_texts(self):
        marked = [Interval("2024-05-01 00:00", "2024-05-01 05:00", "night")]
        assert labels_of(marked, TimeAxis("when", HOURS)).labels == ["night"] * 5 + [None] * 15

    def test_near_changes_only_their_number_is_known(self):
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

    def test_what_cannot_be(self):
        with pytest.raises(DataError, match=r"overlaps one of 'a' at time 0.5"):
            labels_of([Interval(0, 1, "a"), Interval(0.5, 2, "b")], TIMES)
        with pytest.raises(DataError, match="ends before it starts"):
            labels_of([Interval(2, 1, "a")], TIMES)
        with pytest.raises(SettingsError, match="tolerance must be a finite number >= 0"):
            labels_of(WALK, TIMES, tolerance=-1)
        with pytest.raises(DataError, match="20 samples but 2 labels"):
            intervals_of(["a", "b"], TIMES)
