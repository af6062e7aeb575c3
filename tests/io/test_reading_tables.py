"""Recordings in tables as people and programs write them: what is read, and what is refused."""

import bz2
import csv
import datetime as dt
import gzip
import lzma
import re
import sys
import time
import zipfile
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from cases import cases, refused

from structsvm.errors import DataError, DataWarning, MissingExtraError, SettingsError
from structsvm.io import read_recording, read_recordings
from structsvm.io.files import formats_in_words
from structsvm.support.tables import cell, uncell

ROWS = [[1.5, -2.0, "rest"], [2.25, 0.5, "rest"], [9.0, 1e-3, "walk"]]
X = np.array([row[:2] for row in ROWS])
TABLE = "x,y,label\n1.5,0,a\n2.5,0,b\n3.5,1,b\n"
GERMAN = TABLE.replace(",", ";").replace(".", ",")


def put(folder, text, name="one.csv"):
    path = folder / name
    path.write_bytes(text.encode())
    return path


def written(path, separator=",", decimal=".", encoding="utf-8"):
    lines = [separator.join(("größe", "b", "label"))]
    for a, b, label in ROWS:
        numbers = [f"{value:.4f}".replace(".", decimal) for value in (a, b)]
        lines.append(separator.join([*numbers, label]))
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode(encoding))
    return path


def write(frame, path):
    kinds = {".csv": frame.to_csv, ".xlsx": frame.to_excel, ".parquet": frame.to_parquet}
    kinds[path.suffix](path, index=False)
    return path


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]
)
@cases((",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", ","), ("  ", "."))
def test_every_way_to_write_a_table_gives_the_same_recording(
    tmp_path, encoding, separator, decimal
):
    (found,) = read_recordings(written(tmp_path / "one.txt", separator, decimal, encoding))
    np.testing.assert_array_equal(found.X, X)
    assert (found.name, found.features) == ("one", ("größe", "b"))
    assert found.y.tolist() == ["rest", "rest", "walk"]


@pytest.mark.parametrize("n_columns", [2, 3, 10])
@pytest.mark.parametrize("has_header", [True, False])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@cases((";", ","), ("\t", ","), ("|", ","), (" ", ","), (",", "."), (";", "."))
def test_a_table_all_of_whose_numbers_have_decimals_is_parted_by_its_separator(
    tmp_path, n_columns, has_header, quoting, separator, decimal
):
    values = np.random.default_rng(0).normal(size=(60, n_columns)).round(3) + 0.0001
    frame = pd.DataFrame(values, columns=[f"acc.{j}:mean" for j in range(n_columns)])
    path = tmp_path / "a.txt"
    frame.to_csv(
        path, sep=separator, decimal=decimal, index=False, header=has_header, quoting=quoting
    )
    with pytest.warns(DataWarning, match="no header") if not has_header else nullcontext():
        (found,) = read_recordings(path, need_labels=False)
    np.testing.assert_allclose(found.X, values)


@pytest.mark.parametrize(
    ("text", "options", "columns"),
    [
        ("a,list,label\n1,2;3,x\n2,5;4,y\n", {"ignore": ["list"]}, {"a": [1, 2]}),
        ('a,label\n"1,5",x\n"2,5",y\n', {}, {"a": [1.5, 2.5]}),
        ("a;label\n1,250;x\n2,500;y\n", {}, {"a": [1.25, 2.5]}),
        ("a;label\n1,125;x\n2,25;y\n3;y\n", {}, {"a": [1.125, 2.25, 3]}),
        ("a;label\n0;x\n1,125;y\n0,500;y\n", {}, {"a": [0, 1.125, 0.5]}),
        ("a;label\n1.125;x\n2.25;y\n3;y\n", {}, {"a": [1.125, 2.25, 3]}),
        ("a;label\n1,125;x\n1200;y\n", {}, {"a": [1.125, 1200]}),
        ("a,label\n1.125,x\n3,y\n", {}, {"a": [1.125, 3]}),
        ("body weight\n1\n2\n", {"need_labels": False}, {"body weight": [1, 2]}),
        ("#,label\n1,#a\n2,b\n", {}, {"#": [1, 2]}),
        ('"a" "label"\n1 "x"\n2 "y"\n', {}, {"a": [1, 2]}),
        ("a,b,label\n1,2,0\n2,3,1\n", {"ignore": ["a"]}, {"b": [2, 3]}),
        ("a,b,label\n1,x,0\n2,y,1\n", {"features": ["a", "a"]}, {"a": [1, 2]}),
        ("when,state,a\n1 Jan,u,1\n2 Jan,v,2\n", {"label_column": "state", "time_column": "when"},
         {"a": [1, 2]}),
    ],
)  # fmt: skip
def test_numbers_and_names_are_read_as_they_are_meant(tmp_path, text, options, columns):
    (found,) = read_recordings(put(tmp_path, text), **options)
    assert dict(zip(found.features, found.X.T.tolist(), strict=True)) == columns


LATE = "".join(f"{n:,};{n % 2}\n".replace(",", ".") for n in range(900, 1100))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "the file is empty"),
        ("a,label\n", {}, "0 rows and 1 feature: nothing to read"),
        ("label\n0\n1\n", {}, "2 rows and 0 features: nothing to read"),
        ('a,label\n"1,0\n', {}, "cannot be read"),
        ("a,label\n1,0\ninf,0\n", {}, r"inf in row 1 \(line 3\), column 'a'"),
        ("a,b,state\n1,2,0\n", {},
         "no column 'label'; the columns are 'a', 'b', 'state', ',' between them; name another"),
        ("a,who,n,state\n" + 10 * "1.5,x,3,0\n2.5,y,4,1\n3.5,z,3,0\n", {},
         "name another one .*; few different values, as labels have, are in 'who', 'n', 'state'"),
        ("a,state\n" + 10 * "1.5,x\n2.5,y\n", {},
         "as labels have, are in 'state', label_column='state'"),
        ("a,who,state\n" + 10 * "1.5,p,x\n2.5,q,y\n", {"recording_column": "who"},
         "as labels have, are in 'state', label_column='state'"),
        ("a;b;label\n1;2;0\n", {"separator": ","},
         "are 'a;b;label', ',' between them; name .*, or separator="),
        ("a,label\n1,2\n", {"time_column": "t"}, "no column 't'; the columns are 'a', 'label'"),
        ("a,label\n1,rest\n2,\n3,go\n", {}, r"no label, row 1 \(line 3\), column 'label'"),
        ("a,label\n1,x\n,z\n,\n", {}, r"a missing value in row 1 \(line 3\), column 'a'"),
        ("a,b,a,label\n1,2,3,0\n1,2,3,1\n", {}, "need different names, repeated: 'a'"),
        ("a,b,label\n1,2,0\n", {"features": ["c"]}, "features names 'c', which it has no column"),
        ("a,b,label\n1,2,0\n", {"ignore": ["c"]}, "ignore names 'c', which it has no column of"),
        ("a;b;label\n1,5;2.5;x\n2,5;3.5;y\n", {}, "'1,5' is not a number"),
        ("a;label\n1,250;x\n2,500;y\n", {"decimal": "."}, "'1,250' is not a number"),
        ("x,label\n?,0\n?,1\n", {}, r"'\?' is not a number"),
        ("x;label\n1,5;a\nk.A.;a\n2,5;b\n", {}, r"'k\.A\.' is not a number, row 1 .* blank cell"),
        ("a,label\n1,0\n?,0\n2,1\n?,1\n3,1\n", {}, r"missing values in row 1 \(line 3\), column"),
        ("a,label\n1,0\nlost,0\n2,1\nlost,1\n3,1\n", {},
         r"'lost' is not a number, row 1 \(line 3\), .* a missing value is a blank cell"),
        ("a,b,label\n1,2,0\n3,high,0\n", {}, r"'high' is not a number, row 1 \(line 3\), column "
         r"'b': ignore='b' leaves it out; .* blank cell; skip_lines=\[3\] leaves out that line"),
        ("a,b,c,label\n1,x,sun,0\n2,y,fog,0\n3,y,fog,1\n", {}, r"'x' is not a number, row 0 .* "
         r"ignore=\['b', 'c'\] leaves it out"),
        ('x,label\n998,0\n"1,002",1\n0,1\n', {}, "'1,002' stands beside '998' .* decimal=','"),
        ("x;label\n998;0\n1,002;1\n", {}, "'1,002' stands beside '998' .* decimal=','"),
        ("x;label\n998;0\n1.002;1\n-1.000;1\n", {}, r"'1\.002' stands .* decimal='\.'"),
        (f"x;label\n{LATE}", {}, r"'1\.000' stands beside '900' .* decimal='\.'"),
        ("x;label\n" + "3;0\n4;1\n" * 30 + "1,5;1\n", {}, r"'1,5' is not .* decimal='\.'"),
    ],
)  # fmt: skip
def test_what_is_refused_names_the_place_and_the_way_out(tmp_path, text, options, message):
    path = put(tmp_path, text)
    with pytest.raises(DataError, match=message) as caught:
        read_recordings(path, **options)
    assert str(caught.value).startswith(f"{path}: ")


test_impossible_options_of_tables_are_refused = refused(
    SettingsError,
    lambda tmp_path, options: read_recordings(put(tmp_path, TABLE), **options),
    ({"separator": "ab"}, "separator must be one letter"),
    ({"decimal": "x"}, "decimal another one, '.' or ',', got None and 'x'"),
    ({"decimal": ",", "separator": ","}, "decimal another one"),
    ({"missing": "zero"}, "missing must be one of .*interpolate"),
)


class TestLinesThatAreNoRows:
    @cases(
        "# Anna, 3 rats, 100 Hz\n#\n" + TABLE,
        "# " + TABLE,  # as numpy.savetxt writes a header
        TABLE + "# end of file\n",
        TABLE.replace("2.5", "# cable out\n2.5"),
        "#fs=100\r\n" + TABLE.replace("\n", "\r\n"),
    )
    def test_comments_in_tables_are_no_rows(self, tmp_path, text):
        (found,) = read_recordings(put(tmp_path, text))
        assert found.features == ("x", "y")
        assert found.X.tolist() == [[1.5, 0], [2.5, 0], [3.5, 1]]
        assert text.splitlines()[found.origin.line(2) - 1] == "3.5,1,b"

    @cases(
        (TABLE.replace("\n", "\n(g),(g),\n", 1), [2]),
        (TABLE.replace("\n", "\n(g),-,\nmean,max,\n", 1), [2, 3]),
        ("Rat 3; EEG\n\n" + TABLE, [1]),
        ("Acquisition frequency: 100 Hz\n" + TABLE.replace(",", "\t"), [1]),
        ("Rat 3,,\n" + TABLE, [1]),
        ("Rat 3\nby,Anna\n" + TABLE.replace("\n", "\nm,m,\n", 1), [1, 2, 4]),
        ("Titel, mit, vielen, Kommas\n" + GERMAN, [1]),
        (GERMAN.replace("\n", "\nm/s;m/s;\n", 1), [2]),
    )
    def test_titles_and_units_around_a_header_are_skipped(self, tmp_path, text, lines):
        path = put(tmp_path, text)
        for given in ({}, {"skip_lines": lines}):
            (found,) = read_recordings(path, **given)
            assert found.X.tolist() == [[1.5, 0], [2.5, 0], [3.5, 1]]
            assert text.splitlines()[found.origin.line(0) - 1].replace("\t", ",") in (
                "1.5,0,a",
                "1,5;0;a",
            )
            assert found.origin.format.left_out == (() if given else tuple(lines))
        if ";" not in text:
            rows = [(re.split("[,\t]", line) + [""] * 3)[:3] for line in text.splitlines()]
            pd.DataFrame(rows).to_excel(tmp_path / "one.xlsx", header=False, index=False)
            (sheet,) = read_recordings(tmp_path / "one.xlsx")
            assert sheet.origin.format.left_out == tuple(lines)
            assert sheet.X.tolist() == found.X.tolist()

    @pytest.mark.parametrize(
        "text",
        [
            TABLE.replace("2.5,0,b", "2.5,0"),
            TABLE.replace("1.5,0,a", "lost,0,a"),  # in one column, and not in all
            "x,y,label\ncable,out,a\n2.5,0,b\n",  # too few rows to tell
            "one,two,three,four\n" + TABLE,  # wider than the table
            "change\n08/02/2024 12:00\n09/02/2024 12:00\n",  # of words alone
        ],
    )
    def test_rows_are_never_taken_for_a_title_or_units(self, tmp_path, text):
        with pytest.raises(DataError):
            read_recordings(put(tmp_path, text))

    @pytest.mark.parametrize("row", ["-,nan,a", "?,0,a"])
    def test_a_first_row_with_a_number_or_nothing_is_no_units(self, tmp_path, row):
        path = put(tmp_path, TABLE.replace("1.5,0,a", row))
        with pytest.warns(DataWarning, match="masked"):
            assert len(read_recording(path, missing="mask").X) == 3

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("separator", [",", ";", "\t"])
    def test_rows_of_separators_at_the_end_are_skipped(self, tmp_path, separator, end):
        """Excel writes them for cells that were once used; they were refused for having no time."""
        rows = ["t,a,label", "0,1.5,x", "1,2.5,x", "2,3.5,z", ",,", ", ,", ",,"]
        path = put(tmp_path, end.join([*rows, ""]).replace(",", separator))
        assert read_recording(path, time_column="t").X.tolist() == [[1.5], [2.5], [3.5]]

    def test_hidden_files_of_mac_and_excel_are_ignored(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "one.csv.zip", "w") as archive:
            archive.writestr("one.csv", TABLE)
            archive.writestr("__MACOSX/._one.csv", b"\0\5\x16\7")
        (tmp_path / "~$two.xlsx").write_bytes(b"of an open workbook")
        (tmp_path / "two.csv").write_text(f"sep=;\n{GERMAN}")
        for found in read_recordings(tmp_path):
            assert found.X.tolist() == [[1.5, 0], [2.5, 0], [3.5, 1]]


class TestCompression:
    def test_every_kind_of_compression_is_read(self, tmp_path):
        content = written(tmp_path / "plain.csv", ";", ",").read_bytes()
        for module, suffix in ((gzip, "gz"), (bz2, "bz2"), (lzma, "xz")):
            with module.open(tmp_path / f"{suffix}.csv.{suffix}", "wb") as file:
                file.write(content)
        with zipfile.ZipFile(tmp_path / "zip.csv.zip", "w") as archive:
            archive.writestr("inside.csv", content)
        found = read_recordings(tmp_path)
        assert [r.name for r in found] == ["bz2", "gz", "plain", "xz", "zip"]
        for recording in found:
            np.testing.assert_array_equal(recording.X, X)

    def test_archives_of_several_tables_are_refused(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "two.csv.zip", "w") as archive:
            archive.writestr("a.csv", "x")
            archive.writestr("b.csv", "x")
        with pytest.raises(DataError, match=r"an archive of one table is read, it holds 'a.csv'"):
            read_recordings(tmp_path)

    @pytest.mark.parametrize("suffix", ["gz", "zip"])
    def test_no_more_is_unpacked_than_is_allowed(self, tmp_path, suffix):
        content = b"a,label\n" + b"1,0\n" * 500_000
        path = tmp_path / f"one.csv.{suffix}"
        if suffix == "gz":
            path.write_bytes(gzip.compress(content))
        else:
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("one.csv", content)
        with pytest.raises(DataError, match="at most 1 MB are read"):
            read_recordings(path, max_bytes=10**6)

    @pytest.mark.parametrize("kind", ["gz", "parquet", "csv"])
    def test_damaged_tables_are_refused(self, tmp_path, kind):
        frame = pd.DataFrame({"a": [1.0, 2.0], "label": [0, 1]})
        path = tmp_path / "one.parquet"
        contents = {
            "gz": gzip.compress(b"a,label\n1,0\n")[:-9],
            "parquet": write(frame, path).read_bytes()[:-20],
            "csv": b"\xff\xfe\x00\x81,label\n",
        }
        file = tmp_path / ("one.csv.gz" if kind == "gz" else f"one.{kind}")
        file.write_bytes(contents[kind])
        with pytest.raises(DataError, match=f"{file}: cannot be read"):
            read_recordings(file)


class TestKinds:
    @pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
    @pytest.mark.parametrize("micro", [0, 500_000])
    def test_times_of_day_are_read_from_every_kind_of_file(self, tmp_path, kind, micro):
        times = [dt.time(10, 0, i, micro * (i % 2)) for i in range(12)]
        frame = pd.DataFrame({"t": times, "x": np.arange(12) % 3, "label": ["a"] * 6 + ["b"] * 6})
        found = read_recording(write(frame, tmp_path / f"walk.{kind}"), time_column="t")
        assert found.time.text(4) == "10:00:04"
        assert found.time.steps[0] == 1.0 + micro / 1e6

    @pytest.mark.parametrize("word", ["-", "?", "n/a", "missing", "#DIV/0!", "N.D."])
    @pytest.mark.parametrize("kind", ["csv", "xlsx"])
    def test_words_for_missing_values_are_recognised(self, tmp_path, word, kind):
        frame = pd.DataFrame({"x": [1.5, word, 2.5, 3.5], "label": [0, 0, 1, 1]})
        path = write(frame, tmp_path / f"walk.{kind}")
        with pytest.raises(DataError, match=r"a missing value in row 1 \(line 3\), column 'x'"):
            read_recording(path)
        with pytest.warns(DataWarning, match="1 value interpolated"):
            assert read_recording(path, missing="interpolate").X[1, 0] == 2.0

    def test_sheets_that_are_not_read_are_named(self, tmp_path):
        frame = pd.DataFrame(ROWS, columns=["a", "b", "label"])
        with pd.ExcelWriter(tmp_path / "one.xlsx", engine="openpyxl") as writer:
            for sheet in ("data", "notes"):
                frame.to_excel(writer, sheet_name=sheet, index=False)
        with pytest.warns(DataWarning, match="'notes' the first is read; save the others"):
            (found,) = read_recordings(tmp_path)
        np.testing.assert_array_equal(found.X, X)

    def test_a_column_of_dates_is_no_feature(self, tmp_path):
        days = pd.to_datetime(["2020-01-01", "2020-01-02"])
        frame = pd.DataFrame({"day": days, "a": [1.0, 2.0], "label": [0, 1]})
        file = write(frame, tmp_path / "one.parquet")
        with pytest.raises(DataError, match="column 'day' holds datetime64"):
            read_recordings(file, features=("a", "day"))
        for options in ({}, {"time_column": "day"}):
            (found,) = read_recordings(file, **options)
            assert found.features == ("a",)
            assert found.time.values.astype("M8[D]").tolist() == days.date.tolist()
        assert read_recordings(file, ignore=["day"])[0].time is None

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_the_column_of_labels_may_be_in_capitals(self, tmp_path, kind):
        frame = pd.DataFrame({"a": [1.0, 2.0], "LABEL": ["x", "y"]})
        (found,) = read_recordings(write(frame, tmp_path / f"one.{kind}"))
        assert (found.features, found.y.tolist()) == (("a",), ["x", "y"])
        both = pd.DataFrame({"label": ["x", "y"], "Label": [1.0, 2.0]})
        (found,) = read_recordings(write(both, tmp_path / f"one.{kind}"))
        assert (found.features, found.y.tolist()) == (("Label",), ["x", "y"])

    def test_a_header_that_is_repeated_is_left_out(self, tmp_path):
        (found,) = read_recordings(put(tmp_path, "a,label\n1,x\na,label\n2,y\n", "one.csv"))
        assert (found.X.ravel().tolist(), found.y.tolist()) == ([1.0, 2.0], ["x", "y"])
        assert found.origin.lines.tolist() == [2, 4]
        assert "line 3 left out" in formats_in_words([found])[0]
        words = put(tmp_path, "x,label\nx,label\ny,go\n", "two.csv")
        with pytest.raises(DataError, match=r"'x' is not a number, row 0 \(line 2\)"):
            read_recordings(words)  # no row of words alone is lost

    @pytest.mark.parametrize("wanted", [(), ("a",)])
    def test_the_only_column_of_dates_is_that_of_times(self, tmp_path, wanted):
        text = "a,when,label\n2,2024-03-01 08:01,x\n3,2024-03-01 08:02,y\n"
        (found,) = read_recordings(put(tmp_path, text, "one.csv"), wanted=wanted)
        assert found.features == ("a",)
        assert [found.time.text(t) for t in range(2)] == ["2024-03-01 08:01", "2024-03-01 08:02"]

    def test_a_column_of_days_and_one_of_clocks_are_the_times_together(self, tmp_path):
        clocks = ["23:59:30", "00:00:00", "00:00:30", "00:01:00"]
        days = ["2024-03-01", *["2024-03-02"] * 3]
        rows = [
            f"{a},{day},{clock},x" for a, day, clock in zip(range(4), days, clocks, strict=True)
        ]
        text = "\n".join(["a,Date,Time,label", *rows, ""])
        (found,) = read_recordings(put(tmp_path, text, "one.csv"))
        assert (found.features, found.time.name) == (("a",), "Date,Time")
        assert (np.diff(found.time.values) == np.timedelta64(30, "s")).all()
        again = text.replace("2024-03-01", "2024-03-03")  # they do not rise
        with pytest.raises(DataError, match=r"column 'Date': .*time_column='Date,Time'"):
            read_recordings(put(tmp_path, again, "two.csv"))

    def test_columns_of_dates_are_not_offered_as_labels(self, tmp_path):
        rows = [f"{t}.5,2024-03-0{1 + t // 10},{'up' if t < 9 else 'down'}" for t in range(20)]
        file = put(tmp_path, "\n".join(["a,day,pose", *rows]), "one.csv")
        with pytest.raises(DataError, match=r"have, are in 'pose', label_column='pose'"):
            read_recordings(file)

    @pytest.mark.parametrize(
        "cells",
        [
            ("2024-03-02", "2024-03-01"),  # they fall
            ("1/4", "1/2"),  # fractions
            ("2024-03-01,2024-04-01", "2024-03-02,2024-04-02"),  # of two columns
            ("up", "down"),
        ],
    )
    def test_what_is_not_the_only_column_of_dates_that_rise_has_to_be_named(self, tmp_path, cells):
        names = ",".join(["when", "until"][: cells[0].count(",") + 1])
        text = f"a,{names},label\n2,{cells[0]},x\n3,{cells[1]},y\n"
        with pytest.raises(DataError, match=r"is not a number, row 0 .* column 'when'"):
            read_recordings(put(tmp_path, text, "one.csv"))

    def test_dates_that_begin_again_are_those_of_named_recordings_alone(self, tmp_path):
        days = [f"2024-03-{day:02d}" for day in range(1, 31)]
        rows = [f"{t},{days[t % 30]},{'pq'[t // 30]},{t % 2}" for t in range(60)]
        file = put(tmp_path, "\n".join(["a,when,who,label", *rows]), "one.csv")
        found = read_recordings(file, recording_column="who")
        assert [one.time.text(29) for one in found] == [days[29]] * 2
        with pytest.raises(DataError, match=r"column 'when': .*ignore='when'.*time_column='when'"):
            read_recordings(file, ignore=["who"])

    def test_rows_of_a_table_to_cluster_have_no_times(self, tmp_path):
        text = "a,when,label\n2,2024-03-01,x\n3,2024-03-02,y\n"
        with pytest.raises(DataError, match="column 'when'"):
            read_recordings(put(tmp_path, text, "one.csv"), in_order=False)

    def test_row_numbers_that_pandas_writes_are_no_feature(self, tmp_path):
        pd.DataFrame({"a": [1.0, 2.0], "label": [0, 1]}).to_csv(tmp_path / "one.csv")
        assert read_recording(tmp_path / "one.csv").features == ("a",)

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_a_missing_pandas_is_named_with_what_to_install(self, tmp_path, monkeypatch, kind):
        file = put(tmp_path, "a,label\n1,0\n", f"one.{kind}")
        monkeypatch.setitem(sys.modules, "pandas", None)  # what Python does for a missing module
        with pytest.raises(MissingExtraError, match=r"pip install 'structsvm-partitioning\[files"):
            read_recordings(file)


class TestMissingValues:
    FRAME = pd.DataFrame(
        {
            "a": [1.0, np.nan, np.nan, 4.0, 5.0],
            "b": [np.nan, 1.0, 2.0, 3.0, np.nan],
            "label": [0, 0, 1, 1, 1],
        }
    )

    def test_every_block_of_missing_values_is_named(self, tmp_path):
        with pytest.raises(DataError) as raised:
            read_recordings(write(self.FRAME, tmp_path / "one.csv"))
        assert (
            "missing values in row 0 (line 2), column 'b'; rows 1 to 2 (lines 3 to 4), column 'a'; "
            "row 4 (line 6), column 'b'; interpolate with missing='interpolate'"
        ) in str(raised.value)

    @pytest.mark.parametrize("kind", ["csv", "npz"])
    def test_missing_values_are_interpolated(self, tmp_path, kind):
        path = tmp_path / f"one.{kind}"
        if kind == "csv":
            write(self.FRAME, path)
        else:
            np.savez(path, X=self.FRAME[["a", "b"]], y=self.FRAME["label"], features=["a", "b"])
        with pytest.warns(DataWarning, match="4 values interpolated: missing values in row 0"):
            (found,) = read_recordings(path, missing="interpolate")
        np.testing.assert_allclose(found.X, [[1, 1], [2, 1], [3, 2], [4, 3], [5, 3]])

    def test_missing_values_are_interpolated_linearly_in_time(self, tmp_path):
        path = write(self.FRAME.assign(t=[0.0, 1.0, 2.9, 3.0, 4.0]), tmp_path / "one.csv")
        with pytest.warns(DataWarning, match="interpolated|irregularly"):
            (found,) = read_recordings(path, missing="interpolate", time_column="t")
        np.testing.assert_allclose(found.X[:, 0], [1, 2, 3.9, 4, 5])

    def test_a_column_without_values_is_named(self, tmp_path):
        path = write(self.FRAME.assign(c=np.nan), tmp_path / "one.csv")
        with pytest.raises(DataError, match=r"column 'c' of one has no value.*ignore='c'"):
            read_recordings(path, missing="interpolate")


@pytest.mark.parametrize("name", ["=SUM(A1:A9)", "+x", "-x", "@x", "=1+1"])
def test_names_that_are_formulas_are_quoted_in_tables(name):
    assert cell(name) == f"'{name}"
    assert uncell(cell(name)) == name


@pytest.mark.parametrize("value", ["-1", "+2.5", "-1,5", "'tis", "a-b", 3, -1.0, None])
def test_numbers_and_harmless_names_are_not_quoted_in_tables(value):
    assert cell(value) == value


def test_reading_takes_time_with_the_number_of_columns(tmp_path):
    """By the least of several measurements, taken in turn."""
    paths = {}
    for n in (1000, 8000):
        row = ",".join(str(i % 7) for i in range(n))
        head = ",".join(f"c{i}" for i in range(n))
        rows = "".join(f"{row},{k // 5}\n" for k in range(10))
        paths[n] = put(tmp_path, f"{head},label\n{rows}", f"{n}.csv")
    seconds = dict.fromkeys(paths, np.inf)
    for _ in range(40):  # until both had a quiet moment
        for n, path in paths.items():
            begin = time.thread_time()
            read_recording(path)
            seconds[n] = min(seconds[n], time.thread_time() - begin)
        if seconds[8000] < 24 * seconds[1000]:  # 64 if it were the square
            return
    pytest.fail(f"{seconds}")


@pytest.mark.parametrize("minutes", [10, 15, 20, 30, 60])
def test_a_clock_that_is_put_back_is_told(tmp_path, minutes):
    times = pd.date_range(
        "2024-10-26 20:00", "2024-10-27 06:00", freq=f"{minutes}min", tz="Europe/Berlin"
    )
    rows = [f"{t:%Y-%m-%d %H:%M},{k % 7},{'ab'[k % 2]}\n" for k, t in enumerate(times)]
    path = put(tmp_path, "time,x,label\n" + "".join(rows))
    with pytest.warns(DataWarning, match="the clock is put back in autumn"):
        read_recording(path, time_column="time")


def test_columns_of_weka_have_the_names_that_are_declared_above_the_data(tmp_path):
    head = "% two gaits\n@RELATION gait\n\n@attribute speed REAL\n@attribute 'left, knee' numeric\n"
    rest = "@attribute class {walk,run}\n@DATA\n1,2,walk\n3,4,run\n"
    recording = read_recording(put(tmp_path, head + rest, "a.arff"), label_column="class")
    assert recording.features == ("speed", "left, knee")
    assert recording.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert recording.y.tolist() == ["walk", "run"]
