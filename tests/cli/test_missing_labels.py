"""Classes of files called null, None, NA and nan, and labels that are missing."""

import json

import numpy as np
import pandas as pd
import pytest

from structsvm import load
from structsvm.io import read_recordings

NAMES = ["null", "None", "NA", "nan", "n/a", "NULL", "walk"]
T = 42


@pytest.fixture
def place(tmp_path):
    """Two tables of seven segments, and a folder for models."""
    rng = np.random.default_rng(0)
    labels = np.repeat(NAMES, T // len(NAMES))
    (tmp_path / "in").mkdir()
    for k in range(2):
        X = rng.normal(size=(T, 2)) + 4 * rng.normal(size=7)[np.arange(T) * 7 // T][:, None]
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": labels})
        frame.to_csv(tmp_path / "in" / f"r{k}.csv", index=False)
    return tmp_path


def table(path, labels):
    rows = [f"{i},{i * i},{label}" for i, label in enumerate(labels)]
    path.write_text("\n".join(["a,b,label", *rows]) + "\n")
    return path


def test_a_command_learns_them_and_says_what_it_took_them_for(run, place):
    code, _, err = run(f"fit change-point {place / 'in'} -o {place / 'm.structsvm'}")
    assert code == 0, err
    assert load(place / "m.structsvm").training_data_.n_clusters == (7, 7)
    assert "unlabelled" not in err
    assert "'NA', 'NULL', 'None', 'n/a', 'nan', 'null' is taken as a class" in err
    assert "give --set files.missing_labels=NA" in err


def test_spellings_that_are_named_mean_unlabelled(run, place):
    code, out, err = run(
        f"fit change-point {place / 'in'} -o {place / 'm.structsvm'} --json "
        "--set files.missing_labels=NA,nan,n/a"
    )
    assert code == 0, err
    assert "unlabelled: 36 of 84 samples" in err
    assert json.loads(out)["unlabelled_samples"] == 36
    code, _, err = run(
        f"evaluate {place / 'm.structsvm'} {place / 'in'} --set files.missing_labels=NA,nan"
    )
    assert code == 1
    assert "no label, row 12 (line 14)" in err
    code, _, err = run(
        f"fit normalized-cut {place}/in -o {place}/n.structsvm --set files.missing_labels=NA"
    )
    assert code == 1
    assert "--set files.missing_labels=VALUE is not for normalized-cut" in err


@pytest.mark.parametrize(
    ("labels", "missing", "expected"),
    [
        (["0", "0", "", "1", " "], (), [0, 0, -1, 1, -1]),
        (["-1", "-1", "", "1", "2"], (), [-1, -1, -1, 1, 2]),
        (["7", "7", "99", "8", "8"], ("99",), [7, 7, -1, 8, 8]),
        (["7", "7", "NA", "8", "8"], ("NA",), [7, 7, -1, 8, 8]),
        (["a", "a", "NA", "", "b"], (" NA",), ["a", "a", -1, -1, "b"]),
        (["a", "a", "NA", "NA", "b"], (), ["a", "a", "NA", "NA", "b"]),
        (["7", "7", "NA", "8", "8"], (), ["7", "7", "NA", "8", "8"]),
        (["7", "7", "nan", "8", "8"], (), ["7", "7", "nan", "8", "8"]),
        (["7", "7", "9", "8", "8"], (), [7, 7, 9, 8, 8]),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_is_missing(tmp_path, labels, missing, expected, kind):
    path = table(tmp_path / "one.csv", labels)
    if kind == "parquet":
        frame = pd.DataFrame({"a": np.arange(5), "b": np.arange(5) ** 2, "label": labels})
        path = tmp_path / "one.parquet"
        frame.to_parquet(path)
    (recording,) = read_recordings(path, blanks=True, missing_labels=missing)
    assert recording.y.tolist() == expected


def test_numbers_of_parquet_and_npz(tmp_path):
    frame = pd.DataFrame({"a": np.arange(5.0), "label": [7.0, 7.0, 99.0, np.nan, 8.0]})
    frame.to_parquet(tmp_path / "one.parquet")
    (recording,) = read_recordings(
        tmp_path / "one.parquet", blanks=True, missing_labels=("99", "NA")
    )
    assert recording.y.tolist() == [7, 7, -1, -1, 8]
    X = np.arange(10.0).reshape(5, 2)
    for y in (np.array([7, 7, 99, -1, 8]), np.array(["a", "a", "99", "99", "b"])):
        np.savez(tmp_path / "two.npz", X=X, y=y)
        (recording,) = read_recordings(tmp_path / "two.npz", missing_labels=("99",))
        assert (recording.y == -1).tolist() == [False, False, True, True, False]
        assert recording.y[0] == recording.y[1] != recording.y[4]
