"""The same recordings in files of any form: the same metric, and later commands are told nothing.

Every form is written, learned from with the options that it needs, and predicted and evaluated
without them.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from cases import cases
from cli_kit import TEST, TRAIN

import structsvm
from structsvm import load
from structsvm.datasets import relevant_changes
from structsvm.io import Recording, read_recordings, write_recording

Recordings = Sequence[Recording]


def frame_of(recording: Recording) -> pd.DataFrame:
    return pd.DataFrame(recording.X, columns=recording.features).assign(label=recording.y)


def each(write: Callable[[pd.DataFrame, Path], Any], kind: str = "csv") -> Any:
    """A function that writes a table for each recording."""

    def written(recordings: Recordings, folder: Path) -> None:
        for recording in recordings:
            write(frame_of(recording), folder / f"{recording.name}.{kind}")

    return written


def edited(change: Callable[[str], str]) -> Any:
    """A function that writes tables of which the text is changed."""
    return each(lambda frame, path: path.write_text(change(frame.to_csv(index=False))))


def arrays(recordings: Recordings, folder: Path) -> None:
    for recording in recordings:
        write_recording(recording, folder / f"{recording.name}.npz")


def one_table(recordings: Recordings, folder: Path) -> None:
    """Rows of all recordings, in no order of time."""
    frames = [frame_of(r).assign(who=r.name, t=np.arange(len(r.X))) for r in recordings]
    whole = pd.concat(frames).sample(frac=1, random_state=0)
    whole.to_csv(folder / "all.csv", index=False)


def dated(frame: pd.DataFrame, path: Path) -> None:
    times = pd.Timestamp("2024-05-01 08:00") + pd.to_timedelta(np.arange(len(frame)) / 2, unit="s")
    frame.assign(clock=times.strftime("%d.%m.%Y %H:%M:%S.%f")).to_csv(path, index=False)


def marked(frame: pd.DataFrame, path: Path) -> None:
    begins = np.diff(frame["label"], prepend=frame["label"][0]) != 0
    frame.assign(label=begins.astype(int)).to_csv(path, index=False)


def with_units(frame: pd.DataFrame, path: Path) -> None:
    units = pd.DataFrame([["V"] * len(frame.columns)], columns=frame.columns)
    pd.concat([units, frame]).to_excel(path, index=False)


class Form(NamedTuple):
    """How recordings are written, and what is typed to learn from them."""

    write: Callable[[Recordings, Path], None]
    options: str = ""
    told: str = ""
    """What the command says of it."""


FORMS = {
    "arrays": Form(arrays),
    "tables": Form(each(lambda frame, path: frame.to_csv(path, index=False))),
    "parquet": Form(each(lambda frame, path: frame.to_parquet(path), "parquet")),
    "german": Form(
        each(lambda frame, path: frame.to_csv(path, sep=";", decimal=",", index=False)),
        told="read with ';' between columns, ',' as the decimal mark",
    ),
    "old Mac": Form(each(lambda frame, path: frame.to_csv(path, index=False, lineterminator="\r"))),
    "commas at the ends": Form(edited(lambda text: text.replace("\n", ", ,\n"))),
    "blanks around names": Form(
        edited(lambda text: text.replace(",", " , ", 5).replace("label", "label ", 1))
    ),
    "low in a sheet": Form(
        each(lambda frame, path: frame.to_excel(path, index=False, startrow=2), "xlsx")
    ),
    "units in a sheet": Form(each(with_units, "xlsx"), told="read with line 2 left out: 'V,"),
    "another separator": Form(
        each(lambda frame, path: frame.to_csv(path, sep="|", index=False)),
        "--set files.separator=|",
    ),
    "a column of words": Form(
        each(lambda frame, path: frame.assign(place="here").to_csv(path, index=False)),
        "--ignore place",
    ),
    "other labels": Form(
        each(lambda frame, path: frame.rename(columns={"label": "y"}).to_csv(path, index=False)),
        "--label-column y",
    ),
    "one table": Form(one_table, "--recording-column who --time-column t"),
    "dates": Form(each(dated), "--time-column clock"),
    "marks": Form(each(marked), "--set files.labels_are=changes"),
}


def scores(done, model, paths):
    out, _ = done(f"evaluate {model} {paths} --json")
    report = json.loads(out)
    step = 0.5 if report["time_unit"] == "s" else 1.0
    errors = {k: v / step for k, v in report["learned"].items() if k.startswith("time_error")}
    return report["learned"] | errors


def ends(out):
    """The ends of the segments of each recording, without their times."""
    return [line.partition(":")[2].partition(" (")[0] for line in sorted(out.splitlines())]


@pytest.fixture(scope="module")
def usual():
    """What the model of arrays finds in the test recordings, which the first form asks for."""
    return {}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_file_gives_the_same_metric_and_later_commands_need_no_options(
    run, done, tmp_path, usual, form
):
    write, options, told = FORMS[form]
    for name, recordings in (("train", TRAIN), ("test", TEST)):
        (tmp_path / name).mkdir()
        write(recordings, tmp_path / name)
    model = tmp_path / "m"
    line = (
        f"fit change-point {tmp_path}/train {options} --metric diagonal --baselines none -o {model}"
    )
    _, err = done(line)
    assert told in err
    assert ("read with" in err) == bool(told or "separator" in options)
    found = load(model)
    expected = load("m.structsvm")
    np.testing.assert_allclose(found.metric_.matrix, expected.metric_.matrix, rtol=1e-6)
    assert tuple(found.feature_names_in_) == TRAIN[0].features
    out, _ = done(f"predict {model} {tmp_path}/test")
    if not usual:
        usual["ends"] = ends(run("predict m.structsvm test")[1])
        usual["scores"] = scores(done, "m.structsvm", "test")
    assert {"ends": ends(out), "scores": scores(done, model, tmp_path / "test")} == usual


@pytest.mark.parametrize("form", ["german", "one table", "dates", "a column of words"])
def test_predictions_are_written_as_the_tables_are(run, done, tmp_path, form):
    """The table that was read, and a column more: commas between columns, points in numbers."""
    FORMS[form].write(TEST, tmp_path)
    reading = [("files.recording_column=who", "files.time_column=t"), ("files.time_column=clock",)]
    settings = {"one table": reading[0], "dates": reading[1]}.get(form, ())
    typed = " ".join(f"--set {setting}" for setting in settings)
    done(f"predict m.structsvm {tmp_path} {typed} -o {tmp_path}/out")
    written = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in written] == [f"{r.name}_segments.csv" for r in TEST]
    for path in written:
        head, first, *_ = path.read_text().splitlines()
        assert head.split(",")[-1] == "segment"
        assert first.split(",")[-1] == "0"
    before = sorted(tmp_path.glob("*.csv"))[0].read_text()
    after = [line.rpartition(",")[0] for line in written[0].read_text().splitlines()]
    if form == "german":
        assert after == before.replace(",", ".").replace(";", ",").splitlines()
        line = f"predict m.structsvm {tmp_path} --set files.separator=; -o {tmp_path}/asked"
        assert run(line)[0] == 0
        asked = (tmp_path / "asked" / written[0].name).read_text().splitlines()
        assert [line.rpartition(";")[0] for line in asked] == before.splitlines()
    elif form != "one table":
        assert after == before.splitlines()


def test_options_of_a_model_may_not_apply_to_new_files_and_typed_ones_come_first(
    run, refused, tmp_path
):
    one_table(TRAIN, tmp_path)
    options = "--recording-column who --time-column t --metric diagonal"
    assert run(f"fit change-point {tmp_path} {options} -o {tmp_path}/m")[0] == 0
    assert load(tmp_path / "m").columns_ == {"recording_column": "who", "time_column": "t"}
    new = tmp_path / "new.csv"
    frame_of(TEST[0]).rename(columns={"label": "other"}).to_csv(new, index=False)
    assert run(f"predict {tmp_path}/m {new}")[0] == 0
    assert "no column 'label'" in refused(f"evaluate {tmp_path}/m {new}")
    assert run(f"evaluate {tmp_path}/m {new} --set files.label_column=other")[0] == 0


def test_a_form_that_cannot_be_read_is_refused_with_the_option_for_it(refused, tmp_path):
    asked = {
        "marks": "--set files.labels_are=changes",
        "a column of words": "--ignore place leaves it out",
    }
    for form, option in asked.items():
        (tmp_path / form).mkdir()
        FORMS[form].write(TRAIN[:1], tmp_path / form)
        assert option in refused("fit change-point", tmp_path / form)


def test_gaps_are_refused_or_filled_as_the_model_remembers(run, done, tmp_path, refused):
    frame = frame_of(TRAIN[0])
    one = tmp_path / "one.csv"
    model = tmp_path / "m"
    frame.loc[10:12, frame.columns[0]] = np.nan
    frame.to_csv(one, index=False)
    said = refused("fit change-point", one, "-o", model)
    assert "missing values in rows 10 to 12 (lines 12 to 14)" in said
    assert "--missing interpolate" in said
    _, err = done("fit change-point --missing interpolate", one, "-o", model)
    assert "3 values interpolated: missing values in rows 10 to 12" in err
    _, err = done("predict", model, one)
    assert "interpolated" in err
    assert run("predict", model, one, "--set", "files.missing=error")[0] == 1


class TestBadInput:
    """What is wrong with files and labels, each with the file's name and no traceback."""

    def test_an_error_of_a_problem_names_the_file(self, refused, tmp_path, monkeypatch):
        def refuse(self, y, n_samples):
            raise structsvm.errors.DataError("no such labels")

        monkeypatch.setattr(structsvm.ChangePoint, "encode", refuse)
        said = refused(f"fit change-point train -o {tmp_path}/m")
        assert said == "train/synthetic_00.npz: no such labels"


def write_with_gaps(recordings, folder):
    """Tables of which some values are blank; their files."""
    rng = np.random.default_rng(0)
    files = []
    for recording in recordings:
        X = np.where(rng.random(recording.X.shape) < 0.1, np.nan, recording.X)
        frame = pd.DataFrame(X, columns=list(recording.features)).assign(label=recording.y)
        files.append(folder / f"{recording.name}.csv")
        frame.to_csv(files[-1], index=False)
    return files


def test_every_command_leaves_missing_values_out(done, tmp_path):
    (tmp_path / "train").mkdir()
    write_with_gaps(TRAIN, tmp_path / "train")
    files = write_with_gaps(TEST, tmp_path)
    model = tmp_path / "m.structsvm"
    _, err = done("fit change-point --missing mask", tmp_path / "train", "-o", model)
    assert "values masked: missing values in row" in err
    learner = load(model)
    assert (learner.metric, learner.problem.missing) == ("diagonal", "mask")
    for line, *more in (
        ("predict --margins", model, files[0]),
        ("evaluate", model, *files),
        ("plot", model, files[0], "-o", tmp_path / "p.png"),
        ("evaluate", model, *files, "-o", tmp_path / "r.html"),
        ("diagnose", model, *files),
    ):
        _, err = done(line, *more)
        assert "invalid value" not in err
    assert ",null," in (tmp_path / "r.html").read_text().replace(" ", "")


def test_a_model_learned_without_masks_refuses_missing_values(refused):
    """It named the values, and --missing mask as the way out."""
    message = refused("predict m.structsvm test --set files.missing=mask")
    assert "m.structsvm was learned without it: learn with fit --missing mask, or give" in message


def test_many_warnings_of_one_kind_are_counted(run, done, tmp_path):
    """Each of two hundred files had a line of its own, above what was found."""
    (tmp_path / "train").mkdir()
    twice = [
        replace(recording, name=f"{recording.name}{k}") for k, recording in product("ab", TRAIN)
    ]
    n = len(write_with_gaps(twice, tmp_path / "train"))
    model = tmp_path / "m.structsvm"
    line = "fit change-point --baselines none --missing interpolate"
    _, err = done(line, tmp_path / "train", "-o", model)
    assert err.count("values interpolated: ") == 4
    assert f"warning: {n - 3} more of this kind, the last one: " in err
    _, _, err = run(f"{line} --force --verbose", tmp_path / "train", "-o", model)
    assert "more of this kind" not in err
    assert err.count("values interpolated: ") == n


NAMES = ["null", "None", "NA", "nan", "n/a", "NULL", "walk"]
T = 42


@pytest.fixture
def named(tmp_path):
    """Two tables of seven segments, and a folder for models."""
    rng = np.random.default_rng(0)
    labels = np.repeat(NAMES, T // len(NAMES))
    (tmp_path / "in").mkdir()
    for k in range(2):
        X = rng.normal(size=(T, 2)) + 4 * rng.normal(size=7)[np.arange(T) * 7 // T][:, None]
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": labels})
        frame.to_csv(tmp_path / "in" / f"r{k}.csv", index=False)
    return tmp_path


def written_table(path, labels):
    rows = [f"{i},{i * i},{label}" for i, label in enumerate(labels)]
    path.write_text("\n".join(["a,b,label", *rows]) + "\n")
    return path


def test_words_for_missing_values_are_learned_as_classes_with_a_warning(done, named):
    _, err = done(f"fit change-point {named / 'in'} --baselines none -o {named / 'm.structsvm'}")
    assert load(named / "m.structsvm").training_data_.n_clusters == (7, 7)
    assert "unlabelled" not in err
    assert "'NA', 'NULL', 'None', 'n/a', 'nan', 'null' is taken as a class" in err
    assert "give --set files.missing_labels=NA" in err
    assert "labels differ in capitals, blanks or dashes alone: 'null' (in " in err


@cases(("Walk", True), ("WALK", True), ("wälk", False))
def test_states_that_differ_only_by_case_are_warned_of(done, tmp_path, other, is_told):
    one = written_table(tmp_path / "a.csv", np.repeat(["rest", "walk", "rest"], 9))
    two = written_table(tmp_path / "b.csv", np.repeat(["rest", other, "rest"], 9))
    _, err = done(f"fit change-point {one} {two} --baselines none -o {tmp_path / 'm.structsvm'}")
    names = f"capitals, blanks or dashes alone: 'walk' (in {one}) and '{other}' (in {two})"
    assert (names in err) == is_told


@cases(
    (["0", "0", "", "1", " "], (), [0, 0, -1, 1, -1]),
    (["-1", "-1", "", "1", "2"], (), [-1, -1, -1, 1, 2]),
    (["7", "7", "99", "8", "8"], ("99",), [7, 7, -1, 8, 8]),
    (["7", "7", "NA", "8", "8"], ("NA",), [7, 7, -1, 8, 8]),
    (["a", "a", "NA", "", "b"], (" NA",), ["a", "a", -1, -1, "b"]),
    (["a", "a", "NA", "NA", "b"], (), ["a", "a", "NA", "NA", "b"]),
    (["7", "7", "NA", "8", "8"], (), ["7", "7", "NA", "8", "8"]),
    (["7", "7", "nan", "8", "8"], (), ["7", "7", "nan", "8", "8"]),
    (["7", "7", "9", "8", "8"], (), [7, 7, 9, 8, 8]),
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_blank_labels_and_words_that_are_typed_as_missing_are_missing_labels(
    tmp_path, kind, labels, missing, expected
):
    path = written_table(tmp_path / "one.csv", labels)
    if kind == "parquet":
        frame = pd.DataFrame({"a": np.arange(5), "b": np.arange(5) ** 2, "label": labels})
        path = tmp_path / "one.parquet"
        frame.to_parquet(path)
    (recording,) = read_recordings(path, blanks=True, missing_labels=missing)
    assert recording.y.tolist() == expected


@pytest.fixture
def half_labelled(tmp_path):
    """Four tables, of three of which only the first half is labelled, and a recording to test."""
    made = relevant_changes(5, n_samples=200, n_features=4, n_relevant=4, random_state=1)
    (tmp_path / "learn").mkdir()
    for i, r in enumerate(made[:4]):
        lines = ["a,b,c,d,label"]
        for t, row in enumerate(r.X):
            known = i == 0 or t < 120
            lines.append(
                ",".join(f"{v:.4f}" for v in row) + f",{f'part {r.y[t]}' if known else ''}"
            )
        (tmp_path / "learn" / f"r{i}.csv").write_text("\n".join(lines) + "\n")
    write_recording(made[4], tmp_path / "test.npz")
    return tmp_path


def test_blank_labels_are_learned_from_as_partial_labels(done, half_labelled) -> None:
    _, err = done(f"fit change-point {half_labelled / 'learn'} -o {half_labelled / 'm.structsvm'}")
    learner = load(half_labelled / "m.structsvm")
    assert len(learner.training_data_) == 4
    assert {"untrained", "pca", "rca"} <= set(learner.baselines_)
    assert "labels completed in" in err
    out, _ = done(f"evaluate {half_labelled / 'm.structsvm'} {half_labelled / 'learn'}")
    assert "Mean scores of 4 recordings" in out
    assert "No verdict: nothing was held out" in out
    out, _ = done(f"predict {half_labelled / 'm.structsvm'} {half_labelled / 'learn'}")
    assert out.startswith("r0: ")


def test_fit_learns_from_regions_without_a_label_column(run, refused, half_labelled) -> None:
    for path in (half_labelled / "learn").glob("*.csv"):
        rows = [line.rpartition(",")[0] for line in path.read_text().splitlines()]
        path.write_text("\n".join(rows) + "\n")
    regions = half_labelled / "regions.csv"
    regions.write_text("recording,start,end,changes\nr0,0,200,1+\nr1,0,15,0\nr1,15,200,1+\n")
    model = half_labelled / "m.structsvm"
    line = f"fit change-point {half_labelled / 'learn'} --regions {regions} -o {model}"
    line += " --baselines none"
    code, _, err = run(line)
    line += " --force"
    assert code == 0, err
    assert (
        len(load(half_labelled / "m.structsvm").training_data_) == 2
    )  # of the others nothing is known
    assert "2 recordings without any label left out" in err
    for text, message in (
        ("recording,start,end\nr0,0,9\n", "no column 'changes'"),
        ("recording,start,end,changes\nr0,0,9,1\nr0,3,7,2\n", "region 0..9 with 1 change"),
        ("recording,start,end,changes\nr0,0,9,few\n", "line 2: a region is"),
        ("recording,start,end,changes\nr9,0,9,1\n", "no recording is called 'r9'"),
        ("recording,start,end,changes\nr0,0,900,1\n", "r0.csv: region 0..900"),
    ):
        regions.write_text(text)
        assert message in refused(line).replace("\n", " ")


def test_labels_at_the_starts_of_states_alone_are_refused_with_advice(done, tmp_path) -> None:
    """They were taken for samples among which nothing is known, and 100 segments were learned."""
    made = relevant_changes(3, n_samples=200, n_features=3, n_relevant=2, random_state=1)
    for i, r in enumerate(made):
        begins = np.diff(r.y, prepend=-1) != 0
        frame = pd.DataFrame(r.X, columns=r.features).assign(
            label=np.where(begins, [f"state {y}" for y in r.y], "")
        )
        frame.to_csv(tmp_path / f"r{i}.csv", index=False)
    line = f"fit change-point {tmp_path} --baselines none --metric diagonal -o {tmp_path / 'm'}"
    _, err = done(line)
    assert "every label stands alone among unlabelled samples" in err.replace("\n", " ")


def test_fit_learns_from_chunks_of_rows_that_belong_together(refused, done, tmp_path) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 3)) + 7 * y[:, None] * [1, 0, 0]
    lines = ["a,b,c,label,chunk"]
    for t, row in enumerate(X):
        label = y[t] if t in (0, 59) else ""
        chunk = f"c{y[t]}" if t % 3 == 0 else ""
        lines.append(",".join(f"{v:.4f}" for v in row) + f",{label},{chunk}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    line = (
        f"fit clustering {tmp_path}/t.csv --set files.chunk_column=chunk -o {tmp_path}/m.structsvm"
    )
    done(line)
    learner = load(tmp_path / "m.structsvm")
    assert learner.n_features_in_ == 3
    line += " --force"
    for label in (0, 59):
        lines[label + 1] = lines[label + 1].replace(f",{y[label]},c", ",,c")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert "--set problem.cluster_count=unknown" in refused(line)
    (labels,) = learner.predict([X], 2)
    assert max(np.mean(labels == y), np.mean(labels != y)) > 0.95
