"""How every candidate did on the recordings it was not tuned on, and what follows from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from structsvm.data.sample import Sample
from structsvm.errors import DataError, DataWarning, LearningError, MasterError
from structsvm.evaluation.confusion import share_right
from structsvm.evaluation.contrast import LEARNED, chosen, standard_error
from structsvm.evaluation.sentences import NOTES, baseline_in_words
from structsvm.evaluation.splits import Split
from structsvm.evaluation.verdict import Verdict
from structsvm.features.names import read_names
from structsvm.learner.baselines import fit_baseline, labels_by, partitions_of, tuned_metric
from structsvm.learner.fitting import FitState
from structsvm.learner.settings import Settings
from structsvm.learner.steps import names_by_metric
from structsvm.learner.training_set import STATES, Inputs, TrainingSet
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import Baseline, Candidate, names_states
from structsvm.solvers.planes import Memory
from structsvm.status import Status
from structsvm.support.arrays import Floats, Ints
from structsvm.support.progress import share, stage
from structsvm.support.quiet import without_warnings

FEWEST_INNER = 2
"""Folds within folds that a classifier is cross-fitted in, at least."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Losses of all candidates on all recordings, each held out once."""

    split: Split
    candidates: Sequence[Candidate]
    """In the order of preference."""
    trials: Sequence[Sequence[Trial]]
    """One for each candidate, in each fold."""
    judge_with_k: bool
    choose_with_k: bool
    blind: Mapping[str, Floats] = field(default_factory=dict)
    """Losses of what is blind to the samples and no candidate, (N,) each."""

    @classmethod
    def run(
        cls,
        settings: Callable[[Candidate], Settings],
        candidates: Sequence[Candidate],
        split: Split,
        *,
        blind: Sequence[Baseline] = (),
        judge_with_k: bool,
        choose_with_k: bool,
        n_jobs: int | None,
    ) -> HeldOut:
        """Try every candidate on every fold."""
        folds = [
            Fold(k, data.counted(), split.test_set(k), _aligned(data, split, k))
            for k, data in enumerate(split.training)
        ]
        asked = {c: settings(c) for c in candidates if c.estimator is None}
        trials = trials_of(asked, candidates, folds, n_jobs)
        losses = {one.name: np.empty(len(split.held_out)) for one in blind}
        for fold in folds:
            for one in blind:
                of_fold = try_baseline(one, fold).losses[:, int(judge_with_k)]
                losses[one.name][split.test(fold.number)] = of_fold
        return cls(split, candidates, trials, judge_with_k, choose_with_k, losses)

    @cached_property
    def _losses(self) -> Floats:
        """Losses without and with K given, (N, n_candidates, 2); NaN where a candidate failed."""
        losses = np.empty((len(self.split.held_out), len(self.candidates), 2))
        for k, row in enumerate(self.trials):
            losses[self.split.test(k)] = np.stack([t.losses for t in row], axis=1)
        return losses

    @property
    def losses(self) -> Floats:
        """Losses that the verdict compares, (N, n_candidates)."""
        return np.asarray(self._losses[..., int(self.judge_with_k)])

    @property
    def criterion(self) -> Floats:
        """Losses that candidates are chosen by, (N, n_candidates)."""
        return np.asarray(self._losses[..., 1] if self.choose_with_k else self._losses.mean(axis=2))

    @property
    def weights(self) -> Floats:
        """Weights of the recordings in every mean, (N,)."""
        return self.split.held_out.weights

    @property
    def _usable(self) -> NDArray[np.bool_]:
        """Which candidates failed in no fold."""
        return np.asarray(~np.isnan(self.criterion).any(axis=0))

    @property
    def _learned_criterion(self) -> Floats:
        """The criterion, NaN for candidates that are not learned or failed in a fold."""
        learned = np.array([c.is_learned for c in self.candidates])
        return np.where(learned & self._usable, self.criterion, np.nan)

    def _chosen(self, losses: Floats, recordings: Ints | None = None) -> int:
        """The candidate to take, by the losses of these recordings or of all."""
        which = np.arange(len(losses)) if recordings is None else recordings
        units = np.unique(self.split.units[which], return_inverse=True)[1]
        names = [c.name for c in self.candidates]
        return chosen(losses[which], units, names, self.weights[which])

    @property
    def best(self) -> Candidate:
        """The candidate that is chosen from all; of the default and those that name states, if any.

        Labels with names ask for names, and the default is what suits the labels.
        """
        names = ~np.isnan(self.accuracy).all(axis=0)
        first = int(np.flatnonzero(self._usable)[0])
        eligible = names | (np.arange(names.size) == first) | ~names.any()
        return self.candidates[self._chosen(np.where(eligible, self.criterion, np.nan))]

    @property
    def accuracy(self) -> Floats:
        """The share of items that are named right, (N, n_candidates); NaN where none is named."""
        found = np.full(self.criterion.shape, np.nan)
        for k, row in enumerate(self.trials):
            for j, trial in enumerate(row):
                found[self.split.test(k), j] = trial.accuracy
        return found

    @property
    def naming(self) -> str:
        """A sentence that says which candidate names best; "" if none names states."""
        shares = np.average(self.accuracy, axis=0, weights=self.weights)
        if np.isnan(shares).all():
            return ""
        best = int(np.nanargmax(shares))
        method, item = baseline_in_words(self.candidates[best].name), self.split.words.item
        return NOTES["names"].format(method=method, share=shares[best], item=item)

    @property
    def best_learned(self) -> Candidate:
        """The candidate that is chosen from the learned ones."""
        eligible = self._learned_criterion
        if np.isnan(eligible).any(axis=0).all():
            failures = [trial.failure for row in self.trials for trial in row if trial.failure]
            raise LearningError(
                f"no learned candidate gave a metric in each of the {len(self.trials)} folds; the "
                f"last one: {failures[-1]}"
            )
        return self.candidates[self._chosen(eligible)]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the candidate that the other folds choose for each recording."""
        eligible, split, data = self._learned_criterion, self.split, self.split.held_out
        honest = np.empty(len(eligible))
        for k in range(len(split)):
            held_out = split.test(k)
            honest[held_out] = self.losses[held_out, self._chosen(eligible, split.train(k))]
        others = [(j, c) for j, c in enumerate(self.candidates) if not c.is_learned]
        classifiers = [c.name for _, c in others if c.estimator is not None]
        return Verdict.of(
            {LEARNED: honest, **{c.name: self.losses[:, j] for j, c in others}, **self.blind},
            split.units,
            split.numbers,
            grouped=split.grouped,
            weights=self.weights,
            draws=split.draws,
            inflation=self._inflation,
            classifiers=[*classifiers, *self.blind],
            cross_validated=True,
            best=self.best.name,
            words=split.words,
            measure=data.problem.comparison.measure(data.truths[0]),
            limit=data.problem.comparison.limit(data.truths),
            question=split.question,
            naming=self.naming,
        )

    @property
    def _inflation(self) -> float:
        """Variance of the mean over folds, in units of that of independent differences.

        Folds share what is learned from (Nadeau and Bengio, 2003): ``1/J + n_test / n_train`` in
        place of ``1/J`` for J folds, which is ``1 + 1 / (1 - p)`` times as much where each holds a
        share p of the units out.
        """
        split = self.split
        held_out = [np.unique(split.units[split.test(k)]).size for k in range(len(split))]
        n_units = np.unique(split.units).size
        p = split.draws * float(np.mean(held_out)) / n_units
        return 1.0 + 1.0 / max(1.0 - p, 1.0 / n_units)  # copies of one sample are one unit

    @property
    def refused(self) -> dict[str, str]:
        """Reasons why features or classifiers could not learn, by the name of the candidate."""
        found: dict[str, str] = {}
        for row in self.trials:
            for candidate, trial in zip(self.candidates, row, strict=True):
                if trial.refused:
                    found.setdefault(candidate.name, trial.failure)
        return found

    def table(self) -> dict[str, list[Any]]:
        """A row for each candidate, in columns; gains are over the untrained metric, paired."""
        losses, weights, split = self.losses, self.weights, self.split
        spread = partial(standard_error, units=split.units, weights=weights, draws=split.draws)
        names = [c.name for c in self.candidates]
        gains = losses[:, [names.index("untrained")]] - losses
        tried = list(zip(*self.trials, strict=True))
        table: dict[str, list[Any]] = {
            "candidate": names,
            "lam": [c.lam for c in self.candidates],
            "mean_loss": _means(losses, weights),
            "se_loss": [spread(column) for column in losses.T],
            "mean_criterion": _means(self.criterion, weights),
            "mean_accuracy": _means(self.accuracy, weights),
            "mean_gain": _means(gains, weights),
            "se_gain": [spread(column) for column in gains.T],
            "mean_fit_seconds": [float(np.mean([t.seconds for t in row])) for row in tried],
            "mean_oracle_calls": [float(np.mean([t.oracle_calls for t in row])) for row in tried],
            "converged": [all(t.converged for t in row) for row in tried],
            "failure": [next((t.failure for t in row if t.failure), "") for row in tried],
        }
        for k in range(len(split)):
            here = split.test(k)
            table[f"split{k}_loss"] = _means(losses[here], weights[here])
        return table


def _aligned(training: TrainingSet, split: Split, k: int) -> TrainingSet | None:
    """The training set of a fold with the other folds for groups, if there are enough."""
    others = split.train(k)
    if split.shares is not None or len(split) <= FEWEST_INNER or len(others) != len(training):
        return None
    return replace(training, groups=split.fold[others].tolist()).counted()


def _means(losses: Floats, weights: Floats) -> list[float]:
    """Weighted mean of each column; NaN where nothing has any weight."""
    if not weights.any():
        return [float("nan")] * losses.shape[1]
    return [float(mean) for mean in np.average(losses, axis=0, weights=weights)]


# ---- candidates tuned on some recordings and tried on others


Learned = TypeVar("Learned")

SEEING = ("features", "standardize")
"""Settings of a candidate that say what its metric sees."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Losses of a candidate in a fold, or why it failed."""

    losses: Floats
    """Of each held-out recording, (n, 2): segmented by the penalty, and with K given; NaN if the
    candidate failed. See :func:`structsvm.partitions.problem.disagreement`."""
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


@dataclass(frozen=True, eq=False)
class Fold:
    """Recordings to tune on, and others to try on, as they were measured."""

    number: int
    train: TrainingSet
    test: TrainingSet
    aligned: TrainingSet | None = None
    """What is tuned on with the other folds for groups, if there are enough of them: what is
    cross-fitted on it again then learns from the same recordings as in other folds."""

    @property
    def counts(self) -> list[int]:
        return [truth.n_clusters for truth in self.test.truths]

    def trial(
        self, guesses: Sequence[Sequence[EquivalenceMatrix]], seconds: float, **about: Any
    ) -> Trial:
        """The trial of a candidate that gives these partitions, without and with K given."""
        truths, compared = self.test.truths, self.test.problem.comparison
        columns = [
            [compared.disagreement(truth, M) for truth, M in zip(truths, found, strict=True)]
            for found in guesses
        ]
        return Trial(np.array(columns).T, seconds, **about)

    @cached_property
    def names(self) -> Sequence[NDArray[Any]] | None:
        """The true name of each item; None where there are none, or one is hidden from learning."""
        given, test = self.test.item_labels, self.test
        if given is None or test.question == STATES:
            return None
        sizes = [sample.n_samples for sample in test.samples]
        return read_names(given, sizes, test.problem.traits.words.whole)

    def accuracy(self, found: Sequence[NDArray[Any]] | None) -> Floats | float:
        """The share of items of each recording that have their right name, (n,); NaN for none."""
        if found is None or self.names is None:
            return np.nan
        return np.array(list(map(share_right, self.names, self.test.truths, found)))

    def cross_fitted(self, fit: Callable[[TrainingSet], Learned]) -> Learned:
        if self.aligned is not None:
            try:
                return fit(self.aligned)
            except DataError:  # what is needed in two groups is in one fold only
                pass
        return fit(self.train)

    def trial_of(
        self,
        metric: Metric,
        samples: Sequence[Sample],
        states: NDArray[Any] | None,
        seconds: float,
        **about: Any,
    ) -> Trial:
        """The trial of a metric on the held-out samples with its features, and states of these."""
        problem, pairs = self.test.problem, list(zip(samples, self.counts, strict=True))
        counted = [problem.partition(x, metric, K) for x, K in pairs]
        priced = counted
        if metric.price is not None and not problem.traits.given_k:
            priced = [problem.partition(x, metric, None) for x in samples]
        names = names_by_metric({"": priced}, samples, states).get("")
        accuracy = self.accuracy(names)
        return self.trial([priced, counted], seconds, accuracy=accuracy, **about)

    def failed(self, why: object, start: float, refused: bool = True) -> Trial:
        """The trial of a candidate that failed after it was tried from ``start``."""
        nothing, seconds = np.full((len(self.test), 2), np.nan), time.perf_counter() - start
        return Trial(nothing, seconds, failure=f"{why} (fold {self.number})", refused=refused)


def trials_of(
    asked: Mapping[Candidate, Settings],
    candidates: Sequence[Candidate],
    folds: Sequence[Fold],
    n_jobs: int | None,
) -> list[list[Trial]]:
    """A trial for each candidate in each fold; ``asked`` are the settings of all metrics.

    There is a job for each fold and each set of features, which are made once for all metrics that
    see them, and one for each fold and classifier.
    """
    seeing: dict[Any, dict[Candidate, Settings]] = {}
    for c, settings in asked.items():
        seeing.setdefault((id(settings.features), settings.standardize), {})[c] = settings
    fitted = [c for c in candidates if c.estimator is not None]
    metrics = [(some, fold) for fold in folds for some in seeing.values()]
    classifiers = [(c.estimator, fold) for fold in folds for c in fitted]
    found: dict[tuple[int, Candidate], Trial] = {}
    with Parallel(n_jobs=n_jobs) as parallel:
        with share("metrics", 0.0, 0.7 if fitted else 1.0):
            tried = parallel(delayed(_try_metrics)(*job) for job in stage("folds", metrics))
        for (some, fold), trials in zip(metrics, tried, strict=True):
            found |= zip([(fold.number, c) for c in some], trials, strict=True)
        with share("classifiers", 0.7, 1.0):
            tried = parallel(delayed(try_baseline)(*job) for job in stage("folds", classifiers))
        keys = [(fold.number, c) for fold in folds for c in fitted]
        found |= zip(keys, tried, strict=True)
    return [[found[fold.number, c] for c in candidates] for fold in folds]


def _try_metrics(asked: Mapping[Candidate, Settings], fold: Fold) -> list[Trial]:
    """Metrics that see the same features: those that are tuned only, and those that are learned."""
    start, settings = time.perf_counter(), next(iter(asked.values()))
    try:
        with without_warnings(DataWarning):
            fit = partial(Inputs.fit, settings.features, settings.standardize)
            inputs, train = fold.cross_fitted(fit)
            seen = inputs(fold.test.samples), inputs.states
            train = train.parts  # features see what has no labels, and metrics do not
    except (DataError, LearningError) as error:
        if any(c.name == "untrained" for c in asked):  # which the others have to beat
            error.add_note(f"in fold {fold.number}")
            raise
        return [fold.failed(error, start) for _ in asked]
    untrained = tuned_metric("untrained", train)
    found: dict[Candidate, Trial] = {}
    paths: dict[str, list[Candidate]] = {}
    for c in asked:
        start = time.perf_counter()
        if c.tuned is None:
            paths.setdefault(c.name, []).append(c)
            continue
        metric = untrained if c.tuned == "untrained" else candidate_metric(c, train)
        found[c] = fold.trial_of(metric, *seen, time.perf_counter() - start)
    for path in stage("metrics", list(paths.values())):
        trials = _try_path([asked[c] for c in path], train, untrained, seen, fold)
        found |= zip(path, trials, strict=True)
    return [found[c] for c in asked]


def _try_path(
    path: Sequence[Settings],
    train: TrainingSet,
    untrained: Metric,
    seen: tuple[Sequence[Sample], NDArray[Any] | None],
    fold: Fold,
) -> list[Trial]:
    """One kind of learned metric along a path of ``lam``, the largest first.

    Each step begins with the cuts of the one before.
    """
    trials, (samples, states) = [], seen
    # One recording in a fold, or a feature that is constant there, is told once for all.
    with without_warnings(DataWarning, ConvergenceWarning):
        train.problem.learning.check(train.truths)
        path[0].check(train.n_features, len(train))
        state = FitState.of(path[0], train, untrained)
        memory = Memory() if train.problem.traits.convex else None
        for settings in stage("lam", path):
            start = time.perf_counter()
            try:
                with share("the metric", 0.0, 0.5):
                    solution = settings.solver.solve(
                        state.risk.regularized(settings.weighted(state.objective)), memory=memory
                    )
                if solution.status is Status.INTERRUPTED:
                    raise KeyboardInterrupt("while choosing a metric")
                with share("its price", 0.5, 1.0):
                    metric = state.result(settings, solution).metric
            except (LearningError, MasterError) as error:
                trials.append(fold.failed(error, start, refused=False))
                continue
            about = {"converged": solution.status.converged, "oracle_calls": solution.oracle_calls}
            trial = fold.trial_of(metric, samples, states, time.perf_counter() - start, **about)
            trials.append(trial)
    return trials


def candidate_metric(candidate: Candidate, data: TrainingSet) -> Metric:
    """A candidate that is tuned only, on samples as its metric sees them."""
    options = {k: v for k, v in candidate.settings.items() if k not in SEEING}
    return tuned_metric(str(candidate.tuned), data, **options)


def try_baseline(baseline: Baseline, fold: Fold) -> Trial:
    """A candidate that is no metric: fitted to the samples as they were measured."""
    start = time.perf_counter()
    problem, samples = fold.test.problem, fold.test.samples
    try:
        with without_warnings(DataWarning):
            model = fold.cross_fitted(partial(fit_baseline, baseline))
        seconds = time.perf_counter() - start
        labels = [
            labels_by(model, baseline.name, problem, samples, asked)
            for asked in (None, fold.counts)
        ]
    except (DataError, LearningError) as error:
        return fold.failed(error, start)
    accuracy = fold.accuracy(labels[0] if names_states(model) else None)
    return fold.trial([partitions_of(y, problem) for y in labels], seconds, accuracy=accuracy)
