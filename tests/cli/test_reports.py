"""structsvm predict, evaluate, report, diagnose, show and plot, and what they read and leave."""

import csv
import json
import signal
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from cli_kit import TEST, TRAIN, table
from PIL import Image
from programs import loaded

import structsvm
from structsvm import MetricLearner, NormalizedCut
from structsvm.data import reading
from structsvm.data.standardize import Standardizer
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels, read_images, write_recording
from structsvm.io.folders import find_recordings
from structsvm.learner.files import load, save


class TestPredict:
    def test_predict_prints_a_line_for_each_recording(self, done):
        out, _ = done("predict m.structsvm test --quiet")
        expected = load("m.structsvm").predict_breakpoints([r.X for r in TEST])
        assert out.splitlines() == [
            f"{r.name}: {' '.join(map(str, ends))}" for r, ends in zip(TEST, expected, strict=True)
        ]

    def test_predict_needs_no_labels_and_finds_columns_by_name(self, run, tmp_path):
        features = TEST[0].features[::-1]
        header = ",".join(["when", *features])
        X = np.column_stack([np.arange(200), TEST[0].X[:, ::-1]])
        np.savetxt(tmp_path / "new.csv", X, delimiter=",", header=header, comments="", fmt="%.17g")
        _, out, _ = run("predict m.structsvm --set files.time_column=when", tmp_path / "new.csv")
        _, same, _ = run("predict m.structsvm test/synthetic_00.npz")
        ends, _, times = out.partition(":")[2].partition(" (when ")
        assert ends == same.partition(":")[2].rstrip()
        assert times == f"{', '.join(ends.split()[:-1])})\n"

    def test_predict_refuses_more_segments_than_samples(self, refused):
        assert refused("predict m.structsvm test --n-clusters 201") == (
            "test/synthetic_00.npz has 200 samples: it cannot have 201 segments"
        )


class TestEvaluate:
    def test_evaluate_prints_a_table_and_the_verdict(self, run):
        code, out, err = run("evaluate m.structsvm test --quiet")
        assert (code, err) == (0, "")
        rows = [line.split() for line in out.splitlines()[1:-1]]
        baselines = (
            "untrained",
            "pca",
            "rca",
            "olda",
            "equal-segments",
            "fixed-times",
            "one-part",
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

    @pytest.mark.parametrize("options", ["", "--n-clusters 2 --tolerance 0"])
    def test_evaluate_prints_scores_and_verdict_as_json(self, run, options):
        code, out, err = run(f"evaluate m.structsvm test --json --quiet {options}")
        assert (code, err) == (0, "")
        report = json.loads(out)
        baselines = ["equal-segments", "fixed-times", "one-part", "boundary-logistic"]
        names = ["learned", "untrained", "pca", "rca", "olda", *baselines]
        assert list(report) == [*names, "counts", "time_unit", "verdict", "recordings"]
        scores = ["loss", "covering", "adjusted_rand", "f1", "disagreement"]
        for name in names:
            assert list(report[name]) == [*scores, "time_error", "time_error_90"]
        assert [r["name"] for r in report["recordings"]] == [r.name for r in TEST]

    def test_evaluate_notices_recordings_that_were_learned_from(self, run):
        _, _, err = run("evaluate m.structsvm train/synthetic_00.npz test --quiet")
        assert "warning: the model was learned from 1 of these 5 recordings" in err
        _, _, err = run("evaluate m.structsvm test --quiet")
        assert err == ""

    def test_recordings_of_one_group_are_not_independent(self, run, refused, tmp_path):
        _, out, _ = run("evaluate m.structsvm test --groups .$")
        assert "On 4 held-out recordings in 4 groups" in out
        _, out, _ = run("evaluate m.structsvm test --groups ^.")
        assert "Too few to tell: 1 independent group of recordings" in out
        run("evaluate m.structsvm test --groups ^. -o page.html")
        assert "1 independent group of recordings" in Path("page.html").read_text()

    def test_evaluate_takes_folders_with_several_recordings_for_groups(self, run, tmp_path):
        """The outermost folder that differs, and none where each recording has its own."""
        for path, recording in zip(("a/1/r", "a/2/r", "b/1/r", "b/2/r"), TEST, strict=True):
            (tmp_path / path).parent.mkdir(parents=True)
            write_recording(recording, tmp_path / f"{path}.npz")
        _, out, err = run("evaluate m.structsvm", tmp_path)
        assert "On 4 held-out recordings in 2 groups" in out
        assert f"groups: the 2 folders of {tmp_path.name}/" in err
        for options in ("--groups .+", "--groups /."):
            found = run(f"evaluate m.structsvm {options}", tmp_path)
            assert f"in {4 if '+' in options else 2} groups" in found[1]
            assert "folders" not in found[2]
        assert "groups:" not in run("evaluate m.structsvm", tmp_path / "a")[2]
        assert run("predict m.structsvm -o", tmp_path / "out", tmp_path)[0] == 0
        assert (tmp_path / "out" / "b" / "2" / "r_segments.csv").is_file()

    @pytest.mark.parametrize("command", ["evaluate", "evaluate -o {0}/page.html --force"])
    def test_a_verdict_without_groups_says_that_recordings_are_independent(
        self, run, tmp_path, command
    ):
        (tmp_path / "more").mkdir()
        sizes = {"n_samples": 200, "n_features": 6, "n_relevant": 2}
        for i, recording in enumerate(relevant_changes(6, **sizes, random_state=2)):
            write_recording(recording, tmp_path / "more" / f"p{i // 2}_{i}.npz")
        line = f"{command} m.structsvm {{0}}/more".format(tmp_path)
        assert "independent" not in run(f"{line} --groups ^p.")[2]
        said = "recordings are taken to be independent: if several are of one person"
        assert said in run(line)[2]


class TestShowAndPlot:
    def test_show_prints_data_settings_and_weights(self, run):
        code, out, err = run("show m.structsvm")
        assert (code, err) == (0, "")
        assert "change-point (segment_count unknown, penalty learned, kappa 1.0" in out
        assert "4 recordings of 200 samples" in out
        listed = [line.split()[0] for line in out.splitlines() if "━" in line]
        assert set(listed[:2]) == {"relevant_0", "relevant_1"}

    @cases(("test/synthetic_00.npz --n-clusters true", "b.pdf"), ("", "c.svg"))
    def test_plot_writes_the_format_of_the_file_name(self, done, tmp_path, arguments, name):
        out, err = done(f"plot m.structsvm {arguments} --json -o", tmp_path / name)
        assert json.loads(out) == {"figure": str(tmp_path / name)}
        assert err == f"the figure is in {tmp_path / name}\n"
        content = (tmp_path / name).read_bytes()
        kind = {".pdf": b"%PDF", ".svg": b"<?xml"}
        assert content.startswith(kind[name[1:]])

    def test_plot_refuses_more_than_one_recording(self, refused, tmp_path):
        assert refused("plot m.structsvm test -o", tmp_path / "f.png") == (
            "test holds 4 recordings: name one file"
        )

    def test_plot_refuses_pictures_that_do_not_go_with_the_arguments(self, refused, tmp_path):
        out = tmp_path / "f.png"
        assert refused("plot m.structsvm test/synthetic_00.npz --show gap -o", out) == (
            "--show gap is of a model alone: leave it, or test/synthetic_00.npz, out"
        )


def test_diagnose_takes_a_model_and_files(done):
    out, _ = done("diagnose m.structsvm train --json")
    plain = json.loads(out)
    assert "few labels" in [finding["kind"] for finding in plain["findings"]]
    assert "leakage" in plain["checked"]


def test_diagnose_refuses_a_file_without_labels(refused, tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n2\n", encoding="utf-8")
    assert "label" in refused(f"diagnose m.structsvm {tmp_path}/a.csv")


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_predict_keeps_a_least_length(run):
    _, out, _ = run("predict m.structsvm test --set problem.min_length=30 --json --quiet")
    for found in json.loads(out)["recordings"]:
        assert np.diff([0, *found["breakpoints"]]).min() >= 30


def test_predict_keeps_regions_and_ignores_labels_of_the_files(run, tmp_path):
    name = TEST[0].name
    regions = table(tmp_path / "r.csv", f"recording,start,end,changes\n{name},0,100,0\n")
    _, out, _ = run(f"predict m.structsvm test --regions {regions} --json --quiet")
    first, *others = json.loads(out)["recordings"]
    assert first["breakpoints"][0] >= 100
    expected = load("m.structsvm").predict_breakpoints([r.X for r in TEST[1:]])
    assert [found["breakpoints"] for found in others] == expected


def test_predict_writes_the_margins_of_predict_segments(run, done, tmp_path):
    done(f"predict m.structsvm test --margins -o {tmp_path}/o.csv")
    rows = rows_of(tmp_path / "o.csv")
    assert list(rows[0]) == ["recording", "segment", "start", "end", "margin"]
    expected = load("m.structsvm").predict_segments([TEST[0].X])[0][1:]
    found = [row for row in rows if row["recording"] == TEST[0].name]
    assert found[0]["margin"] == ""
    assert [float(row["margin"]) for row in found[1:]] == [round(c["margin"], 4) for c in expected]
    _, out, _ = run("predict m.structsvm test --margins --json --quiet")
    assert [row["margin"] for row in json.loads(out)["recordings"][0]["segments"][1:]] == [
        c["margin"] for c in expected
    ]
    _, out, _ = run("predict m.structsvm test --margins --quiet")
    assert "(margins " in out


@cases(
    (
        "--set problem.min_length=150 --n-clusters 3",
        "test/synthetic_00.npz: no segmentation into 3",
    ),
    ("--must-link 0,1", "--must-link and --cannot-link name rows of one table, got 4 record"),
)
def test_predict_refuses_rules_that_cannot_be_kept(refused, options, message):
    assert refused(f"predict m.structsvm test {options}").startswith(message)


def test_a_process_that_is_killed_while_baselines_are_tuned_leaves_its_model(folder, tmp_path):
    """SIGKILL, which no handler sees."""
    code = (
        "import os, signal, sys\n"
        "from structsvm.learner import menu\n"
        "from structsvm.cli import main\n"
        "menu.fit_methods = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main(sys.argv[1:])\n"
    )
    line = ["fit", "change-point", "train", "--metric", "diagonal", "-o", str(tmp_path / "m")]
    done = loaded(code, *line, cwd=folder)
    assert done.returncode == -signal.SIGKILL
    learner = load(tmp_path / "m")
    assert learner.baselines_.keys() == {"untrained"}
    assert learner.converged_


def test_predictions_for_a_link_have_its_own_name(done, folder, tmp_path):
    """As in data sets of git-annex, whose files are called by the digits of their content."""
    (tmp_path / "store").mkdir()
    (tmp_path / "data").mkdir()
    for i, recording in enumerate(TEST):
        real = tmp_path / "store" / f"MD5-{i}.npz"
        real.write_bytes((folder / "test" / f"{recording.name}.npz").read_bytes())
        (tmp_path / "data" / f"{recording.name}.npz").symlink_to(real)
    done("predict m.structsvm", tmp_path / "data", "-o", tmp_path / "out")
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert names == {f"{recording.name}_segments.csv" for recording in TEST}


@pytest.mark.parametrize("name", ["out.tsv", "out.PNG"])
def test_an_output_folder_with_the_ending_of_another_format_is_refused(
    refused, folder, tmp_path, name
):
    """Such a folder was made, with a table in it."""
    message = refused("predict m.structsvm test -o", tmp_path / name)
    assert "files are not written: name a file that ends with .csv, or a folder" in message
    assert not (tmp_path / name).exists()


@pytest.fixture
def recordings(tmp_path):
    (tmp_path / "r").mkdir()
    for i, recording in enumerate(TEST[:2]):
        write_recording(recording, tmp_path / "r" / f"p{i}.npz")
    return tmp_path / "r"


@pytest.fixture
def images(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "im").mkdir()
    for i in range(2):
        pixels = rng.integers(0, 60, (12, 16, 3), dtype=np.uint8)
        pixels[3:9, 4:12] += 180
        Image.fromarray(pixels).save(tmp_path / "im" / f"i{i}.png")
    return tmp_path / "im"


def test_tables_of_segments_are_no_recordings(run, recordings):
    assert run("predict m.structsvm", recordings, "-o", recordings)[0] == 0
    found, skipped = find_recordings(recordings)
    assert [*found.values()] == ["p0", "p1"]
    assert [path.name for path in skipped] == ["p0_segments.csv", "p1_segments.csv"]
    code, out, err = run("predict m.structsvm", recordings)
    assert (code, len(out.splitlines())) == (0, 2)
    assert "skipped: p0_segments.csv, p1_segments.csv" in err


def test_written_label_maps_and_overlays_are_not_read_as_images(run, refused, images, tmp_path):
    pixels = [image.image for image in read_images(images, need_labels=False)]
    masks = [np.pad(np.ones((6, 8), dtype=int), ((3, 3), (4, 4)))] * 2
    model = tmp_path / "c.structsvm"
    save(MetricLearner(NormalizedCut(), lam=0.1).fit(pixels, masks), model)
    assert run("predict", model, images, "-o", images)[0] == 0
    assert len(list(images.iterdir())) == 6
    assert [image.name for image in read_images(images, need_labels=False)] == ["i0", "i1"]
    assert run("evaluate", model, images, "--labels", images)[0] == 0
    err = refused("predict", model, images, "--labels", images, "-o", images, "--force")
    assert "i0_mask.png is read by" in err
    assert "never overwritten" in err


def test_columns_of_predictions_that_are_learned_from_are_named(run, done, tmp_path):
    """Their segments were a feature like others, which tells the labels."""
    assert run("predict m.structsvm train -o", tmp_path / "out")[0] == 0
    _, err = done(
        "fit change-point",
        tmp_path / "out",
        "--baselines",
        "none",
        "-o",
        tmp_path / "again",
        "--metric",
        "diagonal",
    )
    assert (
        "'segment' only rises, or holds whole numbers and is called as identifiers"
        in err.replace("\n", " ")
    )
    assert "--ignore segment" in err


@pytest.fixture
def counted(monkeypatch):
    """Return counts of the arrays that were checked, and of those that were standardised."""
    counts = {"checked": 0, "standardised": 0}
    check = reading.check_instances
    standardise = Standardizer.__call__
    standardise_all = Standardizer.of_stack

    def checked(Xs, *args, **kwargs):
        found = check(Xs, *args, **kwargs)
        counts["checked"] += len(found[0])
        return found

    def standardised(self, X):
        before = counts["standardised"]
        found = standardise(self, X)
        counts["standardised"] = before + 1
        return found

    def standardised_together(self, Xs):
        before = counts["standardised"]
        found = standardise_all(self, Xs)
        counts["standardised"] = before + len(Xs)
        return found

    monkeypatch.setattr(reading, "check_instances", checked)
    monkeypatch.setattr(Standardizer, "__call__", standardised)
    monkeypatch.setattr(Standardizer, "of_stack", standardised_together)
    return counts


@cases(
    "fit change-point train --metric diagonal -q --baselines none -o {out}",
    "fit change-point train --context moments -q --baselines none --set features.n_moments=2 "
    "-o {out}",
    "fit change-point train -q --baselines none --json --set standardize=training -o {out}",
    "predict {model} test --quiet",
    "predict {model} test --quiet -o {out}",
    "evaluate {model} test --quiet",
    "evaluate {model} test --quiet --n-clusters true --json",
    "evaluate {model} test --quiet -o {out}.html",
    "plot {model} test/synthetic_00.npz --quiet -o {out}.png",
    "compare change-point train --set metric=diagonal --set solver.tol=0.1 --quiet",
)
def test_report_checks_and_standardises_recordings_once(run, counted, tmp_path, line):
    model = tmp_path / "m.structsvm"
    if "{model}" in line:
        fit = "fit change-point train --metric diagonal -q --baselines none -o"
        assert run(fit, model)[0] == 0
        counted.update(checked=0, standardised=0)
    code, _, err = run(line.format(out=tmp_path / "out", model=model))
    assert (code, err) == (0, "")
    n = 1 if line.startswith("plot") else len(TRAIN)
    assert len(TRAIN) == len(TEST)
    assert counted == {"checked": n, "standardised": n}
