"""The same recordings in files of any form: the same metric, and later commands are told nothing.

Every form is written, learned from with the options that it needs, and predicted and evaluated
without them.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from cli_kit import TEST, TRAIN

from structsvm import load
from structsvm.io import Recording, write_recording

Recordings = Sequence[Recording]


def frame_of(recording: Recording) -> pd.DataFrame:
    return pd.DataFrame(recording.X, columns=recording.features).assign(label=recording.y)


def each(write: Callable[[pd.DataFrame, Path], Any], kind: str = "csv") -> Any:
    """A function that writes a table for each recording."""

    def written(recordings: Recordings, folder: Path) -> None:
        for recording in recordings:
            write(frame_of(recording), folder / f"{recording.name}.{kind}")

    return written


def edited(change: Callable[[str], str]) -> Any:
    """A function that writes tables of which the text is changed."""
    return each(lambda frame, path: path.write_text(change(frame.to_csv(index=False))))


def arrays(recordings: Recordings, folder: Path) -> None:
    for recording in recordings:
        write_recording(recording, folder / f"{recording.name}.npz")


def one_table(recordings: Recordings, folder: Path) -> None:
    """Rows of all recordings, in no order of time."""
    frames = [frame_of(r).assign(who=r.name, t=np.arange(len(r.X))) for r in recordings]
    whole = pd.concat(frames).sample(frac=1, random_state=0)
    whole.to_csv(folder / "all.csv", index=False)


def dated(frame: pd.DataFrame, path: Path) -> None:
    times = pd.Timestamp("2024-05-01 08:00") + pd.to_timedelta(np.arange(len(frame)) / 2, unit="s")
    frame.assign(clock=times.strftime("%d.%m.%Y %H:%M:%S.%f")).to_csv(path, index=False)


def marked(frame: pd.DataFrame, path: Path) -> None:
    begins = np.diff(frame["label"], prepend=frame["label"][0]) != 0
    frame.assign(label=begins.astype(int)).to_csv(path, index=False)


def with_units(frame: pd.DataFrame, path: Path) -> None:
    units = pd.DataFrame([["V"] * len(frame.columns)], columns=frame.columns)
    pd.concat([units, frame]).to_excel(path, index=False)


class Form(NamedTuple):
    """How recordings are written, and what is typed to learn from them."""

    write: Callable[[Recordings, Path], None]
    options: str = ""
    told: str = ""
    """What the command says of it."""


FORMS = {
    "arrays": Form(arrays),
    "tables": Form(each(lambda frame, path: frame.to_csv(path, index=False))),
    "parquet": Form(each(lambda frame, path: frame.to_parquet(path), "parquet")),
    "german": Form(
        each(lambda frame, path: frame.to_csv(path, sep=";", decimal=",", index=False)),
        told="read with ';' between columns, ',' as the decimal mark",
    ),
    "old Mac": Form(each(lambda frame, path: frame.to_csv(path, index=False, lineterminator="\r"))),
    "commas at the ends": Form(edited(lambda text: text.replace("\n", ", ,\n"))),
    "blanks around names": Form(
        edited(lambda text: text.replace(",", " , ", 5).replace("label", "label ", 1))
    ),
    "low in a sheet": Form(
        each(lambda frame, path: frame.to_excel(path, index=False, startrow=2), "xlsx")
    ),
    "units in a sheet": Form(each(with_units, "xlsx"), "--set files.skip_lines=2"),
    "another separator": Form(
        each(lambda frame, path: frame.to_csv(path, sep="|", index=False)),
        "--set files.separator=|",
    ),
    "a column of words": Form(
        each(lambda frame, path: frame.assign(place="here").to_csv(path, index=False)),
        "--ignore place",
    ),
    "other labels": Form(
        each(lambda frame, path: frame.rename(columns={"label": "y"}).to_csv(path, index=False)),
        "--label-column y",
    ),
    "one table": Form(one_table, "--recording-column who --time-column t"),
    "dates": Form(each(dated), "--time-column clock"),
    "marks": Form(each(marked), "--set files.labels_are=changes"),
}


def scores(run, model, paths):
    code, out, err = run(f"evaluate {model} {paths} --json")
    assert code == 0, err
    return json.loads(out)["learned"]


def ends(out):
    """The ends of the segments of each recording, without their times."""
    return [line.partition(":")[2].partition(" (")[0] for line in sorted(out.splitlines())]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_is_learned_and_remembered(run, tmp_path, form):
    write, options, told = FORMS[form]
    for name, recordings in (("train", TRAIN), ("test", TEST)):
        (tmp_path / name).mkdir()
        write(recordings, tmp_path / name)
    model = tmp_path / "m"
    line = f"fit change-point {tmp_path}/train {options} --metric diagonal -o {model}"
    code, _, err = run(line)
    assert code == 0, err
    assert told in err
    assert ("read with" in err) == bool(told or "separator" in options)
    found, expected = load(model), load("m.structsvm")
    np.testing.assert_allclose(found.metric_.matrix, expected.metric_.matrix, rtol=1e-6)
    assert tuple(found.feature_names_in_) == TRAIN[0].features
    code, out, err = run(f"predict {model} {tmp_path}/test")
    assert code == 0, err
    assert ends(out) == ends(run("predict m.structsvm test")[1])
    assert scores(run, model, tmp_path / "test") == scores(run, "m.structsvm", "test")


@pytest.mark.parametrize("form", ["german", "one table", "dates", "a column of words"])
def test_predictions_are_written_as_the_tables_are(run, tmp_path, form):
    """The table that was read, to the letter, and a column more."""
    FORMS[form].write(TEST, tmp_path)
    reading = [("files.recording_column=who", "files.time_column=t"), ("files.time_column=clock",)]
    settings = {"one table": reading[0], "dates": reading[1]}.get(form, ())
    typed = " ".join(f"--set {setting}" for setting in settings)
    code, _, err = run(f"predict m.structsvm {tmp_path} {typed} -o {tmp_path}/out")
    assert code == 0, err
    written = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in written] == [f"{r.name}_segments.csv" for r in TEST]
    for path in written:
        head, first, *_ = path.read_text().splitlines()
        separator = ";" if form == "german" else ","
        assert head.split(separator)[-1] == "segment"
        assert first.split(separator)[-1] == "0"
    if form != "one table":
        before = sorted(tmp_path.glob("*.csv"))[0].read_text().splitlines()
        after = written[0].read_text().splitlines()
        assert [line.rpartition(separator)[0] for line in after] == before


def test_what_is_remembered_may_be_missing_and_what_is_typed_goes_before(run, tmp_path):
    one_table(TRAIN, tmp_path)
    options = "--recording-column who --time-column t --metric diagonal"
    assert run(f"fit change-point {tmp_path} {options} -o {tmp_path}/m")[0] == 0
    assert load(tmp_path / "m").columns_ == {"recording_column": "who", "time_column": "t"}
    new = tmp_path / "new.csv"
    frame_of(TEST[0]).rename(columns={"label": "other"}).to_csv(new, index=False)
    assert run(f"predict {tmp_path}/m {new}")[0] == 0
    code, _, err = run(f"evaluate {tmp_path}/m {new}")
    assert code == 1
    assert "no column 'label'" in err
    assert run(f"evaluate {tmp_path}/m {new} --set files.label_column=other")[0] == 0


def test_what_cannot_be_read_names_the_option(refused, tmp_path):
    asked = {
        "marks": "--set files.labels_are=changes",
        "a column of words": "--ignore place leaves it out",
        "units in a sheet": "--set files.skip_lines=2 leaves out",
    }
    for form, option in asked.items():
        (tmp_path / form).mkdir()
        FORMS[form].write(TRAIN[:1], tmp_path / form)
        assert option in refused("fit change-point", tmp_path / form)


def test_gaps_are_refused_or_filled_as_the_model_remembers(run, tmp_path, refused):
    frame, one, model = frame_of(TRAIN[0]), tmp_path / "one.csv", tmp_path / "m"
    frame.loc[10:12, frame.columns[0]] = np.nan
    frame.to_csv(one, index=False)
    said = refused("fit change-point", one, "-o", model)
    assert "missing values in rows 10 to 12 (lines 12 to 14)" in said
    assert "--missing interpolate" in said
    code, _, err = run("fit change-point --missing interpolate", one, "-o", model)
    assert code == 0, err
    assert "3 values interpolated: missing values in rows 10 to 12" in err
    code, _, err = run("predict", model, one)
    assert code == 0, err
    assert "interpolated" in err
    assert run("predict", model, one, "--set", "files.missing=error")[0] == 1
