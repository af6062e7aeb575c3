"""Advice in messages: the options exist, and following it helps."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from cases import cases

from structsvm import MetricLearner
from structsvm.cli import main
from structsvm.cli.request import FILE_PARAMETERS
from structsvm.cli.usage import build_parser
from structsvm.solvers.certificate import Stopping

STATES = np.repeat(["rest", "walk", "rest"], 40)
LEVEL = np.where(STATES == "walk", 3.0, 0.0) + np.random.default_rng(0).normal(0, 0.3, 120)
TABLE = pd.DataFrame({"x": LEVEL, "y": LEVEL[::-1], "label": STATES}).round(3)
FIT, CLUSTER = "fit change-point", "fit clustering"


def text(**options):
    return TABLE.to_csv(index=False, **options)


def changed(**columns):
    return TABLE.assign(**columns).to_csv(index=False)


def blank(column, row):
    frame = TABLE.copy()
    frame.loc[row, column] = None
    return frame.to_csv(index=False)


def long():
    parts = [TABLE.assign(who=who, t=np.arange(len(TABLE))) for who in (1, 2, 3)]
    return pd.concat(parts).to_csv(index=False)


MARKS = (np.diff((STATES == "walk").astype(int), prepend=0) != 0).astype(int)
THOUSANDS = "x;label\n" + "".join(
    f"{'1,002' if state == 'walk' else 990 + k % 9};{state}\n" for k, state in enumerate(STATES)
)
WRONG = {
    "another label column": (FIT, text().replace("label", "state", 1), "--label-column state"),
    "words": (FIT, changed(place="here"), "--ignore place"),
    "categories": (FIT, changed(leg=["left", "right"] * 60), "--set files.categories=leg"),
    "separator": (FIT, text(sep="~"), "--set files.separator=~"),
    "missing values": (FIT, blank("x", 5), "--missing interpolate"),
    "values to mask": (FIT, blank("x", 5), "--missing mask"),
    "a wide title": (FIT, "a,b,c,d\n" + text(), "--set files.skip_lines=1"),
    "marks": (FIT, changed(label=MARKS), "--set files.labels_are=changes"),
    "states": (FIT, changed(label=MARKS), "--set files.labels_are=states"),
    "thousands": (FIT, THOUSANDS, "--set files.decimal=,"),
    "a long table": (FIT, long(), "--recording-column who --time-column t"),
    "an unknown word": (FIT, text().replace("rest", "na", 3), "--set files.missing_labels=na"),
    "masks of a table": (f"{CLUSTER} --missing mask", blank("x", 5), "--missing impute"),
    "blanks of a table": (CLUSTER, blank("x", 5), "--missing impute"),
    "too little to split": ("try change-point", text(), ""),
    "no such feature": (f"{FIT} --set files.features=z", text(), ""),
    "a window": (f"{CLUSTER} --set files.window=3", text(), ""),
}


@pytest.mark.parametrize("case", WRONG)
def test_options_that_an_error_of_fit_advises_exist_and_help(tmp_path, monkeypatch, capsys, case):
    line, content, advice = WRONG[case]
    monkeypatch.chdir(tmp_path)
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "one.csv").write_bytes(data)
    method = "rca" if "clustering" in line else "olda"
    command = f"{line} one.csv -o out --method {method} --baselines none"
    if line.startswith("try"):
        command = f"{line} one.csv -o out"
    main(command.split())
    said = " ".join(capsys.readouterr().err.split())
    assert "error" in said or "warning" in said
    check_options(said, line.split()[0])
    if not advice:
        return
    for option in re.findall(r"--set [\w.]+|--[\w-]+", advice):
        assert option in said
    if "--missing" in advice:  # in the place of what was typed
        command = re.sub(r" --missing \w+", "", command)
    if advice.endswith("mask"):
        command = command.replace("--method olda", "--metric diagonal")
    again = main([*command.split(), "--force", *advice.split()])
    then = " ".join(capsys.readouterr().err.split())
    assert again == 0, then
    assert said.partition(":")[2][:60] not in then
    check_options(then, line.split()[0])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    for k in range(2):
        (folder / f"{k}.csv").write_text(text())
    line = f"fit change-point {folder}/0.csv {folder}/1.csv -o {folder}/m --method olda"
    assert main(line.split()) == 0
    return folder / "m"


@cases(
    ("predict", blank("x", 5), "--set files.missing=interpolate"),
    ("predict --set files.missing=mask", blank("x", 5), "--set files.missing=interpolate"),
    ("evaluate", text().replace("label", "state", 1), "--set files.label_column=state"),
    ("predict", "a,b,c,d\n" + text(), "--set files.skip_lines=1"),
)
def test_options_that_an_error_of_predict_advises_exist_and_help(
    model, tmp_path, capsys, line, content, advice
):
    (tmp_path / "one.csv").write_text(content)
    command, *typed = line.split()
    given = [command, str(model), str(tmp_path / "one.csv")]
    assert main([*given, *typed]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert re.match(r"--set [\w.]+|--[\w-]+", advice)[0] in said
    check_options(said, command)
    assert main([*given, *advice.split()]) == 0


def check_options(said, command):
    """Every option exists, of the command itself or of the one that is named before it."""
    parser = build_parser()
    settings = {f"files.{name}" for name in FILE_PARAMETERS}
    settings |= {f"solver.{field.name}" for field in dataclasses.fields(Stopping)}
    settings |= MetricLearner().get_params(deep=False).keys()
    for before, option in re.findall(r"(?:\b(fit|evaluate|predict) )?(--[a-z][\w-]*)", said):
        assert option in parser.options_of(before or command).values(), said
    for name in re.findall(r"--set ([\w.]+)=", said):
        assert name in settings or name.startswith("problem."), said
    rest = re.sub(r"--set [\w.]+=", "", said)
    assert not re.search(r"(?<![\w.'\"])[a-z_]+=(?!=)", rest), rest
