"""A report as one HTML page that loads nothing: what is on it, and the page itself."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from importlib.resources import files
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.per_sample import asked_counts
from structsvm.data.sample import Sample
from structsvm.data.times import TimeAxis
from structsvm.data.words import Words
from structsvm.diagnosis.diagnose import diagnosis_of
from structsvm.diagnosis.examined import Examined
from structsvm.diagnosis.findings import Diagnosis
from structsvm.errors import DataError, DataWarning, without_warnings
from structsvm.evaluation.contrast import MIN_UNITS
from structsvm.evaluation.evaluate import evaluate, fitted_learner
from structsvm.evaluation.scores import SCORES, Evaluation, meanings_in_words, score_titles
from structsvm.evaluation.sentences import baseline_in_words, baseline_title
from structsvm.evaluation.verdict import Verdict
from structsvm.features.frames import read_names
from structsvm.graphs.label_maps import is_picture, pixels_of
from structsvm.graphs.labelled_nodes import NodeLabels
from structsvm.graphs.readers import as_list
from structsvm.learner.fitted import partition_of
from structsvm.learner.form import Form
from structsvm.learner.learner import Learner
from structsvm.plotting import words
from structsvm.plotting.samples import as_file, clusters_in_directions, overlay, traces
from structsvm.plotting.style import HATCHES, NO_STATE, state_marks
from structsvm.support.arrays import Floats
from structsvm.support.checks import counted, finite
from structsvm.support.version import __version__

ASSETS = (
    *("page.html", "page.css"),
    *("draw.js", "scores.js", "states.js", "viewer.js", "metric.js", "main.js"),
)


MARGINS = 3_000_000
"""Samples times changes up to which margins are computed: less than half a minute."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """All that a page shows, before it is made plain."""

    learner: Learner
    evaluation: Evaluation
    images: Sequence[NDArray[Any]]
    """The image of each sample; empty unless all samples are images that are at hand."""
    changes: Sequence[Sequence[Mapping[str, Any]]] = ()
    """How sure each learned change of each recording is; empty where that is not known, or would
    take long."""

    @property
    def words(self) -> Words:
        return self.evaluation.verdict.evidence.words

    @cached_property
    def diagnosis(self) -> Diagnosis:
        found = self.evaluation
        names = [row.name for row in self.evaluation.samples]
        of_samples = (found.measured, found.labels, None, names, found.prepared)
        return diagnosis_of(self.learner, Examined(self.learner, *of_samples))

    @classmethod
    def of(
        cls,
        learner: Learner,
        Xs: Any,
        ys: Any,
        *,
        evaluation: Evaluation | None = None,
        **given: Any,
    ) -> HeldOut:
        """Partition and score them, unless that was done; parameters as for ``evaluate``."""
        found = evaluation
        if found is None:
            with without_warnings(DataWarning, beginning="the model was learned from"):  # a note
                found = evaluate(learner, Xs, ys, **given)
        changes: list[list[dict[str, Any]]] = []
        samples = found.prepared
        guesses = found.guesses["learned"]
        work = sum(x.n_samples * (M.n_clusters - 1) for x, M in zip(samples, guesses, strict=True))
        sure = learner.problem_.traits.contiguous and learner.model_.has_margins
        if sure and work <= MARGINS:
            K = asked_counts(given.get("n_clusters"), found.truths)
            # Warnings were given when they were partitioned; margins are of exact oracles alone.
            with without_warnings(DataWarning), suppress(DataError):
                changes = [table[1:] for table in learner.predict_segments(samples, K)]
        images = _images(Form.given_to(learner, Xs).samples, found.measured)
        if not images:  # a graph may have been made of one
            terms = learner.problem_.traits.words
            evidence = replace(found.verdict.evidence, words=terms)
            found = replace(found, verdict=replace(found.verdict, evidence=evidence))
        return cls(learner, found, images, changes)


def _images(Xs: Any, samples: Sequence[Sample]) -> list[NDArray[Any]]:
    """The images the samples were made of; none where some are graphs already."""
    if any(getattr(sample.side, "regions", None) is None for sample in samples):
        return []
    images = [pixels_of(x) if is_picture(x) else np.asarray(x) for x in as_list(Xs)]
    pairs = zip(images, samples, strict=True)
    return images if all(x.shape[:2] == s.side.regions.shape for x, s in pairs) else []


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
    """Return an HTML page that evaluates a learner on held-out samples, as text.

    Verdict, scores, every sample with its partitions, what the metric looks at, certificate; the
    page needs no network and no other file. Recordings are drawn with their segments, the long ones
    by the minimum and the maximum of bins; images with their parts; tables and graphs in the two
    heaviest directions of the metric.

    Parameters
    ----------
    learner : MetricLearner, StateSegmenter or another learner
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
    learner = fitted_learner(learner, "report_page")
    about: dict[str, Any] = {"names": names, "times": times, "groups": groups}
    about |= {"n_clusters": n_clusters, "tolerance": tolerance, "unseen_states": unseen_states}
    return page_of(HeldOut.of(learner, Xs, ys, **about), title)


def page_of(held_out: HeldOut, title: str, verdict: Verdict | None = None) -> str:
    """The page of samples that have been partitioned and scored."""
    learner = held_out.learner
    evaluation = held_out.evaluation
    verdict = verdict or evaluation.verdict
    whole = held_out.words.whole
    sure, bounds = SURE if learner.problem_.traits.convex else LOCAL
    if learner.solution_ is None:
        sure, bounds = "What was learned", ""
    state = "yes" if verdict.pays else "no" if verdict.harms else "open"
    data = json.dumps(content(held_out), separators=(",", ":"), allow_nan=False)
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
    said = [f'<p class="note">{html.escape(note)}</p>' for note in notes(held_out)]
    filled = {name: html.escape(text) for name, text in texts.items()} | {
        "css": css,
        "js": "\n".join(js),
        "data": data,
        "state": state,
        "notes": "\n".join(said),
        "findings": _findings(held_out.diagnosis),
    }
    # In one pass: what is filled in is not read again.
    return FIELD.sub(lambda match: filled[match[1]], page)


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
    noun = "group" if verdict.evidence.grouped else verdict.evidence.words.whole
    return f"the mean. {counted(n, noun).capitalize()} cannot say how far from it others would be."


# ---- everything the page of a report shows, as plain values


WEIGHTS, CELLS = 20, 12  # features that are listed, and rows of the heat map


def content(held_out: HeldOut) -> dict[str, Any]:
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
    learner = held_out.learner
    found = []
    evidence = held_out.evaluation.verdict.evidence
    if evidence.seen:
        found.append(
            f"{evidence.method.capitalize()} was learned from {evidence.seen} of these: "
            "the figures are better than on new ones."
        )
    if learner.question_ in words.QUESTIONS:
        found.append(f"It was {words.QUESTIONS[learner.question_]}.")
    baselines = learner.problem_.traits.baselines
    if missing := [baseline_in_words(k) for k in baselines if k not in learner.baselines_]:
        found.append(f"Not tuned when this was learned, and so not compared: {', '.join(missing)}.")
    return found


def _metric(learner: Any) -> dict[str, Any]:
    B = words.scaled_metric(learner)
    names = learner.metric_feature_names_
    weights = np.diag(B)
    one_by_one = words.is_diagonal(B)
    order = np.argsort(-weights, kind="stable")
    cells = order[:CELLS]

    def short(values: Any) -> Any:
        """Five digits are enough for a picture."""
        return np.vectorize(lambda value: float(f"{value:.5g}"), otypes=[float])(values).tolist()

    return {
        "n_features": len(names),
        "unit": f"Weight of a feature against {words.unit_in_words(learner)}",
        "words": words.spectrum_in_words(learner).capitalize() + ".",
        "weights": [{"name": names[j], "weight": short(weights[j])} for j in order[:WEIGHTS]],
        "others": short(weights[order[WEIGHTS:]].sum()),
        "matrix": None if one_by_one else short(B[np.ix_(cells, cells)]),
        "eigenvalues": [] if one_by_one else short(words.eigenvalues(learner)),
    }


SHOWN = 3  # wrong labellings, of those that weigh most


def support_of(learner: Learner) -> dict[str, Any] | None:
    """The wrong labellings that weigh most, each with the true one; None where none is known."""
    solution = learner.solution_
    support = () if solution is None else solution.support or ()
    known = [found for found in support if found.labelling is not None][:SHOWN]
    if not known:
        return None
    traits = learner.problem_.traits
    names = learner.training_data_.names
    terms = traits.words
    one = "segmentation" if traits.contiguous else "partition"
    total = sum(found.multiplier for found in support)
    figures = []
    for found in known:
        i = found.sample
        pair = {"true": found.truth, "wrong": found.labelling}
        called = names[i] if names and i is not None else f"Training {terms.whole} {i}"
        parts = counted(found.labelling.n_clusters, terms.part)
        weighs = f"{100.0 * found.multiplier / total:.1f} % of the weight of all"
        caption = f"{called}: {parts} where {found.truth.n_clusters} are true, {weighs}."
        in_order = all(M.is_contiguous for M in pair.values())
        ends = {name: M.breakpoints for name, M in pair.items()} if in_order else None
        figures.append({"caption": caption, "ends": ends})
    holds = f"wrong {one} holds" if len(support) == 1 else f"wrong {one}s hold"
    said = (
        f"Learning keeps the true {one} of each {terms.whole} ahead of all others. {len(support)} "
        f"{holds} the metric where it is, and every other one could be left out. Those that weigh "
        "most:"
    )
    return {"title": f"Which {one}s define it", "words": said, "figures": figures}


TRACES = 3  # of the columns of a recording, and of its directions
VALUES = 600_000  # numbers of all traces together, about, unless there are very many recordings
BINS = (60, 1500)  # of a trace, at least and at most
ROWS = 2000  # of a table that are drawn
SIDE = (120, 320)  # pixels of the longer side of a drawn image, at least and at most
FULL = 50  # images up to which they are drawn as large as that
KNOTS = 600  # times that are kept of a recording that was sampled irregularly
LEVELS = 999  # values of a trace are 0 to 999, its minimum to its maximum: finer than any screen


def pictures_of(held_out: HeldOut) -> dict[str, Any]:
    """Plain values: the script that draws, what it can show, named states, and each sample."""
    views = list[tuple[str, str]]()
    marks = list[dict[str, Any]]()
    part = f"{held_out.words.part}s"
    draw: Callable[..., dict[str, Any]]
    if held_out.images:
        kind, draw = "images", _image
    elif held_out.learner.problem_.traits.contiguous:
        states = _states(held_out)
        kind = "recordings"
        draw = partial(_recording, states)
        marks = states[1]
    else:
        kind, draw = "tables", _points
        views = [("predicted", f"predicted {part}"), ("true", f"true {part}")]
    each = [draw(held_out, i) for i in range(len(held_out.evaluation.samples))]
    return {"kind": kind, "views": views, "states": marks, "each": each}


States = tuple[dict[Any, int], list[dict[str, Any]], Sequence[NDArray[Any]] | None]
"""Number of each state, its look, and the names of true ones, (T_i,) each, if labels are names."""


def _states(held_out: HeldOut) -> States:
    """The states of all recordings; a segment without a name has a number as well."""
    found = held_out.evaluation
    learned = state_marks(held_out.learner)
    if not found.states:
        return {}, [], None
    sizes = [sample.n_samples for sample in found.prepared]
    truths = read_names(found.labels, sizes, held_out.words.whole)
    labels = chain(*found.states.values(), truths or ())
    seen = {name for y in labels for name in y.tolist()}
    others = [*sorted(seen - learned.keys() - {None}, key=str), None]
    numbers = {name: k for k, name in enumerate((*learned, *others))}
    marks = []
    for name in numbers:
        mark = learned.get(name, NO_STATE)
        shown = None if name is None else str(name)
        look = {"color": mark.color, "ink": mark.ink, "hatch": HATCHES.index(mark.hatch)}
        marks.append({"name": shown, **look, "learned": name in learned})
    return numbers, marks, truths


def _recording(states: States, held_out: HeldOut, i: int) -> dict[str, Any]:
    """Traces, segment ends and states."""
    (number_of, _, true_names) = states
    found = held_out.evaluation
    sample = found.prepared[i]
    truth = found.truths[i]
    labels = np.asarray(found.labels[i])
    bins = int(np.clip(VALUES / (4 * TRACES * len(found.prepared)), *BINS))
    columns = zip(*traces(held_out.learner, found.measured[i], sample, TRACES), strict=True)
    ends = {"true": truth.breakpoints}
    ends |= {name: Ms[i].breakpoints for name, Ms in found.guesses.items()}
    named = {name: each[i] for name, each in found.states.items()}
    if true_names is not None:
        named["true"] = true_names[i]
    numbers = {name: [number_of[y[t - 1]] for t in ends[name]] for name, y in named.items()}
    changes = held_out.changes[i] if held_out.changes else ()
    known = labels.size == truth.n_samples
    return {
        "T": sample.n_samples,
        "traces": [{"name": name, **envelope(values, bins)} for name, values in columns],
        "ends": ends,
        "states": numbers,
        "changes": [
            {"at": c["start"], "margin": c["margin"], "rate": c.get("rate")} for c in changes
        ],
        "labels": [str(labels[t - 1]) for t in truth.breakpoints] if known else None,
        "time": _knots(found.times[i]) if found.times else None,
    }


def _knots(time: TimeAxis | None) -> dict[str, Any] | None:
    """The times of some samples, between which the page draws a line; dates in milliseconds."""
    if time is None:
        return None
    T = len(time)
    is_date = time.holds_dates
    values = time.values.astype("datetime64[us]").astype(np.int64) / 1e3 if is_date else time.values
    step = abs(float(values[-1]) - float(values[0])) / max(T - 1, 1)
    line = np.linspace(float(values[0]), float(values[-1]), T)
    at = np.unique([0, T - 1])
    if np.abs(values - line).max() > 1e-3 * step:
        steps = np.diff(values)
        odd = np.argsort(-np.abs(steps - np.median(steps)), kind="stable")[: KNOTS // 3]
        even = np.linspace(0, T - 1, min(T, KNOTS)).astype(int)
        at = np.unique(np.concatenate([even, odd, odd + 1]))  # the sides of gaps are exact
    known = [float(values[t]) for t in at]
    return {"name": time.title, "date": is_date, "at": at.tolist(), "values": known}


def _points(held_out: HeldOut, i: int) -> dict[str, Any]:
    """Items in the two heaviest directions: place, clusters, number of the item; their names."""
    found = held_out.evaluation
    sample = held_out.evaluation.prepared[i]
    truth = partition_of(found.truths[i])
    guess = found.guesses["learned"][i]
    T = sample.n_samples
    about = (sample, guess, truth, found.labels[i])
    _, places, true, names = clusters_in_directions(held_out.learner, *about)
    wrong = np.asarray(guess.labels != true)
    numbers = np.column_stack([guess.labels, true, wrong, np.arange(T)])
    drawn = np.unique(np.linspace(0, T - 1, min(T, ROWS)).astype(int))
    pairs = zip(places[drawn].round(4).tolist(), numbers[drawn].tolist(), strict=True)
    points = [[*place, *own] for place, own in pairs]
    return {"T": T, "points": points, "misplaced": int(wrong.sum()), "names": names}


def _image(held_out: HeldOut, i: int) -> dict[str, Any]:
    """An image with its true parts and those of each metric."""
    found = held_out.evaluation
    sample = held_out.evaluation.prepared[i]
    pixels = held_out.images[i]
    side = int(np.clip(SIDE[1] * np.sqrt(FULL / len(held_out.images)), *SIDE))
    decode = held_out.learner.problem_.decode
    shape = pixels.shape[:2]
    truth = found.truths[i]
    if isinstance(truth, NodeLabels) and truth.pixels is not None:
        true: NDArray[Any] = truth.pixels.reshape(shape)
    else:
        true = decode(partition_of(truth), sample)
    # One map at a time: those of a photograph are large.
    cuts = {"photo": _drawn(pixels, None, side), "true": _drawn(pixels, true, side)}
    for name, guesses in found.guesses.items():
        cuts[name] = _drawn(pixels, decode(guesses[i], sample), side)
    return {"T": int(np.prod(shape)), "size": list(shape), "cuts": cuts}


def _drawn(image: NDArray[Any], labels: NDArray[Any] | None, side: int) -> str:
    """The image, its parts marked if there are any, as an address that holds it."""
    H, W = image.shape[:2]
    shrink = min(1.0, side / max(H, W))
    rows, columns = (
        (np.arange(max(1, round(n * shrink))) / shrink).astype(int).clip(max=n - 1) for n in (H, W)
    )
    small = image[rows][:, columns]
    seen = overlay(small, np.zeros(small.shape[:2], dtype=np.int64), tint=0.0)
    if labels is not None:
        seen = overlay(small, labels[rows][:, columns])
    return "data:image/jpeg;base64," + base64.b64encode(as_file(seen, "jpeg", quality=88)).decode()


def envelope(values: Floats, n_bins: int) -> dict[str, Any]:
    """A trace as a page draws it: ``low``, and ``high`` if there are more values than bins."""
    T = values.size
    there = values[~np.isnan(values)]
    if not there.size:
        return {"min": 0.0, "max": 0.0, "low": [None] * min(T, n_bins), "high": None}
    least = float(there.min())
    most = float(there.max())
    lows = values
    high = None
    if T > 2 * n_bins:
        starts = np.arange(n_bins) * T // n_bins
        lows = np.fmin.reduceat(values, starts)
        high = _quantised(np.fmax.reduceat(values, starts), least, most)
    return {"min": least, "max": most, "low": _quantised(lows, least, most), "high": high}


def _quantised(values: Floats, least: float, most: float) -> list[int | None]:
    """Levels of values between two limits, by their halves, because large floats would overflow."""
    span = most / 2 - least / 2
    if span == 0:
        levels = np.where(np.isnan(values), np.nan, LEVELS // 2)
    else:
        levels = np.rint((values / 2 - least / 2) / span * LEVELS)
    return [None if np.isnan(level) else int(level) for level in levels.tolist()]
