"""Choosing the kind of metric and the strength of its regularizer, and telling what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm.checks import among, check_n_jobs
from structsvm.choices import learning_from, partition_from
from structsvm.errors import SettingsError, VerdictWarning, warn
from structsvm.interop.routing import DATA_UNDER_OUR_NAMES
from structsvm.learner import MetricLearner
from structsvm.masters.base import Master
from structsvm.model_selection.candidates import BASELINES, CANDIDATES, Candidate, menu
from structsvm.model_selection.folds import split
from structsvm.model_selection.held_out import HeldOut
from structsvm.model_selection.verdict import contents
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import DecodingMetric
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.samples import Counts, Standardizer
from structsvm.partitions.training import TrainingData
from structsvm.partitions.training_set import TrainingSet
from structsvm.regularizers import Regularizer

__all__ = ["MetricLearnerCV"]

Floats = NDArray[np.float64]


class MetricLearnerCV(BaseEstimator):  # type: ignore[misc]
    """A :class:`MetricLearner` whose kind of metric and ``lam`` are chosen on held-out recordings.

    Each candidate is tuned on the recordings of all folds but one, penalty included, and segments
    those of that fold. Of the kind of metric that does best, the largest ``lam`` within one
    standard error of the best is taken and learned again from all recordings; ``verdict_`` says
    whether learning pays.

    Parameters
    ----------
    problem : PartitionProblem, default ``ChangePoint()``
    candidates : sequence of {"untrained", "rca", "diagonal", "full"}
        "untrained" and at least one of "diagonal" and "full".
    lams : sequence of float
        Strengths of the regularizer of the learned candidates.
    cv : int or splitter
        Number of folds of recordings, one for each if there are fewer; with ``groups``, a group is
        never split. Or a scikit-learn splitter that holds every recording out once.
    n_segments : {None, "true"}
        Judge the segmentations of held-out recordings by the calibrated penalty, or those with the
        number of segments of their labels. The choice is made by the mean loss of both, which is
        less noisy than either; a problem that knows the number uses it for everything.
    rule : {"one_se", "min"}
        Take the simplest candidate within one standard error of the best, or the best. A large
        ``lam`` is simpler than a small one of the same kind of metric, and untrained and then RCA
        are simpler than anything learned; diagonal and full are compared by their means.
    n_jobs : int or None
        Workers, as in joblib; the result is the same.
    regularizer, standardize, whiten, slack, tol, max_iter, master, constraints, random_state
        As for :class:`MetricLearner`; ``whiten`` is for full metrics, and ``random_state`` also
        shuffles the recordings into folds.

    Attributes
    ----------
    best_estimator_ : MetricLearner
        The best *learned* candidate, learned from all recordings; this is what predicts unless
        told otherwise, and what :func:`structsvm.save` takes.
    best_candidate_ : str
        The best candidate of all; "untrained" or "rca" when learning does not pay.
    best_lam_ : float
        ``lam`` of ``best_estimator_``.
    verdict_ : Verdict
        What learning is worth on held-out recordings, choosing included; ``print`` it.
    cv_results_ : dict of lists
        A row for each candidate and ``lam``: ``pandas.DataFrame(cv_results_)``.
    candidates_ : list of Candidate
    losses_, criterion_ : arrays of shape (N, n_candidates)
        What is judged and what is chosen by, when held out; NaN where the candidate failed.
    fold_ : array of shape (N,)
        The fold in which a recording was held out.

    Notes
    -----
    The losses behind ``verdict_`` are those of the candidate that the *other* folds choose, so that
    choosing among many values of ``lam`` is not rewarded. Standard errors take groups, or else
    recordings, for independent; copies of a recording are held out together and are one of them.
    That the folds share training recordings is neglected, as usual.

    In a fold, each kind of metric goes along its ``lam``, the largest first, from the cuts of the
    one before; every certificate is its own. What ``lam`` has no part in is done once. The choice
    is learned again from all recordings as :class:`MetricLearner` does it.
    """

    __metadata_request__fit = DATA_UNDER_OUR_NAMES
    __metadata_request__score = DATA_UNDER_OUR_NAMES

    def __init__(
        self,
        problem: PartitionProblem | None = None,
        candidates: Sequence[str] = CANDIDATES,
        lams: Sequence[float] = (1.0, 0.2, 0.04, 0.008),
        *,
        cv: Any = 5,
        n_segments: str | None = None,
        rule: str = "one_se",
        n_jobs: int | None = None,
        regularizer: str | Regularizer = "squared",
        standardize: str | None = "recording",
        whiten: str | float | None = "auto",
        slack: str = "n",
        tol: float = 1e-2,
        max_iter: int = 200,
        master: str | Master = "auto",
        constraints: Callable[[Any], list[Any]] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.problem = problem
        self.candidates = candidates
        self.lams = lams
        self.cv = cv
        self.n_segments = n_segments
        self.rule = rule
        self.n_jobs = n_jobs
        self.regularizer = regularizer
        self.standardize = standardize
        self.whiten = whiten
        self.slack = slack
        self.tol = tol
        self.max_iter = max_iter
        self.master = master
        self.constraints = constraints
        self.random_state = random_state

    def fit(
        self,
        Xs: Any,
        ys: Any,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> MetricLearnerCV:
        """Choose, learn, and judge.

        Parameters
        ----------
        Xs, ys : recordings and labels, as for :meth:`MetricLearner.fit`
        sample_weight : array of shape (N,), optional
            How much each recording counts, when it is learned from as when it is held out. The
            folds do not depend on it; one of weight 0 is held out like the others, but counts for
            nothing.
        groups : sequence of length N, optional
            Whom or what a recording is of. No group is both learned from and held out.
        feature_names : sequence of str, optional

        Raises
        ------
        DataError
            When the recordings are too few to hold any out, and as :meth:`MetricLearner.fit`.
        SettingsError
        LearningError
            When no learned candidate gives a metric on every fold.
        """
        partition, told = self._partition, self._told()
        check_n_jobs(self.n_jobs)
        candidates = menu(self.candidates, self.lams)
        for candidate in candidates:
            learning_from(self._settings(candidate), 1)  # refuses bad settings before any work
        data = TrainingSet.read(partition, Xs, ys, feature_names, sample_weight, complete=True)
        numbers = contents(data.arrays)
        folds = split(
            self.cv,
            data.truths,
            groups,
            self.random_state,
            partition.words,
            data.weights,
            numbers,
        )
        held_out = HeldOut.run(
            self._settings,
            candidates,
            data,
            folds,
            told=told,
            known=partition.known_clusters,
            rule=self.rule,
            n_jobs=self.n_jobs,
            numbers=numbers,
        )
        learned, verdict = held_out.best_learned, held_out.verdict

        self.best_estimator_ = MetricLearner(**self._settings(learned))
        self.best_estimator_.fit(
            data.arrays,
            [partition.decode(truth) for truth in data.truths],
            sample_weight=data.weights,
            feature_names=data.names,
        )
        self._add_baselines(data.counted(), candidates)
        self.best_candidate_, self.best_lam_ = held_out.best.name, learned.lam
        self.candidates_, self.fold_ = candidates, folds.held_out
        self.losses_, self.criterion_ = held_out.losses, held_out.criterion
        self.cv_results_ = held_out.table()
        self.verdict_ = verdict
        if not verdict.pays:
            warn(str(verdict), VerdictWarning)
        return self

    def predict(
        self,
        Xs: Any,
        n_clusters: Counts = None,
        *,
        n_segments: Counts = None,
        use: str = "learned",
    ) -> list[NDArray[np.int64]]:
        """Partition recordings: a label vector (T_i,) for each.

        Parameters
        ----------
        n_clusters, n_segments : int, or one int per recording, or None
            Two names of one thing; None decides by the calibrated penalty.
        use : {"learned", "best"}
            The best learned metric, or the best candidate, which may be the untrained one.
        """
        decode = self._partition.decode
        partitions = self.predict_partitions(Xs, n_clusters, n_segments=n_segments, use=use)
        return [decode(M) for M in partitions]

    def predict_breakpoints(
        self,
        Xs: Any,
        n_clusters: Counts = None,
        *,
        n_segments: Counts = None,
        use: str = "learned",
    ) -> list[list[int]]:
        """Segment recordings: sorted segment ends for each, the last being T_i (as in ruptures)."""
        partitions = self.predict_partitions(Xs, n_clusters, n_segments=n_segments, use=use)
        return [M.breakpoints for M in partitions]

    def predict_partitions(
        self,
        Xs: Any,
        n_clusters: Counts = None,
        *,
        n_segments: Counts = None,
        use: str = "learned",
    ) -> list[EquivalenceMatrix]:
        """Partition recordings: an :class:`EquivalenceMatrix` for each."""
        if not among(use, ("learned", "best")):
            raise SettingsError(f"use must be 'learned' or 'best', got {use!r}")
        learner = self._fitted
        metric = DecodingMetric(learner.components_.T, learner.penalty_)
        if use == "best":
            metric = learner.baselines_.get(self.best_candidate_, metric)
        return learner.decode_with(metric, Xs, n_clusters, n_segments=n_segments)

    def decode_with(
        self,
        metric: DecodingMetric,
        Xs: Any,
        n_clusters: Counts = None,
        *,
        n_segments: Counts = None,
    ) -> list[EquivalenceMatrix]:
        """Partition recordings with another metric, such as one of ``baselines_``."""
        return self._fitted.decode_with(metric, Xs, n_clusters, n_segments=n_segments)

    def encode(self, Xs: Any, ys: Any) -> list[EquivalenceMatrix]:
        """Labels of recordings as equivalence matrices, checked."""
        return self._fitted.encode(Xs, ys)

    def transform(self, Xs: Any) -> Any:
        """Recordings in the learned metric, (T_i, rank)."""
        return self._fitted.transform(Xs)

    def score(self, Xs: Any, ys: Any, sample_weight: Any = None) -> float:
        """Minus the mean loss of the learned metric over recordings, 0 being perfect."""
        return self._fitted.score(Xs, ys, sample_weight)

    def get_mahalanobis_matrix(self) -> Floats:
        """``B`` of the learned metric, (P, P)."""
        return self._fitted.get_mahalanobis_matrix()

    @property
    def components_(self) -> Floats:
        """``L^T`` of the learned metric, (rank, P)."""
        return self._fitted.components_

    @property
    def penalty_(self) -> float:
        """Price of a segment in the learned metric."""
        return self._fitted.penalty_

    @property
    def baselines_(self) -> dict[str, DecodingMetric]:
        """The candidates that are not learned, tuned on all recordings."""
        return self._fitted.baselines_

    @property
    def standardizer_(self) -> Standardizer:
        """What is done to a recording first."""
        return self._fitted.standardizer_

    @property
    def problem_(self) -> PartitionProblem:
        """The problem."""
        return self._fitted.problem_

    @property
    def training_data_(self) -> TrainingData:
        """What was learned from."""
        return self._fitted.training_data_

    @property
    def n_features_in_(self) -> int:
        """P."""
        return int(self._fitted.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features, only if the recordings named them."""
        return self._fitted.feature_names_in_

    @property
    def _fitted(self) -> MetricLearner:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    @property
    def _partition(self) -> PartitionProblem:
        return partition_from(self.problem, self.random_state)

    def _told(self) -> bool:
        """Whether segmentations that know their number of segments are judged."""
        if not among(self.n_segments, (None, "true")):
            raise SettingsError(f"n_segments must be None or 'true', got {self.n_segments!r}")
        if not among(self.rule, ("one_se", "min")):
            raise SettingsError(f"rule must be 'one_se' or 'min', got {self.rule!r}")
        return self.n_segments == "true" or self._partition.known_clusters

    def _settings(self, candidate: Candidate) -> dict[str, Any]:
        """The parameters of the learner of a candidate."""
        settings: dict[str, Any] = MetricLearner().get_params(deep=False)
        shared = settings.keys() & self.get_params(deep=False).keys()
        settings |= {name: getattr(self, name) for name in shared - {"n_jobs"}}
        if candidate.is_learned:
            settings |= {"metric": candidate.name, "lam": candidate.lam}
        if candidate.name == "diagonal":
            settings["whiten"] = None
        return settings

    def _add_baselines(self, data: TrainingSet, candidates: Sequence[Candidate]) -> None:
        """Tune the rivals that the learner has not tuned itself."""
        learner, decoder = self.best_estimator_, data.partition.decoder
        samples = data.standardized(learner.standardizer_).arrays
        for name in {c.name for c in candidates if not c.is_learned} - learner.baselines_.keys():
            learner.baselines_[name] = BASELINES[name](
                decoder, samples, data.truths, weights=data.weights
            )
