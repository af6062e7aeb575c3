"""The estimator of any structured problem: labellings that are no partitions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from structsvm.data import check_weights
from structsvm.errors import DataError, SettingsError, nth, parameter, warn
from structsvm.learner.alternation import Alternated, alternated, open_labellings, start_of_open
from structsvm.learner.completing import warn_of_incomplete
from structsvm.learner.fitting import (
    NOT_RESUMED,
    Callback,
    FitState,
    Settings,
    is_missed,
    regularizer_from,
)
from structsvm.learner.labellings import WORDS, Instances, read_instances, read_labelled
from structsvm.learner.metric_learner import MetricLearner
from structsvm.learner.parameters import ProblemParameters
from structsvm.learner.preparing import read_training
from structsvm.learner.stages import Inputs
from structsvm.parallel import Backend, backend_from
from structsvm.problem import (
    Problem,
    RegularizedRisk,
    Regularizer,
    Risk,
    Solution,
    Status,
    check_lam,
)
from structsvm.solvers import Solver, solver_from
from structsvm.solvers.separation import check_loss
from structsvm.support import (
    Floats,
    Interrupts,
    asked,
    read_only,
    refuse_below,
    refuse_other_columns,
    refuse_unstored,
    shown,
    stage,
)


@dataclass(eq=False, repr=False)
class StructuredSVM(ProblemParameters):
    r"""Learn the weights of a structured problem: classes, chains, trees, or anything else.

    Minimises over weights ``w`` in a cone of the problem

    .. math:: \lambda \Omega(w) + \sum_i \omega_i \max_y \left\{ \mathrm{loss}(y_i, y)
       + \langle w, \phi(x_i, y) - \phi(x_i, y_i) \rangle \right\}, \quad \sum_i \omega_i = 1

    and certifies how close the solution is to the optimum. A problem defines the joint features,
    the loss, inference and loss-augmented inference (docs/plugins.md). For partitions and their
    metrics, use :class:`~structsvm.MetricLearner`.

    Parameters
    ----------
    problem : structsvm.problem.Problem
        The structured problem. If it is a dataclass, its settings are parameters, too:
        ``set_params(problem__n_states=3)``.
    lam : float
        Strength of the regularizer, > 0. It equals ``1 / (C N)`` for the ``C`` of other SVMs.
    regularizer : {"squared", "trace"} or Regularizer
        Half the squared norm, the trace of a matrix or sum of nonnegative weights, or a regularizer
        of :mod:`structsvm.problem`.
    constraints : callable, optional
        Takes the weight as a cvxpy expression and returns a list of convex constraints. The weight
        is a symmetric matrix for a cone of matrices, and a vector otherwise; for a ``Product`` it
        is the vector of all factors, as in ``predict``. The same holds for ``Custom``.
    solver, n_jobs, backend : as for :class:`~structsvm.MetricLearner`

    Attributes
    ----------
    weight_ : array
        The weight as a vector (d,), or a symmetric matrix (P, P) for ``PSD(P)``.
    solution_ : Solution
        The weight as a vector, ``solution_.w``, with certified bounds, status and history.
    problem_ : structsvm.problem.Problem
        The problem, with the sizes of the training instances if its settings left them open.
    alternated_ : Alternated or None
        The rounds of completing partial labellings; not stored.
    n_iter_, converged_ : int, bool
    n_features_in_, feature_names_in_ : int, array of str
        Only if the instances are the rows of a matrix, or of a data frame.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from structsvm import StructuredSVM
    >>> from structsvm.partitions import Quality
    >>> from structsvm.problem import Free, Problem, Separation
    >>> @dataclass(frozen=True)
    ... class Signs(Problem):
    ...     n_features: int = 2
    ...
    ...     def weight_space(self):
    ...         return Free(self.n_features)
    ...
    ...     def joint_feature(self, x, y):
    ...         return y * x / 2.0
    ...
    ...     def loss(self, y, y_hat):
    ...         return float(y != y_hat)
    ...
    ...     def predict(self, w, x):
    ...         return 1 if w @ x > 0 else -1
    ...
    ...     def separate(self, w, x, y):
    ...         worst = max((1, -1), key=lambda s: self.loss(y, s) + s * (w @ x) / 2.0)
    ...         return Separation(worst, 0.0, Quality.EXACT)
    >>> X, y = np.array([[1.0, 0.2], [2.0, 0.1], [-1.0, 0.1]]), [1, 1, -1]
    >>> svm = StructuredSVM(Signs(), lam=0.1).fit(X, y)
    >>> svm.predict(X), svm.score(X, y)
    ([1, 1, -1], -0.0)
    >>> svm.solution_.status.name
    'OPTIMAL'
    """

    problem: Problem
    lam: float = 0.01
    _: KW_ONLY
    regularizer: str | Regularizer = "squared"
    constraints: Callable[[Any], list[Any]] | None = None
    solver: str | Solver = "auto"
    n_jobs: int | None = None
    backend: str | Backend = "auto"

    problem_: Problem = field(init=False)
    solution_: Solution = field(init=False)

    # ---- learning

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        max_rounds: int = 10,
        resume: str | PathLike[str] | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn from labelled instances.

        Ctrl-C ends learning with the best certified weight so far, if there is one.

        Parameters
        ----------
        X : sequence of N instances
            Whatever the problem takes; the rows of a matrix or of a data frame are instances.
        y : sequence of N labellings
            Labellings of a :class:`~structsvm.problem.CompletableProblem` may be partial. Learning
            starts with the complete ones; where there is none, the weight that
            :meth:`Problem.start` returns completes all of them first.
        sample_weight : array of shape (N,), optional
            2 equals an instance that is given twice, and 0 leaves it out.
        max_rounds : int
            Maximum number of times that partial labellings are completed; 0 learns from the
            complete ones alone.
        resume, callback : as for :meth:`structsvm.MetricLearner.fit`

        Raises
        ------
        DataError, SettingsError
            For data or a parameter that cannot be used.
        PluginError
            If a method of the problem violates its contract.
        CheckpointError
            If ``resume`` was written with other data or settings.
        KeyboardInterrupt
            On Ctrl-C before there is a weight.
        """
        solver, backend = self._solver_and_backend()
        refuse_below(0, "max_rounds", max_rounds)
        data = read_labelled(X, y, sample_weight)
        is_open = open_labellings(self.problem, data.ys)
        if is_open.any() and resume is not None:
            raise SettingsError(NOT_RESUMED)
        full = data if is_open.all() else data.at(np.flatnonzero(~is_open))
        risk = self._risk(full)
        completed = None
        problem = risk.problem
        for i, (x, known) in enumerate(zip(data.xs, data.ys, strict=True)):
            with asked(problem, "check", nth("instance", i)):
                problem.check(x, known)
        start = start_of_open(problem, max_rounds) if is_open.all() else None
        solve = partial(solver.solve, callback=callback, backend=backend)
        with Interrupts():  # what was learned is kept before Ctrl-C is answered
            solution = None if start is not None else solve(risk, resume=resume)
            first = start if solution is None else solution.w
            is_cut = solution is not None and solution.status is Status.INTERRUPTED
            if first is not None and is_open.any() and max_rounds > 0 and not is_cut:
                try:
                    completed = alternated(risk, data, is_open, solve, first, max_rounds)
                    solution = completed.solution
                except KeyboardInterrupt:
                    if solution is None:
                        raise
                    warn_of_incomplete()
            assert solution is not None
            self._keep(problem, solution, completed, data)
        if not solution.status.converged:
            warn(solution.summary(), ConvergenceWarning)
        elif not solution.w.any():
            warn(
                "the best weight is zero: the regularizer outweighs the labellings; lower "
                + parameter("lam", self.lam)
            )
        if solution.status is Status.OPTIMAL:
            learned = full if completed is None else replace(data, ys=list(completed.labels))
            _check_inference(problem, learned, solution.w)
        return self

    # ---- prediction

    def predict(self, X: Any) -> list[Any]:
        """Return the best labelling of each instance, in the form of the problem.

        Raises
        ------
        DataError
            For instances with other features than those that were learned from.
        """
        check_is_fitted(self)
        instances = read_instances(X)
        if instances.names is not None and hasattr(self, "feature_names_in_"):
            refuse_other_columns("X", instances.names, self.feature_names_in_.tolist())
        n = getattr(self, "n_features_in_", None)
        P = instances.n_features
        if n is not None and isinstance(instances.xs[0], np.number):
            raise DataError(
                f"X is a vector, and a sample has {n} features. Reshape your data: "
                "X.reshape(1, -1) is one sample"
            )
        if None not in (n, P) and n != P:
            raise DataError(f"X has {P} features, the model has {n}")
        return predicted(self.problem_, self.solution_.w, instances.xs)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the mean loss, for model selection; larger is better, and 0 is perfect."""
        guesses = self.predict(X)
        truths = read_labelled(X, y).ys
        weights = check_weights(sample_weight, len(truths), WORDS)
        return -float(np.average(losses_of(self.problem_, truths, guesses), weights=weights))

    @property
    def weight_(self) -> Any:
        """The weight as a vector (d,), or as a symmetric matrix."""
        check_is_fitted(self, "solution_")
        return self.problem_.weight_space().to_metric(self.solution_.w.copy())

    # ---- inside

    def _keep(
        self, problem: Problem, solution: Solution, completed: Alternated | None, data: Instances
    ) -> None:
        """Set the attributes of a fitted estimator."""
        self.problem_ = problem
        self.solution_ = solution
        self.alternated_ = completed
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.status.converged
        self.interrupted_ = solution.status is Status.INTERRUPTED
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if data.n_features is not None:
            self.n_features_in_ = data.n_features
        if data.names is not None:
            self.feature_names_in_ = np.asarray(data.names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _solver_and_backend(self) -> tuple[Solver, Backend]:
        """Check all parameters before any work; return the solver and the backend."""
        refuse_unstored(self.get_params(deep=False))
        if not isinstance(self.problem, Problem):
            raise SettingsError(
                "problem must be an instance of a class derived from structsvm.problem.Problem, "
                f"got {shown(self.problem)}; partitions are for MetricLearner"
            )
        check_lam(self.lam)
        regularizer_from(self.regularizer)
        return solver_from(self.solver), backend_from(self.backend, self.n_jobs)

    def _risk(self, data: Instances) -> RegularizedRisk:
        with asked(self.problem, "sized"):
            problem = self.problem.sized(data.xs, data.ys)
        return RegularizedRisk(
            problem=problem,
            xs=data.xs,
            ys=data.ys,
            regularizer=regularizer_from(self.regularizer).scaled(float(self.lam)),
            sample_weight=data.weights,
            null=np.zeros(problem.weight_space().dim),
            constraints=self.constraints,
        )


def structured_in(learner: Any) -> StructuredSVM | None:
    """A StructuredSVM itself, or the best one of a search; None for any other learner."""
    learner = getattr(learner, "best_estimator_", learner)
    return learner if isinstance(learner, StructuredSVM) else None


def predicted(problem: Problem, w: Floats, xs: Sequence[Any]) -> list[Any]:
    """The best labelling of each instance under a weight."""
    w = read_only(w)
    labellings = []
    for i, x in enumerate(stage("predicting", xs)):
        with asked(problem, "check", nth("instance", i)):
            problem.check(x)
        with asked(problem, "predict", nth("instance", i)):
            labellings.append(problem.predict(w, x))
    return labellings


def losses_of(problem: Problem, truths: Sequence[Any], guesses: Sequence[Any]) -> Floats:
    """The loss of each labelling, (N,)."""
    losses = np.empty(len(truths))
    for i, (truth, guess) in enumerate(zip(truths, guesses, strict=True)):
        with asked(problem, "loss", nth("instance", i)):
            losses[i] = check_loss(problem, problem.loss(truth, guess), i)
    return losses


def _check_inference(problem: Problem, data: Instances, w: Floats) -> None:
    """Warn where ``predict`` finds less than the score of the true labelling."""
    name = f"{type(problem).__name__}.predict"
    for i, missed, size in shortfalls(problem, data, w):
        if is_missed(name, i, missed, size):
            return


def shortfalls(problem: Problem, data: Instances, w: Floats) -> Iterator[tuple[int, float, float]]:
    """Per instance its number, how far the prediction scores below the truth, and both sizes."""
    w = read_only(w)
    for i, (x, y) in enumerate(zip(data.xs, data.ys, strict=True)):
        with asked(problem, "predict", nth("instance", i)):
            guess = problem.predict(w, x)
        try:
            features = problem.joint_feature(x, guess)
            truth = problem.joint_feature(x, y)
        except Exception:  # training labellings may hold more than predictions do
            return
        yield (
            i,
            float(w @ (truth - features)),
            float(np.abs(w) @ (np.abs(features) + np.abs(truth))),
        )


def learner_for(
    problem: Any, metric: str, standardize: str | None, **shared: Any
) -> MetricLearner | StructuredSVM:
    """The learner of a problem: of metrics for partitions, of weights for anything else."""
    if not isinstance(problem, Problem):
        return MetricLearner(problem, metric, standardize=standardize, **shared)
    if (metric, standardize) != ("full", "auto"):
        raise SettingsError(
            parameter("metric")
            + " and "
            + parameter("standardize")
            + f" are for partition problems: {type(problem).__name__} is none"
        )
    return StructuredSVM(problem, **shared)


def risk_of(
    learner: MetricLearner | StructuredSVM, X: Any, y: Any = None, *, sample_weight: Any = None
) -> Risk:
    """The objective that a learner minimises, for fully labelled instances.

    It is what solvers are given (docs/solvers.md); parameters as for ``fit``.

    Raises
    ------
    DataError, SettingsError
        As by ``fit``, and if a labelling is partial or the metric is in closed form.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import risk_of
    >>> risk_of(MetricLearner(), [[[0.0], [0.1], [3.0], [3.1]]], [[2, 4]]).n_instances
    1
    """
    if isinstance(learner, MetricLearner):
        settings = Settings.of(learner.get_params(deep=False))
        read = read_training(learner, X, y, sample_weight=sample_weight).counted()
        _, data = Inputs.fit(settings.features, settings.standardize, read)
        return FitState.of(settings, data).risk
    learner._solver_and_backend()
    labelled = read_labelled(X, y, sample_weight)
    is_open = open_labellings(learner.problem, labelled.ys)
    if is_open.any():
        raise DataError(
            "the labelling of "
            + nth("instance", is_open.argmax())
            + " is known in part only, which is "
            "enough to learn from but not for this"
        )
    return learner._risk(labelled)
