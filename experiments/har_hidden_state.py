"""A state that nobody labelled: each state in turn is absent from learning and present in the test.

The split of har_spsw.py. Every recording is standardised as a whole. The training recordings are
then cut into the stretches without the state; stretches of ten samples and more are learned from.
The test recordings are segmented whole, and each of them has the state. Whatever learns from labels
is cross-fitted by person.

    python experiments/har_hidden_state.py --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _cache import Pieces, seconds_option
from _har import (
    BOOSTING,
    BOUNDARIES,
    LOGISTIC,
    METHODS,
    METRIC,
    METRIC_ON_LAGS,
    METRIC_ON_SCORES,
    Floats,
    losses,
    paired_rows,
    person,
    scored,
    segmentations,
)
from _report import SHARED, Row, publish
from har_spsw import split

from structsvm import ChangePoint, MetricLearner, MetricLearnerCV
from structsvm.datasets import Recording
from structsvm.errors import DataWarning, VerdictWarning
from structsvm.partitions.candidates import Candidate
from structsvm.partitions.sample import Sample
from structsvm.partitions.samples import Standardizer

STATES = ("seated", "standing up", "walking", "turning", "sitting down")
"""The states 0, 1, ... of the labels."""
SHORTEST = 10
ON_LOGISTIC_SCORES = "metric on lags and logistic scores, full"
FULL_ON_SCORES = "metric on lags and state scores, full"

MADE = {name: make for name, (_, make) in METHODS.items()} | {
    FULL_ON_SCORES: lambda s: MetricLearner(features=scored(s), standardize=s),
    ON_LOGISTIC_SCORES: lambda s: MetricLearner(features=scored(s, "logistic"), standardize=s),
}
SHOWN = (
    "metric, diagonal",
    METRIC,
    "metric on lags, diagonal",
    METRIC_ON_LAGS,
    METRIC_ON_SCORES,
    FULL_ON_SCORES,
    ON_LOGISTIC_SCORES,
    BOUNDARIES,
    LOGISTIC,
    BOOSTING,
)
PAIRS = (
    (METRIC_ON_SCORES, BOOSTING),
    (METRIC_ON_SCORES, LOGISTIC),
    (METRIC_ON_SCORES, BOUNDARIES),
    (METRIC_ON_LAGS, BOUNDARIES),
    (METRIC_ON_LAGS, BOOSTING),
)


CHOSEN = {"learned": "chosen, learned", "best": "chosen, best of all"}
"""What predicts unless told otherwise, and ``use="best"``."""
CLASSIFIERS = (BOUNDARIES, LOGISTIC, BOOSTING)


def standardized(recording: Recording) -> Floats:
    """z-scores of a whole recording."""
    return Standardizer("recording")(recording.X)


def stretches(recordings: Sequence[Recording], hidden: int) -> list[tuple[Floats, Any, str]]:
    """Features, labels and name of each stretch without a state."""
    found = []
    for recording in recordings:
        X, y = standardized(recording), np.asarray(recording.y)
        edges = np.flatnonzero(np.diff(y != hidden, prepend=False, append=False))
        for start, end in edges.reshape(-1, 2).tolist():
            if end - start >= SHORTEST:
                found.append((X[start:end], y[start:end], recording.name))
    return found


def run(
    method: str, hidden: int, learn: Sequence[Recording], test: Sequence[Recording]
) -> list[float]:
    """The loss of each test recording after learning without the state."""
    Xs, ys, names = map(list, zip(*stretches(learn, hidden), strict=True))
    new = [standardized(recording) for recording in test]
    return losses(test, segmentations(MADE[method](None), Xs, ys, names, new))


def menu(Xs: Sequence[Floats], ys: Sequence[Any]) -> list[Candidate]:
    """The tool's own menu, for recordings that are standardised already."""
    found = list(ChangePoint().candidates([Sample(X) for X in Xs], ys, None))
    for candidate in found:
        inner = [candidate.settings.get("features"), candidate.rival and candidate.rival.estimator]
        for part in filter(None, inner):
            given = [name for name in part.get_params() if name.endswith("standardize")]
            part.set_params(**dict.fromkeys(given))
    return found


def chosen(hidden: int, learn: Sequence[Recording], test: Sequence[Recording]) -> dict[str, Any]:
    """What the tool chooses without the state, and its losses on the test recordings."""
    Xs, ys, names = map(list, zip(*stretches(learn, hidden), strict=True))
    search = MetricLearnerCV(candidates=menu(Xs, ys), standardize=None, random_state=0)
    search.fit(Xs, ys, groups=[person(name) for name in names])
    new = [standardized(recording) for recording in test]
    return {
        "learned": f"{search.best_learned_}, lam={search.best_lam_:g}",
        "best": search.best_candidate_,
        "losses": {use: losses(test, search.predict_partitions(new, use=use)) for use in CHOSEN},
        "held out": dict(
            zip(map(str, search.candidates_), search.cv_results_["mean_criterion"], strict=True)
        ),
    }


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore", DataWarning)
    warnings.simplefilter("ignore", VerdictWarning)
    learn, test = split(folder)
    pieces = Pieces("har_hidden_state", seconds)
    tool = [
        pieces.get(f"chosen {state}", partial(chosen, state, learn, test))
        for state in range(len(STATES))
    ]
    found: dict[str, dict[str, Any]] = {
        title: {m: pieces.get(f"{m} {state}", partial(run, m, state, learn, test)) for m in SHOWN}
        for state, title in enumerate(STATES)
    }
    pieces.finish()
    for of, choice in zip(found.values(), tool, strict=True):
        of |= {title: choice["losses"][use] for use, title in CHOSEN.items()}
    arrays = {s: {m: np.array(values) for m, values in of.items()} for s, of in found.items()}
    shown = (*SHOWN, *CHOSEN.values())
    rows: list[Row] = [
        {"method": m, **{state: float(of[m].mean()) for state, of in arrays.items()}} for m in shown
    ]
    publish("har_hidden_state", rows)
    publish("har_hidden_state_paired", paired_rows(PAIRS, arrays, test))
    pairs = [(ours, rival) for ours in CHOSEN.values() for rival in CLASSIFIERS]
    publish("har_hidden_state_chosen_paired", paired_rows(pairs, arrays, test))
    rows = [
        {"hidden": state, "best learned": choice["learned"], "best of all": choice["best"]}
        for state, choice in zip(STATES, tool, strict=True)
    ]
    publish("har_hidden_state_chosen", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    seconds_option(parser)
    args = parser.parse_args()
    main(args.data, args.seconds)
