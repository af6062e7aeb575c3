"""Files with missing values that are left out: from learning to the page of the report."""

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
