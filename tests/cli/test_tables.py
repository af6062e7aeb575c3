"""Clustering of tables from the command line: the same commands, .csv files with a label column."""

import csv
import json

import pytest
from sklearn.datasets import load_iris

from structsvm.cli import main


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Return a folder with halves of iris and a model of one of them."""
    folder = tmp_path_factory.mktemp("tables")
    X, y = load_iris(return_X_y=True)
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width", "class"]
    for name, rows in (("learn", slice(0, None, 2)), ("test", slice(1, None, 2))):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows(
                [*x, f"species {label}"] for x, label in zip(X[rows], y[rows], strict=True)
            )
    line = ["fit", "clustering", "learn.csv", "--label-column", "class", "-o", "m.structsvm"]
    line = [str(folder / part) if part.endswith((".csv", ".structsvm")) else part for part in line]
    assert main([*line, "--quiet"]) == 0
    return folder


@pytest.fixture
def run(tables, capsys, monkeypatch):
    """Return a function that runs a command line in the folder and gives its stdout."""
    monkeypatch.chdir(tables)
    monkeypatch.setenv("COLUMNS", "200")

    def run(line):
        code = main([*line.split()])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return run


def test_evaluate_shows_the_adjusted_rand_index_and_no_f1(run):
    out = run("evaluate m.structsvm test.csv --set files.label_column=class")
    assert "adj. Rand" in out
    assert "F1" not in out
    report = json.loads(run("evaluate m.structsvm test.csv --set files.label_column=class --json"))
    assert report["learned"]["adjusted_rand"] > report["untrained"]["adjusted_rand"]
    assert report["learned"]["f1"] is None
    same = json.loads(
        run("evaluate m.structsvm test.csv --set files.label_column=class --json --n-clusters true")
    )
    assert same["learned"] == report["learned"]


def test_predict_prints_sizes_and_writes_labels(run, tables):
    line = "predict m.structsvm test.csv --set files.label_column=class --n-clusters 3"
    name, _, sizes = run(line).strip().partition(": ")
    assert name == "test"
    assert sum(map(int, sizes.split())) == 75
    assert len(sizes.split()) == 3
    (answer,) = json.loads(run(f"{line} --json"))["tables"]
    assert answer["n_clusters"] == 3
    run(f"{line} -o clusters.csv")
    with (tables / "clusters.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["cluster"]) for row in rows] == answer["labels"]
    assert [int(row["row"]) for row in rows] == list(range(75))
    run(f"{line} -o out")
    with (tables / "out" / "test_clusters.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["cluster"]) for row in rows] == answer["labels"]
    assert rows[0]["class"] == "species 0"


def test_the_number_of_clusters_that_nobody_gave_is_said(tables, capsys):
    """It was that of the learned price, without a word."""
    line = [
        "predict",
        f"{tables}/m.structsvm",
        f"{tables}/test.csv",
        "--set",
        "files.label_column=class",
    ]
    assert main([*line, "--json"]) == 0
    out, err = capsys.readouterr()
    (found,) = json.loads(out)["tables"]
    assert f"the learned price led to {found['n_clusters']} clusters" in err
    assert "--n-clusters N finds N" in err
    assert main([*line, "--n-clusters", "3"]) == 0
    assert "price" not in capsys.readouterr().err
