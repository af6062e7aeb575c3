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


def test_a_model_that_was_learned_without_masks_says_so(refused):
    """It named the values, and --missing mask as the way out."""
    message = refused("predict m.structsvm test --set files.missing=mask")
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
