"""Tables of other programs, from the command line: what is said of them, and what is remembered."""

import numpy as np
import pandas as pd
import pytest
from cli_kit import TEST, TRAIN

from structsvm import load


def frame_of(recording):
    frame = pd.DataFrame(recording.X, columns=recording.features).round(6)
    return frame.assign(label=recording.y)


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """Return a folder of tables as a German spreadsheet writes them, and one of the same digits."""
    folder = tmp_path_factory.mktemp("german")
    for kind in ("german", "plain"):
        (folder / kind).mkdir()
    for recording in TRAIN:
        frame = frame_of(recording)
        name = f"{recording.name}.csv"
        frame.to_csv(folder / "german" / name, sep=";", decimal=",", index=False)
        frame.to_csv(folder / "plain" / name, index=False)
    return folder


def fitted(run, place, folder, *options):
    model = place / "m.structsvm"
    code, _, err = run(
        "fit change-point", folder, *options, "-o", model, "--force", "--metric", "diagonal"
    )
    assert code == 0, err
    return model, err


def test_the_format_is_told_in_a_line_and_changes_nothing(run, german, tmp_path):
    first, err = fitted(run, tmp_path, german / "german")
    assert "read with ';' between columns, ',' as the decimal mark" in err
    weights = load(first).metric_.factor
    second, err = fitted(run, tmp_path, german / "plain")
    assert "read with" not in err
    np.testing.assert_array_equal(load(second).metric_.factor, weights)


def test_predictions_are_written_as_the_table_is(run, german, tmp_path):
    model, _ = fitted(run, tmp_path, german / "german")
    table = german / "german" / f"{TRAIN[0].name}.csv"
    assert run("predict", model, table, "-o", tmp_path / "out")[0] == 0
    (file,) = (tmp_path / "out").iterdir()
    before, after = table.read_text().splitlines(), file.read_text().splitlines()
    assert after[0] == f"{before[0]};segment"
    assert after[1] == f"{before[1]};0"


def test_columns_can_be_left_out(run, german, tmp_path, refused):
    frame = frame_of(TRAIN[0]).assign(place="here")
    frame.to_csv(tmp_path / "one.csv", index=False)
    said = refused("fit change-point", tmp_path / "one.csv", "-o", tmp_path / "m")
    assert "column 'place'" in said
    assert "--ignore place leaves it out" in said
    model, _ = fitted(run, tmp_path, tmp_path / "one.csv", "--ignore", "place")
    assert load(model).feature_names_in_.tolist() == list(TRAIN[0].features)
    few = TRAIN[0].features[:2]
    few_typed = f"files.features={','.join(few)}"
    model, _ = fitted(run, tmp_path, tmp_path / "one.csv", "--set", few_typed)
    assert load(model).feature_names_in_.tolist() == list(few)
    assert run("predict", model, tmp_path / "one.csv")[0] == 0


def test_gaps_are_refused_or_filled_as_the_model_remembers(run, tmp_path, refused):
    frame = frame_of(TRAIN[0])
    frame.loc[10:12, frame.columns[0]] = np.nan
    frame.to_csv(tmp_path / "one.csv", index=False)
    said = refused("fit change-point", tmp_path / "one.csv", "-o", tmp_path / "m")
    assert "missing values in rows 10 to 12 (lines 12 to 14)" in said
    assert "--missing interpolate" in said
    model, err = fitted(run, tmp_path, tmp_path / "one.csv", "--missing", "interpolate")
    assert "3 values interpolated: missing values in rows 10 to 12" in err
    code, _, err = run("predict", model, tmp_path / "one.csv")
    assert code == 0, err
    assert "interpolated" in err
    assert run("predict", model, tmp_path / "one.csv", "--missing", "error")[0] == 1


def test_spellings_of_missing_labels_are_remembered(run, tmp_path):
    for recording, name in ((TRAIN[0], "one"), (TEST[0], "two")):
        frame = frame_of(recording).astype({"label": str})
        frame.loc[:9, "label"] = "NA"
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    model, err = fitted(run, tmp_path, tmp_path / "one.csv", "--set", "files.missing_labels=NA")
    assert "unlabelled: 10 of 200 samples" in err
    code, _, err = run("evaluate", model, tmp_path / "two.csv")
    assert code == 1
    assert "no label, row 0 (line 2)" in err


def test_a_comma_at_the_end_of_every_line(run, german, tmp_path):
    """The column that it makes has neither a name nor a value."""
    frame_of(TRAIN[0]).to_csv(tmp_path / "one.csv", index=False)
    lines = (tmp_path / "one.csv").read_text(encoding="utf-8").splitlines()
    for ends in (",", ",,", ", ,"):
        (tmp_path / "one.csv").write_text("".join(f"{line}{ends}\n" for line in lines), "utf-8")
        model, err = fitted(run, tmp_path, tmp_path / "one.csv")
        assert "missing" not in err
        assert load(model).n_features_in_ == TRAIN[0].X.shape[1]


def test_lines_that_end_as_those_of_an_old_mac(run, tmp_path):
    frame_of(TRAIN[0]).to_csv(tmp_path / "one.csv", index=False, lineterminator="\r")
    model, _ = fitted(run, tmp_path, tmp_path / "one.csv")
    assert load(model).training_data_.n_samples == (200,)


def test_blanks_around_the_names_of_columns(run, tmp_path):
    frame_of(TRAIN[0]).to_csv(tmp_path / "one.csv", index=False)
    text = (tmp_path / "one.csv").read_text(encoding="utf-8").replace(",", " , ", 6)
    (tmp_path / "one.csv").write_text(text.replace("label", "label ", 1), encoding="utf-8")
    model, _ = fitted(run, tmp_path, tmp_path / "one.csv")
    assert tuple(load(model).feature_names_in_) == TRAIN[0].features


def test_lines_are_counted_as_in_the_file(refused, tmp_path):
    lines = [*frame_of(TRAIN[0]).to_csv(index=False).splitlines(), ""]
    lines[50] = lines[50].replace(lines[50].split(",")[0], "oops")
    lines[30:30] = ["", "   "]
    lines[0:0] = ["", ""]
    (tmp_path / "one.csv").write_text("\n".join(lines), encoding="utf-8")
    message = refused("fit change-point -o one", tmp_path / "one.csv")
    assert "'oops' is not a number, row 49 (line 55)" in message
    assert lines[54].startswith("oops")


def test_lines_that_are_skipped_are_remembered_and_not_written(run, german, tmp_path):
    for name in ("one", "two"):
        text = (german / "plain" / f"{TRAIN[0].name}.csv").read_text()
        header, rows = text.split("\n", 1)
        (tmp_path / f"{name}.csv").write_text(f"{header}\n{',' * header.count(',')}V\n{rows}")
    model, _ = fitted(run, tmp_path, tmp_path / "one.csv", "--set", "files.skip_lines=2")
    assert run("predict", model, tmp_path / "two.csv", "-o", tmp_path / "out")[0] == 0
    found = pd.read_csv(tmp_path / "out" / "two_segments.csv")
    np.testing.assert_allclose(found[list(TRAIN[0].features)], TRAIN[0].X, atol=1e-6)
    code, _, err = run("predict", model, german / "plain" / f"{TRAIN[0].name}.csv")
    assert code == 0
    assert "line 2 left out, with values" in err


def test_rows_of_a_sheet_that_are_no_rows_of_the_table(run, german, tmp_path, refused):
    frame = frame_of(TRAIN[0])
    frame.to_excel(tmp_path / "low.xlsx", index=False, startrow=2)
    model, _ = fitted(run, tmp_path, tmp_path / "low.xlsx")
    np.testing.assert_array_equal(load(model).feature_names_in_, TRAIN[0].features)
    units = pd.DataFrame([["V"] * len(frame.columns)], columns=frame.columns)
    pd.concat([units, frame]).to_excel(tmp_path / "units.xlsx", index=False)
    assert "--set files.skip_lines=2 leaves out" in refused(
        "fit change-point", tmp_path / "units.xlsx"
    )
    fitted(run, tmp_path, tmp_path / "units.xlsx", "--set", "files.skip_lines=2")


def test_columns_without_a_name_are_written_without_one(run, german, tmp_path):
    """As R and pandas write numbers of rows; they were called Unnamed: 0."""
    frame_of(TRAIN[0]).to_csv(tmp_path / "one.csv")
    model, _ = fitted(run, tmp_path, tmp_path / "one.csv")
    assert run("predict", model, tmp_path / "one.csv", "-o", tmp_path / "out")[0] == 0
    before = (tmp_path / "one.csv").read_text().splitlines()
    after = (tmp_path / "out" / "one_segments.csv").read_text().splitlines()
    assert after[0] == f"{before[0]},segment"
    assert after[1] == f"{before[1]},0"


TYPED = ("--set", "files.separator=;", "--set", "files.decimal=,")


def test_a_separator_that_is_remembered_and_another_one(run, german, tmp_path, refused):
    model, _ = fitted(run, tmp_path, german / "german", *TYPED)
    message = refused("predict", model, german / "plain")
    assert "read with ';' between columns: --set files.separator=VALUE names another" in message
    line = "predict --set files.separator=, --set files.decimal=."
    assert run(line, model, german / "plain")[1] == run("predict", model, german / "german")[1]
