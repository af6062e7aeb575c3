"""Odd cells of tables: times of a day, words for none, names that are formulas, many columns."""

import datetime as dt
import time

import numpy as np
import pandas as pd
import pytest

from structsvm.errors import DataError, DataWarning
from structsvm.io import Interval, read_intervals, read_recording, write_intervals
from structsvm.support.plain import cell, uncell


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize("micro", [0, 500_000])
def test_times_of_a_day(tmp_path, kind, micro):
    times = [dt.time(10, 0, i, micro * (i % 2)) for i in range(12)]
    frame = pd.DataFrame({"t": times, "x": np.arange(12) % 3, "label": ["a"] * 6 + ["b"] * 6})
    path = tmp_path / f"walk.{kind}"
    {"csv": frame.to_csv, "xlsx": frame.to_excel, "parquet": frame.to_parquet}[kind](
        path, index=False
    )
    found = read_recording(path, time_column="t")
    assert found.time.text(4) == "10:00:04"
    assert found.time.steps[0] == 1.0 + micro / 1e6


@pytest.mark.parametrize("word", ["-", "?", "n/a", "missing", "#DIV/0!", "N.D."])
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_words_for_a_missing_value(tmp_path, word, kind):
    frame = pd.DataFrame({"x": [1.5, word, 2.5, 3.5], "label": [0, 0, 1, 1]})
    path = tmp_path / f"walk.{kind}"
    {"csv": frame.to_csv, "xlsx": frame.to_excel}[kind](path, index=False)
    with pytest.raises(DataError, match=r"a missing value in row 1 \(line 3\), column 'x'"):
        read_recording(path)
    with pytest.warns(DataWarning, match="1 value interpolated"):
        assert read_recording(path, missing="interpolate").X[1, 0] == 2.0


def test_a_column_of_words_is_none_of_missing_values(tmp_path):
    (tmp_path / "walk.csv").write_text("x,label\n?,0\n?,1\n")
    with pytest.raises(DataError, match=r"'\?' is not a number"):
        read_recording(tmp_path / "walk.csv")


@pytest.mark.parametrize("name", ["=SUM(A1:A9)", "+x", "-x", "@x", "=1+1"])
def test_names_that_are_formulas_are_quoted_in_tables(tmp_path, name):
    assert cell(name) == f"'{name}"
    assert uncell(cell(name)) == name
    write_intervals(tmp_path / "walk.csv", {"walk": [Interval(0.0, 1.0, name)]})
    assert f"'{name}" in (tmp_path / "walk.csv").read_text()
    assert read_intervals(tmp_path / "walk.csv") == {"walk": [Interval(0.0, 1.0, name)]}


@pytest.mark.parametrize("value", ["-1", "+2.5", "-1,5", "'tis", "a-b", 3, -1.0, None])
def test_numbers_and_other_names_are_not(value):
    assert cell(value) == value


def test_reading_takes_time_with_the_number_of_columns(tmp_path):
    seconds = {}
    for n in (1000, 8000):
        path = tmp_path / f"{n}.csv"
        row = ",".join(str(i % 7) for i in range(n))
        head = ",".join(f"c{i}" for i in range(n))
        path.write_text(f"{head},label\n" + "".join(f"{row},{k // 5}\n" for k in range(10)))
        best = np.inf
        for _ in range(2):
            begin = time.process_time()
            read_recording(path)
            best = min(best, time.process_time() - begin)
        seconds[n] = best
    assert seconds[8000] < 24 * seconds[1000]  # 64 if it were the square


@pytest.mark.parametrize("minutes", [10, 15, 20, 30, 60])
def test_a_clock_that_is_put_back_is_told(tmp_path, minutes):
    times = pd.date_range(
        "2024-10-26 20:00", "2024-10-27 06:00", freq=f"{minutes}min", tz="Europe/Berlin"
    )
    rows = [f"{t:%Y-%m-%d %H:%M},{k % 7},{'ab'[k % 2]}\n" for k, t in enumerate(times)]
    (tmp_path / "meter.csv").write_text("time,x,label\n" + "".join(rows))
    with pytest.warns(DataWarning, match="the clock is put back in autumn"):
        read_recording(tmp_path / "meter.csv", time_column="time")
