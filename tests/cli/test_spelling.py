"""Messages name the files and options of the command, whatever the files are called."""

import re

import numpy as np
import pytest
from cases import cases

from structsvm.cli import main
from structsvm.cli.terminal import Spelling
from structsvm.errors import DataError, named, nth, parameter, wording

NAMES = (
    "subject=3/x.csv",
    "window=7/x.csv",
    "lam=0.1.csv",
    "ignore=[a]/skip_lines=[1].csv",
    "recording 1.csv",
    "sample 3.csv",
    "column x.csv",
    "two  blanks.csv",
    "give np.cumsum(y).csv",
    "use Lags() or no features.csv",
    "a{b}{0} %s %(c)d.csv",
)


def write(path, n=30, bad=None, jump=5.0):
    """A table of a recording with three segments, and a word in the place of a number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    y = np.arange(n) * 3 // n
    X = np.random.default_rng(n).normal(0, 0.1, (n, 2)) + jump * y[:, None]
    rows = [f"{a:.3f},{b:.3f},{label}" for (a, b), label in zip(X, y, strict=True)]
    if bad is not None:
        rows[bad] = f"oops{rows[bad][rows[bad].index(',') :]}"
    path.write_text("\n".join(["a,b,label", *rows]))


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command line in a folder: its status, and what it said."""
    monkeypatch.chdir(tmp_path)

    def said(*words):
        status = main([*map(str, words)])
        return status, capsys.readouterr().err

    return said


@pytest.mark.parametrize("name", NAMES)
def test_a_message_keeps_the_name_of_a_file_that_looks_like_a_parameter(said, tmp_path, name):
    write(tmp_path / name, bad=7)
    status, err = said("fit", "change-point", name, "-o", "m")
    assert status == 1
    assert f"error: {name}: 'oops' is not a number, row 7 (line 9), column 'a': --ignore a " in err
    assert "--set files.skip_lines=9 leaves out that line" in err


@pytest.mark.parametrize("name", NAMES)
def test_a_message_keeps_the_name_of_a_file_that_is_read_later(said, tmp_path, name):
    write(tmp_path / name, bad=7)
    write(tmp_path / "z" / "recording 0.csv")
    line = ("fit", "change-point", name, "z/recording 0.csv", "-o", "m", "--set", "files.lazy=true")
    status, err = said(*line)
    assert status == 1
    where = str(tmp_path / name)
    assert re.findall(r"error: (.*?): 'oops'", err) == [where]
    assert "recording 0" not in err


@cases(
    ("change-point", "recording 2.csv", "recording 10.csv"),
    ("change-point", "recording 0.csv", "sample 1.csv"),
    ("change-point", "lam=1/recording 0.csv", "recording 1.csv"),
)
def test_a_recording_that_is_numbered_is_named_by_its_file(said, tmp_path, problem, first, second):
    write(tmp_path / "data" / first, n=60)
    write(tmp_path / "data" / second, n=9)
    options = ("--context", "lags", "--set", "features.lags=(-20,0)")
    status, err = said("fit", problem, "data", "-o", "m", *options)
    assert status == 1
    assert f"error: data/{second} has 9 samples, too few for a lag of -20: use" in err


def test_a_warning_names_the_files(said, tmp_path):
    for k in range(4):
        write(tmp_path / "data" / f"recording {3 - k}.csv", n=30 + k)
    assert said("fit", "change-point", "data", "-o", "m", "--baselines", "none")[0] == 0
    write(tmp_path / "new" / "recording 1.csv", n=40)
    write(tmp_path / "new" / "recording 0.csv", n=40, jump=0.0)
    table = tmp_path / "new" / "recording 1.csv"
    flat = [re.sub("^[^,]*", "1", line) for line in table.read_text().splitlines()[1:]]
    table.write_text("\n".join(["a,b,label", *flat]))
    (tmp_path / "new" / "two  blanks.csv").write_text(table.read_text())
    status, err = said("predict", "m", "new")
    assert status == 0
    assert "warning: new/recording 1.csv, new/two  blanks.csv: a is constant" in err


# ---- the spelling itself


def spelling():
    return Spelling(lambda: {"lam": "--lam ", "window": "--set files.window="})


@cases(
    (parameter("lam", 0.1), "--lam 0.1"),
    (parameter("window"), "--set files.window=VALUE"),
    (parameter("other", "x"), "other='x'"),
    (named("window", 0) + " must be >= 1", "--set files.window must be >= 1"),
    (named("lam", 0) + " must be > 0", "--lam must be > 0"),
    (wording("Lags()", of_files="lags, of " + nth("recording", 0)), "lags, of a.csv"),
    (nth("recording", 1) + " and " + nth("recording", 0), "recording 0.csv and a.csv"),
    (nth("recording", 2), "recording 2"),
    (nth("graph", 0), "graph 0"),
    ("recording 0 lam=0.1", "recording 0 lam=0.1"),
)
def test_only_fields_of_messages_are_spelled_as_options(text, typed):
    said = spelling()
    with said.naming("recording", ["a.csv", "recording 0.csv"]):
        assert said(text) == typed


def test_an_error_keeps_the_names_of_the_innermost_files():
    said = spelling()
    error = DataError(nth("recording", 0) + ": " + parameter("lam", 1.0))
    error.add_note("as in " + nth("recording", 0))
    outer, inner = (said.naming("recording", [name]) for name in ("outer", "recording 0.csv"))
    with pytest.raises(DataError) as caught, outer, inner:
        raise error
    assert str(caught.value) == "recording 0.csv: lam=1.0"
    assert caught.value.__notes__ == ["as in recording 0.csv"]
    assert caught.value.parameters == {"lam": 1.0}
    assert said(nth("recording", 0)) == "recording 0"
