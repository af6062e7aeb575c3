"""Text tables in many forms: encodings, signs, headers or none."""

from itertools import product

import numpy as np
import pytest
from cases import cases

from structsvm.errors import DataError, DataWarning
from structsvm.io import read_intervals, read_recording

VALUES = np.array([1.5, -0.25, 3.0, 2.5, -4.0, 0.5, 7.25, 1.0, -2.5, 0.25, 6.0, 4.5])
STATES = np.repeat(["café", "rue"], 6)
OTHERS = [[2, 3], [0, 7, 11], [5]]
ROWS = list(zip(VALUES.tolist(), STATES.tolist(), strict=True))
DEVICE = (
    "Export 5.0\nIdentity: r3\nWeight: 212\n\n"
    + "Kind,Mean,Least,Most,Sum,Share,Rate\n"
    + "".join(f"night {k},{k}.5,0,9,{20 * k},0.5,2\n" for k in range(70))
    + "\n\nChannels:\n"
)
"""What a device may write above a table: lines of other widths, among them another table."""


def put(folder, content, name="one.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def table(sign=str, end=""):
    """A table of one column whose numbers are written by ``sign``."""
    return "label,x\n" + "".join(f"{name},{sign(value)}{end}\n" for value, name in ROWS)


@cases("0.0000", "1.0000", "0.3000", "-2.0")
def test_a_file_of_one_value_a_line_has_no_header(tmp_path, first):
    """As the .frame files of NeMo: the first of them was taken for a name."""
    path = put(tmp_path, "\n".join([first, *["0.2500", "0.7500"] * 10]), "one.frame")
    with pytest.warns(DataWarning, match="no header"):
        assert read_recording(path, need_labels=False).X[:2].ravel().tolist() == [
            float(first),
            0.25,
        ]
    named = put(tmp_path, "\n".join(["0", *["0.2500", "0.7500"] * 10]), "two.csv")
    assert read_recording(named, need_labels=False).X.shape == (20, 1)


class TestEncodings:
    @cases(*OTHERS)
    def test_lines_in_another_encoding_are_read_with_a_warning(self, tmp_path, others):
        """The whole file was read as cp1252: one state became two."""
        lines = [
            f"{value},{name}\n".encode("latin-1" if k in others else "utf-8")
            for k, (value, name) in enumerate(ROWS)
        ]
        path = put(tmp_path, b"x,label\n" + b"".join(lines))
        foreign = [k for k in others if STATES[k] == "café"]
        with pytest.warns(DataWarning, match=f"line {foreign[0] + 2}.* is no UTF-8, as others"):
            assert read_recording(path).y.tolist() == STATES.tolist()

    @cases("latin-1", "cp1252", "utf-8")
    def test_every_usual_encoding_is_read_without_a_warning(self, tmp_path, encoding):
        path = put(tmp_path, table().encode(encoding))
        assert read_recording(path).y.tolist() == STATES.tolist()

    def test_labels_of_tools_are_decoded_alike(self, tmp_path):
        rows = ["0\t5\tcafé\n".encode(), "5\t9\tcafé\n".encode("latin-1")]
        path = put(tmp_path, b"".join(rows), "one.txt")
        with pytest.warns(DataWarning, match="line 2 is no UTF-8"):
            found = read_intervals(path)["one"]
        assert [one.label for one in found] == ["café", "café"]

    @cases(
        table().encode() + bytes(200),
        table().encode().replace(b"\ncaf", b"\n" + bytes(30) + b"\ncaf", 2),
        table().encode().replace(b"\nrue", bytes(3) + b"\nrue", 1),
    )
    def test_zero_bytes_left_by_a_loss_of_power_are_skipped(self, tmp_path, content):
        path = put(tmp_path, content)
        with pytest.warns(DataWarning, match="zero bytes left out in"):
            assert read_recording(path).X.ravel().tolist() == VALUES.tolist()

    @cases(bytes(range(256)) * 4, table().encode().replace(b"rue", b"r\0ue"))
    def test_files_that_are_no_text_are_refused(self, tmp_path, content):
        with pytest.raises(DataError, match=r"cannot be read: .*no text, or damaged"):
            read_recording(put(tmp_path, content))


class TestNumbers:
    @cases(
        (lambda value: str(value).replace("-", "\u2212"), ""),
        (lambda value: str(value).replace("-", "\u2013"), ""),
        (lambda value: f"{value:.4E}".replace("E", "D"), ""),
        (lambda value: f"{value:.4e}".replace("e", "d").replace("-", "\u2212"), ""),
        (str, ";"),
        (lambda value: f"+{value}" if value > 0 else value, " ;"),
    )
    def test_other_minus_signs_and_line_ends_are_read(self, tmp_path, sign, end):
        found = read_recording(put(tmp_path, table(sign, end)))
        assert found.X.ravel().tolist() == VALUES.tolist()
        assert found.y.tolist() == STATES.tolist()

    def test_dashes_in_names_are_kept(self, tmp_path):
        names = {"café": "2\u20135 years", "rue": "A\u22121", "x": "x"}
        text = table()
        for name, other in names.items():
            text = text.replace(name, other)
        found = read_recording(put(tmp_path, text))
        assert set(found.y.tolist()) == {"2\u20135 years", "A\u22121"}

    @cases(
        ("x,place\n1,here\n2,there\n3,here\n4,there\n", "categories=['place'] makes"),
        ("x,place\n1,here\n2,5;3\n3,6;3\n4,7;3\n", None),
        ("x,place\n1,4\n2,lost\n3,5\n4,lost\n", None),
        ("x,place\n1,a\n2,b\n3,c\n4,d\n", None),
    )
    def test_categories_are_advised_only_for_columns_of_words(self, tmp_path, text, advice):
        path = put(tmp_path, text)
        with pytest.raises(DataError, match="is not a number") as caught:
            read_recording(path, need_labels=False)
        assert ("categories=" in str(caught.value)) == (advice is not None)
        if advice:
            assert advice in str(caught.value)
            read_recording(path, need_labels=False, categories=["place"])


def columns(*texts):
    """The rows of a table with a column for each text, and a label."""
    rows = zip(*texts, STATES, strict=True)
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


SCALED = [(VALUES * k).tolist() for k in (1, 2, 3, 4)]
POSES = (
    "scorer,net,net,net,net,{0}\nbodyparts,nose,nose,tail,tail,{1}\ncoords,x,y,x,y,{2}\n"
    + columns(range(12), *SCALED)
)  # fmt: skip


class TestHeaders:
    @cases(
        (POSES.format("label", "label", "label"), "nose x, nose y, tail x, tail y"),
        (POSES.format("label", "", ""), "nose x, nose y, tail x, tail y"),
        ("acc,,gyro,,label\nx,y,x,y,\n" + columns(*SCALED), "acc x, acc y, gyro x, gyro y"),
        (
            "acc,acc,gyro,gyro,label\nx,y,x,y,\ng,g,deg,deg,\n" + columns(*SCALED),
            "acc x, acc y, gyro x, gyro y",
        ),
        (
            "scorer,m,m,m,m,label\nindividuals,a,a,b,b,\nbodyparts,nose,nose,nose,nose,\n"
            "coords,x,y,x,y,\n" + columns(range(12), *SCALED),
            "a nose x, a nose y, b nose x, b nose y",
        ),
        ("left,right,label\nmm,mm,\n" + columns(*SCALED[:2]), "left, right"),
    )
    @pytest.mark.filterwarnings("ignore:the samples. 1 column left out:UserWarning")
    def test_headers_of_several_rows_are_joined(self, tmp_path, text, names):
        path = put(tmp_path, text)
        found = read_recording(path)
        kept = [name for name in found.features if "coords" not in name]
        assert ", ".join(kept) == names
        assert found.y.tolist() == STATES.tolist()
        assert text.splitlines()[found.origin.line(0) - 1].endswith(",café")

    @cases(
        ("", ",", ""),
        ("Rat 3, 100 Hz\nby Anna\n", ",", ""),
        ("Geolife trajectory\nWGS 84\n0,2,255,My Track,0,0,2,8421376\n0\n", ",", ""),
        ("", ",", ";"),
        ("", "  ", ""),
        ("# recorded by Anna\n", "\t", ""),
    )
    def test_all_rows_are_read_where_there_is_no_header(self, tmp_path, above, separator, end):
        rows = columns(*SCALED[:3]).replace(",", separator).replace("\n", f"{end}\n")
        path = put(tmp_path, above + rows)
        with pytest.warns(DataWarning, match="no header: its columns are called 'column 1'"):
            found = read_recording(path, label_column="column 4")
        np.testing.assert_array_equal(found.X, np.transpose(SCALED[:3]))
        assert found.features == ("column 1", "column 2", "column 3")
        assert found.origin.line(0) == above.count("\n") + 1

    @cases("0,1,2,label\n", "1990,1991,1992,label\n", "0.5,1.0,1.5,label\n", "a,b,c,label\n")
    def test_names_that_are_numbers_and_rise_are_a_header(self, tmp_path, header):
        found = read_recording(put(tmp_path, header + columns(*SCALED[:3])))
        assert found.features == tuple(header.split(",")[:3])

    @cases((",", 1, ""), (" ", 1, '"'), ("\t", 0, ""))
    def test_numbers_of_rows_need_no_name(self, tmp_path, separator, first, quote):
        """R writes a header without one."""
        rows = [
            f"{quote}{first + k}{quote},{row}" for k, row in enumerate(columns(*SCALED[:2]).split())
        ]
        text = "\n".join(["a,b,label", *rows, ""]).replace(",", separator)
        found = read_recording(put(tmp_path, text, "one.txt"))
        np.testing.assert_array_equal(found.X, np.transpose(SCALED[:2]))
        assert (found.features, found.y.tolist()) == (("a", "b"), STATES.tolist())
        assert found.origin.line(0) == 2

    def test_a_last_column_without_a_name_is_refused(self, tmp_path):
        with pytest.raises(DataError, match="cannot be read"):
            read_recording(put(tmp_path, "a,b\n" + columns(*SCALED[:2])), label_column=None)

    @cases(
        "# OpenSignals Text File Format\n# EndOfHeader\n0\t0.126\t0.252\t\n",
        "Interval=\t0.001 s\n0\t0.126\t0.252\t\n",
        "",
    )
    def test_a_first_row_that_rises_by_chance_is_a_sample(self, tmp_path, above):
        """It was taken for a header, because its numbers rise as names that count columns do."""
        rows = "".join(f"{k + 1}\t{v}\t{2 * v}\t\n" for k, v in enumerate(VALUES))
        path = put(tmp_path, (above or "0\t0.126\t0.7\t\n") + rows, "one.txt")
        with pytest.warns(DataWarning, match="no header"):
            found = read_recording(path, need_labels=False)
        assert found.X.shape == (13, 3)

    @cases(
        ("% x y label\n", "  "),
        ("%x,y,label\n", ","),
        ("ExcelDateTime=,4.4e4,1/1/2020\nTop=,10\nx,y,label\nRange=,10 V,\n", ","),
    )
    def test_headers_are_found_below_lines_that_instruments_write(self, tmp_path, above, separator):
        text = above + columns(*SCALED[:2]).replace(",", separator)
        found = read_recording(put(tmp_path, text))
        assert [name.strip("%") for name in found.features] == ["x", "y"]
        assert found.X.shape == (12, 2)

    @cases(",", ";", "\t")
    def test_what_a_device_writes_above_its_table_is_left_out(self, tmp_path, separator):
        """A table of other statistics stands there, too; rows end with a mark, but for the last."""
        rows = columns(*SCALED[:2]).rstrip().replace("\n", ",\n")
        text = DEVICE + ("x,y,label,\n" + rows).replace(",", separator)
        found = read_recording(put(tmp_path, text))
        assert found.features == ("x", "y")
        assert found.y.tolist() == STATES.tolist()
        assert found.origin.line(0) == DEVICE.count("\n") + 2
        assert "(75 in all) left out" in str(found.origin.format)

    @cases("1544027337.000000", "2018-12-05 16:28:57")
    def test_a_time_and_a_rate_above_all_values_are_no_samples(self, tmp_path, start):
        """As devices of Empatica write them, in each column."""
        samples = "".join(f"{-k},{60 + k % 3}\n" for k in range(20))
        path = put(tmp_path, f"{start}, {start}\n32.000000, 32.000000\n" + samples)
        if "-" in start:  # words, which are names of columns that are called alike
            with pytest.raises(DataError):
                read_recording(path, need_labels=False)
            return
        with pytest.warns(DataWarning, match="no header"):
            found = read_recording(path, need_labels=False)
        assert found.X.shape == (20, 2)
        assert str(found.origin.format) == "line 1, 2 left out"

    @cases(*product(("", "Serial: 1\n\n", DEVICE), ",;"))
    def test_marks_that_end_rows_alone_are_no_column(self, tmp_path, above, separator):
        """A first column that counts was taken for the row numbers of R: all names moved by one."""
        rows = "".join(f"{k},{v},{name},\n" for k, (v, name) in enumerate(ROWS))
        path = put(tmp_path, above + ("x,y,label\n" + rows).replace(",", separator))
        found = read_recording(path)
        assert found.features == ("x", "y")
        np.testing.assert_array_equal(found.X, np.column_stack([range(12), VALUES]))
        assert found.y.tolist() == STATES.tolist()

    def test_a_line_of_too_many_columns_is_named(self, tmp_path):
        path = put(tmp_path, "x,y,label\n1,2,rest\n3,4,5,rest\n5,6,walk\n")
        with pytest.raises(DataError, match=r"line 3 has 4 columns, .* have 3: .*skip_lines=\[3\]"):
            read_recording(path)

    @cases(5, 100, 600)
    def test_a_table_below_another_one_is_refused(self, tmp_path, n):
        many = "".join(f"{k}.5,1,2,3,4\n" for k in range(n))
        path = put(tmp_path, "a,b,c,d,e\n" + many + "x,y,label\n" + columns(*SCALED[:2]))
        with pytest.raises(DataError):
            read_recording(path, label_column="e")

    def test_thin_and_hard_spaces_are_read_as_blanks(self, tmp_path):
        text = columns(*SCALED[:2]).replace(",-", ",\u2009\u2212").replace(",r", ",\u00a0r")
        found = read_recording(put(tmp_path, "a,b,label\n" + text))
        np.testing.assert_array_equal(found.X, np.transpose(SCALED[:2]))
        assert found.y.tolist() == STATES.tolist()


# ---- all of these together: a table is read as it was meant, or refused, and never read as another

CHOICES = {
    "encoding": ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "of lines"),
    "separator": (",", ";", "\t", "  "),
    "decimal": (".", ","),
    "header": ("one row", "two rows", "none", "without the index"),
    "above": ("", "# Anna\n", "% 100 Hz\n", "Rat 3\n\n", "Rat 3\nby Anna\ntwice\n", DEVICE),
    "units": (False, True),
    "minus": ("-", "\u2212", "\u2013"),
    "exponent": ("e", "E", "D"),
    "closing": ("", ";"),
    "end": ("\n", "\r\n", "\r"),
    "zeros": (0, 0, 40),
}


def form(rng):
    """A way to write a table that its readers could understand."""
    way = {name: values[rng.integers(len(values))] for name, values in CHOICES.items()}
    if way["separator"] == "," or way["header"] in ("none", "without the index"):
        way["decimal"] = "."
    if way["separator"] == ";":
        way["closing"] = ""
    if way["separator"] == "  ":
        way |= {"units": False, "header": "one row" if way["header"] == "two rows" else "none"}
    if way["encoding"].startswith("utf-16"):
        way["zeros"] = 0
    if way["encoding"] in ("cp1252", "of lines") and way["minus"] == "\u2212":
        way["minus"] = "\u2013"
    return way


def write(way, X, y):
    """The bytes of a table of three columns and labels."""

    def number(value):
        text = f"{value:.5e}".replace("e", way["exponent"]).replace("-", way["minus"])
        return text.replace(".", way["decimal"])

    rows = [[*map(number, row), label] for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    if way["header"] == "without the index":
        rows = [[str(k + 1), *row] for k, row in enumerate(rows)]
    lines = {"two rows": ["acc,acc,heat,label", "x,y,x,"], "none": []}
    head = [row.split(",") for row in lines.get(way["header"], ["a,b,c,label"])]
    if way["units"] and way["header"] == "one row":
        head.append(["g", "g", "deg", ""])
    texts = [way["separator"].join(row) + way["closing"] for row in [*head, *rows]]
    text = (way["above"] + "\n".join([*texts, ""])).replace("\n", way["end"])
    if way["encoding"] != "of lines":
        return text.encode(way["encoding"]) + bytes(way["zeros"])
    codes = ("utf-8", "cp1252")
    encoded = (line.encode(codes[k % 7 == 0]) for k, line in enumerate(text.splitlines(True)))
    return b"".join(encoded) + bytes(way["zeros"])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_form_of_a_table_is_read_as_another(tmp_path, seed):
    rng = np.random.default_rng(seed)
    refused = 0
    y = np.repeat(["café", "größe"], 15)
    for _ in range(50):
        way = form(rng)
        X = rng.normal(size=(30, 3)).round(3)
        X *= 10.0 ** rng.integers(-3, 4, size=3)
        path = put(tmp_path, write(way, X, y), "one.txt")
        label = "column 4" if way["header"] == "none" else "label"
        try:
            found = read_recording(path, label_column=label)
        except DataError:
            refused += 1
            continue
        np.testing.assert_allclose(found.X, X, rtol=1e-5, err_msg=str(way))
        assert found.y.tolist() == y.tolist(), way
    assert refused <= 3
