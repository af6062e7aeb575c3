"""Advice on files of kinds that are not read: the line that converts them to a table."""

import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.io.sniff import COMPRESSIONS, kind_of
from structsvm.support import require

FRAMES = {
    ".feather": "read_feather",
    ".arrow": "read_feather",
    ".dta": "read_stata",
    ".sas7bdat": "read_sas",
    ".sav": "read_spss",
}
"""The function of pandas that reads a kind of file."""
OF_R = (".rds", ".rdata", ".rda")
EDF = {".edf": b"0       ", ".bdf": b"\xffBIOSEMI"}  # the first bytes of such a file
WFDB = ".hea"  # the header of a recording, whose samples are in another file
HDF5 = (".h5", ".hdf5")
OTHERS = (*FRAMES, *OF_R, *EDF, WFDB, *HDF5, ".mat", ".npy", ".xls", ".ods", *COMPRESSIONS)
"""Kinds that may well hold recordings, but are not read."""
LARGEST_LOOKED_INTO = 2**28  # bytes: larger files are not opened to find out what they hold
FIRST_OF_HDF5 = b"MATLAB 7.3"
SAVED = "to_csv(f.with_suffix('.csv'), index=False)"


def advice_on(path: Path, kinds: Sequence[str]) -> str:
    """Say that a file is of no kind that is read, and how it becomes one."""
    line = line_for(path)
    advice = f"of no kind that is read; give {', '.join(kinds)}, or sound or pictures"
    return f"{advice}. To convert it: {line}" if line else advice


def line_for(path: Path) -> str | None:
    """The line that makes tables or .npz files of files like this in its folder; None without."""
    try:
        return _line(path) if path.stat().st_size <= LARGEST_LOOKED_INTO else None
    except Exception:  # a foreign file can raise nearly anything in its reader
        return None


def _line(path: Path) -> str | None:
    kind = kind_of(path)
    if kind == ".zip" and zipfile.is_zipfile(path):
        return f"python -m zipfile -e {path.as_posix()!r} {path.with_suffix('').as_posix()!r}"
    if kind in FRAMES:
        return _for_folder(path, "pandas", f"pandas.{FRAMES[kind]}(f).{SAVED}")
    if kind in OF_R:
        return _for_folder(
            path, "pyreadr", f"max(pyreadr.read_r(str(f)).values(), key=len).{SAVED}"
        )
    if kind == ".json" and _is_table(path):
        return _for_folder(path, "pandas", f"pandas.read_json(f).{SAVED}")
    if kind == ".npy" and np.load(path, mmap_mode="r").ndim == 2:
        return _for_folder(path, "numpy", "numpy.savez(f.with_suffix('.npz'), X=numpy.load(f))")
    if kind in EDF and _begins_with(path, EDF[kind]):
        table = "(r if r.ch_names else mne.read_annotations(f)).to_data_frame(time_format=None)"
        return _for_folder(path, "mne", f"{table}.{SAVED}", "for r in [mne.io.read_raw(f)]")
    if kind == WFDB and _begins_with(path, path.stem.encode()):
        table = "wfdb.rdrecord(str(f.with_suffix(''))).to_dataframe()"
        return _for_folder(
            path, "wfdb", f"{table}.to_csv(f.with_suffix('.csv'), index_label='time')"
        )
    if kind in HDF5:
        return _line_of_scores(path)
    if kind != ".mat":
        return None
    if _begins_with(path, FIRST_OF_HDF5):
        return f"in MATLAB, load({path.name!r}); save({path.name!r}, '-v7')"
    frame = _frame_of(path)
    load = "for m in [scipy.io.loadmat(f, simplify_cells=True)]"
    return frame and _for_folder(path, "pandas, scipy.io", f"{frame}.{SAVED}", load)


def _begins_with(path: Path, first: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(first)) == first


def _for_folder(path: Path, module: str, written: str, also: str = "") -> str:
    """The line that writes a table for each file ``f`` of this kind in the folder."""
    files = f"pathlib.Path({path.parent.as_posix()!r}).glob('*{path.suffix}')"
    return _python(f"{module}, pathlib", f"[{written} for f in {files} {also}".rstrip() + "]")


def _line_of_scores(path: Path) -> str | None:
    """The line for predictions of JABS, which writes a table for each animal of all files there.

    JABS stores the probability of the predicted class; 0 where there is no animal, and -1 where a
    user has said which class it is.
    """
    h5py = import_module("h5py")  # without it no line is given
    with h5py.File(path) as file:
        states = [state for state in file["predictions"].values() if isinstance(state, h5py.Group)]
        if not any("probabilities" in state for state in states):
            return None
    scores = "{k: numpy.where(g['predicted_class'][i] == 0, 1 - p, p)"
    scores += " for k, g in f.items() for p in [abs(g['probabilities'][i])]}"
    to = "to_csv(a.with_name(f'{a.stem}_{i}.csv'), index=False)"
    files = f"a in pathlib.Path({path.parent.as_posix()!r}).glob('*{path.suffix}')"
    of_each = "for k, g in h5py.File(a).get('predictions', {}).items() if hasattr(g, 'keys')"
    animals = "range(max((len(g['probabilities']) for g in f.values()), default=0))"
    tables = (
        f"[pandas.DataFrame({scores}).{to} for {files}"
        f" for f in [{{k: g {of_each}}}] for i in {animals}]"
    )
    return _python("h5py, numpy, pandas, pathlib", tables)


def _is_table(path: Path) -> bool:
    frame = require("pandas", "files", "reading tables").read_json(path)
    return len(frame) > 1 and any(dtype.kind in "if" for dtype in frame.dtypes)


def _python(modules: str, statements: str) -> str:
    return f'python -c "import {modules}; {statements}"'


def _frame_of(path: Path) -> str | None:
    """The expression of a frame: the largest matrix of a MATLAB file, and vectors as long as it."""
    from scipy.io import loadmat

    arrays = dict(_arrays("m", loadmat(path, simplify_cells=True)))
    sizes = {name: x.size for name, x in arrays.items() if x.ndim == 2 and x.dtype.kind in "fiub"}
    lengths = Counter(len(x) for x in arrays.values() if x.ndim == 1 and len(x) > 1)
    best = max(sizes, key=sizes.__getitem__, default="")
    T = max(arrays[best].shape) if best else max(lengths, key=lengths.__getitem__, default=0)
    columns = {
        name.split("'")[-2]: name for name, x in arrays.items() if x.ndim == 1 and len(x) == T
    }
    assigned = ", ".join(f"{column!r}: {name}" for column, name in columns.items())
    if not best:
        return f"pandas.DataFrame({{{assigned}}})" if len(columns) > 1 else None
    turned = "" if T == len(arrays[best]) else ".T"
    added = f".assign(**{{{assigned}}})" if assigned else ""
    return f"pandas.DataFrame({best}{turned}){added}"


def _arrays(name: str, variable: Any) -> Iterator[tuple[str, Any]]:
    """The arrays in nested structures, each with the expression that gives it."""
    if isinstance(variable, np.ndarray):
        yield name, variable
    for key, value in variable.items() if isinstance(variable, Mapping) else ():
        if not key.startswith("__"):
            yield from _arrays(f"{name}['{key}']", value)
