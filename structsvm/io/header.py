"""The header of a table: its rows of names, those of units below, and the lines above."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, product, starmap, takewhile

from structsvm.support import is_number_text

MISSING_WORDS = {
    *("", "-", "--", "---", "\u2013", "\u2014", "\u2212", "?", ".", "*"),
    *("na", "n.a.", "n/a", "nan", "nd", "n.d.", "none"),
    "kz",  # no number, in German
    *("null", "nil", "missing", "unknown", "invalid", "#n/a", "#na", "#null!", "#value!"),
    *("#div/0!", "#num!", "#ref!", "1.#qnan", "-1.#ind", "<na>", "nat"),
}
"""Words that stand for a missing value in a column of numbers, in lower case."""
ROWS_OF_UNITS = (1, 2, 3)  # possible numbers of rows of words below the first row of a header
ROW_NUMBERS = "Unnamed: 0"  # the name of the column of row numbers that pandas writes
SINCE_1970 = 1e9  # seconds from 1970 until 2001: larger numbers of a device are times
COUNTING_STEPS = 1.01  # numbers count if their largest step is at most so many smallest ones


@dataclass(frozen=True)
class Layout:
    """The header of a table, and lines that are no rows, by their numbers from 1."""

    left_out: Sequence[int] = ()
    """Lines of a title above the header, of units below it, or above rows without a header."""
    below: Sequence[int] = ()  # further lines of the header
    names: tuple[str, ...] = ()  # names of the columns, if they are not a row of the table
    has_header: bool = True


def layout_of(head: Sequence[tuple[int, Sequence[str]]]) -> Layout:
    """Find the header of a table in its first lines, the lines above it and the units below.

    The header holds no number; a title above it has fewer cells; all rows below are as wide as it,
    and at least one column has numbers.
    """
    numbers, rows = zip(*head, strict=True) if head else ((), ())
    for h, header in enumerate(rows):
        above = rows[:h]
        below = rows[h + 1 :]
        is_header = not any(map(is_number_text, header))
        if is_header and _lacks_name_of_index(header, below):
            bare = (cell.strip().strip('"') for cell in header)
            return Layout(numbers[:h], (), (ROW_NUMBERS, *bare))
        if any(len(row) != len(header) for row in below):
            continue
        n_words = is_header * _count_words(below)
        names, n_names = _joined([[cell.strip() for cell in row] for row in rows[h:]], n_words)
        unnamed = [j for j, name in enumerate(names) if j and not name]  # the first may be an index
        if any(row[j].strip() for row, j in product(below[n_names - 1 :], unnamed)):
            continue
        body = below[max(ROWS_OF_UNITS) :] or below
        is_table = any(map(are_numbers, zip(*body, strict=True)))
        widest = max((sum(map(bool, row)) for row in above), default=0)
        if above and not (is_header and is_table and widest <= sum(map(bool, names))):
            continue
        if not is_header and _are_values(rows[h:]):
            break
        first = h + n_names
        last = h + 1 + n_words
        left_out = [*numbers[:h], *numbers[first:last]]
        return Layout(left_out, numbers[h + 1 : first], names if n_names > 1 else ())
    return _without_header(numbers, rows)


def _lacks_name_of_index(header: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether rows have one cell more than the header, their number in front, as R writes them."""
    if min(len(header), len(below)) < 2 or {*map(len, below)} != {len(header) + 1}:
        return False
    if are_closed(below):  # the number is the first of the columns
        return False
    cells = [row[0].strip('"') for row in below]
    first = int(cells[0]) if cells[0].isdigit() else 0
    return cells == [str(first + k) for k in range(len(cells))]


def are_closed(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows end with a mark after the last value."""
    return not any(row[-1].strip() for row in rows)


def _count_words(below: Sequence[Sequence[str]]) -> int:
    """How many rows below a header hold words in columns whose other cells are numbers."""
    n_words = 0
    for k in ROWS_OF_UNITS:
        if all(_are_units([row, *below[k:]]) for row in below[:k]) and len(below) > k:
            n_words = k
    return n_words


def _joined(rows: Sequence[Sequence[str]], n_words: int) -> tuple[tuple[str, ...], int]:
    """The names of the columns, joined of the fewest rows in which all differ; and these rows.

    A blank cell above another one has the words of the cell at its left, as merged cells do. Rows
    that are not needed to tell columns apart, such as that of a scorer, are in no name.
    """
    first = tuple(rows[0])
    for n in range(2, n_words + 2):
        block = [_filled(row, rows[n - 1]) for row in rows[: n - 1]] + [rows[n - 1]]
        whole = _together(block)
        is_title = not all(first) and _are_different(_together(block[1:]))
        if is_title or len(set(block[0])) == len(first):
            break
        if not _are_different(whole):
            continue
        while len(block) > 1:
            fewer = _together(block[1:])
            names = tuple(few or name for few, name in zip(fewer, whole, strict=True))
            if not _are_different(names):
                break
            whole = names
            block = block[1:]
        return whole, n
    return first, 1


def _filled(row: Sequence[str], below: Sequence[str]) -> list[str]:
    """A row of a header whose blank cells above others repeat the cell at their left."""
    names = list[str]()
    for cell, lower in zip(row, below, strict=True):
        names.append(names[-1] if names and lower and not cell else cell)
    return names


def _together(block: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names of columns whose words stand in several rows."""
    columns = zip(*block, strict=True)
    return tuple(" ".join(dict.fromkeys(filter(None, cells))) for cells in columns)


def _are_different(names: Sequence[str]) -> bool:
    return len({*names}) == len(names) and all(names[1:])


def _without_header(numbers: Sequence[int], rows: Sequence[Sequence[str]]) -> Layout:
    """The layout of a table without a header: its columns are numbered, its rows equally wide."""
    if not rows:
        return Layout()
    width = len(rows[-1])
    first = len(rows) - sum(1 for _ in takewhile(lambda row: len(row) == width, reversed(rows)))
    body = rows[first:]
    may_be_header = first > 0 and len(rows[first - 1]) + 1 >= width
    if may_be_header or not _are_values(body) or 2 * len(body) < len(rows):
        return Layout()
    names = tuple(f"column {j + 1}" for j in range(width))
    first += 2 * _begin_with_time_and_rate(body)
    return Layout(numbers[:first], (), names, has_header=False)


def _begin_with_time_and_rate(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a start and a rate stand above the samples, the same number in each column."""
    times, rates, *samples = rows if len(rows) > 2 else ((), ())
    cells = [cell for cell in chain(times, rates, *samples) if is_number_text(cell)]
    are_one = len({*times}) == len({*rates}) == 1
    if not (are_one and {times[0], rates[0]} <= {*cells}):
        return False
    return all((_number(cell) >= SINCE_1970) == (cell == times[0]) for cell in cells)


def _are_values(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row holds values as the others do, and no names of columns."""
    first, *others = rows
    numeric = list[tuple[str, Sequence[str]]]()
    for cell, column in zip(first, zip(*others, strict=True), strict=True) if others else ():
        if are_numbers(column):
            numeric.append((cell, column))
        elif cell.strip() and cell.strip() in map(str.strip, column):
            return all(is_number_text(cell) for cell, _ in numeric)
    if not numeric or not all(is_number_text(cell) for cell, _ in numeric):
        return False
    values = [_number(cell) for cell, _ in numeric]
    steps = [b - a for a, b in pairwise(values)]
    if not steps:
        return not numeric[0][0].strip().removeprefix("-").isdigit()  # decimals make it a value
    if min(steps) <= 0:
        return True
    is_even = max(steps) <= COUNTING_STEPS * min(steps)
    if is_even and all(value == round(value) for value in values):
        return False
    if any(starmap(_continues, numeric)):
        return True
    return not is_even and 2 * sum(starmap(_is_within, numeric)) >= len(numeric)


def _number(cell: str) -> float:
    return float(cell.replace(",", "."))


def _numbers(column: Sequence[str]) -> list[float]:
    """The numbers in a column of cells, without missing ones."""
    return [_number(cell) for cell in column if cell.strip().lower() not in MISSING_WORDS]


def _is_within(cell: str, column: Sequence[str]) -> bool:
    """Whether a number is in the range of those of a column."""
    numbers = _numbers(column)
    return min(numbers) <= _number(cell) <= max(numbers)


def _continues(cell: str, column: Sequence[str]) -> bool:
    """Whether a column goes on counting from a cell above it."""
    values = [_number(cell), *_numbers(column)]
    steps = [b - a for a, b in pairwise(values)]
    return len(steps) > 2 and min(steps) > 0 and max(steps) <= COUNTING_STEPS * min(steps)


def _are_units(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row holds words, and no number, where all other rows hold numbers."""
    has_words = False
    for first, *others in zip(*rows, strict=True) if len(rows) > 2 else ():
        if are_numbers(others):
            if is_number_text(first):
                return False
            has_words = has_words or first.strip().lower() not in MISSING_WORDS
    return has_words


def are_numbers(column: Sequence[str]) -> bool:
    """Whether a column of cells holds numbers, and otherwise only missing values."""
    cells = [cell for cell in column if cell.strip().lower() not in MISSING_WORDS]
    return bool(cells) and all(map(is_number_text, cells))
