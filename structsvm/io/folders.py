"""The files of a folder that are recordings, and those that are something else."""

import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from fnmatch import fnmatch
from itertools import chain, product, takewhile
from os import PathLike
from pathlib import Path

from structsvm.data import tells_which
from structsvm.errors import DataError, printable
from structsvm.graphs.label_maps import IMAGE_KINDS as PICTURES
from structsvm.io.convert import OTHERS, WFDB, advice_on, line_for
from structsvm.io.intervals import is_of_each_folder, label_files
from structsvm.io.label_file import columns_in
from structsvm.io.label_files import is_of_a_tool
from structsvm.io.media import MEDIA
from structsvm.io.sniff import (
    EXCEL,
    TEXT_KINDS,
    first_line,
    first_rows,
    holds_table,
    kind_of,
    stem_of,
)
from structsvm.support import is_number_text, some_of, spelled

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
TABLE_KINDS = (".npz", ".parquet", *TEXT_KINDS, *EXCEL)  # texts may be compressed
RECORDING_KINDS = (*TABLE_KINDS, *MEDIA)
"""Kinds of files of recordings; in a folder with tables, sound and films are not read."""
PROSE = ".txt"
"""A kind that may be prose: it is read if it is named, or if a folder holds no other tables."""
PREDICTIONS = ("_segments", "_clusters")  # ends of the names of tables of predictions
NUMBER_OF_TABLE = re.compile(r"_\d+$")
"""The end of the name of a table, if several are made of one file."""
HIDDEN = (".", "~$")  # beginnings of the names of hidden files, and of open workbooks
NO_RECORDINGS = ("index.csv", "readme.txt")  # unless a folder has no other files
MODEL_NAME, PREDICTED, TRIED_NAME = "model.structsvm", "predicted", "tried.npz"
READ, ANSWER = "read.txt", "answer.json"
"""Names of the outputs of ``structsvm try``: a model, and beside it a folder and files: what was
tried, the files that were read, if there was no time for all, and what was told."""
BESIDE_MODEL = (PREDICTED, TRIED_NAME, READ, ANSWER)


def find_recordings(
    paths: Paths, *, labels: str | PathLike[str] | None = None
) -> tuple[dict[Path, str], list[Path]]:
    """Return the files of recordings with their names, and the files that are skipped."""
    paths = [paths] if isinstance(paths, str | PathLike) else paths
    files: dict[Path, Path] = {}
    skipped: list[Path] = []
    folders: list[Path] = []
    apart = set() if labels is None else {file.resolve() for file in label_files(Path(labels))}
    pattern = Path(labels).name if labels and is_of_each_folder(Path(labels)) else ""
    for path in map(Path, paths):
        is_folder = os.path.isdir(path)
        inside, others = search(path, apart, pattern) if is_folder else ([checked_path(path)], [])
        skipped += others
        folders.append(Path(os.path.abspath(path if is_folder else path.parent)))
        for file in inside:
            files.setdefault(file.resolve(), file)
    if not files:
        raise DataError("no recordings were given: name files or folders")
    full = [Path(os.path.abspath(file)) for file in files.values()]  # links keep their own names
    bare = [path.with_name(stem_of(path)) for path in full]
    depth = len(shared(folders))
    names = ["/".join(p.parts[depth:]) for p in (bare if len({*bare}) == len(bare) else full)]
    names = [spelled(printable(name)) for name in names]
    return dict(zip(files.values(), names, strict=True)), skipped


def shared(folders: Iterable[Path]) -> tuple[str, ...]:
    """The parts that all paths begin with."""
    levels = zip(*(folder.parts for folder in folders), strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len({*level}) == 1, levels))


def predictions_among(files: Iterable[Path]) -> list[Path]:
    """The tables of predictions, which are named after another of the files."""
    stems = {path: stem_of(path) for path in files}
    made = {f"{stem}{end}" for stem, end in product(stems.values(), PREDICTIONS)}
    return [path for path, stem in stems.items() if stem in made]


def checked_path(path: Path) -> Path:
    """The path of a file, if it exists and may hold a recording; refuse any other."""
    # os.path.exists is False for a name that is too long; Path.exists raises
    if not os.path.exists(path) or path.is_dir():
        raise DataError(f"{path}: no such file or folder")
    if kind_of(path) not in RECORDING_KINDS and not holds_table(path):
        raise DataError(f"{path} is {advice_on(path, TABLE_KINDS)}")
    return path


def _below(folder: Path, above: Set[str] = frozenset()) -> Iterator[Path]:
    """The files of a folder and below by name, without hidden ones and those of ``try``."""
    above = {*above, os.path.realpath(folder)}
    made = BESIDE_MODEL if (folder / MODEL_NAME).exists() else ()
    for path in sorted(folder.iterdir()):
        if path.name.startswith(HIDDEN) or path.name in made:
            continue
        if not path.is_dir() or os.path.realpath(path) in above:
            yield path
        else:
            yield from _below(path, above)


def search(folder: Path, apart: Set[Path], pattern: str) -> tuple[list[Path], list[Path]]:
    """The recordings in a folder and below, by name, and other files, but for those of labels."""
    files = [
        path
        for path in _below(folder)
        if not fnmatch(path.name, pattern) and (not apart or path.resolve() not in apart)
    ]
    chosen = _of_one_kind(files)
    made = {*predictions_among(chosen)}
    chosen = [path for path in chosen if path not in made]
    chosen = [path for path in chosen if path.name.lower() not in NO_RECORDINGS] or chosen
    beside = _tables_beside(chosen)
    chosen = [path for path in chosen if path not in beside] or chosen
    if not chosen:
        names = some_of([path.name for path in files])
        line = next(filter(None, map(line_for, files)), "")
        raise DataError(
            f"{folder}: no {', '.join(TABLE_KINDS)} files in this folder or below, "
            f"{f'only {names}' if names else 'it is empty'}"
            f"{line and f'. To convert them: {line}'}"
        )
    others = [path for path in files if path not in {*chosen}]
    first: dict[Path, Path] = {}
    for path in chosen:
        if first.setdefault(path.with_name(stem_of(path)), path) is not path:
            raise DataError(
                f"{path} has the name of another file: name the files to read, or move the others "
                "away"
            )
    pictures = {path.stem for path in others if path.suffix.lower() in PICTURES}
    converted = {Path(NUMBER_OF_TABLE.sub("", str(path))) for path in first}
    for path in others:
        if kind_of(path) not in OTHERS or path.stem in pictures:  # or a label map of a picture
            continue
        has_table = any(path.with_suffix(kind).exists() for kind in TABLE_KINDS)
        if not has_table and path.with_suffix("") not in converted:
            raise DataError(
                f"{path} is {advice_on(path, TABLE_KINDS)}. Name the files to read, or move it away"
            )
    return chosen, _folders_of(others, chosen, folder)


def _of_one_kind(files: Sequence[Path]) -> list[Path]:
    """The tables among files; without any, sound and films, and then text with rows of numbers."""
    tables = [path for path in files if kind_of(path) in {*TABLE_KINDS} - {PROSE}]
    media = [path for path in files if kind_of(path) in MEDIA]
    if media and _tables_beside(tables) == {*tables}:  # all tables are labels of the media
        return media
    if tables:
        return tables
    prose = [path for path in files if kind_of(path) == PROSE]
    rest = [path for path in files if kind_of(path) != WFDB]
    return list(filter(holds_table, prose)) or list(filter(holds_table, rest)) or prose


def _tables_beside(files: Sequence[Path]) -> set[Path]:
    """The tables of labels, and those with a row about each recording, among tables."""
    by_header: dict[bytes, list[Path]] = {}
    for path in files:
        if kind_of(path) in TEXT_KINDS:
            by_header.setdefault(first_line(path), []).append(path)
    tables: set[Path] = set()
    need_labels = any("label" not in _roles_in(alike[0]) for alike in by_header.values())
    for alike in by_header.values():
        is_list = len(alike) == 1 and _lists(first_rows(alike[0]), files)
        if is_list or (need_labels and names_stretches(alike[0])) or holds_stretches(alike[0]):
            tables.update(alike)
    return tables


def names_stretches(path: Path) -> bool:
    """Whether a table has columns of starts, ends and labels, and perhaps others."""
    return {"start", "end", "label"} <= _roles_in(path).keys()


def _roles_in(path: Path) -> dict[str, str]:
    """The columns of a table of labels by their roles, as far as their names tell."""
    return columns_in(next(iter(first_rows(path)), ()))


def holds_stretches(path: Path) -> bool:
    """Whether a file holds labels: a document of a labelling tool, or a table of stretches."""
    return are_stretches(first_rows(path)) or is_of_a_tool(path)


def are_stretches(table: Sequence[Sequence[str]]) -> bool:
    """Whether a table holds stretches of time or changes, and no measurements."""
    header, *rows = table or [()]
    columns = columns_in(header)
    columns_used = {*columns.values()}
    is_of_time = {"start", "end"} <= columns.keys() or (len(header) == 1 and "change" in columns)
    measured = [
        any(map(is_number_text, cells)) and not _number_rows(name, cells)
        for name, cells in zip(header, zip(*rows, strict=False), strict=False)
        if name not in columns_used
    ]
    return (is_of_time and not any(measured)) or _follow_each_other(table)


def _number_rows(name: str, cells: Sequence[str]) -> bool:
    """Whether a column numbers rows, from any number on, and has an identifier's name or none."""
    if name and not tells_which(name):
        return False
    first = int(cells[0]) if cells[0].isdecimal() else 0
    return [*map(str, range(first, first + len(cells)))] == [*cells]


def _follow_each_other(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows, without a header, are stretches with names, none of which overlaps another."""
    last = -math.inf
    for row in rows:
        if [*map(is_number_text, row)] != [True, True, False] or not row[2].strip():
            return False
        start, end = (float(cell.replace(",", ".")) for cell in row[:2])
        if not last <= start <= end:
            return False
        last = end
    return bool(rows)


def _lists(table: Sequence[Sequence[str]], files: Sequence[Path]) -> bool:
    """Whether a column of a table names a file or a folder in each row."""
    names = set(chain.from_iterable((*file.parts, stem_of(file)) for file in files))
    for cells in zip(*table[1:], strict=False):
        is_number = all(map(is_number_text, cells))
        if len(cells) > 1 and not is_number and len({*cells} & names) == len(cells):
            return True
    return False


def _folders_of(others: Sequence[Path], chosen: Sequence[Path], folder: Path) -> list[Path]:
    """The skipped files, or the outermost folders that hold nothing else in their place."""
    used = set(chain.from_iterable(path.parents for path in chosen))
    skipped = []
    for path in others:
        unused = [above for above in path.parents if folder in above.parents and above not in used]
        skipped.append(unused[-1] if unused else path)
    return list(dict.fromkeys(skipped))
