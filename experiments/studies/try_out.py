"""What ``structsvm try`` gives within its minute, on sets of these pages and of strangers' sizes.

The command is run as users run it, in a process of its own, but on one thread, on up to 100
recordings or images, and on tables. The four sets "as strangers have them" are drawn at random with
the sizes of data that people brought. On these and on 70 recordings of activities the command then
goes on for five minutes: what the first minute lost is the loss of what it recommended less that of
what is recommended in the end, on the same held-out recordings. What it tells of the time
that is left is compared with what it then took, ten seconds after the start and later.

    python -m experiments.studies.try_out --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, Row, publish_some
from experiments._tables import read
from experiments.studies._har import mean_and_error

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


MORE = 5.0
"""Minutes for which it goes on."""


@dataclass(frozen=True)
class Case:
    """A set, and how it is given to the command."""

    problem: str
    what: str
    files: str = "*.npz"
    """Of the set's folder, which is given as a whole where it has images and their masks."""
    options: tuple[str, ...] = ()
    goes_on: bool = False
    """Whether it goes on after a minute."""


@dataclass(frozen=True)
class Drawn:
    """Recordings of states with autoregressive noise, whose level differs from one to the other."""

    N: int
    T: int
    P: int
    lengths: tuple[int, ...]
    """Of the segments of each state, about."""
    groups: int
    again: float
    """How much of the noise of a sample is that of the one before."""

    def write(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        C = len(self.lengths)
        P = self.P
        means = 1.3 * rng.normal(size=(C, P)) * (rng.random((C, P)) < 0.5)
        mix = np.eye(P) + 0.3 * rng.normal(size=(P, P)) / np.sqrt(P)
        after = rng.dirichlet(np.full(C, 0.7), C) + 1e-3
        offsets = 0.8 * rng.normal(size=(self.groups, P))
        for k in range(self.N):
            y: list[int] = []
            state = int(rng.integers(C))
            while len(y) < self.T:
                y += [state] * max(3, int(self.lengths[state] * rng.lognormal(0.0, 0.4)))
                others = np.where(np.arange(C) == state, 0.0, after[state])
                state = int(rng.choice(C, p=others / others.sum()))
            noise = rng.normal(size=(self.T, P))
            for t in range(1, self.T):
                noise[t] = self.again * noise[t - 1] + np.sqrt(1 - self.again**2) * noise[t]
            X = (means[y[: self.T]] + offsets[k % self.groups] + noise) @ mix
            head = ",".join([*(f"c{j}" for j in range(P)), "label"])
            rows = [
                ",".join([*(f"{value:.4f}" for value in x), f"state{c}"])
                for x, c in zip(X, y[: self.T], strict=True)
            ]
            path = folder / f"p{k % self.groups:02d}" / f"{k:02d}.csv"
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join([head, *rows]) + "\n")


STRANGERS = {
    "wells": Drawn(10, 415, 6, (6, 10, 14, 8, 6, 12, 10, 8, 9), 10, 0.7),
    "gait": Drawn(13, 2615, 9, (250, 600, 900, 400), 13, 0.95),
    "machining": Drawn(25, 1000, 46, (60, 150, 90, 60, 120, 80, 100, 60), 25, 0.9),
    "swimming": Drawn(45, 2700, 23, (400, 900, 600, 500, 700), 15, 0.97),
}

CASES: Mapping[str, Case] = {
    "beedance": Case("change-point", "recordings"),
    "mocap6": Case("change-point", "recordings"),
    "tep": Case("change-point", "recordings"),
    "skab": Case("change-point", "recordings"),
    "har_spsw": Case(
        *("change-point", "recordings", "s0[1-7]*.npz", ("--groups", "^s[0-9]+")), goes_on=True
    ),
    **{name: Case("change-point", "recordings", goes_on=True) for name in STRANGERS},
    "weizmann_horse": Case("normalized-cut", "images"),
    **{
        name: Case("clustering", "rows")
        for name in ("iris", "wine", "balance_scale", "ionosphere", "movement_libras", "digits")
    },
}


def main(folder: Path, seconds: float, sets: Sequence[str]) -> None:
    """Measure these sets, and publish them with the earlier rows of others."""
    pieces = Pieces("try_out", seconds)
    rows: list[Row] = []
    for name in sets:
        case = CASES[name]
        found = pieces.get(f"{name}, one thread", partial(measured, name, case, folder))
        if found is None:
            continue
        row = {
            "set": name,
            "learned from": f"{found['learned from']} {case.what}",
            "held out": found["held out"],
            "first answer": f"{found['first']:.0f} s",
            "CPU seconds": f"{found['seconds']:.0f}",
            "time left, told to true": found["told"],
            "recommended": found["used"],
            "loss": found["loss"],
            "lost by the minute": found["lost"],
        }
        rows.append(row)
    pieces.finish()
    publish_some("try_out", rows, "set")


def measured(name: str, case: Case, folder: Path) -> dict[str, Any]:
    """What the command took, told and recommended."""
    with TemporaryDirectory() as place:
        out = Path(place) / "tried"
        line = ["try", case.problem, *given(name, case, folder, Path(place)), *case.options]
        line += ["--json", "-o", str(out)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        plain, told = run(line)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        lost = None
        if case.goes_on:
            whole, _ = run([*line, "--resume", "--minutes", str(MORE)])
            gaps = np.subtract(losses(plain), losses(whole))
            lost = f"{mean_and_error(gaps.tolist())} ({whole['predicted_with']})"
    about = next(text for _, text in told if text.startswith("learning from "))
    learned, held_out = (re.findall(r"\d+", part)[0] for part in about.split(";"))
    first = next((at for at, text in told if text.startswith("first answer")), told[-1][0])
    used = plain["predicted_with"]
    found = {
        "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "first": first,
        "told": ratio(told),
        "learned from": learned,
        "held out": held_out,
        "used": plain["chosen"] if used == "learned" else used,
        "loss": plain[used]["loss"],
        "lost": lost,
    }
    print(name, found, flush=True)
    return found


def run(
    line: Sequence[str], program: str = "structsvm"
) -> tuple[dict[str, Any], list[tuple[float, str]]]:
    """The report of the command, and what it said beside it, with seconds since its start."""
    start = time.monotonic()
    told = []
    command = [sys.executable, "-m", program, *line]
    with TemporaryDirectory() as place, (Path(place) / "out").open("w+") as out:
        env = dict(os.environ) | ONE_THREAD
        with subprocess.Popen(
            command, env=env, stdout=out, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            told = [(time.monotonic() - start, text.rstrip()) for text in process.stderr]
        if process.returncode:
            raise RuntimeError("\n".join(text for _, text in told))
        out.seek(0)
        return json.load(out), [*told, (time.monotonic() - start, "end")]


def ratio(told: Sequence[tuple[float, str]]) -> str | None:
    """The least and the largest time left that was told, in units of what it then took."""
    end = told[-1][0]
    claims = [
        (at, float(found[1]) * (60 if found[2] == "min" else 1))
        for at, text in told
        if at >= 10 and (found := re.search(r"about (\d+) (s|min) left", text))
    ]
    ratios = [(left + 1) / (end - at + 1) for at, left in claims]
    return f"{min(ratios):.1f} to {max(ratios):.1f}" if ratios else None


def losses(plain: Mapping[str, Any]) -> list[float]:
    """Of what was recommended, on each held-out recording."""
    return [row[plain["predicted_with"]]["loss"] for row in plain["recordings"]]


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
    if name in STRANGERS:
        STRANGERS[name].write(place)
        return [str(one) for one in sorted(place.iterdir())]
    if case.problem == "normalized-cut":
        return [str(folder / name)]
    return [
        str(path)
        for path in chain.from_iterable(
            sorted((folder / name).glob(glob)) for glob in case.files.split()
        )
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--sets", nargs="+", choices=CASES, default=list(CASES), help="these alone")
    seconds_option(parser)
    arguments = parser.parse_args()
    main(arguments.data, arguments.seconds, arguments.sets)
