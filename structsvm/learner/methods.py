"""Methods by name: learners that another one is compared with, or that one is chosen from."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import DataError, LearningError, SettingsError, warn, without_warnings
from structsvm.learner.training_set import TrainingSet
from structsvm.support import among, refuse_unless, stage

ACRONYMS = frozenset({"pca", "rca", "lda", "olda"})  # names of metrics that people read in capitals
BLIND = frozenset({"equal-segments", "fixed-times", "one-part", "most-frequent"})
"""Methods that do not look at instances: what is no better than these does not pay."""
QUICK_COST = 3.0  # the largest cost of a quick baseline


@dataclass(frozen=True, eq=False)
class Method:
    """A way to partition instances, by name: a baseline, or a candidate of model selection.

    Examples
    --------
    >>> from structsvm import StateSegmenter
    >>> from structsvm.learner import Method
    >>> str(Method("states", StateSegmenter()))
    'states'
    """

    name: str
    """Key of ``baselines_``, of tables and of JSON; sentences may call it otherwise."""
    learner: Any
    """A learner with its settings, which is not fitted."""
    cost: float = 1.0
    """The time that it takes, about, in units of that of a linear classifier."""
    lams: tuple[float, ...] = ()
    """Strengths for a learned metric that has none, in place of those of the search."""
    lam: float | None = None
    """The strength of this candidate, where one method is a candidate for each of several."""
    is_first: bool = False
    """Whether it answers first: it is tried whatever time that takes, and is next in preference to
    the default. Unless labels are changes alone, it is preferred if its mean loss is less."""

    @property
    def quick(self) -> bool:
        """Whether it takes so little time that ``baselines="quick"`` includes it."""
        return self.cost <= QUICK_COST

    @property
    def is_metric(self) -> bool:
        """Whether it is a metric, learned or in closed form."""
        return self.learner.sees is not None

    @property
    def has_path(self) -> bool:
        """Whether it is learned for some strength of the regularizer."""
        return bool(self.learner.has_path)

    def along(self, lams: Sequence[float]) -> "list[Method]":
        """The candidates of model selection: one for each strength, if it has none of its own."""
        if not self.has_path:
            return [self]
        own = self.learner.lam
        path = sorted({float(lam) for lam in self.lams or lams}, reverse=True)
        return [self._at(lam) for lam in (path if own is None else [own])]

    def _at(self, lam: float) -> "Method":
        learner = copy(self.learner)
        learner.lam = lam
        return replace(self, learner=learner, lams=(), lam=lam)

    def __str__(self) -> str:
        name = self.name.upper() if self.name in ACRONYMS else self.name
        return name if self.lam is None else f"{name}, lam={self.lam:g}"

    def learned_from(self, data: TrainingSet) -> Any:
        """A learner of these instances, and of these alone."""
        with without_warnings(ConvergenceWarning):
            return copy(self.learner).learn(data)


def menu_of(data: TrainingSet, like: Any) -> Any:
    """The menu of a learner of these instances: its baselines, and candidates for its place.

    The traits of the problem name the class of the menu, which is imported here: it knows all
    methods, and every method needs it.
    """
    module, _, name = data.problem.traits.menu.partition(":")
    try:
        menu = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        place = data.problem.traits.menu
        raise SettingsError(
            f"the traits of {type(data.problem).__name__} say menu={place!r}, which cannot be "
            f"loaded: write 'module:Class' ({error})"
        ) from error
    return menu(data, like)


def which_baselines(baselines: Any) -> str | list[str] | None:
    """What ``fit(..., baselines=)`` was given, checked."""
    if among(baselines, ("quick", "all", None)):
        return baselines
    named = isinstance(baselines, list | tuple) and all(isinstance(n, str) for n in baselines)
    refuse_unless(named, "baselines", "'quick', 'all', a list of names or None", baselines)
    return list(baselines) or None


def fit_methods(methods: Sequence[Method], data: TrainingSet, named: bool) -> dict[str, Any]:
    """Learners by name; one that cannot learn is left out with a warning, unless it was named."""
    fitted: dict[str, Any] = {}
    for method in stage("methods", methods):
        try:
            fitted[method.name] = method.learned_from(data)
        except (DataError, LearningError) as error:
            if named:
                raise
            warn(f"{method.name} is not compared with: {error}")
    return fitted
