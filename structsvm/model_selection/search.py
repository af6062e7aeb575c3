"""Choosing the kind of metric and the strength of its regularizer, and telling what it is worth."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, Unpack

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from structsvm.baselines.metrics import NAMES
from structsvm.data.sample import Sample
from structsvm.data.samples import Counts
from structsvm.errors import DataWarning, SettingsError, VerdictWarning, warn
from structsvm.evaluation.splits import SPLITS, split_samples
from structsvm.features import RecordingTransformer
from structsvm.features.frames import learning_once
from structsvm.learner.baselines import (
    MetricBaseline,
    candidates_of,
    chosen_baselines,
    fit_baselines,
    partitions_with,
    which_baselines,
)
from structsvm.learner.fitting import ProblemParameters, Settings, problem_from
from structsvm.learner.form import Form
from structsvm.learner.learner import MetricLearner, recording_tags
from structsvm.learner.steps import (
    Rules,
    as_measured,
    decode_with,
    labels_of,
    names_of_items,
    segment_table,
)
from structsvm.learner.training_set import ROWS, Inputs, TrainingSet, ask
from structsvm.model_selection.held_out import HeldOut
from structsvm.model_selection.trials import (
    FEWEST_INNER,
    SEEING,
    Clock,
    SavedTrials,
    candidate_metric,
    cross_fitted,
)
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.plugins import problem_name
from structsvm.partitions.problem import (
    LEARNED,
    Candidate,
    PartitionProblem,
    named_candidate,
)
from structsvm.regularizers import Regularizer
from structsvm.solvers.base import Solver
from structsvm.storage.codec import fingerprint
from structsvm.support.checks import check_n_jobs, refuse_unlisted
from structsvm.support.progress import OutOfTimeError, share, stage, until

__all__ = ["MetricLearnerCV"]

WHOLE = "tables"
"""What is asked about tables if they are held out as a whole."""
REUSED_FROM = 3
"""Folds of the choice from which on they serve the features of the final metric too. Measured on
people held out from har_spsw: the loss of three is 0.016 +- 0.025 above that of five of its own."""


class MetricLearnerCV(ProblemParameters):
    """A :class:`MetricLearner` whose kind of metric and ``lam`` are chosen on held-out recordings.

    Each candidate is fitted on all folds but one, including its penalty, and segments the remaining
    recordings. The first candidate is the default, and the best one is taken in its place if it is
    better beyond chance. The choice is fitted again on all recordings, and ``verdict_`` says
    whether learning pays.

    Parameters
    ----------
    problem : PartitionProblem, default ``ChangePoint()``
    candidates : sequence of str or Candidate, optional
        "untrained", other baselines such as "rca", and at least one learned metric, such as
        "diagonal" or "full", in the order of preference; a
        :class:`~structsvm.partitions.Candidate` has settings of its own. None takes the candidates
        of the problem.
    lams : sequence of float, optional
        Strengths of the regularizer of the learned candidates. None takes those of the problem.
    cv : int or splitter, optional
        Number of folds, or a scikit-learn splitter that holds every sample out once. None is 5, or
        3 if clusters are held out.
    split : {None, "rows", "clusters", "states"}
        What is held out: whole samples; groups of rows of the known clusters of tables, or all rows
        of some clusters, for which one table is enough; or whole recordings while one of their
        named states is unlabelled in the others.
    n_clusters : {None, "true"}
        Whether the verdict is about as many clusters as the calibrated price gives, or as the
        labels have. Candidates are chosen by the mean loss of both, which is less noisy, or with
        the number of the labels if the problem takes it for known.
    choose_from : {"metrics", "all"}
        Whether ``best_estimator_`` is the best learned metric, or the best of all candidates, which
        may be the untrained metric or a classifier.
    n_jobs : int or None
        Number of workers, as in joblib. The result does not depend on it.
    max_seconds : float, optional
        About how long ``fit`` may take. Candidates are tried in the order of what they cost, and
        those for which there is no time are left out, as are such baselines: ``untried_``.
    regularizer, features, standardize, whiten, solver, constraints, random_state
        As for :class:`MetricLearner`. ``whiten`` applies to full metrics, and ``random_state`` also
        shuffles samples into folds.

    Attributes
    ----------
    best_estimator_ : MetricLearner
        The best learned candidate, fitted on all recordings, which can be given to
        :func:`structsvm.save`; with ``choose_from="all"``, the best candidate of all, which has
        ``predict`` and its relatives at least.
    best_learner_ : MetricLearner
        The best learned candidate, whatever ``choose_from`` is.
    best_candidate_, best_learned_ : str
        The names of the best candidate of all, such as "untrained", and of the best learned one.
    best_lam_ : float
        ``lam`` of the best learned candidate.
    verdict_ : Verdict
        The gain of learning on held-out recordings, including the choice; ``print`` it.
    cv_results_ : dict of lists
        A row for each candidate and ``lam``: ``pandas.DataFrame(cv_results_)``. "mean_accuracy" is
        the share of samples that are named right, NaN for what names no states.
    candidates_ : list of Candidate
    losses_, criterion_ : arrays of shape (N, n_candidates)
        Held-out losses of the verdict, and held-out values by which candidates are chosen; NaN if a
        candidate failed. N counts what is held out: samples labelled in full, others are learned
        from in every fold but that of their group; with ``split``, parts of samples.
    untried_ : dict of float by str
        Candidates for which there was no time, and the seconds that each would take, about.
    fold_ : array of shape (N,)
        The fold in which a recording, or a part of a table, was held out.

    Notes
    -----
    The losses behind ``verdict_`` are those of the candidate that the *other* folds choose, so that
    choosing among many values of ``lam`` does not bias them. Groups, or else recordings, are taken
    to be independent.

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

    def __init__(
        self,
        problem: PartitionProblem | None = None,
        candidates: Sequence[str | Candidate] | None = None,
        lams: Sequence[float] | None = None,
        *,
        cv: Any = None,
        split: str | None = None,
        n_clusters: str | None = None,
        choose_from: str = "metrics",
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        regularizer: str | Regularizer = "squared",
        features: RecordingTransformer | None = None,
        standardize: str | None = "auto",
        whiten: str | float | None = "auto",
        solver: str | Solver = "auto",
        constraints: Callable[[Any], list[Any]] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.problem = problem
        self.candidates = candidates
        self.lams = lams
        self.cv = cv
        self.split = split
        self.n_clusters = n_clusters
        self.choose_from = choose_from
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.regularizer = regularizer
        self.features = features
        self.standardize = standardize
        self.whiten = whiten
        self.solver = solver
        self.constraints = constraints
        self.random_state = random_state

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
        when_learned: Callable[[MetricLearner], object] | None = None,
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
            If no learned candidate gives a metric on every fold.
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
            learner = self._choose(data, clock, resume)
        with share("learning", clock.told, 1.0):
            self._learn(learner, data, which, when_learned, clock.end)
        if not self.verdict_.pays:
            warn(str(self.verdict_), VerdictWarning)
        return self

    @learning_once()
    def choose(self, X: Any, y: Any = None, **given: Any) -> MetricLearner:
        """Choose and evaluate only, and return the chosen learner, which is not fitted yet.

        Parameters (but for ``baselines``) and errors are those of :meth:`fit`.
        """
        return self._choose(self._training_set(X, y, **given), self._clock(), None)

    def _choose(
        self, data: TrainingSet, clock: Clock, resume: str | PathLike[str] | None
    ) -> MetricLearner:
        refuse_unlisted("n_clusters", self.n_clusters, (None, "true"))
        refuse_unlisted("choose_from", self.choose_from, ("metrics", "all"))
        candidates = self._menu(data)
        for candidate in (Candidate("full"), *candidates):
            self._settings(candidate)  # refuses bad settings before any work
        split = split_samples(self.split, data, self.cv, self.random_state)
        saved = None
        if resume is not None:
            about = (problem_name(data.problem), list(data.item_labels or data.truths), split.fold)
            saved = SavedTrials(resume, fingerprint((*about, [x.data for x in data.samples])))
        held_out = HeldOut.run(
            partial(self._settings, of_rows=self.split == ROWS),
            candidates,
            split,
            with_counts=self.n_clusters == "true",
            clock=clock,
            saved=saved,
        )
        learned = held_out.best_learned
        for name, why in held_out.refused.items():
            warn(f"{name} is not compared: {why}", DataWarning)
        self.verdict_, self.best_candidate_ = held_out.verdict, held_out.best.name
        self.best_learned_, self.best_lam_ = learned.name, learned.lam
        self.candidates_, self.fold_ = held_out.candidates, split.fold
        self.untried_: dict[str, float] = {}
        for candidate, seconds in held_out.untried.items():
            self.untried_[candidate.name] = self.untried_.get(candidate.name, 0.0) + seconds
        self.losses_, self.criterion_ = held_out.losses, held_out.criterion
        self.cv_results_ = held_out.table()
        self._models = held_out.models
        self.__dict__.pop("best_estimator_", None)  # of another choice
        return MetricLearner(**self._parameters(learned))

    def predict(self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]) -> Any:
        """Partition samples with ``best_estimator_``: a label vector (T_i,) for each."""
        return self._best.predict(X, n_clusters, **rules)

    def predict_breakpoints(self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]) -> Any:
        """Segment recordings: sorted segment ends for each, the last being T_i."""
        return self._best.predict_breakpoints(X, n_clusters, **rules)

    def predict_partitions(self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]) -> Any:
        """Partition samples: an :class:`~structsvm.EquivalenceMatrix` for each."""
        return self._best.predict_partitions(X, n_clusters, **rules)

    def predict_states(self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]) -> Any:
        """Partition samples and name the parts: the name of a state for each item, (T_i,)."""
        return self._best.predict_states(X, n_clusters, **rules)

    def predict_segments(self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]) -> Any:
        """Segment recordings and name the segments: a table for each."""
        return self._best.predict_segments(X, n_clusters, **rules)

    def transform(self, X: Any) -> Any:
        """Map samples into the space of the learned metric."""
        return self._best.transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the mean loss, as :meth:`MetricLearner.score`."""
        return float(self._best.score(X, y, sample_weight=sample_weight))

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
        if not seconds >= 0:
            raise SettingsError(f"max_seconds must be a number >= 0, got {seconds!r}")
        return Clock(time.monotonic() + seconds, self.n_jobs)

    def _menu(self, data: TrainingSet) -> list[Candidate]:
        known = candidates_of(data, self.features, self.standardize)
        if self.lams is not None:
            known = [replace(candidate, lams=()) for candidate in known]
        lams = data.problem.traits.lams if self.lams is None else self.lams
        return menu(known if self.candidates is None else self.candidates, lams, known)

    def _training_set(self, X: Any, y: Any, **given: Any) -> TrainingSet:
        """Samples and labels, checked once, and what is asked about them."""
        refuse_unlisted("split", self.split, (*SPLITS, None))
        problem = problem_from(self.problem, self.random_state)
        return replace(TrainingSet.of(problem, X, y, **given), question=self.split or WHOLE)

    def _parameters(self, candidate: Candidate) -> dict[str, Any]:
        """The parameters of the learner of a candidate."""
        shared = MetricLearner().get_params(deep=False).keys() & self.get_params(deep=False).keys()
        parameters = {name: getattr(self, name) for name in shared - {"n_jobs"}}
        is_tuned = candidate.tuned is not None  # then the other settings are of the baseline
        own = {k: v for k, v in candidate.settings.items() if k in SEEING or not is_tuned}
        return parameters | own | {"lam": candidate.lam}

    def _settings(self, candidate: Candidate, of_rows: bool = False) -> Settings:
        """The settings of the learner of a candidate."""
        learner = MetricLearner(**self._parameters(candidate))  # refuses what it does not have
        settings = Settings.of(learner.get_params(deep=False))
        if of_rows and settings.standardize == "recording":
            return replace(settings, standardize="training")
        return settings

    def _folded(self, data: TrainingSet, fewest: int) -> TrainingSet:
        """The samples with the folds of the choice for groups, whose classifiers are known."""
        known = len(self.fold_) == len(data)  # not of what is labelled in part
        if self.split is not None or not known or len(np.unique(self.fold_)) < fewest:
            return data
        return replace(data, groups=self.fold_.tolist())

    def _learn(
        self,
        learner: MetricLearner,
        data: TrainingSet,
        which: str | Sequence[str] | None,
        when_learned: Callable[[MetricLearner], object] | None,
        end: float,
    ) -> None:
        """Learn the choice from all samples, and tune the baselines for which there is time."""
        plain = [c.tuned for c in self.candidates_ if c.tuned and not c.settings]
        metrics, others = chosen_baselines(which or (), data, learner.features, self.standardize)
        tuned = [name for name in dict.fromkeys([*plain, *metrics]) if name != "untrained"]
        chosen = {c.name: c.estimator for c in self.candidates_ if c.estimator is not None}
        asked = {b.name: b for b in others if b.name not in self.untried_} | chosen
        asked = {name: one for name, one in asked.items() if name not in self._models}
        learned = 0.5 if asked else 1.0

        def keep(learner: MetricLearner) -> None:
            self.best_estimator_ = self.best_learner_ = learner
            if when_learned is not None:
                when_learned(learner)

        with share("the choice", 0.0, learned):
            fit = partial(learner.fit, baselines=tuned, when_learned=keep)
            cross_fitted(fit, self._folded(data, REUSED_FROM), data)
        if learner.interrupted_:
            raise KeyboardInterrupt("while learning the choice: best_estimator_ is the best so far")
        learner._compare_with(self._models)
        folded = self._folded(data, FEWEST_INNER + 1).counted()
        named = not isinstance(which, str)
        with share("baselines", learned, 1.0):
            for one in stage("classifiers", sorted(asked.values(), key=lambda one: one.cost)):
                limit = math.inf if one.name in chosen else end  # time was kept for what was tried
                with suppress(OutOfTimeError), until(limit):
                    found = fit_baselines([one], folded, named or one.name in chosen)
                    learner._compare_with(found)
        best = next(c for c in self.candidates_ if c.name == self.best_candidate_)
        if best.tuned == "untrained" and best.settings.get("features") is learner.features:
            learner.baselines_[best.name] = learner.baselines_["untrained"]
        if self.choose_from == "all" and not best.is_learned:
            self.best_estimator_ = self._as_estimator(best, learner, data)

    def _as_estimator(self, best: Candidate, learner: MetricLearner, data: TrainingSet) -> Any:
        """The best candidate if it is not learned."""
        if best.tuned is None:
            return ChosenBaseline(learner, best.name)
        settings = self._settings(best)
        if not best.settings and settings.features is learner.features:
            return ChosenBaseline(learner, best.name, learner.baselines_[best.tuned])
        inputs, seen = Inputs.fit(settings.features, settings.standardize, data.counted())
        metric = MetricBaseline.of(candidate_metric(best, seen.parts), learner.problem_, inputs)
        return ChosenBaseline(learner, best.name, metric)


# ---- the candidates to choose from, in the order of preference


def menu(
    candidates: Sequence[str | Candidate], lams: Any, known: Sequence[Candidate] = ()
) -> list[Candidate]:
    """The candidates in the order of preference, learned ones once for each strength."""
    by_name = {name: named_candidate(name) for name in sorted({*LEARNED, *NAMES})}
    by_name |= {candidate.name: candidate for candidate in known}
    names: list[str] = []
    order: list[Candidate] = []
    for c in dict.fromkeys(candidates):
        if isinstance(c, str) and c not in by_name:
            raise SettingsError(
                f"there is no candidate {c!r} for these data; there are {', '.join(by_name)}"
            )
        candidate = by_name[c] if isinstance(c, str) else c
        if candidate.name in names:
            raise SettingsError(
                f"two candidates are called {candidate.name!r}: give each its own name"
            )
        names.append(candidate.name)
        # Its own strength, or each of its own path or of that of the search.
        path = sorted({float(lam) for lam in candidate.lams or lams}, reverse=True)
        if candidate.is_learned and candidate.lam is None:
            order += [replace(candidate, lam=lam, lams=()) for lam in path]
        else:
            order.append(candidate)
    if "untrained" not in names or not any(candidate.is_learned for candidate in order):
        raise SettingsError(
            "candidates must name 'untrained', which the others have to beat, and at least one "
            f"that is learned, such as 'diagonal' or 'full', with lams, got {tuple(names)!r}"
        )
    return order


# ---- the best candidate of a search if it is no learned metric, as an estimator


@dataclass(frozen=True, eq=False)
class ChosenBaseline:
    """The untrained metric or a classifier that partitions as a learner does."""

    learner: MetricLearner
    """The best learned metric, with its baselines."""
    name: str
    metric: MetricBaseline | None = None
    """None for what is no metric."""

    def predict(self, X: Any, n_clusters: Counts = None) -> Any:
        """Partition samples: a label vector (T_i,) for each."""
        problem = self.learner.problem_
        return self._answer(X, n_clusters, lambda found, xs: list(labels_of(problem, found, xs)))

    def predict_partitions(self, X: Any, n_clusters: Counts = None) -> Any:
        """Partition samples: an :class:`~structsvm.EquivalenceMatrix` for each."""
        return self._answer(X, n_clusters, lambda found, _: found)

    def predict_breakpoints(self, X: Any, n_clusters: Counts = None) -> Any:
        """Segment recordings: sorted segment ends for each, the last being T_i."""
        return self._answer(X, n_clusters, lambda found, _: [M.breakpoints for M in found])

    def predict_states(self, X: Any, n_clusters: Counts = None) -> Any:
        """The name of a state for each item, by the classifier, or by scores of the metric."""
        return self._named(X, n_clusters, "predict_states", names_of_items)

    def predict_segments(self, X: Any, n_clusters: Counts = None) -> Any:
        """Segment recordings and name the segments: a table for each."""
        return self._named(X, n_clusters, "predict_segments", segment_table)

    def _answer(self, X: Any, n_clusters: Counts, answer: Callable[..., list[Any]]) -> Any:
        """Partition samples, and answer in the form in which they come."""
        learner, form = self.learner, Form.given_to(self.learner, X)
        samples = as_measured(learner, form.samples)
        if self.metric is None:
            found = partitions_with(learner, self.name, samples, n_clusters)
        else:
            found = decode_with(learner, self.metric, self.metric.inputs(samples), n_clusters)
        return form.answer(answer(found, samples))

    def _named(self, X: Any, n_clusters: Counts, method: str, name: Callable[..., Any]) -> Any:
        learner, own = self.learner, self.learner.baselines_.get(self.name)

        def named(partitions: list[EquivalenceMatrix], samples: list[Sample]) -> list[Any]:
            if hasattr(own, method):
                return list(ask(own, method, samples, n_clusters))
            seen, states = learner.inputs_(samples), learner.classes_
            if states is None:
                raise SettingsError(
                    f"{self.name} knows no names of states, nor does the learned metric: use "
                    "predict, or candidates that see StateScores"
                )
            return [name(M, sample, states) for M, sample in zip(partitions, seen, strict=True)]

        return self._answer(X, n_clusters, named)
