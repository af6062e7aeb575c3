"""Segments with states: one convex program on probabilities of several classifiers, on activities.

Each third of the fifteen people is tested on once, after learning from the ten others; the last
third is that of har_spsw.py. It is also tested on after learning from few recordings, in the draws
of har_closed_set.py. The segmenter of states is there with the weights that it learned, with those
that it starts from, three of which are tuned, with slow boosting in five folds, and with one
classifier; beside it is a frame classifier, with one price of a change, tuned. The rows of a
consensus of a metric, a frame classifier and a boundary classifier, which is no longer there, are
passed on.

    python -m experiments.studies.har_states --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from experiments._cache import Pieces, run_on
from experiments._report import SHARED, Row, publish, stored
from experiments.studies._har import Floats, losses, mean_and_error, person
from experiments.studies.har_closed_set import draws
from experiments.studies.har_spsw import split
from structsvm import EquivalenceMatrix, StateSegmenter
from structsvm.baselines import FrameClassifier
from structsvm.errors import DataWarning
from structsvm.evaluation.contrast import Contrast
from structsvm.features.frames import learning_once
from structsvm.io import Recording, arrays_and_labels, read_recordings
from structsvm.learner.state_segmenter import ESTIMATORS

LEARNED, TUNED = "segmenter of states", "the same, not learned but tuned"
SLOW, ALONE = "segmenter of states, slow boosting", "segmenter of states, boosting alone"
FRAMES = "frame classifier, boosting"
NAMES = (LEARNED, TUNED, SLOW, ALONE, FRAMES)
CONSENSUS = "consensus of a metric and two classifiers"
COUNTS = ("unknown", "known")
RIGHT = "named right"
PEOPLE = 5
FEW = (2, 5, 10)
"""People who are tested on at a time, and recordings to learn from."""

Found = Mapping[str, Mapping[str, Sequence[float]]]
"""By method: losses by whether K is known, and shares of samples named right."""


def tested(
    learn: Sequence[Recording], test: Sequence[Recording]
) -> dict[str, dict[str, list[float]]]:
    """What each method makes of each test recording."""
    Xs, ys = arrays_and_labels(learn)
    people = [person(r.name) for r in learn]
    groups = people if len(set(people)) > 1 else None
    new = [r.X for r in test]
    counts = [1 + int((r.y[1:] != r.y[:-1]).sum()) for r in test]
    found = {}
    with learning_once():
        for name in NAMES:
            if name == FRAMES:
                model = FrameClassifier("boosting").fit(Xs, ys, groups=groups)
            elif name == ALONE:
                model = StateSegmenter(["boosting"]).fit(Xs, ys, groups=groups)
            elif name == SLOW:
                model = StateSegmenter(ESTIMATORS, n_folds=5).fit(Xs, ys, groups=groups)
            elif name == LEARNED:
                model = StateSegmenter().fit(Xs, ys, groups=groups)
            else:
                model.model_ = replace(model.model_, weight=model.start_)
            states = model.predict_states(new)
            found[name] = {
                RIGHT: [float((a == r.y).mean()) for a, r in zip(states, test, strict=True)]
            }
            for given, K in zip(COUNTS, (None, counts), strict=True):
                ends = model.predict_breakpoints(new, K)
                guesses = [EquivalenceMatrix.from_breakpoints(e) for e in ends]
                found[name][given] = losses(test, guesses)
    return found


def difference(gap: Floats, test: Sequence[Recording]) -> str:
    """Mean, standard error and 95 % interval over people."""
    units = np.unique([person(r.name) for r in test], return_inverse=True)[1]
    found = Contrast.of("", gap, units)
    return f"{found.mean:+.2f} ± {found.se:.2f} ({found.low:+.2f} to {found.high:+.2f})"


def rows_of(people: str, test: Sequence[Recording], found: Found) -> list[Row]:
    """A row for each method, tested on some people."""
    rows: list[Row] = []
    for name in NAMES:
        row: Row = {"tested on": people, "method": name}
        row |= {f"loss, K {given}": float(np.mean(found[name][given])) for given in COUNTS}
        row[RIGHT] = float(np.mean(found[name][RIGHT]))
        for given in COUNTS:
            gap = np.subtract(found[name][given], found[FRAMES][given])
            told = None if name == FRAMES else difference(gap, test)
            row[f"less the frame classifier, K {given}"] = told
        rows.append(row)
    return rows


def rows_of_few(parts: Mapping[int, Sequence[Found]]) -> list[Row]:
    """A row for each method, K unknown / known, with standard errors over draws."""
    rows: list[Row] = [{"method": name} for name in NAMES]
    for size, runs in parts.items():
        for row in rows:
            of_each = [[np.mean(run[str(row["method"])][g]) for run in runs] for g in COUNTS]
            row[f"{size} recordings"] = " / ".join(mean_and_error(values) for values in of_each)
    return rows


def passed_on(name: str) -> list[Row]:
    """The rows of what was measured before."""
    return [row for row in stored(name)[1] if row["method"] == CONSENSUS]


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore", DataWarning)
    recordings = read_recordings(folder)
    people = sorted({person(r.name) for r in recordings})
    pieces = Pieces("har_states", seconds)
    thirds = [people[k : k + PEOPLE] for k in range(0, len(people), PEOPLE)]
    tests = [[r for r in recordings if person(r.name) in these] for these in thirds]
    of_thirds = [
        pieces.get(
            f"{these[0]}-{these[-1]}",
            partial(tested, [r for r in recordings if person(r.name) not in these], test),
        )
        for these, test in reversed([*zip(thirds, tests, strict=True)])
    ][::-1]
    learn, test = split(folder)
    few = {
        size: [
            pieces.get(f"{size} {k}", partial(tested, [learn[i] for i in drawn], test))
            for k, drawn in enumerate(draws(len(learn), size))
        ]
        for size in FEW
    }
    pieces.finish()
    joined: Found = {
        name: {
            key: list(chain.from_iterable(part[name][key] for part in of_thirds))
            for key in (RIGHT, *COUNTS)
        }
        for name in NAMES
    }
    rows = list(
        chain.from_iterable(
            rows_of(f"{these[0]}-{these[-1]}", test, found)
            for these, test, found in zip(thirds, tests, of_thirds, strict=True)
        )
    )
    everybody = list(chain.from_iterable(tests))
    rows += [*rows_of("all of them", everybody, joined), *passed_on("har_states")]
    publish("har_states", rows, ["d24bfe533a"])
    publish("har_states_few", [*rows_of_few(few), *passed_on("har_states_few")], ["d24bfe533a"])


if __name__ == "__main__":
    run_on(main, SHARED / "har_spsw", __doc__)
