"""Which candidates are tried together, in what order, and for how long."""

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from structsvm.errors import CheckpointError
from structsvm.evaluation import baseline_in_words
from structsvm.learner import Method
from structsvm.learner.fitting import Settings
from structsvm.model_selection.attempts import Tried, Whole, try_at_once, try_method, try_metrics
from structsvm.model_selection.folds import Fold, Trial
from structsvm.support import Archive, OutOfTimeError, fingerprint, share, until

REFIT_COST = 1.5
"""The time to learn from all recordings, in units of that to learn in a fold."""

USUAL_RATE = 1.0
"""Seconds that a task of cost one takes in a fold, where nothing was tried yet."""

LESS = 4.0
"""A task may take so many times less time than its cost says."""

TRIALS = Archive("search", 2, CheckpointError)


@dataclass(frozen=True, eq=False)
class Task:
    """Candidates tried together: closed forms of the same features, a path, or a single one."""

    candidates: Sequence[Method]
    work: Callable[..., Any]
    """A function of a fold to its trials, or, ``at_once``, of all folds to :data:`Tried`."""
    cost: float = 1.0
    """As of a :class:`structsvm.learner.Method`; that of metrics is about one."""
    at_once: bool = False
    """Whether all folds are tried at once, by an estimator that holds recordings out itself."""

    @property
    def is_learned_again(self) -> bool:
        """Whether the candidate is learned once more from all recordings after the choice."""
        return not (self.candidates[0].is_metric or self.at_once)

    @property
    def is_untrained(self) -> bool:
        return any(c.name == "untrained" for c in self.candidates)

    @property
    def is_first(self) -> bool:
        return any(c.is_first for c in self.candidates)

    @property
    def is_closed_form(self) -> bool:
        """Whether all candidates are metrics in closed form that are baselines, such as RCA."""
        return all(
            c.is_metric and not c.has_path and c.name == c.learner.metric for c in self.candidates
        )

    def tried_in(self, folds: Sequence[Fold], end: float) -> tuple[Tried | None, float]:
        """The trials in these folds, None if the time was over, and the seconds taken."""
        start = time.perf_counter()
        try:
            with until(end):
                tried: Tried | None = (
                    self.work(folds) if self.at_once else ([self.work(one) for one in folds], None)
                )
        except OutOfTimeError:
            tried = None
        return tried, time.perf_counter() - start


def tasks_of(
    metrics: Mapping[Method, Settings], candidates: Sequence[Method], whole: Whole | None
) -> list[Task]:
    """The tasks in order: the untrained metric, the first answer, closed forms, and all others.

    ``metrics`` are the settings of all metrics among the candidates.
    """
    alike: dict[Any, dict[Method, Settings]] = {}
    for c, settings in metrics.items():
        # The untrained metric is tried before all others, which may have to wait.
        kind = c.name if c.has_path or c.name == "untrained" else ""
        alike.setdefault((id(settings.features), settings.standardize, kind), {})[c] = settings
    tasks = [
        Task(list(group), partial(try_metrics, group), max(c.cost for c in group))
        for group in alike.values()
    ]
    for c in candidates:
        if c in metrics:
            continue
        if whole is not None and hasattr(c.learner, "learn_held_out"):
            tasks.append(Task([c], partial(try_at_once, c, whole), c.cost, at_once=True))
        else:
            tasks.append(Task([c], partial(try_method, c), c.cost))
    place = {c: number for number, c in enumerate(candidates)}

    def order(task: Task) -> tuple[bool, bool, bool, int]:
        preferred = min(place[c] for c in task.candidates)
        return not task.is_untrained, not task.is_first, not task.is_closed_form, preferred

    return sorted(tasks, key=order)


class Clock:
    """How long tasks take, and which of them there is time for until ``end``."""

    def __init__(self, end: float = math.inf, n_jobs: int | None = None) -> None:
        self.end = end
        self.n_workers = effective_n_jobs(n_jobs)
        self.start = time.monotonic()
        self.reported = 0.0  # the share of the time that progress was last said to have taken
        self.seconds: dict[Task, float] = {}
        """What each task took the last time: in the first fold, functions may be compiled."""

    @property
    def kept(self) -> float:
        """Seconds to be kept for learning the choice and classifiers from all recordings, about."""
        tried = [s for task, s in self.seconds.items() if task.is_learned_again]
        metrics = [s for task, s in self.seconds.items() if task.candidates[0].has_path]
        return REFIT_COST * (sum(tried) + max(metrics, default=0.0))

    @property
    def end_of_trials(self) -> float:
        return self.end - self.kept

    def takes(self, task: Task) -> float:
        """Seconds that a task takes in a fold, or at once, about."""
        cost = sum(other.cost for other in self.seconds)
        rate = sum(self.seconds.values()) / cost if cost else USUAL_RATE
        return self.seconds.get(task, task.cost * rate)

    def needs(self, task: Task, n_folds: int) -> float:
        """Seconds that a task will take for so many folds, and to be learned again."""
        again = REFIT_COST if task.is_learned_again and task not in self.seconds else 0.0
        return self.takes(task) * ((1 if task.at_once else n_folds / self.n_workers) + again)

    def share(
        self, task: Task, left: Sequence[Task], needed: Collection[Task]
    ) -> AbstractContextManager[None]:
        """Report the progress of a task as a share of all time, that of learning included.

        ``left`` are the tasks that remain; ``needed`` ones are tried even if time is over.
        """
        now = time.monotonic()
        total = 0.0
        for other, n_folds in Counter(left).items():
            is_tried = now + total + self.needs(other, n_folds) <= self.end_of_trials
            if other in needed or is_tried:
                total += self.takes(other) * n_folds / self.n_workers
            elif now + total + self.least(other, n_folds) <= self.end_of_trials:
                total = self.end_of_trials - now  # it is begun, and perhaps stopped
                break
        elapsed = now - self.start
        takes = self.takes(task) / self.n_workers
        whole = max(elapsed + max(total, takes) + self.kept, 1e-9)
        start = max(self.reported, elapsed / whole)
        self.reported = max(start, min((elapsed + takes) / whole, 1.0))
        return share(baseline_in_words(task.candidates[0].name), start, self.reported)

    def least(self, task: Task, n_folds: int) -> float:
        """Seconds that have to be left to begin a task, which may take far less than it costs."""
        return self.needs(task, n_folds) if task in self.seconds else self.takes(task) / LESS

    def allows(self, task: Task, folds_left: int) -> bool:
        return time.monotonic() + self.least(task, folds_left) <= self.end_of_trials


def trials_of(
    tasks: Sequence[Task],
    folds: Sequence[Fold],
    clock: Clock,
    saved: "SavedTrials | None" = None,
    asked: Collection[str] = (),
) -> tuple[dict[Method, list[Trial]], dict[Method, float]]:
    """Trials of the candidates that there is time for, and the seconds that others would take.

    The untrained metric, closed forms among the names ``asked`` for, and what answers first are
    tried whatever time they take, and, as long as no candidate has succeeded, the next ones in the
    order of preference.
    """
    saved = SavedTrials() if saved is None else saved
    pairs = [(task, fold.number) for task, fold in product(tasks, folds)]
    by_task = {pair: known for pair in pairs if (known := saved.of(*pair)) is not None}
    n = len(folds)
    for (task, _), trials in by_task.items():
        clock.seconds[task] = sum(trial.seconds for trial in trials)
    untried: list[tuple[Task, Sequence[Fold]]] = []
    for task in tasks:
        parts: list[Sequence[Fold]] = [folds] if task.at_once else [[fold] for fold in folds]
        untried += [(task, part) for part in parts if (task, part[0].number) not in by_task]
    needed = _needed(tasks, asked)
    begun: list[tuple[Task, Sequence[Fold]]] = []
    late: set[Task] = set()

    def jobs() -> Iterator[Any]:
        for number, (task, part) in enumerate(untried):
            if not _has_succeeded(by_task):
                needed.add(task)
            if task not in needed and not clock.allows(task, n - part[0].number):
                late.add(task)
            if task not in late:
                begun.append((task, part))
                left = [other for other, _ in untried[number:] if other not in late]
                with clock.share(task, left, needed):
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
                by_task[task, fold.number] = trials
                saved.keep(task, fold.number, trials)
    return _tried_and_untried(tasks, by_task, clock, n)


def _needed(tasks: Sequence[Task], asked: Collection[str]) -> set[Task]:
    """The tasks that are tried whatever time they take."""
    first = [task for task in tasks if task.is_first]
    learned = [task for task in tasks if task.candidates[0].has_path]
    needed = {task for task in tasks if task.is_untrained}
    for task in tasks:
        if task.is_closed_form and not {c.name for c in task.candidates}.isdisjoint(asked):
            needed.add(task)
    return needed | {*(first or learned[:1])}


def _has_succeeded(tried: Mapping[tuple[Task, int], list[Trial]]) -> bool:
    """Whether a candidate other than the untrained metric has succeeded in a fold."""
    for (task, _), trials in tried.items():
        for candidate, trial in zip(task.candidates, trials, strict=True):
            if candidate.name != "untrained" and not trial.failure:
                return True
    return False


def _tried_and_untried(
    tasks: Sequence[Task], by_task: Mapping[tuple[Task, int], list[Trial]], clock: Clock, n: int
) -> tuple[dict[Method, list[Trial]], dict[Method, float]]:
    """The trials of the candidates that were tried in all n folds, and the seconds of others."""
    tried = {}
    untried = {}
    for task in tasks:
        of_folds = [by_task[task, k] for k in range(n) if (task, k) in by_task]
        for j, c in enumerate(task.candidates):
            if len(of_folds) == n:
                tried[c] = [trials[j] for trials in of_folds]
            else:
                untried[c] = clock.needs(task, n) / len(task.candidates)
    return tried, untried


class SavedTrials:
    """Trials that the same search does not repeat later, in memory and, if one is named, a file."""

    def __init__(
        self, path: str | PathLike[str] | None = None, identity: str = "", part: str = ""
    ) -> None:
        self.path = None if path is None else Path(path)
        self.identity = identity
        self.part = part
        """The fingerprint of the data of these trials; a file may hold trials on several parts."""
        self.trials: dict[str, list[dict[str, Any]]] = {}
        self.models: dict[str, Any] = {}
        """Learners that trials fitted on all instances, by the name of the candidate."""
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
        candidates = [(c.name, c.lam, c.learner) for c in task.candidates]
        return f"{self.part} {fingerprint(candidates)} {fold}"
