"""Tables as other programs write them: separators, decimal commas, encodings, compression."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.io import read_recording, read_recordings

ROWS = [[1.5, -2.0, "rest"], [2.25, 0.5, "rest"], [9.0, 1e-3, "walk"]]
X = np.array([row[:2] for row in ROWS])


def written(path, separator=",", decimal=".", encoding="utf-8", names=("größe", "b", "label")):
    lines = [separator.join(names)]
    for a, b, label in ROWS:
        numbers = [f"{value:.4f}".replace(".", decimal) for value in (a, b)]
        lines.append(separator.join([*numbers, label]))
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode(encoding))
    return path


class TestWhatIsFoundOut:
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    @pytest.mark.parametrize(
        ("separator", "decimal"),
        [(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", ","), ("  ", ".")],
    )
    def test_every_way_gives_the_same_recording(self, tmp_path, separator, decimal, encoding):
        file = written(tmp_path / "one.csv", separator, decimal, encoding)
        (found,) = read_recordings(file)
        np.testing.assert_array_equal(found.X, X)
        assert found.features == ("größe", "b")
        assert found.y.tolist() == ["rest", "rest", "walk"]

    def test_quoted_numbers_with_commas(self, tmp_path):
        (tmp_path / "one.csv").write_text('a,label\n"1,5",x\n"2,5",y\n')
        assert read_recordings(tmp_path)[0].X.tolist() == [[1.5], [2.5]]

    def test_a_point_anywhere_says_that_commas_are_none(self, tmp_path):
        (tmp_path / "one.csv").write_text("a;b;label\n1,5;2.5;x\n2,5;3.5;y\n")
        with pytest.raises(DataError, match="'1,5' is not a number"):
            read_recordings(tmp_path)

    def test_one_column_stays_one(self, tmp_path):
        (tmp_path / "one.csv").write_text("body weight\n1\n2\n")
        (found,) = read_recordings(tmp_path, need_labels=False)
        assert found.features == ("body weight",)

    def test_what_was_found_is_told(self, tmp_path):
        usual = read_recording(written(tmp_path / "a.csv"))
        odd = read_recording(written(tmp_path / "b.csv", ";", ",", "cp1252"))
        assert str(usual.origin.format) == ""
        assert str(odd.origin.format) == (
            "';' between columns, ',' as the decimal mark, the encoding cp1252"
        )


class TestWhatIsSaid:
    def test_it_goes_before_what_would_be_found(self, tmp_path):
        (tmp_path / "one.csv").write_text("a;label\n1,250;x\n2,500;y\n")
        assert read_recordings(tmp_path)[0].X.tolist() == [[1.25], [2.5]]
        with pytest.raises(DataError, match="'1,250' is not a number"):
            read_recordings(tmp_path, decimal=".")
        with pytest.raises(DataError, match=r"no column 'label'.*separator= names another"):
            read_recordings(tmp_path, separator="|")

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"separator": "ab"}, "separator must be one letter"),
            ({"decimal": "x"}, "decimal must be '.' or ','"),
            ({"decimal": ",", "separator": ","}, "cannot be decimal mark and separator at once"),
        ],
    )
    def test_what_no_file_can_have(self, tmp_path, given, message):
        with pytest.raises(SettingsError, match=message):
            read_recordings(written(tmp_path / "one.csv"), **given)


class TestCompression:
    def packed(self, folder):
        plain = written(folder / "plain.csv", ";", ",")
        content = plain.read_bytes()
        for module, suffix in ((gzip, "gz"), (bz2, "bz2"), (lzma, "xz")):
            with module.open(folder / f"{suffix}.csv.{suffix}", "wb") as file:
                file.write(content)
        with zipfile.ZipFile(folder / "zip.csv.zip", "w") as archive:
            archive.writestr("inside.csv", content)
        return folder

    def test_all_are_read(self, tmp_path):
        found = read_recordings(self.packed(tmp_path))
        assert [r.name for r in found] == ["bz2", "gz", "plain", "xz", "zip"]
        for recording in found:
            np.testing.assert_array_equal(recording.X, X)

    def test_archives_of_several_files(self, tmp_path):
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

    def test_damaged(self, tmp_path):
        (tmp_path / "one.csv.gz").write_bytes(gzip.compress(b"a,label\n1,0\n")[:-9])
        with pytest.raises(DataError, match=r"one.csv.gz: cannot be read"):
            read_recordings(tmp_path)


class TestExcel:
    def book(self, path, *sheets):
        frame = pd.DataFrame(ROWS, columns=["a", "b", "label"])
        with pd.ExcelWriter(path, engine="openpyxl") as writer:
            for sheet in sheets:
                frame.to_excel(writer, sheet_name=sheet, index=False)
        return path

    def test_a_sheet(self, tmp_path):
        (found,) = read_recordings(self.book(tmp_path / "one.xlsx", "data"))
        np.testing.assert_array_equal(found.X, X)
        assert found.y.tolist() == ["rest", "rest", "walk"]

    def test_further_sheets_are_named(self, tmp_path):
        self.book(tmp_path / "one.xlsx", "data", "notes")
        with pytest.warns(DataWarning, match="'notes' the first is read; save the others"):
            read_recordings(tmp_path)


class TestColumns:
    def test_columns_of_one_name_are_refused(self, tmp_path):
        (tmp_path / "one.csv").write_text("a,b,a,label\n1,2,3,0\n1,2,3,1\n")
        with pytest.raises(DataError, match="need different names, repeated: 'a'"):
            read_recordings(tmp_path)

    def test_words_are_named_with_the_way_out(self, tmp_path):
        (tmp_path / "one.csv").write_text(
            "a,place,the weather,label\n1,x,sun,0\n2,y,rain,0\n3,y,rain,1\n"
        )
        with pytest.raises(DataError) as raised:
            read_recordings(tmp_path)
        said = str(raised.value)
        assert "'x' is not a number, row 0 (line 2), column 'place'" in said
        assert "there are words in 'the weather'" in said
        assert "ignore=['place', 'the weather'] leaves it out" in said
        (found,) = read_recordings(tmp_path, ignore=["place", "the weather"])
        assert found.features == ("a",)
        (found,) = read_recordings(tmp_path, features=["a"])
        assert found.features == ("a",)

    @pytest.mark.parametrize("kind", ["csv", "npz"])
    def test_columns_that_are_not_there(self, tmp_path, kind):
        path = tmp_path / f"one.{kind}"
        if kind == "csv":
            path.write_text("a,b,label\n1,2,0\n2,3,1\n")
        else:
            np.savez(path, X=np.array([[1, 2], [2, 3]]), y=[0, 1], features=["a", "b"])
        for option in ("features", "ignore"):
            with pytest.raises(DataError, match=f"{option} names 'c', which it has no column of"):
                read_recordings(path, **{option: ["c"]})
        assert read_recordings(path, ignore=["a"])[0].X.tolist() == [[2], [3]]


class TestMissingValues:
    def frame(self):
        values = {"a": [1.0, np.nan, np.nan, 4.0, 5.0], "b": [np.nan, 1.0, 2.0, 3.0, np.nan]}
        return pd.DataFrame({**values, "label": [0, 0, 1, 1, 1]})

    def test_every_block_is_named(self, tmp_path):
        self.frame().to_csv(tmp_path / "one.csv", index=False)
        with pytest.raises(DataError) as raised:
            read_recordings(tmp_path)
        assert (
            "missing values in row 0 (line 2), column 'b'; rows 1 to 2 (lines 3 to 4), column 'a'; "
            "row 4 (line 6), column 'b'; interpolate with missing='interpolate'"
            in str(raised.value)
        )

    @pytest.mark.parametrize("kind", ["csv", "npz"])
    def test_interpolation(self, tmp_path, kind):
        frame, path = self.frame(), tmp_path / f"one.{kind}"
        if kind == "csv":
            frame.to_csv(path, index=False)
        else:
            np.savez(path, X=frame[["a", "b"]], y=frame["label"], features=["a", "b"])
        with pytest.warns(DataWarning, match="4 values interpolated: missing values in row 0"):
            (found,) = read_recordings(path, missing="interpolate")
        np.testing.assert_allclose(found.X, [[1, 1], [2, 1], [3, 2], [4, 3], [5, 3]])

    def test_it_is_linear_in_time(self, tmp_path):
        frame = self.frame().assign(t=[0.0, 1.0, 2.9, 3.0, 4.0])
        frame.to_csv(tmp_path / "one.csv", index=False)
        with pytest.warns(DataWarning, match="interpolated|irregularly"):
            (found,) = read_recordings(tmp_path, missing="interpolate", time_column="t")
        np.testing.assert_allclose(found.X[:, 0], [1, 2, 3.9, 4, 5])

    def test_an_empty_column_is_named(self, tmp_path):
        self.frame().assign(c=np.nan).to_csv(tmp_path / "one.csv", index=False)
        with pytest.raises(DataError, match=r"column 'c' of one has no value.*ignore='c'"):
            read_recordings(tmp_path, missing="interpolate")


TABLE = "x,y,label\n1.5,0,a\n2.5,0,b\n3.5,1,b\n"


def plain(folder, text):
    path = folder / "one.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "# Anna, 3 rats, 100 Hz\n#\n" + TABLE,
        "# " + TABLE,  # as numpy.savetxt writes a header
        TABLE + "# end of file\n",
        TABLE.replace("2.5", "# cable out\n2.5"),
        "#fs=100\r\n" + TABLE.replace("\n", "\r\n"),
    ],
)
def test_comments_are_no_rows(tmp_path, text):
    (found,) = read_recordings(plain(tmp_path, text))
    assert found.features == ("x", "y")
    assert found.X.tolist() == [[1.5, 0], [2.5, 0], [3.5, 1]]
    assert text.splitlines()[found.origin.line(2) - 1] == "3.5,1,b"


def test_a_number_sign_of_the_table_is_kept(tmp_path):
    (found,) = read_recordings(plain(tmp_path, "#,label\n1,#a\n2,b\n"))
    assert found.features == ("#",)
    assert found.y.tolist() == ["#a", "b"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (TABLE.replace("\n", "\n(g),(g),\n", 1), [2]),
        ("Rat 3; EEG\n\n" + TABLE, [1]),
        ("Rat 3,,\n" + TABLE, [1]),
        ("Rat 3\nby,Anna\n" + TABLE, [1, 2]),
        (TABLE.replace(",", ";").replace(".", ",").replace("\n", "\nm/s;m/s;\n", 1), [2]),
    ],
)
def test_lines_that_are_no_rows_are_skipped_when_they_are_named(tmp_path, text, lines):
    path = plain(tmp_path, text)
    with pytest.raises(DataError, match=r"skip_lines=\[[12]"):
        read_recordings(path)
    (found,) = read_recordings(path, skip_lines=lines)
    assert found.X.tolist() == [[1.5, 0], [2.5, 0], [3.5, 1]]
    assert text.splitlines()[found.origin.line(0) - 1] in ("1.5,0,a", "1,5;0;a")


def test_only_the_word_of_a_column_with_decimal_commas_is_called_one(tmp_path):
    path = plain(tmp_path, "x;label\n1,5;a\nk.A.;a\n2,5;b\n")
    with pytest.raises(DataError, match=r"'k\.A\.' is not a number, row 1 .* missing value, leave"):
        read_recordings(path)


def test_what_mac_and_excel_put_beside_a_table_is_none(tmp_path):
    with zipfile.ZipFile(tmp_path / "one.csv.zip", "w") as archive:
        archive.writestr("one.csv", TABLE)
        archive.writestr("__MACOSX/._one.csv", b"\0\5\x16\7")
    (tmp_path / "~$two.xlsx").write_bytes(b"of an open workbook")
    german = TABLE.replace(",", ";").replace(".", ",")
    (tmp_path / "two.csv").write_text(f"sep=;\n{german}")
    for found in read_recordings(tmp_path):
        assert found.X.tolist() == [[1.5, 0], [2.5, 0], [3.5, 1]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("header", ["a,b,label ", " a ,b, label", "a,b,label\xa0"])
def test_blanks_after_the_last_name_are_no_part_of_it(tmp_path, header, end):
    """The last column is where most tables have their labels, and it was not found."""
    rows = [header, *("1,2,rest", "1,3,rest ", "4,2,walk", "4,3,walk")]
    (tmp_path / "a.csv").write_bytes(end.join([*rows, ""]).encode())
    (recording,) = read_recordings(tmp_path / "a.csv")
    assert recording.features == ("a", "b")
    assert recording.X[:, 1].tolist() == [2, 3, 2, 3]
    assert list(recording.y) == ["rest", "rest", "walk", "walk"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_rows_of_separators_at_the_end_are_no_samples(tmp_path, separator, end):
    """Excel writes them for cells that were once used; they were refused for having no time."""
    rows = ["t,a,label", "0,1.5,x", "1,2.5,x", "2,3.5,z", ",,", ", ,", ",,"]
    content = end.join([*rows, ""]).replace(",", separator)
    (tmp_path / "a.csv").write_bytes(content.encode())
    (recording,) = read_recordings(tmp_path / "a.csv", time_column="t")
    assert recording.X.tolist() == [[1.5], [2.5], [3.5]]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("1,x\n,\n3,z\n", r"no label, row 1 \(line 3\)"),
        ("1,x\n,z\n,\n", r"row 1 \(line 3\), .* 'a'"),
    ],
)
def test_other_blank_cells_are_refused_as_before(tmp_path, rows, told):
    (tmp_path / "a.csv").write_text(f"a,label\n{rows}")
    with pytest.raises(DataError, match=told):
        read_recordings(tmp_path / "a.csv")
