"""What model selection makes of the labels by itself, on activities, beside a frame classifier.

The split of har_spsw.py. :class:`structsvm.MetricLearnerCV` sees the recordings of the ten training
people alone, folds that never divide a person included, and chooses from its own menu: once with
change points for labels, once with names of states. The 50 recordings of the other five people are
then segmented with what it has chosen. The second table is the search's own verdict: the ten people
held out in turn, each segmented by what the others chose.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._cache import Pieces, run_on
from experiments._report import SHARED, Row, publish
from experiments.studies._chosen import learned_metric
from experiments.studies.har_rivals import truth
from experiments.studies.har_spsw import split
from structsvm import MetricLearnerCV
from structsvm.errors import DataWarning, VerdictWarning
from structsvm.evaluation.contrast import Contrast
from structsvm.evaluation.sentences import baseline_in_words
from structsvm.io import Recording, arrays_and_labels
from structsvm.partitions.losses import partition_loss

Ints = NDArray[np.int64]

LABELS = ("change points", "names of states")
REFERENCE = "frame-boosting"


def losses(guesses: Sequence[Any], truths: Sequence[Any]) -> list[float]:
    """The loss of each recording."""
    return [partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)]


def chosen(labels: str, learn: Sequence[Recording], test: Sequence[Recording]) -> dict[str, Any]:
    """What is chosen, and the losses of it and of the classifiers on the test recordings."""
    Xs, names = arrays_and_labels(learn)
    truths = [truth(recording.y) for recording in test]
    ys = names if labels == "names of states" else [truth(y).breakpoints for y in names]
    groups = [recording.name[:3] for recording in learn]
    search = MetricLearnerCV(random_state=0).fit(Xs, ys, groups=groups)
    best = search.best_estimator_
    learned, called = learned_metric(search, Xs, ys, groups)
    others = {search.best_candidate_: best, **best.baselines_}
    contrasts = search.verdict_.contrasts
    instances = [recording.X for recording in test]
    found: dict[str, dict[str, list[float]]] = {}
    for given, counts in (("unknown", None), ("known", [M.n_clusters for M in truths])):
        both = {
            use: losses(model.predict_partitions(instances, counts), truths)
            for use, model in (("learned", learned), ("best", best))
        }
        rivals = {
            name: losses(model.predict_partitions(instances, counts), truths)
            for name, model in others.items()
            if model.sees is None
        }
        found[given] = both | rivals
    return {
        "learned": called,
        "best": search.best_candidate_,
        "verdict": str(search.verdict_),
        "losses": found,
        "in turn": {name: (c.mean, c.se, c.low, c.high) for name, c in contrasts.items()},
        "held out": {
            str(candidate): (mean, seconds)
            for candidate, mean, seconds in zip(
                search.candidates_,
                search.cv_results_["mean_criterion"],
                search.cv_results_["mean_fit_seconds"],
                strict=True,
            )
        },
    }


def difference(ours: Sequence[float], theirs: Sequence[float], people: Ints) -> str:
    """The mean paired difference, its standard error over people and its 95 % interval."""
    gap = np.subtract(ours, theirs)
    if not gap.any():
        return "-"
    found = Contrast.of("", gap, people)
    return f"{found.mean:.2f} ± {found.se:.2f} ({found.low:.2f} to {found.high:.2f})"


def in_turn(found: dict[str, Any]) -> list[Row]:
    """The differences to each rival behind the verdicts, over the ten people."""
    rows: list[Row] = []
    for labels, result in found.items():
        for rival, (mean, se, low, high) in result["in turn"].items():
            difference = f"{-mean:+.2f} ± {se:.2f} ({-high:+.2f} to {-low:+.2f})"
            about = {"labels": labels, "rival": baseline_in_words(rival)}
            rows.append(about | {"learned less rival": difference})
    return rows


def main(folder: Path, limit: float) -> None:
    warnings.simplefilter("ignore", DataWarning)
    warnings.simplefilter("ignore", VerdictWarning)
    learn, test = split(folder)
    people = np.unique([recording.name[:3] for recording in test], return_inverse=True)[1]
    pieces = Pieces("har_chosen", limit)
    found = {labels: pieces.get(labels, partial(chosen, labels, learn, test)) for labels in LABELS}
    pieces.finish()
    reference = found["names of states"]["losses"]
    rows: list[Row] = []
    for labels, result in found.items():
        shown = {
            "learned": f"best learned: {result['learned']}",
            "best": f"best of all: {baseline_in_words(result['best'])}",
        }
        if labels == "names of states":
            rivals = [name for name in reference["unknown"] if name not in shown]
            shown |= {name: baseline_in_words(name) for name in rivals}
        for key, name in shown.items():
            row: dict[str, Any] = {"labels": labels, "method": name}
            for given in ("unknown", "known"):
                here = result["losses"][given][key]
                row[f"loss, K {given}"] = float(np.mean(here))
                row[f"less that of boosting, K {given}"] = difference(
                    here, reference[given][REFERENCE], people
                )
            rows.append(row)
        print(labels, result["verdict"], *result["held out"].items(), sep="\n")
    publish("har_chosen", rows)
    publish("har_chosen_in_turn", in_turn(found))


if __name__ == "__main__":
    run_on(main, SHARED / "har_spsw", __doc__)
