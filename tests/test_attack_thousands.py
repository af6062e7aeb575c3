"""What may stand between thousands is not taken for a decimal mark without a word."""

import pytest

from structsvm.errors import DataError
from structsvm.io import read_recording


def table(folder, separator, values):
    path = folder / "sales.csv"
    rows = [f'"{value}"{separator}{i % 2}' for i, value in enumerate(values)]
    path.write_text("\n".join([f"x{separator}label", *rows]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("separator", "values"),
    [
        (",", ("998", "1,002", "999", "0", "1,001")),
        (";", ("998", "1,002")),
        (";", ("998", "1.002", "-1.000")),
    ],
)
def test_thousands_beside_smaller_numbers(tmp_path, separator, values):
    mark = "," if "1,002" in values else "."
    with pytest.raises(DataError, match=f"'1{mark}002' stands beside '998' .* decimal='{mark}'"):
        read_recording(table(tmp_path, separator, values))


def test_thousands_come_late(tmp_path):
    """A count that grows to 1.002 after many rows was 1.002 there."""
    values = [f"{n:,}".replace(",", ".") for n in range(900, 1100)]
    with pytest.raises(DataError, match=r"'1\.000' stands beside '900' .* decimal='\.'"):
        read_recording(table(tmp_path, ";", values))


@pytest.mark.parametrize(
    ("separator", "values", "expected"),
    [
        (";", ("1,125", "2,25", "3"), [1.125, 2.25, 3]),
        (";", ("0", "1,125", "0,500"), [0, 1.125, 0.5]),
        (";", ("1,125", "2,250"), [1.125, 2.25]),
        (";", ("1.125", "2.25", "3"), [1.125, 2.25, 3]),
        (",", ("1.125", "3"), [1.125, 3]),
        (";", ("1,125", "1200"), [1.125, 1200]),
    ],
)
def test_decimals_are_read_as_they_were(tmp_path, separator, values, expected):
    assert read_recording(table(tmp_path, separator, values)).X[:, 0].tolist() == expected


def test_commas_that_come_late_are_named(tmp_path):
    path = table(tmp_path, ";", [*map(str, range(60)), "1,5"])
    with pytest.raises(DataError, match=r"'1,5' is not a number, .* say decimal=','"):
        read_recording(path)
    assert read_recording(table(tmp_path, ";", ["1", "1,5"])).X.max() == 1.5
