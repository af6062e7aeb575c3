"""The base class of all methods that partition instances: how they learn, and what they keep."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import Tags, TransformerTags
from sklearn.utils.validation import check_is_fitted

from structsvm.data import Counts
from structsvm.errors import SettingsError
from structsvm.features.frames import learning_once
from structsvm.learner.methods import menu_of, which_baselines
from structsvm.learner.parameters import ProblemParameters, problem_from
from structsvm.learner.predictor import Predictor
from structsvm.learner.preparing import workers_of
from structsvm.learner.stages import Stage
from structsvm.learner.steps import learned_in_words, refuse_unsuited
from structsvm.learner.training_set import TrainingSet
from structsvm.learner.training_summary import TrainingSummary
from structsvm.partitions import EquivalenceMatrix, Model, PartitionProblem
from structsvm.problem import HistoryEntry, Solution
from structsvm.support import Interrupts, hook, share

OPTIONAL = ("columns_", "feature_names_in_", "lost_", "margin_rates_", "steps_")
"""Attributes that only some fitted learners have."""


@dataclass(frozen=True, eq=False)
class How:
    """Arguments of ``fit`` that say how to learn; a method refuses those that it cannot use."""

    alternation: Any = None  # how partial labels are completed
    resume: str | PathLike[str] | None = None
    callback: Callable[[HistoryEntry], None] | None = None
    part: float = 1.0  # the share of the time for learning, about; baselines take the rest


class Learned(NamedTuple):
    """What a method has learned: a stage for instances, a model, and labels that it completed.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.learner import AsMeasured, Learned
    >>> from structsvm.partitions import Metric
    >>> print(Learned(AsMeasured(), Metric(np.eye(2), 1.0)).model)
    metric of 2 features, rank 2, price 1
    """

    inputs: Stage
    model: Model
    truths: Sequence[EquivalenceMatrix] | None = None


def recording_tags(tags: Tags) -> Tags:
    """The tags of an estimator that learns from labelled recordings and transforms them."""
    tags.target_tags.required = True
    tags.input_tags.three_d_array = True  # (N, T, P); a matrix (T, P) is one recording
    tags.transformer_tags = TransformerTags(preserves_dtype=["float64"])
    return tags


class Learner(Predictor, ProblemParameters, ABC):
    """Base class of all methods that partition instances.

    ``fit`` reads instances and labels of any form as a :class:`~structsvm.learner.TrainingSet`.
    From these a method learns a model, a small value, by :meth:`_learn`, in which alone methods
    differ. The model partitions new instances.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.learner import AsMeasured, Learned, Learner
    >>> from structsvm.partitions import EquivalenceMatrix, Found, Model
    >>> class Halves(Model):
    ...     def partition(self, problem, instance, constraint):
    ...         T = instance.n_samples
    ...         return Found(EquivalenceMatrix.from_breakpoints([T // 2, T]))
    >>> class InHalves(Learner):
    ...     problem = "change-point"
    ...
    ...     def _learn(self, data, how):
    ...         return Learned(AsMeasured(), Halves())
    >>> X = np.zeros((6, 1))
    >>> InHalves().fit([X, X + 1], [[2, 6]] * 2).predict_breakpoints(X)
    [3, 6]

    Attributes
    ----------
    model_ : structsvm.partitions.Model
        What was learned; the metric of a :class:`~structsvm.MetricLearner`.
    inputs_ : Stage
        What transforms instances before the model sees them.
    solution_ : Solution or None
        Of the optimisation problem that was solved, with its certificate; None where there is none.
    classes_ : array of shape (C,), or None
        The names of the states that the method knows.
    baselines_ : dict of Learner by name
        Methods to compare with, learned from the same instances and labels: "untrained", a metric
        with its best price, and those that ``fit(..., baselines=)`` asked for.
    question_ : {"rows", "clusters", "tables"} or None
        For tables, what the settings were chosen for: further rows of known clusters (the default),
        new clusters, or further tables.
    interrupted_ : bool
        Whether Ctrl-C ended learning, or the calibration of the price of a metric.
    problem_, training_data_ : PartitionProblem, TrainingSummary
    n_features_in_, feature_names_in_
        The last one only if the instances named their features.
    """

    baselines_: "dict[str, Learner]"
    question_: str | None

    # Defaults for methods that do not set these.
    interrupted_: bool = False
    solution_: Solution | None = None

    # ---- what differs

    @abstractmethod
    def _learn(self, data: TrainingSet, how: How) -> Learned:
        """Learn from checked instances, and set attributes of the method such as ``classes_``."""

    @hook
    def _check(self, how: How) -> None:
        """Refuse settings and arguments of ``fit`` that suit no data, before these are read."""
        options = {"alternation": how.alternation, "resume": how.resume, "callback": how.callback}
        names = [name for name, value in options.items() if value is not None]
        if names:
            raise SettingsError(
                f"{names[0]} is of learning a metric, and {type(self).__name__} learns otherwise: "
                "leave it out"
            )

    @hook
    def suits(self, problem: PartitionProblem) -> bool:
        """Whether the method can partition the instances of a problem."""
        return True

    @property
    @hook
    def sees(self) -> Hashable | None:
        """A key that metrics of the same features and scaling share; None if it is no metric."""
        return None

    @property
    @hook
    def is_learned(self) -> bool:
        """Whether a structured SVM learns the model."""
        return False

    @property
    @hook
    def has_path(self) -> bool:
        """Whether it is learned with a solver, for some strength ``lam`` of a regularizer."""
        return False

    @property
    @hook
    def called(self) -> str:
        """The name of the method in sentences."""
        return f"the {type(self).__name__}"

    @hook
    def _named_by(self, baselines: "Mapping[str, Learner]") -> None:
        """Take the names of states from a baseline, where the method has none of its own."""

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
        alternation: Any = None,
        resume: str | PathLike[str] | None = None,
        callback: Callable[[HistoryEntry], None] | None = None,
        when_learned: Callable[[Self], Any] | None = None,
    ) -> Self:
        """Learn from labelled instances, or instances that are labelled in part.

        Ctrl-C ends learning with the best certified metric so far, and a calibration with the price
        that was learned; a warning says so. Classifiers have nothing to keep.

        Parameters
        ----------
        X : list of arrays or data frames of shape (T_i, P), or whatever the problem reads
            A single array or data frame is one instance, and a mapping has instances by name;
            predictions have the same form. :class:`~structsvm.io.Recording` s carry their labels. A
            :class:`~structsvm.learner.TrainingSet` holds labels and weights.
        y : list of label vectors (T_i,), breakpoint lists or :class:`~structsvm.PartialLabels`
            Breakpoints are sorted ends of segments, the last being T_i. -1 in a vector of numbers
            or names marks samples without a label; missing labels (None, NaN, NaT, NA, blank text)
            are refused. A pandas series is aligned with its frame by index, unless an index only
            counts the rows.
        sample_weight : array of shape (N,), optional
            Weights in the objective and all that is computed from the labels: 2 equals an instance
            that is given twice, and 0 leaves it out. Classifiers only leave out those of weight 0.
        feature_names : sequence of str, optional
            Names of the features; by default those of data frames.
        groups : sequence of length N, optional
            Group of each recording (person, machine, ...), for what learns from labels: recordings
            are scored by a classifier that has not seen their group.
        baselines : {"quick", "all"}, list of str or None
            Methods to tune for comparison, on the same instances and labels: "quick" those that
            apply and take little time, "all" those with gradient boosting, too, or some by name,
            such as "rca" or "frame-logistic". One that cannot learn from the labels is left out
            with a warning, unless it was named.
        alternation : Alternation, optional
            How partial labels are completed, for a metric (docs/weak-labels.md).
        resume : path, optional
            Checkpoint file of a metric. The state is saved to it while learning; if it exists,
            learning resumes from it and gives the same result. Not for partial labels.
        callback : callable, optional
            Called with a :class:`~structsvm.problem.HistoryEntry` after each iteration of learning
            a metric.
        when_learned : callable, optional
            Called with the learner, for example to save it, before baselines are tuned.

        Raises
        ------
        DataError, SettingsError
            For data or a parameter that cannot be used.
        CheckpointError
            If ``resume`` was written with other data or settings.
        LearningError
            If nothing could be learned, such as a metric that is zero because the regularizer
            outweighs the labels.
        KeyboardInterrupt
            On Ctrl-C before there is a model.
        """
        which = which_baselines(baselines)
        how = How(alternation, resume, callback, 1.0 if which is None else 0.5)
        self._check(how)
        with workers_of(self):
            problem = problem_from(self.problem, getattr(self, "random_state", None))
            refuse_unsuited(self, problem)
            arguments = X, y, feature_names, sample_weight, groups
            data = TrainingSet.of(problem, *arguments).counted()
            with Interrupts():  # what was learned is kept before Ctrl-C is answered
                fitted = copy(self)  # an error or Ctrl-C leaves all that was learned before
                learned = fitted._learn(data, how)
                self.__dict__ = fitted._keep(data, learned).__dict__
                with share("the untrained metric", how.part, how.part):
                    self._describe(data, learned.truths)
                if when_learned is not None:
                    when_learned(self)
            if which is not None and not self.interrupted_:
                with share("tuning baselines", how.part, 1.0):
                    self._compare_with(menu_of(data, self).fitted(which))
        return self

    def learn(self, data: TrainingSet, how: How | None = None) -> Self:
        """Learn from instances that were read, as :meth:`fit` does, and compare with nothing."""
        return self._keep(data, self._learn(data, how or How()))

    def _keep(self, data: TrainingSet, learned: Learned) -> Self:
        """Set the attributes that every fitted learner has."""
        for name in OPTIONAL:
            self.__dict__.pop(name, None)
        self.inputs_ = learned.inputs
        self.model_ = learned.model
        self.problem_ = data.problem
        self.question_ = data.asks
        self.n_features_in_ = data.n_features
        self.baselines_ = {}
        if data.steps:
            self.steps_ = dict(data.steps)
        if data.names is not None:
            self.feature_names_in_ = np.asarray(data.names, dtype=object)
        return self

    def _describe(
        self, data: TrainingSet, truths: Sequence[EquivalenceMatrix] | None = None
    ) -> None:
        """Keep a summary of the training data, and the untrained metric as a baseline."""
        named = self.classes_ is not None
        self.training_data_ = TrainingSummary.of(data, truths, named=named)
        self._compare_with(menu_of(data, self).reference())

    def fit_predict(self, X: Any, y: Any = None, n_clusters: Counts = None, **given: Any) -> Any:
        """Learn from labelled instances as :meth:`fit`, and partition them as :meth:`predict` does.

        Partitions of training instances do not show how well new instances are partitioned.
        """
        return self.fit(X, y, **given).predict(X, n_clusters)

    # ---- what was learned, at a glance

    @hook
    def summary(self) -> str:
        """Return what was learned as a short text, as ``print`` shows it."""
        check_is_fitted(self)
        return learned_in_words(self)

    def __str__(self) -> str:
        """The summary once it is fitted, the parameters before."""
        return self.summary() if hasattr(self, "model_") else repr(self)

    # ---- inside

    @hook
    def __sklearn_tags__(self) -> Tags:
        return recording_tags(super().__sklearn_tags__())

    def _compare_with(self, fitted: "Mapping[str, Learner]") -> None:
        """Add fitted baselines, whose states may name the parts that this method finds."""
        for baseline in fitted.values():
            baseline.training_data_ = self.training_data_
        self.baselines_ = {**self.baselines_, **fitted}  # not in place, for copies of this learner
        self._named_by(self.baselines_)
