"""The menu for recordings: baselines and candidates, by whether labels are names or changes."""

from dataclasses import replace
from functools import cached_property
from typing import Any

from structsvm.data import labels_of_items, unknown_labels
from structsvm.features import (
    BoundaryScores,
    Chain,
    Columns,
    Components,
    HermiteMoments,
    Lags,
    MovingStatistics,
    RecordingTransformer,
    StateScores,
    Union,
)
from structsvm.features.scores import FEWEST_SCORED
from structsvm.learner import Menu, Method
from structsvm.learner.methods import QUICK_COST
from structsvm.learner.score_decoder import ScoreLearner
from structsvm.learner.truths import are_names
from structsvm.model_selection.candidates import CENTRED
from structsvm.model_selection.named import learner_named

SEGMENTER, QUICK_SEGMENTER = "states", "states-quick"
"""Names of segmenters of states: the default, and one of classifiers that take some seconds."""

MANY_COLUMNS = 150
"""Columns above which the first answer sees no context, which has several times as many."""

CHOSEN_FROM = (
    *(SEGMENTER, "frame-lda", "frame-logistic", "boundary-logistic"),
    *("frame-boosting", "boundary-boosting"),
)
"""Baselines that model selection tries."""

BY_GAIN = (
    *("frame-logistic", "full", "diagonal", "statistics-centred"),
    *("lags-diagonal", "lags-full", "lags-olda"),
)
"""Candidates that are tried after the first answer and the default, by what they gained a second on
shipped sets (experiments.studies.first_minute). If names are asked for, metrics gain nothing."""

OF_SCORES = ("largest-score", "smoothed-scores")
"""Baselines that decode given scores by a rule that people set by hand."""

CLASSIFIER_COSTS = {"lda": 0.75, "logistic": QUICK_COST, "boosting": 20.0}
"""Costs of classifiers of frames on up to ``QUICK_VALUES`` values of all recordings."""

QUICK_VALUES = 1_000_000
"""Values up to which linear classifiers are quick."""

AT_LEAST, USUAL_VALUES = 0.55, 600_000
"""However few values there are, boosting costs this share of its cost on the usual number."""

LONGEST_LAG = max(map(abs, Lags().lags))
"""The longest lag: candidates with context need recordings with more samples."""

WITH_SCORES: tuple[tuple[str, set[str], tuple[type[RecordingTransformer], ...]], ...] = (
    (
        "scores-boundaries",
        {"frame-boosting", "boundary-boosting"},
        (StateScores, BoundaryScores),
    ),
    ("scores", {"frame-boosting"}, (StateScores,)),
)
"""Candidates that see scores of states beside lags: their name, the classifiers that have to apply
to the labels, and the features."""

OF_BOUNDARIES = ("boundary-boosting", "boundary-logistic")
"""Classifiers whose boundary scores metrics see. The second one and moving statistics lowered the
loss on people held out from 2.09 to 1.98, and learned from five recordings from 2.64 to 2.55."""

STRONG = (1.0, 0.2)
"""Strengths of the regularizer of full metrics of lags, which have many parameters: smaller ones
did worse on people held out, and took half of the time of the menu."""

STRONGEST = (1.0,)
"""The strength for metrics of scores: weaker ones did worse with five recordings, and no better
with 95."""

FROM_OLDA: dict[str, Any] = {"whiten": "olda", "regularizer": CENTRED, "lams": STRONGEST}
"""Settings of a metric that is learned from OLDA: better than OLDA for people held out, and on the
mean no worse on four other sets and from five recordings (experiments.studies.from_olda)."""


class Recordings(Menu):
    """Methods for recordings."""

    @property
    def others(self) -> list[Method]:
        """Segments of equal length, and the classifiers that apply to labelled recordings."""
        instances = self.data.instances
        labels = self.labels
        context = _context(self.features)
        size = sum(x.n_samples * x.n_features for x in instances)
        times = max(1.0, size / QUICK_VALUES)
        slow = times * min(1.0, AT_LEAST + size / USUAL_VALUES)
        full = any(_is_full(y, x.n_samples) for x, y in zip(instances, labels, strict=True))
        equal = learner_named("equal-segments", self.problem)
        methods = [Method("equal-segments", equal, 0.2)] if full else []
        if isinstance(self.like, ScoreLearner):  # rules that people set by hand
            classes = self.like.classes
            learners = [learner_named(name, self.problem, classes=classes) for name in OF_SCORES]
            methods += map(Method, OF_SCORES, learners)
        for name, cost in CLASSIFIER_COSTS.items():
            cost *= slow if name == "boosting" else times
            if self._are_named:
                frames = learner_named(f"frame-{name}", self.problem, features=context)
                methods.append(Method(f"frame-{name}", self.scaled(frames), cost))
            if full and name != "lda":
                cost = cost if name == "logistic" else cost / 2
                boundaries = learner_named(f"boundary-{name}", self.problem)
                methods.append(Method(f"boundary-{name}", self.scaled(boundaries), cost))
        if self._are_named:
            segmenter = learner_named(SEGMENTER, self.problem, features=context)
            methods.append(Method(SEGMENTER, self.scaled(segmenter), 6.0 * slow))
        return methods

    @property
    def first(self) -> Method:
        """The quick segmenter of states; OLDA where states have no names."""
        if self._are_named and self.question is None:
            return self._quick_states()
        closed = self._closed_forms()[0]
        if self._has_context and self.data.n_features <= MANY_COLUMNS and self._suits(closed):
            return closed
        return super().first

    def _quick_states(self) -> Method:
        features = _context(self.features)
        if features is None and self.data.n_features > MANY_COLUMNS:
            features = Columns()
        segmenter = learner_named(QUICK_SEGMENTER, self.problem, features=features)
        return Method(QUICK_SEGMENTER, self.scaled(segmenter))

    def _closed_forms(self) -> list[Method]:
        """OLDA of lags, with and without moving statistics, and a metric learned from OLDA."""
        both = self.scaled(Union(Lags(), MovingStatistics()))
        lags = self.scaled(Lags())
        return [
            self.of_metric("statistics-olda", "olda", 0.5, features=both),
            self.of_metric("statistics-centred", "full", 0.5, features=both, **FROM_OLDA),
            self.of_metric("lags-olda", "olda", 0.5, features=lags),
        ]

    @cached_property
    def _are_named(self) -> bool:
        """Whether labels are names of states that several recordings have."""
        return are_names(self.data.instances, self.labels)

    @property
    def _has_context(self) -> bool:
        """Whether candidates with context apply: no features are set, and recordings are longer."""
        return self.features is None and min(x.n_samples for x in self.data.instances) > LONGEST_LAG

    @property
    def candidates(self) -> list[Method]:
        """Metrics and classifiers: the default, those of ``BY_GAIN``, and others by preference.

        The default is the segmenter of states for names of states, and a metric for change points:
        that of boundary scores, or the first that applies. If states are held out, metrics see
        scores, if any apply. The order was measured on people held out (docs/results.md).
        """
        tuned = [method for method in self.named_metrics if not method.learner.is_learned]
        learned = [method for method in self.named_metrics if method.learner.is_learned]
        methods = {method.name: method for method in self.others}
        fitted = [methods[name] for name in CHOSEN_FROM if name in methods]
        by_name = []
        if SEGMENTER in methods and self.question is None:
            default = methods[SEGMENTER]
            by_name = [default, replace(self._quick_states(), cost=default.cost / 3)]
        others = [m for m in fitted if m.name != SEGMENTER]
        if self._has_context:
            few = len(self.data) < FEWEST_SCORED
            scored = []
            if not by_name and not few:
                scored = [*self._with_scores(methods), *self._with_boundaries(methods)]
            if self.question is None or not scored:
                scored += self._with_context([method.name for method in learned])
            learned = [*scored, *self._closed_forms()]
        in_order = [*by_name, *learned, *others, *tuned]
        if self.question is None:
            in_order[1:] = sorted(in_order[1:], key=_place)
        return [method for method in in_order if self._suits(method)]

    def _suits(self, method: Method) -> bool:
        """Whether the features and metric of a method take masked values, if there may be any."""
        if getattr(self.problem, "missing", "error") != "mask":
            return True
        stage = getattr(method.learner, "features", None)
        kind = method.learner.metric if method.is_metric else "diagonal"
        kind = "full" if method.is_metric and method.learner.whiten == "olda" else kind
        return kind in self.problem.traits.candidates and (not stage or stage.takes_gaps)

    def _with_scores(self, classifiers: dict[str, Method]) -> list[Method]:
        """Learned metrics of scores of states beside lags."""
        methods = []
        for name, needs, kinds in WITH_SCORES:
            if needs <= set(classifiers):
                sees = self.scaled(Union(Lags(), *(kind() for kind in kinds)))
                cost = sum(classifiers[need].cost for need in needs)
                settings: dict[str, Any] = {"features": sees, "lams": STRONGEST}
                methods.append(self.of_metric(f"{name}-diagonal", "diagonal", cost, **settings))
        return methods

    def _with_boundaries(self, classifiers: dict[str, Method]) -> list[Method]:
        """A learned metric averaged with OLDA, and OLDA, of boundary scores beside context."""
        if not set(OF_BOUNDARIES) <= set(classifiers):
            return []
        stages = [Lags(), BoundaryScores(), BoundaryScores("logistic")]
        if self.data.n_features <= MANY_COLUMNS:
            stages.append(MovingStatistics())
        sees = self.scaled(Union(*stages))
        cost = sum(classifiers[name].cost for name in OF_BOUNDARIES)
        learned: dict[str, Any] = {"features": sees, "whiten": "olda", "lams": STRONGEST}
        return [
            self.of_metric("boundaries-mean", "diagonal", cost, **learned),
            self.of_metric("boundaries-olda", "olda", cost, features=sees),
        ]

    def _with_context(self, kinds: list[str]) -> list[Method]:
        """Learned metrics of lags, of columns alone, and of moments."""
        lags = self.scaled(Lags())
        methods = []
        for kind in kinds:
            settings: dict[str, Any] = {"features": lags}
            cost = 0.5
            if kind == "full":
                # All lags take twice as long, for about the same loss on people held out.
                components = self.scaled(Chain(Lags(), Components()))
                settings = {"features": components, "standardize": None, "lams": STRONG}
                cost = 0.75
            methods.append(self.of_metric(f"lags-{kind}", kind, cost, **settings))
        methods += [self.of_metric(kind, kind) for kind in kinds]
        # Changes of spread and shape, which no mean of columns or lags shows.
        moments = self.scaled(HermiteMoments())
        return [*methods, self.of_metric("moments-diagonal", "diagonal", features=moments)]


def _place(method: Method) -> int:
    return BY_GAIN.index(method.name) if method.name in BY_GAIN else len(BY_GAIN)


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


def _is_full(y: Any, T: int) -> bool:
    vector = labels_of_items(y, T)
    is_labelled = vector is None or not unknown_labels(vector).any()
    return getattr(y, "labels", y) is not None and is_labelled
