"""Everything the page of a report shows, as plain values."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from structsvm.errors import PluginError
from structsvm.evaluation.evaluate import (
    SCORES,
    meanings_in_words,
    perfect_in_words,
    score_titles,
)
from structsvm.evaluation.sentences import baseline_in_words, baseline_title
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.problem import PartitionProblem
from structsvm.plotting.report.held_out import HeldOut
from structsvm.plotting.report.pictures import Pictures
from structsvm.plotting.words import (
    certificate_in_words,
    eigenvalues,
    feature_weights,
    heaviest_directions,
    question_in_words,
    scaled_metric,
    spectrum_in_words,
    training_in_words,
    unit_in_words,
)
from structsvm.plugins import problem_name
from structsvm.support.plain import counted, finite

WEIGHTS, CELLS = 20, 40
"""Features that are listed, and rows of the heat map."""


def content(held_out: HeldOut, pictures: Pictures) -> dict[str, Any]:
    learner, evaluation, words = held_out.learner, held_out.evaluation, pictures.words
    titles = score_titles(evaluation)
    plain: dict[str, Any] = finite(
        {
            "kind": pictures.kind,
            "whole": words.whole,
            "item": words.item,
            "items": f"{words.item}s",
            "named": words.named,
            "bearers": words.bearers,
            "part": words.part,
            "parts": f"{words.part}s",
            "scores": list(titles.items()),
            "measure": evaluation.measure,
            "perfect": perfect_in_words(titles),
            "meanings": meanings_in_words(titles, words),
            "ideals": {name: SCORES[name].perfect for name in titles if name in SCORES},
            "views": list(pictures.views),
            "axes": heaviest_directions(learner, 2)[0],
            "titles": {name: baseline_title(name) for name in evaluation.scores},
            "means": evaluation.scores,
            "gains": {name: asdict(c.told) for name, c in evaluation.verdict.contrasts.items()},
            "states": pictures.states,
            "confusion": {
                name: {"states": list(map(str, of.states)), "counts": of.counts.tolist()}
                for name, of in evaluation.confusion.items()
            },
            "metric": _metric(learner),
            "facts": _facts(learner),
            "history": [
                {"lower": entry.lower, "upper": entry.upper}
                for entry in learner.solution_.history.entries
            ],
            "recordings": [
                {
                    "name": scored.name,
                    "K": scored.n_clusters,
                    "found": {name: Ms[i].n_clusters for name, Ms in held_out.guesses.items()},
                    "scores": {name: dict(scores) for name, scores in scored.scores.items()},
                    **pictures.each[i],
                }
                for i, scored in enumerate(evaluation.samples)
            ],
        }
    )
    return plain


def notes(held_out: HeldOut) -> list[str]:
    learner, found = held_out.learner, []
    if held_out.evaluation.seen:
        found.append(
            f"The metric was learned from {held_out.evaluation.seen} of these: the figures are "
            "better than on new ones."
        )
    question = question_in_words(learner)
    if question:
        found.append(f"The metric was {question}.")
    baselines = learner.problem_.traits.baselines
    missing = [baseline_in_words(name) for name in baselines if name not in learner.baselines_]
    if missing:
        were, are = ("was", "it is") if len(missing) == 1 else ("were", "they are")
        who = " and ".join(missing)
        found.append(
            f"{who[0].upper()}{who[1:]} {were} not tuned when this metric was learned, so {are} "
            "not compared."
        )
    if not learner.converged_:
        found.append(f"Learning did not converge: {learner.solution_.status.value}.")
    return found


def _metric(learner: MetricLearner) -> dict[str, Any]:
    weights, names = feature_weights(learner), learner.metric_feature_names_
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
    solution, traits = learner.solution_, learner.problem_.traits
    solver = learner.solver if isinstance(learner.solver, str) else type(learner.solver).__name__
    lam = traits.lam if learner.lam is None else learner.lam
    facts = [
        ("status", solution.status.value),
        ("certificate" if traits.convex else "what was found", certificate_in_words(solution)),
        (
            "solver",
            f"{solver}, {counted(solution.n_iter, 'iteration')}, "
            f"{counted(solution.oracle_calls, 'oracle call')}, "
            f"{solution.seconds:.1f} s",
        ),
        ("problem", _name(learner.problem_)),
        ("metric", f"{learner.metric}, regularizer {learner.regularizer}, lam {lam:g}"),
        ("learned on", training_in_words(learner.training_data_, traits.words)),
    ]
    if traits.convex:
        facts[2:2] = [
            ("lower bound", f"{solution.lower:.8g}"),
            ("upper bound", f"{solution.upper:.8g}"),
            ("relative gap", f"{solution.gap:.2g}"),
        ]
    if learner.metric_.price is not None:
        facts.append((f"price of a {traits.words.part}", f"{learner.metric_.price:.6g}"))
    if learner.inputs_.features is not None:
        facts.append(("features", str(learner.inputs_.features)))
    return facts


def _name(problem: PartitionProblem) -> str:
    """The name of its entry point, or of its class where it has none."""
    with suppress(PluginError):
        return problem_name(problem)
    return type(problem).__name__


def _short(value: float) -> float:
    """Five digits are enough for a picture."""
    return float(f"{value:.5g}")
