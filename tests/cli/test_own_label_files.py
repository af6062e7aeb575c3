"""Files of labels as people have them beside their recordings."""

import csv
import json
import unicodedata
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from cli_kit import TEST, TRAIN
from media_files import LENGTHS, tone, write_films, write_media

from structsvm import load

LINE = (
    "fit change-point --baselines none --metric diagonal --time-column t --force "
    "-o labelled.structsvm"
)


def stretches(recording):
    """Return start, end and label of each segment, samples being half a second apart."""
    ends = [*(np.flatnonzero(np.diff(recording.y)) + 1), len(recording.y)]
    starts = [0, *ends[:-1]]
    return [(s / 2, e / 2, f"state {recording.y[s]}") for s, e in zip(starts, ends, strict=True)]


def put(path, recording, times=None):
    """Write a recording without its labels."""
    frame = pd.DataFrame(recording.X, columns=recording.features)
    frame.insert(0, "t", np.arange(len(frame)) / 2 if times is None else times)
    path.parent.mkdir(exist_ok=True)
    frame.to_csv(path, index=False)
    return path


def rows_of(names, recordings=TRAIN):
    """Return the stretches of some recordings as one table."""
    rows = []
    for name, recording in zip(names, recordings, strict=False):
        rows += [(name, *stretch) for stretch in stretches(recording)]
    return pd.DataFrame(rows, columns=["recording", "start", "end", "label"])


def test_a_label_file_that_fits_two_recordings_is_refused(done, refused, tmp_path):
    """Both are called walk, in folders of their own."""
    for folder, recording in zip(("ann", "ben"), TRAIN, strict=False):
        put(tmp_path / folder / "walk.csv", recording)
    labels = tmp_path / "labels"
    labels.mkdir()
    rows_of(["walk"]).drop(columns="recording").to_csv(labels / "walk.csv", index=False)
    data = [tmp_path / "ann", tmp_path / "ben"]
    message = refused(LINE, *data, "--labels", labels)
    assert "nothing about ben/walk, or what is about another one as well" in message
    assert "column 'recording'" in message
    table = tmp_path / "labels.csv"
    rows_of(["ann/walk", "ben/walk"]).to_csv(table, index=False)
    _, err = done(LINE, *data, "--labels", table)
    assert "2 recordings of 200 samples" in err


def test_labels_are_read_from_spreadsheets_and_their_exports(done, tmp_path):
    """Of people who write a decimal comma."""
    put(tmp_path / "walk.csv", TRAIN[0])
    table = rows_of(["walk"]).assign(label=lambda table: "Körper " + table.label)
    table.to_excel(tmp_path / "excel.xlsx", index=False)
    table.to_csv(tmp_path / "west.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    table.to_csv(tmp_path / "wide.csv", index=False, sep="\t", decimal=",", encoding="utf-16")
    changes = table[["end"]][:-1].rename(columns={"end": "change"})
    changes.to_csv(tmp_path / "changes.csv", index=False, sep=";", decimal=",")
    changes.to_excel(tmp_path / "changes.xlsx", index=False)
    track = "".join(f"{a:.6f}\t{b:.6f}\t{c}\n" for _, a, b, c in table.itertuples(index=False))
    (tmp_path / "track.txt").write_text(track.replace(".", ","), encoding="utf-8")
    weights = set()
    for name in ("excel.xlsx", "west.csv", "wide.csv", "changes.csv", "changes.xlsx", "track.txt"):
        done(LINE, tmp_path / "walk.csv", "--labels", tmp_path / name)
        weights.add(load("labelled.structsvm").metric_.factor.T.tobytes())
    assert len(weights) == 1


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_in_either_unicode_form_are_the_same(done, tmp_path, form):
    """Files of a Mac have other bytes than what is typed into a table."""
    put(tmp_path / "data" / f"{unicodedata.normalize(form, 'mäuse')}.csv", TRAIN[0])
    put(tmp_path / "data" / "b.csv", TRAIN[1])
    rows_of(["mäuse", "b"]).to_csv(tmp_path / "labels.csv", index=False)
    done(LINE, tmp_path / "data", "--labels", tmp_path / "labels.csv")
    regions = pd.DataFrame({"recording": ["mäuse"], "start": 0, "end": 200, "changes": "1+"})
    regions.to_csv(tmp_path / "regions.csv", index=False)
    done("predict labelled.structsvm", tmp_path / "data", "--regions", tmp_path / "regions.csv")


def test_stretches_that_reach_beyond_the_samples_are_named(run, tmp_path):
    """Where labels begin at another zero of time than samples, nothing else tells."""
    names = ["ann", "ben", "cia"]
    for name, recording in zip(names, TRAIN, strict=False):
        put(tmp_path / "data" / f"{name}.csv", recording)
    table = rows_of(names)
    labels = tmp_path / "labels.csv"
    table.loc[(table.recording == "ben") & (table.end == 100.0), "end"] += 0.5
    table.to_csv(labels, index=False)
    assert "reach beyond" not in run(LINE, tmp_path / "data", "--labels", labels)[2]
    table.loc[(table.recording == "ben") & (table.end == 100.5), "end"] += 1.0
    table.loc[(table.recording == "cia") & (table.start == 0.0), "start"] -= 20.0
    table.to_csv(labels, index=False)
    err = run(LINE, tmp_path / "data", "--labels", labels)[2]
    assert err.count("warning") == 2
    assert f"labels.csv: ben: 1 of {len(stretches(TRAIN[1]))} intervals hold no sample" in err
    assert (
        f"labels.csv: cia: 1 of {len(stretches(TRAIN[2]))} intervals hold no sample, or reach"
        in err
    )


def test_samples_in_no_stretch_have_the_typed_outside_label(done, refused, tmp_path):
    names = [f"r{i}" for i in range(len(TRAIN))]
    for name, recording in zip(names, TRAIN, strict=False):
        put(tmp_path / "data" / f"{name}.csv", recording)
    table = rows_of(names)
    labels = tmp_path / "labels.csv"
    table[table.label != "state 1"].to_csv(labels, index=False)
    data = (tmp_path / "data", "--labels", labels)
    said = "if they are of a state as well, name it, --set files.outside=rest"
    assert said in done(LINE, *data)[1].replace("\n", " ")
    alone = table[table.groupby("recording").cumcount() % 2 == 0]
    alone.to_csv(labels, index=False)  # no two of them are neighbours
    message = refused("try change-point --time-column t -o tried", *data)
    assert "no change is between labelled samples" in message
    assert "name their state if they have one, --set files.outside=rest" in message
    table[table.label != "state 1"].to_csv(labels, index=False)
    assert "give --labels as well" in refused(
        "fit change-point --set files.outside=rest", tmp_path / "data"
    )
    _, err = done(LINE, *data, "--set", "files.outside=rest")
    assert "unlabelled" not in err
    assert f"segments ({len(table)} in all)" in err
    done("evaluate labelled.structsvm", *data)


START = pd.Timestamp("2024-05-01 08:00")


def timed(recording):
    frame = pd.DataFrame(recording.X, columns=recording.features)
    times = START + pd.to_timedelta(np.arange(len(frame)) / 2, unit="s")
    frame.insert(0, "clock", times.strftime("%Y-%m-%d %H:%M:%S.%f").str[:-5])
    return frame.assign(label=recording.y)


@pytest.fixture(scope="module")
def timed_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("timed")
    for name, recordings in (("train", TRAIN), ("test", TEST)):
        (folder / name).mkdir()
        for recording in recordings:
            timed(recording).to_csv(folder / name / f"{recording.name}.csv", index=False)
    return folder


@pytest.fixture
def model(done, timed_folder):
    model = timed_folder / "m.structsvm"
    if not model.exists():
        line = f"fit change-point {timed_folder / 'train'} --time-column clock --metric diagonal"
        line += " --baselines none -o"
        done(line, model)
    return model


def test_predicted_bouts_are_in_the_time_of_the_table(run, done, timed_folder, model, tmp_path):
    file = timed_folder / "test" / f"{TEST[0].name}.csv"
    clock = timed(TEST[0])["clock"]
    out, _ = done("predict --json", model, file)
    (found,) = json.loads(out)["recordings"]
    changes = found["breakpoints"][:-1]
    assert changes
    times = [row["start_time"] for row in found["segments"][1:]]
    assert times == [clock[change] for change in changes]
    out = run("predict", model, file)[1]
    assert out.strip().endswith(f"(clock {', '.join(clock[change] for change in changes)})")
    assert run("predict", model, file, "-o", tmp_path / "all.csv")[0] == 0
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert [row["start_clock"] for row in rows] == [clock[t] for t in (0, *changes)]
    assert [row["end_clock"] for row in rows] == [*(clock[t] for t in changes), clock[199]]
    assert run("predict", model, file, "-o", tmp_path / "folder")[0] == 0
    (table,) = (tmp_path / "folder").iterdir()
    assert pd.read_csv(table)["clock"].tolist() == clock.tolist()


def test_regions_may_be_given_in_time(refused, done, timed_folder, tmp_path):
    changes = np.flatnonzero(np.diff(TRAIN[0].y)) + 1
    first = timed(TRAIN[0])["clock"][int(changes[0]) + 3]
    samples = tmp_path / "samples.csv"
    times = tmp_path / "times.csv"
    samples.write_text(
        f"recording,start,end,changes\n{TRAIN[0].name},0,{changes[0] + 3},1\n"
        f"{TRAIN[0].name},{changes[0] + 3},200,1+\n"
    )
    times.write_text(
        f"recording,start_time,end_time,changes\n{TRAIN[0].name},2024-05-01,{first},1\n"
        f"{TRAIN[0].name},{first},2024-05-02,1+\n"
    )
    file = tmp_path / f"{TRAIN[0].name}.csv"
    timed(TRAIN[0]).drop(columns="label").to_csv(file, index=False)
    weights = []
    for regions in (samples, times):
        model = tmp_path / f"{regions.stem}.structsvm"
        line = f"fit change-point {file} --regions {regions} --time-column clock -o {model}"
        done(line, "--metric", "diagonal")
        weights.append(load(model).metric_.factor)
    np.testing.assert_array_equal(*weights)
    line = f"fit change-point {file} --regions {times} --ignore clock -o {tmp_path}/none"
    assert "has no times, or is not there: name their column, --time-column" in refused(line)


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Return a folder of two films, with tables of change times and of stretches."""
    folder = tmp_path_factory.mktemp("films")
    (folder / "changes").mkdir()
    for name, changes in write_films(folder).items():
        lines = "".join(f"{change}\n" for change in changes)
        (folder / "changes" / f"{name}.csv").write_text(f"change\n{lines}")
        edges = pairwise([0, *changes, sum(LENGTHS[name])])
        rows = [f"{a},{b},{'ab'[i % 2]}\n" for i, (a, b) in enumerate(edges)]
        (folder / f"{name}_states.csv").write_text("start,end,label\n" + "".join(rows))
    return folder


def ends_of(name):
    return np.cumsum(LENGTHS[name]).tolist()


def test_a_film_is_learned_from_and_predicted_in_times(run, refused, done, films, tmp_path):
    model = tmp_path / "show.structsvm"
    line = "fit change-point --metric diagonal --baselines none --quiet --labels"
    done(line, films / "changes" / "show.csv", films / "show.mkv", "-o", model)
    out, _ = done("predict --json", model, films / "new.mkv")
    (found,) = json.loads(out)["recordings"]
    assert found["breakpoints"] == ends_of("new")
    times = [row["start_time"] for row in found["segments"][1:]]
    assert times == [str(end) for end in ends_of("new")[:-1]]
    spoken = write_media(tmp_path / "spoken.mkv", tone(440, 9))
    assert "it has no video stream, only audio; --set files.stream" in refused(
        "predict", model, spoken
    )
    table = tmp_path / "segments.csv"
    assert run("predict", model, films / "new.mkv", "-o", table)[0] == 0
    assert table.read_text().splitlines()[-1] == "new,5,42,50,42,50"
    out, _ = done("evaluate --json", model, films / "new.mkv", "--labels", films / "new_states.csv")
    assert json.loads(out)["learned"]["loss"] == 0
