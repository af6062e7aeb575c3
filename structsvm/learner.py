"""The scikit-learn face of metric learning: no algorithm here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm import baselines, fitted
from structsvm.choices import learning_from, partition_from
from structsvm.errors import DataError, DataWarning, SettingsError, warn
from structsvm.fitting import Learned, Learning, Prepared, learn
from structsvm.interop import frames, pairs, ruptures
from structsvm.interop.routing import DATA_UNDER_OUR_NAMES
from structsvm.interrupts import Interrupts
from structsvm.masters.base import Master
from structsvm.parallel import Backend
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Calibration, DecodingMetric
from structsvm.partitions.problem import PartitionProblem, encode_all
from structsvm.partitions.samples import (
    Counts,
    Standardizer,
    centred,
    check_samples,
    check_weights,
    cluster_counts,
    one_of,
    warn_about_constant_features,
)
from structsvm.partitions.training import TrainingData
from structsvm.partitions.training_set import TrainingSet
from structsvm.problem import RegularizedRisk
from structsvm.progress import stage
from structsvm.regularizers import Regularizer
from structsvm.solution import HistoryEntry, Solution
from structsvm.solvers.base import Solver
from structsvm.weak import Alternation, is_partial, learn_partial, of_use

__all__ = ["MetricLearner"]

Floats = NDArray[np.float64]


class MetricLearner(BaseEstimator):  # type: ignore[misc]
    r"""Learn a Mahalanobis metric that makes a partitioning algorithm give the labelled partitions.

    Minimises over ``B`` (and over the price of a segment)

    .. math:: \frac{\lambda}{P} \Omega(B) + \frac{1}{N \bar\ell} \sum_{i=1}^N L_i(B)

    with the structured hinge losses ``L_i`` of Lajugie et al. (eq. objective). ``B`` is in units in
    which ``B = I`` is the untrained metric with its best penalty, P is the number of features
    (``P (P + 1) / 2`` for a diagonal metric), and ``\bar\ell`` is the mean loss of predicting no
    change at all: one ``lam`` suits all data sets.

    Parameters
    ----------
    problem : PartitionProblem, default ``ChangePoint()``
    metric : {"full", "diagonal"}
        A full matrix (features and their combinations) or a diagonal one (a weight per feature).
    regularizer : {"squared", "trace"} or Regularizer
        "squared" is the squared Frobenius norm; "trace" favours low rank (few features for a
        diagonal metric). A :class:`~structsvm.regularizers.SquaredNorm` with a ``center`` shrinks
        towards a metric other than 0; a :class:`~structsvm.regularizers.Custom` takes any convex
        cvxpy expression.
    lam : float
        Strength of the regularizer, > 0; 0.04 to 1 are usual.
    standardize : {"recording", "training", None}
        Scale the features of each recording by itself, or all as on the training set, or not.
    whiten : "auto", float in [0, 1] or None
        Learn a full metric from features whitened within the true clusters first, their covariance
        shrunk so far towards a multiple of the identity; "auto" is what suits the problem: 0.5 for
        clustering, none for change-points, none for a diagonal metric. ``components_`` include it;
        regularizer and constraints see the metric of the whitened features.
    solver : {"auto", "cutting-plane", "one-slack", "frank-wolfe", "subgradient"} or Solver
        The outer loop (docs/solvers.md); a Solver brings its own ``slack``, ``master``, ``tol`` and
        ``max_iter``.
    slack : {"n", "one"}
        One slack per recording, or one in all (for many recordings).
    tol : float
        Certified relative gap at which to stop.
    max_iter : int
        Most rounds of oracle calls.
    master : str or Master
        Solver of the restricted problem: "auto", "interior" (diagonal metrics), "newton", or any
        solver cvxpy has installed.
    constraints : callable, optional
        Takes the cvxpy metric ``B`` and returns a list of further convex constraints.
    callback : callable, optional
        Called with a :class:`~structsvm.solution.HistoryEntry` after each iteration.
    alternation : Alternation, optional
        How partial labels are completed (docs/weak-labels.md); nothing else depends on it.
    n_jobs : int or None
        Workers that call the oracles, -1 for one per core; None for none. The result is the same.
    backend : {"auto", "serial", "threads", "processes", "dask"} or Backend
        What the workers are (docs/scaling.md); "auto" decides by what the oracles cost, and "dask"
        takes the workers of the current ``distributed.Client``.
    random_state : int or None
        Seed of oracles that draw at random, in place of the problem's own; exact ones do not draw.

    Attributes
    ----------
    components_ : array of shape (rank, P)
        ``L^T`` with ``B = L L^T``: ``transform`` is ``X @ components_.T`` after standardising.
    penalty_ : float
        Price of a segment in the learned metric, calibrated on the training labels. With
        ``ruptures``: ``Pelt(custom_cost=CostMl(metric=B)).predict(pen=penalty_)``.
    solution_ : Solution
        Weight, certified bounds, status and history.
    certified_upper_ : float
        Its upper bound, or that of the relaxation if the oracle is a heuristic one.
    calibration_ : Calibration
        Training loss against the penalty.
    baselines_ : dict of DecodingMetric
        What the learned metric has to beat, tuned on the same labels: "untrained" (the identity
        with its best penalty) and, after :meth:`fit_baselines`, "pca" and "rca".
    alternated_ : Alternated or None
        With partial labels, the completed labels (of the recordings of which anything is known) and
        what completing them brought; not stored.
    whitening_ : array of shape (P, P), or None
        What the standardised features were multiplied by before learning.
    problem_, standardizer_, training_data_ : PartitionProblem, Standardizer, TrainingData
    feature_names_in_ : array of str, only if the recordings named them
    n_features_in_, n_iter_, converged_ : int, int, bool
    """

    __metadata_request__fit = DATA_UNDER_OUR_NAMES
    __metadata_request__score = DATA_UNDER_OUR_NAMES

    def __init__(
        self,
        problem: PartitionProblem | None = None,
        metric: str = "full",
        regularizer: str | Regularizer = "squared",
        lam: float = 0.1,
        *,
        standardize: str | None = "recording",
        whiten: str | float | None = "auto",
        solver: str | Solver = "auto",
        slack: str = "n",
        tol: float = 1e-2,
        max_iter: int = 200,
        master: str | Master = "auto",
        constraints: Callable[[Any], list[Any]] | None = None,
        callback: Callable[[HistoryEntry], None] | None = None,
        alternation: Alternation | None = None,
        n_jobs: int | None = None,
        backend: str | Backend = "auto",
        random_state: int | None = None,
    ) -> None:
        self.problem = problem
        self.metric = metric
        self.regularizer, self.lam = regularizer, lam
        self.standardize, self.whiten = standardize, whiten
        self.solver, self.slack = solver, slack
        self.tol, self.max_iter = tol, max_iter
        self.master = master
        self.constraints, self.callback = constraints, callback
        self.alternation = alternation
        self.n_jobs, self.backend = n_jobs, backend
        self.random_state = random_state

    def fit(
        self,
        Xs: Any,
        ys: Any,
        *,
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
        resume: str | PathLike[str] | None = None,
        held_out: tuple[Any, Any] | None = None,
    ) -> MetricLearner:
        """Learn from labelled recordings, or recordings that are labelled in part.

        Ctrl-C ends learning with the best certified metric so far, if there is one, and the
        calibration of its penalty with the one that was learned; a warning says so.

        Parameters
        ----------
        Xs : list of arrays or data frames of shape (T_i, P)
        ys : list of label vectors (T_i,) or of breakpoint lists (sorted ends, the last being T_i)
            or of :class:`PartialLabels`; the number -1 in a vector marks samples without a label,
            and a label that is missing (None, NaN, NaT, NA, blank text) is refused
        sample_weight : array of shape (N,), optional
            How much each recording counts, in the objective as in all that is measured on the
            training labels; 2 stands for a recording that is there twice, 0 for one that is not.
        feature_names : sequence of str, optional
            Taken from data frames when not given.
        resume : path, optional
            File in which the state is kept while learning; if it is there, learning goes on from
            it, to the same result. Not for partial labels.
        held_out : (Xs, ys), optional
            Further labelled recordings with the same features; with partial labels, the round of
            alternation that suits them best is kept. Full labels have no rounds to choose from:
            with them, held_out is checked and not used, with a DataWarning.

        Raises
        ------
        DataError, SettingsError
            Naming the recording or the parameter, the value, and the way out.
        CheckpointError
            When ``resume`` was written with other data or settings.
        LearningError
            When the best metric is zero: the regularizer outweighs the labels.
        KeyboardInterrupt
            For Ctrl-C before there is a metric.
        """
        learning_from(self.get_params(deep=False), 1)  # refuses bad settings before any work
        if resume is not None and not isinstance(resume, str | PathLike):
            raise SettingsError(f"resume must be the path of a file or None, got {resume!r}")
        read = TrainingSet.read(self._partition, Xs, ys, feature_names, sample_weight).counted()
        others = _held_out(held_out, read)
        partial, how = is_partial(read), self.alternation or Alternation()
        read = of_use(read, how)
        standardizer, data, learning = self._standardized(read)
        if partial and resume is not None:
            raise SettingsError("resume= keeps one convex problem: it is not for partial labels")
        if partial and others is not None:
            others = others.standardized(standardizer)
        elif others is not None:
            warn(
                "held_out is not used: it chooses among the rounds of learning from partial "
                "labels, and these labels are full",
                DataWarning,
            )
        with Interrupts():  # what was learned is kept before Ctrl-C is answered
            if partial:
                learned = learn_partial(learning, data, how, others)
            else:
                learned = learn(learning, data, resume)
            self._keep(learned, read, standardizer)
        return self

    def _keep(self, learned: Learned, read: TrainingSet, standardizer: Standardizer) -> None:
        """What fitting leaves on the learner."""
        self.components_ = learned.factor.T
        self.calibration_: Calibration = learned.calibration
        self.penalty_ = learned.calibration.penalty
        self.solution_: Solution = learned.solution
        self.certified_upper_ = learned.upper
        self.alternated_ = learned.alternated
        self.baselines_ = {"untrained": learned.untrained}
        self.standardizer_ = standardizer
        self.problem_, self.whitening_ = read.partition, learned.start.whitening
        self.training_data_ = TrainingData.of(read.arrays, learned.truths, standardizer.features)
        self.n_features_in_ = read.arrays[0].shape[1]
        self.n_iter_ = learned.solution.n_iter
        self.converged_ = learned.solution.status.converged
        self.__dict__.pop("feature_names_in_", None)
        if read.names is not None:
            self.feature_names_in_ = np.asarray(read.names, dtype=object)

    def risk(self, Xs: Any, ys: Any, *, sample_weight: Any = None) -> RegularizedRisk:
        """The objective that :meth:`fit` minimises, of fully labelled recordings.

        Whoever compares solvers, or writes one, begins here (docs/solvers.md).
        """
        read = TrainingSet.read(
            self._partition, Xs, ys, sample_weight=sample_weight, complete=True
        ).counted()
        _, data, learning = self._standardized(read)
        return Prepared.of(learning, data).risk

    def _standardized(self, read: TrainingSet) -> tuple[Standardizer, TrainingSet, Learning]:
        """What standardises the recordings, the standardised ones, and how to learn from them."""
        warn_about_constant_features(read.arrays, read.names, read.partition.words)
        standardizer = read.standardizer(self.standardize)
        data = read.standardized(standardizer)
        learning = learning_from(self.get_params(deep=False), data.arrays[0].shape[1])
        learning.check(data.arrays)
        return standardizer, data, learning

    def fit_baselines(self, Xs: Any, ys: Any, *, sample_weight: Any = None) -> MetricLearner:
        """Tune on the same labels the rivals :meth:`fit` has no need of, into ``baselines_``.

        Of labels in part, on the stretches where they say everything.
        """
        samples = fitted.standardized(self, Xs)
        data = TrainingSet.read(
            self.problem_, [centred(X) for X in samples], ys, sample_weight=sample_weight
        )
        parts = data.counted().parts
        if all(truth.n_clusters == 1 for truth in parts.truths):
            return self  # no labelled stretch has a change: nothing to tune on
        for name in stage("tuning rivals", ("pca", "rca")):
            self.baselines_[name] = baselines.fit(
                name, self.problem_.decoder, parts.arrays, parts.truths, weights=parts.weights
            )
        return self

    def predict(
        self, Xs: Any, n_clusters: Counts = None, *, n_segments: Counts = None
    ) -> list[NDArray[np.int64]]:
        """Partition recordings: a label vector (T_i,) for each.

        Parameters
        ----------
        n_clusters, n_segments : int, or one int per recording, or None
            Two names of one thing: exactly so many, none of them empty. None decides by the learned
            penalty.
        """
        decode = self._partition.decode
        return [decode(M) for M in self.predict_partitions(Xs, n_clusters, n_segments=n_segments)]

    def predict_breakpoints(
        self, Xs: Any, n_clusters: Counts = None, *, n_segments: Counts = None
    ) -> list[list[int]]:
        """Segment recordings: sorted segment ends for each, the last being T_i (as in ruptures)."""
        partitions = self.predict_partitions(Xs, n_clusters, n_segments=n_segments)
        return [M.breakpoints for M in partitions]

    def predict_partitions(
        self, Xs: Any, n_clusters: Counts = None, *, n_segments: Counts = None
    ) -> list[EquivalenceMatrix]:
        """Partition recordings: an :class:`EquivalenceMatrix` for each."""
        check_is_fitted(self)
        metric = DecodingMetric(self.components_.T, self.penalty_)
        return self.decode_with(metric, Xs, n_clusters, n_segments=n_segments)

    def decode_with(
        self,
        metric: DecodingMetric,
        Xs: Any,
        n_clusters: Counts = None,
        *,
        n_segments: Counts = None,
    ) -> list[EquivalenceMatrix]:
        """Partition recordings with another metric, such as one of ``baselines_``."""
        if not isinstance(metric, DecodingMetric):
            raise SettingsError(f"metric must be a DecodingMetric, got {metric!r}")
        samples = fitted.standardized(self, Xs)
        sizes = [len(X) for X in samples]
        counts = cluster_counts(one_of(n_clusters, n_segments), sizes, self.problem_.words)
        tasks = stage("partitioning", list(zip(samples, counts, strict=True)))
        return [metric.decode(self.problem_.decoder, X, K) for X, K in tasks]

    def encode(self, Xs: Any, ys: Any) -> list[EquivalenceMatrix]:
        """Labels of recordings as equivalence matrices, checked."""
        check_is_fitted(self)
        arrays, _ = check_samples(Xs, None, self.n_features_in_, self.problem_.words)
        return encode_all(self.problem_, arrays, ys)

    def score(self, Xs: Any, ys: Any, sample_weight: Any = None) -> float:
        """The mean agreement with the truth, for model selection: larger is better.

        Minus ``|M - M_i|_F^2`` (0 is perfect), or what the problem puts in its place where that is
        easily fooled. The number of clusters is that of the truth if the problem says it is known.
        """
        truths = self.encode(Xs, ys)
        weights = check_weights(sample_weight, len(truths), self.problem_.words)
        counts = [t.n_clusters for t in truths] if self.problem_.known_clusters else None
        pairs = zip(truths, self.predict_partitions(Xs, counts), strict=True)
        agreements = [self.problem_.agreement(t, g) for t, g in pairs]
        return float(np.average(agreements, weights=weights))

    transform = frames.transform
    set_output = frames.set_output
    get_feature_names_out = frames.get_feature_names_out
    get_mahalanobis_matrix = fitted.get_mahalanobis_matrix
    get_metric = pairs.get_metric
    pair_distance = pairs.pair_distance
    pair_score = pairs.pair_score
    to_ruptures_cost = ruptures.to_ruptures_cost
    to_ruptures_detector = ruptures.to_ruptures_detector

    @property
    def _partition(self) -> PartitionProblem:
        return partition_from(self.problem, self.random_state)


def _held_out(given: Any, read: TrainingSet) -> TrainingSet | None:
    """Held-out recordings, checked against those to learn from."""
    if given is None:
        return None
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise DataError(f"held_out must be a pair (Xs, ys) or None, got {type(given).__name__}")
    Xs, ys = given
    n_features = read.arrays[0].shape[1]
    try:
        return TrainingSet.read(read.partition, Xs, ys, read.names, n_features=n_features)
    except DataError as error:
        raise DataError(f"held_out: {error}") from error
