"""TCPD: learning from five annotators who disagree.

Univariate series of the Turing Change Point Dataset and their differences, z-scored. A metric of
two weights and a penalty are learned in five folds of series, from three forms of the same labels:
those of one annotator; those of all, each with its share of the weight of the series; and what a
majority marks, to a tolerance of five samples, where stretches that only a minority marks are
unlabelled. lam is 0.01: with the default the best metric is zero. Scores are those of van den Burg
and Williams (2020): the covering, a mean over annotators, and the F1 whose precision is against
what any annotator marks.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from experiments._report import SHARED, Row, publish
from experiments.sets import Annotated, annotated, fetch_tcpd
from structsvm import EquivalenceMatrix, MetricLearner, PartialLabels
from structsvm.errors import DataWarning
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import covering

Floats = NDArray[np.float64]
TOLERANCE = 5

Labelling = Callable[[Annotated], list[tuple[Any, float]]]
"""Labellings of a series, with their weights."""


def read(folder: Path) -> list[Annotated]:
    """From a folder that holds all files side by side, or else as they are published."""
    place = folder / "tcpd"
    if not (place / "annotations.json").exists():
        return fetch_tcpd(data_home=folder)
    marked = json.loads((place / "annotations.json").read_text())
    paths = sorted(path for path in place.glob("*.json") if path.stem in marked)
    return [annotated(p.stem, json.loads(p.read_text()), marked[p.stem]) for p in paths]


def features(one: Annotated) -> Floats:
    """The series and its differences; missing values are interpolated."""
    x = one.recording.X[:, 0]
    known = np.isfinite(x)
    x = np.interp(np.arange(x.size), np.flatnonzero(known), x[known])
    return np.column_stack([x, np.diff(x, prepend=x[0])])


def of_one(one: Annotated) -> list[tuple[Any, float]]:
    """The segmentation of the first annotator."""
    return [(next(iter(one.breakpoints.values())), 1.0)]


def of_all(one: Annotated) -> list[tuple[Any, float]]:
    """That of each annotator, with its share of the weight."""
    return [(ends, 1.0 / len(one.breakpoints)) for ends in one.breakpoints.values()]


def of_the_majority(one: Annotated) -> list[tuple[Any, float]]:
    """One change near marks of a majority, none where nobody marks any, else unknown."""
    T = len(one.recording.X)
    marks = sorted(chain.from_iterable(ends[:-1] for ends in one.breakpoints.values()))
    regions = []
    quiet = 0
    for group in _groups(marks):
        low = max(group[0] - TOLERANCE, quiet)
        high = min(group[-1] + TOLERANCE + 1, T)
        if low - quiet > 1:
            regions.append((quiet, low, 0))
        if 2 * len(group) > len(one.breakpoints) and high - low > 1:
            regions.append((low, high, 1))
        quiet = high
    if T - quiet > 1:
        regions.append((quiet, T, 0))
    return [(PartialLabels(regions=regions), 1.0)]


def _groups(marks: Sequence[int]) -> list[list[int]]:
    """Marks that are within the tolerance of their neighbours."""
    found: list[list[int]] = []
    for mark in marks:
        if found and mark - found[-1][-1] <= TOLERANCE:
            found[-1].append(mark)
        else:
            found.append([mark])
    return found


LABELLINGS: dict[str, Labelling] = {
    "one annotator": of_one,
    "all, weighted": of_all,
    "majority, to a tolerance": of_the_majority,
}


def scores(one: Annotated, ends: Sequence[int]) -> tuple[float, float]:
    """Covering and F1 of a segmentation against all annotators."""
    guess = EquivalenceMatrix.from_breakpoints(ends)
    truths = [EquivalenceMatrix.from_breakpoints(e) for e in one.breakpoints.values()]
    # As in TCPDBench, the start of a series is a change of everybody.
    marked = [{0, *e[:-1]} for e in one.breakpoints.values()]
    found = {0, *ends[:-1]}
    precision = _hits(set().union(*marked), found) / len(found)
    recall = float(np.mean([_hits(marks, found) / len(marks) for marks in marked]))
    f1 = 2 * precision * recall / (precision + recall)
    return float(np.mean([covering(truth, guess) for truth in truths])), f1


def _hits(marks: set[int], found: set[int]) -> int:
    """Marks that have a change found within the tolerance, each change serving one."""
    left = set(found)
    hits = 0
    for mark in sorted(marks):
        near = [change for change in left if abs(change - mark) <= TOLERANCE]
        if near:
            left.remove(min(near, key=lambda change: abs(change - mark)))
            hits += 1
    return hits


def segmented(series: Sequence[Annotated], label: Labelling) -> dict[str, list[list[int]]]:
    """Segment ends of every series, held out once, in the untrained and the learned metric."""
    Xs = [features(one) for one in series]
    found: dict[str, list[list[int]]] = {
        use: [[] for _ in series] for use in ("untrained", "learned")
    }
    for train, test in KFold(5, shuffle=True, random_state=0).split(series):
        rows = []
        for i in train:
            rows += [(Xs[i], y, weight) for y, weight in label(series[i])]
        learner = MetricLearner(metric="diagonal", standardize="recording", lam=0.01).fit(
            [X for X, _, _ in rows], [y for _, y, _ in rows], sample_weight=[w for *_, w in rows]
        )
        for use, metric in (
            ("untrained", learner.baselines_["untrained"].metric_),
            ("learned", learner.metric_),
        ):
            guesses = decode_with(learner, metric, [Xs[i] for i in test])
            for i, guess in zip(test, guesses, strict=True):
                found[use][i] = guess.breakpoints
    return found


def row(labels: str, metric: str, series: Sequence[Annotated], ends: list[list[int]]) -> Row:
    """Means over series."""
    found = np.array([scores(one, of) for one, of in zip(series, ends, strict=True)])
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    (cover, f1) = found.mean(axis=0)
    (cover_error, f1_error) = error
    return {
        "labels": labels,
        "metric": metric,
        "covering": f"{cover:.2f} ± {cover_error:.2f}",
        "F1": f"{f1:.2f} ± {f1_error:.2f}",
        "changes a series": float(np.mean([len(of) - 1 for of in ends])),
        "series": len(series),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    warnings.simplefilter("ignore", DataWarning)
    every = read(parser.parse_args().data)
    series = [one for one in every if one.recording.X.shape[1] == 1]
    rows = [row("-", "no change anywhere", series, [[len(s.recording.X)] for s in series])]
    for name, label in LABELLINGS.items():
        for metric, ends in segmented(series, label).items():
            rows.append(row(name, metric, series, ends))
    publish("tcpd", rows)


if __name__ == "__main__":
    main()
