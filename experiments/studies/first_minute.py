"""In what order candidates are tried, and which of them is taken, measured on shipped sets.

Every candidate of the menu is tried by cross-validation on the training part of each set, whatever
time it takes, and the choices of several rules are learned from that part and judged by the other
one. Trying all of them takes minutes for each set, so that ``--sets`` takes some. Two questions are
answered from this:

*Which is taken?* The default unless another one is better beyond chance, or the one of the least
mean; by the mean of the losses with and without the true number of segments, or by the latter, or
by the names that are right.

*In what order are they tried?* After the first answer and the default, those come first that gained
most a second on the other sets, in hindsight: what was learned on some sets is judged on another.
It is compared with the order of preference. What is compared is the mean over time of the least
value so far, from the end of the default to the end of all; the value is what a choice goes by, the
share of samples that is named wrongly where names are asked for, or else the criterion. The gains
are published by kind of labels, and the menu of recordings follows those of all sets. Seconds are
those of the clock, on a machine that had other work.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, Row, publish
from experiments.studies.har_spsw import split
from structsvm import ChangePoint, Clustering, MetricLearnerCV, evaluate
from structsvm.datasets import digits_recordings
from structsvm.errors import DataWarning, VerdictWarning, without_warnings
from structsvm.interop import labels_to_breakpoints
from structsvm.io import arrays_and_labels, read_recordings
from structsvm.model_selection.trials import Clock

TABLES = ("iris", "wine", "balance_scale", "ionosphere", "movement_libras", "digits")
OF_CLUSTERS = ("movement_libras", "digits")
NAMES, CHANGES, ROWS, CLUSTERS = "names", "changes", "rows", "clusters"
DRAWS = 2
"""Of five recordings of activities."""
MOST = 12
"""Recordings of tep to learn from: of all of them trying everything takes hours."""


@dataclass(frozen=True)
class Parts:
    """What is learned from, with its groups, and what is judged by."""

    learn: tuple[Sequence[Any], Sequence[Any]]
    groups: Sequence[Any] | None
    test: tuple[Sequence[Any], Sequence[Any]]


class Timed(MetricLearnerCV):
    """A search whose clock is kept."""

    def _clock(self) -> Clock:
        self.clock = super()._clock()
        return self.clock


def activities(folder: Path, draw: int | None) -> Parts:
    """The people of har_spsw.py: all recordings, or five, each of another person."""
    learn, test = split(folder / "har_spsw")
    if draw is not None:
        rng = np.random.default_rng(draw)
        people = rng.permutation(sorted({one.name[:3] for one in learn}))[:5]
        own = [[one for one in learn if one.name[:3] == person] for person in people]
        learn = [some[rng.integers(len(some))] for some in own]
    groups = [one.name[:3] for one in learn]
    return Parts(arrays_and_labels(learn), groups, arrays_and_labels(test))


def wholes(recordings: Sequence[Any], most: int | None = None) -> Parts:
    """Seven of ten recordings to learn from."""
    learn, test = train_test_split(list(recordings), test_size=0.3, random_state=0)
    return Parts(arrays_and_labels(learn[:most]), None, arrays_and_labels(test[:most]))


def table(folder: Path, name: str, question: str) -> Parts:
    frame = pd.read_csv(folder / "tables" / f"{name}.csv").dropna()
    y = frame.pop("class").astype(str).to_numpy()
    X = frame.to_numpy(dtype=np.float64)
    if question == ROWS:
        away = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)[1]
        held_out = np.isin(np.arange(len(y)), away)
    else:
        held_out = np.isin(y, train_test_split(np.unique(y), test_size=0.3, random_state=0)[1])
    return Parts(([X[~held_out]], [y[~held_out]]), None, ([X[held_out]], [y[held_out]]))


def sets(folder: Path) -> Mapping[str, Callable[[], Parts]]:
    def read(name: str, most: int | None = None) -> Parts:
        return wholes(read_recordings(sorted(map(str, (folder / name).glob("*.npz")))), most)

    of_recordings: dict[str, Callable[[], Parts]] = {
        "mocap6": partial(read, "mocap6"),
        "beedance": partial(read, "beedance"),
        **{f"har_spsw, five, {k}": partial(activities, folder, k) for k in range(DRAWS)},
        "digits in turn": lambda: wholes(digits_recordings(40, random_state=0)),
        "har_spsw": partial(activities, folder, None),
        "skab": partial(read, "skab", MOST),
        "tep": partial(read, "tep", MOST),
    }
    both = [f"{name}: {kind}" for name in of_recordings for kind in (NAMES, CHANGES)]
    found = {one: of_recordings[one.rpartition(": ")[0]] for one in both}
    asked = [(name, ROWS) for name in TABLES] + [(name, CLUSTERS) for name in OF_CLUSTERS]
    tables = {f"{name}: {what}": partial(table, folder, name, what) for name, what in asked}
    long = ("har_spsw: ", "skab", "tep", "movement_libras")
    return dict(sorted((found | tables).items(), key=lambda one: one[0].startswith(long)))


def measured(key: str, parts_of: Callable[[], Parts]) -> dict[str, Any]:
    """What each task took and found in cross-validation, and what the rules take and then lose."""
    kind = key.rpartition(": ")[2]
    parts = parts_of()
    (learn, test) = (parts.learn, parts.test)
    if kind == CHANGES:
        learn, test = (
            (Xs, [labels_to_breakpoints(np.asarray(y)) for y in ys]) for Xs, ys in (learn, test)
        )
    of_table = kind in (ROWS, CLUSTERS)
    problem = Clustering() if of_table else ChangePoint()
    given = {"split": kind if of_table else None, "random_state": 0, "max_seconds": np.inf}
    search = Timed(problem, n_jobs=1, **given)
    with without_warnings(DataWarning, VerdictWarning):
        search.choose(*learn, groups=parts.groups)
        table = pd.DataFrame(search.cv_results_)
        rows = tasks_of(search, table)
        taken = {rule: int(which) for rule, which in rules(search, table).items()}
        lost = {str(j): judged(search, j, learn, parts.groups, test) for j in {*taken.values()}}
    found = {
        rule: {"method": str(search.candidates_[j]), **lost[str(j)]} for rule, j in taken.items()
    }
    print(key, found, flush=True)
    return {"tasks": rows, "rules": found}


def tasks_of(search: Timed, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Seconds and the least criterion of what is tried together, in the order of today."""
    names = [(one.name, one.lam) for one in search.candidates_]
    n_folds = len(np.unique(search.fold_))
    rows = []
    for task, seconds in search.clock.seconds.items():
        which = [names.index((one.name, one.lam)) for one in task.candidates]
        some = table.iloc[which]
        if some["mean_criterion"].isna().all():
            continue
        rows.append(
            {
                "names": [*dict.fromkeys(some["candidate"])],
                "first": task.is_first,
                "seconds": seconds * (1 if task.at_once else n_folds),
                "criterion": float(some["mean_criterion"].min()),
                "loss": float(some["mean_loss"].min()),
                "accuracy": float(some["mean_accuracy"].max()),
            }
        )
    return rows


def rules(search: Timed, table: pd.DataFrame) -> dict[str, Any]:
    """The candidate that each rule takes, by its place."""
    now = (table["candidate"] == search.best_candidate_) & (
        table["lam"].isna() if search.best_lam_ is None else table["lam"] == search.best_lam_
    )
    named = table[table["mean_accuracy"].notna()]
    among = table if named.empty else named
    found = {
        "default unless beyond chance": now.to_numpy().argmax(),
        "least criterion": among["mean_criterion"].idxmin(),
        "least loss": among["mean_loss"].idxmin(),
    }
    if not named.empty:
        order = named.sort_values(["mean_accuracy", "mean_loss"], ascending=[False, True])
        found["most named right"] = order.index[0]
    return found


def judged(search: Timed, j: int, learn: Any, groups: Any, test: Any) -> dict[str, float | None]:
    """The loss and the share named right on what was held out."""
    learner = copy(search.candidates_[j].learner).fit(*learn, groups=groups)
    scores = evaluate(learner, *test, unseen_states="count").scores["learned"]
    return {"loss": scores["loss"], "right": scores.get("accuracy")}


# ---- orders


def worth(task: Mapping[str, Any], kind: str) -> float:
    """What a choice goes by: the share named wrongly, all for what names nothing, or losses."""
    if kind != NAMES:
        return float(task["criterion"])
    return 1.0 if np.isnan(task["accuracy"]) else 1.0 - float(task["accuracy"])


def in_turn(tasks: Sequence[Mapping[str, Any]], kind: str) -> tuple[list[Any], list[Any]]:
    """What is tried in any case, with the default, and the others in the order of preference."""
    valued = [{**one, "value": worth(one, kind)} for one in tasks]
    first = [one for one in valued if one["first"] or "untrained" in one["names"]]
    others = [one for one in valued if one not in first]
    return [*first, *others[:1]], others[1:]


def curve(first: Sequence[Any], others: Sequence[Any]) -> float:
    """The mean over time of the least value so far, where tasks are tried in this order."""
    least = min(one["value"] for one in first)
    total = sum(one["seconds"] for one in others)
    area = 0.0
    for one in others:
        area += least * one["seconds"]
        least = min(least, one["value"])
    return float(area / total) if total else float(least)


def gains(first: Sequence[Any], others: Sequence[Any]) -> dict[str, tuple[float, float]]:
    """By name: what a task gains over what was tried in any case, and its share of the time."""
    every = [*first, *others]
    unit = max(one["value"] for one in every) or 1.0
    least = min(one["value"] for one in first)
    total = sum(one["seconds"] for one in every)
    found = {}
    for one in others:
        gained = max(least - one["value"], 0.0) / unit, one["seconds"] / total
        found |= dict.fromkeys(one["names"], gained)
    return found


def rates(found: Sequence[Mapping[str, tuple[float, float]]]) -> dict[str, tuple[float, float]]:
    """By name the mean gain, and the gain in the time that trying all takes, most first."""
    rated = {}
    for name in dict.fromkeys(chain(*found)):
        known = [one[name] for one in found if name in one]
        gain, part = (float(np.mean(values)) for values in zip(*known, strict=True))
        rated[name] = (gain, gain / part)
    return dict(sorted(rated.items(), key=lambda one: -one[1][1]))


def by_gain(others: Sequence[Any], elsewhere: Sequence[Any]) -> list[Any]:
    """In the order of the gain a second on other sets."""
    rated = rates([gains(*one) for one in elsewhere])
    return sorted(others, key=lambda one: -max(rated.get(name, (0, 0))[1] for name in one["names"]))


def is_few(key: str) -> bool:
    """Whether a set of recordings has few groups to learn from."""
    return key.startswith(("har_spsw, five", "mocap6", "beedance"))


def main(folder: Path, seconds: float, asked: Sequence[str]) -> None:
    """Measure these sets, and publish them."""
    pieces = Pieces("first_minute", seconds)
    every = sets(folder)
    found = {key: pieces.get(key, partial(measured, key, every[key])) for key in asked or every}
    pieces.finish()
    known = {key: in_turn(one["tasks"], key.rpartition(": ")[2]) for key, one in found.items()}
    orders: list[Row] = []
    for key, (first, others) in known.items():
        kind = key.rpartition(": ")[2]
        family = key.partition(":")[0].partition(",")[0]
        elsewhere = [
            one
            for name, one in known.items()
            if name.rpartition(": ")[2] == kind and not name.startswith(family)
        ]
        row: Row = {"set": key, "default": min(one["value"] for one in first)}
        row["preference"] = curve(first, others)
        row["gain a second"] = curve(first, by_gain(others, elsewhere))
        row["best"] = min(one["value"] for one in [*first, *others])
        orders.append(row)
    publish("first_minute_order", orders)
    gained: list[Row] = []
    for kind, groups in product((NAMES, CHANGES, ROWS, CLUSTERS), ("all", "few", "many")):
        of_kind = [key for key in known if key.endswith(f": {kind}")]
        asked_of = [key for key in of_kind if groups in ("all", "few" if is_few(key) else "many")]
        for name, (gain, rate) in rates([gains(*known[key]) for key in asked_of]).items():
            if gain > 0:
                row = {"labels": kind, "groups": groups, "sets": len(asked_of), "candidate": name}
                row |= {"gain in %": 100 * gain, "% in the time of all": 100 * rate}
                gained.append(row)
    publish("first_minute_gains", gained)
    chosen: list[Row] = []
    for key, one in found.items():
        for rule, what in one["rules"].items():
            chosen.append({"set": key, "rule": rule, **what})
    publish("first_minute_choice", chosen)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--sets", nargs="+", default=[], help="these alone, such as 'iris: rows'")
    seconds_option(parser)
    arguments = parser.parse_args()
    main(arguments.data, arguments.seconds, arguments.sets)
