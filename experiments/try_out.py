"""What ``structsvm try`` costs: CPU seconds of the whole command, on the sets of these pages.

The command is run as users run it, in a process of its own, but on one thread, on up to 100
recordings or images, and on tables.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _cache import Pieces, seconds_option
from _report import SHARED, publish
from _tables import read

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


@dataclass(frozen=True)
class Case:
    """A set, and how it is given to the command."""

    problem: str
    what: str
    files: str = "*.npz"
    """Of the set's folder."""
    options: tuple[str, ...] = ()


CASES: Mapping[str, Case] = {
    "beedance": Case("change-point", "recordings"),
    "mocap6": Case("change-point", "recordings"),
    "tep": Case("change-point", "recordings"),
    "skab": Case("change-point", "recordings"),
    "har_spsw": Case("change-point", "recordings", "s0*.npz s10*.npz", ("--groups", "^s[0-9]+")),
    "weizmann_horse": Case("normalized-cut", "images", "img"),
    **{
        name: Case("clustering", "rows")
        for name in ("iris", "wine", "balance_scale", "ionosphere", "movement_libras", "digits")
    },
}


def main(folder: Path, seconds: float, sets: Sequence[str]) -> None:
    pieces = Pieces("try_out", seconds)
    rows = []
    for name in sets:
        case = CASES[name]
        found = pieces.get(f"{name}, one thread", partial(measured, name, case, folder))
        if found is None:
            continue
        rows.append(
            {
                "set": name,
                "learned from": f"{found['learned from']} {case.what}",
                "held out": found["held out"],
                "CPU seconds": f"{found['seconds']:.0f}",
                "chosen": found["chosen"],
            }
        )
    pieces.finish()
    if len(rows) == len(CASES):
        publish("try_out", rows)


def measured(name: str, case: Case, folder: Path) -> dict[str, Any]:
    """Seconds of CPU of the command, and what it learned from and chose."""
    with TemporaryDirectory() as place:
        out = Path(place) / "tried"
        line = ["try", case.problem, *given(name, case, folder, Path(place)), *case.options]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "structsvm", *line, "--json", "-o", str(out)],
            env=dict(os.environ) | ONE_THREAD,
            capture_output=True,
            text=True,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    plain = json.loads(done.stdout)
    told = next(line for line in done.stderr.splitlines() if line.startswith("learning from "))
    learned, held_out = (part.split()[2] for part in told.split(";"))
    found = {
        "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "learned from": learned,
        "held out": held_out,
        "chosen": plain["chosen"],
    }
    print(name, found, flush=True)
    return found


def given(name: str, case: Case, folder: Path, place: Path) -> list[str]:
    """The files of a set; a table is written as one with a column ``label``."""
    if case.problem == "clustering":
        table = read(name, folder / "tables")
        head = ",".join([*(f"x{j}" for j in range(table.X.shape[1])), "label"])
        rows = [
            ",".join([*map(repr, row.tolist()), str(label)])
            for row, label in zip(table.X, table.y, strict=True)
        ]
        path = place / f"{name}.csv"
        path.write_text("\n".join([head, *rows]) + "\n")
        return [str(path)]
    if case.problem == "normalized-cut":
        return [str(folder / name / case.files)]
    return [str(path) for glob in case.files.split() for path in sorted((folder / name).glob(glob))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--sets", nargs="+", choices=CASES, default=list(CASES), help="these alone")
    seconds_option(parser)
    arguments = parser.parse_args()
    main(arguments.data, arguments.seconds, arguments.sets)
