"""A metric and classifiers together: the consensus of their segmentations, on activities.

The split of har_spsw.py. The metric on lags and state scores, the frame classifier and the boundary
classifier (:data:`_har.METHODS`) learn from the same recordings, whose labels are names of states,
and their consensus weighs them alike. It was settled on the ten training people, two of whom are
held out at a time; then all ten are learned from, and the five others tested on.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from _har import BOOSTING, BOUNDARIES, METHODS, METRIC_ON_SCORES, losses, person
from _report import SHARED, Row, publish
from har_spsw import split
from numpy.typing import NDArray

from structsvm import EquivalenceMatrix
from structsvm.errors import DataWarning
from structsvm.evaluation.verdict import Contrast
from structsvm.io import Recording, arrays_and_labels
from structsvm.rivals import Consensus

Floats = NDArray[np.float64]

MEMBERS = (METRIC_ON_SCORES, BOOSTING, BOUNDARIES)
TOGETHER = "consensus of these three"
HELD_OUT = 2
"""People at a time."""
PEOPLE = ("ten training people", "five others")
COUNTS = ("unknown", "known")


def tested(learn: Sequence[Recording], test: Sequence[Recording]) -> dict[tuple[str, str], Floats]:
    """The loss of each test recording, by method and by whether K is known."""
    Xs, ys = arrays_and_labels(learn)
    people = [person(r.name) for r in learn]
    both = Consensus([(name, METHODS[name][1]("recording")) for name in MEMBERS])
    both.fit(Xs, ys, groups=people)
    found: dict[tuple[str, str], Floats] = {}
    for given in COUNTS:
        K = None if given == "unknown" else [1 + int((r.y[1:] != r.y[:-1]).sum()) for r in test]
        for name, model in {**both.estimators_, TOGETHER: both}.items():
            ends = model.predict_breakpoints([r.X for r in test], K)
            guesses = [EquivalenceMatrix.from_breakpoints(e) for e in ends]
            found[name, given] = np.array(losses(test, guesses))
    return found


def held_out(learn: Sequence[Recording]) -> tuple[list[Recording], dict[tuple[str, str], Floats]]:
    """The same of every training recording, segmented by what others have taught."""
    people = sorted({person(r.name) for r in learn})
    folds = [set(people[k :: len(people) // HELD_OUT]) for k in range(len(people) // HELD_OUT)]
    tests = [[r for r in learn if person(r.name) in fold] for fold in folds]
    parts = [
        tested([r for r in learn if person(r.name) not in fold], test)
        for fold, test in zip(folds, tests, strict=True)
    ]
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return [r for test in tests for r in test], joined


def difference(gap: Floats, test: Sequence[Recording]) -> str:
    """Mean, standard error and 95 % interval over people."""
    units = np.unique([person(r.name) for r in test], return_inverse=True)[1]
    found = Contrast.of("", gap, units)
    return f"{found.mean:+.2f} ± {found.se:.2f} ({found.low:+.2f} to {found.high:+.2f})"


def rows_of(
    asked: Mapping[str, tuple[Sequence[Recording], dict[tuple[str, str], Floats]]],
) -> list[Row]:
    """A row for each method and group of people."""
    rows: list[Row] = []
    for people, (test, found) in asked.items():
        for name in (*MEMBERS, TOGETHER):
            row: Row = {"tested on": people, "method": name}
            for given in COUNTS:
                row[f"loss, K {given}"] = float(found[name, given].mean())
            for given in COUNTS:
                gap = found[name, given] - found[BOOSTING, given]
                told = None if name == BOOSTING else difference(gap, test)
                row[f"less the frame classifier, K {given}"] = told
            rows.append(row)
    return rows


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(folder)
    asked = zip(PEOPLE, (held_out(learn), (test, tested(learn, test))), strict=True)
    publish("har_consensus", rows_of(dict(asked)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    main(parser.parse_args().data)
