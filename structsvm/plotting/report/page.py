"""A report as one HTML page that loads nothing."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from structsvm.diagnosis import Diagnosis
from structsvm.evaluation.contrast import MIN_UNITS
from structsvm.evaluation.verdict import Verdict
from structsvm.learner.learner import MetricLearner
from structsvm.plotting.report.content import content, notes
from structsvm.plotting.report.held_out import HeldOut
from structsvm.plotting.report.pictures import Pictures
from structsvm.plotting.report.support import support_section
from structsvm.support.plain import counted
from structsvm.support.version import __version__

SCRIPTS = ("draw.js", "scores.js", "states.js", "viewer.js", "metric.js", "main.js")
FIELD = re.compile(r"\{\{(\w+)\}\}")


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

    Returns
    -------
    str
        HTML.

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
    held_out = HeldOut.of(
        learner,
        Xs,
        ys,
        names,
        n_clusters,
        tolerance,
        times=times,
        unseen_states=unseen_states,
        groups=groups,
    )
    return page_of(held_out, title)


def page_of(held_out: HeldOut, title: str, verdict: Verdict | None = None) -> str:
    """The page of samples that have been partitioned and scored."""
    learner, evaluation = held_out.learner, held_out.evaluation
    pictures = Pictures.of(held_out)
    verdict, whole = verdict or evaluation.verdict, pictures.words.whole
    sure, bounds = SURE if learner.problem_.traits.convex else LOCAL
    said = [f'<p class="note">{html.escape(note)}</p>' for note in notes(held_out)]
    return _filled(
        title=html.escape(title),
        css=_asset("page.css"),
        js="\n".join(_asset(name) for name in SCRIPTS),
        data=_embedded(content(held_out, pictures)),
        state=_state(verdict),
        answer=html.escape(verdict.answer),
        found=html.escape(f"{verdict.found} {verdict.question}".strip()),
        measure=html.escape(verdict.measure.capitalize()),
        gains=html.escape(_gains(evaluation.verdict)),
        notes="\n".join(said),
        support=support_section(learner),
        findings=_findings(held_out.diagnosis),
        singular=html.escape(whole),
        plural=html.escape(f"{whole}s"),
        sure=html.escape(sure),
        bounds=html.escape(bounds),
        drag=html.escape(pictures.hint),
        version=html.escape(__version__),
    )


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


def _state(verdict: Verdict) -> str:
    if verdict.pays:
        return "yes"
    return "no" if verdict.harms else "open"


def _filled(**fields: str) -> str:
    """The template with its fields, in one pass: what is filled in is not read again."""
    return FIELD.sub(lambda match: fields[match.group(1)], _asset("page.html"))


def _asset(name: str) -> str:
    return (files("structsvm.plotting.report") / "assets" / name).read_text(encoding="utf-8")


def _embedded(data: Any) -> str:
    """JSON that no HTML parser can take for markup."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
