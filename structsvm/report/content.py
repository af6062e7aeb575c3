"""Everything the page of a report shows, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.evaluation import Evaluation
from structsvm.fitted import feature_names, measured
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.matching import matched_labels
from structsvm.plugins import problem_name
from structsvm.report.traces import envelope
from structsvm.support.plain import finite
from structsvm.views.words import (
    certificate_in_words,
    eigenvalues,
    feature_weights,
    heaviest_directions,
    scaled_metric,
    spectrum_in_words,
    training_in_words,
    unit_in_words,
)

__all__ = ["content"]

Floats = NDArray[np.float64]
Partitions = Mapping[str, Sequence[EquivalenceMatrix]]

TRACES = 3
"""Of a recording in each view."""
VALUES = 600_000
"""Numbers of all traces together, about, unless there are very many recordings."""
BINS = (60, 1500)
"""Of a trace, at least and at most."""
ROWS = 2000
"""Of a table that are drawn."""
WEIGHTS, CELLS = 20, 40
"""Features that are listed, and rows of the heat map."""


def content(
    learner: MetricLearner,
    Xs: Sequence[Floats],
    ys: Sequence[Any],
    truths: Sequence[EquivalenceMatrix],
    guesses: Partitions,
    evaluation: Evaluation,
) -> dict[str, Any]:
    """What the scripts of the page read.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    Xs, ys : held-out recordings and their labels
    truths : sequence of EquivalenceMatrix
    guesses : mapping of metrics to partitions
    evaluation : Evaluation
        Of these.
    """
    contiguous, words = learner.problem_.contiguous, learner.problem_.words
    pictures = (
        _recordings(learner, Xs, ys, truths, guesses)
        if contiguous
        else _tables(learner, Xs, truths, guesses["learned"])
    )
    rows = zip(evaluation.recordings, truths, pictures, strict=True)
    gains = evaluation.verdict.contrasts
    plain: dict[str, Any] = finite(
        {
            "kind": "recordings" if contiguous else "tables",
            "whole": words.whole,
            "items": f"{words.item}s",
            "parts": f"{words.part}s",
            "scores": _scores(evaluation.margin if contiguous else None),
            "measure": evaluation.measure,
            "perfect": "Perfect: loss 0, all others 1.",
            "views": _views(contiguous),
            "axes": heaviest_directions(learner, 2)[0],
            "means": {name: asdict(scores) for name, scores in evaluation.scores.items()},
            "gains": {name: asdict(contrast) for name, contrast in gains.items()},
            "metric": _metric(learner),
            "facts": _facts(learner),
            "history": _history(learner),
            "recordings": [
                {
                    "name": scored.name,
                    "T": truth.n_samples,
                    "K": truth.n_clusters,
                    "found": {name: found[i].n_clusters for name, found in guesses.items()},
                    "scores": {name: asdict(scores) for name, scores in scored.scores.items()},
                    **picture,
                }
                for i, (scored, truth, picture) in enumerate(rows)
            ],
        }
    )
    return plain


def _scores(margin: int | None) -> list[tuple[str, str]]:
    """Which scores are shown, and what they are called; F1 if there is a margin."""
    shown = [("loss", "loss"), ("covering", "covering"), ("adjusted_rand", "adj. Rand")]
    return shown if margin is None else [*shown, ("f1", f"F1 (within {margin})")]


def _views(contiguous: bool) -> list[tuple[str, str]]:
    """What can be shown of a recording: key and words."""
    if contiguous:
        return [("components", "directions of the metric"), ("features", "features as measured")]
    return [("predicted", "predicted clusters"), ("true", "true clusters")]


def _recordings(
    learner: MetricLearner,
    Xs: Sequence[Floats],
    ys: Sequence[Any],
    truths: Sequence[EquivalenceMatrix],
    guesses: Partitions,
) -> list[dict[str, Any]]:
    """Traces and segment ends of each recording."""
    names, weights = feature_names(learner), feature_weights(learner)
    titles, directions = heaviest_directions(learner, TRACES)
    heaviest = np.argsort(-weights, kind="stable")[:TRACES]
    n_traces = heaviest.size + len(directions)
    bins = int(np.clip(VALUES / (2 * n_traces * len(Xs)), *BINS))
    standardize, found = learner.standardizer_, []
    for i, (X, y, truth) in enumerate(zip(Xs, ys, truths, strict=True)):
        seen, (shown,) = standardize(X) @ directions.T, measured(learner, [X])
        ends = {"true": truth, **{name: partitions[i] for name, partitions in guesses.items()}}
        found.append(
            {
                "traces": {
                    "components": [
                        {"name": title, **envelope(column, bins)}
                        for title, column in zip(titles, seen.T, strict=True)
                    ],
                    "features": [
                        {"name": names[j], **envelope(shown[:, j], bins)} for j in heaviest
                    ],
                },
                "ends": {name: M.breakpoints for name, M in ends.items()},
                "labels": _labels(y, truth),
            }
        )
    return found


def _tables(
    learner: MetricLearner,
    Xs: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    guesses: Sequence[EquivalenceMatrix],
) -> list[dict[str, Any]]:
    """Rows of each table in the two strongest directions: place, clusters, number of the row."""
    _, directions = heaviest_directions(learner, 2)
    found = []
    for X, truth, guess in zip(Xs, truths, guesses, strict=True):
        seen = learner.standardizer_(X) @ directions.T
        places = np.column_stack([seen, np.zeros(len(seen))])[:, :2]
        true = matched_labels(truth, guess)
        assert guess.labels is not None
        wrong = guess.labels != true
        drawn = np.unique(np.linspace(0, len(X) - 1, min(len(X), ROWS)).astype(int))
        points = [
            [
                *map(float, places[t].round(4)),
                int(guess.labels[t]),
                int(true[t]),
                int(wrong[t]),
                int(t),
            ]
            for t in drawn
        ]
        found.append({"points": points, "misplaced": int(wrong.sum())})
    return found


def _labels(y: Any, truth: EquivalenceMatrix) -> list[str] | None:
    """The label of each true segment, if there are labels."""
    labels = np.asarray(y)
    if labels.size != truth.n_samples:
        return None
    return [str(labels[end - 1]) for end in truth.breakpoints]


def _metric(learner: MetricLearner) -> dict[str, Any]:
    weights, names = feature_weights(learner), feature_names(learner)
    order = np.argsort(-weights, kind="stable")
    cells = order[:CELLS]
    return {
        "n_features": len(names),
        "unit": f"Weight of a feature against {unit_in_words(learner)}",
        "words": spectrum_in_words(learner).capitalize() + ".",
        "weights": [{"name": names[j], "weight": _short(weights[j])} for j in order[:WEIGHTS]],
        "matrix": {
            "names": [names[j] for j in cells],
            "rows": [
                [_short(v) for v in row] for row in scaled_metric(learner)[np.ix_(cells, cells)]
            ],
        },
        "eigenvalues": [_short(value) for value in eigenvalues(learner)],
    }


def _facts(learner: MetricLearner) -> list[tuple[str, str]]:
    """The certificate and what it is about."""
    solution, words = learner.solution_, learner.problem_.words
    return [
        ("status", solution.status.value),
        ("certificate", certificate_in_words(solution)),
        ("lower bound", f"{solution.lower:.8g}"),
        ("upper bound", f"{solution.upper:.8g}"),
        ("relative gap", f"{solution.gap:.2g}"),
        (
            "solver",
            f"{learner.solver}, {solution.n_iter} iterations, "
            f"{solution.oracle_calls} oracle calls, {solution.seconds:.1f} s",
        ),
        ("problem", problem_name(learner.problem_)),
        ("metric", f"{learner.metric}, regularizer {learner.regularizer}, lam {learner.lam:g}"),
        ("penalty", f"{learner.penalty_:.6g} a {words.part}"),
        ("learned on", training_in_words(learner.training_data_, words)),
    ]


def _history(learner: MetricLearner) -> list[dict[str, float]]:
    """The bounds, iteration by iteration."""
    entries = learner.solution_.history.entries
    return [{"lower": entry.lower, "upper": entry.upper} for entry in entries]


def _short(value: float) -> float:
    """Five digits are enough for a picture."""
    return float(f"{value:.5g}")
