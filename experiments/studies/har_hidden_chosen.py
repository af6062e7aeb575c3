"""A state that nobody labelled: what the tool chooses by itself, which knows nothing of the state.

As har_hidden_state.py, with 20 of the 95 recordings to learn from, drawn for each state. Without it
:class:`structsvm.MetricLearnerCV` chooses from its own menu, by folds that divide no person and
hide the other states in turn (``split="states"``), or by ordinary folds (``--ordinary``).
*Learned* is the best learned metric, which predicts unless told otherwise, *best* the best of all
(``best_estimator_``); the classifiers are those that the tool has tuned beside them. Recordings
are standardised as a whole before they are cut, and nothing standardises the stretches again.

    python -m experiments.studies.har_hidden_chosen --seconds 300    # as often as it asks for
    python -m experiments.studies.har_hidden_chosen --ordinary --seconds 300
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, Row, publish
from experiments.studies._chosen import learned_metric
from experiments.studies._har import Floats, difference, losses, person
from experiments.studies.har_hidden_state import STATES, standardized, stretches
from experiments.studies.har_spsw import split as people
from structsvm import ChangePoint, EquivalenceMatrix, MetricLearnerCV
from structsvm.errors import DataWarning, VerdictWarning
from structsvm.evaluation.sentences import baseline_in_words
from structsvm.io import Recording
from structsvm.learner import Method, MetricLearner, TrainingSet
from structsvm.model_selection.recordings import Recordings

N_LEARN = 20
CHOSEN = ("learned", "best")


def menu(Xs: Sequence[Floats], ys: Sequence[Any], split: str | None) -> list[Method]:
    """The tool's own menu, for recordings that are standardised already."""
    data = replace(TrainingSet.of(ChangePoint(), list(Xs), list(ys)), question=split)
    return list(Recordings(data, MetricLearner(standardize=None)).candidates)


def run(
    hidden: int, learn: Sequence[Recording], test: Sequence[Recording], split: str | None
) -> dict[str, Any]:
    """What is chosen without the state, and the losses on the test recordings."""
    drawn = np.random.default_rng(hidden).permutation(len(learn))[:N_LEARN]
    Xs, ys, names = map(list, zip(*stretches([learn[i] for i in drawn], hidden), strict=True))
    search = MetricLearnerCV(
        candidates=menu(Xs, ys, split),
        split=split,
        standardize=None,
        random_state=0,
    )
    groups = [person(name) for name in names]
    best = search.fit(Xs, ys, groups=groups).best_estimator_
    learned, called = learned_metric(search, Xs, ys, groups)
    new = [standardized(recording) for recording in test]
    guesses: dict[str, list[EquivalenceMatrix]] = {
        use: model.predict_partitions(new)
        for use, model in zip(CHOSEN, (learned, best), strict=True)
    }
    others = {search.best_candidate_: best, **best.baselines_}
    rivals = {name: model for name, model in others.items() if model.sees is None}
    guesses |= {name: model.predict_partitions(new) for name, model in rivals.items()}
    means = search.cv_results_["mean_criterion"]
    return {
        "learned": called,
        "best": search.best_candidate_,
        "losses": {name: losses(test, found) for name, found in guesses.items()},
        "held out": dict(zip(map(str, search.candidates_), means, strict=True)),
    }


def rows_of(state: str, found: dict[str, Any], test: Sequence[Recording]) -> Row:
    """What was chosen, beside the classifier of least loss, known in hindsight."""
    of = {name: np.array(values) for name, values in found["losses"].items()}
    rivals = [name for name in of if name not in CHOSEN]
    rival = min(rivals, key=lambda name: float(of[name].mean()))
    row: dict[str, Any] = {
        "hidden": state,
        "best classifier": f"{baseline_in_words(rival)}: {of[rival].mean():.2f}",
    }
    for use in CHOSEN:
        row[f"chosen, {use}"] = f"{found[use]}: {of[use].mean():.2f}"
        row[f"{use} less the classifier"] = difference(of, use, rival, test)
    return row


def main(folder: Path, states: Sequence[int], seconds: float, ordinary: bool) -> None:
    warnings.simplefilter("ignore", DataWarning)
    warnings.simplefilter("ignore", VerdictWarning)
    learn, test = people(folder)
    title = "har_hidden_ordinary" if ordinary else "har_hidden_chosen"
    pieces = Pieces(title, seconds)
    folds = None if ordinary else "states"
    found = {
        state: pieces.get(STATES[state], partial(run, state, learn, test, folds))
        for state in states
    }
    pieces.finish()
    publish(title, [rows_of(STATES[s], of, test) for s, of in found.items()])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    parser.add_argument("--states", nargs="+", type=int, default=range(len(STATES)))
    parser.add_argument("--ordinary", action="store_true", help="choose by folds that hide nothing")
    seconds_option(parser)
    args = parser.parse_args()
    main(args.data, args.states, args.seconds, args.ordinary)
