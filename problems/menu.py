"""What a metric of recordings has to beat, and is chosen from, by what its labels say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from structsvm.baselines.blind import EqualSegments
from structsvm.baselines.frame_classifier import BoundaryClassifier, FrameClassifier
from structsvm.data.sample import Sample
from structsvm.data.samples import labels_of_items, unknown_labels
from structsvm.errors import warn
from structsvm.features.base import Chain, RecordingTransformer, Union
from structsvm.features.context import Columns, Components, HermiteMoments, Lags
from structsvm.features.scores import FEWEST_SCORED, BoundaryScores, StateScores
from structsvm.messages import nth
from structsvm.partitions.problem import (
    QUICK_COST,
    Baseline,
    Candidate,
    Comparison,
    ComparisonData,
    named_candidate,
)
from structsvm.problems.state_segmenter import StateSegmenter
from structsvm.support.contract import hook

STATES = "states"
"""Name of the segmenter of states."""

CHOSEN_FROM = (
    *(STATES, "equal-segments", "frame-lda", "frame-logistic"),
    *("boundary-logistic", "frame-boosting", "boundary-boosting"),
)
"""Baselines that model selection tries."""

COSTS = {"lda": 0.75, "logistic": QUICK_COST, "boosting": 20.0}
"""Of classifiers of frames, on up to ``QUICK`` values of all recordings."""

QUICK = 1_000_000
"""Values up to which linear classifiers are quick."""

AT_LEAST, USUAL = 0.55, 600_000
"""What boosting costs of few values, in units of what it costs of the usual number."""

LONGEST = max(map(abs, Lags().lags))
"""The lag that every recording has to exceed for candidates with context."""

SCORED: tuple[tuple[str, set[str], tuple[type[RecordingTransformer], ...]], ...] = (
    (
        "scores-boundaries",
        {"frame-boosting", "boundary-boosting"},
        (StateScores, BoundaryScores),
    ),
    ("scores", {"frame-boosting"}, (StateScores,)),
    ("boundaries", {"boundary-boosting"}, (BoundaryScores,)),
)
"""Names of the candidates that see what classifiers say, beside lags: the classifiers that have to
apply, and the features."""

STRONG = (1.0, 0.2)
"""Strengths of the regularizer of full metrics of lags, which have many parameters: smaller ones
did worse on people held out, and took half of the time of the menu."""

STRONGEST = (1.0,)
"""That of metrics of scores: with five recordings weaker ones did worse, with 95 no better."""


class SegmentComparison(Comparison):
    """Comparisons of recordings."""

    def baselines(self, data: ComparisonData) -> list[Baseline]:
        """Segments of equal length, and the classifiers that apply to labelled recordings."""
        samples, labels, context = data.samples, data.labels, _context(data.features)
        named = are_names(samples, labels)
        size = sum(x.n_samples * x.n_features for x in samples)
        times = max(1.0, size / QUICK)
        slow = times * min(1.0, AT_LEAST + size / USUAL)
        full = any(_is_full(y, x.n_samples) for x, y in zip(samples, labels, strict=True))
        found = [Baseline("equal-segments", EqualSegments(), 0.2)] if full else []
        for name, cost in COSTS.items():
            cost *= slow if name == "boosting" else times
            if named:
                found.append(Baseline(f"frame-{name}", FrameClassifier(name, context), cost))
            if full and name != "lda":
                cost = cost if name == "logistic" else cost / 2
                found.append(Baseline(f"boundary-{name}", BoundaryClassifier(name), cost))
        if named:
            found.append(Baseline(STATES, StateSegmenter(features=context), 6.0 * slow))
        return found

    @hook
    def candidates(self, data: ComparisonData) -> list[Candidate]:
        """Metrics and classifiers in the order of preference, the default first.

        That is the segmenter of states for names of states. For change points it is a metric: that
        of boundary scores, or the first that applies. For states that nobody labelled metrics see
        scores, if any apply. The order was measured on people held out (docs/results.md).
        """
        plain = [named_candidate(name) for name in self.problem.traits.candidates]
        tuned = [candidate for candidate in plain if not candidate.is_learned]
        learned = [candidate for candidate in plain if candidate.is_learned]
        baselines = {one.name: one for one in self.baselines(data)}
        fitted = [Candidate(n, baseline=baselines[n]) for n in CHOSEN_FROM if n in baselines]
        by_name = [c for c in fitted if c.name == STATES and data.question is None]
        others = [c for c in fitted if c.name != STATES]
        if data.features is None and min(sample.n_samples for sample in data.samples) > LONGEST:
            few = len(data.samples) < FEWEST_SCORED
            scored = [] if by_name or few else _with_scores(baselines)
            if data.question is None or not scored:
                scored += _with_context(learned)
            learned = scored
        found = [*by_name, *learned, *others, *tuned]
        if getattr(self.problem, "missing", "error") != "mask":
            return found
        stages = [candidate.settings.get("features") for candidate in found]
        return [c for c, s in zip(found, stages, strict=True) if s is None or s.takes_gaps]


def _with_scores(classifiers: Mapping[str, Baseline]) -> list[Candidate]:
    """Learned metrics of what classifiers say beside lags."""
    diagonal = named_candidate("diagonal").settings
    return [
        Candidate(
            f"{name}-diagonal",
            settings={**diagonal, "features": sees},
            lams=STRONGEST,
            cost=sum(classifiers[need].cost for need in needs),
        )
        for name, needs, kinds in SCORED
        if needs <= set(classifiers)
        for sees in [Union(Lags(), *(kind() for kind in kinds))]
    ]


def _with_context(plain: Sequence[Candidate]) -> list[Candidate]:
    """Learned metrics of lags, of columns alone, and of moments."""
    lags, found = Lags(), []
    for candidate in plain:
        settings: dict[str, Any] = {**candidate.settings, "features": lags}
        path: tuple[float, ...] = ()
        cost = 0.5
        if candidate.name == "full":
            # All lags take twice as long, for about the same loss on people held out.
            settings |= {"features": Chain(lags, Components()), "standardize": None}
            path, cost = STRONG, 0.75
        found.append(Candidate(f"lags-{candidate.name}", settings=settings, lams=path, cost=cost))
    # Changes of spread and shape, which no mean of columns or lags shows.
    diagonal = named_candidate("diagonal").settings
    moments = Candidate("moments-diagonal", settings={**diagonal, "features": HermiteMoments()})
    return [*found, *plain, moments]


def are_names(samples: Sequence[Sample], labels: Sequence[Any]) -> bool:
    """Whether labels are names of states that several recordings have, and not numbers in order."""
    vectors = [labels_of_items(y, x.n_samples) for x, y in zip(samples, labels, strict=True)]
    states = {i: _states(y) for i, y in enumerate(vectors) if y is not None}
    counts = Counter(name for found in states.values() for name in dict.fromkeys(found))
    if all(map(_is_counted, states.values())) or len(counts) < 2 or max(counts.values()) < 2:
        return False
    without = [i for i in range(len(vectors)) if i not in states]
    if without:
        warn(
            nth("recording", next(iter(states)))
            + " has names of states and "
            + nth("recording", without[0])
            + " has breakpoints: classifiers of samples need names in all of them, and are left "
            "out",
        )
    return not without


def _context(features: RecordingTransformer | None) -> RecordingTransformer | None:
    """The features without scores and plain copies; None if nothing is left."""
    if isinstance(features, StateScores | BoundaryScores):
        return None
    if isinstance(features, Columns) and features.which is None:
        return None
    if isinstance(features, Union | Chain):
        inner = {name: _context(stage) for name, stage in features.named_stages.items()}
        left = [(name, stage) for name, stage in inner.items() if stage is not None]
        if len(left) < 2:
            return left[0][1] if left else None
        return type(features)(*left)
    return features


def _states(y: NDArray[Any]) -> list[Any]:
    """The names of its segments, one after the other; samples without a name are none."""
    values = y[~unknown_labels(y)].tolist()
    return [name for i, name in enumerate(values) if i == 0 or name != values[i - 1]]


def _is_counted(states: Sequence[Any]) -> bool:
    return all(isinstance(state, int) for state in states) and all(
        after == before + 1 for before, after in pairwise(states)
    )


def _is_full(y: Any, T: int) -> bool:
    vector = labels_of_items(y, T)
    known = vector is None or not unknown_labels(vector).any()
    return getattr(y, "labels", y) is not None and known
