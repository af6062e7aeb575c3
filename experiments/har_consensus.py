"""A metric and classifiers together: the consensus of their segmentations, on activities.

The metric on lags and state scores, the frame classifier and the boundary classifier
(:data:`_har.METHODS`) learn from the same recordings, whose labels are names of states, and their
consensus weighs them alike. Each third of the fifteen people is tested on once, after learning from
the ten others; the last third is that of har_spsw.py. It is also tested on after learning from few
recordings, in the draws of har_closed_set.py.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from _har import BOOSTING, BOUNDARIES, METHODS, METRIC_ON_SCORES, losses, mean_and_error, person
from _report import SHARED, Row, publish
from har_closed_set import draws
from har_spsw import split
from numpy.typing import NDArray

from structsvm import EquivalenceMatrix
from structsvm.baselines import Consensus
from structsvm.errors import DataWarning
from structsvm.evaluation.contrast import Contrast
from structsvm.io import Recording, arrays_and_labels, read_recordings

Floats = NDArray[np.float64]
Key = tuple[str, str]
"""A method, and whether K is known."""

MEMBERS = (METRIC_ON_SCORES, BOOSTING, BOUNDARIES)
TOGETHER = "consensus of these three"
NAMES = (*MEMBERS, TOGETHER)
FIVE = 5
"""People who are tested on at a time."""
COUNTS = ("unknown", "known")
FEW = (2, 5, 10, 20)
"""Recordings to learn from."""


def tested(learn: Sequence[Recording], test: Sequence[Recording]) -> dict[Key, Floats]:
    """The loss of each test recording, by method and by whether K is known."""
    Xs, ys = arrays_and_labels(learn)
    people = [person(r.name) for r in learn]
    both = Consensus([(name, METHODS[name][1]("recording")) for name in MEMBERS])
    both.fit(Xs, ys, groups=people if len(set(people)) > 1 else None)
    found: dict[Key, Floats] = {}
    for given in COUNTS:
        K = None if given == "unknown" else [1 + int((r.y[1:] != r.y[:-1]).sum()) for r in test]
        for name, model in {**both.estimators_, TOGETHER: both}.items():
            ends = model.predict_breakpoints([r.X for r in test], K)
            guesses = [EquivalenceMatrix.from_breakpoints(e) for e in ends]
            found[name, given] = np.array(losses(test, guesses))
    return found


def difference(gap: Floats, test: Sequence[Recording]) -> str:
    """Mean, standard error and 95 % interval over people."""
    units = np.unique([person(r.name) for r in test], return_inverse=True)[1]
    found = Contrast.of("", gap, units)
    return f"{found.mean:+.2f} ± {found.se:.2f} ({found.low:+.2f} to {found.high:+.2f})"


def rows_of(people: str, test: Sequence[Recording], found: Mapping[Key, Floats]) -> list[Row]:
    """A row for each method, tested on some people."""
    rows: list[Row] = []
    for name in NAMES:
        row: Row = {"tested on": people, "method": name}
        for given in COUNTS:
            row[f"loss, K {given}"] = float(found[name, given].mean())
        for given in COUNTS:
            gap = found[name, given] - found[BOOSTING, given]
            told = None if name == BOOSTING else difference(gap, test)
            row[f"less the frame classifier, K {given}"] = told
        rows.append(row)
    return rows


def rows_of_few(learn: Sequence[Recording], test: Sequence[Recording]) -> list[Row]:
    """A row for each method, K unknown, with standard errors over draws."""
    rows: list[Row] = [{"method": name} for name in NAMES]
    for size in FEW:
        parts = [tested([learn[i] for i in drawn], test) for drawn in draws(len(learn), size)]
        means = {name: np.array([part[name, "unknown"].mean() for part in parts]) for name in NAMES}
        for row in rows:
            name = str(row["method"])
            told = mean_and_error(means[name])
            if name == TOGETHER:
                told += f" ({mean_and_error(means[name] - means[METRIC_ON_SCORES])})"
            row[f"{size} recordings"] = told
    return rows


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", DataWarning)
    recordings = read_recordings(folder)
    people = sorted({person(r.name) for r in recordings})
    rows: list[Row] = []
    tests: list[Recording] = []
    parts: list[dict[Key, Floats]] = []
    for k in range(0, len(people), FIVE):
        these = people[k : k + FIVE]
        test = [r for r in recordings if person(r.name) in these]
        parts.append(tested([r for r in recordings if person(r.name) not in these], test))
        rows += rows_of(f"{these[0]}-{these[-1]}", test, parts[-1])
        tests += test
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    publish("har_consensus", [*rows, *rows_of("all of them", tests, joined)])
    publish("har_consensus_few", rows_of_few(*split(folder)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    main(parser.parse_args().data)
