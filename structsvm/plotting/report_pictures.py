"""Plain values from which the page of a report draws recordings, tables, graphs and images."""

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import TimeAxis, read_names
from structsvm.graphs import NodeLabels
from structsvm.learner.fitted import partition_of
from structsvm.plotting.clusters import clusters_in_directions
from structsvm.plotting.cut import as_file, overlay
from structsvm.plotting.drawable import traces
from structsvm.plotting.held_out import ShownOnPage
from structsvm.plotting.style import HATCHES, NO_STATE, state_marks
from structsvm.support import Floats

TRACES = 3  # columns of a recording that are drawn, and directions
VALUES = 600_000  # about the most numbers of all traces together
BINS = (60, 1500)  # bins of a trace, at least and at most
ROWS_DRAWN = 2000  # rows of a table that are drawn, at most
DRAWN_SIDE = (120, 320)  # pixels of the longer side of a drawn image, at least and at most
FULL = 50  # images up to which they have the largest size
KNOTS = 600  # about the most knots of an irregular time axis
TRACE_LEVELS = 999  # a trace is 0 at its minimum and 999 at its maximum, finer than any screen
States = tuple[dict[Any, int], list[dict[str, Any]], Sequence[NDArray[Any]] | None]
"""The number of each state, the looks of all, and the true names, (T_i,) each, if there are any."""


def pictures_of(held_out: ShownOnPage) -> dict[str, Any]:
    """Plain values: the kind of picture, its views, the looks of states, and each instance."""
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
    each = [draw(held_out, i) for i in range(len(held_out.evaluation.instances))]
    return {"kind": kind, "views": views, "states": marks, "each": each}


def _states(held_out: ShownOnPage) -> States:
    """All states of the recordings; None is one as well, that of segments without a name."""
    evaluation = held_out.evaluation
    learned = state_marks(held_out.learner)
    if not evaluation.states:
        return {}, [], None
    sizes = [instance.n_samples for instance in evaluation.prepared]
    truths = read_names(evaluation.labels, sizes, held_out.words.whole)
    labels = chain(*evaluation.states.values(), truths or ())
    names_seen = set(chain.from_iterable(y.tolist() for y in labels))
    others = [*sorted(names_seen - learned.keys() - {None}, key=str), None]
    numbers = {name: k for k, name in enumerate((*learned, *others))}
    marks = []
    for name in numbers:
        mark = learned.get(name, NO_STATE)
        shown = None if name is None else str(name)
        look = {"color": mark.color, "ink": mark.ink, "hatch": HATCHES.index(mark.hatch)}
        marks.append({"name": shown, **look, "learned": name in learned})
    return numbers, marks, truths


def _recording(states: States, held_out: ShownOnPage, i: int) -> dict[str, Any]:
    """Traces, segment ends and states of a recording."""
    (number_of, _, true_names) = states
    evaluation = held_out.evaluation
    instance = evaluation.prepared[i]
    truth = evaluation.truths[i]
    labels = np.asarray(evaluation.labels[i])
    bins = int(np.clip(VALUES / (4 * TRACES * len(evaluation.prepared)), *BINS))
    columns = zip(*traces(held_out.learner, evaluation.measured[i], instance, TRACES), strict=True)
    ends = {"true": truth.breakpoints}
    ends |= {name: Ms[i].breakpoints for name, Ms in evaluation.guesses.items()}
    named = {name: each[i] for name, each in evaluation.states.items()}
    if true_names is not None:
        named["true"] = true_names[i]
    numbers = {name: [number_of[y[t - 1]] for t in ends[name]] for name, y in named.items()}
    segments = held_out.changes[i] if held_out.changes else ()
    is_labelled = labels.size == truth.n_samples
    return {
        "T": instance.n_samples,
        "traces": [{"name": name, **envelope(values, bins)} for name, values in columns],
        "ends": ends,
        "states": numbers,
        "changes": [
            {"at": c["start"], "margin": c["margin"], "rate": c.get("rate"), "range": _range(c)}
            for c in segments[1:]
        ],
        "possible": list(chain.from_iterable(c.get("possible", ()) for c in segments)),
        "labels": [str(labels[t - 1]) for t in truth.breakpoints] if is_labelled else None,
        "time": knots(evaluation.times[i]) if evaluation.times else None,
    }


def _range(change: Mapping[str, Any]) -> list[int] | None:
    """The first and the last sample at which a change may be, if known."""
    return [change["from"], change["to"]] if change.get("from") is not None else None


def knots(time: TimeAxis | None) -> dict[str, Any] | None:
    """Times of some samples, between which the page interpolates; dates in milliseconds."""
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
        at = np.unique(np.concatenate([even, odd, odd + 1]))  # exact on both sides of gaps
    at_knots = [float(values[t]) for t in at]
    return {"name": time.title, "date": is_date, "at": at.tolist(), "values": at_knots}


def _points(held_out: ShownOnPage, i: int) -> dict[str, Any]:
    """Points (place, found and true cluster, whether misplaced, number) and names of clusters."""
    evaluation = held_out.evaluation
    instance = held_out.evaluation.prepared[i]
    truth = partition_of(evaluation.truths[i])
    guess = evaluation.guesses["learned"][i]
    T = instance.n_samples
    about = (instance, guess, truth, evaluation.labels[i])
    _, places, true, names = clusters_in_directions(held_out.learner, *about)
    wrong = np.asarray(guess.labels != true)
    numbers = np.column_stack([guess.labels, true, wrong, np.arange(T)])
    drawn = np.unique(np.linspace(0, T - 1, min(T, ROWS_DRAWN)).astype(int))
    pairs = zip(places[drawn].round(4).tolist(), numbers[drawn].tolist(), strict=True)
    points = [[*place, *codes] for place, codes in pairs]
    return {"T": T, "points": points, "misplaced": int(wrong.sum()), "names": names}


def _image(held_out: ShownOnPage, i: int) -> dict[str, Any]:
    """An image, and its overlays with the true parts and those of each method."""
    evaluation = held_out.evaluation
    instance = held_out.evaluation.prepared[i]
    pixels = held_out.images[i]
    side = int(np.clip(DRAWN_SIDE[1] * np.sqrt(FULL / len(held_out.images)), *DRAWN_SIDE))
    decode = held_out.learner.problem_.decode
    shape = pixels.shape[:2]
    truth = evaluation.truths[i]
    if isinstance(truth, NodeLabels) and truth.pixels is not None:
        true: NDArray[Any] = truth.pixels.reshape(shape)
    else:
        true = decode(partition_of(truth), instance)
    # One map at a time, to save memory.
    cuts = {"photo": _drawn(pixels, None, side), "true": _drawn(pixels, true, side)}
    for name, guesses in evaluation.guesses.items():
        cuts[name] = _drawn(pixels, decode(guesses[i], instance), side)
    return {"T": int(np.prod(shape)), "size": list(shape), "cuts": cuts}


def _drawn(image: NDArray[Any], labels: NDArray[Any] | None, side: int) -> str:
    """A reduced image as a data URL, with its parts if there are labels."""
    H, W = image.shape[:2]
    shrink = min(1.0, side / max(H, W))
    rows, columns = (
        (np.arange(max(1, round(n * shrink))) / shrink).astype(int).clip(max=n - 1) for n in (H, W)
    )
    small = image[rows][:, columns]
    drawn = overlay(small, np.zeros(small.shape[:2], dtype=np.int64), tint=0.0)
    if labels is not None:
        drawn = overlay(small, labels[rows][:, columns])
    return "data:image/jpeg;base64," + base64.b64encode(as_file(drawn, "jpeg", quality=88)).decode()


def envelope(values: Floats, n_bins: int) -> dict[str, Any]:
    """A trace in levels: its values as ``low``, or the minima and maxima of bins."""
    T = values.size
    present = values[~np.isnan(values)]
    if not present.size:
        return {"min": 0.0, "max": 0.0, "low": [None] * min(T, n_bins), "high": None}
    limits = float(present.min()), float(present.max())
    starts = np.arange(n_bins) * T // n_bins if T > 2 * n_bins else None
    return binned(values, values, starts, *limits)


def binned(
    low: Floats, high: Floats, starts: NDArray[np.int64] | None, least: float, most: float
) -> dict[str, Any]:
    """A trace in levels: extremes from each start to the next, or all values without starts."""
    highs = None
    if starts is not None:
        low, high = extremes_between(low, high, starts)
        highs = quantised(high, least, most)
    return {"min": least, "max": most, "low": quantised(low, least, most), "high": highs}


def extremes_between(low: Floats, high: Floats, starts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The least and the greatest value from each start to the next, along the last axis."""
    return np.fmin.reduceat(low, starts, axis=-1), np.fmax.reduceat(high, starts, axis=-1)


def quantised(values: Floats, least: float, most: float) -> list[int | None]:
    """Levels, 0 to TRACE_LEVELS, of values between two limits; None for NaN."""
    span = most / 2 - least / 2  # halves, because the difference of large floats may overflow
    if span == 0:
        levels = np.where(np.isnan(values), np.nan, TRACE_LEVELS // 2)
    else:
        levels = np.rint((values / 2 - least / 2) / span * TRACE_LEVELS)
    return [None if isnan(level) else int(level) for level in levels.tolist()]
