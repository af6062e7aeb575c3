"""The estimator: learn a metric from labelled samples, partition new ones with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from os import PathLike
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import Tags, TransformerTags
from sklearn.utils.validation import check_is_fitted

from structsvm.data.samples import Counts, check_weights
from structsvm.errors import DataError, SettingsError, refuse
from structsvm.features import RecordingTransformer
from structsvm.features.frames import learning_once
from structsvm.learner.baselines import MetricBaseline, namer_in, tune, which_baselines
from structsvm.learner.columns import (
    heaviest_features,
)
from structsvm.learner.completing import Alternation, check_labels, learn_partial
from structsvm.learner.fitting import (
    NOT_RESUMED,
    Callback,
    FitResult,
    ProblemParameters,
    Settings,
    learn,
)
from structsvm.learner.form import Form, same_form
from structsvm.learner.steps import (
    Rules,
    decode_with,
    encode,
    labels_of,
    margin_tables,
    names_of_items,
    partition_all,
    prepare,
    segment_table,
)
from structsvm.learner.training_set import Inputs, TrainingSet, TrainingSummary
from structsvm.messages import parameter
from structsvm.parallel import Backend, working_on
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Calibration, Metric
from structsvm.partitions.problem import PartitionProblem
from structsvm.regularizers import Regularizer
from structsvm.solvers.base import Solver
from structsvm.status import Solution
from structsvm.support.arrays import Floats
from structsvm.support.checks import counted, refuse_unlisted
from structsvm.support.interrupts import Interrupts
from structsvm.support.progress import share
from structsvm.support.tables import ShortTable, data_frame

SHOWN = 10
"""Features that are printed."""
SCORED = 0.8
"""What part of the time goes into features that are learned, such as scores, about."""
FEWEST_TO_SCALE = 3
"""Rows from which on a mean and a deviation of their own say something: of two each is one away."""
OPTIONAL = ("columns_", "lost_", "margin_rates_", "steps_")
"""Attributes that only some fitted learners have."""


def recording_tags(tags: Tags) -> Tags:
    """The tags of an estimator that learns from labelled recordings and transforms them."""
    tags.target_tags.required = True
    tags.input_tags.three_d_array = True  # (N, T, P); a matrix (T, P) is one recording
    tags.transformer_tags = TransformerTags(preserves_dtype=["float64"])
    return tags


@dataclass(eq=False, repr=False)
class MetricLearner(ProblemParameters):
    r"""Learn a Mahalanobis metric in which a partitioning algorithm finds the labelled partitions.

    Minimises over ``B`` (and over the price of a segment)

    .. math:: \frac{\lambda}{P} \Omega(B) + \frac{1}{N \bar\ell} \sum_{i=1}^N L_i(B)

    with the structured hinge losses ``L_i`` of Lajugie et al. (eq. objective). ``B`` is in units in
    which ``B = I`` is the untrained metric with its best penalty, P is the number of features
    (``P (P + 1) / 2`` for a diagonal metric), and ``\bar\ell`` is the mean loss of predicting no
    change at all, so that ``lam`` has no unit and one value suits most data sets. Some problems,
    such as :class:`~structsvm.problems.NormalizedCut`, have another objective.

    Parameters
    ----------
    problem : PartitionProblem or str, default ``ChangePoint()``
        The kind of samples and partitions, see :mod:`structsvm.problems`. Its settings are
        parameters, too: ``set_params(problem__min_length=5)``.
    metric : {"full", "diagonal", "closed-form"}
        A full matrix (features and their combinations), a diagonal one (a weight per feature), or a
        full one in closed form without learning, of recordings that of OLDA, of tables that of RCA
        (:func:`structsvm.baselines.metrics.fit`): it takes a tenth of a second, nothing about it is
        certified, and partial labels are not completed.
    regularizer : {"squared", "trace"} or Regularizer
        The squared Frobenius norm, the trace, which favours low rank (few features for a diagonal
        metric), or one of :mod:`structsvm.regularizers`.
    lam : float, optional
        Strength of the regularizer, > 0; usually between 0.04 and 1. None: that of the problem.
    features : RecordingTransformer, optional
        Features to compute from each recording first, see :mod:`structsvm.features`.
    standardize : {"auto", "recording", "training", None}
        Standardise features within each recording, over the training set, or not at all. "auto" is
        the default of the problem, and None for features whose scale matters
        (:attr:`structsvm.features.RecordingTransformer.scaled`).
    whiten : "auto", float in [0, 1] or None
        Whiten the features within the true clusters before a full metric is learned, their
        covariance shrunk by this share towards a multiple of the identity. "auto" is 0.5 for
        clustering and else None. ``metric_`` includes the whitening; regularizer and constraints
        apply to the metric of the whitened features.
    solver : str or Solver
        A name, "auto", or a solver of :mod:`structsvm.solvers` such as
        ``CuttingPlane(Stopping(tol=1e-3), slack="one")``.
    constraints : callable, optional
        Takes the metric ``B`` as a cvxpy expression and returns a list of convex constraints, whose
        dual values are in ``solution_.duals``.
    n_jobs : int or None
        Number of workers, -1 for one per core, None for none. The result does not depend on it.
    backend : {"auto", "serial", "threads", "processes", "dask"} or Backend
        Kind of workers (docs/scaling.md). "auto" chooses by the cost of the oracles, and "dask"
        uses the workers of the current ``distributed.Client``.
    random_state : int or None
        Seed of randomised oracles, in place of the seed of the problem. Exact oracles have none.

    Attributes
    ----------
    metric_ : Metric
        ``factor``, L of shape (P, rank) with ``B = L L^T``; ``matrix``, B; and ``price``, that of a
        segment or cluster, calibrated on the training labels.
    solution_ : Solution
        Weight, certified bounds (``certified_upper`` is that of the relaxation if the oracle is a
        heuristic), status and history; the wrong labellings that define the metric, with their
        multipliers (``support``), and the dual values of the constraints (``duals``).
    calibration_ : Calibration
        Training loss against the price.
    baselines_ : dict
        Methods to compare with, tuned on the same labels: "untrained" (the identity with its best
        price) and those that ``fit(..., baselines=)`` asked for. Each has ``predict(Xs,
        n_clusters=None)``; a metric is a :class:`~structsvm.partitions.Metric`, too.
    alternated_ : Alternated or None
        With partial labels, the completed labels and the rounds of completion; not stored.
    whitening_ : array of shape (P, P), or None
        The matrix by which the standardised features were multiplied before learning.
    question_ : {"rows", "clusters", "tables"} or None
        For tables, what the settings were chosen for: further rows of known clusters (the default),
        new clusters, or further tables.
    interrupted_ : bool
        Whether Ctrl-C ended learning, or the calibration of the price.
    classes_ : array of shape (C,), or None
        The names of the states that the features have learned.
    metric_feature_names_ : list of str
        The names of the features that the metric sees; ``x0``, ``x1``, ... where they have none.
    problem_, inputs_, training_data_ : PartitionProblem, Inputs, TrainingSummary
    n_features_in_, n_iter_, converged_, feature_names_in_
        The last one only if the recordings named their features.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> [labels.shape for labels in learner.predict(Xs[:2])]
    [(200,), (200,)]
    >>> segments = learner.predict_segments(Xs)[0]
    >>> [segment["end"] for segment in segments] == learner.predict_breakpoints(Xs)[0]
    True
    """

    problem: PartitionProblem | str | None = None
    metric: str = "full"
    regularizer: str | Regularizer = "squared"
    lam: float | None = None
    _: KW_ONLY
    features: RecordingTransformer | None = None
    standardize: str | None = "auto"
    whiten: str | float | None = "auto"
    solver: str | Solver = "auto"
    constraints: Callable[[Any], list[Any]] | None = None
    n_jobs: int | None = None
    backend: str | Backend = "auto"
    random_state: int | None = None

    baselines_: dict[str, Any] = field(init=False)
    classes_: NDArray[Any] | None = field(init=False)
    inputs_: Inputs = field(init=False)
    interrupted_: bool = field(init=False)
    metric_: Metric = field(init=False)
    problem_: PartitionProblem = field(init=False)
    training_data_: TrainingSummary = field(init=False)

    # ---- learning

    @learning_once()
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
        groups: Any = None,
        baselines: str | Sequence[str] | None = None,
        alternation: Alternation | None = None,
        resume: str | PathLike[str] | None = None,
        callback: Callback | None = None,
        when_learned: Callable[[Self], Any] | None = None,
    ) -> Self:
        """Learn from labelled samples, or samples that are labelled in part.

        Ctrl-C ends learning with the best certified metric so far, and a calibration with the price
        that was learned; a warning says so.

        Parameters
        ----------
        X : list of arrays or data frames of shape (T_i, P), or whatever the problem reads
            A single array or data frame is one sample, and a mapping has samples by name;
            predictions have the same form. :class:`~structsvm.io.Recording` s carry their labels. A
            :class:`~structsvm.learner.TrainingSet` holds labels and weights.
        y : list of label vectors (T_i,), breakpoint lists or :class:`~structsvm.PartialLabels`
            Breakpoints are sorted ends of segments, the last being T_i. The number -1 in a
            vector marks samples without a label; missing labels (None, NaN, NaT, NA, blank text)
            are refused. A pandas series is aligned with its frame by index, unless an index only
            counts the rows.
        sample_weight : array of shape (N,), optional
            Weights in the objective and all that is computed from the labels: 2 equals a sample
            that is given twice, and 0 leaves it out. Classifiers only leave out those of weight 0.
        feature_names : sequence of str, optional
            Names of the features; by default those of data frames.
        groups : sequence of length N, optional
            Group of each recording (person, machine, ...), for features that learn from labels: the
            features of a recording come from a model that has not seen its group.
        baselines : {"quick", "all"}, list of str or None
            Methods to tune for comparison, on the same samples and labels: "quick" those that apply
            and take little time, "all" those with gradient boosting, too, or some by name, such as
            "rca" or "frame-logistic". One that cannot learn from the labels is left out with a
            warning, unless it was named.
        alternation : Alternation, optional
            How partial labels are completed (docs/weak-labels.md).
        resume : path, optional
            Checkpoint file. The state is saved to it while learning; if it exists, learning resumes
            from it and gives the same result. Not for partial labels.
        callback : callable, optional
            Called with a :class:`~structsvm.status.HistoryEntry` after each iteration.
        when_learned : callable, optional
            Called with the learner, for example to save it, before baselines are tuned.

        Raises
        ------
        DataError, SettingsError
            For data or a parameter that cannot be used.
        CheckpointError
            If ``resume`` was written with other data or settings.
        LearningError
            If the best metric is zero, because the regularizer outweighs the labels.
        KeyboardInterrupt
            On Ctrl-C before there is a metric.
        """
        settings = Settings.of(self.get_params(deep=False))
        which = which_baselines(baselines)
        with working_on(settings.backend):
            given = X, y, feature_names, sample_weight, groups
            read = TrainingSet.of(settings.problem, *given).counted()
            partial = check_labels(read)
            in_rounds = partial or settings.closed_form is not None
            refuse(SettingsError, (in_rounds and resume is not None, NOT_RESUMED))
            made = SCORED if getattr(settings.features, "learns", False) else 0.0
            learned = 1.0 if which is None else (1.0 + made) / 2
            with share("features", 0.0, made):
                inputs, data = Inputs.fit(settings.features, settings.standardize, read)
            with Interrupts():  # what was learned is kept before Ctrl-C is answered
                with share("learning", made, learned):
                    if partial:
                        how = alternation or Alternation()
                        result = learn_partial(settings, data, how, callback)
                    else:
                        result = learn(settings, data, resume, callback)
                self._keep(read, inputs, result)
                if when_learned is not None:
                    when_learned(self)
            if which is not None and not self.interrupted_:
                with share("tuning baselines", learned, 1.0):
                    tuned = tune(which, read, data, settings.features, inputs, self.standardize)
                    self._compare_with(tuned)
        return self

    # ---- prediction

    @same_form
    def predict(
        self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]
    ) -> list[NDArray[Any]]:
        """Partition samples: a label vector (T_i,) for each, or a label map for an image.

        A DataWarning names features that the metric relies on and that are constant in a sample,
        and numbers that seem to stand for missing values.

        Parameters
        ----------
        n_clusters : int, or one int per sample, or None
            The exact number of clusters or segments, none of them empty. With None the learned
            price decides.
        **rules
            Constraints on the partitions; the best partition that satisfies them is returned.
            ``known`` : for each sample :class:`~structsvm.PartialLabels`, labels with -1 where
            nothing is known, or None. ``min_length``, ``max_length`` : of segments, in samples.

        Raises
        ------
        DataError, SettingsError
            If two rules contradict each other, or one does not apply to this problem.
        OracleError
            If no partition of a sample satisfies the rules.
        """
        check_is_fitted(self)
        partitions, samples = partition_all(self, self.metric_, X, n_clusters, rules)
        return labels_of(self.problem_, partitions, samples)

    @same_form
    def predict_states(
        self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]
    ) -> list[NDArray[Any]]:
        """Partition samples and name the parts: the name of a state for each item, (T_i,).

        The state of a segment (or cluster) is the most probable one on average over its items,
        according to :class:`~structsvm.features.StateScores` among the features, or else to the
        first of the baselines that knows names.

        Raises
        ------
        SettingsError
            If the learner has neither.
        """
        samples, states = prepare(self, X), self.classes_
        if states is None:
            raise SettingsError(
                "this learner has not learned names of states: fit it with labels that are names, "
                "and with "
                + parameter("baselines", ["frame-lda"])
                + ", or with StateScores among the features"
            )
        partitions = self.predict_partitions(samples, n_clusters, **rules)
        pairs = zip(partitions, samples, strict=True)
        return [names_of_items(M, sample, states) for M, sample in pairs]

    @same_form
    def predict_breakpoints(
        self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]
    ) -> list[list[int]]:
        """Segment recordings: sorted segment ends for each, the last being T_i (as in ruptures)."""
        return [M.breakpoints for M in self.predict_partitions(X, n_clusters, **rules)]

    @same_form
    def predict_partitions(
        self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]
    ) -> list[EquivalenceMatrix]:
        """Partition samples: an :class:`~structsvm.EquivalenceMatrix` for each."""
        check_is_fitted(self)
        return decode_with(self, self.metric_, X, n_clusters, **rules)

    def predict_segments(
        self,
        X: Any,
        n_clusters: Counts = None,
        *,
        margins: bool = True,
        tolerance: int | None = None,
        **rules: Unpack[Rules],
    ) -> Any:
        """Segment recordings: a table of the segments of each.

        Parameters
        ----------
        n_clusters, rules : as for :meth:`predict`
        margins : bool
            Whether to say how certain each change is, for which the oracle is asked once for each.
        tolerance : int, optional
            The margin of a change compares with the best segmentation that has no change within so
            many samples of it. The default is that of ``margin_rates_``, or 5.

        Returns
        -------
        list of lists of dict
            In the form of ``X``; ``pandas.DataFrame`` accepts a table. Each segment has ``start``
            and ``end`` (samples ``start, ..., end - 1``); ``time``, that of its start, if known;
            ``state`` and its mean ``probability``, if the features score named states; ``margin``
            of the change at its start, by how much the best segmentation without a change near it
            is worse, in units of the price of a change (infinite if the rules force it, None for
            the first segment); and ``rate``, the share of changes with such a margin that were
            right in held-out recordings, if :func:`structsvm.margin_rates` counted them.

        Raises
        ------
        SettingsError, DataError
            If partitions are not segmentations, or margins are wanted and the oracle is not exact.
        """
        check_is_fitted(self)
        form = Form.given_to(self, X).told(getattr(self, "steps_", None))
        words = self.problem_.traits.words
        if not self.problem_.traits.contiguous:
            raise SettingsError(
                f"{type(self.problem_).__name__} gives {words.part}s, not segments: "
                f"predict_states names each {words.item}"
            )
        if "known" in rules:
            rules["known"] = form.labels(rules["known"], known=True)
        samples = prepare(self, form.samples)
        if margins:
            tables = margin_tables(self, samples, n_clusters, rules, tolerance)
        else:
            found = decode_with(self, self.metric_, samples, n_clusters, **rules)
            tables = [(M, None, None) for M in found]
        rows = zip(tables, samples, form.times or [None] * len(samples), strict=True)
        states = self.classes_
        return form.answer(
            [segment_table(M, x, states, times, *sure) for (M, *sure), x, times in rows]
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean agreement with the labels, for model selection; larger is better.

        This is minus the loss ``|M - M_i|_F^2`` (0 is perfect), or the measure of the problem, such
        as the adjusted Rand index (1 is perfect). The number of clusters is that of the labels if
        the problem takes it for known.
        """
        form = Form.given_to(self, X)
        samples = prepare(self, form.samples)
        truths = encode(self, samples, form.labels(y))
        traits = self.problem_.traits
        sample_weight = form.in_order(sample_weight, "weights")
        weights = check_weights(sample_weight, len(truths), traits.words)
        counts = [t.n_clusters for t in truths] if traits.given_k else None
        pairs = zip(truths, self.predict_partitions(samples, counts), strict=True)
        agreements = [self.problem_.comparison.agreement(t, g) for t, g in pairs]
        return float(np.average(agreements, weights=weights))

    # ---- what was learned, at a glance

    def summary(self) -> str:
        """Return a short table of the metric as text, as ``print`` shows it."""
        return str(self._short_table(SHOWN))

    def to_frame(self, container: str = "pandas") -> Any:
        """Return the weights of the features as a data frame, largest first; 1 is untrained.

        Parameters
        ----------
        container : {"pandas", "polars"}
        """
        return self._short_table(None).to_frame(container)

    def __str__(self) -> str:
        """The short table once it is fitted, the parameters before."""
        return self.summary() if hasattr(self, "metric_") else repr(self)

    # ---- the metric elsewhere

    def transform(self, X: Any) -> Any:
        """Map samples to a space in which Euclidean distances are those of ``B``, (T_i, rank).

        The result has the form of ``X``, and :meth:`set_output` chooses arrays or data frames.

        Raises
        ------
        DataError
            For samples of too few rows to standardise them by themselves.
        """
        check_is_fitted(self)
        form = Form.given_to(self, X)
        samples = prepare(self, form.samples)
        few = [i for i, sample in enumerate(samples) if sample.n_samples < FEWEST_TO_SCALE]
        if few and self.inputs_.standardizer.kind == "recording":
            words = self.problem_.traits.words
            raise DataError(
                words.numbered(few[0])
                + f" has {words.items(samples[few[0]].n_samples)}, too few to standardise it by "
                "itself, as this learner does: give them all at once, or learn with "
                + parameter("standardize", "training")
                + ", which takes the scale of the training samples"
            )
        transformed = [self.metric_.transform(sample.X) for sample in samples]
        own = getattr(self, "_sklearn_output_config", {})
        kind = str(own.get("transform", get_config()["transform_output"]))
        if kind != "default":
            names = list(self.get_feature_names_out())
            pairs = zip(transformed, form.indices(len(transformed)), strict=True)
            transformed = [data_frame(kind, Z, names, index) for Z, index in pairs]
        return form.answer(transformed)

    def fit_transform(self, X: Any, y: Any = None, **given: Any) -> Any:
        """Learn from labelled samples as :meth:`fit`, and transform them as :meth:`transform`."""
        return self.fit(X, y, **given).transform(X)

    def fit_predict(self, X: Any, y: Any = None, n_clusters: Counts = None, **given: Any) -> Any:
        """Learn from labelled samples as :meth:`fit`, and partition them as :meth:`predict` does.

        Partitions of training samples do not show how well new samples are partitioned.
        """
        return self.fit(X, y, **given).predict(X, n_clusters)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what :meth:`transform` returns: "default", "pandas" or "polars".

        Raises
        ------
        SettingsError
            For any other container.
        """
        if transform is not None:
            refuse_unlisted("transform", transform, ("default", "pandas", "polars"))
            # The attribute that sklearn.clone takes along.
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of :meth:`transform`, (rank,); the argument is ignored.

        A column that is a multiple of one feature has the name of this feature.
        """
        check_is_fitted(self)
        inputs = self.metric_feature_names_
        names = []
        for number, direction in enumerate(self.metric_.factor.T):
            inside = np.flatnonzero(direction)
            names.append(inputs[inside[0]] if inside.size == 1 else f"metric{number}")
        return np.asarray(names, dtype=object)

    def get_mahalanobis_matrix(self) -> Floats:
        """Return a copy of ``B``, (P, P), for standardised features; the untrained one is I."""
        check_is_fitted(self)
        return self.metric_.matrix

    def pair_distance(self, pairs: Any) -> Floats:
        """Return ``sqrt((u - v)^T B (u - v))`` of n pairs of points, (n,).

        ``pairs``, of shape (n, 2, P), are points in the features of the metric, such as rows of
        ``interop.prepare(learner, X)[i].X``.

        Raises
        ------
        DataError
            If they have another shape.
        """
        check_is_fitted(self)
        points = np.asarray(pairs, dtype=np.float64)
        P = self.metric_.factor.shape[0]
        if points.ndim != 3 or points.shape[1:] != (2, P):
            raise DataError(f"pairs have shape {points.shape}, expected (n, 2, {P})")
        difference = (points[:, 1] - points[:, 0]) @ self.metric_.factor
        return np.asarray(np.linalg.norm(difference, axis=1))

    # ---- inside

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()
        return diagram + (self._short_table(SHOWN).as_html if hasattr(self, "metric_") else "")

    def _short_table(self, n: int | None) -> ShortTable:
        check_is_fitted(self)
        weights, price = heaviest_features(self), self.metric_.price
        words = self.problem_.traits.words
        title = (
            f"{self.metric} metric of {counted(len(weights), 'feature')}, learned from "
            f"{words.wholes(len(self.training_data_))}"
            + ("" if price is None else f", price of a {words.part} {price:.4g}")
        )
        notes = [self.solution_.summary()]
        if n is not None and len(weights) > n:
            notes.insert(0, f"and {counted(len(weights) - n, 'more feature')}")
        return ShortTable(title, ("feature", "weight"), tuple(weights[:n]), tuple(notes))

    def __sklearn_tags__(self) -> Tags:
        return recording_tags(super().__sklearn_tags__())

    def _compare_with(self, tuned: Mapping[str, Any]) -> None:
        """Take baselines, of which the first that names states names segments of the metric too."""
        self.baselines_ = {**self.baselines_, **tuned}  # a copy of this learner keeps its own
        if self.inputs_.namer is not None or self.inputs_.states is None:
            self.inputs_ = replace(self.inputs_, namer=namer_in(self.baselines_))
        self.classes_ = self.inputs_.states

    def _keep(self, read: TrainingSet, inputs: Inputs, result: FitResult) -> None:
        solution = result.solution
        self.metric_ = result.metric
        self.calibration_: Calibration = result.calibration
        self.solution_: Solution = solution
        self.n_iter_, self.converged_ = solution.n_iter, solution.status.converged
        self.interrupted_ = result.is_interrupted
        self.alternated_, self.whitening_ = result.alternated, result.units.whitening
        self.problem_, self.inputs_, self.question_ = read.problem, inputs, read.asks
        self.baselines_ = {"untrained": MetricBaseline.of(result.untrained, read.problem, inputs)}
        self.classes_ = inputs.states
        named = self.classes_ is not None
        self.training_data_ = TrainingSummary.of(read, result.truths, named=named)
        self.metric_feature_names_: list[str] = list(inputs.made) or read.columns
        self.n_features_in_ = read.n_features
        for name in ("feature_names_in_", *OPTIONAL):
            self.__dict__.pop(name, None)
        if read.steps:
            self.steps_ = dict(read.steps)
        if read.names is not None:
            self.feature_names_in_ = np.asarray(read.names, dtype=object)
