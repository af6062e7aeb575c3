"""Alarms at a rate of false ones, as samples arrive: whether new groups keep it, and how late.

One half of the groups is labelled: a method learns from it, and how large the margin of an alarm
has to be for one false alarm in so many samples, by folds of groups. The other half arrives sample
by sample, and the other way round. An alarm is false where no labelled change is within
``TOLERANCE`` samples of the place that it names; a change is found by the first alarm that is right
about it, and the delay is how many samples after the change it came.

Beside them, if installed, a Bayesian online detector (package changepoint: normal samples of
unknown mean and covariance, a change as often as in the labelled half), whose alarms are the most
probable begin of the run and its probability, with a threshold from the labelled half; and the
streaming form of ClaSP (claspy), of the first principal component and windows of a fifth of a mean
segment, with its own threshold and with the largest of six p values that keeps the rate in the
labelled half.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from experiments._cache import Pieces, run_on
from experiments._report import SHARED, Row, publish
from experiments.studies.score_decoder import Labelled, sets
from structsvm import MetricLearner, StateSegmenter, margin_rates
from structsvm.errors import SettingsError
from structsvm.features import Lags
from structsvm.learner.change_tracker import ChangeTracker
from structsvm.partitions import FalseAlarms

Floats = NDArray[np.float64]

SETS = ("har_spsw", "skab", "voices")
ASKED = (50, 100, 200, 500, 1000)
TOLERANCE = 5
MAX_CANDIDATES = 256
P_VALUES = (1e-2, 1e-4, 1e-7, 1e-12, 1e-20, 1e-50)
"""Thresholds of ClaSP to choose from, the last of which is its own."""

DIMENSIONS = 8
"""Principal components that the Bayesian detector sees."""


REFUSED: Row = {
    "asked: one in": 0,
    "measured: one in": "refused",
    "false": None,
    "changes found": None,
    "delay, median": None,
}


class Alarm(NamedTuple):
    """What a method says after so many samples: a change at a place, and how sure it is."""

    place: int
    seen: int
    sure: float


Heard = Callable[[Floats], list[Alarm]]
"""All that a detector says while a recording arrives."""


def changes_in(y: Any) -> NDArray[Any]:
    return np.flatnonzero(y[1:] != y[:-1]) + 1


def mean_length(ys: Sequence[Any]) -> float:
    """Of the labelled segments."""
    return sum(map(len, ys)) / sum(1 + changes_in(y).size for y in ys)


def is_right(alarm: Alarm, changes: NDArray[Any]) -> bool:
    return bool((np.abs(changes - alarm.place) <= TOLERANCE).any())


def first_of_each(alarms: Sequence[Alarm]) -> list[Alarm]:
    """The first alarm about each place."""
    found: list[Alarm] = []
    for alarm in alarms:
        if all(abs(alarm.place - one.place) > TOLERANCE for one in found):
            found.append(alarm)
    return found


def judged(alarms: Sequence[Alarm], y: Any) -> dict[str, Any]:
    """False alarms and samples of a recording, and the delay of each labelled change if found."""
    changes = changes_in(y)
    heard = first_of_each(alarms)
    delays = []
    for t in changes.tolist():
        right = [one.seen - t for one in alarms if abs(one.place - t) <= TOLERANCE]
        delays.append(min(right) if right else None)
    false = sum(not is_right(one, changes) for one in heard)
    return {"false": false, "samples": len(y), "delays": delays}


# ---- ours


def of_stream(learner: Any, least: float, X: Floats) -> list[Alarm]:
    """What ``stream().push`` tells of single samples, with the features of all made at once."""
    search = learner.model_.online(learner.problem_, MAX_CANDIDATES)
    names = learner.classes_ if learner.model_.keeps_states else None
    tracker = ChangeTracker(search, TOLERANCE, least, names)
    told = []
    for row in learner.model_.online_rows(learner.inputs_.online(X))[:, None]:
        told += [one for one in tracker.after(row) if one.withdrawn is None]
    return [Alarm(one.place, max(one.seen, one.final or 0), one.margin or 0.0) for one in told]


METHODS: Mapping[str, Callable[[], Any]] = {
    "states (linear)": lambda: StateSegmenter(["lda"], Lags([-4, -2, 0]), standardize="training"),
    "metric (OLDA)": lambda: MetricLearner(metric="olda", standardize="training", random_state=0),
}


def learned(make: Callable[[], Any], given: Labelled, which: Sequence[int]) -> dict[int, Any]:
    """For each rate, what hears alarms at it, as learned from some recordings."""
    Xs, ys, groups = given.raw_at(which)
    learner = make().fit(Xs, ys, groups=groups)
    learner.margin_rates_ = margin_rates(learner, Xs, ys, groups=groups, tolerance=TOLERANCE)
    heard: dict[int, Any] = {}
    for every in ASKED:
        heard[every] = None
        with suppress(SettingsError):  # fewer samples than that, or hardly a change was found
            stream = learner.stream(tolerance=TOLERANCE, false_alarm_every=every)
            heard[every] = partial(of_stream, learner, stream.least)
    return heard


# ---- others


def scaled(Xs: Sequence[Floats], n_components: int) -> Callable[[Floats], Floats]:
    """Principal components of samples with the scale of some recordings."""
    rows = np.vstack(Xs)
    center = rows.mean(axis=0)
    scale = rows.std(axis=0) + 1e-9
    n_components = min(n_components, rows.shape[1])
    components = PCA(n_components, whiten=True).fit((rows - center) / scale)
    return lambda X: np.asarray(components.transform((X - center) / scale))


def bayesian(Xs: Sequence[Floats], ys: Sequence[Any]) -> Heard:
    import changepoint

    transform = scaled(Xs, DIMENSIONS)
    length = mean_length(ys)

    said: dict[int, list[Alarm]] = {}

    def heard(X: Floats) -> list[Alarm]:
        if id(X) not in said:  # alike at every threshold
            said[id(X)] = list(alarms(transform(X)))
        return said[id(X)]

    def alarms(Z: Floats) -> Iterator[Alarm]:
        P = Z.shape[1]
        within = 0.2 * np.eye(P)  # of segments, as a part of the variance of all
        prior = changepoint.NormalInvWishart(np.zeros(P), 0.2, P + 2, within)
        detector = changepoint.Bocpd(prior, length)
        for t, z in enumerate(Z):
            runs = np.asarray(detector.step(z))  # the probability of each length of the run
            begin = t + 1 - int(runs.argmax())
            if begin > TOLERANCE:
                near = runs[max(t + 1 - begin - TOLERANCE, 0) : t + 2 - begin + TOLERANCE]
                yield Alarm(begin, t + 1, float(near.sum()))

    return heard


def at_threshold(heard: Heard, least: float, X: Floats) -> list[Alarm]:
    return [alarm for alarm in heard(X) if alarm.sure >= least]


def calibrated(given: Labelled, which: Sequence[int]) -> dict[int, Any]:
    """For each rate, the Bayesian detector with a threshold from some recordings."""
    Xs, ys, _ = given.raw_at(which)
    heard = bayesian(Xs, ys)
    spans: list[tuple[float, float]] = []
    for X, y in zip(Xs, ys, strict=True):
        changes = changes_in(y)
        most: dict[int, float] = {}
        for alarm in heard(X):
            near = [place for place in most if abs(place - alarm.place) <= TOLERANCE]
            before = most.pop(near[0], 0.0) if near else 0.0
            if alarm.sure > before and not is_right(alarm, changes):
                spans.append((before, alarm.sure))
            most[alarm.place] = max(alarm.sure, before)
    alarms = FalseAlarms(np.array(spans).reshape(-1, 2), sum(map(len, Xs)))
    rates = [every for every in ASKED if every <= alarms.n_samples]
    return {every: partial(at_threshold, heard, alarms.margin(every)) for every in rates}


def clasp_alarms(
    transform: Callable[[Floats], Floats], window: int, threshold: float, X: Floats
) -> list[Alarm]:
    """What ClaSP says whose changes have this p value at most, from a tenth of the samples on."""
    from claspy.streaming.segmentation import StreamingClaSPSegmentation

    n = len(X)
    warmup = min(n, max(50, n // 10))
    stream = StreamingClaSPSegmentation(n, warmup, window, threshold=threshold, log_cps=True)
    found = []
    n_known = 0
    for t, x in enumerate(transform(X)[:, 0]):
        with suppress(ValueError, IndexError, OverflowError, AttributeError):  # too short for it
            stream.update(x)
        found += [Alarm(int(place), t + 1, 1.0) for place in stream.change_points[n_known:]]
        n_known = len(stream.change_points)
    return found


def clasp(given: Labelled, which: Sequence[int]) -> dict[int, Any]:
    """ClaSP with its own threshold, 0, and for each rate with the largest that keeps it."""
    Xs, ys, _ = given.raw_at(which)
    # its segments have five windows at least
    of_window = partial(clasp_alarms, scaled(Xs, 1), max(3, round(mean_length(ys) / 5)))
    heard: dict[int, Any] = {0: partial(of_window, P_VALUES[-1])}
    n_samples = sum(map(len, Xs))
    for p_value in P_VALUES[::-1]:
        at_value = partial(of_window, p_value)
        false = sum(judged(at_value(X), y)["false"] for X, y in zip(Xs, ys, strict=True))
        heard |= {every: at_value for every in ASKED if false <= n_samples // every}
    return heard


# ---- the table


def measured(read: Callable[[], Labelled], make: Callable[..., dict[int, Any]]) -> dict[str, Any]:
    """By rate, what is heard in each recording of the half that was not learned from."""
    given = read()
    units = np.unique(given.groups, return_inverse=True)[1]
    half = np.random.default_rng(0).permutation(units.max() + 1)[units] % 2
    rows: dict[str, Any] = {}
    refused: set[str] = set()
    for k in (0, 1):
        new, truths, _ = given.raw_at(np.flatnonzero(half == k).tolist())
        for every, heard in make(given, np.flatnonzero(half != k).tolist()).items():
            if heard is None:
                refused.add(str(every))
                continue
            found = [judged(heard(X), y) for X, y in zip(new, truths, strict=True)]
            rows.setdefault(str(every), []).extend(found)
    return rows | dict.fromkeys(sorted(refused, key=int))


def rows_of(name: str, method: str, found: Mapping[str, Any]) -> list[Row]:
    rows: list[Row] = []
    for every, recordings in found.items():
        if recordings is None:
            rows.append({"set": name, "method": method, **REFUSED, "asked: one in": int(every)})
            continue
        false = sum(one["false"] for one in recordings)
        samples = sum(one["samples"] for one in recordings)
        delays = [delay for one in recordings for delay in one["delays"]]
        right = [delay for delay in delays if delay is not None]
        row: dict[str, Any] = {"set": name, "method": method, **REFUSED}
        row["asked: one in"] = int(every) or "own threshold"
        row["measured: one in"] = round(samples / false) if false else f"none in {samples}"
        row["false"] = false
        row["changes found"] = f"{len(right)} of {len(delays)}"
        row["delay, median"] = float(np.median(right)) if right else None
        rows.append(row)
    return rows


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore")
    pieces = Pieces("alarms", seconds)
    makes: dict[str, Any] = {name: partial(learned, make) for name, make in METHODS.items()}
    if find_spec("changepoint"):
        makes["Bayesian online"] = calibrated
    if find_spec("claspy"):
        makes["ClaSP, streaming"] = clasp
    rows: list[Row] = []
    for name in SETS:
        for method, make in makes.items():
            read = sets(folder)[name]
            found = pieces.get(f"{name}, {method}", partial(measured, read, make))
            rows += [] if found is None else rows_of(name, method, found)
    pieces.finish()
    publish("alarms", rows)


if __name__ == "__main__":
    run_on(main, SHARED, __doc__)
