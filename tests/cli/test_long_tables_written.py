"""Tables of many recordings: which labels are missing, and where predictions are written."""

import numpy as np
import pandas as pd
import pytest

from structsvm import load
from structsvm.io import read_recordings


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Return a table of three recordings, whose names are numbers that begin with zeros."""
    rng, rows = np.random.default_rng(0), []
    for who in ("001", "002", "003"):
        for t in range(60):
            label = "NA" if t % 60 >= 50 else "ab"[t // 25 % 2]
            X = rng.normal(size=2) + np.array([4.0 * (label == "b"), 0.0])
            rows.append((who, t, *X, label))
    frame = pd.DataFrame(rows, columns=["who", "t", "x", "noise", "label"])
    folder = tmp_path_factory.mktemp("long")
    frame.to_parquet(folder / "long.parquet")
    return folder


def test_names_that_are_digits_stay_what_they_are(long):
    found = read_recordings(
        long / "long.parquet",
        recording_column="who",
        time_column="t",
        blanks=True,
        missing_labels=["NA"],
    )
    assert [recording.name for recording in found] == ["001", "002", "003"]
    assert all((recording.y[50:] == -1).all() for recording in found)
    assert all(set(recording.y[:50]) == {"a", "b"} for recording in found)


def test_each_recording_of_a_table_has_its_file_of_segments(run, long, tmp_path):
    table, model, out = long / "long.parquet", tmp_path / "m.structsvm", tmp_path / "out"
    columns = "--recording-column who --time-column t --set files.missing_labels=NA"
    code, _, err = run(f"fit change-point {table} {columns} -o {model} --metric diagonal")
    assert code == 0, err
    assert "unlabelled: 30 of 180 samples" in err
    assert load(model).columns_ == {
        "recording_column": "who",
        "time_column": "t",
        "missing_labels": ["NA"],
    }
    predict = f"predict {model} {table} -o {out}"
    assert run(predict)[0] == 0
    written = sorted(path.name for path in out.iterdir())
    assert written == [f"{who}_segments.csv" for who in ("001", "002", "003")]
    second = pd.read_csv(out / "002_segments.csv", dtype={"who": str})
    assert second.columns.tolist() == ["who", "t", "x", "noise", "label", "segment"]
    assert second["who"].unique().tolist() == ["002"]
    assert second["t"].tolist() == list(range(60))
    before = (out / "002_segments.csv").read_bytes()
    code, _, err = run(predict)
    assert code == 1
    assert "exists: name another file, or replace it with --force" in err.replace("\n", " ")
    assert (out / "002_segments.csv").read_bytes() == before
    assert run(f"{predict} --force")[0] == 0
