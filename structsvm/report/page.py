"""A report as one HTML page that loads nothing."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from structsvm import __version__
from structsvm.evaluation import Evaluation, decode_with_all
from structsvm.graph_cuts.learner import CutLearner
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.samples import check_samples
from structsvm.report.content import content
from structsvm.report.cuts import cut_sheet
from structsvm.report.sheet import Sheet, checked_names

__all__ = ["report_page"]

SCRIPTS = ("draw.js", "scores.js", "viewer.js", "metric.js", "main.js")
FIELD = re.compile(r"\{\{(\w+)\}\}")


def report_page(
    learner: MetricLearner | CutLearner,
    Xs: Any,
    ys: Any,
    *,
    names: Sequence[str] | None = None,
    title: str = "What the metric is worth",
    n_segments: int | str | None = None,
    margin: int = 5,
) -> str:
    """A page on what a metric is worth on held-out recordings, as text to write into a file.

    Verdict, scores, every recording with its segmentations, what the metric looks at, certificate;
    the page needs no network and no other file. Long recordings are drawn by the minimum and the
    maximum of bins; segment ends are exact.

    Parameters
    ----------
    learner : MetricLearner or CutLearner
        Fitted; its ``fit_baselines`` adds rivals to the comparison.
    Xs, ys, n_segments, margin
        As for :func:`structsvm.evaluate`: recordings, tables or images (arrays) that were not
        learned from.
    names : sequence of str, optional
        What to call the recordings; their numbers otherwise.
    title : str
        Heading of the page.

    Returns
    -------
    str
        HTML.
    """
    if isinstance(learner, CutLearner):
        sheet = cut_sheet(learner, Xs, ys, names, n_segments)
    else:
        sheet = metric_sheet(learner, Xs, ys, names, n_segments, margin)
    notes = [f'<p class="note">{html.escape(note)}</p>' for note in sheet.notes]
    return _filled(
        title=html.escape(title),
        css=_asset("page.css"),
        js="\n".join(_asset(name) for name in SCRIPTS),
        data=_embedded(sheet.data),
        state=sheet.state,
        answer=html.escape(sheet.verdict.answer),
        found=html.escape(sheet.verdict.found),
        measure=sheet.verdict.measure.capitalize(),
        notes="\n".join(notes),
        singular=sheet.words.whole,
        plural=f"{sheet.words.whole}s",
        sure=html.escape(sheet.sure),
        bounds=html.escape(sheet.bounds),
        drag=html.escape(sheet.drag),
        version=html.escape(__version__),
    )


def metric_sheet(
    learner: MetricLearner,
    Xs: Any,
    ys: Any,
    names: Sequence[str] | None,
    n_segments: int | str | None,
    margin: int,
) -> Sheet:
    """What a page on recordings or tables says."""
    truths = learner.encode(Xs, ys)
    words = learner.problem_.words
    names = checked_names(names, len(truths), words)
    if len(truths) == 1 and np.ndim(ys[0]) == 0:
        ys = [ys]  # the labels of a single recording, which need no list around them
    guesses = decode_with_all(learner, Xs, truths, n_segments)
    arrays, _ = check_samples(Xs, None, learner.n_features_in_, words)
    evaluation = Evaluation.of(truths, guesses, names, learner.problem_, margin, arrays)
    return Sheet(
        verdict=evaluation.verdict,
        notes=_notes(learner, sum(X in learner.training_data_ for X in arrays)),
        words=words,
        sure="How sure the optimum is",
        bounds="The objective of the best metric so far (solid), and what no metric can be below "
        "(dashed), iteration by iteration.",
        data=content(learner, arrays, ys, truths, guesses, evaluation),
    )


def _notes(learner: MetricLearner, seen: int) -> tuple[str, ...]:
    """What a reader must know before trusting the figures."""
    notes = []
    if seen:
        notes.append(
            f"The metric was learned from {seen} of these: the figures are better than on new ones."
        )
    if "rca" not in learner.baselines_:
        notes.append("RCA was not tuned when this metric was learned, so it is not compared.")
    if not learner.converged_:
        notes.append(f"Learning did not converge: {learner.solution_.status.value}.")
    return tuple(notes)


def _filled(**fields: str) -> str:
    """The template with its fields, in one pass: what is filled in is not read again."""
    return FIELD.sub(lambda match: fields[match.group(1)], _asset("page.html"))


def _asset(name: str) -> str:
    return (files("structsvm.report") / "assets" / name).read_text(encoding="utf-8")


def _embedded(data: Any) -> str:
    """JSON that no HTML parser can take for markup."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
