"""Fewer samples, columns or images to learn from, so that ``structsvm try`` answers in time."""

import math
import time
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from structsvm.cli.input_data import InputData
from structsvm.cli.parts import FEWEST, Part, n_items, pieces_of
from structsvm.errors import DataWarning, without_warnings
from structsvm.evaluation import MIN_UNITS
from structsvm.learner import TrainingSet
from structsvm.learner.state_segmenter import scored_at_once
from structsvm.learner.truths import are_names
from structsvm.support import Ints
from structsvm.training_labels import Known

FIRST_SAMPLES, SAMPLES_A_SECOND = 15_000, 667
"""The most samples that the first answer is learned from, and those of each second of choosing."""
FEWER_ROWS = 4
"""For tables, the number of samples is divided by this: metrics of rows take longer to learn."""
PIXELS_AT_ONCE, CHECKING = 3_000_000, 0.5
"""The most pixels that are divided into regions if no time is given; and otherwise the part of the
time for that."""
USUAL_COLUMNS, SQUARE = 30, 0.1
"""The numbers of samples hold for at most so many columns. Of more columns so many are kept that a
matrix of columns by columns has at most this part of the values of the samples."""
JUDGED_BY, FEWEST_JUDGED = 0.5, MIN_UNITS
"""The samples that are judged by are at most this part of those that are learned from, unless the
fewest recordings have more."""
TOO_LONG = 4
"""Recordings with so many times more samples than are judged by at most are judged in part."""
TINY = np.finfo(np.float64).tiny
ROWS_LEFT = 20  # rows that are kept of each cluster at least


def thinned(parts: tuple[Part, Part], most: int) -> tuple[Part, Part]:
    """Keep about ``most`` samples of a few columns to learn from, and fewer to judge by.

    Of each recording a stretch with changes is kept, and of some nothing if these are still too
    many; samples are not averaged, so that changes stay where they are. Samples of long segments
    with names count less, as classifiers score several as one. Of a table rows are kept.
    Of very many columns some are kept to learn from, and all to judge by.
    """
    train, test = parts
    train = _columns(train, math.isqrt(round(SQUARE * most * USUAL_COLUMNS)))
    most = math.ceil(most * min(1.0, USUAL_COLUMNS / train.data.n_features))
    if train.data.problem.traits.contiguous:
        most *= _scored_at_once(train.data)
    to_judge = math.ceil(JUDGED_BY * most)
    if train.data.problem.traits.contiguous:
        train = _stretches(train, most, longest=most // FEWEST)
    elif train.data.asks is not None:
        train = _rows(train, most)
        test = _rows(test, to_judge)
    test = _some(test, to_judge, FEWEST_JUDGED)
    if test.data.problem.traits.contiguous and n_items(test) > TOO_LONG * to_judge:
        test = _stretches(test, to_judge, longest=to_judge)
    return _some(train, most, FEWEST), test


def images_in_time(inputs: InputData, seconds: float) -> InputData:
    """As many images as there is time to divide into regions, which comes first."""
    if len(inputs) <= FEWEST:
        return inputs
    order = np.random.default_rng(0).permutation(len(inputs)).tolist()
    if seconds > 0:
        n = int(CHECKING * seconds / _seconds_of_one(inputs))
    else:
        sizes = np.cumsum([np.prod(inputs.items[i].X.shape[:2]) for i in order])
        n = int(np.searchsorted(sizes, PIXELS_AT_ONCE, side="right"))
    n = max(FEWEST, n)
    if n >= len(order):
        return inputs
    inputs.terminal.note(
        f"to answer in time, {n} of {inputs.words.wholes(len(order))} are looked at: more "
        "--minutes take more of them"
    )
    return replace(inputs, items=[inputs.items[i] for i in sorted(order[:n])], labels=None)


def _seconds_of_one(inputs: InputData) -> float:
    """The seconds that it takes to divide an image into regions."""
    for i in range(2):  # the first image loads libraries, and is not measured
        start = time.monotonic()
        with inputs.named(), without_warnings(DataWarning):
            TrainingSet.of(inputs.problem, inputs.Xs[i : i + 1], inputs.ys[i : i + 1])
    return max(time.monotonic() - start, 1e-6)


def _scored_at_once(data: TrainingSet) -> int:
    """How many samples of recordings classifiers of states score as one; 1 without names."""
    with without_warnings(DataWarning):
        if not are_names(data.instances, data.item_labels):
            return 1
    truths = chain.from_iterable(known.part[1] for known in data.labels)
    sequences = [truth.labels for truth in truths]
    return scored_at_once(sequences) if sequences else 1  # none: no labelled neighbours


def _columns(part: Part, most: int) -> Part:
    """Keep ``most`` columns: of recordings those that change least between samples."""
    names = part.inputs.features
    if names is None or len(names) <= most:
        return part
    if part.data.problem.traits.contiguous:
        arrays = part.data.arrays
        steps = sum(np.nansum(np.diff(X, axis=0) ** 2, axis=0) for X in arrays)
        spread = sum(np.nansum((X - np.nanmean(X, axis=0)) ** 2, axis=0) for X in arrays)
        kept = np.argsort(np.where(spread > 0, steps / np.maximum(spread, TINY), np.inf))
    else:
        kept = np.random.default_rng(0).permutation(len(names))
    return part.of_columns([names[j] for j in sorted(kept[:most].tolist())])


def _stretches(part: Part, most: int, longest: int) -> Part:
    """Keep one stretch of each recording, about ``most`` samples in all.

    Recordings are cut between changes; of a stretch of more than ``longest`` samples those around a
    change are kept.
    """
    data = part.data
    times = math.ceil(n_items(part) / most)
    if times == 1:
        return part
    rng = np.random.default_rng(0)
    kept = []
    for i in range(len(data)):
        pieces = pieces_of(data, i, times)
        _, rows = pieces[rng.integers(len(pieces))]
        kept.append((i, _about_a_change(data.labels[i], rows, longest, rng)))
    stretches = part.cut(kept)
    return replace(stretches, data=replace(stretches.data, groups=data.groups), is_thinned=True)


def _about_a_change(known: Known, rows: Ints, most: int, rng: np.random.Generator) -> Ints:
    """At most ``most`` rows of a stretch, around its middle change, from a labelled row on."""
    if rows.size <= most:
        return rows
    labelled = known.rows[np.isin(known.rows, rows)]
    if not labelled.size:
        return rows
    changes = known.changes[np.isin(known.changes, rows)]
    middle = changes[changes.size // 2] if changes.size else labelled[labelled.size // 2]
    # The change is at a random place, so that its time tells nothing.
    before = int(rng.integers(most // 8, most - most // 8))
    first = max(labelled[0], min(middle - before, labelled[-1] + 1 - most))
    return np.arange(first, min(first + most, labelled[-1] + 1))


def _rows(part: Part, most: int) -> Part:
    """Keep rows of tables at random, ``ROWS_LEFT`` of each cluster; all, if labelled in part."""
    share = most / n_items(part)
    if share >= 1:
        return part
    rng = np.random.default_rng(0)
    kept = []
    for i, known in enumerate(part.data.labels):
        places = rng.permutation(known.n_samples)
        is_kept = places < share * known.n_samples
        if known.truth is None:
            is_kept[:] = True
        else:
            by_cluster = np.lexsort((places, known.truth.labels))
            sizes = known.truth.sizes
            ranks = np.arange(known.n_samples) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            is_kept[by_cluster[ranks < ROWS_LEFT]] = True
        kept.append((i, np.flatnonzero(is_kept)))
    rows = part.cut(kept)
    return replace(rows, data=replace(rows.data, groups=part.data.groups), is_thinned=True)


def _some(part: Part, most: int, fewest: int) -> Part:
    """Keep instances with ``most`` items in all, first those with changes and with new names."""
    labels = part.data.labels
    order = np.random.default_rng(0).permutation(len(labels)).tolist()
    seen: set[Any] = set()
    new = []
    for i in order:
        names = set(np.ravel(part.inputs.ys[i]).tolist())
        new.append(bool(names - seen))
        seen |= names
    ranks = [(not fresh, labels[i].n_changes == 0) for i, fresh in zip(order, new, strict=True)]
    order = [order[k] for k in sorted(range(len(order)), key=ranks.__getitem__)]
    sizes = np.cumsum([part.data.instances[i].n_samples for i in order])
    n = max(fewest, int(np.searchsorted(sizes, most, side="right")))
    if n >= len(order):
        return part
    return replace(part.at(np.isin(np.arange(len(order)), order[:n])), is_thinned=True)


def about_time(parts: tuple[Part, Part], thinned_parts: tuple[Part, Part]) -> str:
    """Say how many samples are learned from, and judged by, where these are not all."""
    words = parts[0].inputs.words
    sizes = []
    for part, kept in zip(parts, thinned_parts, strict=True):
        size = f"{n_items(kept):,} of {words.items(n_items(part))}"
        if len(kept.data) < len(part.data):
            size += f" in {len(kept.data)} of {words.wholes(len(part.data))}"
        sizes.append(size)
    P = thinned_parts[0].data.n_features
    if P < parts[0].data.n_features:
        sizes[0] += f", {P} of {parts[0].data.n_features:,} columns,"
    return (
        f"to answer in time, {sizes[0]} are learned from, and {sizes[1]} are judged by: more "
        "--minutes take more of them"
    )
