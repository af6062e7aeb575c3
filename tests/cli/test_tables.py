"""Clustering of tables from the command line: the same commands, .csv files with a label column."""

import csv
import html
import json

import numpy as np
import pandas as pd
import pytest
from cases import cases
from sklearn.datasets import load_iris

from structsvm import load
from structsvm.cli import main
from structsvm.errors import DataWarning
from structsvm.io import read_recordings


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
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


def test_the_page_of_a_table_has_the_verdict_on_its_rows(done, folder):
    line = "evaluate m.structsvm test.csv --set files.label_column=class"
    answer = done(f"{line} -o page.html")[0].splitlines()[-1].partition(". ")[0]
    assert answer in html.unescape((folder / "page.html").read_text(encoding="utf-8"))


def test_predict_prints_sizes_and_writes_labels(done, folder):
    line = "predict m.structsvm test.csv --set files.label_column=class --n-clusters 3"
    name, _, sizes = done(line)[0].strip().partition(": ")
    assert name == "test"
    assert sum(map(int, sizes.split())) == 75
    assert len(sizes.split()) == 3
    (answer,) = json.loads(done(f"{line} --json")[0])["tables"]
    assert answer["n_clusters"] == 3
    done(f"{line} -o clusters.csv")
    with (folder / "clusters.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["cluster"]) for row in rows] == answer["labels"]
    assert [int(row["row"]) for row in rows] == list(range(75))
    done(f"{line} -o out")
    with (folder / "out" / "test_clusters.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["cluster"]) for row in rows] == answer["labels"]
    assert rows[0]["class"] == "species 0"


def test_the_number_of_clusters_that_nobody_gave_is_said(folder, capsys):
    """It was that of the learned price, without a word."""
    line = [
        "predict",
        f"{folder}/m.structsvm",
        f"{folder}/test.csv",
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


@pytest.fixture(scope="module")
def birds(tmp_path_factory):
    """A table with identifiers, words and blanks, as people have it."""
    folder = tmp_path_factory.mktemp("birds")
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X[::3], columns=["bill", "depth", "wing", "mass"]).round(2)
    frame["species"] = np.array(["Adelie", "Gentoo", "Chinstrap"])[y[::3]]
    frame["sex"] = np.where(np.arange(50) % 2 == 0, "male", "female")
    frame.insert(0, "ring", [f"N{k}A" for k in range(50)])
    frame.loc[7, ["bill", "depth"]] = np.nan
    frame.loc[20, "sex"] = np.nan
    frame.to_csv(folder / "birds.csv", index=False)
    frame.replace("female", "unsexed").to_csv(folder / "new.csv", index=False)
    return folder


FIT = "fit clustering birds.csv --label-column species --ignore ring --method rca"


@pytest.mark.parametrize("missing", ["", "--missing impute"])
def test_labels_of_a_table_of_people_are_predicted_as_a_column(birds, monkeypatch, capsys, missing):
    """Rows with blanks are left out, or imputed; categories are remembered; nothing is lost."""
    monkeypatch.chdir(birds)
    fit = f"{FIT} --set files.categories=sex {missing} --force -o b.structsvm"
    assert main(fit.split()) == 0
    said = " ".join(capsys.readouterr().err.split())
    learner = load("b.structsvm")
    table = pd.read_csv("birds.csv")
    assert list(learner.feature_names_in_)[4:] == ["sex=female", "sex=male"]
    if missing:
        assert "birds.csv: 4 missing values imputed, by the median of the column" in said
        assert learner.columns_["medians"]["bill"] == table["bill"].median()
    else:
        assert "2 of 50 rows left out" in said
        assert "the first is row 7 (line 9), column 'bill'; --missing impute puts" in said
    predict = "predict b.structsvm new.csv --n-clusters 3 -o out --force --json"
    assert main(predict.split()) == 0
    out, err = capsys.readouterr()
    assert "column 'sex' has 'unsexed', which the model has not learned" in " ".join(err.split())
    (found,) = json.loads(out)["tables"]
    written = pd.read_csv("out/new_clusters.csv")
    pd.testing.assert_frame_equal(written[table.columns], pd.read_csv("new.csv"))
    blank = [] if missing else [7, 20]
    assert np.flatnonzero(written["cluster"].isna()).tolist() == blank
    assert [i for i, name in enumerate(found["names"]) if name is None] == blank
    right = written["species_predicted"] == written["species"]
    assert right.drop(index=blank).mean() > 0.6  # half of the rows are of no category


def test_links_between_rows_count_those_that_are_left_out(birds, monkeypatch, capsys):
    monkeypatch.chdir(birds)
    assert main(f"{FIT} --ignore sex --force -o b.structsvm".split()) == 0
    line = "predict b.structsvm birds.csv --n-clusters 3 --json"
    assert main(f"{line} --must-link 0,49 --cannot-link 1,49".split()) == 0
    (found,) = json.loads(capsys.readouterr().out)["tables"]
    assert found["labels"][7] is None
    assert found["labels"][0] == found["labels"][49] != found["labels"][1]
    assert main(f"{line} --must-link 7,49".split()) == 1
    assert "row 7 is left out" in capsys.readouterr().err


@cases(
    (f"{FIT} --set files.categories=island", "categories names 'island', which it has no"),
    (f"{FIT} --missing mask", "--missing impute puts the median"),
    (f"{FIT} --ignore sex --missing interpolate", "is for recordings"),
    (
        f"{FIT} --ignore sex --missing impute --set files.lazy=true",
        "needs all recordings in memory",
    ),
    ("fit change-point birds.csv --missing impute", "is for tables"),
    ("predict plain.structsvm birds.csv --set files.missing=impute", "learned without it"),
    (f"{FIT} --ignore sex --ignore bill --ignore depth --missing error", ""),
)
def test_commands_that_tables_do_not_allow_are_refused(birds, monkeypatch, capsys, line, said):
    monkeypatch.chdir(birds)
    if line.startswith("predict"):
        assert main(f"{FIT} --ignore sex -o plain.structsvm".split()) == 0
    output = "" if line.startswith("predict") else " -o c.structsvm --force"
    assert main(f"{line}{output}".split()) == bool(said)
    assert said in " ".join(capsys.readouterr().err.split())


def test_files_with_different_categories_share_their_features(tmp_path):
    for name, place in (("a", ["sea", "sea"]), ("b", ["ice", None])):
        frame = pd.DataFrame({"x": [1.0, 2.0], "place": place, "label": ["p", "q"]})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    options = {"categories": ["place"], "in_order": False}
    with pytest.warns(DataWarning, match="1 of 2 rows left out"):
        a, b = read_recordings(tmp_path, **options)
    assert a.features == b.features == ("x", "place=sea", "place=ice")
    assert (a.X.tolist(), b.X.tolist()) == ([[1, 1, 0], [2, 1, 0]], [[1, 0, 1]])
    assert b.origin.written.tolist() == [0, 1]
    with pytest.warns(DataWarning, match="2 missing values imputed"):
        b = read_recordings(tmp_path, missing="impute", **options)[1]
    assert b.X.tolist() == [[1, 0, 1], [2, 1, 0]]  # the commonest
