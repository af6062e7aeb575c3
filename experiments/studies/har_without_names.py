"""Labels without names: change points only, and rivals that make names of their own.

The split of har_spsw.py, 95 recordings and five draws of 10. A rival that needs names can invent
them: *pseudo-states* are the clusters that K-means finds among the means of the labelled segments,
12 of them or, with few recordings, somewhat fewer. Classifiers of frames, and scores of states,
then learn these.

    python -m experiments.studies.har_without_names --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from experiments._cache import Pieces, run_on
from experiments._report import SHARED, Row, publish
from experiments.studies._har import (
    BOOSTING,
    BOUNDARIES,
    LOGISTIC,
    METHODS,
    METRIC,
    METRIC_ON_LAGS,
    METRIC_ON_SCORES,
    Floats,
    losses,
    mean_and_error,
    paired_rows,
    person,
    segmentations,
    truth,
)
from experiments.studies.har_spsw import split
from structsvm.data.standardize import Standardizer
from structsvm.errors import DataWarning
from structsvm.io import Recording, arrays_and_labels

N_STATES, FEW, DRAWS = 12, 10, 5
OF_CHANGES = (
    "metric, diagonal",
    METRIC,
    "metric on lags, diagonal",
    METRIC_ON_LAGS,
    BOUNDARIES,
)
OF_PSEUDO_STATES = (METRIC_ON_SCORES, LOGISTIC, BOOSTING)
SHOWN = (*OF_CHANGES, *OF_PSEUDO_STATES)
PAIRS = (
    (METRIC_ON_LAGS, LOGISTIC),
    (METRIC_ON_LAGS, BOOSTING),
    (METRIC_ON_LAGS, BOUNDARIES),
    (METRIC_ON_SCORES, METRIC_ON_LAGS),
    (METRIC_ON_SCORES, BOUNDARIES),
)


def pseudo_states(Xs: Sequence[Floats], ys: Sequence[Any], people: Sequence[str]) -> list[Any]:
    """The number of the cluster of its segment, for each sample; neighbours may have the same.

    There are fewer clusters than 12 where one would otherwise occur in one person only, which
    cannot be cross-fitted.
    """
    ends = [truth(y).boundaries for y in ys]
    means = [
        np.add.reduceat(Standardizer("recording")(X), at[:-1], axis=0) / np.diff(at)[:, None]
        for X, at in zip(Xs, ends, strict=True)
    ]
    owners = np.repeat(people, [len(m) for m in means])
    for n_states in range(N_STATES, 1, -1):
        found = KMeans(n_states, n_init=10, random_state=0).fit(np.vstack(means))
        if all(len(set(owners[found.labels_ == k])) > 1 for k in range(n_states)):
            break
    return [np.repeat(found.predict(m), np.diff(at)) for m, at in zip(means, ends, strict=True)]


def run(method: str, learn: Sequence[Recording], test: Sequence[Recording]) -> list[float]:
    """The loss of each test recording after learning from change points."""
    Xs, ys = arrays_and_labels(learn)
    if method in OF_PSEUDO_STATES:
        ys = pseudo_states(Xs, ys, [person(r.name) for r in learn])
    model = METHODS[method][1]("recording")
    names = [r.name for r in learn]
    return losses(test, segmentations(model, Xs, ys, names, [r.X for r in test]))


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(folder)
    n = len(learn)
    draws = [np.random.default_rng(seed).permutation(n)[:FEW].tolist() for seed in range(DRAWS)]
    chosen = {f"{n} recordings": [list(range(n))], f"{FEW} recordings": draws}
    pieces = Pieces("har_without_names", seconds)
    found = {}
    for size, sets in chosen.items():
        for method in SHOWN:
            found[size, method] = [
                pieces.get(
                    f"{method} {size} {k}", partial(run, method, [learn[i] for i in d], test)
                )
                for k, d in enumerate(sets)
            ]
    pieces.finish()
    rows: list[Row] = []
    for method in SHOWN:
        needs = "pseudo-states" if method in OF_PSEUDO_STATES else "change points"
        values = {size: mean_and_error(np.mean(found[size, method], axis=1)) for size in chosen}
        rows.append({"method": method, "learns from": needs, **values})
    publish("har_without_names", rows)
    means = {
        size: {method: np.mean(found[size, method], axis=0) for method in SHOWN} for size in chosen
    }
    publish("har_without_names_paired", paired_rows(PAIRS, means, test))


if __name__ == "__main__":
    run_on(main, SHARED / "har_spsw", __doc__)
