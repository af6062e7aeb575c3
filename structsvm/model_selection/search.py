"""Choosing a method, and the strength of its regularizer, on held-out recordings."""

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

from structsvm.errors import SettingsError, VerdictWarning, warn
from structsvm.evaluation import SPLITS, split_instances
from structsvm.features import RecordingTransformer
from structsvm.features.frames import learning_once
from structsvm.learner import Learner, Menu, Method, MetricLearner, TrainingSet
from structsvm.learner.fitting import Settings
from structsvm.learner.learner import recording_tags
from structsvm.learner.methods import fit_methods, menu_of, which_baselines
from structsvm.learner.parameters import ProblemParameters, problem_from
from structsvm.learner.training_set import ROWS
from structsvm.model_selection.candidates import candidates_among
from structsvm.model_selection.folds import FEWEST_INNER, cross_fitted, in_folds
from structsvm.model_selection.held_out import HeldOut
from structsvm.model_selection.trials import Clock, SavedTrials
from structsvm.partitions import PartitionProblem
from structsvm.partitions.plugins import problem_name
from structsvm.problem import Regularizer
from structsvm.solvers import Solver
from structsvm.support import (
    OutOfTimeError,
    check_n_jobs,
    fingerprint,
    refuse_unless,
    refuse_unlisted,
    share,
    stage,
    until,
)

__all__ = ["MetricLearnerCV"]

WHOLE_TABLES = "tables"
"""The question about tables if they are held out as a whole."""
REUSED_FROM = 3
"""The number of folds of the choice from which on the features of the final metric are cross-fitted
in these folds, too. On people held out from har_spsw, the loss with three of them is 0.016 +- 0.025
above that with five folds of its own."""


def _of_best(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same method of the best estimator."""

    @wraps(method)
    def of_best(self: "MetricLearnerCV", *args: Any, **kwargs: Any) -> Any:
        best = self._best
        if not hasattr(best, method.__name__):
            raise SettingsError(
                f"{self.best_candidate_} was chosen, and a {type(best).__name__} has no "
                f"{method.__name__}: name metrics alone as candidates"
            )
        return getattr(best, method.__name__)(*args, **kwargs)

    return of_best


@dataclass(eq=False, repr=False)
class MetricLearnerCV(ProblemParameters):
    """A learner whose method, and its strength ``lam``, are chosen on held-out recordings.

    Candidates are metrics, learned or in closed form, and all other methods that suit the labels,
    such as :class:`~structsvm.StateSegmenter`; to get a metric, name metrics alone. Each is fitted
    on all folds but one, including its penalty, and segments the remaining recordings.

    The first candidate is the default. Unless labels are changes alone, the quick candidate that
    answers first takes its place if its mean loss is less. Another candidate is chosen if it is
    better beyond chance. If the default names states, only candidates that name them can be chosen,
    and the share of samples that they name right decides. A candidate that does the same as a
    method that does not look at the data is only chosen if all others do so, too. The choice is
    fitted again on all recordings, and ``verdict_`` says whether learning pays.

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
        Number of folds, or a scikit-learn splitter that holds every instance out once. None is 5,
        or 3 if clusters are held out.
    split : {None, "rows", "clusters", "states"}
        What is held out: whole instances; groups of rows of the known clusters of tables, or all
        rows of some clusters, for which one table is enough; or whole recordings while one of their
        named states is unlabelled in the others.
    n_jobs : int or None
        Number of workers, as in joblib. The result does not depend on it.
    max_seconds : float, optional
        About how long ``fit`` may take. The untrained metric and the candidate that answers first
        are tried whatever time they take, then the default, those that gained most a second on
        public sets, and the others in the order of preference. Candidates and baselines for which
        there is no time are left out: ``untried_``.
    regularizer, features, standardize, whiten, solver, constraints, random_state
        As for :class:`MetricLearner`, for candidates by name. ``whiten`` applies to full metrics,
        and ``random_state`` also shuffles instances into folds.

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
        Held-out losses of the verdict, and those by which candidates are chosen, unless names
        decide; NaN if a candidate failed. N is the number of instances with labels of items, which
        are held out and scored on these; others are learned from in every fold but that of their
        group. With ``split``, it is the number of parts of instances.
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
        """Refuse ``metric``, and say that candidates name kinds of metrics."""
        if "metric" in kwargs:
            raise SettingsError(
                "the kind of metric is what is chosen: name it among the candidates, "
                f"candidates=['untrained', {kwargs['metric']!r}]"
            )
        search: Self = super().__new__(cls)
        return search

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
        models: Mapping[str, Learner] | None = None,
    ) -> "MetricLearnerCV":
        """Choose the metric on held-out instances, evaluate the choice, and fit it on all of them.

        Parameters
        ----------
        X, y, sample_weight, feature_names, when_learned
            As for :meth:`MetricLearner.fit`. Weights count in evaluation, too, and not for folds.
        groups : sequence of length N, optional
            Group of each instance (subject, machine, ...), which is held out as a whole.
        baselines : {"quick", "all"}, list of str or None
            Methods to tune in addition to the candidates, as :meth:`MetricLearner.fit` does.
        resume : path, optional
            File to which what was tried is saved; if it exists, it is not tried again.
        models : mapping of str to Learner, optional
            Candidates that were learned from all instances, or from more; they are not learned
            again.

        Raises
        ------
        DataError, SettingsError
            If there are too few instances to hold any out, and as for :meth:`MetricLearner.fit`.
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
            best = self._choose(data, clock, resume, which)
        with share("learning", clock.reported, 1.0):
            self._learn(best, data, which, when_learned, clock.end, models or {})
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
        self,
        data: TrainingSet,
        clock: Clock,
        resume: str | PathLike[str] | None,
        baselines: str | Sequence[str] | None = None,
    ) -> Method:
        Settings.of(self._base(data.problem).get_params(deep=False))
        menu: Menu = menu_of(data, self._base(data.problem))
        candidates = self._methods(menu)
        # Bad settings are refused before any work.
        settings = {c: self._settings(c) for c in candidates if c.is_metric}
        split = split_instances(self.split, data, self.cv, self.random_state)
        saved = SavedTrials()
        if resume is not None:
            arrays = [instance.data for instance in data.instances]
            part = fingerprint((problem_name(data.problem), data.item_labels, split.fold, arrays))
            saved = SavedTrials(resume, data.part_of or part, part)
            before = self.__dict__.get("_saved", saved)
            if before.part == part:
                saved.models |= before.models
        self._saved = saved
        asked = {method.name for method in menu.named(baselines or ())}
        results = HeldOut.of(split, candidates, settings, clock, saved, asked)
        best = results.best
        usable = {
            c.name
            for j, c in enumerate(results.tried)
            if not np.isnan(results.criterion[:, j]).any()
        }
        # A metric that becomes zero is left to ``cv_results_``, unless no other one was learned.
        is_none_learned = not usable & {c.name for c in results.tried if c.has_path}
        failed: dict[str, str] = {}
        for candidate, trials in results.tried.items():
            for trial in trials:
                if trial.refused or (is_none_learned and trial.failure):
                    failed.setdefault(candidate.name, trial.failure)
        for name, why in failed.items():
            warn(f"{name} is not compared: {why}")
        self.verdict_ = results.verdict
        self.best_candidate_ = best.name
        self.best_lam_ = best.lam
        self.candidates_ = [*results.tried]
        self.fold_ = split.fold
        self.untried_: dict[str, float] = {}
        for candidate, seconds in results.untried.items():
            self.untried_[candidate.name] = self.untried_.get(candidate.name, 0.0) + seconds
        self.losses_ = results.losses
        self.criterion_ = results.criterion
        self.cv_results_ = results.table()
        self.__dict__.pop("best_estimator_", None)  # it belongs to an earlier choice
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
        """Names of the features, only if the instances named them."""
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
        shared_settings = {name: getattr(self, name) for name in shared - {"n_jobs"}}
        return MetricLearner(**shared_settings | {"problem": problem})

    def _methods(self, menu: Menu) -> list[Method]:
        """The candidates in the order of preference, learned metrics once for each strength."""
        methods = menu.to_choose_from(in_time=self.max_seconds is not None)
        if self.lams is not None:
            methods = [replace(method, lams=()) for method in methods]
        lams = menu.problem.traits.lams if self.lams is None else self.lams
        return candidates_among(methods if self.candidates is None else self.candidates, lams, menu)

    def _training_set(self, X: Any, y: Any, **given: Any) -> TrainingSet:
        """Instances and labels, checked once, and what is held out of them."""
        refuse_unlisted("split", self.split, (*SPLITS, None))
        problem = problem_from(self.problem, self.random_state)
        return replace(TrainingSet.of(problem, X, y, **given), question=self.split or WHOLE_TABLES)

    def _settings(self, method: Method) -> Settings:
        """The settings of a metric; held-out rows are scaled by the training set."""
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
        before: Mapping[str, Learner],
    ) -> None:
        """Learn the choice from all instances, and the baselines for which there is time."""
        menu: Menu = menu_of(data, best.learner)
        failed = np.isnan(self.criterion_).any(axis=0)
        usable = [self.candidates_[j] for j in np.flatnonzero(~failed).tolist()]
        closed = [c for c in usable if c.is_metric and not c.has_path]
        own_names = [c.name for c in closed if c.learner.metric == c.name]
        asked = {m.name: m for m in menu.named(which or ()) if m.name not in self.untried_}
        metrics = [m.name for m in menu.named([*own_names, *asked]) if m.is_metric]
        others = {c.name: c for c in self.candidates_ if not c.is_metric}
        rivals = {m.name: m for m in asked.values() if not m.is_metric} | others
        rivals.pop(best.name, None)
        fitted = {**self._saved.models, **before}
        models = {name: model for name, model in fitted.items() if name in rivals}
        learned = 0.5 if rivals.keys() - models else 1.0
        fold = self.fold_ if self.split is None else self.fold_[:0]  # of whole instances
        fewest = REUSED_FROM if best.is_metric else FEWEST_INNER + 1

        def keep(learner: Learner) -> None:
            self.best_estimator_ = learner
            if when_learned is not None:
                when_learned(learner)

        with share("the choice", 0.0, learned):
            if best.name in fitted:  # from all instances, while it was tried or before
                learner = fitted[best.name]
                if best.name not in before:
                    with share("the untrained metric", 1.0, 1.0):
                        learner._describe(data.counted())
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
