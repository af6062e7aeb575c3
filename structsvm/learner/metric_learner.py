"""The method that learns a metric, or computes one, in which instances are partitioned."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import DataError, SettingsError, parameter
from structsvm.features import RecordingTransformer
from structsvm.learner.closed_forms import names_for
from structsvm.learner.completing import Alternation, check_labels, learn_partial
from structsvm.learner.feature_weights import heaviest_features
from structsvm.learner.fitting import LEARNED_KINDS, NOT_RESUMED, Settings, learn
from structsvm.learner.form import Form
from structsvm.learner.learner import How, Learned, Learner
from structsvm.learner.methods import ACRONYMS
from structsvm.learner.preparing import prepared
from structsvm.learner.stages import Inputs
from structsvm.learner.training_set import TrainingSet
from structsvm.parallel import Backend
from structsvm.partitions import Metric, PartitionProblem
from structsvm.partitions.metric import Calibration
from structsvm.problem import Regularizer, Solution
from structsvm.solvers import Solver
from structsvm.support import (
    Floats,
    Interrupts,
    ShortTable,
    counted,
    data_frame,
    refuse_unlisted,
    share,
)

SHOWN = 10  # features that are printed
SCORED = 0.8  # the share of the time, about, for features that are learned, such as scores
FEWEST_TO_SCALE = 3
"""The fewest rows that can be standardised by themselves: two rows always become -1 and 1."""


@dataclass(eq=False, repr=False)
class MetricLearner(Learner):
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
        The kind of instances and partitions, see :mod:`structsvm.problems`. Its settings are
        parameters, too: ``set_params(problem__min_length=5)``.
    metric : {"full", "diagonal", "untrained", "pca", "rca", "lda", "olda"}
        A full matrix (features and their combinations) or a diagonal one (a weight per feature),
        which a structured SVM learns; or a metric in closed form: the identity, leading principal
        components, or what divides by the covariance within segments or clusters. That takes a
        tenth of a second, nothing about it is certified, and partial labels are not completed.
        Normalized cuts have "grid", too.
    regularizer : {"squared", "trace"} or Regularizer
        The squared Frobenius norm, the trace, which favours low rank (few features for a diagonal
        metric), or a regularizer of :mod:`structsvm.problem`.
    lam : float, optional
        Strength of the regularizer, > 0; usually between 0.04 and 1. None: that of the problem.
    features : RecordingTransformer, optional
        Features to compute from each recording first, see :mod:`structsvm.features`.
    standardize : {"auto", "recording", "training", "wider", None}
        Standardise features within each recording, over the training set, or not at all. "wider"
        centres each recording or table and divides by the larger of its own deviation and that over
        the training set, which suits tables of other clusters. "auto" is the default of the
        problem, and None for features whose scale matters
        (:attr:`structsvm.features.RecordingTransformer.scaled`).
    whiten : "auto", "olda", float in [0, 1] or None
        Whiten the features within the true clusters before a full metric is learned, their
        covariance shrunk by this share towards a multiple of the identity. With "olda" a full
        metric is learned in the 32 directions that OLDA weights most, so that
        ``SquaredNorm(center=1)`` shrinks it to OLDA; a diagonal metric is learned without
        whitening and then averaged with OLDA, each divided by its price, and partial labels are not
        completed. "auto" is 0.5 for clustering and else None. ``metric_``
        includes the whitening; regularizer and constraints apply to the metric of the whitened
        features. Of "rca", "lda" and "olda" it is the shrinkage of the covariance, 0.5 by default
        and 0.001 for "lda".
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
    alternated_ : Alternated or None
        With partial labels, the completed labels and the rounds of completion; not stored.
    whitening_ : array of shape (P, r), or None
        The matrix by which the standardised features were multiplied before learning.
    metric_feature_names_ : list of str
        The names of the features that the metric sees; ``x0``, ``x1``, ... where they have none.
    n_iter_, converged_ : int, bool
    baselines_, classes_, question_, interrupted_ : as for :class:`~structsvm.learner.Learner`
    problem_, inputs_, training_data_, n_features_in_, feature_names_in_ : as there

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

    inputs_: Inputs = field(init=False)
    model_: Metric = field(init=False)
    solution_: Solution = field(init=False)

    # ---- learning

    @property
    def metric_(self) -> Metric:
        """The learned metric, and the price of a segment or cluster."""
        if not isinstance(vars(self).get("model_"), Metric):
            raise AttributeError("metric_: this learner is not fitted")
        return self.model_

    @property
    def sees(self) -> Hashable:
        """A key that metrics of the same features and scaling share."""
        return id(self.features), self.standardize

    @property
    def is_learned(self) -> bool:
        """Whether a structured SVM learns the metric, which is not in closed form."""
        return self.metric in LEARNED_KINDS

    @property
    def has_path(self) -> bool:
        """Whether it is learned for some strength of a regularizer, which is ``lam``."""
        return self.is_learned

    @property
    def called(self) -> str:
        """The name of the metric in sentences."""
        if self.is_learned:
            return "the learned metric"
        name = self.metric.upper() if self.metric in ACRONYMS else f"the {self.metric} metric"
        return name if self.features is None else f"{name} with context"

    def suits(self, problem: PartitionProblem) -> bool:
        """Whether the problem has this metric; learned ones suit all problems."""
        return self.metric in (*LEARNED_KINDS, *names_for(problem.traits))

    def _check(self, how: How) -> None:
        settings = Settings.of(self.get_params(deep=False))
        if settings.closed_form and how.resume is not None:
            raise SettingsError(NOT_RESUMED)

    def _learn(self, data: TrainingSet, how: How) -> Learned:
        settings = replace(Settings.of(self.get_params(deep=False)), problem=data.problem)
        is_partial = check_labels(data)
        if is_partial and how.resume is not None:
            raise SettingsError(NOT_RESUMED)
        begun = how.part * (SCORED if getattr(settings.features, "learns", False) else 0.0)
        with Interrupts() as interrupts, interrupts.released(), share("features", 0.0, begun):
            inputs, seen = Inputs.of(settings.features, settings.standardize, data)
        with share("learning", begun, how.part):
            if is_partial:
                alternation = how.alternation or Alternation()
                result = learn_partial(settings, seen, alternation, how.callback)
            else:
                result = learn(settings, seen, how.resume, how.callback)
        self.calibration_: Calibration = result.calibration
        self.solution_: Solution = result.solution
        self.n_iter_ = result.solution.n_iter
        self.converged_ = result.solution.status.converged
        self.interrupted_ = result.is_interrupted
        self.alternated_ = result.alternated
        self.whitening_ = result.units.whitening
        self.metric_feature_names_: list[str] = list(inputs.made) or data.columns
        self.classes_ = inputs.states
        return Learned(inputs, result.metric, result.truths)

    def _named_by(self, baselines: Mapping[str, Learner]) -> None:
        """Take the probabilities of states of the quickest baseline that has any."""
        if self.inputs_.scores is not None or self.inputs_.states is None:
            stages = [one.inputs_ for one in baselines.values()]
            named = (stage for stage in stages if stage.states is not None)
            self.inputs_ = replace(self.inputs_, scores=next(named, None))
        self.classes_ = self.inputs_.states

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

    # ---- the metric elsewhere

    def transform(self, X: Any) -> Any:
        """Map instances to a space in which Euclidean distances are those of ``B``, (T_i, rank).

        The result has the form of ``X``, and :meth:`set_output` chooses arrays or data frames.

        Raises
        ------
        DataError
            For instances of too few rows to standardise them by themselves.
        """
        check_is_fitted(self)
        form = Form.for_learner(self, X)
        instances = prepared(self, form.instances)
        few = [i for i, instance in enumerate(instances) if instance.n_samples < FEWEST_TO_SCALE]
        if few and self.inputs_.standardizer.centres_each:
            words = self.problem_.traits.words
            raise DataError(
                words.numbered(few[0])
                + f" has {words.items(instances[few[0]].n_samples)}, too few to standardise it by "
                "itself, as this learner does: give them all at once, or learn with "
                + parameter("standardize", "training")
                + ", which takes the scale of the training samples"
            )
        transformed = [self.metric_.transform(instance.X) for instance in instances]
        own = getattr(self, "_sklearn_output_config", {})
        kind = str(own.get("transform", get_config()["transform_output"]))
        if kind != "default":
            names = list(self.get_feature_names_out())
            pairs = zip(transformed, form.indices(len(transformed)), strict=True)
            transformed = [data_frame(kind, Z, names, index) for Z, index in pairs]
        return form.answer(transformed)

    def fit_transform(self, X: Any, y: Any = None, **given: Any) -> Any:
        """Learn from labelled instances as :meth:`fit`, and transform them as :meth:`transform`."""
        return self.fit(X, y, **given).transform(X)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what :meth:`transform` returns: "default", "pandas" or "polars".

        Raises
        ------
        SettingsError
            For any other container.
        """
        if transform is not None:
            refuse_unlisted("transform", transform, ("default", "pandas", "polars"))
            # sklearn.clone copies the attribute of this name.
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
        return diagram + (self._short_table(SHOWN).as_html if hasattr(self, "model_") else "")

    def _short_table(self, n: int | None) -> ShortTable:
        check_is_fitted(self)
        weights = heaviest_features(self)
        price = self.metric_.price
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
