"""Files of labels as people have them beside their recordings."""

import unicodedata

import numpy as np
import pandas as pd
import pytest
from cli_kit import TRAIN

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
    rows = [(n, *s) for n, r in zip(names, recordings, strict=False) for s in stretches(r)]
    return pd.DataFrame(rows, columns=["recording", "start", "end", "label"])


def test_one_file_of_labels_is_not_of_two_recordings(run, refused, tmp_path):
    """Both are called walk, in folders of their own."""
    for folder, recording in zip(("ann", "ben"), TRAIN, strict=False):
        put(tmp_path / folder / "walk.csv", recording)
    labels = tmp_path / "labels"
    labels.mkdir()
    rows_of(["walk"]).drop(columns="recording").to_csv(labels / "walk.csv", index=False)
    data = [tmp_path / "ann", tmp_path / "ben"]
    message = refused(LINE, *data, "--labels", labels)
    assert "'walk' may be 'ann/walk' or 'ben/walk'" in message
    assert "column 'recording'" in message
    table = tmp_path / "labels.csv"
    rows_of(["ann/walk", "ben/walk"]).to_csv(table, index=False)
    code, _, err = run(LINE, *data, "--labels", table)
    assert code == 0, err
    assert "2 recordings of 200 samples" in err


@pytest.mark.parametrize("form", ["table", "folder"])
def test_what_follows_a_point_in_a_name_may_tell_recordings_apart(run, tmp_path, form):
    names = ["rat.1", "rat.2", "mouse.left"]
    for name, recording in zip(names, TRAIN, strict=False):
        put(tmp_path / "data" / f"{name}.csv", recording)
    table, labels = rows_of(names), tmp_path / "labels.csv"
    if form == "table":
        table.to_csv(labels, index=False)
    else:
        labels = tmp_path / "labels"
        labels.mkdir()
        for name in names:
            own = table[table.recording == name].drop(columns="recording")
            own.to_csv(labels / f"{name}.csv", index=False)
    code, _, err = run(LINE, tmp_path / "data", "--labels", labels)
    assert code == 0, err
    n = sum(len(stretches(r)) for r in TRAIN[:3])
    assert f"600 samples and {n} segments in all" in err


def test_stretches_between_dates(run, tmp_path):
    clock = pd.date_range("2024-03-31 23:00", periods=200, freq="min")
    labels = tmp_path / "labels.csv"
    for style in ("%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M"):
        put(tmp_path / "walk.csv", TRAIN[0], clock.strftime(style))
        table = rows_of(["walk"])
        ends = np.append(clock, clock[-1] + pd.Timedelta(minutes=1)).astype("datetime64[s]")
        for column in ("start", "end"):
            samples = (2 * table[column]).astype(int)
            table[column] = pd.DatetimeIndex(ends[samples]).strftime(style)
        early = [pd.Timestamp(day).strftime(style) for day in ("2024-02-29", "2024-03-01")]
        table = pd.concat([table, pd.DataFrame([["walk", *early, "early"]], columns=table.columns)])
        table.to_csv(labels, index=False)
        code, _, err = run(LINE, tmp_path / "walk.csv", "--labels", labels)
        assert code == 0, err
        assert f"{len(table) - 1} segments" in err
        assert f"1 of {len(table)} intervals hold no sample" in err


def test_labels_in_a_spreadsheet_or_as_it_exports_them(run, tmp_path):
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
        code, _, err = run(LINE, tmp_path / "walk.csv", "--labels", tmp_path / name)
        assert code == 0, (name, err)
        weights.add(load("labelled.structsvm").metric_.factor.T.tobytes())
    assert len(weights) == 1


@pytest.mark.parametrize("form", ["table", "folder"])
def test_labels_of_recordings_that_are_not_there_are_named(run, tmp_path, form):
    put(tmp_path / "data" / "a.csv", TRAIN[0])
    table = rows_of(["a", "A 2", "b"])
    labels = tmp_path / "labels"
    if form == "table":
        labels = tmp_path / "labels.csv"
        table.to_csv(labels, index=False)
    else:
        labels.mkdir()
        for name, rows in table.groupby("recording"):
            rows.drop(columns="recording").to_csv(labels / f"{name}.csv", index=False)
    code, _, err = run(LINE, tmp_path / "data", "--labels", labels)
    assert code == 0, err
    assert "labels of 'A 2', 'b' are not used, because no recording has such a name" in err


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_with_dots_may_be_spelled_in_two_ways(run, tmp_path, form):
    """Files of a Mac have other bytes than what is typed into a table."""
    put(tmp_path / "data" / f"{unicodedata.normalize(form, 'mäuse')}.csv", TRAIN[0])
    put(tmp_path / "data" / "b.csv", TRAIN[1])
    rows_of(["mäuse", "b"]).to_csv(tmp_path / "labels.csv", index=False)
    code, _, err = run(LINE, tmp_path / "data", "--labels", tmp_path / "labels.csv")
    assert code == 0, err
    regions = pd.DataFrame({"recording": ["mäuse"], "start": 0, "end": 200, "changes": "1+"})
    regions.to_csv(tmp_path / "regions.csv", index=False)
    code, _, err = run(
        "predict labelled.structsvm", tmp_path / "data", "--regions", tmp_path / "regions.csv"
    )
    assert code == 0, err


def test_stretches_that_reach_beyond_the_samples_are_named(run, tmp_path):
    """Where labels begin at another zero of time than samples, nothing else tells."""
    names = ["ann", "ben", "cia"]
    for name, recording in zip(names, TRAIN, strict=False):
        put(tmp_path / "data" / f"{name}.csv", recording)
    table, labels = rows_of(names), tmp_path / "labels.csv"
    table.loc[(table.recording == "ben") & (table.end == 100.0), "end"] += 0.5
    table.to_csv(labels, index=False)
    assert "reach beyond" not in run(LINE, tmp_path / "data", "--labels", labels)[2]
    table.loc[(table.recording == "ben") & (table.end == 100.5), "end"] += 1.0
    table.loc[(table.recording == "cia") & (table.start == 0.0), "start"] -= 20.0
    table.to_csv(labels, index=False)
    err = run(LINE, tmp_path / "data", "--labels", labels)[2]
    assert err.count("warning") == 1
    assert f"labels.csv: ben: 1 of {len(stretches(TRAIN[1]))} intervals reach beyond" in err
    assert f"cia: 1 of {len(stretches(TRAIN[2]))} intervals reach beyond the samples" in err


def test_samples_in_no_stretch_have_the_label_that_is_typed(run, refused, tmp_path):
    names = [f"r{i}" for i in range(len(TRAIN))]
    for name, recording in zip(names, TRAIN, strict=False):
        put(tmp_path / "data" / f"{name}.csv", recording)
    table, labels = rows_of(names), tmp_path / "labels.csv"
    table[table.label != "state 1"].to_csv(labels, index=False)
    data = (tmp_path / "data", "--labels", labels)
    message = refused("try change-point --time-column t -o tried", *data)
    assert "are in no stretch" in message
    assert "--set files.outside=rest" in message
    assert "give --labels as well" in refused(
        "fit change-point --set files.outside=rest", tmp_path / "data"
    )
    code, _, err = run(LINE, *data, "--set", "files.outside=rest")
    assert code == 0, err
    assert "unlabelled" not in err
    assert f"and {len(table)} segments in all" in err
    code, _, err = run("evaluate labelled.structsvm", *data)  # which remembers it
    assert code == 0, err


def test_one_subject_is_chosen(run, refused, tmp_path):
    names = [f"r{k}" for k in range(3)]
    paths = [put(tmp_path / f"{n}.csv", r) for n, r in zip(names, TRAIN, strict=False)]
    table = rows_of(names).assign(subject="mine")
    labels = tmp_path / "all.tsv"
    other = table.iloc[:1].assign(subject="other", label="else")
    pd.concat([table, other]).to_csv(labels, index=False)
    err = refused(LINE, *paths, "--labels", labels)
    assert "several subjects, 'mine', 'other': choose one, --set files.subject=mine" in err
    code, _, err = run(LINE, *paths, "--labels", labels, "--set", "files.subject=mine")
    assert code == 0, err
