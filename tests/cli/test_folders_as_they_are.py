"""Folders as users have them: clips by their label, tables of labels beside, windows, sound."""

import json
import re
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import cases
from media_files import tone, write_media

from structsvm.errors import DataError
from structsvm.io import read_recordings, with_labels
from structsvm.io.files import MOST_BESIDE
from structsvm.io.folders import find_recordings

MODES = np.repeat(["walk", "bus", "walk"], 20)
PREAMBLE = "Geolife trajectory\nWGS 84\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"
SPEEDS = {"walk": 1.5, "bus": 8.0}


def put(path, frame, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False, **how)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class TestClipsInFoldersOfTheirLabels:
    """A held-out group was a label that nobody had learned."""

    @cases("{state}/{who}.csv", "{who}/{state}/a.csv", "{state}/{who}/a.csv")
    @pytest.mark.parametrize("column", [True, False])
    @pytest.mark.parametrize("verb", ["try", "fit"])
    def test_clips_in_folders_of_their_labels_are_refused_with_advice(
        self, refused, rng, tmp_path, verb, column, layout
    ):
        for who in ("ann", "ben", "cat"):
            for state, mean in (("rest", 0.0), ("walk", 3.0), ("run", 6.0)):
                frame = pd.DataFrame({"x": rng.normal(mean, size=30), "label": state})
                path = tmp_path / "clips" / layout.format(state=state, who=who)
                put(path, frame if column else frame[["x"]])
        said = refused(f"{verb} change-point {tmp_path}/clips -o {tmp_path}/o")
        if column or layout.endswith("}.csv"):
            assert "the folders 'rest', 'run', 'walk' are the labels" in said.replace("If ", "")
        assert "oin the clips of one person, animal or machine" in said
        assert not (tmp_path / "o").exists()

    def test_a_folder_below_recordings_is_no_label(self, refused, rng, tmp_path):
        for place in ("r", "r/marks"):
            for k in range(4):
                frame = pd.DataFrame({"x": rng.normal(size=30), "z": rng.normal(size=30)})
                put(tmp_path / place / f"{k}.csv", frame)
        said = refused(f"try change-point {tmp_path}/r -o {tmp_path}/o")
        assert "no column 'label'" in said
        assert "are the labels" not in said

    @cases((["run"], {}), (["run", ""], {}), (["run"], {"sep": ";"}))
    def test_files_of_a_single_label_are_refused_before_samples_are_read(
        self, refused, rng, tmp_path, monkeypatch, words, how
    ):
        for k in range(6):
            frame = pd.DataFrame({"x": rng.normal(size=20), "label": np.resize(words, 20)})
            put(tmp_path / "r" / f"{k}.csv", frame, **how)
        monkeypatch.setattr("structsvm.io.files.read_file", None)
        said = refused(f"try change-point {tmp_path}/r -o {tmp_path}/o")
        assert "every recording is one single segment" in said

    @cases({"y": np.repeat("run", 20)}, {"y": np.ones(20)}, {"bkps": np.array([20])})
    def test_arrays_of_a_single_label_are_refused_before_samples_are_read(
        self, refused, rng, tmp_path, monkeypatch, labels
    ):
        (tmp_path / "r").mkdir()
        for k in range(6):
            np.savez(tmp_path / "r" / f"{k}.npz", X=rng.normal(size=(20, 1)), **labels)
        monkeypatch.setattr("structsvm.io.files.read_file", None)
        said = refused(f"try change-point {tmp_path}/r -o {tmp_path}/o")
        assert "every recording is one single segment" in said

    @cases(
        (lambda k: [[5, 25, "walk"]], "one label for each, 'walk'"),
        (lambda k: [[5, 25, "walk"], [30, 40, "walk"]], "one label for each, 'walk'"),
        (lambda k: [[5, 25, "abc"[k % 3]]], "one label for each, 'a', 'b', 'c'"),
        (lambda k: [], "there is no label in it"),
    )
    @pytest.mark.parametrize("form", ["json", "csv"])
    def test_stretches_that_cover_whole_recordings_are_refused_before_samples_are_read(
        self, refused, rng, tmp_path, monkeypatch, form, stretches, said
    ):
        rows = []
        for k in range(6):
            rows += [(f"{k}", *one) for one in stretches(k)]
        frame = pd.DataFrame(rows, columns=["recording", "start", "end", "label"])
        for k in range(6):
            put(tmp_path / "r" / f"{k}.csv", pd.DataFrame({"x": rng.normal(size=60)}))
        path = tmp_path / f"labels.{form}"
        text = frame.to_json(orient="records") if form == "json" else frame.to_csv(index=False)
        path.write_text(text)
        monkeypatch.setattr("structsvm.io.files.read_file", None)
        assert said in refused(f"try change-point {tmp_path}/r --labels {path} -o {tmp_path}/o")

    @cases(
        (lambda k: [[5, 25, "walk"]], "one label for each, 'walk'"),
        (lambda k: [[5, 25, "abc"[k % 3]], [30, 40, "abc"[k % 3]]], "for each, 'a', 'b', 'c'"),
        (lambda k: [[5, 25, ""]], "there is no label in it"),
    )
    def test_label_files_without_changes_in_each_folder_are_refused_before_samples_are_read(
        self, refused, rng, tmp_path, monkeypatch, stretches, said
    ):
        for k in range(6):
            put(tmp_path / "r" / f"p{k}" / "x.csv", pd.DataFrame({"x": rng.normal(size=60)}))
            own = pd.DataFrame(stretches(k), columns=["start", "end", "label"])
            put(tmp_path / "r" / f"p{k}" / "labels.csv", own)
        monkeypatch.setattr("structsvm.io.files.read_file", None)
        line = f"try change-point {tmp_path}/r --labels labels.csv -o {tmp_path}/o"
        assert said in refused(line)

    @cases(
        ([[5, 25, "walk"]], " --set files.outside=rest"),
        ([[5, 25, "walk"], [25, 60, "rest"]], ""),
        ([[20, 20, "x"], [40, 40, "x"]], ""),
    )
    def test_stretches_with_changes_are_not_refused(self, done, rng, tmp_path, stretches, options):
        rows = [(f"{k}", *one) for k, one in product(range(6), stretches)]
        frame = pd.DataFrame(rows, columns=["recording", "start", "end", "label"])
        for k in range(6):
            put(tmp_path / "r" / f"{k}.csv", pd.DataFrame({"x": rng.normal(size=60)}))
        frame.to_json(tmp_path / "labels.json", orient="records")
        line = f"try change-point {tmp_path}/r --labels {tmp_path}/labels.json -o {tmp_path}/o"
        done(f"{line} --minutes 0{options}")

    @cases(("wav", "av"), ("parquet", "pyarrow"), ("xlsx", "openpyxl"))
    def test_a_missing_library_is_named_before_samples_are_read(
        self, refused, rng, tmp_path, monkeypatch, kind, library
    ):
        for k in range(6):
            put(tmp_path / "r" / f"{k}.csv", pd.DataFrame({"x": rng.normal(size=60)}))
        (tmp_path / "r" / f"z.{kind}").write_bytes(b"")
        monkeypatch.setitem(sys.modules, {"pyarrow": "pyarrow.parquet"}.get(library, library), None)
        monkeypatch.setattr("structsvm.io.files.read_file", None)
        said = refused(f"try change-point {tmp_path}/r {tmp_path}/r/z.{kind} -o {tmp_path}/o")
        assert f"reading .{kind} files needs {library}: pip install" in said

    def test_folders_of_people_are_groups(self, done, rng, tmp_path):
        for who in ("ann", "ben", "cat", "dan"):
            for k in range(2):
                x = [rng.normal(SPEEDS[mode], 0.3) for mode in MODES]
                put(tmp_path / "all" / who / f"{k}.csv", pd.DataFrame({"x": x, "label": MODES}))
        _, err = done(f"try change-point {tmp_path}/all -o {tmp_path}/o --minutes 0")
        assert "groups: the 4 folders of all/" in err


@cases(
    ("%Y-%m-%d", "%H:%M:%S", "day,at"),
    ("%Y/%m/%d", "%H:%M", "day,at"),
    ("%Y-%m-%d %H:%M:%S", "%H:%M:%S", "day"),
)
def test_a_date_column_beside_a_time_of_day_is_read_or_offered_with_it(
    refused, done, rng, tmp_path, day, clock, way
):
    times = pd.date_range("2024-03-01 09:00", periods=60, freq="min")
    frame = {"day": times.strftime(day), "at": times.strftime(clock)}
    for k in range(6):
        own = {"x": rng.normal(size=60), "label": np.roll(MODES, k)}
        put(tmp_path / "r" / f"{k}.csv", pd.DataFrame({**frame, **own}))
    line = f"try change-point {tmp_path}/r -o {tmp_path}/o"
    if "," not in way:
        assert f"--time-column {way} reads its times" in refused(line)
        return
    for option in ("", " --time-column day,at"):
        out, _ = done(f"{line}{option} --minutes 0 --force")
        assert "(samples)" not in out, "errors of time are in minutes"


def trips(folder, rng, kind="csv"):
    """Three trips of each of four people, two of which are labelled by dates in a table."""
    for k, who in enumerate(("p0", "p1", "p2", "p3")):
        rows = []
        for trip in range(3):
            start = pd.Timestamp("2008-10-23 08:00:00") + pd.Timedelta(days=7 * trip + k)
            times = start + pd.to_timedelta(5 * np.arange(60), unit="s")
            speed = [rng.normal(SPEEDS[mode], 0.3) for mode in MODES]
            frame = pd.DataFrame({"speed": speed, "height": rng.normal(size=60)}).round(3)
            path = folder / who / "trips" / f"t{trip}.{kind}"
            if kind == "plt":
                frame = frame.assign(
                    date=times.strftime("%Y-%m-%d"), clock=times.strftime("%H:%M:%S")
                )
                put(path, frame, header=False)
                path.write_text(PREAMBLE + path.read_text())
            else:
                put(path, frame.assign(time=times))
            ends = [times[19], times[39], times[-1]]
            begins = [times[0], times[20], times[40]]
            rows += zip(begins, ends, ("walk", "bus", "walk"), strict=True) if trip else ()
        table = pd.DataFrame(rows, columns=["Start Time", "End Time", "Mode of transport"])
        put(folder / who / "labels.txt", table, sep="\t", date_format="%Y/%m/%d %H:%M:%S")


class TestLabelsInTheFolderOfEachRecording:
    @cases(("csv", "time"), ("plt", "column 3,column 4"))
    def test_rows_are_told_apart_by_their_dates(self, done, rng, tmp_path, kind, time):
        """The table was read as a recording; another one could not be named for each folder."""
        trips(tmp_path / "all", rng, kind)
        line = [
            "try",
            "change-point",
            tmp_path / "all",
            "--time-column",
            time,
            "-o",
            tmp_path / "o",
        ]
        _, err = done(*line, "--minutes", "0", "--labels", "labels.txt")
        assert "nothing about 'p0/trips/t0', 'p1/trips/t0'" in err
        told = re.search(r"learning from (\d) recordings; held out: (\d)", err)
        assert int(told[1]) + int(told[2]) == 8
        assert json.loads(done(f"show {tmp_path}/o/model.structsvm --json")[0])

    def test_labels_that_may_be_of_several_recordings_are_refused(self, refused, rng, tmp_path):
        trips(tmp_path / "all", rng)
        line = f"try change-point {tmp_path}/all -o {tmp_path}/o --labels"
        for path in (tmp_path / "all").rglob("*.csv"):
            put(path, pd.read_csv(path).drop(columns="time"))
        said = refused(f"{line} labels.txt")
        assert "it is of 3 recordings: name them in a column 'recording'" in said
        assert "marks.txt: no such file, or nothing in one" in refused(f"{line} marks.txt")

    def test_a_table_of_stretches_in_a_folder_is_offered_as_labels(self, refused, rng, tmp_path):
        trips(tmp_path / "all", rng)
        said = refused(f"try change-point {tmp_path}/all -o {tmp_path}/o --time-column time")
        assert "--labels labels.txt, labels of stretches of time" in said
        (tmp_path / "one").mkdir()
        (tmp_path / "all" / "p0" / "trips").rename(tmp_path / "one" / "trips")
        (tmp_path / "all" / "p0" / "labels.txt").rename(tmp_path / "one" / "marks.txt")
        said = refused(f"fit change-point {tmp_path}/one -o {tmp_path}/o --time-column time")
        assert f"--labels {tmp_path}/one/marks.txt, labels of stretches of time" in said
        said = refused(f"fit clustering {tmp_path}/one/trips -o {tmp_path}/o")  # no rows in order
        assert "labels of stretches of time" not in said
        for i in range(MOST_BESIDE):
            (tmp_path / "one" / f"{i}.txt").write_text("of somebody else", encoding="utf-8")
        said = refused(f"fit change-point {tmp_path}/one/trips -o {tmp_path}/o --time-column time")
        assert "labels of stretches of time" not in said


class TestTablesBeside:
    """A list of people was read as a recording; events were offered by nobody."""

    def write(self, folder, rng, labels):
        for k in range(4):
            x = [rng.normal(SPEEDS[mode], 0.3) for mode in MODES]
            frame = pd.DataFrame({"time": np.arange(60) / 2, "x": x})
            put(folder / f"sub-0{k}" / "beh" / f"sub-0{k}_physio.tsv", frame, sep="\t")
            begins = {"onset": [0, 10, 20], "duration": 10, "trial_type": ["walk", "bus", "walk"]}
            path = labels.format(folder=folder, k=k)
            put(Path(path), pd.DataFrame(begins), sep="\t")
        people = {"participant_id": [f"sub-0{k}" for k in range(4)], "age": [31, 28, 45, 60]}
        put(folder / "participants.tsv", pd.DataFrame(people), sep="\t")

    @cases(
        ("{folder}/sub-0{k}/beh/sub-0{k}_events.tsv", "'*events.tsv'"),
        ("{folder}/sub-0{k}/labels.tsv", "labels.tsv"),
        ("{folder}/marks/sub-0{k}_physio.tsv", "{folder}/marks"),
    )
    def test_label_files_beside_recordings_are_offered_and_read(
        self, refused, done, rng, tmp_path, labels, named
    ):
        folder = tmp_path / "bids"
        self.write(folder, rng, labels)
        line = f"try change-point {folder} -o {tmp_path}/o --minutes 0 --time-column time"
        named = named.format(folder=folder)
        assert f"--labels {named}, labels of stretches of time" in refused(line)
        _, err = done(line, "--labels", named.strip("'"))
        assert "participants.tsv" in err.partition("skipped: ")[2]
        assert "nothing about" not in err

    def test_documents_of_labelling_tools_are_offered_and_read(self, refused, tmp_path):
        """TextGrids beside tables were skipped, and a missing column was all that was said."""
        head = 'File type = "ooTextFile"\nObject class = "TextGrid"\n0 9 <exists> 1\n'
        for k in range(4):
            put(tmp_path / f"s{k}.csv", pd.DataFrame({"time": np.arange(9.0), "f0": range(9)}))
            tier = '"IntervalTier" "phase" 0 9 2\n0 4 "on"\n4 9 "off"\n'
            (tmp_path / f"s{k}.TextGrid").write_text(head + tier)
        said = refused(f"fit change-point {tmp_path} -o {tmp_path}/o --time-column time")
        assert "--labels '*.TextGrid', labels of stretches of time" in said
        with pytest.raises(DataError, match=r"with_labels\(recordings, '\*.TextGrid'\)"):
            read_recordings(tmp_path, time_column="time")

    def test_stretches_with_measured_columns_are_offered_beside_recordings(self, refused, tmp_path):
        """The tabular events of BORIS have the length of the film, too, and frames a second."""
        events = {"Observation id": "o", "Total length": 9.5, "FPS": 30, "Behavior": ["a", "b"]}
        events |= {"Start (s)": [0, 4], "Stop (s)": [4, 9], "Duration (s)": [4, 5]}
        for k in range(4):
            put(tmp_path / f"o{k}.csv", pd.DataFrame({"time": np.arange(9.0), "x": range(9)}))
            put(tmp_path / f"o{k}_events.tsv", pd.DataFrame(events), sep="\t")
        said = refused(f"fit change-point {tmp_path} -o {tmp_path}/o --time-column time")
        assert "--labels '*_events.tsv', labels of stretches of time" in said
        alone = tmp_path / "windows"
        for k in range(2):  # which are recordings where there are no others
            put(alone / f"o{k}.csv", pd.DataFrame(events).drop(columns="Observation id"))
        assert len(find_recordings(alone)[0]) == 2

    def test_an_export_about_one_observation_is_of_the_recording_called_so(self, tmp_path):
        for k in range(2):
            frame = pd.DataFrame({"time": np.arange(9.0), "x": range(9)})
            put(tmp_path / f"obs{k}_tracking.csv", frame)
            rows = [("a", 0, "START"), ("a", 4, "STOP"), ("b", 4, "START"), ("b", 9, "STOP")]
            events = pd.DataFrame(rows, columns=["Behavior", "Time", "Status"])
            put(tmp_path / f"obs{k}_events.csv", events.assign(**{"Observation id": f"obs{k}"}))
        files = sorted(tmp_path.glob("*_tracking.csv"))
        recordings = read_recordings(files, time_column="time", need_labels=False)
        for one in with_labels(recordings, "*_events.csv"):
            assert one.y.tolist() == ["a"] * 4 + ["b"] * 5

    def test_a_table_of_stretches_may_number_its_rows(self, tmp_path):
        epochs = {"id": [0, 1], "start_time": [0, 4], "stop_time": [4, 9], "label": ["a", "b"]}
        put(tmp_path / "epochs.csv", pd.DataFrame(epochs))
        put(tmp_path / "walk.csv", pd.DataFrame({"x": range(9), "label": [0] * 4 + [1] * 5}))
        assert [one.name for one in read_recordings(tmp_path)] == ["walk"]

    @cases("who,age\na,3\nb,4\n", "file,rate\na.csv,50\nb.csv,50\n", "n,name\n1,b\n2,a\n")
    def test_lists_of_file_names_are_no_recordings(self, tmp_path, content):
        for name in "ab":
            put(
                tmp_path / f"{name}.csv", pd.DataFrame({"x": [1.5, 2, 3], "label": ["a", "a", "b"]})
            )
        (tmp_path / "about.csv").write_text(content)
        assert [*find_recordings(tmp_path)[0].values()] == ["a", "b"]


class TestWindowsOfTime:
    @cases("windows.json", "labels")
    def test_windows_without_a_recording_are_named(self, refused, done, rng, tmp_path, labels):
        windows = {}
        for k in range(6):
            times = pd.date_range("2014-03-01", periods=80, freq="5min")
            value = rng.normal(size=80) + 6.0 * (np.arange(80) // 20 == 2)
            put(tmp_path / "all" / "art" / f"s{k}.csv", pd.DataFrame({"t": times, "value": value}))
            windows[f"art/s{k}.csv"] = [[str(times[40]), str(times[60])]]
            table = pd.DataFrame({"start": [times[40]], "end": [times[60]], "label": ["window"]})
            put(tmp_path / "labels" / "art" / f"s{k}.csv", table)
        (tmp_path / "windows.json").write_text(json.dumps(windows))
        line = f"try change-point {tmp_path}/all --labels {tmp_path}/{labels} --time-column t"
        said = refused(f"{line} -o {tmp_path}/o --minutes 0")
        assert "360 samples are in no stretch" in said
        assert "name it: --set files.outside=rest" in said
        out, _ = done(f"{line} -o {tmp_path}/o --minutes 0 --set files.outside=rest")
        assert "window (learned)" not in out
        assert "(min)" in out

    def test_a_recording_without_a_window_has_the_outside_label_throughout(
        self, refused, done, rng, tmp_path
    ):
        for k in range(3):
            put(tmp_path / "all" / f"s{k}.csv", pd.DataFrame({"value": rng.normal(size=40)}))
        windows = {"s0.csv": [[10, 20]], "s1.csv": [], "s2.csv": [[0, 5], [30, 40]]}
        (tmp_path / "w.json").write_text(json.dumps(windows))
        line = f"fit change-point {tmp_path}/all --labels {tmp_path}/w.json -o {tmp_path}/m"
        assert "nothing about s1" in refused(line)
        _, err = done(f"{line} --set files.outside=rest --method olda --baselines none")
        assert "3 recordings" in err


class TestSoundsThatAreShort:
    def write(self, folder, lasting, rng):
        """Sounds of four pitches and their labels, each of which lasts so many seconds."""
        folder.mkdir()
        for k in range(4):
            names = list("abcdabcdabdca")[k % 3 :]
            pitch = {"a": 300, "b": 700, "c": 1500, "d": 3000}
            sound = np.concatenate([tone(pitch[name], lasting) for name in names])
            write_media(folder / f"s{k}.wav", sound + rng.normal(scale=0.01, size=sound.size))
            starts = lasting * np.arange(len(names))
            table = {"start": starts, "end": starts + lasting, "label": names}
            put(folder.parent / "labels" / f"s{k}.csv", pd.DataFrame(table).round(6))
        return f"fit change-point {folder} --labels {folder.parent}/labels -o {folder.parent}/m"

    @cases(0.1, 0.4, 0.85)
    def test_a_step_of_sound_that_resolves_short_labels_is_named(
        self, refused, done, rng, tmp_path, lasting
    ):
        """Twenty intervals of two seconds were two samples, and there was nothing left to learn."""
        line = self.write(tmp_path / "sound", lasting, rng)
        said = refused(line)
        assert "sound and pictures are read in steps of 1 s" in said
        step = said.partition("--set files.step=")[2].split()[0]
        assert lasting / 6 < float(step) < lasting / 3
        _, err = done(f"{line} --set files.step={step} --method olda --baselines none")
        assert "no sample" not in err
        _, err = done(f"evaluate {tmp_path}/m {tmp_path}/sound --labels {tmp_path}/labels")

    def test_long_steps_are_refused_before_sound_is_read(self, refused, rng, tmp_path):
        line = self.write(tmp_path / "sound", 0.4, rng)
        for sound in (tmp_path / "sound").iterdir():
            sound.write_bytes(b"RIFF and no more")
        assert "sound and pictures are read in steps of 1 s" in refused(line)
        assert "sound and pictures" not in refused(line + " --set files.step=0.1")
        for table in (tmp_path / "labels").iterdir():
            table.write_text("start,end,label\n")
        assert "sound and pictures" not in refused(line)

    def test_labels_of_few_steps_of_sound_are_warned_of(self, done, rng, tmp_path):
        """Changes at 2.5 s were found to the second, and their error was said to be 0 s."""
        line = self.write(tmp_path / "sound", 2.5, rng) + " --method olda --baselines none"
        assert "in steps of 1 s, and 0 of " in done(line)[1]
        assert "in steps of" not in done(line.replace("/m ", "/n ") + " --set files.step=0.5")[1]

    @cases("0", "x", "1e-4", "100")
    def test_impossible_steps_of_sound_are_refused(self, refused, rng, tmp_path, step):
        line = self.write(tmp_path / "sound", 1.5, rng)
        assert "step must be a number of seconds" in refused(f"{line} --set files.step={step}")


def test_skipped_files_of_one_name_are_named_once(rng, tmp_path, run):
    for who in "abc":
        put(tmp_path / who / "eda.csv", pd.DataFrame({"eda": rng.normal(size=30).round(3)}))
        events = {"start": [0, 9], "end": [9, 30], "label": ["rest", "walk"]}
        put(tmp_path / who / "labels.csv", pd.DataFrame(events))
    _, _, said = run(f"try change-point {tmp_path} -o {tmp_path}/o")
    assert "skipped: labels.csv, 3 files in all" in said
    assert "--labels labels.csv, labels of stretches of time" in said
