"""Time columns on the command line: predictions and regions are in the user's time."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from cli_kit import TEST, TRAIN

from structsvm import load

START = pd.Timestamp("2024-05-01 08:00")


def timed(recording):
    frame = pd.DataFrame(recording.X, columns=recording.features)
    times = START + pd.to_timedelta(np.arange(len(frame)) / 2, unit="s")
    frame.insert(0, "clock", times.strftime("%Y-%m-%d %H:%M:%S.%f").str[:-5])
    return frame.assign(label=recording.y)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("timed")
    for name, recordings in (("train", TRAIN), ("test", TEST)):
        (folder / name).mkdir()
        for recording in recordings:
            timed(recording).to_csv(folder / name / f"{recording.name}.csv", index=False)
    return folder


@pytest.fixture
def model(run, place):
    model = place / "m.structsvm"
    if not model.exists():
        line = f"fit change-point {place / 'train'} --time-column clock --metric diagonal -o"
        code, _, err = run(line, model)
        assert code == 0, err
    return model


def test_predictions_are_in_the_time_of_the_table(run, place, model, tmp_path):
    file = place / "test" / f"{TEST[0].name}.csv"
    clock = timed(TEST[0])["clock"]
    code, out, err = run("predict --json", model, file)
    assert code == 0, err
    (found,) = json.loads(out)["recordings"]
    changes = found["breakpoints"][:-1]
    assert changes
    assert found["change_times"] == [clock[change] for change in changes]
    out = run("predict", model, file)[1]
    assert out.strip().endswith(f"(clock {', '.join(clock[change] for change in changes)})")
    assert run("predict", model, file, "-o", tmp_path / "all.csv")[0] == 0
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert [row["start_time"] for row in rows] == [clock[t] for t in (0, *changes)]
    assert [row["end_time"] for row in rows] == [*(clock[t] for t in changes), clock[199]]
    assert run("predict", model, file, "-o", tmp_path / "folder")[0] == 0
    (table,) = (tmp_path / "folder").iterdir()
    assert pd.read_csv(table)["clock"].tolist() == clock.tolist()


def test_another_rate_than_that_learned_from_is_named(run, place, model, tmp_path):
    """A second of the faster recording has twice the samples, and its segments twice the length."""
    assert load(model).steps_ == {"dates": (0.5, 0.5)}
    frame = timed(TEST[0])
    faster = START + pd.to_timedelta(np.arange(len(frame)) / 4, unit="s")
    frame["clock"] = faster.strftime("%Y-%m-%d %H:%M:%S.%f")
    frame.to_csv(tmp_path / "faster.csv", index=False)
    said = (
        "sampled at another rate than what the model was learned from: the steps of 'clock' are "
        "0.25 s in faster, by the median, and were 0.5 s."
    )
    for command in ("predict", "evaluate"):
        code, _, err = run(command, model, tmp_path / "faster.csv")
        assert (code, said in " ".join(err.split())) == (0, True), err
    err = run("predict", model, place / "test")[2]
    assert "another rate" not in err


def test_regions_in_time(run, place, tmp_path):
    changes = np.flatnonzero(np.diff(TRAIN[0].y)) + 1
    first = timed(TRAIN[0])["clock"][int(changes[0]) + 3]
    samples, times = tmp_path / "samples.csv", tmp_path / "times.csv"
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
        code, _, err = run(
            "fit change-point", file, "--regions", regions, ["--time-column", "clock"][0],
            "clock", "--metric", "diagonal", "-o", model,
        )  # fmt: skip
        assert code == 0, err
        weights.append(load(model).metric_.factor)
    np.testing.assert_array_equal(*weights)
    code, _, err = run(
        "fit change-point", file, "--regions", times, ["--ignore", "clock", "-o"][0], "clock",
        "-o", tmp_path / "none",
    )  # fmt: skip
    assert code == 1
    assert "has no times: name their column, --time-column" in err


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_column_of_times_that_are_none_is_said_to_be_left_out(run, place, tmp_path, kind):
    """Minutes and whole seconds of more than a day's hours, say."""
    frame = timed(TEST[0])
    frame["clock"] = [f"{28 + t // 60}:{t % 60:02d}" for t in range(len(frame))]
    path = tmp_path / f"odd.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_excel(path, index=False)
    code, _, err = run("fit change-point --time-column clock --baselines none --force -o odd", path)
    assert code == 0, err
    place = "row 0 (line 2)"
    assert f"{path}: the times of column 'clock' are not used, because '28:00', {place}, is" in err
    assert "neither a number nor a date; samples are counted instead" in err


def test_dates_are_told_in_one_unit(run, tmp_path):
    """Midnight was 2024-05-02 beside 2024-05-01T23:59, which pandas does not read as one column."""
    times = pd.date_range("2024-05-01 23:00", periods=200, freq="1min")
    frame = timed(TEST[0]).assign(clock=times)
    frame.to_parquet(tmp_path / "one.parquet")
    line = "predict m.structsvm --set files.time_column=clock --regions r.csv --force -o"
    starts = ["2024-05-01T23:00", "2024-05-02T00:00", "2024-05-02T00:10"]
    marks = ["2024-05-01T23:00", "2024-05-02", "2024-05-02T00:01", starts[2], "2024-05-02T00:11"]
    regions = pd.DataFrame({"start_time": marks, "end_time": [*marks[1:], "2024-05-03"]})
    regions.assign(recording="one", changes=[0, 1, 0, 1, 0]).to_csv("r.csv", index=False)
    code, _, err = run(line, tmp_path / "all.csv", tmp_path / "one.parquet")
    assert code == 0, err
    found = pd.read_csv(tmp_path / "all.csv")["start_time"].tolist()
    assert found == starts
