"""Classifiers of single samples (frames), with context, and their scores of held-out recordings."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from structsvm.data import (
    RECORDINGS,
    UNKNOWN,
    Standardizer,
    States,
    Words,
    contents,
    joined,
    units_of,
)
from structsvm.errors import DataError, LearningError, SettingsError, join, without_warnings
from structsvm.features.base import Reach, Recordings, RecordingTransformer, read_recordings
from structsvm.parallel import single_threaded
from structsvm.support import (
    Floats,
    Ints,
    fingerprint,
    is_number,
    refuse_below,
    refuse_unless,
    share,
    stage,
    without_remembered,
)

BOOSTING = {"max_leaf_nodes": 16, "max_features": 0.2, "early_stopping": False}

CLASSIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    "logistic": ("linear_model.LogisticRegression", {"C": 0.05, "max_iter": 1000}),
    "lda": (
        "discriminant_analysis.LinearDiscriminantAnalysis",
        {"solver": "lsqr", "shrinkage": "auto"},
    ),
    "kernel": ("linear_model.LogisticRegression", {"C": 10.0, "max_iter": 1000}),
    "fast-kernel": ("linear_model.LogisticRegression", {"C": 10.0, "max_iter": 1000, "tol": 3e-4}),
    # Trees of half the usual leaves, and a fifth of the columns at each node, did no worse on
    # people not seen than the defaults of scikit-learn, in a third of the time. Stopping early
    # would hold out single frames, whose neighbours are in training.
    "boosting": ("ensemble.HistGradientBoostingClassifier", BOOSTING),
    "fast-boosting": (
        "ensemble.HistGradientBoostingClassifier",
        {"max_iter": 50, "learning_rate": 0.2, **BOOSTING},
    ),
    # For statistics of windows. With half of the bins, and a fifth of the columns at a node for
    # half of them, it said as much of held-out recordings (two draws each of seven kinds of
    # signals), in three quarters of the time.
    "window-boosting": (
        "ensemble.HistGradientBoostingClassifier",
        {"max_iter": 50, "learning_rate": 0.2, **BOOSTING, "max_bins": 127},
    ),
    # Leaves of five, so that a share in a leaf is a probability rather than a vote.
    "forest": ("ensemble.RandomForestClassifier", {"n_estimators": 100, "min_samples_leaf": 5}),
}
"""Classes of scikit-learn, which take long to import, and their settings."""

KERNEL_POINTS = {"kernel": 300, "fast-kernel": 200}
"""Rows that the kernel approximation compares all others with. With the fewer points and looser
tolerance of "fast-kernel", the quick segmenter lost as much on people held out from har_spsw, in
0.75 of the time."""

WORTH_THREADS = 50_000_000
"""Values of a matrix from which on a classifier is faster with several threads."""
FEW_ROWS_SAID = "n_components > n_samples"
"""A part of the warning of Nystroem that there are fewer rows than kernel points."""
SUM_TOLERANCE = 1e-3  # how far the sum of probabilities may be from 1
DRAWS = 50
"""Random divisions into folds that are tried until each fold's classifier has seen every state."""


def _classifier(estimator: Any, random_state: int | None, owner: str) -> Any:
    """A classifier of frames, not fitted, from its name or a copy; unset seeds are filled in."""
    name = estimator if isinstance(estimator, str) else ""
    if name in CLASSIFIERS:
        path, settings = CLASSIFIERS[name]
        module, _, kind = path.partition(".")
        estimator = getattr(import_module(f"sklearn.{module}"), kind)(**settings)
    elif isinstance(estimator, type) or not hasattr(estimator, "predict_proba"):
        raise SettingsError(
            f"estimator of {owner} must be one of {(*CLASSIFIERS,)} or an instance of a classifier "
            f"of scikit-learn with predict_proba, got {estimator!r}: CalibratedClassifierCV adds it"
        )
    if name in KERNEL_POINTS:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import RobustScaler

        # These quantiles are 1.7 deviations apart, so that the kernel is wider than usual: this had
        # a smaller loss in cross-validation on five and on 95 recordings of har_spsw.
        scaler = RobustScaler(quantile_range=(20.0, 80.0))
        estimator = make_pipeline(scaler, Nystroem(n_components=KERNEL_POINTS[name]), estimator)
    classifier = clone(estimator)
    seeds = {
        name: random_state
        for name, value in classifier.get_params().items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return classifier.set_params(**seeds) if seeds else classifier


def check_smoothing(smoothing: Any) -> None:
    """Refuse what is no number between 0 and 1."""
    fits = is_number(smoothing) and 0 < smoothing < 1
    refuse_unless(fits, "smoothing", "between 0 and 1, such as 0.02", smoothing)


def _threads_for(rows: Floats) -> AbstractContextManager[None]:
    return single_threaded() if rows.size < WORTH_THREADS else nullcontext()


@dataclass(frozen=True, eq=False)
class FrameModel:
    """A fitted classifier of frames, with its features and their standardisation."""

    features: RecordingTransformer
    standardizer: Standardizer
    classifier: Any
    known: Ints  # numbers of the states that the classifier knows, in the order of its columns
    n_classes: int  # C, of which the classifier may know fewer
    weight: float = 1.0  # its weight in a mean of several models
    step: int = 1  # the classifier sees every step-th sample, which stands for those around it

    def __getstate__(self) -> dict[str, Any]:
        """The attributes without cached ones."""
        return without_remembered(self, vars(self))

    @cached_property
    def kind(self) -> str:
        """A key that is equal for models with the same features."""
        return repr(self.features)

    @property
    def reach(self) -> Reach:
        """The reach of the features, widened by the samples between two that are seen."""
        before, after = self.features.reach
        of_scale = self.standardizer.reach
        return before + self.step - 1 + of_scale[0], after + self.step // 2 + of_scale[1]

    def probabilities(
        self, Xs: Recordings, owner: str, features: Recordings | None = None
    ) -> list[Floats]:
        """Probabilities of the states of each sample, 0 for unknown states, (T_i, C) each."""
        features = self.features.transform(Xs) if features is None else features
        rows = np.vstack([self.standardizer(F[_middles(len(F), self.step)]) for F in features])
        with _threads_for(rows):  # at once, because trees take as long for a few rows as for many
            answer = np.asarray(self.classifier.predict_proba(rows))
        fits = answer.shape == (len(rows), self.known.size)
        off = np.abs(answer.sum(axis=1) - 1.0).max() if fits else np.inf
        if not off <= SUM_TOLERANCE:  # or NaN
            raise LearningError(
                owner + f": {self.classifier!r} gives no probabilities: expected {len(rows)} x "
                f"{self.known.size} numbers that sum to 1 in each row, got shape {answer.shape}, "
                f"off by {off:g} at most"
            )
        p = np.zeros((len(rows), self.n_classes))
        p[:, self.known] = answer
        sizes = [-(-len(F) // self.step) for F in features]
        parts = np.split(p, np.cumsum(sizes)[:-1])
        if self.step == 1:
            return parts
        pairs = zip(parts, features, strict=True)
        return [np.repeat(part, self.step, axis=0)[: len(F)] for part, F in pairs]


def _middles(T: int, step: int) -> Ints:
    """The middle sample of each block of ``step`` samples."""
    return np.minimum(np.arange(step // 2, T + step // 2, step), T - 1)


def _learned_from(code: Ints, every: int) -> Ints:
    """Every ``every``-th sample, and the middle of each stretch of a state that is shorter."""
    regular = np.arange(0, code.size, every)
    if every == 1:
        return regular
    starts = np.flatnonzero(np.diff(code, prepend=code[:1] - 1))
    sizes = np.diff(starts, append=code.size)
    short = sizes < every
    return np.union1d(regular, starts[short] + sizes[short] // 2)


def probabilities_by(learner: Any, Xs: Recordings) -> list[Floats]:
    """Probabilities of all states at each sample by an estimator with ``models_``, (T_i, C) each.

    Training recordings are scored by the models of the folds. A model of all recordings is more
    confident than these; it is averaged with them because with few recordings a fold's model may
    have seen only half of the data.
    """
    check_is_fitted(learner)
    Xs = read_recordings(Xs, learner.n_features_in_)
    return mean_probabilities(learner.models_, Xs, type(learner).__name__)


def mean_probabilities(models: Sequence[FrameModel], Xs: Recordings, owner: str) -> list[Floats]:
    """The weighted mean of the models' probabilities at each sample, (T_i, C) each."""
    computed: dict[str, list[Floats]] = {}
    means = []
    with _threads_for(Xs[0]) if len(Xs) == 1 else nullcontext():  # set once for all models
        for model in models:
            if not model.features.learns and model.kind not in computed:  # equal for its kind
                computed[model.kind] = model.features.transform(Xs)
            means.append(model.probabilities(Xs, owner, computed.get(model.kind)))
    weights = [model.weight for model in models]
    return [np.average(of_one, axis=0, weights=weights) for of_one in zip(*means, strict=True)]


_LEARNED: ContextVar[dict[str, FrameModel] | None] = ContextVar("learned", default=None)
"""The classifiers learned within :func:`learning_once`, by fingerprint; None outside of it."""


@contextmanager
def learning_once() -> Iterator[None]:
    """Within this block, equal classifiers of the same samples are learned once and shared."""
    outer = _LEARNED.get()
    token = _LEARNED.set({} if outer is None else outer)
    try:
        yield
    finally:
        _LEARNED.reset(token)


@dataclass(eq=False)
class FrameRecipe:
    """How a learner's classifier of frames is fitted: its features, estimator, folds and seed."""

    learner: Any
    features: RecordingTransformer
    standardize: str | None
    usual: str = "boosting"  # the classifier where the learner's ``estimator`` is None
    words: Words = RECORDINGS
    kept: str = "all"
    """Which models are kept and averaged: "folds", "whole" (the one of all recordings) or "all"."""
    estimator: Any = None
    n_folds: Any = None
    every: int = 1  # fitting uses every so many-th frame
    step: int = 1  # prediction uses every so many-th frame

    def __post_init__(self) -> None:
        self.owner = type(self.learner).__name__
        self.n_folds = self.n_folds or self.learner.n_folds
        self.random_state = self.learner.random_state
        estimator = self.learner.estimator if self.estimator is None else self.estimator
        estimator = self.usual if estimator is None else estimator
        self.classifier = _classifier(estimator, self.random_state, self.owner)

    def fit(
        self,
        Xs: Recordings,
        states: States,
        groups: Any = None,
        where: str = "",
        features: Recordings | None = None,
    ) -> FrameModel:
        """Learn from the samples that have names."""
        learned = _LEARNED.get()
        key = ""
        if learned is not None:
            cross_fits = type(self.features).fit_transform is not RecordingTransformer.fit_transform
            used_groups = groups if cross_fits else None  # others do not look at groups
            settings = (self.features, self.standardize, self.classifier, self.every, self.step)
            data = (list(Xs), states.codes, states.classes.size, used_groups)
            key = fingerprint((*settings, *data))
            if key in learned:
                return learned[key]
        context = clone(self.features)
        if features is None:
            features = context.fit_transform(Xs, states.codes, groups)
        else:
            context.fit(Xs[:1])
        standardizer = Standardizer.fit(self.standardize, features)
        used = [_learned_from(y, self.every) for y in states.codes]
        code = np.concatenate([y[at] for y, at in zip(states.codes, used, strict=True)])
        kept = [standardizer(F)[at] for F, at in zip(features, used, strict=True)]
        rows = np.vstack(kept)[code != UNKNOWN]
        code = code[code != UNKNOWN]
        classifier = clone(self.classifier)
        if np.unique(code).size == 1:  # most classifiers refuse a single state; loaded when needed
            classifier = import_module("sklearn.dummy").DummyClassifier()
        try:
            with _threads_for(rows), without_warnings(UserWarning, beginning=FEW_ROWS_SAID):
                classifier.fit(rows, code)
        except Exception as error:  # whatever a foreign classifier raises
            raise LearningError(
                f"{self.owner}: {self.classifier!r} failed" + where + f": {error}"
            ) from error
        if type(classifier).__name__ == "LinearDiscriminantAnalysis":
            vars(classifier).pop("covariance_", None)  # (P, P), not needed for predictions
        classes = np.asarray(classifier.classes_, dtype=np.int64)
        model = FrameModel(
            context, standardizer, classifier, classes, states.classes.size, step=self.step
        )
        if learned is not None:
            learned[key] = model
        return model

    def learn(
        self, Xs: Recordings, states: States, groups: Any = None, near: States | None = None
    ) -> tuple[list[Floats], Ints, list[FrameModel]]:
        """Held-out probabilities (none of a single unit), the fold of each recording, the models.

        Models are fitted to ``near`` in place of ``states`` if that is given.
        """
        fitted_to = states if near is None else near
        if len(units_of(groups, len(Xs))[0]) < 2:
            return [], np.zeros(len(Xs), dtype=np.int64), [self.fit(Xs, fitted_to, groups)]
        fold = self.draw(Xs, states, groups, every_state=False)
        held_out, _, models = self.cross_fit(Xs, fitted_to, fold, groups)
        return held_out, fold, models

    def draw(self, Xs: Recordings, states: States, groups: Any, every_state: bool) -> Ints:
        """The fold of each recording, (N,), the same for members of a group and for copies."""
        refuse_below(2, f"n_folds of {self.owner}", self.n_folds)
        names, units = units_of(groups, len(states.codes), self.words)
        apart = joined(units, contents(Xs))
        if 0 < apart.max() < units.max():
            first = np.unique(apart, return_index=True)[1]
            names = [names[k] for k in units[first]]
            units = apart
        n_units = len(names)
        noun = self.words.whole if groups is None else "group"
        occurs = np.zeros((n_units, states.classes.size), dtype=bool)
        for unit, code in zip(units.tolist(), states.codes, strict=True):
            occurs[unit, code[code != UNKNOWN]] = True
        lonely = np.flatnonzero(occurs.sum(axis=0) == 1) if every_state else np.empty(0, np.int64)
        where = {str(states.classes[c]): names[int(occurs[:, c].argmax())] for c in lonely}
        whose: Callable[[Any], str] = (
            self.words.numbered if groups is None else f"{noun} {{!r}}".format
        )
        shown = join([f"{name} only in " + whose(it) for name, it in where.items()], "; ")
        scored = f"{self.owner} scores each {noun} by a model that has not seen it"
        called = "" if groups is None else f", {names[0]!r}"
        named = self.words.named
        if n_units < 2:
            raise DataError(f"{scored}, and there is only one {noun}{called}: label another {noun}")
        if lonely.size:
            raise DataError(
                f"{scored}, so every {named} has to occur in two {noun}s: "
                + shown
                + f". Label that {named} in another {noun}, give it the name of a similar one, or "
                f"leave the {noun} out"
            )
        n = min(int(self.n_folds), n_units)
        rng = np.random.default_rng(self.random_state)
        best = np.zeros(n_units, dtype=np.int64)
        fewest = np.inf
        for _ in range(DRAWS):
            drawn = rng.permutation(np.arange(n_units) % n)
            unseen = sum(int((~occurs[drawn != k].any(axis=0)).sum()) for k in range(n))
            if unseen < fewest:
                best, fewest = drawn, unseen
            if fewest == 0:
                break
        return np.asarray(best[units], dtype=np.int64)

    def cross_fit(
        self, Xs: Recordings, states: States, fold: Ints, groups: Any = None
    ) -> tuple[list[Floats], list[FrameModel], list[FrameModel]]:
        """Held-out probabilities of each recording, the model behind each, and the kept models."""
        held_out: list[Any] = [None] * len(Xs)
        models = []
        # Features that learn nothing are the same in all folds, and computed once.
        features = None if self.features.learns else clone(self.features).fit_transform(Xs)
        n = int(fold.max()) + 1
        with share("learning", 0.0, n / (n + 1)):
            for k in stage("folds", range(n)):
                test = np.flatnonzero(fold == k).tolist()
                train = np.flatnonzero(fold != k).tolist()
                others = "".join(f", {i}" for i in test[1:])
                where = f" in fold {k}, which holds out " + self.words.numbered(test[0]) + others
                own = States(states.classes, [states.codes[i] for i in train])
                model = self.fit(
                    _at(Xs, train), own, _at(groups, train), where, _at(features, train)
                )
                features_of = _at(features, test)
                scored = model.probabilities(_at(Xs, test), self.owner + where, features_of)
                for i, p in zip(test, scored, strict=True):
                    held_out[i] = p
                models.append(model)
        of_each = [models[k] for k in fold.tolist()]
        whole = [] if self.kept == "folds" else [self.fit(Xs, states, groups, features=features)]
        return held_out, of_each, whole if self.kept == "whole" else [*models, *whole]


def _at(values: Any, which: Sequence[int]) -> Any:
    """The values of some recordings, from those of all; None from None."""
    return None if values is None else [values[i] for i in which]
