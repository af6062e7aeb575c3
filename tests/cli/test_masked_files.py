"""Files with missing values that are left out: from learning to the page of the report."""

from dataclasses import replace

import numpy as np
import pandas as pd
from cli_kit import TEST, TRAIN

from structsvm import load


def write_with_gaps(recordings, folder):
    """Tables of which some values are blank; their files."""
    rng, files = np.random.default_rng(0), []
    for recording in recordings:
        X = np.where(rng.random(recording.X.shape) < 0.1, np.nan, recording.X)
        frame = pd.DataFrame(X, columns=list(recording.features)).assign(label=recording.y)
        files.append(folder / f"{recording.name}.csv")
        frame.to_csv(files[-1], index=False)
    return files


def test_every_command_leaves_missing_values_out(run, tmp_path):
    (tmp_path / "train").mkdir()
    write_with_gaps(TRAIN, tmp_path / "train")
    files, model = write_with_gaps(TEST, tmp_path), tmp_path / "m.structsvm"
    code, _, err = run("fit change-point --missing mask", tmp_path / "train", "-o", model)
    assert code == 0, err
    assert "values masked: missing values in row" in err
    learner = load(model)
    assert (learner.metric, learner.problem.missing) == ("diagonal", "mask")
    for line, *more in (
        ("predict --margins", model, files[0]),
        ("evaluate", model, *files),
        ("plot", model, files[0], "-o", tmp_path / "p.png"),
        ("report", model, *files, "-o", tmp_path / "r.html"),
        ("diagnose", model, *files),
    ):
        code, _, err = run(line, *more)
        assert code == 0, err
        assert "invalid value" not in err
    assert ",null," in (tmp_path / "r.html").read_text().replace(" ", "")


def test_values_of_tables_are_not_put_between_rows(refused, tmp_path):
    """Rows that are sorted by their clusters got values of these, as no new row does."""
    (file,) = write_with_gaps(TRAIN[:1], tmp_path)
    said = refused("fit clustering --missing mask", file, "-o", tmp_path / "c.structsvm")
    assert said.startswith("--missing mask is not for clustering: fill missing values in")
    for command in ("fit", "try"):
        said = refused(f"{command} clustering --missing interpolate", file, "-o", tmp_path / "c")
        assert said.startswith("--missing interpolate is for recordings: rows of a table are in no")
        assert "median of their column" in said
    said = refused("fit clustering", file, "-o", tmp_path / "c.structsvm")
    assert "interpolate" not in said
    assert "fill them in" in said


def test_a_model_that_was_learned_without_masks_says_so(refused):
    """It named the values, and --missing mask as the way out."""
    message = refused("predict m.structsvm test --missing mask")
    assert "m.structsvm was learned without it: learn with fit --missing mask, or give" in message


def test_many_warnings_of_a_kind_are_counted(run, tmp_path):
    """Each of two hundred files had a line of its own, above what was found."""
    (tmp_path / "train").mkdir()
    twice = [replace(recording, name=f"{recording.name}{k}") for k in "ab" for recording in TRAIN]
    n = len(write_with_gaps(twice, tmp_path / "train"))
    model = tmp_path / "m.structsvm"
    line = "fit change-point --missing interpolate"
    code, _, err = run(line, tmp_path / "train", "-o", model)
    assert code == 0, err
    assert err.count("values interpolated: ") == 4
    assert f"warning: {n - 3} more of this kind, the last one: " in err
    _, _, err = run(f"{line} --force --verbose", tmp_path / "train", "-o", model)
    assert "more of this kind" not in err
    assert err.count("values interpolated: ") == n


def test_a_feature_of_the_metric_that_is_constant_where_it_is_used_is_told(run, tmp_path):
    """A sensor that had died changed the answer without a word."""
    alive, dead = tmp_path / "alive.csv", tmp_path / "dead.csv"
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 0, 1], 30)
    for name in "abcd":
        X = rng.normal(size=(120, 2)) + np.outer(y, [3.0, 0.0])
        frame = pd.DataFrame(X, columns=["pulse", "noise"]).assign(label=y)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    frame.to_csv(alive, index=False)
    frame.assign(pulse=7.0).to_csv(dead, index=False)
    model = tmp_path / "m.structsvm"
    code, _, err = run(
        "fit change-point", *(tmp_path / f"{name}.csv" for name in "abcd"), "-o", model
    )
    assert code == 0, err
    code, _, err = run("predict", model, alive, dead)
    assert code == 0, err
    assert err.count("constant") == 1
    assert "dead.csv: pulse is constant, which has" in err
    assert "% of the weight of the metric" in err
