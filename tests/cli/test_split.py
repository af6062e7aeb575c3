"""``fit --split``: a table is split by rows or by clusters, and the model knows the question."""

import csv
import io
import json
from contextlib import chdir, redirect_stderr
from pathlib import Path

import numpy as np
import pytest

from structsvm.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with tables of five clusters, one of other clusters, one that overlap."""
    folder = tmp_path_factory.mktemp("split")
    rng = np.random.default_rng(0)
    centres = 4 * rng.standard_normal((8, 3))
    tables = {"learn": range(5), "same": range(5), "other": range(3, 8), "mixed": range(5)}
    for name, clusters in tables.items():
        y = np.repeat(list(clusters), 16)
        X = centres[y] + (6 if name == "mixed" else 1) * rng.standard_normal((80, 3))
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["a", "b", "c", "label"])
            writer.writerows([*x, f"kind {label}"] for x, label in zip(X, y, strict=True))
    return folder


def fitted(split):
    """Learn from the table whose clusters overlap: what was said."""
    err, line = io.StringIO(), f"fit clustering mixed.csv -o {split}.structsvm --force"
    with redirect_stderr(err):
        assert main([*line.split(), "--split", split]) == 0
    return err.getvalue()


@pytest.fixture(scope="module")
def said(folder):
    """Return what was said as models for either question were made."""
    with chdir(folder):
        return {split: fitted(split) for split in ("rows", "clusters")}


@pytest.mark.parametrize(
    ("split", "answers"),
    [
        ("rows", "made for further rows of the clusters it was learned from, not for new clusters"),
        ("clusters", "made for new clusters: chosen on held-out clusters"),
    ],
)
def test_the_question_is_asked_and_stored(run, said, split, answers):
    err = said[split]
    assert f"chosen on held-out {split}" in err
    assert "This is the gain on" in " ".join(err.split())
    assert answers in err
    code, out, _ = run(f"show {split}.structsvm")
    assert answers in out
    assert json.loads(run(f"show {split}.structsvm --json")[1])["question"] == split
    code, out, err = run(f"evaluate {split}.structsvm mixed.csv")
    assert code == 0, err
    parts = {"rows": 8, "clusters": 10}
    assert f"mean scores of {parts[split]} {split.removesuffix('s')} groups" in out
    code, out, err = run(f"evaluate {split}.structsvm other.csv")
    assert code == 0, err
    assert ("are new: kind 5, kind 6, kind 7" in err) == (split == "rows")
    assert ("are new" in run(f"evaluate {split}.structsvm same.csv")[2]) is False
    run(f"report {split}.structsvm same.csv -o {split}.html --force")
    assert f"The metric was {answers}." in Path(f"{split}.html").read_text()


def test_a_default_fit_says_what_it_answers(run):
    code, _, err = run("fit clustering learn.csv -o plain.structsvm --force")
    assert code == 0, err
    assert "made for further rows of the clusters it was learned from" in err


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("change-point learn.csv --split rows", "for tables, whose rows have no order"),
        ("clustering learn.csv --split states", "--split states is for recordings"),
        ("normalized-cut learn.csv --split rows", "--split rows is for tables"),
        ("clustering learn.csv --split rows --lam 1", "--split chooses what --lam gives"),
        ("clustering learn.csv --split rows --metric diagonal", "chooses what --metric gives"),
    ],
)
def test_what_split_does_not_go_with(run, line, complaint):
    code, _, err = run(f"fit {line} -o no.structsvm")
    assert code != 0
    assert complaint in " ".join(err.split())
