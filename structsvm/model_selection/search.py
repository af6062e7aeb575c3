"""Choosing the kind of metric and the strength of its regularizer, and telling what it is worth."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial, wraps
from inspect import Signature, signature
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from structsvm.baselines.blind import blind_methods
from structsvm.errors import LearningError, SettingsError, VerdictWarning, warn
from structsvm.evaluation.contrast import LEARNED, chosen, standard_error
from structsvm.evaluation.splits import SPLITS, Split, split_samples
from structsvm.evaluation.verdict import Evidence, Remarks, Verdict
from structsvm.features import RecordingTransformer
from structsvm.features.frames import learning_once
from structsvm.graphs.labelled_nodes import limit_of
from structsvm.learner.closed_forms import NAMES
from structsvm.learner.fitting import LEARNED as KINDS
from structsvm.learner.fitting import Settings
from structsvm.learner.learned import recording_tags
from structsvm.learner.learner import Learner
from structsvm.learner.menu import Menu
from structsvm.learner.methods import Method, fit_methods, menu_of, which_baselines
from structsvm.learner.metric_learner import MetricLearner
from structsvm.learner.parameters import ProblemParameters, problem_from
from structsvm.learner.training_set import ROWS, TrainingSet
from structsvm.model_selection.trials import (
    FEWEST_INNER,
    Clock,
    Fold,
    SavedTrials,
    Trial,
    cross_fitted,
    in_folds,
    tasks_of,
    trials_of,
    try_method,
)
from structsvm.partitions.comparison import name_of_disagreement
from structsvm.partitions.plugins import problem_name
from structsvm.partitions.problem import PartitionProblem
from structsvm.regularizers import Regularizer
from structsvm.solvers.base import Solver
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import check_n_jobs, refuse_unless, refuse_unlisted
from structsvm.support.codec import fingerprint
from structsvm.support.progress import OutOfTimeError, share, stage, until

__all__ = ["MetricLearnerCV"]

WHOLE = "tables"
"""What is asked about tables if they are held out as a whole."""
REUSED_FROM = 3
"""Folds of the choice from which on they serve the features of the final metric too. Measured on
people held out from har_spsw: the loss of three is 0.016 +- 0.025 above that of five of its own."""


def _of_best(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same method of the best estimator."""

    @wraps(method)
    def answered(self: MetricLearnerCV, *args: Any, **kwargs: Any) -> Any:
        best = self._best
        if not hasattr(best, method.__name__):
            raise SettingsError(
                f"{self.best_candidate_} was chosen, and a {type(best).__name__} has no "
                f"{method.__name__}: name metrics alone as candidates"
            )
        return getattr(best, method.__name__)(*args, **kwargs)

    return answered


@dataclass(eq=False, repr=False)
class MetricLearnerCV(ProblemParameters):
    """A learner whose method, and its strength ``lam``, are chosen on held-out recordings.

    Candidates are metrics, learned or in closed form, and all other methods that suit the labels,
    such as :class:`~structsvm.StateSegmenter`; whoever wants a metric names metrics. Each is fitted
    on all folds but one, including its penalty, and segments the remaining recordings. The first
    candidate is the default, or the quick one that answers first if its mean loss is less; the best
    one is taken in its place if it is better beyond chance.
    The choice is fitted again on all recordings, and ``verdict_`` says whether learning pays.

    Parameters
    ----------
    problem : PartitionProblem, default ``ChangePoint()``
    candidates : sequence of str or Method, or mapping of names to learners, optional
        "untrained", which the others have to beat, and at least another one, in the order of
        preference: metrics such as "rca", "diagonal" or "full", methods of the problem such as
        "states", or learners by name that are not fitted,
        ``{"olda": MetricLearner(metric="olda"), "states": StateSegmenter()}``, to which "untrained"
        is added; a :class:`~structsvm.learner.Method` is one with a name and a cost. None takes the
        candidates of the problem.
    lams : sequence of float, optional
        Strengths of the regularizer of learned metrics without one; None: those of the problem.
    cv : int or splitter, optional
        Number of folds, or a scikit-learn splitter that holds every sample out once. None is 5, or
        3 if clusters are held out.
    split : {None, "rows", "clusters", "states"}
        What is held out: whole samples; groups of rows of the known clusters of tables, or all rows
        of some clusters, for which one table is enough; or whole recordings while one of their
        named states is unlabelled in the others.
    n_jobs : int or None
        Number of workers, as in joblib. The result does not depend on it.
    max_seconds : float, optional
        About how long ``fit`` may take. What others have to beat and what answers first are tried
        whatever it takes, then the default, and the others in the order of preference; those for
        which there is no time are left out, as are such baselines: ``untried_``.
    regularizer, features, standardize, whiten, solver, constraints, random_state
        As for :class:`MetricLearner`, for candidates by name. ``whiten`` applies to full metrics,
        and ``random_state`` also shuffles samples into folds.

    Attributes
    ----------
    best_estimator_ : Learner
        The best candidate, fitted on all recordings, whatever method it is;
        :func:`structsvm.save`, :func:`structsvm.evaluate` and all other functions take it.
    best_candidate_ : str
        Its name.
    best_lam_ : float or None
        Its ``lam``, if it is a learned metric.
    verdict_ : Verdict
        The gain of learning on held-out recordings, including the choice; ``print`` it.
    cv_results_ : dict of lists
        A row for each candidate and ``lam``: ``pandas.DataFrame(cv_results_)``. "mean_accuracy" is
        the share of samples that are named right, NaN for what names no states.
    candidates_ : list of Method
    losses_, criterion_ : arrays of shape (N, n_candidates)
        Held-out losses of the verdict, and held-out values by which candidates are chosen; NaN if a
        candidate failed. N counts what is held out: samples of which items are labelled, and which
        are scored on these; others are learned from in every fold but that of their group. With
        ``split``, parts of samples.
    untried_ : dict of float by str
        Candidates for which there was no time, and the seconds that each would take, about.
    fold_ : array of shape (N,)
        The fold in which a recording, or a part of a table, was held out.

    Notes
    -----
    Candidates are chosen by the mean loss of as many clusters as the calibrated price gives and as
    the labels have, which is less noisy than either, or with the number of the labels if the
    problem takes it for known. The losses behind ``verdict_`` are those of the candidate that the
    *other* folds choose, so that choosing among many values of ``lam`` does not bias them. Groups,
    or else recordings, are taken to be independent.

    Examples
    --------
    >>> from structsvm import MetricLearnerCV
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> walks = relevant_changes(12, n_samples=200, n_features=20, n_relevant=2, random_state=0)
    >>> X, y = arrays_and_labels(walks)
    >>> candidates = ["untrained", "diagonal"]
    >>> search = MetricLearnerCV(candidates=candidates, lams=[0.1], cv=3, random_state=0)
    >>> search = search.fit(X, y)
    >>> search.best_estimator_.metric, search.best_lam_
    ('diagonal', 0.1)
    """

    problem: PartitionProblem | None = None
    candidates: Sequence[str | Method] | Mapping[str, Learner] | None = None
    lams: Sequence[float] | None = None
    _: KW_ONLY
    cv: Any = None
    split: str | None = None
    n_jobs: int | None = None
    max_seconds: float | None = None
    regularizer: str | Regularizer = "squared"
    features: RecordingTransformer | None = None
    standardize: str | None = "auto"
    whiten: str | float | None = "auto"
    solver: str | Solver = "auto"
    constraints: Callable[[Any], list[Any]] | None = None
    random_state: int | None = None

    __signature__: ClassVar[Signature]
    """That of ``__init__``, which ``__new__`` hides."""

    def __new__(cls, *_: Any, **kwargs: Any) -> Self:
        """Say where the kind of metric goes."""
        if "metric" in kwargs:
            raise SettingsError(
                "the kind of metric is what is chosen: name it among the candidates, "
                f"candidates=['untrained', {kwargs['metric']!r}]"
            )
        made: Self = super().__new__(cls)
        return made

    @learning_once()
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        feature_names: Sequence[str] | None = None,
        baselines: str | Sequence[str] | None = None,
        resume: str | PathLike[str] | None = None,
        when_learned: Callable[[Learner], object] | None = None,
    ) -> MetricLearnerCV:
        """Choose the metric on held-out samples, evaluate the choice, and fit it on all samples.

        Parameters
        ----------
        X, y, sample_weight, feature_names, when_learned
            As for :meth:`MetricLearner.fit`. Weights count in evaluation, too, and not for folds.
        groups : sequence of length N, optional
            Group of each sample (subject, machine, ...), which is held out as a whole.
        baselines : {"quick", "all"}, list of str or None
            Methods to tune in addition to the candidates, as :meth:`MetricLearner.fit` does.
        resume : path, optional
            File to which what was tried is saved; if it exists, it is not tried again.

        Raises
        ------
        DataError, SettingsError
            If there are too few samples to hold any out, and as for :meth:`MetricLearner.fit`.
        LearningError
            If no candidate but the untrained metric gives a model on every fold.
        CheckpointError
            If ``resume`` is of other data or settings.
        KeyboardInterrupt
            On Ctrl-C. During the final fit, ``best_estimator_`` is the best metric so far.
        """
        data = self._training_set(
            X, y, sample_weight=sample_weight, groups=groups, feature_names=feature_names
        )
        which = which_baselines(baselines)
        clock = self._clock()
        with share("choosing", 0.0, 1.0):
            best = self._choose(data, clock, resume)
        with share("learning", clock.told, 1.0):
            self._learn(best, data, which, when_learned, clock.end)
        if not self.verdict_.pays:
            warn(str(self.verdict_), VerdictWarning)
        return self

    @learning_once()
    def choose(
        self, X: Any, y: Any = None, *, resume: str | PathLike[str] | None = None, **given: Any
    ) -> Learner:
        """Choose and evaluate only, and return the chosen learner, which is not fitted yet.

        Parameters (but for ``baselines``) and errors are those of :meth:`fit`.
        """
        best = self._choose(self._training_set(X, y, **given), self._clock(), resume)
        learner: Learner = copy(best.learner)
        return learner

    def _choose(
        self, data: TrainingSet, clock: Clock, resume: str | PathLike[str] | None
    ) -> Method:
        Settings.of(self._base(data.problem).get_params(deep=False))
        menu: Menu = menu_of(data, self._base(data.problem))
        candidates = self._methods(menu)
        # Bad settings are refused before any work.
        settings = {c: self._settings(c) for c in candidates if c.is_metric}
        split = split_samples(self.split, data, self.cv, self.random_state)
        saved = SavedTrials()
        if resume is not None:
            about = (problem_name(data.problem), data.item_labels, split.fold)
            identity = fingerprint((*about, [x.data for x in data.samples]))
            saved = SavedTrials(resume, identity)
            before = self.__dict__.get("_saved", saved)
            if before.identity == identity:
                saved.models |= before.models
        self._saved = saved
        found = HeldOut.of(split, candidates, settings, clock, saved)
        best = found.best
        trials = [(c.name, trial) for c, of_each in found.tried.items() for trial in of_each]
        usable = {
            c.name for j, c in enumerate(found.tried) if not np.isnan(found.criterion[:, j]).any()
        }
        # A metric that becomes zero is left to ``cv_results_``, unless no other one was learned.
        none = not usable & {c.name for c in found.tried if c.has_path}
        failed = {
            name: trial.failure
            for name, trial in reversed(trials)
            if trial.refused or (none and trial.failure)
        }
        for name, why in failed.items():
            warn(f"{name} is not compared: {why}")
        self.verdict_ = found.verdict
        self.best_candidate_ = best.name
        self.best_lam_ = best.lam
        self.candidates_ = [*found.tried]
        self.fold_ = split.fold
        self.untried_: dict[str, float] = {}
        for candidate, seconds in found.untried.items():
            self.untried_[candidate.name] = self.untried_.get(candidate.name, 0.0) + seconds
        self.losses_ = found.losses
        self.criterion_ = found.criterion
        self.cv_results_ = found.table()
        self.__dict__.pop("best_estimator_", None)  # of another choice
        return best

    predict = _of_best(Learner.predict)
    predict_breakpoints = _of_best(Learner.predict_breakpoints)
    predict_partitions = _of_best(Learner.predict_partitions)
    predict_states = _of_best(Learner.predict_states)
    predict_segments = _of_best(Learner.predict_segments)
    transform = _of_best(MetricLearner.transform)
    score = _of_best(Learner.score)

    @property
    def n_features_in_(self) -> int:
        """The number of features, P."""
        return int(self._best.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features, only if the samples named them."""
        return self._best.feature_names_in_

    def __sklearn_tags__(self) -> Tags:
        return recording_tags(super().__sklearn_tags__())

    @property
    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _clock(self) -> Clock:
        check_n_jobs(self.n_jobs)
        seconds = math.inf if self.max_seconds is None else self.max_seconds
        refuse_unless(seconds >= 0, "max_seconds", "a number >= 0", seconds)
        return Clock(time.monotonic() + seconds, self.n_jobs)

    def _base(self, problem: PartitionProblem) -> MetricLearner:
        """A metric with the settings that are shared by candidates."""
        shared = MetricLearner().get_params(deep=False).keys() & self.get_params(deep=False).keys()
        given = {name: getattr(self, name) for name in shared - {"n_jobs"}}
        return MetricLearner(**given | {"problem": problem})

    def _methods(self, menu: Menu) -> list[Method]:
        """The candidates in the order of preference, learned metrics once for each strength."""
        known = menu.to_choose_from(in_time=self.max_seconds is not None)
        if self.lams is not None:
            known = [replace(method, lams=()) for method in known]
        lams = menu.problem.traits.lams if self.lams is None else self.lams
        return candidates_among(known if self.candidates is None else self.candidates, lams, menu)

    def _training_set(self, X: Any, y: Any, **given: Any) -> TrainingSet:
        """Samples and labels, checked once, and what is asked about them."""
        refuse_unlisted("split", self.split, (*SPLITS, None))
        problem = problem_from(self.problem, self.random_state)
        return replace(TrainingSet.of(problem, X, y, **given), question=self.split or WHOLE)

    def _settings(self, method: Method) -> Settings:
        """The settings of a metric; of rows that are held out, scaled like the others."""
        settings = Settings.of(method.learner.get_params(deep=False))
        if self.split == ROWS and settings.standardize == "recording":
            return replace(settings, standardize="training")
        return settings

    def _learn(
        self,
        best: Method,
        data: TrainingSet,
        which: str | Sequence[str] | None,
        when_learned: Callable[[Learner], object] | None,
        end: float,
    ) -> None:
        """Learn the choice from all samples, and the baselines for which there is time."""
        menu: Menu = menu_of(data, best.learner)
        closed = [c for c in self.candidates_ if c.is_metric and not c.has_path]
        plain = [c.name for c in closed if c.learner.metric == c.name]
        asked = {m.name: m for m in menu.named(which or ()) if m.name not in self.untried_}
        metrics = [m.name for m in menu.named([*plain, *asked]) if m.is_metric]
        others = {c.name: c for c in self.candidates_ if not c.is_metric}
        rivals = {m.name: m for m in asked.values() if not m.is_metric} | others
        rivals.pop(best.name, None)
        models = {name: model for name, model in self._saved.models.items() if name in rivals}
        learned = 0.5 if rivals.keys() - models else 1.0
        fold = self.fold_ if self.split is None else self.fold_[:0]  # of whole samples
        fewest = REUSED_FROM if best.is_metric else FEWEST_INNER + 1

        def keep(learner: Learner) -> None:
            self.best_estimator_ = learner
            if when_learned is not None:
                when_learned(learner)

        with share("the choice", 0.0, learned):
            if best.name in self._saved.models:  # from all samples, while it was tried
                learner = self._saved.models[best.name]
                with share("the untrained metric", 1.0, 1.0):
                    learner._introduce(data.counted())
                keep(learner)
                learner._compare_with(menu_of(data.counted(), learner).fitted(metrics))
            else:
                learner = copy(best.learner)
                fit = partial(learner.fit, baselines=metrics, when_learned=keep)
                cross_fitted(fit, in_folds(data, fold, fewest), data)
        if learner.interrupted_:
            raise KeyboardInterrupt("while learning the choice: best_estimator_ is the best so far")
        named = which is not None and not isinstance(which, str)
        learner._compare_with(models)
        folded = in_folds(data, fold, FEWEST_INNER + 1).counted()
        with share("baselines", learned, 1.0):
            left = [method for name, method in rivals.items() if name not in models]
            for method in stage("classifiers", sorted(left, key=lambda method: method.cost)):
                tried = method.name in others
                limit = math.inf if tried else end  # time was kept for what was tried
                with suppress(OutOfTimeError), until(limit):
                    learner._compare_with(fit_methods([method], folded, named or tried))


_of_init = signature(MetricLearnerCV.__init__)
MetricLearnerCV.__signature__ = _of_init.replace(parameters=[*_of_init.parameters.values()][1:])


# ---- how every candidate did on the recordings it was not tuned on


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Losses of all candidates on all recordings, each held out once."""

    split: Split
    tried: Mapping[Method, Sequence[Trial]]
    """A trial in each fold of each candidate, in the order of preference."""
    losses: Floats
    """Losses that the verdict compares, (N, n_candidates); NaN where a candidate failed."""
    criterion: Floats
    """Losses that candidates are chosen by, (N, n_candidates)."""
    accuracy: Floats
    """The share of items that are named right, (N, n_candidates); NaN where none is named."""
    blind: Mapping[str, Floats]
    """Losses of what is blind to the samples, (N,) each: nothing pays that is not better."""
    untried: Mapping[Method, float]
    """Candidates for which there was no time, and the seconds that each would take."""

    @classmethod
    def of(
        cls,
        split: Split,
        candidates: Sequence[Method],
        settings: Mapping[Method, Settings],
        clock: Clock,
        saved: SavedTrials,
    ) -> HeldOut:
        """Try every candidate on every fold, as long as there is time."""
        folds = []
        for k, data in enumerate(split.training):
            train = folded = data.counted()
            others = split.train(k)
            if split.shares is None and others.size == len(data):
                folded = in_folds(train, split.fold[others[data.weights > 0]], FEWEST_INNER)
            folds.append(Fold(k, train, split.test_set(k), folded))
        tasks = tasks_of(settings, candidates, split.whole)
        found, untried = trials_of(tasks, folds, clock, saved)
        tried = {c: found[c] for c in candidates if c in found}
        N = len(split.held_out)
        traits = split.held_out.problem.traits
        both = np.empty((N, len(tried), 2))
        accuracy = np.empty((N, len(tried)))
        judged = int(traits.given_k)
        blind = blind_methods(traits.contiguous)
        of_blind = {method.name: np.empty(N) for method in blind}
        for k, fold in enumerate(folds):
            test = split.test(k)
            for j, trials in enumerate(tried.values()):
                both[test, j] = trials[k].losses
                accuracy[test, j] = trials[k].accuracy
            for method in blind:
                (trial,) = try_method(method, fold)
                of_blind[method.name][test] = trial.losses[:, judged]
        criterion = both[..., 1] if traits.given_k else both.mean(axis=2)
        return cls(split, tried, both[..., judged], criterion, accuracy, of_blind, untried)

    def _chosen(self, losses: Floats, which: Ints) -> int:
        """The candidate to take, by the losses of some recordings."""
        units = np.unique(self.split.units[which], return_inverse=True)[1]
        names = [c.name for c in self.tried]
        weights = self.split.held_out.weights[which]
        draws = self.split.draws_among(which)
        first = next((c.name for c in self.tried if c.is_first), "")
        return chosen(losses[which], units, names, weights, draws, first)

    @property
    def best(self) -> Method:
        """The candidate that is chosen."""
        failed = [bool(np.isnan(column).any()) for column in self.criterion.T]
        if all(fails or c.name == "untrained" for c, fails in zip(self.tried, failed, strict=True)):
            failures = [t.failure for trials in self.tried.values() for t in trials if t.failure]
            raise LearningError(
                f"no candidate gave a model in each of the {len(self.split)} folds; the last one: "
                f"{failures[-1]}"
            )
        return [*self.tried][self._chosen(self.criterion, np.arange(len(self.losses)))]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the candidate that the other folds choose for each recording."""
        split = self.split
        data = self.split.held_out
        best = self.best
        honest = np.empty(len(self.losses))
        named = np.empty(len(self.losses))
        for k in range(len(split)):
            held_out = split.test(k)
            j = self._chosen(self.criterion, split.train(k))
            if best.name == "untrained":  # which is what it is, whatever other folds choose
                j = [c.name for c in self.tried].index(best.name)
            honest[held_out] = self.losses[held_out, j]
            named[held_out] = self.accuracy[held_out, j]
        others = [
            (j, c)
            for j, c in enumerate(self.tried)
            if c.name == "untrained" or not (c.learner.is_learned or c.name == best.name)
        ]
        truths: list[Any] = [known.scored for known in data.labels]
        return Verdict.of(
            {LEARNED: honest, **self.blind, **{c.name: self.losses[:, j] for j, c in others}},
            split.units,
            split.numbers,
            weights=data.weights,
            draws=split.draws,
            inflation=self._inflation,
            accuracies=self._accuracies(named, others) if data.problem.traits.contiguous else None,
            evidence=Evidence(
                split.words,
                name_of_disagreement(data.problem, truths[0]),
                grouped=data.groups is not None,
                cross_validated=True,
                method=best.learner.called,
            ),
            remarks=Remarks(limit_of(truths), split.question),
            best=best.name,
        )

    @property
    def _inflation(self) -> float:
        """Variance of the mean over folds, in units of that of independent differences.

        Folds share what is learned from (Nadeau and Bengio, 2003): ``1/J + n_test / n_train`` in
        place of ``1/J`` for J folds, of which each holds a share p of the units out.
        """
        split = self.split
        held_out = [np.unique(split.units[split.test(k)]).size for k in range(len(split))]
        n_units = np.unique(split.units).size
        p = split.draws * float(np.mean(held_out)) / n_units
        return 1.0 + 1.0 / max(1.0 - p, 1.0 / n_units)  # copies of one sample are one unit

    def _accuracies(
        self, of_learned: Floats, others: Sequence[tuple[int, Method]]
    ) -> dict[str, float | None]:
        """The share of items that each method names right; None for what does not name all."""
        columns = {LEARNED: of_learned} | {c.name: self.accuracy[:, j] for j, c in others}
        has_names = ~np.isnan(self.accuracy).all(axis=1)
        weights = self.split.held_out.weights[has_names]
        shares = {name: _means(one[has_names, None], weights)[0] for name, one in columns.items()}
        return {name: None if np.isnan(share) else share for name, share in shares.items()}

    def table(self) -> dict[str, list[Any]]:
        """A row for each candidate, in columns; gains are over the untrained metric, paired."""
        losses = self.losses
        split = self.split
        weights = self.split.held_out.weights
        names = [c.name for c in self.tried]
        trials = self.tried.values()
        gains = losses[:, [names.index("untrained")]] - losses

        def spread(values: Floats) -> list[float]:
            columns = values.T
            return [standard_error(one, split.units, weights, split.draws)[0] for one in columns]

        table: dict[str, list[Any]] = {
            "candidate": names,
            "lam": [c.lam for c in self.tried],
            "mean_loss": _means(losses, weights),
            "se_loss": spread(losses),
            "mean_criterion": _means(self.criterion, weights),
            "mean_accuracy": _means(self.accuracy, weights),
            "mean_gain": _means(gains, weights),
            "se_gain": spread(gains),
            "mean_fit_seconds": [float(np.mean([t.seconds for t in row])) for row in trials],
            "mean_oracle_calls": [float(np.mean([t.oracle_calls for t in row])) for row in trials],
            "converged": [all(t.converged for t in row) for row in trials],
            "failure": [next((t.failure for t in row if t.failure), "") for row in trials],
        }
        for k in range(len(split)):
            here = split.test(k)
            table[f"split{k}_loss"] = _means(losses[here], weights[here])
        return table


def _means(losses: Floats, weights: Floats) -> list[float]:
    """Weighted mean of each column; NaN where nothing has any weight."""
    if not weights.any():
        return [np.nan] * losses.shape[1]
    means: list[float] = np.average(losses, axis=0, weights=weights).tolist()
    return means


# ---- the candidates to choose from, in the order of preference


def candidates_among(
    candidates: Sequence[str | Method] | Mapping[str, Learner], lams: Any, menu: Menu
) -> list[Method]:
    """The candidates in the order of preference, learned metrics once for each strength."""
    if isinstance(candidates, Mapping):
        asked: list[Any] = [Method(name, learner) for name, learner in candidates.items()]
        candidates = asked if "untrained" in candidates else [*asked, "untrained"]
    known = {name: menu.of_metric(name, name) for name in (*KINDS, *NAMES)}
    known |= {method.name: method for method in menu.candidates}
    names: list[str] = []
    order: list[Method] = []
    for c in dict.fromkeys(candidates):
        method = known.get(c) if isinstance(c, str) else c
        if not isinstance(method, Method) or not isinstance(method.learner, Learner):
            raise SettingsError(
                f"there is no candidate {c!r} for these data; there are {', '.join(known)}, and "
                "learners by name, candidates={'mine': MetricLearner(...)}"
            )
        if method.name in names:
            raise SettingsError(
                f"two candidates are called {method.name!r}: give each its own name"
            )
        names.append(method.name)
        learner = copy(method.learner)
        learner.problem = menu.problem
        order += replace(method, learner=learner).along(lams)
    if "untrained" not in names or len(order) < 2:
        raise SettingsError(
            "candidates must name 'untrained', which the others have to beat, and another one, "
            f"such as 'diagonal' or 'full', with lams, got {tuple(names)!r}"
        )
    return order
