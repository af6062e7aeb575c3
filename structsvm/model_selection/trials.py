"""Candidates that are tuned on some recordings and tried on others, while there is time."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from structsvm.data.sample import Sample
from structsvm.errors import (
    CheckpointError,
    DataError,
    DataWarning,
    LearningError,
    MasterError,
    among,
    without_warnings,
)
from structsvm.evaluation.scores import share_right
from structsvm.evaluation.sentences import baseline_in_words
from structsvm.features.frames import read_names
from structsvm.learner.closed_forms import tuned
from structsvm.learner.fitting import FitState, Settings
from structsvm.learner.frame_learner import StatePath
from structsvm.learner.methods import Method
from structsvm.learner.segments import names_in
from structsvm.learner.stages import Inputs
from structsvm.learner.training_set import STATES, TrainingSet
from structsvm.learner.truths import check_truths
from structsvm.partitions.comparison import disagreement
from structsvm.partitions.constraint import UNCONSTRAINED
from structsvm.partitions.metric import Metric
from structsvm.partitions.model import Found, Model
from structsvm.partitions.problem import count_of_truth
from structsvm.solvers.planes import Memory
from structsvm.status import Status
from structsvm.support.archive import Archive
from structsvm.support.arrays import Floats, Ints
from structsvm.support.codec import fingerprint
from structsvm.support.progress import OutOfTimeError, share, stage, until

FEWEST_INNER = 2
"""Folds within folds that a classifier is cross-fitted in, at least."""

AGAIN = 1.5
"""What learning from all takes, in units of what it takes in a fold."""

USUAL_RATE = 1.0
"""Seconds that a task of cost one takes in a fold, where nothing was tried yet."""

LESS = 4.0
"""How much less time than its cost says a task may take."""

TRIALS = Archive("search", 2, CheckpointError)

Learned = TypeVar("Learned")

Whole = tuple[TrainingSet, Sequence[Ints]]
"""All samples, and which of them each fold holds out."""

Tried = tuple[list[list["Trial"]], Any]
"""Trials of the candidates of a task in each of some folds, and what was learned from all, if it
was."""

SamplesAndStates = tuple[Sequence[Sample], NDArray[Any] | None]
"""Held-out samples as a model sees them, and the names of the states that it knows."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Losses of a candidate in a fold, or why it failed."""

    losses: Floats
    """Of each held-out recording, (n, 2): segmented by the penalty, and with K given; NaN if the
    candidate failed. See :func:`structsvm.partitions.comparison.disagreement`."""
    seconds: float
    """To learn and to calibrate, beginning with what the larger ``lam`` of a path found."""
    converged: bool = True
    oracle_calls: int = 0
    failure: str = ""
    """Why there is no metric."""
    refused: bool = False
    """Whether its features or its classifier could not learn from the labels."""
    accuracy: Floats | float = np.nan
    """The share of items of each held-out recording that are named right, (n,); NaN for none."""

    def to_plain(self) -> dict[str, Any]:
        of_each = {k: np.asarray(getattr(self, k)).tolist() for k in ("losses", "accuracy")}
        return vars(self) | of_each

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Trial:
        of_each = {k: np.asarray(plain[k], dtype=np.float64) for k in ("losses", "accuracy")}
        return cls(**{**plain, **of_each})


@dataclass(frozen=True, eq=False)
class Fold:
    """Recordings to tune on, and others to try on, as they were measured."""

    number: int
    train: TrainingSet
    test: TrainingSet
    folded: TrainingSet
    """What is tuned on, :func:`in_folds`."""
    untrained: dict[Any, Metric] = field(default_factory=dict)
    """By what metrics see, once in a process."""

    @cached_property
    def counts(self) -> list[int | None] | None:
        """The true numbers of clusters, as far as they are known and the oracle takes a number."""
        found: list[int | None] = []
        for sample, known in zip(self.test.samples, self.test.labels, strict=True):
            whole = known.truth is not None
            K = count_of_truth(self.test.problem, sample, known.truth) if whole else None
            found.append(K if whole else known.constraint.n_clusters)
        return None if all(K is None for K in found) else found

    @cached_property
    def names(self) -> Sequence[NDArray[Any]] | None:
        """The true name of each item; None where there are none, or one is hidden from learning."""
        test = self.test
        if test.question == STATES or test.asks is not None:  # rows of a cluster have no names
            return None
        sizes = [sample.n_samples for sample in test.samples]
        return read_names(test.item_labels, sizes, test.problem.traits.words.whole)

    def trial(
        self,
        found: Sequence[Sequence[Found]],
        named: Sequence[NDArray[Any]] | None,
        seconds: float,
        **about: Any,
    ) -> Trial:
        """Score what was found without and with K given, and names, on what is labelled."""
        problem = self.test.problem
        truths: list[Any] = [known.scored for known in self.test.labels]
        losses = np.empty((len(truths), len(found)))
        for j, guesses in enumerate(found):
            for i, (known, one) in enumerate(zip(self.test.labels, guesses, strict=True)):
                guess = known.of_scored(one.partition)
                losses[i, j] = disagreement(problem, truths[i], guess)
        accuracy: Floats | float = np.nan
        if named is not None and self.names is not None:
            accuracy = np.array(list(map(share_right, self.names, truths, named)))
        return Trial(losses, seconds, accuracy=accuracy, **about)

    def trial_of(
        self,
        models: Model | Sequence[Model],
        seen: SamplesAndStates,
        seconds: float,
        **about: Any,
    ) -> Trial:
        """The trial of a model, or of one for each, on the held-out samples as it sees them."""
        problem = self.test.problem
        (samples, states) = seen
        counts: Sequence[int | None] = self.counts or [None] * len(samples)
        each = [models] * len(samples) if isinstance(models, Model) else models
        decides = all(getattr(model, "price", 0.0) is not None for model in each)
        priced: Sequence[Found | None] = [None] * len(samples)
        if decides and not (isinstance(models, Metric) and problem.traits.given_k):
            pairs = list(zip(each, samples, strict=True))
            priced = [
                model.partition(problem, x, None, UNCONSTRAINED)
                for model, x in stage("partitioning", pairs)
            ]
        asked = list(zip(each, samples, counts, priced, strict=True))
        counted = [with_count(problem, *one) for one in stage("partitioning into as many", asked)]
        found = [one or other for one, other in zip(priced, counted, strict=True)]
        return self.trial([found, counted], names_in(found, samples, states), seconds, **about)

    def failed(self, why: object, start: float, refused: bool = True) -> Trial:
        """The trial of a candidate that failed after it was tried from ``start``."""
        nothing = np.full((len(self.test), 2), np.nan)
        seconds = time.perf_counter() - start
        return Trial(nothing, seconds, failure=f"{why} (fold {self.number})", refused=refused)


def with_count(
    problem: Any, model: Model, sample: Sample, K: int | None, priced: Found | None
) -> Found:
    """The partition into K clusters, given the one that a price decides."""
    if isinstance(model, StatePath) and priced is not None and priced.partition.n_clusters == K:
        return priced  # the best of all numbers is that of its own
    return model.partition(problem, sample, K, UNCONSTRAINED)


def in_folds(data: TrainingSet, fold: Ints, fewest: int) -> TrainingSet:
    """Samples with the folds of the choice for groups, if each is in one and these are enough."""
    # What is cross-fitted on them again then learns from the same recordings as in other folds.
    if fold.size != len(data) or fold.min() < 0 or np.unique(fold).size < fewest:
        return data
    return replace(data, groups=fold.tolist())


def cross_fitted(
    fit: Callable[[TrainingSet], Learned], folded: TrainingSet, data: TrainingSet
) -> Learned:
    """Fit what cross-fits classifiers in the folds of the choice, if that is possible."""
    try:
        return fit(folded)
    except DataError:  # what is needed in two groups is in one fold only
        if folded is data:
            raise
    return fit(data)


# ---- which candidates are tried together, in what order, and for how long


@dataclass(frozen=True, eq=False)
class Task:
    """Candidates that are tried together: tuned metrics that see the same, a path, a classifier."""

    candidates: Sequence[Method]
    work: Callable[..., Any]
    """Trials in a fold, or in all folds, and what was learned from all."""
    cost: float = 1.0
    """As of a :class:`structsvm.learner.Method`; that of metrics is about one."""
    at_once: bool = False
    """Whether all folds are tried at once, by an estimator that holds recordings out itself."""

    @property
    def is_learned_again(self) -> bool:
        return not (self.candidates[0].is_metric or self.at_once)

    @property
    def is_untrained(self) -> bool:
        return any(c.name == "untrained" for c in self.candidates)

    @property
    def is_first(self) -> bool:
        return any(c.is_first for c in self.candidates)

    def tried_in(self, folds: Sequence[Fold], end: float) -> tuple[Tried | None, float]:
        """What was found in these folds, None if it did not end in time, and seconds."""
        start = time.perf_counter()
        try:
            with until(end):
                found: Tried | None = (
                    self.work(folds) if self.at_once else ([self.work(one) for one in folds], None)
                )
        except OutOfTimeError:
            found = None
        return found, time.perf_counter() - start


def tasks_of(
    asked: Mapping[Method, Settings], candidates: Sequence[Method], whole: Whole | None
) -> list[Task]:
    """The tasks in order: what others have to beat, what answers first, then by preference.

    ``asked`` are the settings of all metrics.
    """
    alike: dict[Any, dict[Method, Settings]] = {}
    for c, settings in asked.items():
        kind = c.name if c.has_path else ""
        alike.setdefault((id(settings.features), settings.standardize, kind), {})[c] = settings
    tasks = [
        Task(list(some), partial(_try_metrics, some), max(c.cost for c in some))
        for some in alike.values()
    ]
    for c in candidates:
        if c in asked:
            continue
        if whole is not None and hasattr(c.learner, "learn_held_out"):
            tasks.append(Task([c], partial(_try_at_once, c, whole), c.cost, at_once=True))
        else:
            tasks.append(Task([c], partial(try_method, c), c.cost))
    place = {c: number for number, c in enumerate(candidates)}

    def order(task: Task) -> tuple[bool, bool, int]:
        return not task.is_untrained, not task.is_first, min(place[c] for c in task.candidates)

    return sorted(tasks, key=order)


class Clock:
    """How long tasks take, and which of them there is time for until ``end``."""

    def __init__(self, end: float = math.inf, n_jobs: int | None = None) -> None:
        self.end = end
        self.n_workers = effective_n_jobs(n_jobs)
        self.start = time.monotonic()
        self.told = 0.0
        self.seconds: dict[Task, float] = {}
        """What each task took when it was last asked: in a first fold functions may be compiled."""

    @property
    def kept(self) -> float:
        """Seconds in which the choice and classifiers are learned from all recordings, about."""
        tried = [s for task, s in self.seconds.items() if task.is_learned_again]
        metrics = [s for task, s in self.seconds.items() if task.candidates[0].has_path]
        return AGAIN * (sum(tried) + max(metrics, default=0.0))

    @property
    def end_of_trials(self) -> float:
        return self.end - self.kept

    def takes(self, task: Task) -> float:
        """Seconds that a task takes each time it is asked, about."""
        known = sum(other.cost for other in self.seconds)
        rate = sum(self.seconds.values()) / known if known else USUAL_RATE
        return self.seconds.get(task, task.cost * rate)

    def needs(self, task: Task, n_folds: int) -> float:
        """Seconds that a task will take for so many folds, and to be learned again."""
        again = AGAIN if task.is_learned_again and task not in self.seconds else 0.0
        return self.takes(task) * ((1 if task.at_once else n_folds / self.n_workers) + again)

    def share(self, task: Task, left: Sequence[Task]) -> AbstractContextManager[None]:
        """What is told meanwhile, as a part of the time for what is left, learning included."""
        now = time.monotonic()
        total = 0.0
        for other, n_folds in Counter(left).items():
            if now + total + self.needs(other, n_folds) <= self.end_of_trials:
                total += self.takes(other) * n_folds / self.n_workers
            elif now + total + self.least(other, n_folds) <= self.end_of_trials:
                total = self.end_of_trials - now  # it is begun, and perhaps stopped
                break
        elapsed = now - self.start
        takes = self.takes(task) / self.n_workers
        whole = max(elapsed + max(total, takes) + self.kept, 1e-9)
        start = max(self.told, elapsed / whole)
        self.told = max(start, min((elapsed + takes) / whole, 1.0))
        return share(baseline_in_words(task.candidates[0].name), start, self.told)

    def least(self, task: Task, n_folds: int) -> float:
        """Seconds without which it is not begun: it may take far less than it costs."""
        return self.needs(task, n_folds) if task in self.seconds else self.takes(task) / LESS

    def allows(self, task: Task, folds_left: int) -> bool:
        return time.monotonic() + self.least(task, folds_left) <= self.end_of_trials


def trials_of(
    tasks: Sequence[Task],
    folds: Sequence[Fold],
    clock: Clock,
    saved: SavedTrials | None = None,
) -> tuple[dict[Method, list[Trial]], dict[Method, float]]:
    """Trials in each fold of what there is time for, and what others would take.

    What others have to beat and what answers first are tried whatever time they take, and if these
    fail, what is preferred of the others.
    """
    saved = SavedTrials() if saved is None else saved
    pairs = [(task, fold.number) for task in tasks for fold in folds]
    found = {pair: known for pair in pairs if (known := saved.of(*pair)) is not None}
    n = len(folds)
    for (task, _), trials in found.items():
        clock.seconds[task] = sum(trial.seconds for trial in trials)
    parts = [(task, part) for task in tasks for part in ([folds] if task.at_once else zip(folds))]
    asked = [(task, part) for task, part in parts if (task, part[0].number) not in found]
    first = [task for task in tasks if task.is_first]
    learned = [task for task in tasks if task.candidates[0].has_path]
    needed = {*(task for task in tasks if task.is_untrained), *(first or learned[:1])}
    begun: list[tuple[Task, Sequence[Fold]]] = []
    late: set[Task] = set()

    def jobs() -> Iterator[Any]:
        for number, (task, part) in enumerate(asked):
            if not _is_answered(found):
                needed.add(task)
            if task not in needed and not clock.allows(task, n - part[0].number):
                late.add(task)
            if task not in late:
                begun.append((task, part))
                with clock.share(task, [other for other, _ in asked[number:] if other not in late]):
                    yield delayed(task.tried_in)(
                        part, math.inf if task in needed else clock.end_of_trials
                    )

    with Parallel(n_jobs=clock.n_workers, return_as="generator") as parallel:
        for number, (tried, seconds) in enumerate(parallel(jobs())):
            task, part = begun[number]
            if tried is None:
                late.add(task)
                continue
            clock.seconds[task] = seconds
            of_folds, model = tried
            if model is not None:
                saved.models[task.candidates[0].name] = model
            for fold, trials in zip(part, of_folds, strict=True):
                found[task, fold.number] = trials
                saved.keep(task, fold.number, trials)
    return _tried_and_untried(tasks, found, clock, n)


def _is_answered(found: Mapping[tuple[Task, int], list[Trial]]) -> bool:
    """Whether there is more to choose from than what others have to beat."""
    for (task, _), trials in found.items():
        for candidate, trial in zip(task.candidates, trials, strict=True):
            if candidate.name != "untrained" and not trial.failure:
                return True
    return False


def _tried_and_untried(
    tasks: Sequence[Task], found: Mapping[tuple[Task, int], list[Trial]], clock: Clock, n: int
) -> tuple[dict[Method, list[Trial]], dict[Method, float]]:
    tried = {}
    untried = {}
    for task in tasks:
        of_folds = [found[task, k] for k in range(n) if (task, k) in found]
        for j, c in enumerate(task.candidates):
            if len(of_folds) == n:
                tried[c] = [trials[j] for trials in of_folds]
            else:
                untried[c] = clock.needs(task, n) / len(task.candidates)
    return tried, untried


class SavedTrials:
    """Trials with which the same search goes on later, in memory and in a file if one is named."""

    def __init__(self, path: str | PathLike[str] | None = None, identity: str = "") -> None:
        self.path = None if path is None else Path(path)
        self.identity = identity
        self.trials: dict[str, list[dict[str, Any]]] = {}
        self.models: dict[str, Any] = {}
        """Learners of all samples that were learned meanwhile, by the name of the candidate."""
        if self.path is not None and self.path.exists():
            header, _ = TRIALS.read(self.path)
            if header.get("identity") != identity:
                raise CheckpointError(
                    f"{path} is of other data or settings: give the same ones to go on, or start "
                    "again without resuming"
                )
            self.trials = header["trials"]

    def of(self, task: Task, fold: int) -> list[Trial] | None:
        plain = self.trials.get(self._key(task, fold))
        return None if plain is None else [Trial.from_plain(one) for one in plain]

    def keep(self, task: Task, fold: int, trials: Sequence[Trial]) -> None:
        self.trials[self._key(task, fold)] = [trial.to_plain() for trial in trials]
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            TRIALS.write(self.path, {"identity": self.identity, "trials": self.trials}, {})

    def _key(self, task: Task, fold: int) -> str:
        asked = [(c.name, c.lam, c.learner) for c in task.candidates]
        return f"{fingerprint(asked)} {fold}"


# ---- how a task is done in a fold


def _try_metrics(asked: Mapping[Method, Settings], fold: Fold) -> list[Trial]:
    """Metrics that see the same: those that are only tuned, or a learned one along its path."""
    start = time.perf_counter()
    settings = next(iter(asked.values()))
    try:
        with without_warnings(DataWarning):
            fit = partial(Inputs.fit, settings.features, settings.standardize)
            inputs, train = cross_fitted(fit, fold.folded, fold.train)
            seen = inputs(fold.test.samples), inputs.states
            train = train.parts  # features see what has no labels, and metrics do not
    except (DataError, LearningError) as error:
        if any(c.name == "untrained" for c in asked):  # which the others have to beat
            error.add_note(f"in fold {fold.number}")
            with among():  # the fold
                raise
        return [fold.failed(error, start) for _ in asked]
    sees = id(settings.features), settings.standardize
    if sees not in fold.untrained:
        fold.untrained[sees] = _closed_form("untrained", train)
    untrained = fold.untrained[sees]
    found = []
    for c in asked:
        if c.has_path:
            return _try_path([*asked.values()], train, untrained, seen, fold)
        start = time.perf_counter()
        name = str(asked[c].closed_form)
        shrinkage = asked[c].shrinkage
        metric = untrained if name == "untrained" else _closed_form(name, train, shrinkage)
        found.append(fold.trial_of(metric, seen, time.perf_counter() - start))
    return found


def _try_path(
    path: Sequence[Settings],
    train: TrainingSet,
    untrained: Metric,
    seen: SamplesAndStates,
    fold: Fold,
) -> list[Trial]:
    """One kind of learned metric along a path of ``lam``, each from the cuts of those before."""
    trials = []
    # One recording in a fold, or a feature that is constant there, is told once for all.
    with without_warnings(DataWarning, ConvergenceWarning):
        check_truths(train.problem.traits, train.truths)
        state = FitState.of(path[0], train, untrained)
        memory = Memory() if train.problem.traits.convex else None
        for settings in stage("lam", path):
            start = time.perf_counter()
            try:
                with share("the metric", 0.0, 0.5):
                    omega = state.objective.regularizer(settings.regularizer, settings.lam)
                    risk = replace(state.risk, regularizer=omega)  # type: ignore[type-var]
                    solution = settings.solver.solve(risk, memory=memory)
                if solution.status is Status.INTERRUPTED:
                    raise KeyboardInterrupt("while choosing a metric")
                with share("its price", 0.5, 1.0):
                    metric = state.result(settings, solution).metric
            except (LearningError, MasterError) as error:
                trials.append(fold.failed(error, start, refused=False))
                continue
            about = {"converged": solution.status.converged, "oracle_calls": solution.oracle_calls}
            trial = fold.trial_of(metric, seen, time.perf_counter() - start, **about)
            trials.append(trial)
    return trials


def _closed_form(name: str, data: TrainingSet, shrinkage: float | None = None) -> Metric:
    """A metric that minimises nothing, of samples as it sees them."""
    factor, calibration = tuned(name, data.problem, data.examples, shrinkage)
    return calibration.metric(factor)


def try_method(method: Method, fold: Fold) -> list[Trial]:
    """A candidate that is no metric: learned from the samples as they were measured."""
    start = time.perf_counter()
    try:
        with without_warnings(DataWarning):
            learner = cross_fitted(method.learned_from, fold.folded, fold.train)
        seconds = time.perf_counter() - start
        seen = learner.inputs_(fold.test.samples), learner.classes_
        return [fold.trial_of(learner.model_, seen, seconds)]
    except (DataError, LearningError) as error:
        return [fold.failed(error, start)]


def _try_at_once(method: Method, whole: Whole, folds: Sequence[Fold]) -> Tried:
    """A learner that is fitted once, and partitions samples by what it learned from others."""
    start = time.perf_counter()
    (data, held_out) = whole
    fold_of = np.full(len(data), -1)
    for k, which in enumerate(held_out):
        fold_of[which] = k
    learner = copy(method.learner)
    if learner.n_folds is not None:
        data = in_folds(data, fold_of, FEWEST_INNER + 1)
    try:
        with without_warnings(DataWarning, ConvergenceWarning):
            samples, models = learner.learn_held_out(data)
    except (DataError, LearningError) as error:
        return [[fold.failed(error, start)] for fold in folds], None
    trials = []
    for fold, which in zip(folds, held_out, strict=True):
        seen = [samples[i] for i in which.tolist()], learner.classes_
        own = [models[i] for i in which.tolist()]
        seconds = (time.perf_counter() - start) / len(folds)
        trials.append([fold.trial_of(own, seen, seconds)])
    return trials, learner
