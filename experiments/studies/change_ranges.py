"""How many true changes the ranges of ``predict_segments(level=)`` hold, by group.

The sets of score_decoder.py that have five groups or more. One half of the groups is learned from,
which also calibrates the ranges by folds of groups, and the changes of the other half are looked
for in them, and the other way round. A metric in closed form (OLDA) and the segmenter of states
with linear discriminants both see each sample and those four before and after. A range of a level
that is guaranteed for a new group is there where the labelled half has enough groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from experiments._cache import Pieces, run_on
from experiments._report import SHARED, Row, publish
from experiments.studies.score_decoder import Labelled, sets
from structsvm import MetricLearner, StateSegmenter, margin_rates
from structsvm.errors import DataError, SettingsError
from structsvm.features import Columns

LEVELS = (0.8, 0.9, 0.95)
FEWEST_GROUPS = 5
METHODS: Mapping[str, Callable[[], Any]] = {
    "metric (OLDA)": lambda: MetricLearner(metric="olda", random_state=0),
    "states (linear)": lambda: StateSegmenter(["lda"], Columns(), standardize=None),
}


def covered(learner: Any, Xs: Any, truths: Sequence[Any], **asked: Any) -> list[list[Any]]:
    """Of each recording, whether true changes are in ranges, how many are found, and its share."""
    found = []
    for table, y in zip(learner.predict_segments(Xs, **asked), truths, strict=True):
        inside = np.zeros(len(y), dtype=bool)
        for row in table:
            ranges = list(row["possible"])
            if row["from"] is not None:
                ranges.append((row["from"], row["to"]))
            for first, last in ranges:
                inside[first : last + 1] = True
        changes = np.flatnonzero(y[1:] != y[:-1]) + 1
        n_found = int(np.isin(changes, [row["start"] for row in table[1:]]).sum())
        found.append([inside[changes].tolist(), n_found, float(inside.mean())])
    return found


def measured(read: Callable[[], Labelled], make: Callable[[], Any]) -> dict[str, Any]:
    """Shares of the true changes of each group that ranges hold, by level."""
    given = read()
    units = np.unique(given.groups, return_inverse=True)[1]
    half = np.random.default_rng(0).permutation(units.max() + 1)[units] % 2
    inside: dict[str, list[Any]] = {}
    for k in (0, 1):
        Xs, ys, groups = given.at(np.flatnonzero(half != k).tolist())
        new, truths, _ = given.at(np.flatnonzero(half == k).tolist())
        learner = make().fit(Xs, ys, groups=groups)
        try:
            learner.margin_rates_ = margin_rates(learner, Xs, ys, groups=groups)
        except DataError:  # it finds no change at all
            return {}
        for level in LEVELS:
            for guaranteed in (False, True):
                asked = {"level": level, "guaranteed": guaranteed}
                try:
                    found = covered(learner, new, truths, **asked)
                except SettingsError:  # too few groups
                    continue
                pairs = zip(given.groups[half == k].astype(str).tolist(), found, strict=True)
                inside.setdefault(f"{level} {guaranteed}", []).extend([u, *f] for u, f in pairs)
    return inside


def changes_of_groups(found: Sequence[Any]) -> dict[str, list[bool]]:
    """Whether the true changes of each group are in ranges."""
    of_groups: dict[str, list[bool]] = {}
    for group, held, *_ in found:
        of_groups.setdefault(group, []).extend(held)
    return of_groups


def rows_of_groups(name: str, method: str, inside: Mapping[str, Sequence[Any]]) -> list[Row]:
    """A row for each group, with the share of its changes that ranges of each level hold."""
    rows: dict[str, dict[str, Any]] = {}
    unknown = dict.fromkeys([f"in ranges of {level}" for level in LEVELS])
    for level in LEVELS:
        for group, held in changes_of_groups(inside.get(f"{level} False", ())).items():
            named = {"set": name, "method": method, "group": group, "true changes": len(held)}
            row = rows.setdefault(group, named | unknown)
            row[f"in ranges of {level}"] = float(np.mean(held)) if held else None
    return list(rows.values())


def rows_of(name: str, method: str, inside: Mapping[str, Sequence[Any]]) -> list[Row]:
    rows: list[Row] = []
    for key, found in inside.items():
        level, guaranteed = key.split()
        of_groups = changes_of_groups(found)
        shares = [float(np.mean(held)) for held in of_groups.values() if held]
        changes = np.concatenate(list(of_groups.values()))
        row: dict[str, Any] = {"set": name, "method": method, "level": float(level)}
        row |= {"for": "a new group" if guaranteed == "True" else "about", "groups": len(shares)}
        row |= {"true changes": changes.size, "in ranges": float(changes.mean())}
        # of independent changes; and what no range leaves out, however low its level is
        interval = binomtest(int(changes.sum()), changes.size).proportion_ci()
        row["95 % interval"] = f"{interval.low:.2f} to {interval.high:.2f}"
        row["found exactly"] = sum(n_found for _, _, n_found, _ in found) / changes.size
        row |= {"mean of groups": float(np.mean(shares)), "least group": min(shares)}
        row["share of samples"] = float(np.mean([share for *_, share in found]))
        rows.append(row)
    return rows


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore")
    pieces = Pieces("change_ranges", seconds)
    rows: list[Row] = []
    of_groups: list[Row] = []
    for name, read in sets(folder).items():
        if np.unique(read().groups).size < 2 * FEWEST_GROUPS:
            continue
        for method, make in METHODS.items():
            found = pieces.get(f"{name}, {method}", partial(measured, read, make))
            rows += [] if found is None else rows_of(name, method, found)
            of_groups += [] if found is None else rows_of_groups(name, method, found)
    pieces.finish()
    publish("change_ranges", rows)
    publish("change_ranges_by_group", of_groups)


if __name__ == "__main__":
    run_on(main, SHARED, __doc__)
