"""structsvm predict, evaluate, show and plot."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_kit import TEST, table

import structsvm
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels
from structsvm.io.npz import write_recording
from structsvm.learner.files import load


class TestPredict:
    def test_a_line_for_each_recording(self, run):
        code, out, _ = run("predict m.structsvm test --quiet")
        assert code == 0
        expected = load("m.structsvm").predict_breakpoints([r.X for r in TEST])
        assert out.splitlines() == [
            f"{r.name}: {' '.join(map(str, ends))}" for r, ends in zip(TEST, expected, strict=True)
        ]

    def test_json(self, run):
        _, out, err = run("predict m.structsvm test --json --quiet --n-clusters 3")
        assert err == ""
        found = json.loads(out)["recordings"]
        assert [r["name"] for r in found] == [r.name for r in TEST]
        assert all(r["n_clusters"] == len(r["breakpoints"]) == 3 for r in found)
        assert all(r["breakpoints"][-1] == 200 for r in found)

    def test_one_table(self, run, tmp_path):
        code, out, err = run("predict m.structsvm test --n-clusters 3 -o", tmp_path / "o.csv")
        assert (code, out) == (0, "")
        assert f"segments of 4 recordings are in {tmp_path / 'o.csv'}" in err
        with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == ["recording", "segment", "start", "end"]
        assert [r["segment"] for r in rows] == ["0", "1", "2"] * 4
        assert [r["end"] for r in rows[:2]] == [r["start"] for r in rows[1:3]]

    def test_a_file_for_each(self, run, tmp_path):
        run("predict m.structsvm test -o", tmp_path / "out")
        files = sorted((tmp_path / "out").iterdir())
        assert [f.name for f in files] == [f"{r.name}_segments.csv" for r in TEST]
        with files[0].open(encoding="utf-8", newline="") as file:
            segments = [int(row["segment"]) for row in csv.DictReader(file)]
        expected = load("m.structsvm").predict([TEST[0].X])[0]
        np.testing.assert_array_equal(segments, expected)

    def test_labels_are_not_needed_and_columns_go_by_name(self, run, tmp_path):
        features = TEST[0].features[::-1]
        header = ",".join(["when", *features])
        X = np.column_stack([np.arange(200), TEST[0].X[:, ::-1]])
        np.savetxt(tmp_path / "new.csv", X, delimiter=",", header=header, comments="", fmt="%.17g")
        _, out, _ = run("predict m.structsvm --set files.time_column=when", tmp_path / "new.csv")
        _, same, _ = run("predict m.structsvm test/synthetic_00.npz")
        ends, _, times = out.partition(":")[2].partition(" (when ")
        assert ends == same.partition(":")[2].rstrip()
        assert times == f"{', '.join(ends.split()[:-1])})\n"

    def test_more_segments_than_samples(self, refused):
        assert refused("predict m.structsvm test --n-clusters 201") == (
            "test/synthetic_00.npz has 200 samples: it cannot have 201 segments"
        )

    def test_other_features(self, refused, tmp_path):
        file = table(tmp_path / "new.csv", "a,relevant_0\n1,2\n3,4\n")
        assert refused("predict m.structsvm", file) == (
            f"{file} has other features than m.structsvm: lacks 'relevant_1', 'nuisance_0', "
            "'nuisance_1', 'nuisance_2', 'nuisance_3' and has 'a' besides"
        )


class TestEvaluate:
    def test_table_and_verdict(self, run):
        code, out, err = run("evaluate m.structsvm test --quiet")
        assert (code, err) == (0, "")
        rows = [line.split() for line in out.splitlines()[1:-1]]
        baselines = (
            "untrained",
            "pca",
            "rca",
            "equal-segments",
            "fixed-times",
            "boundary-logistic",
        )
        assert [row[0] for row in rows if len(row) > 4 and row[0][0] != "("] == [
            "metric",
            *baselines,
            "learned",
        ]
        assert "(within 5)" in out
        expected = structsvm.evaluate(load("m.structsvm"), *arrays_and_labels(TEST))
        assert out.splitlines()[-1] == str(expected.verdict)

    @pytest.mark.parametrize("options", ["", "--n-clusters true", "--n-clusters 2 --tolerance 0"])
    def test_json(self, run, options):
        code, out, err = run(f"evaluate m.structsvm test --json --quiet {options}")
        assert (code, err) == (0, "")
        report = json.loads(out)
        baselines = ["equal-segments", "fixed-times", "boundary-logistic"]
        names = ["learned", "untrained", "pca", "rca", *baselines]
        assert list(report) == [*names, "counts", "verdict", "recordings"]
        for name in names:
            assert list(report[name]) == ["loss", "covering", "adjusted_rand", "f1", "disagreement"]
        assert [r["name"] for r in report["recordings"]] == [r.name for r in TEST]

    def test_recordings_that_were_learned_from_are_noticed(self, run):
        _, _, err = run("evaluate m.structsvm train/synthetic_00.npz test --quiet")
        assert "warning: the model was learned from 1 of these 5 recordings" in err
        _, _, err = run("evaluate m.structsvm test --quiet")
        assert err == ""

    def test_recordings_of_one_group_are_not_independent(self, run, refused, tmp_path):
        _, out, _ = run("evaluate m.structsvm test --groups .$")
        assert "On 4 held-out recordings in 4 groups" in out
        _, out, _ = run("evaluate m.structsvm test --groups ^.")
        assert "Too few to tell: 1 independent group of recordings" in out
        run("report m.structsvm test --groups ^. -o page.html")
        assert "1 independent group of recordings" in Path("page.html").read_text()

    @pytest.mark.parametrize("command", ["evaluate", "report -o {0}/page.html --force"])
    def test_what_a_verdict_without_groups_takes_for_granted(self, run, tmp_path, command):
        (tmp_path / "more").mkdir()
        sizes = {"n_samples": 200, "n_features": 6, "n_relevant": 2}
        for i, recording in enumerate(relevant_changes(6, **sizes, random_state=2)):
            write_recording(recording, tmp_path / "more" / f"p{i // 2}_{i}.npz")
        line = f"{command} m.structsvm {{0}}/more".format(tmp_path)
        assert "independent" not in run(f"{line} --groups ^p.")[2]
        said = "recordings are taken to be independent: if several are of one person"
        assert said in run(line)[2]


class TestShowAndPlot:
    def test_show(self, run):
        code, out, err = run("show m.structsvm")
        assert (code, err) == (0, "")
        assert "change-point (segment_count unknown, penalty learned, kappa 1.0" in out
        assert "4 recordings of 200 samples" in out
        listed = [line.split()[0] for line in out.splitlines() if "━" in line]
        assert set(listed[:2]) == {"relevant_0", "relevant_1"}

    def test_show_json(self, run):
        _, out, _ = run("show m.structsvm --json")
        report = json.loads(out)
        weights = [w["weight"] for w in report["weights"]]
        assert weights == sorted(weights, reverse=True)
        assert len(weights) == report["n_features"] == 6
        certificate = report["certificate"]
        assert certificate["lower"] <= certificate["upper"] <= certificate["null"]

    @pytest.mark.parametrize(
        ("arguments", "name"),
        [
            ("test/synthetic_00.npz", "a.png"),
            ("test/synthetic_00.npz --show features --n-clusters true", "b.pdf"),
            ("", "c.svg"),
            ("--show metric", "d.png"),
            ("--show spectrum", "e.png"),
            ("--show gap", "f.png"),
        ],
    )
    def test_plot(self, run, tmp_path, arguments, name):
        code, out, err = run(f"plot m.structsvm {arguments} --json -o", tmp_path / name)
        assert code == 0
        assert json.loads(out) == {"figure": str(tmp_path / name)}
        assert err == f"the figure is in {tmp_path / name}\n"
        content = (tmp_path / name).read_bytes()
        kind = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}
        assert content.startswith(kind[name[1:]])

    def test_plot_draws_one_recording(self, refused, tmp_path):
        assert refused("plot m.structsvm test -o", tmp_path / "f.png") == (
            "test holds 4 recordings: name one file"
        )

    def test_plot_what_there_is_not(self, refused, tmp_path):
        out = tmp_path / "f.png"
        assert refused("plot m.structsvm --show features -o", out) == (
            "a model, without a recording, has no features to show: "
            "--show one of weights, metric, spectrum, gap"
        )
        assert refused("plot m.structsvm test/synthetic_00.npz --show gap -o", out) == (
            "a recording has no gap to show: --show one of components, features"
        )

    def test_plot_without_matplotlib(self, refused, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        said = refused("plot m.structsvm -o", tmp_path / "f.png")
        assert said == "plotting needs matplotlib: pip install 'structsvm-partitioning[plot]'"
