"""structsvm predict with what is known of a recording, and how sure each change is."""

import csv
import json

import numpy as np
import pytest
from cli_kit import TEST, table
from sklearn.datasets import load_iris

from structsvm import Clustering, MetricLearner
from structsvm.learner.files import load, save
from structsvm.oracles import SequentialOracle


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_lengths_are_kept(run):
    _, out, _ = run("predict m.structsvm test --min-length 30 --json --quiet")
    for found in json.loads(out)["recordings"]:
        assert np.diff([0, *found["breakpoints"]]).min() >= 30


def test_regions_are_kept_and_labels_in_the_files_are_not_used(run, tmp_path):
    name = TEST[0].name
    regions = table(tmp_path / "r.csv", f"recording,start,end,changes\n{name},0,100,0\n")
    _, out, _ = run(f"predict m.structsvm test --regions {regions} --json --quiet")
    first, *others = json.loads(out)["recordings"]
    assert first["breakpoints"][0] >= 100
    expected = load("m.structsvm").predict_breakpoints([r.X for r in TEST[1:]])
    assert [found["breakpoints"] for found in others] == expected


def test_margins_are_a_column_and_are_those_of_python(run, tmp_path):
    code, _, _ = run(f"predict m.structsvm test --margins -o {tmp_path}/o.csv")
    assert code == 0
    rows = rows_of(tmp_path / "o.csv")
    assert list(rows[0]) == ["recording", "segment", "start", "end", "margin"]
    expected = load("m.structsvm").predict_segments([TEST[0].X])[0][1:]
    found = [row for row in rows if row["recording"] == TEST[0].name]
    assert found[0]["margin"] == ""
    assert [float(row["margin"]) for row in found[1:]] == [round(c["margin"], 4) for c in expected]
    _, out, _ = run("predict m.structsvm test --margins --json --quiet")
    assert json.loads(out)["recordings"][0]["margins"] == [c["margin"] for c in expected]
    _, out, _ = run("predict m.structsvm test --margins --quiet")
    assert "(margins " in out


def test_margins_take_one_decision_for_each_recording_and_each_change(run, monkeypatch):
    asked, ask = [], SequentialOracle.ask
    monkeypatch.setattr(
        SequentialOracle, "ask", lambda self, *given: asked.append(1) or ask(self, *given)
    )
    monkeypatch.setattr(SequentialOracle, "ask_all", lambda self, given: pytest.fail("asked twice"))
    _, out, _ = run("predict m.structsvm test --margins --json --quiet")
    found = json.loads(out)["recordings"]
    assert len(asked) == sum(len(each["breakpoints"]) for each in found)


def test_links_are_kept(run, tmp_path):
    X, y = load_iris(return_X_y=True)
    save(MetricLearner(Clustering()).fit([X], [y]), tmp_path / "m")
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="a,b,c,d", comments="")
    line = f"predict {tmp_path}/m {tmp_path}/t.csv --n-clusters 3 --json --quiet"
    _, out, _ = run(f"{line} --must-link 0,149 --cannot-link 0,1")
    (labels,) = (found["labels"] for found in json.loads(out)["tables"])
    assert labels[0] == labels[149] != labels[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--baseline pca --margins", "--baseline pca: margins are those of the learned metric"),
        ("--min-length 150 --n-clusters 3", "test/synthetic_00.npz: no segmentation into 3"),
        ("--must-link 0,1", "--must-link and --cannot-link name rows of one table, got 4 record"),
    ],
)
def test_what_cannot_be_kept_is_refused(refused, options, message):
    assert refused(f"predict m.structsvm test {options}").startswith(message)
