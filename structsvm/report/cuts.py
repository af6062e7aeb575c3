"""A report on cuts of images."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.fitted import feature_names
from structsvm.graph_cuts.evaluation import CutEvaluation, cut_with_all
from structsvm.graph_cuts.learner import CutLearner
from structsvm.graphs.graph import FeatureGraph
from structsvm.partitions.traits import IMAGES
from structsvm.report.sheet import Sheet, checked_names
from structsvm.support.extras import require
from structsvm.support.plain import finite
from structsvm.views.words import eigenvalues, scaled_metric, spread_in_words, unit_in_words

__all__ = ["cut_sheet"]

SIDE = (120, 320)
"""Pixels of the longer side of a drawn image, at least and at most."""
FULL = 50
"""Images up to which they are drawn as large as that."""


def cut_sheet(
    learner: CutLearner,
    Xs: Any,
    ys: Any,
    names: Sequence[str] | None,
    n_clusters: int | str | None,
) -> Sheet:
    """What a page on cuts of images says; parameters as for ``report_page``."""
    graphs = learner.graphs(Xs)
    names = checked_names(names, len(graphs), IMAGES)
    for i, graph in enumerate(graphs):
        if graph.regions is None or not isinstance(Xs[i], np.ndarray):
            raise DataError(f"graph {i} is not of an image: a page on cuts shows images")
    truths = learner.encode(graphs, ys)
    guesses = cut_with_all(learner, graphs, truths, n_clusters)
    evaluation = CutEvaluation.of(learner, graphs, truths, guesses, names)
    side = int(np.clip(SIDE[1] * np.sqrt(FULL / len(graphs)), *SIDE))
    recordings = []
    for i, (graph, truth) in enumerate(zip(graphs, truths, strict=True)):
        # One map at a time: those of a photograph are large.
        cuts = {"photo": _drawn(Xs[i], None, side), "true": _drawn(Xs[i], _true_map(ys[i]), side)}
        for name in ("learned", *learner.baselines_):
            cuts[name] = _drawn(Xs[i], _map(graph, guesses[name][i]), side)
        shape = Xs[i].shape[:2]
        recordings.append(
            {
                "name": names[i],
                "T": int(np.prod(shape)),
                "K": truth.n_clusters,
                "found": {name: found[i].n_clusters for name, found in guesses.items()},
                "scores": {name: asdict(scores[i]) for name, scores in evaluation.each.items()},
                "size": list(shape),
                "cuts": cuts,
            }
        )
    return _sheet(
        learner, evaluation, recordings, sum(g.X in learner.training_data_ for g in graphs)
    )


def _sheet(
    learner: CutLearner, evaluation: CutEvaluation, recordings: list[dict[str, Any]], seen: int
) -> Sheet:
    notes = [
        f"The metric was learned from {seen} of these: the figures are better than on new ones."
    ]
    data = {
        "kind": "images",
        "whole": IMAGES.whole,
        "items": "pixels",
        "parts": "parts",
        "scores": [
            ("loss", "loss"),
            ("jaccard", evaluation.jaccard_in_words),
            ("adjusted_rand", "adj. Rand"),
        ],
        "measure": evaluation.measure,
        "perfect": "Perfect: loss and distance 0, adjusted Rand 1.",
        "views": [("marked", "parts marked")],
        "axes": [],
        "means": {name: asdict(scores) for name, scores in evaluation.scores.items()},
        "gains": {name: asdict(c) for name, c in evaluation.verdict.contrasts.items()},
        "metric": _metric(learner),
        "facts": _facts(learner),
        "history": [{"upper": step.objective, "lower": None} for step in learner.solution_.history],
        "recordings": recordings,
    }
    return Sheet(
        verdict=evaluation.verdict,
        notes=tuple(notes if seen else ()),
        words=IMAGES,
        sure="How learning ended",
        bounds="The objective, step by step. It is not convex: this is a local minimum, and no "
        "bound says how good it is.",
        data=finite(data),
        drag="Arrows up and down move, too. ",
    )


def _map(graph: FeatureGraph, found: Any) -> NDArray[np.int64]:
    return np.asarray(graph.label_map(np.array(found.labels)))


def _true_map(labels: Any) -> NDArray[np.int64]:
    """Labels of any kind as 0, 1, ..., (H, W)."""
    values = np.asarray(labels)
    return np.asarray(np.searchsorted(np.unique(values), values), dtype=np.int64)


def _drawn(image: NDArray[Any], labels: NDArray[Any] | None, side: int) -> str:
    """The image, its parts marked if there are any, as an address that holds it."""
    from structsvm.plotting.cuts import overlay  # which itself reads reports

    pillow = require("PIL.Image", "images", "a page on images")
    H, W = image.shape[:2]
    shrink = min(1.0, side / max(H, W))
    rows, columns = (
        (np.arange(max(1, round(n * shrink))) / shrink).astype(int).clip(max=n - 1) for n in (H, W)
    )
    small = image[rows][:, columns]
    parts = np.zeros(small.shape[:2], dtype=np.int64)
    seen = overlay(small, parts, tint=0.0)
    if labels is not None:
        seen = overlay(small, labels[rows][:, columns])
    buffer = io.BytesIO()
    pillow.fromarray(seen).save(buffer, format="jpeg", quality=88)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def _metric(learner: CutLearner) -> dict[str, Any]:
    """The metric against where learning started, where it is the identity."""
    B, names, values = scaled_metric(learner), feature_names(learner), eigenvalues(learner)
    order = np.argsort(-np.diag(B), kind="stable")
    return {
        "n_features": len(names),
        "unit": f"Weight of a feature against {unit_in_words(learner)}",
        "words": f"{spread_in_words(values)}.",
        "weights": [{"name": names[j], "weight": float(B[j, j])} for j in order],
        "matrix": {
            "names": [names[j] for j in order],
            "rows": B[np.ix_(order, order)].tolist(),
        },
        "eigenvalues": values.tolist(),
    }


def _facts(learner: CutLearner) -> list[tuple[str, str]]:
    solution, data = learner.solution_, learner.training_data_
    return [
        ("status", solution.status.value),
        ("objective", f"{solution.objective:.6g}, at the start {solution.start:.6g}"),
        ("projected gradient", f"{solution.stationarity:.2g}"),
        ("solver", f"{solution.solver}, {solution.n_iter} steps, {solution.seconds:.1f} s"),
        ("metric", f"{learner.metric}, lam {learner.lam_:g}"),
        ("learned on", f"{len(data)} images, {sum(data.n_samples)} nodes in all"),
    ]
