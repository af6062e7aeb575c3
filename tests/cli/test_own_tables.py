"""Tables nobody prepared, from the command line: what is asked, named and remembered."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_kit import TEST, TRAIN
from sklearn.datasets import load_iris

from structsvm.cli import main
from structsvm.learner.files import load


def long_table(recordings):
    """Return one table of several recordings."""
    parts = []
    for r in recordings:
        frame = pd.DataFrame(r.X, columns=r.features)
        frame.insert(0, "who", r.name)
        frame.insert(1, "t", np.arange(len(frame)))
        frame["state"] = r.y
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with two long tables, a table of marks, and a model of the first."""
    folder = tmp_path_factory.mktemp("own")
    long_table(TRAIN).to_csv(folder / "train.csv", index=False)
    long_table(TEST).to_csv(folder / "test.csv", index=False)
    marks = long_table(TRAIN[:1]).drop(columns=["who", "t"])
    marks["state"] = np.diff(marks["state"], prepend=marks["state"][0]) != 0
    marks.astype({"state": int}).to_csv(folder / "marks.csv", index=False)
    line = (
        f"fit change-point {folder / 'train.csv'} -o {folder / 'm.structsvm'} --metric diagonal "
        "--recording-column who --time-column t --label-column state --quiet"
    )
    assert main(line.split()) == 0
    return folder


def test_a_long_table_is_many_recordings(place):
    learner = load(place / "m.structsvm")
    assert len(learner.training_data_) == len(TRAIN)
    assert learner.feature_names_in_.tolist() == list(TRAIN[0].features)


def test_columns_are_remembered(run, place):
    code, out, err = run(f"evaluate {place / 'm.structsvm'} {place / 'test.csv'} --json")
    assert code == 0, err
    names = [row["name"] for row in json.loads(out)["recordings"]]
    assert names == [r.name for r in TEST]
    code, out, err = run(f"predict {place / 'm.structsvm'} {place / 'test.csv'}")
    assert code == 0, err
    assert [line.partition(":")[0] for line in out.splitlines()] == names


def test_what_is_remembered_may_be_missing(run, place, tmp_path):
    frame = long_table(TEST[:1]).drop(columns=["who", "t", "state"])
    frame.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = run(f"predict {place / 'm.structsvm'} {tmp_path / 'new.csv'}")
    assert code == 0, err
    assert out.startswith("new: ")


def test_what_is_typed_goes_before(run, place, tmp_path):
    frame = long_table(TEST[:1]).rename(columns={"state": "other"})
    frame.to_csv(tmp_path / "new.csv", index=False)
    line = f"evaluate {place / 'm.structsvm'} {tmp_path / 'new.csv'}"
    code, _, err = run(line)
    assert code == 1
    assert "no column 'state'" in err
    assert run(f"{line} --label-column other")[0] == 0


def test_columns_that_are_no_features_are_named(run, place, tmp_path):
    frame = long_table(TRAIN[:1]).drop(columns="who")
    frame.to_csv(tmp_path / "one.csv", index=False)
    line = f"fit change-point {tmp_path / 'one.csv'} --label-column state -o {tmp_path / 'm'}"
    code, _, err = run(line)
    assert code == 0, err
    assert "warning: column 't' only rises" in err
    assert "only rises" not in run(f"{line} --time-column t")[2]
    assert "only rises" not in run(f"predict {tmp_path / 'm'} {tmp_path / 'one.csv'}")[2]


def test_marks_of_changes_are_asked_about(run, place):
    line = f"fit change-point {place / 'marks.csv'} --label-column state -o {place / 'c.structsvm'}"
    code, _, err = run(line)
    assert code == 1
    assert "--set files.labels_are=changes" in err
    assert "--set files.labels_are=states" in err
    code, _, err = run(f"{line} --set files.labels_are=changes")
    assert code == 0, err
    (K,) = load(place / "c.structsvm").training_data_.n_clusters
    assert K == len(np.flatnonzero(np.diff(TRAIN[0].y))) + 1
    code, out, err = run(f"evaluate {place / 'c.structsvm'} {place / 'marks.csv'} --json")
    assert code == 0, err
    assert json.loads(out)["recordings"][0]["n_clusters"] == K
    assert run(f"predict {place / 'c.structsvm'} {place / 'test.csv'}")[0] == 0  # has other labels


def test_rare_clusters_are_no_marks(run, tmp_path, rng):
    y = np.zeros(60, dtype=int)
    y[[7, 20, 41, 55]] = 1
    X = rng.normal(size=(60, 2)) + 6.0 * y[:, None]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(label=y)
    frame.to_csv(tmp_path / "rare.csv", index=False)
    code, _, err = run(f"fit clustering {tmp_path / 'rare.csv'} -o {tmp_path / 'm'}")
    assert code == 0, err
    code, _, err = run(f"evaluate {tmp_path / 'm'} {tmp_path / 'rare.csv'}")
    assert code == 0, err


def test_another_table_is_scored_by_the_classifiers_that_its_verdict_speaks_of(run, tmp_path):
    frame = load_iris(as_frame=True).frame.rename(columns={"target": "label"})
    rows = frame.sample(frac=1, random_state=0)
    rows[:75].to_csv(tmp_path / "a.csv", index=False)
    rows[75:].to_csv(tmp_path / "b.csv", index=False)
    assert run(f"fit clustering {tmp_path}/a.csv -o {tmp_path}/m.structsvm -q")[0] == 0
    code, out, _ = run(f"evaluate {tmp_path}/m.structsvm {tmp_path}/b.csv --json")
    report = json.loads(out)
    assert code == 0
    assert {"lda-classifier", "nearest-centroid", "forest-classifier"} <= report.keys()
