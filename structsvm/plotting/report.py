"""The report of an evaluation as one HTML page that any browser shows."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

import numpy as np

from structsvm.diagnosis.findings import Diagnosis
from structsvm.evaluation import (
    MIN_UNITS,
    SCORES,
    Verdict,
    baseline_in_words,
    baseline_title,
    fitted_learner,
    meanings_in_words,
    score_titles,
)
from structsvm.learner import Learner
from structsvm.plotting import words
from structsvm.plotting.held_out import ShownOnPage
from structsvm.plotting.report_pictures import pictures_of
from structsvm.support import __version__, counted, finite

ASSETS = (
    *("page.html", "page.css"),
    *("draw.js", "traces.js", "scores.js", "states.js", "viewer.js", "metric.js", "main.js"),
)
N_WEIGHTS, N_MATRIX_ROWS = 20, 12  # features that are listed, and rows of the heat map
LABELLINGS_SHOWN = 3  # wrong labellings that are drawn, those of largest multiplier
FIELD = re.compile(r"\{\{(\w+)\}\}")
DRAG, ARROWS = "Drag over a stretch to zoom in. ", "Arrows up and down move, too. "
ABOUT_GAPS = (
    "How sure the optimum is",
    "The objective of the best metric so far (solid), and what no metric can be below (dashed), "
    "iteration by iteration.",
)
"""Heading and caption of the picture of the bounds."""
LOCAL_TITLES = (
    "How learning ended",
    "The objective, step by step. It is not convex: this is a local minimum, and no bound says how "
    "good it is.",
)


def report_page(
    learner: Learner,
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
    """Return an HTML page that evaluates a learner on held-out instances, as text.

    It has the verdict, scores, every instance with its partitions, the weights of the metric and
    the certificate, and needs neither a network nor another file. Recordings are drawn with their
    segments (long ones as minimum and maximum of bins), images with their parts, tables and graphs
    in the two heaviest directions of the metric.

    Parameters
    ----------
    learner : MetricLearner, StateSegmenter or another learner
        Fitted; ``fit(..., baselines=)`` adds baselines to the comparison.
    Xs, ys, n_clusters, tolerance, unseen_states, groups
        As for :func:`structsvm.evaluate`: recordings, tables, graphs or images that were not
        learned from.
    names : sequence of str, optional
        Names of the instances; by default their own names, or else their numbers.
    title : str
        Heading of the page.
    times : sequence, optional
        Times of the samples of each recording: a :class:`~structsvm.io.TimeAxis`, numbers or dates
        of shape (T_i,), or None.

    Raises
    ------
    DataError, SettingsError
        For an instance or a parameter that cannot be used; the message names it.

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
    learner = fitted_learner(learner, "report_page")
    about: dict[str, Any] = {"names": names, "times": times, "groups": groups}
    about |= {"n_clusters": n_clusters, "tolerance": tolerance, "unseen_states": unseen_states}
    return page_of(ShownOnPage.of(learner, Xs, ys, **about), title)


def page_of(held_out: ShownOnPage, title: str, verdict: Verdict | None = None) -> str:
    """The page of an evaluation; ``verdict`` replaces that of the evaluation at the top."""
    learner = held_out.learner
    evaluation = held_out.evaluation
    verdict = verdict or evaluation.verdict
    whole = held_out.words.whole
    sure, bounds = ABOUT_GAPS if learner.problem_.traits.convex else LOCAL_TITLES
    if learner.solution_ is None:
        sure, bounds = "What was learned", ""
    state = "yes" if verdict.pays else "no" if verdict.harms else "open"
    data = json.dumps(_content(held_out), separators=(",", ":"), allow_nan=False)
    for markup, code in {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"}.items():
        data = data.replace(markup, code)  # no HTML parser can take it for markup
    texts = {
        "title": title,
        "answer": verdict.answer,
        "found": f"{verdict.found} {verdict.remarks.question}".strip(),
        "measure": verdict.evidence.measure.capitalize(),
        "method": evaluation.verdict.evidence.method,
        "gains": _gains(evaluation.verdict),
        "singular": whole,
        "plural": f"{whole}s",
        "sure": sure,
        "bounds": bounds,
        "drag": ARROWS if held_out.images else DRAG,
        "made": words.made_in_words(learner),
        "version": __version__,
    }
    folder = files("structsvm.plotting") / "assets"
    page, css, *js = ((folder / name).read_text(encoding="utf-8") for name in ASSETS)
    notes = [f'<p class="note">{html.escape(note)}</p>' for note in _notes(held_out)]
    filled = {name: html.escape(text) for name, text in texts.items()} | {
        "css": css,
        "js": "\n".join(js),
        "data": data,
        "state": state,
        "notes": "\n".join(notes),
        "findings": _findings(held_out.diagnosis),
    }
    # In one pass, so that braces in filled-in texts are no fields.
    return FIELD.sub(lambda match: filled[match[1]], page)


def _findings(diagnosis: Diagnosis) -> str:
    """The findings of a diagnosis as HTML."""
    if not len(diagnosis):
        return f"<p>{html.escape(str(diagnosis).capitalize())}.</p>"
    rows = [
        f"<dt>{html.escape(finding.kind)}</dt><dd>{html.escape(finding.found)}"
        f"<br><em>{html.escape(finding.remedy)}</em></dd>"
        for finding in diagnosis
    ]
    return f"<dl>{''.join(rows)}</dl>"


def _gains(verdict: Verdict) -> str:
    """The end of the caption of the gains."""
    n = verdict.untrained.units
    if n >= MIN_UNITS:
        return "mean and 95 % interval. Right of zero, learning pays."
    noun = "group" if verdict.evidence.grouped else verdict.evidence.words.whole
    return f"the mean. {counted(n, noun).capitalize()} cannot say how far from it others would be."


def _content(held_out: ShownOnPage) -> dict[str, Any]:
    """Everything the page shows, as plain values."""
    learner = held_out.learner
    evaluation = held_out.evaluation
    terms = held_out.words
    pictures = pictures_of(held_out)
    each = pictures.pop("each")
    titles = score_titles(evaluation)
    solution = learner.solution_
    entries = [] if solution is None else solution.history.entries
    plain: dict[str, Any] = finite(
        {
            **pictures,
            **asdict(terms),
            "scores": list(titles.items()),
            "measure": evaluation.verdict.evidence.measure,
            "meanings": meanings_in_words(titles, terms),
            "ideals": {name: SCORES[name].perfect for name in titles if name in SCORES},
            "axes": words.heaviest_directions(learner, 2)[0],
            "titles": {name: baseline_title(name) for name in evaluation.scores},
            "means": evaluation.scores,
            "gains": {name: asdict(c.told) for name, c in evaluation.verdict.contrasts.items()},
            "confusion": {
                name: {"states": list(map(str, of.states)), "counts": of.counts.tolist()}
                for name, of in evaluation.confusion.items()
            },
            "metric": _metric(learner) if learner.sees is not None else None,
            "facts": [*words.facts(learner, terms.whole).items()],
            "support": heaviest_labellings(learner),
            "history": [{"lower": e.lower, "upper": e.upper} for e in entries],
            "recordings": [
                {
                    "name": scored.name,
                    "K": scored.n_clusters,
                    "found": {name: Ms[i].n_clusters for name, Ms in evaluation.guesses.items()},
                    "scores": {name: dict(scores) for name, scores in scored.scores.items()},
                    **each[i],
                }
                for i, scored in enumerate(evaluation.instances)
            ],
        }
    )
    return plain


def _notes(held_out: ShownOnPage) -> list[str]:
    """Sentences below the verdict."""
    learner = held_out.learner
    sentences = []
    evidence = held_out.evaluation.verdict.evidence
    if evidence.seen:
        sentences.append(
            f"{evidence.method.capitalize()} was learned from {evidence.seen} of these: "
            "the figures are better than on new ones."
        )
    if learner.question_ in words.CHOSEN_FOR:
        sentences.append(f"It was {words.CHOSEN_FOR[learner.question_]}.")
    baselines = learner.problem_.traits.baselines
    if missing := [baseline_in_words(k) for k in baselines if k not in learner.baselines_]:
        sentences.append(
            f"Not tuned when this was learned, and so not compared: {', '.join(missing)}."
        )
    return sentences


def _metric(learner: Any) -> dict[str, Any]:
    """The metric as plain values, as assets/metric.js draws it."""
    B = words.scaled_metric(learner)
    names = learner.metric_feature_names_
    weights = np.diag(B)
    one_by_one = words.is_diagonal(B)
    order = np.argsort(-weights, kind="stable")
    cells = order[:N_MATRIX_ROWS]

    def short(values: Any) -> Any:
        """Values rounded to five digits, which are enough for a picture."""
        return np.vectorize(lambda value: float(f"{value:.5g}"), otypes=[float])(values).tolist()

    return {
        "n_features": len(names),
        "unit": f"Weight of a feature against {words.unit_in_words(learner)}",
        "words": words.spectrum_in_words(learner).capitalize() + ".",
        "weights": [{"name": names[j], "weight": short(weights[j])} for j in order[:N_WEIGHTS]],
        "others": short(weights[order[N_WEIGHTS:]].sum()),
        "matrix": None if one_by_one else short(B[np.ix_(cells, cells)]),
        "eigenvalues": [] if one_by_one else short(words.eigenvalues(learner)),
    }


def heaviest_labellings(learner: Learner) -> dict[str, Any] | None:
    """The support labellings of largest multiplier beside the true ones; None if none is known."""
    solution = learner.solution_
    support = () if solution is None else solution.support or ()
    shown = [labelling for labelling in support if labelling.labelling is not None][
        :LABELLINGS_SHOWN
    ]
    if not shown:
        return None
    traits = learner.problem_.traits
    names = learner.training_data_.names
    terms = traits.words
    one = "segmentation" if traits.contiguous else "partition"
    total = sum(labelling.multiplier for labelling in support)
    figures = []
    for labelling in shown:
        i = labelling.instance
        pair = {"true": labelling.truth, "wrong": labelling.labelling}
        called = names[i] if names and i is not None else f"Training {terms.whole} {i}"
        parts = counted(labelling.labelling.n_clusters, terms.part)
        weighs = f"{100.0 * labelling.multiplier / total:.1f} % of the weight of all"
        caption = f"{called}: {parts} where {labelling.truth.n_clusters} are true, {weighs}."
        in_order = all(M.is_contiguous for M in pair.values())
        ends = {name: M.breakpoints for name, M in pair.items()} if in_order else None
        figures.append({"caption": caption, "ends": ends})
    holds = f"wrong {one} holds" if len(support) == 1 else f"wrong {one}s hold"
    sentences = (
        f"Learning keeps the true {one} of each {terms.whole} ahead of all others. {len(support)} "
        f"{holds} the metric where it is, and every other one could be left out. Those that weigh "
        "most:"
    )
    return {"title": f"Which {one}s define it", "words": sentences, "figures": figures}
