"""The command line, as a newcomer and as a script use it."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import structsvm
from structsvm.cli import main
from structsvm.datasets import (
    Recording,
    arrays_and_labels,
    read_recordings,
    relevant_changes,
    write_recording,
)
from structsvm.persistence import load, save
from structsvm.status import Status

TRAIN, TEST = (
    relevant_changes(4, n_samples=200, n_features=6, n_relevant=2, jump=2.0, random_state=s)
    for s in (0, 1)
)
LONG = 300  # seconds after which a subprocess is stuck


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with recordings to learn from, others, and a model."""
    folder = tmp_path_factory.mktemp("cli")
    for name, recordings in (("train", TRAIN), ("test", TEST)):
        (folder / name).mkdir()
        for recording in recordings:
            write_recording(recording, folder / name / f"{recording.name}.npz")
    arguments = ["fit", "change-point", folder / "train", "-o", folder / "m.structsvm"]
    assert main([*map(str, arguments), "--metric", "diagonal", "--quiet"]) == 0
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Return a function that runs a command line in the folder: its status, stdout and stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")

    def run(line, *more):
        try:
            code = main([*line.split(), *map(str, more)])
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def refused(run):
    """Return a function that runs a command line that must fail, and gives its message."""

    def refused(line, *more):
        code, out, err = run(line, *more)
        assert (code, out) == (1, "")
        assert "Traceback" not in err
        last = err.strip().splitlines()[-1]
        assert last.startswith("error: ")
        return last.removeprefix("error: ")

    return refused


def table(path, content):
    path.write_text(content, encoding="utf-8")
    return path


class TestHelpAndUsage:
    def test_version(self, run):
        assert run("--version") == (0, f"structsvm {structsvm.__version__}\n", "")

    @pytest.mark.parametrize("command", ["", "fit", "predict", "evaluate", "show", "plot", "demo"])
    def test_help(self, run, command):
        code, out, err = run(f"{command} --help")
        assert (code, err) == (0, "")
        assert out.startswith(f"usage: structsvm {command}".rstrip())
        assert "\x1b" not in out  # no colours where nobody sees them

    def test_nothing_to_do_shows_the_help(self, run):
        code, out, err = run("")
        assert (code, out) == (2, "")
        assert "examples:" in err

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("learn", "invalid choice: 'learn'"),
            ("fit clustering train -o x", "invalid choice: 'clustering' (choose from"),
            ("fit change-point train", "the following arguments are required: -o/--output"),
            ("fit change-point train -o x --metric round", "(choose from full, diagonal)"),
            ("fit change-point train -o x --regularizer l3", "(choose from squared, trace)"),
            ("fit change-point train -o x --lam much", "invalid float value: 'much'"),
            ("predict m.structsvm test --n-segments 0", "expected an integer >= 1, got '0'"),
            ("evaluate m.structsvm test --n-segments all", "an integer >= 1 or 'true', got 'all'"),
        ],
    )
    def test_wrong_usage(self, run, line, message):
        code, out, err = run(line)
        assert (code, out) == (2, "")
        assert message in err.replace("'full', 'diagonal'", "full, diagonal").replace(
            "'squared', 'trace'", "squared, trace"
        )
        assert err.endswith("--help\n")


class TestFit:
    def test_tells_what_it_learned(self, run, tmp_path):
        code, out, err = run("fit change-point train --metric diagonal -o", tmp_path / "m")
        assert (code, out) == (0, "")
        assert "learned from 4 recordings of 200 samples" in err
        assert "% of what learning can gain is missing (certified)" in err
        assert f"saved in {tmp_path / 'm'}" in err
        learner = load(tmp_path / "m")
        assert learner.baselines_.keys() == {"untrained", "pca"}
        assert learner.feature_names_in_.tolist() == list(TRAIN[0].features)

    def test_settings_reach_the_learner(self, run, tmp_path):
        line = (
            "fit change-point train --quiet --metric diagonal --regularizer trace --lam 0.02 "
            "--standardize none --slack one --tol 0.05 --max-iter 50 --master clarabel "
            "--known-segments --penalty fixed --margin 0.5 -o"
        )
        assert run(line, tmp_path / "m") == (0, "", "")
        learner = load(tmp_path / "m")
        assert learner.get_params() == {
            "problem": structsvm.ChangePoint("known", "fixed", 0.5),
            "metric": "diagonal",
            "regularizer": "trace",
            "lam": 0.02,
            "standardize": None,
            "slack": "one",
            "tol": 0.05,
            "max_iter": 50,
            "master": "clarabel",
            "constraints": None,
            "callback": None,
            "random_state": None,
        }

    def test_json_is_all_there_is_on_stdout(self, run, tmp_path):
        path = tmp_path / "m"
        code, out, err = run("fit change-point train --metric diagonal --json --quiet -o", path)
        assert (code, err) == (0, "")
        report = json.loads(out)
        assert report["model"] == str(path)
        assert report["training_data"]["n_recordings"] == 4
        assert report["certificate"]["status"] == "OPTIMAL"

    def test_not_converged_is_a_warning(self, run, tmp_path):
        code, _, err = run(
            "fit change-point train --metric diagonal --max-iter 3 --tol 1e-12 -o", tmp_path / "m"
        )
        assert code == 0
        assert "warning: stopped at max_iter with the certified gap shown" in err

    def test_constant_features_and_a_single_recording_are_warnings(self, run, tmp_path):
        X, y = TRAIN[0].X.copy(), TRAIN[0].y
        X[:, 3] = 7.0
        write_recording(Recording("one", X, y, TRAIN[0].features), tmp_path / "one.npz")
        code, _, err = run(f"fit change-point {tmp_path}/one.npz --metric diagonal -o {tmp_path}/m")
        assert code == 0
        assert "warning: constant in every recording, so without influence: feature nuisance_1" in (
            err
        )
        assert "warning: one labelled recording" in err

    def test_verbose_logs_every_iteration(self, run, tmp_path):
        _, _, err = run("fit change-point train --metric diagonal --verbose -o", tmp_path / "m")
        assert "HistoryEntry(iteration=0" in err
        _, _, err = run("fit change-point train --metric diagonal -o", tmp_path / "m")
        assert "HistoryEntry" not in err

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ("--lam 0", "lam must be > 0, got 0.0"),
            ("--lam -1", "lam must be > 0, got -1.0"),
            ("--margin 1.5", "margin must be in (0, 1], got 1.5"),
            ("--master spam", "'spam' is not installed; these are: "),
            ("--tol -1", "tol must be"),
        ],
    )
    def test_settings_that_cannot_be(self, refused, tmp_path, options, message):
        said = refused(f"fit change-point train {options} -o", tmp_path / "m")
        assert message in said
        assert not (tmp_path / "m").exists()

    def test_output_is_checked_before_any_work(self, refused, tmp_path):
        gone = tmp_path / "gone" / "m"
        assert refused("fit change-point nowhere -o", gone) == (
            f"{gone}: the folder {gone.parent} does not exist"
        )
        assert refused("fit change-point nowhere -o", tmp_path) == (
            f"{tmp_path} is a folder: name the file to write"
        )


class TestCtrlC:
    def interrupt_at(self, monkeypatch, iteration):
        def progress(say):
            def callback(entry):
                if entry.iteration == iteration:
                    signal.raise_signal(signal.SIGINT)

            return callback

        monkeypatch.setattr("structsvm.cli.fit._progress", progress)

    def test_the_best_certified_metric_is_saved(self, run, tmp_path, monkeypatch):
        self.interrupt_at(monkeypatch, 3)
        code, _, err = run(
            "fit change-point train --metric diagonal --tol 1e-12 -o", tmp_path / "m"
        )
        assert code == 130
        assert f"the best certified metric so far is saved in {tmp_path / 'm'}" in err
        learner = load(tmp_path / "m")
        assert learner.solution_.status is Status.INTERRUPTED
        assert learner.solution_.lower <= learner.solution_.upper
        assert not learner.converged_
        assert learner.callback is None

    def test_before_there_is_a_metric_nothing_is_saved(self, run, tmp_path, monkeypatch):
        self.interrupt_at(monkeypatch, 0)
        code, out, err = run(
            "fit change-point train --metric diagonal --tol 1e-12 -o", tmp_path / "m"
        )
        assert (code, out) == (130, "")
        assert err.endswith("interrupted before there was a metric to save\n")
        assert not list(tmp_path.iterdir())

    def test_while_comparing_the_metric_is_saved(self, run, tmp_path, monkeypatch):
        def interrupted(self, Xs, ys):
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(structsvm.MetricLearner, "fit_baselines", interrupted)
        code, _, err = run("fit change-point train --metric diagonal -o", tmp_path / "m")
        assert code == 0
        assert "principal components will be missing" in err
        assert load(tmp_path / "m").baselines_.keys() == {"untrained"}
        code, out, _ = run("evaluate --json", tmp_path / "m", "test")
        assert json.loads(out)["pca"] is None

    def test_anywhere_else(self, run, monkeypatch):
        def interrupted(path):
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr("structsvm.cli.show.load", interrupted)
        assert run("show m.structsvm") == (130, "", "interrupted\n")


class TestPredict:
    def test_a_line_for_each_recording(self, run):
        code, out, _ = run("predict m.structsvm test --quiet")
        assert code == 0
        expected = load("m.structsvm").predict_breakpoints([r.X for r in TEST])
        assert out.splitlines() == [
            f"{r.name}: {' '.join(map(str, ends))}" for r, ends in zip(TEST, expected, strict=True)
        ]

    def test_json(self, run):
        _, out, err = run("predict m.structsvm test --json --quiet --n-segments 3")
        assert err == ""
        found = json.loads(out)["recordings"]
        assert [r["name"] for r in found] == [r.name for r in TEST]
        assert all(r["n_segments"] == len(r["breakpoints"]) == 3 for r in found)
        assert all(r["breakpoints"][-1] == 200 for r in found)

    def test_one_table(self, run, tmp_path):
        code, out, err = run("predict m.structsvm test --n-segments 3 -o", tmp_path / "o.csv")
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
        assert [f.stem for f in files] == [r.name for r in TEST]
        segments = np.loadtxt(files[0], skiprows=1, dtype=int)
        expected = load("m.structsvm").predict([TEST[0].X])[0]
        np.testing.assert_array_equal(segments, expected)

    def test_labels_are_not_needed_and_columns_go_by_name(self, run, tmp_path):
        features = TEST[0].features[::-1]
        header = ",".join(["when", *features])
        X = np.column_stack([np.arange(200), TEST[0].X[:, ::-1]])
        np.savetxt(tmp_path / "new.csv", X, delimiter=",", header=header, comments="", fmt="%.17g")
        _, out, _ = run("predict m.structsvm --time-column when", tmp_path / "new.csv")
        _, same, _ = run("predict m.structsvm test/synthetic_00.npz")
        assert out.partition(":")[2] == same.partition(":")[2]

    def test_more_segments_than_samples(self, refused):
        assert refused("predict m.structsvm test --n-segments 201") == (
            "test/synthetic_00.npz has 200 samples: it cannot have 201 segments"
        )

    def test_other_features(self, refused, tmp_path):
        file = table(tmp_path / "new.csv", "a,relevant_0\n1,2\n3,4\n")
        assert refused("predict m.structsvm", file) == (
            f"{file} has other features than m.structsvm: lacks 'relevant_1', 'nuisance_0', "
            "'nuisance_1', 'nuisance_2', 'nuisance_3' and has 'a' besides"
        )

    def test_another_number_of_features_where_none_has_a_name(self, refused, tmp_path):
        learner = structsvm.MetricLearner(metric="diagonal")
        save(learner.fit([r.X for r in TRAIN], [r.y for r in TRAIN]), tmp_path / "m")
        file = table(tmp_path / "new.csv", "a,b\n1,2\n3,4\n")
        assert refused("predict", tmp_path / "m", file) == (
            f"{file} has 2 features, {tmp_path / 'm'} has 6"
        )


class TestEvaluate:
    def test_table_and_verdict(self, run):
        code, out, err = run("evaluate m.structsvm test --quiet")
        assert (code, err) == (0, "")
        rows = [line.split() for line in out.splitlines() if line.startswith("  ")]
        assert [row[0] for row in rows if row] == ["metric", "untrained", "PCA", "learned"]
        assert "F1 (within 5)" in out
        expected = structsvm.evaluate(load("m.structsvm"), *arrays_and_labels(TEST))
        assert out.splitlines()[-1] == expected.verdict

    @pytest.mark.parametrize("options", ["", "--n-segments true", "--n-segments 2 --margin 0"])
    def test_json(self, run, options):
        code, out, err = run(f"evaluate m.structsvm test --json --quiet {options}")
        assert (code, err) == (0, "")
        report = json.loads(out)
        assert list(report) == ["learned", "untrained", "pca", "paired", "recordings"]
        for name in ("learned", "untrained", "pca"):
            assert list(report[name]) == ["loss", "covering", "f1"]
        assert list(report["paired"]) == ["mean", "se", "n"]
        assert [r["name"] for r in report["recordings"]] == [r.name for r in TEST]

    def test_recordings_that_were_learned_from_are_noticed(self, run):
        _, _, err = run("evaluate m.structsvm train/synthetic_00.npz test --quiet")
        assert "warning: the model was learned from 1 of these 5 recordings" in err
        _, _, err = run("evaluate m.structsvm test --quiet")
        assert err == ""

    def test_one_recording_is_too_few(self, run):
        _, out, _ = run("evaluate m.structsvm test/synthetic_00.npz")
        assert "1 recording (perfect" in out
        assert "On this one recording" in out

    def test_labels_are_needed(self, refused, tmp_path):
        file = table(tmp_path / "new.csv", ",".join(TEST[0].features) + "\n1,2,3,4,5,6\n")
        assert refused("evaluate m.structsvm", file).startswith(f"{file}: no column 'label'; ")

    def test_margin_below_zero(self, refused):
        assert "margin must be >= 0" in refused("evaluate m.structsvm test --margin -1")


class TestShowAndPlot:
    def test_show(self, run):
        code, out, err = run("show m.structsvm --top 3")
        assert (code, err) == (0, "")
        assert "change-point (n_segments unknown, penalty learned, margin 1.0)" in out
        assert "4 recordings of 200 samples" in out
        listed = [line.split()[0] for line in out.splitlines() if "━" in line]
        assert len(listed) == 3
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
            ("test/synthetic_00.npz --show features --n-segments true", "b.pdf"),
            ("", "c.svg"),
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

    def test_plot_in_a_format_there_is_not(self, refused, tmp_path):
        assert refused("plot m.structsvm -o", tmp_path / "f.txt").endswith(
            "the name must end with one of .png, .pdf, .svg, .jpg"
        )

    def test_plot_without_matplotlib(self, refused, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        said = refused("plot m.structsvm -o", tmp_path / "f.png")
        assert said == "plotting needs matplotlib: pip install 'structsvm-partitioning[plot]'"


class TestBadInput:
    """What is wrong with files and labels, each with the file's name and no traceback."""

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("a,b,label\n1,,0\n2,3,1\n", ": a missing value in row 0 (line 2), column 'b';"),
            ("a,b,label\n1,2,0\n2,inf,1\n", ": inf in row 1 (line 3), column 'b';"),
            ("a,b,label\n1,x,0\n2,3,1\n", ": 'x' is not a number, row 0 (line 2), column 'b';"),
            ("a,b,state\n1,2,0\n", ": no column 'label'; the columns are 'a', 'b', 'state'"),
            ("a,label\n", ": 0 rows and 1 features: nothing to read"),
            ("", ": the file is empty"),
        ],
    )
    def test_tables(self, refused, tmp_path, content, message):
        file = table(tmp_path / "bad.csv", content)
        said = refused(f"fit change-point {file} -o {tmp_path}/m")
        assert said.startswith(f"{file}{message}")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("a,label\n1,0\n2,0\n3,0\n", "none of the 1 recordings has a change"),
            ("a,label\n1,0\n", "none of the 1 recordings has a change (T from 1 to 1)"),
            ("a,label\n1,0\n1,0\n1,1\n1,1\n", "every feature is constant in every recording"),
        ],
    )
    def test_nothing_to_learn_from(self, refused, tmp_path, content, message):
        file = table(tmp_path / "bad.csv", content)
        assert message in refused(f"fit change-point {file} -o {tmp_path}/m")

    def test_recordings_with_other_features(self, refused, tmp_path):
        one = table(tmp_path / "one.csv", "a,b,label\n1,2,0\n2,2,1\n")
        two = table(tmp_path / "two.csv", "a,c,label\n1,2,0\n2,2,1\n")
        assert refused("fit change-point", one, two, "-o", tmp_path / "m") == (
            f"{two} has other features than {one}: lacks 'b' and has 'c' besides"
        )

    @pytest.mark.parametrize("bkps", [[50, 20, 200], [50, 300], [50]])
    def test_breakpoints(self, refused, tmp_path, bkps):
        np.savez(tmp_path / "bad.npz", X=TRAIN[0].X, bkps=bkps)
        said = refused(f"fit change-point {tmp_path} -o {tmp_path}/m")
        assert said.startswith(f"{tmp_path / 'bad.npz'}: bkps must increase and end with 200")

    def test_labels_of_another_length(self, refused, tmp_path):
        np.savez(tmp_path / "bad.npz", X=TRAIN[0].X, y=TRAIN[0].y[:-1])
        said = refused(f"fit change-point {tmp_path} -o {tmp_path}/m")
        assert said == f"{tmp_path / 'bad.npz'}: y has shape (199,), X has 200 rows"

    def test_what_a_problem_refuses_names_the_file(self, refused, tmp_path, monkeypatch):
        def refuse(self, y, n_samples):
            raise structsvm.errors.DataError("no such labels")

        monkeypatch.setattr(structsvm.ChangePoint, "encode", refuse)
        said = refused(f"fit change-point train -o {tmp_path}/m")
        assert said == "train/synthetic_00.npz: no such labels"

    def test_paths(self, refused, tmp_path):
        assert refused(f"fit change-point {tmp_path} -o m") == (
            f"{tmp_path}: no .npz, .parquet, .csv files in this folder"
        )
        assert refused("predict m.structsvm gone.csv") == "gone.csv: no such file or folder"
        assert refused("predict m.structsvm m.structsvm").startswith(
            "m.structsvm: not a kind of file that is read"
        )

    def test_skipped_files_are_named(self, run, tmp_path):
        write_recording(TEST[0], tmp_path / "one.npz")
        table(tmp_path / "index.csv", "file\none\n")
        _, _, err = run("predict m.structsvm", tmp_path)
        assert "skipped: index.csv" in err

    @pytest.mark.parametrize("command", ["show", "predict", "evaluate", "plot"])
    def test_models(self, refused, tmp_path, command):
        more = {"show": "", "plot": f"-o {tmp_path}/f.png"}.get(command, "test")
        said = refused(f"{command} gone.structsvm {more}")
        assert said == "gone.structsvm: cannot be read: No such file or directory"
        whole = Path("m.structsvm").read_bytes()
        (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
        said = refused(f"{command} {tmp_path}/half {more}")
        assert said == f"{tmp_path}/half: damaged, or not a structsvm model"


class TestDemo:
    def test_end_to_end(self, run, tmp_path):
        folder = tmp_path / "deep" / "demo"
        code, out, err = run("demo --output", folder)
        assert code == 0
        assert "Better: learning lowers the loss" in out
        assert "warning" not in err
        for name in ("digits.structsvm", "digits.png", "train", "test"):
            assert str(folder / name) in err
        assert (folder / "digits.png").stat().st_size > 20_000
        # The commands it proposes work.
        commands = [c.split()[1:] for c in err.splitlines() if c.startswith("  structsvm ")]
        assert [command[0] for command in commands] == ["show", "evaluate", "predict", "fit"]
        for command in commands[:3]:
            assert run(" ".join(command))[0] == 0

    def test_json_and_a_second_run(self, run, tmp_path):
        run("demo --recordings 4 --quiet --output", tmp_path)
        code, out, _ = run("demo --recordings 2 --json --quiet --output", tmp_path)
        assert code == 0
        report = json.loads(out)
        assert report["learned"]["loss"] < report["untrained"]["loss"]
        assert report["model"] == str(tmp_path / "digits.structsvm")
        assert len(read_recordings(tmp_path / "test")) == 2

    def test_without_matplotlib(self, run, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        code, out, err = run("demo --recordings 2 --json --output", tmp_path)
        assert code == 0
        assert json.loads(out)["figure"] is None
        assert "warning: plotting needs matplotlib" in err


class TestProcess:
    def python_m(self, *arguments, **settings):
        command = [sys.executable, "-m", "structsvm", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=LONG, check=False, **settings
        )

    def test_module_is_the_command(self, folder):
        done = self.python_m("show", "m.structsvm", "--json", cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["problem"]["name"] == "change-point"

    @pytest.mark.skipif(os.name == "nt", reason="no SIGPIPE on Windows")
    def test_a_reader_that_leaves_is_no_error(self, folder):
        program = f"{sys.executable} -m structsvm predict m.structsvm test --quiet | true"
        done = subprocess.run(
            program, shell=True, cwd=folder, capture_output=True, timeout=LONG, check=False
        )
        assert (done.stdout, done.stderr) == (b"", b"")
