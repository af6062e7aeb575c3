"""Menus: the baselines that learners are compared with, and the candidates of model selection."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from sklearn.base import clone

from structsvm.errors import DataError, DataWarning, LearningError, without_warnings
from structsvm.learner.fitting import LEARNED_KINDS
from structsvm.learner.learner import Learner
from structsvm.learner.methods import Method, fit_methods
from structsvm.learner.metric_learner import MetricLearner
from structsvm.learner.training_set import CLUSTERS, ROWS, STATES, TrainingSet
from structsvm.solvers import Stopping, solver_from
from structsvm.support import hook

METRIC_COST = 0.25  # the cost of a metric of the columns, in the units of a Method
FIRST = ("olda", "rca")  # metrics in closed form that answer first, the better one first
FIRST_SECONDS = 5.0  # of learning for the first answer, if there is no closed form
SHARED = ("features", "standardize", "n_jobs", "backend", "random_state")
"""Parameters that metrics in closed form take from the learner, too."""


class Menu:
    """Methods for instances and their labels; a subclass for each family of problems.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import ChangePoint, MetricLearner
    >>> from structsvm.learner import Menu, TrainingSet
    >>> data = TrainingSet.of(ChangePoint(), [np.zeros((4, 2))], [[2, 4]])
    >>> [method.name for method in Menu(data, MetricLearner()).baselines]
    ['pca', 'rca', 'olda']
    """

    def __init__(self, data: TrainingSet, like: Learner) -> None:
        """Take from the settings of a learner those that all methods share."""
        self.data = data
        self.like = like
        self.problem = data.problem
        metric = like if like.sees is not None else MetricLearner(data.problem)
        self.metric: dict[str, Any] = metric.get_params(deep=False)
        scale = self.scale(self.metric["standardize"])
        self.metric |= {"problem": data.problem, "standardize": scale}
        self.features = getattr(like, "features", None)
        """The features of the learner, not fitted; None for the columns themselves."""

    @hook
    def scale(self, standardize: Any) -> Any:
        """How metrics scale features, where the settings of the learner leave it open."""
        return standardize

    @cached_property
    def labels(self) -> list[Any]:
        """Labels of items, as features and classifiers learn from them."""
        return self.data.item_labels

    @property
    def question(self) -> str | None:
        """What is held out: "rows", "clusters" or "states"; None for whole instances."""
        question = self.data.asks or self.data.question
        return question if question in (ROWS, CLUSTERS, STATES) else None

    # ---- what differs between problems

    @property
    @hook
    def others(self) -> Sequence[Method]:
        """Baselines that are no metrics, as far as they apply to these labels."""
        return ()

    @property
    @hook
    def candidates(self) -> Sequence[Method]:
        """Candidates of model selection, in the order of preference, the default first."""
        return self.named_metrics

    @property
    @hook
    def first(self) -> Method:
        """The method that answers first: the best one that takes some seconds, a candidate or not.

        By default it is a metric in closed form, or one that is learned in a few seconds.
        """
        for name in FIRST:
            if name in self.problem.traits.baselines:
                return self.of_metric(name, name)
        traits = self.problem.traits
        solver = solver_from("auto", Stopping(max_seconds=FIRST_SECONDS), convex=traits.convex)
        lam = traits.lams[len(traits.lams) // 2]
        return self.of_metric("diagonal-quick", "diagonal", solver=solver, lams=(lam,))

    def to_choose_from(self, in_time: bool) -> list[Method]:
        """The candidates, :attr:`first` in the second place, added there if ``in_time``."""
        first = self.first
        default, *others = self.candidates
        if default.name == first.name:
            return [replace(default, is_first=True), *others]
        own = [method for method in others if method.name == first.name]
        own = own or ([first] if in_time else [])
        rest = [method for method in others if method.name != first.name]
        return [default, *(replace(method, is_first=True) for method in own), *rest]

    # ---- metrics

    def of_metric(self, name: str, metric: str, cost: float = METRIC_COST, **given: Any) -> Method:
        """A metric, with the settings of the learner where no others are given."""
        lams = given.pop("lams", ())
        settings = {**self.metric, "metric": metric, "lam": given.pop("lam", None)}
        if metric not in LEARNED_KINDS:  # a closed form minimises nothing, and whitens by itself
            settings = {k: self.metric[k] for k in ("problem", *SHARED)} | {"metric": metric}
        elif metric == "diagonal":
            settings["whiten"] = None
        return Method(name, MetricLearner(**settings | given), cost, lams)

    @property
    def named_metrics(self) -> list[Method]:
        """The metrics to choose from that the traits of the problem name."""
        return [self.of_metric(name, name) for name in self.problem.traits.candidates]

    # ---- baselines

    @property
    def baselines(self) -> list[Method]:
        """Metrics in closed form, and other methods; classifiers find no new clusters."""
        others = () if self.data.asks == CLUSTERS else self.others
        return [*(self.of_metric(n, n) for n in self.problem.traits.baselines), *others]

    def named(self, which: str | Sequence[str]) -> list[Method]:
        """The quick baselines, all of them, or some by name, metrics first."""
        baselines = {method.name: method for method in self.baselines}
        if isinstance(which, str):
            return [method for method in baselines.values() if method.quick or which == "all"]
        names = [name for name in dict.fromkeys(which) if name != "untrained"]
        methods = [baselines.get(name) or self.of_metric(name, name) for name in names]
        return sorted(methods, key=lambda method: not method.is_metric)

    def scaled(self, estimator: Any) -> Any:
        """A copy of which all stages scale as the learner does, unless that is "auto"."""
        standardize = self.metric["standardize"]
        params = {} if standardize == "auto" else estimator.get_params()
        own = [name for name in params if name.rpartition("__")[2] == "standardize"]
        return clone(estimator).set_params(**dict.fromkeys(own, standardize)) if own else estimator

    def fitted(self, which: str | Sequence[str]) -> dict[str, Learner]:
        """The baselines by name, learned from these data; none if no labels have a change."""
        if all(truth.n_clusters == 1 for truth in self.data.parts.truths):
            return {}
        return fit_methods(self.named(which), self.data, named=not isinstance(which, str))

    def reference(self) -> dict[str, Learner]:
        """The untrained metric, which every learner has to beat; none if labels give no price."""
        try:
            with without_warnings(DataWarning):
                untrained = self.of_metric("untrained", "untrained")
                return {untrained.name: untrained.learned_from(self.data)}
        except (DataError, LearningError):
            return {}
