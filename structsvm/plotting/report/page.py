"""A report as one HTML page that loads nothing: what is on it, and the page itself."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

import numpy as np

from structsvm.diagnosis import Diagnosis
from structsvm.evaluation.evaluate import SCORES, meanings_in_words, score_titles
from structsvm.evaluation.verdict import MIN_UNITS, Verdict, baseline_in_words, baseline_title
from structsvm.learner.learner import MetricLearner
from structsvm.plotting.report.held_out import HeldOut
from structsvm.plotting.report.pictures import pictures_of
from structsvm.plotting.words import (
    QUESTIONS,
    eigenvalues,
    facts,
    heaviest_directions,
    is_diagonal,
    made_in_words,
    scaled_metric,
    spectrum_in_words,
    unit_in_words,
)
from structsvm.support.lazy import __version__
from structsvm.support.plain import counted, finite

SCRIPTS = ("draw.js", "scores.js", "states.js", "viewer.js", "metric.js", "main.js")
FIELD = re.compile(r"\{\{(\w+)\}\}")


DRAG, ARROWS = "Drag over a stretch to zoom in. ", "Arrows up and down move, too. "
SURE = (
    "How sure the optimum is",
    "The objective of the best metric so far (solid), and what no metric can be below (dashed), "
    "iteration by iteration.",
)
"""Heading and caption of the course of the objective."""
LOCAL = (
    "How learning ended",
    "The objective, step by step. It is not convex: this is a local minimum, and no bound says how "
    "good it is.",
)


def report_page(
    learner: MetricLearner,
    Xs: Any,
    ys: Any,
    *,
    names: Sequence[str] | None = None,
    title: str = "What the metric is worth",
    n_clusters: int | str | None = None,
    tolerance: int = 5,
    times: Sequence[Any] | None = None,
    unseen_states: str = "refuse",
    groups: Any = None,
) -> str:
    """Return an HTML page that evaluates a metric on held-out samples, as text.

    Verdict, scores, every sample with its partitions, what the metric looks at, certificate; the
    page needs no network and no other file. Recordings are drawn with their segments, the long ones
    by the minimum and the maximum of bins; images with their parts; tables and graphs in the two
    heaviest directions of the metric.

    Parameters
    ----------
    learner : MetricLearner
        Fitted; ``fit(..., baselines=)`` adds baselines to the comparison.
    Xs, ys, n_clusters, tolerance, unseen_states, groups
        As for :func:`structsvm.evaluate`: recordings, tables, graphs or images that were not
        learned from.
    names : sequence of str, optional
        What to call the samples; their own names, or else their numbers, otherwise.
    title : str
        Heading of the page.
    times : sequence, optional
        Of each recording when its samples were measured: a :class:`~structsvm.io.TimeAxis`,
        numbers or dates of shape (T_i,), or None.

    Raises
    ------
    DataError, SettingsError
        Naming the sample or the parameter.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> from structsvm.plotting import report_page
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> more = relevant_changes(2, n_samples=200, n_features=4, n_relevant=1, random_state=1)
    >>> page = report_page(learner, *arrays_and_labels(more), title="Four features")
    >>> "<title>Four features</title>" in page
    True
    """
    asked = {"n_clusters": n_clusters, "tolerance": tolerance, "unseen_states": unseen_states}
    about = {"names": names, "times": times, "groups": groups}
    return page_of(HeldOut.of(learner, Xs, ys, **asked, **about), title)


def page_of(held_out: HeldOut, title: str, verdict: Verdict | None = None) -> str:
    """The page of samples that have been partitioned and scored."""
    learner, evaluation = held_out.learner, held_out.evaluation
    verdict, whole = verdict or evaluation.verdict, held_out.words.whole
    sure, bounds = SURE if learner.problem_.traits.convex else LOCAL
    state = "yes" if verdict.pays else "no" if verdict.harms else "open"
    data = json.dumps(content(held_out), separators=(",", ":"), allow_nan=False)
    for markup, code in {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"}.items():
        data = data.replace(markup, code)  # no HTML parser can take it for markup
    texts = {
        "title": title,
        "answer": verdict.answer,
        "found": f"{verdict.found} {verdict.question}".strip(),
        "measure": verdict.measure.capitalize(),
        "gains": _gains(evaluation.verdict),
        "singular": whole,
        "plural": f"{whole}s",
        "sure": sure,
        "bounds": bounds,
        "drag": ARROWS if held_out.images else DRAG,
        "made": made_in_words(learner),
        "version": __version__,
    }
    said = [f'<p class="note">{html.escape(note)}</p>' for note in notes(held_out)]
    parts = {
        "css": _asset("page.css"),
        "js": "\n".join(map(_asset, SCRIPTS)),
        "data": data,
        "state": state,
        "notes": "\n".join(said),
        "findings": _findings(held_out.diagnosis),
    }
    filled = {name: html.escape(text) for name, text in texts.items()} | parts
    # In one pass: what is filled in is not read again.
    return FIELD.sub(lambda match: filled[match[1]], _asset("page.html"))


def _findings(diagnosis: Diagnosis) -> str:
    if not len(diagnosis):
        return f"<p>{html.escape(str(diagnosis).capitalize())}.</p>"
    rows = [
        f"<dt>{html.escape(finding.kind)}</dt><dd>{html.escape(finding.found)}"
        f"<br><em>{html.escape(finding.remedy)}</em></dd>"
        for finding in diagnosis
    ]
    return f"<dl>{''.join(rows)}</dl>"


def _gains(verdict: Verdict) -> str:
    n = verdict.untrained.units
    if n >= MIN_UNITS:
        return "mean and 95 % interval. Right of zero, learning pays."
    noun = "group" if verdict.grouped else verdict.words.whole
    return f"the mean. {counted(n, noun).capitalize()} cannot say how far from it others would be."


def _asset(name: str) -> str:
    return (files("structsvm.plotting.report") / "assets" / name).read_text(encoding="utf-8")


# ---- everything the page of a report shows, as plain values


WEIGHTS, CELLS = 20, 12  # features that are listed, and rows of the heat map


def content(held_out: HeldOut) -> dict[str, Any]:
    learner, evaluation, words = held_out.learner, held_out.evaluation, held_out.words
    pictures = pictures_of(held_out)
    each = pictures.pop("each")
    titles, entries = score_titles(evaluation), learner.solution_.history.entries
    plain: dict[str, Any] = finite(
        {
            **pictures,
            **asdict(words),
            "scores": list(titles.items()),
            "measure": evaluation.verdict.measure,
            "meanings": meanings_in_words(titles, words),
            "ideals": {name: SCORES[name].perfect for name in titles if name in SCORES},
            "axes": heaviest_directions(learner, 2)[0],
            "titles": {name: baseline_title(name) for name in evaluation.scores},
            "means": evaluation.scores,
            "gains": {name: asdict(c.told) for name, c in evaluation.verdict.contrasts.items()},
            "confusion": {
                name: {"states": list(map(str, of.states)), "counts": of.counts.tolist()}
                for name, of in evaluation.confusion.items()
            },
            "metric": _metric(learner),
            "facts": [*facts(learner, words.whole).items()],
            "support": support_of(learner),
            "history": [{"lower": e.lower, "upper": e.upper} for e in entries],
            "recordings": [
                {
                    "name": scored.name,
                    "K": scored.n_clusters,
                    "found": {name: Ms[i].n_clusters for name, Ms in evaluation.guesses.items()},
                    "scores": {name: dict(scores) for name, scores in scored.scores.items()},
                    **each[i],
                }
                for i, scored in enumerate(evaluation.samples)
            ],
        }
    )
    return plain


def notes(held_out: HeldOut) -> list[str]:
    learner, found = held_out.learner, []
    if seen := held_out.evaluation.verdict.seen:
        found.append(
            f"The metric was learned from {seen} of these: the figures are better than on new ones."
        )
    if learner.question_ in QUESTIONS:
        found.append(f"The metric was {QUESTIONS[learner.question_]}.")
    baselines = learner.problem_.traits.baselines
    if missing := [baseline_in_words(k) for k in baselines if k not in learner.baselines_]:
        found.append(
            f"Not tuned when this metric was learned, and so not compared: {', '.join(missing)}."
        )
    if not learner.converged_:
        found.append(f"Learning did not converge: {learner.solution_.status.value}.")
    return found


def _metric(learner: MetricLearner) -> dict[str, Any]:
    B, names = scaled_metric(learner), learner.metric_feature_names_
    weights, one_by_one = np.diag(B), is_diagonal(B)
    order = np.argsort(-weights, kind="stable")
    cells = order[:CELLS]
    return {
        "n_features": len(names),
        "unit": f"Weight of a feature against {unit_in_words(learner)}",
        "words": spectrum_in_words(learner).capitalize() + ".",
        "weights": [{"name": names[j], "weight": _short(weights[j])} for j in order[:WEIGHTS]],
        "others": _short(weights[order[WEIGHTS:]].sum()),
        "matrix": None
        if one_by_one
        else [[_short(v) for v in row] for row in B[np.ix_(cells, cells)]],
        "eigenvalues": [] if one_by_one else [_short(value) for value in eigenvalues(learner)],
    }


def _short(value: float) -> float:
    """Five digits are enough for a picture."""
    return float(f"{value:.5g}")


SHOWN = 3  # wrong labellings, of those that weigh most


def support_of(learner: MetricLearner) -> dict[str, Any] | None:
    """The wrong labellings that weigh most, each with the true one; None where none is known."""
    support = learner.solution_.support or ()
    known = [found for found in support if found.labelling is not None][:SHOWN]
    if not known:
        return None
    traits, names = learner.problem_.traits, learner.training_data_.names
    words, one = traits.words, "segmentation" if traits.contiguous else "partition"
    total, figures = sum(found.multiplier for found in support), []
    for found in known:
        i, pair = found.sample, {"true": found.truth, "wrong": found.labelling}
        called = names[i] if names and i is not None else f"Training {words.whole} {i}"
        parts = counted(found.labelling.n_clusters, words.part)
        weighs = f"{100.0 * found.multiplier / total:.1f} % of the weight of all"
        caption = f"{called}: {parts} where {found.truth.n_clusters} are true, {weighs}."
        in_order = all(M.is_contiguous for M in pair.values())
        ends = {name: M.breakpoints for name, M in pair.items()} if in_order else None
        figures.append({"caption": caption, "ends": ends})
    holds = f"wrong {one} holds" if len(support) == 1 else f"wrong {one}s hold"
    said = (
        f"Learning keeps the true {one} of each {words.whole} ahead of all others. {len(support)} "
        f"{holds} the metric where it is, and every other one could be left out. Those that weigh "
        "most:"
    )
    return {"title": f"Which {one}s define it", "words": said, "figures": figures}
