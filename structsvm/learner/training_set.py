"""The door of learning: samples and what is known of their partitions, checked once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from structsvm.data.columns import warn_about_columns, warn_about_spellings
from structsvm.data.sample import (
    GRAPHS,
    IMAGES,
    RECORDINGS,
    Data,
    Deferred,
    Sample,
    Step,
    Words,
    all_made_by,
    batches_of,
    derived,
    filled,
    in_memory,
    of_each,
)
from structsvm.data.samples import (
    UNKNOWN,
    Counts,
    Standardizer,
    centred,
    check_weights,
    cluster_counts,
    constant_features,
    label_values,
    labels_of_items,
    missing_labels,
    units_of,
    warn_about_constant_features,
)
from structsvm.data.times import usual_steps
from structsvm.errors import DataError, LearningError, among, refuse, warn
from structsvm.features import RecordingTransformer
from structsvm.features.base import check_features, stages_of
from structsvm.features.frames import read_names
from structsvm.features.scores import NamedScores
from structsvm.graphs import FeatureGraph
from structsvm.learner.columns import labelled_parts, warn_of_columns, words_of
from structsvm.learner.form import Form
from structsvm.messages import parameter, wording
from structsvm.parallel import spread
from structsvm.partial_labels import Known, labels_of_each, read_labels
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.learning import Examples
from structsvm.partitions.problem import PartitionProblem, has_rows, read_samples
from structsvm.support import archive
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import some_of
from structsvm.support.codec import fingerprint

ROWS, CLUSTERS, STATES = "rows", "clusters", "states"
SEED = 0
"""Of the recordings that are drawn where not all of them fit in memory."""

Learned = TypeVar("Learned")


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Samples to learn from; N of them, :func:`len`. What ``fit`` takes in place of ``Xs, ys``."""

    problem: PartitionProblem
    samples: Sequence[Sample]
    labels: Sequence[Known]
    weights: Floats
    """(N,); a weight of 2 stands for a sample that is there twice, 0 for one that is not."""
    given: Sequence[Any]
    """The labels of each sample as they were given: features may learn from names of states."""
    names: list[str] | None = None
    """Names of the features, if they have any."""
    groups: Sequence[Any] | None = None
    """Whom or what each sample is of, if that is known, (N,)."""
    question: str | None = None
    """What is asked: of tables, see :attr:`asks`; "states" of recordings; None for the usual."""
    steps: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """From each row to the next, as far as times are known: :func:`usual_steps`."""
    called: Sequence[str] | None = None
    """What the samples themselves are called, (N,), if they have names."""

    @classmethod
    def of(
        cls,
        problem: PartitionProblem,
        Xs: Any,
        ys: Any,
        feature_names: Sequence[str] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> TrainingSet:
        """Read samples and labels in any form that users write them, or take what was read."""
        if isinstance(Xs, cls):
            beside = {"y": ys, "feature_names": feature_names, "sample_weight": sample_weight}
            twice = [k for k, v in (beside | {"groups": groups}).items() if v is not None]
            own, other = type(Xs.problem).__name__, type(problem).__name__
            refuse(
                DataError,
                (
                    type(Xs.problem) is not type(problem),
                    f"a TrainingSet was read for {own}, and this learner is for {other}: read it "
                    "with this",
                ),
                (
                    twice,
                    f"a TrainingSet holds {', '.join(twice)} already: read the samples with it",
                ),
            )
            return replace(Xs, problem=problem)
        form = Form.of(Xs, problem=problem).told()
        named = form.features if feature_names is None else feature_names
        samples, names = read_samples(problem, form.samples, named, None)
        words = problem.traits.words
        given = labels_of_each(form.labels(ys), samples, words)
        if groups is not None:
            names_of_groups, units = units_of(form.in_order(groups, "groups"), len(samples), words)
            groups = [names_of_groups[unit] for unit in units]
        if words not in (GRAPHS, IMAGES):
            _warn_of_unlabelled(given, words)
            called = form.names or list(map(words.numbered, range(len(samples))))
            warn_about_columns([x.data for x in samples], names, called[0])
            warn_about_spellings(given, called)
        found = cls(
            problem,
            samples,
            labels=read_labels(problem, samples, given),
            weights=check_weights(form.in_order(sample_weight, "weights"), len(samples), words),
            names=names,
            groups=groups,
            given=given,
            steps=usual_steps(form.axes),
            called=form.names,
        )
        parts = labelled_parts(samples, found.labels)
        warn_of_columns(samples, found.columns, words_of(problem, samples), parts)
        return found

    def __len__(self) -> int:
        return len(self.samples)

    def at(self, which: Sequence[int] | Ints) -> TrainingSet:
        lists: dict[str, Any] = {
            name: [values[i] for i in which]
            for name in ("samples", "labels", "groups", "given", "called")
            if (values := getattr(self, name)) is not None
        }
        return replace(self, weights=self.weights[np.asarray(which, dtype=np.intp)], **lists)

    def cut(self, pieces: Sequence[tuple[int, Ints]]) -> TrainingSet:
        """Return that of parts of samples, by number and items; partly labelled ones are whole."""
        whole = replace(self.at([i for i, _ in pieces]), groups=None, called=None)
        samples, labels, given = list(whole.samples), list(whole.labels), list(whole.given)
        for k, (_, rows) in enumerate(pieces):
            truth = labels[k].truth
            if truth is None and rows.size == samples[k].n_samples:
                continue
            assert truth is not None
            part = EquivalenceMatrix.from_labels(truth.labels[rows])
            samples[k], labels[k] = samples[k].at(rows), Known.of(part)
            given[k] = label_values(given[k])[rows]
        return replace(whole, samples=samples, labels=labels, given=given)

    @property
    def told_apart(self) -> TrainingSet:
        """Take each sample for a group of its own where all of them are in one group."""
        return replace(self, groups=None) if len({*(self.groups or ())}) == 1 else self

    def counted(self) -> TrainingSet:
        """Those with a weight, and with labels that say anything.

        Completing samples of which nothing is known was measured to be harmful.
        """
        says = [k.truth is not None or not k.constraint.says_nothing for k in self.labels]
        return self.at(np.flatnonzero(self.weights * says))

    def with_features(
        self, Xs: Sequence[Floats], made: tuple[str, ...] | None = None
    ) -> TrainingSet:
        pairs = zip(self.samples, Xs, strict=True)
        return replace(self, samples=[sample.with_features(X, made) for sample, X in pairs])

    def made_by(self, step: Step) -> TrainingSet:
        return replace(self, samples=all_made_by(self.samples, step))

    @property
    def columns(self) -> list[str]:
        """The names of the features, x0, x1, ... if they have none."""
        return self.names or [f"x{j}" for j in range(self.n_features)]

    @property
    def is_deferred(self) -> bool:
        return any(sample.is_deferred for sample in self.samples)

    @property
    def item_labels(self) -> list[Any]:
        """Labels of items, as features and baselines learn from them."""
        pairs = zip(self.given, self.samples, strict=True)
        return [self.problem.learning.item_labels(y, sample) for y, sample in pairs]

    @property
    def arrays(self) -> list[Floats]:
        """The features of each, (T_i, P)."""
        if self.is_deferred:
            raise DataError(
                f"this needs all {self.problem.traits.words.whole}s at once, and these are read "
                "one at a time: give some of them as arrays"
            )
        return [sample.X for sample in self.samples]

    @property
    def n_features(self) -> int:
        return self.samples[0].n_features

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Which samples are labelled in full, (N,)."""
        return np.array([known.truth is not None for known in self.labels], dtype=bool)

    @property
    def scorable(self) -> NDArray[np.bool_]:
        """Which samples partitions can be scored on: those with labels of single items, (N,)."""
        return np.array([known.scored is not None for known in self.labels], dtype=bool)

    @property
    def truths(self) -> list[EquivalenceMatrix]:
        words, truths = self.problem.traits.words, []
        for i, known in enumerate(self.labels):
            if known.truth is None:
                raise DataError(
                    words.numbered(i)
                    + f": is labelled in part only (-1 marks {words.item}s without a label), which "
                    "is enough to learn from but not for this"
                )
            truths.append(known.truth)
        return truths

    @property
    def examples(self) -> Examples:
        """The samples, their partitions, which are all known, and their weights."""
        return Examples(self.samples, self.truths, self.weights)

    @property
    def asks(self) -> str | None:
        return (self.question or ROWS) if has_rows(self.problem, self.samples) else None

    @property
    def parts(self) -> TrainingSet:
        """Everything whose partition is known, as samples of their own."""
        if self.complete.all():
            return self
        found = self.known_parts(lambda x, rows, truth: (x.at(rows), truth))
        labels = [Known.of(truth) for truth in found.truths]
        parts = replace(self, samples=[*found.samples], labels=labels, given=found.truths)
        return replace(parts, weights=found.weights, groups=None, called=None)

    def known_parts(
        self, part: Callable[[Sample, Ints, EquivalenceMatrix], tuple[Sample, Any]]
    ) -> Examples:
        """These samples, made by ``part``, their partitions, and the weights of whom they are."""
        parts, owners = [], []
        for i, (sample, known) in enumerate(zip(self.samples, self.labels, strict=True)):
            for rows, truth in zip(*known.part, strict=True):
                whole = known.truth is not None
                parts.append((sample, truth) if whole else part(sample, rows, truth))
                owners.append(i)
        samples, truths = [x for x, _ in parts], [truth for _, truth in parts]
        return Examples(samples, truths, self.weights[owners])


def _warn_of_unlabelled(ys: Sequence[Any], words: Words) -> None:
    """Warn of the number -1 among labels, which is no class."""
    vectors = [np.asarray(y) for y in ys if isinstance(y, np.ndarray | list)]
    numbers = [y for y in vectors if y.ndim == 1 and y.dtype.kind in "if"]
    n = sum(int((y == UNKNOWN).sum()) for y in numbers)
    if n:
        warn(
            f"{n} of {words.items(sum(y.size for y in numbers))} are without a label (-1): if -1 "
            "is a class, "
            + wording(
                "give names, y.astype(str); PartialLabels(labels=y) says that it is none",
                of_files="write names",
            ),
        )


def names_of_labels(y: Any) -> list[str]:
    """Labels of items as text; a whole number has the same name however it is stored."""
    values = label_values(y).tolist()
    return [str(int(v) if isinstance(v, float) and v.is_integer() else v) for v in values]


# ---- recordings that are read one at a time, brought together as far as they fit in memory


def learn_in_memory(
    data: TrainingSet, name: str, learn: Callable[[TrainingSet], Learned]
) -> tuple[Ints, Learned]:
    """Numbers of the samples that fit in memory, and what is learned from them."""
    if not data.is_deferred:
        return np.arange(len(data)), learn(data)
    which = even_part(data, archive.GATHERED)
    part = data.at(which)
    part = part.with_features(of_each("reading", np.asarray, [x.data for x in part.samples]))
    drawn = f"{which.size} of {data.problem.traits.words.wholes(len(data))}"
    if which.size < len(data):
        amount = archive.amount(archive.GATHERED)
        warn(
            f"{name} is fitted on {drawn}, an even subset: at most {amount} of them are in memory "
            "at once; to use more, give arrays",
        )
    try:
        with among(which.tolist()):
            return which, learn(part)
    except (DataError, LearningError) as error:
        if which.size < len(data):
            error.add_note(f"it is fitted on {drawn}, an even subset: to use more, give arrays")
        raise


def even_part(data: TrainingSet, max_bytes: int) -> Ints:
    """Numbers of samples that fit, ascending: all, or some of each group; two at least."""
    sizes = np.array([8 * sample.n_samples * sample.n_features for sample in data.samples])
    if sizes.sum() <= max_bytes:
        return np.arange(len(data))
    units = units_of(data.groups, len(data), data.problem.traits.words)[1].tolist()
    drawn = np.random.default_rng(SEED).permutation(len(data))
    turns, taken = np.empty(len(data), dtype=np.int64), dict.fromkeys(units, 0)
    for i in drawn.tolist():  # the first one of each group, then the second of each, ...
        turns[i] = taken[units[i]]
        taken[units[i]] += 1
    drawn = drawn[np.argsort(turns[drawn], kind="stable")]
    # Before these, the samples by which each label is in two groups.
    shown: dict[Hashable, set[int]] = {}
    labels, shows_more = data.item_labels, []
    for i in drawn.tolist():
        values = labels_of_items(labels[i], data.samples[i].n_samples)
        names = set() if values is None else {*values[~missing_labels(values)].tolist()}
        groups = [shown.setdefault(name, set()) for name in names]
        shows_more.append(any(len(group) < 2 and units[i] not in group for group in groups))
        for group in groups:
            group.add(units[i])
    order = drawn[np.argsort(~np.array(shows_more), kind="stable")]
    count = int((np.cumsum(sizes[order]) <= max_bytes).sum())
    return np.sort(order[: max(count, 2)])


# ---- the stage from samples as measured to what the metric sees: features, then standardisation


@dataclass(frozen=True, eq=False)
class Inputs:
    """The stages in front of a metric, fitted on the training samples."""

    features: RecordingTransformer | None
    """Fitted; None where the metric sees the columns themselves."""
    standardizer: Standardizer
    words: Words = RECORDINGS
    made: tuple[str, ...] = ()
    """Names of the features that were made; none where the metric sees the columns."""
    namer: Any = None
    """A baseline that says how probable each state is, where the features do not."""

    @classmethod
    def fit(
        cls, features: RecordingTransformer | None, standardize: str | None, data: TrainingSet
    ) -> tuple[Inputs, TrainingSet]:
        words = data.problem.traits.words
        made: tuple[str, ...] = ()
        warn_about_constant_features([sample.data for sample in data.samples], data.names, words)
        if features is not None:
            features = clone(features)
            _check_gaps(features, data.samples, words)
            found = _fit_transform(features, data)
            made = tuple(str(name) for name in features.get_feature_names_out(data.columns))
            data = data.with_features(found, made)
        arrays = [sample.data for sample in data.samples]
        standardizer = Standardizer.fit(standardize, arrays, data.weights)
        inputs = cls(features, standardizer, words, made)
        return inputs, data.made_by(standardizer).made_by(centred)

    def __call__(self, samples: Sequence[Sample]) -> list[Sample]:
        """Samples as the metric sees them, with the probabilities of states if it knows any."""
        found = all_made_by(self.with_features(samples), self.standardizer)
        if self.namer is None:
            return found
        states = ask(self.namer, "predict_proba", samples)
        return [replace(sample, states=p) for sample, p in zip(found, states, strict=True)]

    def with_features(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        if self.features is None:
            return samples
        _check_gaps(self.features, samples, self.words)
        found, states = _transform(self.features, samples, self.words, len(self.made))
        pairs = zip(samples, found, strict=True)
        samples = [sample.with_features(X, self.made or None) for sample, X in pairs]
        if states is None:
            return samples
        return [replace(sample, states=p) for sample, p in zip(samples, states, strict=True)]

    @property
    def states(self) -> NDArray[Any] | None:
        """Names of the states that samples have probabilities of; None for none."""
        stages = stages_of(self.features)
        found = next((stage for stage in stages if isinstance(stage, NamedScores)), self.namer)
        return None if found is None else found.classes_


# ---- what an estimator that is no metric says of samples


def seen_by(baseline: Any, samples: Sequence[Sample]) -> list[Any]:
    """What a baseline is given of samples in memory: their features, or their graphs."""
    graphs = getattr(baseline, "takes_graphs", False)
    graphs = graphs and all(isinstance(x.side, FeatureGraph) for x in samples)
    return [x.side if graphs else filled(x.X) for x in samples]


def ask(baseline: Any, method: str, samples: Sequence[Sample], n_clusters: Counts = None) -> Any:
    """What a method of a baseline says of samples, one at a time if they are not in memory."""
    counts = cluster_counts(n_clusters, [sample.n_samples for sample in samples])
    if any(sample.is_deferred for sample in samples):
        asked = [(baseline, method, () if K is None else ([K],)) for K in counts]
        return of_each("asking", _said_by, [sample.data for sample in samples], asked)
    given = () if n_clusters is None else (counts,)
    return getattr(baseline, method)(seen_by(baseline, samples), *given)


def _said_by(X: Floats, asked: tuple[Any, str, tuple[Any, ...]]) -> Any:
    baseline, method, given = asked
    return getattr(baseline, method)([filled(X)], *given)[0]


def _fit_transform(features: RecordingTransformer, data: TrainingSet) -> Sequence[Any]:
    """The features of the training samples, made by the workers where these need nothing else."""
    if data.is_deferred:
        first = data.samples[0].X
        made_by = _fit_held_out(features, data, first)
        n_features = features.transform([first])[0].shape[1]
        steps = {id(one): _Making(one, fingerprint(one)) for one in made_by}
        pairs = zip(data.samples, made_by, strict=True)
        return [derived(sample.data, steps[id(one)], n_features) for sample, one in pairs]
    words, given = data.problem.traits.words, (data.arrays, data.item_labels, data.groups)
    if type(features).fit_transform is RecordingTransformer.fit_transform:
        return _transform(features.fit(*given), data.samples, words)[0]
    found, name = features.fit_transform(*given), type(features).__name__
    return check_features(found, data.arrays, name, words, gaps=True)


def _transform(
    features: RecordingTransformer,
    samples: Sequence[Sample],
    words: Words,
    n_features: int | None = None,
) -> tuple[Sequence[Any], Sequence[Floats] | None]:
    """Features (T, P') and states of samples, of which each is transformed on its own."""
    data = [sample.data for sample in samples]
    if any(sample.is_deferred for sample in samples):
        step = _Making(features, fingerprint(features))
        made = [derived(X, step, n_features) for X in data]
        if not any(isinstance(stage, NamedScores) for stage in stages_of(features)):
            return made, None
        return made, of_each("states", _states, data, [features] * len(data))
    Xs = [sample.X for sample in samples]
    parts = [Xs[a:b] for a, b in batches_of([len(X) for X in Xs])]
    found = spread("features", _with_states, parts, features)
    states = [p for _, part in found if part is not None for p in part]
    made = [F for part, _ in found for F in part]
    return check_features(made, Xs, type(features).__name__, words, gaps=True), states or None


def _with_states(
    Xs: Sequence[Floats], features: RecordingTransformer
) -> tuple[Sequence[Any], Sequence[Floats] | None]:
    return features.transform_with_states(Xs)


def _states(X: Floats, features: RecordingTransformer) -> Floats:
    states = features.transform_with_states([X])[1]
    assert states is not None
    return states[0]


def _fit_held_out(
    features: RecordingTransformer, data: TrainingSet, first: Floats
) -> list[RecordingTransformer]:
    """What makes the features of each sample, and has not seen its group."""
    if not features.learns:
        return [features.fit([first])] * len(data)

    def fit(part: TrainingSet) -> list[RecordingTransformer]:
        return features.fit_held_out(part.arrays, part.item_labels, part.groups)

    which, made_by = learn_in_memory(data, type(features).__name__, fit)
    units = units_of(data.groups, len(data), data.problem.traits.words)[1].tolist()
    of_unit = {units[i]: one for i, one in zip(which.tolist(), made_by, strict=True)}
    return [of_unit.get(unit, features) for unit in units]


@dataclass(frozen=True, eq=False)
class _Making:
    """The features of one sample, which are looked at whenever they are made."""

    transformer: RecordingTransformer = field(metadata={"fingerprint": False})
    known_by: str
    """The fingerprint of the transformer, of which thousands of samples have the same."""

    def __call__(self, X: Floats) -> Floats:
        found = self.transformer.transform([X])
        return check_features(found, [X], type(self.transformer).__name__, gaps=True)[0]


def _check_gaps(features: RecordingTransformer, samples: Sequence[Sample], words: Words) -> None:
    if features.takes_gaps:
        return
    missing = next((i for i, sample in enumerate(samples) if sample.has_gaps), None)
    if missing is not None:
        raise DataError(
            words.numbered(missing)
            + f" has missing values, and {type(features).__name__} makes features of none: use "
            + wording("Lags() or no features", of_files=parameter("context", "lags") + ", or none")
            + ", or "
            + parameter("missing", "interpolate")
        )


# ---- what a model was learned on, in a few numbers


KEPT = 4096
"""Rows of tables, at most, by which others are known again."""
MANY = 0.1
"""Of the rows of a table: where more were learned from, little is held out."""


@dataclass(frozen=True)
class TrainingSummary:
    """Sizes of the labelled samples, and enough to know them again."""

    n_samples: tuple[int, ...]
    """T of each."""
    n_clusters: tuple[int, ...]
    """K of each."""
    fingerprints: tuple[str, ...]
    """The first digits of the SHA-256 of each one's values."""
    clusters: tuple[str, ...] = ()
    """The labels of the clusters of tables; empty for other samples, and for partial labels."""
    ends: tuple[tuple[int, ...], ...] = ()
    """Segment ends of each recording; empty for other samples."""
    commonest: str | int | float | None = None
    """The most frequent name of the items, where features learned the names."""
    rows: tuple[str, ...] = ()
    """Digests of rows of tables, the smallest ones; empty for other samples, and where many rows
    are alike, so that the same values may well be measured again."""
    names: tuple[str, ...] = field(default=(), compare=False)
    """What each is called, which nothing is learned from; empty where they came without names."""
    constant: tuple[int, ...] = ()
    """Columns that are constant in some samples."""

    @classmethod
    def of(
        cls, data: TrainingSet, truths: Sequence[EquivalenceMatrix], *, named: bool = False
    ) -> Self:
        """Describe samples as they were measured; whether features learned names of their items."""
        arrays, is_table = [sample.data for sample in data.samples], data.asks is not None
        sizes, traits = [sample.n_samples for sample in data.samples], data.problem.traits
        digests = [row for X in arrays for row in _digests(X)] if is_table else []
        different = sorted(set(digests))
        many_alike = len(different) < (1 - MANY) * len(digests)
        clusters = data.given if is_table and data.complete.all() else []
        states: Counter[Any] = Counter()
        if named:  # an item may have none
            for names in read_names(data.item_labels, sizes, traits.words.whole) or []:
                states.update(name for name in names.tolist() if name is not None)
        return cls(
            n_samples=tuple(sizes),
            n_clusters=tuple(truth.n_clusters for truth in truths),
            fingerprints=tuple(spread("", _fingerprint, arrays, None)),
            clusters=tuple(sorted({name for y in clusters for name in names_of_labels(y)})),
            ends=tuple(tuple(M.breakpoints) for M in truths) if traits.contiguous else (),
            commonest=max(states, key=states.__getitem__, default=None),
            rows=() if many_alike else tuple(different[:KEPT]),
            names=tuple(data.called or ()),
            constant=tuple(np.flatnonzero(np.any(constant_features(arrays), axis=0)).tolist()),
        )

    def __len__(self) -> int:
        return len(self.n_samples)

    def __contains__(self, X: Data) -> bool:
        return _fingerprint(X) in self.fingerprints

    def shares_known(self, Xs: Sequence[Data]) -> list[float]:
        """The share of the rows of each that was learned from, of those where it is large."""
        found = [1.0 if X in self else 0.0 for X in Xs]
        for i, X in enumerate(Xs if self.rows else ()):
            digests = np.array(_digests(X))
            if len(self.rows) == KEPT:  # of the others, only the smallest can be known
                digests = digests[digests <= self.rows[-1]]
            found[i] = max(found[i], np.isin(digests, self.rows).sum() / max(digests.size, 1))
        return [share for share in found if share > MANY]

    def warn_if_among(self, Xs: Sequence[Data], words: Words) -> int:
        """Warn if any of these was learned from, when they are to tell what learning is worth."""
        shares = self.shares_known(Xs)
        if shares:
            part = f"{min(shares):.0%} of the rows of " if min(shares) < 1 else ""
            these = f"{len(shares)} of these {words.wholes(len(Xs))}"
            these = these if len(Xs) > 1 else f"this {words.whole}"
            warn(
                f"the model was learned from {part}{these}: the figures are better than on new "
                "ones",
            )
        return len(shares)

    def warn_of_new_clusters(self, ys: Sequence[Any], question: str | None) -> None:
        """Warn if a table has clusters that a metric made for known ones was not learned from."""
        if question != "rows" or not self.clusters:
            return
        new = sorted({name for y in ys for name in names_of_labels(y)} - set(self.clusters))
        if not new:
            return
        warn(
            "the model was made for further rows of the clusters it was learned from, and of these "
            f"{len(new)} {'is' if len(new) == 1 else 'are'} new: {some_of(new)}. For new clusters, "
            "choose and evaluate with " + parameter("split", "clusters"),
        )


def _digests(X: Data) -> list[str]:
    values = np.ascontiguousarray(in_memory(X), dtype=np.float64) + 0.0  # of two zeros one
    return [blake2b(row.tobytes(), digest_size=6).hexdigest() for row in values]


def _fingerprint(X: Data, _: None = None) -> str:
    return X.origin.fingerprint if isinstance(X, Deferred) else fingerprint(X)
